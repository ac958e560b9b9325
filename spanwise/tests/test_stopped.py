"""Processes that are stopped (SIGSTOP) and go on later: their work is done elsewhere meanwhile."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from operator import mul
from pathlib import Path

import dask
import psutil
import pytest

from spanwise import Client
from spanwise.processes.process_state import lives, started
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until
from spanwise.worker import lifeline

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the kernel continues nobody who is stopped"
)
TTL_SECONDS = 1.0
#: What closing may take, whichever process is stopped: what does not answer is otherwise waited for
#: 5 s and more.
CLOSE_SECONDS = 3.0
#: As documented: what is stopped outlives a killed client by no longer.
OUTLIVE_SECONDS = 20.0


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


def where_it_runs(folder: Path, stays: int) -> int:
    """Come to no end in the process `stays`."""
    (folder / f"pid-{os.getpid()}").touch()
    if os.getpid() == stays:
        time.sleep(600)
    return os.getpid()


def pid_marks(folder: Path) -> list[int]:
    return [int(mark.name.split("-")[1]) for mark in folder.glob("pid-*")]


def test_a_stopped_worker_s_tasks_and_results_move_and_it_makes_room_when_it_goes_on(
    client: Client, known: set[int], tmp_path: Path
) -> None:
    first, other = workers_of(client).values()
    there = {"workers": [first["id"]], "allow_other_workers": True, "pure": False}
    kept = client.submit(mul, b"\7", 400_000, **there)
    assert kept.result()[0] == 7
    running = client.submit(where_it_runs, tmp_path, first["pid"], **there)
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
        mul, b"\3", 400_000, workers=[worker["id"]], allow_other_workers=True, pure=False
    )
    client.scheduler_info()
    wait_until("it is made", made.done)
    os.kill(worker["pid"], signal.SIGSTOP)
    try:
        assert made.result(timeout=LIMIT_SECONDS)[0] == 3
        total = client.submit(sum, made)
        assert total.result(timeout=LIMIT_SECONDS) == 1_200_000
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
    with Disturbance(os.getpid(), *(set(marked_processes()) - known)) as lost:
        began = time.monotonic()
        client.close()
        assert time.monotonic() - began < CLOSE_SECONDS + lost.seconds
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


#: What a Jupyter server does of its own to have an observer.
_SERVER = """
import sys, time
from pathlib import Path
from spanwise.server.supervisor import observer_starter

observer = observer_starter(Path(sys.argv[1]), "unix", 2**28)()
print("ready", flush=True)
time.sleep(600)
"""


def all_end_in_time(known: set[int], killed_at: float, lost: Disturbance) -> None:
    """All end within the documented time, and as much more as the machine took from them."""
    wait_until("all to end", lambda: not set(marked_processes()) - known)
    assert time.monotonic() - killed_at < OUTLIVE_SECONDS + lost.seconds


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
        with Disturbance(os.getpid(), *(set(marked_processes()) - known)) as lost:
            client.kill()
            all_end_in_time(known, time.monotonic(), lost)


def test_what_a_worker_waits_leaves_time_for_the_ends_of_processes() -> None:
    """At worst: it looks just before its client ends, and is late itself."""
    longest = lifeline._SCHEDULER_SECONDS + 2 * lifeline._LOOK_SECONDS
    assert longest <= OUTLIVE_SECONDS - 5.0


def test_nor_does_one_whose_client_is_killed_as_its_worker_starts(known: set[int]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _CLIENT.replace("n_workers=2", "n_workers=1")],
        stdout=subprocess.DEVNULL,
    ) as client:
        (worker,) = wait_until("it starts", lambda: processes_of("worker", known))
        worker.suspend()
        (scheduler,) = processes_of("scheduler", known)
        scheduler.suspend()
        with Disturbance(os.getpid(), *(set(marked_processes()) - known)) as lost:
            client.kill()
            worker.resume()
            all_end_in_time(known, time.monotonic(), lost)


@LINUX
@pytest.mark.parametrize("workers", [0, 2])
def test_nobody_who_is_stopped_outlives_a_killed_client(known: set[int], workers: int) -> None:
    """Neither the script's observer, nor a scheduler whose workers cannot look for its client."""
    program = _CLIENT.replace("n_workers=2", f"n_workers={workers}")
    program = program.replace("wait_for_workers(2)", f"wait_for_workers({workers})")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        stopped = [
            *processes_of("scheduler", known),
            *processes_of("observer", known),
            *processes_of("worker", known),
        ]
        assert len(stopped) == 2 + workers
        folders = [Path(each.cmdline()[-1]) for each in stopped[:2]]
        for process in stopped:
            process.suspend()
        client.kill()
    wait_until("all to end", lambda: not set(marked_processes()) - known)
    # They went on, and so could remove what they had.
    assert not any(folder.exists() for folder in folders)


