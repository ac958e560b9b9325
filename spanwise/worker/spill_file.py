"""Files of spilled results: written once, read in pieces, gone with their last piece.

::

    values of the table           file "12", never changed
    7 ──▶ Spilled(file, 0) ──┐    ┌────────────┬───────┬──────────────┐
    8 ──▶ Spilled(file, 1) ──┼──▶ │ payload 7  │ 8     │ 9 (dead)     │
                             ┘    └────────────┴───────┴──────────────┘
                                  starts[0]    [1]     [2]            [3]

A large result has a file to itself; small ones share one, for a file costs 100 us.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import secrets
import threading
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import NamedTuple

from spanwise.wire import payload, raw_memory

#: Only the user may read results, whatever the folder's mode is.
MODE = 0o600
#: How folders begin that lie elsewhere than in the cluster's; who removes them looks for it.
ELSEWHERE = "spanwise-spill-"
#: This much may lie dead before anything is rewritten.
LITTLE_BYTES = 2 * 2**20
#: From here on what is copied anyway when it is opened need not be read into memory before.
MAPPED_BYTES = 32 * 2**20

#: Who does something else between two calls that write has them take about this long; on a fast
#: disk few calls are made, each of which may wait for the interpreter lock.
_CALL_SECONDS = 0.1
#: Bytes of the first of these calls, and at least.
_FIRST_CALL_BYTES, _LEAST_CALL_BYTES = 4 * 2**20, 2**18

#: How long a file that is to be read waits for a descriptor, and how often it is tried.
_DESCRIPTOR_SECONDS, _DESCRIPTOR_TRY_SECONDS = 5.0, 0.05

#: A piece to be written: the id and the bytes in memory of its value, and its payload.
Piece = tuple[int, float, Sequence[payload.Buffer]]


class Spent(NamedTuple):
    """The time and bytes of making room."""

    serialize: float
    disk_write: float
    disk_bytes: int


class Unreadable(Exception):
    """The disk does not give a result back."""

    def __init__(self, task_id: int, spilled: Spilled, error: OSError) -> None:
        super().__init__(f"The result on disk cannot be read: {error}")
        self.task_id = task_id
        self.spilled = spilled


def is_out_of_descriptors(error: OSError) -> bool:
    """Whether no more files may be open: what is on disk stays there, and is not lost."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


def tell_out_of_descriptors(error: OSError) -> None:
    """Say to users what that means and what helps."""
    BaseException.add_note(
        error,
        "The result lies on its worker's disk and stays there. To read it takes a file, and as "
        "many are open there as may be: have tasks close theirs, or raise the limit (ulimit -n).",
    )


