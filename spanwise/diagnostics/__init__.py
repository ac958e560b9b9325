"""Progress of tasks, and what `distributed.diagnostics` has besides."""

from __future__ import annotations

from typing import Any

from spanwise.diagnostics.progressbar import progress

__all__ = ["MemorySampler", "SchedulerPlugin", "progress"]


def __getattr__(name: str) -> Any:
    """Import what is seldom used on first use."""
    if name == "MemorySampler":
        from spanwise.client.memory_sampler import MemorySampler

        return MemorySampler
    if name == "SchedulerPlugin":
        from spanwise.plugins import SchedulerPlugin

        return SchedulerPlugin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
