"""Looks at the lanes of one process: samples of their stacks, tasks that run for long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanwise.graph.private_dask import TASK_SPEC_FILE
from spanwise.local.meter import Lane, Meter
from spanwise.measure.looks import LOOK_SECONDS, RUNNING_SECONDS, STILL_SECONDS
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
        #: Seconds until the next look.
        self.pause = LOOK_SECONDS

    def called(self, row: Any) -> object:
        """Return the function of the task."""
        return row[1].called()

    def look(self, now: float) -> tuple[int, bool]:
        """As ThreadSampler's; a thread may end while it is looked at."""
        try:
            busy, moved = super().look(now)
        except OSError:  # its clock went with it
            busy, moved = 1, True
        self.pause = LOOK_SECONDS if moved or not busy else min(2 * self.pause, STILL_SECONDS)
        return busy, moved

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
        for each in list(self._lanes):
            lane = each.executor
            assert isinstance(lane, Lane)
            if not lane.thread.is_alive() and lane not in self._said:
                # One by one: threads add themselves meanwhile.
                self._lanes.remove(each)
