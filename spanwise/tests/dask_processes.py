"""A Dask cluster of processes of its own, as ``dask scheduler`` and ``dask worker`` start them.

They are forks of a process that has imported `distributed` (`forked_programs.py`).
``SPANWISE_DASK_PYTHON`` names the interpreter whose `distributed` they are of; default: this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from spanwise.tests.forked_programs import template
from spanwise.tests.processes import LIMIT_SECONDS

PYTHON = os.environ.get("SPANWISE_DASK_PYTHON", sys.executable)
_SCHEDULER, _WORKER = "distributed.cli.dask_scheduler", "distributed.cli.dask_worker"


class DaskProcesses:
    """A scheduler and workers; ended by `close`.

    Parameters
    ----------
    folder
        For the scheduler's file and what the processes print.
    workers, threads
        How many, and of each how many.
    port
        Of the scheduler; 0: any that is free.
    scheduler_options, worker_options
        Added to their command lines.
    config
        Values of Dask's configuration, by the names of environment variables.
    """

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        threads: int = 2,
        *,
        port: int = 0,
        scheduler_options: tuple[str, ...] = (),
        worker_options: tuple[str, ...] = (),
        config: dict[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._threads = threads
        self._worker_options = worker_options
        self._scheduler_options = scheduler_options
        self._environment = os.environ | {"DASK_DISTRIBUTED__VERSION_MISMATCH": "ignore"}
        # Processes of a test run side by side with others, whose files may be anywhere.
        self._environment |= {"DASK_TEMPORARY_DIRECTORY": str(folder)} | (config or {})
        self.processes: list[psutil.Process] = []
        try:
            self.start_scheduler(port)
            for _ in range(workers):
                self.start_worker()
        except BaseException:
            self.close()
            raise

    def start_scheduler(self, port: int = 0) -> None:
        """Start the scheduler, and wait until it can be reached."""
        self._file.unlink(missing_ok=True)
        self.scheduler = self._start(
            _SCHEDULER,
            *("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"),
            *self._scheduler_options,
        )
        end = time.monotonic() + LIMIT_SECONDS
        while True:
            try:
                self.address: str = json.loads(self._file.read_text())["address"]
                return
            except (OSError, ValueError, KeyError):
                if not self.scheduler.is_running() or time.monotonic() > end:
                    raise AssertionError(f"no scheduler: {self.printed()}") from None
                time.sleep(0.05)

    def start_worker(self) -> psutil.Process:
        """Start a worker; it joins when it can."""
        return self._start(
            _WORKER,
            *("--host", "127.0.0.1", "--nthreads", str(self._threads), "--no-dashboard"),
            *("--no-nanny", "--local-directory", str(self._folder)),
            *self._worker_options,
        )

    def _start(self, module: str, *options: str) -> psutil.Process:
        process = template(PYTHON, _SCHEDULER, _WORKER).start(
            *(module, "--scheduler-file", str(self._file), *options),
            out=self._folder / f"printed-{len(self.processes)}",
            folder=self._folder,
            variables=self._environment,
        )
        self.processes.append(process)
        return process

    def run(self, program: str) -> str:
        """Run a program of the cluster's own release, which gets the scheduler's address.

        Returns
        -------
        str
            What it printed.
        """
        return subprocess.run(
            [PYTHON, "-c", program, self.address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=self._environment,
            cwd=self._folder,
            # (it imports all that it needs, which takes most of a minute on a busy machine)
            timeout=3 * LIMIT_SECONDS,
        ).stdout

    def printed(self) -> str:
        """What all of them have printed."""
        return "\n".join(
            each.read_text("utf-8", "replace") for each in sorted(self._folder.glob("printed-*"))
        )

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for process in self.processes:
            process.wait(LIMIT_SECONDS)
