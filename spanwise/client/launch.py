"""What a cluster is started with: this interpreter, its modules, its resources."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import dask
import psutil
from dask.utils import parse_bytes

from spanwise.client.arguments import seconds_of, shown, whole_of
from spanwise.client.imported import ALWAYS, FIRST, is_wanted
from spanwise.client.settings import first_setting
from spanwise.graph.resources import amounts_of
from spanwise.processes.this_process import versions

#: The default of the settings for it; see docs/scheduler.md.
WORKER_TTL_SECONDS = 60.0

#: Variables that belong to one kernel or one process, not to its workers.
_OWN_VARIABLES = (
    "JPY_PARENT_PID",
    "JPY_INTERRUPT_EVENT",
    "JPY_SESSION_NAME",
    "PYTHONSTARTUP",
    "PYDEVD_USE_FRAME_EVAL",
    "SPANWISE_CONNECTION",
)

#: As distributed: a fixed seed, so that tasks relying on `hash` agree.
HASH_SEED = "6640"

#: As distributed: libraries with threads of their own would start a pool per worker
#: thread, and a machine of 4 cores would run 16 threads. The user's settings win.
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


_THEIR_SATURATION = "distributed.scheduler.worker-saturation"
#: Which whoever imports `distributed` has without having set it: so it asks for nothing.
_THEIR_DEFAULT_SATURATION = 1.1

#: See `stall_seconds`; the spilling of large results may pause workers for some seconds.
STALL_TIMEOUT = "30s"

#: As in Dask; and so many at most.
ALLOWED_FAILURES = 3
MOST_ALLOWED_FAILURES = 10_000

#: Of each of a worker's transfer logs: by default, as in Dask, and at most.
TRANSFER_LOG_LENGTH = 1000
MOST_TRANSFERS = 100_000


def launch_spec() -> dict[str, Any]:
    """Interpreter, module path, folder, environment and versions of this process."""
    environment = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    if environment.get("PYTHONHASHSEED") in (None, "0", "random"):
        environment["PYTHONHASHSEED"] = HASH_SEED
    for name in ONE_THREAD:
        environment.setdefault(name, "1")
    first = [name for name in FIRST if name in sys.modules] if is_wanted() else []
    return {
        "executable": sys.executable,
        "prefix": sys.prefix,
        "path": list(sys.path),
        "cwd": str(Path.cwd()),
        "env": environment,
        "versions": versions(),
        "modules": [*ALWAYS, *first],
    }


def cpu_count() -> int:
    """Cores that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


#: Each is a Python process with threads and sockets of its own, all on one machine.
MOST_WORKERS = 1_024


#: Of one process; more wait for each other's turn.
MOST_THREADS = 1_024


def check_workers(name: str, count: Any) -> int:
    """Return a number of workers that one machine may have.

    Raises
    ------
    TypeError, ValueError
    """
    why = "each is a process of this machine"
    return whole_of(count, name, 0, MOST_WORKERS, "number of workers", why)


def check_cluster(n_workers: Any, threads_per_worker: Any, memory_limit: Any, name: Any) -> None:
    """Check what a cluster is asked to be, before anything is started.

    Raises
    ------
    TypeError, ValueError
    """
    processes_and_threads(n_workers, threads_per_worker)
    memory_per_worker(memory_limit, 1, 1)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name is a text, which panels show, not {shown(name)}")


