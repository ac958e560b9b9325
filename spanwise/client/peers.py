"""Fetches results straight from the workers' peer doors, and puts data there."""

from __future__ import annotations

import errno
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from spanwise.client.parcel import Parcel
from spanwise.notices import warn_asker
from spanwise.wire import segments, sign
from spanwise.wire.direct import Direct
from spanwise.wire.errors import LinkClosed, LinkError
from spanwise.wire.frame_reader import MOST_DESCRIPTORS
from spanwise.wire.link import TIME_LIMIT, Link, dial
from spanwise.wire.peer_answers import await_stored, data_items, read_there


def results_late(count: int) -> TimeoutError:
    """The error of who has waited in vain for so many results to be brought."""
    have = "1 result has" if count == 1 else f"{count:,} results have"
    return TimeoutError(f"{have} not come in time.")


class Unreachable(LinkError):
    """A worker did not answer; it has probably died."""


#: A worker learns of what was read in its memory after so long, or so many reads.
TELL_SECONDS, TELL_READS = 0.1, 64
#: Of more, while another thread fetches much from the same worker, or that takes nothing, the
#: oldest are never told.
_MOST_UNTOLD = 4096
#: So many go with a message: less than what a socket takes at once that takes something.
_MESSAGE_READS = 1024
#: Who wants to be sure that they have learnt it waits at most so long for all of them.
TOLD_SECONDS = 2.0


class _Peer:
    """One open link and the lock that lets one request use it at a time."""

    __slots__ = ("done", "link", "lock", "open", "reads", "taken", "unanswered")

    def __init__(self) -> None:
        #: To be closed by whoever wakes the thread that waits for it; perhaps amid its handshake.
        self.link: Link | None = None
        #: The same once the handshake is over, for those who do not hold the lock.
        self.open: Link | None = None
        #: Its memory may be read, as far as is known.
        self.reads = True
        #: Segments that came over the link and that nothing here sees any more.
        self.done: deque[int] = deque()
        #: Task, bytes, begin and seconds of what was read there, until the worker is told.
        self.taken: deque[tuple[int, float, float, float]] = deque(maxlen=_MOST_UNTOLD)
        #: Questions whether it has learnt it, whose answers come before all others.
        self.unanswered: deque[int] = deque()
        self.lock = threading.Lock()


