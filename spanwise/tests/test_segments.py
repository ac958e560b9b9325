"""Large results in shared memory: who sees what, who counts it, and what is left when one ends."""

from __future__ import annotations

import ctypes
import errno
import gc
import mmap
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise import Client, MemorySampler
from spanwise.measure.memory import give_back_free_memory
from spanwise.tests.descriptors import without_descriptors
from spanwise.tests.processes import wait_until
from spanwise.tests.test_spill import Kept
from spanwise.wire import payload, raw_memory, segments
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.link import Link
from spanwise.wire.peer_answers import data_items
from spanwise.worker.segment import Segment

pytestmark = pytest.mark.skipif(not segments.IS_POSSIBLE, reason="Linux's memfd")

MIB = 2**20
#: Linux 6.1.
MADV_COLLAPSE = 25
#: How often huge pages are asked for that others have got.
HUGE_ROUNDS = 5


def array(mib: int, value: float = 1.0) -> Any:
    return np.full(mib * MIB // 8, value)


@pytest.fixture(scope="module", autouse=True)
def _only_its_own_garbage() -> None:
    """Each count of segments looks for garbage: not among what other modules have left for good."""
    gc.collect()
    gc.freeze()


def maps(pid: int | str = "self") -> int:
    """How many segments a process sees; here without those of objects that nobody holds."""
    if pid == "self":
        gc.collect()
    text = Path(f"/proc/{pid}/maps").read_text()
    return text.count(f"/memfd:{segments.NAME}")


def held(pid: int | str = "self") -> int:
    """How many descriptors of segments a process has; here as of :func:`maps`."""
    if pid == "self":
        gc.collect()
    count = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += f"memfd:{segments.NAME}" in str(each.readlink())
        except OSError:
            pass  # closed meanwhile
    return count


# ── the memory itself ─────────────────────────────────────────────────────


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=70), max_size=1500))
def test_buffers_lie_one_after_another(buffers: list[bytes]) -> None:
    whole = b"".join(buffers)
    descriptor = segments.create(max(1, len(whole)))
    try:
        segments.fill(descriptor, buffers)
        assert os.pread(descriptor, len(whole) + 1, 0)[: len(whole)] == whole
    finally:
        os.close(descriptor)


huge = pytest.mark.skipif(not raw_memory.huge_page_bytes(), reason="huge pages")


