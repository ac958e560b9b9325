"""When threads are looked at, what that stands for, and what it may cost: on simulated clocks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import pairwise
from math import inf, sqrt
from random import Random
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.local import lane_watch as lane_watching
from spanwise.local.lane_watch import LaneWatch
from spanwise.local.meter import Lane
from spanwise.measure import sampler as sampling
from spanwise.measure.fine import Ledger
from spanwise.measure.looks import (
    LONGEST,
    LOOK_SECONDS,
    LOOK_SHARE,
    MOST_STRETCH_SECONDS,
    LookBudget,
    LookTimes,
    due_after,
    moment,
)
from spanwise.measure.names import Names
from spanwise.measure.sampler import INTERVAL
from spanwise.records.enumerations import (
    SAMPLE_BLOCKED,
    SAMPLE_ON_CORE,
    SAMPLE_UNKNOWN,
    SAMPLE_WAITING,
)
from spanwise.tests.test_sampler import FUNCTION, FakeExecutor, Turn, Turns, row
from spanwise.worker import watch as watching
from spanwise.worker.watch import (
    EARLY_SECONDS,
    IDLE_SECONDS,
    MEMORY_SECONDS,
    OVERDUE_SECONDS,
    REST_SECONDS,
    ROWS_SECONDS,
    Watch,
)

A, B = row(7, 1), row(8, 2)


# ── when looks are due ────────────────────────────────────────────────────────


@given(
    st.lists(
        st.tuples(st.sampled_from(["take", "skip"]), st.floats(0.0, 0.4), st.floats(0.001, 0.05)),
        min_size=1,
        max_size=60,
    ),
    st.integers(0, 2**32),
)
def test_looks_and_what_is_left_out_are_all_of_the_time(steps, seed):
    """No stretch is lost, and none counts twice, whatever lengths are asked for meanwhile."""
    times = LookTimes(0.0, LOOK_SECONDS, seed=seed)
    now = 0.0
    for what, step, stretch in steps:
        begin, now = times.begin, now + step
        if what == "take":
            dues = times.take(now)
            assert all(due <= now for due, _ in dues)
            assert sum(seconds for _, seconds in dues) == pytest.approx(times.begin - begin)
            assert all(a < b for (a, _), (b, _) in pairwise(dues))
        else:
            times.skip(now)
        assert times.due >= now
        # The next look is in the stretch that has begun, or in the next one.
        assert times.begin <= times.due < times.begin + 0.05
        assert times.begin - now <= 0.05
        times.stretch(stretch, now)
        assert times.due >= now


@pytest.mark.parametrize("leaps", [0.0, 0.02, 0.2])
def test_moments_are_those_of_their_stretches_also_where_many_are_computed_together(leaps):
    chance = Random(5)
    times = LookTimes(0.0, LOOK_SECONDS, seed=5)
    now = 0.0
    for _ in range(2_000):
        leap = chance.random() < leaps
        now += chance.random() if leap else LOOK_SECONDS
        (times.skip if leap else times.take)(now)
        begin, seconds, number, seed = times.plan()
        assert times.due == pytest.approx(begin - seconds + moment(seed, number - 1) * seconds)


def test_a_look_after_a_standstill_stands_for_a_minute_at_most():
    assert LONGEST == 60.0
    times = LookTimes(0.0, LOOK_SECONDS)
    dues = times.take(3600.0)
    assert sum(seconds for _, seconds in dues) == pytest.approx(LONGEST, abs=2 * LOOK_SECONDS)


@given(
    st.lists(
        st.tuples(st.sampled_from(["take", "skip"]), st.floats(0.0, 2.5), st.floats(0.009, 0.05)),
        max_size=20,
    ),
    st.floats(0.0, 3.0),
    st.lists(st.floats(0.0, 2.5), max_size=3),
    st.integers(0, 2**32),
)
def test_looks_are_due_as_planned(steps, late, rests, seed):
    """Whatever came before, and however late the next look is.

    Also after rests, of which a thread that begins a task before the next look does not know.
    """
    times = LookTimes(0.0, LOOK_SECONDS, seed=seed)
    now = 0.0
    for what, step, stretch in steps:
        now += step
        if what == "take":
            times.take(now)
        else:
            times.skip(now)
        times.stretch(stretch, now)
    plan = times.plan()
    first = times.due
    for rest in rests:
        now += rest
        times.skip(now)
        times.plan()
    rested = times.due
    dues = [due for due, _ in times.take(rested + late)]
    if first != rested == dues[0]:
        # In a stretch behind that of the look that was to come next.
        dues = [max(now, first), *dues]
    for a, b in pairwise(dues):
        # (a microsecond may be on either side)
        for t in (a + 1e-5, (a + b) / 2, b - 1e-5):
            if a < t < b:
                assert b - 2e-6 <= due_after(plan, t) <= b


@pytest.mark.parametrize("seed", [0, 1, 2**63, 4711])
@pytest.mark.parametrize("apart", [1, 2, 23, 89, 115])
def test_moments_are_even_and_have_nothing_to_do_with_each_other(seed: int, apart: int) -> None:
    """Also those of stretches that follow each other, or that a periodic program meets."""
    drawn = [moment(seed, number) for number in range(20_000)]
    assert all(0.0 <= each < 1.0 for each in drawn)
    pairs = Counter((int(10 * a), int(10 * b)) for a, b in zip(drawn, drawn[apart:], strict=False))
    expected = (len(drawn) - apart) / 100
    chi = sum((pairs[a, b] - expected) ** 2 / expected for a in range(10) for b in range(10))
    # Of 99 degrees of freedom: six standard deviations.
    assert chi < 99 + 6 * sqrt(2 * 99)


@pytest.mark.parametrize("is_new", [False, True])
def test_of_what_ends_before_a_late_look_that_is_told_in_which_looks_were_due(is_new: bool) -> None:
    """Ten thousand tasks, the first half of them of one function; `is_new`: of a new thread."""
    turns = Turns([(Turn(A if n < 5000 else B), SAMPLE_ON_CORE, 0.0001) for n in range(10_000)])
    times = LookTimes(0.0, LOOK_SECONDS, seed=1)
    sampler, executor = turns.sampler, turns.executor
    clock = sampler._lanes[0].clock
    if is_new:
        sampler.remove(executor)
    sampler.awaits(times)
    if is_new:
        sampler.add(executor)
        sampler._lanes[0].clock = clock
    turns.go_to(0.95)
    assert len(turns.executor.ends) < 120
    turns.sampler.look(turns.now, times.take(turns.now), times.earliest(turns.now))
    found = turns.found()
    assert found[A[FUNCTION], SAMPLE_ON_CORE] == pytest.approx(50, abs=3)
    assert found[B[FUNCTION], SAMPLE_ON_CORE] == pytest.approx(45, abs=3)


# ── what that costs ───────────────────────────────────────────────────────────


def budget_of(costs: list[float], rest: float = 0.0) -> LookBudget:
    budget = LookBudget()
    for cost in costs:
        budget.looked(cost)
    if rest:
        budget.worked_out(100 * rest, 100)
        for cost in costs:
            budget.looked(cost)
    return budget


def test_dear_looks_take_their_share_of_a_core():
    assert budget_of([0.00004] * 64).stretch(LOOK_SECONDS) == LOOK_SECONDS
    assert budget_of([0.0002] * 64).stretch(LOOK_SECONDS) == pytest.approx(0.0002 / LOOK_SHARE)
    assert budget_of([0.0002] * 64, 0.0001).stretch(0.001) == pytest.approx(0.0003 / LOOK_SHARE)
    # ... but are never further apart than that, unless that is asked for.
    assert budget_of([0.05] * 64).stretch(LOOK_SECONDS) == MOST_STRETCH_SECONDS
    assert budget_of([0.05] * 64).stretch(0.45) == 0.45


def test_looks_take_their_share_of_what_tasks_get_of_a_core():
    """On a crowded machine they are rarer by the clock on the wall, not by that of the tasks."""
    budget = budget_of([0.00005] * 64)
    alone = budget.stretch(0.001)
    for _ in range(60):
        budget.got(0.25, 0.75)
    assert budget.stretch(0.001) == pytest.approx(4 * alone)
    # Who is blocked, or of whom the system does not tell, says nothing of that.
    budget.got(0.0, 0.0)
    assert budget.stretch(0.001) == pytest.approx(4 * alone)
    for _ in range(60):
        budget.got(1.0, 0.0)
    assert budget.stretch(0.001) == pytest.approx(alone)
    for _ in range(2000):
        budget.got(0.0, 1.0)
    assert budget.stretch(0.001) == MOST_STRETCH_SECONDS


@given(st.lists(st.floats(0.01, 10.0), max_size=4), st.integers(0, 60))
def test_what_else_falls_into_a_look_does_not_make_looks_rare(outliers, place):
    costs = [0.0002] * 60
    costs[place:place] = outliers
    stretch = budget_of(costs).stretch(LOOK_SECONDS)
    asked = 0.0002 / LOOK_SHARE
    assert asked * 0.99 <= stretch <= asked * 1.3


# ── seconds, as a worker's watch thread credits them ──────────────────────────


class Ended(Exception):
    """The simulated program has ended."""


class Machine:
    """A watch thread and the threads that it looks at, on a clock of the test.

    Parameters
    ----------
    turns
        The one thread that runs tasks.
    cost, times
        CPU seconds of a look at A, and how many times as much one at B takes.
    late
        Seconds by which the thread wakes up late.
    pause
        Seconds between its reading of the clock and of what runs.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        turns: Turns,
        cost: float,
        seed: int,
        times: float = 1.0,
        late: Callable[[], float] = lambda: 0.0,
        pause: float = 0.0,
    ) -> None:
        self.turns = turns
        self.late = late
        self.now = self.cpu = 0.0
        self.looks: list[float] = []
        #: Moments at which short tasks leave rows behind, and at which they are sent.
        self.rows: list[float] = []
        self.sent: list[float] = []
        self.is_woken = False
        executor: Any = turns.executor
        executor.idle_since = 0.0
        executor.reads = SimpleNamespace(tell=lambda now: None)
        worker: Any = SimpleNamespace(
            executors=[executor],
            names=executor.names,
            library=SimpleNamespace(templates={}),
            clock=SimpleNamespace(at=lambda t: t),
            memory_limit=0,
            segments=SimpleNamespace(counted_bytes=lambda: 0),
            thresholds=None,
            report=SimpleNamespace(runs=[], since=0.0),
            flush=self.flush,
            managed=0.0,
            paused=False,
        )
        self.worker = worker
        monkeypatch.setattr(watching, "perf_counter", lambda: self.now)
        monkeypatch.setattr(watching, "thread_time", lambda: self.cpu)
        monkeypatch.setattr(sampling, "thread_time", lambda: self.cpu)
        # What the looked at thread's stack is is no matter here.
        monkeypatch.setattr(sys, "_current_frames", dict)
        watch: Any = Watch(worker, SimpleNamespace(), 0.0, print)  # type: ignore[arg-type]
        watch.times = LookTimes(0.0, LOOK_SECONDS, seed=seed)
        watch.sampler._lanes[0].clock = turns.sampler._lanes[0].clock
        watch._await()
        watch.machinery = SimpleNamespace(look=lambda at: False)
        watch._measure_memory = lambda now: None
        watch._give_back_idle = lambda: None
        watch._system = SimpleNamespace(is_due=lambda *_: False)
        watch._tell_running = lambda now: None
        watch.send_measured = lambda with_samples=True: None
        watch._unpark = self
        look = watch.sampler.look

        def count(*arguments: Any) -> tuple[int, bool]:
            if pause:
                self.now += pause
                turns.go_to(self.now)
            busy, moved = look(*arguments)
            if busy:
                self.looks.append(self.now)
                self.cpu += cost * (times if executor.path[0][0] is B else 1.0)
            return busy, moved

        watch.sampler.look = count
        watch.sampler._lanes[0].clock = turns.sampler._lanes[0].clock
        turns.sampler = watch.sampler
        self.watch = watch

    # As an event.

    def clear(self) -> None:
        """Nothing has happened."""

    def set(self) -> None:
        """Rows wait, and the thread does not look for them yet."""
        self.is_woken = True

    def flush(self) -> None:
        """Send the rows that wait."""
        self.worker.report.runs = []
        self.sent.append(self.now)

    def wait(self, seconds: float) -> bool:
        """Time passes; a task that begins wakes a thread that rests."""
        turns, until = self.turns, self.now + max(seconds, 1e-6)
        while self.rows and self.rows[0] <= until:
            self.now = self.worker.report.since = self.rows.pop(0)
            self.worker.report.runs = [()]
            self.is_woken, self.watch.rows_wait = False, True
            if not self.watch.ticks:
                self.watch.tick()
            if self.is_woken:
                self.turns.go_to(self.now)
                return True
        begin = inf
        if self.watch.parked:
            # (no slice: there may be ten thousands)
            coming = (turns.turns[at] for at in range(turns.place + 1, len(turns.turns)))
            begin = next((turn[0] for turn in coming if turn[2] is not None), inf)
        is_begun = begin <= until
        until = min(begin, until) + self.late()
        if begin <= until:
            turns.go_to(begin)
            self.watch.wake(begin)
        if until > turns.turns[-1][1]:
            raise Ended
        self.now = until
        turns.go_to(until)
        return is_begun

    def run(self) -> dict[int, float]:
        """Function to seconds."""
        with pytest.raises(Ended):
            self.watch.run()
        found: dict[int, float] = {}
        self.turns.go_to(self.turns.turns[-1][1])
        for (function, _), n in self.turns.found().items():
            found[function] = found.get(function, 0.0) + n * INTERVAL
        return found


