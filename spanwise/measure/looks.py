"""When threads are looked at, what that may cost, and after how long a running task is reported.

Time is cut into stretches, end to end; each has one look, at a moment that is drawn uniformly
within it (:class:`LookTimes`). What is seen there is given the stretch's seconds, so its expected
seconds are its true ones, whatever the program does and however long stretches are: of a stretch
of L seconds, b of which a thread is busy, a look is due in these with probability b / L, and then
gives L. A look that comes late counts for what ran when it was due (`sampler.py`). Nothing is asked
of the program: it may be periodic, and rest as long as it likes::

    stretches  ├────────┼────────┼────────┼────────────────┼────────┤
    looks          ┴           ┴   ┴                  ┴      ┴
    busy         ▓▓▓▓              ▓▓▓▓▓▓▓▓▓▓▓▓            ▓▓
    given        9 ms              9   9                18

This holds as long as a stretch's length is decided before it begins. The looks of stretches in
which nobody is busy would see nothing, so they are left out; where somebody begins in the middle
of one, its moment is drawn all the same, and may have been before.

A moment follows from its stretch's number and from a seed that is drawn once (:func:`moment`).
So while a look is late, a thread knows by itself in which of its tasks the next ones are due, and
tells the ends of these alone (:func:`due_after`).

A look takes a core 50 to 400 us, most of it for waking up and for what no cache holds. Where looks
of 9 ms would take more than 0.5 % of the core that the tasks get, stretches are longer
(:class:`LookBudget`).
"""

from __future__ import annotations

from collections import deque
from random import Random

#: Seconds of a stretch while threads compute, with a sample of 10 ms; of other samples as many
#: tenths.
LOOK_SECONDS = 0.009
#: ... while they stand still: a wake-up costs some 150 us on a virtual machine, so 100 of them a
#: second would cost more than the tasks that they watch.
STILL_SECONDS = 0.04
#: Tasks from here on are shown while they run.
RUNNING_SECONDS = 0.1
#: What looks may take of a core that tasks have for themselves.
LOOK_SHARE = 0.005
#: The budget makes stretches no longer; two looks are at most two stretches apart.
MOST_STRETCH_SECONDS = 0.1
#: A task of two such stretches has its own time, whatever looks saw of it, where none is longer.
LONG_STRETCH_SECONDS = 0.05
#: A look stands for at most this many seconds, or for four intervals if that is more: the process
#: may have been stopped. (One call into C may keep the interpreter lock for many, and a thread that
#: writes results to disk before it looks be busy for as many.)
LONGEST = 60.0
#: Looks whose cost is remembered, and after how many the mean is taken again.
_REMEMBERED = 64
_AGAIN = 8
#: A look that took more than so many times the median met something else: a collection of garbage.
_MOST_TIMES = 4.0
#: What tasks got of a core is known when they were on it, or waited for it, for so many seconds.
_ENOUGH_SECONDS = 0.01
#: Tasks count as having at least so much of a core.
_LEAST_CORE = 0.01

#: Moments that are computed together, at most: one after the other each takes a microsecond, and
#: a single one at a look, where no cache holds that code, a tenth of the look.
_MOMENTS_TOGETHER = 64

#: Beyond the rounding error of a moment.
_ROUNDING_SECONDS = 1e-6

#: A moment at which a look was due, and the seconds that it stands for.
Due = tuple[float, float]
#: Stretches behind that of the next look: the begin of the first one, how long each is, its number,
#: and the seed of their moments.
Plan = tuple[float, float, int, int]

_MASK = 2**64 - 1


