"""Which place of a worker a thread has: a lane stays one when a pool replaces its thread.

::

    thread 7 ──run──   ──run──              place 0
    thread 8    ──run──        ╳            place 1
    thread 9                    ──run──     place 1: 8 has ended, and there are two threads
"""

from __future__ import annotations

from collections.abc import Container
from math import inf


class ThreadPlaces:
    """The places of one worker.

    Attributes
    ----------
    threads
        How many tasks it runs at a time.
    """

    def __init__(self) -> None:
        self.threads = 1
        #: By thread: its place, and when it last did something.
        self._places: dict[int, int] = {}
        self._until: list[float] = []

    def of(self, thread: int, start: float, stop: float) -> tuple[int, bool]:
        """The place of a thread that ran a task from `start` to `stop`, and whether it is new.

        Parameters
        ----------
        thread
            The operating system's number; -1: not known.
        """
        place = self._places.get(thread)
        is_new = place is None
        if place is None:
            place = self._free(start)
            self._places = {each: at for each, at in self._places.items() if at != place}
            self._places[thread] = place
        self._until[place] = max(self._until[place], stop)
        return place, is_new

    def likely(self, start: float, taken: Container[int]) -> tuple[int, float] | None:
        """Where a task may run that began at `start`, and since when that place is free.

        That is where the run before has ended last; a thread takes up the next task at once. None:
        all places are taken.
        """
        until = self._until + [-inf] * (self.threads - len(self._until))
        free = [(since <= start, since, -place) for place, since in enumerate(until)]
        free = [each for each in free if -each[2] not in taken]
        if not free:
            return None
        fits = [each for each in free if each[0]]
        _, since, place = max(fits) if fits else min(free)
        return -place, since

    def _free(self, start: float) -> int:
        """A place that nobody has; when all are taken, that of who has ended longest ago."""
        if len(self._until) >= self.threads:
            place = min(range(len(self._until)), key=self._until.__getitem__)
            if self._until[place] <= start:
                self._until[place] = -inf
                return place
        self._until.append(-inf)
        return len(self._until) - 1
