"""The frames of all threads, of which Python makes objects while it holds a lock.

In Python 3.11 a new object may have the garbage collector run. If that frees a `threading.local`,
it waits for the same lock, with the interpreter's: the whole process stands still for ever. So the
collector is off meanwhile. From 3.12 on no new object has it run.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from operator import call
from types import FrameType
from typing import Any

#: Named here, and the version compared once: a look finds nothing of this in a cache, and took
#: some 10 us for that alone.
_DISABLE: Callable[[], Any] = gc.disable
_ENABLE: Callable[[], Any] = gc.enable
_may_collect: Callable[[], bool] = gc.isenabled if sys.version_info < (3, 12) else bool


def current_frames() -> dict[int, FrameType]:
    """Return the innermost frame of each thread, by its ident."""
    if not _may_collect():
        return sys._current_frames()
    frames: dict[int, FrameType]
    try:
        # One after the other within one step of the interpreter: no thread has a turn between
        # them, which might look too, and turn the collector on, or fork.
        _, frames, _ = map(call, (_DISABLE, sys._current_frames, _ENABLE))
    except BaseException:
        _ENABLE()
        raise
    return frames
