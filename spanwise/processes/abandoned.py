"""Removes spilled results whose scheduler was killed: they are of no use, and may be large.

A scheduler removes the files that its workers leave. If it was killed, its client does so
when it finds its scheduler gone; if the client was killed too, the next client to start does.
So it is with the folder of `spanwise worker`, which names that command in a file.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import time
from collections.abc import Collection
from pathlib import Path

from spanwise.notices import tell
from spanwise.processes.process_state import lives, started
from spanwise.wire.private_folder import write_private

#: Workers end with their scheduler; freeing their memory takes a moment.
END_SECONDS = 10.0
#: How long a new client tries to remove what others have left.
_TRY_SECONDS = 1.0


#: How folders begin that lie where `temporary-directory` says; `spanwise.worker.spill_file`.
_ELSEWHERE = "spanwise-spill-"
#: Names the process whose workers write into a folder in which no scheduler listens.
_OWNER = "owner.json"


def mark_as_own(folder: Path) -> None:
    """Say whose folder it is: once this process has ended, what lies there is of no use."""
    owner = {"pid": os.getpid(), "started": started(os.getpid())}
    write_private(folder / _OWNER, json.dumps(owner))


def remove_spilled(
    folder: Path, pids: Collection[int] = (), patience_seconds: float = END_SECONDS
) -> None:
    """Remove what the workers of a dead scheduler have spilled, as they end.

    Files that cannot be removed are tried again until the patience ends; then the user
    is told.
    """
    end = time.monotonic() + patience_seconds
    while True:
        living = any(map(lives, pids))
        problem = _try_to_remove(folder)
        if (not living and problem is None) or time.monotonic() > end:
            break
        time.sleep(0.05)
    if problem is not None:
        tell(_what_stays(folder, problem))


def remove_abandoned(base: Path) -> None:
    """Remove what schedulers that are dead have left in the folders beside a new one."""
    try:
        folders = [each for each in base.iterdir() if each.name.startswith("spanwise-")]
    except OSError as problem:
        tell(_what_stays(base / "spanwise-*", problem))
        return
    for folder in folders:
        try:
            if _is_own(folder) and _lost_its_owner(folder):
                _try_to_remove(folder)
                shutil.rmtree(folder, ignore_errors=True)
                continue
            is_left = _is_own(folder) and _spilled_in(folder) and _is_dead(folder)
        except OSError as problem:
            tell(_what_stays(folder, problem))
            continue
        if is_left:
            remove_spilled(folder, patience_seconds=_TRY_SECONDS)


def _what_stays(folder: Path, problem: OSError) -> str:
    return (
        f"Files that workers of an ended cluster wrote may still be in {folder}/spill-*: they "
        f"cannot be listed or removed now ({problem.strerror or problem}). The next Client() "
        "tries again; or remove them yourself."
    )


def _try_to_remove(folder: Path) -> OSError | None:
    """Remove the workers' spilled files as far as possible; return why some stay."""
    try:
        left = _spilled_in(folder)
    except OSError as problem:
        return problem
    found: OSError | None = None
    for spilled in left:
        remove_tree(spilled)
        try:
            if spilled.exists():
                shutil.rmtree(spilled)
        except (FileNotFoundError, NotADirectoryError):
            continue  # another removes it too
        except OSError as problem:
            found = problem
    return found


def remove_tree(spilled: Path) -> None:
    """Remove what a worker has spilled as far as possible, also where a link of it leads."""
    if spilled.is_symlink():
        place = spilled.readlink()
        if place.name.startswith(_ELSEWHERE):
            shutil.rmtree(place, ignore_errors=True)
            if not place.exists():
                spilled.unlink(missing_ok=True)
        return
    shutil.rmtree(spilled, ignore_errors=True)


def _spilled_in(folder: Path) -> list[Path]:
    """The workers' spilled files; none if the folder has just gone.

    Raises
    ------
    OSError
        It cannot be told.
    """
    try:
        return [each for each in folder.iterdir() if each.name.startswith("spill-")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_own(folder: Path) -> bool:
    """Whether nobody else can have put it there or replaced it: everybody writes to /tmp."""
    try:
        found = folder.lstat()
    except OSError:
        return False  # it has just gone
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _lost_its_owner(folder: Path) -> bool:
    """Whether the process has ended that a folder names; False if it names none."""
    try:
        owner = json.loads((folder / _OWNER).read_text("utf-8"))
        return not lives(int(owner["pid"]), float(owner["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_dead(folder: Path) -> bool:
    """Whether nobody listens where a scheduler listened; False if that cannot be seen.

    Raises
    ------
    OSError
        No socket can be had to ask it.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(0.2)
        try:
            asking.connect(str(folder / "scheduler.sock"))
        except ConnectionRefusedError:
            return True
        except OSError:  # another user's, or there never was one: by TCP
            return False
    return False
