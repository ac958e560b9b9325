"""Frames: messages to bytes and back; the layout is drawn in docs/contracts.md §1.

A table to send is either a mapping from column to values (any buffer of the column's
type, or a sequence of numbers), or a list of rows, each a tuple in the columns' order.
Rows are the faster way for a few, buffers (:class:`array.array`, numpy) for many::

    encode(up, "finished", {}, {"runs": [(7, 1, 0, ...)]})
    encode(up, "want", {}, {"ids": {"id": array("I", ids)}})
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgpack

from spanwise.wire.errors import BrokenFrame, FrameTooLong
from spanwise.wire.kinds import unknown_fields
from spanwise.wire.schema import BODY_LIMIT, MessageType, TableType

if sys.byteorder != "little":  # pragma: no cover
    raise ImportError("Spanwise runs on little-endian machines only.")

#: Anything with the buffer protocol.
Buffer = bytes | bytearray | memoryview
#: A blob to send: a buffer, or several that are one on the wire (a payload).
Blob = Buffer | Sequence[Buffer]
Rows = Sequence[Sequence[float]]
TableInput = Mapping[str, Any] | Rows

_U32 = struct.Struct("<I")
_TWO_U32 = struct.Struct("<II")
_ZEROS = bytes(8)
#: Frames up to here are one buffer.
_JOINED_BYTES = 16 * 1024
#: From so many rows on, a Struct per number of rows is not worth its memory.
_PACKED_ROWS = 64

#: Headers up to this length are decoded without a check first: however their lists nest
#: (85 lists of 256 items at most), they cannot claim more than 200 KB.
_SHORT_HEADER = 256

_look_over_unknown = unknown_fields("tfrb", around=0)

#: Half a surrogate pair, as in file names that are no UTF-8, becomes "?": otherwise the
#: message could never be sent, nor those that wait behind it.
_packb = msgpack.Packer(use_bin_type=True, unicode_errors="replace").pack


class Table:
    """A table as received; columns are views of the message's bytes."""

    __slots__ = ("_body", "_start", "_type", "rows")

    def __init__(self, kind: TableType, rows: int, body: memoryview, start: int):
        self._type = kind
        #: Number of rows.
        self.rows = rows
        self._body = body
        self._start = start

    def __len__(self) -> int:
        return self.rows

    def column(self, name: str) -> memoryview:
        """One column as a typed view, without a copy (``numpy.asarray`` takes it as it is)."""
        position = self._type.positions[name]
        # One letter; mypy knows memoryview's literal ones only.
        letter = self._type.formats[position]
        if self.rows == 0:
            return memoryview(b"").cast(letter)  # type: ignore[call-overload,no-any-return]
        start = self._start + self._type.layout(self.rows)[0][position]
        stop = start + self.rows * self._type.widths[position]
        return self._body[start:stop].cast(letter)  # type: ignore[call-overload,no-any-return]

    __getitem__ = column

    def columns(self) -> list[memoryview]:
        """All columns, in order."""
        return [self.column(name) for name in self._type.columns]

    def values(self, *names: str) -> list[list[Any]]:
        """Values of the columns `names`, in that order; without names of all columns.

        Few rows are unpacked at once: views take longer. Of many only these columns are read.
        """
        kind = self._type
        wanted = names or kind.columns
        n = self.rows
        if n == 0:
            return [[] for _ in wanted]
        if n <= _PACKED_ROWS:
            flat = kind.packer(n).unpack_from(self._body, self._start)
            starts = [n * kind.positions[name] for name in wanted]
            return [list(flat[start : start + n]) for start in starts]
        return [self.column(name).tolist() for name in wanted]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Rows as tuples, in the columns' order."""
        n = self.rows
        if n == 0:
            return iter(())
        if n <= _PACKED_ROWS:
            flat = self._type.packer(n).unpack_from(self._body, self._start)
            if n == 1:
                return iter((flat,))
            return iter([flat[i::n] for i in range(n)])
        return zip(*(column.tolist() for column in self.columns()), strict=True)


