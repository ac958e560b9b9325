"""Runs a task and measures it, in the thread that Dask chose for it.

The same stamps as a worker's executor: the thread's CPU clock and the wall clock around
the call; fused tasks part by part (:func:`spanwise.measure.steps.run_parts`). Looking up
inputs and sizing the result lie outside::

    Dask hands out          start          stop            Dask takes back
         │ queue, lane, stamps │ the task    │ size, record  │
         └─ pretask            └─ duration ──┘               └─ posttask
"""

from __future__ import annotations

import os
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import perf_counter, thread_time
from typing import Any

from spanwise.local.work import Work
from spanwise.measure.clocks import CoreWait
from spanwise.measure.looks import Plan
from spanwise.measure.meters import Metered, MeteredValues, take_metered, without_seconds
from spanwise.measure.parts import Part
from spanwise.measure.scopes import Heard, Hearing
from spanwise.measure.sizes import Sizes
from spanwise.measure.steps import LONG_SECONDS, MOST_ENDS, End, run_parts, tell_end
from spanwise.notices import tell
from spanwise.records.enumerations import KIND_COMPUTE, NONE_U16, RUN_FAILED, RUN_OK

#: Length of a traceback; its beginning says where the task was called, its end what
#: went wrong.
_TRACEBACK_CHARACTERS = 3000

#: A task as the sampler reads it: [1] is its work, [5] its function, [6] its span.
Row = tuple[int, Work, int, int, int, int, int]


class Lane:
    """One thread that runs tasks. Its thread writes, the watch thread reads.

    Parameters
    ----------
    number
        Of the lane.
    """

    __slots__ = (
        "began",
        "began_cpu",
        "busy_since",
        "clock",
        "core_wait",
        "due",
        "ends",
        "heard",
        "hearing",
        "ident",
        "marked",
        "metered",
        "next_due",
        "number",
        "part",
        "plan",
        "row",
        "thread",
    )

    #: Never set: this thread sends nothing, and has no row when its task has ended.
    reporting = False

    def __init__(self, number: int) -> None:
        self.number = number
        self.thread = threading.current_thread()
        self.ident: int | None = threading.get_ident()
        self.core_wait: CoreWait | None = CoreWait()
        self.row: Row | None = None
        self.part: tuple[Any, tuple[int, ...], int, int, Any] | None = None
        self.clock = 0.0
        self.busy_since = 0.0
        self.began = 0.0
        self.began_cpu = 0.0
        self.due = self.next_due = inf
        self.plan: Plan | None = None
        self.ends: deque[End] = deque(maxlen=MOST_ENDS)
        #: When the wait for a core was last read.
        self.marked = 0.0
        #: What the task measures itself, and what of it belongs to parts that have ended.
        self.heard = Heard()
        self.hearing = Hearing(self.heard)
        self.metered: list[Metered] = []

    def take_metered(
        self, work: Work, is_divided: bool, duration: float, cpu: float
    ) -> Sequence[MeteredValues] | None:
        """What the task has measured itself."""
        heard = self.heard
        if not (heard.sums or heard.seconds or heard.events or self.metered):
            return None
        rows, self.metered = self.metered, []
        left = (0.0, 0.0) if is_divided else (duration, cpu)
        return [*rows, *take_metered(heard, work.function, work.span, *left)]


def _ended_row(work: Work) -> tuple[int, None, int, int, int, int, int]:
    """As `Row`, without its work, which holds what is the user's."""
    return (work.number, None, 0, 0, 0, work.function, work.span)


class _Here(threading.local):
    """The lane that this thread had last, and whose it was then; its row says if it has a task."""

    lane: Lane | None = None
    threads: Any = None
    base = -1


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
        self._pid = os.getpid()
        self.closed = False

    def is_busy_here(self) -> bool:
        """Whether the calling thread is in the middle of a task."""
        lane = self._here.lane
        return lane is not None and lane.row is not None

    def run(self, work: Work, values: Mapping[Any, Any]) -> Any:
        """Run a task with the values of its inputs; return its result.

        Raises
        ------
        BaseException
            What the task raises.
        """
        here = self._here
        lane = here.lane
        is_busy = lane is not None and lane.row is not None
        if is_busy or self.closed or os.getpid() != self._pid:
            return work.node(values)
        threads = work.threads
        if (
            lane is None
            or threads is None
            or threads is not here.threads
            or threads.base != here.base
        ):
            try:
                lane = here.lane = self._lane_of(work)
                here.threads, here.base = threads, -1 if threads is None else threads.base
            except Exception as error:  # noqa: BLE001 (said; the task runs all the same)
                self.closed = True
                tell(
                    f"Spanwise cannot measure tasks here ({type(error).__name__}: {error}).",
                )
                return work.node(values)
        row = (work.number, work, 0, 0, 0, work.function, work.span)
        parts: list[Part] | None = None
        taken = work.taken
        inputs = [] if taken is None else [values[key] for key in taken.inputs]
        lane.began_cpu = begin = thread_time()
        lane.clock = lane.began = lane.busy_since = start = perf_counter()
        if start - lane.marked > LONG_SECONDS and lane.core_wait is not None:
            # (3 us: of short tasks only now and then)
            lane.core_wait.mark()
            lane.marked = start
        try:
            lane.row = row
            with lane.hearing:
                if taken is None:
                    value = work.node(values)
                else:
                    parts = []
                    inner = taken.opened.parts or ()
                    value = run_parts(
                        lane, inner, taken.literals, inputs, start, start, begin, parts
                    )
        except BaseException as error:
            stop, cpu = perf_counter(), thread_time() - begin
            if stop >= lane.due:
                tell_end(lane, stop, begin + cpu, _ended_row(work))
            meters = lane.take_metered(work, True, 0.0, 0.0)
            text = _text_of(error)
            self._done(
                _done(
                    lane,
                    work,
                    RUN_FAILED,
                    start,
                    stop,
                    cpu,
                    0.0,
                    parts,
                    text,
                    None if meters is None else without_seconds(meters),
                )
            )
            raise
        else:
            # Told before the row is taken away: telling lets the interpreter lock go, and a look
            # that found no row would take the task for given back.
            stop = perf_counter()
            cpu = thread_time() - begin
            if stop >= lane.due:
                tell_end(lane, stop, begin + cpu, _ended_row(work))
        finally:
            lane.row = lane.part = None
        if parts is None and stop - start >= LONG_SECONDS:
            # Carries how long the thread waited for a core.
            assert lane.core_wait is not None
            waited = lane.core_wait.mark()
            parts = [
                (
                    KIND_COMPUTE,
                    work.function,
                    work.span,
                    0.0,
                    stop - start,
                    cpu,
                    waited,
                    0.0,
                    NONE_U16,
                    1,
                )
            ]
        meters = lane.take_metered(work, taken is not None, stop - start, cpu)
        nbytes = 0.0
        try:
            nbytes = self._sizes.of(value)
        finally:  # (Ctrl-C may come here, too)
            self._done(_done(lane, work, RUN_OK, start, stop, cpu, nbytes, parts, None, meters))
        return value


def _done(
    lane: Lane,
    work: Work,
    status: int,
    start: float,
    stop: float,
    cpu: float,
    nbytes: float,
    parts: list[Part] | None,
    text: str | None,
    meters: Sequence[MeteredValues] | None,
) -> tuple[Any, ...]:
    return (
        lane.number,
        work.number,
        work.function,
        work.span,
        status,
        work.submitted,
        work.ready,
        start,
        stop - start,
        cpu,
        nbytes,
        parts,
        text,
        meters,
    )


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
