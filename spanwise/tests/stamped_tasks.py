"""Tasks that give an account of their own.

In a module that imports next to nothing: each worker imports it, and with the tests numpy, pytest
and `distributed`, in two seconds of a core.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.tests.observed_tasks import spin


@dataclass(frozen=True)
class Stamp:
    """A task's own account: monotonic seconds and thread CPU seconds around its body."""

    start: float
    stop: float
    cpu: float

    @property
    def duration(self) -> float:
        return self.stop - self.start


def stamped(body: Any, seconds: float, number: int) -> Stamp:
    """Run ``body(seconds)`` and say when that was; ``number`` makes the task one of its own."""
    start, cpu = time.perf_counter(), time.thread_time()
    body(seconds)
    return Stamp(start, time.perf_counter(), time.thread_time() - cpu)


def waited_for_core() -> float:
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) * 1e-9


def spin_in_queue(seconds: float, _: int) -> tuple[float, float]:
    """Spin, and say how long that took and how long the kernel had the thread wait for a core."""
    before, start = waited_for_core(), time.perf_counter()
    spin(seconds)
    return time.perf_counter() - start, waited_for_core() - before
