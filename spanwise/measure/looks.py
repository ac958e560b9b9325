"""How often threads are looked at, and after how long a running task is reported.

A look takes a core 50 to 300 us, most of it for waking up and for what no cache holds. Its thread's
own CPU clock tells how much, and where 9 ms between looks would make them more than a hundredth of
a core, looks are further apart (:class:`LookBudget`). What a sample stands for stays as it is: a
look 40 ms after the one before stands for four samples of 10 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

#: Seconds between looks at threads that compute. A sample stands for 10 ms; looking a
#: little more often makes up for wake-ups that come late on a busy machine.
LOOK_SECONDS = 0.009
#: Between looks at threads that stand still: a wake-up costs some 150 us on a virtual
#: machine, so 100 of them a second would cost more than the tasks that they watch.
STILL_SECONDS = 0.04
#: Tasks from here on are shown while they run.
RUNNING_SECONDS = 0.1
#: What looks may take of a core.
LOOK_SHARE = 0.01
#: The budget puts looks no further apart.
MOST_LOOK_SECONDS = 0.1
#: The mean of what looks took forgets one look in so many.
_REMEMBERED = 32


class LookBudget:
    """How far apart looks have to be, by what they took.

    Parameters
    ----------
    clock
        CPU seconds of the thread that looks.
    """

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        #: What looks may take of a core; may be changed.
        self.share = LOOK_SHARE
        self._clock = clock
        #: None: it has looked since, or has never waited.
        self._rested: float | None = None
        self._mean = 0.0

    def rests(self) -> None:
        """The thread is about to wait for the next look."""
        self._rested = self._clock()

    def looked(self) -> None:
        """The look is over: it took the time since the wait began, waking up included."""
        rested, self._rested = self._rested, None
        if rested is not None:
            self._mean += (self._clock() - rested - self._mean) / _REMEMBERED

    def book(self, seconds: float) -> None:
        """Add CPU seconds that looks took besides: working out what many of them have seen."""
        self._mean += seconds / _REMEMBERED

    def apart(self, seconds: float) -> float:
        """Seconds between looks: those that are asked for, or more."""
        return max(seconds, min(self._mean / self.share, MOST_LOOK_SECONDS))
