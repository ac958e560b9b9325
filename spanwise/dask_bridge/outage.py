"""A scheduler without an answer of use: since when, why, and how long it is asked again."""

from __future__ import annotations

from time import localtime, monotonic, strftime, time

#: After so long a viewer asks no more.
MOST_SECONDS = 1800.0


class Outage:
    """From the first question without an answer of use until there is one, or nobody asks any more.

    Parameters
    ----------
    since
        When the scheduler answered last.
    ahead
        Seconds that its clock is ahead of this process's.

    Attributes
    ----------
    since, noticed, until
        When it answered last, when that was noticed, and how long it is asked: its own time.
    because
        Why, as half a sentence.
    has_answered
        Whether it answers, and nothing that can be used.
    """

    def __init__(self, since: float, ahead: float) -> None:
        self.since = since
        self.noticed = time() + ahead
        self.until = self.noticed + MOST_SECONDS
        self.because = ""
        self.has_answered = False
        self._ahead = ahead
        # (a machine that slept has not asked meanwhile)
        self._ends = monotonic() + MOST_SECONDS

    @property
    def is_too_long(self) -> bool:
        """Whether it is time to ask no more."""
        return monotonic() >= self._ends

    def sentence(self) -> str:
        """What happened, since when, and what comes."""
        has = "has answered nothing of use" if self.has_answered else "has not answered"
        return (
            f"The scheduler {has} since {self._clock(self.since)}: {self.because}. It is tried "
            f"again until {self._clock(self.until)}."
        )

    def end(self) -> str:
        """Why it is asked no more, as half a sentence."""
        did = "answered nothing of use" if self.has_answered else "could not be reached"
        return f"its scheduler {did} for {MOST_SECONDS / 60:.0f} min"

    def _clock(self, of_scheduler: float) -> str:
        return strftime("%H:%M:%S", localtime(of_scheduler - self._ahead))
