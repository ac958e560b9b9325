"""Why tasks failed: each reason arrives once and may concern many tasks.

The exception is a pickle, and opening it runs user code: the thread that asks for it opens
it, never the thread that reads the scheduler's messages.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from spanwise.client.entries import CANCELLED, ERROR, Entry
from spanwise.errors import (
    CancelledError,
    KilledWorker,
    RemoteTaskError,
    StallError,
    with_remote_traceback,
)
from spanwise.records.enumerations import REPORT_CANCELLED
from spanwise.wire import payload
from spanwise.wire.foreign import is_ctrl_c, said
from spanwise.wire.frame import Message

#: Reasons that are kept; dependents of an older failure only learn that they failed.
KEPT = 10_000
#: Bytes of pickled exceptions that are kept unopened; of older ones type, message and
#: traceback are left.
KEPT_BYTES = 64 << 20


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
        """Of the pickle that is kept."""
        blob = self._blob
        return 0 if blob is None else len(blob)

    def drop_exception(self) -> None:
        """Keep but type, message and traceback."""
        self._blob = None

    def _open(self) -> BaseException:
        stand_in: BaseException
        if self.kind == "KilledWorker":
            stand_in = KilledWorker(self.message)
        elif self.kind == "StallError":
            stand_in = StallError(self.message)
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
        # SystemExit and its like would end the program of who asks for a result.
        return with_remote_traceback(found, text) if _is_exception(found) else stand_in
    except BaseException as failure:
        # User code, which may even say sys.exit.
        if is_ctrl_c(failure):
            raise
        stand_in.add_note(f"(The exception itself could not be unpickled: {said(failure)})")
        return stand_in


def _is_exception(found: Any) -> bool:
    return issubclass(type(found), Exception)


_FORGOTTEN = "The task failed; the reason is not known any more."


class Failures:
    """The reasons a client was told, by the id of the task that failed first."""

    def __init__(self) -> None:
        self._known: dict[int, Reason] = {}
        #: Those with a pickle, oldest first, with its bytes, and their sum.
        self._pickled: deque[tuple[Reason, int]] = deque()
        self._pickled_bytes = 0

    def learn(self, message: Message) -> None:
        """Keep the errors of a report."""
        for told in message.fields["errors"]:
            # A copy: the rest of the message need not stay.
            blob = bytes(message.blobs[told["blob"]]) if told["blob"] >= 0 else None
            reason = Reason(told["type"], told["message"], told["text"], blob)
            self._known[told["cause"]] = reason
            if reason.nbytes:
                self._pickled.append((reason, reason.nbytes))
                self._pickled_bytes += reason.nbytes
        while len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        while self._pickled_bytes > KEPT_BYTES or len(self._pickled) > KEPT:
            oldest, nbytes = self._pickled.popleft()
            oldest.drop_exception()
            self._pickled_bytes -= nbytes

    def mark(self, entry: Entry, status: int, cause: int) -> None:
        """Make an entry a failed or cancelled one."""
        if status == REPORT_CANCELLED:
            entry.status = CANCELLED
            entry.error = CancelledError(entry.key)
            return
        entry.status = ERROR
        entry.reason = self._known.get(cause) or Reason("", _FORGOTTEN, "", None)
