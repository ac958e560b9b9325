"""Data of clients in shared memory, results that are read where they lie, and the figures."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise import Client
from spanwise.client.parcel import Parcel
from spanwise.client.peers import Peers
from spanwise.client.session import Session
from spanwise.errors import ClusterError
from spanwise.measure.memory import give_back_free_memory
from spanwise.processes.process_state import lives
from spanwise.tests.descriptors import without_descriptors
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until
from spanwise.tests.test_pressure import STALL_SECONDS, in_one_round
from spanwise.tests.test_segments import MIB, array, held, lend, maps, release
from spanwise.tests.test_spill import Kept
from spanwise.wire import direct, payload, raw_memory, segments
from spanwise.wire.direct import Direct
from spanwise.wire.errors import BrokenFrame, LinkError
from spanwise.wire.frame import Message
from spanwise.wire.link import Link
from spanwise.wire.peer_answers import await_stored, data_items, put_in_segments
from spanwise.worker import door, fetch
from spanwise.worker.door import Server

pytestmark = pytest.mark.skipif(not segments.IS_POSSIBLE, reason="Linux's memfd")


@pytest.fixture(autouse=True)
def _clients_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients ask for all results at doors; `test_signs` has those that they do not ask for."""
    monkeypatch.setattr(Peers, "look", lambda *_: None)


@pytest.fixture(scope="module", autouse=True)
def _only_its_own_segments() -> None:
    """Segments are counted here, also those that uncollected objects of other modules see.

    Each count looks for garbage, a hundred times: not among what other modules have left for good,
    which takes 0.1 s of a core each time.
    """
    gc.collect()
    gc.freeze()


# ── a client's memory on its way ──────────────────────────────────────────


def put(link: Link, shared: list[tuple[int, float]], count: int) -> None:
    descriptor = segments.create(4096)
    try:
        link.send(
            "put",
            {"request": 1},
            {"items": [(1,), (2,)], "shared": shared},
            [b"", b""],
            [descriptor] * count,
        )
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    "shared", [[(2, 9.0)], [(0, 9.0), (0, 9.0)], [(0, 0.0)], [(0, 1e300)], [(0, 9.0), (1, 9.0)]]
)
def test_what_does_not_fit_its_items_is_refused(
    ends: tuple[Link, Link], shared: list[tuple[int, float]]
) -> None:
    down, up = ends
    before = held()
    put(up, shared, 1)
    with pytest.raises(BrokenFrame, match="shared"):
        put_in_segments(down, down.read())
    down.close()
    assert held() == before


def test_descriptors_that_no_message_names_are_bounded(ends: tuple[Link, Link]) -> None:
    down, up = ends
    before = held()
    with pytest.raises(BrokenFrame, match="no message names"):
        for _ in range(10):
            put(up, [], 50)
            down.read()
    assert held() == before


def test_only_what_was_lent_is_asked_for_again(ends: tuple[Link, Link]) -> None:
    down, up = ends
    down.send("stored", {"request": 1}, {"again": [(1,)]})
    assert await_stored(up, 1, [0, 1]) == [1]
    down.send("stored", {"request": 2}, {"again": [(1,)]})
    with pytest.raises(BrokenFrame, match="again"):
        await_stored(up, 2, [0])


