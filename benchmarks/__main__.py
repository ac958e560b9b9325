"""All benchmarks by one command: ``python -m benchmarks [NAME …] [--smoke] [--json FOLDER]``.

Each part runs as a process of its own, one after another, so that none disturbs the next. Parts
written in TypeScript are bundled first and run by the Node that the project ships. What follows
``--`` goes to the one part named: ``python -m benchmarks soak -- --seconds 60``.

The exit code is 1 if a part failed, or if a figure misses its limit by more than its spread, or
is more than twice as bad as in ``benchmarks/results`` (``verdicts.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks import records
from benchmarks.bundles import node_command
from benchmarks.verdicts import MISSED

#: So many of the last lines of a part's errors are told again at the end.
MOST_LINES = 12
#: So long what a part leaves behind is heard.
LEFT_SECONDS = 5.0
#: Of the parts of a smoke run: workers import what a task needs, and not all that their client has,
#: and the peer's processes look at their own event loop once a second, and not fifty times.
SMOKE_VARIABLES = {
    "DASK_SPANWISE__WORKER__IMPORT_AHEAD": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
}


@dataclass(frozen=True)
class Part:
    """A benchmark.

    Attributes
    ----------
    what
        Shown above its table.
    source
        A Python module (``benchmarks.compare``) or a TypeScript file beside this one.
    smoke
        Arguments that make it end within seconds, showing only that it runs.
    arguments
        Those that it always has.
    limits
        How many figures have one, when all of the part runs: fewer means that some were lost.
    limits_in_smoke
        The same for a smoke run, where it runs less, or more; None if it is the same.
    is_judged_in_smoke
        Whether its limits hold for a smoke run, too: those of what stays, not of times.
    smoked_by
        The part whose smoke run shows that this one runs, too; empty if it has one of its own.
    """

    what: str
    source: str
    smoke: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    limits: int = 0
    limits_in_smoke: int | None = None
    is_judged_in_smoke: bool = False
    smoked_by: str = ""

    def least_limits(self, smoke: bool) -> int:
        """How many figures must have one."""
        alike = not smoke or self.limits_in_smoke is None
        return self.limits if alike else self.limits_in_smoke or 0


PARTS = {
    "compare": Part(
        "against distributed, shapes with short ways",
        "benchmarks.compare",
        ("--smoke",),
        limits=4,
        limits_in_smoke=5,
    ),
    "compare-general": Part(
        "against distributed, the general path",
        "benchmarks.compare",
        ("--smoke",),
        ("--general",),
        smoked_by="compare",
    ),
    "compare-real": Part(
        "against distributed, everyday computations",
        "benchmarks.compare",
        ("--smoke",),
        ("--real",),
        limits=5,
        smoked_by="compare",
    ),
    "compare-transfers": Part(
        "against distributed, large results on their way",
        "benchmarks.compare",
        ("--smoke",),
        ("--transfers",),
        limits=3,
        smoked_by="compare",
    ),
    "decomposition": Part(
        "where the CPU time of a computation goes",
        "benchmarks.decomposition",
        ("--smoke",),
        limits=5,
    ),
    "recording": Part("what recording costs", "benchmarks.recording", ("--smoke",), limits=12),
    "first-graph": Part(
        "start of a cluster and its first graph", "benchmarks.first_graph", ("--smoke",)
    ),
    "standing": Part(
        "a cluster before and beside its work, against distributed",
        "benchmarks.standing",
        ("--smoke",),
        limits=3,
    ),
    "worker": Part("a tiny task in the worker", "benchmarks.worker_tiny_tasks", ("--tasks", "500")),
    "sampling": Part(
        "sampled shares against thread CPU time",
        "benchmarks.sampling_shares",
        ("--seconds", "0.5"),
        limits=6,
    ),
    "looks": Part(
        "a look at a busy program, against that of distributed's worker",
        "benchmarks.sampler_looks",
        ("--seconds", "0.2", "--rounds", "1"),
        limits=3,
    ),
    "dask-bridge": Part(
        "a Dask scheduler that is watched by one and by five",
        "benchmarks.dask_bridge",
        ("--tasks", "40", "--rounds", "1"),
        limits=5,
    ),
    "dask-scale": Part(
        "a Dask cluster of 1,000 workers and a million tasks in the panels",
        "benchmarks.dask_scale",
        ("--tasks", "2000", "--wave", "500", "--workers", "200", "--seconds", "0"),
        limits=16,
        limits_in_smoke=6,
    ),
    "metered": Part(
        "blocks and tasks that measure themselves, against distributed's context_meter",
        "benchmarks.metered",
        ("--blocks", "2000", "--tasks", "500", "--rounds", "1", "--pairs", "1"),
        limits=2,
    ),
    "beside-distributed": Part(
        "five workloads as distributed and as Spanwise measure them",
        "benchmarks.beside_distributed",
        ("--smoke",),
    ),
    "recorded-faults": Part(
        "whether a run with faults is recorded as tests read it",
        "benchmarks.recorded_faults",
        (),
        ("--smoke",),
    ),
    "recovery": Part("after kill -9 of each process", "benchmarks.recovery", ("--smoke",)),
    "soak": Part(
        "ten minutes of deaths, stops and full disks",
        "benchmarks.soak",
        ("--seconds", "6"),
        limits=1,
        is_judged_in_smoke=True,
    ),
    "growth": Part(
        "what stays when all futures are released",
        "benchmarks.growth",
        ("--scale", "0.001", "--smoke"),
        limits=39,
        is_judged_in_smoke=True,
    ),
    "scheduler": Part("the pure scheduler", "scheduler-core.ts", ("--rounds", "2"), limits=1),
    "intake": Part(
        "large graphs in the scheduler, entered and run, against distributed",
        "benchmarks.intake",
        # (of one size, so that there are fewer programs)
        ("--rounds", "1", "--tasks", "3000", "--most", "3000"),
        limits=9,
        limits_in_smoke=7,
    ),
    "makespan": Part(
        "makespans in simulation against distributed's decisions",
        "benchmarks.makespan",
        ("--tasks", "400", "--workers", "4"),
        limits=21,
        limits_in_smoke=1,
    ),
    "static-order": Part(
        "the static order against Dask's",
        "benchmarks.static_order",
        ("--seeds", "1", "--graphs", "7", "--tasks", "2000"),
        limits=6,
    ),
    "local-loop": Part(
        "no-op tasks against Dask's get_sync, alternately",
        "benchmarks.local_loop",
        ("--rounds", "2", "--tasks", "200", "--height", "6"),
        limits=4,
    ),
    "local-profilers": Part(
        "profilers of local runs",
        "local-profilers.ts",
        ("--tasks", "300", "--rounds", "2", "--seconds", "0.5"),
        limits=4,
    ),
    "local-stamps": Part(
        "what it costs that workers stamp their tasks",
        "local-stamps.ts",
        ("--tasks", "300", "--rounds", "2"),
        limits=2,
    ),
    "local-observe": Part(
        "what observe() of the npm package costs",
        "local-observe.ts",
        ("--tasks", "300", "--rounds", "2"),
    ),
    "local-observe-python": Part(
        "what spanwise.observe() costs, against Dask's Profiler",
        "benchmarks.local_observe",
        ("--tasks", "300", "--rounds", "2"),
        limits=2,
    ),
    "thread-burst": Part(
        "a burst of small calls on two threads, against piscina",
        "thread-burst.ts",
        ("--calls", "300", "--rounds", "2", "--settings", "2"),
        limits=1,
    ),
    "observer": Part(
        "a million runs in the observer", "observer-million.ts", ("--runs", "20000"), limits=3
    ),
    "observer-memory": Part(
        "memory of an observer with a million runs, and with ten million",
        "observer-memory.ts",
        ("--runs", "20000", "--more-runs", "40000"),
        limits=6,
        is_judged_in_smoke=True,
    ),
    "panning": Part(
        "panning over a million runs in Chromium, 100 ms from the server",
        "panning.ts",
        ("--runs", "5000", "--seconds", "0.1"),
        limits=7,
    ),
}


def parts_of_all(smoke: bool) -> list[str]:
    """All, or of a smoke run those that no other part's shows."""
    return [name for name, part in PARTS.items() if not (smoke and part.smoked_by)]


