"""The statistical profiler: looks at the executors' stacks at moments drawn by `LookTimes`.

A look happens when the sampler gets the interpreter lock, which is not a fair moment:
a long call into C that keeps the lock delays it to the call's end. So what counts is what the
thread ran when the look was due, by its own stamps: it tells the ends of tasks in which one was
due, so that a late look finds what one in time would have found::

    due        ┴     ┴        ┴
    tasks    ▓▓▓▓ ▓▓▓▓▓▓▓▓  ▓▓▓▓▓▓▓
    told        └ A      └ B
    look                           ┴    A, B: their functions   C: its stack

And the state is not what the thread does
when it is looked at, when a pure-Python thread by necessity waits for the lock that the sampler
holds, but follows from its CPU clock: the seconds on core, in the run queue and blocked since
the last look, or since the task began, are added up per span and function, in samples
of 10 ms. Each whole sample goes to the state that is owed most::

    wall 10 ms, cpu 4 ms   owed: on core 0.4  blocked 0.6  →  blocked, 0.4 −0.4
    wall 10 ms, cpu 4 ms         on core 0.8  blocked 0.2  →  on core, −0.2  0.2

so samples on core × 10 ms is the CPU time, per span and function, of the tasks that looks see.
Each span and function begins with another share of a sample: otherwise tasks that are seen
for 9 ms would have none::

    begun with  0     0.62  0.24  0.85
    samples     0     1     1     1      of 0.9 each

A look stands for its stretch: a task has the stretches whose looks were due in it, so each moment
of a thread counts once; and one that is longer than two stretches has its own time
(`_Seen.due`). The thread tells the sampler when a task that a look saw has ended. Then the task's
duration and states are known, so that each state has its part::

    stretches   ├────────┼────────┼────────┼────────┤
    looks           ┴        ┴         ┴        ┴
    task              zzzzzzzzzzzzzz▓▓▓▓▓▓▓▓│        first  blocked 0.9 (the look's stretch)
                                                     in all blocked 1.1  on core 0.7

The kernel adds a stay in the run queue to the thread's clock when the stay ends. Looks during the
stay take this waiting for blocked; the look after it finds more waiting than time has passed, and
turns their samples into waiting ones if they have not been sent::

    in the queue    ├────── 25 ms ──────┤
    looks        ┴       ┴       ┴       ┴
    first           blocked 0.5   1    waiting 1
    then            waiting 0.5   1    waiting 1

The lock is free while a thread sends its results or reads its inputs, so many looks come
there, after the task. Those that were due before its end count for the function (whose inner
frames nobody saw), those that were due during sending for the worker, whose end is told like that
of a task, and a look during reading, which takes some microseconds, for the function::

    due    run ends   look
     ┴─ function ┴─ send ─┴─    owed: function 0.9

A look comes each 10 ms or later and finds no line of this file in the processor's caches, so that
it would take several times as long as the next one at once. And the program waits for it. So it
only takes down what it sees (`_Fact`). What follows from that is worked out for all looks
together when their rows are asked for, once a second::

    look   look   look   …   look   rows()
     │ fact │ fact │ fact     │ fact  └─ owed, samples, stacks
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from math import floor, inf, isnan
from operator import is_
from time import thread_time
from types import CodeType
from typing import Any, NamedTuple, Protocol

from spanwise.bounded_map import BoundedMap
from spanwise.current_frames import current_frames
from spanwise.measure.clocks import CoreWait, ThreadClock, seconds_waited
from spanwise.measure.looks import (
    LONG_STRETCH_SECONDS,
    LONGEST,
    Due,
    LookBudget,
    LookTimes,
    Plan,
)
from spanwise.measure.sample_places import Places, SampleKey
from spanwise.measure.stacks import Frame, StackTree, built_in_of, call_of, own_frame
from spanwise.measure.steps import End, OwnStep
from spanwise.records.enumerations import (
    LARGEST_U16,
    NONE_U32,
    SAMPLE_BLOCKED,
    SAMPLE_ON_CORE,
    SAMPLE_WAITING,
)
from spanwise.wire.rows import TASK_FUNCTION, TASK_SPAN

#: Seconds that one sample stands for, unless a setting says otherwise.
INTERVAL = 0.01
#: Called at the end of runs: lets the lock go for microseconds.
_READ_CODE = CoreWait.read.__code__
#: A thread that was on core for less than this share of the time stood still.
STILL = 0.02
#: ... and is looked at less often from so long after its task's begin on.
STILL_AFTER_SECONDS = 0.1
#: How many samples may still be turned into waiting ones: a stay of half a minute.
_MOST_DOUBTS = 3000
#: Functions in spans that are owed parts of samples, per thread: some 400 bytes each. The oldest
#: go; they lose less than a sample.
_MOST_OWED = 10_000
#: Facts that wait to be worked out; more are worked out at a look.
_MOST_FACTS = 1_000
#: How long a thread waited for a core is read once it was so long off its core, in samples:
#: before, there is little to tell. A reading takes a quarter of a look, and each look keeps its
#: thread off the core for a fortieth of a sample: it is the lookers' own doing.
_UNREAD = 0.1
_GOLDEN = 0.618033988749895
#: The clocks do not tell how less than a microsecond was spent.
_SHORTEST = 1e-6
#: Rounding error of sums of a few floats.
_ROUNDING = 1e-9
_NAN = float("nan")
#: A third of the time of the call of a class of named tuples.
_make_tuple = tuple.__new__
#: Ends are told from here on: at once.
_SEEN = -inf

#: The seconds between two points, by state: on core, waiting, blocked, unknown.
_Shares = tuple[float, float, float, float]


class _Point(NamedTuple):
    """A moment of a thread: what its clocks said."""

    t: float
    cpu: float
    waited: float


class _Ended(NamedTuple):
    """A task or part that has ended since the last look.

    Attributes
    ----------
    since
        From here on it is not told yet: its begin, unless its thread has told an end before.
    end
        What the clocks said then.
    seconds
        Of the looks that were due in it.
    call
        What it calls, if `seconds`; None: that is not known.
    """

    began: float
    began_cpu: float
    since: float
    end: _Point
    whose: tuple[int, int]
    seconds: float
    call: Frame | None


#: The fields of a :class:`_Point`, as a look takes them down, the wait as it was peeked at: to make
#: a named tuple is a call more, of code that no cache holds then.
_Clocks = tuple[float, float, float | bytes]
#: What a look saw of a task or of a part of one:
#:
#: * its begin, its CPU clock then, and since when its thread was busy;
#: * stop: it has ended then, and is being sent; None: it runs;
#: * whose: span and function;
#: * mark: when its thread last read how long it waited for a core, and what; None: the task has not
#:   begun since the last look;
#: * its codes, from the innermost one on;
#: * call, built-in: what it calls, where its stack does not say it: of a task that is sent or reads
#:   its clock, and of one that calls what has no frame.
_Taken = tuple[
    float,
    float,
    float,
    float | None,
    tuple[int, int],
    tuple[float, float] | None,
    list[CodeType],
    Frame | None,
    Frame | None,
]
#: A thread as a look saw it: its lane, when, what its clocks said (None: they were not read), the
#: ends that it told, and its task, if a look was due in it; the looks that were due, and since
#: when the task runs.
_Fact = tuple["_Lane", float, _Clocks | None, Sequence[_Ended], _Taken | None, Sequence[Due], float]
#: A thread with a task, before its stack is taken: its lane, row and part; begin, CPU clock then,
#: since when it was busy, and end; the ends that it told; and the last two of a :data:`_Fact`.
_Busy = tuple[
    "_Lane",
    Any,
    Any,
    float,
    float,
    float,
    float | None,
    Sequence[_Ended],
    Sequence[Due],
    float,
]


class _Seen:
    """The task or part that looks have seen, until it has ended.

    Parameters
    ----------
    began
        Its begin, as the thread has it: identifies it when its end is told.
    whose
        Span and function.
    """

    __slots__ = ("began", "given", "spent", "stack", "stood", "whose")

    def __init__(self, began: float, whose: tuple[int, int]) -> None:
        self.began = began
        self.whose = whose
        #: None: it was given no sample.
        self.stack: int | None = None
        #: In samples: what the looks that were due in it stand for.
        self.stood = 0.0
        #: By state, in samples: what it is known to have done, and what it was credited for that.
        self.spent = [0.0] * 4
        self.given = [0.0] * 4

    def due(self, sure: float) -> float:
        """How many samples it is due: a task that took `sure` was seen however looks fell."""
        took = sum(self.spent)
        return took if took >= sure else self.stood


class Sampled(Protocol):
    """What the sampler reads of a thread that runs tasks."""

    #: Its lane.
    number: int
    core_wait: CoreWait | None
    #: The task, a row of `assign` (:mod:`spanwise.wire.rows`). None: there is none.
    row: Any
    #: The inner part of a fused task: [2] is its function, [3] its span.
    part: Any
    #: Wall and CPU stamps at the begin of the task, or of its part.
    began: float
    began_cpu: float
    busy_since: float
    #: The end of a task or part is told from then on: a look was due in it, or has seen it.
    due: float
    #: ... and from then on once one has been told.
    next_due: float
    #: When looks are due behind that; None: at any time.
    plan: Plan | None
    #: What was told, the oldest first (:func:`spanwise.measure.steps.tell_end`).
    ends: deque[End]
    #: `row` has ended, at `clock`, and is being sent.
    reporting: bool
    clock: float

    @property
    def ident(self) -> int | None:
        """`Thread.ident`."""


class _Lane:
    """What the sampler remembers of one thread."""

    def __init__(self, executor: Sampled, interval: float) -> None:
        assert executor.ident is not None
        self.executor = executor
        self.ident = executor.ident
        self._interval = interval
        self.clock = ThreadClock(executor.ident)
        #: What the clocks said at the last look; at 0: there was none.
        self.looked: _Clocks = (0.0, 0.0, 0.0)
        #: The wait that was worked out last: what the system said, and its seconds.
        self.said: tuple[float | bytes, float] = (0.0, 0.0)
        #: Seconds off the core since its wait was read; infinite: it is to be read.
        self.unread = inf
        #: Its wait is read once `unread` is as much.
        self.most_unread = _UNREAD * interval
        #: What the last look saw of its task, if the thread had not run since the look before:
        #: then the stack is that of the moment at which the clock was read.
        self.task: _Taken | None = None
        #: The stack that was numbered last, and its id.
        self.codes: list[CodeType] = []
        self.stack = NONE_U32
        #: The innermost code of its stack at a look, if that says what it calls.
        self.innermost: CodeType | None = None
        #: By `id`, not to keep what they hold. Another one in the same place began later.
        self.row_and_part = (0, 0)
        #: The same look, once worked out.
        self.at = _Point(0.0, 0.0, 0.0)
        self.seen: _Seen | None = None
        #: (span, function) → samples owed to on core, waiting, blocked, unknown.
        self.owed = BoundedMap[tuple[int, int], list[float]](_MOST_OWED)
        #: How many of these pairs there have been.
        self.begun = 0
        #: The same for looks after a run → samples owed to its function, to the worker.
        self.owed_after = BoundedMap[tuple[int, int], list[float]](_MOST_OWED)
        #: The entry of `owed` to which the last look added.
        self.last_owed: list[float] | None = None
        #: Looks that were due and saw nobody's stack.
        self.left: list[Due] = []
        #: The end that was told last, and what was told of ends after the next look's moment.
        self.until = 0.0
        self.pending: list[End] = []
        #: Samples called blocked since the last known stay in the run queue: the latest of them
        #: may belong to a stay that has not ended.
        self.doubts: deque[tuple[SampleKey, int]] = deque(maxlen=_MOST_DOUBTS)

    def read(self, now: float) -> _Clocks:
        """What the thread's clocks say; NaN of one that has ended, and its clocks with it."""
        try:
            cpu = self.clock.read()
        except OSError:
            cpu = _NAN
        return self.read_wait(now, cpu)

    def read_wait(self, now: float, cpu: float) -> _Clocks:
        """What they say if the CPU clock says `cpu`; the wait is read only if that may matter."""
        t, cpu_then, waited = self.looked
        off_core = (now - t) - (cpu - cpu_then)
        unread = self.unread + off_core
        # (not so of NaN, an unknown clock)
        if unread < self.most_unread:
            self.unread = unread
        else:
            wait = self.executor.core_wait
            try:
                waited = wait.peek() if wait is not None else _NAN
            except OSError:
                cpu = waited = _NAN
            # A stay in the queue is told when it has ended: before a run since the last look, or
            # not yet.
            self.unread = 0.0 if off_core < self.most_unread and cpu > cpu_then else inf
        here = self.looked = (now, cpu, waited)
        return here

    def seconds_waited(self, said: float | bytes) -> float:
        """The seconds of a wait as a look took it down; several looks in a row have the same."""
        if said is not self.said[0]:
            self.said = said, seconds_waited(said)
        return self.said[1]

    def stands(
        self, row: Any, part: Any, began: float, busy_since: float, stop: float | None
    ) -> _Taken | None:
        """Return its task as the last look saw it, if the thread has not run since: so it is."""
        task = self.task
        try:
            if (
                task is not None
                and stop is None
                # (true of no NaN, an unknown clock)
                and self.clock.read() == self.looked[1]
                and task[0] == began
                and task[2] == busy_since
                and self.row_and_part == (id(row), id(part))
            ):
                return task
        except OSError:
            return None  # it has ended
        return None

    def stand(self, now: float) -> _Clocks:
        """What the clocks of a thread say that has not run since the last look.

        A stay in the queue that has ended since would have ended in a run.
        """
        t, cpu, waited = self.looked
        self.unread += now - t
        here = self.looked = (now, cpu, waited)
        return here

    def take_ends(self, next_due: float) -> list[End]:
        """Take what the thread told of ends before the next look is due."""
        told = self.executor.ends
        ends = self.pending
        while told:
            ends.append(told.popleft())
        self.pending = [each for each in ends if each[3] >= next_due]
        return [each for each in ends if each[3] < next_due] if self.pending else ends

    def late(self, here: _Point) -> float:
        """By how many samples its waiting since the last look exceeds its time off the core.

        That waiting was before the last look. NaN where the system does not tell.
        """
        off_core = (here.t - self.at.t) - (here.cpu - self.at.cpu)
        return (here.waited - self.at.waited - off_core) / self._interval

    def waited_at(self, t: float, here: _Point, mark: tuple[float, float] | None) -> float:
        """How long it had waited for a core at `t` since the last look, by interpolation."""
        a, b = (self.at.t, self.at.waited), (here.t, here.waited)
        if mark is not None and a[0] < mark[0] <= b[0]:
            a, b = (mark, b) if t >= mark[0] else (a, mark)
        return a[1] + (b[1] - a[1]) * (t - a[0]) / max(b[0] - a[0], _SHORTEST)

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
    interval
        Seconds that one sample stands for: about those between looks.
    """

    def __init__(self, stacks: StackTree, epoch: float, interval: float = INTERVAL) -> None:
        #: May be changed when the rows have been taken.
        self.epoch = epoch
        self._interval = interval
        #: What a task did between two looks counts for at most so many seconds.
        self._longest = max(LONGEST, 4 * interval)
        #: The longest of the stretches since looks were worked out, and of those before.
        self._longest_stretch = max(LONG_STRETCH_SECONDS, interval)
        self._longest_before = self._least_longest = self._longest_stretch
        #: Samples of a task that no look can have missed: two of the longest stretches.
        self._sure = 2 * self._longest_stretch / interval
        #: Seconds for which tasks were on a core, and waited for one, in samples, since the budget
        #: was told.
        self._on_core = self._in_queue = 0.0
        self.stacks = stacks
        self._lanes: list[_Lane] = []
        #: Around what replaces them: threads begin and end at any moment.
        self._changing_lanes = threading.Lock()
        self._facts: list[_Fact] = []
        self._samples: dict[SampleKey, int] = {}
        self._places = Places(interval)
        #: Looks that were due while a thread was busy: the true rate.
        self.looks = 0
        #: How many of them there were when the budget was told of them.
        self._worked_out = 0
        #: When the next look is due, and those behind it: what new threads are told.
        self._next_due = inf
        self._plan: Plan | None = None

    def add(self, executor: Sampled) -> None:
        """Look at this thread too; it lives."""
        lane = _Lane(executor, self._interval)
        with self._changing_lanes:
            # (nothing is called here: another thread may look)
            executor.due = executor.next_due = self._next_due
            executor.plan = self._plan
            self._lanes = [*self._lanes, lane]

    def awaits(self, times: LookTimes) -> None:
        """Have threads tell of what ends after the next look is due.

        If it is late, of that alone in which further looks are due by the plan.
        """
        due, plan = self._next_due, self._plan = times.due, times.plan()
        if plan[1] > self._longest_stretch:
            self._longest_stretch = plan[1]
        for lane in self._lanes:
            executor = lane.executor
            executor.next_due, executor.plan = due, plan
            if executor.due != _SEEN:
                executor.due = due

    def remove(self, executor: Sampled) -> None:
        """Look at this thread no more, from any thread; its samples stay."""
        with self._changing_lanes:
            self._lanes = [lane for lane in self._lanes if lane.executor is not executor]

    def called(self, row: Any) -> object:
        """Return what a task calls; it stands for itself if it has no Python frames."""
        raise NotImplementedError

    def last_part(self, row: Any) -> Any:
        """Return the part with which a fused task ends; None for any other task."""
        return None

    def look(self, now: float, dues: Sequence[Due], next_due: float) -> tuple[int, bool]:
        """Sample every busy executor; return how many there were, and whether one moved.

        A look may come late, by what had the interpreter lock: each of `dues` counts for what ran
        then, by the stamps of what runs now and of what was told to have ended.

        Parameters
        ----------
        dues
            The looks that have been due, and what they stand for (:class:`LookTimes`).
        next_due
            The next one is not due before.
        """
        self._next_due, self._plan = next_due, None
        newest = dues[-1][0] if dues else -inf
        busy: list[_Busy] = []
        passed = standing = 0
        moved = False
        for lane in self._lanes:
            executor = lane.executor
            row = executor.row
            lane_dues = dues
            if lane.left:
                lane_dues, lane.left = sorted([*lane.left, *dues]), []
                newest_of_lane = lane_dues[-1][0]
            else:
                newest_of_lane = newest
            if row is None:
                executor.next_due = executor.due = next_due
                executor.plan = None
                lane.task = None
                ended = self._ends_of(lane, lane_dues, next_due)
                passed += any(each.seconds for each in ended)
                self._rest(lane, now, ended)
                continue
            # All of one moment: nothing is called between them, so no thread has a turn.
            executor.next_due, executor.due, executor.plan = next_due, _SEEN, None
            began, began_cpu = executor.began, executor.began_cpu
            busy_since = executor.busy_since
            stop = executor.clock if executor.reporting else None
            part = executor.part
            # (taken afterwards: what ended before this task began has been told)
            ends: Sequence[_Ended] = ()
            if executor.ends or lane.pending:
                ends = self._ends_of(lane, lane_dues, next_due)
            since_begin = began if began > busy_since else busy_since
            if lane.until > since_begin:
                since_begin = lane.until
            if newest_of_lane < since_begin:
                moved = True
                if ends:
                    passed += any(each.seconds for each in ends)
                    self._facts.append((lane, now, None, ends, None, (), 0.0))
                continue
            if lane.task is not None:
                task = lane.stands(row, part, began, busy_since, stop)
                if task is not None:
                    standing += 1
                    moved |= self._look_again(lane, now, ends, task, lane_dues, since_begin)
                    continue
            busy.append(
                (lane, row, part, began, began_cpu, busy_since, stop, ends, lane_dues, since_begin)
            )
        if busy:
            moved |= self._look_at(busy, now)
        elif not standing:
            self.looks += passed > 0
            return passed, moved or passed > 0
        self.looks += 1
        if len(self._facts) > _MOST_FACTS:
            self.work_out()
        return standing + len(busy) + passed, moved

    def _ends_of(self, lane: _Lane, dues: Sequence[Due], next_due: float) -> list[_Ended]:
        """What has ended before the next look is due, and the looks that were due in it."""
        told = lane.take_ends(next_due)
        ends: list[_Ended] = []
        for began, began_cpu, busy_since, end, cpu, waited, row, part in told:
            # What ends twice has its time once.
            since = max(began, busy_since, lane.until)
            lane.until = max(lane.until, end)
            # (a look that is a minute late has thousands of both)
            at, until = bisect_left(dues, (since, -inf)), bisect_left(dues, (end, -inf))
            seconds = sum([each for _, each in dues[at:until]])
            call = None
            own = part if isinstance(part, OwnStep) else None
            if part is None or own is not None:
                part = self.last_part(row) if own is None or own.whose_last else None
            if own is not None:
                call = own_frame(own.name)
            elif seconds:
                called = part[4].function if part is not None else self.called(row)
                call = None if called is None else call_of(called)
            here = _Point(end, cpu, waited)
            ends.append(_Ended(began, began_cpu, since, here, _whose(row, part), seconds, call))
        if lane.pending:
            # Their ends are told already, though the next look was not due in this one's view:
            # the thread got on since it began. What was due in them waits with them.
            first, last = lane.pending[0], lane.pending[-1]
            since = max(first[0], first[2], lane.until)
            lane.left += [each for each in dues if since <= each[0] < last[3]]
        return ends

    def settle(self, now: float) -> None:
        """Take down the ends of tasks of threads that are idle now, with no look due."""
        for lane in self._lanes:
            if lane.executor.row is None:
                lane.task = None
                dues, lane.left = sorted(lane.left), []
                self._rest(lane, now, self._ends_of(lane, dues, self._next_due))

    def _look_again(
        self,
        lane: _Lane,
        now: float,
        ends: Sequence[_Ended],
        task: _Taken,
        dues: Sequence[Due],
        since_begin: float,
    ) -> bool:
        """Sample a thread that has not run since the last look; return whether it may soon.

        Its stack is what it was: to take it again would be most of a look's cost.
        """
        self._facts.append((lane, now, lane.stand(now), ends, task, dues, since_begin))
        return now - max(task[0], task[2]) < STILL_AFTER_SECONDS

    def _rest(self, lane: _Lane, now: float, ends: Sequence[_Ended]) -> None:
        """The thread is idle."""
        self._facts.append((lane, now, lane.read(now), ends, None, (), 0.0))

    def _look_at(self, busy: list[_Busy], now: float) -> bool:
        """Sample threads that had tasks; return whether one of them moved.

        This is most of a look. Little is called: no cache holds what is called then, so that each
        call takes microseconds.
        """
        moved = False
        facts = self._facts
        codes_of = self.stacks.codes_of
        frames = current_frames()
        try:
            for lane, row, part, began, began_cpu, busy_since, stop, ends, dues, since in busy:
                executor = lane.executor
                # The executor may have begun its next task before the stacks were taken. Then
                # nobody can tell whose stack this is, and the end of the task is told.
                if executor.row is not row or executor.part is not part:
                    lane.left += [each for each in dues if each[0] >= since]
                    if ends:
                        facts.append((lane, now, None, ends, None, (), 0.0))
                    moved = True
                    continue
                t, cpu_then, waited = lane.looked
                try:
                    cpu = lane.clock.read()
                except OSError:
                    cpu = _NAN
                spent = cpu - cpu_then
                unread = lane.unread + (now - t - spent)
                if unread < lane.most_unread:
                    lane.unread = unread
                    here = lane.looked = (now, cpu, waited)
                else:
                    here = lane.read_wait(now, cpu)
                # Transfers before it did not hold the thread. (`began_cpu` is from then.)
                mark = None
                if since >= t and executor.core_wait is not None:
                    mark = (executor.core_wait.marked, executor.core_wait.last)
                if stop is not None:
                    part = self.last_part(row)
                codes = codes_of(frames.get(lane.ident))
                call = built_in = None
                if stop is not None or (codes and codes[0] is not lane.innermost):
                    call, built_in = self._call_of(lane, codes, row, part, stop)
                if part is None:
                    whose = (row[TASK_SPAN], row[TASK_FUNCTION])
                else:
                    whose = (part[3], part[2])
                task = (began, began_cpu, busy_since, stop, whose, mark, codes, call, built_in)
                lane.task = None
                if spent == 0 and stop is None:
                    lane.task = task
                    lane.row_and_part = (id(row), id(part))
                facts.append((lane, now, here, ends, task, dues, since))
                # NaN, an unknown clock, counts as movement. So does a task that has stood still
                # only briefly: others of its kind are seen better so.
                if not spent < STILL * (now - t) or now - since < STILL_AFTER_SECONDS:
                    moved = True
        finally:
            # The dict holds this very frame, which holds the dict: a cycle that would
            # keep inputs of ended tasks until the next garbage collection.
            frames.clear()
        return moved

    def _call_of(
        self, lane: _Lane, codes: list[CodeType], row: Any, part: Any, stop: float | None
    ) -> tuple[Frame | None, Frame | None]:
        """What a task calls, and what of that has no Python frame; None where its stack says it."""
        is_calling = self.stacks.is_calling(codes)
        innermost = codes[0] if codes else None
        if stop is None and not is_calling and innermost is not _READ_CODE:
            lane.innermost = innermost
            return None, None
        called = part[4].function if part is not None else self.called(row)
        # (names now: what a task called may hold much)
        return (
            None if called is None else call_of(called),
            built_in_of(called) if is_calling else None,
        )

    def work_out(self) -> None:
        """What follows from what looks have seen since the last time, in their order."""
        facts, self._facts = self._facts, []
        self._sure = 2 * max(self._longest_stretch, self._longest_before) / self._interval
        for lane, now, clocks, ends, task, dues, since_begin in facts:
            here = None
            for each in ends:
                self._work_out_end(lane, now, each)
            if clocks is not None:
                t, cpu, said = clocks
                waited = lane.seconds_waited(said)
                known = lane.at.waited
                if waited < known:
                    # (it is not read at each look; an end has told of more)
                    waited = known
                here = _make_tuple(_Point, (t, cpu, waited))
                if task is None or waited > known:
                    self._settle(lane, lane.late(here))
            if task is not None:
                assert here is not None
                self._work_out_task(lane, now, here, task, dues, since_begin)
            elif here is not None:
                # The time until now belongs to no later task, its waits before that to none.
                lane.at = here
                lane.seen = lane.last_owed = None

    def _work_out_task(
        self,
        lane: _Lane,
        now: float,
        here: _Point,
        task: _Taken,
        dues: Sequence[Due],
        since_begin: float,
    ) -> None:
        last = lane.at
        began, began_cpu, _, stop, whose, mark, codes, call, built_in = task
        #: Samples that looks stand for which were due in the task, and after its end.
        of_task = since = 0.0
        for due, seconds in dues:
            if due >= since_begin:
                if stop is None or due < stop:
                    of_task += seconds / self._interval
                else:
                    since += seconds / self._interval
        begin = last
        if since_begin > last.t:
            begin = _Point(since_begin, began_cpu, lane.waited_at(since_begin, here, mark))
        shares = _shares(begin, here)
        lane.at = here
        owed = lane.last_owed = lane.owed_to(whose)
        seen = lane.seen
        if seen is not None and seen.began != began:
            seen = None  # it was given back, and told no end
        if stop is None:
            if seen is None:
                seen = _Seen(began, whose)
            lane.seen = seen
            known = max(0.0, min(now - begin.t, self._longest)) / self._interval
            seen.stood += of_task
            spent, given = seen.spent, seen.given
            on_core, waiting, blocked, unknown = shares
            spent[0] += on_core * known
            spent[1] += waiting * known
            spent[2] += blocked * known
            spent[3] += unknown * known
            self._on_core += on_core * known
            self._in_queue += waiting * known
            more = seen.due(self._sure) - sum(given)
            for sums in (given, owed):
                sums[0] += on_core * more
                sums[1] += waiting * more
                sums[2] += blocked * more
                sums[3] += unknown * more
            paid = _pay(owed)
            if paid:
                is_read = bool(codes) and codes[0] is _READ_CODE
                seen.stack = self._stack_of(lane, codes, call if is_read else None, built_in)
                self._give(lane, begin.t, now, whose, seen.stack, paid)
            return
        lane.seen = None
        for state, share in enumerate(shares):
            owed[state] += share * (of_task + since)
        paid = _pay(owed)
        n = sum(paid)
        if n:
            is_of_function = _is_first_s(lane.owed_after, whose, n, of_task / (of_task + since))
            stack = self._stack_of(lane, codes, call if is_of_function else None, built_in)
            self._give(lane, begin.t, now, whose, stack, paid)

    def _stack_of(
        self, lane: _Lane, codes: list[CodeType], call: Frame | None, built_in: Frame | None
    ) -> int:
        """Return the id of a task's stack, or of that of what it calls, if that is given."""
        if call is not None:
            return self.stacks.stack_of_call(call)
        known = lane.codes
        # Mostly it is the last one, which takes a quarter as long to see as to look up. (By `is`:
        # code of two files may be equal.)
        if codes and len(codes) == len(known) and all(map(is_, codes, known)):
            return lane.stack
        stack = self.stacks.stack_of(codes, built_in)
        if built_in is None:
            lane.codes, lane.stack = codes, stack
        return stack

    def _work_out_end(self, lane: _Lane, now: float, ended: _Ended) -> None:
        """Settle the samples of a task or part that has ended since the last look."""
        last, end = lane.at, ended.end
        seen, lane.seen = lane.seen, None
        if seen is not None and seen.began != ended.began:
            seen = None  # it was given back, and told no end
        begin = last
        if seen is None and ended.since > last.t:
            waited = lane.waited_at(ended.since, end, None)
            begin = _Point(ended.since, ended.began_cpu, waited)
        if end.t > last.t:
            if end.waited > last.waited:
                self._settle(lane, lane.late(end))
            lane.at = end
        stood = ended.seconds / self._interval
        if seen is None:
            if not stood:
                return
            seen = _Seen(ended.began, ended.whose)
        seen.stood += stood
        if end.t > begin.t:
            known = min(end.t - begin.t, self._longest) / self._interval
            shares = _shares(begin, end)
            for state, share in enumerate(shares):
                seen.spent[state] += share * known
            self._on_core += shares[SAMPLE_ON_CORE] * known
            self._in_queue += shares[SAMPLE_WAITING] * known
        took = sum(seen.spent)
        if not took > 0.0:
            return
        times = seen.due(self._sure) / took
        owed = lane.owed_to(seen.whose)
        for state, given in enumerate(seen.given):
            owed[state] += seen.spent[state] * times - given
        stack, call = seen.stack, ended.call
        if stack is None and stood:
            # Its inner frames nobody saw.
            of_call = self.stacks.stack_of_call
            stack = self.stacks.stack_of([], None) if call is None else of_call(call)
        if stack is not None:
            self._give(lane, begin.t, min(now, end.t), seen.whose, stack, _pay(owed))
        # At its end all its waiting was known.
        lane.doubts.clear()

    def _give(
        self,
        lane: _Lane,
        begin: float,
        end: float,
        whose: tuple[int, int],
        stack: int,
        paid: list[int],
    ) -> None:
        """Count samples of this time, mostly since the last look, in the seconds of it.

        A look that comes late has many: as many of each state in each second.
        """
        last = floor(end - self.epoch)
        seconds = end - begin
        is_of_one = floor(begin - self.epoch) >= last
        for state, n in enumerate(paid):
            if n <= 0:
                continue
            if is_of_one:
                counts = {last: n}
            else:
                counts = {}
                for each in range(n):
                    second = floor(begin + seconds * (each + 0.5) / n - self.epoch)
                    counts[second] = counts.get(second, 0) + 1
            for second, count in counts.items():
                key = (second, lane.executor.number, *whose, stack, state)
                self._samples[key] = self._samples.get(key, 0) + count
                if state == SAMPLE_BLOCKED:
                    lane.doubts.append((key, count))

    def _settle(self, lane: _Lane, late: float) -> None:
        """Turn the latest `late` blocked samples into waiting ones, except for sent ones.

        The others were blocked as far as can be told, and stay so. NaN: the system does not
        tell how long threads wait.
        """
        if not late > 0.0:
            lane.doubts.clear()
            return
        self._in_queue += late
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
            # The rest has got no sample yet, or one of another state: it is owed.
            late = min(late, max(0.0, owed[SAMPLE_BLOCKED] + 1.0))
            owed[SAMPLE_WAITING] += late
            owed[SAMPLE_BLOCKED] -= late

    def work_out_within(self, budget: LookBudget) -> None:
        """Work out what looks have seen, in the thread that looks: it is a part of their cost."""
        looks, self._worked_out = self.looks - self._worked_out, self.looks
        begin = thread_time()
        self.work_out()
        budget.worked_out(thread_time() - begin, looks)
        budget.got(self._on_core * self._interval, self._in_queue * self._interval)
        self._on_core = self._in_queue = 0.0
        # (of tasks that run now, looks in stretches of this length are yet to be worked out)
        self._longest_before = self._longest_stretch
        planned = 0.0 if self._plan is None else self._plan[1]
        self._longest_stretch = max(planned, self._least_longest)

    def rows(self) -> list[tuple[float, int, int, int, int, int, int]]:
        """Return the rows of the table `samples` collected so far and forget them.

        Their stacks are those of :attr:`stacks` from then on.
        """
        self.work_out()
        samples, self._samples = self._samples, {}
        epoch = self.epoch
        # Half past: readers that count seconds from the same epoch find the same second.
        return [
            (epoch + second + 0.5, thread, span, function, stack, state, min(n, LARGEST_U16))
            for (second, thread, span, function, stack, state), n in self._places.place(
                samples
            ).items()
        ]


