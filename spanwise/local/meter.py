"""Runs a task and measures it, in the thread that Dask chose for it.

The same stamps as a worker's executor: the thread's CPU clock and the wall clock around
the call; fused tasks part by part (:func:`spanwise.measure.steps.run_parts`). Looking up
inputs and sizing the result lie outside::

    Dask hands out          start          stop            Dask takes back
         │ queue, lane, stamps │ the task    │ size, record  │
         └─ pretask            └─ duration ──┘               └─ posttask
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import perf_counter, thread_time
from typing import Any

from spanwise.local.lanes import Threads
from spanwise.local.work import WORK_NODE, Work
from spanwise.measure.clocks import CoreWait
from spanwise.measure.fine import Ledger
from spanwise.measure.looks import Plan
from spanwise.measure.meters import Metered, MeteredValues, take_metered, without_seconds
from spanwise.measure.parts import Part
from spanwise.measure.scopes import Heard, Hearing
from spanwise.measure.sizes import Sizes
from spanwise.measure.steps import (
    LONG_SECONDS,
    MOST_ENDS,
    UNMARKED_SECONDS,
    End,
    run_parts,
    tell_end,
)
from spanwise.measure.waits import Waits
from spanwise.notices import tell
from spanwise.processes.fork_hook import ForkHook
from spanwise.records.enumerations import KIND_COMPUTE, NONE_U16, RUN_FAILED, RUN_OK

#: A task that is shorter has all its time on its core: to give that away and to get it back takes
#: about as long. Its clock would be asked for longer than the task, and count that as well.
SHORT_SECONDS = 5e-6
#: Length of a traceback; its beginning says where the task was called, its end what
#: went wrong.
_TRACEBACK_CHARACTERS = 3000
_NAN = float("nan")


class Lane:
    """One thread that runs tasks. Its thread writes, the watch thread reads.

    Parameters
    ----------
    number
        Of the lane.
    ledger
        Takes estimates of what it waited for.
    """

    __slots__ = (
        "base",
        "began",
        "began_cpu",
        "busy_since",
        "clock",
        "core_wait",
        "cpu",
        "cpu_read_at",
        "due",
        "ends",
        "heard",
        "hearing",
        "ident",
        "metered",
        "next_due",
        "number",
        "part",
        "plan",
        "row",
        "thread",
        "threads",
        "waits",
    )

    #: Never set: this thread sends nothing, and has no row when its task has ended.
    reporting = False

    def __init__(self, number: int, ledger: Ledger) -> None:
        self.number = number
        self.thread = threading.current_thread()
        self.ident: int | None = threading.get_ident()
        self.waits = Waits(ledger)
        #: The same, for the sampler and for parts.
        self.core_wait: CoreWait | None = self.waits
        self.row: Work | None = None
        #: Whose it is, and where their lanes began then.
        self.threads: Threads | None = None
        self.base = -1
        self.part: tuple[Any, tuple[int, ...], int, int, Any] | None = None
        self.clock = 0.0
        self.busy_since = 0.0
        self.began = 0.0
        self.began_cpu = 0.0
        self.cpu = self.cpu_read_at = 0.0
        self.due = self.next_due = inf
        self.plan: Plan | None = None
        self.ends: deque[End] = deque(maxlen=MOST_ENDS)
        #: What the task measures itself, and what of it belongs to parts that have ended.
        self.heard = Heard()
        self.hearing = Hearing(self.heard)
        self.metered: list[Metered] = []

    def take_metered(
        self, function: int, span: int, is_divided: bool, duration: float, cpu: float
    ) -> Sequence[MeteredValues] | None:
        """What the task has measured itself."""
        heard = self.heard
        if not (heard.sums or heard.seconds or heard.events or self.metered):
            return None
        rows, self.metered = self.metered, []
        left = (0.0, 0.0) if is_divided else (duration, cpu)
        return [*rows, *take_metered(heard, function, span, *left)]


def _ended_row(
    number: int, function: int, span: int
) -> tuple[int, None, float, float, None, int, int]:
    """As `Work`, without its node, which holds what is the user's."""
    return (number, None, 0.0, 0.0, None, function, span)


class _Here(threading.local):
    """The lane that this thread had last; its row says if it has a task."""

    lane: Lane | None = None


