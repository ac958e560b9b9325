"""One hook for all objects that have something to do in forks of this process.

Python never forgets what it is to call in a fork, so a callback for each object would stay
for the life of the process.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ForkHook(Generic[T]):
    """Does something in each fork with the objects that are alive.

    Parameters
    ----------
    after
        Called with each of them in the fork, in its only thread, before anything else.
    """

    def __init__(self, after: Callable[[T], None]) -> None:
        self._after = after
        self._alive: weakref.WeakSet[T] = weakref.WeakSet()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_fork)

    def add(self, each: T) -> None:
        """From now on, as long as it lives."""
        self._alive.add(each)

    def _in_fork(self) -> None:
        errors: list[Exception] = []
        for each in list(self._alive):
            try:
                self._after(each)
            except Exception as error:  # noqa: BLE001 (told when all have had their turn)
                errors.append(error)
        if errors:
            raise ExceptionGroup("in a fork", errors)
