"""Every message at a worker's peer door is answered or refused, and the worker goes on."""

from __future__ import annotations

import os
import random
import struct
from operator import add
from pathlib import Path
from typing import Any

import msgpack
import psutil
import pytest

from spanwise.records.enumerations import RUN_OK
from spanwise.tests.fake_scheduler import FakeScheduler, task
from spanwise.wire import payload
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link
from spanwise.worker import door

#: Frames in CI; more by hand: `SPANWISE_FRAMES=200000 pytest test_any_frames.py`.
FRAMES = int(os.environ.get("SPANWISE_FRAMES", "3000"))
pytestmark = pytest.mark.timeout(300 + FRAMES / 100)
SEED = int(os.environ.get("SPANWISE_SEED", random.SystemRandom().randrange(2**31)))
EDGES = [0, 1, 2, 7, 255, 65_535, 2**31, 2**32 - 2, 2**32 - 1]
LENGTHS = [0.0, 1.0, -1.0, 0.5, 1e300, float("nan"), float("inf"), 2.0**32]


def draw_payload(chance: random.Random) -> bytes:
    """A payload whose counts and lengths are anything; its pickle is one or cut short."""
    whole = b"".join(bytes(part) for part in payload.dumps([1, "two", b"three" * 20]))
    draw = chance.random()
    if draw < 0.3:
        return whole
    if draw < 0.5:
        return whole[: chance.randrange(len(whole))]
    changed = bytearray(whole)
    if draw < 0.7:
        struct.pack_into("<I", changed, 0, chance.choice(EDGES))
    else:
        struct.pack_into("<d", changed, 8, chance.choice(LENGTHS))
    return bytes(changed)


def draw_body(chance: random.Random) -> bytes:
    """A body of the peer link: fields, rows and lengths that fit or do not."""
    kind = chance.choice(["get", "get", "put", "put", "got", "hello", "proof", "nothing"])
    rows = chance.choice([0, 1, 2, 5])
    blobs = [draw_payload(chance) for _ in range(rows if kind == "put" else 0)]
    request: Any = chance.choice([*EDGES, -1, 2**63, 1.5, "x", None, [[]], {}])
    if chance.random() < 0.7:
        request = chance.choice(EDGES)
    if chance.random() < 0.1:
        blobs = blobs[1:]
    fields = {"request": request}
    counts = [rows if chance.random() < 0.9 else chance.choice(EDGES)]
    done: list[int] = []
    if kind == "get":  # of segments that the caller does not have
        if chance.random() < 0.3:
            fields["share"] = chance.choice([0, 1, 64, *EDGES])
        if chance.random() < 0.3:
            fields["direct"] = chance.choice([True, False, 2, "x"])
        done = [chance.choice(EDGES)] * chance.choice([0, 0, 1, 3])
        counts.append(len(done) if chance.random() < 0.97 else chance.choice(EDGES))
    shared: list[tuple[int, float]] = []
    if kind == "got":
        counts = []
    if kind == "put":  # in memory that has not come
        if chance.random() < 0.2:
            shared = [(chance.choice(EDGES), chance.choice(LENGTHS))] * chance.choice([1, 3])
        counts.append(len(shared) if chance.random() < 0.97 else chance.choice(EDGES))
    header = {
        "t": kind,
        "f": fields,
        "r": counts,
        "b": [len(blob) if chance.random() < 0.97 else chance.choice(EDGES) for blob in blobs],
    }
    packed = msgpack.packb(header)
    body = struct.pack("<I", len(packed)) + packed
    ids = [chance.randrange(4) if chance.random() < 0.7 else chance.choice(EDGES)] * rows
    columns = [struct.pack(f"<{rows}I", *ids), struct.pack(f"<{len(done)}I", *done)]
    if shared:
        rows_of = struct.pack(f"<{len(shared)}I", *(item for item, _ in shared))
        columns.append(
            rows_of
            + bytes(-len(rows_of) % 8)
            + struct.pack(f"<{len(shared)}d", *(nbytes for _, nbytes in shared))
        )
    for section in [*columns, *blobs]:
        if section:
            body += bytes(-len(body) % 8) + section
    if chance.random() < 0.03:
        body = body[: chance.randrange(len(body))]
    return body


def wait_for_no_adoption() -> None:
    """In the worker: data that nobody adopts is there all the time, and many ask in vain."""
    door.ADOPTION_SECONDS = 0.001


def test_a_worker_stands_any_frame_of_a_peer(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    with FakeScheduler(tmp_path) as scheduler:
        worker = scheduler.start_worker(threads=1)
        worker.assign([task(1, add, (1, 2))])
        worker.task_run(1)
        worker.call(wait_for_no_adoption)
        process = psutil.Process(worker.call(os.getpid))
        before = process.memory_info().rss
        link: Link | None = None
        answered = refused = 0
        for _ in range(FRAMES):
            link = link or worker.peer()
            body = draw_body(chance)
            try:
                # Past the encoder, which would not write it.
                link._write([struct.pack("<I", len(body)), body])
                # An answer to a harmless question shows that the messages before it
                # were taken.
                link.send("get", {"request": 77}, {"ids": [(1,)]})
                while link.read(answer_seconds=60).fields.get("request") != 77:
                    pass
                answered += 1
            except LinkError as error:
                assert str(error), f"seed {SEED}"
                refused += 1
                link.close()
                link = None
        assert answered > FRAMES / 10 and refused > FRAMES / 10, f"seed {SEED}"
        if link is not None:
            link.close()
        assert worker.get([1]) == {1: 3}
        worker.assign([task(2, add, (3, 4))])
        assert worker.task_run(2).status == RUN_OK
        assert process.is_running() and process.memory_info().rss - before < 100e6
