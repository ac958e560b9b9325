"""Whatever a scheduler says, a worker does it, or ends with a sentence."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.graph.template import Template
from spanwise.measure.waits import Waits
from spanwise.tests.drawn_frames import DrawnFrames
from spanwise.tests.fake_scheduler import FakeScheduler
from spanwise.wire import payload
from spanwise.wire.errors import LinkClosed, LinkError
from spanwise.wire.link import Link
from spanwise.worker.__main__ import REFUSED
from spanwise.worker.ahead import ImportAhead
from spanwise.worker.executor import Executor
from spanwise.worker.fetch import Fetching
from spanwise.worker.scheduler import SchedulerLink
from spanwise.worker.worker import Worker

#: Frames in CI; more by hand: `SPANWISE_FRAMES=200000`.
FRAMES = int(os.environ.get("SPANWISE_FRAMES", "2000"))
FRAMES_EACH = 20
#: How many a receiver hears before one ends it, on average.
FRAMES_HEARD = 6
LIMIT_SECONDS = 60.0
NO_CHUNK = 0xFFFF_FFFF

pytestmark = pytest.mark.timeout(300 + FRAMES / 50)
drawn = settings(
    max_examples=max(20, FRAMES // FRAMES_HEARD),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

KINDS = ["assign"] * 6 + ["release", "takeBack", "dropBlobs", "names", "peers", "adopt", "discard"]
KINDS += ["run", "flush", "rates", "welcome", "refused"]


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What ended threads of this process: it would have ended a worker."""
    found: list[Any] = []

    def failed(failure: threading.ExceptHookArgs) -> None:
        # (a link that is closed ends the worker from any thread)
        if not isinstance(failure.exc_value, LinkClosed):
            found.append(failure)

    monkeypatch.setattr(threading, "excepthook", failed)
    before = Path.cwd()
    path = list(sys.path)
    yield found
    os.chdir(before)
    sys.path[:] = path
    assert not found


class LiedToWorker:
    """A worker in this process without threads for tasks, and the other end of its link."""

    def __init__(self, folder: Path) -> None:
        here, there = socket.socketpair()
        link, self.link = Link(here, "worker", "up"), Link(there, "worker", "down")
        link.authenticated()
        self.link.authenticated()
        self.worker = worker = Worker(0, "worker-0", 1, 0, folder)
        fetching = Fetching(worker, bytes(32))
        worker.connect(link.send, fetching.fetch)
        self.executor = Executor(worker, 0)
        self.executor.core_wait = Waits(worker.ledger)
        self.watch: Any = SimpleNamespace(
            memory_seconds=0.2,
            send_all=lambda: None,
            send_measured=lambda: None,
            wake=lambda: None,
        )
        ahead = ImportAhead(worker.library, lambda: True, lambda: True, (), lambda _: None)
        serving = SchedulerLink(link, worker, fetching, self.watch, ahead)
        self.ended: list[LinkError | None] = []
        self.requests = 0

        def serve() -> None:
            try:
                serving.serve()
                self.ended.append(None)
            except LinkError as error:
                self.ended.append(error)
            finally:
                link.close()

        self.thread = threading.Thread(target=serve, daemon=True)
        self.thread.start()

    def lives(self) -> bool:
        """Whether it goes on; waits until it has taken what was written."""
        self.requests += 1
        request = 1_000_000 + self.requests
        give_up = time.monotonic() + LIMIT_SECONDS
        try:
            self.link.send("flush", {"request": request})
            while True:
                message = self.link.read(give_up)
                if message.type == "flushed" and message.fields["request"] == request:
                    return True
        except LinkError:
            self.thread.join(LIMIT_SECONDS)
            assert self.ended
            return False

    def run_tasks(self) -> None:
        """What an executor thread would do now."""
        worker = self.worker
        for _ in range(50):
            with worker.lock:
                entry = worker.take()
            if entry is None:
                break
            self.executor._run(entry)
        worker.flush()

    def close(self) -> None:
        self.link.close()
        self.thread.join(LIMIT_SECONDS)
        assert not self.thread.is_alive()
        # A worker's process takes it along when it ends; here each is one of thousands.
        self.worker._process.close()


def frames_to_worker(chance: Random) -> DrawnFrames:
    return DrawnFrames(
        "worker",
        "down",
        chance,
        {
            "taskId": lambda: chance.randrange(12),
            "runId": lambda: chance.randrange(4),
            "template": lambda: chance.choice([1, 1, 2]),
            "chunk": lambda: chance.choice([NO_CHUNK, 1, 2]),
            "row": lambda: chance.randrange(2),
            "worker": lambda: chance.choice([0, 0, 1, 2]),
            "id": lambda: chance.choice([1, 2]),
            "blob": lambda: 0,
            "firstDependency": lambda: 0,
            # Its tasks run here, and know where they are.
            "path": lambda: chance.choice(
                [[], ["/nowhere"], ["x\0y"] if chance.random() < 0.01 else []]
            ),
            "cwd": lambda: chance.choice(["", "/nowhere", "n" * 10_000, "/"]),
            "modules": lambda: chance.choice([[], ["nowhere", ""], ["n" * 100_000]]),
        },
    )


