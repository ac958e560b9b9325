"""Messages as nobody would send them: of the right structure mostly, with any content.

What a message may hold is read from ``schema.json``, so a new message or column is drawn
without a line here.  They are packed by hand: the encoder would not write most of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

import msgpack

from spanwise.wire import payload
from spanwise.wire.schema import FORMAT_OF, described_messages

_EDGES: dict[str, list[Any]] = {
    "B": [0, 1, 2, 3, 7, 127, 255],
    "H": [0, 1, 2, 0x7FFF, 0xFFFE, 0xFFFF],
    "I": [0, 1, 2, 255, 65_536, 2**31, 2**32 - 2, 2**32 - 1],
    "i": [0, 1, -1, 2**31 - 1, -(2**31)],
    "f": [0.0, -1.0, 1e30, float("nan"), float("inf"), float("-inf")],
    "d": [0.0, -0.0, -1.0, 1e18, 1e300, -1e300, float("nan"), float("inf"), float("-inf")],
}
_TEXTS = [
    "",
    "a",
    "0",
    "²",
    "9" * 5000,
    "x\0y",
    "ü" * 50,
    "unix:",
    "unix:/nowhere",
    "tcp:127.0.0.1:1",
]
_TEXTS += [
    "tcp:h\0st:1",
    "tcp:127.0.0.1:99999",
    "tcp:" + "x." * 200 + ":1",
    "KilledWorker",
    "running",
]
_ODD = [
    None,
    True,
    -1,
    2**63,
    1.5,
    float("inf"),
    float("nan"),
    "x",
    b"x",
    [],
    {},
    [[[]]],
    {"a": {}},
]

_BOUNDS = {
    "u16": (0, 2**16 - 1),
    "u32": (0, 2**32 - 1),
    "count": (0, 2**53 - 1),
    "blobOrNone": (-1, None),
}

#: Values that are right where a column or field has this name: ids that are known, say.
Known = Mapping[str, Callable[[], Any]]
#: So often tables that are rare have no rows.
_EMPTY = 0.9


class DrawnFrames:
    """Draws bodies of one link in one direction.

    Parameters
    ----------
    known
        By name of a column or field, what draws a right value for it.
    rare
        Tables that are mostly empty: else no message would be right that can have them.
    """

    def __init__(
        self,
        link: str,
        direction: str,
        random: Random,
        known: Known | None = None,
        rare: Collection[str] = (),
    ) -> None:
        self.random = random
        self._rare = rare
        self._messages = described_messages(link, direction)
        self._known = known or {}
        #: How often something of a message is wrong. Half of all draws are wrong in nothing but
        #: what ids and rows they name, so that what follows is looked at.
        self._wild = random.choice([0.0, 0.0, 0.005, 0.1])

    def body(self, kind: str, fields: dict[str, Any] | None = None) -> bytes:
        """The body of a message of this type; `fields` are as given, the others are drawn."""
        chance = self.random
        described = self._messages[kind]
        drawn = {**self._map(described["fields"]), **(fields or {})}
        if self._is_wild():
            drawn[chance.choice(["x", *described["fields"]])] = chance.choice(_ODD)
        counts: list[int] = []
        sections: list[bytes] = []
        for table_name, columns in described["tables"]:
            rows = chance.choice([0, 1, 1, 2, 3, 5])
            if table_name in self._rare and chance.random() < _EMPTY:
                rows = 0
            counts.append(rows)
            if rows:
                table = b""
                for name, type_ in columns:
                    letter = FORMAT_OF[type_]
                    values = self._column(name, letter, rows)
                    table += bytes(-len(table) % 8) + struct.pack(f"<{rows}{letter}", *values)
                sections.append(table)
        blobs = [self._blob() for _ in range(chance.choice([1, 1, 2, 3]))]
        if self._is_wild():
            blobs.clear()
        header: dict[str, Any] = {"t": kind, "f": drawn, "b": [len(blob) for blob in blobs]}
        if any(counts):
            header["r"] = counts
        if self._is_wild():
            header[chance.choice(["t", "f", "r", "b"])] = chance.choice([*_ODD, [2**32 - 1] * 2])
        packed = msgpack.packb(header)
        body = struct.pack("<I", len(packed)) + packed
        for section in [*sections, *blobs]:
            if section:
                body += bytes(-len(body) % 8) + section
        return body[: chance.randrange(len(body))] if self._is_wild() else body

    def framed(self, kind: str, fields: dict[str, Any] | None = None) -> list[bytes]:
        """The same with its length."""
        body = self.body(kind, fields)
        return [struct.pack("<I", len(body)), body]

    def _is_wild(self) -> bool:
        return self.random.random() < self._wild

    def _blob(self) -> bytes:
        chance = self.random
        if chance.random() < 0.6:
            return b"".join(bytes(each) for each in payload.dumps(chance.choice([1, "two", [3]])))
        return chance.randbytes(chance.choice([0, 1, 7, 15, 16, 17, 40]))

    def _column(self, name: str, letter: str, rows: int) -> list[Any]:
        chance = self.random
        if self._is_wild():
            return [chance.choice(_EDGES[letter]) for _ in range(rows)]
        if name in self._known:
            return [self._known[name]() for _ in range(rows)]
        if name.startswith("first"):
            return sorted(chance.randrange(3) for _ in range(rows))
        if letter in "fd":
            return [chance.random() * 10 for _ in range(rows)]
        return [chance.randrange(8) for _ in range(rows)]

    def _map(self, kinds: Mapping[str, Any]) -> dict[str, Any]:
        drawn = {}
        for name, kind in kinds.items():
            if self._is_wild():
                continue
            if name in self._known:
                drawn[name] = self._known[name]()
            elif not (isinstance(kind, dict) and "optional" in kind and self.random.random() < 0.3):
                drawn[name] = self._value(kind)
        return drawn

    def _value(self, kind: Any) -> Any:
        chance = self.random
        if self._is_wild():
            return chance.choice(_ODD)
        if kind == "text":
            return chance.choice(_TEXTS)
        if kind == "flag":
            return chance.random() < 0.5
        if kind == "number":
            return chance.choice([0.0, -1.0, 0.5, 7, 1e18, -1e300])
        if kind == "integer":
            return chance.choice([0, 1, -1, 2**53])
        if kind == "bytes":
            return chance.randbytes(chance.randrange(40))
        if kind == "any":
            return chance.choice(_ODD)
        if isinstance(kind, str):
            kind = {"integer": _BOUNDS[kind]}
        ((word, inner), *_) = kind.items()
        if word in ("integer", "number"):
            least, most = inner
            edges = [0, 1, 2, 3, 255, 2**32 - 1, 2**53 - 1, -1]
            fitting = [n for n in edges if n >= (least or 0) and n <= (most or 2**53)]
            return chance.choice(fitting)
        if word in ("optional", "nullable"):
            return self._value(inner)
        if word == "list":
            return [self._value(inner) for _ in range(chance.choice([0, 1, 2, 3]))]
        if word == "texts":
            return {chance.choice(_TEXTS): self._value(inner) for _ in range(chance.randrange(3))}
        if word == "map":
            return self._map(inner)
        if word == "oneOf":
            return chance.choice(inner)
        if word == "either":
            return self._value(chance.choice(inner))
        raise ValueError(f"Nothing to draw for {kind!r}")
