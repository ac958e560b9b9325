"""How often the watch thread measures memory: seldom at rest, and at once when anything goes on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.measure.looks import STILL_SECONDS
from spanwise.worker import watch as watching
from spanwise.worker.watch import (
    IDLE_SECONDS,
    MEMORY_SECONDS,
    RESTING_CHANGE_BYTES,
    RESTING_MEMORY_SECONDS,
    RESTS_AFTER_SECONDS,
    Watch,
)

BEGIN, END = 100.1, 120.0


class Ended(Exception):
    """The time is over."""


class Day:
    """A watch thread of a worker without tasks, by a clock of its own.

    Attributes
    ----------
    measured
        When memory was.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = BEGIN
        self.measured: list[float] = []
        #: What happens, by time.
        self.plan: list[tuple[float, Callable[[], object]]] = []
        #: Bytes of the process at a time.
        self.memory: Callable[[float], float] = lambda at: 500e6
        #: Whether an own thread computes, and a function of `client.run` runs.
        self.works = self.calls = False
        self.executor = SimpleNamespace(row=None, busy_since=0.0, idle_since=1.0)
        worker: Any = SimpleNamespace(
            executors=[self.executor],
            clock=SimpleNamespace(at=lambda t: t),
            memory_limit=0,
            segments=SimpleNamespace(counted_bytes=lambda: 0),
            thresholds=None,
            report=SimpleNamespace(runs=[], since=0.0),
            managed=0.0,
            paused=False,
        )
        monkeypatch.setattr(watching, "perf_counter", lambda: self.now)
        monkeypatch.setattr(watching, "Sampler", lambda *_: SimpleNamespace())
        fetching: Any = SimpleNamespace()
        watch: Any = Watch(worker, fetching, 0.0, print, recording=False)
        watch.machinery = SimpleNamespace(look=lambda at: self.works)
        watch.look_also = lambda: self.calls
        watch._measure_memory = self._measure
        watch._give_back_idle = lambda: None
        watch._system = SimpleNamespace(is_due=lambda *_: False)
        watch.sampler.work_out_within = lambda budget: None
        watch.send_measured = lambda with_samples=True: None
        watch._unpark = self
        self.watch = watch

    def _measure(self, now: float) -> None:
        self.measured.append(now)
        self.watch._held = (self.memory(now), 0.0)

    # As a bell.

    def set(self) -> None:
        """It rings: whoever waits goes on, since what rings is in the plan."""

    def clear(self) -> None:
        """It does not ring."""

    def wait(self, seconds: float) -> bool:
        """Time passes, until then or until the next of the plan."""
        until = self.now + max(seconds, 1e-6)
        if until >= END:
            raise Ended
        if self.plan and self.plan[0][0] <= until:
            self.now, act = self.plan.pop(0)
            act()
            return True
        self.now = until
        return False

    def run(self) -> list[float]:
        """Return when memory was measured."""
        with pytest.raises(Ended):
            self.watch.run()
        return self.measured

    def longest(self, begin: float, end: float) -> float:
        """Seconds without a measurement at most, from a moment on."""
        times = [begin, *(each for each in self.measured if begin < each < end), end]
        return max(after - before for before, after in pairwise(times))


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Day:
    return Day(monkeypatch)


def test_a_worker_that_does_nothing_rests_after_a_while(day: Day) -> None:
    measured = day.run()
    rests = next(at for at, (before, after) in enumerate(pairwise(measured)) if after - before > 1)
    assert measured[rests] == pytest.approx(BEGIN + RESTS_AFTER_SECONDS, abs=2 * MEMORY_SECONDS)
    assert all(at % RESTING_MEMORY_SECONDS == pytest.approx(0.0) for at in measured[rests + 1 :])
    assert len(measured[rests + 1 :]) > 5


def test_memory_that_changes_is_measured_as_always(day: Day) -> None:
    """A thread of the user's own may fill it while no task runs."""
    day.memory = lambda at: 500e6 + RESTING_CHANGE_BYTES * (len(day.measured) % 2)
    day.run()
    assert day.longest(BEGIN, END - 1) <= MEMORY_SECONDS + 1e-6


