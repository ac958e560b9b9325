"""What a look at a busy program costs it, beside ``distributed``'s ``profile.watch``.

    python -m benchmarks looks [-- --seconds 4 --rounds 9]

A thread computes in Python, some frames deep. Another one looks at its stack every 10 ms: the
loop of ``distributed.profile.watch``, or our sampler with its clocks, its states and its rows
once a second; in turn. A look holds the interpreter lock, so it takes the program as much time
as the looking thread has of a core: that is measured, by the thread's own clock, and outlasts
what else the machine does. The program's own time is shown beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import profile

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


def work(depth: int, seconds: float) -> int:
    """Compute for so much CPU time; returns how far it came."""
    if depth:
        return work(depth - 1, seconds)
    end = time.thread_time() + seconds
    rounds = 0
    while time.thread_time() < end:
        sum(each * each for each in range(200))
        rounds += 1
    return rounds


class Looks:
    """What the looks of one stretch were: how many, and the CPU seconds of their thread."""

    def __init__(self) -> None:
        self.count = 0
        self.cpu = 0.0


@contextmanager
def theirs(ident: int, looks: Looks) -> Iterator[None]:
    """Look as ``distributed`` does."""
    over = threading.Event()
    ended = threading.Event()

    def stop() -> bool:
        # (called by the looking thread, once before each look)
        looks.cpu = time.thread_time()
        if over.is_set():
            ended.set()
            return True
        looks.count += 1
        return False

    profile.watch(thread_id=ident, interval=f"{INTERVAL * 1000:.0f}ms", cycle="1s", stop=stop)
    try:
        yield
    finally:
        over.set()
        ended.wait(60)


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
                self.watch.look(now)
                looks.count += 1
                if now >= next_rows:
                    next_rows = now + 1.0
                    self.watch.rows()
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
    """Microseconds of a look, and of the program per round of its work."""
    ours = Ours()
    looks = Looks()
    found: dict[str, float] = {}

    def program() -> None:
        ident = threading.get_ident()
        watchers: dict[str, Callable[[int, Looks], Any]] = {
            "ours": ours.looking,
            "distributed": theirs,
        }
        task = Work(0, 0, 0, 0.0, 0.0, lambda values: work(DEPTH, seconds))
        begin = time.perf_counter()
        if side == "bare":
            rounds = ours.meter.run(task, {})
        else:
            with watchers[side](ident, looks):
                rounds = ours.meter.run(task, {})
        found["wall"] = (time.perf_counter() - begin) / rounds * 1e6

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
    sides = ("bare", "ours", "distributed")
    found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for number in range(options.rounds):
        for i in range(len(sides)):
            side = sides[(i + number) % len(sides)]
            found[side].append(measure(side, options.seconds))
    for side, rounds in found.items():
        wall = statistics.median(each["wall"] for each in rounds)
        look = statistics.median(each.get("look", 0.0) for each in rounds)
        print(f"  {side:12} a look {look:7.1f} us of CPU; the program {wall:7.2f} us a round")
    columns = {
        side: tuple(each["look"] for each in rounds)
        for side, rounds in found.items()
        if side != "bare"
    }
    figures = [
        *(
            Figure("a look", f"CPU, {side}", "us", "lower", values, tracked=side == "ours")
            for side, values in columns.items()
        ),
        Figure(
            "a look",
            "times as cheap",
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
