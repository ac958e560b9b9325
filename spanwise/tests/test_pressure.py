"""Memory limits on whole clusters: what leaves memory, what waits, what ends a wait."""

from __future__ import annotations

import builtins
import itertools
import os
import re
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client, KilledWorker, StallError, as_completed, wait
from spanwise.processes.abandoned import remove_abandoned, remove_spilled
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.full_disk import FullDisk, Limited, full_disk, mounted
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import wait_until

#: Up to five workers may have to start one after another, each in ten seconds on a busy machine.
LIMIT_SECONDS = 240.0
#: After so long, what waits has stalled; and how often is tried again what the machine held up.
STALL_SECONDS = 1.5
#: A machine that stands still for so long at a time takes a large part of that.
STANDSTILL_SECONDS = STALL_SECONDS / 4
ROUNDS = 10
MIB = 2**20
#: A worker takes about 15 MiB before it has done anything, and half as much more with Dask.
MEMORY = 240 * MIB
#: With this besides it pauses, at 192 MiB, and does not end, at 228 MiB.
PAUSING = 190 * MIB


@contextmanager
def cluster(workers: int = 1, stall: str = "60s", memory: float = MEMORY) -> Iterator[Client]:
    known = set(marked_processes())
    with (
        dask.config.set(
            {
                "spanwise.scheduler.stall-timeout": stall,
                # Modules that other tests have imported here would fill the workers
                # first.
                "spanwise.worker.import-ahead": False,
            }
        ),
        Client(n_workers=workers, threads_per_worker=1, memory_limit=memory) as client,
    ):
        yield client
    wait_until("all processes to end", lambda: not set(marked_processes()) - known)


def folder_of(client: Client) -> Path:
    assert client._scheduler is not None
    return client._scheduler.folder


def rows(client: Client) -> list[dict[str, Any]]:
    return list(client._session.workers.values())


def states(client: Client) -> list[str]:
    return [row["state"] for row in rows(client)]


def filled(i: int, size: int) -> bytes:
    return bytes([i % 256]) * size


def length_and_first(value: bytes) -> str:
    """A text, for whose size no worker imports Dask."""
    return told_of(len(value), value[0])


def told_of(length: int, first: int) -> str:
    return f"{length} of {first}"


def keep(nbytes: int) -> None:
    # Not a result: it cannot be spilled.
    builtins.kept = bytearray(nbytes)  # type: ignore[attr-defined]


def let_go() -> None:
    del builtins.kept  # type: ignore[attr-defined]


def fill_up(client: Client, workers: list[int] | None = None) -> None:
    """Make these workers pause."""
    client.run(keep, PAUSING, workers=workers)
    count = len(workers) if workers else len(rows(client))
    wait_until("the pause", lambda: states(client).count("paused") == count)


def test_small_results_leave_memory() -> None:
    """3,500 × 60 kB, 200 MiB, where 144 MiB of results may stay."""
    with cluster() as client:
        futures = client.map(filled, range(3500), size=60_000)
        wait(futures, timeout=LIMIT_SECONDS)
        assert [future.status for future in futures] == ["finished"] * 3500
        files = list(folder_of(client).glob("spill-*/*"))
        assert 1 <= len(files) <= 200
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        found = client.gather(client.map(length_and_first, futures[::50]))
        assert found == [told_of(60_000, i % 256) for i in range(0, 3500, 50)]
        assert futures[7].result(LIMIT_SECONDS) == filled(7, 60_000)
        del futures
        wait_until("their files to go", lambda: not list(folder_of(client).glob("spill-*/*")))


def test_a_pause_is_told_and_so_is_its_end() -> None:
    with cluster(workers=2) as client:
        first = min(row["id"] for row in rows(client))
        fill_up(client, [first])
        (row,) = [row for row in rows(client) if row["id"] == first]
        assert row["state"] == "paused"
        assert "of 240 MiB are in use (0 MiB results" in row["why"]
        assert "what tasks keep besides their results" in row["why"]
        client.run(let_go, workers=[first])
        wait_until("its end", lambda: states(client) == ["running", "running"])
        assert all(row.get("why") is None for row in rows(client))


