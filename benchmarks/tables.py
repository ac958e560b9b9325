"""Writes the figures of ``benchmarks/results`` into docs/speed.md: ``python -m benchmarks.tables``.

Between ``<!-- compare.json -->`` and ``<!-- end -->`` stands what was measured when, where and
with what, and a table of the figures; between ``<!-- ratios of compare, … -->`` and
``<!-- end -->`` how many times as fast each of their rows is. A test fails when a page says
anything else.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from typing import Any

from benchmarks.records import CHECKOUT, RESULTS, Record

PAGE = CHECKOUT / "docs" / "speed.md"
RATIOS = re.compile(r"(<!-- ratios of ([a-z, -]+) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
#: In which column records have a ratio of times.
TIMES = "times as fast"
BLOCK = re.compile(r"(<!-- ([a-z-]+)\.json -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def number(value: float) -> str:
    """Three digits, or all of a whole number's."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace("-", "−")


def cell(row: dict[str, Any]) -> str:
    """A figure, between what its median lies, and its limit."""
    unit = "" if row["unit"] == "" else "x" if row["unit"] == "x" else f" {row['unit']}"
    text = f"{number(row['median'])}{unit}"
    if len(row["samples"]) > 1:
        text += f" ({number(row['low'])} to {number(row['high'])})"
    if row["limit"] is not None:
        sign = "≤" if row["better"] == "lower" else "≥"
        text += f"; {sign} {row['limit']:g}: {row['verdict']}"
    return text


def table(record: Record) -> list[str]:
    """The figures by row and column, both in their own order."""
    figures = record["figures"]
    columns = list(dict.fromkeys(each["column"] for each in figures))
    cells: dict[str, dict[str, str]] = {}
    for each in figures:
        cells.setdefault(each["row"], {})[each["column"]] = cell(each)
    return [
        "| " + " | ".join(["", *columns]) + " |",
        "| " + " | ".join(["---", *("---:" for _ in columns)]) + " |",
        *(
            "| " + " | ".join([row, *(found.get(name, "") for name in columns)]) + " |"
            for row, found in cells.items()
        ),
    ]


def origin(record: Record) -> str:
    """When, where and with what it was measured."""
    words = record["arguments"]
    command = f"python -m benchmarks {record['part']}"
    command += f" -- {shlex.join(words)}" if words else ""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    load = record["load"]
    return (
        f"`benchmarks/results/{record['benchmark']}.json`: `{command}`, {record['startedAt'][:10]},"
        f" commit {record['commit'][:10]}, load {load['before']:.1f} before and"
        f" {load['after']:.1f} after, {record['machine']['cores']} cores"
        f" ({record['machine']['processor']}); {versions}."
    )


def block(record: Record) -> str:
    """What stands between the marks."""
    return "\n".join([origin(record), "", *table(record), ""])


def ratios(names: list[str]) -> str:
    """How many times as fast each row is; of records that are not there nothing."""
    lines = [f"| | {TIMES} |", "| --- | ---: |"]
    for path in (RESULTS / f"{name}.json" for name in names):
        record = json.loads(path.read_text("utf-8")) if path.exists() else {"figures": []}
        lines += [
            f"| {each['row']} | {cell(each)} |"
            for each in record["figures"]
            if each["column"] == TIMES
        ]
    return "\n".join([*lines, ""])


def filled(page: str) -> str:
    """The page with its blocks and ratios as the records are.

    Raises
    ------
    FileNotFoundError
        The page names a record that is not there.
    """

    def fill(found: re.Match[str]) -> str:
        record = json.loads((RESULTS / f"{found[2]}.json").read_text("utf-8"))
        return f"{found[1]}{block(record)}{found[4]}"

    page = BLOCK.sub(fill, page)
    return RATIOS.sub(lambda found: f"{found[1]}{ratios(found[2].split(', '))}{found[4]}", page)


def main() -> int:
    """Rewrite the page."""
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
