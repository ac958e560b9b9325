"""Against ``distributed``: all systems run the same graphs in turn, round after round, in one run.

``python -m benchmarks.compare [--smoke] [--rounds 7] [--pairs 31] [--json FILE]``. Prints a row
per case: medians, spread, ratio of medians to the peer's better setting, CPU per task of each
process. Then, with the peers gone, what recording costs: pairs of runs, one with the record log
and one without, in turns.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import spanwise
from benchmarks.driver import SYSTEMS
from benchmarks.graphs import CASES


class Driver:
    """A system under test in its own process."""

    def __init__(self, system: str, workers: int, threads: int) -> None:
        self.system = system
        command = [sys.executable, "-m", "benchmarks.driver", system, str(workers), str(threads)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        self._answer()

    def order(self, **order: Any) -> dict[str, Any]:
        """One repetition; see ``benchmarks.driver.measure``."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the system, by force if it does not end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"{self.system} ended with exit code {self._process.wait()}; its message is above."
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def run(systems: tuple[str, ...], cases: list[str], rounds: int, smoke: bool) -> dict[str, Any]:
    """Alternate the systems; the first round of each case warms up and is not counted.

    The order of the systems is turned by one each round, so that none always follows the same one.
    """
    drivers = [Driver(system, workers=2, threads=1) for system in systems]
    measured: dict[str, dict[str, list[dict[str, Any]]]] = {
        case: {s: [] for s in systems} for case in cases
    }
    try:
        for case in cases:
            size = CASES[case].smoke if smoke else CASES[case].full
            for number in range(rounds + 1):
                turn = number % len(drivers)
                for driver in drivers[turn:] + drivers[:turn]:
                    answer = driver.order(case=case, size=size, salt=f"{os.getpid()}-{number}")
                    if number:
                        measured[case][driver.system].append(answer)
    finally:
        for driver in drivers:
            driver.close()
    return {"settings": settings(rounds, smoke), "measured": measured}


#: The one system with and without the record log.
PAIR = ("spanwise", "spanwise-unrecorded")


def settings(rounds: int, smoke: bool) -> dict[str, Any]:
    """What another person needs to know to repeat this."""
    versions = {"spanwise": spanwise.__version__}
    for name in ("dask", "distributed", "cloudpickle", "msgpack"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "rounds": rounds,
        "smoke": smoke,
        "workers": 2,
        "threadsPerWorker": 1,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": versions,
        "startedAt": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }


def summary(values: list[float]) -> tuple[float, float, float]:
    """Median, minimum, maximum."""
    return statistics.median(values), min(values), max(values)


def report(run_record: dict[str, Any]) -> str:
    """The table that is printed."""
    lines = [json.dumps(run_record["settings"])]
    for case, by_system in run_record["measured"].items():
        lines.append("")
        lines.append(f"{case}  ({next(iter(by_system.values()))[0]['tasks']:,} tasks)")
        medians = {}
        for system, answers in by_system.items():
            median, least, most = summary([a["wallSeconds"] for a in answers])
            medians[system] = median
            tasks = answers[0]["tasks"]
            roles = sorted({role for a in answers for role in a["cpuSeconds"]})
            cpu = "  ".join(f"{role} {cpu_per_task(answers, role) * 1e6:.1f}" for role in roles)
            load = statistics.median(a["load"] for a in answers)
            lines.append(
                f"  {system:20s} {median * 1e3:10.1f} ms  ({least * 1e3:.1f} – {most * 1e3:.1f})"
                f"  {median / tasks * 1e6:8.1f} µs/task   CPU µs/task: {cpu}   load {load:.1f}"
            )
        lines.extend(ratios(case, medians))
    return "\n".join(lines)


def cpu_per_task(answers: list[dict[str, Any]], role: str) -> float:
    """Median CPU seconds per task of the processes that play ``role``."""
    return statistics.median(a["cpuSeconds"].get(role, 0.0) / a["tasks"] for a in answers)


def ratios(case: str, medians: dict[str, float]) -> list[str]:
    """How many times faster than the peer's better setting."""
    lines = []
    peers = [seconds for system, seconds in medians.items() if system.startswith("distributed")]
    if "spanwise" in medians and peers:
        goal = CASES[case].goal
        lines.append(
            f"  faster than the better peer by {min(peers) / medians['spanwise']:.1f}x"
            + (f"  (goal {goal:.0f}x)" if goal else "")
        )
    return lines


def recording_cost(run_record: dict[str, Any]) -> str:
    """The second table: of each pair of neighbouring runs the ratio, of these the quartiles.

    A median of ratios of neighbours outlasts the machine's mood, which changes over minutes; the
    CPU time of all processes per task says the same again, and repeats better on shared cores.
    """
    lines = ["", "What recording costs (median of pairs, with quartiles)"]
    for case, by_system in run_record["measured"].items():
        recorded, bare = (by_system[system] for system in PAIR)
        wall = [
            a["wallSeconds"] / b["wallSeconds"] - 1 for a, b in zip(recorded, bare, strict=True)
        ]
        cpu = [total_cpu(a) / total_cpu(b) - 1 for a, b in zip(recorded, bare, strict=True)]
        load = statistics.median(a["load"] for a in recorded)
        lines.append(
            f"  {case:14s} wall {quartiles(wall)}   CPU {quartiles(cpu)}"
            f"   {len(wall)} pairs, load {load:.1f}"
        )
    return "\n".join(lines)


def total_cpu(answer: dict[str, Any]) -> float:
    """CPU seconds of all processes."""
    return float(sum(answer["cpuSeconds"].values()))


def quartiles(ratios: list[float]) -> str:
    """``+4.0 % (+1.2 … +7.9)``."""
    if len(ratios) < 2:
        return f"{ratios[0] * 100:+.1f} %"
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle * 100:+.1f} % ({low * 100:+.1f} … {high * 100:+.1f})"


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--smoke", action="store_true", help="tiny sizes: everything runs, no figures"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pairs", type=int, default=31, help="0: not this part")
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--system", action="append", choices=SYSTEMS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cases = options.case or list(CASES)
    systems = tuple(options.system or (s for s in SYSTEMS if s != PAIR[1]))
    rounds, pairs = (1, min(1, options.pairs)) if options.smoke else (options.rounds, options.pairs)
    record = {"peers": run(systems, cases, rounds, options.smoke)} if rounds else {}
    if record:
        print(report(record["peers"]), flush=True)
    if pairs:
        record["recording"] = run(PAIR, cases, pairs, options.smoke)
        print(recording_cost(record["recording"]))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
