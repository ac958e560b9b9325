"""Records a real run per fault, for ``src/observer/__tests__/recorded-runs.spec.ts``.

::

    python -m benchmarks.recorded_faults src/testing/recorded-runs [NAME …]
    python -m benchmarks.recorded_faults --smoke

Each program runs on a cluster of its own whose log goes to a stand-in for an observer. A file has
the rows of the log that spans, idle time and fine metrics are made of, and the program's own
account: when each task's body ran (by stamps in the task), and when the program waited for tasks
(by stamps around that), in seconds of the log's clock. Files and folders of the machine are named
alike on every one. Run it on a quiet machine. A smoke run records one program, and keeps nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import re
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

import spanwise
from benchmarks import records
from benchmarks.recorded_rows import Recorder
from benchmarks.verdicts import Figure
from spanwise import Client, span
from spanwise.metrics import context_meter
from spanwise.observed.find_observer import OBSERVER_VARIABLE
from spanwise.records.block import Block

#: Of the log; others (profiles, memory, edges) take part in no figure of these.
TABLES = (
    "header",
    "names",
    "spans",
    "workers",
    "lanes",
    "capacity",
    "nodes",
    "runs",
    "parts",
    "running",
    "fine",
    "events",
    "clients",
    "meters",
)
#: What a smoke run records.
SMOKE = "retried"
#: Folders of this machine, and what they are called in a recording; the inner ones first.
FOLDERS = sorted(
    {
        sysconfig.get_path("purelib"): "/site-packages",
        sysconfig.get_path("platlib"): "/site-packages",
        sysconfig.get_path("stdlib"): "/python",
        str(records.CHECKOUT): "/checkout",
        sys.prefix: "/environment",
        tempfile.gettempdir(): "/temporary",
        str(Path.home()): "/home",
    }.items(),
    key=lambda each: -len(each[0]),
)
#: Digits of numbers: a nanosecond of a run of a minute.
DIGITS = 9


class Stamps:
    """What tasks and program note themselves; goes with the tasks."""

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def body(self) -> Iterator[None]:
        """Around the body of a task: a line of process, start and stop; none if it is killed."""
        start = time.perf_counter()
        try:
            yield
        finally:
            line = f"{os.getpid()} {start!r} {time.perf_counter()!r}\n".encode()
            with Path(self.path).open("ab", buffering=0) as file:
                file.write(line)

    def read(self) -> list[tuple[int, float, float]]:
        words = [line.split() for line in Path(self.path).read_text().splitlines()]
        return [(int(pid), float(start), float(stop)) for pid, start, stop in words]


def rest(stamps: Stamps, seconds: float, *inputs: Any) -> int:
    with stamps.body():
        time.sleep(seconds)
    return len(inputs)


def spin(stamps: Stamps, seconds: float, *inputs: Any) -> int:
    with stamps.body():
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
    return len(inputs)


def fail_until(stamps: Stamps, seconds: float, marks: str, times: int) -> int:
    """Fail so often, then not."""
    with stamps.body():
        time.sleep(seconds)
        path = Path(marks)
        text = path.read_text() if path.exists() else ""
        if len(text) < times:
            path.write_text(text + "x")
            raise ValueError(f"the {len(text) + 1}th time")
    return 1


def hold(stamps: Stamps, seconds: float, nbytes: int) -> Any:
    with stamps.body():
        time.sleep(seconds)
        return np.random.default_rng(nbytes).bytes(nbytes)


def measure(stamps: Stamps, seconds: float, number: int) -> int:
    """What tasks measure themselves: seconds, other units, labels that are no texts."""
    with stamps.body():
        with context_meter.meter("read"):
            time.sleep(seconds)
            with context_meter.meter(("inner", number % 2)):
                time.sleep(seconds / 2)
        with context_meter.meter("think", func=time.thread_time):
            sum(range(100_000))
        context_meter.digest_metric("read", 1000 * number, "bytes")
        context_meter.digest_metric("rows", number, "rows")
        context_meter.digest_metric("claimed", 60.0, "seconds")
    return number


async def wait_long(stamps: Stamps, seconds: float) -> None:
    with stamps.body():
        await asyncio.sleep(seconds)


def fail(stamps: Stamps, seconds: float) -> None:
    with stamps.body():
        time.sleep(seconds)
        raise ValueError("always")


def from_within(stamps: Stamps, seconds: float, count: int) -> int:
    """Submit tasks, and wait for them: the thread is left to others meanwhile."""
    with spanwise.worker_client() as client:
        futures = [client.submit(rest, stamps, seconds, pure=False) for _ in range(count)]
        return sum(client.gather(futures))


class Program:
    """What a program has: a client, stamps, drawn durations, and a folder for marks."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.stamps = Stamps(str(folder / "bodies"))
        Path(self.stamps.path).touch()
        self.folder = folder
        self.random = random.Random(0)
        self.waits: list[tuple[float, float]] = []

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around the time in which some task is unfinished."""
        start = time.perf_counter()
        yield
        self.waits.append((start, time.perf_counter()))

    def seconds(self, most: float = 0.12) -> float:
        return self.random.uniform(0.01, most)

    def submit(self, function: Any, *args: Any, **options: Any) -> Any:
        return self.client.submit(function, self.stamps, *args, pure=False, **options)

    def mix(self, count: int, most: float = 0.12) -> list[Any]:
        """Tasks that rest and tasks that compute, some with inputs of earlier ones."""
        futures: list[Any] = []
        for number in range(count):
            function = self.random.choice([rest, rest, spin])
            inputs = self.random.sample(futures, min(len(futures), number % 3))
            futures.append(self.submit(function, self.seconds(most), *inputs))
        return futures

    def pids(self) -> list[int]:
        return [row["pid"] for row in self.client.scheduler_info()["workers"].values()]


def retried(program: Program) -> None:
    """Tasks that fail and run again: by themselves, and when the program says so."""
    with program.waiting():
        with span("retried"):
            often = [
                program.submit(
                    fail_until, program.seconds(), str(program.folder / f"a{i}"), i % 3, retries=2
                )
                for i in range(15)
            ]
            once = [
                program.submit(fail_until, program.seconds(), str(program.folder / f"b{i}"), 1)
                for i in range(6)
            ]
        with span("others"):
            others = program.mix(20)
        spanwise.wait([*often, *once, *others])
    time.sleep(0.8)
    with program.waiting():
        for future in once:
            future.retry()
        program.client.gather(once)


def recomputed(program: Program) -> None:
    """Results that go with their worker, and are needed."""
    with program.waiting(), span("first"):
        first = program.mix(24)
        spanwise.wait(first)
    time.sleep(0.8)
    with program.waiting():
        os.kill(program.pids()[0], signal.SIGKILL)
        with span("after"):
            after = [
                program.submit(rest, program.seconds(), *first[i : i + 3]) for i in range(0, 24, 2)
            ]
        program.client.gather([*first, *after])


def killed(program: Program) -> None:
    """Workers that die while they run tasks, twice."""
    with program.waiting(), span("killed"):
        futures = program.mix(50, 0.25)
        for _ in range(2):
            time.sleep(0.5)
            os.kill(program.pids()[0], signal.SIGKILL)
        program.client.gather(futures)


def spilled(program: Program) -> None:
    """Results beyond the memory, written to disk and read again."""
    with program.waiting(), span("written"):
        held = [program.submit(hold, program.seconds(), 10_000_000 + n) for n in range(30)]
        spanwise.wait(held)
    time.sleep(0.3)
    with program.waiting():
        with span("read"):
            read = [program.submit(rest, program.seconds(), *held[i : i + 2]) for i in range(29)]
        program.client.gather(read)


def replaced(program: Program) -> None:
    """Workers that go and come while tasks run: asked for, retired, replaced."""
    client = program.client
    with program.waiting(), span("replaced"):
        futures = program.mix(40, 0.2)
        time.sleep(0.4)
        client.restart_workers(
            [
                client.scheduler_info()["workers"][each]["name"]
                for each in list(client.scheduler_info()["workers"])[:1]
            ]
        )
        futures += program.mix(30, 0.2)
        client.scale(3)
        client.wait_for_workers(3)
        futures += program.mix(40, 0.2)
        client.retire_workers(list(client.scheduler_info()["workers"])[:1])
        futures += program.mix(20, 0.2)
        client.gather(futures)


def seceded(program: Program) -> None:
    """Tasks that leave their thread to others: runs that overlap on a thread."""
    with program.waiting(), span("seceded"):
        outer = [program.submit(from_within, program.seconds(), 5) for _ in range(6)]
        program.client.gather([*outer, *program.mix(20)])


def mixed(program: Program) -> None:
    """Spans in spans, fused tasks, meters, coroutines, failures, what is cancelled, transfers."""
    with program.waiting():
        with span("outer"):
            futures = program.mix(15)
            with span("inner"):
                futures += [program.submit(measure, program.seconds(0.04), n) for n in range(12)]
                with span("deepest"):
                    futures += [program.submit(wait_long, program.seconds()) for _ in range(6)]
            with span("failing"):
                futures += [program.submit(fail, program.seconds()) for _ in range(5)]
                given_up = program.submit(rest, 0.3)
        with span("arrays"):
            x = da.random.default_rng(0).random((1200, 1200), chunks=400)
            with span("product"):
                y = (x + 1) @ x.T
            with span("mean"):
                total = (y * 2).mean(axis=0).sum().persist()
        spanwise.wait([*futures, total])
        given_up.cancel()
        futures = program.mix(10)
        spanwise.wait(futures)


#: Program, and its cluster.
PROGRAMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "retried": (retried, {"n_workers": 2, "threads_per_worker": 2}),
    "recomputed": (recomputed, {"n_workers": 2, "threads_per_worker": 1}),
    "killed": (killed, {"n_workers": 2, "threads_per_worker": 2}),
    "spilled": (
        spilled,
        {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "220MB"},
    ),
    "replaced": (replaced, {"n_workers": 2, "threads_per_worker": 2}),
    "seceded": (seceded, {"n_workers": 2, "threads_per_worker": 2}),
    "mixed": (mixed, {"n_workers": 2, "threads_per_worker": 2}),
}


def of_no_machine(text: str) -> str:
    """A text whose folders are called alike on every machine."""
    for folder, name in FOLDERS:
        if len(folder) > 1:
            # Not "/tmp" of "/tmpfs".
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", name, text)
    return text


def plain(value: Any) -> Any:
    """A number as JSON has it, without NaN, which JSON has not; a text of no machine."""
    if isinstance(value, str):
        return of_no_machine(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else f"{value}"
        return int(value) if value.is_integer() else round(value, DIGITS)
    return value


def rows_of(blocks: Iterable[Block]) -> list[Any]:
    """Blocks in the order of the log, each its table and its columns."""
    return [
        [
            block.table.name,
            {name: [plain(each) for each in block.column(name)] for name in block.table.columns},
        ]
        for block in blocks
        if block.table.name in TABLES
    ]


def record(name: str, out: Path) -> int:
    """Run a program, and write its file; how many bodies of tasks it had."""
    program, cluster = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "observer").mkdir()
        recorder = Recorder(folder / "observer")
        os.environ[OBSERVER_VARIABLE] = str(folder / "observer")
        # Modules that are imported ahead would fill a small worker first.
        with dask.config.set({"spanwise.worker.import-ahead": False}), Client(**cluster) as client:
            client.wait_for_workers(cluster["n_workers"])
            client.gather(client.map(time.sleep, [0.01] * 8, pure=False))
            run = Program(client, folder)
            program(run)
            epoch = client._session.scheduler_start
        blocks = recorder.close()
        bodies = [[pid, start - epoch, stop - epoch] for pid, start, stop in run.stamps.read()]
    waits = [[start - epoch, stop - epoch] for start, stop in run.waits]
    told = {
        "what": program.__doc__,
        "waits": [[plain(each) for each in row] for row in waits],
        "bodies": [[plain(each) for each in row] for row in bodies],
        "blocks": rows_of(blocks),
    }
    path = out / f"{name}.json"
    path.write_text(json.dumps(told, allow_nan=False, separators=(",", ":")) + "\n")
    print(f"{name}: {len(bodies)} bodies, {path.stat().st_size:,} bytes", flush=True)
    return len(bodies)


def main() -> int:
    """Record the programs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", help="a folder")
    parser.add_argument("name", nargs="*", choices=[*PROGRAMS, []], help="default: all")
    parser.add_argument("--smoke", action="store_true")
    records.add_option(parser)
    options = parser.parse_args()
    if options.smoke == (options.out is not None):
        parser.error("Name a folder, or --smoke.")
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        names = [SMOKE] if options.smoke else options.name or [*PROGRAMS]
        figures = [
            Figure("recorded", f"bodies of {name}", "", "higher", (record(name, out),))
            for name in names
        ]
    records.hand_over(options, {"names": names}, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
