"""Links and doors over both transports."""

import queue
import signal
import socket
import threading

import pytest

from spanwise.tests.processes import wait_until
from spanwise.wire import addresses
from spanwise.wire import link as wire_link
from spanwise.wire.door import listen
from spanwise.wire.errors import HandshakeRefused, LinkClosed, RefusedHere, RefusedThere
from spanwise.wire.frame import Message
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import Link, dial

LIMIT = 60.0


@pytest.fixture(params=["unix", "tcp"])
def transport(request):
    return request.param


@pytest.fixture
def door(transport, tmp_path):
    """A peer door; yields it, its secret and the queue of links that came in."""
    tmp_path.chmod(0o700)
    secret = new_secret()
    links: queue.Queue[Link] = queue.Queue()

    def welcome(role, intro):
        if intro.get("worker") == 13:
            raise HandshakeRefused("Not you.", "unlucky")
        return {"role": role}

    opened = listen(tmp_path, "peer", secret, ["peer"], links.put, welcome, transport)
    yield opened, secret, links
    opened.close()
    while not links.empty():
        links.get().close()


def test_both_sides_know_each_other(door):
    opened, secret, links = door
    with_intro = dial(opened.address, secret, "peer", {"worker": 3})
    accepted = links.get(timeout=LIMIT)
    assert with_intro.welcome["role"] == "peer" and with_intro.welcome["share"] == 0
    assert accepted.intro == {"worker": 3}
    with_intro.send("get", {"request": 1}, {"ids": [(5,), (6,)]})
    message = accepted.read()
    assert message.type == "get"
    assert message.table("ids")["taskId"].tolist() == [5, 6]
    with_intro.close()
    with pytest.raises(LinkClosed):
        accepted.read()


def test_long_and_short_messages_keep_their_order(door):
    opened, secret, links = door
    calling = dial(opened.address, secret, "peer")
    accepted = links.get(timeout=LIMIT)
    sizes = [10, 3_000_000, 0, 65_536, 65_535, 1, 9_000_000, 100]
    blobs = [bytes([i]) * size for i, size in enumerate(sizes)]

    def send():
        for i, blob in enumerate(blobs):
            calling.send("put", {"request": i}, {"items": [(i,)]}, [blob])

    sender = threading.Thread(target=send)
    sender.start()
    for i, blob in enumerate(blobs):
        message = accepted.read()
        assert message.fields["request"] == i
        assert message.blobs[0] == blob
    sender.join(LIMIT)
    calling.close()


