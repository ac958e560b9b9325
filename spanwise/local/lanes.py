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
from collections.abc import Callable
from itertools import count
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
        Of the process that has the slot; None: it has written nothing yet.
    since
        When that process started; None: that is not known.
    pool
        The pool that the process belongs to; None: the slot is free.
    """

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.pid: int | None = None
        self.since: float | None = None
        self.pool: Processes | None = None


class Processes:
    """The processes of one pool.

    Attributes
    ----------
    number
        Of the pool; its processes put it before their own.
    users
        Runs that use it now.
    slots
        Of its processes.
    owner
        Gives the executor or pool while there is one.
    """

    def __init__(self, number: int, owner: Callable[[], Any] = lambda: None) -> None:
        self.number = number
        self.owner = owner
        self.users = 0
        self.slots: list[ProcessSlot] = []


class ProcessSlots:
    """Slots for the processes of pools. The owner has a lock.

    A pool that lives on keeps its slots; a new one takes those whose processes have ended::

        pool 1 computes      pool 2 beside it       pool 1 has ended, pool 3
        workers 1 2          workers 3 4            workers 1 2

    Parameters
    ----------
    first
        Number of the first one's worker.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._known: weakref.WeakKeyDictionary[Any, Processes] = weakref.WeakKeyDictionary()
        self._numbers = count(1)
        self.all: list[ProcessSlot] = []

    def acquire(self, owner: Any, size: int) -> Processes:
        """The slots of a pool with this many processes, for one more run."""
        pool = self._known.get(owner)
        if pool is None:
            pool = self._known[owner] = Processes(next(self._numbers), weakref.ref(owner))
        while len(pool.slots) < size:
            self._give(pool)
        pool.users += 1
        return pool

    def release(self, pool: Processes) -> None:
        """A run that used them is over."""
        pool.users -= 1
        if not pool.users:
            for slot in list(pool.slots):
                if slot.pid is None:
                    self._free(slot)

    def of(self, number: int, pid: int) -> ProcessSlot:
        """The slot of a pool's process; one that is new takes a slot that waits for one."""
        mine = [slot for slot in self.all if slot.pool is not None and slot.pool.number == number]
        for slot in mine:
            if slot.pid == pid:
                return slot
        for slot in mine:
            if slot.pid is None:
                break
        else:
            # The pool has more processes than it said, or has gone before this one
            # wrote.
            slot = self._give(self._pool(number))
        slot.pid = pid
        return slot

    def ended(self, slot: ProcessSlot) -> None:
        """Its process has ended; while the pool is used, another may take its place."""
        slot.pid = slot.since = None
        if slot.pool is not None and not slot.pool.users:
            self._free(slot)

    def _pool(self, number: int) -> Processes:
        for pool in [*self._known.values(), *(slot.pool for slot in self.all)]:
            if pool is not None and pool.number == number:
                return pool
        return Processes(number)

    def _give(self, pool: Processes) -> ProcessSlot:
        slot = next((slot for slot in self.all if slot.pool is None), None)
        if slot is None:
            slot = ProcessSlot(self._first + len(self.all))
            self.all.append(slot)
        slot.pool = pool
        pool.slots.append(slot)
        return slot

    @staticmethod
    def _free(slot: ProcessSlot) -> None:
        assert slot.pool is not None
        slot.pool.slots.remove(slot)
        slot.pool = None
