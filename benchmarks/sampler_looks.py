"""What a look at a busy program costs it, beside that of ``distributed``'s worker.

    python -m benchmarks looks [-- --seconds 4 --rounds 9]

A thread computes in Python, some frames deep. Another one looks at its stack every 10 ms: an
event loop that calls ``distributed.Worker.trigger_profile``, as a worker's does, or our sampler
with its clocks, its states and its rows once a second, and all that it does to have the next look
in time (its budget, which has dear looks come less often, is left open); in turn, and a thread that
only wakes so often beside them. Of each look two things are measured:

* *CPU*: what its thread took of a core, by the thread's own clock, waking up for it included. This
  outlasts what else the machine does.
* *kept*: for how long the program stood, which is what a look slows it down by. It computes in
  rounds of some 20 us; a look makes one of them longer, by the time without the interpreter lock
  and the two changes of hands. Of the rounds in which looks came the median, less the median of
  all. Only a quiet machine shows it.

And of a second of looks, ours as often as their budget has them, how long they kept the program in
all: that is what a user's program pays.

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
from bisect import bisect
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import pairwise
from math import inf
from typing import Any

from distributed import Worker, profile
from distributed.core import Server
from tornado.ioloop import PeriodicCallback

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise.local.lane_watch import LaneWatch
from spanwise.local.meter import Lane, Meter
from spanwise.local.work import Work
from spanwise.measure.bell import Bell
from spanwise.measure.fine import Ledger
from spanwise.measure.names import Names

INTERVAL = 0.01
#: Frames of the program above those that start it.
DEPTH = 15
#: How many times as much distributed's look must cost.
LIMIT = 3.0
#: What takes more than so many times a look is the machine's own doing.
_MOST_TIMES = 10.0
#: Our looks, as often as the budget has them.
BY_BUDGET = "ours by budget"


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


def kept_by(ends: list[float], looks: list[float]) -> list[float]:
    """Seconds for which each look kept the program from its work.

    Who looks has the interpreter lock, so a look is in the middle of the round that it makes
    longer. (The longest rounds are others where something else on the machine takes as long.)
    """
    rounds = [b - a for a, b in pairwise(ends)]
    usual = statistics.median(rounds)
    met = [bisect(ends, each) - 1 for each in looks if ends[0] < each < ends[-1]]
    return [rounds[at] - usual for at in met]


class Looks:
    """What the looks of one stretch were: when they began, and the CPU seconds of their thread."""

    def __init__(self) -> None:
        self.at: list[float] = []
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
        looks.at.append(time.perf_counter())
        worker.trigger_profile()

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
            looks.at.append(time.perf_counter())
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

    def __init__(self, by_budget: bool) -> None:
        self.watch = LaneWatch(Names(), 0.0)
        if not by_budget:
            self.watch.budget.share = inf
        self.lane: Lane | None = None
        self.meter = Meter(self._lane_of, lambda done: None)

    def _lane_of(self, work: Work) -> Lane:
        if self.lane is None:
            self.lane = Lane(0, Ledger())
            self.watch.add(self.lane)
        return self.lane

    @contextmanager
    def looking(self, ident: int, looks: Looks) -> Iterator[None]:
        """Look as a worker's watch thread does, and as that of `observe()`."""
        over = threading.Event()
        bell = Bell()

        def look() -> None:
            watch = self.watch
            begin = time.thread_time()
            next_rows = time.perf_counter() + 1.0
            while not over.is_set():
                now = time.perf_counter()
                before = watch.looks
                watch.look_if_due(now)
                if watch.looks > before:
                    looks.at.append(now)
                if now >= next_rows:
                    next_rows = now + 1.0
                    watch.rows()  # (works out what looks have seen)
                    watch.stacks.rows()
                bell.wait(watch.pause())
            looks.cpu = time.thread_time() - begin

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)


def measure(side: str, seconds: float) -> dict[str, float]:
    """Microseconds of a look, for which it kept the program, and of the program's rounds."""
    ours = Ours(side == BY_BUDGET)
    looks = Looks()
    found: dict[str, float] = {}

    def program() -> None:
        ident = threading.get_ident()
        watchers: dict[str, Callable[[int, Looks], Any]] = {
            "ours": ours.looking,
            BY_BUDGET: ours.looking,
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
        kept = kept_by(ends, looks.at)
        usual = statistics.median(kept) if kept else 0.0
        found["kept"] = usual * 1e6
        # (Rows, once a second, take a few times as long as a look; what takes longer is others'.)
        in_all = sum(min(each, _MOST_TIMES * usual) for each in kept)
        found["in a second"] = in_all / (ends[-1] - ends[0]) * 1e3

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    if looks.at:
        found["look"] = looks.cpu / len(looks.at) * 1e6
        found["looks"] = len(looks.at)
    return found


def main() -> int:
    """Measure, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=9)
    records.add_option(parser)
    options = parser.parse_args()
    sides = ("bare", "wakes", "ours", BY_BUDGET, "distributed")
    found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for number in range(options.rounds):
        for i in range(len(sides)):
            side = sides[(i + number) % len(sides)]
            found[side].append(measure(side, options.seconds))
    for side, rounds in found.items():
        wall = statistics.median(each["wall"] for each in rounds)
        look = statistics.median(each.get("look", 0.0) for each in rounds)
        kept = statistics.median(each["kept"] for each in rounds)
        of_second = statistics.median(each["in a second"] for each in rounds)
        print(
            f"  {side:14} a look {look:7.1f} us of CPU, kept the program {kept:7.1f} us; "
            f"the program {wall:7.2f} us a round, "
            f"kept {of_second:6.2f} ms a second"
        )
    figures = []
    for of, what, name, unit, times, our in (
        ("a look", "look", "CPU", "us", "times as cheap", "ours"),
        ("a look", "kept", "kept the program", "us", "times as short", "ours"),
        ("a second of looks", "in a second", "kept the program", "ms", "times as short", BY_BUDGET),
    ):
        columns = {
            side: tuple(each[what] for each in found[side])
            for side in ("wakes", our, "distributed")
        }
        figures += [
            *(
                Figure(of, f"{name}, {side}", unit, "lower", values, tracked=side == our)
                for side, values in columns.items()
            ),
            Figure(
                of,
                times,
                "x",
                "higher",
                columns["distributed"],
                columns[our],
                limit=LIMIT,
                tracked=True,
            ),
        ]
    settings = {"seconds": options.seconds, "rounds": options.rounds, "depth": DEPTH}
    records.hand_over(options, settings, figures, {"rounds": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
