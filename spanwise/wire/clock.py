"""Compares the other side's clock, read in a handshake, with two readings of ours.

::

    ours     sent ────────────── middle ────────────── received      perf_counter()
                  ╲ proof                    welcome ╱
    theirs         ──────────────── clock ──────────                 Node's hrtime

On Linux both are CLOCK_MONOTONIC and `clock` lies between `sent` and `received`. Elsewhere
they may count from different moments. Half the round trip is the most that an offset can be
wrong, so clocks that agree within it are taken to be one clock, and nothing is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.wire.schema import link_type

#: Clocks that differ by no more than this are one clock, whose readings have such an error.
SAME_SECONDS = 0.001
#: The columns of the worker's messages that hold a moment.
_MOMENTS = ("t", "start", "started")


def clock_offset(theirs: float | None, sent: float, received: float) -> float:
    """Seconds to add to our perf_counter to get their clock; 0 if both are one.

    Parameters
    ----------
    theirs
        Their clock at some moment of the round trip; None: not told.
    sent, received
        Ours at its beginning and end.
    """
    if theirs is None or sent - SAME_SECONDS <= theirs <= received + SAME_SECONDS:
        return 0.0
    return theirs - (sent + received) / 2


def in_their_clock(
    kind: str, tables: Mapping[str, Sequence[Sequence[Any]]], offset: float
) -> dict[str, Any]:
    """The tables of a worker's message with each moment in the scheduler's clock."""
    described = link_type("worker").message("up", kind).by_name
    shifted: dict[str, Any] = {}
    for name, rows in tables.items():
        columns = described[name].columns
        at = next((columns.index(each) for each in _MOMENTS if each in columns), None)
        if at is None:
            shifted[name] = rows
        else:
            shifted[name] = [(*row[:at], row[at] + offset, *row[at + 1 :]) for row in rows]
    return shifted
