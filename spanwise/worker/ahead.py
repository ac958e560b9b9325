"""Imports what the client has imported before a task needs it."""

from __future__ import annotations

import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from time import sleep

from spanwise.wire.foreign import cut, said
from spanwise.worker.library import Library

#: How many names a worker takes in all. Later modules are imported by the tasks that need
#: them.
MOST_NAMES = 10_000
#: Seconds between two checks whether the worker is idle; only while there is something to import.
LOOK_SECONDS = 0.05
#: Characters of a name in the log.
_SHOWN = 200


class ImportAhead(threading.Thread):
    """Imports modules one by one, and lets tasks go first.

    A task that comes meanwhile and may need more modules than there are waits for one at most, and
    books that as *import*. A
    module that cannot be imported is left to the task that needs it, which then says why.

    Parameters
    ----------
    library
        Imports under its lock.
    is_idle
        Whether no task runs in this worker or waits for one of its threads.
    has_room
        Whether the process is so small that modules may be imported before a task needs them.
    at_once
        Modules to import now, even while the worker is busy: nearly every task wants
        them.
    complain
        Takes a sentence for the log.
    """

    def __init__(
        self,
        library: Library,
        is_idle: Callable[[], bool],
        has_room: Callable[[], bool],
        at_once: Iterable[str],
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(name="spanwise-import-ahead", daemon=True)
        self._library = library
        self._is_idle = is_idle
        self._has_room = has_room
        self._at_once = tuple(at_once)
        self._complain = complain
        self._names: deque[str] = deque()
        #: Names that were tried; none is tried again, even after a failure.
        self._known: set[str] = set(self._at_once)
        self._has_names = threading.Event()
        self._closed = False

    def add(self, names: Iterable[str]) -> None:
        """Have these imported as well, when the worker is idle; from the thread of the link."""
        for name in names:
            if name not in self._known and len(self._known) < MOST_NAMES:
                self._known.add(name)
                self._names.append(name)
        if self._names:
            self._has_names.set()

    def close(self) -> None:
        """Import nothing more, and end the thread; for tests, since a worker ends as a process."""
        self._closed = True
        self._has_names.set()

    def run(self) -> None:
        """Import until it is closed."""
        for name in self._at_once:
            self._import(name)
        # The modules imported by now stay, so garbage collections need not look at them
        # again.
        gc.collect()
        gc.freeze()
        while not self._closed:
            if not self._names:
                self._has_names.wait()
                # `add` puts names there before it sets the event: none is missed.
                self._has_names.clear()
            elif not self._has_room():
                # Memory is short, and the rest of it is for tasks, which import what
                # they need.
                self._names.clear()
            elif self._is_idle():
                self._import(self._names.popleft())
            else:
                sleep(LOOK_SECONDS)

    def _import(self, name: str) -> None:
        if name in sys.modules:
            return
        try:
            self._library.import_ahead(name)
        except BaseException as error:  # noqa: BLE001  (a module may raise anything)
            if not _is_absent(name, error):
                self._complain(f"{cut(name, _SHOWN)} cannot be imported ahead: {said(error)}")


def _is_absent(name: str, error: BaseException) -> bool:
    """Whether the client found it where workers do not look, as debuggers find their plugins.

    A task that needs it says so. (A module that lacks another one is broken, which is told.)
    """
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    return absent is not None and f"{name}.".startswith(f"{absent}.")
