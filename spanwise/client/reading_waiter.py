"""A caller's wait for tasks, in which its thread reads the link itself if nobody else does.

See :mod:`spanwise.wire.turns`. What it reads there are reports of results; all else, and what has
users' callbacks called, is the reader's.
"""

from __future__ import annotations

import math
import signal
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any

from spanwise.client.entries import Waiter
from spanwise.wire import turns

if TYPE_CHECKING:
    from spanwise.client.needs import Read

#: Of more tasks the reader reads the reports: it and who waits do not hold each other up then.
MOST_READ = 64
#: When so long nothing has come, the reader reads again.
_PATIENCE_SECONDS = 1.0

SIGNALS: tuple[Any, ...] = tuple(signal.valid_signals())
#: The call into C: for each signal the other one makes an enumeration of what it finds.
_HANDLER_OF: Any = getattr(signal.getsignal, "__wrapped__", signal.getsignal)


def has_handlers() -> bool:
    """Whether handlers of the program's may run in this thread, amid its waits.

    They may take long, or wait for what another thread waits for, and nobody would read meanwhile.
    That of Ctrl-C only raises.
    """
    return threading.current_thread() is threading.main_thread() and any(
        callable(handler) and handler is not signal.default_int_handler
        for handler in map(_HANDLER_OF, SIGNALS)
    )


class ReadingWaiter(Waiter):
    """Waits until a number of entries are done.

    Parameters
    ----------
    session
        Whose entries they are.
    """

    __slots__ = ("_session", "gave_up", "is_asleep", "is_reading", "may_read")

    def __init__(self, left: int, session: Read, may_read: bool = True) -> None:
        super().__init__(left)
        self._session = session
        self.may_read = may_read and turns.IS_POSSIBLE
        self.is_reading = False
        self.is_asleep = False
        #: Another wait in the same thread has taken the right from it.
        self.gave_up = False

    def finish(self) -> None:
        """Called under the session's lock."""
        waits = self._session.turns
        waits.may_rest = True
        if self.is_asleep:
            self.is_asleep = False
            waits.sleepers -= 1
        super().finish()
        if self.is_reading:
            waits.ring_bell()

    def wait(self, timeout: float | None) -> bool:
        """Whether all were done in time (seconds; None: no limit)."""
        if self.is_finished:
            return True
        if (
            self.may_read
            and self._session.turns.rests
            and (timeout is None or timeout > 0.0)
            and not has_handlers()
        ):
            until = math.inf if timeout is None else monotonic() + timeout
            self._read(until)
            if self._is_done():
                return True
            if timeout is not None:
                timeout = max(0.0, until - monotonic())
        return self._sleep(timeout)

    def _is_done(self) -> bool:
        return self.is_finished

    def _sleep(self, timeout: float | None) -> bool:
        session = self._session
        try:
            with session.lock:
                if self.is_finished:
                    return True
                self.is_asleep = True
                session.turns.sleepers += 1
            session.turns.need_reader()
            return super().wait(timeout)
        finally:
            with session.lock:
                if self.is_asleep:
                    self.is_asleep = False
                    session.turns.sleepers -= 1

    def _read(self, until: float) -> None:
        """Read until it is done, the time is over or something comes that is the reader's."""
        session = self._session
        waits = session.turns
        if waits.stand_in is not None:
            if waits.right._is_owned():  # a handler waits amid the wait of its own thread
                waits.need_reader()
            return
        link = session.link
        taken: list[bool] = []
        self.gave_up = False
        try:
            with session.lock:
                # In one call into C: if Ctrl-C comes now, it is known all the same.
                taken.extend(map(waits.right.acquire, (False,)))
                if not taken[0]:
                    return
                # (first: a handler that waits amid this takes the right from it)
                waits.stand_in = self
                if self.is_finished or waits.is_left:
                    return
                self.is_reading = True
            look = waits.look_at(link)
            if look is None:
                return
            while not link.closed and not self._is_done():
                left = min(_PATIENCE_SECONDS, until - monotonic())
                if left <= 0.0:
                    return
                ready = look.poll(math.ceil(left * 1000.0))
                is_link = len(ready) == 1 and ready[0][0] != waits.ring
                # (no call comes between this look and `is_handling`: no handler does)
                if not ready or self.gave_up:
                    return
                if is_link:
                    waits.is_handling = waits.is_left = True
                    try:
                        if not link.read_instead(session.take_report):
                            return
                        waits.is_left = False
                    finally:
                        waits.is_handling = False
                else:
                    waits.hush_bell()
        finally:
            if taken and taken[0] and not self.gave_up:
                try:
                    self.is_reading = False
                    waits.leaves(self.is_finished and not waits.is_left)
                finally:
                    if not self.gave_up:  # (a handler may have come once more)
                        waits.stand_in = None
                        waits.right.release()
