"""Checks the content of messages whose form is right.

Offsets lie within what they point into, ids are those that were asked for, amounts are
numbers that can be.  ``src/sidecar/scheduler-process/check-messages.ts`` is the same for the
scheduler.  The receiver of a link gives its check to :meth:`spanwise.wire.link.Link.look_over`,
so that nothing of a refused message has been taken in.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from spanwise.wire.errors import BrokenFrame
from spanwise.wire.frame import Message

#: Most bytes of one result: a pebibyte, as in the scheduler.
MOST_BYTES = 2.0**50
#: Seconds of any clock: thirty thousand years. Differences of such fit every column.
MOST_SECONDS = 1e12


def broken(message: Message, field: str, why: str) -> BrokenFrame:
    """The error that names a message and its field."""
    return BrokenFrame(f'"{message.type}".{field}: {why}')


def check_blob(message: Message, field: str, blob: int) -> None:
    """Raise BrokenFrame unless the message has a blob of this number."""
    if blob >= len(message.blobs):
        raise broken(message, field, f"blob {blob} of {len(message.blobs)}")


def check_ascending(message: Message, field: str, values: list[int], end: int) -> None:
    """Each row's stretch ends where the next one's begins, the last one's at `end`."""
    if not values or (values == sorted(values) and values[-1] <= end):
        return
    last = 0
    for value in values:
        if value < last or value > end:
            raise broken(message, field, f"{value} after {last}, of {end}")
        last = value


def check_sizes(message: Message, field: str, values: Sequence[float]) -> None:
    """Bytes of results."""
    # Values of 0 or more are never larger than their sum.
    if not values or (sum(values) <= MOST_BYTES and min(values) >= 0):
        return
    _check_within(message, field, values, 0.0, MOST_BYTES)


def check_moments(message: Message, field: str, values: Sequence[float]) -> None:
    """Seconds of a clock."""
    _check_within(message, field, values, -MOST_SECONDS, MOST_SECONDS)


def check_lengths(message: Message, field: str, values: Sequence[float]) -> None:
    """Seconds that something took; −1: it goes on."""
    _check_within(message, field, values, -1.0, MOST_SECONDS)


def check_amounts(message: Message, field: str, values: Sequence[float]) -> None:
    """Seconds that are over."""
    _check_within(message, field, values, 0.0, MOST_SECONDS)


def check_finite(message: Message, field: str, values: Sequence[float]) -> None:
    """Numbers that can be compared and added."""
    if not isfinite(sum(values)):
        _check_within(message, field, values, -1e300, 1e300)


def _check_within(
    message: Message, field: str, values: Sequence[float], least: float, most: float
) -> None:
    # A NaN shows in the sum; in min and max it may not.
    if not values or (isfinite(sum(values)) and min(values) >= least and max(values) <= most):
        return
    for value in values:
        if not least <= value <= most:
            raise broken(message, field, f"{value}, expected {least:g} to {most:g}")


def column(message: Message, table: str, name: str) -> Any:
    """A column as a list."""
    return message.table(table).column(name).tolist()
