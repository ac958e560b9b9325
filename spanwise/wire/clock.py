"""Compares the other side's clock with ours, from questions that it answers.

::

    ours     sent ────────────── middle ────────────── received      perf_counter()
                  ╲ question                answer ╱
    theirs         ──────────────── clock ──────────                 Node's hrtime

On Linux both are CLOCK_MONOTONIC and `clock` lies between `sent` and `received`. Elsewhere
they may count from different moments. Half the round trip is the most that an offset can be
wrong, so clocks that agree within it are taken to be one clock, and nothing is added.

An answer says that the offset lies between `clock - received` and `clock - sent`. What several
answers say holds at once, if the older ones are widened by what two clocks can part meanwhile::

    long round trip        ├──────────────────────────┤
    short, some time ago         ├───────┤
    widened                     ├─────────┤
    newest                              ├────────────┤
    all                                 ├─┤                the offset: its middle

So one answer that came late spoils nothing: the shortest round trip of late decides.
"""

from __future__ import annotations

import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spanwise.wire.schema import link_type

#: Clocks that differ by no more than this are one clock, whose readings have such an error.
SAME_SECONDS = 0.001
#: A round trip that tells them apart from clocks of other machines.
SHORT_SECONDS = 0.1
#: Two clocks part by at most this much in a second, unless one is set or stops.
MOST_DRIFT = 500e-6
#: How exactly clocks are read.
GRAIN_SECONDS = 1e-6
#: The offset follows what is found at this rate, so that times lie as they were measured.
SLEW = 1e-3
#: What is further off is made good sooner: forwards at once, backwards at half the clock's speed.
MOST_SLEWED_SECONDS = 0.01
BACK_SLEW = 0.5
#: Answers that are asked for one after another at first.
FIRST_ANSWERS = 8
#: Seconds between questions, at least: they go with what is sent anyway.
ASKED_SECONDS = 0.7
#: What the offset was is known of so many moments; thinned out beyond.
MOST_KNOTS = 2048
#: Python's clock stands still while such a machine is suspended, Node's does not.
_MAY_PART = sys.platform == "darwin"
#: The columns of the worker's messages that hold a moment.
_MOMENTS = ("t", "start", "started")


