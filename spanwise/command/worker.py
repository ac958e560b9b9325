"""``spanwise worker``: workers for a cluster that another program has started, looked after here.

The command joins the cluster as a guest, asks for numbers, and starts the processes under them. The
scheduler tells it what is to become of each (`order` in docs/contracts.md §4).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from spanwise.client.cluster_control import command
from spanwise.client.cluster_file import ClusterPlace, wait_for_cluster
from spanwise.client.joined_cluster import JoinedCluster
from spanwise.client.launch import (
    launch_spec,
    memory_per_worker,
    processes_and_threads,
    transfer_log_length,
    worker_resources,
)
from spanwise.client.memory_settings import memory_settings
from spanwise.client.session import Session
from spanwise.command.options import add_worker_options, refuse, seconds
from spanwise.command.started_worker import StartedWorker, WorkerSpec, exit_sentence
from spanwise.command.until_told import Events, notices_as_lines, signals_as_events
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.processes.abandoned import mark_as_own, remove_abandoned
from spanwise.wire.addresses import UNIX_PATH_BYTES, default_transport
from spanwise.wire.private_folder import RESERVED_BYTES, make_private_folder

#: Asked to end, it waits so long for its workers to hand over what they alone hold.
_HAND_OVER_SECONDS = 30.0
#: Workers that have lost their scheduler, or were told to close, end within this time.
_END_SECONDS = 5.0
#: How long the file of a scheduler is waited for unless something else is said.
FILE_SECONDS = 60.0
#: Starts in a row that may fail before it gives up.
_MOST_FAILED_STARTS = 3


def add_worker(parser: argparse.ArgumentParser) -> None:
    """Describe its arguments."""
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="of the scheduler, as `spanwise scheduler` prints it, or the path of its cluster.json",
    )
    parser.add_argument(
        "--scheduler-file",
        metavar="FILE",
        help="the file that `spanwise scheduler --scheduler-file` or "
        "client.write_scheduler_file has written, in place of ADDRESS",
    )
    add_worker_options(parser, "1")
    parser.add_argument(
        "--name",
        help="what tasks may name in workers=; of several workers NAME-0, NAME-1, … "
        "(default: worker-NUMBER)",
    )
    parser.add_argument(
        "--local-directory",
        metavar="FOLDER",
        help="where results are written for which memory is too small (default: the folder for "
        "temporary files)",
    )
    parser.add_argument(
        "--nanny",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="start another worker when one dies (default)",
    )
    parser.add_argument(
        "--death-timeout",
        type=seconds,
        metavar="TIME",
        help="wait so long for a cluster that is not there yet: 60, 2min (default: 60 with "
        "--scheduler-file, else 0)",
    )
    refuse(parser)
    parser.set_defaults(run=run_worker)


def run_worker(options: argparse.Namespace, out: TextIO) -> int:
    """Run workers until they or their cluster end, or a signal comes; returns the exit code."""
    given = _given(options)
    wanted = 1 if options.nworkers is None else options.nworkers
    count, threads = processes_and_threads(None if wanted == "auto" else wanted, options.nthreads)
    if count == 0:
        raise ClusterError("--nworkers 0 starts nothing: give 1 or more, or auto.")
    events: Events = Events()
    with signals_as_events(events), notices_as_lines("spanwise worker"):
        patience = options.death_timeout
        if patience is None:
            # A script starts the scheduler in the line before.
            patience = FILE_SECONDS if options.scheduler_file else 0.0
        place, cluster = _join(given, patience, events)
        session = cluster.session
        folder = _folder(options.local_directory)
        try:
            spec = WorkerSpec(
                folder,
                launch_spec(),
                {
                    "scheduler": place.address,
                    "secretHex": place.secret.hex(),
                    "threads": threads,
                    "memoryLimit": memory_per_worker(options.memory_limit, count, threads),
                    "memory": _memory(options.local_directory),
                    "resources": worker_resources(options.resources),
                    "transferLogLength": transfer_log_length(),
                    "recording": place.observer is not None,
                    "transport": _transport(folder),
                },
            )
            workers = _Workers(session, spec, events, out, options.nanny)
            why, code = workers.run(_names(options.name, count))
        finally:
            cluster.close()
            shutil.rmtree(folder, ignore_errors=True)
    out.write(f"{why}\n")
    out.flush()
    return code


def _given(options: argparse.Namespace) -> str:
    named = [each for each in (options.address, options.scheduler_file) if each]
    if len(named) == 1:
        return str(named[0])
    how = (
        "spanwise worker ADDRESS, with the address that `spanwise scheduler` prints, or "
        "--scheduler-file FILE. A Client() starts its own workers."
    )
    if named:
        raise ClusterError(f"Both an address and --scheduler-file are given. Use one: {how}")
    raise ClusterError(f"Which cluster? {how}")


def _names(name: str | None, count: int) -> list[str]:
    if not name:
        return [""] * count
    return [name] if count == 1 else [f"{name}-{i}" for i in range(count)]


def _join(given: str, patience: float, events: Events) -> tuple[ClusterPlace, JoinedCluster]:
    """Join the cluster, and wait for it if it is not there and there is patience.

    Raises
    ------
    ClusterError
    """
    place = wait_for_cluster(given, patience, lambda: not events.empty())
    cluster = JoinedCluster(partial(_itself, place), computes=False)
    cluster.start(None)
    return place, cluster


def _itself(place: ClusterPlace) -> ClusterPlace:
    return place


def _folder(base: str | None) -> Path:
    """A folder of this command's own, below the one that is given.

    Raises
    ------
    ClusterError
    """
    if base is None:
        folder = make_private_folder()
    else:
        below = Path(base).expanduser().absolute()
        try:
            below.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="spanwise-", dir=below))
        except OSError as error:
            raise ClusterError(
                f"--local-directory {base}: workers cannot write there ({error})."
            ) from None
    mark_as_own(folder)
    remove_abandoned(folder.parent)
    return folder


def _memory(local_directory: str | None) -> dict[str, Any]:
    """What workers do as memory fills; a folder that is given goes before the settings' own.

    Raises
    ------
    ClusterError
    """
    try:
        settings = memory_settings()
    except ValueError as error:
        raise ClusterError(str(error)) from None
    return settings if local_directory is None else {**settings, "folder": None}


def _transport(folder: Path) -> str:
    """Sockets in a folder whose path is too long for them listen at a port."""
    fits = len(os.fsencode(folder)) + RESERVED_BYTES <= UNIX_PATH_BYTES
    return default_transport() if fits else "tcp"


class _Workers:
    """The processes, and what happens to them; all in the main thread."""

    def __init__(
        self, session: Session, spec: WorkerSpec, events: Events, out: TextIO, replaces: bool
    ) -> None:
        self._session = session
        self._spec = spec
        self._events = events
        self._out = out
        self._replaces = replaces
        self._by_number: dict[int, StartedWorker] = {}
        #: Numbers that were told to leave; written by the thread that reads.
        self._leaving: set[int] = set()
        self._asked_to_end = ""
        self._failed_starts = 0

    def run(self, names: list[str]) -> tuple[str, int]:
        """Start them and look after them; returns a sentence, and the exit code."""
        session, events = self._session, self._events
        session.on_order = self._told

        def watch() -> None:
            events.put(("cluster", session.wait_until_ended()))

        threading.Thread(target=watch, name="spanwise-end", daemon=True).start()
        try:
            for worker, number in zip(map(StartedWorker, names), self._reserve(names), strict=True):
                self._start(worker, number)
            threads = self._spec.settings["threads"]
            self._say(
                f"{len(names)} worker{'s' * (len(names) > 1)} of {threads} "
                f"thread{'s' * (threads > 1)} for the cluster {session.name} at "
                f"{self._spec.settings['scheduler']} (process {os.getpid()}). "
                "Ctrl-C, or SIGTERM, ends this."
            )
            while True:
                end = self._happened(*events.get())
                if end is not None:
                    return end
        finally:
            self._end_all()

    def _say(self, sentence: str) -> None:
        self._out.write(f"{sentence}\n")
        self._out.flush()

    def _reserve(self, names: list[str]) -> list[int]:
        named = names if any(names) else []
        answer = self._session.ask("reserve", {"count": len(names), "names": named}, timeout=30.0)
        numbers: list[int] = answer.fields["workers"]
        if len(numbers) != len(names):
            raise ClusterError(answer.fields["sentence"])
        return numbers

    def _start(self, worker: StartedWorker, number: int) -> None:
        self._by_number[number] = worker
        worker.start(self._spec, number, lambda *ended: self._events.put(("exit", *ended)))

    # -- what happens -------------------------------------------------------

    def _happened(self, kind: str, *told: Any) -> tuple[str, int] | None:
        """The end, or None: it goes on."""
        if kind == "signal":
            return self._asked(str(told[0]))
        if kind == "cluster":
            return self._cluster_ended(str(told[0]))
        if kind == "order":
            self._ordered(*told)
            return None
        if kind == "exit":
            return self._ended(*told)
        if kind == "start":
            return self._start_again(told[0])
        # Those that were asked to hand over have, or cannot.
        (sentence,) = told
        if sentence:
            self._say(sentence)
        return f"Ended by {self._asked_to_end}.", 0

    def _told(self, number: int, what: str) -> None:
        if what == "leave":
            self._leaving.add(number)
        elif what == "stay":
            self._leaving.discard(number)
        else:
            self._events.put(("order", number, what))

    def _ordered(self, number: int, what: str) -> None:
        worker = self._by_number.get(number)
        if worker is None:
            return  # it has just ended
        worker.is_replaced = worker.is_replaced or what == "replace"
        worker.kill()

    def _ended(self, number: int, code: int) -> tuple[str, int] | None:
        worker = self._by_number.pop(number)
        worker.bury(self._spec.folder)
        why = exit_sentence(code)
        row = self._session.workers.get(number)
        if self._session.dead is not None:
            return None  # the cluster's end is told next
        try:
            if code == 0:
                # It may have been told to leave. That comes by another link than its own, and may
                # still be on its way here: this answer comes after it.
                self._reserve([])
            replaced = self._replaces or worker.is_replaced
            self._session.send("workerEnded", {"worker": number, "why": why, "replaced": replaced})
        except SchedulerLost:
            return None  # as before
        if number in self._leaving or self._asked_to_end or (not self._replaces and code == 0):
            return self._unless_last("All its workers were retired.", 0)
        if worker.is_replaced:
            return self._start_again(worker)
        self._say(f"{worker.name or f'worker-{number}'} {why}.")
        if not self._replaces:
            return self._unless_last(f"The last worker {why}.", 1)
        self._failed_starts = self._failed_starts + 1 if row is None else 0
        if self._failed_starts >= _MOST_FAILED_STARTS:
            return (
                f"The workers cannot be started: the last one {why}. What it said stands above.",
                1,
            )
        pause = worker.pause_seconds()
        if pause == 0:
            return self._start_again(worker)
        timer = threading.Timer(pause, self._events.put, [("start", worker)])
        timer.daemon = True
        timer.start()
        self._by_number[-number - 1] = worker  # it is still to come
        return None

    def _start_again(self, worker: StartedWorker) -> tuple[str, int] | None:
        self._by_number.pop(-worker.number - 1, None)
        if worker.number in self._leaving or self._asked_to_end:
            return self._unless_last("All its workers were retired.", 0)
        (number,) = self._reserve([worker.name])
        self._start(worker, number)
        return None

    def _unless_last(self, sentence: str, code: int) -> tuple[str, int] | None:
        # (asked to end: the answer to that comes next, and says what was not handed over)
        return None if self._by_number or self._asked_to_end else (sentence, code)

    def _cluster_ended(self, why: str) -> tuple[str, int]:
        limit = time.monotonic() + _END_SECONDS
        for worker in self._by_number.values():
            if worker.process is not None and worker.process.poll() is None:
                try:
                    worker.process.wait(max(0.0, limit - time.monotonic()))
                except Exception:  # noqa: BLE001  (TimeoutExpired: it is killed at the end)
                    break
        is_planned = self._session.state == "closed"
        sentence = why.partition(" Its results are gone")[0]
        return sentence or "The cluster has ended.", 0 if is_planned else 1

    def _asked(self, signal: str) -> tuple[str, int] | None:
        """The first time, have them hand over their results; the second time, end."""
        if self._asked_to_end or not self._by_number:
            return f"Ended by {signal}.", 0
        self._asked_to_end = signal
        numbers = [number for number in self._by_number if number >= 0]
        if self._session.workers.keys() <= {*numbers}:
            return f"Ended by {signal}.", 0  # nobody is there who could take them
        self._say("Handing over their results; once more Ctrl-C ends at once.")
        retire = partial(command, self._session, "retire", workers=numbers, closes=True)

        def hand_over() -> None:
            # Said by the main thread, unless this command ends before: it then closes the client,
            # whose error is about that alone.
            sentence = ""
            try:
                _, sentence = retire(_HAND_OVER_SECONDS)
            except (ClusterError, TimeoutError) as error:
                sentence = f"They did not hand over all: {error}"
            finally:
                self._events.put(("handed over", sentence))

        threading.Thread(target=hand_over, name="spanwise-retire", daemon=True).start()
        return None

    def _end_all(self) -> None:
        for worker in self._by_number.values():
            worker.kill()
        for worker in self._by_number.values():
            if worker.process is not None:
                worker.process.wait()
