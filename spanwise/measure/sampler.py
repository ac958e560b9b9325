"""The statistical profiler: looks at the executors' stacks every 10 ms.

A look happens when the sampler gets the interpreter lock, which is not a fair moment:
a long call into C that keeps the lock delays it to the call's end. So a look stands
for the time since the look before, and the state is not what the thread does at that
moment, when a pure-Python thread by necessity waits for the lock that the sampler holds,
but follows from its CPU clock: the seconds on core, in the run queue and blocked since
the last look, or since the task began, are added up per span and function, in samples
of 10 ms. Each whole sample goes to the state that is owed most::

    wall 10 ms, cpu 4 ms   owed: on core 0.4  blocked 0.6  →  blocked, 0.4 −0.4
    wall 10 ms, cpu 4 ms         on core 0.8  blocked 0.2  →  on core, −0.2  0.2

so samples on core × 10 ms is the thread's CPU time, per span and function, within a sample.
A span and function begins with a part of a sample, each with another one; else what is seen
for 9 ms would have none::

    begun with  0     0.62  0.24  0.85
    samples     0     1     1     1      of 0.9 each

Of a task that is shorter than the time between looks, its begin says what it did: nobody
reads the clocks at its end.

The kernel adds a stay in the run queue to the thread's clock when the stay ends. Looks amid it call
blocked what was waiting; the look after it finds more waiting than time, and calls them waiting, as
far as they have not been sent::

    in the queue    ├────── 25 ms ──────┤
    looks        ┴       ┴       ┴       ┴
    first           blocked 0.5   1    waiting 1
    then            waiting 0.5   1    waiting 1

The lock is free when a thread sends what it ran, or reads what it waited for, so many looks
come there, after the task. What they stand for is mostly the task: by the same debts a look
while the thread sends counts as one of the function (whose inner frames nobody saw), or of the
worker; one while it reads, some microseconds, as one of the function::

    look        run ends   look
     ┴─ function ──┴─ send ─┴─    owed: function 0.9  worker 0.1
"""

from __future__ import annotations

import sys
from collections import deque
from math import floor, isnan
from typing import Any, Protocol

from spanwise.bounded_map import BoundedMap
from spanwise.measure.clocks import CoreWait, ThreadClock
from spanwise.measure.stacks import StackTree
from spanwise.measure.steps import UNMARKED_SECONDS
from spanwise.records.enumerations import LARGEST_U16, SAMPLE_BLOCKED, SAMPLE_WAITING
from spanwise.wire.rows import TASK_FUNCTION, TASK_SPAN

#: Seconds that one sample stands for.
INTERVAL = 0.01
#: A look stands for at most this many seconds: the process may have been stopped.
LONGEST = 1.0
#: Lets the lock go, for microseconds, at the end of runs.
_READ_CODE = CoreWait.read.__code__
#: A thread that was on core for less than this share of the time stood still.
STILL = 0.02
#: Looks that may be called waiting later: a stay of half a minute.
_MOST_DOUBTS = 3000
#: Functions in spans that are owed parts of samples, per thread: some 300 bytes each. The oldest
#: go; they lose less than a sample.
_MOST_OWED = 10_000
_GOLDEN = 0.618033988749895
#: Of what is shorter than a microsecond the clocks do not tell how it was spent.
_SHORTEST = 1e-6
#: Of sums of a few floats.
_ROUNDING = 1e-9

_SampleKey = tuple[int, int, int, int, int, int]


class Sampled(Protocol):
    """What the sampler reads of a thread that runs tasks."""

    #: Its lane.
    number: int
    core_wait: CoreWait | None
    #: The task, a row of `assign` (:mod:`spanwise.wire.rows`). None: there is none.
    row: Any
    #: Of a fused task the inner part: [2] is its function, [3] its span.
    part: Any
    #: Wall and CPU stamps at the start of the task or part.
    clock: float
    cpu: float
    busy_since: float
    #: `row` has ended, at `clock`, and is being sent.
    reporting: bool

    @property
    def ident(self) -> int | None:
        """`Thread.ident`."""