def test_what_a_paused_worker_has_not_begun_runs_elsewhere(tmp_path: Path) -> None:
    """Without it the tasks behind a long one wait for as long as the pause lasts."""

    def until(begun: Path, go: Path) -> int:
        begun.write_text(str(os.getpid()))
        while not go.exists():
            time.sleep(0.005)
        return os.getpid()

    with cluster(workers=2) as client:
        first, second = sorted(row["id"] for row in rows(client))
        pids = {row["id"]: row["pid"] for row in rows(client)}
        go = [tmp_path / "go-0", tmp_path / "go-1"]
        begun = [tmp_path / "begun-0", tmp_path / "begun-1"]
        long = [client.submit(until, *each) for each in zip(begun, go, strict=True)]
        wait_until("both to run", lambda: all(f.exists() and f.read_text() for f in begun))
        # One task waits behind each of them, too short to be taken back.
        short = [client.submit(os.getpid, key=f"short-{i}") for i in range(2)]
        fill_up(client, [first])
        on_second = [f.read_text() for f in begun].index(str(pids[second]))
        go[on_second].touch()
        assert client.gather(short) == [pids[second]] * 2
        assert states(client).count("paused") == 1
        go[1 - on_second].touch()
        assert sorted(client.gather(long)) == sorted(pids.values())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_wait_for_workers_that_are_full_ends_with_a_sentence(workers: int) -> None:
    with cluster(workers, stall="1s") as client:
        kept = client.submit(filled, 1, 1_000_000)
        wait(kept, timeout=LIMIT_SECONDS)
        fill_up(client)
        future = client.submit(length_and_first, kept)
        after = client.submit(str, future)
        with pytest.raises(StallError) as caught:
            future.result(LIMIT_SECONDS)
        said = str(caught.value)
        assert said.startswith("Nothing has moved for 1 s")
        assert "170 MiB" in said or "what tasks keep besides their results" in said
        assert "1 of filled (1.0 MiB)" in said
        assert "memory_limit" in said
        with pytest.raises(StallError):
            after.result(LIMIT_SECONDS)
        # What is there stays, and what comes runs when there is room.
        assert kept.result(LIMIT_SECONDS) == filled(1, 1_000_000)
        client.run(let_go)
        # (who submits before that may be told of the pause once more)
        wait_until("its end", lambda: states(client) == ["running"] * workers)
        assert client.submit(length_and_first, kept, pure=False).result(LIMIT_SECONDS) == told_of(
            10**6, 1
        )


def in_one_round(play: Callable[[], None]) -> None:
    """Play until the machine lets processes go on within the limit after which they have stalled.

    Raises
    ------
    AssertionError, StallError
        What it contradicts, unless the machine stood still for long at a time meanwhile.
    """
    told = ""
    for _ in range(ROUNDS):
        with Disturbance() as disturbance:
            try:
                play()
            except (AssertionError, StallError) as error:
                if disturbance.longest_standstill < STANDSTILL_SECONDS:
                    raise
                told = f"{type(error).__name__}: {error}"
            else:
                return
    pytest.skip(f"{ROUNDS} times the machine stood still for {STANDSTILL_SECONDS} s; {told}")


def test_work_on_a_result_is_no_stall() -> None:
    """Three times the limit on one result, while all else waits for it to be released."""
    in_one_round(work_on_a_result)


def work_on_a_result() -> None:
    with full_disk(Limited) as disk, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with cluster(stall=f"{STALL_SECONDS}s") as client:
            disk.started()
            futures = client.map(filled, range(40), size=6_000_000)
            results = as_completed(futures, with_results=True)
            del futures
            found = []
            for future, value in results:
                if not found:
                    wait_until("the pause", lambda: states(client) == ["paused"])
                    time.sleep(3 * STALL_SECONDS)  # the work
                found.append(length_and_first(value))
                del future, value
            assert sorted(found) == sorted(told_of(6_000_000, i) for i in range(40))
    told = [str(each.message) for each in caught if "has moved" in str(each.message)]
    assert len(told) == 1, "a program that looks instead of waiting is told once"
    assert told[0].endswith("The tasks go on when results are released.")


