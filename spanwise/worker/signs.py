"""Shows clients where a result lies; see `spanwise.wire.sign`."""

from __future__ import annotations

import copyreg
import itertools
import secrets
import sys
import weakref
from array import array
from typing import Any

from spanwise.processes import forks
from spanwise.wire import direct, payload, raw_memory, sign
from spanwise.wire.direct import Piece
from spanwise.wire.raw_memory import Buffer

#: So many results are shown at once; those that were shown before them are asked for at the door.
MOST_SHOWN = 1024
#: So many kinds of arrays are known: some 500 bytes each.
MOST_KINDS = 256
#: Kinds of numbers: what has these alone is the same after pickling and unpickling.
_KINDS = frozenset("biufc")


class _Watched(weakref.ref[Any]):
    """Knows an array's mark, and its place, when the array ends."""

    __slots__ = ("mark", "place")
    mark: int
    place: int


class Signs:
    """The marks of one worker."""

    def __init__(self) -> None:
        self._marks = array("Q", bytes(8 * MOST_SHOWN))
        self._address = raw_memory.address_of(memoryview(self._marks).cast("B"))
        #: Taken and given back without a lock: arrays end on any thread at any moment.
        self._free = list(range(MOST_SHOWN))
        #: By their marks, the oldest first. Who takes one out has its place.
        self._watched: dict[int, _Watched] = {}
        #: By type, shape, order and whether it is read only: what `_small_of` has found.
        self._smalls: dict[tuple[Any, ...], bytes] = {}
        #: A client may take a mark for another worker's: so all begin elsewhere.
        self._numbers = itertools.count(1 + secrets.randbits(62))

    @property
    def count(self) -> int:
        """How many results are shown."""
        return len(self._watched)

    def show(self, value: Any) -> bytes | None:
        """Return the sign of a result; None: clients ask at the door.

        An array that is shown can no longer be resized where it lies, as numpy sees to.
        """
        # (None, too, while another thread imports numpy: then the value is no array)
        array_type = getattr(sys.modules.get("numpy"), "ndarray", None)
        if not sign.IS_POSSIBLE or type(value) is not array_type:
            return None
        if not value.flags.forc or value.dtype.kind not in _KINDS:
            return None
        if value.dtype.metadata is not None:
            return None  # whatever the user has put there
        if not sign.LEAST_BYTES <= value.nbytes <= sign.MOST_BYTES:
            return None
        where, is_read_only = value.__array_interface__["data"]
        small = self._small_of(value, where, is_read_only)
        if small is None:
            return None
        place = self._take_place()
        if place is None:
            return None
        watched = _Watched(value, self._ended)
        watched.mark = mark = next(self._numbers)
        watched.place = place
        self._marks[place] = mark
        self._watched[mark] = watched  # (from here on another thread may take the place)
        return sign.pack(mark, self._address + 8 * place, where, value.nbytes, small)

    def _small_of(self, value: Any, where: int, is_read_only: bool) -> bytes | None:
        """The payload's bytes before the array; None: there are none that an array follows.

        Arrays that are alike in all but their numbers have the same: pickling a second one would
        cost 0.1 ms in a worker whose caches the array itself has filled.
        """
        # (`flags.writeable` says something else of what `broadcast_arrays` returns, and warns)
        dtype = value.dtype
        kind = (dtype, value.shape, value.flags.c_contiguous, is_read_only)
        registered = copyreg.dispatch_table
        is_plain = type(value) not in registered and type(dtype) not in registered
        known = self._smalls.get(kind) if is_plain else None
        if known is not None:
            return known
        small, pieces = _pickled(value)
        if len(pieces) != 1 or pieces[0][1:] != (where, value.nbytes):
            return None  # a copy, which ends before the array does
        if not pieces[0][0] == payload.nbytes(small) <= sign.MOST_SMALL_BYTES:
            return None
        made = b"".join(small)
        if is_plain:
            if len(self._smalls) >= MOST_KINDS:
                self._smalls.clear()
            self._smalls[kind] = made
        return made

    def _take_place(self) -> int | None:
        """A free place, or that of the oldest mark; None: others are at it."""
        try:
            return self._free.pop()
        except IndexError:
            pass
        try:
            oldest = self._watched.pop(next(iter(self._watched)))
        except (KeyError, RuntimeError, StopIteration):
            return None
        self._marks[oldest.place] = 0
        return oldest.place

    def _ended(self, watched: _Watched) -> None:
        """Take back the mark of an array whose memory goes next."""
        # Before all else, and also where another thread has just taken the place. If that has
        # put its own mark there in between, that array is asked for.
        if self._marks[watched.place] == watched.mark:
            self._marks[watched.place] = 0
        if self._watched.pop(watched.mark, None) is not None:
            self._free.append(watched.place)


def _pickled(value: Any) -> tuple[list[Buffer], list[Piece]]:
    """Parts of the payload, as :func:`direct.split` has them; none if it cannot be pickled.

    That is an error only when the result is asked for (see door.py).
    """
    try:
        found = direct.split(payload.dumps(value))
        forks.came_back()
    except BaseException as error:  # noqa: BLE001
        forks.came_back(error)
        return [], []
    return found