def test_who_is_interrupted_closes_what_was_to_be_lent(
    ends: tuple[Link, Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = Peers(b"")
    ends[1].welcome = {"share": 1}
    before = held()
    parcels = [Parcel([bytes(9)]) for _ in range(3)]
    lend = Parcel.lend
    lends = iter([lend, lend])

    def interrupted(self: Parcel) -> int:
        found = next(lends, None)
        if found is None:
            raise KeyboardInterrupt
        return found(self)

    monkeypatch.setattr(Parcel, "lend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        peers._lent(ends[1], list(enumerate(parcels)), 0)
    for parcel in parcels:
        parcel.close()
    assert held() == before


def test_descriptors_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was looked at all of them for every 64: twice as many took four times as long."""
    looked = 0

    def is_shared(self: Parcel) -> bool:
        nonlocal looked
        looked += 1
        return False

    monkeypatch.setattr(Parcel, "is_shared", property(is_shared))
    peers = Peers(b"")
    link = SimpleNamespace(welcome={"share": 0}, can_share=False)
    monkeypatch.setattr(peers, "_open", lambda *_: link)
    monkeypatch.setattr(peers, "_put", lambda *_: [])
    counts = []
    for count in (1000, 2000):
        looked = 0
        peers.put("address", [(i, Parcel([b"x"])) for i in range(count)])
        counts.append(looked)
    assert counts[1] <= 2 * counts[0]


def test_a_parcel_is_written_once_and_let_go_of() -> None:
    before = held()
    parcel = Parcel(payload.dumps(array(2, 5.0)))
    for _ in range(2):
        descriptor = parcel.lend()
        assert (payload.loads(segments.read(descriptor, parcel.nbytes)) == 5.0).all()
        os.close(descriptor)
    assert held() == before + 1
    parcel.close()
    assert held() == before and not parcel.is_shared


# ── what lies in a segment ────────────────────────────────────────────────


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path, 0)
    yield made
    made.worker.table.release(list(made.worker.table.values))
    made.worker.table.dropped.clear()
    made.worker.segments.settle()
    made.worker.segments.give_up(float("inf"))


def borrow(kept: Kept, task_id: int, value: Any) -> None:
    """Keep a value as if a peer had lent it."""
    content = payload.dumps(value)
    parcel = Parcel(content)
    lent = segments.Lent(parcel.lend(), 1, parcel.nbytes)
    segment, view = kept.worker.segments.borrow(kept.worker, lent, None)
    opened = payload.loads(view)
    del view
    kept.keep(task_id, opened)
    kept.worker.segments.keep(kept.worker, task_id, opened, segment)


def test_a_value_that_unpickling_has_copied_is_not_lent_on(kept: Kept) -> None:
    """Its segment is closed, and the number of its descriptor may be another file's."""
    kept.keep(1, None)
    borrow(kept, 1, b"x" * 2 * MIB)
    worker = kept.worker
    assert worker.segments.kept(worker, 1, worker.table.values[1]) is None
    assert worker.managed == worker.table.managed, "it is this process's memory"
    borrow(kept, 2, array(2))
    segment = worker.segments.kept(worker, 2, worker.table.values[2])
    assert segment is not None
    worker.segments.returned([segment.number])


def test_a_block_of_ones_is_not_read_from_a_segment_of_twos(kept: Kept) -> None:
    """
    So sums of `x + x.T` were too large by one or two blocks, `x` being ``dask.array.ones``: one
    number spread over a block, which is pickled whole. Opened, it lies in memory of its own. Who
    was the last to have a block, once another worker had died, lent it on by the number of the
    closed descriptor, which had become that of a block of the sum: 3 or 4 in place of 2.
    """
    kept.keep(1, None)
    borrow(kept, 1, np.broadcast_to(np.ones((1, 1)), (500, 500)))
    worker = kept.worker
    worker.segments.settle()
    closed = worker.table.shared[1].descriptor
    os.dup2(0, closed)  # (before somebody else has the number)
    kept.keep(2, np.full((500, 500), 2.0))
    twos = lend(kept, 2)
    assert twos is not None
    os.dup2(twos.descriptor, closed)
    found = lend(kept, 1)
    assert found is not None
    seen = payload.loads(segments.read(found.descriptor, found.nbytes))
    os.close(closed)
    assert seen.sum() == 500 * 500
    worker.segments.lost([each.number for each in (twos, found)])


def test_what_was_closed_before_it_could_be_sent_is_not_sent(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may be stopped for seconds between the two, and its results be released."""
    segments_here = kept.worker.segments
    kept.keep(1, array(2, 1.0))
    segment = lend(kept, 1)
    assert segment is not None
    release(kept, 1)
    monkeypatch.setattr("spanwise.worker.segments.FREE_SECONDS", 0.0)
    segments_here.look()
    kept.keep(2, array(2, 2.0))
    another = lend(kept, 2)
    assert another is not None and another.descriptor == segment.descriptor
    assert segments_here.descriptor(kept.worker, segment) is None
    assert not segments_here.refusal, "others are shared as before"
    segments_here.returned([another.number])


def test_what_cannot_be_written_leaves_no_segment(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: Any) -> None:
        raise MemoryError

    before = held()
    monkeypatch.setattr(segments, "fill", fill)
    kept.keep(1, array(2))
    with pytest.raises(MemoryError):
        lend(kept, 1)
    assert held() == before


def test_data_is_copied_where_there_is_no_room(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.worker.segments, "_most", 0)
    before = held()
    parcel = Parcel(payload.dumps(array(2, 6.0)))
    lent = segments.Lent(parcel.lend(), 1, parcel.nbytes)
    segment, content = kept.worker.segments.take_in(kept.worker, lent)
    assert segment is None and (payload.loads(content) == 6.0).all()
    parcel.close()
    assert held() <= before
    with pytest.raises(OSError):
        kept.worker.segments.take_in(kept.worker, segments.Lent(-1, 1, 9))


# ── what is read where it lies ────────────────────────────────────────────

reads = pytest.mark.skipif(not direct.IS_POSSIBLE, reason="Linux's process_vm_readv")


@reads
@settings(max_examples=40)
@given(st.lists(st.binary(max_size=200) | st.integers(60_000, 200_000), max_size=12))
def test_a_payload_is_the_same_when_it_is_read(drawn: list[bytes | int]) -> None:
    buffers = [each if isinstance(each, bytes) else os.urandom(each) for each in drawn]
    small, pieces = direct.split(buffers)
    assert len(pieces) == sum(len(each) >= direct.PIECE_BYTES for each in buffers)
    there = Direct(os.getpid(), memoryview(b"".join(small)), pieces, lambda: True)
    assert there.nbytes == sum(map(len, buffers))
    assert there.read() == b"".join(buffers)


@reads
def test_two_threads_read_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_memory, "SHARED_BYTES", 2**16)
    monkeypatch.setattr(raw_memory, "CALL_BYTES", 2**12 + 8)
    value = np.arange(MIB)
    small, pieces = direct.split(payload.dumps(value))
    blob = memoryview(b"".join(small))
    read = payload.loads(Direct(os.getpid(), blob, pieces, lambda: True).read())
    assert (read == value).all() and read.flags.writeable
    # What is not there is an error, in whichever thread.
    with pytest.raises(OSError):
        Direct(os.getpid(), blob, [(0, 4096, 8 * MIB)], lambda: True).read()


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 0, 0.0, 9.0)],
        [(0, 0, -1.0, 9.0)],
        [(0, 0, 2.0**60, 9.0)],
        [(0, 0, 4096.0, 0.0)],
        [(0, 0, 4096.0, float("nan"))],
        [(0, 0, float("inf"), 9.0)],
        [(0, 4, 4096.0, 9.0), (0, 4, 4096.0, 9.0)],
        [(1, 0, 4096.0, 9.0)],
        [(0, 0, 4096.0, 9.0), (2, 0, 4096.0, 9.0)],
    ],
)
def test_pieces_that_do_not_fit_are_refused(ends: tuple[Link, Link], rows: list[Any]) -> None:
    down, up = ends
    items = [(7, 0, 1.0), (8, 1, 0.0)]
    down.send("data", {"request": 1}, {"items": items, "direct": rows}, [b"abcdef"])
    with pytest.raises(BrokenFrame, match="direct"):
        list(data_items(up, 1, 2, direct=True))


@reads
def test_who_is_interrupted_leaves_no_thread_that_writes_into_free_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(raw_memory, "SHARED_BYTES", 2**16)
    monkeypatch.setattr(raw_memory, "CALL_BYTES", 2**16)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    rooms: list[weakref.ref[memoryview]] = []
    helper: list[threading.Thread] = []
    copied: list[str] = []
    begun, go_on = threading.Event(), threading.Event()
    room, join = direct.room, threading.Thread.join

    def made(nbytes: int, start: int) -> memoryview:
        memory = room(nbytes, start)
        rooms.append(weakref.ref(memory))
        return memory

    def copy(*_: Any) -> None:
        name = threading.current_thread().name
        copied.append(name)
        if name == "spanwise-copy":
            helper.append(threading.current_thread())
            begun.set()
            assert go_on.wait(60)
        else:
            assert begun.wait(60)

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        if thread.name == "spanwise-copy":
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(direct, "room", made)
    monkeypatch.setattr(direct, "_copy", copy)
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    buffers = [bytes(2**18)]
    _, pieces = direct.split(buffers)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            Direct(os.getpid(), memoryview(b""), pieces, lambda: True).read()
        del caught
        gc.collect()
        assert rooms[0]() is not None, "the helper is still at a piece"
    finally:
        go_on.set()
        join(helper[0], 60)
    assert copied.count("spanwise-copy") == 1
    wait_until("the memory is free", lambda: rooms[0]() is None)


@reads
def test_an_interrupted_helper_takes_no_further_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_memory, "SHARED_BYTES", 2**16)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    errors: list[threading.Thread] = []
    begun, go_on = threading.Event(), threading.Event()
    copied = 0

    def copy(*_: Any) -> None:
        nonlocal copied
        copied += 1
        errors.append(threading.current_thread())
        begun.set()
        assert go_on.wait(60)

    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "spanwise-copy":
            assert begun.wait(60)
            raise KeyboardInterrupt

    monkeypatch.setattr(direct, "_copy", copy)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    pieces = [(0, 4096, 2**20)] * 5
    with pytest.raises(KeyboardInterrupt):
        Direct(os.getpid(), memoryview(b""), pieces, lambda: True).read()
    go_on.set()
    errors[0].join(60)
    assert copied == 1


def test_what_was_not_asked_for_is_refused(ends: tuple[Link, Link]) -> None:
    down, up = ends
    rows = [(0, 0, 4096.0, 9.0)]
    down.send("data", {"request": 1}, {"items": [(7, 0, 1.0)], "direct": rows}, [b""])
    with pytest.raises(BrokenFrame, match="nobody has asked"):
        list(data_items(up, 1, 1))


@reads
def test_memory_is_read_only_of_who_has_shown_that_it_is_its(
    kept: Kept, ends: tuple[Link, Link]
) -> None:
    """Who listens may pass on what another process says."""
    _, up = ends
    welcome = Server(kept.worker).welcome("peer", {})
    # (the bytes of its own are gone with the server, or changed, or elsewhere)
    server = Server(kept.worker)
    told = server.welcome("peer", {})
    found = []
    for each in (told, {}, told | {"proof": welcome["proof"]}, told | {"proofAt": 4096}):
        up._peer = None
        up.welcome = each
        found.append(up.peer)
    assert found == [os.getpid(), 0, 0, 0]


# ── who holds what is read ────────────────────────────────────────────────


@pytest.fixture
def served(kept: Kept, ends: tuple[Link, Link]) -> Iterator[Link]:
    """A caller's end, of which the other is served."""
    down, up = ends
    server = Server(kept.worker)
    up.welcome = server.welcome("peer", {})
    serving = threading.Thread(target=server.serve, args=(down,))
    serving.start()
    yield up
    up.close()
    serving.join(60)


def ask(link: Link, request: int, ids: list[int]) -> Iterator[list[Any]]:
    fields = {"request": request, "share": 0, "direct": True}
    link.send("get", fields, {"ids": [(each,) for each in ids], "done": []})
    for _, items in data_items(link, request, len(ids), direct=True):
        yield items


@reads
def test_each_frame_is_kept_until_it_has_been_read(
    kept: Kept, served: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "FRAME_BYTES", MIB)
    alive = []
    for i in range(3):
        value = array(2, float(i))
        alive.append(weakref.ref(value))
        kept.keep(i, value)
        del value
    frames = ask(served, 1, [0, 1, 2])
    for i in range(3):
        [(task_id, _, _, content)] = next(frames)
        assert task_id == i and isinstance(content, Direct)
        kept.worker.table.release([i])
        kept.worker.table.dropped.clear()
        assert alive[i]() is not None
        assert (payload.loads(content.read()) == i).all()
        served.send("got", {"request": 1})
        wait_until("the one before is free", lambda i=i: alive[i]() is None)
        assert all(each() is not None for each in alive[i + 1 :])
    assert next(frames) == []


@reads
def test_what_would_be_kept_twice_is_sent(
    kept: Kept, ends: tuple[Link, Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pickles in band, and many small arrays: their holder keeps nothing for who asked."""
    kept.keep(1, [f"{i:01000}" for i in range(2000)])
    kept.keep(2, [np.zeros(4096) for _ in range(100)])
    down, up = ends
    message = Message(
        "get",
        {"request": 1, "share": 0, "direct": True, "together": False},
        {"ids": [(1,), (2,)], "done": []},  # type: ignore[dict-item]
        [],
    )
    read_there: list[Any] = []
    asking = threading.Thread(
        target=Server(kept.worker)._get, args=(down, message, Counter(), read_there)
    )
    asking.start()
    found = [item for _, items in data_items(up, 1, 2, direct=True) for item in items]
    asking.join(60)
    assert not read_there
    assert all(isinstance(content, memoryview) for *_, content in found)


def test_who_says_something_else_than_got_is_refused(kept: Kept, served: Link) -> None:
    if not direct.IS_POSSIBLE:
        pytest.skip("Linux's process_vm_readv")
    for i in range(2):
        kept.keep(i, array(40, 1.0))
    frames = ask(served, 1, [0, 1])
    next(frames)
    served.send("got", {"request": 2})
    with pytest.raises(LinkError, match="got"):
        next(frames)


def test_a_link_whose_other_side_has_closed_is_not_used_again(ends: tuple[Link, Link]) -> None:
    down, up = ends
    assert up.is_there()
    down.close()
    assert not up.is_there() and up.closed


# ── a cluster ─────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def three() -> Iterator[Client]:
    with Client(n_workers=3, threads_per_worker=1) as made:
        yield made


def total(value: Any) -> float:
    return float(value.sum())


def write(value: Any) -> None:
    value[0] = -1.0


def figures(dask_worker: Any) -> tuple[float, float, float, float]:
    """What the process takes, its results, its shared memory, and its share as Linux sees it.

    Without what is free in it: imports leave some 10 MiB, which go back when nothing runs.
    """
    worker = dask_worker._worker
    worker.segments.look()
    gc.collect()
    give_back_free_memory()
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    # (of files only what is shared memory: the rest are libraries)
    pss = {line.split(":")[0]: float(line.split()[1]) * 1024 for line in lines[1:]}
    shared = worker.segments.counted_bytes()
    return worker.process_bytes(), worker.managed, shared, pss["Pss_Anon"] + pss["Pss_Shmem"]


def sums(client: Client) -> np.ndarray[Any, Any]:
    """The same, of all workers."""
    return np.array(list(client.run(figures).values())).sum(axis=0)


@pytest.mark.parametrize("comes", ["from the client", "from a worker"])
def test_each_figure_counts_shared_memory_once(three: Client, comes: str) -> None:
    wait_until("nothing is shared", lambda: sums(three)[2] == 0)
    # What these functions import takes 30 MiB of each worker, wherever they come from.
    for each in (array, total, maps):
        three.run(type, each)
    before, here = sums(three), held() + maps()
    if comes == "from the client":
        x = three.scatter(array(64, 3.0), broadcast=True)
        assert held() + maps() == here, "the client keeps none of it"
    else:
        x = three.submit(array, 64, 3.0, workers=[0])
    ends = [three.submit(total, x, workers=[i], pure=False) for i in range(3)]
    assert three.gather(ends) == [3.0 * 8 * MIB] * 3
    assert list(three.run(maps).values()) == [1] * 3
    process, managed, shared, pss = (sums(three) - before) / MIB
    assert 64 <= managed < 66 and 64 <= shared < 66
    # All that differs is what threads and functions of this test take besides.
    assert 60 < process < 100 and 60 < pss < 100 and abs(process - pss) < 16
    three.gather(three.submit(write, x, workers=[1], pure=False))
    assert three.submit(total, x, workers=[2], pure=False).result() == 3.0 * 8 * MIB
    assert x.result()[0] == 3.0
    del x, ends
    wait_until("the memory is gone", lambda: not any(three.run(maps).values()))


def test_many_large_values_go_to_their_workers(three: Client) -> None:
    before = held()
    values = [array(1, float(i)) for i in range(70)]
    futures = three.scatter(values, workers=[0, 1], hash=False)
    assert held() == before
    assert sum(three.run(maps).values()) == 70
    assert [each[0] for each in three.gather(futures)] == list(range(70))
    del futures
    wait_until("the memory is gone", lambda: not any(three.run(maps).values()))


def refuse(does: bool, dask_worker: Any) -> None:
    """Have a worker be without descriptors, as far as it sees."""

    def none_is_left(*args: Any) -> Any:
        raise OSError(24, "Too many open files")

    segments_here = dask_worker._worker.segments
    if does:
        segments_here.take_in = none_is_left
    else:
        del segments_here.take_in


def test_data_goes_through_the_socket_where_it_cannot_be_shared(three: Client) -> None:
    three.run(refuse, True)
    before = held()
    x = three.scatter(array(2, 4.0), broadcast=True)
    three.run(refuse, False)
    assert not any(three.run(maps).values()) and held() == before
    assert three.submit(total, x).result() == 4.0 * 2 * MIB / 8
    peers = three._session.peers
    with without_descriptors(), pytest.warns(RuntimeWarning, match="are copied"):
        y = three.scatter(array(2, 5.0))
    assert peers._alone_until and not any(three.run(maps).values())
    peers._alone_until = 0.0
    assert three.submit(total, y).result() == 5.0 * 2 * MIB / 8


def shared_here(dask_worker: Any) -> int:
    dask_worker._worker.segments.settle()
    return len(dask_worker._worker.segments._all)


def twice(value: Any) -> Any:
    return np.concatenate([value, value])


def shown() -> tuple[int, int, str]:
    """In a worker: its process, and where which bytes lie in its memory."""
    proof = fetch.proof = os.urandom(direct.PROOF_BYTES)  # type: ignore[attr-defined]
    return os.getpid(), raw_memory.address_of(proof), proof.hex()


@pytest.fixture
def three_that_read(three: Client) -> Client:
    """The same; skips where Linux does not let the processes look at each other."""
    told = three.submit(shown, workers=[0], pure=False).result()
    if not direct.shows(*told):
        pytest.skip("this process may not read its workers' memory")
    if not three.submit(direct.shows, *told, workers=[1], pure=False).result():
        pytest.skip("workers may not read each other's memory")
    return three


@reads
def test_what_one_asks_for_is_read_where_it_lies(three_that_read: Client) -> None:
    three = three_that_read
    wait_until("nothing is shared", lambda: not any(three.run(shared_here).values()))
    before = maps()
    x = three.submit(array, 16, 3.0, workers=[0])
    value = x.result()
    assert (value == 3.0).all() and value.flags.writeable and maps() == before
    value[0] = 1.0
    assert x.result()[0] == 3.0
    # Nobody but the next task wants what the first two make.
    graph = {("a", i): (array, 8, float(i)) for i in range(6)}
    ends = {("b", i): (np.add, ("a", i), ("a", (i + 1) % 6)) for i in range(6)}
    found = three.get(graph | ends | {"end": (twice, ("b", 3))}, ["end", ("b", 2)])
    assert (found[0] == 7.0).all() and (found[1] == 5.0).all()
    assert sum(three.run(shared_here).values()) == 0
    # What a client holds, workers see in one memory.
    three.submit(total, x, workers=[1], pure=False).result()
    assert sorted(three.run(shared_here).values()) == [0, 1, 1]


@reads
def test_a_result_stays_until_it_has_been_read(
    three_that_read: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    three = three_that_read
    x = three.submit(array, 64, 6.0, pure=False)
    read = Direct.read

    def late(self: Direct) -> memoryview:
        x.release()
        wait_until("it is released", lambda: not any(three.has_what().values()))
        spanwise.wait(three.submit(array, 64, 7.0, pure=False))
        return read(self)

    monkeypatch.setattr(Direct, "read", late)
    entry = x._alive()
    value = three._session.gather_one(entry)
    assert (value == 6.0).all()


class Slow:
    """Takes longer to open than its holder waits for a sign."""

    def __init__(self) -> None:
        self.value = array(4, 1.0)

    def __setstate__(self, state: Any) -> None:
        time.sleep(2)
        self.__dict__.update(state)

    def total(self) -> float:
        return float(self.value.sum())


def small() -> Any:
    return [np.zeros(4096) for _ in range(100)]


def wait_less(seconds: float, dask_worker: Any) -> None:
    """Wait so long for who reads; count peers that cannot be reached; share nothing wanted."""
    door.STALL_SECONDS = seconds
    dask_worker._worker.table.wanted.clear()
    if not hasattr(fetch.Fetching, "broken"):

        def broke(self: Any, peer: int, error: BaseException) -> None:
            fetch.Fetching.broken += 1  # type: ignore[attr-defined]

        fetch.Fetching.broke = broke  # type: ignore[method-assign]
    fetch.Fetching.broken = 0  # type: ignore[attr-defined]


def broken(dask_worker: Any) -> int:
    return fetch.Fetching.broken  # type: ignore[attr-defined, no-any-return]


@reads
def test_links_outlive_what_goes_over_them(three_that_read: Client) -> None:
    """Their holder closed them where nothing was read, or opening it took long."""
    try:
        in_one_round(lambda: use_links(three_that_read))
    finally:
        three_that_read.run(wait_less, 60.0)


def use_links(three: Client) -> None:
    x, y = (three.submit(each, workers=[0], pure=False) for each in (small, Slow))
    z = three.submit(array, 4, 1.0, workers=[2], pure=False)
    spanwise.wait([x, y, z])
    three.run(wait_less, STALL_SECONDS)
    assert len(x.result()) == three.submit(len, x, workers=[1], pure=False).result() == 100
    send = Link.send
    with pytest.MonkeyPatch.context() as patch:  # a holder that does close it
        patch.setattr(Link, "send", lambda self, kind, *a: kind == "got" or send(self, kind, *a))
        assert (z.result() == 1.0).all()
    # (takes two seconds)
    assert three.submit(Slow.total, y, workers=[2], pure=False).result() == 4.0 * MIB / 8
    for number in (0, 2):
        assert three.scatter(1, workers=[number], hash=False).result() == 1
    x = three.submit(small, workers=[0], pure=False)
    assert three.submit(len, x, workers=[1], pure=False).result() == 100
    assert not any(three.run(broken).values())


def send_short_frames(nbytes: int) -> None:
    door.FRAME_BYTES = nbytes


@reads
def test_a_client_says_after_each_frame_that_it_has_read_it(
    three_that_read: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once after all of them was too late: the holder's time ran over the whole answer."""
    three = three_that_read
    three.run(send_short_frames, MIB)
    futures = [three.submit(array, 2, float(i), workers=[0], pure=False) for i in range(3)]
    spanwise.wait(futures)
    said: list[str] = []
    send = Link.send

    def noted(self: Link, kind: str, *rest: Any) -> None:
        if kind in ("get", "got"):
            said.append(kind)
        send(self, kind, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Link, "send", noted)
        assert [each[0] for each in three.gather(futures)] == [0.0, 1.0, 2.0]
    assert said == ["get", "got", "got", "got"]
    three.run(send_short_frames, 32 * MIB)


@reads
def test_where_linux_forbids_it_results_come_in_another_way(
    three_that_read: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def forbid(pid: int, *args: Any) -> None:
        tried.append(pid)
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(direct, "_copy", forbid)
    three = three_that_read
    before = maps()
    x = three.submit(array, 4, 8.0, workers=[0], pure=False)
    for _ in range(2):
        assert (x.result() == 8.0).all()
    assert len(tried) == 1 and maps() <= before + 1
    three._session.peers.close()


@reads
def test_a_holder_that_is_killed_meanwhile_has_it_made_again(
    three_that_read: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Direct.read
    killed: list[int] = []

    def kill(self: Direct) -> memoryview:
        if not killed:
            killed.append(self._pid)
            os.kill(self._pid, signal.SIGKILL)
            wait_until("it is gone", lambda: not Path(f"/proc/{self._pid}/exe").exists())
        return read(self)

    monkeypatch.setattr(Direct, "read", kill)
    three = three_that_read
    x = three.submit(array, 16, 9.0, pure=False)
    assert (x.result() == 9.0).all() and killed


# ── what is left of a scatter ─────────────────────────────────────────────


def kill_amid(scheduler: psutil.Process, patch: pytest.MonkeyPatch, moment: str) -> None:
    """Have a scatter kill the scheduler at a moment of its own.

    `opened`: before anything is sent; `lent`: as descriptors are on their way; `stored`: after
    the first worker has its part; `announced`: once all workers have theirs.
    """
    lent, put, send = Peers._lent, Peers.put, Session.send

    def kill() -> None:
        # (each worker's part has a thread, and another one may have done it already)
        with suppress(psutil.NoSuchProcess):
            scheduler.kill()
        wait_until("it is gone", lambda: not lives(scheduler.pid))

    def killed_first(self: Any, address: str, items: Any) -> None:
        if moment == "opened":
            kill()
        put(self, address, items)
        if moment == "stored":
            kill()

    def killed_as_it_lends(*args: Any) -> dict[int, int]:
        given = lent(*args)
        if moment == "lent":
            kill()
        return given

    def killed_before_it_is_said(self: Session, kind: str, *rest: Any) -> None:
        if kind == "scattered" and moment == "announced":
            kill()
        send(self, kind, *rest)

    patch.setattr(Peers, "put", killed_first)
    patch.setattr(Peers, "_lent", killed_as_it_lends)
    patch.setattr(Session, "send", killed_before_it_is_said)


def shared_files() -> set[str]:
    """Spanwise's own of /dev/shm: other programs have some there, too."""
    return {each.name for each in Path("/dev/shm").iterdir() if "spanwise" in each.name}


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("moment", ["opened", "lent", "stored", "announced"])
def test_nothing_is_left_of_a_scatter_whose_scheduler_is_killed(
    moment: str, broadcast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()
    known, files, before = set(marked_processes()), shared_files(), (held(), maps())
    told: list[str] = []

    def scatter(client: Client) -> None:
        values = [array(4, float(i)) for i in range(9)]
        try:
            # (what has been announced fails as soon as the loss is known)
            client.gather(client.scatter(values, broadcast=broadcast, hash=False))
        except ClusterError as error:
            told.append(str(error))

    with Client(n_workers=3, threads_per_worker=1) as client:
        folder = client._scheduler.folder
        (scheduler,) = processes_of("scheduler", known)
        with monkeypatch.context() as patch:
            kill_amid(scheduler, patch, moment)
            thread = threading.Thread(target=scatter, args=(client,))
            thread.start()
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()
        assert len(told) == 1 and "scheduler" in told[0]
        gc.collect()
        assert (held(), maps()) == before
        with pytest.raises(ClusterError, match="scheduler"):
            client.scatter(array(4))
        wait_until("its workers are gone", lambda: not processes_of("worker", known))
        gc.collect()
        assert (held(), maps()) == before
    wait_until("all have ended", lambda: not set(marked_processes()) - known)
    gc.collect()
    assert (held(), maps()) == before
    assert shared_files() == files and not folder.exists()
