"""The worker program: ``python -m spanwise.worker``, started by the scheduler.

stdin: one JSON line ``{scheduler, secretHex, worker, name, threads, memoryLimit, folder,
path, cwd, modules, transport, recording, client, schedulerPid}``; the pipe then stays open for
as long as the owner lives.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import cloudpickle

from spanwise.measure.memory import MemoryMonitor, keep_small_freed_memory
from spanwise.processes import forks
from spanwise.shared.futures import WORKER
from spanwise.wire import door as wire_door
from spanwise.wire import link as wire_link
from spanwise.wire.errors import LinkClosed, LinkError, RefusedHere
from spanwise.worker.ahead import ImportAhead
from spanwise.worker.door import Server
from spanwise.worker.executor import Executor
from spanwise.worker.fetch import Fetching
from spanwise.worker.launch import follow_launch
from spanwise.worker.lifeline import (
    end_scheduler_without_client,
    end_with_parent,
    read_first_line,
    take_stdin,
    watch_lifeline,
)
from spanwise.worker.logs import LOGGER, keep_logs
from spanwise.worker.scheduler import SchedulerLink
from spanwise.worker.told import take_over_theirs
from spanwise.worker.transfer_log import LOG_LENGTH
from spanwise.worker.watch import Watch
from spanwise.worker.worker import Worker

#: A busy executor lets another thread run within this many seconds (Python's own
#: default is 5 ms, and a peer's request needs several turns).
SWITCH_SECONDS = 0.0005

# Exit codes. What runs in a task may end the process, too. So those that say why are none that
# programs choose: 1 and 2 are Python's, 64 to 78 those of sysexits.h, from 126 on shells'.
CLOSED, OWNER_GONE, REFUSED, OUT_OF_MEMORY, BROKEN = 0, 0, 103, 104, 105


def main() -> int:
    """Run a worker until its scheduler closes it or is gone."""
    # The terminal's Ctrl-C reaches the whole process group; it is meant for the client.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    config = json.loads(read_first_line(0))
    threading.excepthook = _thread_failed
    watch_lifeline(take_stdin(), lambda: _end(OWNER_GONE))
    end_scheduler_without_client(config.get("schedulerPid", 0), config.get("client"))
    sys.setswitchinterval(SWITCH_SECONDS)
    follow_launch(config.get("path") or [], config.get("cwd") or "")
    _stay_sequential()
    keep_logs()
    take_over_theirs()
    forks.end_with_worker(lambda: wire_link.replace_sockets(forks.came_back))
    keep_small_freed_memory()
    try:
        return _run(config)
    except LinkClosed:
        return OWNER_GONE
    except LinkError as error:
        _complain(f"Worker {config['worker']}: {error}")
        return REFUSED


def _run(config: dict[str, Any]) -> int:
    secret = bytes.fromhex(config["secretHex"])
    worker = Worker(
        config["worker"],
        config["name"],
        config["threads"],
        config["memoryLimit"],
        Path(config["folder"]),
        config.get("memory") or {},
        config.get("resources") or {},
        config.get("transferLogLength", LOG_LENGTH),
    )
    server = Server(worker)
    door = wire_door.listen(
        config["folder"],
        f"worker-{worker.number}",
        secret,
        ["peer"],
        server.serve,
        server.welcome,
        transport=config.get("transport"),
    )
    worker.address = door.address
    try:
        intro = {
            "worker": worker.number,
            "name": config["name"],
            "pid": os.getpid(),
            "threads": worker.threads,
            "memoryLimit": worker.memory_limit,
            "resources": worker.resources,
            "host": socket.gethostname(),
            "address": door.address,
            "directory": str(worker.own_folder),
            "versions": _versions(),
        }
        link = wire_link.dial(config["scheduler"], secret, "worker", intro)
        called = link.welcome["name"]
        worker.called = (
            int(called) if called.isascii() and called.isdigit() else called or worker.number
        )
        fetching = Fetching(worker, secret)
        worker.connect(link.send, fetching.fetch, link.clock)
        WORKER.append(worker)
        worker.cluster = (config["scheduler"], secret, config.get("schedulerPid", 0))
        executors = [Executor(worker, i) for i in range(worker.threads)]
        worker.executors = [*executors]
        for executor in executors:
            executor.start()

        def out_of_memory(sentence: str) -> None:
            _complain(sentence)
            worker.send("event", {"kind": "memory-limit", "text": sentence})
            _end(OUT_OF_MEMORY)

        watch = Watch(
            worker,
            fetching,
            link.welcome["schedulerStart"],
            out_of_memory,
            config.get("recording", True),
            link.welcome["sampleSeconds"],
            link.welcome["cycleSeconds"],
        )
        worker.watch = watch
        watch.start()
        ahead = ImportAhead(
            worker.library,
            worker.is_idle,
            MemoryMonitor(worker.memory_limit).has_room_for_modules,
            config.get("modules", ()),
            _complain,
        )
        ahead.start()
        if worker.clock.asks:
            worker.ask_clock()
        SchedulerLink(link, worker, fetching, watch, ahead).serve()
    finally:
        door.close()
    return CLOSED


def _complain(sentence: str) -> None:
    """Keep it in this worker's log, and write it to the scheduler's, which is where stderr goes."""
    LOGGER.warning("%s", sentence)


def _stay_sequential() -> None:
    """Let tasks be the only parallelism, and their threads' clocks see all their work.

    A `compute()` within a task runs in the task's own thread, numerical libraries start
    no pools (Dask's workers set the same three). It is set in the environment: the
    libraries read it when they are imported, and processes that tasks start inherit it.
    """
    os.environ["DASK_SCHEDULER"] = "synchronous"
    for library in ("OMP", "MKL", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    """End the worker with one of its threads: without a lane its tasks would hang.

    Threads that user code starts end alone, as anywhere.
    """
    own = failure.thread is not None and failure.thread.name.startswith("spanwise-")
    if own and isinstance(failure.exc_value, RefusedHere):
        return  # the thread that reads the link says why, and ends the worker
    if own and isinstance(failure.exc_value, LinkClosed):
        _end(OWNER_GONE)
    sys.excepthook(
        failure.exc_type,
        failure.exc_value or failure.exc_type(),
        failure.exc_traceback,
    )
    if own:
        _end(BROKEN)


def _versions() -> dict[str, str]:
    """Versions of what is imported already; the rest is the client's own environment."""
    return {
        "python": platform.python_version(),
        "cloudpickle": cloudpickle.__version__,
    }


def _end(code: int) -> None:
    """End at once, whatever tasks are doing: nothing waits for their threads."""
    if "multiprocessing.process" in sys.modules:
        from multiprocessing import active_children

        for child in active_children():
            child.terminate()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _end(main())
