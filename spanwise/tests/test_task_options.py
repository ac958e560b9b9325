"""What is asked of single tasks comes true where they run: on real clusters."""

from __future__ import annotations

import builtins
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import dask
import numpy as np
import pytest
from dask import delayed

from spanwise import Client
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


@pytest.fixture(scope="module")
def one_thread() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


@pytest.fixture(scope="module")
def three() -> Iterator[Client]:
    with Client(n_workers=3, threads_per_worker=1) as client:
        yield client


def note(path: Path, text: object) -> None:
    """One line, whole, whichever process writes."""
    with path.open("a") as file:
        file.write(f"{text}\n")


def noted(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def fail_often(path: Path, times: int) -> str:
    note(path, os.getpid())
    if len(noted(path)) <= times:
        raise OSError(f"failure {len(noted(path))}")
    return f"after {times}"


def hold(begun: Path, go: Path) -> None:
    begun.touch()
    while not go.exists():
        time.sleep(0.002)


def pids_of(client: Client) -> dict[int, int]:
    return {row["id"]: row["pid"] for row in client.scheduler_info()["workers"].values()}


def pid_beside(*_inputs: object) -> int:
    return os.getpid()


# -- retries --------------------------------------------------------------


@pytest.mark.parametrize(
    ("retries", "failures", "runs"), [(0, 1, 1), (1, 1, 2), (3, 2, 3), (3, 3, 4), (3, 9, 4)]
)
def test_a_task_runs_again_as_often_as_was_said_and_no_more(
    one_thread: Client, tmp_path: Path, retries: int, failures: int, runs: int
) -> None:
    path = tmp_path / "runs"
    future = one_thread.submit(fail_often, path, failures, retries=retries)
    if failures > retries:
        with pytest.raises(OSError, match=f"^failure {runs}$"):
            future.result(LIMIT_SECONDS)
    else:
        assert future.result(LIMIT_SECONDS) == f"after {failures}"
    # A task behind it in the same thread: what would have run again has begun by now.
    assert one_thread.submit(os.getpid, pure=False).result(LIMIT_SECONDS)
    assert len(noted(path)) == runs


def test_retries_of_map_and_of_annotations_count_for_each_task(
    one_thread: Client, tmp_path: Path
) -> None:
    paths = [tmp_path / str(n) for n in range(3)]
    mapped = one_thread.map(fail_often, paths, [0, 1, 2], retries=2)
    assert one_thread.gather(mapped) == ["after 0", "after 1", "after 2"]
    assert [len(noted(path)) for path in paths] == [1, 2, 3]
    written, bare = tmp_path / "written", tmp_path / "bare"
    with dask.annotate(retries=2):
        lazy = delayed(fail_often)(written, 2)
    assert one_thread.compute(lazy).result(LIMIT_SECONDS) == "after 2"
    with pytest.raises(OSError, match="failure 1"):
        one_thread.compute(delayed(fail_often)(bare, 1)).result(LIMIT_SECONDS)
    assert (len(noted(written)), len(noted(bare))) == (3, 1)


# -- priorities -----------------------------------------------------------


def test_a_busy_thread_takes_the_highest_priority_next(one_thread: Client, tmp_path: Path) -> None:
    """Drawn, with ties: of equal priority what was submitted first runs first.

    A thread has one task ahead of the one it runs (docs/scheduler.md), here the lowest of all.
    """
    chance = random.Random(3)
    priorities = [chance.randint(-3, 3) for _ in range(20)]
    begun, go, path = tmp_path / "begun", tmp_path / "go", tmp_path / "order"
    first = one_thread.submit(hold, begun, go)
    wait_until("the thread to be busy", begun.exists)
    ahead = one_thread.submit(note, path, "ahead", priority=-10)
    one_thread.run(os.getpid)  # (answered behind what was sent ahead, which is there now)
    futures = [
        one_thread.submit(note, path, number, priority=priority, key=f"ranked-{number}")
        for number, priority in enumerate(priorities)
    ]
    with dask.annotate(priority=10):
        lazy = delayed(note)(path, "annotated")
    futures.append(one_thread.compute(lazy))
    go.touch()
    one_thread.gather([first, ahead, *futures])
    ranked = sorted(range(len(priorities)), key=lambda number: -priorities[number])
    assert noted(path) == ["ahead", "annotated", *map(str, ranked)]


# -- places ---------------------------------------------------------------


def test_tasks_run_where_they_were_told_to_though_others_are_idle(three: Client) -> None:
    pids = pids_of(three)
    home, away, _ = sorted(pids)
    bound = three.map(pid_beside, range(12), workers=[away])
    assert three.gather(bound) == [pids[away]] * 12
    # The input is elsewhere, and its place is idle and would be nearer.
    made = three.submit(bytes, 3_000_000, workers=home)
    users = [three.submit(pid_beside, made, n, workers=away) for n in range(3)]
    assert three.gather(users) == [pids[away]] * 3
    two = three.map(pid_beside, range(100, 124), workers=[home, away])
    assert set(three.gather(two)) <= {pids[home], pids[away]}


def test_only_who_may_goes_elsewhere_when_the_place_is_busy(three: Client, tmp_path: Path) -> None:
    pids = pids_of(three)
    home = min(pids)
    begun, go = tmp_path / "begun", tmp_path / "go"
    busy = three.submit(hold, begun, go, workers=home)
    wait_until("the place to be busy", begun.exists)
    strict = three.submit(pid_beside, 1, workers=home, pure=False)
    others = three.map(pid_beside, range(200, 212), pure=False)
    assert pids[home] not in three.gather(others)
    assert strict.status == "pending"
    go.touch()
    assert strict.result(LIMIT_SECONDS) == pids[home]
    busy.result(LIMIT_SECONDS)


# -- memory ---------------------------------------------------------------

MIB = 2**20


def drawn(seed: int) -> np.ndarray:
    """Between 2 and 6 MB, no two alike."""
    generator = np.random.default_rng(seed)
    return generator.random(250_000 + 20_000 * (seed * 7 % 25))


def marks(*arrays: np.ndarray) -> list[int]:
    """Tells the inputs and their places apart."""
    return [crc32(array) for array in arrays]


def keep(nbytes: int) -> None:
    # Not a result: it cannot be spilled.
    builtins.kept = bytearray(nbytes)  # type: ignore[attr-defined]


def let_go() -> None:
    del builtins.kept  # type: ignore[attr-defined]


@pytest.fixture
def small() -> Iterator[Client]:
    # Modules that other tests have imported here would fill the workers first.
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    with alone, Client(n_workers=2, threads_per_worker=1, memory_limit=280 * MIB) as client:
        yield client


def test_what_was_spilled_is_read_back_as_what_it_was_under_its_key(small: Client) -> None:
    """100 arrays, 390 MB, where 2 × 168 MB of results may stay."""
    assert small._scheduler is not None
    folder = small._scheduler.folder
    futures = [small.submit(drawn, seed, key=f"drawn-{seed}") for seed in range(100)]
    small.gather(small.map(len, futures))
    wait_until("files of spilled results", lambda: len([*folder.glob("spill-*/*")]) >= 5)
    expected = [marks(drawn(seed))[0] for seed in range(100)]
    # In a task: several inputs that are on disk, one of them twice.
    places = random.Random(5)
    rows = [[places.randrange(100) for _ in range(3)] for _ in range(12)]
    users = [small.submit(marks, *(futures[i] for i in (*row, row[0]))) for row in rows]
    for row, found in zip(rows, small.gather(users), strict=True):
        assert found == [expected[i] for i in (*row, row[0])]
    # By the client, one by one.
    for seed in (0, 1, 57, 99):
        np.testing.assert_array_equal(futures[seed].result(LIMIT_SECONDS), drawn(seed))


def test_a_worker_over_its_limit_begins_nothing_until_it_has_room(
    small: Client, tmp_path: Path
) -> None:
    def state_of(worker: int) -> str:
        return str(small._session.workers[worker]["state"])

    full, other = sorted(pids_of(small))
    # With the 15 to 25 MiB of the worker itself it pauses, at 224, and does not end, at 266.
    small.run(keep, 225 * MIB, workers=[full])
    wait_until("the pause", lambda: state_of(full) == "paused")
    path = tmp_path / "ran"
    waiting = [small.submit(note, path, n, workers=full, key=f"waiting-{n}") for n in range(3)]
    # The other one goes on, long enough for an idle thread to have begun what waits.
    there = pids_of(small)[other]
    for number in range(20):
        assert small.submit(pid_beside, number, pure=False).result(LIMIT_SECONDS) == there
    assert (state_of(full), state_of(other)) == ("paused", "running")
    assert noted(path) == []
    small.run(let_go, workers=[full])
    small.gather(waiting)
    assert sorted(noted(path)) == ["0", "1", "2"]
    assert state_of(full) == "running"
