"""Which seconds of each Dask worker have been taken: each once, and late ones as well.

A worker dates the end of a second by what its last heartbeat told of the scheduler's clock. If that
heartbeat took long, the date is early. Of a worker whose dates are 5 s early::

    ended at          9.4     10.4    11.4    12.4    13.4    14.4
    dated             4.4      5.4     6.4     7.4     8.4     9.4
    asked at 12.5    ·····  ├── for 5 to 10: 5.4 to 7.4 are there ──┤
    asked at 17.5            8.4 and 9.4 were late, and are taken with 10 to 15

So each range asks for what there is from `LATE_SECONDS` before its own begin, or since the begin of
the range before, and leaves out what was taken. What a worker did not answer once is late in the
same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: So much too early a second may be dated.
LATE_SECONDS = 10.0
#: So many ranges a look asks for, each with questions of its own. The rest waits for the next one.
_MOST_STARTS = 4

#: Of each function of a worker: the dates of the seconds that have samples of it, and how many.
Seconds = dict[str, list[tuple[float, int]]]


class TakenSeconds:
    """The seconds of one log that were taken.

    Parameters
    ----------
    since
        Earlier seconds are not wanted; a time of the scheduler, as all dates.
    """

    def __init__(self, since: float) -> None:
        self._since = since
        #: From when on the next look asks.
        self._begin = since
        #: By worker. The newest alone does not tell: a worker's dates go back when it learns of a
        #: clock that is behind.
        self._dates: dict[str, set[float]] = {}
        #: By worker and function: dates among them whose samples of this function did not come.
        self._owed: dict[tuple[str, str], set[float]] = {}

    def begin(self, start: float) -> float:
        """From when on a range is asked for that begins at `start`."""
        return max(self._since, min(self._begin, start - LATE_SECONDS))

    def new(self, worker: str, seconds: Seconds) -> Seconds:
        """Those that have not been taken."""
        taken = self._dates.get(worker, set())
        found: Seconds = {}
        for name, each in seconds.items():
            owed = self._owed.get((worker, name), ())
            new = [(date, n) for date, n in each if date not in taken or date in owed]
            if new:
                found[name] = new
        return found

    def spell(self, worker: str, new: Seconds) -> tuple[float, float]:
        """The newest date that was taken before the first new one, and that first new one.

        While a worker's dates ascend, a range that begins after the one, and not after the other,
        has all that is new and nothing else.
        """
        first = min(date for each in new.values() for date, _ in each)
        before = (date for date in self._dates.get(worker, ()) if date < first)
        return max(before, default=self._since), first

    def add(
        self,
        told: Mapping[str, Seconds],
        got: Iterable[tuple[str, str]],
        start: float,
        stop: float,
    ) -> None:
        """A range has been taken.

        Parameters
        ----------
        told
            By worker: its new seconds.
        got
            The workers and functions whose samples of them came.
        """
        self._begin = min(start, stop - LATE_SECONDS)
        came = set(got)
        owed = {
            (worker, name): {date for date in dates if date > self._begin}
            for (worker, name), dates in self._owed.items()
            if worker not in told
        }
        for worker, seconds in told.items():
            of_worker = {name for name in seconds if (worker, name) in came}
            if not of_worker:
                continue
            dates = self._dates.setdefault(worker, set())
            dates.update(date for name in of_worker for date, _ in seconds[name])
            for name in seconds.keys() - of_worker:
                owed[worker, name] = {date for date, _ in seconds[name]}
        self._owed = {which: dates for which, dates in owed.items() if dates}
        kept = {
            worker: {date for date in dates if date > self._begin}
            for worker, dates in self._dates.items()
        }
        self._dates = {worker: dates for worker, dates in kept.items() if dates}


def common_starts(
    spells: Mapping[str, tuple[float, float]], start: float
) -> dict[float, list[str]]:
    """Few times from which workers are asked, each worker from one within its spell.

    Workers that are not late are asked from `start`. Of the others a second ends each second, so
    ten times would be enough, however many workers there are. Those that have waited longest come
    first; for more times than a look may have, their workers are left out::

        a            ├──────┤
        b                ├──────┤
        c   ├──────┤
        asked from         ┆    ┆  start
                    (c, a) (b)

    Parameters
    ----------
    spells
        By worker: as `TakenSeconds.spell` tells, without its begin, with its end.
    """
    found: dict[float, list[str]] = {}
    late: list[tuple[float, float, str]] = []
    for worker, (after, first) in spells.items():
        if after < start <= first:
            found.setdefault(start, []).append(worker)
        else:
            late.append((first, after, worker))
    at = float("-inf")
    # (the end of the spell that ends first is in each spell that has begun by then)
    for first, after, worker in sorted(late):
        if after >= at:
            if len(found) == _MOST_STARTS:
                break
            at = first
        found.setdefault(at, []).append(worker)
    return found
