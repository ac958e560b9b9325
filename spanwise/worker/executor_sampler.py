"""The sampler of a worker's executors: what their tasks call is known by their templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.measure import imports
from spanwise.measure.sampler import INTERVAL, ThreadSampler
from spanwise.measure.stacks import IMPORT, StackTree
from spanwise.wire.rows import TASK_SPAN, TASK_TEMPLATE
from spanwise.worker.inline import inline
from spanwise.worker.library import Library
from spanwise.worker.opening import open_blobs, read_back
from spanwise.worker.spill import SpillStore
from spanwise.worker.spill_file import SpillFile
from spanwise.worker.worker import Worker

if TYPE_CHECKING:
    from spanwise.worker.needs import Executing

#: Around what a task calls, by the code that does it; as the parts of its run are called.
_ACTIVITIES = {
    SpillFile.read.__code__: "disk-read",
    SpillFile.mapped.__code__: "disk-read",
    # A file is removed once its last piece is read back.
    SpillFile.dead.__code__: "disk-read",
    # A late look comes as soon as a step has ended, before that is told.
    read_back.__code__: "disk-read",
    Library.loads.__code__: "deserialize",
    open_blobs.__code__: "deserialize",
    **dict.fromkeys(imports.CODES, IMPORT),
    SpillStore.make_room.__code__: "disk-write",
    SpillStore.pickled.__code__: "serialize",
    inline.__code__: "serialize",
    # (else its inner frames would be shown, as of what a task calls of Spanwise)
    Worker.flush.__code__: "worker",
}


class Sampler(ThreadSampler):
    """Samples of all executors of one worker.

    Parameters
    ----------
    worker
        Whose executors, started already.
    epoch
        perf_counter value at which second 0 began.
    interval
        Seconds that one sample stands for.
    """

    def __init__(self, worker: Executing, epoch: float, interval: float = INTERVAL) -> None:
        base = type(worker.executors[0]).run.__code__
        tree = StackTree(worker.names, base, activities=_ACTIVITIES)
        super().__init__(tree, epoch, interval)
        self._library = worker.library
        for executor in worker.executors:
            self.add(executor)

    def called(self, row: Any) -> object:
        """Return the function of the task's template."""
        opened = self._library.templates.get(row[TASK_TEMPLATE])
        return opened.template.function if opened is not None else None

    def last_part(self, row: Any) -> Any:
        """Return the last part of the task's template."""
        opened = self._library.templates.get(row[TASK_TEMPLATE])
        if opened is None or not opened.parts:
            return None
        return opened.parts_in(row[TASK_SPAN])[-1]
