"""Clocks under the names of `distributed.metrics`."""

from __future__ import annotations

from time import monotonic, process_time, thread_time, time

__all__ = ["monotonic", "process_time", "thread_time", "time"]
