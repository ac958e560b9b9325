"""Sums per second: work outside tasks, and figures that `parts` has no column for."""

from __future__ import annotations

import threading
from math import floor

from spanwise.measure.names import Names
from spanwise.records.enumerations import NONE_U32

#: second, context, span, function, activity, unit
_Key = tuple[int, str, int, int, str, str]

NO_SPAN = 0


class Ledger:
    """Sums per second, until they are sent. Safe from any thread."""

    def __init__(self) -> None:
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
        key = (floor(t), context, span, function, activity, unit)
        with self._lock:
            self._sums[key] = self._sums.get(key, 0.0) + value

    def rows(self, names: Names) -> list[tuple[float, int, int, int, int, int, float]]:
        """Return the rows of the table `fine` collected so far and forget them."""
        with self._lock:
            sums, self._sums = self._sums, {}
        return [
            (
                float(second),
                names.id_of(context),
                span,
                function,
                names.id_of(activity),
                names.id_of(unit),
                value,
            )
            for (second, context, span, function, activity, unit), value in sums.items()
        ]
