"""The observer of a script: started here, and again when it dies.

As the Jupyter server's, all of them have one folder and one secret, one after another::

    spanwise-XXXX/   secret   address   observer.sock   observer.log

The scheduler and the observed process read `secret` and `address` again before each try to
connect: they find the next one and send it what they still hold.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial

from spanwise.errors import ClusterError
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.node_process import NodeProcess
from spanwise.processes.observer_budget import observer_budget
from spanwise.processes.restarts import PATIENCE_SECONDS, Restarts
from spanwise.processes.start_observer import start_observer
from spanwise.wire.addresses import default_transport

#: After so many deaths in a row, it dies of something that another start does not mend.
#: With the pauses between them (0.2 + 0.4 + … + 12.8 s) that takes 25 s and the starts'
#: own time.
MOST_QUICK_DEATHS = 8
#: When the owner closes, it waits so long for a start under way. A start that takes
#: longer is ended by the thread that began it.
_START_ENDS_SECONDS = 2.0


class OwnObserver(ObserverAddress):
    """An observer that lives as long as this object, or this process.

    Attributes
    ----------
    process : NodeProcess
        The newest.

    Raises
    ------
    ClusterError, NodeNotFound, OSError
        It could not be started.
    ValueError
        The setting of its budget cannot be understood.
    """

    def __init__(self) -> None:
        secret = secrets.token_bytes(32)
        self._owner = os.getpid()
        self._restarts = Restarts()
        self._born = time.monotonic()
        #: Why there is none and will be none.
        self._given_up: str | None = None
        self._closing = threading.Event()
        #: One listens, or none will.
        self._settled = threading.Event()
        #: Held while the next one is started.
        self._starting = threading.Lock()
        #: The next ones keep as much as the first.
        self._budget_bytes = observer_budget()
        self.process = _start(secret, self._budget_bytes)
        super().__init__(self.process.address, secret, str(self.process.folder / "secret"))
        self._settled.set()
        # A pause ends at once if this object is forgotten, or the interpreter ends.
        weakref.finalize(self, self._closing.set)
        self._watch()

    @property
    def is_own(self) -> bool:
        """A fork does not start the next one."""
        return os.getpid() == self._owner

    def address_to_ask(self) -> str:
        """Wait for the next one if it is started soon."""
        if self._closing.is_set() and self.is_own:
            raise ClusterError(
                "The observer was closed, and its figures with it: ask for them before close()."
            )
        if self.is_own and not self._settled.is_set():
            sentence = self._restarts.sentence(time.monotonic())
            if sentence is not None:
                raise ClusterError(sentence)
            self._settled.wait(2 * PATIENCE_SECONDS)
        if self._given_up is not None:
            raise ClusterError(self._given_up)
        return self.current_address()

    def kill_if_stopped(self) -> None:
        self.process.kill_if_stopped()

    def close(self) -> None:
        self._closing.set()
        if not self.is_own:
            return  # its parent goes on with it
        if self._starting.acquire(timeout=_START_ENDS_SECONDS):
            self._starting.release()
        self.process.close()

    # -- in the thread that waits for its end -------------------------------

    def _watch(self) -> None:
        # The thread must not keep this object alive.
        self.process.on_death(partial(_replace, weakref.ref(self)))

    def _bury(self) -> float | None:
        """It has died: remove what it left; returns the pause until the next, None: none."""
        self._settled.clear()
        now = time.monotonic()
        pause = self._restarts.died(now - self._born, now)
        tail = self.process.log_tail()
        self.process.close()
        return self._unless_too_often(pause, f"The observer ended.{tail}")

    def _start_next(self) -> float | None:
        """Start it; returns None, or after a failure the pause until it is tried again."""
        with self._starting:
            if self._closing.is_set():
                return None
            try:
                process = _start(self.secret, self._budget_bytes, self.process)
            except (OSError, RuntimeError) as error:  # ClusterError and NodeNotFound too
                return self._unless_too_often(self._restarts.failed(), str(error))
            if self._closing.is_set():
                process.close()
                return None
            self.process = process
            self.address = process.address
            self._born = time.monotonic()
        self._settled.set()
        self._watch()
        return None

    def _unless_too_often(self, pause: float, why: str) -> float | None:
        deaths = self._restarts.quick_deaths
        if deaths < MOST_QUICK_DEATHS:
            return pause
        self._given_up = (
            f"The observer ended {deaths} times soon after its start and is not started again: "
            "nobody can be asked what was measured any more. Your computation goes on; a new "
            f"Client() or observe() gets a new observer. The last error: {why}"
        )
        self._settled.set()
        return None


def _replace(ref: weakref.ref[OwnObserver]) -> None:
    """Start the next one after its pause, unless no user is left."""
    pause = _of(ref, OwnObserver._bury)
    while pause is not None:
        owner = ref()
        if owner is None:
            return
        closing = owner._closing
        del owner
        if closing.wait(pause):
            return
        pause = _of(ref, OwnObserver._start_next)


def _of(ref: weakref.ref[OwnObserver], step: Callable[[OwnObserver], float | None]) -> float | None:
    owner = ref()
    return None if owner is None else step(owner)


def _start(secret: bytes, budget_bytes: int, predecessor: NodeProcess | None = None) -> NodeProcess:
    folder = None if predecessor is None else predecessor.folder
    return start_observer(secret, default_transport(), budget_bytes, folder)
