"""The worker lives as long as its owner holds the other end of its stdin."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from spanwise.processes.process_state import is_stopped, lives

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]


def read_first_line(fd: int) -> bytes:
    """Return the line that the owner writes first, without reading on.

    Raises
    ------
    EOFError
        The owner went away before it had written a line.
    """
    line = bytearray()
    while not line.endswith(b"\n"):
        # Byte by byte is 200 reads, once; what follows belongs to the lifeline.
        read = os.read(fd, 1)
        if not read:
            raise EOFError("stdin ended before the configuration line")
        line += read
    return bytes(line)


def take_stdin() -> int:
    """Return a private copy of stdin; tasks and their children read /dev/null instead."""
    private = os.dup(0)
    os.set_inheritable(private, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return private


#: prctl's PR_SET_PDEATHSIG.
_PARENT_DEATH_SIGNAL = 1


def end_with_parent() -> None:
    """Have the kernel end this process with the thread that started it (Linux).

    A stopped process reads no lifeline and handles no signal except SIGKILL.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


#: A scheduler that has lost its client ends within this time, unless it was stopped.
_SCHEDULER_SECONDS = 10.0
#: Seconds between two looks.
_LOOK_SECONDS = 2.0


def end_scheduler_without_client(scheduler: int, client: Mapping[str, Any] | None) -> None:
    """End the scheduler, and with it its workers, if it stays though its client has ended.

    A stopped scheduler (SIGSTOP, a debugger) does not notice the end of its own lifeline, and
    the client that could continue or kill it is gone. The client's process is known by pid and
    start. The scheduler's parent tells nothing: it may be a debugger, and the client may have
    ended before this process began. (Windows does not stop processes.)

    Parameters
    ----------
    scheduler
        Its pid.
    client
        `pid` and `started` of its client; None: nobody has said.
    """
    if os.name != "posix" or client is None:
        return

    def look() -> None:
        lost = 0.0
        while True:
            time.sleep(_LOOK_SECONDS)
            lost = 0.0 if lives(client["pid"], client["started"]) else lost + _LOOK_SECONDS
            if lost and (lost >= _SCHEDULER_SECONDS or is_stopped(scheduler)):
                break
        # The pid is still the scheduler's: this process is its child.
        if os.getppid() == scheduler:
            with contextlib.suppress(OSError):
                os.kill(scheduler, signal.SIGKILL)

    threading.Thread(target=look, name="spanwise-orphan", daemon=True).start()


def watch_lifeline(fd: int, owner_is_gone: Callable[[], None]) -> None:
    """Call `owner_is_gone` once `fd` ends, from a thread of its own.

    A task in a long call that keeps the interpreter lock would keep that thread from
    running, so the kernel is asked to end the process besides: a change at the other
    end raises SIGIO, and SIGIO unhandled ends the process (Linux; pipes and sockets).
    """
    if fcntl is not None and hasattr(fcntl, "F_SETOWN") and hasattr(os, "O_ASYNC"):
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_ASYNC)

    def wait() -> None:
        try:
            while os.read(fd, 4096):
                pass  # no data is expected; any that comes is ignored
        except OSError:
            pass  # the same as its end
        owner_is_gone()

    threading.Thread(target=wait, name="spanwise-lifeline", daemon=True).start()
