"""One system under test in a process of its own: a JSON order a line in, a JSON answer a line out.

``python -m benchmarks.driver SYSTEM WORKERS THREADS [--smoke]`` with SYSTEM one of
:data:`SYSTEMS`.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import itertools
import json
import os
import sys
import time
from typing import Any

import psutil

from benchmarks.graphs import CASES, SHORT

#: Numbers of repetitions that warm up: behind those of all rounds.
FIRST_OF_WARM_UP = 1000
SYSTEMS = ("spanwise", "spanwise-unrecorded", "distributed", "distributed-inf")


def start_spanwise(workers: int, threads: int, recording: bool) -> Any:
    """A private cluster, with or without the record log."""
    import dask

    import spanwise

    dask.config.set({"spanwise.recording": recording})
    client = spanwise.Client(n_workers=workers, threads_per_worker=threads)
    client.wait_for_workers(workers)
    return client


def start_distributed(workers: int, threads: int, saturation: float | None, processes: bool) -> Any:
    """A LocalCluster, at its default or with root tasks not queued."""
    import dask
    import distributed

    # A worker that is not heard of for so long (five minutes) is started again; whoever is not
    # measured stands still, maybe for longer.
    dask.config.set({"distributed.scheduler.worker-ttl": None})
    if saturation is not None:
        dask.config.set({"distributed.scheduler.worker-saturation": saturation})
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=processes, dashboard_address=None
    )
    client = distributed.Client(cluster)
    client.wait_for_workers(workers)
    return client


def start(system: str, workers: int, threads: int, smoke: bool) -> Any:
    """A client of ``system`` with all its workers there.

    The peer's are processes; in a smoke run threads of this one, for each of its processes takes
    seconds to start.
    """
    if system.startswith("spanwise"):
        return start_spanwise(workers, threads, recording=system == "spanwise")
    saturation = float("inf") if system.endswith("inf") else None
    return start_distributed(workers, threads, saturation, processes=not smoke)


def span_of(system: str, name: str) -> Any:
    """The system's own way of naming what is computed."""
    if system.startswith("spanwise"):
        import spanwise

        return spanwise.span(name)
    import distributed

    return distributed.span(name)


def cpu_seconds() -> dict[int, tuple[str, float]]:
    """CPU seconds so far of this process and of everything it started: pid → (role, seconds)."""
    me = psutil.Process()
    found = {}
    for process in [me, *me.children(recursive=True)]:
        try:
            seconds = cpu_of(process)
            words = " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            continue
        found[process.pid] = (role_of(process.pid == me.pid, words), seconds)
    return found


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds so far of a process, threads that have ended included.

    By the process's own clock (what ``clock_getcpuclockid`` gives), in nanoseconds: ``/proc``
    counts ticks of 10 ms, as much as a chain of 1000 tasks takes in all.
    """
    if sys.platform == "linux":
        try:
            return time.clock_gettime((~process.pid << 3) | 2)
        except OSError:
            raise psutil.NoSuchProcess(process.pid) from None
    times = process.cpu_times()
    return float(times.user + times.system)


def role_of(is_client: bool, command_line: str) -> str:
    """Which part a process plays, from its command line.

    distributed's scheduler runs inside the client's process.
    """
    if is_client:
        return "client"
    for role in ("scheduler", "observer"):
        if f" {role}" in command_line:
            return role
    return "worker"


def measure(
    system: str, client: Any, case: str, size: int, salt: str, settle: float = 0.0
) -> dict[str, Any]:
    """Run one repetition; what has no short way in a span of its own.

    Processes may go on working when the result is there: what they do in `settle` seconds more
    counts as the run's CPU time.

    Returns
    -------
    dict
        ``wallSeconds``, ``tasks``, ``cpuSeconds`` by role, ``load`` (one minute average), and
        ``digest``, the same for equal results.
    """
    work = CASES[case].build(salt, size)
    named = span_of(system, case) if case not in SHORT else contextlib.nullcontext()
    if work.prepare is not None:
        work.prepare(client)
    gc.collect()
    before = cpu_seconds()
    started = time.perf_counter()
    with named:
        result = work.run(client)
    wall = time.perf_counter() - started
    time.sleep(settle)
    by_role: dict[str, float] = {}
    for pid, (role, seconds) in cpu_seconds().items():
        by_role[role] = by_role.get(role, 0.0) + seconds - before.get(pid, (role, 0.0))[1]
    if result != work.expected:
        raise AssertionError(f"{case}: the result is wrong: {str(result)[:200]}")
    return {
        "wallSeconds": wall,
        "tasks": work.tasks() if callable(work.tasks) else work.tasks,
        "cpuSeconds": by_role,
        "load": os.getloadavg()[0],
        "digest": hashlib.sha256(repr(result).encode()).hexdigest(),
    }


def warm_up(
    system: str, client: Any, case: str, size: int, salt: str, seconds: float
) -> dict[str, Any]:
    """Repeat for so many seconds, at least once, with keys of their own: the last answer."""
    end = time.perf_counter() + seconds
    for number in itertools.count(FIRST_OF_WARM_UP):
        answer = measure(system, client, case, size, f"{salt}-{number}")
        if time.perf_counter() >= end:
            return answer
    raise AssertionError("It counts without end.")


def main() -> None:
    """Serve orders until the input ends."""
    system, workers, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # A system's output must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    client = start(system, workers, threads, "--smoke" in sys.argv)
    package = sys.modules[system.split("-")[0]].__file__
    answers.write(json.dumps({"ready": system, "package": package}) + "\n")
    answers.flush()
    for line in sys.stdin:
        order = json.loads(line)
        serve = warm_up if "seconds" in order else measure
        answers.write(json.dumps(serve(system, client, **order)) + "\n")
        answers.flush()
    client.close()


if __name__ == "__main__":
    main()