class ClockOffset:
    """What is added to our perf_counter to get their clock, at each moment since the beginning.

    What it was at a moment that has passed never changes: recorded times are not revised. Times
    that ascend do so in their clock too.

    Parameters
    ----------
    theirs
        Their clock at some moment of the first round trip; None: not told.
    sent, received
        Ours at its beginning and end.
    may_part
        Whether clocks that are one may part.
    """

    def __init__(
        self,
        theirs: float | None = None,
        sent: float = 0.0,
        received: float = 0.0,
        may_part: bool = _MAY_PART,
    ) -> None:
        #: Both are one clock, and the offset is exactly 0.
        self.is_one = theirs is None or _agree(theirs, sent, received)
        self._may_part = may_part and theirs is not None
        #: So long a round trip does not tell whether they are one.
        self._is_unsure = theirs is not None and self.is_one and received - sent > SHORT_SECONDS
        self._lock = threading.Lock()
        #: Answers in all, and since one of the clocks was last found set.
        self._taken = self._answers = 0
        #: Our clock at the newest question.
        self.asked_at = -_FOREVER
        # The offset lay in this range at `_at`.
        self._low, self._high = (0.0, 0.0) if theirs is None else (theirs - received, theirs - sent)
        self._at = received
        #: The offset at the beginning.
        self.first = 0.0 if self.is_one else (self._low + self._high) / 2
        #: Moments that ascend, and the offsets there; a straight line leads from each to the next.
        self._times, self._offsets = [received], [self.first]

    @property
    def asks(self) -> bool:
        """Whether the other side must be asked from time to time."""
        return self._may_part or self._is_unsure or not self.is_one

    @property
    def is_settling(self) -> bool:
        """Whether the next question is due at once."""
        return self._is_unsure or (not self.is_one and self._answers < FIRST_ANSWERS)

    def is_due(self, now: float) -> bool:
        """Whether to ask now."""
        return self.asks and now - self.asked_at >= ASKED_SECONDS

    def asked(self, now: float) -> None:
        """A question goes out."""
        self.asked_at = now

    def answered(
        self, theirs: float, sent: float, received: float, clock: Callable[[], float]
    ) -> None:
        """Take in an answer; `clock` reads ours.

        Parameters
        ----------
        theirs
            Their clock at some moment of the round trip.
        sent, received
            Ours at its beginning and end.
        """
        if self.is_one and _agree(theirs, sent, received):
            self._is_unsure = self._is_unsure and received - sent > SHORT_SECONDS
            return
        self._is_unsure = False
        with self._lock:
            low = theirs - received - GRAIN_SECONDS
            high = theirs - sent + GRAIN_SECONDS
            parted = MOST_DRIFT * max(0.0, received - self._at)
            before = (self._low - parted, self._high + parted)
            if self.is_one or low > before[1] or high < before[0]:
                # One of them was set, or stood still: what was known holds no more.
                self._answers = 0
            else:
                low, high = max(low, before[0]), min(high, before[1])
            self._low, self._high, self._at = low, high, received
            self._answers += 1
            self._taken += 1
            # (read here: who has converted a moment did so earlier)
            self._aim(clock(), (low + high) / 2, self._taken <= FIRST_ANSWERS)
            self.is_one = False

    def _aim(self, now: float, aim: float, is_rough: bool) -> None:
        times, offsets = self._times, self._offsets
        here = self._at_moment(now)
        while times and times[-1] >= now:
            times.pop()
            offsets.pop()
        times.append(now)
        offsets.append(here)
        ahead = aim - here
        if not is_rough and abs(ahead) <= MOST_SLEWED_SECONDS:
            seconds = abs(ahead) / SLEW
        else:
            seconds = 0.0 if ahead > 0 else -ahead / BACK_SLEW
        times.append(now + seconds)
        offsets.append(aim)
        if len(times) > MOST_KNOTS:
            del times[1 : MOST_KNOTS // 2 : 2]
            del offsets[1 : MOST_KNOTS // 2 : 2]

    def at(self, t: float) -> float:
        """Return what is added to our time `t`, which has passed."""
        if self.is_one:
            return 0.0
        with self._lock:
            return self._at_moment(t)

    def _at_moment(self, t: float) -> float:
        times, offsets = self._times, self._offsets
        after = bisect_right(times, t)
        if after == 0:
            return offsets[0]
        if after == len(times):
            return offsets[-1]
        begin, end = times[after - 1], times[after]
        share = (t - begin) / (end - begin)
        return offsets[after - 1] + share * (offsets[after] - offsets[after - 1])

    def ours(self, theirs: float, now: float) -> float:
        """Return when ours said what theirs says at `theirs`, which has passed."""
        if self.is_one:
            return theirs
        found = theirs - self.at(now)
        # (each is nearer, but for the first one beside a moment when the offset changed at once: it
        # changes at half a clock's speed at most otherwise)
        for _ in range(_MOST_STEPS):
            before, found = found, theirs - self.at(found)
            if abs(found - before) <= GRAIN_SECONDS:
                break
        return found

    def within(self, now: float) -> float:
        """Return the most by which the offset can be wrong now, in seconds."""
        if self.is_one:
            return 0.0
        with self._lock:
            parted = MOST_DRIFT * max(0.0, now - self._at)
            here = self._at_moment(now)
            return max(self._high + parted - here, here - self._low + parted)


_FOREVER = float("inf")
#: To find a moment of ours by theirs. (There is none of what the offset left out as it went on.)
_MOST_STEPS = 32


def _agree(theirs: float, sent: float, received: float) -> bool:
    return sent - SAME_SECONDS <= theirs <= received + SAME_SECONDS


def in_their_clock(
    kind: str,
    tables: Mapping[str, Sequence[Sequence[Any]]],
    offset_at: Callable[[float], float],
) -> dict[str, Any]:
    """The tables of a worker's message with each moment in the scheduler's clock."""
    described = link_type("worker").message("up", kind).by_name
    shifted: dict[str, Any] = {}
    for name, rows in tables.items():
        columns = described[name].columns
        at = next((columns.index(each) for each in _MOMENTS if each in columns), None)
        if at is None:
            shifted[name] = rows
        else:
            shifted[name] = [
                (*row[:at], row[at] + offset_at(row[at]), *row[at + 1 :]) for row in rows
            ]
    return shifted
