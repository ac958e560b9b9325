"""Which tasks run now, and at which places: Dask says on which worker, not on which thread.

A task keeps its place until it has ended, or a run was told there of another task::

    listed  a ─────────────┐
            b ──────────── │ ──────────
    told                   a, at b's place
    place 0 a ·············  b ········
    place 1 b ·············  (a, as it ran)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spanwise.dask_bridge.thread_places import ThreadPlaces

#: A task that has run so long is shown: shorter ones have mostly ended when they are told.
SHOWN_SECONDS = 0.5
#: A start that is told anew is another one if it is so much earlier.
_SAME_SECONDS = 0.2
#: A task is shown to begin this long after the end of what ran at its place before: longer than the
#: error by which times are rounded.
_ROOM_SECONDS = 1e-3
#: As many as the plugin on the scheduler tells; who says more is not believed.
_MOST_SHOWN = 5_000

#: Worker, place, key of the task (None: nothing runs there), when it began.
Say = Callable[[int, int, "str | None", float], None]


class RunningTasks:
    """The running tasks of all workers.

    Parameters
    ----------
    say
        Told what changes.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        #: Worker and key → place, and the start that was listed.
        self._shown: dict[tuple[int, str], tuple[int, float]] = {}
        #: Worker → place → key.
        self._taken: dict[int, dict[int, str]] = {}

    def ran(self, worker: int, key: str, place: int | None) -> None:
        """A run of a task has ended at a place; None: at none that is shown."""
        self._end(worker, key)
        other = None if place is None else self._taken.get(worker, {}).get(place)
        if other is not None:
            self._end(worker, other)  # (it runs elsewhere)

    def list(
        self, listed: Mapping[tuple[int, str], float], places: Mapping[int, ThreadPlaces]
    ) -> None:
        """All tasks that run, and since when."""
        for worker, key in [*self._shown]:
            if (worker, key) not in listed:
                self._end(worker, key)
        for (worker, key), start in sorted(listed.items(), key=_by_start):
            shown = self._shown.get((worker, key))
            if shown is None:
                if len(self._shown) >= _MOST_SHOWN:
                    continue
                self._begin(worker, key, start, places.get(worker))
            elif start < shown[1] - _SAME_SECONDS:
                # (the heartbeat before had taken longer)
                self._end(worker, key)
                self._begin(worker, key, start, places.get(worker))

    def _begin(self, worker: int, key: str, start: float, places: ThreadPlaces | None) -> None:
        taken = self._taken.setdefault(worker, {})
        found = None if places is None else places.likely(start, taken)
        if found is not None:
            place, free_since = found
            taken[place] = key
            self._shown[worker, key] = place, start
            self._say(worker, place, key, max(start, free_since + _ROOM_SECONDS))

    def _end(self, worker: int, key: str) -> None:
        shown = self._shown.pop((worker, key), None)
        if shown is not None:
            del self._taken[worker][shown[0]]
            self._say(worker, shown[0], None, shown[1])


def _by_start(listed: tuple[tuple[int, str], float]) -> tuple[float, tuple[int, str]]:
    return listed[1], listed[0]