class Message:
    """A message as received."""

    __slots__ = ("_tables", "blobs", "fields", "type")

    def __init__(
        self,
        kind: str,
        fields: dict[str, Any],
        tables: dict[str, Table],
        blobs: list[memoryview],
    ) -> None:
        self.type = kind
        self.fields = fields
        self._tables = tables
        self.blobs = blobs

    def table(self, name: str) -> Table:
        return self._tables[name]

    def __repr__(self) -> str:
        rows = {name: table.rows for name, table in self._tables.items() if table.rows}
        return f"<Message {self.type} {rows} {len(self.blobs)} blobs>"


def encode(
    kind: MessageType,
    fields: Mapping[str, Any] | None = None,
    tables: Mapping[str, TableInput] | None = None,
    blobs: Sequence[Blob] = (),
    limit: int = BODY_LIMIT["link"],
) -> list[Buffer]:
    """One frame, length prefix included, as buffers for ``sendmsg``; long ones copy no blobs.

    Raises
    ------
    FrameTooLong
        The message is longer than `limit`.
    ValueError
        A table is unknown, or its columns differ in length.
    """
    header: dict[str, Any] = {"t": kind.name}
    if fields:
        header["f"] = fields
    sections: list[tuple[int, list[Buffer]]] = []
    if tables:
        rows = [0] * len(kind.tables)
        for i, table in enumerate(kind.tables):
            given = tables.get(table.name)
            if given:
                rows[i], length, buffers = _encode_table(kind, table, given)
                if length:
                    sections.append((length, buffers))
        if len(tables) > len(kind.tables) or not tables.keys() <= kind.by_name.keys():
            raise ValueError(f'"{kind.name}" has no tables {sorted(tables)}')
        if sections:
            header["r"] = rows
    if blobs:
        lengths = []
        for blob in blobs:
            if type(blob) is bytes:
                lengths.append(len(blob))
                if blob:
                    sections.append((len(blob), [blob]))
                continue
            pieces = [blob] if isinstance(blob, (bytes, bytearray, memoryview)) else blob
            views: list[Buffer] = [_bytes_view(piece) for piece in pieces]
            length = sum(map(len, views))
            lengths.append(length)
            if length:
                sections.append((length, views))
        header["b"] = lengths
    packed: bytes = _packb(header)

    at = 4 + len(packed)
    out: list[Buffer] = [b"", packed]
    for length, buffers in sections:
        padding = -at % 8
        if padding:
            out.append(_ZEROS[:padding])
        out += buffers
        at += padding + length
    if at > limit:
        raise FrameTooLong(
            f'A "{kind.name}" message of {at} bytes is longer than the {limit} bytes '
            "that this link carries."
        )
    out[0] = _TWO_U32.pack(at, len(packed))
    # A gathered write of fifteen pieces costs 20 us more than one of a copy.
    return [b"".join(out)] if at <= _JOINED_BYTES else out


def _encode_table(
    kind: MessageType, table: TableType, given: TableInput
) -> tuple[int, int, list[Buffer]]:
    """Rows, bytes and buffers of one table, its inner padding included."""
    if isinstance(given, Mapping):
        columns: Sequence[Any] = [given[name] for name in table.columns]
    else:
        rows = len(given)
        if rows <= _PACKED_ROWS:
            flat = given[0] if rows == 1 else chain.from_iterable(zip(*given, strict=True))
            packed = table.packer(rows).pack(*flat)
            return rows, len(packed), [packed]
        columns = list(zip(*given, strict=True))
        if len(columns) != len(table.columns):
            raise ValueError(f'"{kind.name}": rows of {table.name} have {len(columns)} values')
    rows = len(columns[0])
    if rows == 0:
        return 0, 0, []
    buffers: list[Buffer] = []
    total = 0
    for name, letter, width, values in zip(
        table.columns, table.formats, table.widths, columns, strict=True
    ):
        view = _column_view(letter, width, values)
        if view.nbytes != rows * width:
            raise ValueError(
                f'"{kind.name}": {table.name}.{name} has {view.nbytes // width} rows, not {rows}'
            )
        padding = -total % 8
        if padding:
            buffers.append(_ZEROS[:padding])
        buffers.append(view)
        total += padding + view.nbytes
    return rows, total, buffers


