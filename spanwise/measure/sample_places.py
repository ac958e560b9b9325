"""In which seconds the samples of a thread are counted: in none more than it has.

A look stands for a stretch of time, parts of samples are carried over from look to look, and a
function begins with a part of one. So a second of a thread that is never idle may have got 103
samples of 10 ms, and the one before it 98. They are moved where there is room: to a second before
in which the function ran, too, else to the next one::

    second     7    8    9              7    8    9
    samples   98  103  100      ──▶   100  100  101 → 100, 1 in the next
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor

#: second, thread, span, function, stack, state
SampleKey = tuple[int, int, int, int, int, int]

#: So many seconds before their own samples may be moved; else they go to a later one.
_MOST_BACK = 3
#: Seconds before the newest one that are known to have room; a look may be a minute late.
_REMEMBERED = 100
#: Rounding error of how many samples some seconds have.
_ROUNDING = 1e-6


class Places:
    """How full the seconds of each thread are.

    Parameters
    ----------
    interval
        Seconds that one sample stands for.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        #: By thread: second → how many samples it has.
        self._filled: dict[int, dict[int, int]] = {}
        #: By thread and function: its newest seconds.
        self._own: dict[tuple[int, int], tuple[int, ...]] = {}
        #: The newest second when older ones were forgotten.
        self._forgotten = 0

    def place(self, samples: Mapping[SampleKey, int]) -> dict[SampleKey, int]:
        """Return new samples by the second in which they are to be counted."""
        found: dict[SampleKey, int] = {}
        for key, n in sorted(samples.items()):
            second, thread, *rest = key
            if n <= 0:
                continue
            filled = self._filled.setdefault(thread, {})
            for at in self._nearest(second, self._own_seconds(second, thread, rest[1])):
                room = self._most(at) - filled.get(at, 0)
                if room <= 0:
                    continue
                count = min(room, n)
                filled[at] = filled.get(at, 0) + count
                span, function, stack, state = rest
                placed = (at, thread, span, function, stack, state)
                found[placed] = found.get(placed, 0) + count
                n -= count
                if not n:
                    break
        if found:
            self._forget(max(second for second, *_ in found))
        return found

    def _own_seconds(self, second: int, thread: int, function: int) -> tuple[int, ...]:
        """The seconds in which the function has had samples of the thread, this one included."""
        known = self._own.get((thread, function), ())
        if second not in known:
            known = self._own[thread, function] = (*known[-_MOST_BACK:], second)
        return known

    def _nearest(self, second: int, own: tuple[int, ...]) -> Iterator[int]:
        """Where to look for room: first where the function ran, so that it is told of there."""
        yield second
        yield from (at for at in reversed(own) if second - _MOST_BACK <= at < second)
        yield second + 1
        yield from range(second - 1, second - 1 - _MOST_BACK, -1)
        while True:
            second += 1
            yield second

    def _most(self, second: int) -> int:
        """How many samples a second has: of 15 ms, in turns 66 and 67."""
        return self._begun(second + 1) - self._begun(second)

    def _begun(self, second: int) -> int:
        return floor(second / self._interval + _ROUNDING)

    def _forget(self, newest: int) -> None:
        """Let go now and then of seconds that get no more samples."""
        oldest = newest - _REMEMBERED
        if oldest < self._forgotten:
            return
        self._forgotten = newest
        left = {
            thread: {at: n for at, n in filled.items() if at > oldest}
            for thread, filled in self._filled.items()
        }
        self._filled = {thread: filled for thread, filled in left.items() if filled}
        self._own = {key: own for key, own in self._own.items() if own[-1] > oldest}
