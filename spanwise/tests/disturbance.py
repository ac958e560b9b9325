"""Measures the time that a busy machine took from threads during a test, for its bound.

::

    wanted a core ─ ─ ─ ▶ got it        the kernel's account of each thread (run delay)
    ████████ stolen ████████            cores that a hypervisor gave to others
    sleep(10 ms) ··········· woke late  a thread that only sleeps: the whole machine stood still

Which of them a figure met cannot be told, and they overlap; no figure can have lost more than
their sum. A quiet machine takes next to nothing, so that bounds stay what they were.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import perf_counter
from types import TracebackType

_NAP_SECONDS = 0.01
#: A nap that lasts no longer than so much more is no standstill.
_LATE_SECONDS = 0.01
_LOOK_SECONDS = 0.1


class Disturbance:
    """A ``with`` block in which losses are counted.

    Parameters
    ----------
    pids
        Processes whose threads count. Default: this one.
    """

    def __init__(self, *pids: int) -> None:
        self._pids = pids or (os.getpid(),)
        self._delays: dict[tuple[int, int], float] = {}
        self._ended = threading.Event()
        #: For which nobody woke up in time: a part of what was lost.
        self.stood_still = 0.0
        #: The longest of these at a time. Many short ones hold nobody up for long.
        self.longest_standstill = 0.0
        self._napping = threading.Thread(target=self._nap, name="disturbance", daemon=True)

    def __enter__(self) -> Disturbance:
        self._before, self._stolen = self._run_delays().copy(), stolen()
        self._napping.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._napping.join()

    def _nap(self) -> None:
        before = looked = perf_counter()
        while not self._ended.wait(_NAP_SECONDS):
            now = perf_counter()
            late = now - before - _NAP_SECONDS
            if late > _LATE_SECONDS:
                self.stood_still += late
                self.longest_standstill = max(self.longest_standstill, late)
            if now > looked + _LOOK_SECONDS:
                # Those that end take their account along.
                self._run_delays()
                now = looked = perf_counter()
            before = now

    @property
    def seconds(self) -> float:
        """Lost by all threads together until now."""
        delays = self._run_delays().copy()
        waited = sum(delay - self._before.get(task, 0.0) for task, delay in delays.items())
        return waited + stolen() - self._stolen + self.stood_still

    def _run_delays(self) -> dict[tuple[int, int], float]:
        for pid in self._pids:
            for task in Path(f"/proc/{pid}/task").glob("*"):
                try:
                    text = (task / "schedstat").read_text()
                except OSError:
                    continue  # it has ended meanwhile, or the system counts nothing
                self._delays[pid, int(task.name)] = int(text.split()[1]) * 1e-9
        return self._delays


def stolen() -> float:
    """Seconds that a hypervisor has kept cores for others; nobody's clocks tell whose they were."""
    try:
        ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    return int(ticks[8]) / os.sysconf("SC_CLK_TCK")
