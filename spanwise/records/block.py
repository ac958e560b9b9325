"""Blocks of the record log: rows of one table, as bytes (drawn in ``src/records/block.ts``)."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from spanwise.records.tables import RecordTable, record_tables, tables_by_number

_MAGIC = int.from_bytes(b"SWB2", "little")
#: Some columns have one value for all rows, which stands there once.
_CONSTANTS_MAGIC = int.from_bytes(b"SWB3", "little")
#: Numbers of spans are u16.
_FIRST_MAGIC = int.from_bytes(b"SWB1", "little")
_HEADER = struct.Struct("<IIHHIII")


class BrokenBlock(ValueError):
    """The bytes are not a block of this log."""


class Block:
    """A block as read; columns are views of its bytes.

    Attributes
    ----------
    seq, rows, nbytes : int
    table : RecordTable
    """

    __slots__ = (
        "_constants",
        "_formats",
        "_starts",
        "_text_start",
        "_view",
        "nbytes",
        "rows",
        "seq",
        "table",
    )

    def __init__(
        self,
        table: RecordTable,
        seq: int,
        rows: int,
        view: memoryview,
        starts: list[int],
        text_start: int,
        formats: tuple[str, ...],
        constants: int,
    ) -> None:
        self.table = table
        self.seq = seq
        self.rows = rows
        self.nbytes = view.nbytes
        self._view = view
        self._starts = starts
        self._text_start = text_start
        self._formats = formats
        self._constants = constants

    def numbers(self, name: str) -> memoryview:
        """A column as a typed view; of a text column, its end offsets."""
        position = list(self.table.columns).index(name)
        start = self._starts[position]
        letter = self._formats[position]
        count = _values_of(self._constants, position, self.rows)
        values = self._view[start : start + count * struct.calcsize(letter)]
        if count != self.rows:
            values = memoryview(bytes(values) * self.rows)
        # A format of one letter; mypy knows only the literal ones.
        return values.cast(letter)  # type: ignore[call-overload,no-any-return]

    def texts(self, name: str) -> list[str]:
        """A text column."""
        start = 0
        for other, kind in self.table.columns.items():
            if kind != "text":
                continue
            ends = self.numbers(other).tolist()
            if other == name:
                return [self._slice(a, b) for a, b in zip([start, *ends], ends, strict=False)]
            start = ends[-1] if ends else start
        raise KeyError(f"{self.table.name}.{name} is not a text column")

    def _slice(self, start: int, stop: int) -> str:
        at = self._text_start
        return str(self._view[at + start : at + stop], "utf-8", "replace")

    def column(self, name: str) -> list[Any]:
        """A column as a list of numbers or texts."""
        if self.table.columns[name] == "text":
            return self.texts(name)
        return self.numbers(name).tolist()


def decode_block(data: bytes | bytearray | memoryview) -> Block:
    """The block at the beginning of `data`; what follows it is left alone.

    Raises
    ------
    BrokenBlock
    """
    view = memoryview(data).cast("B")
    if view.nbytes < _HEADER.size:
        raise BrokenBlock(f"A block of {view.nbytes} bytes.")
    magic, seq, number, constants, rows, text_bytes, total = _HEADER.unpack_from(view)
    known = (_CONSTANTS_MAGIC,) if constants else (_MAGIC, _FIRST_MAGIC)
    if magic not in known:
        raise BrokenBlock("Not a block of this format.")
    table = tables_by_number().get(number)
    if table is None:
        raise BrokenBlock(f"No table {number}.")
    if total > view.nbytes:
        raise BrokenBlock(f"{total} bytes, but {view.nbytes} are there.")
    formats = table.formats_before if magic == _FIRST_MAGIC else table.formats
    # Neither the first column nor one of texts: the rows always follow from the length.
    kinds = table.columns.values()
    named = sum(1 << i for i, kind in enumerate(kinds) if i > 0 and kind != "text")
    if constants & ~named:
        raise BrokenBlock(f"{table.name}: columns have one value that may not, or are not there.")
    at = _HEADER.size
    starts = []
    for position, letter in enumerate(formats):
        at += -at % 8
        starts.append(at)
        at += _values_of(constants, position, rows) * struct.calcsize(letter)
    at += -at % 8
    if at + text_bytes + -text_bytes % 8 != total:
        raise BrokenBlock(
            f"{table.name}: {rows} rows and {text_bytes} bytes of text do not make {total} bytes."
        )
    block = Block(table, seq, rows, view[:total], starts, at, formats, constants)
    previous = 0
    for name, kind in table.columns.items():
        if kind == "text":
            for end in block.numbers(name):
                if not previous <= end <= text_bytes:
                    raise BrokenBlock(f"{table.name}.{name}: a text ends before it starts.")
                previous = end
    return block


def _values_of(constants: int, position: int, rows: int) -> int:
    """How many values of a column stand in the block."""
    return 1 if constants >> position & 1 else rows


def decode_blocks(data: bytes | bytearray | memoryview) -> Iterator[Block]:
    """The blocks that stand one behind the other."""
    view = memoryview(data).cast("B")
    while view.nbytes:
        block = decode_block(view)
        yield block
        view = view[block.nbytes :]


def encode_block(seq: int, table: str, columns: Mapping[str, Sequence[Any]]) -> bytes:
    """A block from columns of numbers and texts, all written whole.

    Byte for byte what TypeScript writes of few rows.

    Raises
    ------
    ValueError
        A column is missing or the columns differ in length.
    """
    described = record_tables()[table]
    if columns.keys() != described.columns.keys():
        raise ValueError(f"{table} has the columns {list(described.columns)}")
    rows = {len(values) for values in columns.values()}
    if len(rows) != 1:
        raise ValueError(f"{table}: the columns differ in length")
    (count,) = rows
    pieces: list[bytes] = []
    at = _HEADER.size
    text = b""
    for (name, kind), letter in zip(described.columns.items(), described.formats, strict=True):
        values: Sequence[Any] = columns[name]
        if kind == "text":
            added, lengths = _encoded(values)
            values = [*accumulate(lengths, initial=len(text))][1:]
            text += added
        if not isinstance(values, array) or values.typecode != letter:
            values = array(letter, values)
        packed = values.tobytes()
        padding = -at % 8
        pieces += [bytes(padding), packed]
        at += padding + len(packed)
    padding = -at % 8
    pieces += [bytes(padding), text, bytes(-len(text) % 8)]
    total = at + padding + len(text) + -len(text) % 8
    header = _HEADER.pack(_MAGIC, seq, described.number, 0, count, len(text), total)
    return b"".join([header, *pieces])


def _encoded(texts: Sequence[str]) -> tuple[bytes, Iterable[int]]:
    """Texts one behind the other, and how many bytes each takes."""
    whole = "".join(texts)
    if whole.isascii():
        return whole.encode(), map(len, texts)
    # Like a browser's encoder: half of a surrogate pair becomes U+FFFD.
    each = [
        text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        for text in texts
    ]
    return b"".join(each), map(len, each)
