"""The statistical profiler: looks at the executors' stacks every 10 ms.

A look happens when the sampler gets the interpreter lock, which is not a fair moment:
a long call into C that keeps the lock delays it to the call's end. So a look stands
for the time since the look before (`n` samples of 10 ms, the remainder is carried
over), and the state is not what the thread does at that moment, when a pure-Python
thread by necessity waits for the lock that the sampler holds, but follows from its
CPU clock: the seconds on core, in the run queue and blocked since the last look, or
since the task began, are added up per span and function, and each sample goes to the
state that is owed most::

    wall 10 ms, cpu 4 ms   owed: on core 0.4  blocked 0.6  →  blocked, 0.4 −0.4
    wall 10 ms, cpu 4 ms         on core 0.8  blocked 0.2  →  on core, −0.2  0.2

so samples on core × 10 ms is the thread's CPU time, per span and function.

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

from spanwise.measure.clocks import CoreWait, ThreadClock
from spanwise.measure.stacks import StackTree
from spanwise.records.enumerations import (
    LARGEST_U16,
    SAMPLE_BLOCKED,
    SAMPLE_UNKNOWN,
    SAMPLE_WAITING,
)
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
        #: Samples owed, below 1.
        self.carry = 0.0
        #: (span, function) → samples owed to on core, waiting, blocked.
        self.owed: dict[tuple[int, int], list[float]] = {}
        #: The same of looks after a run → samples owed to its function, to the worker.
        self.owed_after: dict[tuple[int, int], list[float]] = {}
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
            Samples by which it waited for a core for longer than it has rested.
        """
        late = 0.0
        wait = self.executor.core_wait
        try:
            self.cpu = self.clock.read()
            if wait is not None:
                waited = wait.read()
                late = (waited - self.waited - (now - self.looked)) / INTERVAL
                self.waited = waited
        except OSError:
            # The thread has ended, and its clock with it: it will have no task.
            pass
        self.looked = now
        return late


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
        # From the last look on the thread was idle, without using a core, until it was busy.
        busy = max(lane.looked, executor.busy_since)
        since = max(busy, now - LONGEST)
        if reporting:
            # The stamps are those of the run's end.
            begin, begin_cpu = busy, lane.cpu
            part = self.last_part(row)
        elif stamp > since:
            begin, begin_cpu = stamp, stamp_cpu
        else:
            begin, begin_cpu = lane.looked, lane.cpu
        begin = min(begin, now - 1e-6)
        on_core = min(1.0, max(0.0, (cpu - begin_cpu) / (now - begin)))
        # Of the time since the last look, which may have seen another task. NaN: unknown, so 0.
        queued = waited - lane.waited
        whole = max(1e-6, now - busy)
        in_queue = min(1.0 - on_core, max(0.0, queued / whole))
        blocked = 1.0 - on_core - in_queue
        span, function = (
            (part[3], part[2]) if part is not None else (row[TASK_SPAN], row[TASK_FUNCTION])
        )
        if queued > 0.0:
            # What does not fit beside the time on a core was before the last look.
            off_core = max(0.0, whole - max(0.0, cpu - lane.cpu))
            self._settle(lane, (queued - off_core) / INTERVAL)

        samples = max(0.0, now - since) / INTERVAL
        lane.carry += samples
        n = int(lane.carry)
        lane.carry -= n
        # NaN, an unknown clock, counts as movement.
        moved = not cpu - lane.cpu < STILL * (now - lane.looked)
        lane.looked, lane.cpu, lane.waited = now, cpu, waited
        state = SAMPLE_UNKNOWN
        if not isnan(cpu):
            # Not n: what a look falls short of whole samples would be lost to its states.
            owed = _owe(lane.owed, (span, function), samples, (on_core, in_queue, blocked))
            lane.last_owed = owed
            if n > 0:
                state = _pay(owed, n)
        if n == 0:
            return moved
        called = part[4].function if part is not None else self.called(row)
        assert executor.ident is not None
        frame = frames.get(executor.ident)
        is_of_function = frame is not None and frame.f_code is _READ_CODE
        if reporting:
            share = min(1.0, max(0.0, (stamp - since) / max(now - since, 1e-6)))
            owed = _owe(lane.owed_after, (span, function), n, (share, 1.0 - share))
            is_of_function = _pay(owed, n) == 0
        if is_of_function and called is not None:
            stack = self.stacks.stack_of_call(called)
        else:
            stack = self.stacks.stack_of(frame, called)
        second = floor(now - self._epoch)
        key = (second, executor.number, span, function, stack, state)
        self._samples[key] = self._samples.get(key, 0) + n
        if state == SAMPLE_BLOCKED:
            lane.doubts.append((key, n))
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
            owed = lane.owed[span, function]
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


def _owe(
    debts: dict[tuple[int, int], list[float]],
    whose: tuple[int, int],
    samples: float,
    shares: tuple[float, ...],
) -> list[float]:
    """Add shares of some samples to what is owed, and return it."""
    owed = debts.get(whose)
    if owed is None:
        owed = debts[whose] = [0.0] * len(shares)
    for place, share in enumerate(shares):
        owed[place] += samples * share
    return owed


def _pay(owed: list[float], n: int) -> int:
    """Give n samples to the largest debt; return its index."""
    paid = owed.index(max(owed))
    owed[paid] -= n
    return paid
