"""What the system says of processes, and what is made of it when it says nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from spanwise.processes import process_state
from spanwise.processes.process_state import is_stopped, lives, started
from spanwise.tests.descriptors import without_descriptors


def test_what_cannot_be_told_for_want_of_descriptors_changes_nothing() -> None:
    pid = os.getpid()
    since = started(pid)
    with without_descriptors():
        answers = lives(pid), lives(pid, since), is_stopped(pid)
    assert answers == (True, True, False)


def test_a_pid_is_another_process_s_with_another_start() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        since = started(process.pid)
        assert lives(process.pid, since)
        assert not lives(process.pid, since - 1.0)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        # Nobody has reaped it.
        assert psutil.pid_exists(process.pid)
        assert not lives(process.pid, since)
    assert not lives(process.pid, since)


def test_all_processes_tell_the_same_start() -> None:
    here = started(os.getpid())
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from spanwise.processes.process_state import started; "
            "print(started(int(sys.argv[1])))",
            str(os.getpid()),
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    assert abs(float(told.stdout) - here) < 0.1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere psutil is asked")
def test_a_worker_starts_without_psutil() -> None:
    asked = "import sys, spanwise.worker.__main__; print('psutil' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-P", "-c", asked], capture_output=True, text=True, check=True
    )
    assert told.stdout == "False\n"


@pytest.mark.parametrize("name", ["a", "a) T 1 (b", ")"])
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells it in a file")
def test_a_program_s_name_may_be_anything(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-c", "input()"], stdin=subprocess.PIPE) as process:
        asked = psutil.Process(process.pid)
        assert abs(started(process.pid) - (asked.create_time() - psutil.boot_time())) < 0.1
        assert lives(process.pid, started(process.pid))
        assert not is_stopped(process.pid)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert is_stopped(process.pid)
        process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a start does not change")
def test_a_clock_that_is_set_meanwhile_changes_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    since = started(os.getpid())
    linux = sys.modules["psutil._pslinux"]
    booted = linux.boot_time()
    told = [booted, booted + 60.0]

    def boot_time() -> float:
        now = told.pop(0) if len(told) > 1 else told[0]
        # (psutil before 7.1 keeps what it has read)
        monkeypatch.setattr(linux, "BOOT_TIME", now, raising=False)
        return now

    for of in (psutil, linux):
        monkeypatch.setattr(of, "boot_time", boot_time)
    assert abs(started(os.getpid()) - since) < 0.1
    assert lives(os.getpid(), since)


def test_who_may_not_be_asked_is_another_users_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system hides those of other users (hidepid)."""

    def ask(_: int) -> tuple[str, float]:
        raise PermissionError(errno.EACCES, "hidden")

    monkeypatch.setattr(process_state, "_state_and_start", ask)
    assert not lives(os.getpid())
    assert not is_stopped(os.getpid())
