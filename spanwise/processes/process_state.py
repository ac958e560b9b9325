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
