"""The frames of all threads, of which Python makes objects while it holds a lock.

In Python 3.11 a new object may have the garbage collector run. If that frees a `threading.local`,
it waits for the same lock, with the interpreter's: the whole process stands still for ever. So the
collector is off meanwhile, for one look at a time: another would take its being off for the
program's wish. From 3.12 on no new object has it run.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from types import FrameType


class _Looks:
    """Looks of this process, one at a time."""

    def __init__(self) -> None:
        # (again within: an object that is freed meanwhile may look)
        self._lock = threading.RLock()
        #: Whether the collector is off for a look that goes on.
        self._is_off = False

    def look(self) -> dict[int, FrameType]:
        with self._lock:
            if not gc.isenabled():
                return sys._current_frames()
            try:
                self._is_off = True
                gc.disable()
                return sys._current_frames()
            finally:
                gc.enable()
                self._is_off = False

    def begin_anew(self) -> None:
        """In a program that was forked, where nobody ends a look that another thread had begun."""
        self._lock = threading.RLock()
        if self._is_off:
            self._is_off = False
            gc.enable()


_LOOKS = _Looks()
os.register_at_fork(after_in_child=_LOOKS.begin_anew)


def current_frames() -> dict[int, FrameType]:
    """Return the innermost frame of each thread, by its ident."""
    return sys._current_frames() if sys.version_info >= (3, 12) else _LOOKS.look()
