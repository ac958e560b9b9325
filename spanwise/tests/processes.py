"""Finds the processes of a cluster by the part they play, as a person with `ps` would."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psutil

from spanwise.tests.leftover import marked_processes

#: Generous: the machine may be busy. Conditions are met in well under a second when it is not.
LIMIT_SECONDS = 60.0

T = TypeVar("T")

_COMMAND_LINES = {
    "scheduler": " scheduler --folder",
    "observer": " observer --folder",
    "worker": "-m spanwise.worker",
}


def processes_of(role: str, besides: set[int] | None = None) -> list[psutil.Process]:
    """Living processes that play ``role``, oldest first.

    Parameters
    ----------
    role
        ``scheduler``, ``observer`` or ``worker``.
    besides
        Pids that are left out: those that lived before the test began.
    """
    found = []
    for pid, process in marked_processes().items():
        if besides and pid in besides:
            continue
        try:
            if _COMMAND_LINES[role] in " ".join(process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return sorted(found, key=lambda each: (each.create_time(), each.pid))


def pids_of(client: Any) -> list[int]:
    """The processes of its cluster's workers."""
    return [row["pid"] for row in client.scheduler_info()["workers"].values()]


def is_gone(process: psutil.Process) -> bool:
    """Whether it has ended, were it that nobody has asked for its exit code yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(what: str, condition: Callable[[], T], limit: float = LIMIT_SECONDS) -> T:
    """Wait until ``condition`` gives something true, and return that.

    Raises
    ------
    AssertionError
        It did not within ``limit`` seconds.
    """
    end = time.monotonic() + limit
    pause = 0.01
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit:g} s: {what}")
        # The longer it takes, the less often: what is asked takes time from what is waited for.
        time.sleep(pause)
        pause = min(1.5 * pause, 0.1)
