"""``spanwise scheduler``: a cluster that programs and workers join; it ends with this command."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import threading
from pathlib import Path
from typing import Any, TextIO

from spanwise.client.cluster_file import copy_cluster_file
from spanwise.client.launch import processes_and_threads
from spanwise.client.private_cluster import PrivateCluster
from spanwise.command.options import add_worker_options, port, refuse, seconds
from spanwise.command.until_told import Events, notices_as_lines, signals_as_events
from spanwise.errors import ClusterError

#: A cluster listens to this machine alone.
_LOOPBACK = ("127.0.0.1", "localhost")
_START_SECONDS = 60.0


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Describe its arguments."""
    parser.add_argument(
        "--scheduler-file",
        metavar="FILE",
        help="write there what others join the cluster with: Client(scheduler_file=FILE)",
    )
    parser.add_argument("--name", help="what panels call the cluster (default: scheduler)")
    parser.add_argument(
        "--host",
        help="listen at a port of the loopback interface, not at a socket in a folder: 127.0.0.1",
    )
    parser.add_argument(
        "--port", type=port, metavar="N", help="the port then; 0: a free one (default: 0)"
    )
    parser.add_argument(
        "--idle-timeout",
        type=seconds,
        default=0.0,
        metavar="TIME",
        help="end when nothing has been computed for so long: 90, 10min (default: never)",
    )
    add_worker_options(parser, "0; others join by spanwise worker")
    refuse(parser)
    parser.set_defaults(run=run_scheduler)


def run_scheduler(options: argparse.Namespace, out: TextIO) -> int:
    """Run a cluster until it is told to end; returns the exit code."""
    if options.host not in (None, *_LOOPBACK):
        raise ClusterError(
            f"--host {options.host}: a cluster listens to programs of this machine alone, at "
            "127.0.0.1. To reach it from elsewhere, start the program on this machine, by ssh say."
        )
    settings: dict[str, Any] = {"idleSeconds": options.idle_timeout}
    if options.resources is not None:
        settings["resources"] = options.resources
    if options.host is not None or options.port is not None:
        settings.update(transport="tcp", port=options.port or 0)
    wanted = options.nworkers or 0
    count, threads = processes_and_threads(None if wanted == "auto" else wanted, options.nthreads)
    name = options.name or "scheduler"
    cluster = PrivateCluster(count, threads, options.memory_limit, name, computes=False, **settings)
    events: Events = Events()
    with signals_as_events(events), notices_as_lines("spanwise scheduler"):
        try:
            cluster.start(_START_SECONDS)
        except (ClusterError, TimeoutError, ValueError) as error:
            raise ClusterError(_why_not(error, options)) from None
        file = None
        try:
            file = _write_file(cluster, options.scheduler_file)
            out.write(_welcome(cluster, name, file))
            out.flush()
            why = _wait(cluster, events)
        finally:
            if file is not None:
                _remove_file(cluster, file)
            cluster.close()
    out.write(f"The cluster {name} has ended: {why}.\n")
    return 0 if why.startswith(("SIG", "another", "nothing was computed")) else 1


def _why_not(error: Exception, options: argparse.Namespace) -> str:
    text = str(error)
    if "EADDRINUSE" in text:
        return f"Port {options.port} is taken by another program: give another, or --port 0."
    if "EACCES" in text and options.port:
        return f"Port {options.port} may not be listened to by this user: give one above 1024."
    return "\n".join([text, *getattr(error, "__notes__", ())])


def _write_file(cluster: PrivateCluster, given: str | None) -> Path | None:
    if given is None:
        return None
    file = Path(given).expanduser().absolute()
    try:
        copy_cluster_file(cluster.address, file)
    except OSError as error:
        raise ClusterError(f"--scheduler-file {file} cannot be written: {error}") from None
    return file


def _remove_file(cluster: PrivateCluster, file: Path) -> None:
    """Unless another cluster has written its own there meanwhile."""
    try:
        if json.loads(file.read_text("utf-8"))["address"] == cluster.address:
            file.unlink()
    except (OSError, ValueError, KeyError, TypeError):
        return  # somebody else has removed it, or put something else in its place


def _welcome(cluster: PrivateCluster, name: str, file: Path | None) -> str:
    address = cluster.address
    workers = f"--scheduler-file {shlex.quote(str(file))}" if file else shlex.quote(address)
    lines = [
        f"Cluster {name} at {address} (process {os.getpid()})",
        f"  a program joins it by   Client({address!r})",
        *([f"                     or   Client(scheduler_file={str(file)!r})"] if file else []),
        f"  workers join it by      spanwise worker {workers}",
        "It ends with this command: Ctrl-C, or SIGTERM.",
    ]
    return "".join(f"{line}\n" for line in lines)


def _wait(cluster: PrivateCluster, events: Events) -> str:
    """Until a signal, or the scheduler's end; returns half a sentence."""

    def watch() -> None:
        events.put(("ended", cluster.session.wait_until_ended()))

    threading.Thread(target=watch, name="spanwise-end", daemon=True).start()
    kind, what = events.get()
    if kind == "signal":
        return str(what)
    return _reason(str(what))


def _reason(sentence: str) -> str:
    """The part in brackets of what a client is told: why the scheduler has ended."""
    _, _, rest = sentence.partition("has ended (")
    return rest.partition(").")[0] or sentence
