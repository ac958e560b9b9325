"""A folder that is full: a file system of its own, or no file may grow."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Of the file system, which takes memory as far as it is filled.
DISK_BYTES = 192 * 2**20
#: Files of settings and logs are smaller; no pack of results is.
FILE_BYTES = 64 * 2**10
FILLER = "filler"


class FullDisk:
    """Where results cannot be written until :meth:`make_room` is called."""

    #: How it is done, for messages.
    how: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Nothing can be written from now on."""

    def make_room(self, pids: list[int]) -> None:
        """These processes, too, can write again."""

    def started(self) -> None:
        """The cluster has been started."""


class Mounted(FullDisk):
    """A file system in memory, filled by a file."""

    how = "a mounted file system"

    def fill(self) -> None:
        with (self.folder / FILLER).open("ab", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(2**16))
                except OSError:
                    break
        # Settings and logs find a place.
        os.truncate(self.folder / FILLER, (self.folder / FILLER).stat().st_size - 2**18)

    def make_room(self, pids: list[int]) -> None:
        (self.folder / FILLER).unlink()


class Limited(FullDisk):
    """A limit on the length of files, which children inherit."""

    how = "a limit on the length of files"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, self._before[1]))

    def started(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)

    def make_room(self, pids: list[int]) -> None:
        self.started()
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, self._before)


@contextmanager
def full_disk(make: Callable[[Path], FullDisk]) -> Iterator[FullDisk]:
    """Give a disk, full; temporary files go there meanwhile."""
    # Short: sockets lie in it.
    folder = Path(tempfile.mkdtemp(prefix="d"))
    disk = make(folder)
    before = tempfile.tempdir
    try:
        disk.fill()
        tempfile.tempdir = str(folder)
        yield disk
    finally:
        tempfile.tempdir = before
        if isinstance(disk, Limited):
            disk.started()
        if isinstance(disk, Mounted):
            subprocess.run(["umount", "-l", folder], check=True)
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


def mounted(folder: Path) -> FullDisk:
    """Return a file system of its own; the limit where this user may not mount one."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    return Mounted(folder) if made.returncode == 0 else Limited(folder)
