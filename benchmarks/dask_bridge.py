"""What it costs a Dask scheduler to be watched, by one viewer and by five.

    python -m benchmarks dask-bridge [-- --tasks 1000 --rounds 100 --viewers 1]

Two things are measured:

* the plugin alone: the CPU time of `Bridge.transition` for the transitions of a task, called as the
  scheduler calls it, and of an answer that tells of the task;
* a task: the CPU time of the event loop of a real scheduler for short tasks of two workers, not
  watched, watched by one viewer, and by five, in turn in one cluster. The viewers are in a process
  of their own, and pull as `spanwise.attach` does, samples too. They come before a block of tasks
  is counted, and leave after it: who watches for an hour comes and leaves once.

The second is told as the median of ratios, each of a watched block to the mean of the unwatched
ones before and after it, for what else the machine does changes more slowly than they take turns.
100 rounds of 1,000 tasks, 100,000 a side, take 25 minutes and show two hundredths; fewer show less,
and so do as many tasks in longer blocks. With `--viewers 1` or `5` only so many watch, and a round
takes half as long.
For small differences there is "what the plugin takes": its own CPU time for a task, as measured
alone, beside that of the task. This leaves out that a watched scheduler does more at a time, and so
the rest for less. ``benchmarks/dask_stacks.py`` divides one and the same run, by its stacks.

With ``--python PROGRAM`` all of it is of the release of Dask that this interpreter has; Spanwise is
that of the checkout, and need not be installed there.

Wall time is told too. On few cores it is longer for what the viewers take from clients and workers.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import psutil
from distributed import Client, Security
from distributed.core import rpc
from distributed.protocol import dumps

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.dask_bridge import viewer
from spanwise.dask_bridge.plugin_source import Bridge
from spanwise.dask_bridge.pulled import read_answer
from spanwise.dask_bridge.sample_pull import SamplePull
from spanwise.dask_bridge.sample_seconds import TakenSeconds
from spanwise.dask_bridge.sample_times import LAG_SECONDS, PAUSE_SECONDS
from spanwise.dask_bridge.ship import OPERATION, ship
from spanwise.tests.dask_processes import DaskProcesses

#: Of the hook, for one transition.
LIMIT_US = 10.0
#: Of the scheduler's CPU time for a task, watched over not watched.
LIMITS = {"one viewer": 1.03, "five viewers": 1.15}
#: Of a task, until it is forgotten.
TRANSITIONS = 5
#: Until tasks of a block are forgotten, and until the next block.
_FORGOTTEN_SECONDS, _REST_SECONDS = 0.1, 0.2
#: For processes that start slowly.
_START_SECONDS = 60.0
SIDES = {"one viewer": 1, "five viewers": 5}
#: When samples are taken first after a viewer has come.
_SAMPLED_AFTER_SECONDS = 1.0
#: Has viewers pull what is left, and leave.
LEAVE = "leave"
NONE = "not watched"


def increment(number: int) -> int:
    return number + 1


class Plugin:
    """What the plugin itself takes, without a cluster: microseconds of CPU.

    Attributes
    ----------
    transition
        Of a transition: three of each task, whose group is known.
    told
        Of a task that is submitted, and told to a viewer with its end.
    """

    def __init__(self, transition: float, told: float) -> None:
        self.transition = transition
        self.told = told


async def plugin(tasks: int) -> Plugin:
    """Call it as the scheduler does, and pull."""
    group = SimpleNamespace(name="inc", prefix=SimpleNamespace(name="inc"), span_id="span")
    group.states = {"released": tasks}
    task = SimpleNamespace(group=group, state="released")
    known = {f"increment-{uuid.uuid4()}": task for _ in range(tasks)}
    scheduler = SimpleNamespace(tasks=known, handlers={}, plugins={}, workers={}, extensions={})
    scheduler.id = scheduler.address = "tcp://127.0.0.1:1"
    scheduler.bandwidth_workers = {}
    bridge = Bridge()
    bridge.start(scheduler)
    stops = [
        {
            "worker": "tcp://127.0.0.1:1",
            "thread": 1,
            "nbytes": 28,
            "typename": "int",
            "startstops": [{"action": "compute", "start": 1.0, "stop": 2.0}],
            "metadata": {},
            "status": "OK",
            "type": b"",
        }
        for _ in known
    ]
    gc.collect()
    begin = time.thread_time()
    for key, kwargs in zip(known, stops, strict=True):
        bridge.transition(key, "released", "waiting", stimulus_id="s")
        bridge.transition(key, "waiting", "processing", stimulus_id="s")
        bridge.transition(key, "processing", "memory", stimulus_id="s", **kwargs)
    transition = (time.thread_time() - begin) / tasks / 3 * 1e6
    begin = time.thread_time()
    bridge.update_graph(scheduler, tasks=known, client="client", keys=())
    request: dict[str, Any] = {"viewer": "v", "plugin": "", "cursor": -1, "state": -1, "want": []}
    while True:
        answer = await bridge.answer(request | {"limit": viewer._LIMIT, "lease": 30.0})
        dumps(answer)
        request |= {"plugin": answer["plugin"], "cursor": answer["cursor"]}
        if answer["cursor"] == answer["newest"]:
            break
    told = (time.thread_time() - begin) / tasks * 1e6
    bridge.leave()
    return Plugin(transition, told)


# -- viewers, in a process of their own ------------------------------------


class Watcher:
    """A viewer: it pulls as `spanwise.attach` does, and once more when it is called."""

    def __init__(self) -> None:
        self._calls: asyncio.Queue[str] = asyncio.Queue()
        self._answers: asyncio.Queue[int] = asyncio.Queue()
        self.workers: list[str] = []

    async def call(self, word: str) -> int:
        """Have it pull what there is, and leave then for ``leave``; how many tasks it was told."""
        self._calls.put_nowait(word)
        return await self._answers.get()

    async def view(self, address: str, name: str) -> None:
        """Watch until called to leave."""
        scheduler = rpc(address, deserialize=False)
        request: dict[str, Any] = {"viewer": name, "plugin": "", "cursor": -1, "state": -1}
        request |= {"limit": viewer._LIMIT, "lease": 30.0, "want": viewer._WANT}
        rows, called = 0, ""
        samples = SamplePull(address, Security(), _START_SECONDS)
        sampling = asyncio.create_task(self._sample(samples))
        try:
            while called != LEAVE:
                called = ""
                with suppress(TimeoutError):
                    async with asyncio.timeout(viewer._BUSY_SECONDS):
                        called = await self._calls.get()
                has_more = True
                while has_more:
                    pulled = read_answer(await getattr(scheduler, OPERATION)(**request))
                    request |= {"plugin": pulled.plugin, "cursor": pulled.cursor}
                    request |= {"state": pulled.state}
                    self.workers += pulled.states.get("workers", {}).get("worker", ())
                    rows += len(pulled.rows.get("done", {"n": []})["n"])
                    has_more = pulled.has_more
                if called:
                    self._answers.put_nowait(rows)
            await getattr(scheduler, OPERATION)(**request | {"lease": 0})
        finally:
            sampling.cancel()
            with suppress(asyncio.CancelledError):
                await sampling
            await samples.close()
            await scheduler.close_rpc()

    async def _sample(self, samples: SamplePull) -> None:
        """Take samples once in a block of 1,000 tasks: more often than an attached one.

        Those of some seconds before, when another block ran: those of this one are not there yet.
        """
        await asyncio.sleep(_SAMPLED_AFTER_SECONDS)
        known: dict[Any, int] = {}
        taken = TakenSeconds(time.time() - LAG_SECONDS - 2 * PAUSE_SECONDS)
        while True:
            until = time.time() - LAG_SECONDS
            await samples.take(
                self.workers,
                until - PAUSE_SECONDS,
                until,
                lambda caller, frame: known.setdefault((caller, frame), len(known)),
                taken,
            )
            await asyncio.sleep(PAUSE_SECONDS)


async def view_as_told(address: str) -> None:
    """Be as many viewers as a line says; each line after it calls them, until they have left."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        watchers = [Watcher() for _ in range(int(line))]
        scheduler = rpc(address, deserialize=False)
        await ship(scheduler)
        await scheduler.close_rpc()
        watching = [
            asyncio.create_task(each.view(address, f"viewer-{number}"))
            for number, each in enumerate(watchers)
        ]
        word = "begin"
        while True:
            told = await asyncio.gather(*(each.call(word) for each in watchers))
            if word == LEAVE:
                await asyncio.gather(*watching)
            print(min(told), flush=True)
            if word == LEAVE:
                break
            word = (await loop.run_in_executor(None, sys.stdin.readline)).strip() or LEAVE


