"""How `client.fine_metrics()` shows itself: as a short table, in the manner of a list of spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from dask.utils import format_bytes

from spanwise.observed.span_list import one_line

#: Activities that are shown, those with most, as many as pandas shows of a table; what is longer
#: than this is cut.
_SHOWN, _LENGTH = 60, 40


class FineTable(NamedTuple):
    """What stands above the table, its rows (name, amount, share), and the lines below."""

    heading: str
    rows: list[tuple[str, str, str]]
    after: list[str]

    def as_text(self) -> str:
        """In columns, for terminals."""
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = [self.heading]
        for name, amount, share in self.rows:
            row = f"  {name:<{widths[0]}}  {amount:>{widths[1]}}  {share:>{widths[2]}}"
            lines.append(row.rstrip())
        # (what says of rows that they are left out begins as they do)
        lines += [f"  {each}" if each.startswith("…") else each for each in self.after]
        return "\n".join(lines)


def fine_table(
    entries: int,
    functions: int,
    activities: Mapping[Any, float],
    unit: str,
    beside: Mapping[str, float] | None = None,
    others: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> FineTable:
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
    heading = f"{entries:,} fine metric{'' if entries == 1 else 's'}"
    if rows:
        count = f"{functions:,} function{'' if functions == 1 else 's'}"
        # (of other wholes than the panel's, which has idle time in it)
        columns = "activity, thread time, share of it" if has_shares else "activity, amount"
        heading += f" of {count} ({columns}):"
    after = []
    if len(most) > len(rows):
        after.append(f"… and {len(most) - len(rows):,} more with less: .to_pandas() has all")
    aside = [f"{what} {_amount(value, unit)}" for what, value in (beside or {}).items() if value]
    if aside:
        after.append(f"Beside these: {', '.join(aside)}")
    asks = [".by_function()"] if rows else []
    asks += [f".by_activity({each!r})" for each in others]
    if asks:
        after.append(f"Ask {', '.join(asks)} or .to_pandas()")
    after += [f"Note: {one_line(note)}" for note in notes]
    return FineTable(heading, rows, after)


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
