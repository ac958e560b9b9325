"""Who reads a link: its reader, or a thread that waits for what comes."""

from __future__ import annotations

import dis
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any

import pytest

from spanwise.client import reading_waiter
from spanwise.client.entries import Entry, Waiter
from spanwise.client.reading_waiter import ReadingWaiter
from spanwise.client.session import Session
from spanwise.errors import ClusterError
from spanwise.tests.processes import wait_until
from spanwise.wire import payload, turns
from spanwise.wire.errors import LinkClosed
from spanwise.wire.link import Link

LIMIT_SECONDS = 60.0
NONE = 0xFFFFFFFF
WELCOME = {
    "clusterId": "c1",
    "name": "test",
    "logId": "l1",
    "schedulerStart": 0.0,
    "wallEpoch": 0.0,
    "workers": [],
}

pytestmark = [
    pytest.mark.skipif(not turns.IS_POSSIBLE, reason="the reader always reads here"),
    pytest.mark.timeout(300),
]


class Pair:
    """A session, and the end of its link that a scheduler would have."""

    def __init__(self) -> None:
        here, there = socket.socketpair()
        link, self.there = Link(here, "client", "up"), Link(there, "client", "down")
        for each in (link, self.there):
            each.authenticated()
        link.welcome = dict(WELCOME)
        self.session = Session(link, bytes(32))
        self._names = iter(range(10**9))

    def entry(self) -> Entry:
        with self.session.lock:
            (entry,) = self.session.new_entries([f"k{next(self._names)}"])
            entry.count += 1
        return entry

    def tell(self, *entries: Entry, value: Any = "right") -> None:
        blob = b"".join(payload.dumps(value))
        rows = [(each.id, each.id, 1, 0, 1.0, 0, len(blob), NONE) for each in entries]
        self.there.send("report", None, {"tasks": rows}, [blob])

    def have_it_rest(self) -> None:
        """Have the reader end a wait, as it does before it rests."""
        while not self.session.turns.rests:
            entry = self.entry()
            waiting = threading.Thread(target=self.session.wait_for, args=([entry], LIMIT_SECONDS))
            waiting.start()
            wait_until("it waits", lambda entry=entry: entry.waiters)
            self.tell(entry)
            waiting.join(LIMIT_SECONDS)
            wait_until("it has taken it in", lambda: self.session.turns.rests or self._reads())

    def _reads(self) -> bool:
        return not self.session.turns.may_rest

    def close(self) -> None:
        self.there.close()
        self.session.close()
        for thread in (self.session._reader, self.session._releaser):
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()


@pytest.fixture
def pair() -> Iterator[Pair]:
    found = Pair()
    yield found
    found.close()


@pytest.fixture
def long_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "REST_SECONDS", LIMIT_SECONDS)


def in_thread(call: Callable[..., Any], *given: Any) -> tuple[threading.Thread, list[Any]]:
    """A thread that calls, and a list that gets what it returns or raises."""
    said: list[Any] = []

    def run() -> None:
        try:
            said.append(call(*given))
        except BaseException as error:  # noqa: BLE001 (the test looks at it)
            said.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, said


def reads(pair: Pair) -> Callable[[], bool]:
    return lambda: pair.session.turns.stand_in is not None


def test_who_waits_reads_and_leaves_without_a_call_of_the_reader(
    pair: Pair, long_rests: None
) -> None:
    pair.have_it_rest()
    before = pair.session.turns.count
    for number in range(5):
        entry = pair.entry()
        pair.tell(entry, value=number)
        assert pair.session.gather_one(entry, LIMIT_SECONDS) == number
    assert pair.session.turns.count == before + 5 and pair.session.turns.rests


def test_the_reader_does_not_rest_where_nobody_can_read_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = turns.Turns()
    waits.begin()
    monkeypatch.setattr(turns, "IS_POSSIBLE", False)
    waits.may_rest = True
    assert not waits.rest() and not waits.rests


def test_the_reader_reads_again_when_nobody_has_for_a_while(pair: Pair) -> None:
    pair.have_it_rest()
    entry = pair.entry()
    pair.tell(entry)
    wait_until("it is done", lambda: entry.status == "finished")


