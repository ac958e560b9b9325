"""Pulls the samples that Dask's workers have taken, by their own ``profile`` operations.

A worker keeps a tree of samples for each second and function. What it gives for a range has one
second more than was asked for, so that is asked for again, and taken away::

    asked [a, b)     ├──┼──┼──┼──┼──┤
    given            ├──┼──┼──┼──┼──┼──┤
    asked [b, b)                    ├──┤

The second after `b` must be there already: `b` lies back (``sample_times.py``). A worker that the
machine keeps from its cycle has not closed it yet: then it gives samples of the second that still
runs, more than it has counted, and is asked again a little later.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanwise.dask_bridge.reach import open_rpc
from spanwise.dask_bridge.sample_trees import StackOf, samples_of, stacks_of
from spanwise.dask_bridge.ship import ask

#: Functions that are told apart in one range; those with fewer samples are one.
_MOST_FUNCTIONS = 12
#: Asked at a time.
_MOST_WORKERS = 64
#: Before each time that those are asked who gave another number of samples than they count.
_AGAIN_SECONDS = (0.5, 1.0)
OTHERS = "(other functions)"


@dataclass
class Sampled:
    """The samples of a function on a worker.

    Attributes
    ----------
    stacks
        How many samples each stack has.
    seconds
        When, in the scheduler's time, and how many then.
    """

    function: str
    worker: str
    stacks: Counter[int]
    seconds: Sequence[tuple[float, int]]


class SamplePull:
    """A connection of its own, so that no pull waits for workers."""

    def __init__(self, address: str, security: Any, seconds: float) -> None:
        self._address = address
        self._security = security
        self._seconds = seconds
        self._rpc: Any = None

    async def take(
        self, workers: Sequence[str], start: float, stop: float, stack_of: StackOf
    ) -> list[Sampled]:
        """The samples of a range of the scheduler's time.

        Raises
        ------
        OSError, TimeoutError
            The scheduler could not be reached.
        """
        found: list[Sampled] = []
        for first in range(0, len(workers), _MOST_WORKERS):
            some = list(workers[first : first + _MOST_WORKERS])
            found += await self._taken(some, start, stop, stack_of)
        return found

    async def begun(self, workers: Sequence[str], start: float, stop: float) -> float | None:
        """When the first cycle of a range that has samples ended; None: none has.

        Of many workers some are asked.
        """
        asked = {"op": "profile_metadata", "start": start, "stop": stop}
        told = await self._broadcast([*workers][:_MOST_WORKERS], asked)
        times = (t for said in told.values() for each in _seconds(said).values() for t, _ in each)
        return min((t for t in times if start < t < stop), default=None)

    async def close(self) -> None:
        """Let go of the connection."""
        rpc, self._rpc = self._rpc, None
        if rpc is not None:
            await ask(rpc.close_rpc(), 2.0)

    async def _taken(
        self, workers: list[str], start: float, stop: float, stack_of: StackOf
    ) -> list[Sampled]:
        asked = {"start": start, "stop": stop}
        told = await self._broadcast(workers, {"op": "profile_metadata", **asked})
        seconds = {worker: _seconds(said) for worker, said in told.items()}
        sums: Counter[str] = Counter()
        for functions in seconds.values():
            for name, each in functions.items():
                sums[name] += _total(each)
        names = [name for name, _ in sums.most_common(_MOST_FUNCTIONS)]
        # (each that is asked costs the scheduler as much as a pull)
        counted: dict[str | None, dict[str, int]] = {
            name: {worker: _total(each[name]) for worker, each in seconds.items() if name in each}
            for name in names
        }
        if len(sums) > len(names):
            counted[None] = {
                worker: sum(map(_total, each.values()))
                for worker, each in seconds.items()
                if any(name not in names for name in each)
            }
        trees = await self._trees(counted, asked)
        found: list[Sampled] = []
        for name in names:
            for worker, (given, after) in trees[name].items():
                stacks = stacks_of([given], [after], stack_of) or stacks_of([given], [], stack_of)
                found += _as_many(name, worker, stacks, seconds[worker][name])
        for worker, (given, after) in trees.get(None, {}).items():
            told_apart = [trees[name][worker] for name in names if worker in trees[name]]
            more, less = (
                [given, *(each[1] for each in told_apart)],
                [each[0] for each in told_apart],
            )
            times: Counter[float] = Counter()
            for name, each in seconds[worker].items():
                if name not in names:
                    times.update(dict(each))
            stacks = stacks_of(more, [after, *less], stack_of)
            found += _as_many(OTHERS, worker, stacks, sorted(times.items()))
        return found

    async def _trees(
        self, counted: Mapping[str | None, Mapping[str, int]], asked: Mapping[str, Any]
    ) -> dict[str | None, dict[str, tuple[Any, Any]]]:
        """By function (None: all of them) and worker: what was given; what is to be taken away.

        Who gave another number of samples than were counted is asked again.
        """
        found: dict[str | None, dict[str, tuple[Any, Any]]] = {name: {} for name in counted}
        for pause in (0.0, *_AGAIN_SECONDS):
            await asyncio.sleep(pause)
            for name, counts in counted.items():
                workers = [*counts]
                message = {"op": "profile", **asked, "key": name}
                # (in this order, the second that still runs has more when it is not taken away)
                after = await self._broadcast(workers, message | {"start": asked["stop"]})
                given = await self._broadcast(workers, message)
                for worker, tree in given.items():
                    found[name][worker] = tree, after.get(worker)
            differ = {
                name: {
                    worker: count
                    for worker, count in counts.items()
                    if worker in found[name]
                    and samples_of(found[name][worker][0]) - samples_of(found[name][worker][1])
                    != count
                }
                for name, counts in counted.items()
            }
            counted = {name: counts for name, counts in differ.items() if counts}
            if not counted:
                break
        return found

    async def _broadcast(self, workers: list[str], message: dict[str, Any]) -> dict[str, Any]:
        """What the workers answer, those that can be reached."""
        if self._rpc is None:
            self._rpc = open_rpc(self._address, self._security, self._seconds)
        told = await ask(
            self._rpc.broadcast(msg=message, workers=workers, on_error="ignore"), self._seconds
        )
        answers = told if isinstance(told, dict) else {}
        return {worker: answers[worker] for worker in workers if worker in answers}


def _total(seconds: Sequence[tuple[float, int]]) -> int:
    return sum(count for _, count in seconds)


def _as_many(
    name: str, worker: str, stacks: Counter[int], seconds: Sequence[tuple[float, int]]
) -> Iterator[Sampled]:
    """As many samples as were counted, also of who gave others than it counts."""
    stacks = +stacks
    total, given = _total(seconds), stacks.total()
    kept: Counter[int] = Counter()
    before = 0
    for stack, count in stacks.items():
        after = before + count
        kept[stack] = after * total // given - before * total // given
        before = after
    if +kept:
        yield Sampled(name, worker, +kept, seconds)


def _seconds(told: Any) -> dict[str, list[tuple[float, int]]]:
    """Of each function of a worker: when it had samples, and how many."""
    rows = told.get("keys") if isinstance(told, dict) else None
    found: dict[str, list[tuple[float, int]]] = {}
    for row in rows if isinstance(rows, (list, tuple)) else ():
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            continue
        t, functions = row
        if type(t) not in (int, float) or not abs(t) < 1e15 or not isinstance(functions, dict):
            continue
        for name, count in functions.items():
            if isinstance(name, str) and type(count) is int and 0 < count < 2**40:
                found.setdefault(name[:1_000], []).append((float(t), count))
    return found
