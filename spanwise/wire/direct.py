"""Reads memory of another process of the same user: one copy, from where a result lies.

::

    holder   data: address and length of each large piece ──▶ reads them (process_vm_readv)   caller
             keeps the pieces as they are  ◀── got ────────── and says so

Linux asks whether the caller may trace the holder. Where it may not, nothing is read, and results
go in another way.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from spanwise.wire.errors import BrokenFrame, LinkClosed
from spanwise.wire.raw_memory import Buffer, Move, address_of, move_all, moves, room

#: Rows of `direct` that belong to one item: (bytes of the blob before it, address, length).
Piece = tuple[int, int, int]

#: So long is what a holder shows to prove that its addresses are those of this process.
PROOF_BYTES = 32
#: Smaller buffers go with the message.
PIECE_BYTES = 64 * 1024
#: Addresses of programs are smaller, and exact as f64.
_MOST_ADDRESS = 2**53


#: Of these reasons not to read, none goes away.
_FORBIDDEN = frozenset((errno.EPERM, errno.EACCES, errno.ENOSYS))


class _Vector(ctypes.Structure):
    """Linux's iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _system_call() -> Any:
    if sys.platform != "linux" or sys.implementation.name != "cpython":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "process_vm_readv", None)


_read = _system_call()
if _read is not None:
    _read.restype = ctypes.c_ssize_t
    _read.argtypes = (
        ctypes.c_int,
        ctypes.POINTER(_Vector),
        ctypes.c_ulong,
        ctypes.POINTER(_Vector),
        ctypes.c_ulong,
        ctypes.c_ulong,
    )
#: Whether this system and this Python can do it.
IS_POSSIBLE = _read is not None and hasattr(socket, "SO_PEERCRED")


def is_forbidden(error: OSError) -> bool:
    """Whether memory of the process can never be read; else there may be no room for it now."""
    return error.errno in _FORBIDDEN


def peer_of(sock: socket.socket) -> int:
    """The process that listens at the other end of a unix socket; 0: it cannot be seen."""
    if not IS_POSSIBLE or sock.family != socket.AF_UNIX:
        return 0
    width = struct.calcsize("3i")
    pid, user, _ = struct.unpack(
        "3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, width)
    )
    return int(pid) if user == os.geteuid() else 0


def shows(pid: int, address: float, proof: str) -> bool:
    """Whether the process has these bytes (hex) there, and may be read.

    The one that listens may pass on what another says: then its memory is not the holder's.
    """
    at = _whole(address)
    if not at or len(proof) != 2 * PROOF_BYTES:
        return False
    found = bytearray(PROOF_BYTES)
    try:
        _copy(pid, address_of(found), at, PROOF_BYTES)
    except OSError:
        return False
    return found.hex() == proof


def number_at(pid: int, address: int) -> int:
    """The 64 bits that the process has there.

    Raises
    ------
    OSError
    """
    found = bytearray(8)
    _copy(pid, address_of(found), address, 8)
    return int.from_bytes(found, sys.byteorder)


def split(buffers: Sequence[Buffer]) -> tuple[list[Buffer], list[Piece]]:
    """What of a payload goes with the message, and where the rest lies."""
    small: list[Buffer] = []
    pieces: list[Piece] = []
    before = 0
    for each in buffers:
        nbytes = each.nbytes if isinstance(each, memoryview) else len(each)
        if nbytes < PIECE_BYTES:
            small.append(each)
            before += nbytes
        else:
            pieces.append((before, address_of(each), nbytes))
            before = 0
    return small, pieces


class Direct:
    """A payload that lies in the memory of its holder.

    Parameters
    ----------
    pid
        The holder.
    blob
        What has come with the message.
    pieces
        What is to be read.
    is_there
        False if the holder has ended, and another process may have its number.

    Raises
    ------
    BrokenFrame
        The pieces fit neither the blob nor each other.
    """

    __slots__ = ("_blob", "_is_there", "_pid", "_pieces", "nbytes")

    def __init__(
        self, pid: int, blob: memoryview, pieces: Sequence[Piece], is_there: Callable[[], bool]
    ) -> None:
        self._pid = pid
        self._blob = blob
        self._pieces = pieces
        self._is_there = is_there
        for before, address, nbytes in pieces:
            if not address or not nbytes:
                raise BrokenFrame(f"A piece of {nbytes} bytes at {address}, after {before}.")
        if sum(before for before, _, _ in pieces) > blob.nbytes:
            raise BrokenFrame(f"Pieces behind the {blob.nbytes} bytes that came.")
        self.nbytes = blob.nbytes + sum(nbytes for _, _, nbytes in pieces)

    def read(self) -> memoryview:
        """Return the payload, in memory of this process.

        Raises
        ------
        OSError
            It must not be read, or there is no memory.
        LinkClosed
        """
        at = 0
        # How long the longest piece is, and where the payload would begin before it.
        wanted = (0, 0)
        for before, address, nbytes in self._pieces:
            at += before
            wanted = max(wanted, (nbytes, address - at))
            at += nbytes
        memory = room(self.nbytes, wanted[1])
        into = address_of(memory)
        left: list[Move] = []
        at = taken = 0
        for before, address, nbytes in self._pieces:
            memory[at : at + before] = self._blob[taken : taken + before]
            at, taken = at + before, taken + before
            left += moves(into + at, address, nbytes)
            at += nbytes
        memory[at:] = self._blob[taken:]
        move_all(memory, left, partial(_copy, self._pid))
        if not self._is_there():
            raise LinkClosed("The other side closed the connection.")
        return memory


def _copy(pid: int, into: int, address: int, nbytes: int) -> None:
    done = 0
    while done < nbytes:
        here = _Vector(into + done, nbytes - done)
        there = _Vector(address + done, nbytes - done)
        got = _read(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if got <= 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        done += got


def _whole(number: float) -> int:
    """A number as an address or a length; 0, which is neither, if it is none."""
    return int(number) if 0 < number < _MOST_ADDRESS else 0


def pieces_by_item(rows: Sequence[tuple[int, int, float, float]]) -> dict[int, list[Piece]]:
    """The rows of `direct` by their item."""
    return {
        item: [(before, _whole(address), _whole(nbytes)) for _, before, address, nbytes in some]
        for item, some in itertools.groupby(rows, key=lambda row: row[0])
    }
