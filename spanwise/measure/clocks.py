"""Clocks of threads: CPU seconds of another thread, and seconds it waited for a core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

_NAN = float("nan")
#: A line of three numbers.
_READ_BYTES = 96


class CoreWait:
    """How long the calling thread has waited in the run queue (Linux; else NaN).

    Reads ``/proc/self/task/<tid>/schedstat``: ``on core ns, waited ns, slices``;
    half a microsecond by pread on a file that stays open.
    """

    #: For :meth:`peek`: how it reads, and into what. One value: two threads may make it at once.
    _peek: tuple[Callable[[], int], Any] | None = None

    def __init__(self) -> None:
        path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        self.fd: int | None = None
        #: perf_counter at the last mark, and what was read then (`last`).
        self.marked = time.perf_counter()
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.last = self.read()
        except (OSError, ValueError, IndexError):
            # Not Linux, or a kernel without scheduler statistics.
            fd, self.fd = self.fd, None
            if fd is not None:
                os.close(fd)
            self.last = _NAN

    def read(self) -> float:
        """Return seconds waited since the thread began, from any thread."""
        if self.fd is None:
            return _NAN
        return seconds_waited(os.pread(self.fd, _READ_BYTES, 0))

    def peek(self) -> float | bytes:
        """As :meth:`read`, without letting the interpreter lock go meanwhile.

        To get it back, who looks at a busy program would have to wait for it, and the program
        for who looks: some 100 us each. What :func:`seconds_waited` makes seconds of: a look
        leaves that for later, as no cache holds the code that reads numbers.

        From any thread, as who looks does, and the thread itself in its steps.
        """
        if self.fd is None:
            return _NAN
        made = self._peek
        if made is None:
            pread = _held_pread()
            if pread is None:
                return self.read()
            from ctypes import c_int, c_int64, c_size_t, create_string_buffer

            # Values of C once and for all: to make them at each call took half of it, as no cache
            # holds that code when a look comes.
            buffer = create_string_buffer(_READ_BYTES)
            size, begin = c_size_t(_READ_BYTES), c_int64(0)
            made = self._peek = partial(pread, c_int(self.fd), buffer, size, begin), buffer
        read, buffer = made
        if read() <= 0:
            # (it says why)
            return self.read()
        # (What another thread has read into it meanwhile is newer. Up to the first zero: numbers
        # only grow, so no line is shorter than the one before.)
        said: bytes = buffer.value
        return said

    def __del__(self) -> None:
        if self.fd is not None:
            os.close(self.fd)

    def mark(self) -> float:
        """Return seconds waited since the last mark."""
        now = self.read()
        waited = now - self.last
        self.last = now
        self.marked = time.perf_counter()
        return waited

    def of_part(self, function: int, span: int, seconds: float, cpu: float) -> float:
        """Return seconds waited in a part that ends now, if it began at the last mark."""
        return self.mark()


def seconds_waited(said: float | bytes) -> float:
    """The seconds of what :meth:`CoreWait.peek` returned."""
    return int(said.split()[1]) * 1e-9 if isinstance(said, bytes) else said


@cache
def _held_pread() -> Callable[..., int] | None:
    """The system's `pread`, called with the interpreter lock held; None where it cannot be.

    It takes values of C.
    """
    import ctypes

    try:
        pread = ctypes.PyDLL(None).pread64
    except (OSError, AttributeError):
        return None
    pread.restype = ctypes.c_ssize_t
    return pread


class ThreadClock:
    """CPU seconds of another thread of this process.

    Parameters
    ----------
    ident
        ``Thread.ident`` of a thread that lives.
    """

    def __init__(self, ident: int) -> None:
        #: Returns CPU seconds; NaN where there is no such clock. The thread must live. (No method:
        #: a look does without a call of Python.)
        self.read: Callable[[], float] = lambda: _NAN
        if hasattr(time, "pthread_getcpuclockid"):
            self.read = partial(time.clock_gettime, time.pthread_getcpuclockid(ident))
