"""Runs what ``client.run`` sends, each function in a thread of its own, so many at a time."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.processes import forks
from spanwise.wire import payload
from spanwise.worker.errors import describe

if TYPE_CHECKING:
    from spanwise.worker.worker import Worker

#: A function may take any time, or wait for another: more at once than anybody means to.
MOST_THREADS = 64
#: Functions that wait for a thread. Each is a pickle, and its caller waits.
MOST_WAITING = 10_000
#: Those that run may wait for each other, or never end: after so long without an end of any,
#: callers are told.
PATIENCE_SECONDS = 10.0


class _Call(NamedTuple):
    request: int
    blob: Any
    #: Whether somebody waits for the answer.
    is_awaited: bool
    #: `time.monotonic` of its arrival.
    came: float


class RunFunctions:
    """Gives each function a thread while there are some left; the others wait for one.

    Whose caller waits is refused when no thread comes free for :data:`PATIENCE_SECONDS`.

    Parameters
    ----------
    worker
        Opens the pickles and sends the answers.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting: deque[_Call] = deque()
        self._has_watcher = False
        #: When a thread came free last.
        self._freed = 0.0

    def run(self, request: int, blob: Any, is_awaited: bool = True) -> None:
        """Answer a request later, from a thread, or at once that it cannot be served."""
        with self._lock:
            is_full = len(self._waiting) >= MOST_WAITING
            if not is_full:
                self._waiting.append(_Call(request, blob, is_awaited, time.monotonic()))
            starts = not is_full and self._threads < MOST_THREADS
            self._threads += starts
            watches = is_awaited and not (is_full or starts or self._has_watcher)
            self._has_watcher |= watches
        if is_full:
            self._refuse(request, f"{MOST_WAITING:,} functions wait there already")
        if starts:
            self._start()
        if watches:
            self._start_watcher()

    def _start_watcher(self) -> None:
        try:
            threading.Thread(target=self._watch, name="spanwise-run-watch", daemon=True).start()
        except RuntimeError:
            self._has_watcher = False  # the next call tries again

    def _watch(self) -> None:
        """Refuse calls that wait too long, while there are any that wait."""
        while True:
            time.sleep(PATIENCE_SECONDS / 20)
            late: list[_Call] = []
            with self._lock:
                latest = time.monotonic() - PATIENCE_SECONDS
                if self._freed < latest:
                    left: deque[_Call] = deque()
                    for call in self._waiting:
                        is_late = call.is_awaited and call.came < latest
                        (late if is_late else left).append(call)
                    self._waiting = left
                if not any(call.is_awaited for call in self._waiting):
                    self._has_watcher = False
                running, goes_on = self._threads, self._has_watcher
            why = f"{running} functions run there already, none ended for {PATIENCE_SECONDS:g} s"
            for call in late:
                self._refuse(call.request, why)
            if not goes_on:
                return

    def _start(self) -> None:
        try:
            threading.Thread(target=self._serve, name="spanwise-run", daemon=True).start()
        except RuntimeError as error:
            with self._lock:
                self._threads -= 1
                # Another thread goes on with them; with none, nobody would.
                left = [] if self._threads else list(self._waiting)
                if left:
                    self._waiting.clear()
            for call in left:
                self._refuse(call.request, f"it cannot start a thread ({error})")

    def _refuse(self, request: int, why: str) -> None:
        why = f"The worker did not run the function: {why}. Try again later."
        blob = describe(RuntimeError(why)).blob
        self._worker.send("runResult", {"request": request, "ok": False, "why": why}, None, [blob])

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._freed = time.monotonic()
                if not self._waiting:
                    self._threads -= 1
                    return
                call = self._waiting.popleft()
            self._run(call.request, call.blob)

    def _run(self, request: int, blob: Any) -> None:
        fields: dict[str, Any] = {"request": request, "ok": True}
        try:
            function, args, kwargs = self._worker.library.loads(blob)
            if _takes_worker(function) and "dask_worker" not in kwargs:
                kwargs = {**kwargs, "dask_worker": self._worker}
            value = function(*args, **kwargs)
            if forks.is_child:
                forks.leave(None)
            result: Any = payload.dumps(value)
        except BaseException as error:  # noqa: BLE001 (told to the client)
            if forks.is_child:
                forks.leave(error)
            described = describe(error)
            fields |= {"ok": False, "why": f"{described.type}: {described.message}"}
            result = described.blob
        self._worker.send("runResult", fields, None, [result])


def _takes_worker(function: Any) -> bool:
    try:
        return "dask_worker" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False  # builtins without a signature
