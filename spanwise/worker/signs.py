"""Shows clients where a result lies; see `spanwise.wire.sign`."""

from __future__ import annotations

import secrets
import sys
import weakref
from array import array
from typing import Any

from spanwise.wire import direct, payload, raw_memory, sign

#: So many results are shown at once; others are asked for at the door.
MOST_SHOWN = 1024
#: Kinds of numbers: what has these alone is the same after pickling and unpickling.
_KINDS = frozenset("biufc")


class _Watched(weakref.ref[Any]):
    """Knows the place of an array's mark when the array ends."""

    __slots__ = ("place",)
    place: int


class Signs:
    """The marks of one worker."""

    def __init__(self) -> None:
        self._marks = array("Q", bytes(8 * MOST_SHOWN))
        self._address = raw_memory.address_of(memoryview(self._marks).cast("B"))
        #: Taken and given back without a lock: arrays end on any thread at any moment.
        self._free = list(range(MOST_SHOWN))
        self._watched: dict[int, _Watched] = {}
        #: The last mark. A client may take it for another worker's: so all begin elsewhere.
        self._last = secrets.randbits(62)

    @property
    def count(self) -> int:
        """How many results are shown."""
        return len(self._watched)

    def show(self, value: Any) -> bytes | None:
        """Return the sign of a result; None: clients ask at the door.

        An array that is shown can no longer be resized where it lies, as numpy sees to.
        """
        numpy = sys.modules.get("numpy")
        if not sign.IS_POSSIBLE or numpy is None or type(value) is not numpy.ndarray:
            return None
        if not value.flags.forc or value.dtype.kind not in _KINDS:
            return None
        if not sign.LEAST_BYTES <= value.nbytes <= sign.MOST_BYTES:
            return None
        small, pieces = direct.split(payload.dumps(value))
        where = value.__array_interface__["data"][0]
        if len(pieces) != 1 or pieces[0][1:] != (where, value.nbytes):
            return None  # a copy, which ends before the array does
        if not pieces[0][0] == payload.nbytes(small) <= sign.MOST_SMALL_BYTES:
            return None
        try:
            place = self._free.pop()
        except IndexError:
            return None
        watched = _Watched(value, self._ended)
        watched.place = place
        self._watched[place] = watched
        self._last = mark = self._last + 1
        self._marks[place] = mark
        return sign.pack(mark, self._address + 8 * place, pieces[0], small)

    def _ended(self, watched: _Watched) -> None:
        """Take back the mark of an array whose memory goes next."""
        self._marks[watched.place] = 0
        del self._watched[watched.place]
        self._free.append(watched.place)
