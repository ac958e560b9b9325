"""Groups of tasks as Dask's scheduler holds them, of any release."""

from __future__ import annotations

from inspect import signature

from distributed.scheduler import TaskGroup, TaskPrefix


def task_group(name: str) -> TaskGroup:
    """A group with that name; of releases that give it its prefix later, without one."""
    has_prefix = "prefix" in signature(TaskGroup).parameters
    group = TaskGroup(name, *([TaskPrefix("g")] if has_prefix else []))
    if not has_prefix:
        group.prefix = TaskPrefix("g")
    return group
