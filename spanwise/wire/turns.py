"""Who reads a link: its reader, a thread of its own, or a thread that waits for what comes.

To wake another thread of a process takes longer than to read and handle a short message. So a
thread that waits for one reads the link itself, in the reader's stead, while the reader rests::

    reader    reads ─┬ rests ·········· looks ·········· looks ······· reads ─
                     │ ends a wait                          ├ REST_SECONDS ┤
    stand-in  sleeps ┴ sends ─ reads ─┐ sends ─ reads ─┐ ...┘
                              its own ┘        its own ┘ nobody reads: 4 ms at the most

* `right` is held by who reads, by the reader from the start.
* A stand-in takes nothing but what it can handle. The rest it leaves in the link, and the reader
  is roused, who goes on behind what was handled.
* The reader looks after a while whether anybody reads, by itself: a stand-in wakes nobody when it
  leaves. One that reads for long ends that; then the stand-in rouses the reader as it leaves, or
  it looks a second later.
* Ctrl-C, a signal's handler or a collected object may come between any two steps of a stand-in.
  Only the release of the right must not be missed: it is the first call of a ``finally`` block,
  and Python looks for signals behind calls only. All else the reader's look makes good.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

#: Nobody reads for at most so long. Each look wakes a thread.
REST_SECONDS = 0.004
#: A reader that a stand-in is to rouse looks so often all the same.
LONG_REST_SECONDS = 1.0
#: So often a reader that was roused for what no stand-in can handle does not rest.
_ROUNDS_AFTER_FOREIGN = 8

#: Windows and macOS have no such bell; there the reader always reads.
IS_POSSIBLE = hasattr(os, "eventfd") and hasattr(select, "poll")


class SupportsFileno(Protocol):
    """What can be waited for."""

    def fileno(self) -> int: ...


class Turns:
    """Who reads one link."""

    def __init__(self) -> None:
        # (typeshed does not know `_is_owned`)
        self.right: Any = threading.RLock()
        #: Who reads in the reader's stead.
        self.stand_in: Any = None
        #: It handles what it has read.
        self.is_handling = False
        #: Something has come that is left to the reader: nobody else reads until it has.
        self.is_left = False
        #: When the last one left.
        self.left_at = 0.0
        #: How many have been.
        self.count = 0
        #: Waits that sleep until the reader brings what they wait for; their owner's lock guards
        #: it.
        self.sleepers = 0
        #: The reader has ended a wait, and the next one may read itself.
        self.may_rest = False
        #: Wakes a stand-in that waits for the link.
        self._bell: _Bell | None = None
        self._look: Any = None
        #: The bell's descriptor.
        self.ring = -1
        #: Held, but for the moment in which it wakes the reader.
        self._alarm = threading.Lock()
        self._alarm.acquire()
        #: The reader does not read.
        self.rests = False
        self._rests_long = False
        self._is_needed = False
        self._rounds = 0

    # -- the reader -------------------------------------------------------

    def begin(self) -> None:
        """The reader reads from now on."""
        self.right.acquire()

    def rest(self) -> bool:
        """Called by the reader now and then: rest, if there may be somebody who reads.

        Returns
        -------
        bool
            Whether anybody may have read meanwhile. The reader has the right again.
        """
        if not self.may_rest or not IS_POSSIBLE:
            return False
        self.may_rest = False
        if self._rounds > 0:
            self._rounds -= 1
            return False
        # First: who sleeps from here on rouses it.
        self.rests = True
        if self.sleepers or self._is_needed:
            self.rests = self._is_needed = False
            return False
        self.left_at = monotonic()
        self.right.release()
        self._rest()
        self.rests = self._is_needed = False
        self.right.acquire()
        self.is_left = False
        self._alarm.acquire(blocking=False)  # (it has rung meanwhile)
        return True

    def _rest(self) -> None:
        pause, seen = REST_SECONDS, -1
        while not self._is_needed:
            self._alarm.acquire(timeout=pause)
            self._rests_long = self.stand_in is not None and self.count == seen
            if self._rests_long and self.count == seen:  # (else it has not been told to rouse)
                pause = LONG_REST_SECONDS
                continue
            self._rests_long = False
            seen = self.count
            pause = REST_SECONDS
            if self.stand_in is None:
                pause += self.left_at - monotonic()
                if pause <= 0.0:
                    return

    def need_reader(self) -> None:
        """Called by who waits for what only the reader can bring, in any thread."""
        stand_in = self.stand_in
        if (
            stand_in is not None
            and not self.is_handling
            and self.right._is_owned()
            and not stand_in.gave_up  # (a handler amid this one may have had it do so)
        ):
            # A signal's handler, or a collected object, amid the wait of its own thread. That may
            # be in the middle of a look, which nobody else may use then.
            stand_in.gave_up = True
            self._look = self.stand_in = None
            self.right.release()
        self.rouse()

    def rouse(self) -> None:
        """End the reader's rest."""
        if self.rests:
            self._is_needed = True
            self._ring()

    def _ring(self) -> None:
        with suppress(RuntimeError):  # it rings already
            self._alarm.release()

    # -- a stand-in -------------------------------------------------------

    def look_at(self, link: SupportsFileno) -> Any:
        """What waits for the link and for the bell; for who has the right.

        Returns
        -------
        poll or None
            None: there is no descriptor left, or the link was closed.
        """
        if self._look is None:
            descriptor = link.fileno()
            if descriptor < 0:
                return None
            if self._bell is None:
                try:
                    self._bell = _Bell()
                except OSError as error:
                    if error.errno is None:
                        raise  # a signal's handler has
                    return None
            self.ring = self._bell.fileno()
            look = select.poll()
            look.register(self.ring, select.POLLIN)
            look.register(descriptor, select.POLLIN)
            self._look = look
        return self._look

    @property
    def is_busy_here(self) -> bool:
        """Whether this thread is amid what it has read."""
        return self.is_handling and bool(self.right._is_owned())

    def ring_bell(self) -> None:
        """Wake the stand-in."""
        if self._bell is not None and not self.is_handling:
            self._bell.ring()

    def hush_bell(self) -> None:
        """Have it rung no more."""
        if self._bell is not None:
            self._bell.hush()

    def leaves(self, is_done: bool) -> None:
        """Called by a stand-in before it gives the right back."""
        self.left_at = monotonic()
        self.count += 1  # (first, and then what the reader does: see `_rest`)
        if not is_done or self.sleepers:
            self.rouse()
        elif self._rests_long:
            self._ring()

    def met_foreign(self) -> None:
        """A stand-in has read what is the reader's."""
        self._rounds = _ROUNDS_AFTER_FOREIGN


class _Bell:
    """A descriptor that can be read once it has been rung."""

    _fd = -1

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def fileno(self) -> int:
        return self._fd

    def ring(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_write(self._fd, 1)

    def hush(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._fd)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if self._fd >= 0:
            close(self._fd)