def test_what_is_the_readers_reaches_it_while_another_reads(pair: Pair, long_rests: None) -> None:
    pair.have_it_rest()
    session = pair.session
    entry, watched = pair.entry(), pair.entry()
    called: list[str] = []
    session.when_done(watched, lambda: called.append(threading.current_thread().name))
    waiting, said = in_thread(session.gather_one, entry, LIMIT_SECONDS)
    wait_until("it reads", reads(pair))
    pair.tell(watched)
    wait_until("it is told", lambda: called)
    assert called == ["spanwise-reader"]
    pair.tell(entry, value=7)
    waiting.join(LIMIT_SECONDS)
    assert said == [7]


def test_an_answer_comes_while_another_thread_reads(pair: Pair, long_rests: None) -> None:
    pair.have_it_rest()
    session = pair.session
    entry = pair.entry()
    waiting, said = in_thread(session.gather_one, entry, LIMIT_SECONDS)
    wait_until("it reads", reads(pair))
    request, answers = session.open_request("flushed")
    pair.there.send("flushed", {"request": request, "logId": "l1", "seq": 1})
    assert session.next_answer(answers, "flush", LIMIT_SECONDS).type == "flushed"
    pair.tell(entry, value=7)
    waiting.join(LIMIT_SECONDS)
    assert said == [7]


def test_threads_that_wait_beside_the_one_that_reads_are_served(
    pair: Pair, long_rests: None
) -> None:
    pair.have_it_rest()
    entries = [pair.entry() for _ in range(4)]
    waiting = []
    for entry in entries:
        waiting.append(in_thread(pair.session.gather_one, entry, LIMIT_SECONDS))
        wait_until("it waits", lambda entry=entry: entry.waiters)
    for number, entry in reversed([*enumerate(entries)]):
        pair.tell(entry, value=number)
    for number, (thread, said) in enumerate(waiting):
        thread.join(LIMIT_SECONDS)
        assert said == [number]
    assert pair.session.turns.sleepers == 0


@pytest.mark.parametrize("ends", ["cancel", "close", "far end"])
def test_a_wait_that_reads_ends_with_what_another_thread_does(
    pair: Pair, long_rests: None, ends: str
) -> None:
    pair.have_it_rest()
    entry = pair.entry()
    waiting, said = in_thread(pair.session.gather_one, entry, LIMIT_SECONDS)
    wait_until("it reads", reads(pair))
    if ends == "cancel":
        pair.session.cancel([entry], False, "here")
    elif ends == "close":
        pair.session._closing = True
        pair.session.link.close()
    else:
        pair.there.close()
    waiting.join(LIMIT_SECONDS)
    assert not waiting.is_alive() and isinstance(said[0], BaseException)


def test_a_limit_is_kept_by_a_wait_that_reads(pair: Pair, long_rests: None) -> None:
    pair.have_it_rest()
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        pair.session.wait_for([pair.entry()], 0.05)
    assert time.monotonic() - begin >= 0.05


def test_half_a_message_waits_for_its_other_half(pair: Pair, long_rests: None) -> None:
    pair.have_it_rest()
    entry = pair.entry()
    waiting, said = in_thread(pair.session.gather_one, entry, LIMIT_SECONDS)
    wait_until("it reads", reads(pair))
    written: list[bytes] = []
    send = pair.there._sock
    pair.there._write = lambda buffers, *_: written.extend(map(bytes, buffers))  # type: ignore[method-assign]
    pair.tell(entry, value="x" * 3_000)
    whole = b"".join(written)
    for at in range(0, len(whole), 700):
        send.sendall(whole[at : at + 700])
        wait_until("it has read that", lambda: pair.session.link._reader._came == [])
    waiting.join(LIMIT_SECONDS)
    assert said == ["x" * 3_000]


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_a_long_message_is_the_readers(pair: Pair, long_rests: None, size: int) -> None:
    pair.have_it_rest()
    entry = pair.entry()
    waiting, said = in_thread(pair.session.gather_one, entry, LIMIT_SECONDS)
    wait_until("it reads", reads(pair))
    pair.tell(entry, value="x" * size)
    waiting.join(LIMIT_SECONDS)
    assert said == ["x" * size]


