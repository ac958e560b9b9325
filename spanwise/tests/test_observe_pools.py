"""``observe()`` of runs on pools of processes that live on, share, die, or cannot write."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
import pytest

import spanwise
from spanwise.local import away, observed_pools
from spanwise.local.lanes import ProcessSlots
from spanwise.local.local_log import LocalLog
from spanwise.local.observe import Observation
from spanwise.local.observed_pools import ObservedPools
from spanwise.local.pool_facts import is_over
from spanwise.local.process_files import ProcessFiles
from spanwise.processes.process_state import lives, started
from spanwise.records.block import decode_block
from spanwise.tests.observed_tasks import meet, rest
from spanwise.tests.processes import wait_until
from spanwise.tests.warned import of_the_block, warnings_as_errors

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


@pytest.fixture
def seen() -> Iterator[Observation]:
    with spanwise.observe("pools") as seen:
        yield seen
    seen.close()


def forking_pool(size: int, **options: Any) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("fork"), **options)


def compute(name: str, count: int, seconds: float, **options: Any) -> None:
    tasks = [dask.delayed(rest)(seconds, dask_key_name=f"{name}-{n}") for n in range(count)]
    assert dask.compute(*tasks, **options) == (seconds,) * count


def compute_in_both(name: str, folder: Path, **options: Any) -> None:
    """A run of which each of two processes has a task."""
    names = [f"{name}-both-{n}" for n in range(2)]
    pairs = zip(names, reversed(names), strict=True)
    tasks = [dask.delayed(meet)(folder, *pair, dask_key_name=pair[0]) for pair in pairs]
    assert dask.compute(*tasks, **options) == tuple(names)


def workers_of(seen: Observation, name: str) -> set[str]:
    return {
        str(record["worker"])
        for record in seen.get_task_stream()
        if record["key"].startswith(f"{name}-")
    }


def assert_capacity_is(seen: Observation, processes: int) -> None:
    summary = seen._asked().query("summary")
    assert summary["capacitySeconds"] == pytest.approx(
        processes * summary["wallSeconds"], rel=0.05, abs=0.1
    )
    assert summary["executeSeconds"] + summary["idleSeconds"] == pytest.approx(
        summary["capacitySeconds"], rel=0.02
    )


def test_two_runs_at_once_on_one_pool_have_its_processes_once(
    seen: Observation, tmp_path: Path
) -> None:
    def compute_beside(me: str, other: str) -> None:
        first = dask.delayed(meet)(tmp_path, me, other, dask_key_name=f"{me}-first")
        rests = [dask.delayed(rest)(0.3, dask_key_name=f"{me}-{n}") for n in range(2)]
        assert dask.compute(first, *rests, scheduler=pool) == (me, 0.3, 0.3)

    with forking_pool(2) as pool, ThreadPoolExecutor(2) as threads:
        compute("start", 2, 0.0, scheduler=pool)
        runs = [threads.submit(compute_beside, *names) for names in ("ab", "ba")]
        for run in runs:
            run.result(60)
    both = workers_of(seen, "a") | workers_of(seen, "b")
    assert both == {"process 1", "process 2"}
    assert_capacity_is(seen, 2)


def test_pools_that_live_keep_their_workers(seen: Observation, tmp_path: Path) -> None:
    with forking_pool(2) as one, forking_pool(2) as other:
        for name, pool in (("a", one), ("b", other), ("c", other), ("d", one)):
            compute_in_both(name, tmp_path, scheduler=pool)
            compute(name, 4, 0.2, scheduler=pool)
        ones = workers_of(seen, "a") | workers_of(seen, "d")
        others = workers_of(seen, "b") | workers_of(seen, "c")
        assert ones == {"process 1", "process 2"} and others == {"process 3", "process 4"}
        assert_capacity_is(seen, 2)


def test_a_process_for_each_task(seen: Observation) -> None:
    """Processes follow each other faster than their deaths are looked for."""
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        compute("t", 20, 0.01, scheduler="processes", pool=pool, chunksize=1)
    assert len(seen.get_task_stream()) == 20
    assert workers_of(seen, "t") <= {"process 1", "process 2"}


def test_files_are_followed_by_others_and_removed(
    seen: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(away, "FILE_BYTES", 1_000)  # (inherited by the fork)
    assert seen._recorder is not None
    folder = seen._recorder.pools.folder
    with forking_pool(1) as pool:
        for run in range(10):
            compute(f"run{run}", 20, 0.0, scheduler=pool)
        assert len(seen.get_task_stream()) == 200
        (left,) = folder.iterdir()
        assert int(left.suffix[1:]) >= 10 and left.stat().st_size <= 2_000
    wait_until("the last one is removed", lambda: not list(folder.iterdir()))


def only_so_many_bytes() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))


def test_a_full_disk_is_the_end_of_measuring_there_only(seen: Observation) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with forking_pool(1, initializer=only_so_many_bytes) as pool:
            for run in range(3):
                compute(f"full{run}", 20, 0.0, scheduler=pool)
    assert not [each for each in of_the_block(said) if issubclass(each.category, RuntimeWarning)]
    compute("after", 1, 0.0, scheduler="threads")
    keys = {record["key"] for record in seen.get_task_stream()}
    assert "after-0" in keys and 1 < len(keys) < 60


def test_what_makes_no_sense_is_read_no_further_and_all_else_is(seen: Observation) -> None:
    assert seen._recorder is not None
    folder = seen._recorder.pools.folder
    with forking_pool(1) as pool:
        compute("a", 1, 0.0, scheduler=pool)
        wait_until("it is read", lambda: len(seen.get_task_stream()) == 1)
        (folder / "notes.txt").write_text("of somebody else")
        (file,) = folder.glob("1-*.0")
        with pytest.warns(RuntimeWarning, match="cannot be read any further"):
            with file.open("ab") as end:
                end.write(b"\x05\xc1\xff")
            compute("b", 1, 0.0, scheduler=pool)
            seen.get_task_stream()
    compute("c", 1, 0.0, scheduler="threads")
    compute("d", 1, 0.0, scheduler="processes", num_workers=1)
    keys = {record["key"] for record in seen.get_task_stream()}
    assert keys >= {"a-0", "c-0", "d-0"}


def test_where_warnings_are_errors_one_process_is_read_no_further_and_all_else_is(
    seen: Observation, capfd: pytest.CaptureFixture[str]
) -> None:
    assert seen._recorder is not None
    folder = seen._recorder.pools.folder
    with forking_pool(1) as pool, warnings_as_errors():
        compute("a", 1, 0.0, scheduler=pool)
        wait_until("it is read", lambda: len(seen.get_task_stream()) == 1)
        (file,) = folder.glob("1-*.0")
        with file.open("ab") as end:
            end.write(b"\x05\xc1\xff")
        compute("b", 1, 0.0, scheduler=pool)
        wait_until("it is told", lambda: "cannot be read any further" in capfd.readouterr().err)
    assert not seen._recorder.failed
    compute("c", 1, 0.0, scheduler="threads")
    assert {record["key"] for record in seen.get_task_stream()} >= {"a-0", "c-0"}


@pytest.mark.parametrize("is_later", [False, True])
def test_a_later_process_with_the_number_of_one_that_ended_is_another(
    tmp_path: Path, is_later: bool
) -> None:
    pools = ObservedPools(tmp_path, LocalLog("x", lambda block, at: None))
    code = "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"\n"
        pool = pools.begin(pools, 1, 1.0)
        Path(f"{pools.place_of(pool)}-{process.pid}-abc.0").write_bytes(b"\x92\x00\x91\xa1a")
        pools.read(2.0)
        (slot,) = pool.slots
        assert slot.pid == process.pid
        assert slot.since == pytest.approx(started(process.pid), abs=0.5)
        if is_later:
            # The one that spoke started a minute before the one that has its number now.
            slot.since -= 60
        assert (pools.memory_use() > 0) is not is_later
        pools.measure(3.0)
        assert slot.pid == (None if is_later else process.pid)
        assert bool(list(tmp_path.iterdir())) is not is_later
        # The pool's next process may have the same number, and is no known one.
        Path(f"{pools.place_of(pool)}-{process.pid}-def.0").write_bytes(b"\x92\x00\x91\xa1b")
        pools.read(4.0)
        assert slot.pid == process.pid and pool.slots == [slot]
        process.communicate(b"\n")
    pools.measure(5.0)
    assert slot.pid is None and slot.since is None
    pools.close()


def test_of_a_pool_that_is_ending_all_processes_have_left_when_the_log_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = ObservedPools(tmp_path, LocalLog("x", lambda block, at: None))
    pool = pools.begin(pools, 2, 1.0)
    for pid in (os.getpid(), os.getppid()):
        Path(f"{pools.place_of(pool)}-{pid}-abc.0").write_bytes(b"\x92\x00\x91\xa1a")
    pools.read(2.0)
    first, second = pool.slots
    assert {first.pid, second.pid} == {os.getpid(), os.getppid()}
    pools.end(pool, 3.0)
    looks = 0
    second_pid = second.pid

    def look(pid: int, since: float | None = None) -> bool:
        nonlocal looks
        looks += pid == second_pid
        # The other one ends a little later.
        return pid == second_pid and looks < 4

    monkeypatch.setattr(observed_pools, "lives", look)
    # (however slow this machine is)
    monkeypatch.setattr(observed_pools, "monotonic", lambda: 0.0)
    pools.measure(4.0)
    assert (first.pid, second.pid) == (None, second_pid)
    pools._shutdown_thread = True  # type: ignore[attr-defined]
    pools.await_ends()
    assert (second.pid, looks) == (None, 4)
    assert not pools._ending
    pools.close()


def test_the_log_of_an_observation_ends_after_such_a_pool(
    seen: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    awaited: list[tuple[bool, bool]] = []
    recorder = seen._recorder
    assert recorder is not None

    def await_ends(_: ObservedPools) -> None:
        awaited.append((recorder._ended, recorder._turn.locked()))

    monkeypatch.setattr(ObservedPools, "await_ends", await_ends)
    seen.close()
    assert awaited == [(False, False)], "the log goes on, and who flushes does not wait"


def test_a_pool_that_lives_on_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = ObservedPools(tmp_path, LocalLog("x", lambda block, at: None))
    pool = pools.begin(pools, 1, 1.0)
    Path(f"{pools.place_of(pool)}-{os.getpid()}-abc.0").write_bytes(b"\x92\x00\x91\xa1a")
    pools.read(2.0)
    pools.end(pool, 3.0)
    monkeypatch.setattr(observed_pools, "sleep", pytest.fail)
    pools.await_ends()
    assert pool.slots[0].pid == os.getpid()
    pools.close()


def test_a_pool_that_lives_on_without_one_of_its_processes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It crashed, or has done its number of tasks."""
    pools = ObservedPools(tmp_path, LocalLog("x", lambda block, at: None))
    owner = forking_pool(2)
    pool = pools.begin(owner, 2, 1.0)
    for pid in (os.getpid(), os.getppid()):
        Path(f"{pools.place_of(pool)}-{pid}-abc.0").write_bytes(b"\x92\x00\x91\xa1a")
    pools.read(2.0)
    pools.end(pool, 3.0)
    monkeypatch.setattr(observed_pools, "lives", lambda pid, _=None: pid == os.getpid())
    waits: list[float] = []
    monkeypatch.setattr(observed_pools, "sleep", waits.append)
    times = iter(range(10))
    monkeypatch.setattr(observed_pools, "monotonic", lambda: next(times) / 5)
    pools.await_ends()
    assert [slot.pid for slot in pool.slots] == [os.getpid()]
    assert waits == []
    owner.shutdown()
    pools.await_ends()
    assert waits, "it was shut down"
    pools.close()


