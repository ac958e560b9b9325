"""Runs what ``client.run`` sends, each function in a thread of its own, so many at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.measure.sizes import is_to_be_awaited
from spanwise.processes import forks
from spanwise.wire import payload
from spanwise.wire.errors import FrameTooLong
from spanwise.worker.awaiting import awaited
from spanwise.worker.errors import describe
from spanwise.worker_parameter import WORKER_PARAMETER, takes_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.worker.worker import Worker

#: How many functions run at once: more than anybody intends, for each may take any time
#: or wait for another.
MOST_THREADS = 64
#: How many functions may wait for a thread. Each is a pickle, and its caller waits.
MOST_WAITING = 10_000
#: Running functions may wait for each other, or never end: when none has ended for so long,
#: callers are told.
PATIENCE_SECONDS = 10.0
#: The time between two looks counts at most this much: the process may have been stopped, or
#: one thread may have kept the interpreter lock, and then no function could end.
MOST_BETWEEN_LOOKS_SECONDS = 0.5
#: When no function has come or begun for so long, those that run may never end, as one that
#: serves or waits: they are no reason any more to look at a worker more often than at one that
#: does nothing.
LONG_SECONDS = 30.0


class _Call(NamedTuple):
    request: int
    blob: Any
    #: Whether somebody waits for the answer.
    is_awaited: bool
    #: When it arrived, as :meth:`RunFunctions._now` counts.
    came: float


class RunFunctions:
    """Gives each function a thread while there are some left; the others wait for one.

    A call whose caller waits is refused when no thread becomes free within
    :data:`PATIENCE_SECONDS`, not counting time in which the worker could not run.

    Parameters
    ----------
    worker
        Opens the pickles and sends the answers.
    call_look
        Has a thread that exists already call :meth:`look_on`, soon and for as long as that
        returns True: when functions wait there may be no further thread to be had, and while
        they run somebody is to measure what they take.
    """

    def __init__(self, worker: Worker, call_look: Callable[[], None]) -> None:
        self._worker = worker
        self._call_look = call_look
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting: deque[_Call] = deque()
        #: When a thread last became free.
        self._freed = 0.0
        #: `time.monotonic` when the newest function came, or a thread took it.
        self._newest = -inf
        #: `time.monotonic` of the last look, and what :meth:`_now` was then.
        self._looked = time.monotonic()
        self._ran = 0.0

    def run(self, request: int, blob: Any, is_awaited: bool = True) -> None:
        """Answer a request later, from a thread, or at once that it cannot be served."""
        with self._lock:
            is_full = len(self._waiting) >= MOST_WAITING
            if not is_full:
                self._waiting.append(_Call(request, blob, is_awaited, self._now()))
                self._newest = time.monotonic()
            starts = not is_full and self._threads < MOST_THREADS
            self._threads += starts
        if is_full:
            self._refuse(request, f"{MOST_WAITING:,} functions wait there already")
            return
        if starts:
            self._start()
        # (also for one that runs at once: a worker without tasks looks rarely, and what the
        # function computes would be nobody's)
        self._call_look()

    def look(self) -> bool:
        """Refuse calls that have waited too long; True while others may come to that."""
        if not self._waiting:
            return False
        if time.monotonic() - self._looked < PATIENCE_SECONDS / 50:
            return True  # the watch thread comes every few milliseconds while tasks run
        late: list[_Call] = []
        with self._lock:
            self._ran, self._looked = self._now(), time.monotonic()
            latest = self._ran - PATIENCE_SECONDS
            if self._freed < latest:
                left: deque[_Call] = deque()
                for call in self._waiting:
                    is_late = call.is_awaited and call.came < latest
                    (late if is_late else left).append(call)
                self._waiting = left
            goes_on = any(call.is_awaited for call in self._waiting)
            running = self._threads
        why = f"{running} functions run there already, none ended for {PATIENCE_SECONDS:g} s"
        for call in late:
            self._refuse(call.request, why)
        return goes_on

    def look_on(self) -> bool:
        """:meth:`look`; True also while functions run, but for long ones."""
        return self.look() or (self._threads > 0 and time.monotonic() - self._newest < LONG_SECONDS)

    def _now(self) -> float:
        """Seconds in which this process could run, by the looks so far; under the lock."""
        return self._ran + min(time.monotonic() - self._looked, MOST_BETWEEN_LOOKS_SECONDS)

    def _start(self) -> None:
        """Start a thread, if there is one to be had."""
        try:
            threading.Thread(target=self._serve, name="spanwise-run", daemon=True).start()
        except RuntimeError as error:
            with self._lock:
                self._threads -= 1
                # A thread that ends goes on with those that wait. If no thread is left,
                # they are refused.
                left = [] if self._threads else list(self._waiting)
                if left:
                    self._waiting.clear()
            for call in left:
                self._refuse(call.request, f"it cannot start a thread ({error})")

    def _refuse(self, request: int, why: str) -> None:
        self._answer(request, f"The worker did not run the function: {why}. Try again later.")

    def _answer(self, request: int, why: str) -> None:
        blob = describe(RuntimeError(why)).blob
        self._worker.send("runResult", {"request": request, "ok": False, "why": why}, None, [blob])

    def _serve(self) -> None:
        # For get_worker().
        threading.current_thread().worker = self._worker  # type: ignore[attr-defined]
        while True:
            with self._lock:
                self._freed = self._now()
                if not self._waiting:
                    self._threads -= 1
                    return
                self._newest = time.monotonic()
                call = self._waiting.popleft()
            self._run(call.request, call.blob)

    def _run(self, request: int, blob: Any) -> None:
        fields: dict[str, Any] = {"request": request, "ok": True}
        try:
            function, args, kwargs = self._worker.library.loads(blob)
            if takes_worker(function) and WORKER_PARAMETER not in kwargs:
                kwargs = {**kwargs, WORKER_PARAMETER: self._worker.object}
            value = function(*args, **kwargs)
            if is_to_be_awaited(type(value)):
                value = awaited(value)
            if forks.is_child:
                forks.leave(None)
            result: Any = payload.dumps(value)
        except BaseException as error:  # noqa: BLE001 (told to the client)
            if forks.is_child:
                forks.leave(error)
            described = describe(error)
            fields |= {"ok": False, "why": f"{described.type}: {described.message}"}
            result = described.blob
        try:
            self._worker.send("runResult", fields, None, [result])
        except FrameTooLong as error:
            # An error here would end this thread, and the worker with it.
            why = f"The function ran, and its result cannot be sent: {error} Return less of it."
            self._answer(request, why)
