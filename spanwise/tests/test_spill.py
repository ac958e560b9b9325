"""Results on disk: packs of small ones, files that end, disks that are full."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import random
import stat
import sys
import threading
from itertools import pairwise
from math import inf
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import pytest

from spanwise.measure.steps import OPENED, READ_DISK
from spanwise.records.enumerations import (
    KIND_COMPUTE,
    KIND_DESERIALIZE,
    KIND_DISK_READ,
    KIND_DISK_WRITE,
    KIND_IMPORT,
    KIND_SERIALIZE,
)
from spanwise.wire import payload, raw_memory
from spanwise.wire.rows import PART_DURATION, PART_KIND
from spanwise.worker.executor import Executor
from spanwise.worker.opening import read_back
from spanwise.worker.spill import PACK_BYTES, SMALLEST_BYTES
from spanwise.worker.spill_file import LITTLE_BYTES, MODE, Spilled, SpillFiles
from spanwise.worker.tasks import Row
from spanwise.worker.worker import Worker

MIB = 2**20


class Kept:
    """A worker that keeps results, without threads; its messages are collected."""

    def __init__(self, folder: Path, limit: float) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.worker = Worker(0, "w", 1, limit, folder)
        self.worker.connect(
            lambda kind, fields, *_: self.sent.append((kind, fields)), lambda _: None
        )

    def keep(self, task_id: int, value: Any) -> None:
        table = self.worker.table
        row: Row = (task_id, task_id, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
        table.running[task_id] = task_id
        table.store(row, value, self.worker.sizes.of(value), 0.0)

    def value(self, task_id: int) -> Any:
        found = self.worker.table.values[task_id]
        return payload.loads(found.read()) if type(found) is Spilled else found

    def files(self) -> list[Path]:
        folder = self.worker.spill.files.folder
        return list(folder.iterdir()) if folder.exists() else []

    def bytes_on_disk(self) -> int:
        return sum(file.stat().st_size for file in self.files())


def test_many_small_results_leave_memory_in_few_files(tmp_path: Path) -> None:
    """2,000 × 5 kB: 10 MB, of which 60 % of 5 MB may stay."""
    kept = Kept(tmp_path, 5e6)
    for i in range(2000):
        kept.keep(i, bytes([i % 256]) * 5000)
    kept.worker.spill.make_room(kept.worker)
    assert kept.worker.table.managed <= 0.6 * 5e6
    assert 1 <= len(kept.files()) <= 10e6 / PACK_BYTES + 1
    assert kept.bytes_on_disk() == kept.worker.spill.disk_bytes > 6e6
    assert [kept.value(i) for i in range(2000)] == [bytes([i % 256]) * 5000 for i in range(2000)]
    kept.worker.table.check()


def test_results_of_few_hundred_bytes_leave_memory_too(tmp_path: Path) -> None:
    kept = Kept(tmp_path, 1e6)
    for i in range(10_000):
        kept.keep(i, f"{i:0200}")
    kept.worker.spill.make_room(kept.worker)
    assert kept.worker.table.managed <= 0.6 * 1e6
    assert len(kept.files()) <= 5
    assert all(kept.value(i) == f"{i:0200}" for i in range(10_000))


def test_what_is_smaller_than_its_marker_stays(tmp_path: Path) -> None:
    kept = Kept(tmp_path, 1000.0)
    for i in range(1000):
        kept.keep(i, i)
    kept.worker.spill.make_room(kept.worker)
    assert not kept.files()
    assert kept.worker.sizes.of(1) < SMALLEST_BYTES
    # Nothing is looked through again until there is more.
    assert kept.worker.spill.target > kept.worker.table.managed


def test_only_the_user_may_read_them(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept = Kept(tmp_path, 1e6)
        for i in range(20):
            kept.keep(i, bytes(100_000))
        for i in range(20, 40):
            kept.keep(i, bytes(1000))
        kept.worker.spill.set_target(kept.worker)
        kept.worker.spill.target = 0.0
        kept.worker.spill.make_room(kept.worker)
    finally:
        os.umask(before)
    assert len(kept.files()) == 21
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.files()} == {MODE}


@pytest.mark.parametrize("seed", range(5))
def test_a_file_goes_with_its_last_piece_and_half_of_what_is_there_lives(
    tmp_path: Path, seed: int
) -> None:
    """Drawn: keep, release, read, hold a marker beyond its release, compact."""
    chance = random.Random(seed)
    kept = Kept(tmp_path, 4e6)
    expected: dict[int, bytes] = {}
    held: list[tuple[Spilled, bytes]] = []
    number = 0
    for _ in range(400):
        for _ in range(chance.randrange(20)):
            size = chance.choice([100, 2000, 30_000, 60_000, 200_000])
            value = bytes([chance.randrange(256)]) * size
            kept.keep(number, value)
            expected[number] = value
            number += 1
        kept.worker.spill.make_room(kept.worker)
        gone = chance.sample(sorted(expected), min(len(expected), chance.randrange(25)))
        for task_id in gone:
            marker = kept.worker.table.values[task_id]
            if type(marker) is Spilled and chance.random() < 0.1:
                held.append((marker, expected[task_id]))
            del marker
            del expected[task_id]
        kept.worker.release(gone)
        if chance.random() < 0.2:
            held.clear()
        kept.worker.spill.compact(kept.worker)
        spill = kept.worker.spill
        assert kept.bytes_on_disk() == spill.disk_bytes
        if not held:
            assert spill.disk_bytes <= 2 * spill.files.living_bytes + LITTLE_BYTES
        for task_id in chance.sample(sorted(expected), min(len(expected), 5)):
            assert kept.value(task_id) == expected[task_id]
        assert all(payload.loads(marker.read()) == value for marker, value in held[-3:])
    held.clear()
    kept.worker.table.check()
    kept.worker.release(list(expected))
    gc.collect()
    assert not kept.files()
    assert kept.worker.spill.disk_bytes == kept.worker.spill.files.living_bytes == 0


def test_files_that_are_mostly_dead_are_rewritten(tmp_path: Path) -> None:
    kept = Kept(tmp_path, 5e6)
    for i in range(4000):
        kept.keep(i, bytes([i % 256]) * 5000)
    kept.worker.spill.make_room(kept.worker)
    files = kept.worker.spill.files
    reader = kept.worker.table.values[0]
    kept.worker.release([i for i in range(4000) if i % 10])
    assert files.disk_bytes > 4 * files.living_bytes
    kept.worker.spill.compact(kept.worker)
    # But for the file that is being read.
    most = 2 * files.living_bytes + LITTLE_BYTES + PACK_BYTES
    assert kept.bytes_on_disk() == files.disk_bytes <= most
    assert payload.loads(reader.read()) == bytes(5000)
    assert all(kept.value(i) == bytes([i % 256]) * 5000 for i in range(0, 4000, 10))
    kept.worker.table.check()


def test_results_that_cannot_be_read_for_rewriting_are_made_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path, 5e6)
    for i in range(4000):
        kept.keep(i, bytes([i % 256]) * 5000)
    spill, table = kept.worker.spill, kept.worker.table
    spill.make_room(kept.worker)
    kept.worker.release([i for i in range(4000) if i % 10])
    (lost, *_) = spill.files.mostly_dead()
    ids = {i for i, each in table.values.items() if type(each) is Spilled and each.is_in(lost)}
    lost.path.unlink()
    for _ in range(2):
        spill.compact(kept.worker)
    assert ids and ids.isdisjoint(table.values)
    assert [fields for kind, fields in kept.sent if kind == "event"] == []
    assert sum(kind == "replicas" for kind, _ in kept.sent) == len(ids)
    assert not spill.failing and lost not in spill.files._files
    assert len(table.values) == 400 - len(ids)
    assert all(kept.value(i) == bytes([i % 256]) * 5000 for i in table.values)
    table.check()


def test_markers_that_end_on_many_threads_at_once_are_all_counted(tmp_path: Path) -> None:
    files = SpillFiles(tmp_path / "s")
    markers = files.write([(i, 1.0, [b"x" * 10]) for i in range(20_000)])
    parts = [markers[i::8] for i in range(8)]
    del markers
    start = threading.Barrier(8)

    def end(part: list[Spilled]) -> None:
        start.wait()
        while part:
            part.pop()

    threads = [threading.Thread(target=end, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files.disk_bytes == files.living_bytes == 0
    assert not list((tmp_path / "s").iterdir())


def test_a_forked_child_deletes_nothing(tmp_path: Path) -> None:
    files = SpillFiles(tmp_path / "s")
    (marker,) = files.write([(1, 1.0, [b"content"])])
    child = os.fork()
    if child == 0:
        del marker
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert bytes(marker.read()) == b"content"


def test_what_cannot_be_pickled_stays_and_stops_nothing(tmp_path: Path) -> None:
    kept = Kept(tmp_path, 1e6)
    for i in range(5):
        kept.keep(i, [bytes(1000), threading.Lock()])
    for i in range(5, 25):
        kept.keep(i, bytes(100_000))
    kept.worker.spill.make_room(kept.worker)
    assert kept.worker.table.managed <= 0.6 * 1e6
    # Its id belongs to another result later, which can be.
    kept.worker.release(range(25))
    for i in range(25):
        kept.keep(i, bytes(100_000))
    kept.worker.spill.set_target(kept.worker)
    kept.worker.spill.make_room(kept.worker)
    assert kept.worker.table.managed <= 0.6 * 1e6


class Cache:
    """A source: lets go of all it has when asked."""

    what = "things of a cache"

    def __init__(self, nbytes: float) -> None:
        self.nbytes = nbytes

    def held_bytes(self) -> float:
        return self.nbytes

    def give_up(self, wanted: float) -> float:
        given, self.nbytes = self.nbytes, 0.0
        return given


def test_what_else_is_kept_for_tasks_takes_room_from_results_and_gives_way_last(
    tmp_path: Path,
) -> None:
    kept = Kept(tmp_path, 1e6)
    cache = Cache(500e3)
    kept.worker.spill.sources.append(cache)
    kept.keep(0, bytes(80_000))
    kept.keep(1, bytes(80_000))
    kept.worker.spill.set_target(kept.worker)
    assert kept.worker.spill.target == pytest.approx(100e3)
    kept.worker.spill.make_room(kept.worker)
    assert cache.nbytes == 500e3
    assert len(kept.files()) == 1
    kept.keep(2, 1)
    kept.worker.spill.target = 0.0
    kept.worker.spill.make_room(kept.worker)
    assert cache.nbytes == 0.0


@pytest.mark.parametrize(
    "asked", [(4, 1, 0), (0, 1, 2, 3, 4), (9, 3, 3, 0), (2, 9, 4, 2), (9, 9), (1,)]
)
def test_each_input_is_read_back_as_what_it_is_and_under_its_own_id(
    tmp_path: Path, asked: tuple[int, ...]
) -> None:
    """Of unlike sizes, some in one file, in any order, twice, beside one in memory (9)."""
    kept = Kept(tmp_path, 1e6)
    values = {i: bytes([i]) * (300 * (i + 1) if i % 2 else 100_000 * (i + 1)) for i in range(5)}
    for i, value in values.items():
        kept.keep(i, value)
    kept.worker.spill.target = 0.0
    kept.worker.spill.make_room(kept.worker)
    kept.keep(9, b"here")
    values[9] = b"here"
    table = kept.worker.table
    on_disk = {i for i, value in table.values.items() if type(value) is Spilled}
    assert on_disk == set(range(5))
    sizes = {i: table.values[i].nbytes for i in on_disk}
    row: Row = (99, 99, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    inputs = [table.values[i] for i in asked]
    lane = Executor(kept.worker, 0)
    _, _, parts = read_back(kept.worker, lane, row, asked, inputs, 0.0, 0.0, 0.0)
    assert inputs == [values[i] for i in asked]
    back = on_disk & set(asked)
    assert {i for i in table.values if type(table.values[i]) is not Spilled} == back | {9}
    assert {i: kept.value(i) for i in values} == values
    assert {i: table.sizes[i] for i in back} == {i: sizes[i] for i in back}
    # Read once for each place; the bytes are those on disk, and those in memory.
    read = [i for i in asked if i != 9]
    assert [part[0] for part in parts] == [KIND_DISK_READ, KIND_DESERIALIZE] * len(read)
    assert [part[7] for part in parts[1::2]] == [sizes[i] for i in read]
    table.check()


class Importing:
    """Imports a module as it is opened."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.seconds = importlib.import_module(state["name"]).seconds


