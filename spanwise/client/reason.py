"""Why a task failed, as the scheduler tells it.

The exception is a pickle, and opening it runs user code: the thread that asks for it opens
it, never the thread that reads the scheduler's messages.
"""

from __future__ import annotations

from typing import Any

from spanwise.errors import (
    KilledWorker,
    RemoteTaskError,
    StallError,
    TooManyTasks,
    with_remote_traceback,
)
from spanwise.wire import payload
from spanwise.wire.foreign import is_ctrl_c, said


class Reason:
    """Why a task failed, as the scheduler tells it.

    Parameters
    ----------
    kind, message
        Name and message of the exception's type, for when it cannot be opened.
    text
        The worker's traceback, formatted there.
    blob
        Payload of ``{"exception": BaseException, …}``, or None.
    """

    __slots__ = ("_blob", "_error", "kind", "message", "text")

    def __init__(self, kind: str, message: str, text: str, blob: bytes | None) -> None:
        self.kind = kind
        self.message = message
        self.text = text
        self._blob = blob
        self._error: BaseException | None = None

    def error(self) -> BaseException:
        """The exception, the same object each time.

        Two threads that are the first to ask may get two; neither waits for the other.
        """
        if self._error is None:
            self._error = self._open()
            self._blob = None
        return self._error

    @property
    def nbytes(self) -> int:
        """Bytes of the pickle that is kept."""
        blob = self._blob
        return 0 if blob is None else len(blob)

    def drop_exception(self) -> None:
        """Keep only type, message and traceback."""
        self._blob = None

    def _open(self) -> BaseException:
        stand_in: BaseException
        if self.kind == "KilledWorker":
            stand_in = KilledWorker(self.message)
        elif self.kind == "StallError":
            stand_in = StallError(self.message)
        elif self.kind == "TooManyTasks":
            stand_in = TooManyTasks(self.message)
        else:
            stand_in = RemoteTaskError(
                f"{self.kind}: {self.message}" if self.kind else self.message
            )
        blob = self._blob  # another thread may drop it
        return stand_in if blob is None else open_error(blob, stand_in)


def open_error(blob: Any, stand_in: BaseException) -> BaseException:
    """The exception in an error's payload ``{"exception": …, "text": …}``, or `stand_in`.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ends what takes too long.
    """
    try:
        opened = payload.loads(blob)
        found = opened["exception"]
        text = opened.get("text", "")
        # SystemExit and its like would end the caller's program.
        return with_remote_traceback(found, text) if _is_exception(found) else stand_in
    except BaseException as failure:
        # User code, which may even say sys.exit.
        if is_ctrl_c(failure):
            raise
        stand_in.add_note(f"(The exception itself could not be unpickled: {said(failure)})")
        return stand_in


def _is_exception(found: Any) -> bool:
    return issubclass(type(found), Exception)
