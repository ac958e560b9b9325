"""Memory that processes of one machine share: made by one, handed to others as a descriptor.

It has no name and lies in no folder: it goes with the last process that holds it, however that
ends (Linux's ``memfd``). Nobody can make it shorter or longer::

    owner     create ─▶ fill ─▶ lend ── descriptor, over a unix socket ──▶ open_private     reader
                                 └ reads only: no write through it

A reader sees its pages until it writes to them, and then has copies of its own (copy-on-write):
arrays are writable, as if they had come through a socket, and nobody sees what others write.
"""

from __future__ import annotations

import mmap
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from spanwise.wire import raw_memory
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.raw_memory import Buffer

try:
    import fcntl
    import resource
except ImportError:  # Windows
    _CAN_SEAL = False
else:
    _CAN_SEAL = hasattr(fcntl, "F_ADD_SEALS")

#: Whether this system and this Python have such memory.
IS_POSSIBLE = (
    sys.platform == "linux"
    and _CAN_SEAL
    and hasattr(os, "memfd_create")
    and hasattr(socket, "MSG_CMSG_CLOEXEC")
)
#: In /proc/*/fd and /proc/*/maps: memfd:spanwise.
NAME = "spanwise"
#: Nobody may run it (Linux 6.3): systems can be set up to refuse memory without this.
_NOEXEC_SEAL = 8
#: So many segments at once at most, and at most this share of the files that a process may have
#: open (a small segment takes two: its map has one of its own).
MOST_SEGMENTS, DESCRIPTOR_SHARE = 512, 1 / 8
#: Nothing is shared for so long after the system has refused a descriptor or memory.
REFUSED_SECONDS = 60.0
#: Buffers that the system takes in one gathered write.
_IOV_MAX = 1024
#: Buffers that are shorter on average are gathered by the system rather than copied one by one.
_LONG_BYTES = 64 * 1024


def most_at_once() -> int:
    """How many segments this process may hold."""
    if not IS_POSSIBLE:
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_SEGMENTS
    return min(MOST_SEGMENTS, int(soft * DESCRIPTOR_SHARE))


def create(nbytes: int) -> int:
    """Return the descriptor of a new segment, whose length is now fixed.

    Raises
    ------
    OSError
        There are no descriptors left, or this system forbids it.
    """
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        descriptor = os.memfd_create(NAME, flags | _NOEXEC_SEAL)
    except OSError:
        descriptor = os.memfd_create(NAME, flags)
    try:
        os.ftruncate(descriptor, nbytes)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def fill(descriptor: int, buffers: Sequence[Buffer]) -> None:
    """Write buffers one after another from the segment's begin on.

    Raises
    ------
    OSError
        There is no memory.
    """
    left = [memoryview(each).cast("B") for each in buffers if len(each)]
    at = done = _fill_huge(descriptor, left)
    while left and done >= left[0].nbytes:
        done -= left.pop(0).nbytes
    left.reverse()
    if done:
        left[-1] = left[-1][done:]
    while left:
        got = os.pwritev(descriptor, left[: -_IOV_MAX - 1 : -1], at)
        at += got
        while left and got >= left[-1].nbytes:
            got -= left.pop().nbytes
        if got:
            left[-1] = left[-1][got:]


def _fill_huge(descriptor: int, buffers: list[memoryview]) -> int:
    """Write what fills huge pages, if that can be had; return how many bytes that is, or 0."""
    nbytes = sum(each.nbytes for each in buffers)
    size = raw_memory.huge_page_bytes()
    if not size or nbytes < max(size, _LONG_BYTES * len(buffers)):
        return 0
    whole = nbytes // size * size
    try:
        # Without a page there is nothing to be made larger. (By a write, which says that there is
        # no memory: who enters a map is killed.)
        for at in range(0, whole, size):
            os.pwrite(descriptor, b"\0", at)
        mapped = raw_memory.map_on_boundary(descriptor, whole, mmap.MAP_SHARED)
    except OSError:
        return 0  # (whoever writes now has the same, or gets by)
    whole = raw_memory.make_huge(mapped)
    into = raw_memory.address_of(mapped)
    left: list[raw_memory.Move] = []
    at = 0
    for each in buffers:
        length = min(each.nbytes, whole - at)
        left += raw_memory.moves(into + at, raw_memory.address_of(each), length)
        at += length
    raw_memory.move_all((mapped, buffers), left, raw_memory.move)
    return whole


def read(descriptor: int, nbytes: int) -> memoryview:
    """Return a copy of the first bytes of a segment.

    Raises
    ------
    BrokenFrame
        It is shorter, or no segment.
    OSError
        It cannot be read.
    """
    _check(descriptor, nbytes)
    copy = raw_memory.room(nbytes, 0)
    at = 0
    while at < nbytes:
        got = os.preadv(descriptor, [copy[at:]], at)
        if not got:
            raise BrokenFrame(f"A segment ends at {at} of {nbytes} bytes.")
        at += got
    return copy


def lend(descriptor: int) -> int:
    """Return another descriptor of a segment, which can only be read, to be given away.

    Raises
    ------
    OSError
    """
    return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)


def count_here(descriptor: int) -> bool:
    """Whether this process is the one to count a segment as its memory.

    That is who holds the lock of the file. The system takes it from a process that ends or
    lets go, and the next one that asks has it: so each segment is counted once.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def open_private(descriptor: int, nbytes: int) -> memoryview:
    """Map the first bytes of a segment copy-on-write.

    Returns
    -------
    memoryview
        Its `obj` is what ends the map when nobody holds it any more.

    Raises
    ------
    BrokenFrame
        It is shorter, or could become so while it is read, which would end this process.
    OSError
        There is no address space, or no descriptor is left.
    """
    _check(descriptor, nbytes)
    if nbytes >= raw_memory.huge_page_bytes() > 0:
        return raw_memory.map_on_boundary(descriptor, nbytes, mmap.MAP_PRIVATE)
    access = mmap.PROT_READ | mmap.PROT_WRITE
    return memoryview(mmap.mmap(descriptor, nbytes, flags=mmap.MAP_PRIVATE, prot=access))


def _check(descriptor: int, nbytes: int) -> None:
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError as error:
        raise BrokenFrame("A descriptor that came is no segment.") from error
    length = os.fstat(descriptor).st_size
    if not seals & fcntl.F_SEAL_SHRINK or not 0 < nbytes <= length:
        raise BrokenFrame(f"A segment of {length} bytes (seals {seals}) instead of {nbytes}.")


class Lent:
    """A payload that came as a descriptor, which this object closes unless it is taken.

    Attributes
    ----------
    segment
        The number by which the lender knows it.
    nbytes
        Length of the payload.
    """

    __slots__ = ("_descriptor", "nbytes", "segment")

    def __init__(self, descriptor: int, segment: int, nbytes: int) -> None:
        self._descriptor = descriptor
        self.segment = segment
        self.nbytes = nbytes

    @property
    def has_come(self) -> bool:
        """False: this process could take no further descriptor, so the system dropped it."""
        return self._descriptor >= 0

    def take(self) -> int:
        """Return the descriptor, which is the caller's now."""
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor

    def __del__(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
