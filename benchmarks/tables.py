"""Writes the figures of ``benchmarks/results`` into docs/speed.md: ``python -m benchmarks.tables``.

Between ``<!-- compare.json -->`` and ``<!-- end -->`` stands what was measured when and beside
what load, and a table of the figures; between ``<!-- with -->`` and its end, once, the machine and
the versions: a table whose run differs in one of these says so. Between
``<!-- ratios of compare, … -->`` and its end stands how many times as fast each of their rows is.
A test fails when the page says anything else.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections import Counter
from typing import Any

from benchmarks.records import CHECKOUT, RESULTS, Record

PAGE = CHECKOUT / "docs" / "speed.md"
WITH = re.compile(r"(<!-- with -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
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


def setting(record: Record) -> dict[str, str]:
    """Names of programs with their versions, and the machine."""
    machine = record["machine"]
    memory = f"{machine['memoryBytes'] / 2**30:.0f} GiB"
    return record["versions"] | {
        "machine": f"{machine['cores']} cores ({machine['processor']}), {memory}"
    }


def common_setting(records: list[Record]) -> dict[str, str]:
    """For each name the value that most of the records have."""
    found: dict[str, Counter[str]] = {}
    for record in records:
        for name, value in setting(record).items():
            found.setdefault(name, Counter())[value] += 1
    return {name: values.most_common(1)[0][0] for name, values in found.items()}


def setting_text(setting: dict[str, str]) -> str:
    """A setting in words."""
    return ", ".join(
        value if name == "machine" else f"{name} {value}" for name, value in setting.items()
    )


def origin(record: Record, common: dict[str, str]) -> str:
    """When it was measured and how, and what was other than in most."""
    words = record["arguments"]
    command = f"python -m benchmarks {record['part']}"
    command += f" -- {shlex.join(words)}" if words else ""
    load = record["load"]
    text = (
        f"`{command}`, {record['startedAt'][:10]}, commit {record['commit'][:10]},"
        f" load {load['before']:.1f} before and {load['after']:.1f} after"
    )
    other = {name: value for name, value in setting(record).items() if common[name] != value}
    text += f"; {setting_text(other)}" if other else ""
    return f"{text} (`{record['benchmark']}.json`)."


def block(record: Record, common: dict[str, str]) -> str:
    """The text between the marks of a record."""
    return "\n".join([origin(record, common), "", *table(record), ""])


def ratios(records: list[Record]) -> str:
    """How many times as fast each of their rows is."""
    rows = [
        f"| {each['row']} | {cell(each)} |"
        for record in records
        for each in record["figures"]
        if each["column"] == TIMES
    ]
    return "\n".join([f"| | {TIMES} |", "| --- | ---: |", *rows, ""])


def filled(page: str) -> str:
    """The page with its blocks and ratios as the records are.

    Raises
    ------
    FileNotFoundError
        The page names a record that is not there.
    """

    records = {
        name: json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
        for name in dict.fromkeys(found[2] for found in BLOCK.finditer(page))
    }
    common = common_setting(list(records.values()))
    page = WITH.sub(lambda found: f"{found[1]}{setting_text(common)}.\n{found[3]}", page)
    page = BLOCK.sub(lambda found: f"{found[1]}{block(records[found[2]], common)}{found[4]}", page)

    def those(names: str) -> list[Record]:
        """Nothing for missing records: the page may be ready before them."""
        return [records[name] for name in names.split(", ") if name in records]

    return RATIOS.sub(lambda found: f"{found[1]}{ratios(those(found[2]))}{found[4]}", page)


def main() -> int:
    """Rewrite the page."""
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
