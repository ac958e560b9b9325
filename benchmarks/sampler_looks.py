"""What a look at a busy program costs it, beside that of ``distributed``'s worker.

    python -m benchmarks looks [-- --seconds 4 --rounds 9]

A thread computes in Python, some frames deep. Another one looks at its stack every 10 ms: an
event loop that calls ``distributed.Worker.trigger_profile``, as a worker's does, or our sampler
with its clocks, its states and its rows once a second; in turn, and a thread that only wakes so
often beside them. Of each look two things are measured:

* *CPU*: what its thread took of a core, by the thread's own clock, waking up for it included. This
  outlasts what else the machine does.
* *kept*: for how long the program stood, which is what a look slows it down by. It computes in
  rounds of some 20 us; a look makes one of them longer, by the time without the interpreter lock
  and the two changes of hands. Of as many of the longest rounds as there were looks the median,
  less the median of all. Only a quiet machine shows it.

``distributed.profile.watch``, with which its processes look at their own event loops, is no
measure: it looks once a cycle only, at one in a hundred of its rounds (Q-05).
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from distributed import Worker, profile
from distributed.core import Server
from tornado.ioloop import PeriodicCallback

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.local.lane_watch import LaneWatch
from spanwise.local.meter import Lane, Meter
from spanwise.local.work import Work
from spanwise.measure.names import Names

INTERVAL = 0.01
#: Frames of the program above those that start it.
DEPTH = 15
#: How many times as much distributed's look must cost.
LIMIT = 3.0


def work(depth: int, seconds: float) -> list[float]:
    """Compute for so much CPU time; returns when each round of it ended."""
    if depth:
        return work(depth - 1, seconds)
    end = time.thread_time() + seconds
    ends = [time.perf_counter()]
    while time.thread_time() < end:
        sum(each * each for each in range(200))
        ends.append(time.perf_counter())
    return ends


def kept_by(ends: list[float], looks: int) -> float:
    """Seconds for which a look kept the program from its work."""
    rounds = sorted(b - a for a, b in pairwise(ends))
    return statistics.median(rounds[-looks:]) - statistics.median(rounds)


class Looks:
    """What the looks of one stretch were: how many, and the CPU seconds of their thread."""

    def __init__(self) -> None:
        self.count = 0
        self.cpu = 0.0


#: A task of theirs is called from this file, at which their looks at a stack end.
_THEIR_FILE = "distributed/worker.py"
_NAMESPACE: dict[str, Any] = {}
exec(compile("def call(function):\n    return function()\n", _THEIR_FILE, "exec"), _NAMESPACE)  # noqa: S102


class TheirWorker:
    """What looks of ``distributed.Worker`` read and write."""

    low_level_profiler = False
    scheduler_delay = 0.0
    digests = None

    def __init__(self, ident: int) -> None:
        self.active_threads = {ident: "work-0123456789abcdef"}
        self.active_threads_lock = threading.Lock()
        self.profile_recent = profile.create()
        self.profile_history: deque[Any] = deque(maxlen=1000)
        self.profile_keys: defaultdict[str, Any] = defaultdict(profile.create)
        self.profile_keys_history: deque[Any] = deque(maxlen=1000)
        self.digests_total: defaultdict[Any, float] = defaultdict(float)
        self.digests_total_since_heartbeat: defaultdict[Any, float] = defaultdict(float)
        self.digests_max: defaultdict[Any, float] = defaultdict(float)

    trigger_profile = Worker.trigger_profile
    cycle_profile = Worker.cycle_profile
    digest_metric = Server.digest_metric


@contextmanager
def theirs(ident: int, looks: Looks) -> Iterator[None]:
    """Look as a worker of ``distributed`` does: in its event loop."""
    worker = TheirWorker(ident)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    def look() -> None:
        worker.trigger_profile()
        looks.count += 1

    async def run() -> None:
        over = asyncio.Event()
        begun.set_result((asyncio.get_running_loop(), over))
        callbacks = [
            PeriodicCallback(look, INTERVAL * 1000),
            PeriodicCallback(worker.cycle_profile, 1000),
        ]
        begin = time.thread_time()
        for each in callbacks:
            each.start()
        await over.wait()
        looks.cpu = time.thread_time() - begin
        for each in callbacks:
            each.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    loop, over = begun.result(60)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)


@contextmanager
def wakes(ident: int, looks: Looks) -> Iterator[None]:
    """Wake as often, and do nothing."""
    over = threading.Event()

    def wake() -> None:
        begin = time.thread_time()
        while not over.is_set():
            looks.count += 1
            time.sleep(INTERVAL)
        looks.cpu = time.thread_time() - begin

    thread = threading.Thread(target=wake, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(60)


class Ours:
    """Our sampler, and the meter that runs the program as a task."""

    def __init__(self) -> None:
        self.watch = LaneWatch(Names(), 0.0)
        self.lane: Lane | None = None
        self.meter = Meter(self._lane_of, lambda done: None)

    def _lane_of(self, work: Work) -> Lane:
        if self.lane is None:
            self.lane = Lane(0)
            self.watch.add(self.lane)
        return self.lane

    @contextmanager
    def looking(self, ident: int, looks: Looks) -> Iterator[None]:
        """Look as a worker's watch thread does."""
        over = threading.Event()

        def look() -> None:
            next_rows = time.perf_counter() + 1.0
            while not over.is_set():
                now = time.perf_counter()
                self.watch.look(now, [(now, INTERVAL)], now + INTERVAL)
                looks.count += 1
                if now >= next_rows:
                    next_rows = now + 1.0
                    self.watch.rows()  # (works out what looks have seen)
                    self.watch.stacks.rows()
                time.sleep(INTERVAL)
            looks.cpu = time.thread_time()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)


