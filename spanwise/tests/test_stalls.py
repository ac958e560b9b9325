"""Peers that stop in the middle of a transfer, and slow ones that do not."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spanwise.client.parcel import Parcel
from spanwise.client.peers import Peers, Unreachable
from spanwise.client.session import dump
from spanwise.errors import ClusterError
from spanwise.measure.fine import Ledger
from spanwise.measure.names import Names
from spanwise.observed import questions
from spanwise.observed.observer_address import ObserverAddress
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.processes import wait_until
from spanwise.tests.test_client import increment
from spanwise.wire import link as wire_link
from spanwise.wire import payload
from spanwise.wire.door import listen
from spanwise.wire.errors import LinkError
from spanwise.wire.frame import encode
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import Link
from spanwise.worker.fetch import Fetching
from spanwise.worker.segments import Segments
from spanwise.worker.tasks import Fetch
from spanwise.worker.transfer_log import Transfers

STALL_SECONDS = 0.5
#: Of what is not given up, however slow the machine is.
PATIENT_SECONDS = 60.0
VALUE = np.arange(200_000)

#: So often is tried again what a machine that stood still has broken off.
ROUNDS = 20

#: What a peer does with the socket and the bytes of its answer.
Behaviour = Callable[[Any, bytes], object]


def stall_amid(sock: Any, answer: bytes) -> None:
    sock.sendall(answer[: len(answer) // 2])


def stall_at_once(sock: Any, answer: bytes) -> None:
    """Does not answer at all."""


def dawdle(sock: Any, answer: bytes) -> float:
    """Take four times the limit; return the longest time without a byte."""
    count, longest, before = 20, 0.0, time.monotonic()
    for number in range(count):
        sock.sendall(answer[number * len(answer) // count : (number + 1) * len(answer) // count])
        now = time.monotonic()
        longest, before = max(longest, now - before), now
        time.sleep(4 * STALL_SECONDS / count)
    return longest


def answer(sock: Any, answer: bytes) -> None:
    sock.sendall(answer)


class Peer:
    """A peer door that behaves as told, one request after another, the last for good."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o700)
        self.secret = new_secret()
        self.behaviours: list[Behaviour] = [answer]
        #: Of what begins with this id; others follow the list.
        self.behaviour_of: dict[int, Behaviour] = {}
        self.value: Any = VALUE
        self.links: queue.SimpleQueue[Link] = queue.SimpleQueue()
        self.door = listen(folder, "peer", self.secret, ["peer"], self._serve)
        self.address = self.door.address

    def _serve(self, link: Link) -> None:
        self.links.put(link)
        try:
            while True:
                message = link.read()
                if message.type == "get":
                    ids = [i for (i,) in message.table("ids")]
                    items = [(i, 0, float(self.value.nbytes)) for i in ids]
                    fields = {"request": message.fields["request"], "more": False}
                    buffers = encode(
                        link._outgoing["data"],
                        fields,
                        {"items": items},
                        [dump(self.value) for _ in items],
                        1 << 30,
                    )
                    behave = self.behaviour_of.get(ids[0])
                    if behave is None:
                        behave = self.behaviours[0]
                        if len(self.behaviours) > 1:
                            del self.behaviours[0]
                    behave(link._sock, b"".join(bytes(each) for each in buffers))
        except (LinkError, OSError):
            return  # the other side has given up

    def close(self) -> None:
        self.door.close()
        while not self.links.empty():
            self.links.get().close()


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setattr(wire_link, "STALL_SECONDS", STALL_SECONDS)
    made = Peer(tmp_path)
    yield made
    made.close()


@pytest.fixture
def peers(peer: Peer) -> Iterator[Peers]:
    made = Peers(peer.secret)
    yield made
    made.close()


