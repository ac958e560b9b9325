"""What it costs a Dask scheduler to be watched, by one viewer and by five.

    python -m benchmarks dask-bridge [-- --tasks 20000 --rounds 7]

Two things are measured:

* a hook: the CPU time of `Bridge.transition` for the transitions of a task, called as the scheduler
  calls it, without anything else;
* a task: the CPU time of the process of a real scheduler for short tasks of two workers, not
  watched, watched by one viewer, and by five, in turn in one cluster. A viewer pulls four times a
  second, all that there is.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
from distributed import Client
from distributed.core import rpc

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.dask_bridge.plugin_source import Bridge
from spanwise.dask_bridge.pulled import STATES, read_answer
from spanwise.dask_bridge.ship import OPERATION, ship
from spanwise.tests.dask_processes import DaskProcesses

#: Of the hook, for one transition.
LIMIT_US = 10.0
#: Of the scheduler's CPU time for a task, watched over not watched.
LIMITS = {"one viewer": 1.03, "five viewers": 1.10}
_SECTIONS = sorted({*STATES} - {"gone", "durations", "tasks"})
_PULL_SECONDS = 0.25
#: For processes that start slowly.
_START_SECONDS = 60.0
SIDES = {"not watched": 0, "one viewer": 1, "five viewers": 5}


def increment(number: int) -> int:
    return number + 1


async def hook(tasks: int) -> float:
    """Microseconds of CPU that a transition costs: three a task, whose group is known."""
    group = SimpleNamespace(name="inc", prefix=SimpleNamespace(name="inc"), span_id="span")
    known = {f"inc-{number}": SimpleNamespace(group=group) for number in range(tasks)}
    scheduler = SimpleNamespace(tasks=known, handlers={}, plugins={}, workers={})
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
    spent = time.thread_time() - begin
    bridge.leave()
    return spent / tasks / 3 * 1e6


async def view(address: str, name: str, stop: asyncio.Event) -> int:
    """Pull until told to stop; returns how many rows came."""
    scheduler = rpc(address, deserialize=False)
    request: dict[str, Any] = {"viewer": name, "plugin": "", "cursor": -1, "state": -1}
    request |= {"limit": 4_000, "lease": 30.0, "want": _SECTIONS}
    rows = 0
    try:
        while True:
            # An answer that was on its way when all was done may lack the last tasks.
            is_last = stop.is_set()
            pulled = read_answer(await getattr(scheduler, OPERATION)(**request))
            request |= {"plugin": pulled.plugin, "cursor": pulled.cursor, "state": pulled.state}
            rows += len(pulled.rows.get("done", {"n": []})["n"])
            if pulled.waiting == 0:
                if is_last:
                    break
                await asyncio.sleep(_PULL_SECONDS)
        await getattr(scheduler, OPERATION)(**request | {"lease": 0})
    finally:
        await scheduler.close_rpc()
    return rows


def _cpu(process: psutil.Process) -> float:
    """Seconds that a process has had."""
    times = process.cpu_times()
    return times.user + times.system


async def task(cluster: DaskProcesses, client: Client, viewers: int, tasks: int) -> float:
    """Microseconds of CPU of the scheduler for a task."""
    stop = asyncio.Event()
    watching = []
    if viewers:
        scheduler = rpc(cluster.address, deserialize=False)
        await ship(scheduler)
        watching = [
            asyncio.create_task(view(cluster.address, f"viewer-{number}", stop))
            for number in range(viewers)
        ]
        await scheduler.close_rpc()
        await asyncio.sleep(0.5)
    before = _cpu(cluster.scheduler)
    futures = client.map(increment, range(tasks), pure=False)
    await client.gather(futures)
    stop.set()
    rows = await asyncio.gather(*watching)
    spent = _cpu(cluster.scheduler) - before
    assert all(each >= tasks for each in rows), f"{rows} of {tasks} tasks were told"
    for future in futures:
        future.release()
    await asyncio.sleep(0.5)
    return spent / tasks * 1e6


async def measure(tasks: int, rounds: int) -> dict[str, list[float]]:
    """Samples by side, and of the hook."""
    found: dict[str, list[float]] = {side: [] for side in (*SIDES, "a hook")}
    for _ in range(rounds):
        found["a hook"].append(await hook(tasks))
    with tempfile.TemporaryDirectory() as folder:
        cluster = DaskProcesses(Path(folder), threads=1)
        try:
            async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
                await client.wait_for_workers(2, timeout=_START_SECONDS)
                await task(cluster, client, 0, tasks)  # (warm)
                sides = [*SIDES.items()]
                for number in range(rounds):
                    for place in range(len(sides)):
                        side, viewers = sides[(number + place) % len(sides)]
                        found[side].append(await task(cluster, client, viewers, tasks))
        finally:
            cluster.close()
    return found


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    records.add_option(parser)
    options = parser.parse_args()
    found = asyncio.run(measure(options.tasks, options.rounds))
    for side, samples in found.items():
        print(f"  {side:13} {statistics.median(samples):8.2f} us of CPU")
    bare = tuple(found["not watched"])
    figures = [
        Figure(
            "a transition",
            "CPU",
            "us",
            "lower",
            tuple(found["a hook"]),
            limit=LIMIT_US,
            tracked=True,
        ),
        Figure("a task", "CPU, not watched", "us", "lower", bare),
        *(
            Figure(
                "a task",
                f"{side} over none",
                "x",
                "lower",
                tuple(found[side]),
                bare,
                limit=limit,
            )
            for side, limit in LIMITS.items()
        ),
    ]
    settings = {"tasks": options.tasks, "rounds": options.rounds, "uncountedRounds": 1}
    records.hand_over(options, settings, figures, {"samples": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
