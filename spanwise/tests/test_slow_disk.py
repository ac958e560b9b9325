"""What the watch thread tells of a worker while results are written to a slow disk."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.measure.system import SYSTEM_SECONDS
from spanwise.tests.test_spill import Kept
from spanwise.wire.errors import LinkClosed
from spanwise.worker import spill_file, watch
from spanwise.worker.executor import Executor
from spanwise.worker.spill_file import Spilled
from spanwise.worker.watch import MEMORY_SECONDS, Watch

MIB = 2**20
LIMIT = 1000.0 * MIB
BYTES_PER_SECOND = 20.0 * MIB
RESULT_BYTES = 40 * MIB
WRITE_SECONDS = RESULT_BYTES / BYTES_PER_SECOND


class SlowDisk:
    """The module `os`, of a machine whose disk takes its time for all that a call writes."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, descriptor: int, view: memoryview) -> int:
        self.calls.append(len(view))
        sleep(len(view) / BYTES_PER_SECOND)
        return os.write(descriptor, view)


class Watched:
    """A worker that is over its share for results while one of 40 MiB is in memory.

    Parameters
    ----------
    full
        The share of its limit that its process uses then.
    """

    def __init__(self, folder: Path, full: float = 0.75) -> None:
        self.kept = Kept(folder, LIMIT)
        worker: Any = self.kept.worker
        self._sent: list[tuple[str, dict[str, Any]]] = []
        #: When it paused (True) and resumed.
        self.pauses: list[tuple[float, bool]] = []
        worker.connect(self._take, lambda _: None)
        executor = Executor(worker, 0)
        executor._ident = threading.get_ident()  # type: ignore[attr-defined]
        worker.executors = [executor]
        fetching: Any = SimpleNamespace(rows=list)
        ended: list[str] = []
        self.watch: Any = Watch(worker, fetching, 0.0, ended.append)
        self.watch._memory.process = lambda: (full if worker.table.managed else 0.3) * LIMIT
        self.kept.keep(1, bytes(RESULT_BYTES))

    def _take(self, kind: str, fields: Any, tables: Any = None, *_: Any) -> None:
        self._sent.append((kind, tables or {}))
        if kind == "state":
            self.pauses.append((perf_counter(), fields["paused"]))

    def told(self, table: str) -> list[float]:
        """When each row of a table was measured, in the order in which they were sent."""
        return [
            row[0]
            for kind, tables in self._sent
            if kind == "measured"
            for row in tables.get(table, [])
        ]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    slow = SlowDisk()
    monkeypatch.setattr(spill_file, "os", slow)
    return slow


def _check(watched: Watched, begin: float, end: float) -> None:
    # (what is sent in the end is measured when all is written)
    for table, seconds in (("memory", MEMORY_SECONDS), ("system", SYSTEM_SECONDS)):
        times = watched.told(table)
        assert times == sorted(times)
        amid = [t for t in times if begin < t < begin + WRITE_SECONDS]
        # A quarter of those that are to be there: on a busy machine looks are late.
        assert len(amid) >= WRITE_SECONDS / seconds / 4, (table, amid)


def test_memory_is_measured_and_told_while_the_watch_thread_writes(
    tmp_path: Path, disk: SlowDisk
) -> None:
    watched = Watched(tmp_path)
    begin = perf_counter()
    watched.watch._measure_memory(begin)
    end = perf_counter()
    assert end - begin >= WRITE_SECONDS
    _check(watched, begin, end)
    assert type(watched.kept.worker.table.values[1]) is Spilled
    assert watched.kept.value(1) == bytes(RESULT_BYTES)


def test_a_full_worker_pauses_while_the_disk_takes_its_results(
    tmp_path: Path, disk: SlowDisk
) -> None:
    watched = Watched(tmp_path, full=0.85)
    begin = perf_counter()
    watched.watch._measure_memory(begin)
    assert [paused for _, paused in watched.pauses] == [True, False]
    (paused_at, _), (resumed_at, _) = watched.pauses
    assert paused_at < begin + WRITE_SECONDS <= resumed_at


def test_a_pause_amid_a_write_leaves_no_worker_stalled_that_can_collect_its_garbage(
    tmp_path: Path, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path)
    collected: list[int] = []
    watched.watch._memory.process = lambda: (0.3 if collected else 0.85) * LIMIT
    monkeypatch.setattr(watch, "gc", SimpleNamespace(collect=lambda: collected.append(1)))
    watched.watch._measure_memory(perf_counter())
    assert collected
    assert [paused for _, paused in watched.pauses] == [True, False]


def test_a_worker_resumes_amid_a_write_when_it_has_room(tmp_path: Path, disk: SlowDisk) -> None:
    watched = Watched(tmp_path)
    begin = perf_counter()
    watched.watch._memory.process = lambda: (
        (0.85 if perf_counter() < begin + WRITE_SECONDS / 2 else 0.75) * LIMIT
        if watched.kept.worker.table.managed
        else 0.3 * LIMIT
    )
    watched.watch._measure_memory(begin)
    assert [paused for _, paused in watched.pauses] == [True, False]
    assert watched.pauses[1][0] < begin + WRITE_SECONDS


def test_memory_is_measured_and_told_while_another_thread_writes(
    tmp_path: Path, disk: SlowDisk
) -> None:
    watched = Watched(tmp_path)
    worker = watched.kept.worker
    begin = perf_counter()
    other = threading.Thread(target=worker.spill.spill, args=(worker, 1.0))
    other.start()
    while not worker.spill.is_writing:
        sleep(0.001)
    watched.watch._measure_memory(begin)
    end = perf_counter()
    other.join()
    # It looks at nothing between, and writes all at once.
    assert len(disk.calls) <= 2
    _check(watched, begin, end)


def test_a_fast_disk_is_asked_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each call this thread may wait for the interpreter lock."""
    calls: list[int] = []

    def write(descriptor: int, view: memoryview) -> int:
        calls.append(len(view))
        return len(view)

    fast: Any = SimpleNamespace(**{**vars(os), "write": write})
    monkeypatch.setattr(spill_file, "os", fast)
    monkeypatch.setattr(spill_file, "perf_counter", lambda: 0.0)
    looks: list[int] = []
    spill_file._write(tmp_path / "1", [bytes(500 * MIB)], lambda: looks.append(1))
    assert sum(calls) == 500 * MIB
    assert len(calls) == len(looks) <= 7


def test_nothing_is_left_of_a_file_if_a_look_fails_amid_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    worker = watched.kept.worker

    def fail() -> None:
        raise LinkClosed

    with pytest.raises(LinkClosed):
        worker.spill.spill(worker, 1.0, fail)
    assert [*worker.spill.files.folder.iterdir()] == []
    assert not worker.spill.is_writing
    assert watched.kept.value(1) == bytes(RESULT_BYTES)
