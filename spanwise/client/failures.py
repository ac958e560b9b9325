"""Why tasks failed: each reason arrives once and may concern many tasks."""

from __future__ import annotations

from typing import Any

from spanwise.bounded_map import BoundedMap
from spanwise.client.entries import CANCELLED, ERROR, Entry
from spanwise.client.reason import WITH_INPUT, FoundHere, Told, cancelled
from spanwise.errors import RemoteTaskError
from spanwise.records.enumerations import REPORT_CANCELLED
from spanwise.shown_text import line_text
from spanwise.wire.frame import Message

#: Reasons that are kept; dependents of an older failure only learn that they failed.
KEPT = 10_000
#: Bytes of pickled exceptions that are kept unopened. Older exceptions keep type,
#: message and traceback only.
KEPT_BYTES = 64 << 20


_FORGOTTEN = "The task failed; the reason is not known any more."


class Failures:
    """The reasons a client was told, by the id of the task that failed first."""

    def __init__(self) -> None:
        self._known: BoundedMap[int, Told] = BoundedMap(KEPT)
        #: Keys of cancelled tasks and how they were, by their ids.
        self._cancelled: BoundedMap[int, tuple[Any, str]] = BoundedMap(KEPT)
        #: Those with a pickle, by their `id`: a cause may be told again, and both are in use.
        self._pickled: BoundedMap[int, Told] = BoundedMap(KEPT, KEPT_BYTES, Told.drop_exception)

    def learn(self, message: Message) -> None:
        """Keep the errors of a report."""
        for told in message.fields["errors"]:
            # A copy, so that the rest of the message can be freed.
            blob = bytes(message.blobs[told["blob"]]) if told["blob"] >= 0 else None
            reason = Told(told["type"], told["message"], told["text"], blob)
            self._known.keep(told["cause"], reason)
            if reason.nbytes:
                self._pickled.keep(id(reason), reason, reason.nbytes)

    def keep_cancelled(self, entry: Entry, how: str) -> None:
        """Keep how a task was cancelled, for those that need it."""
        self._cancelled.keep(entry.id, (entry.key, how))

    def _cancelled_with(self, cause: int) -> str:
        """How tasks were cancelled that need another one, of this id."""
        found = self._cancelled.get(cause)
        if found is None:
            return WITH_INPUT
        key, how = found
        return f"with {line_text(str(key))}, which it needs, and which was cancelled {how}"

    def mark(self, entry: Entry, status: int, cause: int) -> None:
        """Make an entry a failed or cancelled one."""
        if status == REPORT_CANCELLED:
            entry.reason = cancelled(entry.key, self._cancelled_with(cause))
            entry.status = CANCELLED
            return
        # Before the status, by which other threads know that there is one.
        entry.reason = self._known.get(cause) or FoundHere(lambda: RemoteTaskError("", _FORGOTTEN))
        entry.status = ERROR
