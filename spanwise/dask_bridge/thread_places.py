"""Which place of a worker a thread has: a lane stays one when a pool replaces its thread.

::

    thread 7 ──run──   ──run──              place 0
    thread 8    ──run──        ╳            place 1
    thread 9                    ──run──     place 1: 8 has ended, and there are two threads
"""

from __future__ import annotations

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

    def _free(self, start: float) -> int:
        """A place that nobody has; when all are taken, that of who has ended longest ago."""
        if len(self._until) >= self.threads:
            place = min(range(len(self._until)), key=self._until.__getitem__)
            if self._until[place] <= start:
                self._until[place] = -inf
                return place
        self._until.append(-inf)
        return len(self._until) - 1