def test_an_impossible_message_ends_the_client_as_when_its_reader_reads(
    pair: Pair, long_rests: None
) -> None:
    pair.have_it_rest()
    entry = pair.entry()
    waiting, said = in_thread(pair.session.gather_one, entry, LIMIT_SECONDS)
    wait_until("it reads", reads(pair))
    rows = [(entry.id, 0, 1, 0, 1.0, 5, 900, NONE)]
    pair.there.send("report", None, {"tasks": rows}, [b"short"])
    waiting.join(LIMIT_SECONDS)
    assert "impossible message" in str(said[0])


def test_a_handler_may_wait_amid_the_wait_of_its_thread(pair: Pair, long_rests: None) -> None:
    pair.have_it_rest()
    session = pair.session
    first, second = pair.entry(), pair.entry()
    came: list[Any] = []
    before = signal.signal(
        signal.SIGUSR1, lambda *_: came.append(session.gather_one(second, LIMIT_SECONDS))
    )
    main = threading.main_thread().ident
    assert main is not None

    def disturb() -> None:
        wait_until("it reads", reads(pair))
        signal.pthread_kill(main, signal.SIGUSR1)
        wait_until("it waits amid it", lambda: second.waiters)
        pair.tell(second, value=2)
        wait_until("that has ended", lambda: came)
        pair.tell(first, value=1)

    disturbing, said = in_thread(disturb)
    try:
        assert session.gather_one(first, LIMIT_SECONDS) == 1
    finally:
        signal.signal(signal.SIGUSR1, before)
        disturbing.join(LIMIT_SECONDS)
    assert came == [2] and said == [None]


def test_an_object_that_waits_amid_what_was_read_is_told_off(
    pair: Pair, long_rests: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.have_it_rest()
    session = pair.session
    take, errors = session.take_report, []

    def disturbed(message: Any) -> bool:
        with pytest.raises(ClusterError) as caught:
            session.wait_for([pair.entry()], LIMIT_SECONDS)
        errors.append(caught.value)
        return take(message)

    monkeypatch.setattr(session, "take_report", disturbed)
    entry = pair.entry()
    pair.tell(entry, value=7)
    assert session.gather_one(entry, LIMIT_SECONDS) == 7
    assert errors


def test_ctrl_c_ends_a_wait_that_reads(pair: Pair, long_rests: None) -> None:
    pair.have_it_rest()
    entry = pair.entry()

    def interrupt() -> None:
        wait_until("it reads", reads(pair))
        os.kill(os.getpid(), signal.SIGINT)

    interrupting, _ = in_thread(interrupt)
    with pytest.raises(KeyboardInterrupt):
        pair.session.gather_one(entry, LIMIT_SECONDS)
    interrupting.join(LIMIT_SECONDS)
    pair.tell(entry, value=7)
    assert pair.session.gather_one(entry, LIMIT_SECONDS) == 7


#: Behind these Python looks whether a signal has come.
LOOKS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}


def press_ctrl_c() -> None:
    raise KeyboardInterrupt


class Interrupts:
    """Calls a handler in this thread, at one of the moments at which Python looks for signals."""

    def __init__(self, at: int, handler: Callable[[], None] = press_ctrl_c) -> None:
        self._left = at
        self._handler = handler
        self._before: dict[FrameType, str] = {}
        self.has_come = False

    def __enter__(self) -> None:
        sys.settrace(self._called)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if "spanwise" not in name or "tests" in name:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        self._look()
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            before = self._before.get(frame)
            self._before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before in LOOKS:
                self._look()
        return self._step

    def _look(self) -> None:
        if self.has_come:
            return
        self._left -= 1
        if self._left < 0:
            self.has_come = True
            self._handler()


def test_ctrl_c_at_any_moment_of_a_wait_that_reads_loses_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "REST_SECONDS", 2.0)
    session = pair.session
    at = 0
    while True:
        pair.have_it_rest()
        count = session.turns.count
        entry, behind = pair.entry(), pair.entry()
        pair.tell(entry, value=at)
        pair.tell(behind, value=-at)
        interrupts = Interrupts(at)
        try:
            with interrupts:
                session.wait_for([entry], LIMIT_SECONDS)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        has_read = session.turns.count > count
        assert session.gather_one(entry, LIMIT_SECONDS) == at
        assert session.gather_one(behind, LIMIT_SECONDS) == -at
        assert not session.turns.is_handling
        if interrupts.has_come:
            at += 1
        elif has_read:  # (else the reader was faster)
            break
    assert at > 50