@pytest.fixture
def patient(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is given up for a stall."""
    monkeypatch.setattr(wire_link, "STALL_SECONDS", PATIENT_SECONDS)


def test_a_peer_that_stalls_amid_an_answer_is_given_up(
    peer: Peer, peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer.behaviours = [stall_amid, answer]
    with pytest.raises(Unreachable, match=r"nothing for 0\.5 s in the middle of a message"):
        peers.get(peer.address, [7])
    monkeypatch.setattr(wire_link, "STALL_SECONDS", PATIENT_SECONDS)
    _, blob = peers.get(peer.address, [7])[7]
    np.testing.assert_array_equal(payload.loads(blob), VALUE)


def test_a_slow_answer_is_not_cut(peer: Peer, peers: Peers) -> None:
    pauses: list[float] = []
    peer.behaviours = [lambda sock, answer: pauses.append(dawdle(sock, answer))]
    for _ in range(ROUNDS):
        begin = time.monotonic()
        with Disturbance() as disturbance:
            try:
                _, blob = peers.get(peer.address, [7])[7]
            except Unreachable:
                # Where the machine stands still for so long, no bytes come.
                wait_until("it has sent all", lambda: pauses)
                if max(pauses.pop(), disturbance.seconds) < STALL_SECONDS / 2:
                    raise
            else:
                break
    else:
        pytest.skip(f"{ROUNDS} times the machine stood still for {STALL_SECONDS / 2} s")
    assert time.monotonic() - begin > 2 * STALL_SECONDS
    np.testing.assert_array_equal(payload.loads(blob), VALUE)


def test_a_peer_that_does_not_answer_is_given_up_later(
    peer: Peer, peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.wire.link.ANSWER_SECONDS", 3 * STALL_SECONDS)
    peer.behaviours = [stall_at_once]
    begin = time.monotonic()
    with pytest.raises(Unreachable, match=r"nothing for 1\.5 s"):
        peers.get(peer.address, [7])
    assert time.monotonic() - begin >= 3 * STALL_SECONDS


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("behaviour", [stall_at_once, stall_amid, dawdle])
def test_the_callers_patience_counts_while_bytes_move(
    peer: Peer, peers: Peers, behaviour: Behaviour
) -> None:
    # (where it calls too late to ask at all, the next one is answered all the same)
    peer.behaviour_of[7] = behaviour
    with pytest.raises(TimeoutError, match="1 result has not come in time"):
        peers.get(peer.address, [7], until=time.monotonic() + STALL_SECONDS / 2)
    assert len(peers.get(peer.address, [8])) == 1, "the next one begins at a message's start"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no unix sockets")
def test_patience_counts_while_a_peer_does_not_greet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever waited for as long as a handshake may take would do so until the test ends.
    monkeypatch.setattr("spanwise.client.peers.TIME_LIMIT", 1000.0)
    deaf = socket.socket(socket.AF_UNIX)
    deaf.bind(str(tmp_path / "deaf.sock"))
    deaf.listen()
    silent = Peers(new_secret())
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="1 result has not come in time"):
        silent.get(f"unix:{tmp_path / 'deaf.sock'}", [7], until=begin + STALL_SECONDS)
    silent.close()
    deaf.close()


@pytest.mark.usefixtures("patient")
def test_patience_counts_behind_another_threads_transfer(peer: Peer, peers: Peers) -> None:
    asked, go = threading.Event(), threading.Event()

    def answer_later(sock: Any, answer: bytes) -> None:
        asked.set()
        go.wait(60)
        sock.sendall(answer)

    peer.behaviours = [answer_later]
    first = threading.Thread(target=peers.get, args=(peer.address, [1]))
    first.start()
    assert asked.wait(60)
    with pytest.raises(TimeoutError):
        peers.get(peer.address, [2], until=time.monotonic() + STALL_SECONDS / 2)
    go.set()
    first.join(60)


def test_a_peer_that_stops_reading_is_given_up(peer: Peer, peers: Peers) -> None:
    held = threading.Event()
    peer.value = VALUE[:8]  # comes as a whole: a machine that stands still breaks nothing off
    peer.behaviours = [lambda sock, answer: (sock.sendall(answer), held.wait(60))]  # type: ignore[list-item]
    peers.get(peer.address, [7])
    with pytest.raises(Unreachable, match="stopped reading"):
        peers.put(peer.address, [(1, Parcel([bytes(50_000_000)]))])
    held.set()


def test_an_idle_link_is_kept(peer: Peer, peers: Peers) -> None:
    for _ in range(ROUNDS):
        before = peer.links.qsize()
        with Disturbance() as disturbance:
            try:
                peers.get(peer.address, [7])
                opened = peer.links.qsize()
                time.sleep(3 * STALL_SECONDS)
                peers.get(peer.address, [8])
            except Unreachable:
                if disturbance.seconds < STALL_SECONDS / 2:
                    raise
            else:
                break
    else:
        pytest.skip(f"{ROUNDS} times the machine stood still for {STALL_SECONDS / 2} s")
    assert peer.links.qsize() == opened == before + 1


def test_a_worker_asks_elsewhere_for_what_a_stalled_peer_owes(peer: Peer) -> None:
    peer.behaviours = [stall_amid]
    told: list[Any] = []
    missing: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker = SimpleNamespace(
        number=0,
        send=lambda kind, fields: told.append(fields),
        not_there=missing.put,
        segments=Segments(0),
        transfers=Transfers(),
        ledger=Ledger(),
    )
    fetching = Fetching(worker, peer.secret)  # type: ignore[arg-type]
    fetching.peers({5: peer.address})
    wanted = Fetch(3, 5, 8.0)
    fetching.fetch([wanted])
    assert missing.get(timeout=60) == [wanted]
    assert told[0]["kind"] == "peer-unreachable" and "middle of a message" in told[0]["text"]


@pytest.mark.usefixtures("patient")
def test_a_transfer_is_told_before_a_task_can_use_what_it_brought(peer: Peer) -> None:
    """Figures that are asked for when the task has ended hold it."""
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker = SimpleNamespace(
        number=0,
        library=SimpleNamespace(loads=payload.loads),
        arrived=lambda items, arrival: told.put(fetching.rows()),
        names=Names(),
        segments=Segments(0),
        transfers=Transfers(),
        ledger=Ledger(),
    )
    fetching = Fetching(worker, peer.secret)  # type: ignore[arg-type]
    fetching.peers({5: peer.address})
    fetching.fetch([Fetch(3, 5, 8.0)])
    ((_, seconds, source, nbytes, count, first, *_),) = told.get(timeout=60)
    assert seconds > 0 and (source, count, first) == (5, 1, 3)
    assert nbytes > VALUE.nbytes


def test_a_result_is_asked_for_again_after_a_stall(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, peer: Peer
) -> None:
    scheduler = ClientScheduler()
    scheduler.secret = peer.secret  # of the peer's door; the client's own is read at its start
    scheduler.door.close()
    scheduler.door = listen(
        scheduler.folder.name,
        "again",
        peer.secret,
        ["client"],
        scheduler._serve,
        scheduler._welcome,
    )
    scheduler.rows[0]["address"] = peer.address
    scheduler.inline = 0
    peer.behaviours = [stall_amid, answer]
    try:
        with LocalClient(scheduler) as client:
            future = client.submit(increment, 1)
            monkeypatch.setattr("spanwise.client.gathering.TRANSFER_SECONDS", PATIENT_SECONDS)
            np.testing.assert_array_equal(future.result(), VALUE)
            np.testing.assert_array_equal(future.result(timeout=0), VALUE)
            monkeypatch.setattr("spanwise.client.gathering.TRANSFER_SECONDS", STALL_SECONDS)
            peer.behaviours = [stall_at_once]
            with pytest.raises(TimeoutError):
                future.result(timeout=0)
    finally:
        scheduler.close()


@pytest.mark.parametrize("behaviour", [stall_at_once, stall_amid])
def test_an_observer_that_stalls_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour
) -> None:
    monkeypatch.setattr(questions, "QUERY_SECONDS", STALL_SECONDS)
    tmp_path.chmod(0o700)
    secret = new_secret()

    def serve(link: Link) -> None:
        try:
            while True:
                link.read()
                behaviour(link._sock, (1000).to_bytes(4, "little") + bytes(1000))
        except LinkError:
            return  # given up

    door = listen(tmp_path, "observer", secret, ["panel"], serve)
    log = SimpleNamespace(
        cluster_id="c", wall_epoch=0.0, flush=lambda: 0, states_by_span=lambda: None
    )
    place = ObserverAddress(door.address, secret, str(tmp_path / "secret"))
    asking = questions.Questions(log, lambda: place)  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="did not answer: Nothing came in time"):
        asking.spans()
    assert asking._link is None, "a late answer is not the next one's"
    door.close()
