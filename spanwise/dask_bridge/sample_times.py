"""When the samples of a Dask cluster's workers are taken: often enough, and not for nothing.

A look costs each worker a part of a millisecond, and more if it has samples::

    work begins       goes on                    ends
    ├·····┼─────────────┼─────────────┼────────────┤········│
     each 0.5 s, or      each 5 s, or 40 times              once, when Dask has
     4 times as long     as long as one took                closed its last second
     as one took,
     for 4 s

Of 1,000 workers a look takes the scheduler seconds: two hundredths of its time, then.
"""

from __future__ import annotations

from spanwise.dask_bridge.sample_seconds import TakenSeconds

#: Of Dask's workers a cycle is 1 s, unless a setting says otherwise.
CYCLE_SECONDS = 1.0
#: The second after what is asked for has ended by then, on a busy machine too.
LAG_SECONDS = 2.5 * CYCLE_SECONDS
#: The same when work has just begun: who waits for the first samples is not kept waiting.
SHORT_LAG_SECONDS = 1.2 * CYCLE_SECONDS
#: How long work has just begun.
BEGIN_SECONDS = 4.0
#: Between looks: then, and while it goes on; or so many times as long as one took.
BEGIN_PAUSE_SECONDS, PAUSE_SECONDS = 0.5, 5.0
BEGIN_PAUSE_TIMES, PAUSE_TIMES = 4.0, 40.0


class SampleTimes:
    """Of one log. All times are the scheduler's.

    Parameters
    ----------
    since
        From when on samples are wanted.

    Attributes
    ----------
    since : float
        Those before it were taken.
    taken : TakenSeconds
        The late seconds that were taken already.
    """

    def __init__(self, since: float) -> None:
        self.since = since
        self.taken = TakenSeconds(since)
        #: When the work was noticed that is sampled; None: there is none.
        self._begun: float | None = None
        self._next = 0.0

    def due(self, now: float, worked_at: float) -> float | None:
        """Until when samples are to be taken now; None: it is not the time.

        Parameters
        ----------
        worked_at
            When a thread was last known to have worked.
        """
        if worked_at <= self.since - CYCLE_SECONDS:
            self._begun = None
            return None
        if self._begun is None:
            self._begun = self._next = now
        has_ended = now - worked_at >= LAG_SECONDS + CYCLE_SECONDS
        if now < self._next and not has_ended:
            return None
        until = now - (SHORT_LAG_SECONDS if self._is_new(now) else LAG_SECONDS)
        return until if until > self.since else None

    def looked(self, now: float, seconds: float) -> None:
        """One has looked, which took so long."""
        if self._is_new(now):
            pause = max(BEGIN_PAUSE_SECONDS, BEGIN_PAUSE_TIMES * seconds)
        else:
            pause = max(PAUSE_SECONDS, PAUSE_TIMES * seconds)
        self._next = now + pause

    def _is_new(self, now: float) -> bool:
        return self._begun is not None and now - self._begun < BEGIN_SECONDS
