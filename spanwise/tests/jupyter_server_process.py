"""A Jupyter server with the extension, for whoever needs its doorbell and its observer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from spanwise.tests.leftover import MARK
from spanwise.tests.processes import wait_until


class JupyterServer:
    """A Jupyter server with the extension, in a process and folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.runtime = folder / "runtime"
        for each in (self.runtime, folder / "home"):
            each.mkdir(mode=0o700)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("SPANWISE_")}
        self.environment = {
            **inherited,
            MARK: os.environ[MARK],
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
        }
        self._log = (folder / "server.log").open("wb")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyter_server",
                "--no-browser",
                "--allow-root",
                f"--port={port}",
                f"--ServerApp.root_dir={folder / 'home'}",
                "--ServerApp.jpserver_extensions=spanwise.server=True",
            ],
            stdout=self._log,
            stderr=self._log,
            env=self.environment,
        )
        self.connection_file = wait_until(
            "the connection file", lambda: next(self.runtime.glob("spanwise-*.json"), None)
        )

    def close(self) -> None:
        """End it as Ctrl-C would."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)
        self._log.close()
