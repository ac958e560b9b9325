"""How far apart looks are, by what they cost: told by a clock of the test, never timed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.local import lane_watch
from spanwise.local.lane_watch import LaneWatch
from spanwise.measure.looks import (
    LOOK_SECONDS,
    LOOK_SHARE,
    MOST_LOOK_SECONDS,
    STILL_SECONDS,
    LookBudget,
)
from spanwise.measure.names import Names
from spanwise.worker import watch as watching
from spanwise.worker.watch import Watch


class Cpu:
    """CPU seconds of a thread that looks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def looks_of(budget: LookBudget, cpu: Cpu, cost: float, count: int, asked: float) -> list[float]:
    """The seconds between looks that cost so much each, waking up included."""
    apart = []
    for _ in range(count):
        budget.rests()
        cpu.seconds += cost
        budget.looked()
        cpu.seconds += 1.0  # what else the thread does is no look
        apart.append(budget.apart(asked))
    return apart


@pytest.mark.parametrize("cost", [0.00011, 0.00029, 0.0009])
def test_dear_looks_take_a_hundredth_of_a_core(cost: float) -> None:
    cpu = Cpu()
    apart = looks_of(LookBudget(cpu), cpu, cost, 400, LOOK_SECONDS)[-100:]
    assert 100 * cost / sum(apart) == pytest.approx(LOOK_SHARE, rel=0.01)


def test_cheap_looks_are_as_far_apart_as_is_asked() -> None:
    cpu = Cpu()
    assert set(looks_of(LookBudget(cpu), cpu, 0.00008, 400, LOOK_SECONDS)) == {LOOK_SECONDS}


def test_looks_are_no_further_apart_than_the_bound_and_what_is_asked() -> None:
    cpu = Cpu()
    assert looks_of(LookBudget(cpu), cpu, 0.05, 400, LOOK_SECONDS)[-1] == MOST_LOOK_SECONDS
    # A setting may be beyond it: the budget never has looks nearer.
    assert set(looks_of(LookBudget(cpu), cpu, 0.05, 400, 0.5)) == {0.5}


def test_they_are_near_again_when_they_have_become_cheap() -> None:
    cpu = Cpu()
    budget = LookBudget(cpu)
    assert looks_of(budget, cpu, 0.0009, 400, LOOK_SECONDS)[-1] > 8 * LOOK_SECONDS
    assert looks_of(budget, cpu, 0.00005, 400, LOOK_SECONDS)[-1] == LOOK_SECONDS


def test_working_out_what_looks_saw_counts_as_theirs() -> None:
    """0.2 ms a look, and 10 ms for each hundred of them: 0.3 ms."""
    cpu = Cpu()
    budget = LookBudget(cpu)
    apart = []
    for _ in range(20):
        apart += looks_of(budget, cpu, 0.0002, 100, LOOK_SECONDS)
        budget.book(0.01)
    assert sum(apart[-1000:]) / 1000 == pytest.approx(0.03, rel=0.05)


def test_a_thread_that_never_waited_has_no_cost_yet() -> None:
    """Its clock began elsewhere: that of the thread that looked before it, say."""
    cpu = Cpu()
    cpu.seconds = 30.0
    budget = LookBudget(cpu)
    budget.looked()
    assert budget.apart(LOOK_SECONDS) == LOOK_SECONDS


class Stop(Exception):
    """The test has seen enough."""


def waits_of(monkeypatch: pytest.MonkeyPatch, cost: float, setting: float, moves: bool) -> Any:
    """(waits, times of looks at stacks) of a worker's watch thread, by a clock of the test."""
    now, cpu = [100.0], Cpu()
    looks: list[float] = []
    waits: list[float] = []

    def look(at: float) -> tuple[int, bool]:
        looks.append(at)
        cpu.seconds += cost
        return 1, moves

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds
        if len(waits) == 600:
            raise Stop

    executor = SimpleNamespace(row=(), reporting=False, clock=1e9, number=0, run=Stop)
    monkeypatch.setattr(watching, "Sampler", lambda *_: SimpleNamespace(look=look))
    monkeypatch.setattr(watching, "perf_counter", lambda: now[0])
    monkeypatch.setattr(watching, "sleep", sleep)
    worker: Any = SimpleNamespace(
        executors=[executor],
        clock=SimpleNamespace(at=lambda t: t),
        memory_limit=0,
        segments=SimpleNamespace(counted_bytes=lambda: 0),
        thresholds=None,
        report=SimpleNamespace(runs=[]),
        managed=0.0,
    )
    watch = Watch(worker, SimpleNamespace(), 0.0, print, sample_seconds=setting)  # type: ignore[arg-type]
    watch.budget = LookBudget(cpu)
    watch.machinery = SimpleNamespace(look=lambda at: False)  # type: ignore[assignment]
    watch._measure_memory = lambda now: None  # type: ignore[method-assign]
    watch._system = SimpleNamespace(is_due=lambda *_: False)  # type: ignore[assignment]
    watch.send_measured = lambda with_samples=True: None  # type: ignore[method-assign]
    with pytest.raises(Stop):
        watch.run()
    return waits, looks


@pytest.mark.parametrize(
    ("cost", "setting", "apart"),
    [
        (0.00005, 0.01, LOOK_SECONDS),
        (0.0002, 0.01, 0.02),
        (0.0002, 0.001, 0.02),
        (0.0002, 0.1, 0.09),
        (0.0007, 0.01, 0.07),
        (0.05, 0.01, MOST_LOOK_SECONDS),
        (0.05, 0.5, 0.45),
    ],
)
def test_a_worker_looks_at_busy_threads_as_often_as_the_budget_lets_it(
    monkeypatch: pytest.MonkeyPatch, cost: float, setting: float, apart: float
) -> None:
    waits, looks = waits_of(monkeypatch, cost, setting, moves=True)
    # What else the thread does goes on: reports that are overdue, tasks that run for long.
    assert max(waits) <= STILL_SECONDS + 1e-9
    late = looks[len(looks) // 2 :]
    # (one that is rare falls on one of the wakes, each 40 ms)
    assert (late[-1] - late[0]) / (len(late) - 1) == pytest.approx(apart, rel=0.1)


@pytest.mark.parametrize("cost", [0.00005, 0.0002])
def test_at_what_stands_still_it_looks_each_40_ms(
    monkeypatch: pytest.MonkeyPatch, cost: float
) -> None:
    waits, _ = waits_of(monkeypatch, cost, 0.01, moves=False)
    assert waits[10:] == pytest.approx([STILL_SECONDS] * 590)


def test_observers_of_dasks_schedulers_look_by_the_same_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu = Cpu()
    watch = LaneWatch(Names(), 0.0)
    watch.budget = LookBudget(cpu)

    def look(self: Any, now: float) -> tuple[int, bool]:
        cpu.seconds += 0.0002
        return 1, True

    monkeypatch.setattr(lane_watch.ThreadSampler, "look", look)
    pauses: list[float] = []
    woken: Any = SimpleNamespace(wait=pauses.append)
    for _ in range(400):
        watch.look(0.0)
        watch.wait(woken)
    assert pauses[0] == LOOK_SECONDS
    assert pauses[-1] == pytest.approx(0.02, rel=0.01)
    watch.wait(woken, 3.0)
    assert pauses[-1] == 3.0
