"""How much memory the worker has, and what follows from it.

Measures (spec: distributed's, section 6): process = resident less shared pages, and with the
memory shared between processes that is counted in this one;
managed = sum of the sizes of the results kept; unmanagedOld = the least unmanaged
memory of the last 30 s, that is the part that does not go away by itself.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections import deque
from collections.abc import Callable, Mapping
from math import inf
from time import perf_counter, thread_time
from typing import Any, NamedTuple

RECENT_SECONDS = 30.0
#: Between trims of the heap.
LEAST_TRIM_SECONDS = 1.0


class Thresholds(NamedTuple):
    """Shares of the memory limit, as in Dask; infinite: never."""

    #: Of results kept: more are written to disk.
    target: float = 0.60
    #: Of the process: results are written to disk; no task begins; it ends.
    spill: float = 0.70
    pause: float = 0.80
    terminate: float = 0.95

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Thresholds:
        """Those of the worker's first line; None in it: never."""
        given = {name: settings[name] for name in cls._fields if name in settings}
        return cls(**{name: inf if share is None else share for name, share in given.items()})


#: Up to this share, modules may be imported before a task needs them: the rest is for results.
IMPORT_AHEAD = 0.30


#: mallopt's names: the size from which memory is mapped for each piece alone, and the free memory
#: at the heap's end that is given back at once.
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
#: Of this size on, arrays lie in huge pages where the system has such (numpy asks for them).
MAPPED_BYTES = 4 * 2**20
#: An array that lies at the heap's end is not given back between two tasks.
KEPT_BYTES = 2 * MAPPED_BYTES


def keep_small_freed_memory() -> None:
    """Let glibc return large freed pieces at once, and keep small ones; others need not be told.

    Left alone it raises its thresholds with the size of what is freed, after which arrays
    of 20 MiB come from the heap, leave holes there, and stay in the process.

    Dask's workers have MALLOC_TRIM_THRESHOLD_=65536 in their environment, by which each array
    of 128 KiB or more is mapped anew: 256 pages of a MiB are entered at a fault each, which
    takes ten times as long as writing the array. :class:`FreeMemory` returns what is kept.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # musl has none
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)


def give_back_free_memory() -> None:
    """Return what is free amid the heap to the system; some ms for a heap of 1 GB."""
    if _trim is not None:
        _trim(0)


def _find_trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim  # None: musl has none


_trim = _find_trim()


class FreeMemory:
    """Decides when to return what is free amid the heap: not so often that it costs anything.

    A trim takes 0.1 ms where nothing is free, and 0.2 to 0.4 ms for each MiB that it returns;
    what is needed again costs as much in page faults.

    Parameters
    ----------
    trim
        Returns it.
    """

    def __init__(self, trim: Callable[[], None] = lambda: give_back_free_memory()) -> None:
        self._trim = trim
        self._next = 0.0
        self._state: object = None

    def give_back(self) -> bool:
        """Trim unless the last time was so recent that trims took over 1 % of the time.

        Their time is that on a core: on a busy machine a trim may wait for one a thousand times
        as long as it takes.
        """
        if perf_counter() < self._next:
            return False
        begin = thread_time()
        self._trim()
        spent = thread_time() - begin
        self._next = perf_counter() + max(LEAST_TRIM_SECONDS, 100 * spent)
        return True

    def give_back_idle(self, state: object) -> None:
        """The same when nothing runs, if something has changed since; `state` tells."""
        if state != self._state and self.give_back():
            self._state = state


class ProcessMemory:
    """Reads a process's memory; 2 us by pread on a file that stays open.

    Parameters
    ----------
    pid
        Another process than this one; its memory can be read on Linux only.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._is_other = pid is not None
        self._statm: int | None
        try:
            path = f"/proc/{'self' if pid is None else pid}/statm"
            self._statm = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._statm = None  # not Linux

    def close(self) -> None:
        """Close the file. Twice is safe."""
        statm, self._statm = self._statm, None
        if statm is not None:
            os.close(statm)

    def read(self) -> float:
        """Return resident bytes less those shared with files and other processes.

        NaN if that cannot be known of another process: it has ended, or this is not Linux.
        """
        if self._statm is not None:
            try:
                fields = os.pread(self._statm, 128, 0).split()
            except ProcessLookupError:
                return float("nan")
            return float((int(fields[1]) - int(fields[2])) * self._page)
        if self._is_other:
            return float("nan")
        # The peak: elsewhere there is no current figure without another package.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak if sys.platform == "darwin" else peak * 1024)


class UnmanagedOld:
    """Minimum of the unmanaged memory over the last 30 s, kept as a rising queue."""

    def __init__(self) -> None:
        self._rising: deque[tuple[float, float]] = deque()

    def add(self, t: float, unmanaged: float) -> float:
        """Add a measurement and return the minimum."""
        rising = self._rising
        # A value that is not smaller than a newer one can never be the minimum again.
        while rising and rising[-1][1] >= unmanaged:
            rising.pop()
        rising.append((t, unmanaged))
        while rising[0][0] < t - RECENT_SECONDS:
            rising.popleft()
        return rising[0][1]


#: A row of the table `memory`: t, process, managed, spilled, unmanagedOld.
MemoryRow = tuple[float, float, float, float, float]


class MemoryMonitor:
    """Rows of the table `memory`, and the decision to pause or to end.

    Parameters
    ----------
    limit
        Bytes that the worker may use; 0: no limit.
    shared
        Bytes in memory shared with other processes that count as this one's.
    thresholds
        Shares of the limit.
    """

    def __init__(
        self,
        limit: float,
        shared: Callable[[], float] = lambda: 0.0,
        thresholds: Thresholds = Thresholds(),  # noqa: B008 (it cannot be changed)
    ) -> None:
        self.limit = limit
        self._thresholds = thresholds
        self._shared = shared
        self._process = ProcessMemory()
        self._old = UnmanagedOld()

    def measure(self, t: float, managed: float, spilled: float) -> MemoryRow:
        """Measure the process now, at `t`."""
        process = self.process()
        managed = min(managed, process)
        old = self._old.add(t, process - managed)
        return t, process, managed, spilled, old

    def process(self) -> float:
        """Return what the process takes now; from any thread."""
        return self._process.read() + self._shared()

    def is_short(self, process: float) -> bool:
        """Whether no new task may begin."""
        return self.limit > 0 and process >= self._thresholds.pause * self.limit

    def is_over(self, process: float) -> bool:
        """Whether the worker must end before the system ends something else."""
        return self.limit > 0 and process >= self._thresholds.terminate * self.limit

    def has_room_for_modules(self) -> bool:
        """Whether the process is so small that modules may be imported ahead."""
        return self.limit <= 0 or self.process() < IMPORT_AHEAD * self.limit
