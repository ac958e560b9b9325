"""The static order: results held at once as a multiple of those in Dask's order, and its time.

    python -m benchmarks static-order [-- --seeds 20 --graphs 400 --tasks 100000]

The graphs are those of the tests: drawn ones, and optimised ones of arrays, dataframes and bags.
Dask's optimiser and its order go by the order of Python's sets, which is another one in each
process, so each seed is a process with its own ``PYTHONHASHSEED``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import dask

from benchmarks import records
from benchmarks.bundles import node_command
from benchmarks.verdicts import Figure
from spanwise.tests.static_orders import DRAWN, Compared, bundle_program, compare_under

#: Results held, as a multiple of those in Dask's order.
MEAN_LIMIT = 1.1
WORST_LIMIT = 2.0
#: us of CPU per task, of random graphs and of the stencil.
TIME_LIMIT = 1.5


def row(kind: str, found: Iterable[Compared]) -> str:
    """A line of the table."""
    pairs = [(each.ours / each.dasks, each.name) for each in found]
    values = [ratio for ratio, _ in pairs]
    worst, name = max(pairs)
    more = sum(ratio > 1 for ratio in values) / len(values)
    fewer = sum(ratio < 1 for ratio in values) / len(values)
    mean = sum(values) / len(values)
    return (
        f"| {kind} | {len(values)} | {mean:.3f} | {worst:.2f} ({name}) "
        f"| {min(values):.2f} | {100 * more:.1f} % | {100 * fewer:.1f} % |"
    )


def main() -> int:
    """Print the tables, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--graphs", type=int, default=400)
    parser.add_argument("--tasks", type=int, default=100_000)
    records.add_option(parser)
    options = parser.parse_args()
    each = options.graphs // len(DRAWN)
    found: list[Compared] = []
    with tempfile.TemporaryDirectory() as folder:
        program = bundle_program(Path(folder))
        for seed in range(1, options.seeds + 1):
            found += compare_under(program, [seed], 0, each)
    print(f"Dask {dask.__version__}, {options.seeds} processes\n")
    print("| graphs | compared | average | most | least | more than Dask | fewer |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    ratios = [each.ours / each.dasks for each in found]
    for family in DRAWN:
        print(row(family, [each for each in found if each.name.startswith(f"{family} ")]))
    print(row("arrays, dataframes, bags", [each for each in found if "fused" in each.name]))
    print(row("all", found))
    mean = sum(ratios) / len(ratios)
    held = "results held, of those in Dask's order"
    figures = [
        Figure(held, "average", "x", "lower", (mean,), limit=MEAN_LIMIT),
        Figure(held, "worst", "x", "lower", (max(ratios),), limit=WORST_LIMIT),
        *times(options.tasks),
    ]
    settings = {"seeds": options.seeds, "graphs": options.graphs, "tasks": options.tasks}
    records.hand_over(options, settings, figures, {"compared": len(ratios)})
    return 0


def times(tasks: int) -> list[Figure]:
    """Print what the order costs."""
    command = [*node_command("static-order.ts"), "--tasks", str(tasks)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    print("\n| graph | tasks | edges | us of CPU per task |")
    print("| --- | ---: | ---: | ---: |")
    figures = []
    for each in json.loads(answer.stdout):
        costs = tuple(each["microseconds"])
        cost = statistics.median(costs)
        print(f"| {each['graph']} | {each['tasks']:,} | {each['edges']:,} | {cost:.2f} |")
        is_limited = each["graph"].startswith(("random", "overlap"))
        limit = TIME_LIMIT if is_limited else None
        name = f"{each['graph']} ({each['edges']:,} edges)"
        figures.append(
            Figure(name, "CPU per task", "us", "lower", costs, limit=limit, tracked=True)
        )
    return figures


if __name__ == "__main__":
    sys.exit(main())
