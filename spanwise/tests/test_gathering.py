"""Bringing results by itself: who is asked, how often, and for how long."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.client import gathering
from spanwise.client.entries import FINISHED, Entry
from spanwise.client.gathering import Gathering
from spanwise.client.peers import OK, Unreachable
from spanwise.client.session import dump
from spanwise.errors import ClusterError

LOST_SECONDS = 0.2


class FakeSession:
    """Worker 0 stalls; `locate` says that worker 1 has everything."""

    def __init__(self, answers: dict[int, Any]) -> None:
        self.workers = {number: {"address": f"worker {number}"} for number in (0, 1)}
        self.answers = answers
        self.located = 0
        #: Patience given to each transfer, in seconds.
        self.patience: list[float | None] = []
        self.peers = SimpleNamespace(get=self._get)

    def wait_for(self, entries: Any, timeout: float | None = None) -> None:
        """All are done."""

    def _get(self, address: str, ids: list[int], until: float | None) -> dict[int, Any]:
        self.patience.append(None if until is None else until - time.monotonic())
        found = self.answers[int(address.split()[1])]
        if found is None:
            time.sleep(2 * LOST_SECONDS)  # longer than a lost result is asked for
            raise Unreachable(f"{address} stalls")
        return {each: (OK, dump(found)) for each in ids}

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
    assert Gathering(session).gather([remote()], timeout=0) == ["found"]  # type: ignore[arg-type]
    (patience,) = session.patience
    assert patience == pytest.approx(gathering.TRANSFER_SECONDS, abs=1.0)


def test_more_patience_than_a_transfer_takes_is_kept() -> None:
    session = FakeSession({0: "found", 1: None})
    Gathering(session).gather([remote()], timeout=100)  # type: ignore[arg-type]
    (patience,) = session.patience
    assert patience == pytest.approx(100, abs=2.0)