def test_what_a_handler_raises_at_any_moment_of_a_wait_that_reads_is_raised(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "REST_SECONDS", 2.0)
    session = pair.session

    def late() -> None:
        raise TimeoutError("the handler's")

    at = 0
    while True:
        pair.have_it_rest()
        count = session.turns.count
        entry = pair.entry()
        pair.tell(entry, value=at)
        interrupts = Interrupts(at, late)
        said = ""
        try:
            with interrupts:
                session.wait_for([entry], LIMIT_SECONDS)
        except TimeoutError as error:
            said = str(error)
        finally:
            sys.settrace(None)
        has_read = session.turns.count > count
        assert not interrupts.has_come or said == "the handler's"
        assert session.gather_one(entry, LIMIT_SECONDS) == at
        if interrupts.has_come:
            at += 1
        elif has_read:  # (else the reader was faster)
            break
    assert at > 50


@pytest.mark.parametrize("kind", [TimeoutError, OSError, RuntimeError, ValueError])
def test_what_a_handler_raises_ends_a_wait_that_reads(
    pair: Pair, long_rests: None, kind: type[Exception]
) -> None:
    def late(*_: object) -> None:
        raise kind("the handler's")

    pair.have_it_rest()
    entry = pair.entry()
    main = threading.main_thread().ident
    assert main is not None

    def disturb() -> None:
        wait_until("it reads", reads(pair))
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, late)
    disturbing, said = in_thread(disturb)
    try:
        with pytest.raises(kind, match="the handler's"):
            pair.session.wait_for([entry], LIMIT_SECONDS / 6)
    finally:
        signal.signal(signal.SIGUSR1, before)
        disturbing.join(LIMIT_SECONDS)
    assert said == [None]
    pair.tell(entry, value=7)
    assert pair.session.gather_one(entry, LIMIT_SECONDS) == 7


def test_a_handler_may_wait_at_any_moment_of_a_wait_that_reads(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "REST_SECONDS", 2.0)
    session = pair.session
    at = 0
    while True:
        pair.have_it_rest()
        count = session.turns.count
        entry, amid = pair.entry(), pair.entry()
        pair.tell(entry, value=at)
        is_over = threading.Event()

        def tell(amid: Entry = amid, is_over: threading.Event = is_over, at: int = at) -> None:
            wait_until("it waits", lambda: amid.waiters or is_over.is_set())
            pair.tell(amid, value=-at)

        def wait(amid: Entry = amid) -> None:
            try:
                session.wait_for([amid], LIMIT_SECONDS / 6)
            except ClusterError as error:
                assert "in the middle of something" in str(error)

        telling, _ = in_thread(tell)
        interrupts = Interrupts(at, wait)
        try:
            with interrupts:
                session.wait_for([entry], LIMIT_SECONDS / 6)
        finally:
            sys.settrace(None)
            is_over.set()
            telling.join(LIMIT_SECONDS)
        has_read = session.turns.count > count
        assert session.gather_one(entry, LIMIT_SECONDS / 6) == at
        assert session.gather_one(amid, LIMIT_SECONDS / 6) == -at
        assert not session.turns.right._is_owned() and not session.turns.is_handling
        if interrupts.has_come:
            at += 1
        elif has_read:  # (else the reader was faster)
            break
    assert at > 50