@lru_cache(maxsize=1)
def program(
    burst: float, duty: float, task: float, busy: float, exactly: bool
) -> tuple[Turns, dict[int, list[float]]]:
    """Bursts of tasks of two functions, one after the other, and rests.

    The same for each way in which looks are late: those tests follow each other.

    Parameters
    ----------
    burst
        Seconds of each, on average; 0: drawn, from 1 ms to 1 s.
    busy
        Seconds of all bursts.
    exactly
        It is periodic.

    Returns
    -------
    the thread that runs them, seconds of each task of each function
    """
    chance = Random(20)

    def about(seconds: float) -> float:
        return seconds if exactly else seconds * chance.uniform(0.5, 1.5)

    stays: list[Any] = []
    lengths: dict[int, list[float]] = {A[FUNCTION]: [], B[FUNCTION]: []}
    total = 0.0
    while total < busy:
        whole = left = about(burst or 10 ** chance.uniform(-3, 0))
        while left > 0:
            of = A if chance.random() < 0.7 else B
            seconds = min(left, about(task))
            state = SAMPLE_ON_CORE if of is A else SAMPLE_BLOCKED
            stays.append((Turn(of), state, seconds))
            lengths[of[FUNCTION]].append(seconds)
            total += seconds
            left -= seconds
        stays.append((None, SAMPLE_BLOCKED, about(whole * (1.0 - duty) / duty)))
    stays.append((None, SAMPLE_BLOCKED, 1.0))
    return Turns(stays), lengths


