"""Reads what processes of pools write about their tasks (:mod:`spanwise.local.away`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgpack

from spanwise.local.away import DONE, NAMES, PROFILE, RUNNING
from spanwise.local.lanes import ProcessSlot, ProcessSlots
from spanwise.local.local_log import LocalLog
from spanwise.local.log_ids import ProcessIds
from spanwise.local.work import Done

_READ_BYTES = 1 << 20


class _ProcessFile:
    """One process's file, and how far it has been read."""

    def __init__(self, path: Path, pid: int, slot: ProcessSlot) -> None:
        self.pid = pid
        self.slot = slot
        self.ids = ProcessIds()
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._unpacker = msgpack.Unpacker(raw=False, unicode_errors="replace")

    def records(self) -> list[list[Any]]:
        """What has come since the last time; the beginning of a record waits for its rest."""
        found: list[list[Any]] = []
        while data := os.read(self._fd, _READ_BYTES):
            self._unpacker.feed(data)
            found.extend(self._unpacker)
        return found

    def close(self) -> None:
        os.close(self._fd)


class ProcessFiles:
    """All files of one observation.

    Parameters
    ----------
    folder
        Of mode 0700; a file per process, whose name begins with its pid.
    log
        Gets the rows.
    slots
        Which worker a process is. Its owner's lock is held around :meth:`read`.
    """

    def __init__(self, folder: Path, log: LocalLog, slots: ProcessSlots) -> None:
        self._folder = folder
        self._log = log
        self._slots = slots
        self._files: dict[str, _ProcessFile] = {}

    def read(self) -> list[ProcessSlot]:
        """Take over what was written; returns the slots whose processes are new."""
        new = []
        with os.scandir(self._folder) as entries:
            names = [entry.name for entry in entries if entry.name not in self._files]
        for name in names:
            pid = int(name.partition("-")[0])
            slot = self._slots.of(pid)
            self._files[name] = _ProcessFile(self._folder / name, pid, slot)
            new.append(slot)
        for file in self._files.values():
            for record in file.records():
                self._take(file, record)
        return new

    def _take(self, file: _ProcessFile, record: list[Any]) -> None:
        log, ids = self._log, file.ids
        kind, *values = record
        if kind == DONE:
            done = Done(*values)
            log.done([(done, self._lane(file, done.lane))], ids)
        elif kind == NAMES:
            ids.names.extend(map(log.name_id, values[0]))
        elif kind == RUNNING:
            lane, node, function, span, started = values
            log.running(self._lane(file, lane), node, function, span, started)
        elif kind == PROFILE:
            stacks, frames, samples = values
            log.samples(stacks, frames, samples, lambda lane: self._lane(file, lane), ids)

    def _lane(self, file: _ProcessFile, number: int) -> int:
        place = file.ids.places.setdefault(number, len(file.ids.places))
        return self._log.lane(file.slot.worker, place)

    def finish(self, pid: int) -> None:
        """Take over the rest of what a process has written that has ended; remove its file."""
        for name in [name for name, file in self._files.items() if file.pid == pid]:
            file = self._files.pop(name)
            for record in file.records():
                self._take(file, record)
            file.close()
            (self._folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files. Twice is safe."""
        files, self._files = self._files, {}
        for file in files.values():
            file.close()
