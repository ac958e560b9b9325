"""A Dask cluster of 1,000 workers and a million tasks in the panels.

    python -m benchmarks dask-scale [-- --tasks 1000000 --workers 1000 --seconds 6 --picture PREFIX
                                        --profile PREFIX]

A real scheduler with simulated workers (``simulated_dask.py``) runs in a process of its own. A
viewer attaches to it as ``spanwise.attach`` does; the observer is that of a Jupyter server, whose
page then pans over the log (``dask-scale.ts``; without ``--seconds`` there is no page).

Half-way nobody pulls until the ring has lost rows, while another viewer keeps the plugin there.
The runs that the observer has, and those in its gaps, must be all that the scheduler ran.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from benchmarks import records
from benchmarks.bundles import node_command
from benchmarks.simulated_dask import SimulatedDask
from benchmarks.verdicts import Figure
from spanwise.dask_bridge.ship import NAME, OPERATION

Json = dict[str, Any]

THREADS = 2
#: Of a task, on average: two thousand threads then run 5,000 a second.
TASK_SECONDS = 0.4
#: What is not told after so long is missing.
LIMIT_SECONDS = 300.0
#: A ring of so many rows loses some, where few tasks run.
SMALL_RING = 500

MB = 1e6
#: The limits for the figures.
LIMITS = {
    "a transition, us of CPU": 10.0,
    # 64 MiB, and the chunk that is being filled.
    "ring as it lies in memory, MB": 68.2,
    "states that the plugin keeps, MB": 64.0,
    "viewer at most, MB": 400.0,
    "observer at most, MB": 800.0,
    "runs neither shown nor told as missing": 0.0,
    "page, heap and buffers, MB": 200.0,
    "page, more than JupyterLab alone, MB": 200.0,
    "pan zoomed 10 times, p95 frame, ms": 33.0,
    "pan zoomed 1,000 times, p95 frame, ms": 33.0,
    "pan zoomed 10 times, share of frames that drew, %": 33.0,
    "pan zoomed 1,000 times, share of frames that drew, %": 33.0,
    "pan of a group zoomed 10 times, p95 frame, ms": 33.0,
    "pan of a group zoomed 1,000 times, p95 frame, ms": 33.0,
    "pan of a group zoomed 10 times, share of frames that drew, %": 33.0,
    "pan of a group zoomed 1,000 times, share of frames that drew, %": 33.0,
}


# -- the scheduler's process ----------------------------------------------


def deep_size(roots: Iterable[Any]) -> int:
    """Bytes of texts, numbers and containers, each once; of nothing else that they refer to."""
    seen: set[int] = set()
    total = 0
    left = [*roots]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        if type(each) in (tuple, list):
            left.extend(each)
        elif type(each) is dict:
            left.extend(each)
            left.extend(each.values())
        elif type(each) not in (str, int, float, bytes):
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
    return total


class Timed:
    """A function, and the CPU time that its calls have taken."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.calls = 0
        self.seconds = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        begin = time.thread_time()
        self._call(*args, **kwargs)
        self.seconds += time.thread_time() - begin
        self.calls += 1


async def serve(workers: int) -> None:
    """Be the scheduler, and do what is said in lines of JSON, until there is no more."""
    logging.getLogger("distributed").setLevel(logging.ERROR)
    dask = SimulatedDask(workers, THREADS, TASK_SECONDS)
    scheduler = await dask.start()
    loop = asyncio.get_running_loop()

    def say(**what: Any) -> None:
        print(json.dumps(what), flush=True)

    say(address=scheduler.address)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        bridge = scheduler.plugins.get(NAME)
        if order["do"] == "run":
            begin, cpu = time.perf_counter(), time.process_time()
            await dask.run(order["tasks"])
            say(
                tasks=dask.tasks,
                seconds=time.perf_counter() - begin,
                cpu=time.process_time() - cpu,
            )
        elif order["do"] == "time":
            own = bridge.transition
            timed = bridge.transition = Timed(own)
            await dask.run(order["tasks"])
            bridge.transition = own
            say(us=1e6 * timed.seconds / timed.calls)
        elif order["do"] == "small":
            bridge.ring._most_rows = SMALL_RING
            say()
        else:
            ring = bridge.ring
            sections = [each.rows for each in bridge._sections.values()]
            say(
                tasks=dask.tasks,
                rows=ring.newest - ring.first,
                most=ring._most_rows,
                ring=deep_size([ring._chunks, ring._open]),
                states=deep_size([*sections, bridge._fine_seen, bridge._given, bridge._joined]),
                resident=psutil.Process().memory_info().rss,
            )


