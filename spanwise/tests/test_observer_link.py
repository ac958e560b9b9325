"""The source's end of the link to an observer that says what cannot be."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.local.observer_link import ObserverLink
from spanwise.observed.observer_address import ObserverAddress
from spanwise.records.log_writer import SealedBlock
from spanwise.records.tables import record_tables
from spanwise.tests.processes import wait_until
from spanwise.version import read_build
from spanwise.wire.door import listen
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link

SECRET = bytes(32)


class Observer:
    """Takes the link of a source, says what it is told, and keeps how each link ended."""

    def __init__(self, folder: Path, says: list[list[tuple[str, dict[str, int]]]]) -> None:
        self._says = says
        self.ends: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.blocks = 0
        self.door = listen(folder, "observer", SECRET, ["source"], self._serve, build=read_build())

    def _serve(self, link: Link) -> None:
        says = self._says.pop(0) if self._says else [("resume", {"haveSeq": self.blocks})]
        try:
            assert link.read().type == "open"
            for kind, fields in says:
                link.send(kind, fields)
            while True:
                message = link.read()
                self.blocks += len(message.blobs)
                link.send("ack", {"seq": self.blocks})
        except LinkError as error:
            self.ends.put(str(error))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "secret").write_bytes(SECRET)
    yield tmp_path


IMPOSSIBLE = [
    [("resume", {"haveSeq": 9})],
    [("resume", {"haveSeq": 0}), ("ack", {"seq": 9})],
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


def link_to(folder: Path) -> ObserverLink:
    """A link to the observer whose place is told in `folder`, now or later."""
    nobody = f"unix:{folder / 'nobody.sock'}"
    place = ObserverAddress(nobody, SECRET, str(folder / "secret"))
    return ObserverLink(place, lambda: OPEN, lambda gaps: None)


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


@pytest.mark.parametrize("says", IMPOSSIBLE, ids=["resume", "ack"])
def test_an_observer_cannot_have_what_was_not_sent(
    folder: Path, says: list[tuple[str, dict[str, int]]]
) -> None:
    observer = Observer(folder, [says])
    tell(folder, observer)
    link = link_to(folder)
    with closing(link, observer):
        assert "block 9 of 0" in observer.ends.get(timeout=20)
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
        assert "block 3 of 0" in observer.ends.get(timeout=20)
        wait_until("the blocks have come", lambda: observer.blocks == 3)