def test_threads_send_at_the_same_time(door):
    opened, secret, links = door
    calling = dial(opened.address, secret, "peer")
    accepted = links.get(timeout=LIMIT)
    threads, each = 8, 200

    def send(number):
        for i in range(each):
            calling.send("put", {"request": number * each + i}, {}, [bytes(1000)])

    running = [threading.Thread(target=send, args=(n,)) for n in range(threads)]
    for thread in running:
        thread.start()
    seen = [accepted.read().fields["request"] for _ in range(threads * each)]
    for thread in running:
        thread.join(LIMIT)
    assert sorted(seen) == list(range(threads * each))
    for number in range(threads):
        own = [n for n in seen if n // each == number]
        assert own == sorted(own)
    calling.close()


@pytest.mark.parametrize("place", ["closed", "_write_all"])
def test_what_a_collected_object_sends_while_its_thread_sends(door, monkeypatch, place):
    """Where the lock is held, and amid a send; it is more than may wait for others' sends."""
    opened, secret, links = door
    calling = dial(opened.address, secret, "peer")
    accepted = links.get(timeout=LIMIT)
    own = getattr(Link, place)
    own = own.fget if place == "closed" else own
    numbers = iter([2])
    monkeypatch.setattr(wire_link, "_QUEUE_BYTES", 10)

    def send_once(link, *arguments):
        if link is calling:
            for number in numbers:
                link.send("put", {"request": number}, {}, [b"x" * 100])
        return own(link, *arguments)

    monkeypatch.setattr(Link, place, property(send_once) if place == "closed" else send_once)
    send = threading.Thread(
        target=calling.send, args=("put", {"request": 1}, {}, [b"x"]), daemon=True
    )
    send.start()
    send.join(LIMIT)
    assert not send.is_alive()
    assert {accepted.read().fields["request"] for _ in range(2)} == {1, 2}
    calling.close()
    accepted.close()


def press_ctrl_c_amid_send(calling: Link, heard: threading.Event) -> threading.Thread:
    """Press it once the other side would have to read, and until it is heard."""

    def press():
        # (sooner, it may meet anything else that the main thread does)
        wait_until(
            "nothing more goes in", lambda: heard.is_set() or not calling.takes_more(), LIMIT
        )
        # One that comes just before the main thread begins to wait does not wake it: again.
        while not heard.is_set():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            heard.wait(0.05)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def test_an_interrupted_send_neither_tears_nor_stops_the_stream(door):
    opened, secret, links = door
    calling = dial(opened.address, secret, "peer")
    accepted = links.get(timeout=LIMIT)
    blob = bytes(range(256)) * 100_000
    heard = threading.Event()

    def raise_once(number, frame):
        if not heard.is_set():
            heard.set()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, raise_once)
    pressing = press_ctrl_c_amid_send(calling, heard)
    try:
        with pytest.raises(KeyboardInterrupt):
            # Nobody reads yet, so this blocks with part of the frame on its way.
            calling.send("put", {"request": 1}, {"items": [(1,)]}, [blob])
    finally:
        heard.set()
        pressing.join(LIMIT)
        signal.signal(signal.SIGINT, before)
    arrived: queue.Queue[Message] = queue.Queue()

    def read():
        for _ in range(3):
            arrived.put(accepted.read())

    def send():
        for number in (2, 3):
            calling.send("put", {"request": number}, {}, [b"x"])

    threads = [threading.Thread(target=each, daemon=True) for each in (read, send)]
    for thread in threads:
        thread.start()
    messages = [arrived.get(timeout=LIMIT) for _ in range(3)]
    assert [message.fields["request"] for message in messages] == [1, 2, 3]
    assert messages[0].blobs[0] == blob
    for thread in threads:
        thread.join(LIMIT)
    calling.close()


def write_a_long_one(calling: Link) -> tuple[threading.Thread, list[str]]:
    """Have a thread write what nobody reads yet; returns it, and how it was ended."""
    ended: list[str] = []

    def send() -> None:
        try:
            calling.send("put", {"request": 1}, {"items": [(1,)]}, [bytes(20_000_000)])
        except LinkClosed as error:
            ended.append(str(error))

    thread = threading.Thread(target=send)
    thread.start()
    wait_until("it writes", lambda: calling._sending)
    return thread, ended


def test_who_is_refused_hears_why_behind_what_another_thread_writes(door, monkeypatch):
    opened, secret, links = door
    monkeypatch.setattr(wire_link, "_LAST_WORDS_SECONDS", 1000.0)
    calling = dial(opened.address, secret, "peer")
    accepted = links.get(timeout=LIMIT)
    writing, ended = write_a_long_one(calling)
    refusing = threading.Thread(target=calling.refuse, args=("unlucky", "Not you."))
    refusing.start()
    wait_until("it has said so", lambda: calling._queue or calling.closed)
    assert len(accepted.read().blobs[0]) == 20_000_000
    with pytest.raises(RefusedThere, match="Not you"):
        accepted.read()
    for thread in (writing, refusing):
        thread.join(LIMIT)
    assert calling.closed and not ended


def test_who_does_not_read_is_refused_all_the_same(door, monkeypatch):
    opened, secret, _ = door
    monkeypatch.setattr(wire_link, "_LAST_WORDS_SECONDS", 0.1)
    calling = dial(opened.address, secret, "peer")
    writing, ended = write_a_long_one(calling)
    calling.refuse("unlucky", "Not you.")
    writing.join(LIMIT)
    assert calling.closed and ended == ["Not you."]


def test_who_writes_to_one_that_was_refused_and_has_closed_is_told_why(ends, monkeypatch):
    """A worker ends with its first thread that fails: one told of no refusal ended it as usual."""
    down, up = ends
    told = []

    def write_meanwhile():
        with pytest.raises(RefusedThere, match="Not you"):
            down.read()
        assert down.closed
        with pytest.raises(LinkClosed) as ended:
            up.send("get", {"request": 1}, {"ids": []})
        told.append((type(ended.value), str(ended.value)))

    monkeypatch.setattr(up, "_wait_for_the_writer", write_meanwhile)
    up.refuse("unlucky", "Not you.")
    assert up.closed
    assert told == [(RefusedHere, "Not you.")]