# -- the viewer's process -------------------------------------------------


class Lines:
    """A process that answers lines of JSON."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def hear(self) -> Json:
        """The next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args!r} has ended.")
        found: Json = json.loads(line)
        return found

    def say(self, **what: Any) -> None:
        """Say a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def ask(self, **what: Any) -> Json:
        """Say a line, and hear the answer."""
        self.say(**what)
        return self.hear()

    def end(self) -> None:
        """Say no more, and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


def most_resident(pid: int | None = None) -> float:
    """The most memory that a process has had, in MB."""
    status = Path(f"/proc/{pid or os.getpid()}/status").read_text("utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / MB


class Sleeping:
    """While it is entered the viewer does not pull, and another one keeps the plugin there."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._viewer._loop).result(LIMIT_SECONDS)

    def __enter__(self) -> Sleeping:
        self._do(self._viewer._turn.acquire())
        self.keep()
        return self

    def keep(self) -> None:
        """Pull as the other one, who goes by himself."""
        from spanwise.dask_bridge.reach import open_rpc

        async def pull() -> None:
            rpc = open_rpc(self._viewer.address, self._viewer._security, LIMIT_SECONDS)
            same = {"viewer": "keeper", "plugin": "", "cursor": -1, "state": -1, "limit": 1}
            await getattr(rpc, OPERATION)(**same, want=[], lease=120.0)
            await rpc.close_rpc()

        self._do(pull())

    def __exit__(self, *_: object) -> None:
        self._viewer._loop.call_soon_threadsafe(self._viewer._turn.release)


def run_all(viewer: Any, scheduler: Lines, options: argparse.Namespace, small: bool) -> Json:
    """Have all tasks run; half-way the viewer sleeps until the ring must have lost some."""
    done = 0
    seconds = cpu = 0.0
    slept = False

    def wave() -> None:
        nonlocal done, seconds, cpu
        said = scheduler.ask(do="run", tasks=options.wave)
        done = said["tasks"]
        seconds, cpu = seconds + said["seconds"], cpu + said["cpu"]
        print(f"  {done:9,} tasks, {options.wave / said['seconds']:6,.0f} a second", flush=True)

    while done < options.tasks - options.wave:
        if slept or done < options.tasks / 2:
            wave()
            continue
        slept = True
        if small:
            scheduler.ask(do="small")
        # (it loses rows by the thousand)
        until = done + 2_000 + 1.2 * scheduler.ask(do="size")["most"]
        with Sleeping(viewer) as sleeping:
            while done < until:
                wave()
                sleeping.keep()
    us = scheduler.ask(do="time", tasks=options.wave)["us"]
    return {
        "a transition, us of CPU": us,
        "tasks a second": done / seconds,
        "a task, us of CPU of the scheduler and the simulation": 1e6 * cpu / done,
    }


def said_missing(attached: Any) -> int:
    """How many tasks the cluster card says to be missing."""
    from spanwise.wire.link import dial

    observer = attached._viewer.observer
    link = dial(observer.address_to_ask(), observer.secret, "panel")
    try:
        while True:
            message = link.read(time.monotonic() + LIMIT_SECONDS)
            for each in message.fields.get("clusters", ()) if message.type == "clusters" else ():
                if each["cluster"] == attached.cluster_id:
                    said = each.get("dropped", "").replace("\u00a0", " ")
                    return runs_missing(said)
    finally:
        link.close()


def runs_missing(said: str) -> int:
    """How many runs the card's sentence speaks of; it may also say nothing."""
    if not said:
        return 0
    found = re.search(r"([0-9,]+) task runs before .* are missing", said)
    if found is None:
        raise SystemExit(f"The card does not say as it should what is missing: {said}")
    return int(found[1].replace(",", ""))


def _observer_pid() -> int:
    """The observer that this process has started."""
    (pid,) = (each.pid for each in psutil.Process().children() if "observer" in each.cmdline())
    return int(pid)


def catch_up(viewer: Any) -> float:
    """Wait until the viewer has all that the ring has, and the observer too; seconds."""
    begin = time.monotonic()
    while True:
        seq = viewer.flush()
        if not viewer.newest.has_more:
            break
        if time.monotonic() > begin + LIMIT_SECONDS:
            raise SystemExit(f"{viewer.newest.waiting} rows wait for the viewer.")
    viewer._link.wait_for(seq, LIMIT_SECONDS)
    return time.monotonic() - begin


def watch(options: argparse.Namespace, scheduler: Lines, address: str, page: Lines | None) -> Json:
    """Attach, have the tasks run, and account for them."""
    import spanwise

    with spanwise.attach(address, name="scale", timeout=LIMIT_SECONDS) as attached:
        viewer: Any = attached._viewer
        found = run_all(viewer, scheduler, options, page is None)
        found["caught up after, s"] = catch_up(viewer)
        size = scheduler.ask(do="size")
        found["rows in the ring"] = size["rows"]
        found["ring as it lies in memory, MB"] = size["ring"] / MB
        found["states that the plugin keeps, MB"] = size["states"] / MB
        found["scheduler with its plugin, MB"] = size["resident"] / MB
        found["viewer at most, MB"] = most_resident()
        ran = size["tasks"]
        shown = attached._asked().query("task-stream")["tasks"]
        lost = said_missing(attached)
        found |= {"runs told as missing": lost, "runs shown": shown}
        found["runs neither shown nor told as missing"] = abs(ran - shown - lost)
        if page is None:
            found["observer at most, MB"] = most_resident(_observer_pid())
        else:
            found |= page.ask(cluster=attached.cluster_id)["figures"]
    return found


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--wave", type=int, default=10_000, help="tasks of one graph")
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each pan; 0: no page")
    parser.add_argument("--picture", help="beginning of the names of two pictures of the page")
    parser.add_argument("--profile", help="beginning of the names of CPU profiles of the pans")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    records.add_option(parser)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.workers))
        return 0
    page = None
    if options.seconds > 0:
        command = [*node_command("dask-scale.ts"), "--seconds", str(options.seconds)]
        for name in ("picture", "profile"):
            prefix = getattr(options, name)
            command += [f"--{name}", prefix] if prefix else []
        page = Lines(command, SPANWISE_TEST_PYTHON=sys.executable)
        os.environ["SPANWISE_CONNECTION"] = page.hear()["connection"]
    workers = str(options.workers)
    scheduler = Lines(
        [sys.executable, "-m", "benchmarks.dask_scale", "--serve", "--workers", workers]
    )
    try:
        found = watch(options, scheduler, scheduler.hear()["address"], page)
    finally:
        scheduler.end()
        if page is not None:
            page.end()
    for name, value in found.items():
        print(f"{name:56} {value:12,.1f}")
    figures = [
        Figure(name, "figure", "", _better(name), (value,), limit=LIMITS.get(name))
        for name, value in found.items()
    ]
    settings = {name: getattr(options, name) for name in ("tasks", "wave", "workers", "seconds")}
    records.hand_over(options, settings | {"threads": THREADS}, figures)
    return 0


def _better(name: str) -> str:
    return "higher" if re.search(r"second$|frames that drew|shown$", name) else "lower"


if __name__ == "__main__":
    sys.exit(main())
