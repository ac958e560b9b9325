"""The static order: results held at once as a multiple of those in Dask's order, and its time.

    python -m benchmarks.static_order [--seeds 20] [--graphs 400]

The graphs are those of the tests: drawn ones, and optimised ones of arrays, dataframes and bags.
Dask's optimiser and its order go by the order of Python's sets, which is another one in each
process, so each seed is a process with its own ``PYTHONHASHSEED``. Limits: 1.1 on average and 2 at
worst; 1.5 us of CPU per task for random graphs of 100,000. A figure beyond them ends it with 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import dask

from benchmarks.bundles import node_command
from spanwise.tests.static_orders import DRAWN, Compared, bundle_program, compare_under

MEAN_LIMIT = 1.1
WORST_LIMIT = 2.0
#: us of CPU per task.
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--graphs", type=int, default=400)
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
    slowest = times()
    if sum(ratios) / len(ratios) > MEAN_LIMIT or max(ratios) > WORST_LIMIT or slowest > TIME_LIMIT:
        sys.exit("A figure is beyond its limit.")


def times() -> float:
    """Print what the order costs; the most us per task among the random graphs."""
    answer = subprocess.run(
        node_command("static-order.ts"), check=True, capture_output=True, text=True, timeout=120
    )
    print("\n| graph | tasks | edges | us of CPU per task |")
    print("| --- | ---: | ---: | ---: |")
    slowest = 0.0
    for each in json.loads(answer.stdout):
        cost = each["microseconds"]
        print(f"| {each['graph']} | {each['tasks']:,} | {each['edges']:,} | {cost:.2f} |")
        if each["graph"].startswith("random"):
            slowest = max(slowest, cost)
    return slowest


if __name__ == "__main__":
    main()