def test_a_long_task_is_no_stall(tmp_path: Path) -> None:
    """It runs for twice the limit, on a worker that is full, while others wait."""
    rounds = itertools.count()
    in_one_round(lambda: run_a_long_task(tmp_path / f"go-{next(rounds)}"))


def run_a_long_task(go: Path) -> None:
    with cluster(stall=f"{STALL_SECONDS}s") as client:
        future = client.submit(keep_until, PAUSING, go)
        waiting = client.submit(length_and_first, b"ab")
        wait_until("the pause", lambda: states(client) == ["paused"])
        time.sleep(2 * STALL_SECONDS)
        go.touch()
        assert future.result(LIMIT_SECONDS) == PAUSING
        # It let go of its memory at its end.
        assert waiting.result(LIMIT_SECONDS) == told_of(2, ord("a"))


def keep_until(nbytes: int, go: Path) -> int:
    kept = bytearray(nbytes)
    while not go.exists():
        time.sleep(0.005)
    return len(kept)


def keep_and_sleep(nbytes: int, seconds: float) -> float:
    kept = bytearray(nbytes)
    time.sleep(seconds)
    del kept
    return seconds


@pytest.mark.parametrize("make", [mounted, Limited], ids=["disk", "file size"])
def test_a_full_disk_is_told_once_and_waited_for(make: Callable[[Path], FullDisk]) -> None:
    """40 × 6 MB, of which 144 MiB fit: no worker ends, and all come when there is room."""
    with full_disk(make) as disk, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with cluster() as client:
            disk.started()
            pids = [row["pid"] for row in rows(client)]
            futures = client.map(filled, range(40), size=6_000_000)
            reason = f"cannot be written to {folder_of(client)}"

            def why() -> list[str]:
                return [row.get("why") or "" for row in rows(client) if row["state"] == "paused"]

            def told() -> list[str]:
                return [
                    text for each in caught if "cannot be written" in (text := str(each.message))
                ]

            # (one thread of the worker may tell of the pause before another tells of the disk)
            wait_until("the pause, and why", lambda: any(reason in each for each in why()))
            wait_until("the notice", told)
            assert len(told()) == 1
            assert any(future.status == "pending" for future in futures)
            disk.make_room(pids)
            wait(futures, timeout=LIMIT_SECONDS)
            found = client.gather(client.map(length_and_first, futures))
            assert found == [told_of(6_000_000, i) for i in range(len(futures))]
            assert client.submit(length_and_first, b"ab").result(LIMIT_SECONDS) == told_of(
                2, ord("a")
            )
            assert [row["pid"] for row in rows(client)] == pids
            assert len(told()) == 1


def test_a_wait_for_a_full_disk_ends_with_a_sentence() -> None:
    with full_disk(mounted) as disk, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*results cannot be written to", RuntimeWarning)
        with cluster(stall="1s") as client:
            disk.started()
            pids = [row["pid"] for row in rows(client)]
            futures = client.map(filled, range(60), size=6_000_000)
            wait(futures, timeout=LIMIT_SECONDS)
            failed = [future for future in futures if future.status == "error"]
            done = [future for future in futures if future.status == "finished"]
            assert failed
            assert done
            said = str(failed[0].exception())
            assert "cannot be written to" in said
            assert f"{len(done)} of filled" in said
            assert [row["pid"] for row in rows(client)] == pids