def test_a_function_that_runs_is_measured_from_its_begin_to_its_end(day: Day) -> None:
    def begin() -> None:
        day.calls = True

    def end() -> None:
        day.calls = False

    day.plan = [(110.7, begin), (113.3, end)]
    day.run()
    assert day.longest(106.0, 110.7) > 1
    assert day.longest(110.7, 113.3) <= MEMORY_SECONDS + 1e-6
    assert day.longest(114.0, END) > 1


def test_a_task_that_begins_while_an_own_thread_computes_is_measured(day: Day) -> None:
    """The thread does not rest then, so that the task does not wake it."""

    def work() -> None:
        day.works = True

    def begin() -> None:
        day.executor.row, day.executor.busy_since = (1,), day.now

    day.plan = [(110.7, work), (110.8, begin)]
    day.run()
    assert day.longest(110.7, END - 1) <= MEMORY_SECONDS + 1e-6


def test_a_task_that_begins_just_before_it_rests_is_measured(day: Day) -> None:
    """An own thread has computed until now, and memory was just found as it was."""
    ends: list[float] = []

    def look(at: float) -> bool:
        if not ends and at > 110.0 and at >= day.measured[-1] + 0.75 * MEMORY_SECONDS:
            ends.append(at)
        return at > 105.0 and not ends

    def begin(with_samples: bool = True) -> None:
        if ends and day.executor.row is None:
            day.executor.row, day.executor.busy_since = (1,), day.now

    day.watch.machinery.look, day.watch.send_measured = look, begin
    day.plan = [(105.1, lambda: None)]
    day.run()
    assert day.executor.row is not None
    # (it is seen to run at the next look)
    assert day.longest(ends[0], END - 1) <= MEMORY_SECONDS + STILL_SECONDS + 1e-6


def test_a_rate_that_is_set_before_it_rests_is_kept(day: Day) -> None:
    """Its ring is forgotten, as everything that comes before it rests."""

    def rate(with_samples: bool = True) -> None:
        if day.now > 110.0 and day.watch.memory_seconds != 0.05:
            day.watch.memory_seconds = 0.05
            day.watch.wake()

    day.watch.send_measured = rate
    day.run()
    assert day.longest(106.0, 109.9) > 1
    assert day.longest(112.1, END - 1) <= 0.05 + 1e-6


def test_data_that_comes_before_it_rests_is_measured(day: Day) -> None:
    """Nobody rings then."""
    came: list[float] = []

    def come(with_samples: bool = True) -> None:
        if day.now > 110.0 and not came:
            came.append(day.now)
            day.watch.is_stirred = True

    day.watch.send_measured = come
    day.run()
    after = [at for at in day.measured if at > came[0]]
    assert after[0] <= came[0] + MEMORY_SECONDS + 1e-6
    assert after[1] > after[0] + 1, "and it rests again"


def test_data_that_comes_without_a_task_is_measured(day: Day) -> None:
    day.plan = [(110.7, lambda: None)]  # (as `Worker` does when some has come)
    day.run()
    assert day.longest(106.0, 110.7) > 1
    assert min(at for at in day.measured if at > 110.7) <= 110.7 + MEMORY_SECONDS + 1e-6


def test_memory_goes_back_only_some_time_after_the_last_task(day: Day) -> None:
    """The next one would take it again: the thread itself rests sooner."""
    busy: list[float] = []
    given: list[float] = []

    def look(at: float) -> bool:
        if day.executor.row is not None:
            busy.append(at)
        return False

    def begin() -> None:
        day.executor.row, day.executor.busy_since = (1,), day.now

    def end() -> None:
        day.executor.row, day.executor.idle_since = None, day.now

    day.watch.machinery.look = look
    day.watch._give_back_idle = lambda: given.append(day.now)
    day.watch.memory_seconds = 0.04
    day.plan = [(110.7, begin), (111.1, end)]
    day.run()
    after = min(at for at in given if at > 110.7)
    assert IDLE_SECONDS <= after - busy[-1] < IDLE_SECONDS + 0.05
