"""One observer: a Node process that lives as long as this server keeps its stdin open."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanwise.processes.node import give_settings, node_program, start_node
from spanwise.wire.private_folder import make_anew, write_private
from spanwise.wire.schema import PROTOCOL

#: Seconds from the start to the line that says where it listens.
READY_SECONDS = 30.0
#: Seconds to drain and exit before it is killed.
EXIT_SECONDS = 10.0
_LOG_LINES = 8


class ObserverFailed(RuntimeError):
    """The observer could not start; the message is a sentence for people."""


class ObserverProcess:
    """A running observer.

    All methods block; the supervisor calls them in threads.

    Attributes
    ----------
    address : str
        Where it listens.
    secret : bytes
    secret_file : Path
        Holds the secret, for kernels. Beside it `address` holds where it listens now:
        sources read both again before each try, so they find the next observer too.
    """

    def __init__(self, parent: Path, secret: bytes, transport: str, budget_bytes: int) -> None:
        """Start it and wait until it listens.

        Parameters
        ----------
        parent : Path
            A private folder; the observer gets the folder `observer` within, the same as
            the one before it.
        secret : bytes
            Opens its door: the one that sources were given, also after a restart.

        Raises
        ------
        NodeNotFound, ObserverFailed
        """
        program = node_program()
        self.secret = secret
        self._folder = parent / "observer"
        make_anew(self._folder)
        self.secret_file = self._folder / "secret"
        write_private(self.secret_file, self.secret.hex())
        config = {
            "protocol": PROTOCOL,
            "secretHex": self.secret.hex(),
            "transport": transport,
            "budgetBytes": budget_bytes,
        }
        self.log = self._folder / "observer.log"
        try:
            self._process = start_node(program, self._folder, "observer")
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise ObserverFailed(f"The observer could not be started: {error}") from error
        try:
            self.address = self._read_address(config)
            write_private(self._folder / "address", self.address)
        except BaseException:
            self._process.kill()
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def _read_address(self, config: dict[str, Any]) -> str:
        stdout = self._process.stdout
        if stdout is None:
            raise ObserverFailed("The observer has no standard output.")
        # Ends what is below when the observer stays silent.
        limit = threading.Timer(READY_SECONDS, self._process.kill)
        limit.daemon = True
        limit.start()
        try:
            give_settings(self._process, config)
            line = stdout.readline()
        finally:
            limit.cancel()
        try:
            said: dict[str, Any] = json.loads(line)
            if "failed" in said:
                raise ObserverFailed(str(said["failed"]))
            return str(said["ready"]["address"])
        except (ValueError, KeyError, TypeError):
            raise ObserverFailed(f"The observer could not start. {self.log_tail()}") from None

    def log_tail(self) -> str:
        """The last lines of its log, or an empty text."""
        try:
            lines = self.log.read_text("utf-8", "replace").splitlines()[-_LOG_LINES:]
        except OSError:
            return ""
        return " | ".join(line.strip() for line in lines if line.strip())

    def on_exit(self, call: Callable[[], None]) -> None:
        """Have `call` called once, in a thread, when the process has ended."""

        def wait() -> None:
            self._process.wait()
            call()

        threading.Thread(target=wait, name="spanwise-observer-exit", daemon=True).start()

    def stop(self) -> None:
        """Drop the lifeline, wait, kill if need be, remove the folder. Twice is safe."""
        process = self._process
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                pass  # it was dead already
        try:
            process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