def test_what_a_killed_worker_spilled_goes_at_once() -> None:
    with cluster() as client:
        scheduler = client._scheduler
        assert scheduler is not None
        client.submit(length_and_first, b"a").result(LIMIT_SECONDS)
        client.spans()  # the scheduler has its link to the observer
        descriptors = Path(f"/proc/{scheduler.process.pid}/fd")
        before = len(list(descriptors.iterdir()))
        for _ in range(3):
            futures = client.map(filled, range(10), size=20_000_000)
            wait_until("spilled results", lambda: any(folder_of(client).glob("spill-*/*")))
            (row,) = rows(client)
            # The tasks are taken back first, else they fill the next worker.
            pid, number = row["pid"], row["id"]
            del futures
            os.kill(pid, signal.SIGKILL)

            def others(number: int = number) -> bool:
                names = {path.name for path in folder_of(client).iterdir()}
                return not names & {f"spill-{number}", f"worker-{number}.sock"}

            wait_until("its files to go", others)
            wait_until(
                "the next", lambda pid=pid: [r["pid"] for r in rows(client)] not in ([], [pid])
            )
        assert client.submit(length_and_first, b"b").result(LIMIT_SECONDS) == told_of(1, ord("b"))
        wait_until("descriptors", lambda: len(list(descriptors.iterdir())) <= before)


def test_results_that_the_disk_does_not_give_back_are_made_again() -> None:
    """For a task, and for the client that asks for one itself."""
    with cluster() as client:
        futures = client.map(filled, range(10), size=20_000_000)
        wait(futures, timeout=LIMIT_SECONDS)
        for file in folder_of(client).glob("spill-*/*"):
            file.unlink()
        assert client.gather(client.map(length_and_first, futures)) == [
            told_of(20_000_000, i) for i in range(10)
        ]
        for file in folder_of(client).glob("spill-*/*"):
            file.unlink()
        assert [future.result(LIMIT_SECONDS)[0] for future in futures] == list(range(10))


