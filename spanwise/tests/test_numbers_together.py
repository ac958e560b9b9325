"""Numbers that go from worker to worker as one list: each comes as it was, or all are refused."""

from __future__ import annotations

import pickle
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.records.enumerations import ITEM_MISSING, ITEM_OK, ITEM_TOGETHER
from spanwise.tests.test_client_any_frames import link_pair
from spanwise.wire import payload
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.peer_answers import Item, data_items, together
from spanwise.worker import door
from spanwise.worker.door import Server
from spanwise.worker.worker import Worker

LIMIT = 60.0
NOT_HERE = 10_000

numbers = st.one_of(
    st.integers(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.complex_numbers(),
    st.booleans(),
    st.none(),
)
results = st.lists(st.one_of(numbers, st.just(1 << 1_000), st.text(max_size=3)), max_size=12)


def value_of(item: Item) -> Any:
    content = item[3]
    return content[0] if isinstance(content, tuple) else payload.loads(content)  # type: ignore[arg-type]


@given(results, st.booleans(), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_each_comes_as_it_was(values: list[Any], is_together: bool, most: int, frame: int) -> None:
    asking, answering = link_pair("peer")
    worker = Worker(0, "w", 1, 0.0, Path(tempfile.gettempdir()))
    for task_id, value in enumerate(values):
        worker.table._keep(task_id, value, 8.0)
    ids = [*range(len(values)), NOT_HERE]
    fields = {"request": 1, "together": is_together}

    def answer() -> None:
        message = answering.read()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(door, "MOST_TOGETHER", most)
            patch.setattr(door, "FRAME_ITEMS", frame)
            Server(worker)._get(answering, message, Counter(), [])

    thread = threading.Thread(target=answer)
    try:
        thread.start()
        asking.send("get", fields, {"ids": [(each,) for each in ids]})
        answers = list(data_items(asking, 1, len(ids), together=is_together))
    finally:
        asking.close()
        thread.join(LIMIT)
        answering.close()
    assert all(len(came) <= frame for _, came in answers)
    items = [item for _, came in answers for item in came]
    found = {item[0]: item for item in items}
    assert found.pop(NOT_HERE)[1] == ITEM_MISSING and sorted(found) == ids[:-1]
    for task_id, value in enumerate(values):
        come = value_of(found[task_id])
        assert type(come) is type(value) and repr(come) == repr(value)
        short = type(value) is not str and not (type(value) is int and value.bit_length() > 64)
        assert found[task_id][1] == (ITEM_TOGETHER if is_together and short else ITEM_OK)
    # All bytes that came are counted, and none twice.
    for message, came in answers:
        lists = [each[3] for each in came if isinstance(each[3], tuple)]
        assert 0 <= len(lists) <= most
        if lists:
            assert sum(each[1] for each in lists) == message.blobs[-1].nbytes


def framed(value: Any) -> bytes:
    return b"".join(payload.framed(pickle.dumps(value)))


@pytest.mark.parametrize(
    ("blobs", "asked", "why"),
    [
        ([together([1, 2])], False, "items.status"),
        ([], True, "the list of 2 numbers is missing"),
        ([together([1])], True, "1 numbers, expected 2"),
        ([together([1, 2, 3])], True, "3 numbers, expected 2"),
        ([framed([1, "2"])], True, "no list of numbers"),
        ([framed((1, 2))], True, "no list of numbers"),
        ([b"no pickle"], True, "cannot be read"),
        ([b"more", together([1, 2])], True, "items: 0 of them have payloads"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(blobs: list[bytes], asked: bool, why: str) -> None:
    asking, answering = link_pair("peer")
    rows = [(7, ITEM_TOGETHER, 8.0), (8, ITEM_TOGETHER, 8.0)]
    try:
        answering.send("data", {"request": 1}, {"items": rows}, blobs)
        with pytest.raises(BrokenFrame, match=why):
            list(data_items(asking, 1, 2, together=asked))
    finally:
        asking.close()
        answering.close()
