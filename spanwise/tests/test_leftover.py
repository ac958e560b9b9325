"""The search for leftover processes finds a child and an orphan."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from spanwise.tests import leftover
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.leftover import marked_processes, wait_until_gone
from spanwise.tests.processes import wait_until

# Starts a grandchild in a session of its own, prints its pid and ends.
_LEAVE_AN_ORPHAN = """
import subprocess, sys
sleeper = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(600)"],
    start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
print(sleeper.pid)
"""


@pytest.mark.parametrize("has_proc", [leftover._HAS_PROC, False])
def test_an_orphan_is_found_and_ended(has_proc: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftover, "_HAS_PROC", has_proc)
    known = set(marked_processes())
    started = subprocess.run(
        [sys.executable, "-c", _LEAVE_AN_ORPHAN],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    orphan = psutil.Process(int(started.stdout))
    # (who starts a program goes on a moment before that has its environment)
    wait_until("it is seen", lambda: orphan.pid in marked_processes())
    lines = wait_until_gone(known, limit_seconds=0)
    assert [line.split(":")[0] for line in lines] == [str(orphan.pid)]
    with suppress(psutil.NoSuchProcess):
        orphan.wait(timeout=60)
    assert wait_until_gone(known, limit_seconds=60) == []


#: A runner with browsers, say, both in lanes of `scripts/test`: the runner is killed, or its
#: time is over; they have sessions of their own.
_RUNNER = """
import os, signal, subprocess, sys

for stopped in (False, True):
    left = subprocess.Popen(["sleep", "600"], start_new_session=True)
    if stopped:
        left.send_signal(signal.SIGSTOP)
print("ready", sys.stdin.read().strip() or "nothing", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

_LANES = """
set -euo pipefail
source {checkout}/scripts/prepare.sh
state={folder}
source {checkout}/scripts/lanes.sh
tools_python={python}
failed_step() {{ echo "failed: $1"; }}
run() {{ step "the runner" "nothing" {python} {folder}/runner.py; }}
step_input=0
{lanes}
echo over
"""


@pytest.mark.parametrize(
    "lanes",
    [
        pytest.param("lane runner run", id="in the foreground"),
        pytest.param("begin_beside runner run\njoin_beside", id="beside"),
        pytest.param("begin_beside runner run\nwait\nexit 1", id="in a run that ends early"),
    ],
)
def test_a_lane_ends_with_what_its_killed_runner_left(tmp_path: Path, lanes: str) -> None:
    known = set(marked_processes())
    (tmp_path / "runner.py").write_text(_RUNNER)
    script = _LANES.format(checkout=CHECKOUT, folder=tmp_path, python=sys.executable, lanes=lanes)
    with subprocess.Popen(["sleep", "600"]) as another:
        ran = subprocess.run(
            ["bash", "-c", script],
            input="line\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
            env={**os.environ, "SPANWISE_CHECKOUT": str(CHECKOUT)},
        )
        left = {pid: p.cmdline() for pid, p in marked_processes().items() if pid not in known}
        assert list(left) == [another.pid], (left, ran.stderr)
        another.kill()
    if "exit" not in lanes:
        # Beside others there is no terminal, and nothing to read.
        assert f"ready {'nothing' if 'beside' in lanes else 'line'}\n" in ran.stdout
        assert "over" in ran.stdout
    assert ran.stderr.count("Left by its runner, and ended") >= 2
    wait_until("all to be gone", lambda: not set(marked_processes()) - known)
