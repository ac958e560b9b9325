"""Which place of a worker a thread has: a lane stays one when a pool replaces its thread.

::

    thread 7 ──run──   ──run──              place 0
    thread 8    ──run──        ╳            place 1
    thread 9                    ──run──     place 1: 8 has ended, and there are two threads
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappush, heapreplace
from math import inf

#: Of a worker: a scheduler that says more is not believed.
MOST_PLACES = 4_096


class ThreadPlaces:
    """The places of one worker.

    Attributes
    ----------
    threads
        How many tasks it runs at a time.
    """

    def __init__(self) -> None:
        self.threads = 1
        self._places: dict[int, int] = {}
        #: By place: its thread, and until when it was seen to do something.
        self._threads: list[int | None] = []
        self._until: list[float] = []
        #: The places by when they have ended, as far as that was looked at.
        self._ended: list[tuple[float, int]] = []

    def of(self, thread: int, start: float, stop: float) -> tuple[int, bool] | None:
        """The place of a thread that ran a task from `start` to `stop`, and whether it is new.

        None: there are too many.

        Parameters
        ----------
        thread
            The operating system's number; -1: not known.
        """
        place = self._places.get(thread)
        is_new = place is None
        if place is None:
            place = self._free(start)
            if place is None:
                return None
            before = self._threads[place]
            if before is not None:
                del self._places[before]
            self._places[thread] = place
            self._threads[place] = thread
        self._until[place] = max(self._until[place], stop)
        return place, is_new

    def likely(self, start: float, taken: Collection[int]) -> tuple[int, float] | None:
        """Where a task may run that began at `start`, and since when that place is free.

        That is where the run before has ended last; a thread takes up the next task at once. None:
        all places are taken.
        """
        until = self._until
        there = max(len(until), self._threads_shown)
        if len(taken) >= there:
            return None
        free = [place for place in range(len(until)) if place not in taken]
        fits = [place for place in free if until[place] <= start]
        if fits:
            place = max(fits, key=until.__getitem__)
            return place, until[place]
        for place in range(len(until), there):
            if place not in taken:
                return place, -inf
        place = min(free, key=until.__getitem__)
        return place, until[place]

    @property
    def _threads_shown(self) -> int:
        return min(self.threads, MOST_PLACES)

    def _free(self, start: float) -> int | None:
        """A place that nobody has; when all are taken, that of who has ended longest ago."""
        if len(self._until) >= self._threads_shown:
            place = self._ended_first()
            if self._until[place] <= start:
                self._until[place] = -inf
                return place
        place = len(self._until)
        if place >= MOST_PLACES:
            return None
        self._until.append(-inf)
        self._threads.append(None)
        heappush(self._ended, (-inf, place))
        return place

    def _ended_first(self) -> int:
        """The place whose last task has ended longest ago."""
        while True:
            until, place = self._ended[0]
            if until == self._until[place]:
                return place
            # (it has run something since)
            heapreplace(self._ended, (self._until[place], place))
