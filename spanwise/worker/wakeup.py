"""How an executor waits that has nothing to do: asleep, or reading the scheduler's link itself.

See :mod:`spanwise.wire.turns`. A lone short task that comes while it reads runs in the thread that
has read it, and no thread is woken for it. Whoever else has something for it wakes it as if it
slept.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from spanwise.wire.frame import Message
    from spanwise.wire.link import Link
    from spanwise.wire.turns import Turns

#: When so long nothing has come, the reader reads again.
_PATIENCE_MS = 1000


class LinkReader(Protocol):
    """What handles the scheduler's messages."""

    link: Link

    def take_instead(self, message: Message) -> bool: ...


class Reading(Protocol):
    """A worker, as its executors see it that read for it."""

    turns: Turns
    link_reader: LinkReader | None


class Wakeup:
    """Held by one executor, which waits for its release; as a lock otherwise."""

    def __init__(self, worker: Reading) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._lock.acquire()

    def release(self) -> None:
        """Wake the executor."""
        self._lock.release()
        turns = self._worker.turns
        if turns.stand_in is self:
            turns.ring_bell()

    def acquire(self) -> None:
        """Sleep until it is released."""
        self._lock.acquire()

    def wait(self) -> None:
        """The same, and read meanwhile, if nobody does."""
        worker = self._worker
        reader, turns = worker.link_reader, worker.turns
        if reader is not None and turns.rests and turns.right.acquire(False):
            is_woken = False
            try:
                turns.stand_in = self
                is_woken = self._read(reader, turns)
            finally:
                # (what is no lone short task may keep this thread for long)
                turns.leaves(is_woken and turns.may_rest and not turns.is_left)
                turns.stand_in = None
                turns.right.release()
            if is_woken:
                return
        self._lock.acquire()

    def _read(self, reader: LinkReader, turns: Turns) -> bool:
        """Whether it was released; else the reader is to go on."""
        link = reader.link
        look = turns.look_at(link)
        if look is None:
            return False
        turns.may_rest = False
        if self._lock.acquire(False):
            return True
        while not turns.is_left:
            try:
                ready = look.poll(_PATIENCE_MS)
            except (OSError, ValueError):  # the link was closed
                return False
            if not ready or link.closed:
                return False
            if len(ready) == 1 and ready[0][0] != turns.ring:
                turns.is_handling = turns.is_left = True
                try:
                    turns.is_left = not link.read_instead(reader.take_instead)
                except Exception:  # noqa: BLE001 (the reader comes upon it too, and ends the worker)
                    return False
                finally:
                    turns.is_handling = False
            else:
                turns.hush_bell()
            if self._lock.acquire(False):
                return True
        return False