def test_the_thread_wakes_a_few_times_after_the_last_task_and_rests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each wake-up takes half a look; short computations have as many behind them as in them."""
    end = 0.02
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, end), (None, SAMPLE_BLOCKED, 1.0)])
    machine = Machine(monkeypatch, turns, 0.0, seed=1)
    awake: list[float] = []
    parked: list[float] = []

    def wait(seconds: float) -> bool:
        (parked if machine.watch.parked else awake).append(machine.now)
        return Machine.wait(machine, seconds)

    monkeypatch.setattr(machine, "wait", wait)
    machine.run()
    assert len([at for at in awake if end < at < 0.5]) <= 2 + REST_SECONDS / LOOK_SECONDS
    assert parked[0] <= end + REST_SECONDS + 2 * LOOK_SECONDS
    assert REST_SECONDS < IDLE_SECONDS


#: Seconds of a burst (0: drawn, from 1 ms to 1 s) and of a task of it, duty, cost of a look.
CASES = [
    (0.001, 0.001, 0.25, 0.00005),
    (0.001, 0.001, 0.5, 0.0003),
    (0.01, 0.01, 0.5, 0.0003),
    (0.003, 0.003, 0.02, 0.00005),
    (0.01, 0.003, 0.1, 0.00005),
    (0.05, 0.01, 0.25, 0.0003),
    (1.0, 0.3, 0.5, 0.0003),
    (0.0, 0.02, 0.1, 0.0003),
    (0.0, 0.02, 0.25, 0.0005),
    (0.0, 0.005, 0.5, 0.00005),
]


#: Seconds by which looks come late, of a chance.
LATE: dict[str, Callable[[Random], float]] = {
    "in time": lambda chance: 0.0,
    "switch interval": lambda chance: chance.uniform(0.0, 0.01),
    "several threads": lambda chance: chance.uniform(0.0, 0.03),
    "long call": lambda chance: 0.2 if chance.random() < 0.02 else 0.0,
}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize(("burst", "task", "duty", "cost"), CASES)
def test_seconds_are_true_whatever_the_rests(
    monkeypatch: pytest.MonkeyPatch, burst: float, task: float, duty: float, cost: float, late: str
) -> None:
    check(monkeypatch, burst, task, duty, cost, late=partial(LATE[late], Random(22)))


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("task", [0.0003, 0.003, 0.007, 0.02])
def test_a_thread_that_is_never_idle_has_its_time_and_no_more(
    monkeypatch: pytest.MonkeyPatch, task: float, late: str
) -> None:
    """Each moment counts once, whoever ran then: chance only divides them."""
    stays: list[Any] = [
        (Turn(A if each % 3 else B), SAMPLE_ON_CORE, task) for each in range(int(6.0 / task))
    ]
    stays.append((None, SAMPLE_BLOCKED, 1.0))
    whole = sum(seconds for turn, _, seconds in stays if turn is not None)
    machine = Machine(
        monkeypatch, Turns(stays), 0.00005, seed=9, late=partial(LATE[late], Random(23))
    )
    found = machine.run()
    # Each function is owed less than a sample, and begins with less than one.
    assert sum(found.values()) == pytest.approx(whole, abs=LOOK_SECONDS + 2 * INTERVAL)


@pytest.mark.parametrize("pause", [0.001, 0.003, 0.01])
def test_what_ends_while_a_look_begins_has_its_time(
    monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    stays: list[Any] = [(Turn(A if each % 3 else B), SAMPLE_ON_CORE, 0.006) for each in range(500)]
    stays.append((None, SAMPLE_BLOCKED, 1.0))
    machine = Machine(monkeypatch, Turns(stays), 0.00005, seed=9, pause=pause)
    found = machine.run()
    assert sum(found.values()) == pytest.approx(3.0, abs=LOOK_SECONDS + 2 * INTERVAL + pause)


@pytest.mark.parametrize("kind", ["worker", "process"])
@pytest.mark.parametrize("late", [0.0, 0.03, 0.05])
def test_bursts_that_are_over_before_anybody_looks_have_their_time(
    monkeypatch: pytest.MonkeyPatch, late: float, kind: str
) -> None:
    """The thread that looks rests for longer than a look stands for, and wakes up late.

    Meanwhile the tasks' thread decides by itself in which of them looks are due.
    """
    burst, bursts = 0.05, 60
    stays: list[Any] = []
    for _ in range(bursts):
        stays.append((None, SAMPLE_BLOCKED, 2.0))
        stays += [(Turn(A), SAMPLE_ON_CORE, 0.001) for _ in range(round(burst / 0.001))]
    stays.append((None, SAMPLE_BLOCKED, 2.0))
    turns = Turns(stays)
    if kind == "worker":
        machine = Machine(monkeypatch, turns, 0.00005, seed=3, late=lambda: late)
        # It wakes for nothing else.
        machine.watch.memory_seconds = 3600.0
        found = machine.run()[A[FUNCTION]]
    else:
        found = rest_and_look(monkeypatch, turns, late)
    # At both ends of a burst its stretch counts or does not.
    error = 4 * LOOK_SECONDS / 2 * sqrt(bursts) + 2 * INTERVAL
    assert error < 0.15 * burst * bursts
    assert found == pytest.approx(burst * bursts, abs=error)


def rest_and_look(monkeypatch: pytest.MonkeyPatch, turns: Turns, late: float) -> float:
    """Look as `observe()` does, and rest between bursts; return the seconds that were found."""
    monkeypatch.setattr(lane_watching, "perf_counter", lambda: turns.now)
    executor: Any = turns.executor
    watch: Any = LaneWatch(executor.names, 0.0)
    watch.times = LookTimes(0.0, LOOK_SECONDS, seed=3)
    watch.called = lambda row: None
    watch._await()
    watch.add(executor)
    watch._lanes[0].clock = turns.sampler._lanes[0].clock
    turns.sampler = watch
    begins = [begin for begin, _, turn in turns.turns if turn is not None]
    for before, begin in pairwise([-inf, *begins]):
        if begin - before < 1.0:
            continue
        turns.go_to(begin + late)
        watch.rests_until(begin)
        while turns.now < begin + 1.0:
            watch.look_if_due(turns.now)
            turns.go_to(watch.times.due + late)
    return sum(turns.found().values()) * INTERVAL


@pytest.mark.parametrize("burst", [0.01, 0.03])
def test_looks_keep_no_step_with_a_periodic_program(
    monkeypatch: pytest.MonkeyPatch, burst: float
) -> None:
    """Its period is two or one of the stretches of 30 ms."""
    cost = 0.03 * LOOK_SHARE
    check(monkeypatch, burst, burst, 0.5 if burst > 0.01 else 1 / 3, cost, exactly=True)


def test_tasks_hardly_longer_than_a_stretch_have_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looks are so dear that some of these tasks have none."""
    assert MOST_STRETCH_SECONDS < 0.105 < 2 * MOST_STRETCH_SECONDS
    check(monkeypatch, 0.105, 0.105, 0.5, MOST_STRETCH_SECONDS * LOOK_SHARE, exactly=True)


