"""Writes one log: open rows per table, sealed together into numbered blocks.

The mirror of ``src/records/log-writer.ts``: all tables are sealed at the same time, in
the order of their numbers, which is the order in which they refer to each other (names
before spans, nodes before runs before parts).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from spanwise.records.block import encode_block
from spanwise.records.tables import RecordTable, record_tables

#: A table's columns by name.
Columns = Mapping[str, Sequence[Any]]

#: Every row is sealed within this time …
SEAL_SECONDS = 0.05
#: … and from so many rows on at once; a block holds no more (runs: 60 bytes a row).
SEAL_ROWS = 1_000


class SealedBlock(NamedTuple):
    """A block on its way to the observer.

    Attributes
    ----------
    table
        The table's number.
    rows
        How many it holds.
    """

    seq: int
    table: int
    rows: int
    data: bytes


class LogWriter:
    """Collects rows; not safe from several threads, its owner has a lock.

    Parameters
    ----------
    emit
        Takes sealed blocks; their seq counts 1, 2, 3 …
    """

    def __init__(self, emit: Callable[[SealedBlock], None]) -> None:
        self._emit = emit
        self._tables = sorted(record_tables().values(), key=lambda table: table.number)
        self._rows: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in self._tables}
        #: More of them, in batches, behind the rows above.
        self._columns: dict[str, list[Columns]] = {table.name: [] for table in self._tables}
        self._open_since: float | None = None
        #: Of the newest sealed block; 0 before the first.
        self.seq = 0

    def add(self, table: str, *row: Any) -> None:
        """Add one row: its values in the order of the table's columns."""
        self._rows[table].append(row)

    def extend(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows, each in the order of the table's columns."""
        self._rows[table].extend(rows)

    def extend_columns(self, table: str, columns: Mapping[str, Iterable[Any]]) -> None:
        """Add many rows: all columns of the table, of one length; of text a list, left alone then.

        They cost Python's collector nothing, which walks through all that there is when enough
        tuples have been made. They come behind the table's other rows.
        """
        self._columns[table].append(_packed(record_tables()[table], columns))

    def commit(self, now: float) -> None:
        """Seal what is due; `now` is seconds of any steady clock."""
        most = max(map(len, self._rows.values()))
        for batches in self._columns.values():
            if batches:
                most = max(most, sum(map(_rows_of, batches)))
        if not most:
            return
        if self._open_since is None:
            self._open_since = now
        if most >= SEAL_ROWS or now >= self._open_since + SEAL_SECONDS:
            self.seal()

    def seal(self) -> int:
        """Seal all open rows; return the number of the newest block.

        Raises
        ------
        ValueError
            A row has more or fewer values than its table has columns.
        """
        self._open_since = None
        for table in self._tables:
            if not self._rows[table.name] and not self._columns[table.name]:
                continue
            for count, columns in self._take(table):
                self.seq += 1
                data = encode_block(self.seq, table.name, columns)
                self._emit(SealedBlock(self.seq, table.number, count, data))
        return self.seq

    def _take(self, table: RecordTable) -> Iterator[tuple[int, Columns]]:
        """What is open of a table, and how many rows, in pieces for a block each."""
        rows, self._rows[table.name] = self._rows[table.name], []
        batches, self._columns[table.name] = self._columns[table.name], []
        for first in range(0, len(rows), SEAL_ROWS):
            some = rows[first : first + SEAL_ROWS]
            columns = dict(zip(table.columns, zip(*some, strict=True), strict=True))
            yield len(some), columns
        if len(batches) > 1:
            batches = [{name: _joined([each[name] for each in batches]) for name in table.columns}]
        for whole in batches:
            for first in range(0, _rows_of(whole), SEAL_ROWS):
                piece = {name: each[first : first + SEAL_ROWS] for name, each in whole.items()}
                yield _rows_of(piece), piece


def _rows_of(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _packed(table: RecordTable, columns: Mapping[str, Iterable[Any]]) -> Columns:
    """Columns of numbers as arrays, which are neither copied one by one nor looked through."""
    return {
        name: columns[name] if kind == "text" else array(letter, columns[name])  # type: ignore[misc]
        for (name, kind), letter in zip(table.columns.items(), table.formats, strict=True)
    }


def _joined(columns: list[Sequence[Any]]) -> Sequence[Any]:
    first = columns[0]
    if not isinstance(first, array):
        return [*chain(*columns)]
    whole = first[:]
    for each in columns[1:]:
        whole.extend(each)
    return whole
