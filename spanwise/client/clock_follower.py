"""Follows the scheduler's clock, in a client whose own counts from another moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from spanwise.errors import SchedulerLost
from spanwise.wire.clock import ASKED_SECONDS, ClockOffset
from spanwise.wire.frame import Message


class ClockFollower:
    """Asks the scheduler what its clock says, again and again, in a thread of its own.

    Where both are one clock, as under Linux, there is no thread and nothing is asked.

    Parameters
    ----------
    clock
        What is known of the difference; as found when the client connected.
    send
        Sends a message to the scheduler.
    """

    def __init__(self, clock: ClockOffset, send: Callable[[str, dict[str, Any]], None]) -> None:
        self._clock = clock
        self._send = send
        self._has_ended = threading.Event()
        self._is_answered = threading.Event()

    def begin(self) -> None:
        """Ask from now on, if there is something to ask."""
        if self._clock.asks:
            threading.Thread(target=self._run, name="spanwise-clock", daemon=True).start()

    def came(self, message: Message) -> None:
        """Take in an answer; called by the reader."""
        received = perf_counter()
        fields = message.fields
        if fields["sent"] == self._clock.asked_at:
            self._clock.answered(fields["clock"], fields["sent"], received, perf_counter)
            self._is_answered.set()

    def end(self) -> None:
        """Ask no more."""
        self._has_ended.set()
        self._is_answered.set()

    def _run(self) -> None:
        clock = self._clock
        while clock.asks and not self._has_ended.is_set():
            self._is_answered.clear()
            sent = perf_counter()
            clock.asked(sent)
            try:
                self._send("askClock", {"sent": sent})
            except SchedulerLost:
                return  # the reader reports it
            # At first the next question follows upon the answer.
            self._is_answered.wait(ASKED_SECONDS)
            if not clock.is_settling:
                self._has_ended.wait(ASKED_SECONDS)