class Viewers:
    """The process of viewers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, address: str) -> Viewers:
        """None watches yet."""
        command = ("-m", "benchmarks.dask_bridge", "--view", address)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return cls(await asyncio.create_subprocess_exec(sys.executable, *command, **pipes))

    async def ask(self, line: str) -> str:
        """Say a line, and hear the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n".encode())
        answer = await self._process.stdout.readline()
        if not answer:
            raise SystemExit("The process of the viewers has ended.")
        return answer.decode().strip()

    async def end(self) -> None:
        """There are no more."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


@asynccontextmanager
async def cluster_and_viewers() -> AsyncIterator[tuple[DaskProcesses, Client, Viewers]]:
    """Two workers with a thread each, their client, and viewers that do not watch yet."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = DaskProcesses(Path(folder), threads=1)
        try:
            async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
                await client.wait_for_workers(2, timeout=_START_SECONDS)
                viewers = await Viewers.start(cluster.address)
                yield cluster, client, viewers
                await viewers.end()
        finally:
            cluster.close()


# -- tasks -----------------------------------------------------------------


def _cpu(process: psutil.Process) -> float:
    """Seconds that the thread of a process's event loop has had."""
    try:
        # (nanoseconds; psutil's are hundredths of a second)
        told = Path(f"/proc/{process.pid}/task/{process.pid}/schedstat").read_text("utf-8")
        return int(told.split()[0]) / 1e9
    except OSError:
        times = process.cpu_times()
        return times.user + times.system