class Meter:
    """Measures tasks of one process.

    Parameters
    ----------
    lane_of
        The calling thread's lane, for a task.
    done
        Takes what was measured, the values of a `Done`, in the task's thread.
    """

    def __init__(
        self, lane_of: Callable[[Work], Lane], done: Callable[[tuple[Any, ...]], None]
    ) -> None:
        self._lane_of = lane_of
        self._done = done
        self._sizes = Sizes()
        self._here = _Here()
        #: By function: whether a task of it has been long.
        self._has_been_long: dict[int, bool] = {}
        self.closed = False
        _METERS.add(self)

    def _let_go(self) -> None:
        """In a fork, which nobody asks what its tasks took."""
        self.closed = True

    def is_busy_here(self) -> bool:
        """Whether the calling thread is in the middle of a task."""
        lane = self._here.lane
        return lane is not None and lane.row is not None

    def leave_thread(self) -> None:
        """The calling thread has run its tasks, and goes on with what is the user's."""
        lane = self._here.lane
        if lane is not None and lane.row is None:
            lane.hearing.leave()

    def run(self, work: Work, values: Mapping[Any, Any]) -> Any:
        """Run a task with the values of its inputs; return its result.

        Long, since each call would be a tenth of what observing costs a task.

        Raises
        ------
        BaseException
            What the task raises.
        """
        lane = self._here.lane
        if self.closed or (lane is not None and lane.row is not None):
            return work[WORK_NODE](values)
        number, node, submitted, ready, taken, function, span, threads, _ = work
        if (
            lane is None
            or threads is None
            or lane.threads is not threads
            or lane.base != threads.base
        ):
            try:
                lane = self._here.lane = self._lane_of(work)
                lane.threads, lane.base = threads, -1 if threads is None else threads.base
            except Exception as error:  # noqa: BLE001 (said; the task runs all the same)
                self.closed = True
                tell(
                    f"Spanwise cannot measure tasks here ({type(error).__name__}: {error}).",
                )
                return node(values)
        parts: list[Part] | None = None
        inputs = [] if taken is None else [values[key] for key in taken.inputs]
        heard, hearing = lane.heard, lane.hearing
        hearing.begin()
        try:
            lane.began_cpu = begin = thread_time()
            lane.clock = lane.began = lane.busy_since = lane.cpu_read_at = start = perf_counter()
            waits = lane.waits
            unmarked = start - waits.marked
            if unmarked > UNMARKED_SECONDS and (
                unmarked > LONG_SECONDS or self._has_been_long.get(function, True)
            ):
                # (3 us: of functions whose tasks are short only now and then)
                waits.mark()
            lane.row = work
            try:
                if taken is None:
                    value = node(values)
                else:
                    parts = []
                    inner = taken.opened.parts or ()
                    value = run_parts(
                        lane, inner, taken.literals, inputs, start, start, begin, parts
                    )
            except BaseException as error:
                stop, cpu = perf_counter(), thread_time() - begin
                if stop >= lane.due:
                    tell_end(lane, stop, begin + cpu, _ended_row(number, function, span))
                text = _text_of(error)
                meters = lane.take_metered(function, span, True, 0.0, 0.0)
                self._done(
                    (
                        lane.number,
                        number,
                        function,
                        span,
                        RUN_FAILED,
                        submitted,
                        ready,
                        start,
                        stop - start,
                        cpu,
                        0.0,
                        parts,
                        text,
                        None if meters is None else without_seconds(meters),
                    )
                )
                raise
            # Told before the row is taken away: telling lets the interpreter lock go, and a look
            # that found no row would take the task for given back.
            stop = perf_counter()
            duration = stop - start
            cpu = duration
            if duration >= SHORT_SECONDS or parts is not None:
                cpu = thread_time() - begin
                if parts is not None:
                    # (they may have been given a little more: see `read_cpu`)
                    cpu = max(cpu, lane.cpu - begin)
            if stop >= lane.due:
                tell_end(lane, stop, begin + cpu, _ended_row(number, function, span))
        finally:
            lane.row = lane.part = None
            hearing.end()
        if parts is None:
            if duration < LONG_SECONDS:
                if waits.marked >= start:
                    # (else it need not be known: the clock was read shortly before)
                    self._has_been_long.setdefault(function, False)
            else:
                self._has_been_long[function] = True
                # Carries how long the thread waited for a core.
                waited = _NAN
                if start - waits.marked <= UNMARKED_SECONDS:
                    waited = waits.of_part(function, span, duration, cpu)
                else:
                    # Short tasks came before, and whose the waits are nobody knows.
                    waits.mark()
                parts = [
                    (KIND_COMPUTE, function, span, 0.0, duration, cpu, waited, 0.0, NONE_U16, 1)
                ]
        meters = None
        if heard.sums or heard.seconds or heard.events or lane.metered:
            meters = lane.take_metered(function, span, taken is not None, duration, cpu)
        nbytes = self._sizes.fixed.get(type(value), 0.0)
        try:
            if not nbytes:
                nbytes = self._sizes.of(value)
        finally:  # (Ctrl-C may come here, too)
            self._done(
                (
                    lane.number,
                    number,
                    function,
                    span,
                    RUN_OK,
                    submitted,
                    ready,
                    start,
                    duration,
                    cpu,
                    nbytes,
                    parts,
                    None,
                    meters,
                )
            )
        return value


#: A fork inherits no thread that would read or send anything.
_METERS: ForkHook[Meter] = ForkHook(Meter._let_go)


def _text_of(error: BaseException) -> str:
    """The traceback as text; an error whose text cannot be made is still reported."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception as broken:  # noqa: BLE001 (said in the text)
        return f"{type(error).__name__}, which cannot be shown: {type(broken).__name__}"
    # Halves of surrogate pairs are no text for anybody but Python.
    text = text.encode("utf-8", "replace").decode()
    half = _TRACEBACK_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]} … {text[-half:]}"
