"""A Node process that this process started and owns.

The child's stdin is its lifeline: after a line of settings, end of file, also by this
process's death, means drain and exit. Its first line on stdout says where it listens.
"""

from __future__ import annotations

import json
import shutil
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanwise.errors import ClusterError
from spanwise.processes.abandoned import remove_abandoned
from spanwise.processes.ending import Ending
from spanwise.processes.fork_hook import ForkHook
from spanwise.processes.node import give_settings, node_program, start_node
from spanwise.processes.process_state import is_stopped
from spanwise.wire.private_folder import make_anew, make_private_folder

READY_SECONDS = 30.0
_LOG_TAIL = 12


class NodeProcess:
    """A scheduler or an observer that this process owns.

    Attributes
    ----------
    address
        Where it listens.
    secret
        32 bytes that open its door.
    folder
        Of mode 0700, removed with it.

    Parameters
    ----------
    role, config
        Which program, and its settings; or what gives them, called while the program starts.
    folder
        Of the one before it, which has ended. Default: a new one.
    """

    def __init__(
        self,
        role: str,
        config: dict[str, Any] | Callable[[], dict[str, Any]],
        secret: bytes,
        folder: Path | None = None,
    ) -> None:
        self.role = role
        self.secret = secret
        program = node_program(role)
        if folder is None:
            folder = make_private_folder()
        else:
            make_anew(folder)
        self.folder = folder
        self.log = self.folder / f"{role}.log"
        try:
            self.process = start_node(program, self.folder, role)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._ending = Ending(self.process, self.folder)
        _OWNED.add(self)
        # A forgotten process object ends its process too; at exit the interpreter waits
        # for it.
        weakref.finalize(self, self._ending.begin).atexit = False
        try:
            # While it starts.
            remove_abandoned(self.folder.parent)
            self.address = self._wait_until_ready(config() if callable(config) else config)
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self, config: dict[str, Any]) -> str:
        lines: list[bytes] = []
        stdout = self.process.stdout
        assert stdout is not None

        def settle() -> None:
            give_settings(self.process, config)
            lines.append(stdout.readline())

        reader = threading.Thread(target=settle, name="spanwise-ready", daemon=True)
        reader.start()
        reader.join(READY_SECONDS)
        if not lines:
            raise ClusterError(
                f"The {self.role} did not start within {READY_SECONDS:g} s.{self.log_tail()}"
            )
        try:
            said = json.loads(lines[0])
            if "failed" in said:
                raise ClusterError(str(said["failed"]))
            return str(said["ready"]["address"])
        except (ValueError, KeyError, TypeError):
            raise ClusterError(f"The {self.role} could not start.{self.log_tail()}") from None

    def log_tail(self) -> str:
        """The last lines of its log, to be appended to a sentence."""
        try:
            lines = self.log.read_text("utf-8", "replace").splitlines()[-_LOG_TAIL:]
        except OSError:
            return ""
        return ("\nIts log ends:\n  " + "\n  ".join(lines)) if lines else ""

    def kill_if_stopped(self) -> None:
        """End it at once if it was stopped: it would not read a request to end."""
        if self.process.poll() is None and is_stopped(self.process.pid):
            self.kill()

    def close(self) -> None:
        """Drop the lifeline, wait until it has ended; kill it if it does not. Twice is safe."""
        self._ending.wait()

    def kill(self) -> None:
        """End it at once."""
        self._ending.kill()

    def on_death(self, call: Callable[[], None]) -> None:
        """Have `call` called in a thread when it has ended without being asked to.

        `call` must not hold this object, or it would never be forgotten.
        """
        process, ending = self.process, self._ending

        def wait() -> None:
            process.wait()
            if not ending.is_wanted:
                call()

        threading.Thread(target=wait, name="spanwise-death", daemon=True).start()


def _let_go(owned: NodeProcess) -> None:
    """In a fork: a child that outlives its parent would hold the lifeline."""
    if owned.process.stdin is not None:
        owned.process.stdin.close()


_OWNED = ForkHook(_let_go)
