"""Counts what the runs of one thread read in memory, until it is told."""

from __future__ import annotations

import threading

from spanwise.measure.fine import Ledger

#: Inputs and bytes that were read, and how many of each have been told.
Sums = list[float]


class MemoryReads:
    """By function and span: how many inputs of runs were in memory, and their bytes.

    The thread counts without a lock, in the list that :meth:`sums_of` gives. So that what it has
    counted can be told while it is in a long run, any thread may tell: what is there beyond what
    has been told. Of a run that is being counted, that may be the inputs without the bytes; they
    come with the next telling.

    Parameters
    ----------
    ledger
        Where it is told.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._sums: dict[tuple[int, int], Sums] = {}
        self._lock = threading.Lock()

    def sums_of(self, function: int, span: int) -> Sums:
        """What to count in: item 0 is the number of inputs, item 1 their bytes."""
        return self._sums.setdefault((function, span), [0.0, 0.0, 0.0, 0.0])

    def tell(self, now: float) -> None:
        """Add to the ledger, at `now` (perf_counter), what has not been told; from any thread."""
        if not self._sums:
            return
        with self._lock:
            self._tell(now)

    def tell_and_forget(self, now: float) -> bool:
        """The same in the thread that counts; False: nothing has been counted.

        Otherwise nothing more is to be counted in lists that :meth:`sums_of` has given before.
        """
        if not self._sums:
            return False
        with self._lock:
            self._tell(now)
            self._sums = {}
        return True

    def _tell(self, now: float) -> None:
        # (a list, for the thread that counts may come to a function that is new)
        for (function, span), sums in list(self._sums.items()):
            count, nbytes, told_count, told_bytes = sums
            self._add(now, "count", count - told_count, function, span)
            self._add(now, "bytes", nbytes - told_bytes, function, span)
            sums[2:] = count, nbytes

    def _add(self, now: float, unit: str, value: float, function: int, span: int) -> None:
        if value:
            self._ledger.add(now, "execute", "memory-read", unit, value, function, span)