def _bytes_view(piece: Buffer) -> Buffer:
    if isinstance(piece, (bytes, bytearray)):
        return piece
    return piece if piece.format == "B" and piece.ndim == 1 else piece.cast("B")


def _column_view(letter: str, width: int, values: Any) -> memoryview:
    if isinstance(values, (list, tuple, range)):
        return memoryview(array(letter, values)).cast("B")
    view = memoryview(values)
    same_kind = (view.format in "fd") == (letter in "fd")
    if view.itemsize != width or not same_kind:
        return memoryview(array(letter, view.tolist())).cast("B")
    return view.cast("B")


def decode(kinds: Mapping[str, MessageType], body: Buffer) -> Message:
    """The message in `body` (without the length prefix); columns and blobs are views of it.

    Parameters
    ----------
    kinds : mapping
        The messages of the link in this direction: ``link_type("worker").down``.

    Raises
    ------
    BrokenFrame
    """
    view = memoryview(body)
    nbytes = view.nbytes
    if nbytes < 4:
        raise BrokenFrame(f"A body of {nbytes} bytes.")
    (header_length,) = _U32.unpack_from(view)
    at = 4 + header_length
    if at > nbytes:
        raise BrokenFrame(f"A header of {header_length} bytes in a body of {nbytes}.")
    packed = view[4:at]
    try:
        if header_length > _SHORT_HEADER:
            check_shape(packed)
        header = msgpack.unpackb(
            packed, strict_map_key=True, max_ext_len=0, ext_hook=_refuse_extension
        )
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise BrokenFrame(f"The header is not msgpack: {error!r:.200}") from error
    if not isinstance(header, dict):
        raise BrokenFrame("The header is not a map.")
    name = header.get("t")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BrokenFrame(f'No message "{str(name)[:40]}" on this link.')
    counts = header.get("r")
    tables: dict[str, Table] = {}
    if counts is None:
        for table in kind.tables:
            tables[table.name] = Table(table, 0, view, 0)
    else:
        if not _are_lengths(counts) or (counts and len(counts) != len(kind.tables)):
            raise BrokenFrame(f'"{name}": the rows do not fit its {len(kind.tables)} tables.')
        for table, rows in zip(kind.tables, counts or [0] * len(kind.tables), strict=True):
            start = at
            if rows:
                start += -at % 8
                at = start + table.layout(rows)[1]
            tables[table.name] = Table(table, rows, view, start)
    blobs: list[memoryview] = []
    lengths = header.get("b")
    if lengths is not None:
        if not _are_lengths(lengths):
            raise BrokenFrame(f'"{name}": the blobs are not a list of lengths.')
        for length in lengths:
            if length:
                at += -at % 8
                # Cut short if the body ends earlier; refused below.
                blobs.append(view[at : at + length])
                at += length
            else:
                blobs.append(view[:0])
    if at != nbytes:
        raise BrokenFrame(f'"{name}" accounts for {at} of its {nbytes} bytes.')
    if len(header) > 1 + ("f" in header) + (counts is not None) + (lengths is not None):
        _look_over_unknown(header, f'"{name}"')
    fields = kind.check(header.get("f") or {}, f'"{name}"')
    return Message(kind.name, fields, tables, blobs)


def check_shape(packed: Buffer) -> None:
    """Look over msgpack before it is decoded, so that all items are there that lengths promise.

    The decoder makes room for a list when it has read its length, and lists nest: a thousand
    times the bytes of what came could be claimed.  Skipping makes nothing.

    Raises
    ------
    ValueError, msgpack.exceptions.UnpackException
        They are not, or maps and lists nest too deeply.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=len(packed))
    unpacker.feed(packed)
    unpacker.skip()


def _refuse_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"No message uses the extension type {code}.")


def _are_lengths(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    for n in value:  # noqa: SIM110 (a generator takes three times as long for one or two)
        if type(n) is not int or not 0 <= n < 2**32:
            return False
    return True
