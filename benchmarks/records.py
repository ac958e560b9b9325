"""The record of a benchmark: its figures with machine, load, versions, settings and commit.

A part writes what it found with :func:`hand_over`; ``python -m benchmarks`` makes the record of
it. The records that are published lie in ``benchmarks/results``, a file per part.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from benchmarks.verdicts import MISSED, Figure, Verdict, against_kept, judge

CHECKOUT = Path(__file__).resolve().parent.parent
RESULTS = CHECKOUT / "benchmarks" / "results"
PACKAGES = ("spanwise", "dask", "distributed", "numpy", "pandas", "cloudpickle", "msgpack")

#: A published record, as the tests check it; Figure says what its fields mean.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "benchmark",
        "part",
        "what",
        "arguments",
        "startedAt",
        "seconds",
        "commit",
        "machine",
        "load",
        "versions",
        "settings",
        "figures",
    ],
    "properties": {
        "benchmark": {"type": "string", "pattern": "^[a-z][a-z-]*$"},
        "part": {"type": "string", "pattern": "^[a-z][a-z-]*$"},
        "what": {"type": "string", "minLength": 1},
        "arguments": {"type": "array", "items": {"type": "string"}},
        "startedAt": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "seconds": {"type": "number", "exclusiveMinimum": 0},
        "commit": {"type": "string", "pattern": r"^[0-9a-f]{40}( with changes)?$"},
        "machine": {
            "type": "object",
            "additionalProperties": False,
            "required": ["processor", "cores", "memoryBytes", "system"],
            "properties": {
                "processor": {"type": "string", "minLength": 1},
                "cores": {"type": "integer", "minimum": 1},
                "memoryBytes": {"type": "integer", "minimum": 1},
                "system": {"type": "string", "minLength": 1},
            },
        },
        "load": {
            "type": "object",
            "additionalProperties": False,
            "required": ["before", "after"],
            "properties": {"before": {"type": "number"}, "after": {"type": "number"}},
        },
        "versions": {
            "type": "object",
            "required": ["python", "spanwise"],
            "additionalProperties": {"type": "string"},
        },
        "settings": {"type": "object"},
        "figures": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    "row",
                    "column",
                    "unit",
                    "better",
                    "samples",
                    "over",
                    "limit",
                    "tracked",
                    "low",
                    "median",
                    "high",
                    "verdict",
                ],
                "properties": {
                    "row": {"type": "string", "minLength": 1},
                    "column": {"type": "string", "minLength": 1},
                    "unit": {"type": "string"},
                    "better": {"enum": ["lower", "higher"]},
                    "samples": {"type": "array", "minItems": 1, "items": {"type": "number"}},
                    "over": {"type": "array", "items": {"type": "number"}},
                    "limit": {"type": ["number", "null"]},
                    "tracked": {"type": "boolean"},
                    "low": {"type": "number"},
                    "median": {"type": "number"},
                    "high": {"type": "number"},
                    "verdict": {"enum": ["pass", "cannot tell", "missed", None]},
                },
            },
        },
        "details": {"type": "object"},
    },
}

Record = dict[str, Any]

#: With so much more load than when a record was kept, its times say nothing: ratios still do.
MORE_LOAD = 1.0


# ── what a part does ──────────────────────────────────────────────────────


def add_option(parser: argparse.ArgumentParser) -> None:
    """The option by which ``python -m benchmarks`` asks for what a part found."""
    parser.add_argument("--findings", type=Path, help="where python -m benchmarks reads it")


def hand_over(
    options: argparse.Namespace,
    settings: dict[str, Any],
    figures: Iterable[Figure],
    details: dict[str, Any] | None = None,
) -> None:
    """Write what a part found, if it was asked for; `details` is whatever else is worth keeping."""
    if options.findings is not None:
        found = {
            "settings": settings,
            "versions": versions(),
            "figures": [asdict(each) for each in figures],
            "details": details or {},
        }
        options.findings.write_text(json.dumps(found))


# ── what is made of it ────────────────────────────────────────────────────


def machine() -> dict[str, Any]:
    """Facts about the machine, without its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memoryBytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
    }


def is_comparable(record: Record, kept: Record) -> bool:
    """Whether times can be compared: on the same machine, with about the load of then or less."""
    keys = ("processor", "cores")
    is_same_machine = all(record["machine"][key] == kept["machine"][key] for key in keys)
    return is_same_machine and record["load"]["before"] <= kept["load"]["before"] + MORE_LOAD