def test_a_deep_stack_has_no_other_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at it costs ten times as much, and makes the next ones rarer."""
    check(monkeypatch, 0.4, 0.15, 0.5, 0.00015, times=10.0)


def check(
    monkeypatch: pytest.MonkeyPatch,
    burst: float,
    task: float,
    duty: float,
    cost: float,
    exactly: bool = False,
    times: float = 1.0,
    late: Callable[[], float] = lambda: 0.0,
) -> None:
    """Compare sampled seconds with true ones, within four standard errors.

    So many stretches are busy that an error of a fifth is seen.
    """
    stretch = max(LOOK_SECONDS, min(cost / LOOK_SHARE, MOST_STRETCH_SECONDS))
    turns, lengths = program(burst, duty, task, 1200 * stretch, exactly)
    found = Machine(monkeypatch, turns.again(), cost, 21, times, late).run()
    for function, tasks in lengths.items():
        seconds = sum(tasks)
        # Of a task of d seconds the stretches at its ends count or do not: of one within a
        # stretch of L with a variance of d (L - d), of a longer one with less than L² / 4.
        variance = sum(
            each * (stretch - each) if each < stretch / 2 else stretch * stretch / 4
            for each in tasks
        )
        error = 4 * sqrt(variance) + 2 * INTERVAL
        assert error < 0.25 * seconds
        assert found.get(function, 0.0) == pytest.approx(seconds, abs=error)


def test_looks_are_as_far_apart_as_the_budget_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 20.0), (None, SAMPLE_BLOCKED, 1.0)])
    machine = Machine(monkeypatch, turns, 0.0003, seed=5)
    assert machine.run()[A[FUNCTION]] == pytest.approx(20.0, abs=4 * INTERVAL)
    late = [look for look in machine.looks if look > 1.0]
    assert len(late) * 0.0003 == pytest.approx(LOOK_SHARE * 19.0, rel=0.05)
    assert max(b - a for a, b in pairwise(late)) <= 2 * MOST_STRETCH_SECONDS


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_all_that_looks_take_is_of_what_tasks_get(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """Looks at the other threads of the process come with them, and the task waits for a core."""
    task = Turn(A)
    stays: list[Any] = []
    for _ in range(2000):
        stays.append((task, SAMPLE_ON_CORE, 0.02 * share))
        if share < 1.0:
            stays.append((task, SAMPLE_WAITING, 0.02 * (1.0 - share)))
    machine = Machine(monkeypatch, Turns([*stays, (None, SAMPLE_BLOCKED, 1.0)]), 0.0001, seed=5)

    def look(now: float) -> bool:
        machine.cpu += 0.00005
        return False

    machine.watch.machinery = SimpleNamespace(look=look)
    assert machine.run()[A[FUNCTION]] == pytest.approx(40.0, abs=4 * INTERVAL)
    late = [look for look in machine.looks if look > 10.0]
    assert len(late) * 0.00015 == pytest.approx(LOOK_SHARE * share * 30.0, rel=0.1)


def test_what_can_wait_wakes_nobody_where_a_look_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is measured, and it is told of the long task, mostly when it looks anyway."""
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 40.0), (None, SAMPLE_BLOCKED, 1.0)])
    machine = Machine(monkeypatch, turns, 0.07 * LOOK_SHARE, seed=5)
    passes: list[float] = []
    measured: list[float] = []
    machine.watch.look_also = lambda: passes.append(machine.now)
    machine.watch._measure_memory = measured.append
    machine.run()
    looks = set(machine.looks)
    alone = [at for at in measured if at not in looks]
    assert len(measured) == pytest.approx(40.0 / MEMORY_SECONDS, abs=10)
    assert len(alone) < 0.5 * len(measured)
    assert max(b - a for a, b in pairwise(measured)) <= MEMORY_SECONDS + EARLY_SECONDS + 1e-6
    # (it rests before the task begins, and after it)
    assert len(passes) < len(looks) + len(alone) + 30


