"""Keeps the garbage collector from looking through a graph again and again while it is made.

A graph of ten thousand tasks is a hundred thousand new objects, none of which is garbage. At its
usual setting the collector looks for some after every 700 of them, and now and then through
everything that the program has: a third of the time that Dask and the client need.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: So many more objects than before, and the collector looks. Garbage is bounded by it. Graphs of
#: ten thousand tasks have fewer, and are gone once they are sent: nothing is looked through.
_NEW_OBJECTS = 150_000


class _Rarely:
    """Threads that make graphs now, and the setting to go back to when the last has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._before: tuple[int, int, int]
        self._during: tuple[int, int, int]

    def begin(self) -> None:
        with self._lock:
            self._threads += 1
            if self._threads == 1:
                self._before = gc.get_threshold()
                first, *others = self._before
                # 0 means never, and stays.
                self._during = (max(first, _NEW_OBJECTS) if first else 0, *others)  # type: ignore[assignment]
                gc.set_threshold(*self._during)

    def end(self) -> None:
        with self._lock:
            self._threads -= 1
            # What the program has set meanwhile, it wants.
            if self._threads == 0 and gc.get_threshold() == self._during:
                gc.set_threshold(*self._before)


_RARELY = _Rarely()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Within the block, in all threads, the collector looks for garbage less often."""
    _RARELY.begin()
    try:
        yield
    finally:
        _RARELY.end()
