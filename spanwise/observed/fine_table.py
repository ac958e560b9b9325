"""How `client.fine_metrics()` shows itself: as a short table, in the manner of a list of spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from dask.utils import format_bytes

from spanwise.observed.span_list import one_line

#: Activities that are shown, those with most, as many as pandas shows of a table; what is longer
#: than this is cut.
_SHOWN, _LENGTH = 60, 40


def fine_table(
    entries: int,
    functions: int,
    activities: Mapping[Any, float],
    unit: str,
    beside: Mapping[str, float] | None = None,
    others: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The activities with most, what is not among them, and what to ask next.

    Parameters
    ----------
    entries, functions
        How many there are.
    activities
        What each took.
    unit
        Of these.
    beside
        What is no activity of a task.
    others
        Further units that there are.
    notes
        Sentences on what is missing.
    """
    most = sorted(
        ((name, value) for name, value in activities.items() if value), key=lambda item: -item[1]
    )
    total = sum(value for _, value in most)
    # (an amount is of anything: rows, bytes sent and bytes read make no whole)
    has_shares = unit == "seconds"
    rows = [
        (
            one_line(name if isinstance(name, str) else repr(name), _LENGTH),
            _amount(value, unit),
            f"{_figure(100 * value / total, 1)} %" if has_shares and total > 0 else "",
        )
        for name, value in most[:_SHOWN]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{entries:,} fine metric{'' if entries == 1 else 's'}"]
    if rows:
        count = f"{functions:,} function{'' if functions == 1 else 's'}"
        columns = "activity, thread time, share" if has_shares else "activity, amount"
        lines[0] += f" of {count} ({columns}):"
    for name, amount, share in rows:
        row = f"  {name:<{widths[0]}}  {amount:>{widths[1]}}  {share:>{widths[2]}}"
        lines.append(row.rstrip())
    if len(most) > len(rows):
        lines.append(f"  … and {len(most) - len(rows):,} more with less: .to_pandas() has all")
    aside = [f"{what} {_amount(value, unit)}" for what, value in (beside or {}).items() if value]
    if aside:
        lines.append(f"Beside these: {', '.join(aside)}")
    asks = [".by_function()"] if rows else []
    asks += [f".by_activity({each!r})" for each in others]
    if asks:
        lines.append(f"Ask {', '.join(asks)} or .to_pandas()")
    lines += [f"Note: {one_line(note)}" for note in notes]
    return "\n".join(lines)


def _amount(value: float, unit: str) -> str:
    if unit == "seconds":
        return f"{_figure(value, 3)} s"
    if unit == "bytes" and isfinite(value):
        return str(format_bytes(int(value)))
    number = _figure(value, 0 if value.is_integer() else 3)
    return number if unit == "count" else f"{number} {one_line(unit, _LENGTH)}"


def _figure(value: float, places: int) -> str:
    """Rounded; what rounds to nothing has no sign, as there is no less than nothing of it."""
    return f"{round(value, places) + 0.0:,.{places}f}"