class Block:
    """Short tasks that ran: microseconds for each."""

    def __init__(self, cpu: float, wall: float) -> None:
        self.cpu = cpu
        self.wall = wall


async def run_tasks(
    cluster: DaskProcesses, client: Client, viewers: Viewers, count: int, tasks: int
) -> Block:
    """Have tasks run, while some viewers watch."""
    before = int(await viewers.ask(str(count))) if count else 0
    begin, spent = time.perf_counter(), -_cpu(cluster.scheduler)
    futures = client.map(increment, range(tasks), pure=False)
    await client.gather(futures)
    wall = time.perf_counter() - begin
    for future in futures:
        future.release()
    await asyncio.sleep(_FORGOTTEN_SECONDS)
    if count:
        rows = int(await viewers.ask("look")) - before
        assert rows >= tasks, f"{rows} of {tasks} tasks were told"
    spent += _cpu(cluster.scheduler)
    if count:
        await viewers.ask(LEAVE)
    await asyncio.sleep(_REST_SECONDS)
    return Block(spent / tasks * 1e6, wall / tasks * 1e6)


async def measure(
    tasks: int, rounds: int, sides: dict[str, int]
) -> tuple[list[Plugin], dict[str, list[Block]]]:
    """What the plugin takes, and blocks of tasks by side.

    Each watched block is between two that are not::

        none  one  none  five  none  one  …  five  none
    """
    alone = [await plugin(tasks) for _ in range(rounds)]
    found: dict[str, list[Block]] = {side: [] for side in (NONE, *sides)}
    async with cluster_and_viewers() as (cluster, client, viewers):
        for count in sides.values():  # (what comes after it is warm)
            await run_tasks(cluster, client, viewers, count, tasks)
        found[NONE].append(await run_tasks(cluster, client, viewers, 0, tasks))
        for _ in range(rounds):
            for side, count in sides.items():
                found[side].append(await run_tasks(cluster, client, viewers, count, tasks))
                found[NONE].append(await run_tasks(cluster, client, viewers, 0, tasks))
    return alone, found


def ratios(found: dict[str, list[Block]], side: str, what: str) -> tuple[float, ...]:
    """Of each watched block, over the mean of its two neighbours."""
    bare = [getattr(block, what) for block in found[NONE]]
    sides = [each for each in found if each != NONE]
    first = sides.index(side)
    pairs = zip(bare[first :: len(sides)], bare[first + 1 :: len(sides)], strict=False)
    watched = (getattr(block, what) for block in found[side])
    return tuple(
        own * 2 / (before + after) for own, (before, after) in zip(watched, pairs, strict=False)
    )


def run_in(python: str) -> int:
    """Do the same in another interpreter; its exit code."""
    command = [python, "-m", "benchmarks.dask_bridge", *sys.argv[1:], "--is-there"]
    environment = os.environ | {"PYTHONPATH": str(records.CHECKOUT)}
    return subprocess.run(command, env=environment).returncode


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--viewers", type=int, choices=[*SIDES.values()])
    parser.add_argument("--python", type=os.path.abspath, help="the interpreter that has the Dask")
    parser.add_argument("--is-there", action="store_true", help=argparse.SUPPRESS)
    records.add_option(parser)
    parser.add_argument("--view", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.view:
        asyncio.run(view_as_told(options.view))
        return 0
    if options.python and not options.is_there:
        return run_in(options.python)
    sides = {side: count for side, count in SIDES.items() if options.viewers in (None, count)}
    alone, found = asyncio.run(measure(options.tasks, options.rounds, sides))
    bare = tuple(each.cpu for each in found[NONE])
    task = statistics.median(bare)
    hooks = tuple(each.transition for each in alone)
    told = tuple(each.told for each in alone)
    figures = [
        Figure("a transition", "CPU", "us", "lower", hooks, limit=LIMIT_US, tracked=True),
        Figure("a task, told to a viewer", "CPU", "us", "lower", told),
        Figure("a task", "CPU, not watched", "us", "lower", bare),
    ]
    for side in sides:
        limit = LIMITS[side]
        for what, bound in (("cpu", limit), ("wall", None)):
            name = f"{what}, {side} over none"
            samples = ratios(found, side, what)
            figures.append(Figure("a task", name, "x", "lower", samples, limit=bound))
        parts = tuple(
            1 + (TRANSITIONS * each.transition + SIDES[side] * each.told) / task for each in alone
        )
        name = f"what the plugin takes, {side} over none"
        figures.append(Figure("a task", name, "x", "lower", parts, limit=limit))
    for figure in figures:
        interval = figure.interval
        print(
            f"  {figure.name:58} {interval.middle:8.3f} {figure.unit:2}"
            f"  ({interval.low:.3f} to {interval.high:.3f})"
        )
    settings = {"tasks": options.tasks, "rounds": options.rounds, "uncountedRounds": 1}
    if options.python:
        settings["distributed"] = distributed.__version__
    blocks = {side: [vars(each) for each in some] for side, some in found.items()}
    records.hand_over(options, settings, figures, {"samples": blocks})
    return 0


if __name__ == "__main__":
    sys.exit(main())