def test_looks_at_other_threads_come_with_those_at_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not whenever rows are sent, while there is a task."""
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 10.0), (None, SAMPLE_BLOCKED, 1.0)])
    machine = Machine(monkeypatch, turns, 0.07 * LOOK_SHARE, seed=5)
    machine.rows = [each * 0.012 for each in range(800)]
    machine.watch.memory_seconds = 3600.0
    seen: list[float] = []

    def look(now: float) -> bool:
        seen.append(now)
        return True

    machine.watch.machinery = SimpleNamespace(look=look)
    machine.run()
    assert len(machine.sent) > 150
    assert len(seen) < len(machine.looks) + 30


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_short_tasks_do_not_wait_for_looks(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Looks are 50 ms apart; rows that wait are sent as soon as where looks cost nothing.

    Also if a look comes when they have not waited for long.
    """
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 3.0), (None, SAMPLE_BLOCKED, 0.1)])
    machine = Machine(monkeypatch, turns, 0.05, seed)
    machine.rows = [1.0, 1.4, 2.0013, 2.0613, 2.9]
    left = [*machine.rows]
    machine.run()
    late = [sent - row for row, sent in zip(left, machine.sent, strict=True)]
    assert max(late) <= OVERDUE_SECONDS + ROWS_SECONDS


