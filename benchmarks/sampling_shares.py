"""Sampled shares against thread CPU time: a two-span CPU-bound mix of 30 s.

    python -m benchmarks sampling [-- --seconds 30]

Three mixes: Python on one thread, Python on two threads (which share the interpreter
lock), and Python beside arrays that release it. What one look missed, the next one stands for.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.measure.looks import LOOK_SECONDS
from spanwise.records.enumerations import SAMPLE_ON_CORE
from spanwise.tests.fake_scheduler import FakeScheduler, WorkerHandle, task

#: Points by which the sampled share is off, and true looks a second: those, or this share of what
#: the budget of looks lets there be where they are dear and it allows fewer than a hundred.
MOST_POINTS, LEAST_LOOKS, LEAST_OF_DUE, NOT_DEAR = 3.0, 85.0, 0.8, 100.0


def python_work(cpu_seconds: float) -> None:
    end = time.thread_time() + cpu_seconds
    total = 0
    while time.thread_time() < end:
        for i in range(50):
            total += i


def other_python_work(cpu_seconds: float) -> None:
    python_work(cpu_seconds)


def array_work(cpu_seconds: float) -> None:
    import numpy as np

    a = np.random.default_rng(0).random(200_000)
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        np.sort(a)


# name, threads, (span, function, CPU seconds of a task)
MIXES = [
    ("Python, one thread", 1, [(1, python_work, 0.023), (2, other_python_work, 0.011)]),
    ("Python, two threads", 2, [(1, python_work, 0.037), (2, other_python_work, 0.013)]),
    ("Python and arrays", 2, [(1, python_work, 0.033), (2, array_work, 0.047)]),
]


def looks_of(dask_worker: Any) -> int:
    return dask_worker._worker.watch.sampler.looks


def looks_due(dask_worker: Any) -> float:
    return 1.0 / dask_worker._worker.watch.budget.stretch(LOOK_SECONDS)


def shares(counter: dict[int, float]) -> dict[int, float]:
    total = sum(counter.values())
    return {key: value / total for key, value in counter.items()}


def measure(worker: WorkerHandle, mix: list[Any], seconds: float) -> dict[str, Any]:
    span_of: dict[int, int] = {}
    looks = worker.call(looks_of)
    begin = time.perf_counter()
    next_id = 0
    previous: list[int] = []
    while time.perf_counter() - begin < seconds:
        tasks = []
        for _ in range(4):
            for span, work, cpu in mix:
                tasks.append(task(next_id, work, (cpu,), span=span, wanted=False))
                next_id += 1
        started = worker.assign(tasks)
        for each in tasks:
            span_of[started[each.task_id]] = each.span
        # One batch ahead, so that no thread is ever idle.
        for run_id in previous:
            worker.run_of(run_id)
        previous = list(started.values())
    for run_id in previous:
        worker.run_of(run_id)
    wall = time.perf_counter() - begin
    looks, due = worker.call(looks_of) - looks, worker.call(looks_due)
    worker.flush()
    cpu: collections.Counter[int] = collections.Counter()
    for run in worker.runs:
        cpu[span_of[run.runId]] += run.cpu
    on_core: collections.Counter[int] = collections.Counter()
    every: collections.Counter[int] = collections.Counter()
    for span, _, _, state, n in worker.samples():
        every[span] += n
        if state == SAMPLE_ON_CORE:
            on_core[span] += n
    off = max(abs(shares(on_core)[s] - shares(cpu)[s]) for s in cpu)
    off_all = max(abs(shares(every)[s] - shares(cpu)[s]) for s in cpu)
    return {
        "seconds": wall,
        "cpuShare": shares(cpu)[1],
        "onCoreShare": shares(on_core)[1],
        "allShare": shares(every)[1],
        "offPoints": 100 * off,
        "allOffPoints": 100 * off_all,
        "onCoreSecondsOverCpu": sum(on_core.values()) * 0.01 / sum(cpu.values()),
        "looksPerSecond": looks / wall,
        "looksDuePerSecond": due,
    }


def least_looks(due: float) -> float:
    return LEAST_LOOKS if due >= NOT_DEAR else min(LEAST_LOOKS, LEAST_OF_DUE * due)


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    records.add_option(parser)
    arguments = parser.parse_args()
    figures = []
    results = {}
    print(f"load {os.getloadavg()[0]:.2f}")
    print(f"{'':22}{'CPU':>8}{'on core':>9}{'off by':>8}{'all':>8}{'off by':>8}{'looks/s':>9}")
    for name, threads, mix in MIXES:
        with tempfile.TemporaryDirectory() as folder, FakeScheduler(Path(folder)) as scheduler:
            worker = scheduler.start_worker(threads=threads)
            result = results[name] = measure(worker, mix, arguments.seconds)
        print(
            f"{name:22}{result['cpuShare']:8.3f}{result['onCoreShare']:9.3f}"
            f"{result['offPoints']:8.2f}{result['allShare']:8.3f}{result['allOffPoints']:8.2f}"
            f"{result['looksPerSecond']:9.1f}",
            flush=True,
        )
        figures += [
            Figure(name, "off by", "points", "lower", (result["offPoints"],), limit=MOST_POINTS),
            Figure(
                name,
                "looks a second",
                "",
                "higher",
                (result["looksPerSecond"],),
                limit=least_looks(result["looksDuePerSecond"]),
            ),
        ]
    records.hand_over(arguments, {"seconds": arguments.seconds}, figures, {"mixes": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
