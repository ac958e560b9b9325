"""Errors of tasks as they travel: type, message, text for people, and the exception."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from spanwise.errors import TaskError
from spanwise.wire import by_value, payload
from spanwise.wire.exceptions import Link, chain_of, links_of, reduced
from spanwise.wire.foreign import cut, message_of, said, type_name
from spanwise.worker.foreign_calls import advice

#: Longer tracebacks are cut in the middle: 20k characters are 200 lines.
TEXT_LIMIT = 40_000
#: If an exception's pickle is longer, only type and message are sent.
BLOB_LIMIT = 32 * 2**20
_HOLDS_TOO_MUCH = f"it holds more than {BLOB_LIMIT >> 20} MiB, which do not travel with it"

#: The module whose frames lie below those of a task's function.
_DASKS_CALLS = "dask._task_spec"
_PACKAGE = Path(__file__).parent.parent
_OWN_FOLDERS = tuple(str(_PACKAGE / name) + os.sep for name in ("graph", "measure", "worker"))
#: What calls the functions that an executor of a client is given.
_EXECUTORS = str(_PACKAGE / "client" / "executor.py")


class CannotOpen(Exception):
    """A task's function or arguments could not be unpickled here."""


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


class _Reducing:
    """Has exceptions pickled as :func:`reduced` says, and some replaced.

    `stand_ins`: by the `id` of what they stand for.
    """

    stand_ins: dict[int, TaskError]

    def reducer_override(self, obj: Any) -> Any:
        if not issubclass(type(obj), BaseException):
            return super().reducer_override(obj)  # type: ignore[misc]
        stand_in = self.stand_ins.get(id(obj))
        return reduced(obj) if stand_in is None else stand_in.__reduce__()


class _PlainBase(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return NotImplemented


class _Plain(_Reducing, _PlainBase):
    pass


class _ByValue(_Reducing, by_value.ByValue):
    pass


def describe(error: BaseException) -> Described:
    """Return `error` as it travels; never raises, whatever the exception does.

    An exception that cannot be pickled or unpickled, or is very large, is replaced by a
    :class:`TaskError`; so are SystemExit, KeyboardInterrupt and the like, which would
    end the client's program if it raised them.
    """
    note = advice(error)
    if note:
        BaseException.add_note(error, note)
    kind = type_name(error)
    message = message_of(error)
    text = _text(error)
    chain = chain_of(error)
    links = links_of(chain, _users_part)
    for each in chain:
        # Its frames hold the task's inputs. (It may forbid the plain way.)
        BaseException.with_traceback(each, None)
    blob = None
    stand_ins: dict[int, TaskError] = {}
    if isinstance(error, Exception):
        blob, why = _pickled(links, stand_ins, text)
        if blob is None and why != _HOLDS_TOO_MUCH:
            stand_ins = _stand_ins(links)
            blob, why = _pickled(links, stand_ins, text)
        if blob is None:
            # Without what led to it, which may be what is too large.
            alone = [_untied(links[0])]
            blob, why = _pickled(alone, stand_ins, text)
        if blob is None:
            message += _stands_for(why)
    else:
        message += _stands_for("as itself it would end the program of whoever asks for it")
    if blob is None:
        stand_in = TaskError(kind, message)
        stand_ins[id(error)] = stand_in
        blob, _ = _pickled(links, stand_ins, text)
        if blob is None:
            blob, _ = _pickled([(stand_in, *_untied(links[0])[1:])], {}, text)
    assert blob is not None
    return Described(kind, message, text, blob)


def _untied(link: Link) -> Link:
    error, _, _, suppressed, notes, places = link
    return error, -1, -1, suppressed, notes, places


def _stand_ins(links: list[Link]) -> dict[int, TaskError]:
    """For each exception that led to the first, or is in its group, and cannot travel."""
    found: dict[int, TaskError] = {}
    for link in reversed(links[1:]):  # the parts of a group before the group
        _, why = _pickled([_untied(link)], found, "")
        if why:
            one = link[0]
            found[id(one)] = TaskError(type_name(one), message_of(one) + _stands_for(why))
    return found


def _stands_for(why: str) -> str:
    return f" (A TaskError stands for it: {why}.)"


def _pickled(
    links: list[Link], stand_ins: dict[int, TaskError], text: str
) -> tuple[bytes | None, str]:
    """The payload of linked exceptions; or None, and why there is none."""
    error = links[0][0]
    expected = TaskError if id(error) in stand_ins else type(error)
    told = {"exception": error, "links": links, "text": text}
    try:
        blob = b"".join(payload.framed(_bounded_pickle(told, stand_ins)))
    except _TooLarge:
        return None, _HOLDS_TOO_MUCH
    except BaseException as why:  # noqa: BLE001 (user code; a stand-in travels instead)
        return None, f"it cannot be pickled, {said(why)}"
    try:
        # Exceptions with a __reduce__ of their own may pickle and not unpickle.
        opened = type(payload.loads(blob)["exception"])
    except BaseException as why:  # noqa: BLE001 (user code; a stand-in travels instead)
        return None, f"its pickle cannot be opened again, {said(why)}"
    if opened is not expected:
        return None, f"its pickle becomes another type, {opened.__name__}"
    return blob, ""


def _bounded_pickle(obj: Any, stand_ins: dict[int, TaskError]) -> bytes:
    """As :func:`spanwise.wire.payload.dumps`: the plain pickle, if others can open it.

    Raises
    ------
    _TooLarge
        Before more memory is taken than the limit.
    """
    try:
        body = _dump(_Plain, obj, stand_ins)
        if not by_value.is_needed(body):
            return body
    except _TooLarge:
        raise
    except Exception:  # noqa: BLE001 (cloudpickle knows how, or raises the error that counts)
        pass
    return _dump(_ByValue, obj, stand_ins)


def _dump(pickler: Any, obj: Any, stand_ins: dict[int, TaskError]) -> bytes:
    file = _BoundedFile(BLOB_LIMIT)
    writes = pickler(file, protocol=5)
    writes.stand_ins = stand_ins
    writes.dump(obj)
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
    """Return the traceback from the first frame that is neither Spanwise's own nor Dask's call."""
    calls = _dasks_calls()
    own = trace
    while own is not None:
        file = own.tb_frame.f_code.co_filename
        if file not in (calls, _EXECUTORS) and not file.startswith(_OWN_FOLDERS):
            return own
        own = own.tb_next
    return trace


def _dasks_calls() -> str | None:
    """Return the file in which Dask calls functions; None if this worker has not met it.

    It is not imported for that: another thread may be importing Dask, whose modules need each
    other, and who enters their circle elsewhere meanwhile gets half of one, as does that thread.
    """
    return getattr(sys.modules.get(_DASKS_CALLS), "__file__", None)
