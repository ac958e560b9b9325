"""Has processes go on that a benchmark stopped, should it end without doing so (``stillness.py``).

A stopped process does not see that its input has ended, and what it started may be in sessions of
its own: after a ``kill -9`` of the benchmark all would stand still for ever. This program, in a
session of its own, is told on its input of each process before it is stopped, a line
``PID START``; only the benchmark has the other end, so that the end of the input is its own.

Nothing but Python's own library, and started by its path: it is there at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path


def start_of(pid: int) -> str:
    """When a process started: with its pid that tells it from every other one.

    Raises
    ------
    ProcessLookupError
    """
    if sys.platform == "linux":
        try:
            told = Path(f"/proc/{pid}/stat").read_text("utf8", errors="replace")
        except OSError:
            raise ProcessLookupError(pid) from None
        # Behind the program's name, which may be anything.
        return told.rpartition(")")[2].split()[19]
    said = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    if not said.stdout.strip():
        raise ProcessLookupError(pid)
    return "-".join(said.stdout.split())


def main() -> None:
    """Wait for the end of the input, then have all go on."""
    told = dict.fromkeys(line.strip() for line in sys.stdin)
    # What was started goes on before who started it. One that does not stand still (any more)
    # takes no notice, so none is asked: a stop may be on its way to it.
    for line in reversed(told):
        pid, start = line.split()
        with contextlib.suppress(ProcessLookupError):
            if start_of(int(pid)) == start:
                os.kill(int(pid), signal.SIGCONT)


if __name__ == "__main__":
    main()
