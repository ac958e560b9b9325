"""Blocks that were sent, kept for a new observer.

Names, spans, workers and lanes outlast the ring: without them the observer could not
tell what the rows that are left speak of (as in ``src/link/replay-ring.ts``, which replays the
same trace)::

    seq   1 … 40 000              40 001 … 50 000
          lasting: 1 2 17 …       ring: all

Rows of the table ``gaps`` tell the observer what has left the ring. Their blocks are kept
like all others: a new observer gets those that are kept and is told the rest.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import chain, takewhile

from spanwise.records.log_writer import SealedBlock
from spanwise.records.tables import record_tables

RING_BYTES = 64 * 2**20
LASTING_BYTES = 16 * 2**20
#: Bound for an observer that takes blocks for days and acknowledges none.
MOST_UNCERTAIN = 1000
#: Tables of rows that other rows refer to, or that hold until a later row replaces
#: them.
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
    "gaps",
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
    most_uncertain
        At most so many uncertain losses are kept apart. When there are more, those of one
        table become one: an observer that comes back with some of these blocks is told that
        it lacks all.

    Attributes
    ----------
    sent
        Number of the last block that was taken for the observer.
    most_sent
        The newest block that was taken for any observer so far: none can have a later
        one.
    """

    def __init__(
        self,
        ring_bytes: int = RING_BYTES,
        lasting_bytes: int = LASTING_BYTES,
        most_uncertain: int = MOST_UNCERTAIN,
    ) -> None:
        self._ring: deque[_Kept] = deque()
        self._lasting: deque[_Kept] = deque()
        self._ring_bytes, self._lasting_bytes = ring_bytes, lasting_bytes
        self._ring_left, self._lasting_left = ring_bytes, lasting_bytes
        self._lasting_tables = {record_tables()[name].number for name in _LASTING}
        self._gap_table = record_tables()["gaps"].number
        self.sent = 0
        self.most_sent = 0
        self._newest = 0
        self._acknowledged = 0
        #: All that is gone, by table.
        self._gone: dict[int, LogGap] = {}
        #: Those of them that this observer lacks and has not been told about.
        self._untold: dict[int, LogGap] = {}
        #: Losses of blocks that left the ring after they were sent and before they were
        #: acknowledged: whether they arrived is known later.
        self._uncertain: list[_Lost] = []
        self._most_uncertain = most_uncertain
        #: Gaps that are rows of the log, in a block behind the number.
        self._told: list[tuple[int, list[LogGap]]] = []

    def push(self, block: SealedBlock, at: float) -> None:
        """Keep a block that was sealed `at` seconds after the log's start."""
        self._newest = block.seq
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
        # The newest stays, whatever its size, as in the ring.
        while self._lasting_left < 0 and len(self._lasting) > 1:
            old = self._lasting.popleft()
            self._lasting_left += len(old[0].data)
            self._lose(old)

    def _lose(self, kept: _Kept) -> None:
        block, at = kept
        if block.table == self._gap_table:
            # Observers that did not receive this block of `gaps` have to be told its gaps
            # again.
            lacked = [gap for number, gaps in self._told if number < block.seq for gap in gaps]
            self._told = [told for told in self._told if told[0] >= block.seq]
        else:
            lacked = [LogGap(block.table, at, at, block.rows)]
            _tally(self._gone, lacked[0])
        for gap in lacked:
            if block.seq > self.sent:
                _tally(self._untold, gap)
            elif block.seq > self._acknowledged:
                self._uncertain.append(_Lost(block.seq, gap))
        if len(self._uncertain) > self._most_uncertain:
            self._uncertain = _older_half_by_table(self._uncertain)

    def acknowledge(self, seq: int) -> None:
        """The observer has every block up to this one."""
        self._acknowledged = max(self._acknowledged, seq)
        self._uncertain = [lost for lost in self._uncertain if lost.seq > seq]

    def resume(self, have: int) -> None:
        """An observer has come, or come back: it has the blocks up to `have`, 0 if none."""
        if have == 0:
            self._untold = self._gone_less_told()
        else:
            for lost in self._uncertain:
                if lost.seq > have:
                    _tally(self._untold, lost.gap)
        self._uncertain = []
        self.sent = self._acknowledged = have

    def _gone_less_told(self) -> dict[int, LogGap]:
        told: Counter[int] = Counter()
        for _, gaps in self._told:
            for gap in gaps:
                told[gap.table] += gap.rows
        return {
            table: replace(gap, rows=gap.rows - told[table])
            for table, gap in self._gone.items()
            if gap.rows > told[table]
        }

    def take(self, most_bytes: int) -> list[SealedBlock]:
        """Return the next blocks for the observer, oldest first, about `most_bytes` of them."""
        # Backwards: what has not been sent is the ring's end.
        newer = [
            kept[0]
            for kept in takewhile(lambda kept: kept[0].seq > self.sent, reversed(self._ring))
        ]
        older: list[SealedBlock] = []
        if newer and len(newer) == len(self._ring):
            older = [kept[0] for kept in self._lasting if kept[0].seq > self.sent]
        found = []
        nbytes = 0
        for block in chain(older, reversed(newer)):
            if nbytes > most_bytes:
                break
            nbytes += len(block.data)
            found.append(block)
        if found:
            self.sent = found[-1].seq
            self.most_sent = max(self.most_sent, self.sent)
        return found

    def take_gaps(self) -> list[LogGap]:
        """Return the gaps that the observer has to be told of; the caller writes them into the log.

        Empty until all blocks were taken: these rows may push others out of the ring.
        """
        if self.sent < self._newest or not self._untold:
            return []
        gaps = list(self._untold.values())
        self._untold = {}
        self._told.append((self._newest, gaps))
        return gaps


@dataclass
class _Lost:
    """A block that is gone."""

    seq: int
    gap: LogGap


def _older_half_by_table(losses: list[_Lost]) -> list[_Lost]:
    """Replace the older half by one loss per table, certain when its newest block is."""
    half = len(losses) // 2
    gaps: dict[int, LogGap] = {}
    newest: dict[int, int] = {}
    for lost in losses[:half]:
        _tally(gaps, lost.gap)
        newest[lost.gap.table] = max(lost.seq, newest.get(lost.gap.table, 0))
    return [_Lost(newest[table], gap) for table, gap in gaps.items()] + losses[half:]


def _tally(gaps: dict[int, LogGap], lost: LogGap) -> None:
    gap = gaps.get(lost.table)
    if gap is None:
        gaps[lost.table] = replace(lost)
    else:
        gap.rows += lost.rows
        gap.start = min(gap.start, lost.start)
        gap.stop = max(gap.stop, lost.stop)
