"""How long a thread has spent on importing modules while it unpickled.

Only modules that are not there yet are counted: what is imported already is found without
the function that is watched here.
"""

from __future__ import annotations

import importlib
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

#: Where the interpreter looks up the function that finds and loads a module.
_BOOTSTRAP: Any = importlib._bootstrap  # type: ignore[attr-defined]
_FIND_AND_LOAD = "_find_and_load"


#: Imports that are remembered for those who wait: a thread waits for few.
_MOST_REMEMBERED = 1000


class Imports:
    """What threads of a process know of each other's imports.

    Attributes
    ----------
    lately
        Begin and end of those that have ended.
    is_one_under_way
        Who imports has a lock, so that there is one at a time.
    """

    def __init__(self) -> None:
        self.lately: deque[tuple[float, float]] = deque(maxlen=_MOST_REMEMBERED)
        self.is_one_under_way = False


class ImportTimes(threading.local):
    """Seconds of this thread, wall and CPU, since it was last asked.

    A ``with`` block counts what this thread imports meanwhile; one thread at a time, which a
    lock sees to. Each task that brings arguments of its own goes through one.

    Parameters
    ----------
    imports
        Of all threads: see :func:`new`.
    """

    def __init__(self, imports: Imports) -> None:
        self._imports = imports
        self.seconds = 0.0
        self.cpu = 0.0
        self._depth = 0
        self._inside = False
        #: None: an interpreter that imports otherwise.
        self._before: Callable[..., Any] | None = None
        self._counting: Callable[..., Any] | None = None

    def take(self) -> tuple[float, float]:
        """Return seconds and CPU seconds since the last call, and reset them."""
        taken = self.seconds, self.cpu
        self.seconds = self.cpu = 0.0
        return taken

    def wait(self, lock: Any) -> None:
        """Take the lock; while another thread that has it imports, this one does, too.

        A task that waits for a module is importing, whichever thread does the work::

            the other one    import ├────────┤ unpickle ├──────┤
            this one                     wait ├────────────────┤
            counted                           ├──┤
        """
        if lock.acquire(blocking=False):
            return
        begin = perf_counter()
        if self._imports.is_one_under_way:
            _wait_for_import(lock)
        else:
            lock.acquire()
        # (a copy: another library of this process has a lock of its own)
        lately = tuple(self._imports.lately)
        self.seconds += sum(max(0.0, end - max(begin, at)) for at, end in lately)

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        before = getattr(_BOOTSTRAP, _FIND_AND_LOAD, None)
        if before is not self._before:
            self._before = before
            self._counting = None if before is None else self._timed(before)
        if before is not None:
            _BOOTSTRAP._find_and_load = self._counting

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._before is not None:
            _BOOTSTRAP._find_and_load = self._before

    def _timed(self, find_and_load: Callable[..., Any]) -> Callable[..., Any]:
        mine = threading.get_ident()

        def timed(*args: Any, **kwargs: Any) -> Any:
            # Others' imports pass, and modules that a module imports are part of its own time.
            if threading.get_ident() != mine or self._inside:
                return find_and_load(*args, **kwargs)
            self._inside = self._imports.is_one_under_way = True
            begin, begin_cpu = perf_counter(), thread_time()
            try:
                return _import(find_and_load, args, kwargs)
            finally:
                end = perf_counter()
                self._imports.lately.append((begin, end))
                self._imports.is_one_under_way = False
                self.seconds += end - begin
                self.cpu += thread_time() - begin_cpu
                self._inside = False

        return timed


def _import(find_and_load: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    return find_and_load(*args, **kwargs)


def _wait_for_import(lock: Any) -> None:
    """Wait for it and for what follows it in the other thread, which is not told apart."""
    lock.acquire()


#: What runs in these is counted as importing, and shown so in the stacks of threads.
CODES = (_import.__code__, _wait_for_import.__code__)


def new() -> ImportTimes:
    """Import times of a process."""
    return ImportTimes(Imports())
