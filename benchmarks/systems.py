"""Systems under test, each in a process of its own (``driver.py``), given the same work in turn.

Who is not at work stands still (``stillness.py``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.graphs import CASES
from benchmarks.stillness import Stillness

#: Not resolved: in scripts/test it is a folder that holds a link to this one, and no `spanwise`.
HERE = Path(__file__).parent.parent
WORKERS, THREADS = 2, 1

#: Answers per case and system, a list in the order of the rounds.
Measured = dict[str, dict[str, list[dict[str, Any]]]]


def round_settings(rounds: int, uncounted: int, smoke: bool) -> dict[str, Any]:
    """Settings for the record of a benchmark that computes in rounds while a log is recorded."""
    return {
        "rounds": rounds,
        "smoke": smoke,
        "workers": WORKERS,
        "threadsPerWorker": THREADS,
        "uncountedRounds": uncounted,
        "recording": True,
    }


def package_environment(package: Path | None) -> tuple[dict[str, str], Path]:
    """Environment and working folder of a program that imports `spanwise` from a folder."""
    environment = dict(os.environ)
    if package is not None:
        # Before this checkout, of which only the benchmarks are wanted.
        rest = [str(HERE), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join([str(package.resolve()), *rest])
        environment["PYTHONSAFEPATH"] = "1"
    return environment, HERE


class Driver:
    """A system under test in its own process.

    Parameters
    ----------
    name
        What it is called in the figures.
    system
        One of ``benchmarks.driver.SYSTEMS``.
    package
        Folder in which ``spanwise`` and ``package.json`` of another release lie, and nothing else.
    smoke
        Whether it is only to be shown that it runs.
    workers
        How many it has.

    It stands still from the start of its ``with``, but for its orders.
    """

    def __init__(
        self,
        name: str,
        system: str,
        package: Path | None = None,
        smoke: bool = False,
        workers: int = WORKERS,
    ) -> None:
        self.name = name
        environment, folder = package_environment(package)
        command = [sys.executable, "-m", "benchmarks.driver", system, str(workers), str(THREADS)]
        self._process = subprocess.Popen(
            command + ["--smoke"] * smoke,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )
        try:
            #: Where its package lies.
            self.package: str = self._answer()["package"]
            self._stillness = Stillness(self._process.pid, waits=not smoke)
        except BaseException:
            self._end_process()
            raise

    def order(self, **order: Any) -> dict[str, Any]:
        """One repetition, or some; see ``measure`` and ``warm_up`` of ``benchmarks.driver``."""
        assert self._process.stdin is not None
        self._stillness.end()
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        self._stillness.begin()
        return answer

    def close(self) -> None:
        """End the system, by force if it does not end by itself."""
        self._stillness.close()
        self._end_process()

    def _end_process(self) -> None:
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
                f"{self.name} ended with exit code {self._process.wait()}; its message is above."
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Driver:
        try:
            self._stillness.begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def wall(answer: dict[str, Any]) -> float:
    """Seconds from the call to the result."""
    return float(answer["wallSeconds"])


def total_cpu(answer: dict[str, Any]) -> float:
    """CPU seconds of all processes."""
    return float(sum(answer["cpuSeconds"].values()))


def in_turn(
    drivers: Sequence[Driver],
    cases: Sequence[str],
    rounds: int,
    smoke: bool,
    uncounted: int = 1,
    settle: float = 0.0,
    warm_seconds: float = 0.0,
) -> Measured:
    """Alternate the systems, case by case.

    Every system warms up alike: each case is repeated for `warm_seconds`, and its first `uncounted`
    rounds are not counted. Their order is turned by one each round, so that none always follows
    the same one. What any of its processes does in `settle` seconds after the result counts as the
    round's CPU time.

    Raises
    ------
    AssertionError
        Two systems gave other results for the same work.
    """
    measured: Measured = {case: {each.name: [] for each in drivers} for case in cases}
    for case in cases:
        size = CASES[case].smoke if smoke else CASES[case].full
        if warm_seconds > 0.0:
            for driver in drivers:
                driver.order(case=case, size=size, salt=f"{os.getpid()}", seconds=warm_seconds)
        for number in range(uncounted + rounds):
            turn = number % len(drivers)
            salt = f"{os.getpid()}-{number}"
            answers = {
                driver.name: driver.order(case=case, size=size, salt=salt, settle=settle)
                for driver in [*drivers[turn:], *drivers[:turn]]
            }
            if len({each["digest"] for each in answers.values()}) != 1:
                raise AssertionError(f"{case}: the systems gave different results.")
            if number >= uncounted:
                for name, answer in answers.items():
                    measured[case][name].append(answer)
    return measured
