"""All benchmarks by one command: ``python -m benchmarks [NAME …] [--smoke] [--json FOLDER]``.

Each part runs as a process of its own, one after another, so that none disturbs the next. Parts
written in TypeScript are bundled first and run by the Node that the project ships.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bundles import node_command


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
    """

    what: str
    source: str
    smoke: tuple[str, ...]


PARTS = {
    "compare": Part("against distributed, alternately", "benchmarks.compare", ("--smoke",)),
    "worker": Part("a tiny task in the worker", "benchmarks.worker_tiny_tasks", ("--tasks", "500")),
    "sampling": Part(
        "sampled shares against thread CPU time", "benchmarks.sampling_shares", ("--seconds", "2")
    ),
    "recovery": Part("after kill -9 of each process", "benchmarks.recovery", ("--rounds", "1")),
    "soak": Part(
        "ten minutes of deaths, stops and full disks", "benchmarks.soak", ("--seconds", "9")
    ),
    "growth": Part(
        "what stays when all futures are released", "benchmarks.growth", ("--scale", "0.01")
    ),
    "scheduler": Part("the pure scheduler", "scheduler-core.ts", ("--rounds", "2")),
    "local-loop": Part(
        "no-op tasks against Dask's get_sync, alternately",
        "benchmarks.local_loop",
        ("--rounds", "2", "--tasks", "200", "--height", "6"),
    ),
    "local-profilers": Part(
        "profilers of local runs",
        "local-profilers.ts",
        ("--tasks", "300", "--rounds", "2", "--seconds", "0.5"),
    ),
    "local-stamps": Part(
        "what it costs that workers stamp their tasks",
        "local-stamps.ts",
        ("--tasks", "300", "--rounds", "2"),
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
    ),
    "thread-burst": Part(
        "a burst of small calls on two threads, against piscina",
        "thread-burst.ts",
        ("--calls", "300", "--rounds", "2", "--settings", "2"),
    ),
    "observer": Part("a million runs in the observer", "observer-million.ts", ("--runs", "20000")),
    "panning": Part(
        "panning over a million runs in Chromium, 100 ms from the server",
        "panning.ts",
        ("--runs", "20000", "--seconds", "1"),
    ),
}


def command_of(part: Part) -> list[str]:
    """The command that runs a part."""
    if not part.source.endswith(".ts"):
        return [sys.executable, "-m", part.source]
    return node_command(part.source)


def main() -> int:
    """Run the parts named, or all; the exit code is 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--smoke", action="store_true", help="shows that each runs, no figures")
    parser.add_argument("--json", type=Path, help="folder for one file per part")
    options = parser.parse_args()
    failed = []
    for name in options.part or PARTS:
        part = PARTS[name]
        print(f"\n══ {name}: {part.what} (load {os.getloadavg()[0]:.1f})", flush=True)
        command = [*command_of(part), *(part.smoke if options.smoke else ())]
        if options.json:
            options.json.mkdir(parents=True, exist_ok=True)
            command += ["--json", str(options.json / f"{name}.json")]
        environment = {"SPANWISE_TEST_PYTHON": sys.executable} | os.environ
        if subprocess.run(command, env=environment).returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
