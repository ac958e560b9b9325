"""Plain values as msgpack: what the scheduler keeps and does not open, as events' messages.

A list comes out as a tuple, as in `distributed`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgpack

from spanwise.wire.errors import BrokenFrame


def pack(value: Any) -> bytes:
    """A value as msgpack.

    Raises
    ------
    TypeError
        Something in it is not plain: numbers of 64 bits, texts, bytes, None, True, False, lists,
        tuples, dicts and times with a zone are.
    """
    try:
        return msgpack.packb(value, use_bin_type=True, datetime=True)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(
            f"It must be msgpack serializable: numbers, texts, bytes, None, True, False, and "
            f"lists, tuples and dicts of them. This {type(value).__name__} is not ({error})"
        ) from None


def unpack(content: bytes | memoryview) -> Any:
    """The value that was packed.

    Raises
    ------
    BrokenFrame
        It is no msgpack.
    """
    try:
        return msgpack.unpackb(content, use_list=False, strict_map_key=False, timestamp=3)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise BrokenFrame(f"A message is no msgpack ({error}).") from error


#: Bytes of an event's message: the scheduler keeps many.
MOST_EVENT_BYTES = 2**20
#: Characters of a topic.
_MOST_NAME = 1_000


def event(topic: str | Collection[str], msg: Any) -> tuple[dict[str, Any], list[bytes]]:
    """Fields and blobs of a message `logEvent`.

    Raises
    ------
    TypeError
        The message is not plain, or a topic no text.
    ValueError
        It is too large.
    """
    content = pack(msg)
    if len(content) > MOST_EVENT_BYTES:
        raise ValueError(
            f"An event's message has at most {MOST_EVENT_BYTES:,} bytes, this one has "
            f"{len(content):,}. Log less of it, or return it from a task."
        )
    return {"topics": topic_names(topic)}, [content]


def topic_names(topic: str | Collection[str]) -> list[str]:
    """The names of one topic, or of several.

    Raises
    ------
    TypeError, ValueError
        One is no text, or too long, or none that can be sent.
    """
    if not isinstance(topic, Collection):
        raise TypeError(f"A topic is a text, not {type(topic).__name__}")
    names = [topic] if isinstance(topic, str) else list(topic)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"A topic is a text, not {type(name).__name__}")
        if len(name) > _MOST_NAME:
            raise ValueError(f"A topic has at most {_MOST_NAME:,} characters, not {len(name):,}")
    return names