def spill_all_and_have_no_room(also_mapped: bool, dask_worker: Any = None) -> int:
    """From now on there is no memory for what is read from disk; returns the bytes there."""
    import errno
    import mmap
    from math import inf

    from spanwise.wire import raw_memory

    def none(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    worker = dask_worker._worker
    while worker.spill.spill(worker, inf):
        pass
    raw_memory.room = none
    if also_mapped:
        mmap.mmap = none  # type: ignore[assignment,misc]
    return int(worker.spill.disk_bytes)


def contents_of(*parts: bytes) -> list[tuple[int, int]]:
    return [(len(part), sum(part)) for part in parts]


def random_bytes(seed: int) -> bytes:
    import random

    # (of less than is lent as shared memory)
    return random.Random(seed).randbytes(600_000)


@pytest.mark.parametrize("also_mapped", [False, True], ids=["cached", "not even cached"])
def test_what_was_spilled_reaches_others_though_its_worker_has_no_memory(
    also_mapped: bool,
) -> None:
    """It is read where it lies; else it is made again, if that can be, and nothing beside it."""
    with cluster(2) as client:
        holder, other = client.scheduler_info()["workers"]
        made = [client.submit(random_bytes, seed, workers=[holder]) for seed in range(2)]
        wait(made, LIMIT_SECONDS)
        scattered = client.scatter(random_bytes(2), workers=[holder])
        spilled = client.run(spill_all_and_have_no_room, also_mapped, workers=[holder])
        assert spilled[holder] > 3 * 600_000
        small = client.submit(abs, -7, workers=[holder])
        expected = contents_of(*map(random_bytes, range(3)))
        there = [*made, *([] if also_mapped else [scattered])]
        found = client.submit(contents_of, *there, workers=[other]).result(LIMIT_SECONDS)
        assert found == expected[: len(there)]
        assert client.submit(abs, small, workers=[other]).result(LIMIT_SECONDS) == 7
        if also_mapped:
            # What nobody can make again is lost, in words.
            with pytest.raises(Exception, match=r"scattered|lost"):
                client.submit(contents_of, scattered, workers=[other]).result(LIMIT_SECONDS)
        else:
            assert {*client.who_has(there)} == {each.key for each in there}
            holders = client.who_has(there).values()
            assert all(holder in each for each in holders)


def spill_all_and_use_up_files(dask_worker: Any = None) -> int:
    """Nothing can be opened there from now on; returns the bytes on disk."""
    import resource
    from math import inf

    worker = dask_worker._worker
    while worker.spill.spill(worker, inf):
        pass
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    builtins.files = files = []  # type: ignore[attr-defined]
    try:
        while True:
            files.append(Path("/dev/null").open())  # noqa: SIM115
    except OSError:
        return int(worker.spill.disk_bytes)


def close_files() -> None:
    for file in builtins.files:  # type: ignore[attr-defined]
        file.close()


def test_a_result_on_disk_is_not_lost_where_no_file_can_be_opened() -> None:
    """A task fails for it and says so, and what lies on the disk is not made again."""
    with cluster() as client:
        made = client.submit(random_bytes, 1)
        wait(made, LIMIT_SECONDS)
        (spilled,) = client.run(spill_all_and_use_up_files).values()
        assert spilled >= 600_000
        with pytest.raises(OSError, match="Too many open files") as raised:
            client.submit(contents_of, made, key="too-many").result(LIMIT_SECONDS)
        assert "ulimit -n" in " ".join(raised.value.__notes__)
        client.run(close_files)
        found = client.submit(contents_of, made, key="again").result(LIMIT_SECONDS)
        assert found == contents_of(random_bytes(1))
        runs = [each for each in client.get_task_stream() if each["key"] == made.key]
        assert len(runs) == 1


def test_what_was_spilled_goes_when_the_scheduler_is_killed() -> None:
    with cluster() as client:
        futures = client.map(filled, range(10), size=20_000_000)
        wait(futures, timeout=LIMIT_SECONDS)
        folder = folder_of(client)
        assert list(folder.glob("spill-*/*"))
        assert client._scheduler is not None
        client._scheduler.process.kill()
        # Not only when the client is closed.
        wait_until("its files to go", lambda: not list(folder.glob("spill-*")))


def test_the_next_client_removes_what_dead_schedulers_and_clients_left(tmp_path: Path) -> None:
    """A folder of a living scheduler, and one of a scheduler that has died."""
    content = []
    for name in ("spanwise-alive", "spanwise-dead"):
        (tmp_path / name / "spill-0").mkdir(parents=True)
        content.append(tmp_path / name / "spill-0" / "1")
        content[-1].write_bytes(b"result")
    alive, dead = content
    doors = []
    for file in content:
        doors.append(socket.socket(socket.AF_UNIX))
        doors[-1].bind(str(file.parent.parent / "scheduler.sock"))
        doors[-1].listen()
    doors[1].close()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    dead.parent.parent.rename(elsewhere / "dead")
    dead.parent.parent.symlink_to(elsewhere / "dead")
    remove_abandoned(tmp_path)
    assert dead.exists()  # anybody may have put the link there
    dead.parent.parent.unlink()
    (elsewhere / "dead").rename(dead.parent.parent)
    remove_abandoned(tmp_path)
    assert alive.exists()
    assert not dead.parent.exists()
    doors[0].close()


def test_the_task_that_needs_too_much_is_blamed_in_the_end() -> None:
    with warnings.catch_warnings(record=True) as caught, cluster() as client:
        warnings.simplefilter("always")
        fits = client.submit(filled, 1, 1_000_000)
        future = client.submit(keep_and_sleep, 400 * MIB, 30.0)
        # Long before the task is blamed: nobody is to wait without knowing why.
        wait_until("a notice", lambda: any("memory_limit" in str(each.message) for each in caught))
        assert future.status == "pending"
        with pytest.raises(KilledWorker, match="more memory than its limit") as raised:
            future.result(LIMIT_SECONDS)
        message = str(raised.value)
        told = re.search(r"last used (\d+) MiB of the (\d+) MiB that it might use", message)
        assert told is not None, message
        assert float(told[1]) >= 0.95 * float(told[2]) - 1
        assert f"There ran {future.key}." in message
        assert "memory_limit" in message
        notices = [text for each in caught if "A worker (" in (text := str(each.message))]
        assert len(notices) == 1, notices
        assert f"There ran {future.key}." in notices[0]
        assert fits.result(LIMIT_SECONDS) == filled(1, 1_000_000)


@pytest.mark.parametrize("target", [0.6, False], ids=["spilled", "never spilled"])
def test_a_result_that_no_worker_can_hold_fails_at_once_and_says_why(target: float) -> None:
    """Made with the interpreter lock held, so that nothing ends the worker before it is there."""
    with dask.config.set({"distributed.worker.memory.target": target}), cluster() as client:
        fits = client.submit(filled, 1, 1_000_000)
        wait(fits, timeout=LIMIT_SECONDS)
        with pytest.raises(MemoryError) as raised:
            client.submit(filled, 2, MEMORY).result(LIMIT_SECONDS)
        told = re.search(
            r"takes (\d+) MiB of memory, .* uses (\d+) MiB of the 240 MiB that it may use",
            str(raised.value),
        )
        assert told is not None, raised.value
        assert 240 <= int(told[1]) < int(told[2]) < 300
        assert "To run the task again cannot help" in str(raised.value)
        assert "memory_limit" in str(raised.value)
        assert fits.result(LIMIT_SECONDS) == filled(1, 1_000_000)


def mapped_file(path: Path) -> Any:
    import numpy as np

    return np.memmap(path, mode="r")


def test_a_large_result_that_lies_in_a_file_is_kept(tmp_path: Path) -> None:
    """Its size says more than its worker has, and it is in no memory."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(4 * MEMORY)
    with cluster() as client:
        future = client.submit(mapped_file, path)
        wait(future, timeout=LIMIT_SECONDS)
        assert future.status == "finished"


@pytest.mark.parametrize("share", [0.55, 0.8])
def test_a_result_that_fits_once_and_not_twice_is_asked_for(share: float) -> None:
    """A pickle of it beside it, for a client or in front of a task, would end the worker."""
    with cluster() as client:
        client.submit(length_and_first, b"a").result(LIMIT_SECONDS)
        (before,) = rows(client)
        size = int(share * MEMORY)
        future = client.submit(filled, 2, size)
        assert future.result(LIMIT_SECONDS) == filled(2, size)
        found = client.submit(length_and_first, future).result(LIMIT_SECONDS)
        assert found == told_of(size, 2)
        assert future.result(LIMIT_SECONDS) == filled(2, size)
        assert [row["pid"] for row in rows(client)] == [before["pid"]]


def test_workers_that_end_again_and_again_with_their_results_are_no_endless_loop() -> None:
    """Each result is kept in memory beside what its making cost; none is ever on disk."""
    with full_disk(mounted) as disk, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*results cannot be written to", RuntimeWarning)
        with cluster() as client:
            disk.started()
            # The first fits, the second needs the first and ends the worker, and with it the first.
            first = client.submit(filled, 1, 120 * MIB)
            second = client.submit(grown, first, 160 * MIB)
            with pytest.raises((KilledWorker, StallError)):
                second.result(LIMIT_SECONDS)


def grown(value: bytes, nbytes: int) -> int:
    more = bytearray(nbytes)
    time.sleep(5)
    return len(value) + len(more)


def test_a_task_whose_worker_is_not_there_is_told_of() -> None:
    with warnings.catch_warnings(record=True) as caught, cluster() as client:
        warnings.simplefilter("always")
        client.submit(length_and_first, b"a").result(LIMIT_SECONDS)
        bound = client.submit(length_and_first, b"b", workers=["elsewhere"])
        wait_until("a notice", lambda: any("is not there" in str(each.message) for each in caught))
        assert len([each for each in caught if "is not there" in str(each.message)]) == 1
        assert bound.status == "pending"


def test_folders_that_go_while_they_are_looked_through_hold_up_no_start(tmp_path, monkeypatch):
    """Beside a client that starts, others end and remove their folders."""
    for number in range(3):
        (tmp_path / f"spanwise-{number}").mkdir()
    gone = tmp_path / "spanwise-1"
    real = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        found = real(path)
        if path == gone:
            gone.rmdir()
        return found

    monkeypatch.setattr(Path, "lstat", lstat)
    remove_abandoned(tmp_path)
    assert not gone.exists()
    remove_spilled(gone)
