"""Starts the observer on first use and again when it dies.

::

    stopped ──ensure()──▶ starting ──ready──▶ running
                 ▲            │ failed           │ died
                 └── 2 s ─────┴──────            ▼
                              starting ◀── pause 0.2 … 30 s
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path

from spanwise.errors import ClusterError
from spanwise.processes.node import NodeNotFound
from spanwise.processes.node_process import NodeProcess
from spanwise.processes.observer_budget import observer_budget
from spanwise.processes.restarts import Restarts
from spanwise.processes.start_observer import start_observer
from spanwise.wire.handshake import new_secret

#: For so long after a failed start, the answer is the same sentence, and no start is tried.
_RETRY_SECONDS = 2.0

#: Starts an observer, blocking; raises NodeNotFound, ClusterError, OSError or ValueError.
Start = Callable[[], NodeProcess]


class ObserverUnavailable(Exception):
    """There is no observer to talk to.

    Attributes
    ----------
    state : str
        ``no-node`` or ``no-observer``, as the panel link has it.
    sentence : str
    """

    def __init__(self, state: str, sentence: str) -> None:
        super().__init__(sentence)
        self.state = state
        self.sentence = sentence


class Supervisor:
    """Owns at most one observer; lives in the server's event loop.

    Parameters
    ----------
    start : callable
        Makes an observer; called in a thread. A ValueError says which setting is wrong.
    log : Logger
    on_running : callable, optional
        Told of each observer that has started.
    """

    def __init__(
        self,
        start: Start,
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
        on_running: Callable[[NodeProcess], None] | None = None,
    ) -> None:
        self._start = start
        self._log = log
        self._on_running = on_running
        self._current: NodeProcess | None = None
        self._attempt: asyncio.Task[NodeProcess] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._failure: ObserverUnavailable | None = None
        self._failed_at = 0.0
        # An observer that keeps dying is not started before its pause is over, however many
        # pages ask.
        self._restarts = Restarts()
        self._stopped = False

    @property
    def running(self) -> NodeProcess | None:
        """The observer, if one runs now."""
        return self._current

    @property
    def problem(self) -> ObserverUnavailable | None:
        """Why the last start failed; None after one that did not."""
        return self._failure

    async def ensure(self) -> NodeProcess:
        """Return the observer, started if need be; all who wait share one start.

        Raises
        ------
        ObserverUnavailable
        """
        if self._stopped:
            raise ObserverUnavailable("no-observer", "The Jupyter server is shutting down.")
        if self._current is not None:
            return self._current
        if self._failure and time.monotonic() - self._failed_at < _RETRY_SECONDS:
            raise self._failure
        sentence = self._restarts.sentence(time.monotonic())
        if sentence is not None:
            raise ObserverUnavailable("no-observer", sentence)
        if self._attempt is None:
            self._attempt = asyncio.create_task(self._try())
        # Shielded: one page that leaves must not take the start away from the others.
        return await asyncio.shield(self._attempt)

    async def _try(self) -> NodeProcess:
        try:
            await asyncio.sleep(self._restarts.pause_left(time.monotonic()))
            observer = await asyncio.to_thread(self._start)
        except NodeNotFound as error:
            raise self._fail("no-node", str(error)) from error
        except (ClusterError, ValueError) as error:
            raise self._fail("no-observer", str(error)) from error
        except OSError as error:
            sentence = f"The observer could not be started: {error}"
            raise self._fail("no-observer", sentence) from error
        finally:
            self._attempt = None
        self._failure = None
        if self._stopped:
            await asyncio.to_thread(observer.close)
            raise ObserverUnavailable("no-observer", "The Jupyter server is shutting down.")
        self._current = observer
        self._watching = asyncio.create_task(self._watch(observer))
        self._log.info("Spanwise: the observer runs as process %d", observer.process.pid)
        if self._on_running is not None:
            self._on_running(observer)
        return observer

    def _fail(self, state: str, sentence: str) -> ObserverUnavailable:
        self._log.warning("Spanwise: %s", sentence)
        self._failure = ObserverUnavailable(state, sentence)
        self._failed_at = time.monotonic()
        return self._failure

    async def _watch(self, observer: NodeProcess) -> None:
        """Wait until it dies; then, unless the server stops, start another."""
        loop = asyncio.get_running_loop()
        died = asyncio.Event()

        def tell() -> None:
            # The loop may be closed: then nobody is left to be told.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(died.set)

        born = time.monotonic()
        observer.on_death(tell)
        await died.wait()
        self._current = None
        if self._stopped:
            return
        now = time.monotonic()
        pause = self._restarts.died(now - born, now)
        tail = await asyncio.to_thread(observer.log_tail)
        self._log.warning(
            "Spanwise: the observer ended; starting another in %.1f s. %s", pause, tail
        )
        await asyncio.to_thread(observer.close)
        await asyncio.sleep(self._restarts.pause_left(time.monotonic()))
        while not self._stopped:
            try:
                await self.ensure()
                return
            except ObserverUnavailable:
                await asyncio.sleep(max(self._restarts.failed(), _RETRY_SECONDS))

    async def stop(self) -> None:
        """End the observer and start no more. Twice is safe."""
        self._stopped = True
        if self._attempt is not None:
            with contextlib.suppress(ObserverUnavailable):
                await asyncio.shield(self._attempt)
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        observer, self._current = self._current, None
        if observer is not None:
            await asyncio.to_thread(observer.close)


def observer_starter(parent: Path, transport: str, budget_bytes: int | None) -> Start:
    """What a :class:`Supervisor` calls to start the real observer.

    All of a server's observers, one after another, have one folder and one secret: the
    sources of the one that died find the next and send it what they still hold.

    Parameters
    ----------
    budget_bytes
        What each may keep; None: what Dask's configuration says when it is started.
    """
    secret = new_secret()

    def start() -> NodeProcess:
        budget = observer_budget() if budget_bytes is None else budget_bytes
        return start_observer(secret, transport, budget, parent / "observer")

    return start
