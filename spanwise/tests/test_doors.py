"""Doors under strain: strangers who dawdle or come in crowds, and systems that run short."""

from __future__ import annotations

import queue
import resource
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from spanwise import Client
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.wire import addresses
from spanwise.wire.door import Door, listen
from spanwise.wire.errors import HandshakeRefused, LinkClosed
from spanwise.wire.frame import encode
from spanwise.wire.handshake import MOST_STRANGERS, Initiator, new_secret
from spanwise.wire.link import Link, dial
from spanwise.wire.schema import link_type

SECRET = new_secret()


@pytest.fixture(params=["unix", "tcp"])
def transport(request) -> str:
    return request.param


@contextmanager
def opened(folder: Path, transport: str = "unix", seconds: float = 600.0) -> Iterator[tuple]:
    """A door and the queue of links that came in; its patience ends where a test says so."""
    folder.chmod(0o700)
    links: queue.Queue[Link] = queue.Queue()
    door = listen(folder, "peer", SECRET, ["peer"], links.put, transport=transport, seconds=seconds)
    yield door, links
    door.close()
    while not links.empty():
        links.get().close()


def call(door: Door) -> socket.socket:
    return addresses.connect(door.address, LIMIT_SECONDS)


def all_of(sock: socket.socket) -> bytes:
    """All messages until the other side closes."""
    said = b""
    try:
        while part := sock.recv(4096):
            said += part
    except ConnectionError:
        pass
    return said


#: A tenth of a frame that comes a byte at a time. Giving so many takes ten times the 0.5 s after
#: which the other side has had enough; where all is slow, giving them is slower too.
MOST_BYTES = 100


def trickle(sock: socket.socket) -> int:
    """Begin a frame of 1000 bytes, and give a byte at a time; return how many were taken."""
    given = 0
    try:
        sock.sendall((10 * MOST_BYTES).to_bytes(4, "little"))
        for _ in range(10 * MOST_BYTES):
            sock.sendall(b"x")
            given += 1
            time.sleep(0.05)
    except OSError:
        pass  # turned away
    return given


def door_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("spanwise-")]


def test_who_gives_a_byte_at_a_time_is_turned_away_in_time(tmp_path, transport):
    with opened(tmp_path, transport, seconds=0.5) as (door, links):
        sock = call(door)
        with ThreadPoolExecutor(1) as pool:
            giving = pool.submit(trickle, sock)
            assert b"took longer than 0.5 s" in all_of(sock)
            sock.close()
            assert giving.result(LIMIT_SECONDS) < MOST_BYTES
        assert links.empty()


def test_a_door_that_answers_a_byte_at_a_time_is_given_up_in_time(tmp_path):
    tmp_path.chmod(0o700)
    sock, address = addresses.listen("unix", tmp_path, "slow")

    def answer():
        with sock.accept()[0] as accepted:
            return trickle(accepted)

    with ThreadPoolExecutor(1) as pool:
        answering = pool.submit(answer)
        with pytest.raises(LinkClosed, match=r"did not answer within 0.5 s"):
            dial(address, SECRET, "peer", timeout=0.5)
        assert answering.result(LIMIT_SECONDS) < MOST_BYTES
    sock.close()


def test_strangers_cost_no_threads_and_the_oldest_of_a_crowd_goes(tmp_path, transport):
    with opened(tmp_path, transport) as (door, links):
        friend = dial(door.address, SECRET, "peer")
        served = links.get(timeout=LIMIT_SECONDS)
        threads = len(door_threads())
        crowd = [call(door) for _ in range(MOST_STRANGERS)]
        wait_until("all have come", lambda: len(door._strangers) == MOST_STRANGERS)
        assert len(door_threads()) <= threads
        crowd += [call(door) for _ in range(5)]
        for oldest in crowd[:5]:
            assert b"Try again" in all_of(oldest)
        # Those behind them stay, a friend of long standing is heard, and a new one let in.
        crowd[5].settimeout(0.05)
        with pytest.raises(TimeoutError):
            crowd[5].recv(1)
        friend.send("put", {"request": 7}, {"items": []})
        assert served.read().fields["request"] == 7
        other = dial(door.address, SECRET, "peer")
        for link in (friend, served, other):
            link.close()
        for sock in crowd:
            sock.close()


