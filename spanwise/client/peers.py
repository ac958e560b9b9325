"""Fetches results straight from the workers' peer doors, and puts data there."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from spanwise.wire.errors import LinkClosed, LinkError
from spanwise.wire.link import TIME_LIMIT, Link, dial
from spanwise.wire.peer_answers import await_stored, data_items


class Unreachable(LinkError):
    """A worker did not answer; it has probably died."""


class _Peer:
    """One open link and the lock that lets one request use it at a time."""

    __slots__ = ("link", "lock")

    def __init__(self) -> None:
        self.link: Link | None = None
        self.lock = threading.Lock()


class Peers:
    """Links to workers, opened when first needed.

    Parameters
    ----------
    secret
        The cluster's.
    client
        The client's number in the cluster: data that it puts goes by it.
    """

    def __init__(self, secret: bytes, client: int = 0) -> None:
        self._secret = secret
        self._intro = {"worker": None, "client": client}
        self._peers: dict[str, _Peer] = {}
        self._requests = itertools.count(1)
        self._lock = threading.Lock()

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
        request = next(self._requests)
        found: dict[int, tuple[int, Any]] = {}
        peer = self._peer(address)
        with self._turn(peer, until, len(task_ids)):
            try:
                link = self._open(peer, address, until)
                link.send("get", {"request": request}, {"ids": [(i,) for i in task_ids]})
                for _, items in data_items(link, request, len(task_ids), until):
                    for task_id, status, _, blob in items:
                        found[task_id] = (status, blob)
            except TimeoutError:
                self._drop(peer)  # as below
                raise TimeoutError(f"{len(task_ids)} results have not come in time.") from None
            except (LinkError, OSError) as error:
                self._drop(peer)
                if until is not None and time.monotonic() >= until:
                    raise TimeoutError(f"{len(task_ids)} results have not come in time.") from error
                raise Unreachable(f"{address} does not answer: {error}") from error
            except BaseException:
                # Ctrl-C: part of an answer may have been read, and the next one would begin
                # within it.
                self._drop(peer)
                raise
        return found

    def put(self, address: str, items: Iterable[tuple[int, Any]]) -> None:
        """Store payloads under ids of this client.

        Raises
        ------
        Unreachable
            Also when the worker stalls.
        """
        request = next(self._requests)
        listed = list(items)
        peer = self._peer(address)
        with peer.lock:
            try:
                link = self._open(peer, address)
                link.send(
                    "put",
                    {"request": request},
                    {"items": [(data_id,) for data_id, _ in listed]},
                    [blob for _, blob in listed],
                )
                await_stored(link, request)
            except (LinkError, OSError) as error:
                self._drop(peer)
                raise Unreachable(f"{address} does not answer: {error}") from error
            except BaseException:
                self._drop(peer)  # as above
                raise

    @staticmethod
    @contextmanager
    def _turn(peer: _Peer, until: float | None, count: int) -> Iterator[None]:
        """Wait for the transfers of other threads, which may be long ones."""
        limit = -1 if until is None else max(0.0, until - time.monotonic())
        if not peer.lock.acquire(timeout=limit):
            raise TimeoutError(f"{count} results have not come in time.")
        try:
            yield
        finally:
            peer.lock.release()

    def _peer(self, address: str) -> _Peer:
        with self._lock:
            return self._peers.setdefault(address, _Peer())

    def _open(self, peer: _Peer, address: str, until: float | None = None) -> Link:
        if peer.link is None or peer.link.closed:
            limit = TIME_LIMIT
            if until is not None:
                limit = min(limit, max(0.001, until - time.monotonic()))  # 0: not to wait at all

            def opening(link: Link) -> None:
                peer.link = link  # so that a waiting thread can be woken

            return dial(address, self._secret, "peer", self._intro, limit, opening=opening)
        return peer.link

    @staticmethod
    def _drop(peer: _Peer) -> None:
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
            if peer.link is not None:
                peer.link.close()


__all__ = ["LinkClosed", "Peers", "Unreachable"]