def test_which_pools_are_over() -> None:
    with forking_pool(1) as executor, multiprocessing.get_context("fork").Pool(1) as pool:
        assert not is_over(executor) and not is_over(pool)
        pool.close()
        executor.shutdown()
        assert is_over(executor) and is_over(pool)


def test_a_process_is_looked_at_once_each_time_that_its_memory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes twenty times as long as the reading."""
    looks: list[int] = []

    def look(pid: int, since: float | None = None) -> bool:
        looks.append(pid)
        return lives(pid, since)

    pools = ObservedPools(tmp_path, LocalLog("x", lambda block, at: None))
    pool = pools.begin(pools, 1, 1.0)
    Path(f"{pools.place_of(pool)}-{os.getpid()}-abc.0").write_bytes(b"\x92\x00\x91\xa1a")
    pools.read(2.0)
    monkeypatch.setattr(observed_pools, "lives", look)
    pools.measure(3.0)
    assert looks == [os.getpid()]
    assert pools.memory_use() > 0 and looks == 2 * [os.getpid()]
    pools.close()


def test_a_record_that_is_cut_short_waits_for_its_rest(tmp_path: Any) -> None:
    log = LocalLog("x", lambda block, at: None)
    slots = ProcessSlots(1)
    files = ProcessFiles(tmp_path, log, slots)
    pool = slots.acquire(log, 1)
    path = tmp_path / f"{pool.number}-77-abc.0"
    path.write_bytes(b"\x92\x00\x92\xa1a")
    (new,) = files.new(files.there())
    assert files.begin(new).pid == 77 and files.new(files.there()) == []
    files.read(files.there())
    (file,) = files._files.values()
    assert file.ids.names == []
    with path.open("ab") as end:
        end.write(b"\xa1b")
    files.read(files.there())
    assert len(file.ids.names) == 2
    # The next file is opened only when this one is read to its end.
    with path.open("ab") as end:
        end.write(b"\x92\x00\x91\xa1c")
    path.with_suffix(".1").write_bytes(b"\x92\x00\x91\xa1d")
    files.read(files.there())
    assert len(file.ids.names) == 4 and not path.exists()
    files.finish(77)
    assert list(tmp_path.iterdir()) == []
    files.close()


def test_what_a_process_estimates_is_in_the_log_as_its_own(tmp_path: Any) -> None:
    blocks: list[Any] = []
    log = LocalLog("x", lambda block, at: blocks.append(decode_block(block.data)))
    slots = ProcessSlots(1)
    files = ProcessFiles(tmp_path, log, slots)
    pool = slots.acquire(log, 1)
    there = away.Away(str(tmp_path / f"{pool.number}-77-abc"))
    function = log.name_id("spin")
    now = perf_counter()
    there._ledger.add(now, "noncpu", "gil", "seconds", 0.25, function, 3)
    there._ledger.add(now, "noncpu", "gil-error", "seconds", 0.125, function, 3)
    work = (0, lambda values: 7, now, now, None, function, 3, None, None)
    assert there.run(work, {}) == 7
    (new,) = files.new(files.there())
    slot = files.begin(new)
    files.read(files.there())
    log.seal()
    files.close()
    names: dict[int, str] = {}
    rows = []
    for block in blocks:
        columns = [block.column(name) for name in block.table.columns]
        if block.table.name == "names":
            names |= dict(zip(*columns, strict=True))
        if block.table.name == "fine":
            rows += zip(*columns, strict=True)
    told = [
        (row[1], names[row[2]], row[3], names[row[4]], names[row[5]], names[row[6]], row[7])
        for row in rows
    ]
    own = slot.worker, "noncpu", 3, "spin"
    assert told == [(*own, "gil", "seconds", 0.25), (*own, "gil-error", "seconds", 0.125)]
    # The seconds of a process are not those of the log.
    assert all(abs(row[0] - log.since(now)) <= 1.5 for row in rows)


def test_lengths_in_a_file_claim_no_memory(tmp_path: Any) -> None:
    log = LocalLog("x", lambda block, at: None)
    slots = ProcessSlots(1)
    files = ProcessFiles(tmp_path, log, slots)
    pool = slots.acquire(log, 1)
    path = tmp_path / f"{pool.number}-77-abc.0"
    # Names, then lists of four million items in each other: 32 MB and 5 bytes each.
    path.write_bytes(b"\x92\x00\x92\xa1a\xa1b" + b"\xdd\x00\x3d\x09\x00" * 900)
    (new,) = files.new(files.there())
    files.begin(new)
    tracemalloc.start()
    files.read(files.there())
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    (file,) = files._files.values()
    assert len(file.ids.names) == 2
    files.close()
