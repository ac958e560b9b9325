"""Pulls the samples that Dask's workers have taken, by their own ``profile`` operations.

A worker keeps a tree of samples for each second and function. What it gives for a range has one
second more than was asked for, so that is asked for again, and taken away::

    asked [a, b)     ├──┼──┼──┼──┼──┤
    given            ├──┼──┼──┼──┼──┼──┤
    asked [b, b)                    ├──┤

A worker keeps of a function only the seconds in which that ran. If there are fewer than two of
them after `b`, it adds what it has of the second that still runs. Then more samples are given than
were counted, and each stack gets its share of the number that was counted.

A worker dates its seconds by what it believes the scheduler's clock to be. Some come later than
their dates say, so each range asks what there is of the seconds before it, too: see
`sample_seconds`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanwise.dask_bridge.reach import open_rpc
from spanwise.dask_bridge.sample_seconds import Seconds, TakenSeconds, common_starts
from spanwise.dask_bridge.sample_trees import SampleTree, StackOf
from spanwise.dask_bridge.ship import ask

#: Functions that are told apart in one range; those with fewer samples are one.
_MOST_FUNCTIONS = 12
#: Asked at a time.
_MOST_WORKERS = 64
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
        self,
        workers: Sequence[str],
        start: float,
        stop: float,
        stack_of: StackOf,
        taken: TakenSeconds,
    ) -> list[Sampled]:
        """The samples of a range of the scheduler's time, and those before it that came late.

        Parameters
        ----------
        taken
            What the ranges before had. What comes with this one is added.

        Raises
        ------
        OSError, TimeoutError
            The scheduler could not be reached.
        """
        found: list[Sampled] = []
        new: dict[str, Seconds] = {}
        got: set[tuple[str, str]] = set()
        begin = taken.begin(start)
        for first in range(0, len(workers), _MOST_WORKERS):
            some = list(workers[first : first + _MOST_WORKERS])
            asked = {"op": "profile_metadata", "start": begin, "stop": stop}
            told = await self._broadcast(some, asked)
            seconds = {
                worker: taken.new(worker, _seconds(said, begin, stop))
                for worker, said in told.items()
            }
            spells = {worker: taken.spell(worker, each) for worker, each in seconds.items() if each}
            ranges = [
                ({worker: seconds[worker] for worker in workers}, {"start": at, "stop": stop})
                for at, workers in common_starts(spells, start).items()
            ]
            found += await self._taken(seconds, ranges, stack_of, got)
            new |= seconds
        taken.add(new, got, start, stop)
        return found

    async def begun(self, workers: Sequence[str], start: float, stop: float) -> float | None:
        """When the first cycle of a range that has samples ended; None: none has.

        Of many workers some are asked.
        """
        asked = {"op": "profile_metadata", "start": start, "stop": stop}
        told = await self._broadcast([*workers][:_MOST_WORKERS], asked)
        seconds = (_seconds(said, start, stop) for said in told.values())
        return min((t for each in seconds for row in each.values() for t, _ in row), default=None)

    async def close(self) -> None:
        """Let go of the connection."""
        rpc, self._rpc = self._rpc, None
        if rpc is not None:
            await ask(rpc.close_rpc(), 2.0)

    async def _taken(
        self,
        seconds: Mapping[str, Seconds],
        ranges: Sequence[tuple[Mapping[str, Seconds], Mapping[str, Any]]],
        stack_of: StackOf,
        got: set[tuple[str, str]],
    ) -> list[Sampled]:
        """The samples of these seconds, of some workers for each range.

        Parameters
        ----------
        got
            Receives the workers and functions that have given some.
        """
        sums: Counter[str] = Counter()
        for functions in seconds.values():
            for name, each in functions.items():
                sums[name] += _total(each)
        names = [name for name, _ in sums.most_common(_MOST_FUNCTIONS)]
        found: list[Sampled] = []
        for some, asked in ranges:
            found += await self._taken_together(some, names, asked, stack_of, got)
        return found

    async def _taken_together(
        self,
        seconds: Mapping[str, Seconds],
        names: Sequence[str],
        asked: Mapping[str, Any],
        stack_of: StackOf,
        got: set[tuple[str, str]],
    ) -> list[Sampled]:
        """The samples of workers that are asked for the same range."""
        workers = [*seconds]
        has_others = any(name not in names for each in seconds.values() for name in each)
        found: list[Sampled] = []
        #: By worker: its samples without those of the functions that are told apart.
        others: dict[str, SampleTree] = {worker: SampleTree() for worker in seconds}
        for name in names:
            # (each that is asked costs the scheduler as much as a pull)
            having = [worker for worker in workers if name in seconds[worker]]
            for worker, given, after in await self._trees(having, asked, name):
                stacks = _stacks(given, after, stack_of)
                for sampled in _as_many(name, worker, stacks, seconds[worker][name]):
                    found.append(sampled)
                    got.add((worker, name))
                if has_others:
                    others[worker].take_away(given)
                    others[worker].add(after)
        if has_others:
            having = [
                worker for worker in workers if any(name not in names for name in seconds[worker])
            ]
            for worker, given, after in await self._trees(having, asked, None):
                rest = others[worker]
                rest.add(given)
                rest.take_away(after)
                times: Counter[float] = Counter()
                rare = {name for name in seconds[worker] if name not in names}
                for name in rare:
                    times.update(dict(seconds[worker][name]))
                stacks = rest.stacks(stack_of) or _stacks(given, after, stack_of)
                for sampled in _as_many(OTHERS, worker, stacks, sorted(times.items())):
                    found.append(sampled)
                    got.update((worker, name) for name in rare)
        return found

    async def _trees(
        self, workers: list[str], asked: Mapping[str, Any], key: str | None
    ) -> list[tuple[str, Any, Any]]:
        """Each worker that answers, what it gave, and what of that comes after the range."""
        if not workers:
            return []
        message = {"op": "profile", **asked, "key": key}
        # (in this order, the second that still runs has more when it is not taken away)
        after = await self._broadcast(workers, message | {"start": asked["stop"]})
        given = await self._broadcast(workers, message)
        return [(worker, tree, after.get(worker)) for worker, tree in given.items()]

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


def _stacks(given: Any, after: Any, stack_of: StackOf) -> Counter[int]:
    tree = SampleTree()
    tree.add(given)
    tree.take_away(after)
    found = tree.stacks(stack_of)
    if not found:
        tree.add(after)
        found = tree.stacks(stack_of)
    return found


def _as_many(
    name: str, worker: str, stacks: Counter[int], seconds: Sequence[tuple[float, int]]
) -> Iterator[Sampled]:
    """As many samples as were counted; of each stack one at least, if there are so many."""
    stacks = +stacks
    total, given = _total(seconds), stacks.total()
    least = int(len(stacks) <= total < given)
    total -= least * len(stacks)
    given -= least * len(stacks)
    kept: Counter[int] = Counter()
    before = 0
    for stack, count in stacks.items():
        after = before + count - least
        kept[stack] = least + after * total // given - before * total // given
        before = after
    if +kept:
        yield Sampled(name, worker, +kept, seconds)


def _seconds(told: Any, start: float, stop: float) -> Seconds:
    """What a worker answers; what is not of that form, or not of the range, is left out."""
    rows = told.get("keys") if isinstance(told, dict) else None
    found: Seconds = {}
    for row in rows if isinstance(rows, (list, tuple)) else ():
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            continue
        t, functions = row
        if type(t) not in (int, float) or not start < t < stop or not isinstance(functions, dict):
            continue
        for name, count in functions.items():
            if isinstance(name, str) and type(count) is int and 0 < count < 2**40:
                found.setdefault(name[:1_000], []).append((float(t), count))
    return found
