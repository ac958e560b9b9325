"""The state of a process as the system knows it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

#: By a signal (SIGSTOP, Ctrl-Z), or by a debugger.
_STOPPED = ("T", "t")
_ZOMBIE = "Z"
#: Two processes with one pid start further apart: all pids come between them.
_SAME_SECONDS = 0.5


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped: it gets no CPU time and reads no message.

    False if that cannot be read now: callers then wait a little longer.
    """
    try:
        return _state_and_start(pid)[0] in _STOPPED
    except OSError:
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
        state, start = _state_and_start(pid)
        if since is not None and abs(start - since) > _SAME_SECONDS:
            return False
        return state != _ZOMBIE
    except (FileNotFoundError, ProcessLookupError, PermissionError):
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
    OSError
    """
    return _state_and_start(pid)[1]


def _state_and_start(pid: int) -> tuple[str, float]:
    # Not through psutil where it can be done without: a worker starts in seven eighths of the time.
    if sys.platform != "linux":
        return _asked(pid)
    told = Path(f"/proc/{pid}/stat").read_bytes()
    # Behind the program's name, which may be anything.
    fields = told[told.rindex(b")") + 1 :].split()
    return fields[0].decode(), int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _asked(pid: int) -> tuple[str, float]:
    import psutil

    states = {
        psutil.STATUS_STOPPED: "T",
        psutil.STATUS_TRACING_STOP: "t",
        psutil.STATUS_ZOMBIE: _ZOMBIE,
    }
    try:
        process = psutil.Process(pid)
        return states.get(process.status(), ""), process.create_time()
    except psutil.Error as error:
        raise ProcessLookupError(pid) from error
