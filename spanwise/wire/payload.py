"""Payloads: anything pickled (templates, chunks, results, errors) as one blob.

::

    u32 count | u32 0 | count x f64 byteLength | part 0 | 0 to 8 | part 1 | ...

Part 0 is the pickle, the others are its out-of-band buffers, so that an array goes from
its own memory to the socket, and comes out of a frame as a view of the frame.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Sequence
from typing import Any

from spanwise.wire import by_value
from spanwise.wire.errors import BrokenFrame

Buffer = bytes | bytearray | memoryview

_ZEROS = bytes(8)
#: A smaller buffer is cheaper within the pickle than as a part of its own.
_OUT_OF_BAND_BYTES = 512
_ONE_PART = struct.Struct("<IId")
_TWO_U32 = struct.Struct("<II")


def dumps(obj: Any) -> list[Buffer]:
    """`obj` as buffers to be written one after another; large ones are not copied.

    The plain pickle is tried first (ten times faster for values); functions and classes
    that workers cannot import, above all those of ``__main__``, go by value.

    Raises
    ------
    Exception
        Whatever the object's own pickling raises.
    """
    parts: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        """Whether to leave the buffer inside the pickle."""
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        if raw.nbytes < _OUT_OF_BAND_BYTES:
            return True
        parts.append(raw)
        return False

    try:
        body = pickle.dumps(obj, protocol=5, buffer_callback=keep)
        is_plain = not by_value.is_needed(body)
    except Exception:  # noqa: BLE001 - anything that pickle cannot do
        # Lambdas, classes of a notebook: cloudpickle knows how, or raises the error that counts.
        is_plain = False
    if not is_plain:
        parts.clear()
        body = by_value.dumps(obj, keep)
    if not parts:
        return framed(body)
    lengths = [len(body), *(part.nbytes for part in parts)]
    out: list[Buffer] = [struct.pack(f"<II{len(lengths)}d", len(lengths), 0, *lengths)]
    previous = 0
    pieces: list[Buffer] = [body, *parts]
    for part, length in zip(pieces, lengths, strict=True):
        padding = -previous % 8
        if padding:
            out.append(_ZEROS[:padding])
        out.append(part)
        previous = length
    return out


class _Counting:
    """A file that keeps nothing."""

    def __init__(self) -> None:
        self.nbytes = 0

    def write(self, piece: Any) -> int:
        written = memoryview(piece).nbytes
        self.nbytes += written
        return written


def bytes_in_band(obj: Any) -> int:
    """Bytes that :func:`dumps` would copy, found out without a copy; 0: the plain pickle cannot.

    A large `bytes` is such, and an array is not, which stays where it lies.
    """
    counting = _Counting()

    def keep(buffer: pickle.PickleBuffer) -> bool:
        try:
            return buffer.raw().nbytes < _OUT_OF_BAND_BYTES
        except BufferError:
            return True

    try:
        pickle.Pickler(counting, protocol=5, buffer_callback=keep).dump(obj)
    except BaseException:  # noqa: BLE001 (user code)
        return 0
    return counting.nbytes


def is_in_band(start: Buffer) -> bool:
    """Whether nothing that is opened from a payload is a view of it; `start`: its first bytes."""
    return len(start) >= 4 and int.from_bytes(start[:4], "little") == 1


def framed(body: bytes) -> list[Buffer]:
    """A pickle without buffers as a payload."""
    return [_ONE_PART.pack(1, 0, len(body)), body]


def nbytes(buffers: Sequence[Buffer]) -> int:
    """Bytes of a payload as :func:`dumps` gives it."""
    return sum(b.nbytes if isinstance(b, memoryview) else len(b) for b in buffers)


def loads(payload: Buffer, unpickle: Callable[..., Any] = pickle.loads) -> Any:
    """The object; its buffers are views of `payload` (writable if that is).

    Parameters
    ----------
    unpickle
        In place of :func:`pickle.loads`, with its arguments.

    Raises
    ------
    BrokenFrame
        The lengths do not fit the bytes.
    Exception
        Whatever unpickling raises.
    """
    view = memoryview(payload)
    if view.nbytes >= _ONE_PART.size:
        count, _, length = _ONE_PART.unpack_from(view)
        if count == 1 and length == view.nbytes - _ONE_PART.size:
            # The short way for nearly all small results: no lists of lengths and parts.
            return unpickle(view[_ONE_PART.size :])
    if view.nbytes < 8:
        raise BrokenFrame(f"A payload of {view.nbytes} bytes.")
    count, _ = _TWO_U32.unpack_from(view)
    at = 8 + 8 * count
    if count == 0 or at > view.nbytes:
        raise BrokenFrame(f"A payload of {view.nbytes} bytes with {count} parts.")
    parts: list[memoryview] = []
    for length in struct.unpack_from(f"<{count}d", view, 8):
        if not 0 <= length <= view.nbytes or length != int(length):
            raise BrokenFrame(f"A part of {length} bytes in a payload of {view.nbytes}.")
        at += -at % 8
        part = view[at : at + int(length)]
        if part.nbytes != length:
            raise BrokenFrame("A payload ends within a part.")
        parts.append(part)
        at += part.nbytes
    return unpickle(parts[0], buffers=parts[1:])