class SpillFile:
    """One file; made by :meth:`SpillFiles.write`."""

    __slots__ = ("_files", "living", "living_bytes", "path", "sizes", "starts", "task_ids")

    def __init__(self, files: SpillFiles, path: Path, pieces: Sequence[Piece]) -> None:
        self._files = files
        self.path = path
        # Columns: 20 bytes a piece.
        self.task_ids = array("I", [piece[0] for piece in pieces])
        #: Bytes that the values take in memory.
        self.sizes = array("d", [piece[1] for piece in pieces])
        #: Where the payloads start; one more: where the last one ends.
        self.starts = array("Q", [0])
        for _, _, buffers in pieces:
            self.starts.append(self.starts[-1] + payload.nbytes(buffers))
        #: Pieces that may still be read, and their bytes.
        self.living = len(pieces)
        self.living_bytes = self.disk_bytes

    @property
    def disk_bytes(self) -> int:
        """The file's length."""
        return self.starts[-1]

    def read(self, index: int, patience: float = _DESCRIPTOR_SECONDS) -> memoryview:
        """Return a payload; unpickled, its arrays are writable views of these bytes.

        Parameters
        ----------
        patience
            Seconds to wait for a descriptor.

        Raises
        ------
        MemoryError
            There is no room for it. It stays on disk.
        OSError
        """
        start, end = self.starts[index], self.starts[index + 1]
        try:
            view = content = raw_memory.room(end - start, start)
        except OSError as error:
            # (what the disk does not give back is lost: this is not)
            raise MemoryError(f"There is no room for {end - start} bytes from disk.") from error
        descriptor = self._open(patience)
        try:
            while view:
                got = os.preadv(descriptor, [view], end - len(view))
                if not got:
                    raise OSError(f"{self.path} is shorter than it was written")
                view = view[got:]
        finally:
            os.close(descriptor)
        return content

    def mapped(self, index: int) -> memoryview:
        """Return a payload that takes no memory but the system's cache of the file: to be sent.

        Raises
        ------
        OSError
            It cannot be had like that either.
        """
        start, end = self.starts[index], self.starts[index + 1]
        first = start - start % mmap.ALLOCATIONGRANULARITY
        descriptor = self._open()
        try:
            # (what is not there would end the process when it is looked at)
            if os.fstat(descriptor).st_size < end:
                raise OSError(f"{self.path} is shorter than it was written")
            content = mmap.mmap(descriptor, end - first, offset=first, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        return memoryview(content)[start - first :]

    def _open(self, patience: float = _DESCRIPTOR_SECONDS) -> int:
        """A descriptor of the file; waits for one if tasks have all, for they may close some."""
        end = monotonic() + patience
        while True:
            try:
                return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                if not is_out_of_descriptors(error) or monotonic() >= end:
                    raise
            sleep(_DESCRIPTOR_TRY_SECONDS)

    def dead(self, index: int) -> None:
        """Mark this piece as never read again. Safe at any moment in any thread."""
        self._files.dead(self, index)


class Spilled:
    """Stands for a value that is on disk: 48 bytes, and 32 for a large index."""

    __slots__ = ("_file", "_index")

    def __init__(self, file: SpillFile, index: int) -> None:
        self._file = file
        self._index = index

    @property
    def nbytes(self) -> float:
        """Bytes that the value takes in memory."""
        return self._file.sizes[self._index]

    @property
    def disk_bytes(self) -> int:
        """Bytes of its payload."""
        return self._file.starts[self._index + 1] - self._file.starts[self._index]

    def is_in(self, file: SpillFile) -> bool:
        """Whether it is a piece of this file."""
        return self._file is file

    def read(self, patience: float = _DESCRIPTOR_SECONDS) -> memoryview:
        """Return the payload; `patience` as of :meth:`SpillFile.read`.

        Raises
        ------
        MemoryError
            There is no room for it. It stays on disk.
        OSError
            The disk does not give it back.
        """
        return self._file.read(self._index, patience)

    def to_load(self) -> memoryview:
        """Return the payload to be opened at once; a large one is not in memory beside its value.

        Raises
        ------
        MemoryError
            There is no room for it. It stays on disk.
        OSError
            The disk does not give it back.
        """
        if self.disk_bytes >= MAPPED_BYTES:
            content = self._file.mapped(self._index)
            # (else arrays would be views of what nobody may write to)
            if payload.is_in_band(content[:8]):
                return content
        return self.read()

    def to_send(self, has_room: bool) -> memoryview:
        """Return the payload for a peer, also where there is no room for it here.

        Raises
        ------
        OSError
            Neither does the disk give it back, nor is there room for it.
        """
        if has_room:
            with suppress(MemoryError):
                return self.read()
        return self._file.mapped(self._index)

    def __del__(self) -> None:
        self._file.dead(self._index)


class SpillFiles:
    """The files in one folder.

    Parameters
    ----------
    folder
        Created when first needed; the process that watches the worker removes it.
    quota
        Bytes of all files at most.
    elsewhere
        A folder in which the files are to lie; `folder` is then a link.
    """

    def __init__(self, folder: Path, quota: float = inf, elsewhere: Path | None = None) -> None:
        self.folder = folder
        self._quota = quota
        self._elsewhere = elsewhere
        self._serials = itertools.count(1)
        self._owner = os.getpid()
        #: Around what is counted: the files, the living pieces of each, their sums.
        self._counting = threading.Lock()
        self._files: set[SpillFile] = set()
        self._ended: deque[tuple[SpillFile, int]] = deque()
        #: Lengths of all files, and of the pieces in them that may still be read.
        self.disk_bytes = 0
        self.living_bytes = 0
        #: Bytes that the values of those pieces take in memory.
        self.memory_bytes = 0.0
        #: Total length of all files ever written.
        self.written_bytes = 0

    def write(
        self, pieces: Sequence[Piece], meanwhile: Callable[[], None] | None = None
    ) -> list[Spilled]:
        """Write a file; a marker for each piece.

        Parameters
        ----------
        meanwhile
            Called again and again until it is written. It must not write files.

        Raises
        ------
        OSError
            It could not be written, and nothing of it is left.
        """
        path = self.folder / str(next(self._serials))
        file = SpillFile(self, path, pieces)
        if self.disk_bytes + file.disk_bytes > self._quota:
            raise OSError(
                errno.EDQUOT, f"max-spill allows {self._quota / 2**20:.0f} MiB for each worker"
            )
        self.make_folder()
        buffers = [buffer for piece in pieces for buffer in piece[2]]
        if len(pieces) > 1:
            # A call per number of a pickle would cost more than copying them.
            buffers = [b"".join(buffers)]
        try:
            _write(path, buffers, meanwhile)
        except BaseException:  # (also of `meanwhile`)
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise
        with self._counting:
            self._files.add(file)
            self.disk_bytes += file.disk_bytes
            self.living_bytes += file.disk_bytes
            self.memory_bytes += sum(file.sizes)
            self.written_bytes += file.disk_bytes
        self._count_ended()
        return [Spilled(file, index) for index in range(len(pieces))]

    def make_folder(self) -> None:
        """Make the folder, or the link and what it leads to."""
        if self._elsewhere is not None and not self.folder.is_symlink():
            # The link comes first: whatever ends this process, what it has made is found.
            place = self._elsewhere / f"{ELSEWHERE}{os.getpid()}-{secrets.token_hex(8)}"
            with suppress(FileExistsError):  # another thread was faster
                self.folder.symlink_to(place)
        self.folder.resolve().mkdir(mode=0o700, exist_ok=True)

    def mostly_dead(self) -> list[SpillFile]:
        """Return the files of which less than half is still needed.

        None while little is dead in all: so at most half of the bytes on disk is dead, or
        `LITTLE_BYTES`.
        """
        if self.disk_bytes - self.living_bytes <= LITTLE_BYTES:
            return []
        with self._counting:
            files = [file for file in self._files if 2 * file.living_bytes < file.disk_bytes]
        self._count_ended()
        return files

    def dead(self, file: SpillFile, index: int) -> None:
        """Count a piece as dead; delete the file with its last one."""
        self._ended.append((file, index))
        self._count_ended()

    def _count_ended(self) -> None:
        """Count what has ended.

        Markers end on any thread at any moment, even while this counts: so this never
        waits for the lock. Its holder looks again after releasing it.
        """
        if os.getpid() != self._owner:
            return  # a task has forked: the files are the worker's
        while self._ended and self._counting.acquire(blocking=False):
            gone = []
            try:
                while self._ended:
                    file, index = self._ended.popleft()
                    nbytes = file.starts[index + 1] - file.starts[index]
                    file.living -= 1
                    file.living_bytes -= nbytes
                    self.living_bytes -= nbytes
                    self.memory_bytes -= file.sizes[index]
                    if file.living == 0:
                        self._files.discard(file)
                        self.disk_bytes -= file.disk_bytes
                        gone.append(file.path)
            finally:
                self._counting.release()
            for path in gone:
                # What cannot be deleted goes with the folder.
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def _write(
    path: Path, buffers: Sequence[payload.Buffer], meanwhile: Callable[[], None] | None
) -> None:
    write: Callable[[int, memoryview], int] = os.write
    most = None if meanwhile is None else _FIRST_CALL_BYTES
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    try:
        for buffer in buffers:
            view = memoryview(buffer).cast("B")
            while view:
                begin = perf_counter()
                view = view[write(descriptor, view[:most]) :]
                if meanwhile is not None and most is not None:
                    seconds = perf_counter() - begin
                    if seconds < _CALL_SECONDS / 2:
                        most *= 2
                    elif seconds > _CALL_SECONDS:
                        most = max(most // 2, _LEAST_CALL_BYTES)
                    meanwhile()
    finally:
        os.close(descriptor)
