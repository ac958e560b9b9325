"""Asks again and again how far tasks are, until all have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from spanwise.diagnostics.counts import Counts, Pace
from spanwise.diagnostics.followed_tasks import CannotGroup, FollowedTasks
from spanwise.errors import ClusterError

#: The scheduler's answers may take this share of the time: the more tasks, the rarer the looks.
MOST_SHARE = 0.05

#: The first pause; each is twice the one before, up to the interval.
_FIRST_SECONDS = 0.005

#: Takes the counts, the seconds since the start and those that are left, if that is known.
Show = Callable[[Counts, float, "float | None"], None]


class Follower:
    """Shows how far tasks are.

    Parameters
    ----------
    tasks
    interval
        Seconds between two looks, at least.
    show
        Called with the first counts, after each look, and with the last ones.
    """

    def __init__(self, tasks: FollowedTasks, interval: float, show: Show) -> None:
        self._tasks = tasks
        self._interval = interval
        self._show = show
        self._closed = threading.Event()
        #: Looks so far.
        self.looks = 0

    def close(self) -> None:
        """Look no more; from any thread."""
        self._closed.set()

    def run(self) -> Counts:
        """Look until all tasks have ended, the client is closed, or this is."""
        began = time.monotonic()
        pace = Pace()
        counts = Counts()
        try:
            while not self._closed.is_set():
                asked = time.monotonic()
                counts = self._look(counts)
                now = time.monotonic()
                pace.saw(now - began, counts.all.ended)
                left = pace.seconds_left(counts.all.left)
                self._show(counts, now - began, left)
                if counts.ended:
                    if not counts.stopped:
                        self._hear_of_all()
                    break
                # Short work shall not wait for the second look.
                pause = min(self._interval, _FIRST_SECONDS * 2 ** min(self.looks, 10))
                self._closed.wait(max(pause, (now - asked) / MOST_SHARE))
        finally:
            self._tasks.close()
        return counts

    def _hear_of_all(self) -> None:
        """Ask once more: the scheduler says how futures ended after the count, before the next."""
        with suppress(TimeoutError, ClusterError, CannotGroup):
            self._tasks.count()

    def _look(self, last: Counts) -> Counts:
        self.looks += 1
        try:
            return self._tasks.open() if self.looks == 1 else self._tasks.count()
        except TimeoutError:
            return last if last.groups else last._replace(stopped="The scheduler does not answer.")
        except (ClusterError, CannotGroup) as error:
            return last._replace(stopped=str(error))
