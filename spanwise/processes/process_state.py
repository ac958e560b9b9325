"""The state of a process as the system knows it."""

from __future__ import annotations

import signal
import sys

import psutil

#: By a signal (SIGSTOP, Ctrl-Z), or by a debugger.
_STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
#: Two processes with one pid start further apart: all pids come between them.
_SAME_SECONDS = 0.5


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped: it gets no CPU time and reads no message.

    False if that cannot be read now: callers then wait a little longer.
    """
    try:
        return psutil.Process(pid).status() in _STOPPED
    except (psutil.Error, OSError):
        return False


def ended_with(code: int) -> str:
    """How a process has ended, as half a sentence."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def lives(pid: int, since: float | None = None) -> bool:
    """Whether a process of this user runs or is stopped; a zombie has ended.

    True if that cannot be read now, so that want of a file descriptor ends nothing.

    Parameters
    ----------
    since
        The answer of :func:`started` for it: another process may have the number by
        now.
    """
    try:
        if since is not None and abs(started(pid) - since) > _SAME_SECONDS:
            return False
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        # It has ended, or another user's process has the number by now.
        return False
    except OSError:
        return True


def started(pid: int) -> float:
    """When a process started: with its pid that tells it from every other one.

    In seconds since the system's start on Linux, where the wall clock's time of it changes
    when that clock is set; elsewhere of the wall clock as it was then.

    Raises
    ------
    psutil.Error, OSError
    """
    if sys.platform != "linux":
        return psutil.Process(pid).create_time()
    while True:
        # psutil has added it, as it was when the clock was read last. (It may be set meanwhile.)
        booted = psutil.boot_time()
        created = psutil.Process(pid).create_time()
        if psutil.boot_time() == booted:
            return created - booted
