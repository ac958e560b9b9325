"""How far a scheduler's clock is ahead, by when it has heard its workers; it tells no other time.

::

    this clock   asked ─ answered · · · · · · · asked ─ answered
    told               heard at 7                     heard at 9

What is new in an answer was heard after the question before was sent, and before the answer came.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf


class HeartbeatClock:
    """The offset lies within all that was found, and is taken for none if it may be none."""

    def __init__(self) -> None:
        self._heard: Mapping[str, float] = {}
        self._asked = -inf
        self._least, self._most = -inf, inf

    @property
    def is_known(self) -> bool:
        """Whether something was heard between two questions."""
        return self._most < inf

    @property
    def ahead(self) -> float:
        """Seconds that the scheduler's clock is ahead of this one."""
        if self._least <= 0.0 <= self._most:
            return 0.0
        return (self._least + self._most) / 2 if self.is_known else self._least

    @property
    def within(self) -> float:
        """By how much that may be wrong; infinite while it is not known."""
        return (self._most - self._least) / 2 if self.is_known else inf

    def answered(self, asked: float, answered: float, heard: Mapping[str, float]) -> None:
        """Take an answer: when each worker was heard last, by the scheduler's clock."""
        least = max(heard.values(), default=-inf) - answered
        new = [t for worker, t in heard.items() if t != self._heard.get(worker)]
        most = min(new, default=inf) - self._asked
        self._heard, self._asked = heard, asked
        both = max(least, self._least), min(most, self._most)
        # (else one of the two clocks was set meanwhile)
        self._least, self._most = both if both[0] <= both[1] else (least, most)
