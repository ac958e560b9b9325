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
from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from spanwise.errors import ClusterError
from spanwise.local.lane_watch import LaneWatch
from spanwise.local.lanes import Processes, ThreadLanes, Threads
from spanwise.local.local_log import HOME, LocalLog
from spanwise.local.log_ids import ProcessIds
from spanwise.local.memory_run import LocalMemoryRun
from spanwise.local.meter import Lane, Meter
from spanwise.local.observed_pools import ObservedPools
from spanwise.local.work import WORK_THREADS, Work
from spanwise.measure.bell import Bell
from spanwise.measure.fine import Ledger
from spanwise.measure.memory import ProcessMemory
from spanwise.notices import tell
from spanwise.observed.observer_address import ObserverAddress
from spanwise.records.log_writer import SealedBlock
from spanwise.source.observer_link import ObserverLink
from spanwise.source.replay_ring import LogGap

#: Between measurements of memory, and the longest between two turns of the watch thread.
_MEMORY_SECONDS = 0.2
#: Between turns while runs are under way, but no thread of this process is busy; while one is,
#: rows are written no more often, for a few at a time cost twice as much each.
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
        #: Where processes write what they measure.
        self._folder = Path(tempfile.mkdtemp(prefix="spanwise-"))
        self._pid = os.getpid()
        self._link: ObserverLink | None = None
        self.log = LocalLog(name, self._push)
        self.locked_names = LockedNames(self.log)
        #: The values of each `Done`, one behind the other.
        self._done: list[Any] = []
        #: What tasks of this process waited for, as far as it is an estimate.
        self._ledger = Ledger(self.log.start)
        self.meter = Meter(self._lane_of, self._done.extend)
        self._here = threading.local()
        #: Around lanes and the number of runs.
        self._lock = threading.RLock()
        #: Around the work that the watch thread and flushing threads share.
        self._turn = threading.Lock()
        self._thread_lanes = ThreadLanes()
        self.pools = ObservedPools(self._folder, self.log)
        #: Lanes for tasks of pools of processes that run once more in this process, to
        #: be debugged.
        self._elsewhere = Threads()
        self._home_memory = ProcessMemory()
        self._home_ids = ProcessIds()
        self._watch = LaneWatch(self.locked_names, self.log.start)
        #: Called now and then: runs take callbacks out of Dask's set and may not put
        #: them back.
        self.keep_registered: Callable[[], None] = lambda: None
        self._runs = 0
        #: Those on threads of this process, and when the first of them began since looks ceased.
        self._thread_runs = 0
        self._began = inf
        self._memory_runs: list[LocalMemoryRun] = []
        self._memory_run_numbers = count(1)
        self._wake = Bell()
        self._ending = False
        self._ended = False
        #: The newest block, once this has ended.
        self._last = 0
        #: It could not go on, and the user was told.
        self.failed = False
        self._link = ObserverLink(place, self.log.description, self._gaps)
        self._thread = threading.Thread(target=self._turns, name="spanwise-watch", daemon=True)
        self._thread.start()

    # -- runs begin and end (in the thread that computes) -------------------

    def begin_threads(self, owner: Any, size: int, now: float) -> Threads:
        """A run on threads of this process begins."""
        with self._lock:
            threads = self._thread_lanes.acquire(owner, size)
            self._runs += 1
            self._thread_runs += 1
            self._began = min(self._began, now)
            self.log.capacity(HOME, self._thread_lanes.count, now)
        self._wake.set()
        return threads

    def end_threads(self, threads: Threads, now: float) -> None:
        """It is over."""
        with self._lock:
            self._thread_lanes.release(threads)
            self._runs -= 1
            self._thread_runs -= 1
            self.log.capacity(HOME, self._thread_lanes.count, now)

    def begin_processes(self, owner: Any, size: int, now: float) -> Processes:
        """A run on processes begins; they tell their pids with their first task."""
        pool = self.pools.begin(owner, size, now)
        with self._lock:
            self._runs += 1
        self._wake.set()
        return pool

    def end_processes(self, pool: Processes, now: float) -> None:
        """It is over."""
        self.pools.end(pool, now)
        with self._lock:
            self._runs -= 1

    # -- tasks end (in their threads) ---------------------------------------

    def _lane_of(self, work: Work) -> Lane:
        threads: Threads = work[WORK_THREADS] or self._elsewhere
        known: dict[Threads, tuple[int, Lane]] | None = getattr(self._here, "lanes", None)
        if known is None:
            known = self._here.lanes = {}
        found = known.get(threads)
        if found is not None and found[0] == threads.base:
            return found[1]
        number = self.log.lane(HOME, threads.base + threads.place())
        if found is None:
            lane = Lane(number, self._ledger)
            self._watch.add(lane)
        else:
            lane = found[1]
            lane.number = number
        known[threads] = (threads.base, lane)
        return lane

    # -- the watch thread ---------------------------------------------------

    def _turns(self) -> None:
        next_rows = next_memory = next_samples = perf_counter()
        while not self._ending:
            now = perf_counter()
            try:
                with self._turn:
                    busy = self._watch.look_if_due(now)
                    # (between two short tasks a look finds no thread busy)
                    is_under_way = busy or self._thread_runs
                    if now >= next_rows or not is_under_way:
                        next_rows = now + _TURN_SECONDS
                        self._write_rows(now)
                    if now >= next_memory:
                        next_memory = now + _MEMORY_SECONDS
                        self._measure_memory(now)
                        self._watch.forget_ended()
                        self.keep_registered()
                    if now >= next_samples or not is_under_way:
                        next_samples = now + _SAMPLES_SECONDS
                        self._write_samples()
                self.log.commit()
            except Exception as error:  # noqa: BLE001 (said; computing goes on)
                self._give_up(error)
                return
            if busy or not self._may_rest():
                self._wake.wait(self._watch.pause())
                continue
            self._wake.wait(_TURN_SECONDS if self._runs else max(0.0, next_memory - perf_counter()))
            with self._turn:
                self._watch.rests_until(min(self._began, perf_counter()))

    def _may_rest(self) -> bool:
        """Whether looks may cease, as no thread of this process has a task, until one may."""
        with self._lock:
            if self._thread_runs:
                return False
            self._began = inf
            return True

    def _give_up(self, error: Exception) -> None:
        self.meter.closed = True
        if not self.failed:
            self.failed = True
            tell(
                f"Spanwise records nothing more of {self.log.name}: "
                f"{type(error).__name__}: {error}.",
            )

    def _write_rest(self) -> None:
        """Write what there is to be written, from another thread than the watch thread's."""
        if self.failed:
            return
        try:
            self._write_rows(perf_counter())
            self._write_samples()
        except Exception as error:  # noqa: BLE001 (said; computing goes on)
            self._give_up(error)

    def _await_ends(self) -> None:
        if self.failed:
            return
        try:
            self.pools.await_ends()
        except Exception as error:  # noqa: BLE001 (said; the log ends all the same)
            self._give_up(error)

    def _write_rows(self, now: float) -> None:
        """Turn what has been measured into rows."""
        done = self._done
        # (threads add to its end meanwhile)
        count = len(done)
        if count:
            ended = done[:count]
            del done[:count]
            self.log.done(ended)
        self.log.fine(HOME, self._ledger.rows(self.locked_names), self._home_ids)
        for row in self._watch.running(now):
            self.log.running(*row)
        self.pools.read(now)

    def _write_samples(self) -> None:
        samples = self._watch.rows()
        if samples:
            stacks, frames = self._watch.stacks.rows()
            self.log.samples(stacks, frames, samples, lambda lane: lane, self._home_ids)

    def _measure_memory(self, now: float) -> None:
        self.log.memory(HOME, self._home_memory.read(), now)
        self.pools.measure(now)

    def memory_use(self) -> float:
        """Bytes of this process and of its pools' together; NaN if that is not known."""
        return self._home_memory.read() + self.pools.memory_use()

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
            # The watch thread, which would seal, has ended.
            self.log.seal()

    def flush(self) -> int:
        """Send what was measured so far, wait until it is there; returns the log's place."""
        with self._turn:
            if self._ended:
                # What is written now nobody is sent.
                seq = self._last
            else:
                self._write_rest()
                seq = self._seal(self.log.seal)
        link = self._link
        if link is not None:
            link.wait_for(seq, _FLUSH_SECONDS)
        return seq

    def _seal(self, seal: Callable[[], int]) -> int:
        try:
            return seal()
        except Exception as error:  # noqa: BLE001 (said; computing goes on)
            self._give_up(error)
            return self.log.newest

    def end(self, why: str) -> None:
        """Record no more, tell the observer, end the threads. Twice is safe.

        Takes at most ten seconds if the observer does not answer.
        """
        if os.getpid() != self._pid:
            # In a fork, locks may be held by threads that do not exist here.
            return
        with self._lock:
            if self._ending:
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
                self._write_rest()
            # (who flushes need not wait for that)
            self._await_ends()
            with self._turn:
                self._ended = True
                self._last = self._seal(self.log.end)
            link.end(why, self.log.since(perf_counter()), _END_SECONDS)
        finally:
            link.close()
            # A reference to the recorder must not keep the observer alive.
            self._link = None
            self.pools.close()
            self._home_memory.close()
            shutil.rmtree(self._folder, ignore_errors=True)
