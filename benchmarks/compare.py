"""Against ``distributed``: all systems run the same graphs in turn, round after round, in one run.

    python -m benchmarks compare compare-general compare-real compare-transfers
    python -m benchmarks compare -- --rounds 5 --case merge-25K
    python -m benchmarks compare-general -- --before FOLDER

Four sets of cases (``graphs.py``): shapes that short ways serve, with ``--general`` the general
path, with ``--real`` everyday computations at the size where they take seconds, and with
``--transfers`` large results on their way. Every system warms up alike: its first round of each
case is not counted, and ``--warm-seconds`` has it repeat each case for so long before: compilers
at run time come to some code only after thousands of calls. Results must be what they have to be,
and the same of all systems. What counts is the ratio to the better of the peer's two settings. A
smoke run has a round without a warm-up, beside one setting of the peer, whose workers are threads,
of cases of all sets for which no worker imports a library: that took most of its time. The others
are in the smoke runs of ``recording`` and ``decomposition``, or computed by the tests.
With ``--before`` the peer is another release of Spanwise, whose package FOLDER holds (and nothing
else); the goals are then that nothing has become slower.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.driver import SYSTEMS
from benchmarks.graphs import CASES, GENERAL, REAL, SHORT, TRANSFERS
from benchmarks.systems import (
    Driver,
    Measured,
    in_turn,
    round_settings,
    total_cpu,
    wall,
)
from benchmarks.verdicts import Figure

OURS = "spanwise"
PEERS = tuple(each for each in SYSTEMS if each.startswith("distributed"))
BEFORE = "before"
#: What a smoke run computes.
SMOKED = ("chain-1000", "transfers of 1 MB", "bag-200", *TRANSFERS)
#: How many times as fast as before, at least: slower is a defect, however little.
LEAST_BESIDE_BEFORE = 1.0


def seconds(answers: list[dict[str, Any]]) -> tuple[float, ...]:
    """The time of each round."""
    return tuple(map(wall, answers))


def better_peer(by_system: dict[str, list[dict[str, Any]]]) -> str:
    """The peer with the least median."""
    peers = [each for each in by_system if each != OURS]
    return min(peers, key=lambda each: statistics.median(seconds(by_system[each])))


def figures_of(measured: Measured) -> list[Figure]:
    """Per case our time, the peer's, and the ratio, with what was promised of it."""
    figures = []
    for case, by_system in measured.items():
        peer = better_peer(by_system)
        name = f"{case} ({by_system[OURS][0]['tasks']:,} tasks)"
        title = "before" if peer == BEFORE else "distributed's better"
        for system, column in ((OURS, "Spanwise"), (peer, title)):
            times = tuple(1e3 * each for each in seconds(by_system[system]))
            figures.append(Figure(name, column, "ms", "lower", times, tracked=system == OURS))
        if peer == BEFORE:
            figures += beside_before(name, by_system[BEFORE], by_system[OURS])
            continue
        figures.append(
            Figure(
                name,
                "times as fast",
                "x",
                "higher",
                seconds(by_system[peer]),
                over=seconds(by_system[OURS]),
                limit=CASES[case].goal,
                tracked=True,
            )
        )
    return figures


def beside_before(
    name: str, before: list[dict[str, Any]], ours: list[dict[str, Any]]
) -> list[Figure]:
    """The ratio of each pair of neighbouring runs: small differences show better than in medians.

    CPU time of all processes says the same again, and repeats better on shared cores.
    """

    def ratios(clock: Callable[[dict[str, Any]], float]) -> tuple[float, ...]:
        return tuple(clock(a) / clock(b) for a, b in zip(before, ours, strict=True))

    limit = LEAST_BESIDE_BEFORE
    return [
        Figure(name, "times as fast", "x", "higher", ratios(wall), limit=limit),
        Figure(name, "by CPU", "x", "higher", ratios(total_cpu), limit=limit),
    ]


def report(measured: Measured) -> str:
    """The table that is printed."""
    lines = []
    for case, by_system in measured.items():
        lines += ["", f"{case}  ({by_system[OURS][0]['tasks']:,} tasks)"]
        for system, answers in by_system.items():
            times = seconds(answers)
            median = statistics.median(times)
            load = statistics.median(a["load"] for a in answers)
            cpu = "  ".join(f"{role} {used:.1f}" for role, used in cpu_per_task(answers).items())
            lines.append(
                f"  {system:20s} {median * 1e3:10.1f} ms"
                f"  ({min(times) * 1e3:.1f} – {max(times) * 1e3:.1f})"
                f"  {median / answers[0]['tasks'] * 1e6:8.1f} µs/task"
                f"   CPU µs/task: {cpu}   load {load:.1f}"
            )
    return "\n".join(lines)


def cpu_per_task(answers: list[dict[str, Any]]) -> dict[str, float]:
    """Median CPU microseconds per task, by the role of the processes."""
    roles = sorted({role for each in answers for role in each["cpuSeconds"]})
    return {
        role: 1e6 * statistics.median(a["cpuSeconds"].get(role, 0.0) / a["tasks"] for a in answers)
        for role in roles
    }


def main() -> int:
    """Run, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--smoke", action="store_true", help="tiny sizes, of all sets: shows that it runs"
    )
    parser.add_argument("--general", action="store_true", help="the general path")
    parser.add_argument("--real", action="store_true", help="everyday computations, larger")
    parser.add_argument("--transfers", action="store_true", help="large results on their way")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--before", type=Path, help="folder with another release's package")
    parser.add_argument(
        "--warm-seconds", type=float, default=0.0, help="how long each case is repeated first"
    )
    records.add_option(parser)
    options = parser.parse_args()
    chosen = (
        SMOKED
        if options.smoke
        else TRANSFERS
        if options.transfers
        else REAL
        if options.real
        else GENERAL
        if options.general
        else SHORT
    )
    cases = options.case or list(chosen)
    rounds, uncounted = (1, 0) if options.smoke else (options.rounds, 1)
    peers = PEERS[-1:] if options.smoke else PEERS
    with ExitStack() as stack:
        smoke = options.smoke
        drivers = [stack.enter_context(Driver(OURS, OURS, smoke=smoke))]
        if options.before:
            drivers.append(stack.enter_context(Driver(BEFORE, OURS, options.before, smoke)))
        else:
            drivers += [stack.enter_context(Driver(each, each, smoke=smoke)) for each in peers]
        if len({each.package for each in drivers}) == 1:
            parser.error(f"--before {options.before}: there is no package spanwise in it.")
        warm = options.warm_seconds
        measured = in_turn(drivers, cases, rounds, options.smoke, uncounted, warm_seconds=warm)
    print(report(measured))
    settings = {
        **round_settings(rounds, uncounted, options.smoke),
        "othersStandStill": True,
        # (kept figures from before it could be set have no such line)
        **({"warmSeconds": warm} if warm > 0.0 else {}),
        "peers": [each.name for each in drivers if each.name != OURS],
    }
    cpu = {
        case: {system: cpu_per_task(answers) for system, answers in by_system.items()}
        for case, by_system in measured.items()
    }
    records.hand_over(options, settings, figures_of(measured), {"cpuMicrosecondsPerTask": cpu})
    return 0


if __name__ == "__main__":
    sys.exit(main())
