"""Values and names as the scheduler keeps them: bytes and texts that it does not read."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from dask.utils import parse_timedelta

from spanwise.shared.futures import adopting, collecting
from spanwise.shared.requests import Hold
from spanwise.wire import payload, plain

#: As the scheduler allows.
MOST_VALUE_BYTES = 10 * 2**20
#: Characters of a name.
_MOST_NAME = 1_000
#: What the last byte of a value says of those before it. (The last: a pickle's arrays keep their
#: alignment.)
_PLAIN, _PICKLED = b"\0", b"\1"


def pack_value(value: Any) -> tuple[bytes, list[Any]]:
    """A value as bytes, and the futures in it: plain ones as msgpack, others pickled.

    Raises
    ------
    TypeError
        It cannot be sent.
    ValueError
        It is too large.
    """
    try:
        return _bounded(plain.pack(value) + _PLAIN), []
    except TypeError:
        with collecting() as found:
            return _bounded(b"".join([*payload.dumps(value), _PICKLED])), found


def _bounded(content: bytes) -> bytes:
    if len(content) > MOST_VALUE_BYTES:
        raise ValueError(
            f"A value that is shared has at most {MOST_VALUE_BYTES:,} bytes, this one has "
            f"{len(content):,}: the scheduler keeps it. Write it to a file and share its name, or "
            "bring it to the workers with scatter()."
        )
    return content


def open_value(content: bytes) -> Any:
    """A value without futures; see :func:`open_values`."""
    return open_values([content])[0]


def open_values(
    contents: Sequence[bytes], adopter: Any = None, holds: Sequence[Hold] = ()
) -> list[Any]:
    """The values that were packed; lists of plain values come out as tuples, as in `distributed`.

    Parameters
    ----------
    adopter
        The client that futures in them are of from now on; None: the current one.
    holds
        Under which the futures were held on their way here.
    """
    with adopting(adopter, [hold for hold in holds if hold]):
        return [_open(content) for content in contents]


def _open(content: bytes) -> Any:
    packed = memoryview(content)[:-1]
    if content[-1:] == _PLAIN:
        return plain.unpack(packed)
    return payload.loads(packed)


def name_text(name: Any) -> str:
    """A name as text: itself, or what stands for another plain value.

    Raises
    ------
    TypeError, ValueError
        It is nothing plain, or too long.
    """
    if isinstance(name, str) and not name.startswith("\0"):
        text = name
    else:
        text = "\0" + plain.pack(name).hex()
    if len(text) > _MOST_NAME:
        raise ValueError(f"A name has at most {_MOST_NAME:,} characters, this one {len(text):,}")
    return text


def name_of(text: str) -> Any:
    """The name that a text stands for."""
    return plain.unpack(bytes.fromhex(text[1:])) if text.startswith("\0") else text


def new_name(kind: str) -> str:
    """A name that nobody else has."""
    return f"{kind}-{uuid.uuid4().hex}"


def seconds_of(timeout: Any) -> float | None:
    """Seconds, from a number, a text such as ``"200ms"`` or a timedelta."""
    try:
        seconds = parse_timedelta(timeout)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        # (the kind that `distributed` raises)
        raise type(error)(
            "timeout is a number of seconds, text such as '30s', or None for no limit, "
            f"not {timeout!r:.80}"
        ) from error
    return None if seconds is None else max(0.0, float(seconds))
