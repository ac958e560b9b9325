"""Which seconds of each Dask worker have been taken: each once, and late ones as well.

A worker dates the end of a second by what its last heartbeat told of the scheduler's clock. If that
heartbeat took long, the date is early. Of a worker whose dates are 5 s early::

    ended at          9.4     10.4    11.4    12.4    13.4    14.4
    dated             4.4      5.4     6.4     7.4     8.4     9.4
    asked at 12.5    ·····  ├── for 5 to 10: 5.4 to 7.4 are there ──┤
    asked at 17.5            8.4 and 9.4 were late, and are taken with 10 to 15

So each range asks for what there is from `LATE_SECONDS` before its own begin, and leaves out what
was taken. What a worker did not answer in time is late in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping

#: So much too early a second may be dated.
LATE_SECONDS = 10.0

#: Of each function of a worker: the dates of the seconds that have samples of it, and how many.
Seconds = dict[str, list[tuple[float, int]]]


class TakenSeconds:
    """Of one log.

    Parameters
    ----------
    since
        Earlier seconds are not wanted; a time of the scheduler, as all dates.
    """

    def __init__(self, since: float) -> None:
        self.since = since
        #: By worker. The newest alone does not tell: a worker's dates go back when it learns of a
        #: clock that is behind.
        self._dates: dict[str, set[float]] = {}

    def new(self, worker: str, seconds: Seconds) -> Seconds:
        """Those that have not been taken."""
        taken = self._dates.get(worker, ())
        found = {
            name: [(date, count) for date, count in each if date not in taken]
            for name, each in seconds.items()
        }
        return {name: each for name, each in found.items() if each}

    def spell(self, worker: str, new: Seconds) -> tuple[float, float]:
        """The newest date that was taken before the first new one, and that first new one.

        A range that begins after the one, and not after the other, has all that is new.
        """
        first = min(date for each in new.values() for date, _ in each)
        before = (date for date in self._dates.get(worker, ()) if date < first)
        return max(before, default=self.since), first

    def add(self, read: Mapping[str, Seconds], until: float) -> None:
        """These have been taken; none dated earlier than `until` will be asked for again."""
        for worker, seconds in read.items():
            dates = self._dates.setdefault(worker, set())
            dates.update(date for each in seconds.values() for date, _ in each)
        kept = {
            worker: {date for date in dates if date > until}
            for worker, dates in self._dates.items()
        }
        self._dates = {worker: dates for worker, dates in kept.items() if dates}


def common_starts(
    spells: Mapping[str, tuple[float, float]], start: float
) -> dict[float, list[str]]:
    """Few times from which workers are asked, each worker from one within its spell.

    Workers that are not late are asked from `start`. Of the others a second ends each second, so
    some ten times are enough, however many workers there are::

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
            at = first
        found.setdefault(at, []).append(worker)
    return found