def command_of(part: Part) -> list[str]:
    """The command that runs a part."""
    if not part.source.endswith(".ts"):
        return [sys.executable, "-m", part.source]
    return node_command(part.source)


def run_part(
    part_name: str, name: str, arguments: list[str], variables: Mapping[str, str]
) -> tuple[records.Record | None, list[str]]:
    """Run a part; its record by `name`, None if it failed, and the last lines of its errors."""
    part = PARTS[part_name]
    environment = {"SPANWISE_TEST_PYTHON": sys.executable, **variables} | os.environ
    begin = records.Stopwatch()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        findings = Path(folder) / "findings.json"
        command = [*command_of(part), *arguments, "--findings", str(findings)]
        code, said = run_command(command, environment)
        if code != 0 or not findings.exists():
            return None, [*said, told(f"{part_name}: exit code {code}")]
        found = json.loads(findings.read_text("utf-8"))
    return records.make_record(name, part_name, part.what, arguments, found, begin), said


def told(line: str) -> str:
    """Print a line as an error, and return it."""
    print(line, file=sys.stderr, flush=True)
    return line


def run_command(command: list[str], environment: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run a command; its exit code, and the last lines of its errors, which are printed, too."""
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    last = deque[str](maxlen=MOST_LINES)

    def follow(stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                print(line, end="", file=sys.stderr, flush=True)
                last.append(line.rstrip())

    assert process.stderr is not None
    follower = threading.Thread(target=follow, args=(process.stderr,), daemon=True)
    follower.start()
    try:
        code = process.wait()
    except BaseException:  # Ctrl-C
        process.kill()
        process.wait()
        raise
    # (a process that is left holds the pipe for as long as it lives)
    follower.join(LEFT_SECONDS)
    return code, list(last)


def missed_by(record: records.Record, is_judged: bool, least_limits: int) -> list[str]:
    """What in a record is missed, a line each; prints what is judged."""
    limits = sum(each["limit"] is not None for each in record["figures"])
    if limits < least_limits:
        return [told(f"{limits} figures have limits, of {least_limits} that must.")]
    if not is_judged:
        return []
    rows = records.verdicts_of(record, records.kept_record(record["benchmark"]))
    records.report(rows)
    return [records.line_of(*row) for row in rows if row[2] == MISSED]


def main(words: list[str]) -> int:
    """Run the parts named, or all; the exit code is 1 if any failed or missed its limit."""
    at = words.index("--") if "--" in words else len(words)
    words, extra = words[:at], words[at + 1 :]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--smoke", action="store_true", help="shows that each runs, no figures")
    parser.add_argument("--json", type=Path, help="folder for one file per part")
    parser.add_argument("--name", help="of the record, where it is not the part's")
    options = parser.parse_args(words)
    if (extra or options.name) and len(options.part) != 1:
        parser.error("What follows -- and --name are for one part: name exactly one.")
    failed = dict[str, list[str]]()
    for name in options.part or parts_of_all(options.smoke):
        part = PARTS[name]
        print(f"\n══ {name}: {part.what} (load {os.getloadavg()[0]:.1f})", flush=True)
        smoke = part.smoke if options.smoke else ()
        arguments = [*part.arguments, *smoke, *extra]
        variables = SMOKE_VARIABLES if options.smoke else {}
        record, said = run_part(name, options.name or name, arguments, variables)
        if record is None:
            failed[name] = said
            continue
        is_judged = not options.smoke or part.is_judged_in_smoke
        missed = missed_by(record, is_judged, 0 if extra else part.least_limits(options.smoke))
        if missed:
            failed[name] = [*said, *missed]
        if options.json:
            records.write_record(record, options.json)
    # Once more, why: who reads the end of a long log has not what stood at the part.
    for name, lines in failed.items():
        print("\n  ".join([f"failed: {name}", *lines]), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