class _Lane:
    """What the sampler remembers of one thread."""

    def __init__(self, executor: Sampled) -> None:
        assert executor.ident is not None
        self.executor = executor
        self.clock = ThreadClock(executor.ident)
        self.looked = 0.0
        self.cpu = 0.0
        self.waited = 0.0
        #: (span, function) → samples owed to on core, waiting, blocked, unknown.
        self.owed = BoundedMap[tuple[int, int], list[float]](_MOST_OWED)
        #: How many of these there have been.
        self.begun = 0
        #: The same of looks after a run → samples owed to its function, to the worker.
        self.owed_after = BoundedMap[tuple[int, int], list[float]](_MOST_OWED)
        #: That of `owed` to which the last look added.
        self.last_owed: list[float] | None = None
        #: What looks called blocked since the last stay in the run queue that is known: the latest
        #: of it may be a stay that had not ended.
        self.doubts: deque[tuple[_SampleKey, int]] = deque(maxlen=_MOST_DOUBTS)

    def rest(self, now: float) -> float:
        """The thread has nothing to do: what it used until now is no later task's.

        Returns
        -------
        late
            See :meth:`late`.
        """
        wait = self.executor.core_wait
        late = 0.0
        try:
            cpu = self.clock.read()
            waited = wait.read() if wait is not None else float("nan")
            late = self.late(now, cpu, waited)
            self.cpu, self.waited = cpu, waited
        except OSError:
            # The thread has ended, and its clock with it: it will have no task.
            pass
        self.looked = now
        return late

    def late(self, now: float, cpu: float, waited: float) -> float:
        """Samples by which it waited for longer since the last look than it was off its core.

        They were before that look. NaN where the system does not tell.
        """
        off_core = (now - self.looked) - (cpu - self.cpu)
        return (waited - self.waited - off_core) / INTERVAL

    def owed_to(self, whose: tuple[int, int]) -> list[float]:
        """Return what the states of a function in a span are owed; it may be changed."""
        owed = self.owed.get(whose)
        if owed is None:
            # Multiples of the golden section, modulo 1, lie evenly however many there are. In
            # equal parts, so that a state without a share is never owed most.
            owed = self.owed.keep(whose, [self.begun * _GOLDEN % 1.0 / 4] * 4)
            self.begun += 1
        return owed


