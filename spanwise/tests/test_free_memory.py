"""Memory that users' code has freed goes back to the system, at little cost."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from spanwise import Client
from spanwise.measure.memory import LEAST_TRIM_SECONDS, FreeMemory
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


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_memory_that_a_task_has_freed_leaves_the_process(cluster: Client) -> None:
    def process(dask_worker: Any) -> float:
        return dask_worker._worker.process_bytes()

    before = max(cluster.run(process).values())
    assert cluster.submit(fragment, 120).result() == 120 * 1024
    wait_until("it is returned", lambda: max(cluster.run(process).values()) < before + 40 * MIB)
