"""When a process that died is started again, and what its users are told meanwhile.

For the observer of the Jupyter server and for that of a script. Pauses grow as long as each
one dies soon after its start; the owner waits them out::

    died ──0.2 s──▶ started ──died──0.4 s──▶ started …── 30 s at most
                       └── lived for 60 s: the pauses begin at 0.2 s again
"""

from __future__ import annotations

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 30.0
#: A process that lived this long did not fail at its start.
GOOD_LIFE_SECONDS = 60.0
#: A request during a pause waits this long for the next start; then it is told.
PATIENCE_SECONDS = 3.0


class Restarts:
    """Counts deaths; all times are seconds of one clock, which the caller reads.

    Attributes
    ----------
    quick_deaths : int
        How many in a row died soon after their start, or could not be started.
    """

    def __init__(self) -> None:
        self.quick_deaths = 0
        self._pause = FIRST_PAUSE_SECONDS
        self._not_before = 0.0

    def died(self, lived: float, now: float) -> float:
        """It has died after `lived` seconds; returns the pause until the next is started."""
        if lived > GOOD_LIFE_SECONDS:
            self.quick_deaths = 0
            self._pause = FIRST_PAUSE_SECONDS
        pause = self.failed()
        self._not_before = now + pause
        return pause

    def failed(self) -> float:
        """The next could not be started; returns the pause until it is tried again."""
        self.quick_deaths += 1
        pause = self._pause
        self._pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause

    def pause_left(self, now: float) -> float:
        """How long it is until the next may be started; at least 0."""
        return max(0.0, self._not_before - now)

    def sentence(self, now: float) -> str | None:
        """The sentence about the present pause, if it is too long to wait in silence."""
        left = self.pause_left(now)
        if left <= PATIENCE_SECONDS:
            return None
        return (
            f"The observer keeps ending; it is started again in {left:.0f} s. "
            "Your computation goes on."
        )
