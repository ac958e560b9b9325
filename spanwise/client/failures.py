"""Why tasks failed: each reason arrives once and may concern many tasks."""

from __future__ import annotations

from typing import Any

from spanwise.client.entries import CANCELLED, ERROR, Entry
from spanwise.client.errors import CancelledError, KilledWorker, RemoteTaskError
from spanwise.wire import payload
from spanwise.wire.frame import Message

#: Reasons that are kept; dependents of an older failure only learn that they failed.
KEPT = 10_000

#: `status` of a cancelled task in the message `report`.
_CANCELLED = 4


class Failures:
    """The reasons a client was told, by the id of the task that failed first."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[BaseException, str]] = {}

    def learn(self, message: Message) -> None:
        """Open the errors of a report; not under a lock: unpickling runs user code."""
        for described in message.fields["errors"]:
            self._known[described["cause"]] = (_open(described, message), described["text"])
        while len(self._known) > KEPT:
            del self._known[next(iter(self._known))]

    def mark(self, entry: Entry, status: int, cause: int) -> None:
        """Make an entry a failed or cancelled one."""
        if status == _CANCELLED:
            entry.status = CANCELLED
            entry.error = CancelledError(entry.key)
            return
        entry.status = ERROR
        entry.error, entry.error_text = self._known.get(
            cause, (RemoteTaskError("The task failed; the reason is not known any more."), "")
        )


def _open(described: dict[str, Any], message: Message) -> BaseException:
    error: BaseException
    if described["type"] == "KilledWorker":
        error = KilledWorker(described["message"])
    else:
        error = RemoteTaskError(f"{described['type']}: {described['message']}")
    if described["blob"] < 0:
        return error
    try:
        opened = payload.loads(bytes(message.blobs[described["blob"]]))
        found = opened["exception"]
    except BaseException as failure:  # noqa: BLE001 (user code, which must not end the reader)
        error.add_note(f"(The exception itself could not be unpickled: {failure!r})")
        return error
    return found if isinstance(found, BaseException) else error
