"""Tasks that fork: the child never answers in the worker's place, and ends."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


def test_the_child_of_a_task_never_answers(client: Client, tmp_path: Path) -> None:
    for n in range(3):
        mark = tmp_path / f"mark-{n}"
        forked = client.submit(fork_and_return, mark, pure=False)
        assert forked.result(timeout=LIMIT_SECONDS) == "parent"
        assert not psutil.pid_exists(int(mark.read_text()))
    assert client.run(fork_and_return, tmp_path / "run") == dict.fromkeys(
        client.scheduler_info()["workers"], "parent"
    )
    assert len(client.get_task_stream()) == 3


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
