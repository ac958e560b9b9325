"""Bringing results by itself: who is asked, how often, and for how long."""

from __future__ import annotations

import itertools
import time
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.client import gathering
from spanwise.client.entries import CANCELLED, ERROR, FINISHED, Entry
from spanwise.client.gathering import Gathering
from spanwise.client.peers import Unreachable
from spanwise.client.reason import IN_CALL, FoundHere, cancelled
from spanwise.client.session import dump
from spanwise.errors import CancelledError, ClusterError
from spanwise.records.enumerations import ITEM_NOT_PICKLED, ITEM_OK

LOST_SECONDS = 0.2


class FakeSession:
    """Worker 0 stalls; `locate` says that worker 1 has everything."""

    def __init__(self, answers: dict[int, Any]) -> None:
        self.workers = {number: {"address": f"worker {number}"} for number in (0, 1)}
        self.answers = answers
        self.located = 0
        #: Until when each transfer may take, and when it began.
        self.patience: list[tuple[float | None, float]] = []
        self.peers = SimpleNamespace(get=self._get)

    def wait_for(
        self, entries: Any, timeout: float | None = None, given: float | None = None
    ) -> None:
        """All are done."""

    def _get(self, address: str, ids: list[int], until: float | None) -> dict[int, Any]:
        self.patience.append((until, time.monotonic()))
        found = self.answers[int(address.split()[1])]
        if found is None:
            time.sleep(2 * LOST_SECONDS)  # longer than a lost result is asked for
            raise Unreachable(f"{address} stalls")
        return {each: (ITEM_OK, dump(found)) for each in ids}

    def ask(self, kind: str, fields: Any, tables: Any, timeout: float) -> Any:
        assert kind == "locate"
        self.located += 1
        rows = [(id_, id_, 1, 0.0) for (id_,) in tables["ids"]]
        return SimpleNamespace(table=lambda name: rows)


def remote() -> Entry:
    entry = Entry("x", 7)
    entry.status = FINISHED
    entry.task_id = 7
    entry.worker = 0
    return entry


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LOST_RESULT_SECONDS", LOST_SECONDS)


def test_after_a_long_stall_the_scheduler_is_asked_where_the_result_is() -> None:
    session = FakeSession({0: None, 1: "found"})
    assert Gathering(session).gather([remote()]) == ["found"]  # type: ignore[arg-type]
    assert session.located == 1


def test_what_nobody_answers_for_is_an_error() -> None:
    session = FakeSession({0: None, 1: None})
    with pytest.raises(ClusterError, match=r"on no worker that answers \(worker 1 stalls\)"):
        Gathering(session).gather([remote()])  # type: ignore[arg-type]
    assert session.located >= 1


def test_no_patience_bounds_the_wait_and_not_the_transfer() -> None:
    session = FakeSession({0: "found", 1: None})
    asked = time.monotonic()
    assert Gathering(session).gather([remote()], timeout=0) == ["found"]  # type: ignore[arg-type]
    ((until, begun),) = session.patience
    assert until is not None and asked <= until - gathering.TRANSFER_SECONDS <= begun


def test_more_patience_than_a_transfer_takes_is_kept() -> None:
    session = FakeSession({0: "found", 1: None})
    asked = time.monotonic()
    Gathering(session).gather([remote()], timeout=100)  # type: ignore[arg-type]
    ((until, begun),) = session.patience
    assert until is not None and asked <= until - 100 <= begun


def test_the_error_of_a_wait_for_a_lost_result_tells_of_the_seconds_that_were_given() -> None:
    session = FakeSession({0: None, 1: "found"})
    waits: list[tuple[float, float]] = []
    session.wait_for = lambda entries, timeout, given=None: waits.append(  # type: ignore[method-assign]
        (timeout, timeout if given is None else given)
    )
    assert Gathering(session).gather([remote()], timeout=100) == ["found"]  # type: ignore[arg-type]
    assert [given for _, given in waits] == [100, 100]
    # Beside it, what is left of them.
    assert waits[1][0] < 100


class Answers(FakeSession):
    """One worker that has some results, cannot pickle one, and lost another, which fails again.

    ====  ============  ======================================================
    id    at first      what comes of it
    ====  ============  ======================================================
    1, 4  finished      its value
    2     finished      cannot be pickled
    3     error
    5     finished      not there any more; asked for again, it is an error
    6     cancelled
    ====  ============  ======================================================
    """

    def __init__(self) -> None:
        super().__init__({})
        self.asked: list[list[int]] = []

    def _get(self, address: str, ids: list[int], until: float | None) -> dict[int, Any]:
        self.asked.append(ids)
        found: dict[int, Any] = {1: (ITEM_OK, dump("one")), 4: (ITEM_OK, dump("four"))}
        found[2] = (ITEM_NOT_PICKLED, dump({"exception": TypeError("a lock"), "text": "there"}))
        return {each: found[each] for each in ids if each in found}

    def wait_for(
        self, entries: Any, timeout: float | None = None, given: float | None = None
    ) -> None:
        for entry in entries:
            if entry.id == 5 and self.asked:
                entry.status, entry.reason = ERROR, FoundHere(lambda: ZeroDivisionError("again"))


def entries_of(*ids: int) -> list[Entry]:
    entries = []
    for number in ids:
        entry = Entry(f"x-{number}", number)
        entry.status = {3: ERROR, 6: CANCELLED}.get(number, FINISHED)
        entry.reason = {3: FoundHere(lambda: ValueError("no")), 6: cancelled("x-6", IN_CALL)}.get(
            number
        )
        entry.task_id = number
        entry.worker = 0
        entries.append(entry)
    return entries


RAISED = {2: TypeError, 3: ValueError, 5: ZeroDivisionError, 6: CancelledError}


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3, 4, 5, 6]))[::97])
def test_whatever_is_wrong_with_a_result_it_is_skipped_and_the_others_come(
    order: tuple[int, ...],
) -> None:
    found = Gathering(Answers()).gather(entries_of(*order), errors="skip")  # type: ignore[arg-type]
    assert found == [{1: "one", 4: "four"}[each] for each in order if each in (1, 4)]


@pytest.mark.parametrize("number", RAISED)
def test_whatever_is_wrong_with_a_result_is_raised_otherwise(number: int) -> None:
    entries = entries_of(1, number, 4)
    with pytest.raises(RAISED[number]):
        Gathering(Answers()).gather(entries)  # type: ignore[arg-type]


def test_a_result_that_is_asked_for_twice_comes_twice_and_travels_once() -> None:
    session = Answers()
    one, four, bad = entries_of(1, 4, 2)
    entries = [one, bad, four, one, bad]
    found = Gathering(session).gather(entries, errors="skip")  # type: ignore[arg-type]
    assert found == ["one", "four", "one"]
    assert [sorted(ids) for ids in session.asked] == [[1, 2, 4]]
