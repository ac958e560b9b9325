"""Wakes one thread that waits, from any thread."""

from __future__ import annotations

import threading


class Bell:
    """As :class:`threading.Event` for one waiting thread, which hears each ring once.

    An event makes a lock for each wait, in Python, which takes as long as half a look at a thread:
    nobody's cache holds its code after milliseconds.
    """

    def __init__(self) -> None:
        #: Free: it rings.
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Ring; the thread that waits goes on, or the next wait ends at once."""
        try:
            self._lock.release()
        except RuntimeError:
            pass  # it rings already

    def clear(self) -> None:
        """Forget that it rang."""
        self._lock.acquire(blocking=False)

    def wait(self, seconds: float) -> bool:
        """Wait until it rings, at most so long; return whether it did, and forget that."""
        return self._lock.acquire(True, max(0.0, seconds))
