"""Errors of tasks as they travel: type, message, text for people, and the exception."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from spanwise.wire import payload

#: Longer messages and tracebacks are cut in the middle: 20k characters are 200 lines.
MESSAGE_LIMIT = 10_000
TEXT_LIMIT = 40_000

_OWN_FOLDERS = (
    str(Path(__file__).parent),
    str(Path(__file__).parent.parent / "graph"),
)


class TaskError(RuntimeError):
    """Stands for an exception that cannot travel or must not be raised as it is.

    Parameters
    ----------
    kind
        Name of the original type.
    message
        Its message.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskError, (self.kind, self.message)


class CannotOpen(Exception):
    """What a task runs could not be unpickled here."""


class CannotPickle(Exception):
    """A result cannot leave the worker."""


class Described(NamedTuple):
    """An exception, ready to be sent.

    `blob` is a payload holding ``{"exception": BaseException, "text": str}``.
    """

    type: str
    message: str
    text: str
    blob: bytes


def describe(error: BaseException) -> Described:
    """Return `error` as it travels.

    What cannot be pickled, or not be unpickled again, is replaced by a
    :class:`TaskError`; so are SystemExit, KeyboardInterrupt and the like, which would
    end the client's program if it raised them.
    """
    kind = type(error).__name__
    message = _cut(_message(error), MESSAGE_LIMIT)
    text = _cut(_text(error), TEXT_LIMIT)
    blob = None
    if isinstance(error, Exception):
        blob = _pickled(error, text)
    if blob is None:
        blob = _pickled(TaskError(kind, message), text)
    assert blob is not None
    return Described(kind, message, text, blob)


def _pickled(error: Exception, text: str) -> bytes | None:
    try:
        blob = b"".join(payload.dumps({"exception": error, "text": text}))
        # Exceptions with an __init__ of their own often pickle but do not unpickle.
        opened = payload.loads(blob)
    except Exception:  # noqa: BLE001 (a stand-in travels instead)
        return None
    return blob if type(opened["exception"]) is type(error) else None


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as other:  # noqa: BLE001 (user code; said in the text)
        return f"(its message raised {type(other).__name__})"


def _text(error: BaseException) -> str:
    try:
        return "".join(
            traceback.format_exception(type(error), error, _users_part(error.__traceback__))
        )
    except Exception as other:  # noqa: BLE001 (user code; said in the text)
        return f"{type(error).__name__} (no traceback: {type(other).__name__})"


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame that is not Spanwise's own."""
    own = trace
    while own is not None:
        if not own.tb_frame.f_code.co_filename.startswith(_OWN_FOLDERS):
            return own
        own = own.tb_next
    return trace


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - limit} characters …\n{text[-half:]}"
