"""Processes that are stopped (SIGSTOP) and go on later: their work is done elsewhere meanwhile."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dask
import numpy as np
import psutil
import pytest

from spanwise import Client
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until
from spanwise.worker.lifeline import has_lost

TTL_SECONDS = 1.0
#: What closing may take, whichever process is stopped.
CLOSE_SECONDS = 3.0


@pytest.fixture
def known() -> set[int]:
    """Pids that lived before the test."""
    return set(marked_processes())


@pytest.fixture
def client(known: set[int]) -> Iterator[Client]:
    with (
        dask.config.set({"spanwise.scheduler.worker-ttl": f"{TTL_SECONDS}s"}),
        Client(n_workers=2, threads_per_worker=1) as client,
    ):
        yield client


def workers_of(client: Client) -> dict[int, dict]:
    """What `scheduler_info` says of each worker, by pid."""
    return {row["pid"]: row for row in client.scheduler_info()["workers"].values()}


def note_and_wait(folder: Path, number: int, seconds: float) -> int:
    """Leave a mark per run; take a while."""
    (folder / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return number


def where_it_runs(folder: Path, seconds: float) -> int:
    (folder / f"pid-{os.getpid()}").touch()
    time.sleep(seconds)
    return os.getpid()


def pid_marks(folder: Path) -> list[int]:
    return [int(mark.name.split("-")[1]) for mark in folder.glob("pid-*")]


def test_a_stopped_worker_s_tasks_and_results_move_and_it_makes_room_when_it_goes_on(
    client: Client, known: set[int], tmp_path: Path
) -> None:
    first, other = workers_of(client).values()
    there = {"workers": [first["id"]], "allow_other_workers": True, "pure": False}
    kept = client.submit(np.full, 50_000, 7, **there)
    assert kept.result()[0] == 7
    running = client.submit(where_it_runs, tmp_path, 2, **there)
    wait_until("it runs", lambda: first["pid"] in pid_marks(tmp_path))
    os.kill(first["pid"], signal.SIGSTOP)
    try:
        told = wait_until(
            "it is said to be stopped",
            lambda: [row for row in workers_of(client).values() if row["status"] == "stopped"],
        )
        assert told[0]["pid"] == first["pid"]
        assert told[0]["last_seen"] <= time.time()
        assert running.result(timeout=LIMIT_SECONDS) != first["pid"]
        # What it held is computed again, also for one who was waiting for its answer.
        assert kept.result(timeout=LIMIT_SECONDS)[0] == 7
        wait_until("another is there", lambda: len(workers_of(client)) == 2)
        assert first["pid"] not in workers_of(client)
        assert other["pid"] in workers_of(client)
    finally:
        os.kill(first["pid"], signal.SIGCONT)
    wait_until("it has ended", lambda: first["pid"] not in marked_processes())
    # No third takes its place.
    assert client.gather(client.map(abs, range(20))) == list(range(20))
    pids = set(workers_of(client))
    assert len(pids) == 2
    assert {process.pid for process in processes_of("worker", known)} == pids


def test_a_worker_that_goes_on_in_time_keeps_its_tasks(known: set[int], tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        (pid,) = workers_of(client)
        futures = [client.submit(note_and_wait, tmp_path, n, 0.1) for n in range(5)]
        wait_until("one runs", lambda: list(tmp_path.iterdir()))
        os.kill(pid, signal.SIGSTOP)
        wait_until("it is seen", lambda: workers_of(client)[pid]["status"] == "stopped")
        os.kill(pid, signal.SIGCONT)
        assert client.gather(futures) == list(range(5))
        wait_until("it is well", lambda: workers_of(client)[pid]["status"] == "running")
        assert len(list(tmp_path.iterdir())) == 5
        assert len(client.get_task_stream()) == 5


def test_who_waits_for_a_stopped_worker_s_answer_gets_the_result_from_another(
    client: Client,
) -> None:
    worker = next(iter(workers_of(client).values()))
    made = client.submit(
        np.full, 50_000, 3, workers=[worker["id"]], allow_other_workers=True, pure=False
    )
    client.scheduler_info()
    wait_until("it is made", made.done)
    os.kill(worker["pid"], signal.SIGSTOP)
    try:
        assert made.result(timeout=LIMIT_SECONDS)[0] == 3
        total = client.submit(np.sum, made)
        assert total.result(timeout=LIMIT_SECONDS) == 150_000
    finally:
        os.kill(worker["pid"], signal.SIGCONT)


def keep_the_lock(seconds: int) -> int:
    """Keep the interpreter lock, as compiled code may that never gives it up."""
    ctypes.PyDLL(None).sleep(seconds)
    return os.getpid()


def test_a_worker_whose_interpreter_lock_is_held_is_not_taken_out(client: Client) -> None:
    before = set(workers_of(client))
    held = client.submit(keep_the_lock, int(4 * TTL_SECONDS))
    assert held.result(timeout=LIMIT_SECONDS) in before
    assert set(workers_of(client)) == before


def test_a_stopped_worker_can_be_killed(client: Client, tmp_path: Path) -> None:
    pid = next(iter(workers_of(client)))
    os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    wait_until("it is replaced", lambda: pid not in workers_of(client))
    wait_until("two are there", lambda: len(workers_of(client)) == 2)
    assert client.submit(abs, -3).result(timeout=LIMIT_SECONDS) == 3


@pytest.mark.parametrize("role", ["observer", "scheduler", "worker"])
def test_closing_waits_for_nobody_that_is_stopped(known: set[int], role: str) -> None:
    client = Client(n_workers=2, threads_per_worker=1)
    assert client.gather(client.map(abs, range(10))) == list(range(10))
    processes_of(role, known)[0].suspend()
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < CLOSE_SECONDS
    wait_until("all have ended", lambda: not set(marked_processes()) - known)


def test_a_stopped_worker_ends_with_a_scheduler_that_is_killed(known: set[int]) -> None:
    client = Client(n_workers=2, threads_per_worker=1)
    processes_of("worker", known)[0].suspend()
    processes_of("scheduler", known)[0].kill()
    wait_until("both have ended", lambda: not processes_of("worker", known))
    client.close()
    assert not [pid for pid in psutil.pids() if pid in set(marked_processes()) - known]


_CLIENT = """
import time
from spanwise import Client

