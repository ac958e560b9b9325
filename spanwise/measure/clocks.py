"""Clocks of threads: CPU seconds of another thread, and seconds it waited for a core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

_NAN = float("nan")
#: A line of three numbers.
_READ_BYTES = 96


class CoreWait:
    """How long the calling thread has waited in the run queue (Linux; else NaN).

    Reads ``/proc/self/task/<tid>/schedstat``: ``on core ns, waited ns, slices``;
    half a microsecond by pread on a file that stays open.
    """

    #: For :meth:`peek`, whose caller is one thread: into which it reads, and how.
    _buffer: Any = None
    _pread: Callable[[int, Any, int, int], int] | None = None

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
        return int(os.pread(self.fd, _READ_BYTES, 0).split()[1]) * 1e-9

    def peek(self) -> float:
        """As :meth:`read`, without letting the interpreter lock go meanwhile.

        To get it back, who looks at a busy program would have to wait for it, and the program
        for who looks: some 100 us each.
        """
        if self.fd is None:
            return _NAN
        pread = self._pread
        if pread is None:
            pread = self._pread = _held_pread()
            if pread is None:
                return self.read()
            from ctypes import create_string_buffer

            self._buffer = create_string_buffer(_READ_BYTES)
        count = pread(self.fd, self._buffer, _READ_BYTES, 0)
        if count <= 0:
            # (it says why)
            return self.read()
        return int(self._buffer.raw[:count].split()[1]) * 1e-9

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


@cache
def _held_pread() -> Callable[[int, Any, int, int], int] | None:
    """The system's `pread`, called with the interpreter lock held; None where it cannot be."""
    import ctypes

    try:
        pread = ctypes.PyDLL(None).pread64
    except (OSError, AttributeError):
        return None
    pread.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
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
        self._clock: int | None = None
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(ident)

    def read(self) -> float:
        """Return CPU seconds; NaN where there is no such clock. The thread must live."""
        return _NAN if self._clock is None else time.clock_gettime(self._clock)
