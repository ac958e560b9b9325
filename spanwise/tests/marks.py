"""Marks: functions of the user's code that note, while they run, in which span they were written.

The truth is made here and knows no name of the product: a mark notes in the worker's process
its span and the time. Which part of which task ran there then, and in which span it is counted,
is what the cluster says::

    worker's thread   ├── part ──┤├─── part ───┤├ part ┤      get_task_stream()
    marks                  ^A          ^B                     noted in the worker

So that a part is told by its time alone, workers must have one thread each. Then no two parts of a
worker may overlap either, whether a mark was met there or not.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from spanwise import Client

#: (name, time) of each mark that was met in this process.
_met: list[tuple[str, float]] = []
#: A mark lies so far within its part: clocks are told to 0.25 us.
MARGIN_SECONDS = 20e-6
#: Parts that touch may seem to overlap so much: that, and what is lost of lengths of seconds.
TOUCHING_SECONDS = 5e-6


class Mark:
    """A function of the span `name`: notes that it ran, and returns its argument.

    The tags of a nested span are joined by "/".
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any = None, *rest: Any, **options: Any) -> Any:
        before = perf_counter()
        while (now := perf_counter()) < before + MARGIN_SECONDS:
            pass
        _met.append((self.name, now))
        while perf_counter() < now + MARGIN_SECONDS:
            pass
        return value

    def __dask_tokenize__(self) -> Any:
        return ("mark", self.name)


mark_a, mark_b, mark_c = Mark("A"), Mark("B"), Mark("C")


def taken() -> list[tuple[str, float]]:
    """The marks of this process since the last time."""
    met = _met.copy()
    _met.clear()
    return met


class Part(NamedTuple):
    """The cluster's account of a stretch of a thread."""

    worker: str
    start: float
    stop: float
    tags: tuple[str, ...]


def parts_of(client: Client, since: float) -> list[Part]:
    """The parts since then in which functions of the user's ran; fail if one was told twice."""
    # (what ended without a run has no attempt)
    records = [each for each in client.get_task_stream(start=since) if each["attempt"] is not None]
    attempts: defaultdict[str, set[int]] = defaultdict(set)
    for record in records:
        attempts[record["key"]].add(record["attempt"])
    for key, numbers in attempts.items():
        assert numbers == set(range(1, len(numbers) + 1)), f"{key}: attempts {numbers}"
    parts = [
        Part(record["worker_name"], part["start"], part["stop"], tuple(part["span"]))
        for record in records
        for part in record["startstops"]
        if part["action"] == "compute"
    ]
    for one, other in pairwise(sorted(parts)):
        if one.worker == other.worker:
            assert other.start >= one.stop - TOUCHING_SECONDS, f"at once: {one}, {other}"
    return parts


def judge(client: Client, since: float) -> tuple[set[str], list[Part]]:
    """Fail if a mark was met in another span than its own; return the marks and the other parts."""
    parts = parts_of(client, since)
    session = client._session
    marked: set[Part] = set()
    names: set[str] = set()
    for address, met in client.run(taken).items():
        worker = Path(address).stem
        for name, at in met:
            when = at - session.scheduler_start + session.wall_epoch
            (found,) = [p for p in parts if p.worker == worker and p.start <= when <= p.stop]
            tags = tuple(name.split("/"))
            assert found.tags == tags, f"written in {name}, counted in {found.tags}"
            marked.add(found)
            names.add(name)
    return names, [part for part in parts if part not in marked]


def now_of(client: Client) -> float:
    """Now, on the cluster's clock: what ended before is another test's."""
    session = client._session
    return perf_counter() - session.scheduler_start + session.wall_epoch


def tags_of(parts: list[Part]) -> set[str]:
    return {"/".join(part.tags) for part in parts}
