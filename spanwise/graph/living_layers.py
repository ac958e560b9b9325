"""Which layers of equal name are alive, and whether they were written in spans of different tags.

Dask names layers by what they compute, so 2000 equal ``da.ones`` are 2000 living layers of
one name: each that comes or goes changes a count, and the others are not looked at::

    "ones-1f3…"  ─►  tags ("load",)   1999        more than one row of tags: shared
                     tags ("fit",)       1
"""

from __future__ import annotations

import threading
import weakref
from collections import deque

from dask.highlevelgraph import Layer

#: The tags of a span, from the root; None: outside all spans.
Tags = tuple[str, ...] | None


class _Living(weakref.ref[Layer]):
    """A layer, and what it was counted as."""

    __slots__ = ("name", "tags")

    name: str
    tags: Tags


class LivingLayers:
    """Counts the living layers of each name by the tags of their spans.

    A layer can end in any thread at any moment, even in the middle of a change here. So its
    end is only put into a queue, which the thread in the middle of a change empties
    afterwards.
    """

    def __init__(self) -> None:
        self._counts: dict[str, dict[Tags, int]] = {}
        #: How many names are shared: mostly none, and then no name has to be looked up.
        self.shared_names = 0
        #: The layers whose end is awaited, by ``id``: comparing them would compare all their
        #: tasks.
        self._awaited: dict[int, _Living] = {}
        self._gone: deque[_Living] = deque()
        #: Around changes of the two dicts.
        self._lock = threading.Lock()

    def add(self, name: str, layer: Layer, tags: Tags) -> None:
        """Count a layer until it ends."""
        living = _Living(layer, self._ended)
        living.name, living.tags = name, tags
        with self._lock:
            self._awaited[id(living)] = living
            counts = self._counts.setdefault(name, {})
            if len(counts) == 1 and tags not in counts:
                self.shared_names += 1
            counts[tags] = counts.get(tags, 0) + 1
        self._take_out()

    def _ended(self, living: _Living) -> None:
        self._gone.append(living)
        self._take_out()

    def _take_out(self) -> None:
        """Count down what has ended, unless another call is in the middle of that."""
        while self._gone and self._lock.acquire(blocking=False):
            try:
                while self._gone:
                    living = self._gone.popleft()
                    del self._awaited[id(living)]
                    counts = self._counts[living.name]
                    counts[living.tags] -= 1
                    if not counts[living.tags]:
                        del counts[living.tags]
                        if len(counts) == 1:
                            self.shared_names -= 1
                        if not counts:
                            del self._counts[living.name]
            finally:
                self._lock.release()

    def is_shared(self, name: str) -> bool:
        """Whether living layers of this name have different tags."""
        return len(self._counts.get(name, ())) > 1

    def count(self, name: str) -> int:
        """How many layers of this name are alive."""
        return sum(dict(self._counts.get(name, {})).values())
