"""What the system says of a process."""

from __future__ import annotations

import psutil

#: By a signal (SIGSTOP, Ctrl-Z), or by a debugger.
_STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


def is_stopped(pid: int) -> bool:
    """Whether a process gets no CPU time until it is continued: it reads no message."""
    try:
        return psutil.Process(pid).status() in _STOPPED
    except psutil.Error:
        return False


def lives(pid: int) -> bool:
    """Whether a process of this user runs or is stopped; one that nobody has reaped has ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        # It has ended, or another user's process has the number by now.
        return False
