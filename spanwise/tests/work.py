"""Work that is counted instead of timed: it is the same on a slow and on a busy machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(call: Callable[[], object]) -> int:
    """How many lines of Python this thread runs in a call, those of what it calls included.

    Not those of garbage collections, which free what others have left. Loops of C code run none:
    where those matter, count the comparisons of the objects (:class:`Compared`).
    """
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count


class Compared(tuple[Any, ...]):
    """A tuple that counts how often such tuples are compared and hashed."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return tuple.__eq__(self, other)

    def __hash__(self) -> int:
        Compared.times += 1
        return tuple.__hash__(self)
