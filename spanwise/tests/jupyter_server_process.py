"""A Jupyter server with the extension, for tests of its doorbell and its observer."""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

import psutil

from spanwise.tests import forked_kernels
from spanwise.tests.forked_programs import START_SECONDS, template
from spanwise.tests.processes import wait_until

#: How long it may take to end.
END_SECONDS = 60.0
#: Each was free a moment before.
PORTS_TRIED = 3
#: What every server imports.
_MODULES = ("jupyter_server.serverapp", "spanwise.server.extension")


class JupyterServer:
    """A Jupyter server with the extension, in a process and folders of its own.

    The process is a fork of one that has imported its packages (`forked_programs.py`).

    Parameters
    ----------
    folder
        Where it has its folders; they are made.
    options
        More arguments of its command.
    forks_kernels
        Whether its kernels are forks, too (`forked_kernels.py`).
    variables
        More of its environment.

    Attributes
    ----------
    home, runtime
        Its notebooks, and where it says where it is.
    environment
        Its variables, without ours but those asked for.
    """

    def __init__(
        self, folder: Path, *options: str, forks_kernels: bool = False, **variables: str
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.runtime = folder / "runtime"
        for each in (self.home, self.runtime):
            each.mkdir(mode=0o700)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("SPANWISE_")}
        self.environment = {
            **inherited,
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            **variables,
        }
        self._program = "jupyter_server"
        if forks_kernels:
            self._program = forked_kernels.__name__
            self.environment[forked_kernels.ADDRESS] = forked_kernels.kernels_address()
        self.log = folder / "server.log"
        for tries_left in reversed(range(PORTS_TRIED)):
            self._start(options)
            try:
                wait_until("the connection file", lambda: self._has_said_where(), START_SECONDS)
            except BaseException:
                self.kill()
                # Another program may have taken the port meanwhile.
                if tries_left and "no available port" in self.log.read_text():
                    continue
                raise
            return

    def _start(self, options: tuple[str, ...]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = template(sys.executable, *_MODULES).start(
            self._program,
            "--no-browser",
            "--allow-root",
            f"--port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.home}",
            "--ServerApp.jpserver_extensions=spanwise.server=True",
            # They cost a second of each start and have children of their own.
            "--ServerApp.jpserver_extensions=jupyterlab=False",
            "--ServerApp.jpserver_extensions=jupyter_lsp=False",
            *options,
            out=self.log,
            folder=Path.cwd(),
            variables=self.environment,
        )

    def _has_said_where(self) -> bool:
        assert self.process.is_running(), self.log.read_text()
        return any(self.runtime.glob("spanwise-*.json"))

    @property
    def connection_file(self) -> Path:
        """The file whose path kernels are given."""
        (file,) = self.runtime.glob("spanwise-*.json")
        return file

    def kill(self) -> None:
        """End it at once, as a system does that is out of memory."""
        with suppress(psutil.NoSuchProcess):
            self.process.kill()
        self.process.wait(END_SECONDS)

    def close(self) -> None:
        """End it as a terminal does. Twice is safe.

        Jupyter handles the signal in Python: one that comes just before its loop sleeps is
        seen at the next event only, hence the repetition.
        """
        deadline = monotonic() + END_SECONDS
        while self.process.is_running() and monotonic() < deadline:
            with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
                self.process.send_signal(signal.SIGTERM)
                self.process.wait(5)
        if self.process.is_running():
            self.kill()
            raise AssertionError(f"it did not end in {END_SECONDS:g} s: {self.log.read_text()}")
