"""Blocks that were sent, kept for an observer that comes anew.

Names, spans, workers and lanes outlast the ring: without them the observer could not
tell what the rows that are left speak of (as in ``src/sidecar/scheduler/observer-link.ts``)::

    seq   1 … 40 000              40 001 … 50 000
          lasting: 1 2 17 …       ring: all
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import chain, takewhile

from spanwise.records.log_writer import SealedBlock
from spanwise.records.tables import record_tables

RING_BYTES = 64 * 2**20
LASTING_BYTES = 16 * 2**20
#: What other rows refer to, or what holds until a later row says otherwise.
_LASTING = (
    "header",
    "names",
    "spans",
    "workers",
    "lanes",
    "capacity",
    "stacks",
    "frames",
    "memoryRuns",
)


@dataclass
class LogGap:
    """Rows of one table that an observer will not get; times are those of their blocks."""

    table: int
    start: float
    stop: float
    rows: int


_Kept = tuple[SealedBlock, float]


class ReplayRing:
    """The newest blocks, and the lasting ones of those that are older.

    Parameters
    ----------
    ring_bytes, lasting_bytes
        How much is kept.
    """

    def __init__(self, ring_bytes: int = RING_BYTES, lasting_bytes: int = LASTING_BYTES) -> None:
        self._ring: deque[_Kept] = deque()
        self._lasting: deque[_Kept] = deque()
        self._ring_bytes, self._lasting_bytes = ring_bytes, lasting_bytes
        self._ring_left, self._lasting_left = ring_bytes, lasting_bytes
        self._lasting_tables = {record_tables()[name].number for name in _LASTING}
        self._acknowledged = 0
        #: All that is gone, and what of it was gone before it was acknowledged; by table.
        self._gone: dict[int, LogGap] = {}
        self._gone_unseen: dict[int, LogGap] = {}

    def push(self, block: SealedBlock, at: float) -> None:
        """Keep a block that was sealed `at` seconds after the log's start."""
        self._ring.append((block, at))
        self._ring_left -= len(block.data)
        while self._ring_left < 0 and len(self._ring) > 1:
            old = self._ring.popleft()
            self._ring_left += len(old[0].data)
            if old[0].table in self._lasting_tables:
                self._keep_lasting(old)
            else:
                self._lose(old)

    def _keep_lasting(self, kept: _Kept) -> None:
        self._lasting.append(kept)
        self._lasting_left -= len(kept[0].data)
        while self._lasting_left < 0:
            old = self._lasting.popleft()
            self._lasting_left += len(old[0].data)
            self._lose(old)

    def _lose(self, kept: _Kept) -> None:
        _tally(self._gone, kept)
        if kept[0].seq > self._acknowledged:
            _tally(self._gone_unseen, kept)

    def acknowledge(self, seq: int) -> None:
        """The observer has every block up to this one."""
        self._acknowledged = max(self._acknowledged, seq)

    def resume(self, have: int) -> list[LogGap]:
        """An observer has the blocks up to `have`: what it will never get.

        One that has some blocks lacks only what it did not acknowledge; a new one all
        that is gone.
        """
        gaps = self._gone_unseen if have > 0 else self._gone
        found = list(gaps.values())
        self._gone_unseen = {}
        self._acknowledged = have
        return found

    def after(self, seq: int, most_bytes: int) -> list[SealedBlock]:
        """Return the kept blocks behind `seq`, oldest first, about `most_bytes` of them."""
        # Backwards: what has not been sent is the ring's end.
        newer = [
            kept[0] for kept in takewhile(lambda kept: kept[0].seq > seq, reversed(self._ring))
        ]
        older: list[SealedBlock] = []
        if newer and len(newer) == len(self._ring):
            older = [kept[0] for kept in self._lasting if kept[0].seq > seq]
        found = []
        nbytes = 0
        for block in chain(older, reversed(newer)):
            if nbytes > most_bytes:
                break
            nbytes += len(block.data)
            found.append(block)
        return found


def _tally(gaps: dict[int, LogGap], kept: _Kept) -> None:
    block, at = kept
    gap = gaps.get(block.table)
    if gap is None:
        gaps[block.table] = LogGap(block.table, at, at, block.rows)
    else:
        gap.rows += block.rows
        gap.stop = at
