"""A map with a bound: what was put there first goes first.

The twin of ``src/base/bounded-map.ts``, but that a look is no use: `get` is the dict's own,
for callers that look once per task.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """Keeps the newest entries.

    Parameters
    ----------
    most
        Entries at most.
    most_cost
        Sum of what they cost, at most. A single value that costs more is not kept.
    dropped
        Told each value that leaves for want of room.

    Attributes
    ----------
    get
        As a dict's.
    cost
        Of all entries together.
    """

    __slots__ = ("_costs", "_dropped", "_entries", "_most", "_most_cost", "cost", "get")

    def __init__(
        self,
        most: int,
        most_cost: float = inf,
        dropped: Callable[[V], object] | None = None,
    ) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._costs: dict[K, int] = {}
        self._most, self._most_cost = most, most_cost
        self._dropped = dropped
        self.cost = 0
        self.get: Callable[[K], V | None] = self._entries.get

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[V]:
        """The values, oldest first."""
        return iter(self._entries.values())

    def keep(self, key: K, value: V, cost: int = 0) -> V:
        """Put a value there, in place of the one that has this key; return it."""
        self._entries.pop(key, None)
        self.cost -= self._costs.pop(key, 0)
        self._entries[key] = value
        if cost:
            self._costs[key] = cost
            self.cost += cost
        while len(self._entries) > self._most or self.cost > self._most_cost:
            oldest, gone = self._entries.popitem(last=False)
            self.cost -= self._costs.pop(oldest, 0)
            if self._dropped is not None:
                self._dropped(gone)
        return value
