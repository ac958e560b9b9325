"""Microseconds of a worker per tiny task, all in: reading, running, measuring, reporting.

    python -m benchmarks worker [-- --tasks 50000 --batch 512 --rounds 3]

A fake scheduler hands out batches, the next one as soon as half of the last is
finished, as the real one does by time. CPU is the worker's own (user + system, all
threads), from ``getrusage`` there; wall time says little on shared cores.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import sys
import tempfile
import time
from operator import add
from pathlib import Path

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.client.imported import ALWAYS
from spanwise.graph.template import Part, Template
from spanwise.records.enumerations import NONE_U32, RUN_OK
from spanwise.tests.fake_scheduler import FakeScheduler, WorkerHandle, task
from spanwise.wire import payload

CHUNK_ROWS = 256


def inc(x: int) -> int:
    return x + 1


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Shape:
    """One kind of tiny task."""

    def __init__(self, name: str, inputs: int, flags: int, fused: int = 0) -> None:
        self.name = name
        self.inputs = inputs
        self.flags = flags
        parts = None
        if fused:
            parts = tuple(
                Part(inc, (-1,) if i == 0 else (i - 1,), name="inc", drops=()) for i in range(fused)
            )
        order = (-1,) if inputs == 0 else (0,) if inputs == 1 else (0, 1)
        self.template = Template(inc if inputs < 2 else add, order, parts=parts)


SHAPES = [
    Shape("literal", 0, 0),
    Shape("literal, result wanted", 0, 1),
    Shape("chain, one input", 1, 0),
    Shape("sum of two inputs", 2, 0),
    Shape("fused, 5 parts", 0, 8, fused=5),
]


def measure(
    worker: WorkerHandle, shape: Shape, number: int, tasks: int, batch: int
) -> dict[str, float]:
    """Run so many tasks of a shape; `number` gives ids that no other measurement has."""
    base = 10_000_000 * (number + 1)
    template = 1000 + number
    chunks = {
        template * 10_000 + i: [(i * CHUNK_ROWS + j,) for j in range(CHUNK_ROWS)]
        for i in range(batch // CHUNK_ROWS)
    }
    blobs = [payload.dumps(shape.template), *map(payload.dumps, chunks.values())]
    worker.send(
        "assign",
        {
            "templates": [{"id": template, "blob": 0}],
            "chunks": [{"id": each, "blob": i + 1} for i, each in enumerate(chunks)],
        },
        None,
        blobs,
    )
    seed = worker.assign(
        [task(base + tasks + i, abs, (1,)) for i in range(2)],
    )
    for run_id in seed.values():
        worker.run_of(run_id)
    chunk_ids = list(chunks)
    done_before = len(worker.runs)
    cpu_before = worker.call(cpu_seconds)
    begin = time.perf_counter()
    sent = 0
    while sent < tasks:
        now = time.perf_counter()
        rows, dependencies = [], []
        for i in range(sent, min(sent + batch, tasks)):
            chunk, row = NONE_U32, 0
            if shape.inputs == 0:
                chunk, row = chunk_ids[i % batch // CHUNK_ROWS], i % CHUNK_ROWS
            rows.append(
                (
                    base + i,
                    base + i,
                    template,
                    chunk,
                    row,
                    1,
                    0,
                    shape.flags,
                    float(i),
                    now,
                    len(dependencies),
                )
            )
            first = base + i - 1 if i else base + tasks
            for j in range(shape.inputs):
                dependencies.append((first if j == 0 else base + tasks + 1, worker.number, 28.0))
        worker.send("assign", {}, {"tasks": rows, "dependencies": dependencies})
        sent += len(rows)
        enough = done_before + sent - batch // 2
        worker.wait(lambda enough=enough: len(worker.runs) >= enough)
    worker.wait(lambda: len(worker.runs) - done_before >= tasks)
    wall = time.perf_counter() - begin
    cpu = worker.call(cpu_seconds) - cpu_before
    worker.send("release", None, {"ids": [(base + i, 1) for i in range(tasks + 2)]})
    runs = worker.runs[done_before:]
    assert all(run.status == RUN_OK for run in runs)
    return {
        "workerCpuMicroseconds": cpu / tasks * 1e6,
        "wallMicroseconds": wall / tasks * 1e6,
        "inTasksMicroseconds": sum(run.cpu for run in runs) / tasks * 1e6,
    }


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    records.add_option(parser)
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {shape.name: [] for shape in SHAPES}
    print(f"load {os.getloadavg()[0]:.2f}")
    print(f"{'':28}{'worker CPU':>12}{'of it in runs':>15}{'wall':>10}   us per task")
    with tempfile.TemporaryDirectory() as folder, FakeScheduler(Path(folder)) as scheduler:
        worker = scheduler.start_worker(modules=ALWAYS)
        # Modules that a worker imports in the background after its start cost no task
        # anything: they are there now.
        worker.call(importlib.import_module, "dask.sizeof")
        for number in range(arguments.rounds * len(SHAPES)):
            shape = SHAPES[number % len(SHAPES)]
            result = measure(worker, shape, number, arguments.tasks, arguments.batch)
            found[shape.name].append(result)
            print(
                f"{shape.name:28}{result['workerCpuMicroseconds']:12.2f}"
                f"{result['inTasksMicroseconds']:15.2f}{result['wallMicroseconds']:10.2f}"
            )
    columns = {
        "CPU of the worker": "workerCpuMicroseconds",
        "of it in runs": "inTasksMicroseconds",
        "wall": "wallMicroseconds",
    }
    figures = [
        Figure(name, column, "us", "lower", tuple(each[key] for each in results), tracked=True)
        for name, results in found.items()
        for column, key in columns.items()
    ]
    settings = {
        "tasks": arguments.tasks,
        "batch": arguments.batch,
        "rounds": arguments.rounds,
        "uncountedRounds": 0,
    }
    records.hand_over(arguments, settings, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
