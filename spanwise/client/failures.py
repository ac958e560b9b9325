"""Why tasks failed: each reason arrives once and may concern many tasks."""

from __future__ import annotations

from collections import deque

from spanwise.client.entries import CANCELLED, ERROR, Entry
from spanwise.client.reason import Reason
from spanwise.errors import CancelledError
from spanwise.records.enumerations import REPORT_CANCELLED
from spanwise.wire.frame import Message

#: Reasons that are kept; dependents of an older failure only learn that they failed.
KEPT = 10_000
#: Bytes of pickled exceptions that are kept unopened; of older ones type, message and
#: traceback are left.
KEPT_BYTES = 64 << 20


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
