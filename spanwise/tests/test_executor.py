"""A thread of a worker by itself: what is told of it between two tasks, what it measures."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.worker.executor import Executor
from spanwise.worker.report import OK, Report
from spanwise.worker.tasks import Entry, Row
from spanwise.worker.watch import RUNNING_SECONDS, Watch
from spanwise.worker.worker import Worker

LIMIT_SECONDS = 60.0


def entry_of(run: int) -> Entry:
    row: Row = (run, run, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    return 0.0, 0, row, (), None


class Slow:
    """Takes until it may go on, and says when it has begun."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, *_: Any) -> None:
        self.begun.set()
        assert self.go_on.wait(LIMIT_SECONDS)


class TwoRuns(Executor):
    """Has run 1, then run 2, then ends."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker, 0)
        self.left = [entry_of(1), entry_of(2)]

    def run(self) -> None:
        with contextlib.suppress(StopIteration):
            super().run()

    def _idle(self) -> Entry:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)

    def _run(self, entry: Entry) -> Entry | None:
        row = entry[2]
        self.row = row
        self._stamp()
        self.worker.report.runs.append((row[0], row[1], OK, *(0,) * 10))
        return self.left.pop(0) if self.left else None


def told_running(executor: Executor) -> list[tuple[Any, ...]]:
    """What the watch tells as running, long after the executor's last stamp."""
    watch = Watch(executor.worker, SimpleNamespace(rows=list), 0.0, lambda why: None)  # type: ignore[arg-type]
    watch._tell_running(executor.clock + 10 * RUNNING_SECONDS)
    return watch._running_rows


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    worker = Worker(0, "w", 1, 0.0, tmp_path)
    worker.connect(lambda *_: None, lambda _: None)
    return worker


def test_a_run_is_told_as_running_until_it_has_ended(worker: Worker) -> None:
    slow = Slow()

    class Long(TwoRuns):
        def _run(self, entry: Entry) -> Entry | None:
            following = super()._run(entry)
            slow()
            return following

    executor = Long(worker)
    worker.executors = [executor]
    executor.start()
    assert slow.begun.wait(LIMIT_SECONDS)
    assert [row[1] for row in told_running(executor)] == [1]
    slow.go_on.set()
    executor.join(LIMIT_SECONDS)
    assert not executor.is_alive()


@pytest.mark.parametrize("gap", ["spilling", "reporting"])
def test_a_run_that_has_ended_is_not_told_as_running(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, gap: str
) -> None:
    slow = Slow()
    if gap == "spilling":
        worker.table.managed = 1.0
        worker.spill.target = 0.0
        monkeypatch.setattr(worker.spill, "make_room", slow)
    else:

        def flush() -> None:
            slow()
            worker.report = Report()

        monkeypatch.setattr(worker, "flush", flush)
    executor = TwoRuns(worker)
    worker.executors = [executor]
    executor.start()
    assert slow.begun.wait(LIMIT_SECONDS)
    assert told_running(executor) == []
    slow.go_on.set()
    executor.join(LIMIT_SECONDS)
    assert not executor.is_alive()
