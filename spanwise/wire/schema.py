"""The messages of every link, as ``schema.json`` (written from TypeScript) has them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from spanwise.wire.errors import BrokenFrame
from spanwise.wire.kinds import Check, compile_fields

#: Type of a column -> format letter of :mod:`struct`, :mod:`array` and memoryview.
FORMAT_OF = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f32": "f", "f64": "d"}


class TableType:
    """One table of a message type: its columns, and how rows are packed.

    Attributes
    ----------
    name : str
    columns : tuple of str
    formats : tuple of str
        Format letter of each column.
    widths : tuple of int
        Bytes of a value of each column.
    """

    __slots__ = ("columns", "formats", "layout", "name", "packer", "positions", "widths")

    def __init__(self, name: str, columns: list[tuple[str, str]]) -> None:
        self.name = name
        self.columns = tuple(column for column, _ in columns)
        self.formats = tuple(FORMAT_OF[kind] for _, kind in columns)
        self.widths = tuple(struct.calcsize(f"<{letter}") for letter in self.formats)
        self.positions = {column: i for i, column in enumerate(self.columns)}
        #: rows -> Struct of the whole table, columns padded to 8 bytes but the last.
        self.packer: Callable[[int], struct.Struct] = lru_cache(maxsize=256)(self._packer)
        #: rows -> (start of each column, bytes of the table), from the table's own start.
        self.layout: Callable[[int], tuple[tuple[int, ...], int]] = lru_cache(maxsize=256)(
            self._layout
        )

    def _layout(self, rows: int) -> tuple[tuple[int, ...], int]:
        starts = []
        end = 0
        for width in self.widths:
            start = end + -end % 8
            starts.append(start)
            end = start + rows * width
        return tuple(starts), end

    def _packer(self, rows: int) -> struct.Struct:
        pieces = []
        last = len(self.formats) - 1
        for i, (letter, width) in enumerate(zip(self.formats, self.widths, strict=True)):
            padding = -rows * width % 8 if i < last else 0
            pieces.append(f"{rows}{letter}{padding}x")
        return struct.Struct("<" + "".join(pieces))


class MessageType:
    """One message of a link in one direction."""

    __slots__ = ("by_name", "check", "name", "tables")

    def __init__(self, name: str, described: dict[str, Any]) -> None:
        self.name = name
        self.check: Check = compile_fields(described["fields"])
        self.tables = tuple(TableType(*table) for table in described["tables"])
        self.by_name = {table.name: table for table in self.tables}


class LinkType:
    """The messages of a link by direction: ``up`` from who dialled, ``down`` back."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.up = {t: MessageType(t, d) for t, d in described_messages(name, "up").items()}
        self.down = {t: MessageType(t, d) for t, d in described_messages(name, "down").items()}

    def direction(self, direction: str) -> dict[str, MessageType]:
        return self.up if direction == "up" else self.down

    def message(self, direction: str, name: object) -> MessageType:
        """The type of this name.

        Raises
        ------
        BrokenFrame
            The link has no such message in this direction.
        """
        found = self.direction(direction).get(name) if isinstance(name, str) else None
        if found is None:
            raise BrokenFrame(f'No message "{str(name)[:40]}" on the {self.name} link.')
        return found


_SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("schema.json").read_text("utf-8"))

PROTOCOL: int = _SCHEMA["protocol"]
ROLES: tuple[str, ...] = tuple(_SCHEMA["roles"])
#: Bytes of a body: ``unauthenticated``, ``panel`` and ``link`` (elsewhere).
BODY_LIMIT: dict[str, int] = _SCHEMA["bodyLimit"]
#: Ids in one `askKeys`.
MOST_KEYS_ASKED: int = _SCHEMA["mostKeysAsked"]


def described_messages(link: str, direction: str) -> dict[str, Any]:
    """What the schema says of the link's messages and of the handshake's, by type."""
    return {**_SCHEMA["handshake"][direction], **_SCHEMA["links"][link][direction]}


#: The welcome of roles from which nothing else is needed.
_ANY_WELCOME = {"clock": {"optional": "number"}}


@cache
def _welcome(role: str) -> Check:
    return compile_fields(_SCHEMA["welcomes"].get(role, _ANY_WELCOME))


def checked_welcome(role: str, welcome: dict[str, Any]) -> dict[str, Any]:
    """What an acceptor says about itself, looked over.

    Raises
    ------
    BrokenFrame
        Something is missing or of another kind.
    """
    filled: dict[str, Any] = _welcome(role)(dict(welcome), '"welcome".intro')
    return filled if role in _SCHEMA["welcomes"] else welcome


@cache
def link_type(name: str) -> LinkType:
    """The link of this role; compiled at first use, an import costs a JSON file only.

    Raises
    ------
    KeyError
        There is no such link.
    """
    return LinkType(name)
