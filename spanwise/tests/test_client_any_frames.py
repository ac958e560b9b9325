"""Whatever a scheduler, a worker or an observer says: the client takes it, or says what is wrong.

Nothing hangs, and no thread ends without a sentence for its waiting callers.
"""

from __future__ import annotations

import itertools
import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.client.entries import FINISHED, PENDING
from spanwise.client.session import Session
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.observed.questions import Questions
from spanwise.tests.drawn_frames import DrawnFrames
from spanwise.tests.processes import wait_until
from spanwise.wire import payload
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link
from spanwise.wire.peer_answers import data_items

#: Frames to each receiver in CI; more by hand: `SPANWISE_FRAMES=200000`.
FRAMES = int(os.environ.get("SPANWISE_FRAMES", "2000"))
#: Frames to one session, if it stands them.
FRAMES_EACH = 20
#: How many a receiver hears before one ends it, on average.
FRAMES_HEARD = 6
LIMIT_SECONDS = 60.0
NONE = 0xFFFFFFFF
IDS = range(4)

pytestmark = [
    pytest.mark.timeout(300 + FRAMES / 50),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
drawn = settings(
    max_examples=max(20, FRAMES // FRAMES_HEARD),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
seeds = st.integers(0, 2**63)


def link_pair(role: str) -> tuple[Link, Link]:
    """Two open ends of a link: of who dialled, and of who answers."""
    here, there = socket.socketpair()
    ends = Link(here, role, "up"), Link(there, role, "down")
    for end in ends:
        end.authenticated()
    return ends


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Errors that ended threads of this process: there must be none."""
    found: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", found.append)
    yield found
    assert not found


WORKER = {
    "id": 0,
    "address": "unix:/nowhere",
    "pid": os.getpid(),
    "threads": 1,
    "memoryLimit": 0,
    "state": "running",
}
WELCOME = {
    "clusterId": "c1",
    "name": "test",
    "logId": "l1",
    "schedulerStart": 0.0,
    "wallEpoch": 0.0,
    "workers": [WORKER],
}


class LyingScheduler:
    """A session, and the other end of its link."""

    def __init__(self) -> None:
        link, self.link = link_pair("client")
        link.welcome = dict(WELCOME)
        self.session = Session(link, bytes(32))
        with self.session.lock:
            self.entries = self.session.new_entries([f"k{i}" for i in IDS])
            for entry in self.entries:
                entry.count += 1

    def write(self, frames: list[bytes]) -> None:
        try:
            self.link._write(list(frames))
        except LinkError:
            pass  # the session has had enough

    def lives(self) -> bool:
        """Whether the session goes on; waits until it has taken what was written."""
        session = self.session
        try:
            request, answers = session.open_request("flushed")
            self.link.send("flushed", {"request": request, "logId": "l1", "seq": 1})
            session.next_answer(answers, "flush", LIMIT_SECONDS)
        except (SchedulerLost, LinkError):
            # (the link is closed a moment before the reader says so)
            wait_until("the session knows", lambda: session.dead is not None)
            return False
        session.close_request(request)
        return True

    def close(self) -> None:
        self.link.close()
        self.session.close()


def frames_to_client(chance: Random, request: int) -> DrawnFrames:
    ids = itertools.count(chance.randrange(6))
    return DrawnFrames(
        "client",
        "down",
        chance,
        {
            # One after another: so few messages name one twice.
            "id": lambda: next(ids) % 6,
            "status": lambda: chance.choice([1, 1, 2, 3, 4]),
            "inlineStart": lambda: chance.choice([0, 0, NONE]),
            "inlineLength": lambda: chance.choice([0, 5, 16, 21, 21]),
            "blob": lambda: chance.choice([-1, 0]),
            "cause": lambda: chance.choice([0, 1, NONE]),
            "request": lambda: request if chance.random() < 0.1 else 99,
            "run": lambda: request if chance.random() < 0.1 else 99,
            "pid": lambda: 2**22 + chance.randrange(9),
            "fatal": lambda: chance.random() < 0.05,
        },
        rare={"signs"},
    )


KINDS = [
    "event",
    "events",
    "report",
    "report",
    "report",
    "cluster",
    "located",
    "runResult",
    "flushed",
    "ran",
]
KINDS += ["memoryRunEnded", "problem", "unused", "closed", "welcome", "challenge", "refused"]
#: After these there is no more to be said.
LAST = {"closed", "refused"}


def check_frames(chance: Random, seen: dict[str, int]) -> None:
    scheduler = LyingScheduler()
    session = scheduler.session
    awaited = ["located", "runResult", "flushed", "events", "memoryRunEnded"]
    request, _ = session.open_request(chance.choice(awaited))
    frames = frames_to_client(chance, request)
    kind = ""
    # (few stand the longest: in one of a hundred runs of this test none did)
    for _ in range(chance.randint(1, FRAMES_EACH)):
        kind = chance.choice(KINDS if chance.random() < 0.1 else KINDS[:13])
        scheduler.write(frames.framed(kind))
        seen[kind] = seen.get(kind, 0) + 1
        if not scheduler.lives():
            break
    if session.dead is None:
        # It has stood them all: a scheduler that is right is still understood.
        value = b"".join(payload.dumps("right"))
        rows = [(i, i, 1, 0, 1.0, 0, len(value), NONE) for i in IDS]
        scheduler.link.send("report", None, {"tasks": rows}, [value])
        assert scheduler.lives()
        living = [each for each in scheduler.entries if each.id in session._by_id]
        assert [session.gather_one(each, LIMIT_SECONDS) for each in living] == ["right"] * len(
            living
        )
        assert all(each.status == FINISHED for each in living)
        seen["stood"] = seen.get("stood", 0) + 1
    else:
        assert len(session.dead) > 20 or kind == "problem"
        with pytest.raises(SchedulerLost) as told:
            session.wait_for(scheduler.entries, LIMIT_SECONDS)
            session.send("release")
            session.wait_for_workers(9, LIMIT_SECONDS)
        assert str(told.value)
        assert not any(each.status == PENDING for each in scheduler.entries)
        if "cannot be" in session.dead:
            # It names the message, unless it was none.
            named = (f'"{kind}"', "body", "header", "No message")
            assert any(each in session.dead for each in named)
            seen["refused"] = seen.get("refused", 0) + 1
            session._reader.join(LIMIT_SECONDS)
            assert session._link.closed and not session._reader.is_alive()
    for each in scheduler.entries:
        if each.inline is not None and each.status == FINISHED:
            try:
                session.gather_one(each, LIMIT_SECONDS)
            except ClusterError as error:
                assert "did not come whole" in str(error)
            except Exception as error:  # noqa: BLE001 (whatever a pickle raises that is none)
                assert not isinstance(error, (LinkError, LookupError, AssertionError))
    scheduler.close()
    for thread in (session._reader, session._releaser):
        thread.join(LIMIT_SECONDS)
        assert not thread.is_alive()


def test_a_client_stands_any_frame_of_a_scheduler(failures: list[Any]) -> None:
    seen: dict[str, int] = {}

    @drawn
    @given(seeds)
    def run(seed: int) -> None:
        check_frames(Random(seed), seen)
        assert not failures

    run()
    print(seen)
    assert seen["stood"] > 0 and seen["refused"] > 0


@pytest.mark.parametrize(
    ("kind", "fields", "tables", "blobs", "names"),
    [
        ("report", {}, [(0, 0, 9, 0, 1.0, NONE, NONE, NONE)], [], "tasks.status: 9"),
        ("report", {}, [(0, 0, 1, 0, -1.0, NONE, NONE, NONE)], [], "tasks.nbytes: -1"),
        ("report", {}, [(0, 0, 1, 0, 1.0, 0, 50, NONE)], [b"abc"], "tasks.inlineLength: 50"),
        (
            "report",
            {"errors": [{"cause": 0, "key": "", "type": "", "message": "", "text": "", "blob": 3}]},
            [],
            [],
            "errors.blob: blob 3 of 0",
        ),
        ("cluster", {"state": "running", "workers": [WORKER, WORKER]}, [], [], "workers.id"),
        ("runResult", {"request": 1, "worker": 0, "ok": True}, [], [], "ok: blob 0 of 0"),
        ("located", {"request": 1}, [], [], "request: 1 is answered by"),
        ("unused", {"generation": 1, "templates": "x"}, [], [], "templates: expected a list"),
        ("cluster", {"state": "running", "workers": [{**WORKER, "pid": -1}]}, [], [], "pid"),
        ("problem", {}, [], [], "sentence is missing"),
        ("ran", {}, {"runs": [(0, 0, 0, math.inf, 1.0)]}, [], "runs.start: inf"),
        ("ran", {}, {"runs": [(0, 0, 0, 1.0, -1.0), (1, 0, 0, 1.0, -2.0)]}, [], "duration: -2"),
        ("ran", {}, {"runs": [(0, 0, 0, 1.0, math.nan)]}, [], "runs.duration: nan"),
        *(
            ("happened", {"texts": [""]}, {"runs": [run], "parts": [part]}, [], names)
            for run, part, names in (
                ((0.0, 1.0, math.nan, 1.0, 0, 0), (4, 0.0, 1.0, 0), "runs.duration: nan"),
                ((math.nan, 1.0, 1.0, 1.0, 0, 0), (4, 0.0, 1.0, 0), "runs.ident: nan"),
                ((0.0, 1.0, 1.0, 1.0, 0, 0), (4, math.nan, 1.0, 0), "parts.offset: nan"),
                ((0.0, 1.0, 1.0, 1.0, 0, 0), (4, 0.0, math.nan, 0), "parts.duration: nan"),
            )
        ),
        (
            "happened",
            {},
            {"tasks": [(0, 0, 0, 0, 0, math.nan, 0)], "keys": [(0,)]},
            [b""],
            "tasks.place: nan",
        ),
    ],
)
def test_who_waits_is_told_which_message_and_field(
    failures: list[Any], kind: str, fields: Any, tables: Any, blobs: Any, names: str
) -> None:
    scheduler = LyingScheduler()
    session = scheduler.session
    session.open_request("flushed")
    told: list[Any] = []

    def wait() -> None:
        session.wait_for(scheduler.entries, LIMIT_SECONDS)
        told.extend(entry.failure().error for entry in scheduler.entries)

    waiting = threading.Thread(target=wait)
    waiting.start()
    named = tables if isinstance(tables, dict) else {"tasks": tables}
    scheduler.link.send(kind, fields, named if tables else None, blobs)
    waiting.join(LIMIT_SECONDS)
    assert len(told) == len(IDS)
    for error in told:
        assert isinstance(error, ClusterError)
        assert f'"{kind}"' in str(error) and names in str(error)
    # The other side is told as well.
    with pytest.raises(LinkError, match=kind):
        while True:
            scheduler.link.read(time.monotonic() + LIMIT_SECONDS)
    scheduler.close()


def check_peer_frames(chance: Random, seen: dict[str, int]) -> None:
    asking, answering = link_pair("peer")
    frames = DrawnFrames(
        "peer",
        "down",
        chance,
        {
            "request": lambda: 5,
            "more": lambda: chance.random() < 0.4,
            "taskId": lambda: chance.randrange(20),
            "status": lambda: chance.choice([0, 0, 1, 2, 3]),
        },
    )
    is_together = chance.random() < 0.5
    if chance.random() < 0.1:
        # One that is right: drawn ones nearly always name memory that nobody asked for.
        answering.send("data", {"request": 5, "more": False}, {"items": [(3, 0, 1.0)]}, [b"1"])
    for _ in range(FRAMES_EACH):
        kind = "data" if chance.random() < 0.95 else chance.choice(["stored", "refused"])
        answering._write(list(frames.framed(kind)))
        seen["data"] = seen.get("data", 0) + 1
    answering.close()
    try:
        answers = data_items(asking, 5, 20, together=is_together, arrays=chance.random() < 0.5)
        items = [each for _, came in answers for each in came]
        assert all((status == 1) is (blob is None) for _, status, _, blob in items)
        seen["stood"] = seen.get("stood", 0) + 1
    except LinkError as error:
        assert str(error) and asking.closed
        seen["refused"] = seen.get("refused", 0) + 1
    asking.close()


def test_who_asks_a_worker_stands_any_answer() -> None:
    seen: dict[str, int] = {}

    @drawn
    @given(seeds)
    def run(seed: int) -> None:
        check_peer_frames(Random(seed), seen)

    run()
    print(seen)
    assert seen["stood"] > 0 and seen["refused"] > 0


class Log:
    cluster_id = "c1"
    wall_epoch = 0.0

    def wall_now(self) -> float:
        return 100.0

    def flush(self) -> int:
        return 1

    def states_by_span(self) -> dict[int, dict[str, int]] | None:
        return {0: {"memory": 1}, 1: {"waiting": 1}, 7: {"queued": 3}}


def any_value(chance: Random, depth: int = 0) -> Any:
    """Anything that a header's field can hold."""
    draw = chance.randrange(9 if depth < 3 else 6)
    if draw < 6:
        values = [None, True, 0, 1, -1, 2**53, 0.5, float("inf"), "", "compute", b"x", [0, 1]]
        return chance.choice(values)
    if draw < 8:
        return [any_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(["a", "span", "parent"]): any_value(chance, depth + 1)}


def spoilt(chance: Random, value: Any, wild: float) -> Any:
    """`value` with something in it left out, doubled or replaced."""
    if chance.random() < wild:
        return any_value(chance)
    if isinstance(value, dict):
        return {
            key: spoilt(chance, inner, wild)
            for key, inner in value.items()
            if chance.random() >= wild
        }
    if isinstance(value, list):
        return [
            spoilt(chance, inner, wild)
            for inner in value
            for _ in range(chance.choice([0, 2]) if chance.random() < wild else 1)
        ]
    return value


SPAN = {
    "span": 0,
    "client": 0,
    "id": "span-0",
    "enqueued": None,
    "submitted": 2,
    "code": ['[{"code": "f()"}]'],
    "nbytes": 8,
    "seconds": {"compute": 1.0},
    "ownReused": 0,
    "joined": 0,
    "parent": None,
    "path": ["a"],
    "origin": "user",
    "tasks": 1,
    "executions": 1,
    "running": 0,
    "failed": 0,
    "threadSeconds": 1.0,
    "cpuSeconds": None,
    "transferSeconds": 0.0,
    "idleSeconds": None,
    "ownTasks": 1,
    "ownNanoseconds": 1,
    "exact": 1,
    "inferred": 0,
    "opened": 0.0,
    "closed": None,
    "firstStart": None,
    "lastStop": None,
}
RECORDS = {
    "names": ["f", "unix:/v", "ok", "transfer", "failed", "builtins:int"],
    "spans": [["a"]],
    "run": [0, 1],
    "key": ["k", "l"],
    "function": [0, 0],
    "span": [0, 0],
    "lanes": [{"worker": "w", "address": "unix:/w", "why": "", "thread": 0, "ident": 7.0}],
    "errors": [[1, "Traceback (most recent call last):\n  File\nE: no"]],
    "marks": [[1.5, "m", 1, 0, "it was lost"], [2.5, "n", None, 0, ""]],
    "marksEnd": 3,
    "lane": [0, 0],
    "status": [2, 4],
    "type": [5, None],
    "attempt": [1, 1],
    "start": [0.0, 1.0],
    "duration": [1.0, 1.0],
    "nbytes": [8.0, 8.0],
    "parts": [1, 0],
    "partKind": [3],
    "partFrom": [1],
    "partHeld": [1],
    "partFunction": [0],
    "partSpan": [0],
    "partOffset": [0.0],
    "partDuration": [1.0],
    "next": None,
    "end": 2,
}
ANSWERS = {
    "spans": {
        "rows": [SPAN, {**SPAN, "span": 1, "parent": 0}],
        "clients": ["notebook"],
        "threads": [[0.0, 2], [1.0, 4]],
        "next": None,
    },
    "fine_metrics": {"entries": [["execute", "f", "compute", "seconds", 1.0]]},
    "task_stream": RECORDS,
}


def check_observer_frames(chance: Random, seen: dict[str, int]) -> None:
    asking, answering = link_pair("panel")
    questions = Questions(Log(), lambda: None)
    questions._link = asking
    name = chance.choice(list(ANSWERS))
    result = ANSWERS[name]
    if name == "task_stream" and chance.random() < 0.3:
        result = {**result, "next": [chance.randrange(3), chance.randrange(2)]}
    wild = chance.choice([0.0, 0.02, 0.1])
    snapshot = {"logId": "l1", "logSeq": 1, "honoured": {}}
    frames = DrawnFrames("panel", "down", chance, {"id": lambda: chance.choice([8, 9])})
    for number in range(1, FRAMES_EACH // 2):
        answer = {**snapshot, "result": spoilt(chance, result, wild)}
        answering._write(list(frames.framed(chance.choice(["tile", "clusters", "snapshot"]))))
        answering._write(list(frames.framed("snapshot", {**answer, "id": number, "seq": 1})))
        seen["frames"] = seen.get("frames", 0) + 2
    answering.send("state", {"state": "refused", "sentence": "There is no more to say."})
    try:
        answered = getattr(questions, name)()
        repr(answered)
        if name == "fine_metrics":
            answered.by_activity(), answered.by_function()
        seen["stood"] = seen.get("stood", 0) + 1
    except ClusterError as error:
        assert len(str(error)) > 10
        seen["refused"] = seen.get("refused", 0) + 1
    questions.close()
    asking.close()
    answering.close()


def test_who_asks_an_observer_stands_any_answer() -> None:
    seen: dict[str, int] = {}

    @drawn
    @given(seeds)
    def run(seed: int) -> None:
        check_observer_frames(Random(seed), seen)

    run()
    print(seen)
    assert seen["stood"] > 0 and seen["refused"] > 0
