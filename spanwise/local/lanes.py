"""Which lanes the threads of a run get.

In the log a worker is a process, and a lane one of the places in it where a task can be
at a time. Runs that follow each other use the same lanes, so that a notebook with a
hundred runs still shows four lanes; runs at the same time stand side by side::

    run 1, pool of 4       run 2, sync      run 3, pool of 4 │ run 4 beside it, pool of 2
    lanes 0 1 2 3          lane 0           lanes 0 1 2 3    │ lanes 4 5
"""

from __future__ import annotations

import threading
import weakref
from typing import Any


class Threads:
    """The threads of one executor, or the one that calls a synchronous scheduler.

    Attributes
    ----------
    size
        How many tasks run at a time.
    base
        Number of its first lane while it is in use.
    users
        Runs that use it now.
    """

    def __init__(self) -> None:
        self.size = 1
        self.base = 0
        self.users = 0
        self._places: list[threading.Thread] = []
        self._lock = threading.Lock()

    def place(self) -> int:
        """The calling thread's place in it; places of threads that have ended are given again."""
        thread = threading.current_thread()
        with self._lock:
            for number, holder in enumerate(self._places):
                if holder is thread:
                    return number
            for number, holder in enumerate(self._places):
                if not holder.is_alive():
                    self._places[number] = thread
                    return number
            self._places.append(thread)
            return len(self._places) - 1


class ThreadLanes:
    """Lanes of the observing process. The owner has a lock."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, Threads] = weakref.WeakKeyDictionary()
        self._active: list[Threads] = []

    def acquire(self, executor: Any, size: int) -> Threads:
        """The lanes of an executor's threads, for one more run."""
        threads = self._known.get(executor)
        if threads is None:
            threads = self._known[executor] = Threads()
        if threads.users == 0:
            threads.size = size
            threads.base = self._free(size)
            self._active.append(threads)
        threads.users += 1
        return threads

    def release(self, threads: Threads) -> None:
        """A run that used them is over."""
        threads.users -= 1
        if threads.users == 0:
            self._active.remove(threads)

    @property
    def count(self) -> int:
        """How many lanes are in use."""
        return max((each.base + each.size for each in self._active), default=0)

    def _free(self, size: int) -> int:
        base = 0
        for each in sorted(self._active, key=lambda each: each.base):
            if base + size <= each.base:
                break
            base = max(base, each.base + each.size)
        return base


class ProcessSlot:
    """A process of a pool, as one worker of the log.

    Attributes
    ----------
    worker
        Its number in the log.
    pid
        Of the process that has the slot; None: it has not said a word yet.
    users
        Runs whose pool may use it.
    """

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.pid: int | None = None
        self.users = 0


class ProcessSlots:
    """Slots for the processes of pools. The owner has a lock.

    Parameters
    ----------
    first
        Number of the first one's worker.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self.all: list[ProcessSlot] = []

    def acquire(self, size: int) -> list[ProcessSlot]:
        """Slots for a pool of so many processes."""
        free = [slot for slot in self.all if slot.users == 0]
        while len(free) < size:
            free.append(ProcessSlot(self._first + len(self.all)))
            self.all.append(free[-1])
        # Processes that live on are probably of the same pool.
        free.sort(key=lambda slot: (slot.pid is None, slot.worker))
        taken = free[:size]
        for slot in taken:
            slot.users += 1
        return taken

    def release(self, slots: list[ProcessSlot]) -> None:
        """A run is over."""
        for slot in slots:
            slot.users -= 1

    def of(self, pid: int) -> ProcessSlot:
        """The slot of a process; one that is new takes a slot that waits for one."""
        for slot in self.all:
            if slot.pid == pid:
                return slot
        waiting = [slot for slot in self.all if slot.pid is None]
        waiting.sort(key=lambda slot: (slot.users == 0, slot.worker))
        if not waiting:
            waiting.append(ProcessSlot(self._first + len(self.all)))
            self.all.append(waiting[0])
        waiting[0].pid = pid
        return waiting[0]
