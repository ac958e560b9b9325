"""Small numpy arrays of plain numbers as tuples, which are pickled in a list with others.

Pickling such an array by itself takes 10 us more, most of it to say what an array is made of, and
opening it 5.
"""

from __future__ import annotations

import copyreg
import re
import sys
from typing import Any

#: Type, shape, bytes by rows, and whether it is to own its memory, as one does that was not in one
#: piece when it was pickled. Of others a `bytearray` says that they may be written to.
Told = tuple[str, tuple[int, ...], bytes | bytearray, bool]

#: A larger array costs more by its bytes, which are copied on each side, than by its pickling.
MOST_BYTES = 16 * 1024
#: numpy's own types of numbers: what has these alone is the same after pickling and unpickling. (By
#: their letters: types of other packages may be of the same kind, as an `f` of one byte.)
_LETTERS = frozenset("?bBhHiIlLqQefdgFDG")
#: How numpy calls the type of such numbers.
_TYPE = re.compile(r"[<>|][biufc][0-9]{1,2}")


def array_type() -> Any:
    """The class of arrays that are told so; None: none are.

    numpy is not imported for that. (None, too, while another thread imports it.)
    """
    found = getattr(sys.modules.get("numpy"), "ndarray", None)
    return None if found in copyreg.dispatch_table else found


def told(array: Any) -> Told | None:
    """An array as it is told; None: it is large, not of plain numbers, or by columns."""
    if array.nbytes > MOST_BYTES:
        return None
    dtype = array.dtype
    if dtype.char not in _LETTERS or dtype.metadata is not None or not array.size:
        return None
    flags = array.flags
    if flags.c_contiguous:
        view = array.data
        content = bytes(view) if view.readonly else bytearray(view)
        return dtype.str, array.shape, content, False
    # (of what is in several pieces numpy's pickles turn the bytes of a foreign order)
    if flags.f_contiguous or not dtype.isnative:
        return None
    return dtype.str, array.shape, array.tobytes(), True


def opened(array: Any) -> Any:
    """The array that was told of; numpy is there.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        kind, shape, content, has_its_own = array
        if not _TYPE.fullmatch(kind) or type(content) not in (bytes, bytearray):
            raise ValueError(f"{kind!r} of {type(content).__name__}")
        found = sys.modules["numpy"].ndarray(shape, kind, content)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{error}") from error
    # (numpy works out a length that is negative)
    if found.nbytes != len(content) or found.shape != shape:
        raise ValueError(f"{len(content)} bytes of shape {shape}")
    return found.copy() if has_its_own else found
