"""What tasks measure of themselves, as rows: `finished.meters`, and `meters` of the log.

Seconds of a run are seconds of its thread, so that they are taken off its computing: first off
what was not on a core, for most that is worth a meter waits, then off the rest::

    computing        ├─ on a core 3 ────┤─ not on a core 4 ──────┤
    told             decode 5
    taken off        ├ 1 ┤               ├ 4 ────────────────────┤

What is told beyond the time that there was (of several threads, or by hand) is kept beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import Any, NamedTuple

from spanwise.measure.scopes import SECONDS, Event, Heard
from spanwise.wire.labels import plain, text_of

#: The values of a `Metered`; an object with names takes twice as long to make, once a task.
MeteredValues = tuple[int, int, str, str, float, float]
#: A third of the time of `Metered(…)`.
_make_tuple = tuple.__new__
_UNIT = 3
#: Larger figures would make sums that hold nothing else.
MOST_VALUE = 2.0**80


class Metered(NamedTuple):
    """A row of a run or of a part of it.

    Attributes
    ----------
    cpu
        Seconds of `value` that were on a core; NaN: it takes nothing off the run's time.
    """

    function: int
    span: int
    label: str
    unit: str
    value: float
    cpu: float


def metered(
    events: list[Event], function: int, span: int, duration: float, cpu: float
) -> list[Metered]:
    """Rows of what was told in a stretch of `duration` seconds, of which `cpu` on a core.

    Figures that are no numbers, or infinite, are left out.
    """
    if len(events) == 1 and events[0][2] is SECONDS:
        alone = _of_one(*events[0], function, span, duration, cpu)
        if alone is not None:
            return [Metered(*alone)]
    said = [
        (text_of(label), unit if unit is SECONDS else plain(unit), figure)
        for label, value, unit in events
        if (figure := _figure(value)) is not None
    ]
    asked = sum(value for _, unit, value in said if unit == SECONDS and value > 0.0)
    off_core = max(0.0, duration - cpu)
    on_core = max(0.0, min(asked, duration) - off_core)
    left = duration
    rows: list[Metered] = []
    row = _make_tuple
    for label, unit, value in said:
        taken = 0.0
        if unit == SECONDS and value > 0.0 and left > 0.0:
            taken = min(value, left)
            left -= taken
            share = min(taken, on_core * taken / min(asked, duration))
            rows.append(row(Metered, (function, span, label, unit, taken, share)))
        if value > taken or taken == 0.0:
            rows.append(row(Metered, (function, span, label, unit, value - taken, nan)))
    return rows


def take_metered(
    heard: Heard, function: int, span: int, duration: float, cpu: float
) -> Sequence[MeteredValues]:
    """The same of what was heard, which is forgotten."""
    sums = heard.sums
    if len(sums) == 1 and not heard.seconds and not heard.events:
        alone = sums[0]
        row = _of_one(alone.label, alone.seconds, SECONDS, function, span, duration, cpu)
        if row is not None:
            alone.seconds = None
            sums.clear()
            return [row]
    return metered(heard.take(), function, span, duration, cpu)


def _of_one(
    label: Any, value: Any, unit: str, function: int, span: int, duration: float, cpu: float
) -> MeteredValues | None:
    """The row of seconds beside which nothing was told, if there was time for them.

    Most tasks that tell anything tell this: it comes to the same as for several.
    """
    if type(value) is not float or not 0.0 < value <= duration:
        return None
    on_core = value - (duration - cpu if cpu < duration else 0.0)
    if not on_core > 0.0:
        on_core = 0.0
    if type(label) is not str or not label.isascii():
        label = text_of(label)
    return function, span, label, unit, value, on_core


def without_seconds(rows: Sequence[MeteredValues]) -> list[MeteredValues]:
    """Of a run that failed: all its seconds are `failed`."""
    return [row for row in rows if row[_UNIT] != SECONDS]


def _figure(value: Any) -> float | None:
    try:
        figure = value if type(value) is float else float(value)
    except Exception:  # noqa: BLE001 (a value of a user's own, which is no number)
        return None
    return figure if isfinite(figure) and abs(figure) <= MOST_VALUE else None