def test_what_an_input_from_disk_imports_is_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "imported_by_an_input_4714"
    (tmp_path / f"{name}.py").write_text(
        "import time\nbegin = time.perf_counter()\ntime.sleep(0.2)\n"
        "seconds = time.perf_counter() - begin\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    kept = Kept(tmp_path, 1e6)
    kept.keep(0, [Importing(name), bytes(100_000)])
    kept.worker.spill.target = 0.0
    kept.worker.spill.make_room(kept.worker)
    row: Row = (99, 99, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    inputs = [kept.worker.table.values[0]]
    begin = perf_counter()
    lane = Executor(kept.worker, 0)
    _, _, parts = read_back(kept.worker, lane, row, (0,), inputs, begin, begin, thread_time())
    took = perf_counter() - begin
    sys.modules.pop(name, None)
    assert [part[0] for part in parts] == [KIND_DISK_READ, KIND_IMPORT, KIND_DESERIALIZE]
    assert inputs[0][0].seconds <= parts[1][4] <= took
    # One after the other, with nothing between them.
    for one, other in pairwise(parts):
        assert one[3] + one[4] == pytest.approx(other[3], abs=1e-6)
    assert sum(part[4] for part in parts) == pytest.approx(took, abs=0.1)
    kept.worker.table.check()


def test_a_file_that_is_removed_after_it_was_read_is_a_part_of_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To remove it takes up to half as long as to read it, and is no computing of the task."""
    kept = Kept(tmp_path, 1e6)
    for i in range(2):
        kept.keep(i, bytes(400_000))
    kept.worker.spill.target = 0.0
    kept.worker.spill.make_room(kept.worker)
    removed: list[tuple[float, float]] = []
    unlink = Path.unlink

    def timed(path: Path, missing_ok: bool = False) -> None:
        begin = perf_counter()
        unlink(path, missing_ok)
        if path.is_relative_to(tmp_path):  # (garbage of another test goes at any moment)
            removed.append((begin, perf_counter()))

    monkeypatch.setattr(Path, "unlink", timed)
    row: Row = (99, 99, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    inputs = [kept.worker.table.values[i] for i in range(2)]
    lane = Executor(kept.worker, 0)
    # As if looks saw all of them: then their ends are told.
    lane.due = lane.next_due = -inf
    start = perf_counter()
    lane.began = lane.busy_since = start
    end, _, parts = read_back(kept.worker, lane, row, (0, 1), inputs, start, start, thread_time())
    assert not kept.files()
    assert len(removed) == 2
    assert removed[-1][1] < end == lane.began
    reads, opens = parts[::2], parts[1::2]
    assert all(
        part[PART_DURATION] > gone - since
        for part, (since, gone) in zip(reads, removed, strict=True)
    )
    assert [part[PART_KIND] for part in opens] == [KIND_DESERIALIZE] * 2
    assert sum(part[PART_DURATION] for part in parts) == pytest.approx(end - start)
    # The sampler is told of each step: a look that was due in it may come later.
    assert [told[-1] for told in lane.ends] == [READ_DISK, OPENED, READ_DISK] * 2
    stops = [told[3] for told in lane.ends]
    assert [told[0] for told in lane.ends] == [start, *stops[:-1]]
    for place, (since, gone) in zip((2, 5), removed, strict=True):
        assert stops[place - 1] < since < gone < stops[place]


def test_making_room_is_a_part_of_the_run_that_makes_it(tmp_path: Path) -> None:
    """Else the thread would seem to be idle while it writes."""
    kept = Kept(tmp_path, 1e6)
    for i in range(20):
        kept.keep(i, bytes(100_000))
    executor = Executor(kept.worker, 0)
    executor.core_wait = None
    row: Row = (99, 99, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    parts: list[Any] = []
    executor._stamp = lambda: None  # type: ignore[method-assign]
    stop, _ = executor._make_room(row, 1000.0, 0.0, executor.clock, 0.0, parts)
    assert [part[0] for part in parts] == [KIND_SERIALIZE, KIND_DISK_WRITE]
    assert all(part[9] == 1 and part[1:3] == (5, 6) for part in parts)
    # End to end, up to the run's end; the bytes are those on disk.
    serialize, write = parts
    assert write[3] == pytest.approx(serialize[3] + serialize[4])
    assert write[3] + write[4] == pytest.approx(stop)
    assert write[7] == kept.bytes_on_disk()
    assert KIND_COMPUTE not in [part[0] for part in parts]
    assert kept.worker.table.managed + 1000 <= 0.6 * 1e6


def no_room(nbytes: int, start: int) -> memoryview:
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


def test_a_result_for_which_there_is_no_room_stays_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An OSError would say that the disk does not give it back, and it would be thrown away."""
    kept = Kept(tmp_path, 5e6)
    for i in range(8):
        kept.keep(i, bytes([i]) * 1_000_000)
    kept.worker.spill.make_room(kept.worker)
    spilled = [i for i in range(8) if type(kept.worker.table.values[i]) is Spilled]
    assert spilled

    with monkeypatch.context() as patch:
        patch.setattr(raw_memory, "room", no_room)
        with pytest.raises(MemoryError, match="no room for 10000"):
            kept.value(spilled[0])
    assert [kept.value(i) for i in range(8)] == [bytes([i]) * 1_000_000 for i in range(8)]


def test_what_is_rewritten_while_there_is_no_room_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that rewrites files watches the worker, which ends with it."""
    kept = Kept(tmp_path, 5e6)
    spill = kept.worker.spill
    for i in range(4000):
        kept.keep(i, bytes([i % 256]) * 5000)
    spill.make_room(kept.worker)
    stay = range(0, 4000, 10)
    kept.worker.release([i for i in range(4000) if i % 10])
    assert spill.files.mostly_dead()
    before = kept.bytes_on_disk()

    with monkeypatch.context() as patch:
        patch.setattr(raw_memory, "room", no_room)
        spill.compact(kept.worker)
    assert kept.bytes_on_disk() == before
    spill.compact(kept.worker)
    assert kept.bytes_on_disk() < before / 2
    assert [kept.value(i) for i in stay] == [bytes([i % 256]) * 5000 for i in stay]
