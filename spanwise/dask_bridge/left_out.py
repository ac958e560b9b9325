"""Adds up what a log has no room for, and says when to tell it."""

from __future__ import annotations

#: So often at most, but for very many more than were told before.
_TOLD_EACH_SECONDS = 60.0


class LeftOut:
    """Rows of one table that were left out.

    The log keeps each gap for as long as it lasts, and there may be rows to leave out each second
    for days. The first are told at once, then all of a minute together, or as soon as there are as
    many as were told before.
    """

    __slots__ = ("_rows", "_start", "_stop", "_told", "_told_at")

    def __init__(self) -> None:
        self._rows = self._told = 0
        self._start = self._stop = self._told_at = 0.0

    def add(self, rows: int, start: float, stop: float) -> None:
        """So many rows, of that time."""
        if self._rows == 0:
            self._start, self._stop = start, stop
        self._rows += rows
        self._start, self._stop = min(self._start, start), max(self._stop, stop)

    def take_due(self, now: float) -> tuple[float, float, int] | None:
        """From when to when how many were left out, if that is to be told now."""
        is_due = self._rows >= self._told or now - self._told_at >= _TOLD_EACH_SECONDS
        return self.take(now) if is_due else None

    def take(self, now: float) -> tuple[float, float, int] | None:
        """All that was not told; None: nothing."""
        if self._rows == 0:
            return None
        taken = self._start, self._stop, self._rows
        self._told += self._rows
        self._rows, self._told_at = 0, now
        return taken
