"""Measures what Dask's schedulers run in this process and its pools, and writes the log.

Threads: tasks' threads measure and append to `_done`; the watch thread looks at them,
measures memory, reads the processes' files and writes rows; the link's thread sends.
The thread that computes only tells when a run begins and ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Callable
from itertools import count
from math import isnan
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from spanwise.client.errors import ClusterError
from spanwise.client.processes import ObserverAddress
from spanwise.local.lane_watch import LaneWatch
from spanwise.local.lanes import ProcessSlot, ProcessSlots, ThreadLanes, Threads
from spanwise.local.local_log import HOME, LocalLog
from spanwise.local.log_ids import ProcessIds
from spanwise.local.memory_run import LocalMemoryRun
from spanwise.local.meter import Lane, Meter
from spanwise.local.observer_link import ObserverLink
from spanwise.local.process_files import ProcessFiles
from spanwise.local.replay_ring import LogGap
from spanwise.local.work import Done, Work
from spanwise.records.log_writer import SealedBlock
from spanwise.worker.memory import ProcessMemory

#: Between measurements of memory, and the longest between two turns of the watch thread.
_MEMORY_SECONDS = 0.2
#: Between turns while runs are under way, but no thread of this process is busy.
_TURN_SECONDS = 0.03
_SAMPLES_SECONDS = 1.0
_FLUSH_SECONDS = 10.0
_END_SECONDS = 10.0


class LockedNames:
    """The log's dictionary, for threads that do not hold its lock."""

    def __init__(self, log: LocalLog) -> None:
        self.id_of: Callable[[str], int] = log.name_id