def processes_and_threads(n_workers: Any, threads_per_worker: Any) -> tuple[int, int]:
    """How many workers of how many threads; defaults as distributed's LocalCluster.

    Few cores: one process each (no GIL between them). Many: about the square root in
    processes, so that a 64-core machine gets 8 x 8 and not 64 pools of connections.

    Raises
    ------
    TypeError, ValueError
    """
    cores = cpu_count()
    if threads_per_worker is not None:
        threads_per_worker = whole_of(
            threads_per_worker,
            "threads_per_worker",
            1,
            MOST_THREADS,
            "number of threads",
            "each runs one task at a time; leave it out for as many as there are cores in all",
        )
    if n_workers is None and threads_per_worker is not None:
        return max(1, cores // threads_per_worker), threads_per_worker
    if n_workers is not None:
        n_workers = check_workers("n_workers", n_workers)
        if threads_per_worker is None:
            threads_per_worker = max(1, math.ceil(cores / n_workers)) if n_workers else 1
        return n_workers, threads_per_worker
    if cores <= 4:
        return cores, 1
    processes = min(n for n in range(1, cores + 1) if cores % n == 0 and n * n >= cores)
    return processes, cores // processes


def memory_per_worker(memory_limit: Any, n_workers: int, threads: int) -> int:
    """Bytes per worker; 0: no limit. As `distributed`, also of numbers as text.

    Raises
    ------
    ValueError
    """
    total = psutil.virtual_memory().total
    if memory_limit is None:
        return 0
    if memory_limit == "auto":
        return int(total * min(1.0, threads / cpu_count()))
    try:
        nbytes = float(memory_limit)
    except (TypeError, ValueError):
        try:
            nbytes = float(parse_bytes(memory_limit))
        except (TypeError, ValueError, AttributeError):
            nbytes = -1.0
    else:
        if 0 < nbytes <= 1:
            nbytes *= total
    if isinstance(memory_limit, bool) or not 0 <= nbytes < math.inf:
        raise ValueError(
            'memory_limit is, per worker, "auto", a number of bytes, text such as "2 GiB", a '
            f"share of the machine's memory up to 1.0, or None for no limit, not "
            f"{shown(memory_limit)}"
        )
    return min(total, int(nbytes))


def worker_resources(given: Any = None) -> dict[str, float]:
    """What tasks may hold of each worker beside threads; None: as Dask's settings say.

    Raises
    ------
    TypeError, ValueError
    """
    if given is not None:
        return amounts_of(given)
    names = ("spanwise.worker.resources", "distributed.worker.resources")
    name, value = first_setting(names, {})
    return amounts_of(value or {}, name)


def cluster_keywords(resources: Any, idle_timeout: Any) -> dict[str, Any]:
    """The settings that these keywords of a cluster stand for; see `start_scheduler`.

    Raises
    ------
    TypeError, ValueError
    """
    settings: dict[str, Any] = {}
    if resources is not None:
        settings["resources"] = worker_resources(resources)
    if idle_timeout is not None:
        idle = seconds_of(idle_timeout, "idle_timeout", 0)
        settings["idleSeconds"] = 0.0 if idle is None else idle
    return settings


def worker_ttl_seconds() -> float:
    """Seconds after which a stopped worker is removed; 0: never."""
    names = ("spanwise.scheduler.worker-ttl", "distributed.scheduler.worker-ttl")
    name, value = first_setting(names, WORKER_TTL_SECONDS)
    return seconds_of(value, name) or 0.0


def worker_saturation() -> float | str | None:
    """How many tasks per thread a worker may have before roots are kept back.

    Returns
    -------
    saturation
        None: by the scheduler's own rule; "inf": nothing is kept back.

    Raises
    ------
    ValueError
    """
    names = ("spanwise.scheduler.worker-saturation", _THEIR_SATURATION)
    name, value = first_setting(names, None)
    if value is None:
        return None
    try:
        saturation = float(value)
    except (TypeError, ValueError):
        saturation = math.nan
    if isinstance(value, bool) or not saturation > 0:
        raise ValueError(
            f"{name} is a number above 0 of tasks per thread, such as 1.1, or inf: not {value!r}"
        )
    if name == _THEIR_SATURATION and saturation == _THEIR_DEFAULT_SATURATION:
        return None
    return "inf" if saturation == math.inf else saturation


def stall_seconds() -> float:
    """Seconds without progress on full workers until waiting tasks fail; 0: no limit."""
    found = dask.config.get("spanwise.scheduler.stall-timeout", STALL_TIMEOUT)
    return seconds_of(found, "spanwise.scheduler.stall-timeout") or 0.0


def allowed_failures() -> int:
    """How many workers may die under a task before it fails with the next one.

    Raises
    ------
    TypeError, ValueError
    """
    names = ("spanwise.scheduler.allowed-failures", "distributed.scheduler.allowed-failures")
    name, value = first_setting(names, ALLOWED_FAILURES, or_none=False)
    why = "so many may die while a task could be running there"
    return whole_of(value, name, 0, MOST_ALLOWED_FAILURES, "number of workers", why)


def transfer_log_length() -> int:
    """How many transfers of each direction a worker keeps.

    Raises
    ------
    ValueError
        The setting is something else than a number of entries.
    """
    names = ("spanwise.admin.low-level-log-length", "distributed.admin.low-level-log-length")
    name, value = first_setting(names, TRANSFER_LOG_LENGTH, or_none=False)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_TRANSFERS:
        raise ValueError(
            f"{name} is a whole number of entries from 1 to {MOST_TRANSFERS:,}, not {value!r}"
        )
    return value
