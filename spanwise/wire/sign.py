"""Results that a client reads where they lie, by what came with the report: it asks nobody.

::

    worker   mark: a number that is in use nowhere else ── with `finished`, `report` ──▶ client
             keeps it as long as the array lives           reads the array, then the mark:
             array ends: mark := 0, then its memory        still the same? then so was the array

Nothing is held for the reader, and nobody waits for it. Whoever finds another number asks at the
worker's door. The mark is written before the memory is given back, and read after what lay there:
the other processor must see that in this order. x86 keeps the order of plain writes, but not of
those past the cache, with which `memcpy` fills large memory. Locked instructions, which the
allocator and Python's lock need to hand that memory on, come in between, and wait for all writes
before them. What other processors need for that is not known here: so this is done on x86 alone.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable
from typing import NamedTuple

from spanwise.wire import direct
from spanwise.wire.errors import BrokenFrame

IS_POSSIBLE = direct.IS_POSSIBLE and platform.machine() in ("x86_64", "AMD64")
#: Smaller results go through the door, larger ones too: what it costs to ask counts little there.
LEAST_BYTES, MOST_BYTES = direct.PIECE_BYTES, 16 * 2**20
#: What goes with the message: the array's type and shape.
MOST_SMALL_BYTES = 4096
#: The mark, where it lies, and the array's address and length; the other bytes follow.
_SIGN = struct.Struct("<QQQQ")
#: The kernel has the upper half of all addresses.
_END_ADDRESS = 2**63


class Sign(NamedTuple):
    """Where a result lies, and the mark that says so."""

    mark: int
    mark_address: int
    address: int
    nbytes: int
    #: The payload's bytes before the array.
    small: bytes


def pack(mark: int, mark_address: int, address: int, nbytes: int, small: bytes) -> bytes:
    """A sign as it travels."""
    return _SIGN.pack(mark, mark_address, address, nbytes) + small


def unpack(sign: memoryview) -> Sign:
    """What a sign says.

    Raises
    ------
    BrokenFrame
        It is none.
    """
    if sign.nbytes < _SIGN.size:
        raise BrokenFrame(f"A sign of {sign.nbytes} bytes.")
    mark, mark_address, address, nbytes = _SIGN.unpack_from(sign)
    if not mark or not LEAST_BYTES <= nbytes <= MOST_BYTES:
        raise BrokenFrame(f"The sign {mark} of {nbytes} bytes.")
    for at in (mark_address, address):
        if not 0 < at < _END_ADDRESS:
            raise BrokenFrame(f"The sign {mark} of something at {at}.")
    small = sign[_SIGN.size :]
    if small.nbytes > MOST_SMALL_BYTES:
        raise BrokenFrame(f"The sign {mark} with {small.nbytes} bytes.")
    # (copied: a view would keep the whole report)
    return Sign(mark, mark_address, address, nbytes, bytes(small))


def read(pid: int, sign: Sign, is_there: Callable[[], bool]) -> memoryview | None:
    """Return the payload; None: it lies there no more.

    Parameters
    ----------
    is_there
        False if the process has ended, and another one may have its number.

    Raises
    ------
    OSError
        Memory of the process must not be read, or there is none.
    LinkClosed
    """
    pieces = [(len(sign.small), sign.address, sign.nbytes)]
    found = direct.Direct(pid, memoryview(sign.small), pieces, is_there).read()
    return found if direct.number_at(pid, sign.mark_address) == sign.mark else None
