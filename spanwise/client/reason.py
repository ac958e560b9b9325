"""Why a task failed, and the exception that says so.

An exception that was raised holds the frames it passed, and they hold the caller's futures:

    session ─▶ entry ─▶ reason ┄┄▶ failure ─▶ exception ─▶ frames ─▶ future ─▶ entry
                      (weakly)

So the caller's future holds the failure. The session does not, or the futures would never be
released.

The exception of a task is a pickle, and opening it runs user code: the thread that asks for it
opens it, never the thread that reads the scheduler's messages.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any

from spanwise.errors import (
    CancelledError,
    KilledWorker,
    RemoteTaskError,
    StallError,
    TooManyTasks,
    with_remote_traceback,
)
from spanwise.wire import payload
from spanwise.wire.exceptions import tie
from spanwise.wire.foreign import is_ctrl_c, said
from spanwise.wire.tracebacks import TRACEBACK


class Failure:
    """Holds the exception of a reason, for as long as somebody needs the same one again.

    Attributes
    ----------
    error
        The exception.
    trace
        The traceback that it came with, of the task's frames; None if it came with none.
    """

    __slots__ = ("__weakref__", "error", "trace")

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.trace: TracebackType | None = TRACEBACK.__get__(error)


class Reason(ABC):
    """Why tasks failed.

    Parameters
    ----------
    text
        The worker's traceback, formatted there.
    """

    __slots__ = ("_opened", "text")

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._opened: weakref.ref[Failure] | None = None

    @abstractmethod
    def _make(self) -> BaseException:
        """Make the exception, which nobody has raised yet; may run user code."""

    @property
    def opened(self) -> Failure | None:
        """The failure that somebody still holds."""
        return None if self._opened is None else self._opened()

    def open(self) -> Failure:
        """The exception to raise: the same object while somebody holds its failure.

        It comes with the task's frames, without those of earlier raises, which would grow. Never
        called under a lock. Two threads that are the first to ask may get two; neither waits for
        the other.
        """
        failure = self.opened
        if failure is None:
            failure = Failure(self._make())
            self._opened = weakref.ref(failure)
        # Not `error.with_traceback(…)`: the exception's class may override it.
        BaseException.with_traceback(failure.error, failure.trace)
        if failure.trace is None:
            with_remote_traceback(failure.error, self.text)
        return failure


class FoundHere(Reason):
    """A reason that the client found out itself.

    Parameters
    ----------
    make
        Makes the exception.
    """

    __slots__ = ("_maker",)

    def __init__(self, make: Callable[[], BaseException]) -> None:
        super().__init__()
        self._maker = make

    def _make(self) -> BaseException:
        return self._maker()


#: How tasks are cancelled, as what follows on "was cancelled".
IN_CALL = "by cancel()"
WITH_CLIENT = "when its client was closed"
WITH_RESTART = "when the cluster was restarted"
WITH_INTERRUPT = "when the call that waited for it was interrupted (Ctrl-C)"
WITH_INPUT = "with a task that it needs"
_ADVICE = "Submit it again to have its result."
_ADVICE_OF = {
    WITH_CLIENT: "Make a new client with Client(), and submit it again.",
}


def cancelled(key: Any, how: str) -> Reason:
    """The task was cancelled.

    Parameters
    ----------
    how
        One of the texts above, or another that follows on "was cancelled".
    """
    reason = f"{how}. {_ADVICE_OF.get(how, _ADVICE)}"
    return FoundHere(lambda: CancelledError(key, reason))


class Told(Reason):
    """A reason as the scheduler tells it.

    Parameters
    ----------
    kind, message
        Name and message of the exception's type, for when it cannot be opened.
    text
        As a reason's.
    blob
        As :func:`open_error` takes it, or None.
    """

    __slots__ = ("_blob", "kind", "message")

    def __init__(self, kind: str, message: str, text: str, blob: bytes | None) -> None:
        super().__init__(text)
        self.kind = kind
        self.message = message
        self._blob = blob

    @property
    def nbytes(self) -> int:
        """Bytes of the pickle that is kept."""
        blob = self._blob
        return 0 if blob is None else len(blob)

    def drop_exception(self) -> None:
        """Keep only type, message and traceback."""
        self._blob = None

    def _make(self) -> BaseException:
        stand_in: BaseException
        if self.kind == "KilledWorker":
            stand_in = KilledWorker(self.message)
        elif self.kind == "StallError":
            stand_in = StallError(self.message)
        elif self.kind == "TooManyTasks":
            stand_in = TooManyTasks(self.message)
        else:
            stand_in = RemoteTaskError(self.kind, self.message)
        blob = self._blob  # another thread may drop it
        return stand_in if blob is None else open_error(blob, stand_in)


def open_error(blob: Any, stand_in: BaseException) -> BaseException:
    """The exception in an error's payload, or `stand_in`.

    That is ``{"exception": BaseException, "links": …, "text": str}``; without links, which are
    those of `spanwise.wire.exceptions`, the exception gets the text instead of a traceback.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ends what takes too long.
    """
    try:
        opened = payload.loads(blob)
        found = opened["exception"]
        # SystemExit and its like would end the caller's program.
        if not issubclass(type(found), Exception):
            return stand_in
        tie(opened.get("links", ()))
        if TRACEBACK.__get__(found) is None:
            with_remote_traceback(found, opened.get("text", ""))
        return found  # type: ignore[no-any-return]
    except BaseException as failure:
        # User code, which may even say sys.exit.
        if is_ctrl_c(failure):
            raise
        stand_in.add_note(f"(The exception itself could not be unpickled: {said(failure)})")
        return stand_in