@pytest.fixture
def made_huge(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many bytes of huge pages the system had for us, each time that they were asked for."""
    asked: list[int] = []
    make_huge = raw_memory.make_huge

    def look(memory: memoryview) -> int:
        asked.append(make_huge(memory))
        return asked[-1]

    monkeypatch.setattr(raw_memory, "make_huge", look)
    monkeypatch.setattr(raw_memory._Refused, "until", 0.0)
    yield asked


def has_huge_pages() -> bool:
    """Whether the system has two huge pages for a file now; asked without ``make_huge``."""
    size = raw_memory.huge_page_bytes()
    library = ctypes.CDLL(None, use_errno=True)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    descriptor = os.memfd_create("probe", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, 2 * size)
        for at in (0, size):
            os.pwrite(descriptor, b"1", at)
        mapped = raw_memory.map_on_boundary(descriptor, 2 * size, mmap.MAP_SHARED)
        done: int = library.madvise(raw_memory.address_of(mapped), 2 * size, MADV_COLLAPSE)
        return done == 0
    finally:
        os.close(descriptor)


def mapped_huge(view: memoryview) -> int:
    """Bytes of a map that are entered as huge pages."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    start = f"{raw_memory.address_of(view):x}-"
    next(line for line in lines if line.startswith(start))
    found = next(line for line in lines if line.startswith("ShmemPmdMapped:"))
    return int(found.split()[1]) * 1024


@huge
def test_large_payloads_lie_in_huge_pages_and_take_no_more_memory(
    made_huge: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = raw_memory.huge_page_bytes()
    content = [b"h" * 200, np.arange(5 * size // 16).data.cast("B"), b"t" * 5000]
    nbytes = payload.nbytes(content)
    for _ in range(HUGE_ROUNDS):
        had = has_huge_pages()
        made_huge.clear()
        monkeypatch.setattr(raw_memory._Refused, "until", 0.0)
        descriptor = segments.create(nbytes + size)
        try:
            for _ in range(2):  # (the second time into what is there)
                segments.fill(descriptor, content)
                view = segments.open_private(descriptor, nbytes)
                assert view == b"".join(content)
                assert nbytes <= os.fstat(descriptor).st_blocks * 512 < nbytes + mmap.PAGESIZE
            if made_huge[0] == 2 * size:
                assert mapped_huge(view) >= size
                return
        finally:
            os.close(descriptor)
        # Memory may lie in small pieces: then there are none for others either.
        if not (had and has_huge_pages()):
            pytest.skip("the system has no huge pages for files now")
    pytest.fail(f"it got {made_huge[0]} bytes of huge pages where others get {2 * size}")


def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_memory, "SHARED_BYTES", 2**16)
    monkeypatch.setattr(raw_memory, "CALL_BYTES", 300_007)


def without_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_memory._Refused, "until", float("inf"))


def partly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_memory, "make_huge", lambda _: raw_memory.huge_page_bytes())


def without_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> memoryview:
        raise OSError(errno.ENOMEM, "no room")

    monkeypatch.setattr(raw_memory, "map_on_boundary", refused)


@huge
@pytest.mark.parametrize("way", [two_threads, partly, without_huge_pages, without_address_space])
def test_a_large_payload_is_the_same_however_it_is_written(
    way: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(0)
    size = raw_memory.huge_page_bytes()
    with monkeypatch.context() as patched:
        way(patched)
        for _ in range(6):
            lengths = [drawn.choice([1, 70_000, drawn.randrange(2 * size)]) for _ in range(9)]
            buffers = [*map(drawn.randbytes, lengths), bytes(drawn.randrange(2) * size)]
            whole = b"".join(buffers)
            descriptor = segments.create(len(whole) + drawn.randrange(2 * size))
            try:
                segments.fill(descriptor, buffers)
                assert os.pread(descriptor, len(whole), 0) == whole
            finally:
                os.close(descriptor)


@huge
def test_huge_pages_that_were_refused_are_not_asked_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0

    def madvise(*_: int) -> int:
        nonlocal asked
        asked += 1
        return -1

    now = 100.0
    monkeypatch.setattr(raw_memory._Refused, "until", 0.0)
    monkeypatch.setattr(raw_memory, "_system_calls", lambda: (None, madvise))
    monkeypatch.setattr(raw_memory, "perf_counter", lambda: now)
    memory = memoryview(bytearray(9))
    assert not raw_memory.make_huge(memory) and not raw_memory.make_huge(memory)
    assert asked == 1
    now += raw_memory.REFUSED_SECONDS
    assert not raw_memory.make_huge(memory) and asked == 2


@huge
def test_huge_pages_for_which_the_system_has_to_make_room_are_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent = iter([0.0, 0.001, 1.0, 2.0, 2.0, 2.0])
    now = 100.0
    monkeypatch.setattr(raw_memory, "perf_counter", lambda: now)
    monkeypatch.setattr(raw_memory._Refused, "until", 0.0)
    monkeypatch.setattr(raw_memory, "_COLLAPSE_BYTES", 3)
    monkeypatch.setattr(raw_memory, "_system_calls", lambda: (None, lambda *_: 0))
    monkeypatch.setattr(raw_memory, "thread_time", lambda: next(spent))
    memory = memoryview(bytearray(9))
    assert raw_memory.make_huge(memory) == 6
    now += 9.9
    assert raw_memory.make_huge(memory) == 0
    now += 0.2
    assert raw_memory.make_huge(memory[:3]) == 3


@pytest.mark.parametrize("nbytes", [8192, 5 * MIB + 10])
def test_nobody_can_change_what_another_sees(nbytes: int) -> None:
    with ExitStack() as opened:
        descriptor = segments.create(nbytes)
        opened.callback(os.close, descriptor)
        segments.fill(descriptor, [b"a" * nbytes])
        lent = segments.lend(descriptor)
        opened.callback(os.close, lent)
        one, two = (segments.open_private(lent, nbytes) for _ in range(2))
        one[0:1] = b"b"
        assert two[0:1] == b"a" and os.pread(descriptor, 1, 0) == b"a"
        with pytest.raises(OSError):
            os.pwrite(lent, b"c", 0)
        assert one[-1:] == two[-1:] == b"a"
        for length in (0, nbytes + 10_000):
            with pytest.raises(OSError):  # (a reader of a shorter file would be killed)
                os.ftruncate(descriptor, length)


def test_what_could_become_shorter_is_not_mapped() -> None:
    with ExitStack() as opened:
        plain = os.memfd_create("other", os.MFD_CLOEXEC)
        opened.callback(os.close, plain)
        os.ftruncate(plain, 4096)
        ends = os.pipe()
        for end in ends:
            opened.callback(os.close, end)
        short = segments.create(4096)
        opened.callback(os.close, short)
        for descriptor, nbytes in ((plain, 4096), (ends[0], 4096), (short, 4097), (short, 0)):
            with pytest.raises(BrokenFrame):
                segments.open_private(descriptor, nbytes)


def test_one_counts_and_the_next_takes_over() -> None:
    descriptor = segments.create(4096)
    one, two = segments.lend(descriptor), segments.lend(descriptor)
    assert segments.count_here(descriptor) and segments.count_here(descriptor)
    assert not segments.count_here(one)
    os.close(descriptor)
    assert segments.count_here(one) and not segments.count_here(two)
    os.close(one)
    assert segments.count_here(two)
    os.close(two)


# ── over a link ───────────────────────────────────────────────────────────


def send_lent(link: Link, more: bool, ids: range, tail: int = 0) -> None:
    """Send segments whose content is their id, with a blob of `tail` bytes behind them."""
    given = []
    for number in ids:
        descriptor = segments.create(4096)
        segments.fill(descriptor, [bytes([number])])
        given.append(descriptor)
    tables = {
        "items": [*((number, 0, 1.0) for number in ids), (99, 0, float(tail))],
        "shared": [(row, number, 1.0) for row, number in enumerate(ids)],
    }
    blobs = [b""] * len(ids) + [bytes(tail)]
    try:
        link.send("data", {"request": 1, "more": more}, tables, blobs, given)
    finally:
        for each in given:
            os.close(each)


@pytest.mark.parametrize("tail", [0, 50_000])
def test_descriptors_come_with_their_frames(ends: tuple[Link, Link], tail: int) -> None:
    down, up = ends
    before = held()

    def send() -> None:
        send_lent(down, True, range(3), tail)
        send_lent(down, True, range(3, 3), tail)
        send_lent(down, False, range(3, 40), tail)

    sender = threading.Thread(target=send)
    sender.start()
    seen = []
    for _, items in data_items(up, 1, 100):
        for number, _, _, blob in items:
            if isinstance(blob, segments.Lent):
                descriptor = blob.take()
                assert os.pread(descriptor, 1, 0) == bytes([number]) and blob.segment == number
                os.close(descriptor)
                seen.append(number)
    sender.join(60)
    assert seen == list(range(40))
    assert held() == before


def test_what_is_not_taken_is_closed(ends: tuple[Link, Link]) -> None:
    down, up = ends
    before = held()
    send_lent(down, False, range(5))
    message = up.read()
    assert held() == before + 5
    del message
    up.close()
    assert held() == before


def test_a_descriptor_that_was_announced_and_has_not_come(ends: tuple[Link, Link]) -> None:
    down, up = ends
    tables = {"items": [(1, 0, 1.0)], "shared": [(0, 1, 1.0)]}
    down.send("data", {"request": 1}, tables, [b""])
    with pytest.raises(BrokenFrame, match="shared"):
        list(data_items(up, 1, 1))


def test_without_free_descriptors_the_caller_is_told(ends: tuple[Link, Link]) -> None:
    down, up = ends
    send_lent(down, False, range(3))
    with without_descriptors():
        ((_, items),) = data_items(up, 1, 4)
    assert [each[3].has_come for each in items[:3] if isinstance(each[3], segments.Lent)] == [
        False
    ] * 3


def test_descriptors_that_were_dropped_are_not_taken_from_the_next_frame(
    ends: tuple[Link, Link],
) -> None:
    down, up = ends
    # So long that the rest of one and the begin of the next are read together.
    send_lent(down, True, range(3), 5000)
    send_lent(down, False, range(3, 6), 5000)
    with without_descriptors():
        assert up._reader.receive() == []
    came = [item for _, items in data_items(up, 1, 8) for item in items if item[0] != 99]
    assert [number for number, *_ in came] == list(range(6))
    for number, _, _, blob in came:
        assert isinstance(blob, segments.Lent) and blob.has_come is (number >= 3)
        if blob.has_come:
            descriptor = blob.take()
            assert os.pread(descriptor, 1, 0) == bytes([number])
            os.close(descriptor)


# ── a worker's segments ───────────────────────────────────────────────────


def lend(kept: Kept, task_id: int) -> Segment | None:
    worker = kept.worker
    value = worker.table.values[task_id]
    found = worker.segments.kept(worker, task_id, value)
    return found or worker.segments.copy(worker, task_id, value, payload.dumps(value))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path, 0)
    yield made
    made.worker.table.release(list(made.worker.table.values))
    made.worker.table.dropped.clear()
    made.worker.segments.settle()
    made.worker.segments.give_up(float("inf"))


def memory_of(segment: Segment | None) -> int:
    """The number of its file, by which it is known from others whoever holds it."""
    assert segment is not None
    return os.fstat(segment.descriptor).st_ino


def release(kept: Kept, task_id: int) -> None:
    kept.worker.table.release([task_id])
    kept.worker.table.dropped.clear()
    kept.worker.segments.settle()


def test_an_array_moves_into_its_segment_and_is_copied_once(kept: Kept) -> None:
    before = maps()
    kept.keep(1, array(2, 7.0))
    first = lend(kept, 1)
    assert first is not None and first.lent == 1 and maps() == before + 1
    assert (kept.value(1) == 7.0).all() and kept.value(1).flags.writeable
    assert lend(kept, 1) is first and first.lent == 2
    assert kept.worker.segments.counted_bytes() == first.nbytes
    assert kept.worker.segments.held_bytes() == 0


def test_what_others_may_hold_on_to_is_copied_for_each(kept: Kept) -> None:
    value = {"a": array(2)}
    kept.keep(1, value)
    assert lend(kept, 1) is not lend(kept, 1)
    assert kept.worker.table.values[1] is value


def test_memory_is_written_again_when_all_have_given_it_back(kept: Kept) -> None:
    for given_back in (True, False):
        kept.keep(1, array(2, 1.0))
        segment = lend(kept, 1)
        assert segment is not None and lend(kept, 1) is segment
        memory = memory_of(segment)
        release(kept, 1)
        kept.keep(2, array(2, 2.0))
        other = lend(kept, 2)
        assert other is not None and memory_of(other) != memory, "a reader still sees it"
        kept.worker.segments.returned([segment.number])
        if given_back:
            kept.worker.segments.returned([segment.number])
        else:
            kept.worker.segments.lost([segment.number])
        kept.keep(3, array(2, 3.0))
        third = lend(kept, 3)
        assert third is not None and (memory_of(third) == memory) is given_back
        for task_id in (2, 3):
            release(kept, task_id)
        kept.worker.segments.lost([other.number, third.number])
        kept.worker.segments.give_up(float("inf"))


def test_a_result_that_has_left_its_segment_is_not_read_from_what_is_written_there_next(
    kept: Kept,
) -> None:
    """A task has put another column into a frame that was its input: the memory below is free."""
    import pandas as pd  # (programs import this module, whose workers need none)

    kept.keep(1, pd.DataFrame({"x": array(2, 1.0)}))
    segment = lend(kept, 1)
    assert segment is not None
    kept.value(1)["x"] = array(2, 2.0)
    gc.collect()
    memory = memory_of(segment)
    kept.worker.segments.returned([segment.number])
    kept.keep(2, pd.DataFrame({"x": array(2, 3.0)}))
    for task_id, value in ((2, 3.0), (1, 2.0)):
        found = lend(kept, task_id)
        assert found is not None and (memory_of(found) == memory) is (task_id == 2)
        seen = payload.loads(segments.read(found.descriptor, found.nbytes))
        assert (seen["x"] == value).all()


def test_a_view_that_outlives_its_result_keeps_the_memory(kept: Kept) -> None:
    kept.keep(1, array(2, 5.0))
    segment = lend(kept, 1)
    assert segment is not None
    memory = memory_of(segment)
    view = kept.value(1)[:10]
    kept.worker.segments.returned([segment.number])
    release(kept, 1)
    kept.keep(2, array(2, 6.0))
    assert memory_of(lend(kept, 2)) != memory and (view == 5.0).all()
    del view
    kept.worker.segments.settle()
    kept.keep(3, array(2, 7.0))
    assert memory_of(lend(kept, 3)) == memory


def test_free_memory_goes_first_and_by_itself(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    before = held()
    kept.keep(1, array(2))
    segment = lend(kept, 1)
    assert segment is not None
    release(kept, 1)
    kept.worker.segments.returned([segment.number])
    assert kept.worker.segments.held_bytes() == segment.used and held() == before + 1
    monkeypatch.setattr("spanwise.worker.segments.FREE_SECONDS", 0.0)
    kept.worker.segments.look()
    assert held() == before and kept.worker.segments.counted_bytes() == 0


def test_spilling_takes_what_counts_here_alone(tmp_path: Path) -> None:
    before = maps()
    owner, other = Kept(tmp_path / "a", 0), Kept(tmp_path / "b", 1000 * MIB)
    for each in ("a", "b"):
        (tmp_path / each).mkdir(mode=0o700)
    owner.keep(1, array(8))
    segment = lend(owner, 1)
    assert segment is not None
    descriptor = owner.worker.segments.descriptor(owner.worker, segment)
    assert descriptor is not None
    lent = segments.Lent(descriptor, segment.number, segment.nbytes)
    returned: list[int] = []
    mine, view = other.worker.segments.borrow(other.worker, lent, lambda: returned.append(1))
    value = payload.loads(view)
    del view
    other.keep(1, value)
    other.worker.segments.keep(other.worker, 1, value, mine)
    del value
    other.worker.segments.look()
    assert other.worker.managed == 0 and other.worker.segments.counted_bytes() == 0
    assert other.worker.spill.spill(other.worker, 1.0) is None
    # Its maker lets go: it counts here, and may be written to disk.
    owner.worker.segments.lost([segment.number])
    release(owner, 1)
    other.worker.segments.look()
    assert other.worker.managed == 8 * MIB <= other.worker.segments.counted_bytes()
    assert other.worker.spill.spill(other.worker, 1.0) is not None
    gc.collect()
    other.worker.segments.settle()
    assert returned == [1] and maps() == before
    assert (other.value(1) == 1.0).all()


def test_a_refusal_of_the_system_is_told_once(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(nbytes: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(segments, "create", refuse)
    for task_id in (1, 2):
        kept.keep(task_id, array(2))
        assert lend(kept, task_id) is None
        monkeypatch.setattr(kept.worker.segments, "_refused_until", 0.0)
    told = [fields for kind, fields in kept.sent if kind == "event"]
    assert [each["kind"] for each in told] == ["sharing-refused"]
    assert "go through sockets" in told[0]["text"] and "not permitted" in told[0]["text"]


# ── a cluster ─────────────────────────────────────────────────────────────


def pid_and_sum(value: Any) -> tuple[int, float]:
    return os.getpid(), float(value.sum())


def write(value: Any) -> float:
    value[0] = -1.0
    return float(value[0])


def bytes_here(dask_worker: Any) -> tuple[float, float]:
    """What the process takes, and how much of it is shared memory that counts here.

    Without what is free in it: imports leave some 10 MiB, which go back when nothing runs.
    """
    worker = dask_worker._worker
    worker.segments.look()
    gc.collect()
    give_back_free_memory()
    return worker.process_bytes(), worker.segments.counted_bytes()


@pytest.fixture(scope="module")
def three() -> Iterator[Client]:
    with Client(n_workers=3, threads_per_worker=1) as made:
        yield made


def test_all_see_one_memory_and_nobody_what_others_write(three: Client) -> None:
    x = three.submit(array, 32, 3.0, workers=[0])
    spanwise.wait(x)
    before, here = three.run(bytes_here), maps()
    sums = [three.submit(pid_and_sum, x, workers=[i], pure=False).result() for i in range(3)]
    assert len({pid for pid, _ in sums}) == 3 and {each for _, each in sums} == {3.0 * 4 * MIB}
    result = x.result()
    assert result.flags.writeable
    assert maps() == here + 1
    result[0] = 5.0
    for i in (1, 2):
        assert three.submit(write, x, workers=[i], pure=False).result() == -1.0
    assert x.result()[0] == 3.0
    assert three.submit(pid_and_sum, x, workers=[0], pure=False).result()[1] == 3.0 * 4 * MIB
    after = three.run(bytes_here)
    assert sum(shared for _, shared in after.values()) >= 32 * MIB
    assert sum(shared for _, shared in after.values()) < 64 * MIB
    grown = sum(process for process, _ in after.values()) - sum(p for p, _ in before.values())
    assert grown < 16 * MIB, "it is counted once, and moved"
    managed = sum(three.run(lambda dask_worker: dask_worker._worker.managed).values())
    assert 32 * MIB <= managed < 64 * MIB, "all hold it, and it is there once"
    sampler = MemorySampler()

    def drawn() -> float:
        """As the Memory Sampler draws it: the newest samples of all workers, added up."""
        with sampler.sample("all", client=three, measure="managed", interval=0.05):
            three.submit(abs, -1, pure=False).result()
        return sampler.samples["all"][-1][1]

    # (samples come as workers take them, the first may be of before)
    wait_until("the panel counts it once", lambda: 32 * MIB <= drawn() < 64 * MIB)
    del result, x
    wait_until("the memory is gone", lambda: not any(map(maps, three.run(os.getpid).values())))


def test_a_client_without_descriptors_gets_copies(three: Client) -> None:
    before = maps()
    x = three.submit(array, 2, 9.0, workers=[0])
    three.submit(pid_and_sum, x, workers=[1], pure=False).result()  # it lies in shared memory
    assert (x.result() == 9.0).all()  # the link is open
    with without_descriptors(), pytest.warns(RuntimeWarning, match="are copied"):
        value = x.result()
    assert (value == 9.0).all() and maps() == before


def counted_by(pid: int, dask_worker: Any) -> float:
    return dask_worker._worker.segments.counted_bytes() if os.getpid() == pid else 0.0


PROGRAM = """
    import sys
    import numpy as np
    import spanwise
    from spanwise.tests.test_segments import array, counted_by, pid_and_sum

    client = spanwise.Client(n_workers=3, threads_per_worker=1)
    x = client.submit(array, 16, 2.0, workers=[0])
    for worker in (1, 2):
        client.submit(pid_and_sum, x, workers=[worker], pure=False).result()
    value = x.result()
    y = client.scatter(array(16, 4.0), broadcast=True)
    print(*client.run(__import__("os").getpid).values(), flush=True)
    for line in sys.stdin:
        print(eval(line), flush=True)
"""


def test_nothing_is_left_of_who_is_killed() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def answer(line: str) -> str:
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write(line + "\n")
        program.stdin.flush()
        return program.stdout.readline()

    try:
        assert program.stdout is not None
        producer, receiver, left = map(int, program.stdout.readline().split())
        assert [maps(each) for each in (producer, receiver, left, program.pid)] == [2, 2, 2, 1]
        for killed in (receiver, producer):
            os.kill(killed, signal.SIGKILL)
            # Who is left sees what it saw.
            assert float(answer("float(value.sum())")) == 2.0 * 2 * MIB
            assert maps(left) == 2
        counted = f"client.run(counted_by, {left}, on_error='ignore').values()"
        wait_until("another counts it", lambda: float(answer(f"sum({counted})")) >= 32 * MIB)
        assert float(answer("client.submit(pid_and_sum, y).result()[1]")) == 4.0 * 2 * MIB
        answer("[globals().pop('value'), x.release(), globals().pop('x'), y.release()][1]")
        wait_until("nothing is held", lambda: held(left) + maps(left) == 0)
        assert held(program.pid) + maps(program.pid) == 0
        value = "globals().__setitem__('value', client.submit(array, 16, 3.0).result())"
        answer(value)
        workers = answer(
            "' '.join(map(str, client.run(__import__('os').getpid, on_error='ignore').values()))"
        ).split()
        os.kill(program.pid, signal.SIGKILL)
        for pid in workers:
            gone = Path(f"/proc/{pid}/maps")
            wait_until("it ends", lambda gone=gone: not gone.exists())
    finally:
        program.kill()
        program.communicate()
