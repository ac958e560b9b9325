"""Reads what processes of pools write about their tasks (:mod:`spanwise.local.away`).

A process begins a new file when one is full; the one before is removed when it is read::

    2-4711-9c0f…e1.0     pool 2, process 4711, its first file
    2-4711-9c0f…e1.1     … its second: nothing is written to the first any more
"""

from __future__ import annotations

import os
import re
import struct
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from spanwise.local.away import DONE, FINE, NAMES, PROFILE, RUNNING
from spanwise.local.lanes import ProcessSlot, ProcessSlots
from spanwise.local.local_log import LocalLog
from spanwise.local.log_ids import ProcessIds
from spanwise.local.work import Done
from spanwise.notices import tell

_READ_BYTES = 1 << 20
#: A file has about 4 MiB, a record is less: what goes on longer never ends.
_MOST_RECORD_BYTES = 64 << 20
#: The errors of values that no process of ours writes, such as numbers that fit no column.
_SENSELESS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)
_NAME = re.compile(r"((\d+)-(\d+)-[0-9a-f]+)\.(\d+)")


class NewProcess(NamedTuple):
    """A process that has begun to write."""

    #: The beginning of the names of its files.
    stem: str
    #: Number of its pool.
    pool: int
    pid: int


class _ProcessFile:
    """The file that one process writes now, and how far it has been read."""

    def __init__(self, folder: Path, stem: str, pid: int, slot: ProcessSlot) -> None:
        self.pid = pid
        self.slot = slot
        self.ids = ProcessIds()
        #: It holds something that is no record: it is read no further.
        self.is_broken = False
        self._folder = folder
        self._stem = stem
        self._number = 0
        self._open()

    def _open(self) -> None:
        self._fd: int | None = os.open(self._path(), os.O_RDONLY | os.O_CLOEXEC)
        #: The beginning of a record whose rest has not come.
        self._begun = b""

    def _path(self) -> Path:
        return self._folder / f"{self._stem}.{self._number}"

    def records(self, there: set[str]) -> list[list[Any]]:
        """Read what has come since the last call; part of a record waits for its rest.

        Parameters
        ----------
        there
            Names of the files in the folder. If the next one is among them, this one is
            complete.
        """
        found: list[list[Any]] = []
        try:
            while not self.is_broken:
                assert self._fd is not None
                while data := os.read(self._fd, _READ_BYTES):
                    self._complete(data, found)
                if f"{self._stem}.{self._number + 1}" not in there:
                    break
                self.remove()
                self._number += 1
                self._open()
        except (OSError, ValueError, msgpack.exceptions.UnpackException) as error:
            self.give_up(error)
        return found

    def _complete(self, data: bytes, found: list[list[Any]]) -> None:
        """Add to `found` the records that `data` completes.

        They are skipped before they are decoded: a decoder makes room for a list when it has
        read its length, whether its items come or not.
        """
        data = self._begun + data
        skipper = msgpack.Unpacker(max_buffer_size=len(data))
        skipper.feed(data)
        whole = msgpack.Unpacker(
            raw=False, unicode_errors="replace", max_buffer_size=len(data), max_ext_len=0
        )
        end = 0
        try:
            while True:
                skipper.skip()
                end = skipper.tell()
        except msgpack.exceptions.OutOfData:
            self._begun = data[end:]
        finally:
            whole.feed(data[:end])
            found.extend(whole)
        if len(self._begun) > _MOST_RECORD_BYTES:
            raise ValueError(f"a record of more than {_MOST_RECORD_BYTES} bytes")

    def give_up(self, error: Exception) -> None:
        """Read no further, and say so."""
        self.is_broken = True
        tell(
            f"The measurements of process {self.pid} of a pool cannot be read any further; "
            f"its tasks go on unobserved ({type(error).__name__}: {error}).",
        )

    def remove(self) -> None:
        """Close and remove it."""
        self.close()
        with suppress(OSError):
            self._path().unlink()

    def close(self) -> None:
        """Close it. Twice is safe."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


class ProcessFiles:
    """All files of one observation.

    Parameters
    ----------
    folder
        Of mode 0700.
    log
        Gets the rows.
    slots
        Which worker a process is. Its owner's lock is held around all calls.
    """

    def __init__(self, folder: Path, log: LocalLog, slots: ProcessSlots) -> None:
        self._folder = folder
        self._log = log
        self._slots = slots
        #: By stem.
        self._files: dict[str, _ProcessFile] = {}

    def there(self) -> set[str]:
        """Names of the files that there are."""
        with os.scandir(self._folder) as entries:
            return {entry.name for entry in entries}

    def new(self, there: set[str]) -> list[NewProcess]:
        """Which of these files are of processes that have not been read yet."""
        return [each for each in self._stems(there) if each.stem not in self._files]

    def begin(self, new: NewProcess) -> ProcessSlot:
        """Have what a process writes read from now on; returns the slot that it gets."""
        slot = self._slots.of(new.pool, new.pid)
        self._files[new.stem] = _ProcessFile(self._folder, new.stem, new.pid, slot)
        return slot

    def read(self, there: set[str]) -> None:
        """Take over what was written to these files."""
        for file in self._files.values():
            self._take_all(file, there)

    @staticmethod
    def _stems(there: set[str]) -> list[NewProcess]:
        """The processes that have begun to write; other files are ignored."""
        matches = filter(None, map(_NAME.fullmatch, there))
        return [
            NewProcess(each[1], int(each[2]), int(each[3])) for each in matches if each[4] == "0"
        ]

    def _take_all(self, file: _ProcessFile, there: set[str]) -> None:
        for record in file.records(there):
            try:
                self._take(file, record)
            except _SENSELESS as error:
                file.give_up(error)
                return

    def _take(self, file: _ProcessFile, record: list[Any]) -> None:
        log, ids = self._log, file.ids
        kind, *values = record
        if kind == DONE:
            log.done(list(Done(*values)), partial(self._lane, file), ids)
        elif kind == NAMES:
            ids.names.extend(map(log.name_id, values[0]))
        elif kind == RUNNING:
            lane, node, function, span, started = values
            log.running(self._lane(file, lane), node, function, span, started)
        elif kind == PROFILE:
            stacks, frames, samples = values
            log.samples(stacks, frames, samples, lambda lane: self._lane(file, lane), ids)
        elif kind == FINE:
            log.fine(file.slot.worker, values[0], ids)

    def _lane(self, file: _ProcessFile, number: int) -> int:
        place = file.ids.places.setdefault(number, len(file.ids.places))
        return self._log.lane(file.slot.worker, place)

    def finish(self, pid: int) -> None:
        """Take over the rest of what a process has written that has ended; remove its file."""
        there = self.there()
        for stem in [stem for stem, file in self._files.items() if file.pid == pid]:
            file = self._files.pop(stem)
            self._take_all(file, there)
            file.remove()

    def close(self) -> None:
        """Close the files. Twice is safe."""
        files, self._files = self._files, {}
        for file in files.values():
            file.close()
