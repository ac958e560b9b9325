"""What ``spanwise.observe()`` costs per task, against Dask's own ``Profiler``.

    python -m benchmarks local-observe-python [-- --rounds 9 --tasks 10000]

The same graph of tasks that do nothing runs with ``dask.get`` bare, under ``Profiler`` and
under ``observe()``, in turn; the collector runs before the clock starts. CPU time, in the thread
that computes and of the whole process, which includes the threads that sample and send.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dask.diagnostics import Profiler
from dask.local import get_sync

import spanwise
from benchmarks import records
from benchmarks.local_loop import independent, spread, tree
from benchmarks.verdicts import Figure

Watch = Callable[[], AbstractContextManager[Any]]
SIDES: dict[str, Watch] = {
    "bare": nullcontext,
    "Profiler": Profiler,
    "observe": lambda: spanwise.observe("benchmark"),
}
#: Microseconds that observing may cost a task, all threads together.
LIMIT = 12.0
CLOCKS = {"thread": time.thread_time, "process": time.process_time}


def micros(watch: Watch, graph: dict[Any, Any], keys: Any) -> dict[str, float]:
    """CPU microseconds per task, by clock."""
    with watch():
        gc.collect()
        before = {name: clock() for name, clock in CLOCKS.items()}
        get_sync(graph, keys)
        return {name: (clock() - before[name]) * 1e6 / len(graph) for name, clock in CLOCKS.items()}


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tasks", type=int, default=10_000)
    records.add_option(parser)
    options = parser.parse_args()
    height = max(1, options.tasks.bit_length() - 2)
    figures: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, (graph, keys) in {
        "independent": independent(options.tasks),
        "tree": tree(height),
    }.items():
        for _ in range(options.rounds):
            for side, watch in SIDES.items():
                for clock, spent in micros(watch, graph, keys).items():
                    rows = figures.setdefault(name, {}).setdefault(clock, {})
                    rows.setdefault(side, []).append(spent)
        for clock, rows in figures[name].items():
            print(f"{name}, CPU of the {clock}, us/task: median (range)")
            bare = statistics.median(rows["bare"])
            for side, spents in rows.items():
                line = f"  {side:9} {spread(spents)}"
                more = statistics.median(spents) - bare
                print(line if side == "bare" else f"{line}   {more:+6.2f}")
    settings = {"tasks": options.tasks, "rounds": options.rounds}
    records.hand_over(options, settings, figures_of(figures))
    return 0


def figures_of(found: dict[str, dict[str, dict[str, list[float]]]]) -> list[Figure]:
    """The time of a task with each watch, and without one, and how much more observing takes."""
    more = [
        Figure(
            f"{name}, observe",
            "more than bare, CPU of the process",
            "us",
            "lower",
            tuple(
                observed - bare
                for observed, bare in zip(
                    by_clock["process"]["observe"], by_clock["process"]["bare"], strict=True
                )
            ),
            limit=LIMIT,
        )
        for name, by_clock in found.items()
    ]
    return [
        *more,
        *(
            Figure(
                f"{name}, {side}",
                f"CPU of the {clock}",
                "us",
                "lower",
                tuple(values),
                tracked=True,
            )
            for name, by_clock in found.items()
            for clock, by_side in by_clock.items()
            for side, values in by_side.items()
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
