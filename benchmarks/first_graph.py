"""Start of a cluster, and the first graph that it is given: what a program's user waits for.

    python -m benchmarks first-graph [-- --rounds 5] [--beside FOLDER]

Each measurement is a program of its own: it starts a cluster of two workers, waits for both, and
runs one graph, of another shape in each program. Code that no graph has run before is compiled
meanwhile. With ``--beside`` another build of Spanwise, whose package FOLDER holds (and nothing
else), is measured in turn with this one, shape by shape.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.graphs import CASES
from benchmarks.systems import package_environment
from benchmarks.verdicts import Figure

#: Case → its size here: first graphs are rarely large.
SHAPES = {
    "tree-15": 11,
    "merge-25K": 2_000,
    "chain-1000": 500,
    "map+gather": 1_000,
    "stencil": 6,
    "array product": 6,
    "shuffle by tasks": 12,
}
#: Another shape takes another cluster; the smoke runs of `compare`, `recording` and `decomposition`
#: compute some of each kind.
SMOKE_SHAPES = {"tree-15": 5}
HERE, BESIDE = "here", "beside"


def once(shape: str, size: int) -> dict[str, Any]:
    """Start, compute, and say what both took."""
    import spanwise
    from benchmarks.driver import cpu_seconds

    work = CASES[shape].build(f"{os.getpid()}-1", size)
    begin = time.perf_counter()
    with spanwise.Client(n_workers=2, threads_per_worker=1) as client:
        client.wait_for_workers(2)
        started = time.perf_counter()
        result = work.run(client)
        ended = time.perf_counter()
        used = dict(cpu_seconds().values())
    if result != work.expected:
        raise AssertionError(f"{shape}: the result is wrong: {str(result)[:200]}")
    return {
        "start": started - begin,
        "graph": ended - started,
        "schedulerCpu": used["scheduler"],
        "package": spanwise.__file__,
    }


def measure(shape: str, size: int, package: Path | None) -> dict[str, Any]:
    """The same in a program of its own."""
    environment, folder = package_environment(package)
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_graph", "--once", shape, str(size)],
        env=environment,
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return answer


def figures_of(measured: dict[str, dict[str, list[dict[str, Any]]]]) -> list[Figure]:
    """Per shape and build the times, and the ratio of two builds."""
    figures = []
    for shape, by_build in measured.items():
        for build, answers in by_build.items():
            row = shape if build == HERE else f"{shape}, {build}"
            for column, key in (
                ("start", "start"),
                ("first graph", "graph"),
                ("CPU of the scheduler", "schedulerCpu"),
            ):
                times = tuple(1e3 * each[key] for each in answers)
                figures.append(Figure(row, column, "ms", "lower", times, tracked=build == HERE))
        if BESIDE in by_build:
            for column, key in (("start", "start"), ("first graph", "graph")):
                other, own = (
                    tuple(each[key] for each in by_build[build]) for build in (BESIDE, HERE)
                )
                figures.append(
                    Figure(f"{shape}, beside / here", column, "x", "higher", other, over=own)
                )
            pairs = zip(by_build[BESIDE], by_build[HERE], strict=True)
            saved = tuple(
                1e3 * (a["start"] + a["graph"] - b["start"] - b["graph"]) for a, b in pairs
            )
            figures.append(Figure(f"{shape}, beside − here", "both", "ms", "higher", saved))
    return figures


def main() -> int:
    """Measure in turn, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that it runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shape", action="append", choices=list(SHAPES))
    parser.add_argument("--beside", type=Path, help="folder with another build's package")
    parser.add_argument("--once", nargs=2, metavar=("SHAPE", "SIZE"), help="one measurement")
    records.add_option(parser)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.once[0], int(options.once[1]))))
        return 0
    shapes = SHAPES | SMOKE_SHAPES if options.smoke else SHAPES
    rounds = 1 if options.smoke else options.rounds
    builds = {HERE: None} | ({BESIDE: options.beside} if options.beside else {})
    wanted = options.shape or list(SMOKE_SHAPES if options.smoke else SHAPES)
    measured: dict[str, dict[str, list[dict[str, Any]]]] = {
        shape: {build: [] for build in builds} for shape in wanted
    }
    packages = set()
    for number in range(rounds):
        for shape in wanted:
            # Neither always follows the other.
            for build in list(builds)[:: 1 if number % 2 == 0 else -1]:
                answer = measure(shape, shapes[shape], builds[build])
                packages.add(answer["package"])
                measured[shape][build].append(answer)
    if len(packages) != len(builds):
        parser.error(f"--beside {options.beside}: there is no package spanwise in it.")
    figures = figures_of(measured)
    for figure in figures:
        spread = figure.interval
        print(
            f"  {figure.name:48} {spread.middle:9.2f} {figure.unit:2}"
            f"  ({spread.low:.2f} … {spread.high:.2f})"
        )
    settings = {
        "rounds": rounds,
        "shapes": {shape: shapes[shape] for shape in wanted},
        "beside": bool(options.beside),
        "uncountedRounds": 0,
    }
    records.hand_over(options, settings, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