def test_rows_that_wait_wake_no_thread_that_looks_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """To wake takes some 100 us of a core. With looks in each 9 ms none is for rows alone."""
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 3.0), (None, SAMPLE_BLOCKED, 0.1)])
    machine = Machine(monkeypatch, turns, 0.0, seed=6)
    # As threads of tiny tasks report, each 2 ms.
    machine.rows = [0.002 * number for number in range(1, 1500)]
    wait = machine.wait
    waits: list[float] = []

    def count(seconds: float) -> bool:
        waits.append(seconds)
        return wait(seconds)

    monkeypatch.setattr(machine, "wait", count)
    machine.run()
    assert len(machine.looks) == pytest.approx(3.0 / LOOK_SECONDS, rel=0.02)
    # (each 0.2 s memory is measured)
    assert len(waits) <= 1.1 * len(machine.looks)


def test_a_thread_that_ends_while_rows_are_asked_for_ends_no_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its clock goes with it, and the look that was due meets that."""

    def gone() -> float:
        raise OSError("No such process")

    now = 0.0
    monkeypatch.setattr(lane_watching, "perf_counter", lambda: now)
    executor: Any = FakeExecutor((A, None))
    watch = LaneWatch(executor.names, 0.0)
    watch.times = LookTimes(0.0, LOOK_SECONDS)
    watch.add(executor)
    watch._lanes[0].clock = SimpleNamespace(read=gone)  # type: ignore[assignment]
    now = 0.05
    assert watch.look_if_due(now) == 1
    now = 0.1
    # Of the time for which it seems to run a task it is not known what it did.
    assert {state for *_, state, _ in watch.rows()} <= {SAMPLE_UNKNOWN}


def test_a_thread_that_has_ended_is_forgotten_when_its_last_task_has_its_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looks were due in it, and the thread that looks has had no core meanwhile."""
    now = 0.0
    monkeypatch.setattr(lane_watching, "perf_counter", lambda: now)
    watch = LaneWatch(Names(), 0.0)
    watch.times = LookTimes(0.0, LOOK_SECONDS, seed=8)

    def run() -> None:
        lane = Lane(0, Ledger())
        watch.add(lane)
        columns = list(A)
        columns[1] = None  # (the work of a task that has ended)
        lane.ends.append((0.0, 0.0, 0.0, 0.1, 0.1, 0.0, tuple(columns), None))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    now = 0.11
    watch.forget_ended()
    assert not watch._lanes
    assert [(function, n) for _, _, _, function, _, _, n in watch.rows()] == [(A[FUNCTION], 10)]


