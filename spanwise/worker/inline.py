"""Small results travel with the message that reports them."""

from __future__ import annotations

import pickle
import struct
from typing import Any

from spanwise.processes import forks
from spanwise.wire import payload

#: Larger ones are fetched from the peer door when they are wanted.
INLINE_BYTES = 4096
_ONE_PART = struct.Struct("<IId")


def plain_inline(value: Any) -> bytes:
    """Return the payload of a number, None or the like: a pickle without buffers."""
    pickled = pickle.dumps(value, 5)
    return _ONE_PART.pack(1, 0, len(pickled)) + pickled


def inline(value: Any) -> bytes | None:
    """Return the payload of a small result; None if large or not picklable.

    An unpicklable result is an error only when it is asked for (see door.py).
    """
    try:
        buffers = payload.dumps(value)
        forks.came_back()
    except BaseException as error:  # noqa: BLE001
        forks.came_back(error)
        return None
    if payload.nbytes(buffers) > INLINE_BYTES:
        return None
    return b"".join(buffers)
