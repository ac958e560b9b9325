"""Counts functions and arguments of tasks as managed memory, and spills them when it is short.

Results leave first: a task that has run does not need its arguments again unless its
result is lost, but a function is mostly needed by the next task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.wire.rows import TASK_CHUNK, TASK_TEMPLATE
from spanwise.worker.spill_file import Spilled

if TYPE_CHECKING:
    from spanwise.worker.needs import Executing


class Pinned:
    """The templates and chunks of a worker; a `Source` of :class:`SpillStore`."""

    what = "functions and arguments of tasks"

    def __init__(self, worker: Executing) -> None:
        self._worker = worker

    def held_bytes(self) -> float:
        """Bytes in memory now."""
        return self._worker.library.nbytes

    def give_up(self, wanted: float) -> float:
        """Spill about `wanted` bytes: first what no task here needs, then what is not in use."""
        worker = self._worker
        with worker.lock:
            # (what has ended, and makes room now, needs none)
            running = [each.row for each in worker.executors if not each.reporting]
            named = [row for row in running if row is not None]
            queued = list(worker.table.queued.values())
        gone = 0.0
        # When the disk is full, only blobs leave memory that are already on it; pickling others is
        # useless.
        write = self._write if worker.spill.may_write else None
        for rows in (named + queued, named):
            if gone < wanted:
                templates, chunks = (
                    {row[TASK_TEMPLATE] for row in rows},
                    {row[TASK_CHUNK] for row in rows},
                )
                gone += worker.library.put_away(wanted - gone, templates, chunks, write)
        return gone

    def keep_bound(self) -> None:
        """Keep memory free for results and running tasks: called when new blobs have come."""
        worker = self._worker
        limit = worker.spill.limit
        if limit > 0 and (excess := worker.library.nbytes - worker.spill.own_target) > 0:
            self.give_up(excess)

    def _write(self, buffers: list[Any]) -> Spilled | None:
        return self._worker.spill.put_away(self._worker, buffers)