def moment(seed: int, number: int) -> float:
    """The moment of the look in a stretch, as a share of it: from [0, 1), uniform.

    Computed, and not drawn ahead: whoever asks, and whenever, finds the same one, however far off
    the stretch is. (The mixing is that of SplitMix64.)
    """
    bits = (seed + number * 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((bits ^ (bits >> 31)) >> 11) * 2.0**-53


def due_after(plan: Plan, t: float) -> float:
    """When the first look after `t` is due, by a plan; a microsecond early."""
    begin, seconds, first, seed = plan
    number = max(0, int((t - begin) // seconds))
    due = begin + (number + moment(seed, first + number)) * seconds
    if due + _ROUNDING_SECONDS <= t:
        number += 1
        due = begin + (number + moment(seed, first + number)) * seconds
    return due - _ROUNDING_SECONDS


class LookTimes:
    """When looks are due: one in each stretch.

    Parameters
    ----------
    begin
        Of the first stretch.
    seconds
        How long it is.
    longest
        A look stands for at most so many seconds.
    seed
        What their moments follow from; None: drawn.
    """

    def __init__(
        self,
        begin: float,
        seconds: float,
        longest: float = LONGEST,
        seed: int | None = None,
    ) -> None:
        self._seed = Random().getrandbits(64) if seed is None else seed
        #: Of the stretches that begin from now on.
        self._seconds = seconds
        self._longest = longest
        #: Moments from the stretch of this number on. After a leap they are few, for there may be
        #: another one soon: then twice as many each time.
        self._moments: list[float] = []
        self._first = 0
        self._cut(begin, 0)

    def _cut(self, begin: float, number: int) -> None:
        #: Where the stretch begins whose look comes next.
        self.begin = begin
        self._number = number
        self._length = self._seconds
        at = number - self._first
        moments = self._moments
        if not 0 <= at < len(moments):
            many = min(2 * len(moments), _MOMENTS_TOGETHER) if at == len(moments) else 1
            seed = self._seed
            moments = [moment(seed, each) for each in range(number, number + max(1, many))]
            self._moments, self._first = moments, number
            at = 0
        #: When that look is due.
        self.due = begin + moments[at] * self._length

    def plan(self) -> Plan:
        """When looks are due behind the next one, unless another length is asked for."""
        return self.begin + self._length, self._seconds, self._number + 1, self._seed

    def earliest(self, now: float) -> float:
        """The next look is not due before, whatever lengths are asked for at `now` or later."""
        return self.begin if self.begin > now else self.due

    def take(self, now: float) -> list[Due]:
        """Return what a look at `now` stands for: the looks that were due by then."""
        dues: list[Due] = []
        if self.due < now - self._longest:
            self.skip(now - self._longest)
        while self.due <= now:
            dues.append((self.due, self._length))
            self._cut(self.begin + self._length, self._number + 1)
        return dues

    def skip(self, until: float) -> None:
        """Leave out looks before `until`: until then nobody was busy."""
        end = self.begin + self._length
        if end <= until:
            count = int((until - end) // self._seconds)
            self._cut(end + count * self._seconds, self._number + 1 + count)
        while self.due < until:
            self._cut(self.begin + self._length, self._number + 1)

    def stretch(self, seconds: float, now: float) -> None:
        """Have stretches of so many seconds, from the first one on that begins after `now`."""
        if seconds != self._seconds:
            self._seconds = seconds
            if self.begin > now:
                self._cut(self.begin, self._number)


class LookBudget:
    """How long stretches have to be for looks to take at most their share of what tasks get.

    Stretches are cut by the clock on the wall. Where tasks wait for cores three quarters of the
    time, looks that take their share of a whole core take four times that of what the tasks get,
    and the machine lacks it most.
    """

    def __init__(self) -> None:
        #: What looks may take of a core; may be changed.
        self.share = LOOK_SHARE
        #: What tasks get of a core while they want one.
        self.core = 1.0
        self._looks: deque[float] = deque(maxlen=_REMEMBERED)
        self._rest: deque[float] = deque(maxlen=_REMEMBERED)
        self._new = 0
        #: CPU seconds of a look and of what follows from it, on average.
        self.mean = 0.0

    def looked(self, seconds: float) -> None:
        """A look at busy threads took so much of a core, waking up for it included."""
        self._looks.append(seconds)
        self._new += 1
        if self._new >= _AGAIN:
            self._new = 0
            self.mean = _robust_mean(self._looks) + _robust_mean(self._rest)

    def worked_out(self, seconds: float, looks: int) -> None:
        """What follows from so many looks at busy threads took so much."""
        if looks:
            self._rest.append(seconds / looks)

    def got(self, on_core: float, waiting: float) -> None:
        """Tasks were on a core, and waited for one, for so many more seconds."""
        wanted = on_core + waiting
        if wanted > _ENOUGH_SECONDS:
            # (half: the load of a machine goes up and down)
            self.core += (on_core / wanted - self.core) / 2

    def stretch(self, asked: float) -> float:
        """Seconds of a stretch: those that are asked for, or more."""
        least = self.mean / (self.share * max(self.core, _LEAST_CORE))
        return max(asked, min(least, MOST_STRETCH_SECONDS))

    def next_stretch(self, asked: float, last: float, stands: bool) -> float:
        """The same; twice the last one, up to a bound, while all that is busy stands still."""
        least = self.stretch(asked)
        return max(least, min(2 * last, STILL_SECONDS)) if stands else least


def _robust_mean(values: deque[float]) -> float:
    if not values:
        return 0.0
    most = _MOST_TIMES * _median(values)
    return sum(min(value, most) for value in values) / len(values)


def _median(values: deque[float]) -> float:
    """As of `statistics`, whose import takes a twentieth of a worker's start."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return (ordered[half] + ordered[~half]) / 2