def test_wrong_secret_is_refused_by_the_caller_first(door):
    opened, _, links = door
    with pytest.raises(HandshakeRefused, match="does not hold its secret"):
        dial(opened.address, new_secret(), "peer")
    assert links.empty()


def test_wrong_role_is_refused(door):
    opened, secret, _ = door
    with pytest.raises(HandshakeRefused, match="not for"):
        dial(opened.address, secret, "client")


def test_the_welcome_may_refuse(door):
    opened, secret, _ = door
    with pytest.raises(HandshakeRefused, match="Not you") as refused:
        dial(opened.address, secret, "peer", {"worker": 13})
    assert refused.value.code == "unlucky"


def test_another_protocol_is_refused_with_what_to_do(door, monkeypatch):
    opened, secret, _ = door
    monkeypatch.setattr("spanwise.wire.handshake.Initiator.hello", _hello_of_protocol_99)
    with pytest.raises(HandshakeRefused, match="pip install --upgrade spanwise") as refused:
        dial(opened.address, secret, "peer")
    assert refused.value.code == "protocol"


def _hello_of_protocol_99(self):
    return "hello", {"protocol": 99, "build": "9.9", "role": "peer", "nonce": bytes(16)}


def test_noise_and_long_frames_before_the_handshake_close_the_link(door):
    opened, secret, links = door
    for noise in [
        b"GET / HTTP/1.1\r\n\r\n",
        (70_000).to_bytes(4, "little"),
        b"\x04\0\0\0\1\0\0\0x",
    ]:
        sock = addresses.connect(opened.address, LIMIT)
        sock.sendall(noise)
        while sock.recv(4096):
            pass  # "refused", then end of file
        sock.close()
    assert links.empty()
    dial(opened.address, secret, "peer").close()


def test_nobody_there(tmp_path):
    with pytest.raises(LinkClosed, match="Nobody answers"):
        dial(f"unix:{tmp_path}/none.sock", new_secret(), "peer")


def test_a_silent_door_costs_the_time_limit_only(tmp_path):
    tmp_path.chmod(0o700)
    sock, address = addresses.listen("unix", tmp_path, "silent")
    with pytest.raises(LinkClosed, match="did not answer"):
        dial(address, new_secret(), "peer", timeout=0.2)
    sock.close()


def test_closing_wakes_the_reader(door):
    opened, secret, _ = door
    calling = dial(opened.address, secret, "peer")
    woken = threading.Event()

    def read():
        try:
            calling.read()
        except LinkClosed:
            woken.set()

    reader = threading.Thread(target=read)
    reader.start()
    calling.close()
    assert woken.wait(LIMIT)
    reader.join(LIMIT)
    with pytest.raises(LinkClosed):
        calling.send("put", {"request": 1})


def test_a_door_whose_thread_is_awake_can_be_closed(door):
    """The thread sees that it is to end before it is woken, and closes what would wake it."""
    opened, _, _ = door
    waker = opened._waker

    class Late:
        """Sends when the thread has ended."""

        def send(self, data):
            with addresses.connect(opened.address, LIMIT):
                opened._thread.join(LIMIT)
            return waker.send(data)

    opened._waker = Late()
    opened._waker.close = waker.close
    opened.close()
    assert not opened._thread.is_alive()


def test_a_folder_open_to_others_is_no_place_for_a_socket(tmp_path):
    tmp_path.chmod(0o755)
    with pytest.raises(addresses.LinkError, match="open to other users"):
        addresses.listen("unix", tmp_path, "door")


def test_a_path_that_is_too_long_says_what_to_do(tmp_path):
    folder = tmp_path / ("x" * 90)
    folder.mkdir(mode=0o700)
    with pytest.raises(addresses.LinkError, match="SPANWISE_TRANSPORT=tcp"):
        addresses.listen("unix", folder, "door")


def test_sockets_are_the_users_alone(tmp_path):
    tmp_path.chmod(0o700)
    sock, address = addresses.listen("unix", tmp_path, "door")
    with sock:
        assert (tmp_path / "door.sock").stat().st_mode & 0o777 == 0o600
        assert sock.family == socket.AF_UNIX
        assert address == f"unix:{tmp_path}/door.sock"