def measure(side: str, seconds: float) -> dict[str, float]:
    """Microseconds of a look, for which it kept the program, and of the program's rounds."""
    ours = Ours()
    looks = Looks()
    found: dict[str, float] = {}

    def program() -> None:
        ident = threading.get_ident()
        watchers: dict[str, Callable[[int, Looks], Any]] = {
            "ours": ours.looking,
            "distributed": theirs,
            "wakes": wakes,
        }

        def node(values: Any) -> list[float]:
            return _NAMESPACE["call"](lambda: work(DEPTH, seconds))  # type: ignore[no-any-return]

        task: Work = (0, node, 0.0, 0.0, None, 0, 0, None, ours.meter)
        if side == "bare":
            ends = ours.meter.run(task, {})
        else:
            with watchers[side](ident, looks):
                ends = ours.meter.run(task, {})
        found["wall"] = (ends[-1] - ends[0]) / (len(ends) - 1) * 1e6
        # (of a program that nobody looks at what the machine does so often)
        found["kept"] = kept_by(ends, looks.count or int(seconds / INTERVAL)) * 1e6

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    if looks.count:
        found["look"] = looks.cpu / looks.count * 1e6
        found["looks"] = looks.count
    return found


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=9)
    records.add_option(parser)
    options = parser.parse_args()
    sides = ("bare", "wakes", "ours", "distributed")
    found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for number in range(options.rounds):
        for i in range(len(sides)):
            side = sides[(i + number) % len(sides)]
            found[side].append(measure(side, options.seconds))
    for side, rounds in found.items():
        wall = statistics.median(each["wall"] for each in rounds)
        look = statistics.median(each.get("look", 0.0) for each in rounds)
        kept = statistics.median(each["kept"] for each in rounds)
        print(
            f"  {side:12} a look {look:7.1f} us of CPU, kept the program {kept:7.1f} us; "
            f"the program {wall:7.2f} us a round"
        )
    figures = []
    for what, name, times in (
        ("look", "CPU", "times as cheap"),
        ("kept", "kept the program", "times as short"),
    ):
        columns = {
            side: tuple(each[what] for each in rounds)
            for side, rounds in found.items()
            if side != "bare"
        }
        figures += [
            *(
                Figure("a look", f"{name}, {side}", "us", "lower", values, tracked=side == "ours")
                for side, values in columns.items()
            ),
            Figure(
                "a look",
                times,
                "x",
                "higher",
                columns["distributed"],
                columns["ours"],
                limit=LIMIT,
                tracked=True,
            ),
        ]
    settings = {"seconds": options.seconds, "rounds": options.rounds, "depth": DEPTH}
    records.hand_over(options, settings, figures, {"rounds": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
