"""Fresh folders for sockets and secrets, short enough for the sockets' paths.

A path of a unix socket has at most 107 bytes, which a long TMPDIR takes up::

    /scratch/project_465000123/user/job-8871234/tmp…/spanwise-k2j3h4g5/worker-12.sock
    └ TMPDIR                                        ┘└ ours, mode 0700 ┘└ RESERVED  ┘

Then the folder is made in /tmp or in XDG_RUNTIME_DIR, if nobody else can change names
there. Workers' spilled files lie there too.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from spanwise.wire.addresses import UNIX_PATH_BYTES, default_transport

#: Bytes of the longest path below such a folder: ``/observer/observer.sock``.
RESERVED_BYTES = 24
#: ``mkdtemp`` adds so many.
_RANDOM_BYTES = 8


def make_private_folder(prefix: str = "spanwise-", shorter: Iterable[str] | None = None) -> Path:
    """Make a folder of mode 0700 whose sockets' paths are short enough, if there can be one.

    Parameters
    ----------
    prefix
        Beginning of its name.
    shorter
        Folders to try if the paths would be too long in the usual one.

    Returns
    -------
    Path
        In the usual folder for temporary files if it is not too long, or if nothing else
        is safe: what listens there then says what to do.
    """
    usual = tempfile.gettempdir()
    base = usual
    if default_transport() == "unix" and not _fits(usual, prefix):
        candidates = _shorter() if shorter is None else shorter
        base = next((one for one in candidates if _fits(one, prefix) and is_safe(one)), usual)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=base))


def make_anew(folder: Path) -> None:
    """Create it with mode 0700; what a killed process has left there is removed.

    Raises
    ------
    FileExistsError
        Somebody else has made one of this name: what lies there is not ours.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else can read, not even for the moment of writing it.

    It is there when it is whole: those who look for it read it at once.

    Raises
    ------
    FileExistsError
        There is one of this name, which may not be ours.
    """
    # (a killed process leaves its own, which must not be in the way of the next)
    beside = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        _name_anew(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _name_anew(file: Path, path: Path) -> None:
    try:
        # Unlike a renaming it replaces nothing.
        os.link(file, path)
    except FileExistsError:
        raise
    except OSError:  # no links in this file system
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        file.replace(path)


def _fits(base: str, prefix: str) -> bool:
    length = len(os.fsencode(base)) + 1 + len(prefix) + _RANDOM_BYTES + RESERVED_BYTES
    return length <= UNIX_PATH_BYTES


def _shorter() -> list[str]:
    # /tmp first: the other one is a small piece of memory, and workers may spill.
    return [each for each in ("/tmp", os.environ.get("XDG_RUNTIME_DIR", "")) if each]


def is_safe(base: str) -> bool:
    """Whether nobody else can take away or replace a folder that is made in `base`.

    That is so in a folder that only its owner writes to, this user or root, and in one that
    all write to, if it lets each take away only what is his (the sticky bit of /tmp). The
    same must hold for every folder above it, or `base` itself could be replaced.
    """
    if not Path(base).is_absolute() or not os.access(base, os.W_OK | os.X_OK):
        return False
    try:
        resolved = Path(base).resolve(strict=True)
        return all(map(_keeps_what_it_holds, (resolved, *resolved.parents)))
    except OSError:
        return False


def _keeps_what_it_holds(folder: Path) -> bool:
    """Whether only this user and root can take away what they have in it."""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (0, os.getuid()):
        return False
    open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not open_to_others or bool(found.st_mode & stat.S_ISVTX)
