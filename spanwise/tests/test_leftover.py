"""The search for leftover processes finds a child and an orphan."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import psutil

from spanwise.tests.leftover import marked_processes, wait_until_gone

# Starts a grandchild in a session of its own, prints its pid and ends.
_LEAVE_AN_ORPHAN = """
import subprocess, sys
sleeper = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(600)"],
    start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
print(sleeper.pid)
"""


def test_an_orphan_is_found_and_ended() -> None:
    known = set(marked_processes())
    started = subprocess.run(
        [sys.executable, "-c", _LEAVE_AN_ORPHAN],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    orphan = psutil.Process(int(started.stdout))
    assert orphan.pid in marked_processes()
    lines = wait_until_gone(known, limit_seconds=0)
    assert [line.split(":")[0] for line in lines] == [str(orphan.pid)]
    with suppress(psutil.NoSuchProcess):
        orphan.wait(timeout=30)
    assert wait_until_gone(known, limit_seconds=30) == []
