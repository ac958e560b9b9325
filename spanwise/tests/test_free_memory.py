"""Memory that users' code has freed goes back to the system, at little cost."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import Client
from spanwise.measure.memory import LEAST_TRIM_SECONDS, MAPPED_BYTES, FreeMemory
from spanwise.tests.processes import wait_until

MIB = 2**20
PINNED: list[Any] = []


class Clock:
    """A clock that stands still but for what a trim takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, trim_seconds: float) -> None:
        self.now = 100.0
        self.trims = 0
        self._trim_seconds = trim_seconds
        for clock in ("perf_counter", "thread_time"):
            monkeypatch.setattr(f"spanwise.measure.memory.{clock}", lambda: self.now)

    def trim(self) -> None:
        self.trims += 1
        self.now += self._trim_seconds


@pytest.mark.parametrize("trim_seconds", [0.0001, 0.5])
def test_trims_take_a_hundredth_of_the_time_at_most(
    monkeypatch: pytest.MonkeyPatch, trim_seconds: float
) -> None:
    clock = Clock(monkeypatch, trim_seconds)
    free = FreeMemory(clock.trim)
    begin = clock.now
    while clock.now < begin + 200:
        free.give_back()
        clock.now += 0.05
    assert 1 < clock.trims <= 1 + 200 / max(LEAST_TRIM_SECONDS, 100 * trim_seconds)


def test_an_idle_worker_trims_once_for_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.0001)
    free = FreeMemory(clock.trim)
    for state in (1, 1, 1, 2, 2, 2):
        free.give_back_idle(state)
        clock.now += 2 * LEAST_TRIM_SECONDS
    assert clock.trims == 2
    free.give_back_idle(3)
    free.give_back_idle(4)  # too soon, and not forgotten
    clock.now += 2 * LEAST_TRIM_SECONDS
    free.give_back_idle(4)
    assert clock.trims == 4


def test_a_trim_that_waits_for_a_core_puts_the_next_one_off_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, 5.0)
    monkeypatch.setattr("spanwise.measure.memory.thread_time", lambda: 0.0)
    free = FreeMemory(clock.trim)
    free.give_back()
    clock.now += 2 * LEAST_TRIM_SECONDS
    assert free.give_back()


def fragment(mib: int) -> int:
    """Take so much in small objects, and keep a few of them, between which all is free."""
    objects = [bytes(1000) for _ in range(mib * 1024)]
    PINNED.append(objects[::4000])
    return len(objects)


def arrays_between_arrays(mib: int) -> int:
    """Take so much in arrays of 1 MiB, and keep a few of them, between which all is free."""
    import numpy as np

    arrays = [np.ones(MIB // 8) for _ in range(mib)]
    PINNED.append(arrays[::20])
    return len(arrays)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
@pytest.mark.parametrize("take", [fragment, arrays_between_arrays])
def test_memory_that_a_task_has_freed_leaves_the_process(
    cluster: Client, take: Callable[[int], int]
) -> None:
    def process(dask_worker: Any) -> float:
        return dask_worker._worker.process_bytes()

    before = max(cluster.run(process).values())
    assert cluster.submit(take, 120).result() >= 120
    wait_until("it is returned", lambda: max(cluster.run(process).values()) < before + 40 * MIB)


def wait_for(path: str) -> bool:
    """Run until the file is there."""
    wait_until("the file is there", lambda: Path(path).exists())
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_a_worker_that_is_never_idle_gives_back_what_results_have_left(tmp_path: Path) -> None:
    def process(dask_worker: Any) -> float:
        return dask_worker._worker.process_bytes()

    with Client(n_workers=1, threads_per_worker=2, memory_limit=0) as client:
        running = client.submit(wait_for, str(tmp_path / "end"))
        (before,) = client.run(process).values()
        assert client.submit(arrays_between_arrays, 600).result() == 600
        wait_until("it is returned", lambda: max(client.run(process).values()) < before + 200 * MIB)
        assert not running.done()
        (tmp_path / "end").touch()
        assert running.result()


def faults_of_arrays(count: int, nbytes: int) -> float:
    """Page faults of each of so many arrays, of which one lives while the next is made."""
    import resource

    import numpy as np

    def made() -> Any:
        return np.ones(nbytes // 8)

    held = [made(), made()]
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(count):
        held = [held[1], made()]
    return (resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before) / count


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
@pytest.mark.parametrize("nbytes", [MIB, MAPPED_BYTES - 65536])
def test_arrays_lie_where_others_lay_before(cluster: Client, nbytes: int) -> None:
    pages = nbytes / mmap.PAGESIZE
    assert cluster.submit(faults_of_arrays, 50, nbytes, pure=False).result() < pages / 2
