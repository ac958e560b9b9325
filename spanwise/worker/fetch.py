"""Fetches inputs straight from the workers that hold them, behind the running tasks.

One thread per peer, begun at the first need::

    wanted   a b c ────────▶ get [a b c] ──▶ data [a b] ─▶ open, store, wake tasks
             d e  (asked for meanwhile)      data [c]   ─▶ …
                  ────────▶ get [d e]        …

While an answer is under way, further wishes collect into the next request, so the
number of requests is set by the peer's speed, not by the number of inputs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.measure.type_names import name_of_type
from spanwise.records.enumerations import ITEM_OK, LARGEST_U16, NONE_U32, TRANSFER_OK
from spanwise.wire import link as wire_link
from spanwise.wire.direct import Direct
from spanwise.wire.errors import LinkError
from spanwise.wire.foreign import message_of, said, type_name
from spanwise.wire.peer_answers import Item, data_items, read_there
from spanwise.wire.segments import Lent
from spanwise.worker.errors import CannotOpen, Described, describe
from spanwise.worker.tasks import Arrival, Fetch
from spanwise.worker.transfer_log import Transfer
from spanwise.worker.unpickle import is_finished

if TYPE_CHECKING:
    from spanwise.worker.needs import Receiving
    from spanwise.worker.segment import Segment

#: A request asks for at most this much, so that tasks begin before everything is here.
REQUEST_BYTES = 64 * 2**20
REQUEST_IDS = 32_768
#: How fast bytes come is told by types of results only if there are more, as in Dask.
LARGE_BYTES = 1_000_000
#: The context of what is measured here, as in Dask.
CONTEXT = "gather-dep"


class PeerFetcher(threading.Thread):
    """Fetches from one peer.

    Parameters
    ----------
    fetching
        The owner of this transfer.
    peer
        The peer's worker number.
    address
        Its peer door.
    """

    def __init__(self, fetching: Fetching, peer: int, address: str) -> None:
        super().__init__(name=f"spanwise-fetch-{peer}", daemon=True)
        self.address = address
        self._fetching = fetching
        self._peer = peer
        self._link: wire_link.Link | None = None
        self._changed = threading.Condition()
        #: Since when the peer is waited for.
        self._asked_at = 0.0
        # Guarded by _changed.
        self._wanted: deque[Fetch] = deque()
        self._closed = False
        self._request = 0
        #: The peer's memory may be read, as far as is known.
        self._reads = True
        #: Segments of the peer, on this link, that nothing here sees any more.
        self._done: deque[int] = deque()

    def want(self, fetches: list[Fetch]) -> bool:
        """Fetch these too; False if the thread has ended and cannot."""
        with self._changed:
            if self._closed:
                return False
            self._wanted.extend(fetches)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Give up everything that is wanted: the peer is gone."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        link = self._link
        if link is not None:
            link.close()

    def run(self) -> None:
        """Ask and store until the peer is gone."""
        asked: dict[int, Fetch] = {}
        try:
            while self._next(asked):
                self._ask(asked)
        except (LinkError, OSError) as error:
            if asked:
                now = perf_counter()
                self._book(now, "failed", now - self._asked_at)
            self._fetching.broke(self._peer, error)
        finally:
            with self._changed:
                self._closed = True
                given_up = [*asked.values(), *self._wanted]
                self._wanted.clear()
            if self._link is not None:
                self._link.close()
            self._fetching.ended(self, self._peer, given_up)

    def _next(self, asked: dict[int, Fetch]) -> bool:
        with self._changed:
            while not self._wanted and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            nbytes = 0.0
            wanted = self._wanted
            while wanted and len(asked) < REQUEST_IDS and nbytes < REQUEST_BYTES:
                fetch = wanted.popleft()
                asked[fetch.task_id] = fetch
                nbytes += fetch.nbytes
            return True

    def _ask(self, asked: dict[int, Fetch], reads: bool = True) -> None:
        begin = self._asked_at = perf_counter()
        log = self._fetching.worker.transfers.incoming
        transfer = log.begin(self._peer, begin, sum(each.nbytes for each in asked.values()))
        again: dict[int, Fetch] = {}
        try:
            self._get(asked, again, reads, begin, transfer)
        except BaseException:
            log.failed(transfer)
            raise
        if again:
            # (through the socket now: `room` is 0 for a while, and memory is not read)
            asked.update(again)
            self._ask(asked, reads=False)
        elif asked:
            # The peer answered, but does not have these.
            left = list(asked.values())
            asked.clear()
            now = perf_counter()
            self._book(now, "missing", now - self._asked_at)
            self._fetching.worker.not_there(left)

    def _get(
        self,
        asked: dict[int, Fetch],
        again: dict[int, Fetch],
        reads: bool,
        begin: float,
        transfer: Transfer,
    ) -> None:
        """Ask once; `again` gets what is to be asked for through the socket."""
        link = self._link
        if link is None or not link.is_there():
            # (the other side may have ended one that stood idle)
            link = self._fetching.dial(self.address, self._opening)
        may_share = self._fetching.worker.segments.room() if link.can_share else 0
        self._request += 1
        fields: dict[str, Any] = {
            "request": self._request,
            "share": may_share,
            "direct": reads and self._reads and link.peer > 0,
            "together": True,
            # (else the first ones come in the way in which what opens them imports numpy)
            "arrays": is_finished("numpy"),
        }
        done = [(self._done.popleft(),) for _ in range(len(self._done))]
        link.send("get", fields, {"ids": {"taskId": [*asked]}, "done": done})
        answer = data_items(
            link,
            self._request,
            len(asked),
            direct=fields["direct"],
            together=True,
            arrays=fields["arrays"],
        )
        moved: list[tuple[int, float]] = []
        for message, came in answer:
            has_read, may_read = read_there(came)
            self._reads = self._reads and may_read
            if has_read:
                # (before anything is unpickled: the holder waits for it)
                link.send("got", {"request": self._request})
            brought = _Brought(transfer, moved, is_last=not message.fields["more"])
            self._store(came, asked, again, begin, perf_counter(), brought)
            begin = self._asked_at = perf_counter()

    def _type_of(self, items: list[tuple[Fetch, Any, float]], total: float) -> int:
        """The name of the class that all of these results are of, if they are large."""
        if total <= LARGE_BYTES:
            return NONE_U32
        types = {type(value) for _, value, _ in items}
        if len(types) > 1:
            return NONE_U32
        return self._fetching.worker.names.id_of(name_of_type(types.pop()))

    def _opening(self, link: wire_link.Link) -> None:
        with self._changed:
            self._link = link
            self._done = deque()
            if not self._closed:
                return
        link.close()

    def _store(
        self,
        came: list[Item],
        asked: dict[int, Fetch],
        again: dict[int, Fetch],
        begin: float,
        received: float,
        brought: _Brought,
    ) -> None:
        worker = self._fetching.worker
        cpu = thread_time()
        items: list[tuple[Fetch, Any, float]] = []
        lost: list[Fetch] = []
        kept: list[tuple[Fetch, Any, Segment]] = []
        total = 0.0
        for task_id, status, nbytes, blob in came:
            fetch = asked.pop(task_id, None)
            if fetch is None:
                continue
            if isinstance(blob, tuple):  # a number, or a small array
                value, came_bytes = blob
                items.append((fetch, value, nbytes))
                total += came_bytes
                continue
            if blob is None:
                lost.append(fetch)
                continue
            segment = None
            if isinstance(blob, Direct):
                again[task_id] = fetch
                continue
            try:
                if isinstance(blob, Lent):
                    return_it = partial(self._done.append, blob.segment)
                    try:
                        segment, blob = worker.segments.borrow(worker, blob, return_it)
                    except OSError:
                        again[task_id] = fetch
                        continue
                value = worker.library.loads(blob)
                if status != ITEM_OK:
                    error, text = _told(value)
            except BaseException as reason:  # noqa: BLE001 (told to the client)
                refused = CannotOpen(
                    f"An input made on worker {self._peer} could not be unpickled on "
                    f"worker {worker.number} ({said(reason)})."
                )
                refused.__cause__ = reason
                worker.unusable(fetch, describe(refused))
                continue
            if status != ITEM_OK:
                worker.unusable(
                    fetch,
                    Described(type_name(error), message_of(error), text, bytes(blob)),
                )
                continue
            items.append((fetch, value, nbytes))
            total += blob.nbytes
            if segment is not None:
                kept.append((fetch, value, segment))
        opened = perf_counter()
        # Logged before a task that waited for them can run, whose client may read the log.
        brought.moved.extend((fetch.task_id, nbytes) for fetch, _, nbytes in items)
        if brought.is_last:
            worker.transfers.incoming.done(brought.transfer, opened, brought.moved)
        elif items:
            worker.transfers.incoming.ends_soon(brought.transfer)
        is_wanted = False
        if items:
            arrival = Arrival(self._peer, begin, received, opened, thread_time() - cpu)
            first = items[0][0].task_id
            # Noted before a task that waited for them can run: a message about its run then
            # also has this.
            self._fetching.note(
                (
                    begin,
                    received - begin,
                    self._peer,
                    total,
                    min(len(items), LARGEST_U16),
                    first,
                    0,
                    TRANSFER_OK,
                    self._type_of(items, total),
                )
            )
            is_wanted = worker.arrived(items, arrival)
            for fetch, value, segment in kept:
                worker.segments.keep(worker, fetch.task_id, value, segment)
        if lost:
            worker.not_there(lost)
        end = perf_counter()
        if is_wanted or again:
            self._book(end, "network", received - begin)
            self._book(end, "deserialize", opened - received)
            self._book(end, "other", end - opened)
        elif items:
            self._book(end, "cancelled", end - begin)
        elif lost:
            self._book(end, "missing", end - begin)
        else:
            self._book(end, "failed", end - begin)

    def _book(self, now: float, activity: str, seconds: float) -> None:
        self._fetching.worker.ledger.add(now, CONTEXT, activity, "seconds", seconds)


class _Brought(NamedTuple):
    """What the frames of an answer have brought so far: (task id, bytes)."""

    transfer: Transfer
    moved: list[tuple[int, float]]
    is_last: bool


def _told(value: Any) -> tuple[BaseException, str]:
    """The exception and the text of an opened error."""
    error, text = value["exception"], value["text"]
    if not isinstance(error, BaseException) or type(text) is not str:
        raise TypeError("it is no error")
    return error, text


class Fetching:
    """All fetchers of a worker.

    Parameters
    ----------
    worker
        Gets what arrives.
    secret
        Of the peers' doors.
    """

    def __init__(self, worker: Receiving, secret: bytes) -> None:
        self.worker = worker
        self._secret = secret
        self._lock = threading.Lock()
        # Guarded by _lock.
        self._addresses: dict[int, str] = {}
        self._fetchers: dict[int, PeerFetcher] = {}
        self._transfers: list[tuple[float, ...]] = []

    def peers(self, addresses: dict[int, str]) -> None:
        """Set the living peers; requests to others are given up."""
        with self._lock:
            self._addresses = addresses
            gone = [
                fetcher
                for peer, fetcher in self._fetchers.items()
                if addresses.get(peer) != fetcher.address
            ]
        for fetcher in gone:
            fetcher.close()

    def fetch(self, fetches: list[Fetch]) -> None:
        """Begin to fetch; answers come to the worker by themselves."""
        by_peer: dict[int, list[Fetch]] = {}
        for each in fetches:
            by_peer.setdefault(each.peer, []).append(each)
        for peer, wanted in by_peer.items():
            if not self._want(peer, wanted):
                self.worker.not_there(wanted)

    def _want(self, peer: int, wanted: list[Fetch]) -> bool:
        with self._lock:
            fetcher = self._fetchers.get(peer)
            if fetcher is not None and fetcher.want(wanted):
                return True
            address = self._addresses.get(peer)
            if address is None:
                return False
            fetcher = self._fetchers[peer] = PeerFetcher(self, peer, address)
            fetcher.want(wanted)
            fetcher.start()
            return True

    def dial(
        self, address: str, opening: Callable[[wire_link.Link], None] | None = None
    ) -> wire_link.Link:
        """Return an open link to a peer's door."""
        intro = {"worker": self.worker.number}
        return wire_link.dial(address, self._secret, "peer", intro, opening=opening)

    def broke(self, peer: int, error: BaseException) -> None:
        """Report a peer that could not be reached; only the scheduler decides that it is dead."""
        self.worker.send(
            "event",
            {"kind": "peer-unreachable", "text": f"Worker {peer}: {error}"},
        )

    def ended(self, fetcher: PeerFetcher, peer: int, given_up: list[Fetch]) -> None:
        """Forget a fetcher whose thread ends, and report the inputs that it did not bring."""
        with self._lock:
            if self._fetchers.get(peer) is fetcher:
                del self._fetchers[peer]
        if given_up:
            self.worker.not_there(given_up)

    def note(self, row: tuple[float, ...]) -> None:
        """Keep a row of the table `transfers` until it is sent."""
        with self._lock:
            self._transfers.append(row)

    def rows(self) -> list[tuple[float, ...]]:
        """Return the rows of `transfers` collected so far and forget them."""
        with self._lock:
            rows, self._transfers = self._transfers, []
        return rows