class Peers:
    """Links to workers, opened when first needed.

    Parameters
    ----------
    secret
        The cluster's.
    client
        The client's number in the cluster: data that it puts goes by it.
    on_taken
        Called when there is something to be told: :meth:`tell` is to be called soon.
    """

    def __init__(
        self, secret: bytes, client: int = 0, on_taken: Callable[[], None] = lambda: None
    ) -> None:
        self._secret = secret
        self._intro = {"worker": None, "client": client}
        self._peers: dict[str, _Peer] = {}
        self._requests = itertools.count(1)
        self._lock = threading.Lock()
        #: Results in memory that a worker made; each takes a descriptor.
        self._shared: set[int] = set()
        self._shared_serials = itertools.count(1)
        self._most_shared = segments.most_at_once()
        self._alone_until = 0.0
        self._on_taken = on_taken
        #: When workers are to be told of what was read there, in monotonic seconds; 0: of nothing.
        self._tell_at = 0.0

    def get(
        self, address: str, task_ids: Sequence[int], until: float | None = None
    ) -> dict[int, tuple[int, Any]]:
        """Fetch results, however long that takes as long as bytes move.

        Parameters
        ----------
        until
            When the caller's patience ends, in seconds of the monotonic clock.

        Returns
        -------
        dict
            Task id to (status, payload); no payload for missing ones.

        Raises
        ------
        Unreachable
            Also when the worker stalls.
        TimeoutError
            `until` has passed.
        """
        found: dict[int, tuple[int, Any]] = {}
        peer = self._peer(address)
        with self._turn(peer, until, len(task_ids)):
            try:
                again = self._ask(peer, address, until, task_ids, found)
                if again:
                    # (through the socket now)
                    self._ask(peer, address, until, again, found, reads=False)
            except TimeoutError:
                self._drop(peer)  # as below
                raise results_late(len(task_ids)) from None
            except (LinkError, OSError) as error:
                self._drop(peer)
                if until is not None and time.monotonic() >= until:
                    raise results_late(len(task_ids)) from error
                raise Unreachable(f"{address} does not answer: {error}") from error
            except BaseException:
                # Ctrl-C: part of an answer may have been read, and the next one would begin
                # within it.
                self._drop(peer)
                raise
        return found

    def look(self, address: str, task_id: int, nbytes: float, told: sign.Sign) -> memoryview | None:
        """Read a result of so many bytes where it lies; None: it must be asked for.

        Only over an open link is it known that the memory is this worker's.
        """
        begin = time.monotonic()
        peer = self._peers.get(address)
        link = None if peer is None else peer.open
        if peer is None or link is None or not peer.reads or link.peer <= 0:
            return None
        try:
            came = sign.read(link.peer, told, link.is_there)
        except (LinkError, OSError):
            return None  # (who asks learns whether it may never be read)
        if came is not None:
            now = time.monotonic()
            peer.taken.append((task_id, nbytes, begin, now - begin))
            if not self._tell_at:
                self._tell_at = now + TELL_SECONDS
                self._on_taken()
            elif len(peer.taken) == TELL_READS:
                self._tell_at = now
                self._on_taken()
        return came

    def tell_after(self) -> float | None:
        """In how many seconds workers are to be told of what was read there; None: of nothing."""
        return max(0.0, self._tell_at - time.monotonic()) if self._tell_at else None

    def tell(self) -> None:
        """Tell workers of what was read there; waits for none.

        Those that another thread asks, and those that take nothing, are told later, and those to
        which there is no link when there is one.
        """
        self._tell_at = 0.0
        for peer in list(self._peers.values()):
            if not peer.taken:
                continue
            if not peer.lock.acquire(blocking=False):
                self._tell_at = time.monotonic() + TELL_SECONDS
                continue
            try:
                if not self._tell(peer, waits=False):
                    self._tell_at = time.monotonic() + TELL_SECONDS
            except LinkError:
                self._drop(peer)
            finally:
                peer.lock.release()

    def have_told(self, addresses: Iterable[str], until: float) -> None:
        """Return when these workers know what was read there, or it is `until`."""
        met = [(each, self._peers.get(each)) for each in addresses]
        untold = [
            (address, peer)
            for address, peer in met
            if peer is not None and (peer.taken or peer.unanswered)
        ]
        # All are asked before one is waited for, but those that have to be waited for already.
        for _, peer in untold:
            if peer.open is not None and peer.lock.acquire(blocking=False):
                try:
                    self._ask_whether_told(peer)
                finally:
                    peer.lock.release()
        for address, peer in untold:
            with suppress(LinkError, OSError), self._turn(peer, until, 0):
                try:
                    self._open(peer, address, until)
                    if peer.taken:
                        self._ask_whether_told(peer)
                        self._open(peer, address, until)
                except TimeoutError:
                    raise  # (what has come of an answer is kept, with the rest to come)
                except BaseException:
                    self._drop(peer)
                    raise

    def _ask_whether_told(self, peer: _Peer) -> None:
        """Tell one, which another thread does not use meanwhile, and ask it to answer."""
        link = peer.open
        try:
            if link is None or not self._tell(peer, waits=False) or not link.takes_more():
                return
            request = next(self._requests)
            link.send("get", {"request": request})
            peer.unanswered.append(request)
        except LinkError:
            self._drop(peer)
        except BaseException:
            self._drop(peer)  # Ctrl-C: an answer may come that nobody awaits
            raise

    @staticmethod
    def _tell(peer: _Peer, waits: bool = True) -> bool:
        """Tell one, which another thread does not use meanwhile; False: it takes nothing."""
        link = peer.open
        if link is None or not link.is_there():
            return True
        # What is read meanwhile goes the next time: it would be a message for each few reads.
        for left in range(len(peer.taken), 0, -_MESSAGE_READS):
            if not waits and not link.takes_more():
                return False
            rows: list[tuple[int, float, float, float]] = []
            with suppress(IndexError):  # (when a client is closed, two threads do this)
                while len(rows) < min(left, _MESSAGE_READS):
                    rows.append(peer.taken.popleft())
            now = time.monotonic()
            if rows:
                link.send("taken", {}, {"reads": [(i, n, now - at, s) for i, n, at, s in rows]})
        return True

    def _ask(
        self,
        peer: _Peer,
        address: str,
        until: float | None,
        task_ids: Sequence[int],
        found: dict[int, tuple[int, Any]],
        reads: bool = True,
    ) -> list[int]:
        """Ask once; return those that this process cannot take as they came."""
        link = self._open(peer, address, until)
        self._tell(peer)
        request = next(self._requests)
        fields: dict[str, Any] = {
            "request": request,
            "share": self._room(link),
            "direct": reads and peer.reads and link.peer > 0,
        }
        done = [(peer.done.popleft(),) for _ in range(len(peer.done))]
        link.send("get", fields, {"ids": [(i,) for i in task_ids], "done": done})
        again = []
        told = fields["direct"]
        for _, items in data_items(link, request, len(task_ids), until, direct=told):
            has_read, may_read = read_there(items)
            peer.reads = peer.reads and may_read
            if has_read:
                link.send("got", {"request": request})
            for task_id, status, _, blob in items:
                if isinstance(blob, Direct):
                    again.append(task_id)
                elif isinstance(blob, segments.Lent):
                    view = self._see(peer, blob)
                    if view is None:
                        again.append(task_id)
                        continue
                    found[task_id] = (status, view)
                else:
                    found[task_id] = (status, blob)
        return again

    def _room(self, link: Link) -> int:
        """How many more results may come as descriptors."""
        if not link.can_share or time.monotonic() < self._alone_until:
            return 0
        return max(0, self._most_shared - len(self._shared))

    def _see(self, peer: _Peer, lent: segments.Lent) -> memoryview | None:
        """Map a result; None: there is no descriptor for it, or no address space."""
        descriptor = lent.take()
        try:
            if descriptor < 0:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            try:
                mapped = segments.open_private(descriptor, lent.nbytes)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._is_refused(error)
            peer.done.append(lent.segment)
            return None
        serial = next(self._shared_serials)
        self._shared.add(serial)
        ended = partial(_ended, self._shared, serial, peer.done, lent.segment)
        weakref.finalize(mapped.obj, ended).atexit = False
        return mapped

    def put(self, address: str, items: Iterable[tuple[int, Parcel]]) -> None:
        """Store payloads under ids of this client; large ones in shared memory where that goes.

        Raises
        ------
        Unreachable
            Also when the worker stalls.
        """
        listed = list(items)
        peer = self._peer(address)
        with peer.lock:
            try:
                link = self._open(peer, address)
                held = _open_here(listed)
                for at in range(0, len(listed), MOST_DESCRIPTORS):
                    some = listed[at : at + MOST_DESCRIPTORS]
                    held -= _open_here(some)
                    again = self._put(link, some, self._lent(link, some, held))
                    if again:
                        self._put(link, [some[row] for row in again], {})
                    for _, parcel in some:
                        if not parcel.is_for_all:
                            parcel.close()
                    held += _open_here(some)
            except (LinkError, OSError) as error:
                self._drop(peer)
                raise Unreachable(f"{address} does not answer: {error}") from error
            except BaseException:
                self._drop(peer)  # as above
                raise

    def _put(
        self, link: Link, items: Sequence[tuple[int, Parcel]], lent: dict[int, int]
    ) -> list[int]:
        """Store some, of which these rows go as descriptors; return those that have not come."""
        request = next(self._requests)
        tables: dict[str, Any] = {"items": [(data_id,) for data_id, _ in items]}
        if lent:
            tables["shared"] = [(row, float(items[row][1].nbytes)) for row in lent]
        blobs = [b"" if row in lent else each.content for row, (_, each) in enumerate(items)]
        try:
            link.send("put", {"request": request}, tables, blobs, list(lent.values()))
        finally:
            for descriptor in lent.values():
                os.close(descriptor)
        return await_stored(link, request, lent)

    def _lent(self, link: Link, items: Sequence[tuple[int, Parcel]], held: int) -> dict[int, int]:
        """Descriptors of those that the worker takes so, by their rows.

        `held` of others are open already.
        """
        from_bytes = link.welcome["share"]
        lent: dict[int, int] = {}
        if from_bytes <= 0:
            return lent
        room = self._room(link) - held - _open_here(items)
        for row, (_, parcel) in enumerate(items):
            if parcel.nbytes < from_bytes:
                continue
            if not parcel.is_shared:
                if room <= 0:
                    continue
                room -= 1
            try:
                lent[row] = parcel.lend()
            except OSError as error:
                self._is_refused(error)
                break
            except BaseException:  # Ctrl-C: nobody else knows of these
                for descriptor in lent.values():
                    os.close(descriptor)
                raise
        return lent

    def _is_refused(self, error: OSError) -> None:
        """Share nothing for a while: the system has refused memory or a descriptor."""
        if not self._alone_until:
            warn_asker(f"Large results are copied: this process cannot share memory ({error}).")
        self._alone_until = time.monotonic() + segments.REFUSED_SECONDS

    @staticmethod
    @contextmanager
    def _turn(peer: _Peer, until: float | None, count: int) -> Iterator[None]:
        """Wait for the transfers of other threads, which may be long ones."""
        limit = -1 if until is None else max(0.0, until - time.monotonic())
        if not peer.lock.acquire(timeout=limit):
            raise results_late(count)
        try:
            yield
        finally:
            peer.lock.release()

    def _peer(self, address: str) -> _Peer:
        with self._lock:
            return self._peers.setdefault(address, _Peer())

    def _open(self, peer: _Peer, address: str, until: float | None = None) -> Link:
        """A link over which nothing is to come but the answer to what is asked next."""
        # (the worker may have ended a link that stood idle)
        if peer.link is None or not peer.link.is_there():
            limit = TIME_LIMIT
            if until is not None:
                limit = min(limit, max(0.001, until - time.monotonic()))  # 0: not to wait at all

            def opening(link: Link) -> None:
                peer.link, peer.open = link, None  # so that a waiting thread can be woken
                peer.done = deque()
                peer.unanswered.clear()

            peer.open = dial(address, self._secret, "peer", self._intro, limit, opening=opening)
            return peer.open
        while peer.unanswered:
            list(data_items(peer.link, peer.unanswered[0], 0, until))
            peer.unanswered.popleft()
        return peer.link

    @staticmethod
    def _drop(peer: _Peer) -> None:
        peer.open = None
        if peer.link is not None:
            peer.link.close()
            peer.link = None

    def gone(self, addresses: Iterable[str]) -> None:
        """Forget workers that have left, and wake the threads that wait for their answers."""
        with self._lock:
            left = [self._peers.pop(address, None) for address in addresses]
        for peer in left:
            link = None if peer is None else peer.link
            if link is not None:
                link.close()

    def abandon(self) -> None:
        """In a fork: drop all links. Takes no locks, since no thread would release them."""
        for peer in self._peers.values():
            if peer.link is not None:
                peer.link.abandon()
        self._peers = {}

    def close(self) -> None:
        """Close all links."""
        with self._lock:
            peers, self._peers = list(self._peers.values()), {}
        for peer in peers:
            link = peer.link  # (its thread may be letting go of it)
            if link is not None:
                with suppress(LinkError):
                    self._tell(peer, waits=False)
                link.close()


def _open_here(items: Iterable[tuple[int, Parcel]]) -> int:
    """Of how many a descriptor is open here."""
    return sum(parcel.is_shared for _, parcel in items)


def _ended(shared: set[int], serial: int, done: deque[int], segment: int) -> None:
    """Note that a result is no longer seen; on any thread at any moment."""
    shared.discard(serial)
    done.append(segment)


__all__ = ["LinkClosed", "Peers", "Unreachable"]
