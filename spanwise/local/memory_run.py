"""Labelled memory curves of this process and its pools, as ``MemorySampler`` asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf, isnan
from time import perf_counter

from spanwise.local.local_log import LocalLog

#: As the scheduler's (``src/sidecar/scheduler-process/memory-runs.ts``).
_SHORTEST_SECONDS = 0.01
_DOUBLE_SECONDS = 0.001
_STOP_SECONDS = 10.0


class LocalMemoryRun:
    """A block that is being sampled, by a thread of its own.

    Parameters
    ----------
    log
        Where the samples are written.
    number
        Of the run, not used before in this log.
    label
        Shown by the panels.
    interval
        Seconds between samples.
    measure
        Returns the bytes held now; NaN if that is not known.

    Attributes
    ----------
    is_over
        It has been stopped.
    """

    def __init__(
        self,
        log: LocalLog,
        number: int,
        label: str,
        interval: float,
        measure: Callable[[], float],
    ) -> None:
        self._log = log
        self._number = number
        self._label = label
        # Written so that NaN is too short, too.
        self._interval = interval if interval > _SHORTEST_SECONDS else _SHORTEST_SECONDS
        self._measure = measure
        self._start = perf_counter()
        #: Of the log's clock.
        self._samples: list[tuple[float, float]] = []
        self._stopping = threading.Event()
        #: Around the end, which the observed block and the sampling thread may both cause.
        self._lock = threading.Lock()
        self.is_over = False
        self._write(None)
        self._sample()
        self._thread = threading.Thread(target=self._turns, name="spanwise-memory", daemon=True)
        self._thread.start()

    def stop(self) -> list[tuple[float, float]]:
        """End it; returns (seconds since the epoch, bytes). Twice is safe."""
        with self._lock:
            if not self.is_over:
                self.is_over = True
                self._stopping.set()
                self._thread.join(_STOP_SECONDS)
                stopped = perf_counter()
                # Start and end are sampled, however short the block is.
                last = self._samples[-1][0] if len(self._samples) > 1 else -inf
                if self._log.since(stopped) - last >= _DOUBLE_SECONDS:
                    self._sample()
                self._write(stopped)
        return [(self._log.wall_epoch + t, nbytes) for t, nbytes in self._samples]

    def _turns(self) -> None:
        while not self._stopping.wait(self._until_next()):
            self._sample()

    def _until_next(self) -> float:
        """Until the next whole interval since the start: what samples take puts none off."""
        wait = self._interval - (perf_counter() - self._start) % self._interval
        # (rounded, this may be the interval that has just ended)
        return wait if wait >= _DOUBLE_SECONDS else wait + self._interval

    def _sample(self) -> None:
        nbytes = self._measure()
        if not isnan(nbytes):
            now = perf_counter()
            self._samples.append((self._log.since(now), nbytes))
            self._log.memory_sample(self._number, now, nbytes)

    def _write(self, stopped: float | None) -> None:
        self._log.memory_run(self._number, self._label, self._interval, self._start, stopped)
