"""What recording costs: pairs of neighbouring runs, one with the record log and one without.

    python -m benchmarks recording [-- --pairs 31 --case merge-25K]

Of each pair the ratio, of these the median: that outlasts the machine's mood, which changes over
minutes. The CPU time of all processes says the same again, and repeats better on shared cores;
that of each role says whose it is. What follows within 0.75 s of the result counts as well, on both
sides. Threads are looked at by the clock on the wall, so that recording takes the more CPU the
longer a run has to wait for a core.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import records
from benchmarks.graphs import CASES, SHORT
from benchmarks.systems import THREADS, WORKERS, Driver, Measured, in_turn, total_cpu, wall
from benchmarks.verdicts import Figure

#: A case of tasks that last, beside the short ones, whose tasks do nothing.
LASTING = "10 ms tasks"
#: By how many per cent recording may take longer.
MOST_PERCENT, MOST_PERCENT_OF_LASTING = 8.0, 2.0
RECORDED, BARE = "spanwise", "spanwise-unrecorded"
#: The last rows of a run wait for up to 0.5 s in the scheduler, and the observer takes them in
#: when the result is there: after so many seconds all CPU time is spent that the run has caused.
SETTLE_SECONDS = 0.75


CLOCKS: dict[str, Callable[[dict[str, Any]], float]] = {
    "wall": wall,
    "CPU of all processes": total_cpu,
}


def figures_of(measured: Measured) -> list[Figure]:
    """Per case by how many percent recording takes longer."""
    figures = []
    for case, by_system in measured.items():
        pairs = list(zip(by_system[RECORDED], by_system[BARE], strict=True))
        for column, clock in CLOCKS.items():
            more = tuple(100 * (clock(a) / clock(b) - 1) for a, b in pairs)
            limit = MOST_PERCENT_OF_LASTING if case == LASTING else MOST_PERCENT
            figures.append(Figure(case, column, "%", "lower", more, limit=limit))
    return figures


def by_role(measured: Measured) -> list[str]:
    """Per case and role the CPU milliseconds of a run, with recording and without."""
    lines = []
    for case, by_system in measured.items():
        seconds = [[each["cpuSeconds"] for each in by_system[name]] for name in (RECORDED, BARE)]
        for role in sorted({role for runs in seconds for run in runs for role in run}):
            with_it, without = (
                statistics.median(run.get(role, 0.0) for run in runs) * 1e3 for runs in seconds
            )
            lines.append(f"{f'{case}, {role}':36} {without:8.1f} ms, recorded {with_it:8.1f} ms")
    return lines


def main() -> int:
    """Run, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that it runs")
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--case", action="append", choices=list(CASES))
    records.add_option(parser)
    options = parser.parse_args()
    pairs, uncounted = (1, 0) if options.smoke else (options.pairs, 1)
    cases = options.case or [*SHORT, LASTING]
    smoke = options.smoke
    # To start one takes a worker longer than all that it computes in a smoke run.
    workers = 1 if smoke else WORKERS
    with (
        Driver(RECORDED, RECORDED, smoke=smoke, workers=workers) as recorded,
        Driver(BARE, BARE, smoke=smoke, workers=workers) as bare,
    ):
        measured = in_turn([recorded, bare], cases, pairs, smoke, uncounted, SETTLE_SECONDS)
    figures = figures_of(measured)
    for figure in figures:
        values = figure.samples
        low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
        print(f"  {figure.name:36} {figure.interval.middle:+.1f} % ({low:+.1f} … {high:+.1f})")
    for line in by_role(measured):
        print(f"  {line}")
    settings = {
        "pairs": pairs,
        "smoke": options.smoke,
        "workers": workers,
        "threadsPerWorker": THREADS,
        "uncountedRounds": uncounted,
        "othersStandStill": True,
        "settleSeconds": SETTLE_SECONDS,
    }
    records.hand_over(options, settings, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