class ThreadSampler:
    """Samples of some threads, summed per second until they are sent.

    Parameters
    ----------
    stacks
        Where stacks get their ids.
    epoch
        perf_counter value at which second 0 began.
    """

    def __init__(self, stacks: StackTree, epoch: float) -> None:
        self._epoch = epoch
        self.stacks = stacks
        self._lanes: list[_Lane] = []
        self._samples: dict[_SampleKey, int] = {}
        #: Looks at a busy thread: the true rate.
        self.looks = 0

    def add(self, executor: Sampled) -> None:
        """Look at this thread too; it lives."""
        self._lanes.append(_Lane(executor))

    def called(self, row: Any) -> object:
        """Return what a task calls; it stands for itself if it has no Python frames."""
        raise NotImplementedError

    def last_part(self, row: Any) -> Any:
        """Return the part with which a fused task ends; None for any other task."""
        return None

    def look(self, now: float) -> tuple[int, bool]:
        """Sample every busy executor; return how many there were, and whether one moved."""
        busy = []
        for lane in self._lanes:
            executor = lane.executor
            row = executor.row
            if row is None:
                self._settle(lane, lane.rest(now))
                # What it will wait for before its next task is nobody's.
                lane.last_owed = None
            else:
                # `reporting` first: the stamps are those of the end when it is true.
                reporting = executor.reporting
                stamps = (executor.clock, executor.cpu, reporting)
                busy.append((lane, row, executor.part, stamps))
        if not busy:
            return 0, False
        frames = sys._current_frames()
        moved = False
        for lane, row, part, stamps in busy:
            executor = lane.executor
            # The executor may have gone on to its next task before the stacks were taken: whose
            # stack it is cannot be told then. The time is left to the next look.
            if executor.row is row and executor.part is part:
                moved |= self._look_at(lane, now, frames, row, part, stamps)
            else:
                moved = True
        self.looks += 1
        # It holds this very frame, which holds it: a cycle that would keep the inputs
        # of tasks that have ended until the next garbage collection.
        frames.clear()
        return len(busy), moved

    def _look_at(
        self,
        lane: _Lane,
        now: float,
        frames: dict[int, Any],
        row: Any,
        part: Any,
        stamps: tuple[float, float, bool],
    ) -> bool:
        executor = lane.executor
        stamp, stamp_cpu, reporting = stamps
        cpu = lane.clock.read()
        wait = executor.core_wait
        waited = wait.read() if wait is not None else float("nan")
        busy = max(lane.looked, executor.busy_since)
        # A look after the usual time stands for the tasks before this one, too.
        since = max(lane.looked, min(busy, now - INTERVAL), now - LONGEST)
        if reporting:
            # The stamps are those of the run's end. From the last look on the thread was idle,
            # without using a core, until it was busy.
            begin, begin_cpu = busy, lane.cpu
            part = self.last_part(row)
        elif stamp >= busy:
            begin, begin_cpu = stamp, stamp_cpu
        else:
            begin, begin_cpu = busy, lane.cpu
        on_core = 1.0  # it has just begun, so it runs
        if now - begin > _SHORTEST:
            on_core = min(1.0, max(0.0, (cpu - begin_cpu) / (now - begin)))
        # NaN: unknown, so 0.
        in_queue = min(1.0 - on_core, max(0.0, _queued(lane, wait, begin, now, waited)))
        blocked = 1.0 - on_core - in_queue
        whose = (part[3], part[2]) if part is not None else (row[TASK_SPAN], row[TASK_FUNCTION])
        if waited > lane.waited:
            self._settle(lane, lane.late(now, cpu, waited))

        # NaN, an unknown clock, counts as movement.
        moved = not cpu - lane.cpu < STILL * (now - lane.looked)
        lane.looked, lane.cpu, lane.waited = now, cpu, waited
        owed = lane.last_owed = lane.owed_to(whose)
        shares = (0.0, 0.0, 0.0, 1.0) if isnan(cpu) else (on_core, in_queue, blocked, 0.0)
        for state, share in enumerate(shares):
            owed[state] += share * (now - since) / INTERVAL
        paid = _pay(owed)
        n = sum(paid)
        if n == 0:
            return moved
        called = part[4].function if part is not None else self.called(row)
        assert executor.ident is not None
        frame = frames.get(executor.ident)
        is_of_function = frame is not None and frame.f_code is _READ_CODE
        if reporting:
            share = min(1.0, max(0.0, (stamp - busy) / max(now - busy, _SHORTEST)))
            is_of_function = _is_first_s(lane.owed_after, whose, n, share)
        if is_of_function and called is not None:
            stack = self.stacks.stack_of_call(called)
        else:
            stack = self.stacks.stack_of(frame, called)
        second = floor(now - self._epoch)
        for state, of_state in enumerate(paid):
            if of_state > 0:
                key = (second, executor.number, *whose, stack, state)
                self._samples[key] = self._samples.get(key, 0) + of_state
                if state == SAMPLE_BLOCKED:
                    lane.doubts.append((key, of_state))
        return moved

    def _settle(self, lane: _Lane, late: float) -> None:
        """Call the latest `late` samples waiting that were called blocked, but for sent ones.

        The others were blocked, as far as that can be told: none is doubted any more. NaN: the
        system does not tell how long threads wait.
        """
        if not late > 0.0:
            lane.doubts.clear()
            return
        owed = lane.last_owed
        while late > 0.0 and lane.doubts:
            key, n = lane.doubts.pop()
            second, thread, span, function, stack, _ = key
            owed = lane.owed_to((span, function))
            n = min(n, round(late))
            if n == 0:
                break
            late -= n
            unsent = min(n, self._samples.get(key, 0))
            if unsent > 0:
                self._samples[key] -= unsent
                waiting = (second, thread, span, function, stack, SAMPLE_WAITING)
                self._samples[waiting] = self._samples.get(waiting, 0) + unsent
        lane.doubts.clear()
        if owed is not None:
            # No sample was given for the rest yet, or one for another state: it is owed.
            late = min(late, max(0.0, owed[SAMPLE_BLOCKED] + 1.0))
            owed[SAMPLE_WAITING] += late
            owed[SAMPLE_BLOCKED] -= late

    def rows(self) -> list[tuple[float, int, int, int, int, int, int]]:
        """Return the rows of the table `samples` collected so far and forget them."""
        samples, self._samples = self._samples, {}
        epoch = self._epoch
        # Half past: readers that count seconds from the same epoch find the same second.
        return [
            (epoch + second + 0.5, thread, span, function, stack, state, min(n, LARGEST_U16))
            for (second, thread, span, function, stack, state), n in samples.items()
            if n > 0
        ]


def _queued(lane: _Lane, wait: CoreWait | None, begin: float, now: float, waited: float) -> float:
    """The share of the time up to now in which a thread waited for a core.

    From the begin of what it runs, if the wait was read there, else from the last time before that
    it was read: at a look, or by the thread itself.
    """
    if wait is not None and lane.looked < wait.marked <= begin + UNMARKED_SECONDS:
        since, before = wait.marked, wait.last
    else:
        since, before = lane.looked, lane.waited
    return (waited - before) / max(now - since, _SHORTEST)


def _pay(owed: list[float]) -> list[int]:
    """Give each whole sample of a sum to the largest debt; return how many each state has got."""
    paid = [0] * len(owed)
    for _ in range(int(sum(owed) + _ROUNDING)):
        state = owed.index(max(owed))
        owed[state] -= 1.0
        paid[state] += 1
    return paid


def _is_first_s(
    debts: BoundedMap[tuple[int, int], list[float]], whose: tuple[int, int], n: int, share: float
) -> bool:
    """Whether the first of two, who has a share in n samples, is owed them."""
    owed = debts.get(whose)
    if owed is None:
        owed = debts.keep(whose, [0.0, 0.0])
    owed[0] += n * share
    owed[1] += n * (1.0 - share)
    first = owed[0] >= owed[1]
    owed[0 if first else 1] -= n
    return first
