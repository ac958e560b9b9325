"""Tasks that fork: the child never answers in the worker's place, and ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from spanwise import Client
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


def fork_and_return(mark: Path, seconds: float = 0.0) -> str:
    child = os.fork()
    if child == 0:
        mark.write_text(str(os.getpid()))
        time.sleep(seconds)
        return "child"
    if seconds == 0.0:
        os.waitpid(child, 0)
    return "parent"


def exit_code_of_fork(how: str) -> int:
    child = os.fork()
    if child == 0:
        if how == "exit":
            sys.exit(7)
        raise ValueError("in the child")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def square_in_process(n: int) -> int:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(pow, (n, 2))


def say_in_program() -> str:
    return subprocess.run(["echo", "said"], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


def test_the_child_of_a_task_never_answers(client: Client, tmp_path: Path) -> None:
    before = len(client.get_task_stream())
    for n in range(3):
        mark = tmp_path / f"mark-{n}"
        forked = client.submit(fork_and_return, mark, pure=False)
        assert forked.result(timeout=LIMIT_SECONDS) == "parent"
        assert not psutil.pid_exists(int(mark.read_text()))
    assert client.run(fork_and_return, tmp_path / "run") == dict.fromkeys(
        client.scheduler_info()["workers"], "parent"
    )
    assert len(client.get_task_stream()) == before + 3


def test_the_child_ends_as_a_program_does(client: Client) -> None:
    assert client.submit(exit_code_of_fork, "exit").result(timeout=LIMIT_SECONDS) == 7
    assert client.submit(exit_code_of_fork, "raise").result(timeout=LIMIT_SECONDS) == 1


def test_a_child_that_goes_on_ends_with_its_worker(client: Client, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert client.submit(fork_and_return, mark, 600.0).result(timeout=LIMIT_SECONDS) == "parent"
    child = int(wait_until("it runs", lambda: mark.exists() and mark.read_text()))
    assert psutil.pid_exists(child)
    (worker,) = client.scheduler_info()["workers"].values()
    psutil.Process(worker["pid"]).kill()
    wait_until("it has ended", lambda: not psutil.pid_exists(child))


def test_processes_and_programs_of_tasks_work(client: Client) -> None:
    assert client.submit(square_in_process, 3).result(timeout=LIMIT_SECONDS) == 9
    assert client.submit(say_in_program).result(timeout=LIMIT_SECONDS) == "said\n"


def fork_and_come_back(mark: Path) -> str:
    """In a worker the child returns from here; the parent tells what became of it."""
    if "spanwise.worker" not in sys.orig_argv:
        return "elsewhere"
    child = os.fork()
    if child == 0:
        return "child"
    until = time.monotonic() + LIMIT_SECONDS / 2
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            with mark.open("a") as file:
                file.write(f"{os.waitstatus_to_exitcode(status)}\n")
            return "parent"
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with mark.open("a") as file:
        file.write("stayed\n")
    return "parent"


class ForksOnTheWay:
    """Forks each time it is pickled, or unpickled."""

    def __init__(self, when: str, mark: Path, size: int) -> None:
        self.when = when
        self.mark = mark
        self.rest = bytes(size)

    def __getstate__(self) -> dict[str, Any]:
        if self.when == "pickle":
            fork_and_come_back(self.mark)
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.when == "unpickle":
            fork_and_come_back(self.mark)

    def __sizeof__(self) -> int:
        if self.when == "measure":
            fork_and_come_back(self.mark)
        return len(self.rest)

    def __del__(self) -> None:
        if self.when == "let go" and hasattr(self, "mark"):
            fork_and_come_back(self.mark)


def length_of(value: ForksOnTheWay) -> int:
    return len(value.rest)


@pytest.fixture(scope="module")
def pair() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


@pytest.mark.parametrize("size", [10, 100_000], ids=["with the report", "by a door"])
@pytest.mark.parametrize("when", ["pickle", "unpickle", "measure", "let go"])
def test_a_child_of_a_value_on_its_way_never_answers(
    pair: Client, when: str, size: int, tmp_path: Path
) -> None:
    """Within executors, doors' and fetching threads, and the one that reads the scheduler."""
    mark = tmp_path / "mark"
    mark.touch()
    first, second = pair.scheduler_info()["workers"].values()
    made = pair.submit(ForksOnTheWay, when, mark, size, workers=[first["id"]])
    lengths = [
        pair.submit(length_of, made, workers=[each["id"]], pure=False) for each in (first, second)
    ]
    assert [each.result(timeout=LIMIT_SECONDS) for each in lengths] == [size, size]
    assert len(made.result(timeout=LIMIT_SECONDS).rest) == size
    del made, lengths
    wait_until("a fork", mark.read_text)
    # Both still answer, each once.
    for each in (first, second):
        answers = pair.map(length_and_pid, [b"abc"] * 20, workers=[each["id"]], pure=False)
        assert set(pair.gather(answers)) == {(3, each["pid"])}
        del answers
    assert set(mark.read_text().split()) == {"0"}


def test_a_child_of_scattered_data_never_answers(pair: Client, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    placed = pair.scatter(ForksOnTheWay("unpickle", mark, 100_000))
    assert pair.submit(length_of, placed).result(timeout=LIMIT_SECONDS) == 100_000
    assert set(mark.read_text().split()) == {"0"}


def length_and_pid(value: bytes) -> tuple[int, int]:
    return len(value), os.getpid()
