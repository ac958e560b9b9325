"""Frames out of a stream socket, copied at most once.

Short frames are read many at a time into one buffer and copied out of it; a long one is
received straight into memory of its own, which is not zeroed before.
"""

from __future__ import annotations

import array
import ctypes
import os
import socket as sockets
import struct
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from socket import socket

from spanwise.wire.errors import BrokenFrame, LinkClosed

_U32 = struct.Struct("<I")
_BUFFER_BYTES = 256 * 1024
#: Frames from here on get memory of their own as soon as their length is known.
_LONG_FRAME_BYTES = 64 * 1024
#: Linux passes at most 253 descriptors with one write.
MOST_DESCRIPTORS = 64
#: So many may wait to be taken: those of a frame that has begun, and of the one read before it.
_MOST_WAITING = 2 * MOST_DESCRIPTORS
_WITHOUT_WAITING = getattr(sockets, "MSG_DONTWAIT", 0)
#: Stands behind those that have come of a frame if the system has dropped the others.
DROPPED = -1


@cache
def _make_bytearray() -> Callable[[None, int], bytearray]:
    """CPython's function (a prototype of its own: that of `pythonapi` is the process's)."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t)
    return prototype(("PyByteArray_FromStringAndSize", ctypes.pythonapi))


def uninitialised(nbytes: int) -> bytearray:
    """A bytearray of arbitrary content: ``bytearray(n)`` would write n zeros first.

    128 MiB cost 30-60 ms of page faults and zeroing; here the socket's copy is the first touch.
    """
    if sys.implementation.name != "cpython":
        return bytearray(nbytes)
    return _make_bytearray()(None, nbytes)


class FrameReader:
    """Reads one socket; not thread-safe, one thread reads a link.

    Parameters
    ----------
    sock : socket
        A stream socket; how long a call may wait is its timeout.
    limit : int
        Longest body to accept, in bytes; may be raised later.
    """

    def __init__(self, sock: socket, limit: int) -> None:
        self._sock = sock
        self.limit = limit
        self._buffer = bytearray(4096)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._long: bytearray | None = None
        self._long_view = memoryview(b"")
        self._long_filled = 0
        self._deferred = False
        #: Bytes that have come and are not counted yet: see `look`.
        self._came: list[int] = []
        #: The end of the body that was looked at.
        self._stop = 0
        #: Why the socket gives no more, as it has told once.
        self._failure: OSError | None = None
        #: Whether descriptors that come with the bytes are taken; else the system drops them.
        self.takes_descriptors = False
        #: Those that came, for each frame that brought some; they come with its first byte.
        self.descriptors: deque[list[int]] = deque()

    def replace(self, sock: socket) -> None:
        """Read this one from now on."""
        self._sock = sock

    @property
    def is_amid(self) -> bool:
        """Whether part of a body has come and the rest has not."""
        return self._long is not None or self._end > self._start

    def receive(self) -> list[bytearray]:
        """The bodies that are complete after one ``recv``; perhaps none.

        Raises
        ------
        LinkClosed
            End of file, or the socket failed.
        BrokenFrame
            A body over the limit.
        TimeoutError
            The socket's timeout passed.
        """
        if self._deferred:
            self._deferred = False
            bodies = self._split()
            if bodies:
                return bodies
        if self._failure is not None:
            raise LinkClosed(f"The connection broke: {self._failure}") from self._failure
        try:
            if self._long is not None:
                got = self._receive_into(self._long_view[self._long_filled :])
            else:
                if self._end == len(self._buffer):
                    self._make_room()
                got = self._receive_into(self._view[self._end :])
        except TimeoutError:
            raise
        except BlockingIOError:
            return []  # the socket does not wait, and the selector was wrong
        except OSError as error:
            raise LinkClosed(f"The connection broke: {error}") from error
        if got == 0:
            raise LinkClosed("The other side closed the connection.")
        if self._long is not None:
            self._long_filled += got
            if self._long_filled < len(self._long):
                return []
            done = self._long
            self._long = None
            self._long_view = memoryview(b"")
            return [done]
        self._end += got
        return self._split()

    # -- in the reader's stead: what is interrupted anywhere can be done again -----

    def look(self) -> bool:
        """Read what is there without waiting; False: only :meth:`receive` can go on.

        Ctrl-C may come between any two calls, so the same call into C also counts what came.
        """
        came = self._came
        if came:
            self._count()
        if self.takes_descriptors or self._long is not None or self._end == len(self._buffer):
            return False
        try:
            came.extend(
                map(self._sock.recv_into, (self._view[self._end :],), (0,), (_WITHOUT_WAITING,))
            )
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno is None:
                raise  # a signal's handler has
            self._failure = error
            return False
        if not came[0]:
            return False
        self._end += came[0]
        del came[0]
        return True

    def _count(self) -> None:
        came = self._came
        while came:
            self._end += came[0]
            del came[0]

    def first(self) -> bytearray | None:
        """The first body, which stays where it is; None: it has not come whole.

        Raises
        ------
        BrokenFrame
        """
        start, end = self._start, self._end
        if end - start < 4:
            return None
        (length,) = _U32.unpack_from(self._view, start)
        if length > self.limit:
            raise BrokenFrame(f"{length} bytes are too many.")
        stop = start + 4 + length
        if stop > end:
            return None
        self._stop = stop
        return self._buffer[start + 4 : stop]

    def drop_first(self) -> None:
        """Forget the body that :meth:`first` gave."""
        if self._stop == self._end:
            self._start = self._end = 0
        else:
            self._start = self._stop

    def go_on(self) -> None:
        """Called by the reader when another thread may have read."""
        self._count()
        self._deferred = self._end > self._start

    def _receive_into(self, view: memoryview) -> int:
        if not self.takes_descriptors:
            return self._sock.recv_into(view)
        width = array.array("i").itemsize
        got, ancillary, flags, _ = self._sock.recvmsg_into(
            [view], sockets.CMSG_SPACE(MOST_DESCRIPTORS * width), sockets.MSG_CMSG_CLOEXEC
        )
        came = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (sockets.SOL_SOCKET, sockets.SCM_RIGHTS):
                came.frombytes(content[: len(content) - len(content) % width])
        if flags & sockets.MSG_CTRUNC:  # this process could take no more
            came.append(DROPPED)
        if came:
            # (one call gives those of one write at most, so of one frame)
            self.descriptors.append(came.tolist())
            waiting = sum(map(len, self.descriptors))
            if waiting > _MOST_WAITING:
                raise BrokenFrame(f"{waiting} descriptors came that no message names.")
        return got

    def take_descriptors(self, count: int) -> list[int]:
        """Those of a frame; `DROPPED` for each that the system has dropped.

        Raises
        ------
        BrokenFrame
            Other than so many came with it.
        """
        came = self.descriptors.popleft() if self.descriptors else []
        if came and came[-1] == DROPPED:
            came[-1:] = [DROPPED] * max(0, count + 1 - len(came))
        if len(came) != count:
            self.descriptors.appendleft(came)  # to be closed with the others
            raise BrokenFrame(f"{len(came)} descriptors have come with a message of {count}.")
        return came

    def drop_descriptors(self) -> None:
        """Close those that nobody has taken."""
        with suppress(IndexError):  # (another thread may do the same)
            while True:
                for each in self.descriptors.popleft():
                    if each != DROPPED:
                        os.close(each)

    def _split(self) -> list[bytearray]:
        bodies: list[bytearray] = []
        view = self._view
        start, end = self._start, self._end
        while end - start >= 4:
            (length,) = _U32.unpack_from(view, start)
            if length > self.limit:
                if bodies:
                    # A body before it may be the welcome, which raises the limit: the
                    # length is judged when those are read.
                    self._deferred = True
                    break
                raise BrokenFrame(
                    f"A message of {length} bytes is longer than the {self.limit} allowed."
                )
            stop = start + 4 + length
            if stop <= end:
                bodies.append(bytearray(view[start + 4 : stop]))
                start = stop
                continue
            if length >= _LONG_FRAME_BYTES:
                have = end - start - 4
                try:
                    self._long = uninitialised(length)
                except MemoryError as error:
                    # Address space may be limited; otherwise a length alone takes no memory.
                    raise BrokenFrame(
                        f"There is no memory for a message of {length} bytes."
                    ) from error
                self._long_view = memoryview(self._long)
                self._long_view[:have] = view[start + 4 : end]
                self._long_filled = have
                start = end
            break
        if start == end:
            start = end = 0
        self._start, self._end = start, end
        return bodies

    def _make_room(self) -> None:
        """Move what is left to the front; grow to the full size on first need."""
        have = self._end - self._start
        if len(self._buffer) < _BUFFER_BYTES:
            grown = bytearray(_BUFFER_BYTES)
            grown[:have] = self._view[self._start : self._end]
            self._buffer = grown
            self._view = memoryview(grown)
        else:
            self._view[:have] = bytes(self._view[self._start : self._end])
        self._start, self._end = 0, have