def check_frames(chance: Random, folder: Path, seen: dict[str, int]) -> None:
    lied_to = LiedToWorker(folder)
    frames = frames_to_worker(chance)
    template = b"".join(map(bytes, payload.dumps(Template(len, (~0,)))))
    chunk = b"".join(map(bytes, payload.dumps([("abc",), ([1],)])))
    sent = {"templates": [{"id": 1, "blob": 0}], "chunks": [{"id": 1, "blob": 1}]}
    lied_to.link.send("assign", sent, None, [template, chunk])
    kind = ""
    lives = True
    for _ in range(FRAMES_EACH):
        kind = chance.choice(KINDS if chance.random() < 0.2 else KINDS[:-2])
        try:
            lied_to.link._write(list(frames.framed(kind)))
        except LinkError:
            pass  # it has had enough
        seen[kind] = seen.get(kind, 0) + 1
        lives = lied_to.lives()
        if not lives:
            break
        lied_to.run_tasks()
    assert 0 < lied_to.watch.memory_seconds <= 86_400
    if lives:
        # It still does what a scheduler that is right asks for.
        lied_to.link.send("assign", sent, None, [template, chunk])
        row = (77, 78, 1, 1, 0, 0, 0, 1, 0.0, time.perf_counter(), 0)
        lied_to.link.send("assign", None, {"tasks": [row]})
        assert lied_to.lives()
        lied_to.run_tasks()
        assert lied_to.worker.table.values[77] == 3
        seen["stood"] = seen.get("stood", 0) + 1
    else:
        (error,) = lied_to.ended
        text = str(error)
        named = (f'"{kind}"', "body", "header", "No message")
        if kind != "refused":
            assert any(each in text for each in named), text
        seen["ended"] = seen.get("ended", 0) + 1
    lied_to.close()


def test_a_worker_stands_any_frame_of_a_scheduler(failures: list[Any], tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    @drawn
    @given(st.integers(0, 2**63))
    def run(seed: int) -> None:
        check_frames(Random(seed), tmp_path, seen)
        assert not failures

    run()
    print(seen)
    assert seen["stood"] > 0 and seen["ended"] > 0


TASK = (1, 1, 1, NO_CHUNK, 0, 0, 0, 1, 0.0, 0.0, 0)


@pytest.mark.parametrize(
    ("kind", "fields", "tables", "says"),
    [
        ("assign", {"templates": [{"id": 1, "blob": 3}]}, {}, '"assign".templates.blob: blob 3'),
        (
            "assign",
            {},
            {"tasks": [(*TASK[:10], 5)], "dependencies": [(1, 0, 1.0)]},
            '"assign".tasks.firstDependency: 5 after 0, of 1',
        ),
        ("assign", {}, {"tasks": [(*TASK[:9], 1e300, 0)]}, '"assign".tasks.readyAt: 1e+300'),
        ("run", {"request": 1}, {}, '"run".request'),
        ("rates", {"memorySeconds": "often"}, {}, '"rates".memorySeconds: expected a number'),
    ],
)
def test_a_worker_that_is_told_nonsense_says_so_and_ends(
    tmp_path: Path, kind: str, fields: Any, tables: Any, says: str, monkeypatch: Any
) -> None:
    log = (tmp_path / "log").open("w+b")
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **more: popen(*given, **more, stderr=log)
    )
    with FakeScheduler(tmp_path / "cluster") as scheduler:
        worker = scheduler.start_worker()
        worker.send(kind, fields, tables or None)
        assert worker.process is not None
        code = worker.process.wait(LIMIT_SECONDS)
    log.seek(0)
    said = log.read().decode()
    log.close()
    assert code == REFUSED, said
    assert says in said


def test_addresses_that_are_none_end_no_thread(failures: list[Any], tmp_path: Path) -> None:
    addresses = ["", "unix:", "unix:" + "x" * 500, "unix:\0", "tcp:h\0:1", "tcp:127.0.0.1:99999"]
    addresses += ["tcp:127.0.0.1:²", "tcp:" + "y" * 300 + ":1", "tcp::1", "ftp:x"]
    lied_to = LiedToWorker(tmp_path)
    peers = [{"id": 1 + i, "address": address} for i, address in enumerate(addresses)]
    lied_to.link.send("peers", {"workers": peers})
    rows = [(100 + i, i, *TASK[2:10], i) for i in range(len(peers))]
    inputs = [(200 + i, 1 + i, 1.0) for i in range(len(peers))]
    lied_to.link.send("assign", None, {"tasks": rows, "dependencies": inputs})
    missing: set[int] = set()
    give_up = time.monotonic() + LIMIT_SECONDS
    while len(missing) < len(peers):
        message = lied_to.link.read(give_up)
        if message.type == "finished":
            missing |= {task_id for task_id, _ in message.table("missing")}
    assert missing == {200 + i for i in range(len(peers))}
    lied_to.close()
