"""Errors of tasks as they travel: type, message, text for people, and the exception."""

from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import cloudpickle

from spanwise.wire import payload
from spanwise.wire.foreign import cut, message_of, type_name

#: Longer tracebacks are cut in the middle: 20k characters are 200 lines.
TEXT_LIMIT = 40_000
#: An exception whose pickle is longer is told by its type and message alone.
BLOB_LIMIT = 32 * 2**20

_PACKAGE = Path(__file__).parent.parent
_OWN_FOLDERS = tuple(str(_PACKAGE / name) + os.sep for name in ("graph", "measure", "worker"))


#: Read attributes of an exception, whatever its class makes of these names.
_CAUSE: Any = BaseException.__dict__["__cause__"]
_CONTEXT: Any = BaseException.__dict__["__context__"]
_SUPPRESSED: Any = BaseException.__dict__["__suppress_context__"]
_GROUPED: Any = BaseExceptionGroup.__dict__["exceptions"]


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


class _TooLarge(Exception):
    """A pickle has grown over its limit."""


class _BoundedFile:
    """Takes the bytes of a pickle up to a limit."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.pieces: list[bytes] = []

    def write(self, piece: Any) -> int:
        """Keep a piece."""
        nbytes = memoryview(piece).nbytes
        self._left -= nbytes
        if self._left < 0:
            raise _TooLarge
        self.pieces.append(bytes(piece))
        return nbytes


def describe(error: BaseException) -> Described:
    """Return `error` as it travels; never raises, whatever the exception does.

    What cannot be pickled, or not be unpickled again, or is very large, is replaced by a
    :class:`TaskError`; so are SystemExit, KeyboardInterrupt and the like, which would
    end the client's program if it raised them.
    """
    kind = type_name(error)
    message = message_of(error)
    text = _text(error)
    blob = None
    why = ""
    if isinstance(error, Exception):
        blob, why = _with_its_chain(error, text)
    if blob is None:
        blob, _ = _pickled(TaskError(kind, message + why), text)
    assert blob is not None
    return Described(kind, message + why, text, blob)


def _with_its_chain(error: Exception, text: str) -> tuple[bytes | None, str]:
    """The payload of an exception, as :func:`_pickled`; its text has been taken.

    Packages may teach pickle what hangs on an exception (tblib does): tracebacks, frame within
    frame, and other exceptions, each within the one that it led to. A RecursionError's frames,
    and a chain of thousands, are deeper than pickle can go.
    """
    chain = _chain(error)
    for each in chain:
        # (It may forbid the plain way.)
        BaseException.with_traceback(each, None)
    blob, why = _pickled(error, text)
    if blob is None and not why and len(chain) > 1:
        # Another exception of the chain cannot travel; this one can without it.
        cause, context = _CAUSE.__get__(error), _CONTEXT.__get__(error)
        suppressed = _SUPPRESSED.__get__(error)
        try:
            _CAUSE.__set__(error, None)
            _CONTEXT.__set__(error, None)
            blob, why = _pickled(error, text)
        finally:
            _CAUSE.__set__(error, cause)
            _CONTEXT.__set__(error, context)
            _SUPPRESSED.__set__(error, suppressed)
    return blob, why


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and all that led to it or are in its group, each once."""
    found: dict[int, BaseException] = {}
    pending: list[Any] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in found:
            continue
        found[id(one)] = one
        pending += (_CAUSE.__get__(one), _CONTEXT.__get__(one))
        if issubclass(type(one), BaseExceptionGroup):
            pending += _GROUPED.__get__(one)
    return list(found.values())


def _pickled(error: Exception, text: str) -> tuple[bytes | None, str]:
    """The payload of an exception; or None, and what to say besides its message."""
    try:
        blob = b"".join(payload.framed(_bounded_pickle({"exception": error, "text": text})))
        # Exceptions with an __init__ of their own often pickle but do not unpickle.
        opened = payload.loads(blob)
    except _TooLarge:
        return None, f" (It holds more than {BLOB_LIMIT >> 20} MiB, which do not travel with it.)"
    except BaseException:  # noqa: BLE001 (user code; a stand-in travels instead)
        return None, ""
    return (blob, "") if type(opened["exception"]) is type(error) else (None, "")


def _bounded_pickle(obj: Any) -> bytes:
    """As :func:`spanwise.wire.payload.dumps`: the plain pickle, if others can open it.

    Raises
    ------
    _TooLarge
        Before more memory is taken than the limit.
    """
    try:
        file = _BoundedFile(BLOB_LIMIT)
        pickle.Pickler(file, protocol=5).dump(obj)
        body = b"".join(file.pieces)
        if b"__main__" not in body and not cloudpickle.list_registry_pickle_by_value():
            return body
    except _TooLarge:
        raise
    except Exception:  # noqa: BLE001 (cloudpickle knows how, or raises the error that counts)
        pass
    file = _BoundedFile(BLOB_LIMIT)
    cloudpickle.Pickler(file, protocol=5).dump(obj)
    return b"".join(file.pieces)


def _text(error: BaseException) -> str:
    try:
        trace = traceback.TracebackException(
            type(error), error, _users_part(error.__traceback__), compact=True
        )
        _shorten(trace)
        return cut("".join(trace.format()), TEXT_LIMIT)
    except BaseException as other:  # noqa: BLE001 (user code; said in the text)
        return f"{type_name(error)} (no traceback: {type_name(other)})"


def _shorten(trace: traceback.TracebackException) -> None:
    """Cut the messages of an exception and of those in it, before they are put together."""
    pending = [trace]
    while pending:
        one: Any = pending.pop()
        one._str = cut(one._str)
        if isinstance(one.__notes__, list):
            one.__notes__ = [cut(each) if type(each) is str else each for each in one.__notes__]
        pending += [each for each in (one.__cause__, one.__context__) if each is not None]
        pending += one.exceptions or ()


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame that is not Spanwise's own."""
    own = trace
    while own is not None:
        if not own.tb_frame.f_code.co_filename.startswith(_OWN_FOLDERS):
            return own
        own = own.tb_next
    return trace
