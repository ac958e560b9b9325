"""What the parts of a client need of each other, so that no part imports its users.

For type checkers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from spanwise.client.done_callbacks import DoneCallbacks
from spanwise.client.entries import Entry, Waiter
from spanwise.client.peers import Peers
from spanwise.wire.frame import Message
from spanwise.wire.link import Link
from spanwise.wire.turns import Turns


class Sleeper(Protocol):
    """What a thread waits by."""

    def wait(self, timeout: float | None) -> bool: ...


class Read(Protocol):
    """A session, as a thread that waits sees it, and may read its link."""

    lock: Any
    link: Link
    turns: Turns

    def take_report(self, message: Message) -> bool: ...


class Around(Protocol):
    """What a worker's client knows of the task that uses it."""

    def within(self) -> int | None: ...

    def span(self) -> int: ...

    def wait(self, waiter: Sleeper, timeout: float | None) -> bool: ...

    def wait_in_loop(self) -> None: ...


class Asked(Protocol):
    """A session that asks its scheduler, and waits for the answer."""

    def ask(
        self,
        kind: str,
        fields: dict[str, Any],
        tables: Any = None,
        blobs: Sequence[Any] = (),
        timeout: float | None = 30.0,
    ) -> Message: ...


class Locating(Asked, Protocol):
    """A session, as what brings its results sees it."""

    #: Of the cluster, by number.
    workers: dict[int, dict[str, Any]]
    peers: Peers

    def wait_for(
        self,
        entries: Sequence[Entry],
        timeout: float | None = None,
        given: float | None = None,
    ) -> None: ...


class Asking(Asked, Protocol):
    """A session, as those see it who ask the scheduler for what it keeps."""

    def send(
        self, kind: str, fields: Any = None, tables: Any = None, blobs: Sequence[Any] = ()
    ) -> None: ...

    def wall_time(self, t: float) -> float: ...


class Questioned(Protocol):
    """A session, as what asks it through another thread sees it."""

    def open_request(self, answer: str, answers: Any = None) -> tuple[int, Any]: ...

    def close_request(self, request: int) -> None: ...


class Awaited(Protocol):
    """A session, as futures see it."""

    cluster_id: str
    #: The client's, in its cluster.
    number: int
    done_callbacks: DoneCallbacks

    def check_alive(self) -> None: ...

    def shared_name(self, entry: Entry) -> tuple[int, int]: ...

    def wait_for(self, entries: Sequence[Entry], timeout: float | None = None) -> None: ...

    def watch(
        self, entries: Sequence[Entry], notify: Callable[[], None], first: bool = False
    ) -> Waiter | None: ...

    def unwatch(self, entries: Iterable[Entry], waiter: Waiter) -> None: ...

    def wait_first(self, entries: Sequence[Entry], timeout: float | None) -> bool: ...

    def when_done(
        self,
        entry: Entry,
        callback: Callable[[], None],
        waits: Callable[[], bool] | None = None,
    ) -> None: ...

    def gather_one(self, entry: Entry, timeout: float | None = None) -> Any: ...

    def drop_later(self, dropped: Entry | list[Entry]) -> None: ...


class Holder(Protocol):
    """A client, as its futures see it."""

    asynchronous: bool
    #: Futures of it may be in results.
    is_of_worker: bool

    @property
    def _session(self) -> Awaited: ...

    def cancel(
        self,
        futures: Any,
        asynchronous: bool | None = None,
        force: bool = False,
        reason: str | None = None,
        msg: str | None = None,
    ) -> Any: ...

    def retry(self, futures: Any, asynchronous: bool | None = None) -> Any: ...


class Submitting(Protocol):
    """A client, as its executors see it."""

    asynchronous: bool

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    def map(self, func: Callable[..., Any], *iterables: Any, **kwargs: Any) -> Any: ...


class Watching(Asking, Protocol):
    """A session, as scheduler plugins see it."""

    cluster_id: str