@LINUX
def test_a_server_s_stopped_observer_ends_with_it(known: set[int], tmp_path: Path) -> None:
    program = [sys.executable, "-c", _SERVER, str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        (observer,) = processes_of("observer", known)
        observer.suspend()
        # One that is stopped but has its server is left alone.
        time.sleep(0.5)
        assert observer.status() == psutil.STATUS_STOPPED
        server.kill()
    wait_until("it ends", lambda: not set(marked_processes()) - known)


#: A scheduler with a worker that looks for the client. (What it says is written whole: with
#: `print` the end of a line may come behind what another process says.)
_LOOKED_AT = """
import os, subprocess, sys
from pathlib import Path

worker = '''
import os, sys, time
from spanwise.worker import lifeline

lifeline._LOOK_SECONDS, lifeline._SCHEDULER_SECONDS = 0.05, float(sys.argv[4])
client = {"pid": int(sys.argv[2]), "started": float(sys.argv[3])}
lifeline.end_scheduler_without_client(int(sys.argv[1]), client)
lifeline.end_with_parent()
os.write(1, b"ready" + os.linesep.encode())
time.sleep(600)
'''
_, client, started, seconds = sys.argv
subprocess.run([sys.executable, "-c", worker, str(os.getpid()), client, started, seconds])
"""

#: What starts a scheduler, tells its pid and ends.
_STARTER = """
import os, subprocess, sys
scheduler = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]])
os.write(1, f"{scheduler.pid}{os.linesep}".encode())
input()
"""


class LookedAt:
    """A scheduler, its client, and a third process that is its parent, as debuggers are."""

    def __init__(self, seconds: float, since: float = 0.0) -> None:
        sleeping = [sys.executable, "-c", "input()"]
        self.client = subprocess.Popen(sleeping, stdin=subprocess.PIPE)
        begun = started(self.client.pid) + since
        told = (self.client.pid, begun, seconds)
        self.parent = subprocess.Popen(
            [sys.executable, "-c", _STARTER, _LOOKED_AT, *map(str, told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.parent.stdout is not None
        # In any order: the pid, and that the worker looks.
        said = {self.parent.stdout.readline().strip() for _ in range(2)}
        (pid,) = said - {"ready"}
        self.pid = int(pid)

    def __enter__(self) -> LookedAt:
        return self

    def __exit__(self, *error: object) -> None:
        for process in (self.parent, self.client):
            process.kill()
            process.communicate()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def test_a_scheduler_is_left_alone_while_its_client_lives_whoever_its_parent_is() -> None:
    with LookedAt(0.3) as scheduler:
        scheduler.parent.kill()
        scheduler.parent.wait()
        os.kill(scheduler.pid, signal.SIGSTOP)
        time.sleep(1.0)
        assert lives(scheduler.pid)
        scheduler.client.kill()
        # Nobody has waited for the client yet: it stays as a zombie.
        wait_until("it ends", lambda: not lives(scheduler.pid))


def test_a_scheduler_that_is_not_stopped_gets_time_to_end() -> None:
    with LookedAt(1.5) as scheduler:
        began = time.monotonic()
        scheduler.client.kill()
        wait_until("it ends", lambda: not lives(scheduler.pid))
        assert time.monotonic() - began > 1.0


def test_another_process_with_the_client_s_pid_is_not_its_client() -> None:
    with LookedAt(0.1, since=-60.0) as scheduler:
        wait_until("it ends", lambda: not lives(scheduler.pid))
