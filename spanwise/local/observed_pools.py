"""The pools of processes in which observed runs compute: workers of the log that come and go."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from math import isnan, nan
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

from spanwise.local.lanes import Processes, ProcessSlot, ProcessSlots
from spanwise.local.local_log import HOME, LocalLog
from spanwise.local.pool_facts import is_over
from spanwise.local.process_files import NewProcess, ProcessFiles
from spanwise.measure.memory import ProcessMemory
from spanwise.processes.process_state import lives, started

#: How long processes of a pool may end after the first of them.
_ENDING_SECONDS = 0.5


class ObservedPools:
    """The workers of each pool, what they wrote and what they hold. Usable from any thread.

    Parameters
    ----------
    folder
        Of mode 0700; its processes write there.
    log
        Gets the rows.

    Attributes
    ----------
    folder
        The same.
    """

    def __init__(self, folder: Path, log: LocalLog) -> None:
        self.folder = folder
        self._log = log
        #: Around slots and files.
        self._lock = threading.RLock()
        self._slots = ProcessSlots(HOME + 1)
        self._files = ProcessFiles(folder, log, self._slots)
        #: Those of which a process has ended between runs: they end, or it has crashed, or has
        #: done its number of tasks.
        self._ending: set[Processes] = set()

    def begin(self, owner: Any, size: int, now: float) -> Processes:
        """A run begins on a pool with this many processes."""
        with self._lock:
            self._forget_ended(now)
            pool = self._slots.acquire(owner, size)
            self._ending.discard(pool)
            for slot in pool.slots:
                if slot.pid is None:
                    self._write(slot, now)
                self._log.capacity(slot.worker, 1, now)
            return pool

    def place_of(self, pool: Processes) -> str:
        """The beginning of the paths of the files that the pool's processes write."""
        return f"{self.folder}{os.sep}{pool.number}"

    def end(self, pool: Processes, now: float) -> None:
        """A run is over."""
        with self._lock:
            self._read(now)
            slots = list(pool.slots)
            self._slots.release(pool)
            if pool.users:
                return
            for slot in slots:
                self._log.capacity(slot.worker, 0, now)
                if slot.pid is None:
                    # The start of the process is not known, so another with its number
                    # could not be told from it.
                    self._write(slot, now, "Its pool gave it no task.")

    def read(self, now: float) -> None:
        """Take over what processes have written."""
        if self._slots.all:
            with self._lock:
                self._read(now)

    def _read(self, now: float) -> None:
        there = self._files.there()
        new = self._files.new(there)
        if new:
            # A new process may take the place of one that has ended. Some of the new ones may
            # have ended too: their places are for the others.
            self._forget_ended(now)
            for each in sorted(new, key=lambda each: lives(each.pid)):
                self._begin(each, now)
        self._files.read(there)

    def _begin(self, new: NewProcess, now: float) -> None:
        slot = self._files.begin(new)
        # It tells the process from a later one with its number.
        with suppress(OSError):
            slot.since = started(new.pid)
        self._write(slot, now)
        if slot.pool is not None and slot.pool.users:
            self._log.capacity(slot.worker, 1, now)
        self._forget_if_ended(slot, now)

    def measure(self, now: float) -> None:
        """Write how much memory each process holds, and which have ended."""
        with self._lock:
            self._forget_ended(now)
            for slot in self._slots.all:
                # The rest live. Looking once more would take longer than reading their
                # memory.
                nbytes = _memory_of(slot.pid)
                if not isnan(nbytes):
                    self._log.memory(slot.worker, nbytes, now)

    def memory_use(self) -> float:
        """Bytes that the processes hold together, as far as they are known."""
        with self._lock:
            found = [
                _memory_of(slot.pid)
                for slot in self._slots.all
                if slot.pid is not None and lives(slot.pid, slot.since)
            ]
        return sum(each for each in found if not isnan(each))

    def _forget_ended(self, now: float) -> None:
        for slot in self._slots.all:
            self._forget_if_ended(slot, now)

    def _forget_if_ended(self, slot: ProcessSlot, now: float) -> None:
        if slot.pid is None or lives(slot.pid, slot.since):
            return
        self._files.finish(slot.pid)
        pool = slot.pool
        is_used = pool is not None and pool.users > 0
        self._write(slot, now, "It has ended." if is_used else "Its pool has ended.")
        # The panel adds up the newest figures, so a process that has ended gets 0.
        self._log.memory(slot.worker, 0.0, now)
        self._slots.ended(slot)
        if pool is not None and not is_used:
            if pool.slots:
                self._ending.add(pool)
            else:
                self._ending.discard(pool)

    def await_ends(self) -> None:
        """Write of pools that are ending which processes have ended: all, unless one lasts long.

        They end one after another. A log that ends meanwhile would say that some live on.
        """
        limit = monotonic() + _ENDING_SECONDS
        while True:
            with self._lock:
                self._forget_ended(perf_counter())
                is_ending = any(map(self._is_ending, self._slots.all))
            if not is_ending or monotonic() >= limit:
                return
            sleep(0.01)

    def _is_ending(self, slot: ProcessSlot) -> bool:
        """Whether a process lives that is about to end, as others of its pool have."""
        pool = slot.pool
        if slot.pid is None or pool is None or pool not in self._ending:
            return False
        owner = pool.owner()
        return owner is None or is_over(owner)

    def _write(self, slot: ProcessSlot, now: float, why: str = "") -> None:
        self._log.worker(slot.worker, slot.pid or 0, 1, f"process {slot.worker}", now, why)

    def close(self) -> None:
        """Read nothing any more. Twice is safe."""
        with self._lock:
            self._files.close()


def _memory_of(pid: int | None) -> float:
    """Bytes of a slot's process; NaN if it has none, or they cannot be known."""
    if pid is None:
        return nan
    memory = ProcessMemory(pid)
    try:
        return memory.read()
    finally:
        memory.close()
