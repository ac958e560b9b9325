"""Results held at once in our static order as a multiple of those held in Dask's.

    python -m benchmarks.static_order [--seeds 20] [--graphs 400]

The graphs are those of the tests: drawn ones, and optimised ones of arrays, dataframes and bags.
Dask's optimiser and its order go by the order of Python's sets, which is another one in each
process, so each seed is a process with its own ``PYTHONHASHSEED``. Goal: 1.1 on average and 2 at
worst. Only results are counted, no time is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import dask

from spanwise.tests.static_orders import DRAWN, bundle_program, ratios, realistic_graphs

Found = dict[str, float]


def one_seed(program: Path, seed: int, graphs: int) -> dict[str, Found]:
    """Ratios by name, of both kinds of graphs."""
    chance = random.Random(seed)
    drawn = {
        f"{family} {place}": make(chance)
        for family, make in DRAWN.items()
        for place in range(graphs // len(DRAWN))
    }
    names, realistic = zip(*realistic_graphs(), strict=True)
    return {
        "drawn graphs": dict(zip(drawn, ratios(program, list(drawn.values())), strict=True)),
        "arrays, dataframes, bags": dict(zip(names, ratios(program, list(realistic)), strict=True)),
    }


def in_process(program: Path, seed: int, graphs: int) -> dict[str, Found]:
    """The same in a process whose sets have the seed's order."""
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.static_order", "--one", str(program)),
            *("--seeds", str(seed), "--graphs", str(graphs)),
        ],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    found: dict[str, Found] = json.loads(answer.stdout)
    return found


def row(kind: str, found: Iterable[Found]) -> str:
    """A line of the table."""
    pairs = [(ratio, name) for each in found for name, ratio in each.items()]
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
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(one_seed(options.one, options.seeds, options.graphs)))
        return
    with tempfile.TemporaryDirectory() as folder:
        program = bundle_program(Path(folder))
        found = [in_process(program, seed, options.graphs) for seed in range(1, options.seeds + 1)]
    print(f"Dask {dask.__version__}, {options.seeds} processes\n")
    print("| graphs | compared | average | most | least | more than Dask | fewer |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in found[0]:
        print(row(kind, [each[kind] for each in found]))


if __name__ == "__main__":
    main()
