"""Runs what ``client.run`` sends, each function in a thread of its own, so many at a time."""

from __future__ import annotations

import inspect
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from spanwise.processes import forks
from spanwise.wire import payload
from spanwise.worker.errors import describe

if TYPE_CHECKING:
    from spanwise.worker.worker import Worker

#: A function may take any time, or wait for another: more at once than anybody means to.
MOST_THREADS = 64
#: Functions that wait for a thread. Each is a pickle, and its caller waits.
MOST_WAITING = 10_000


class RunFunctions:
    """Gives each function a thread while there are some left; the others wait for one.

    Parameters
    ----------
    worker
        Opens the pickles and sends the answers.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting: deque[tuple[int, Any]] = deque()

    def run(self, request: int, blob: Any) -> None:
        """Answer a request later, from a thread, or at once that it cannot be served."""
        with self._lock:
            is_full = len(self._waiting) >= MOST_WAITING
            if not is_full:
                self._waiting.append((request, blob))
            starts = not is_full and self._threads < MOST_THREADS
            self._threads += starts
        if is_full:
            self._refuse(request, f"{MOST_WAITING:,} functions wait there already")
        if starts:
            self._start()

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
            for request, _ in left:
                self._refuse(request, f"it cannot start a thread ({error})")

    def _refuse(self, request: int, why: str) -> None:
        why = f"The worker did not run the function: {why}. Try again later."
        blob = describe(RuntimeError(why)).blob
        self._worker.send("runResult", {"request": request, "ok": False, "why": why}, None, [blob])

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                request, blob = self._waiting.popleft()
            self._run(request, blob)

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
