"""A cluster that this process starts and owns: its scheduler, its observer, the session."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

import dask

from spanwise.client.cluster_file import ClusterPlace
from spanwise.client.forked import stay_out_of_forks
from spanwise.client.launch import launch_spec, memory_per_worker, processes_and_threads
from spanwise.client.plugins import load_modules, module_paths
from spanwise.client.session import Session
from spanwise.client.start_scheduler import start_scheduler
from spanwise.errors import ClusterError
from spanwise.notices import warn_asker
from spanwise.observed.find_observer import find_observer
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.abandoned import remove_spilled
from spanwise.processes.node import NodeNotFound
from spanwise.processes.node_process import NodeProcess
from spanwise.processes.process_state import ended_with
from spanwise.processes.this_process import default_name, notebook
from spanwise.wire.link import dial

#: A connection ends a moment before its process: on a busy machine a second and more.
_EXIT_SECONDS = 5.0


class PrivateCluster:
    """The processes of a cluster; the last holder, or the one that closes it, ends them.

    Parameters
    ----------
    n_workers, threads_per_worker, memory_limit, name
        As of `Client`.
    computes
        False: a command that keeps it for others.
    **settings
        As of :func:`start_scheduler`.

    Attributes
    ----------
    scheduler, observer
        Processes, once it has started; the observer may be somebody else's.
    session
        The connection to the scheduler, once it has started.
    """

    def __init__(
        self,
        n_workers: int | None,
        threads_per_worker: int | None,
        memory_limit: Any,
        name: str | None,
        *,
        computes: bool = True,
        **settings: Any,
    ) -> None:
        self._computes = computes
        self._settings = settings
        self._options = (n_workers, threads_per_worker, memory_limit, name)
        self.scheduler: NodeProcess | None = None
        self.observer: ObserverAddress | None = None
        self.session: Session
        self.is_closed = False

    def start(self, timeout: float | None) -> None:
        """Start the processes and wait for the workers.

        Raises
        ------
        ClusterError
            It could not be started; the message says why and what to do.
        TimeoutError
        """
        modules = module_paths()
        try:
            recording = bool(dask.config.get("spanwise.recording", True))

            def observer() -> ObserverAddress | None:
                self.observer = _find_observer() if recording else None
                return self.observer

            self.scheduler, count = start_scheduler(
                *self._options, observer, recording, **self._settings
            )
        except NodeNotFound as error:
            raise ClusterError(str(error)) from None
        except BaseException:
            self.end_processes()
            raise
        try:
            link = dial(
                self.scheduler.address,
                self.scheduler.secret,
                "client",
                intro_of_client(self._computes),
            )
            lost = partial(remove_spilled, self.scheduler.folder)
            self.session = Session(link, self.scheduler.secret, lost)
            self.session.how_ended = partial(how_ended, self.scheduler.process)
            stay_out_of_forks(self.session)
            load_modules(self.session, modules, timeout)
            self.session.wait_for_workers(count, timeout)
        except BaseException as error:
            error.add_note(self.scheduler.log_tail())
            self.end_processes()
            raise

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return self.scheduler.address if self.scheduler else ""

    def unit(self) -> tuple[int, int]:
        """Threads and bytes of a worker that it starts; 0 bytes: no limit."""
        count, threads = processes_and_threads(*self._options[:2])
        return threads, memory_per_worker(self._options[2], count, threads)

    def place(self) -> ClusterPlace:
        """Where others of this process can join it."""
        assert self.scheduler is not None
        return ClusterPlace(
            self.session.name,
            self.scheduler.address,
            self.scheduler.secret,
            self.scheduler.process.pid,
            self.observer,
        )

    def close(self) -> None:
        """End it; the observer keeps its history if it is somebody else's. Twice is safe."""
        self.is_closed = True
        self.session.close(self._kill_stopped)
        self.end_processes()

    def end_processes(self) -> None:
        """End what was started, without a word to it."""
        if self.scheduler is not None:
            self.scheduler.close()
        if self.observer is not None:
            self.observer.close()

    def _kill_stopped(self) -> None:
        """Stopped processes read no goodbye, and the scheduler would wait for its observer."""
        for owned in (self.scheduler, self.observer):
            if owned is not None:
                owned.kill_if_stopped()


def intro_of_client(computes: bool = True) -> dict[str, Any]:
    """What a client, or a command that `computes` nothing, says of itself when it connects."""
    launch = launch_spec()
    del launch["env"]  # the workers have it; the link does not need it
    return {
        "name": default_name(),
        "computes": computes,
        "launch": launch,
        "notebook": notebook(),
    }


def _find_observer() -> ObserverAddress | None:
    """The observer, or None with a warning: computing does not need it."""
    try:
        return find_observer()
    except NodeNotFound:
        raise
    except ClusterError as error:
        warn_asker(f"Nothing will be recorded for the panels: {error}")
        return None


def how_ended(process: subprocess.Popen[Any]) -> str:
    """Half a sentence of how a process has ended that was not told to; empty: it has not."""
    try:
        code = process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    return f"its process {process.pid} {ended_with(code)}"
