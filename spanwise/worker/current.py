"""The worker, from within the code that it runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from spanwise.wire.rows import TASK_SPAN

if TYPE_CHECKING:
    from spanwise.worker.worker_object import WorkerObject


def get_worker() -> WorkerObject:
    """Return the worker that runs the calling task.

    Also for functions of ``client.run`` and for plugins, each in the thread that runs it.

    Raises
    ------
    ValueError
        The caller is not on such a thread.

    Examples
    --------
    >>> def where():
    ...     return get_worker().address
    >>> client.submit(where).result()                           # doctest: +SKIP
    'unix:/tmp/…/worker-0.sock'
    """
    worker = getattr(threading.current_thread(), "worker", None)
    if worker is None:
        raise ValueError(
            "No worker found: get_worker() answers within a task, a function of client.run() or "
            "a plugin, on the thread that runs it"
        )
    return worker.object  # type: ignore[no-any-return]


def current_span() -> int | None:
    """Return the span id of the task or inner part that runs, or None outside tasks."""
    thread = threading.current_thread()
    part = getattr(thread, "part", None)
    if part is not None:
        return int(part[3])
    row = getattr(thread, "row", None)
    return None if row is None else int(row[TASK_SPAN])
