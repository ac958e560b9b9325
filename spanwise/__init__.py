"""Where a parallel computation spends its time and memory.

The public names are imported when they are first used: ``import spanwise`` must
stay cheap, because the Jupyter server and every worker import it too.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FrameType
from typing import Any

# Public name -> the module that defines it.
_PUBLIC: dict[str, str] = {
    "CancelledError": "spanwise.errors",
    "Client": "spanwise.client.client",
    "ClusterError": "spanwise.errors",
    "Future": "spanwise.client.future",
    "KilledWorker": "spanwise.errors",
    "LocalCluster": "spanwise.client.client",
    "MemorySampler": "spanwise.client.memory_sampler",
    "ModulePlugin": "spanwise.plugins",
    "SchedulerLost": "spanwise.errors",
    "StallError": "spanwise.errors",
    "TaskError": "spanwise.errors",
    "TooManyTasks": "spanwise.errors",
    "TimeoutError": "builtins",
    "attach": "spanwise.dask_bridge.attach",
    "as_completed": "spanwise.client.waiting",
    "default_client": "spanwise.client.current",
    "fire_and_forget": "spanwise.client.fire_and_forget",
    "futures_of": "spanwise.client.either_engine",
    "get_client": "spanwise.client.in_tasks",
    "get_task_metadata": "spanwise.client.task_stream",
    "get_task_stream": "spanwise.client.task_stream",
    "local_client": "spanwise.client.in_tasks",
    "rejoin": "spanwise.client.in_tasks",
    "secede": "spanwise.client.in_tasks",
    "worker_client": "spanwise.client.in_tasks",
    "Reschedule": "spanwise.errors",
    "get_worker": "spanwise.worker.current",
    "Environ": "spanwise.plugins",
    "Event": "spanwise.shared.event",
    "Lock": "spanwise.shared.lock",
    "MultiLock": "spanwise.shared.multi_lock",
    "Queue": "spanwise.shared.queue",
    "Semaphore": "spanwise.shared.semaphore",
    "Variable": "spanwise.shared.variable",
    "PipInstall": "spanwise.plugins",
    "SchedulerPlugin": "spanwise.plugins",
    "Security": "spanwise.client.security",
    "UploadDirectory": "spanwise.plugins",
    "UploadFile": "spanwise.plugins",
    "WorkerPlugin": "spanwise.plugins",
    "observe": "spanwise.local.observe",
    "print": "spanwise.worker.told",
    "performance_report": "spanwise.client.report",
    "progress": "spanwise.diagnostics.progressbar",
    "span": "spanwise.graph.spans",
    "warn": "spanwise.worker.told",
    "wait": "spanwise.client.waiting",
}

__all__ = sorted(["__version__", *_PUBLIC])


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name == "__version__":
        from spanwise.version import read_version

        value: Any = read_version()
    elif name in _PUBLIC:
        try:
            value = getattr(import_module(_PUBLIC[name]), name)
        except ImportError as error:
            if not (error.name or "").startswith("dask."):
                raise
            raise _with_this_dask(name, error) from error
    else:
        raise _missing(name)
    globals()[name] = value
    return value


def _with_this_dask(name: str, error: ImportError) -> ImportError:
    """The error of a name that needs something of Dask which the installed one does not have."""
    from importlib.metadata import version

    return ImportError(
        f"spanwise.{name} does not run with Dask {version('dask')}, which is installed here. With "
        "this one spanwise.attach() and the panels show clusters of Dask. The rest needs another: "
        "run pip install --upgrade spanwise distributed.",
        name=error.name,
    )


def _missing(name: str) -> Exception:
    """The error of a name that is not here; one of `distributed`'s names the substitute."""
    if not name.startswith("_"):
        from spanwise.client.distributed_names import absent_name

        absent = absent_name(name, imported=_is_imported(sys._getframe(2)))
        if absent is not None:
            return absent
    return AttributeError(f"module 'spanwise' has no attribute {name!r}")


def _is_imported(frame: FrameType) -> bool:
    """Whether the code stands at ``from … import name``.

    That puts a message of its own in the place of an AttributeError's, while ``hasattr``
    and ``getattr`` must get no other error.
    """
    from opcode import opname

    return opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
