"""Runs a fused task part by part and measures each part.

The parts of a run lie end to end: every one is given where the one before it ended, wall
and CPU. The parts before them, on a worker, are in ``spanwise/worker/opening.py``.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from time import perf_counter, thread_time
from typing import Any, NamedTuple, Protocol

from spanwise.measure.clocks import CoreWait, seconds_waited
from spanwise.measure.looks import Plan, due_after
from spanwise.measure.meters import Metered, metered
from spanwise.measure.parts import Part
from spanwise.measure.scopes import Heard
from spanwise.processes import forks
from spanwise.records.enumerations import KIND_COMPUTE, NONE_U16

#: For shorter computing the waits are not measured. Plain runs of at least this length
#: get a compute part that holds them: some system calls in 5 ms.
LONG_SECONDS = 0.005
#: At most so much may lie between the last mark and a part whose waits are measured:
#: otherwise the waits of short parts before it would be taken for its own. A mark is 2
#: us, 1 %.
UNMARKED_SECONDS = 0.0002

#: The CPU clock is not read for shorter runs without parts, and for shorter parts, unless that was
#: so long ago: see :func:`read_cpu`.
SHORT_SECONDS = 0.00002
UNREAD_SECONDS = 0.0005

#: Ends that are kept until a look takes them: more than looks that one may stand for, so that none
#: goes before. (In a minute there are 6,667 of them, or ten times as many with samples of 1 ms.)
MOST_ENDS = 70_000


class OwnStep(NamedTuple):
    """In place of a part: not a task has ended, but what its thread does around it.

    Attributes
    ----------
    name
        As :data:`~spanwise.measure.stacks.WORKER` and activities are shown.
    whose_last
        It is its last part's, if the task is fused: else it is the task's.
    """

    name: str
    whose_last: bool = False


#: Behind a task: results are sent, and older ones written to make room for its own.
SENT = OwnStep("worker", whose_last=True)
WRITTEN = OwnStep("disk-write", whose_last=True)
#: Steps before it computes.
READ_DISK, OPENED, IMPORTED = OwnStep("disk-read"), OwnStep("deserialize"), OwnStep("import")

_NAN = float("nan")

#: What has ended: its begin, its CPU clock then, since when its thread was busy, its end, what the
#: clocks said then (CPU, wait for a core), and whose it was: the row of the task (None: a part has
#: ended) and the part (None: the task has ended), or an :class:`OwnStep` in its place.
End = tuple[float, float, float, float, float, float, Any, Any]


class PartRunner(Protocol):
    """A thread that shows which part of a fused task it runs."""

    part: tuple[Any, tuple[int, ...], int, int, Any] | None
    core_wait: CoreWait | None
    #: What the task tells, and what its earlier parts have told.
    heard: Heard
    metered: list[Metered]
    #: What its CPU clock said, or what it was given, when a run or a part ended last, and the wall
    #: stamp at which that was last what the clock said.
    cpu: float
    cpu_read_at: float
    # See `Sampled`.
    began: float
    began_cpu: float
    busy_since: float
    due: float
    next_due: float
    plan: Plan | None
    ends: deque[End]


def told_from(executor: PartRunner, end: float) -> float:
    """From when on ends are told behind one that is told: those in which a look was due."""
    due = executor.next_due
    plan = executor.plan
    if due <= end and plan is not None:
        # The look is late.
        due = due_after(plan, end)
        if executor.plan is not plan:
            # It has come meanwhile.
            due = executor.next_due
    return due


def tell_end(
    executor: PartRunner, end: float, cpu: float, row: Any = None, own: OwnStep | None = None
) -> None:
    """Tell the sampler what has ended, if a look was due in it or has seen it.

    It takes a microsecond when it has just been run, and 7 to 12 of them between tasks of
    milliseconds, as no cache holds it then.

    Parameters
    ----------
    row
        Of the task; None: a part has ended.
    own
        The task goes on: a step before its computing has ended.
    """
    wait = executor.core_wait
    if wait is None:
        waited = _NAN
    elif own is None:
        waited = wait.read()
    else:
        # (A look that came while this read the wait would be of no step, and take it for the task.)
        waited = seconds_waited(wait.peek())
    executor.due = told_from(executor, end)
    part = executor.part if row is None else own
    began, began_cpu, busy_since = executor.began, executor.began_cpu, executor.busy_since
    executor.ends.append((began, began_cpu, busy_since, end, cpu, waited, row, part))


def tell_behind(
    executor: PartRunner,
    row: Any,
    begin: float,
    begin_cpu: float,
    end: float,
    cpu: float,
    own: OwnStep,
) -> None:
    """As :func:`tell_end`, of what was done behind a task; its thread has just read its wait."""
    wait = executor.core_wait
    waited = wait.last if wait is not None else _NAN
    executor.due = told_from(executor, end)
    executor.ends.append((begin, begin_cpu, begin, end, cpu, waited, row, own))


def read_cpu(executor: PartRunner, at: float, given: float) -> float:
    """What a thread's CPU clock says at `at`, or what its runs were given if that is more.

    To read it takes 0.6 to 2 us. So it is not read at the end of what was short, which has its
    duration: a thread spends nearly all of it on its core. What ends when it is read next gets what
    it says less what the others were given, so that the sum is the clock's.
    """
    cpu = thread_time()
    if cpu < given:
        # They waited. Until the clock has caught up nothing else is given its duration.
        executor.cpu_read_at = -math.inf
        return given
    executor.cpu_read_at = at
    return cpu


def run_parts(
    executor: PartRunner,
    inner: Sequence[tuple[Any, tuple[int, ...], int, int, Any]],
    literals: Any,
    values: list[Any],
    start: float,
    begin: float,
    begin_cpu: float,
    parts: list[Part],
) -> Any:
    """Run a fused task part by part; values that no later part needs are dropped at once.

    Rows are appended to `parts` as the `inner` parts (see `Opened.parts`) end, even if they fail.
    """
    wait = executor.core_wait
    heard = executor.heard
    for part in inner:
        executor.part, executor.began, executor.began_cpu = part, begin, begin_cpu
        # Lets the interpreter lock go, so that a look comes here, where it cannot see the part
        # before.
        if wait is not None and begin - wait.marked > UNMARKED_SECONDS:
            wait.mark()
        run, drops, function, span, _ = part
        try:
            values.append(run(literals, values))
            if forks.is_child:
                forks.leave(None)
            for index in drops:
                values[index] = None
        finally:
            end = perf_counter()
            if (
                end - begin < SHORT_SECONDS
                and end - executor.cpu_read_at < UNREAD_SECONDS
                and end < executor.due
            ):
                end_cpu = begin_cpu + (end - begin)
            else:
                end_cpu = read_cpu(executor, end, begin_cpu)
            executor.cpu = end_cpu
            cpu = end_cpu - begin_cpu
            if end >= executor.due:
                tell_end(executor, end, end_cpu)
            waited = _NAN
            if end - begin >= LONG_SECONDS and wait is not None:
                waited = wait.of_part(function, span, end - begin, cpu)
            parts.append(
                (
                    KIND_COMPUTE,
                    function,
                    span,
                    begin - start,
                    end - begin,
                    cpu,
                    waited,
                    0.0,
                    NONE_U16,
                    1,
                )
            )
            if heard.sums or heard.seconds or heard.events:
                executor.metered += metered(heard.take(), function, span, end - begin, cpu)
            begin = end
            begin_cpu = end_cpu
    return values[-1]
