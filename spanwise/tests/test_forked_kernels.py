"""What forks kernels ends with the tests that it forks them for, and its kernels with it."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from spanwise.tests import forked_kernels
from spanwise.tests.processes import is_gone, wait_until

pytest.importorskip("ipykernel")

#: Stands for the process of the tests and for a server of theirs.
_HOLDER = """
import json, os, sys, time
from spanwise.tests import forked_kernels
os.environ[forked_kernels.ADDRESS] = forked_kernels.kernels_address()
kernel = forked_kernels._forked(["-f", sys.argv[1]], dict(os.environ), None)
print(json.dumps([forked_kernels._template.pid, kernel.pid]), flush=True)
time.sleep(600)
"""


@pytest.fixture
def orphans_are_ours() -> Iterator[None]:
    """As below `systemd --user`: they do not go to process 1 (prctl's PR_SET_CHILD_SUBREAPER)."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(36, 1) == 0
    yield
    assert prctl(36, 0) == 0


@pytest.mark.usefixtures("orphans_are_ours")
@pytest.mark.parametrize("killed", ["the tests", "the template"])
def test_template_and_kernels_end_when_killed(tmp_path: Path, killed: str) -> None:
    connection = tmp_path / "connection.json"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(connection)], stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            template, kernel = map(psutil.Process, json.loads(holder.stdout.readline()))
            wait_until("the kernel has begun", connection.exists)
            if killed == "the tests":
                holder.kill()
                wait_until("the template ends", lambda: is_gone(template))
            else:
                template.kill()
            wait_until("the kernel ends", lambda: is_gone(kernel))
            for each in (template, kernel):
                with suppress(ChildProcessError):
                    os.waitpid(each.pid, os.WNOHANG)
        finally:
            holder.kill()


def test_another_template_takes_the_place_of_one_that_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = forked_kernels.kernels_address()
    monkeypatch.setenv(forked_kernels.ADDRESS, address)
    before = forked_kernels._template
    assert before is not None
    before.kill()
    before.wait()
    with pytest.raises(RuntimeError, match=r"no kernel was forked: .*refused"):
        forked_kernels._forked([], {}, None)
    assert forked_kernels.kernels_address() == address
    assert forked_kernels._template is not None and forked_kernels._template.poll() is None


def test_a_fork_that_ends_before_it_answers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # (the path of a socket has to be short)
    monkeypatch.setenv(forked_kernels.ADDRESS, "kernels")

    def answer_nothing() -> None:
        with door.accept()[0] as link:
            while link.recv(1 << 16):
                pass

    with socket.socket(socket.AF_UNIX) as door:
        door.bind("kernels")
        door.listen()
        fork = threading.Thread(target=answer_nothing)
        fork.start()
        with pytest.raises(RuntimeError, match="the fork has ended"):
            forked_kernels._forked([], {}, None)
        fork.join()
