"""No-op tasks: ``getSync`` and ``getAsync`` against Dask's ``get_sync``.

    python -m benchmarks local-loop [-- --rounds 15 --tasks 20000 --height 14]

The same graph (20,000 independent tasks; a binary tree of 2**14 leaves) is made once on either
side and run alternately, so that a busy moment of the machine meets both. Node and Python run in
one process each; collectors run before the clock starts. The first five rounds of either side,
before Node's compiler has warmed up, are left out of the medians; the very first is shown apart.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from dask._task_spec import Task, TaskRef
from dask.local import get_sync

from benchmarks import records
from benchmarks.bundles import node_command
from benchmarks.verdicts import Figure

#: Rounds until Node has compiled what runs often.
WARM_UP = 5
#: How many times as fast as Dask.
LIMIT = 20

Times = dict[str, float]


def noop(*_: object) -> None:
    """Do nothing."""


def independent(tasks: int) -> tuple[dict[str, Task], list[str]]:
    """Tasks without dependencies, and their keys."""
    graph = {f"x-{i}": Task(f"x-{i}", noop) for i in range(tasks)}
    return graph, list(graph)


def tree(height: int) -> tuple[dict[str, Task], str]:
    """A binary reduction of ``2**height`` leaves, and its last key."""
    graph = {}
    for level in range(height + 1):
        for i in range(2 ** (height - level)):
            key = f"t-{level}-{i}"
            needs = [TaskRef(f"t-{level - 1}-{n}") for n in (2 * i, 2 * i + 1)]
            graph[key] = Task(key, noop, *(needs if level else ()))
    return graph, f"t-{height}-0"


def time_dask(graph: dict[str, Task], keys: Any) -> Times:
    """Seconds of one run, on the wall and of CPU."""
    gc.collect()
    cpu = time.process_time()
    start = time.perf_counter()
    get_sync(graph, keys)
    wall = time.perf_counter() - start
    return {"wallSeconds": wall, "cpuSeconds": time.process_time() - cpu}


class NodeSide:
    """The process of ``local-loop.ts``."""

    def __init__(self, tasks: int, height: int) -> None:
        self._process = subprocess.Popen(
            node_command("local-loop.ts"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._write(json.dumps({"tasks": tasks, "height": height}))

    def time(self, case: str) -> Times:
        """Run a case once; seconds on the wall and of CPU."""
        self._write(case)
        assert self._process.stdout is not None
        answer: Times = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process; its exit code must be 0."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait(timeout=30) != 0:
            raise RuntimeError("The Node side failed.")

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


def spread(micros: list[float]) -> str:
    """Median and range of microseconds."""
    return f"{statistics.median(micros):7.2f}  ({min(micros):6.2f} … {max(micros):6.2f})"


def measure(rounds: int, tasks: int, height: int) -> dict[str, dict[str, Any]]:
    """Per case and side the microseconds per task of each round, warm-up first."""
    graphs: dict[str, Any] = {"independent": independent(tasks), "tree": tree(height)}
    node = NodeSide(tasks, height)
    figures: dict[str, dict[str, Any]] = {}
    for _ in range(WARM_UP + rounds):
        for name, (graph, keys) in graphs.items():
            sides = {
                "get_sync": time_dask(graph, keys),
                "getSync": node.time(f"{name} getSync"),
                "getAsync": node.time(f"{name} getAsync"),
            }
            for side, times in sides.items():
                for clock, seconds in times.items():
                    micros = seconds * 1e6 / len(graph)
                    figures.setdefault(name, {}).setdefault(clock, {}).setdefault(side, []).append(
                        micros
                    )
    node.close()
    return figures


def report(figures: dict[str, dict[str, Any]]) -> None:
    """Print the table."""
    for name, by_clock in figures.items():
        for clock, by_side in by_clock.items():
            print(f"{name}, {clock.removesuffix('Seconds')} us/task: median (range)")
            dask_median = statistics.median(by_side["get_sync"][WARM_UP:])
            for side, rounds in by_side.items():
                settled = rounds[WARM_UP:]
                line = f"  {side:9} {spread(settled)}   first {rounds[0]:6.2f}"
                if side != "get_sync":
                    line += f"   {dask_median / statistics.median(settled):5.1f}x"
                print(line)


def figures_of(found: dict[str, dict[str, Any]]) -> list[Figure]:
    """Microseconds on the wall, and how many times as fast as Dask that is."""
    figures = []
    for name, by_clock in found.items():
        settled = {
            side: tuple(rounds[WARM_UP:]) for side, rounds in by_clock["wallSeconds"].items()
        }
        dasks = settled.pop("get_sync")
        for side, ours in settled.items():
            row = f"{name}, {side}"
            figures += [
                Figure(row, "a task", "us", "lower", ours, tracked=True),
                Figure(row, "Dask's get_sync", "us", "lower", dasks),
                Figure(row, "times as fast", "x", "higher", dasks, ours, limit=LIMIT, tracked=True),
            ]
    return figures


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--height", type=int, default=14)
    records.add_option(parser)
    options = parser.parse_args()
    found = measure(options.rounds, options.tasks, options.height)
    report(found)
    settings = {
        "rounds": options.rounds,
        "tasks": options.tasks,
        "height": options.height,
        "uncountedRounds": WARM_UP,
    }
    records.hand_over(options, settings, figures_of(found), {"microsPerTask": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