def test_nothing_may_follow_the_proof_before_the_welcome(tmp_path):
    with opened(tmp_path) as (door, links):
        link = Link(call(door), "peer", "up")
        initiator = Initiator(SECRET, "peer")
        link.send(*initiator.hello())
        kind, fields = initiator.receive(link.read())
        proof = b"".join(encode(link_type("peer").up[kind], fields))
        link._sock.sendall(proof + proof)
        with pytest.raises(HandshakeRefused, match="does not belong here"):
            initiator.receive(link.read())
        link.close()
        assert links.empty()


@contextmanager
def without_descriptors(process: psutil.Process, most: int = 3) -> Iterator[None]:
    """Let a process get no descriptor from `most` on; fail if it spins meanwhile."""
    usual = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    before = process.cpu_times()
    began = time.monotonic()
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, usual[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, usual)
    after = process.cpu_times()
    spent = after.user + after.system - before.user - before.system
    assert spent < 0.5 * (time.monotonic() - began)


def nobody_answers(address: str, secret: bytes, role: str) -> None:
    """Call until a call is not accepted: a waiting accept() may have its descriptor already."""
    with pytest.raises((LinkClosed, HandshakeRefused)):
        for _ in range(5):
            dial(address, secret, role, timeout=0.7).close()


def test_a_worker_without_descriptors_serves_again_when_it_has_some():
    with Client(n_workers=2, threads_per_worker=1) as client:
        workers = client.scheduler_info()["workers"]
        holder, other = workers
        made = client.submit(np.ones, 100_000, workers=[holder])
        assert made.result().sum() == 100_000
        secret = client._session.peers._secret
        with without_descriptors(psutil.Process(workers[holder]["pid"])):
            nobody_answers(holder, secret, "peer")
            nobody_answers(holder, secret, "peer")
        total = client.submit(np.sum, made, workers=[other])
        assert total.result(timeout=LIMIT_SECONDS) == 100_000


def test_a_node_program_without_descriptors_lets_in_again_when_it_has_some():
    with Client(n_workers=1, threads_per_worker=1) as client:
        observer = client._observer
        assert observer is not None and observer.process is not None
        process = psutil.Process(observer.process.process.pid)
        # Node takes callers that find no room by a descriptor that it keeps for them. A limit below
        # what is in use would take that one as well, which no process meets.
        highest = max(int(each.name) for each in Path(f"/proc/{process.pid}/fd").iterdir())
        held: list[Link] = []

        def all_are_held() -> None:
            """Until it hangs up: it may be slow to answer, and get back one of its own."""
            with pytest.raises((LinkClosed, HandshakeRefused)):
                for _ in range(100):
                    held.append(dial(*observer_door, "panel", timeout=LIMIT_SECONDS))

        observer_door = (observer.address, observer.secret)
        with without_descriptors(process, highest + 1):
            all_are_held()
            all_are_held()
            time.sleep(1)
        for each in held:
            each.close()
        dial(*observer_door, "panel", timeout=LIMIT_SECONDS).close()


def test_a_door_that_can_start_no_thread_lets_in_when_it_can(tmp_path, monkeypatch):
    failures = iter(range(3))
    start = threading.Thread.start

    def start_or_not(self):
        if self.name == "spanwise-handshake" and next(failures, None) is not None:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", start_or_not)
    with opened(tmp_path) as (door, links):
        dial(door.address, SECRET, "peer").close()
        links.get(timeout=LIMIT_SECONDS).close()
    assert next(failures, None) is None


def test_a_door_that_can_start_no_thread_at_all_says_so(tmp_path, monkeypatch):
    start = threading.Thread.start

    def start_or_not(self):
        if self.name == "spanwise-handshake":
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", start_or_not)
    with opened(tmp_path) as (door, _links), ThreadPoolExecutor(1) as pool:
        dialling = pool.submit(dial, door.address, SECRET, "peer", timeout=LIMIT_SECONDS)
        wait_until("it waits for a thread", lambda: door._known)
        door._known[0].limit = 0.0  # its patience has ended
        with pytest.raises(HandshakeRefused, match="No thread can be started"):
            dialling.result(LIMIT_SECONDS)


def test_a_closed_door_lets_go_of_strangers_and_descriptors(tmp_path, transport):
    process = psutil.Process()
    before = process.num_fds()
    with opened(tmp_path, transport) as (door, _links):
        stranger = call(door)
        wait_until("it has come", lambda: door._strangers)
    assert all_of(stranger) == b""
    stranger.close()
    wait_until("its thread has ended", lambda: not door._thread.is_alive())
    wait_until("its descriptors are closed", lambda: process.num_fds() <= before)
