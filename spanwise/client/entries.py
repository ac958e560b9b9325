"""Results as the client knows them: one entry per key, shared by its futures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from spanwise.client.reason import Failure, Reason
from spanwise.wire.sign import Sign

PENDING = "pending"
FINISHED = "finished"
ERROR = "error"
CANCELLED = "cancelled"
LOST = "lost"

#: Stands for: no value is here.
NOTHING: Any = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()


class Entry:
    """One key that the client wants or wanted.

    Attributes
    ----------
    id
        The client's task id.
    task_id, worker
        The scheduler's id and the worker that holds the result, once finished.
    status
        One of the texts above; the same as distributed's.
    inline
        The payload, if it came with the report; opened when first asked for.
    sign
        Where the result lies, if that came with the report: see `spanwise.wire.sign`.
    value
        The type of the value once it was brought here, else NOTHING.
    reason
        Why a task that failed or was cancelled has no value.
    count
        Futures alive, plus calls that wait for it.
    released
        The number of the last `release` of one of its futures, which may still lie in an
        expression; 0: none.
    waiters
        Told once when the status leaves ``pending``.
    """

    __slots__ = (
        "callbacks",
        "count",
        "id",
        "inline",
        "key",
        "nbytes",
        "reason",
        "released",
        "sign",
        "status",
        "task_id",
        "value",
        "waiters",
        "worker",
    )

    def __init__(self, key: Any, id: int) -> None:
        self.key = key
        self.id = id
        self.task_id = -1
        self.worker = -1
        self.status = PENDING
        self.inline: memoryview | None = None
        self.sign: Sign | None = None
        self.value: Any = NOTHING
        self.nbytes = 0.0
        self.reason: Reason | None = None
        self.count = 0
        self.released = 0
        self.waiters: list[Waiter] | None = None
        self.callbacks: list[Callable[[], None]] | None = None

    def failure(self) -> Failure:
        """What to raise; opening it may run user code, so never under a lock."""
        assert self.reason is not None
        return self.reason.open()


def pending(entries: Iterable[Entry]) -> list[Entry]:
    """Those that are not done."""
    return [entry for entry in entries if entry.status == PENDING]


class Waiter:
    """Waits until a number of entries are done.

    A plain lock, held from the start and released by the thread that completes the last
    entry: the cheapest way to sleep that Ctrl-C can interrupt.

    `waits` tells whether a thread sleeps on it now; None: always.
    """

    __slots__ = ("_lock", "is_finished", "left", "notify", "waits")

    def __init__(
        self,
        left: int,
        notify: Callable[[], None] | None = None,
        waits: Callable[[], bool] | None = None,
    ) -> None:
        self.left = left
        #: All are done, and who waits is being told.
        self.is_finished = False
        self.notify = notify
        self.waits = waits
        self._lock = threading.Lock()
        self._lock.acquire()

    def one_done(self) -> None:
        """Called under the session's lock."""
        if self.left == 1:
            self.finish()
        self.left -= 1

    def finish(self) -> None:
        """Called under the session's lock, when the last one is done."""
        self.is_finished = True
        if self.notify is not None:
            self.notify()
        elif self._lock.locked():
            self._lock.release()

    def wait(self, timeout: float | None) -> bool:
        """Whether all were done in time (seconds; None: no limit)."""
        return self._lock.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
