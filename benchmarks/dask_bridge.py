"""What it costs a Dask scheduler to be watched, by one viewer and by five.

    python -m benchmarks dask-bridge [-- --tasks 1000 --rounds 34]

Two things are measured:

* the plugin alone: the CPU time of `Bridge.transition` for the transitions of a task, called as the
  scheduler calls it, and of an answer that tells of the task;
* a task: the CPU time of the event loop of a real scheduler for short tasks of two workers, not
  watched, watched by one viewer, and by five, in turn in one cluster. The viewers are in a process
  of their own, and pull as `spanwise.attach` does.

The second is told as the median of the ratios of neighbours, for what else the machine does changes
more slowly than they take turns. In 34 rounds of 1,000 tasks a side, differences of some hundredths
can be seen. For smaller ones there is "what the plugin takes": its own CPU time for a task, as
measured alone, beside that of the task. This leaves out that a watched scheduler does more at a
time, and so the rest for less.

Wall time is told too. On few cores it is longer for what the viewers take from clients and workers.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
from distributed import Client
from distributed.core import rpc
from distributed.protocol import dumps

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.dask_bridge import viewer
from spanwise.dask_bridge.plugin_source import Bridge
from spanwise.dask_bridge.pulled import read_answer
from spanwise.dask_bridge.ship import OPERATION, ship
from spanwise.tests.dask_processes import DaskProcesses

#: Of the hook, for one transition.
LIMIT_US = 10.0
#: Of the scheduler's CPU time for a task, watched over not watched.
LIMITS = {"one viewer": 1.03, "five viewers": 1.15}
#: Of a task, until it is forgotten.
TRANSITIONS = 5
#: Between two blocks of tasks: those before are forgotten.
_REST_SECONDS = 0.3
#: For processes that start slowly.
_START_SECONDS = 60.0
SIDES = {"not watched": 0, "one viewer": 1, "five viewers": 5}


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


async def view(address: str, name: str, begun: asyncio.Event, stop: asyncio.Event) -> int:
    """Pull as a viewer does, until told to stop; returns how many rows came."""
    scheduler = rpc(address, deserialize=False)
    request: dict[str, Any] = {"viewer": name, "plugin": "", "cursor": -1, "state": -1}
    request |= {"limit": viewer._LIMIT, "lease": 30.0, "want": viewer._WANT}
    rows = 0
    try:
        while True:
            # An answer that was on its way when all was done may lack the last tasks.
            is_last = stop.is_set()
            pulled = read_answer(await getattr(scheduler, OPERATION)(**request))
            request |= {"plugin": pulled.plugin, "cursor": pulled.cursor, "state": pulled.state}
            rows += len(pulled.rows.get("done", {"n": []})["n"])
            if pulled.has_more:
                continue
            if is_last:
                break
            begun.set()
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(stop.wait(), viewer._BUSY_SECONDS)
        await getattr(scheduler, OPERATION)(**request | {"lease": 0})
    finally:
        await scheduler.close_rpc()
    return rows


async def view_as_told(address: str) -> None:
    """Be as many viewers as each line says, until the next line."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        viewers = int(line)
        scheduler = rpc(address, deserialize=False)
        await ship(scheduler)
        await scheduler.close_rpc()
        stop = asyncio.Event()
        begun = [asyncio.Event() for _ in range(viewers)]
        watching = [
            asyncio.create_task(view(address, f"viewer-{number}", each, stop))
            for number, each in enumerate(begun)
        ]
        await asyncio.gather(*(each.wait() for each in begun))
        print("they watch", flush=True)
        await loop.run_in_executor(None, sys.stdin.readline)
        stop.set()
        print(min(await asyncio.gather(*watching)), flush=True)


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
    if count:
        await viewers.ask(str(count))
    begin, before = time.perf_counter(), _cpu(cluster.scheduler)
    futures = client.map(increment, range(tasks), pure=False)
    await client.gather(futures)
    wall = time.perf_counter() - begin
    if count:
        rows = int(await viewers.ask("stop"))
        assert rows >= tasks, f"{rows} of {tasks} tasks were told"
    for future in futures:
        future.release()
    spent = _cpu(cluster.scheduler) - before
    await asyncio.sleep(_REST_SECONDS)
    return Block(spent / tasks * 1e6, wall / tasks * 1e6)


async def measure(tasks: int, rounds: int) -> tuple[list[Plugin], dict[str, list[Block]]]:
    """What the plugin takes, and blocks of tasks by side."""
    alone = [await plugin(tasks) for _ in range(rounds)]
    found: dict[str, list[Block]] = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as folder:
        cluster = DaskProcesses(Path(folder), threads=1)
        try:
            async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
                await client.wait_for_workers(2, timeout=_START_SECONDS)
                viewers = await Viewers.start(cluster.address)
                sides = [*SIDES.items()]
                for number in range(-1, rounds):
                    for place in range(len(sides)):
                        side, count = sides[(number + place) % len(sides)]
                        block = await run_tasks(cluster, client, viewers, count, tasks)
                        if number >= 0:  # (the first are warm after it)
                            found[side].append(block)
                await viewers.end()
        finally:
            cluster.close()
    return alone, found


def ratios(found: dict[str, list[Block]], side: str, what: str) -> tuple[float, ...]:
    """Of each round, watched over not watched."""
    pairs = zip(found[side], found["not watched"], strict=True)
    return tuple(getattr(block, what) / getattr(bare, what) for block, bare in pairs)


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=34)
    records.add_option(parser)
    parser.add_argument("--view", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.view:
        asyncio.run(view_as_told(options.view))
        return 0
    alone, found = asyncio.run(measure(options.tasks, options.rounds))
    bare = tuple(each.cpu for each in found["not watched"])
    hooks = tuple(each.transition for each in alone)
    told = tuple(each.told for each in alone)
    figures = [
        Figure("a transition", "CPU", "us", "lower", hooks, limit=LIMIT_US, tracked=True),
        Figure("a task, told to a viewer", "CPU", "us", "lower", told),
        Figure("a task", "CPU, not watched", "us", "lower", bare),
    ]
    for side, limit in LIMITS.items():
        for what, bound in (("cpu", limit), ("wall", None)):
            name = f"{what}, {side} over none"
            samples = ratios(found, side, what)
            figures.append(Figure("a task", name, "x", "lower", samples, limit=bound))
        parts = tuple(
            1 + (TRANSITIONS * each.transition + SIDES[side] * each.told) / own
            for each, own in zip(alone, bare, strict=True)
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
    blocks = {side: [vars(each) for each in some] for side, some in found.items()}
    records.hand_over(options, settings, figures, {"samples": blocks})
    return 0


if __name__ == "__main__":
    sys.exit(main())
