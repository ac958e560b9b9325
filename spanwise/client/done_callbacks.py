"""Calls what was given to `add_done_callback`: one after the other, in a thread of its own.

One that takes long, or waits for what another is to do, holds the others up for a moment only: then
a further thread goes on with them. So there are two threads, which deliver and look after that, and
one for each callback that takes long.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

#: How long a callback holds up others.
HELD_SECONDS = 0.1
#: How long the threads stay after their client has ended, of which some callbacks are told.
_LINGER_SECONDS = 1.0


class DoneCallbacks:
    """Those of one client."""

    def __init__(self) -> None:
        # (who puts something in takes no lock: it is the reader, which holds the session's)
        self._ready: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._starting = threading.RLock()
        #: The thread that takes the next one; None: nothing runs.
        self._next: threading.Thread | None = None
        #: How many were taken.
        self._taken = 0
        self._is_watching = False
        self._ended = False

    def begin(self) -> None:
        """Something will be put in: have the threads for it.

        Raises
        ------
        RuntimeError
            No thread can start.
        """
        with self._starting:
            if self._next is not None:
                return
            self._is_watching = False
            self._next = self._started()
            try:
                threading.Thread(target=self._watch, name="spanwise-callback", daemon=True).start()
            except BaseException:
                self._next = None  # (the one that has started ends, as if it were overtaken)
                self._ready.put(_nothing)
                raise

    def put(self, call: Callable[[], object]) -> None:
        """Call it soon; never raises."""
        self._ready.put(call)
        if self._next is None:  # (they have ended since it was begun)
            with suppress(RuntimeError):
                self.begin()
        self._ring()

    def end(self) -> None:
        """The client has ended: what was put in is still called."""
        self._ended = True
        self._ready.put(_nothing)

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._deliver, name="spanwise-callback", daemon=True)
        thread.start()
        return thread

    # -- the thread that delivers -----------------------------------------

    def _deliver(self) -> None:
        with self._starting:  # (until it is known as the next one)
            pass
        while self._next is threading.current_thread():
            try:
                call = self._ready.get(timeout=_LINGER_SECONDS if self._ended else None)
            except Empty:
                self._next = None
                self._bell.put(None)
                return
            self._taken += 1
            if not self._ready.empty():
                self._ring()
            _call(call)
            del call  # (it holds a result)
        if self._ended:  # (what it took last may be what `end` has for the next one)
            self._ready.put(_nothing)

    def _ring(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._bell.put(None)

    # -- the thread that watches it ---------------------------------------

    def _watch(self) -> None:
        while self._next is not None:
            self._bell.get()
            while self._next is not None and not self._ready.empty():
                taken = self._taken
                time.sleep(HELD_SECONDS)
                if self._taken == taken and not self._ready.empty():
                    self._overtake()
            self._is_watching = False
            if not self._ready.empty():  # put in before it could be known that nobody watches
                self._ring()

    def _overtake(self) -> None:
        # Without room for a thread: once more, after the same time.
        with self._starting, suppress(RuntimeError):
            self._next = self._started()


def _nothing() -> None:
    """Wakes a thread."""


def _call(call: Callable[[], object]) -> None:
    try:
        call()
    except BaseException:  # noqa: BLE001 (told as of a thread that ends by it)
        # (of none of ours, with which a worker would end)
        threading.excepthook(
            threading.ExceptHookArgs((*sys.exc_info(), None))  # type: ignore[arg-type]
        )
