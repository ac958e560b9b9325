"""What a thread waited for while it was not on a core: the run queue, and the interpreter lock.

The kernel counts the first (:class:`CoreWait`). Nobody counts the second, so it is
estimated from how the interpreter waits for its lock: it sleeps one switch interval,
asks the holder to give way, and sleeps again until it has it. Each such sleep is a
voluntary switch of the thread, and takes half an interval to a whole one, while a
thread that sleeps or reads a file switches once however long it takes::

    waits for the lock   ─┐zz┌─┐zz┌─┐zz┌─    n switches ≈ n/2 … n intervals
    blocked              ─┐zzzzzzzzzzzzz┌─    1 switch

(The interval is the process's own: workers set a short one, other programs have Python's.)
It is never more than the thread was off its core and out of the queue, nor than other
threads of the process may have held the lock: while they computed, and where cores are
short while they, too, stood in the queue. How long they did nobody says. So at least they
had cores as much of the time as this thread, at most they were in the queue as long as it,
and no longer for a second of their CPU than this thread for one of its::

    seconds    cpu │ in queue │ rest        others' CPU × seconds / (cpu + rest)
                                        …   others' CPU + in queue × others' CPU / cpu
"""

from __future__ import annotations

import sys
from time import perf_counter, process_time, thread_time

from spanwise.measure.clocks import CoreWait
from spanwise.measure.fine import Ledger

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

#: Context of the rows of `fine` that divide the time of tasks off their core.
CONTEXT = "noncpu"


class Waits(CoreWait):
    """The waits of the calling thread; 2 us a mark, so for runs from some ms on.

    Parameters
    ----------
    ledger
        Takes the estimates, by function and span.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger
        self._switches = 0
        self._others = 0.0
        self._stamp()

    def mark(self) -> float:
        """Return seconds waited for a core since the last mark."""
        self._stamp()
        return super().mark()

    def of_part(self, function: int, span: int, seconds: float, cpu: float) -> float:
        """Return seconds waited for a core in a part that ends now; note those for the lock.

        Parameters
        ----------
        function, span
            The part's.
        seconds, cpu
            The part's duration, and its time on a core.
        """
        switches, others = self._switches, self._others
        waited = self.mark()
        # NaN (no queue to read) compares false: then the waits cannot be divided.
        rest = seconds - cpu - waited
        if rest > 0.0:
            slept = (self._switches - switches) * sys.getswitchinterval()
            others = self._others - others
            # (of a thread that took no CPU nobody knows how crowded its cores were)
            crowded = min(1.0, others / cpu) if cpu > 0.0 else float(others > 0.0)
            high = min(slept, rest, others + waited * crowded)
            low = min(slept / 2, high, others * seconds / (cpu + rest))
            if high > 0.0:
                now = perf_counter()
                add = self._ledger.add
                add(now, CONTEXT, "gil", "seconds", (low + high) / 2, function, span)
                add(now, CONTEXT, "gil-error", "seconds", (high - low) / 2, function, span)
        return waited

    def _stamp(self) -> None:
        if sys.platform == "linux":
            self._switches = getrusage(RUSAGE_THREAD).ru_nvcsw
            self._others = process_time() - thread_time()
