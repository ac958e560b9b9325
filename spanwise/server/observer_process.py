"""One observer: a Node process that lives as long as this server keeps its stdin open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spanwise.errors import ClusterError
from spanwise.processes.node_process import READY_SECONDS
from spanwise.processes.start_observer import start_observer

__all__ = ["READY_SECONDS", "ObserverFailed", "ObserverProcess"]


class ObserverFailed(RuntimeError):
    """The observer could not start; the message is a sentence for people."""


class ObserverProcess:
    """A running observer.

    All methods block; the supervisor calls them in threads.

    Parameters
    ----------
    parent : Path
        A private folder; the observer gets the folder `observer` within, the same as
        the one before it.
    secret : bytes
        Opens its door: the one that sources were given, also after a restart.

    Attributes
    ----------
    address : str
        Where it listens.
    secret : bytes
    secret_file : Path
        Holds the secret, for kernels. Beside it `address` holds where it listens now:
        sources read both again before each try, so they find the next observer too.

    Raises
    ------
    NodeNotFound, ObserverFailed
    """

    def __init__(self, parent: Path, secret: bytes, transport: str, budget_bytes: int) -> None:
        try:
            self._node = start_observer(secret, transport, budget_bytes, parent / "observer")
        except ClusterError as error:
            raise ObserverFailed(str(error)) from error
        except OSError as error:
            raise ObserverFailed(f"The observer could not be started: {error}") from error
        self.address = self._node.address
        self.secret = secret
        self.secret_file = self._node.folder / "secret"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._node.process.pid

    def log_tail(self) -> str:
        """The last lines of its log, or an empty text."""
        return self._node.log_tail()

    def on_exit(self, call: Callable[[], None]) -> None:
        """Have `call` called once, in a thread, when the process has ended by itself."""
        self._node.on_death(call)

    def stop(self) -> None:
        """Drop the lifeline, wait, kill if need be, remove the folder. Twice is safe."""
        self._node.close()