def test_a_thread_in_which_handlers_may_run_leaves_the_link_to_the_reader(
    pair: Pair, long_rests: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One may wait for a thread that waits, too, as many do that end a program in order."""
    monkeypatch.setattr(reading_waiter, "SIGNALS", (signal.SIGUSR1,))
    session = pair.session
    pair.have_it_rest()
    count = session.turns.count
    first, second = pair.entry(), pair.entry()
    ended: list[bool] = []

    def join(*_: object) -> None:
        other = threading.Thread(target=session.wait_for, args=([second], LIMIT_SECONDS))
        other.start()
        wait_until("it waits", lambda: second.waiters)
        pair.tell(second)
        other.join(LIMIT_SECONDS)
        ended.append(not other.is_alive())

    def disturb() -> None:
        wait_until("the wait", lambda: first.waiters)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        wait_until("the handler to end", lambda: ended)
        pair.tell(first)

    assert not reading_waiter.has_handlers()
    before = signal.signal(signal.SIGUSR1, join)
    try:
        assert reading_waiter.has_handlers()
        # A handler runs in the main thread alone.
        elsewhere, said = in_thread(reading_waiter.has_handlers)
        elsewhere.join(LIMIT_SECONDS)
        assert said == [False]
        disturbing, _ = in_thread(disturb)
        session.wait_for([first], LIMIT_SECONDS)
        disturbing.join(LIMIT_SECONDS)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert ended == [True]
    assert session.turns.count == count


@pytest.mark.parametrize("what", ["is_left", "is_finished"])
def test_a_wait_that_has_given_up_once_gives_the_right_back_the_next_time(
    pair: Pair, long_rests: None, what: str
) -> None:
    pair.have_it_rest()
    session = pair.session
    waiter = ReadingWaiter(1, session)
    waiter.gave_up = True
    setattr(session.turns if what == "is_left" else waiter, what, True)
    waiter._read(time.monotonic() + LIMIT_SECONDS)
    assert not session.turns.right._is_owned()


def test_a_link_on_which_descriptors_come_is_its_readers(pair: Pair) -> None:
    reader = pair.there._reader
    reader.takes_descriptors = True
    pair.session.link.send("close", {"cluster": False})
    assert not reader.look() and not reader.is_amid


@pytest.mark.parametrize("seed", range(12))
def test_all_waits_of_drawn_threads_end(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = Random(seed)
    monkeypatch.setattr(turns, "REST_SECONDS", chance.choice([0.0005, 0.004, 0.02]))
    session = pair.session
    asked: list[Any] = []
    lock = threading.Lock()
    is_over = threading.Event()

    def wait_often(seed: int) -> int:
        chance = Random(seed)
        for _ in range(40):
            kind = chance.choice(["one", "one", "one", "few", "first", "ask", "many", "callback"])
            if kind == "ask":
                request, answers = session.open_request("flushed")
                with lock:
                    asked.append(request)
                session.next_answer(answers, "flush", LIMIT_SECONDS)
                session.close_request(request)
                continue
            entries = [
                pair.entry() for _each in range({"few": 3, "first": 2, "many": 80}.get(kind, 1))
            ]
            done = threading.Event()
            if kind == "callback":
                session.when_done(entries[0], done.set)
            with lock:
                asked.extend(entries)
            if kind == "callback":
                assert done.wait(LIMIT_SECONDS)
            elif kind == "first":
                assert session.wait_first(entries, LIMIT_SECONDS)
            else:
                session.wait_for(entries, LIMIT_SECONDS)
            if chance.random() < 0.1:
                time.sleep(chance.choice([0.001, 0.01]))
            session.drop_later(entries)
        return seed

    def answer() -> None:
        while not is_over.is_set():
            with lock:
                count = chance.randint(1, 3)
                chance.shuffle(asked)
                found, asked[:count] = asked[:count], []
            for each in found:
                if chance.random() < 0.05:
                    time.sleep(chance.choice([0.001, 0.006]))
                if isinstance(each, int):
                    self_said = {"request": each, "logId": "l1", "seq": 1}
                    pair.there.send("flushed", self_said)
                else:
                    pair.tell(each)
            if not found:
                time.sleep(0.0002)

    answering, _ = in_thread(answer)
    waiting = [in_thread(wait_often, seed * 100 + each) for each in range(chance.randint(1, 4))]
    for thread, said in waiting:
        thread.join(4 * LIMIT_SECONDS)
        assert said and isinstance(said[0], int)
    is_over.set()
    answering.join(LIMIT_SECONDS)
    assert session.turns.sleepers == 0


def test_a_waiter_that_is_told_again_stays_told() -> None:
    waiter = Waiter(1)
    waiter.one_done()
    assert waiter.wait(0)
    waiter.finish()
    assert waiter.is_finished


def test_a_socket_that_fails_for_who_reads_fails_for_the_reader_alike(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = pair.there._reader

    class Broken:
        def recv_into(self, *_: Any) -> int:
            raise ConnectionResetError(104, "reset")

    monkeypatch.setattr(reader, "_sock", Broken())
    assert not reader.look()
    monkeypatch.undo()
    with pytest.raises(LinkClosed, match="reset"):
        reader.receive()