class Recorder:
    """Records until it is ended.

    Parameters
    ----------
    name
        Shown by the panels.
    place
        Where the observer listens.
    """

    def __init__(self, name: str, place: ObserverAddress) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="spanwise-"))
        #: Where processes write what they measure.
        self.folder = str(self._folder)
        self._pid = os.getpid()
        self._link: ObserverLink | None = None
        self.log = LocalLog(name, self._push)
        self.locked_names = LockedNames(self.log)
        self.meter = Meter(self._lane_of, self._take_done)
        self._done: deque[Done] = deque()
        self._here = threading.local()
        #: Around lanes, slots and files.
        self._lock = threading.RLock()
        #: Around what the watch thread does and whoever flushes.
        self._turn = threading.Lock()
        self._thread_lanes = ThreadLanes()
        self._slots = ProcessSlots(HOME + 1)
        self._files = ProcessFiles(self._folder, self.log, self._slots)
        #: For tasks of processes that are run once more in this one, to be debugged.
        self._elsewhere = Threads()
        self._home_memory = ProcessMemory()
        self._home_ids = ProcessIds()
        self._watch = LaneWatch(self.locked_names, self.log.start)
        #: Called now and then: runs take callbacks away and may not bring them back.
        self.keep_registered: Callable[[], None] = lambda: None
        self._runs = 0
        self._memory_runs: list[LocalMemoryRun] = []
        self._memory_run_numbers = count(1)
        self._wake = threading.Event()
        self._ending = False
        self._ended = False
        self._link = ObserverLink(place, self.log.description, self._gaps)
        self._thread = threading.Thread(target=self._turns, name="spanwise-watch", daemon=True)
        self._thread.start()

    # -- runs begin and end (in the thread that computes) -------------------

    def begin_threads(self, owner: Any, size: int, now: float) -> Threads:
        """A run on threads of this process begins."""
        with self._lock:
            threads = self._thread_lanes.acquire(owner, size)
            self._runs += 1
            self.log.capacity(HOME, self._thread_lanes.count, now)
        self._wake.set()
        return threads

    def end_threads(self, threads: Threads, now: float) -> None:
        """It is over."""
        with self._lock:
            self._thread_lanes.release(threads)
            self._runs -= 1
            self.log.capacity(HOME, self._thread_lanes.count, now)

    def begin_processes(self, size: int, now: float) -> list[ProcessSlot]:
        """A run on processes begins; they tell their pids with their first task."""
        with self._lock:
            self._forget_ended_processes(now)
            slots = self._slots.acquire(size)
            self._runs += 1
            for slot in slots:
                if slot.pid is None:
                    self._write_process(slot, now)
                self.log.capacity(slot.worker, 1, now)
        self._wake.set()
        return slots

    def end_processes(self, slots: list[ProcessSlot], now: float) -> None:
        """It is over."""
        with self._lock:
            self._read_files(now)
            self._slots.release(slots)
            self._runs -= 1
            for slot in slots:
                if slot.users == 0:
                    self.log.capacity(slot.worker, 0, now)
                    if slot.pid is None:
                        # Whether it lives is not to be seen: nobody knows which process it was.
                        self._write_process(slot, now, "Its pool gave it no task.")

    def _write_process(self, slot: ProcessSlot, now: float, why: str = "") -> None:
        self.log.worker(slot.worker, slot.pid or 0, 1, f"process {slot.worker}", now, why)

    def _forget_ended_processes(self, now: float) -> None:
        for slot in self._slots.all:
            if slot.pid is not None and not _lives(slot.pid):
                self._files.finish(slot.pid)
                self._write_process(slot, now, "Its pool has ended.")
                # The panel adds up the newest figures: those of the dead are nothing.
                self.log.memory(slot.worker, 0.0, now)
                slot.pid = None

    # -- tasks end (in their threads) ---------------------------------------

    def _take_done(self, done: Done) -> None:
        self._done.append(done)

    def _lane_of(self, work: Work) -> Lane:
        threads: Threads = work.threads or self._elsewhere
        known: dict[Threads, tuple[int, Lane]] | None = getattr(self._here, "lanes", None)
        if known is None:
            known = self._here.lanes = {}
        found = known.get(threads)
        if found is not None and found[0] == threads.base:
            return found[1]
        number = self.log.lane(HOME, threads.base + threads.place())
        if found is None:
            lane = Lane(number)
            self._watch.add(lane)
        else:
            lane = found[1]
            lane.number = number
        known[threads] = (threads.base, lane)
        return lane

    # -- the watch thread ---------------------------------------------------

    def _turns(self) -> None:
        next_memory = next_samples = perf_counter()
        while not self._ending:
            now = perf_counter()
            try:
                with self._turn:
                    busy, _ = self._watch.look(now)
                    self._write_rows(now)
                    if now >= next_memory:
                        next_memory = now + _MEMORY_SECONDS
                        self._measure_memory(now)
                        self._watch.forget_ended()
                        self.keep_registered()
                    if now >= next_samples or not busy:
                        next_samples = now + _SAMPLES_SECONDS
                        self._write_samples()
                self.log.commit()
            except Exception as error:  # noqa: BLE001 (said; computing goes on)
                self.meter.closed = True
                warnings.warn(
                    f"Spanwise records nothing more of {self.log.name}: "
                    f"{type(error).__name__}: {error}.",
                    RuntimeWarning,
                    stacklevel=1,
                )
                return
            if busy:
                self._wake.wait(self._watch.pause)
            elif self._runs:
                self._wake.wait(_TURN_SECONDS)
            else:
                self._wake.wait(max(0.0, next_memory - perf_counter()))
            self._wake.clear()

    def _write_rows(self, now: float) -> None:
        """Turn what has been measured into rows."""
        ended = []
        for _ in range(len(self._done)):
            done = self._done.popleft()
            ended.append((done, done.lane))
        if ended:
            self.log.done(ended)
        for row in self._watch.running(now):
            self.log.running(*row)
        if self._slots.all:
            with self._lock:
                self._read_files(now)

    def _read_files(self, now: float) -> None:
        for slot in self._files.read():
            self._write_process(slot, now)

    def _write_samples(self) -> None:
        samples = self._watch.rows()
        if samples:
            stacks, frames = self._watch.stacks.rows()
            self.log.samples(stacks, frames, samples, lambda lane: lane, self._home_ids)

    def _measure_memory(self, now: float) -> None:
        self.log.memory(HOME, self._home_memory.read(), now)
        with self._lock:
            self._forget_ended_processes(now)
            for slot in self._slots.all:
                if slot.pid is not None:
                    nbytes = _memory_of(slot.pid)
                    if not isnan(nbytes):
                        self.log.memory(slot.worker, nbytes, now)

    def memory_use(self) -> float:
        """Bytes of this process and of its pools' together; NaN if that is not known."""
        with self._lock:
            pids = [slot.pid for slot in self._slots.all if slot.pid is not None]
        pools = (_memory_of(pid) for pid in pids)
        return self._home_memory.read() + sum(each for each in pools if not isnan(each))

    def begin_memory_run(self, label: str, interval: float) -> LocalMemoryRun:
        """Sample this process and its pools until the run is stopped, or this ends.

        Raises
        ------
        ClusterError
            It has ended.
        """
        with self._lock:
            if self._ending:
                raise ClusterError(f"{self.log.name} has ended: it samples no more.")
            number = next(self._memory_run_numbers)
            run = LocalMemoryRun(self.log, number, label, interval, self.memory_use)
            self._memory_runs = [*(each for each in self._memory_runs if not each.is_over), run]
        return run

    # -- to the observer ----------------------------------------------------

    def _push(self, block: SealedBlock, at: float) -> None:
        if self._link is not None:
            self._link.push(block, at)

    def _gaps(self, gaps: list[LogGap]) -> None:
        for gap in gaps:
            self.log.gap(gap.table, gap.start, gap.stop, gap.rows)
        if self._ended:
            # The watch thread, which seals, is gone.
            self.log.seal()

    def flush(self) -> int:
        """Send what was measured so far, wait until it is there; returns the log's place."""
        with self._turn:
            if not self._ended:
                self._write_rows(perf_counter())
                self._write_samples()
            seq = self.log.seal()
        link = self._link
        if link is not None:
            link.wait_for(seq, _FLUSH_SECONDS)
        return seq

    def end(self, why: str) -> None:
        """Record no more, tell the observer, end the threads. Twice is safe.

        Takes at most ten seconds if the observer does not answer.
        """
        with self._lock:
            if self._ending or os.getpid() != self._pid:
                return
            self._ending = True
        self.meter.closed = True
        self._wake.set()
        link = self._link
        assert link is not None
        try:
            if self._thread is not threading.current_thread():
                self._thread.join(_END_SECONDS)
            for run in self._memory_runs:
                run.stop()
            with self._turn:
                self._write_rows(perf_counter())
                self._write_samples()
                self._ended = True
                self.log.seal()
            link.end(why, self.log.since(perf_counter()), _END_SECONDS)
        finally:
            link.close()
            # Whoever still holds the recorder must not hold the observer.
            self._link = None
            self._files.close()
            self._home_memory.close()
            shutil.rmtree(self._folder, ignore_errors=True)


def _memory_of(pid: int) -> float:
    """Bytes of another process; NaN if that is not to be known."""
    memory = ProcessMemory(pid)
    try:
        return memory.read()
    finally:
        memory.close()


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