@pytest.mark.parametrize("kind", ["worker", "process"])
def test_who_asks_is_told_of_looks_that_were_due(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A task has begun and ended, and the thread that looks has had no core meanwhile."""
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 0.1), (None, SAMPLE_BLOCKED, 1.0)])
    machine = Machine(monkeypatch, turns, 0.0, seed=8)
    turns.go_to(0.11)
    machine.now = 0.11
    if kind == "worker":
        sent: dict[str, Any] = {}
        worker = machine.worker
        worker.lock = nullcontext()
        worker.lanes = SimpleNamespace(take_placed=list)
        worker.ledger = SimpleNamespace(rows=lambda names: [])
        worker.clock = SimpleNamespace(asks=False)
        worker.send = lambda op, data, tables: sent.update(tables)
        machine.watch._fetching = SimpleNamespace(rows=list)
        Watch.send_measured(machine.watch)
        rows = sent.get("samples", [])
    else:
        executor: Any = turns.executor
        ended = executor.ends.pop()
        columns = [*ended[6]]
        columns[1] = None  # (the work of a task that has ended)
        executor.ends.append((*ended[:6], tuple(columns), None))
        monkeypatch.setattr(lane_watching, "perf_counter", lambda: machine.now)
        watch = LaneWatch(executor.names, 0.0)
        watch.times = LookTimes(0.0, LOOK_SECONDS, seed=8)
        watch.add(executor)
        rows = watch.rows()
    assert sum(n for *_, n in rows) == 10
    assert {function for _, _, _, function, *_ in rows} == {A[FUNCTION]}
