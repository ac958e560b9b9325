"""Spilled results whose scheduler was killed: they are of no use, and may be large.

A scheduler removes what its workers leave; one that was killed cannot. Its client does, when
it finds its scheduler gone, and for clients that were killed too, the next one to start.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import time
from collections.abc import Collection
from pathlib import Path

from spanwise.processes.process_state import lives

#: Workers end with their scheduler; freeing their memory takes a moment.
END_SECONDS = 10.0


def remove_spilled(folder: Path, pids: Collection[int] = ()) -> None:
    """Remove what the workers of a dead scheduler have spilled, as they end."""
    end = time.monotonic() + END_SECONDS
    while True:
        living = any(map(lives, pids))
        for spilled in _spilled_in(folder):
            shutil.rmtree(spilled, ignore_errors=True)
        if not living or time.monotonic() > end:
            return
        time.sleep(0.05)


def remove_abandoned(base: Path) -> None:
    """Remove what schedulers that are dead have left in the folders beside a new one."""
    for folder in base.glob("spanwise-*"):
        if _is_own(folder) and _spilled_in(folder) and _is_dead(folder / "scheduler.sock"):
            remove_spilled(folder)


def _spilled_in(folder: Path) -> list[Path]:
    """What workers have spilled there; none if the folder has just gone."""
    try:
        return [each for each in folder.iterdir() if each.name.startswith("spill-")]
    except OSError:
        return []


def _is_own(folder: Path) -> bool:
    """Whether nobody else can have put it there, or another in its place: all write to /tmp."""
    try:
        found = folder.lstat()
    except OSError:
        return False  # it has just gone
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_dead(path: Path) -> bool:
    """Whether nobody listens where a scheduler has listened; False if that cannot be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(0.2)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:  # another user's, or there never was one: by TCP
            return False
    return False