def commit() -> str:
    """The commit that is checked out, and whether files differ from it (the results apart).

    Without git "unknown", which no published record may say.
    """

    def git(*words: str) -> str:
        answer = subprocess.run(
            ["git", *words], cwd=CHECKOUT, check=True, capture_output=True, text=True
        )
        return answer.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RESULTS}")
        return git("rev-parse", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def versions() -> dict[str, str]:
    """Of Python, and of the packages that figures depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if "spanwise" not in found:
        import spanwise

        found["spanwise"] = spanwise.__version__
    return found


def _versions_of(found: dict[str, Any]) -> dict[str, str]:
    """Those of the interpreter that ran a part; of a program of Node its own beside those here."""
    told: dict[str, str] = found["versions"]
    return told if "python" in told else versions() | told


class Stopwatch:
    """Begin of a part: when it was, and under which load."""

    def __init__(self) -> None:
        self.started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.load = os.getloadavg()[0]
        self._begin = time.monotonic()

    def seconds(self) -> float:
        return round(time.monotonic() - self._begin, 1)


def make_record(
    name: str, part: str, what: str, arguments: list[str], found: dict[str, Any], begin: Stopwatch
) -> Record:
    """The record of a part that has ended; its name is the file's."""
    figures = [Figure.read(each) for each in found["figures"]]
    names = [each.name for each in figures]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice or not figures:
        raise ValueError(f"{name} has no figures, or some twice: {twice}")
    return {
        "benchmark": name,
        "part": part,
        "what": what,
        # Folders by their last name: the rest of a path says nothing on another machine.
        "arguments": [Path(each).name if each.startswith("/") else each for each in arguments],
        "startedAt": begin.started_at,
        "seconds": begin.seconds(),
        "commit": commit(),
        "machine": machine(),
        "load": {"before": round(begin.load, 2), "after": round(os.getloadavg()[0], 2)},
        "versions": _versions_of(found),
        "settings": found["settings"],
        "figures": [row_of(each) for each in figures],
        "details": found.get("details", {}),
    }


def row_of(figure: Figure) -> dict[str, Any]:
    """A figure with what follows from its samples."""
    interval = figure.interval
    verdict = None if figure.limit is None else judge(interval, figure.better, figure.limit)
    return asdict(figure) | {
        "low": interval.low,
        "median": interval.middle,
        "high": interval.high,
        "verdict": verdict,
    }


def figures_of(record: Record) -> list[Figure]:
    """The figures of a record, without what follows from them."""
    names = Figure.__dataclass_fields__
    return [Figure.read({key: row[key] for key in names}) for row in record["figures"]]


def kept_record(name: str) -> Record | None:
    """The kept record of a part."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def verdicts_of(record: Record, kept: Record | None) -> list[tuple[Figure, str, Verdict]]:
    """Each figure that was held against something, what that was, and the verdict.

    A record that was taken with other settings is not compared.
    """
    before: dict[str, Figure] = {}
    if kept is not None and kept["settings"] == record["settings"]:
        before = {each.name: each for each in figures_of(kept)}
    are_times_comparable = kept is not None and is_comparable(record, kept)
    rows: list[tuple[Figure, str, Verdict]] = []
    for figure in figures_of(record):
        if figure.limit is not None:
            what = f"limit {figure.limit:g} {figure.unit}".rstrip()
            rows.append((figure, what, judge(figure.interval, figure.better, figure.limit)))
        verdict = against_kept(figure, before.get(figure.name), are_times_comparable)
        if verdict is not None:
            middle = before[figure.name].interval.middle
            rows.append((figure, f"kept {middle:.4g} {figure.unit}".rstrip(), verdict))
    return rows


def write_record(record: Record, folder: Path) -> None:
    """Keep a record as the part's file."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (folder / f"{record['benchmark']}.json").write_text(f"{text}\n", "utf-8")


def report(rows: list[tuple[Figure, str, Verdict]]) -> None:
    """Print what was judged, a line each."""
    for row in rows:
        print(line_of(*row), file=sys.stderr if row[2] == MISSED else sys.stdout, flush=True)


def line_of(figure: Figure, what: str, verdict: Verdict) -> str:
    """What was judged, how, and the figure with its spread."""
    spread = figure.interval
    return (
        f"  {verdict.upper() if verdict == MISSED else verdict:12} {figure.name}:"
        f" {spread.middle:.4g} ({spread.low:.4g} … {spread.high:.4g}), {what}"
    )
