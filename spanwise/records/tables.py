"""The tables of the record log, as ``tables.json`` (written from TypeScript) has them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

_FORMATS = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f32": "f", "f64": "d", "text": "I"}


class RecordTable:
    """One table of the log.

    Attributes
    ----------
    name : str
    number : int
        In a block's header.
    columns : dict of str to str
        Name to type: u8, u16, u32, i32, f32, f64 or text.
    formats : tuple
        Format letter of each column; of a text column, of its end offsets.
    formats_before : tuple
        The letters in a block of the first format.
    """

    __slots__ = ("columns", "formats", "formats_before", "name", "number")

    def __init__(self, name: str, described: dict[str, Any]) -> None:
        self.name = name
        self.number: int = described["number"]
        self.columns: dict[str, str] = dict(described["columns"])
        self.formats = tuple(_FORMATS[kind] for kind in self.columns.values())
        narrow = described["narrowBefore"]
        self.formats_before = tuple(
            "H" if column in narrow else letter
            for column, letter in zip(self.columns, self.formats, strict=True)
        )


@cache
def record_tables() -> dict[str, RecordTable]:
    """All tables by name."""
    text = resources.files("spanwise.records").joinpath("tables.json").read_text("utf-8")
    return {name: RecordTable(name, described) for name, described in json.loads(text).items()}


@cache
def tables_by_number() -> dict[int, RecordTable]:
    """All tables by the number that stands in a block's header."""
    return {table.number: table for table in record_tables().values()}
