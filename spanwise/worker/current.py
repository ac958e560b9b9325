"""The worker, from within one of its tasks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from spanwise.wire.rows import TASK_SPAN

if TYPE_CHECKING:
    from spanwise.worker.worker import Worker


def get_worker() -> Worker:
    """Return the worker that runs the calling task.

    Raises
    ------
    ValueError
        The caller is not on a worker's thread.
    """
    worker = getattr(threading.current_thread(), "worker", None)
    if worker is None:
        raise ValueError("get_worker() answers only within a task on a worker's thread.")
    return worker  # type: ignore[no-any-return]


def current_span() -> int | None:
    """Return the span id of the task or inner part that runs, or None outside tasks."""
    thread = threading.current_thread()
    part = getattr(thread, "part", None)
    if part is not None:
        return int(part[3])
    row = getattr(thread, "row", None)
    return None if row is None else int(row[TASK_SPAN])
