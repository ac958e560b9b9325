"""Tells the log of a Dask cluster how far tasks are, by function and span.

Of what has changed a row is written. When nobody has looked a row says that what was told is not
kept up, and all is told anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spanwise.records.enumerations import LARGEST_U32, NONE_U32

_NONE = (0, 0, 0, 0, 0, 0)


class Progress(NamedTuple):
    """So many tasks of one function and span are so far, as the table ``progress`` has them.

    Attributes
    ----------
    function, span
        The log's numbers; ``NONE_U32``: of any function.
    """

    function: int
    span: int
    done: int
    memory: int
    running: int
    waiting: int
    failed: int
    dropped: int


class ToldProgress:
    """What a log says of how far tasks are."""

    def __init__(self) -> None:
        #: By function and span, what the log says.
        self._logged: dict[tuple[int, int], tuple[int, ...]] = {}

    def unseen(self) -> list[tuple[int, ...]]:
        """Nobody looks: the row that says so, without its time, if any was told."""
        if not self._logged:
            return []
        self._logged.clear()
        return [(NONE_U32, NONE_U32, *_NONE)]

    def changed(self, told: Sequence[Progress]) -> list[tuple[int, ...]]:
        """Rows of the log without their time."""
        now: dict[tuple[int, int], tuple[int, ...]] = {}
        for function, span, *counts in told:
            # (several names of Dask may be one here: spans for which there was no room)
            before = now.get((function, span), _NONE)
            sums = (sum(each) for each in zip(counts, before, strict=True))
            now[function, span] = tuple(min(max(count, 0), LARGEST_U32) for count in sums)
        now |= dict.fromkeys(self._logged.keys() - now.keys(), _NONE)
        rows = [
            (*key, *counts) for key, counts in now.items() if self._logged.get(key, _NONE) != counts
        ]
        self._logged = {key: counts for key, counts in now.items() if counts != _NONE}
        return rows
