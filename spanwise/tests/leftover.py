"""Finds processes that a test started and did not end, orphans included.

A child of a child that died has no parent to be found by, so processes are known
by a variable in their environment, which every child inherits.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import psutil

# Not SPANWISE_…: tests start servers without the variables that begin so.
MARK = "PYTEST_RUN_OF_SPANWISE"

# Elsewhere psutil asks the system, which takes longer.
_HAS_PROC = Path("/proc/self/environ").exists()

# Most processes' variables fit.
_PIECE_BYTES = 1 << 16

# Python starts it for shared memory and ends it with the interpreter.
_KEPT_BY_PYTHON = "multiprocessing.resource_tracker"
#: Pids of what tests share, which ends with this process.
_shared: set[int] = set()


def mark_this_process() -> None:
    """Give this process and all its future children the mark."""
    os.environ[MARK] = uuid.uuid4().hex


def not_left_over(pid: int) -> None:
    """Let a process outlive the tests that it serves."""
    _shared.add(pid)


def left_over_again(pid: int) -> None:
    """Count it as left over from now on, if it lives."""
    _shared.discard(pid)


def marked_processes() -> dict[int, psutil.Process]:
    """Return the living processes that this one's children started, by pid."""
    found = {}
    mark = f"{MARK}={os.environ[MARK]}".encode()
    left_out = {os.getpid(), *_shared}
    for pid in psutil.pids():
        try:
            if pid in left_out or not _has_variable(pid, mark):
                continue
            process = psutil.Process(pid)
            command = " ".join(process.cmdline())
            if process.status() != psutil.STATUS_ZOMBIE and _KEPT_BY_PYTHON not in command:
                found[pid] = process
        except (OSError, psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def _has_variable(pid: int, line: bytes) -> bool:
    if not _HAS_PROC:
        name, _, value = line.decode().partition("=")
        return psutil.Process(pid).environ().get(name) == value
    # Nothing else is read, and without objects for path and file, in a tenth of the time: many
    # tests wait by it, among a hundred processes of others.
    descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY)
    try:
        text = b""
        while piece := os.read(descriptor, _PIECE_BYTES):
            text += piece
            if len(piece) < _PIECE_BYTES:
                break
    finally:
        os.close(descriptor)
    return line in text


def wait_until_gone(known: set[int], limit_seconds: float) -> list[str]:
    """Wait until no marked process but the known ones lives.

    Returns
    -------
    list of str
        A line per process that is still there after the limit; empty if none is.
        Those are killed, so that one leaking module does not disturb the next.
    """
    limit = time.monotonic() + limit_seconds
    while True:
        left = {pid: p for pid, p in marked_processes().items() if pid not in known}
        if not left:
            return []
        if time.monotonic() > limit:
            break
        time.sleep(0.1)
    lines = []
    for process in left.values():
        try:
            lines.append(f"{process.pid}: {' '.join(process.cmdline())[:200]}")
            process.kill()
        except psutil.NoSuchProcess:
            continue
    return lines