def _whose(row: Any, part: Any) -> tuple[int, int]:
    """Return span and function of a task or of a part of one."""
    return (part[3], part[2]) if part is not None else (row[TASK_SPAN], row[TASK_FUNCTION])


def _shares(a: _Point, b: _Point) -> _Shares:
    """How a thread spent its time from one point to a later one."""
    seconds = b.t - a.t
    cpu = b.cpu - a.cpu
    if isnan(cpu):
        return 0.0, 0.0, 0.0, 1.0
    if not seconds > _SHORTEST:
        return 1.0, 0.0, 0.0, 0.0  # it has just begun, so it runs
    on_core = min(1.0, max(0.0, cpu / seconds))
    # NaN: unknown, so 0.
    in_queue = min(1.0 - on_core, max(0.0, (b.waited - a.waited) / seconds))
    return on_core, in_queue, 1.0 - on_core - in_queue, 0.0


def _pay(owed: list[float]) -> list[int]:
    """Give each whole sample of a sum to the largest debt; return how many each state has got.

    Empty: there is none.
    """
    count = int(sum(owed) + _ROUNDING)
    if count <= 0:
        return []
    paid = [0, 0, 0, 0]
    for _ in range(count):
        state = owed.index(max(owed))
        owed[state] -= 1.0
        paid[state] += 1
    return paid


def _is_first_s(
    debts: BoundedMap[tuple[int, int], list[float]], whose: tuple[int, int], n: int, share: float
) -> bool:
    """Whether the first of two, with this share in n samples, is owed them."""
    owed = debts.get(whose)
    if owed is None:
        owed = debts.keep(whose, [0.0, 0.0])
    owed[0] += n * share
    owed[1] += n * (1.0 - share)
    first = owed[0] >= owed[1]
    owed[0 if first else 1] -= n
    return first
