"""End what a lane of ``scripts/test`` has left: ``end_lane.py MARK``.

Runners leave clusters, servers and browsers when their time is over. Those have sessions and
process groups of their own, and parents that may have ended; but each has inherited the
variable TEST_LANE_OF_SPANWISE. A process belongs to the lane if its value begins with MARK.
Each gets SIGTERM, and after three seconds SIGKILL; a line on standard error names it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "TEST_LANE_OF_SPANWISE"
#: How long what gets SIGTERM may take, and how long all may.
TERM_SECONDS = 3.0
LIMIT_SECONDS = 13.0


def main(mark: str) -> int:
    """Exit code 1 if something could not be ended."""
    begun = time.monotonic()
    told: dict[int, str] = {}
    while left := dict(marked(f"{VARIABLE}={mark}".encode())):
        waited = time.monotonic() - begun
        if waited > LIMIT_SECONDS:
            sys.stderr.write(f"   Cannot be ended: {sorted(left)}\n")
            return 1
        for pid, command in left.items():
            if pid not in told:
                sys.stderr.write(f"   Left by its runner, and ended: {pid} {command[:120]}\n")
            if pid not in told or waited > TERM_SECONDS:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM if waited <= TERM_SECONDS else signal.SIGKILL)
            told[pid] = command
        time.sleep(0.1)
    return 0


def marked(start: bytes) -> Iterator[tuple[int, str]]:
    """Pid and command of the processes with a variable that begins so; this one is left out."""
    if Path("/proc/self/environ").exists():
        found = _from_proc(start)
    else:
        found = _from_ps(start)
    return ((pid, command) for pid, command in found if pid != os.getpid())


def _from_proc(start: bytes) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            # Another user's, or it has ended; one that nobody has reaped has no environment.
            with suppress(OSError):
                if any(
                    variable.startswith(start)
                    for variable in (folder / "environ").read_bytes().split(b"\0")
                ):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    yield int(folder.name), command.decode(errors="replace").strip()


def _from_ps(start: bytes) -> Iterator[tuple[int, str]]:
    listed = subprocess.run(
        ["ps", "axeww", "-o", "pid=,command="], stdout=subprocess.PIPE, check=True
    ).stdout
    for line in listed.splitlines():
        pid, _, rest = line.strip().partition(b" ")
        if any(word.startswith(start) for word in rest.split(b" ")):
            yield int(pid), rest.decode(errors="replace").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
