"""The sampler of a worker's executors: what their tasks call is known by their templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.measure.sampler import INTERVAL, ThreadSampler
from spanwise.measure.stacks import StackTree
from spanwise.wire.rows import TASK_SPAN, TASK_TEMPLATE

if TYPE_CHECKING:
    from spanwise.worker.needs import Executing


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
        super().__init__(StackTree(worker.names, base), epoch, interval)
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
