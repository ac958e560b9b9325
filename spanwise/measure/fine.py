"""Sums per second: work outside tasks, and figures that `parts` has no column for."""

from __future__ import annotations

import threading
from math import floor

from spanwise.measure.stacks import TextIds
from spanwise.records.enumerations import NONE_U32

#: second, context, span, function, activity, unit
_Key = tuple[int, str, int, int, str, str]

NO_SPAN = 0


#: t (perf_counter seconds), context, span, function, activity, unit, value
FineRow = tuple[float, int, int, int, int, int, float]


class Ledger:
    """Sums per second, until they are sent. Safe from any thread.

    Parameters
    ----------
    epoch
        perf_counter value at which second 0 began.
    """

    def __init__(self, epoch: float = 0.0) -> None:
        self._epoch = epoch
        self._lock = threading.Lock()
        self._sums: dict[_Key, float] = {}

    def add(
        self,
        t: float,
        context: str,
        activity: str,
        unit: str,
        value: float,
        function: int = NONE_U32,
        span: int = NO_SPAN,
    ) -> None:
        """Add `value` at time `t` (perf_counter seconds)."""
        key = (floor(t - self._epoch), context, span, function, activity, unit)
        with self._lock:
            self._sums[key] = self._sums.get(key, 0.0) + value

    def rows(self, names: TextIds) -> list[FineRow]:
        """Return the rows of the table `fine` collected so far and forget them."""
        with self._lock:
            sums, self._sums = self._sums, {}
        return [
            (
                self._epoch + second,
                names.id_of(context),
                span,
                function,
                names.id_of(activity),
                names.id_of(unit),
                value,
            )
            for (second, context, span, function, activity, unit), value in sums.items()
        ]
