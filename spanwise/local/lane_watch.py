"""Looks at the lanes of one process: samples of their stacks, tasks that run for long."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from spanwise.graph.private_dask import TASK_SPEC_FILE
from spanwise.local.meter import Lane, Meter
from spanwise.local.work import WORK_NODE
from spanwise.measure.looks import (
    LOOK_SECONDS,
    RUNNING_SECONDS,
    STILL_SECONDS,
    LookBudget,
    LookTimes,
)
from spanwise.measure.sampler import ThreadSampler
from spanwise.measure.stacks import StackTree, TextIds
from spanwise.records.enumerations import NONE_U32
from spanwise.wire.rows import TASK_FUNCTION, TASK_SPAN

_CALLERS = frozenset({TASK_SPEC_FILE, str(Path(__file__).parent / "measured_node.py")})

#: lane, node (NOTHING: nothing any more), function, span, started
Running = tuple[int, int, int, int, float]


class LaneWatch(ThreadSampler):
    """The sampler of lanes that come and go.

    Parameters
    ----------
    names
        Where the texts of frames get their ids.
    epoch
        perf_counter value at which second 0 began.
    """

    def __init__(self, names: TextIds, epoch: float) -> None:
        super().__init__(StackTree(names, Meter.run.__code__, _CALLERS), epoch)
        #: Lane → its number and the task that was said to run on it.
        self._said: dict[Lane, tuple[int, Any]] = {}
        self.times = LookTimes(perf_counter(), LOOK_SECONDS)
        self._await()
        self.budget = LookBudget()
        self._stretch = LOOK_SECONDS
        #: Looks at busy threads when ends were taken down last.
        self._settled = 0
        #: CPU seconds of the looking thread when it began to wait; None: not for a look.
        self._waited: float | None = None

    def called(self, row: Any) -> object:
        """Return the function of the task; of one that has ended it is no longer known."""
        node = row[WORK_NODE]
        return getattr(node, "func", node)

    def look_if_due(self, now: float) -> int:
        """Look if it is time to; return how many threads are busy. A thread may end meanwhile."""
        times = self.times
        dues = times.take(now)
        if not dues:
            return sum(lane.executor.row is not None for lane in self._lanes)
        busy, moved = self.look(now, dues, times.earliest(now))
        stands = bool(busy) and not moved
        stretch = self.budget.next_stretch(LOOK_SECONDS, self._stretch, stands)
        if stretch != self._stretch:
            self._stretch = stretch
            # (Now: what has ended since the look began was told by the length until now.)
            times.stretch(stretch, perf_counter())
        self._await()
        waited, self._waited = self._waited, None
        if busy and waited is not None:
            self.budget.looked(thread_time() - waited)
        return busy

    def _await(self) -> None:
        self.awaits(self.times)

    def _look_late(self, now: float) -> None:
        """Look if it was time to, and the thread that looks has had no core yet."""
        dues = self.times.take(now)
        if dues:
            self.look(now, dues, self.times.earliest(now))
            self._await()

    def rows(self) -> list[tuple[float, int, int, int, int, int, int]]:
        """As ThreadSampler's, with looks that were due and with the ends of tasks, up to now."""
        now = perf_counter()
        self._look_late(now)
        if self.looks > self._settled:
            if all(lane.executor.row is None for lane in self._lanes):
                self._settled = self.looks
            self.settle(now)
        self.work_out_within(self.budget)
        return super().rows()

    def rests_until(self, at: float) -> None:
        """No thread had a task before that, unless it has one now."""
        began = (lane.executor.busy_since for lane in self._lanes if lane.executor.row is not None)
        self.times.skip(min(at, *began, at))
        self._await()

    def pause(self) -> float:
        """Begin to wait for the next look; return for how many seconds.

        (Tasks that run for long are told in time.)
        """
        self._waited = thread_time()
        return min(max(0.0, self.times.due - perf_counter()), STILL_SECONDS)

    def running(self, now: float) -> list[Running]:
        """Rows for tasks that run for long now, and for the end of such tasks."""
        said = self._said
        rows: list[Running] = []
        for each in self._lanes:
            lane = each.executor
            row, started = lane.row, lane.clock
            assert isinstance(lane, Lane)
            before = said.get(lane)
            if before is not None and row is not before[1]:
                del said[lane]
                rows.append((before[0], NONE_U32, 0, 0, now))
                before = None
            if row is not None and before is None and now - started > RUNNING_SECONDS:
                said[lane] = lane.number, row
                rows.append((lane.number, row[0], row[TASK_FUNCTION], row[TASK_SPAN], started))
        return rows

    def forget_ended(self) -> None:
        """Forget threads that have ended, once the end of their tasks was reported."""
        ended = []
        for each in self._lanes:
            lane = each.executor
            assert isinstance(lane, Lane)
            if not lane.thread.is_alive() and lane not in self._said:
                ended.append(each)
        if not ended:
            return
        # Looks that were due in their last tasks may be still to come.
        now = perf_counter()
        self._look_late(now)
        self.settle(now)
        for each in ended:
            # One by one: threads add themselves meanwhile.
            self._lanes.remove(each)
