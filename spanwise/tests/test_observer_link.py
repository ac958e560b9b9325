"""The source's end of the link to an observer that says what cannot be."""

from __future__ import annotations

import contextlib
import gc
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from spanwise.observed.observer_address import ObserverAddress
from spanwise.records.log_writer import SealedBlock
from spanwise.records.tables import record_tables
from spanwise.source import observer_link
from spanwise.source.observer_link import RESUME_SECONDS, ObserverLink
from spanwise.source.tries import FIRST_PAUSE_SECONDS, PASSING_REFUSALS, Tries
from spanwise.tests.processes import wait_until
from spanwise.version import read_build
from spanwise.wire.door import listen
from spanwise.wire.errors import LinkClosed, LinkError
from spanwise.wire.link import Link, dial

SECRET = bytes(32)


class Observer:
    """Takes the link of a source, says what it is told, and keeps how each link ended."""

    def __init__(self, folder: Path, says: list[list[tuple[str, dict[str, int]]]]) -> None:
        self._says = says
        #: How it answers what came after that.
        self.answer: Callable[[Link], None] = self._acknowledge
        self.links: list[Link] = []
        self.ends: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.blocks = 0
        self.door = listen(folder, "observer", SECRET, ["source"], self._serve, build=read_build())

    def _serve(self, link: Link) -> None:
        self.links.append(link)
        says = self._says.pop(0) if self._says else [("resume", {"haveSeq": self.blocks})]
        try:
            assert link.read().type == "open"
            for kind, fields in says:
                link.send(kind, fields)
            while True:
                message = link.read()
                self.blocks += len(message.blobs)
                self.answer(link)
        except LinkError as error:
            self.ends.put(str(error))

    def _acknowledge(self, link: Link) -> None:
        link.send("ack", {"seq": self.blocks})


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences that the user is told."""
    sentences: list[str] = []
    monkeypatch.setattr(observer_link, "tell", sentences.append)
    return sentences


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "secret").write_bytes(SECRET)
    yield tmp_path


IMPOSSIBLE: list[tuple[list[tuple[str, dict[str, int]]], str]] = [
    ([("resume", {"haveSeq": 9})], "block 9 of 0"),
    ([("resume", {"haveSeq": 0}), ("ack", {"seq": 9})], "block 9 of 0"),
    # With each it would be sent all blocks again.
    (
        [("resume", {"haveSeq": 0}), ("resume", {"haveSeq": 0})],
        "the observer has already said what it has",
    ),
    ([("ack", {"seq": 0})], "the observer has not yet said what it has"),
]


OPEN = {
    "logId": "1" * 32,
    "clusterId": "c",
    "name": "test",
    "kind": "local",
    "notebook": None,
    "wallEpoch": 0.0,
    "pid": 1,
    "versions": {},
    "capabilities": {},
}


def link_to(
    folder: Path, secret: bytes = SECRET, resume_seconds: float = RESUME_SECONDS
) -> ObserverLink:
    """A link to the observer whose place is told in `folder`, now or later."""
    nobody = f"unix:{folder / 'nobody.sock'}"
    place = ObserverAddress(nobody, secret, str(folder / "secret"))
    return ObserverLink(place, lambda: OPEN, lambda gaps: None, resume_seconds=resume_seconds)


def tell(folder: Path, observer: Observer) -> None:
    (folder / "address").write_text(observer.door.address)


def block(seq: int) -> SealedBlock:
    return SealedBlock(seq, record_tables()["names"].number, 1, b"\0" * 64)


@contextlib.contextmanager
def closing(link: ObserverLink, observer: Observer) -> Iterator[None]:
    try:
        yield
    finally:
        link.close()
        with contextlib.suppress(OSError):
            observer.door.close()


@pytest.mark.parametrize(
    ("says", "why"), IMPOSSIBLE, ids=["resume", "ack", "resume twice", "ack first"]
)
def test_an_observer_cannot_have_what_was_not_sent(
    folder: Path, says: list[tuple[str, dict[str, int]]], why: str
) -> None:
    observer = Observer(folder, [says])
    tell(folder, observer)
    link = link_to(folder)
    with closing(link, observer):
        assert why in observer.ends.get(timeout=60)
        # It comes back, and what is written after that arrives.
        link.push(block(1), 0.0)
        wait_until("the block has come", lambda: observer.blocks == 1)


def test_an_observer_cannot_have_what_waited_for_it(folder: Path) -> None:
    link = link_to(folder)
    for seq in range(1, 4):
        link.push(block(seq), 0.0)
    observer = Observer(folder, [[("resume", {"haveSeq": 3})]])
    tell(folder, observer)
    with closing(link, observer):
        assert "block 3 of 0" in observer.ends.get(timeout=60)
        wait_until("the blocks have come", lambda: observer.blocks == 3)


def test_blocks_that_come_together_wake_the_link_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[None] = []
    observer = Observer(folder, [])
    link = link_to(folder)
    wakes = link._wake

    def wake() -> None:
        woken.append(None)
        # (until there is an observer it has no use for them)
        wakes()

    monkeypatch.setattr(link, "_wake", wake)
    for seq in range(1, 9):
        link.push(block(seq), 0.0)
    at_first = len(woken)
    tell(folder, observer)
    with closing(link, observer):
        wait_until("the blocks have come", lambda: observer.blocks == 8)
        # And it is woken again by what comes later.
        link.push(block(9), 0.0)
        wait_until("the next has come", lambda: observer.blocks == 9)
    assert at_first == 1 and len(woken) >= 2


def claim(link: Link) -> None:
    """Say what cannot be."""
    link.send("ack", {"seq": 4712})


def claim_after_one(link: Link) -> None:
    link.send("ack", {"seq": 1})
    claim(link)


def turn_away(link: Link) -> None:
    link.refuse("broken-frame", "I cannot read this.")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (claim, 'what the observer says is wrong. "ack".seq: the observer cannot have block 4712'),
        (claim_after_one, 'what the observer says is wrong. "ack".seq: the observer cannot have'),
        (turn_away, "the observer turned it away. I cannot read this."),
    ],
)
def test_one_that_refuses_is_tried_more_and_more_seldom_and_told_of_once(
    folder: Path,
    told: list[str],
    wrong: Callable[[Link], None],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    pause = Tries.pause

    def note(tries: Tries) -> float:
        pauses.append(pause(tries))
        return pauses[-1]

    monkeypatch.setattr(Tries, "pause", note)
    tries_before: list[int] = []

    def count_and_tell(sentence: str) -> None:
        tries_before.append(len(pauses))
        told.append(sentence)

    monkeypatch.setattr(observer_link, "tell", count_and_tell)
    observer = Observer(folder, [[("resume", {"haveSeq": 0})]] * (PASSING_REFUSALS + 2))

    def answer(link: Link) -> None:
        if len(observer.links) <= PASSING_REFUSALS:
            wrong(link)
        else:
            link.send("ack", {"seq": 1})

    observer.answer = answer
    tell(folder, observer)
    since = monotonic()
    link = link_to(folder)
    link.push(block(1), 0.0)
    with closing(link, observer):
        wait_until("the sentence", lambda: told)
        assert pauses[:4] == [FIRST_PAUSE_SECONDS * each for each in (1, 2, 4, 8)]
        assert monotonic() - since > 15 * FIRST_PAUSE_SECONDS
        assert tries_before == [PASSING_REFUSALS - 1]
        assert told[0].startswith("This program computes, but no panel can show it: ")
        assert sentence in told[0]
        assert told[0].endswith(
            ". Restart JupyterLab, then this program, so that both know the same connection file."
        )
        # One that is right is told nothing of, and its successor is looked for at once.
        wait_until("the next", lambda: len(observer.links) > PASSING_REFUSALS)
        # (not `wait_for`: one that was wrong afterwards has acknowledged the block, too)
        wait_until("it has the block", lambda: link._is_open and link._acknowledged == 1)
        assert len(observer.links) == PASSING_REFUSALS + 1
        pauses.clear()
        observer.links[-1].close()
        wait_until("the successor", lambda: len(observer.links) > PASSING_REFUSALS + 1)
        assert pauses == [FIRST_PAUSE_SECONDS]
        assert len(told) == 1


def test_one_that_turns_a_program_away_for_its_secret_is_told_of_once(
    folder: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []

    def count(*args: Any, **named: Any) -> Link:
        tries.append(args)
        return dial(*args, **named)

    monkeypatch.setattr(observer_link, "dial", count)
    observer = Observer(folder, [])
    tell(folder, observer)
    link = link_to(folder, secret=bytes(31) + b"1")
    with closing(link, observer):
        # It goes on trying.
        wait_until("a third try", lambda: len(tries) > 2)
        (sentence,) = told
        assert "does not hold its secret" in sentence


def test_one_that_never_says_what_it_has_is_given_up(folder: Path, told: list[str]) -> None:
    observer = Observer(folder, [[]])
    tell(folder, observer)
    link = link_to(folder, resume_seconds=0.2)
    link.push(block(1), 0.0)
    with closing(link, observer):
        wait_until("the block has come", lambda: observer.blocks == 1)
        assert told == []


def test_one_that_breaks_while_it_is_closed_is_held_by_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place may be the last that holds a script's observer, which ends with it."""
    is_closed: queue.SimpleQueue[threading.Event] = queue.SimpleQueue()

    def break_it(*args: Any, **named: Any) -> Link:
        is_closed.get(timeout=60).set()
        raise LinkClosed("The other side closed the connection.")

    monkeypatch.setattr(observer_link, "dial", break_it)
    link = link_to(folder)
    ref, thread = weakref.ref(link), link._thread
    gc.disable()
    try:
        is_closed.put(link._closing)
        del link
        thread.join(60)
        assert not thread.is_alive()
        assert ref() is None
    finally:
        gc.enable()