if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1)
    client.wait_for_workers(2)
    print("ready", flush=True)
    time.sleep(600)
"""


def test_a_stopped_scheduler_does_not_outlive_its_killed_client(known: set[int]) -> None:
    """Nobody else knows of it: its workers look for its client, every two seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", _CLIENT], stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        (scheduler,) = processes_of("scheduler", known)
        # One that was stopped but has its client is left alone.
        scheduler.suspend()
        time.sleep(1.0)
        assert len(processes_of("worker", known)) == 2
        client.kill()
    # Longer than one that hears of it needs, and no longer than the documented 20 s.
    wait_until("all to end", lambda: not set(marked_processes()) - known, 20.0)


class Traced(psutil.Process):
    """A process whose parent is a debugger."""

    def ppid(self) -> int:
        return os.getpid() + 1


def test_a_process_with_a_debugger_has_lost_its_parent_only_when_that_has_ended() -> None:
    child = Traced()
    program = [sys.executable, "-c", "input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as running:
        parent = psutil.Process(running.pid)
        assert not has_lost(child, parent)
        os.kill(running.pid, signal.SIGKILL)
        # Nobody has waited for it yet: it stays as a zombie.
        wait_until("it is lost", lambda: has_lost(child, parent))
    assert has_lost(child, parent)


def test_a_parent_that_cannot_be_looked_at_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = psutil.Process(os.getppid())

    def fail(process: psutil.Process) -> bool:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(psutil.Process, "is_running", fail)
    with pytest.raises(OSError, match="Too many"):
        has_lost(Traced(), parent)
