"""Numbers and small arrays that go from worker to worker as one list.

Each comes as it was, or all are refused.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spanwise import Client
from spanwise.records.enumerations import ITEM_MISSING, ITEM_OK, ITEM_TOGETHER
from spanwise.tests.test_client_any_frames import link_pair
from spanwise.wire import payload, small_arrays
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


def drawn_array(draw: st.DrawFn) -> Any:
    """An array of any type, order and length, also one that shares the memory of another."""
    kind = draw(st.sampled_from(["?", "i1", "<u2", ">i4", "q", "f2", "d", "g", "F", "M8[s]", "O"]))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    array = np.arange(np.prod([2 * each for each in shape], dtype=int)).astype(kind)
    array = array.reshape([2 * each for each in shape], order=draw(st.sampled_from("CF")))
    if draw(st.booleans()):
        array = array[(..., *(slice(draw(st.integers(0, each)), None) for each in shape))]
    if draw(st.booleans()):
        array = array[..., ::2] if array.ndim else array
    array.flags.writeable = draw(st.booleans())
    return array


arrays = st.one_of(
    st.composite(drawn_array)(),
    st.builds(lambda count: np.zeros(count), st.sampled_from([2048, 2049, 10_000])),
    st.just(np.zeros(3, dtype=np.dtype("f8", metadata={"of": "a user"}))),
    st.just(np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])),
    st.just(np.ma.masked_array([1.0, 2.0], mask=[True, False])),
    st.just(np.array(7)),
)


def brought(values: list[Any], arrays: bool) -> list[tuple[int, Any]]:
    """Status and value of each, as another worker gets them that takes arrays or does not."""
    asking, answering = link_pair("peer")
    worker = Worker(0, "w", 1, 0.0, Path(tempfile.gettempdir()))
    for task_id, value in enumerate(values):
        worker.table._keep(task_id, value, 8.0 + task_id)
    fields = {"request": 1, "together": True, "arrays": arrays}
    answer = lambda: Server(worker)._get(answering, answering.read(), Counter(), [])  # noqa: E731
    thread = threading.Thread(target=answer)
    try:
        thread.start()
        asking.send("get", fields, {"ids": [(each,) for each in range(len(values))]})
        answers = data_items(asking, 1, len(values), together=True, arrays=arrays)
        items = [item for _, came in answers for item in came]
        # (opened before the link's memory is used again)
        found = {item[0]: (item, value_of(item)) for item in items}
    finally:
        asking.close()
        thread.join(LIMIT)
        answering.close()
    for task_id, value in enumerate(values):
        if isinstance(value, np.ndarray):
            assert found[task_id][0][2] == 8.0 + task_id
    return [(found[task_id][0][1], found[task_id][1]) for task_id in range(len(values))]


def told_of(value: Any) -> Any:
    """All that a program could see of a result."""
    if not isinstance(value, np.ndarray):
        return type(value), repr(value)
    dtype = value.dtype
    made = value.filled() if isinstance(value, np.ma.MaskedArray) else value
    return (
        *(type(value), dtype.str, dtype.fields, dtype.metadata, value.shape, value.strides),
        *(value.flags.writeable, value.flags.owndata, made.tolist()),
    )


@given(st.lists(st.one_of(arrays, numbers), max_size=8))
@example([np.arange(4, dtype=">i4")[::2].reshape(2, 1)])
@settings(max_examples=50, deadline=None)
def test_each_array_comes_as_pickling_would_bring_it(values: list[Any]) -> None:
    for (_, by_pickling), (_, come) in zip(
        brought(values, False), brought(values, True), strict=True
    ):
        assert told_of(come) == told_of(by_pickling)


def test_only_small_arrays_of_plain_numbers_go_together() -> None:
    small = [np.array(7), np.arange(3), np.zeros((1, 40)), np.zeros(2048, dtype=">f8")]
    read_only = np.arange(3)
    read_only.flags.writeable = False
    others = [
        np.zeros(2049),
        np.asfortranarray(np.zeros((2, 3))),
        np.array([None]),
        np.array(["a"]),
        np.zeros(3, dtype=np.dtype("f8", metadata={"of": "a user"})),
        np.zeros((0, 3)),
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        "a",
    ]
    values = [*small, np.zeros((4, 4))[:, 1:3], read_only, *others]
    expected = [ITEM_TOGETHER] * 6 + [ITEM_OK] * len(others)
    assert [status for status, _ in brought(values, True)] == expected
    assert {status for status, _ in brought(values, False)} == {ITEM_OK}


def test_types_of_other_packages_go_alone() -> None:
    """`ml_dtypes` has floats of one byte, which numpy does not know by their name."""
    dtype = SimpleNamespace(kind="f", char="5", str="<f1", metadata=None)
    flags = SimpleNamespace(c_contiguous=True)
    content = memoryview(bytes(3))
    array = SimpleNamespace(
        dtype=dtype, flags=flags, data=content, nbytes=3, size=3, shape=(3,), ndim=1
    )
    assert small_arrays.told(array) is None
    array.dtype = np.dtype("i1")
    assert small_arrays.told(array) == ("|i1", (3,), bytes(3), False)


def test_arrays_go_alone_whose_pickling_a_program_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(copyreg.dispatch_table, np.ndarray, lambda array: (list, ()))
    assert brought([np.arange(3)], True) == [(ITEM_OK, [])]


def test_arrays_that_come_together_share_no_memory() -> None:
    array = np.arange(6)
    (_, first), (_, second) = brought([array, array[:3]], True)
    first[:] = 9
    assert second.tolist() == [0, 1, 2] and array.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_frame_of_many_arrays_is_not_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "FRAME_BYTES", 1000)
    sent: list[int] = []
    send = door._Answer.send

    def counted(answer: Any, more: bool) -> None:
        sent.append(len(answer._numbers))
        send(answer, more)

    monkeypatch.setattr(door._Answer, "send", counted)
    brought([np.zeros(50) for _ in range(7)], True)
    assert sent == [3, 3, 1]


def framed(value: Any) -> bytes:
    return b"".join(payload.framed(pickle.dumps(value)))


ARRAY = ("<f8", (2,), bytes(16), False)


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


@pytest.mark.parametrize(
    "array",
    [
        ("<f8", (2,), bytes(15), False),
        ("<f8", (2,), bytes(17), False),
        ("<f8", (-1,), bytes(16), False),
        ("<f8", ("2",), bytes(16), False),
        ("<f8", 2.0, bytes(16), False),
        ("<f8", (2,), "0" * 16, False),
        ("<f8", (2,), [0.0, 1.0], False),
        ("|O", (2,), bytes(16), False),
        ("<f9", (2,), bytes(18), False),
        ("<f8,<f8", (1,), bytes(16), False),
        (8, (2,), bytes(16), False),
        ("<f8", (2,), False),
        (),
    ],
)
def test_an_array_that_does_not_fit_is_refused(array: Any) -> None:
    asking, answering = link_pair("peer")
    rows = [(7, ITEM_TOGETHER, 8.0), (8, ITEM_TOGETHER, 8.0)]
    try:
        answering.send("data", {"request": 1}, {"items": rows}, [together([ARRAY, array])])
        with pytest.raises(BrokenFrame, match="an array cannot be read"):
            list(data_items(asking, 1, 2, together=True, arrays=True))
    finally:
        asking.close()
        answering.close()


def test_arrays_that_nobody_asked_for_are_refused() -> None:
    asking, answering = link_pair("peer")
    try:
        answering.send("data", {"request": 1}, {"items": [(7, 3, 8.0)]}, [together([ARRAY])])
        with pytest.raises(BrokenFrame, match="no list of numbers"):
            list(data_items(asking, 1, 1, together=True))
    finally:
        asking.close()
        answering.close()


def test_who_has_no_numpy_asks_for_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert small_arrays.array_type() is np.ndarray
    monkeypatch.delitem(sys.modules, "numpy")
    assert small_arrays.array_type() is None
    with pytest.raises(ValueError, match="numpy"):
        small_arrays.opened(ARRAY)


def _count_arrays() -> None:
    """Have this worker count the arrays that it answers by in a list."""
    answer = door._Answer.array

    def counted(*arguments: Any) -> None:
        door.counted += 1  # type: ignore[attr-defined]
        answer(*arguments)

    door.counted = 0  # type: ignore[attr-defined]
    door._Answer.array = counted  # type: ignore[method-assign]


def test_workers_ask_each_other_for_arrays_together(cluster: Client) -> None:
    cluster.run(_count_arrays)
    one, other = sorted(cluster.scheduler_info()["workers"])
    # (it has numpy from now on)
    cluster.submit(np.zeros, 3, workers=[other], pure=False).result()
    made = cluster.map(np.full, [(1, 40)] * 20, range(20), workers=[one], pure=False)
    total = cluster.submit(lambda arrays: sum(map(np.sum, arrays)), made, workers=[other])
    assert total.result() == 40 * sum(range(20))
    assert max(cluster.run(lambda: door.counted).values()) == 20  # type: ignore[attr-defined]
