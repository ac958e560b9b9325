"""The watch thread: samples stacks, measures memory, tells of long tasks and of late calls.

Wakes for looks while there are tasks, when :class:`LookTimes` says: in each 9 ms while a task
computes (of other intervals of the sampler nine tenths), or less often where the budget of looks
says so; in each 40 ms while tasks only wait. A wake-up takes as much of a core as half a look, so
what can wait comes with others: memory is measured at a look that comes shortly before it is time
to, and it is told of long tasks then, as what is told leaves with that. While rows of short tasks
wait to be sent, it wakes at least each 18 ms; while there are no tasks only to measure memory:
every 0.2 s, and after a while in which nothing happens and it stays as it is, every 2 s.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from math import inf, nan
from time import perf_counter, sleep, thread_time
from typing import TYPE_CHECKING, Protocol

from spanwise.measure.bell import Bell
from spanwise.measure.looks import (
    LONGEST,
    LOOK_SECONDS,
    RUNNING_SECONDS,
    LookBudget,
    LookTimes,
)
from spanwise.measure.memory import (
    FreeMemory,
    MemoryMonitor,
    MemoryRow,
    Thresholds,
    give_back_free_memory,
)
from spanwise.measure.sampler import INTERVAL
from spanwise.measure.system import (
    RESTING_SYSTEM_SECONDS,
    SYSTEM_SECONDS,
    SystemMonitor,
    SystemRow,
)
from spanwise.records.enumerations import NONE_U32
from spanwise.wire.rows import TASK_FUNCTION, TASK_ID, TASK_RUN_ID, TASK_SPAN
from spanwise.worker.executor_sampler import Sampler
from spanwise.worker.fetch import Fetching
from spanwise.worker.machinery import Machinery
from spanwise.worker.spill import SpillStore, mebibytes
from spanwise.worker.spill_file import Spent
from spanwise.worker.tasks import Row

if TYPE_CHECKING:
    from spanwise.worker.needs import Lane, Watched

    #: A row of the table `load` behind its time: how much there is.
    Load = tuple[int, int, int, int, int, float, int, float, float, int, float, float]
    LoadRow = tuple[float, int, int, int, int, int, float, int, float, float, int, float, float]

    class Spillable(Watched, Protocol):
        """A worker, whose store the watch thread keeps in order."""

        @property
        def spill(self) -> SpillStore: ...

        def load(self) -> Load: ...

        thresholds: Thresholds


#: Seconds between measurements of memory, until the scheduler sets another rate.
MEMORY_SECONDS = 0.2
#: It is measured so much early where there is a look.
EARLY_SECONDS = 0.05
#: The same of a worker that has had no task for :data:`RESTS_AFTER_SECONDS` and does nothing else,
#: if its memory has changed by less than :data:`RESTING_CHANGE_BYTES` and nobody samples it. Each
#: look has a row of its system, too. The scheduler looks at itself just behind these looks
#: (RESTING_SECONDS of ``own-system.ts``).
RESTING_MEMORY_SECONDS = RESTING_SYSTEM_SECONDS
RESTING_CHANGE_BYTES = 4 * 2**20
RESTS_AFTER_SECONDS = 2.0
#: What may be free amid the heap of a worker with tasks, beyond what it took at the least: nothing
#: is wrong with it but that other programs lack it.
MOST_FREE_BYTES = 128 * 2**20
#: Until a process that is over its limit is looked at once more.
SECOND_LOOK_SECONDS = 0.05
#: Samples are sent this often, unless a setting says otherwise.
SAMPLES_SECONDS = 1.0
#: The sampler rests when nothing has been busy for so long: the looks until then see nobody, and
#: each wakes this thread. A task that begins later wakes it.
REST_SECONDS = 0.03
#: Then freed memory may go back to the system.
IDLE_SECONDS = 0.09
#: Rows that an executor meant to send later leave at the latest now: twice as late as it sends them
#: itself between two runs, so that only those go this way which wait behind a run.
OVERDUE_SECONDS = 0.008
#: While some wait, this thread looks for them so often. Two looks in stretches of 9 ms are at most
#: so far apart: so this thread mostly need not wake for rows alone.
ROWS_SECONDS = 2 * LOOK_SECONDS


class Watch(threading.Thread):
    """Measures what executors cannot measure themselves.

    Parameters
    ----------
    worker, fetching
        The owners of the rows that it collects.
    scheduler_start
        When the scheduler began, by its clock.
    end
        Called with a sentence if the worker must end for want of memory.
    recording
        False: stacks and long tasks are not looked at; memory and transfers still are.
    sample_seconds
        What one sample of a stack stands for; 0: stacks are not looked at.
    cycle_seconds
        How often samples are sent.
    """

    def __init__(
        self,
        worker: Spillable,
        fetching: Fetching,
        scheduler_start: float,
        end: Callable[[str], None],
        recording: bool = True,
        sample_seconds: float = INTERVAL,
        cycle_seconds: float = SAMPLES_SECONDS,
    ) -> None:
        super().__init__(name="spanwise-watch", daemon=True)
        self.memory_seconds = MEMORY_SECONDS
        #: The sampler rests; the thread that begins a task calls :meth:`wake`.
        self.parked = False
        #: Data has come, or this thread was woken for something else than a task, since memory was
        #: measured.
        self.is_stirred = False
        self.ticks = False
        self.rows_wait = False
        #: When some were last found to wait.
        self._rows_at = -inf
        #: Called at each look of this thread, and again within `MEMORY_SECONDS` if it returns
        #: True. From another thread :meth:`wake` has it called soon.
        self.look_also: Callable[[], bool] = lambda: False
        self._scheduler_start = scheduler_start
        epoch = scheduler_start - worker.clock.at(perf_counter())
        self.sampler = Sampler(worker, epoch, sample_seconds or INTERVAL)
        self.recording = recording
        #: Seconds of a stretch with one look at stacks; 0: there are none.
        self._look_seconds = LOOK_SECONDS * sample_seconds / INTERVAL if recording else 0.0
        longest = max(LONGEST, 4 * sample_seconds)
        self.times = LookTimes(perf_counter(), self._look_seconds or LOOK_SECONDS, longest)
        self._await()
        #: Of the looks of this thread.
        self.budget = LookBudget()
        self._cycle_seconds = cycle_seconds
        #: Where the other threads of this process are; clients ask for it.
        self.machinery = Machinery(epoch, sample_seconds if recording else 0.0)
        self._worker = worker
        self._fetching = fetching
        self._end = end
        self._memory = MemoryMonitor(
            worker.memory_limit, worker.segments.counted_bytes, worker.thresholds
        )
        self._free = FreeMemory()
        #: When memory was last measured.
        self._measured_at = -inf
        #: Bytes of the process, and of results, when they were last measured.
        self._held = (nan, nan)
        #: Bytes of the process beside results, when they were least.
        self._least_unmanaged = inf
        self._unpark = Bell()
        #: When the task began that has woken the sampler.
        self._woken_at = inf
        self._was_begun = False
        #: Around what is collected and not yet sent, and `times`.
        self._lock = threading.Lock()
        self._memory_rows: list[MemoryRow] = []
        self._system = SystemMonitor()
        self._system_rows: list[SystemRow] = []
        self._load_rows: list[LoadRow] = []
        self._running_rows: list[tuple[int, int, int, int, int, float]] = []
        #: Thread → the row that was last reported as running there.
        self._said: dict[int, Row] = {}
        #: Bytes that had been spilled at the last look.
        self._written_bytes = 0

    def wake(self, at: float | None = None) -> None:
        """Begin to sample: a task has begun, at this moment, or something else has happened."""
        self.parked = False
        if at is None:
            self.is_stirred = True
        else:
            self._woken_at = min(self._woken_at, at)
        self._unpark.set()

    def tick(self) -> None:
        """Look in each :data:`ROWS_SECONDS` whether rows wait, as some do now."""
        self.ticks = True
        self._unpark.set()

    def sees(self, executor: Lane) -> None:
        """Sample another thread too; it lives."""
        with self._lock:
            self.sampler.add(executor)

    def forgets(self, executor: Lane) -> None:
        """Sample a thread no more: it ends. Without this lock: the caller holds the worker's."""
        self.sampler.remove(executor)

    def run(self) -> None:
        """Watch until the process ends."""
        looks = self._look_seconds
        times, stretch = self.times, looks
        next_memory = next_samples = last_task = last_busy = perf_counter()
        held = self._held
        #: CPU seconds of this thread when it began to wait for a look. What it does to have the
        #: next ones in time, and looks at the other threads, are a part of the look's cost.
        waited: float | None = None
        works = False
        while True:
            now = perf_counter()
            busy, moved, is_due = self._look(now)
            if is_due:
                stretch = self.budget.next_stretch(looks, stretch, bool(busy) and not moved)
                self._stretch(stretch)
            if is_due or not busy or now >= next_memory:
                works = self.machinery.look(now)
            if is_due and busy and waited is not None:
                self.budget.looked(thread_time() - waited)
            if busy:
                last_task = now
            if busy or works:
                last_busy = now
            rests = now - last_busy >= REST_SECONDS
            self._push_overdue(now)
            is_at_work = self.look_also() or works or busy > 0
            if is_at_work:
                # (it may have rested until now)
                next_memory = min(next_memory, now + self.memory_seconds)
            early = 0.0
            if is_due and busy and self.memory_seconds == MEMORY_SECONDS:
                early = EARLY_SECONDS
            if now >= next_memory - early:
                if now - last_busy >= IDLE_SECONDS:
                    self._give_back_idle()
                self.is_stirred = False
                self._measure_memory(now)
                before, held = held, self._held
                is_quiet = (
                    not is_at_work
                    and now - last_task > RESTS_AFTER_SECONDS
                    and _is_alike(before, held)
                )
                seconds = RESTING_SYSTEM_SECONDS if is_quiet else SYSTEM_SECONDS
                if self._system.is_due(now, seconds):
                    self._look_at_system()
                next_memory = self._next_memory(next_memory, now, is_quiet)
                is_time = now >= next_samples - early
                with_samples = is_time or last_busy < now
                if is_time:
                    next_samples = max(next_samples, now) + self._cycle_seconds
                if with_samples:
                    with self._lock:
                        self.sampler.work_out_within(self.budget)
                self.send_measured(with_samples)
            waited = None
            if rests:
                if looks:
                    stretch = self.budget.stretch(looks)
                    self._stretch(stretch)
                if self._rest(next_memory):
                    now = perf_counter()
                    self.is_stirred = False
                    next_memory = min(next_memory, now + self.memory_seconds)
                    if self._was_begun:
                        last_task = last_busy = now
                continue
            # (While nothing is busy nobody wakes this thread, before it rests.)
            latest = now + (MEMORY_SECONDS if busy else RUNNING_SECONDS)
            wake = min(times.due if looks else inf, next_memory, latest)
            if self._are_rows_waiting(now):
                wake = min(wake, now + ROWS_SECONDS)
            now = perf_counter()
            if wake > now:
                waited = thread_time()
                self._unpark.wait(wake - now)

    def _look(self, now: float) -> tuple[int, bool, bool]:
        """How many executors are busy, whether one was seen to move, and whether a look was due."""
        with self._lock:
            seen = self._look_if_due(now)
            if self.recording:
                self._tell_running(now)
        if seen is not None:
            return (*seen, True)
        return sum(executor.row is not None for executor in self._worker.executors), False, False

    def _look_if_due(self, now: float) -> tuple[int, bool] | None:
        """As :meth:`ThreadSampler.look`, if a look is due; the lock is held."""
        dues = self.times.take(now) if self._look_seconds else []
        return self.sampler.look(now, dues, self.times.earliest(now)) if dues else None

    def _stretch(self, seconds: float) -> None:
        with self._lock:
            # (Now: what has ended since the look began was told by the length until now.)
            self.times.stretch(seconds, perf_counter())
            self._await()

    def _rest(self, until: float) -> bool:
        """Wait until then, or for a task; return whether something has ended the wait."""
        self._unpark.clear()
        self.parked = True
        # From here on who begins a task, brings data or sets a rate wakes this thread; who did so
        # before may not have.
        woken = self.is_stirred or self._busy_since() < inf
        if not woken:
            rest = max(0.0, until - perf_counter())
            woken = self._unpark.wait(min(rest, MEMORY_SECONDS) if self.look_also() else rest)
        self.parked = False
        began, self._woken_at = min(self._woken_at, self._busy_since()), inf
        self._was_begun = began < inf
        with self._lock:
            self.times.skip(min(began, perf_counter()))
            self._await()
        return woken

    def _await(self) -> None:
        """Have threads tell what ends after the next look is due; the lock is held."""
        if self._look_seconds:
            self.sampler.awaits(self.times)

    def _busy_since(self) -> float:
        """When the first of the threads that have tasks now began to."""
        executors = self._worker.executors
        return min((e.busy_since for e in executors if e.busy_since > e.idle_since), default=inf)

    def _are_rows_waiting(self, now: float) -> bool:
        """Whether rows have waited lately, for others or for this thread."""
        if self.rows_wait:
            self.rows_wait = False
            self._rows_at = now
        # (Two looks may be so close that no row came between; to begin again wakes this thread.)
        self.ticks = now - self._rows_at < ROWS_SECONDS
        if self.rows_wait:  # just now, by a thread that saw `ticks`
            self.ticks = True
        # (a look may have come before they were overdue)
        return self.ticks or bool(self._worker.report.runs)

    def _next_memory(self, last: float, now: float, rests: bool) -> float:
        """When memory is measured again."""
        # The scheduler asks for a shorter time while somebody samples.
        if rests and self.memory_seconds == MEMORY_SECONDS and not self._worker.paused:
            # All workers of a machine at once, by the clock that they share: what they say then
            # wakes scheduler and observer once, and is one block of the log.
            return (now // RESTING_MEMORY_SECONDS + 1.0) * RESTING_MEMORY_SECONDS
        return max(last + self.memory_seconds, now)

    def _look_at_system(self) -> None:
        # (not under this lock, which others would wait for meanwhile)
        load = self._worker.load()
        with self._lock:
            row = self._system.row()
            self._system_rows.append(row)
            self._load_rows.append((row.t, *load))

    def send_all(self) -> None:
        """Send what has been collected, up to this moment; from any thread."""
        if self._system.is_worth(perf_counter()):
            self._look_at_system()
        self.send_measured()

    def send_measured(self, with_samples: bool = True) -> None:
        """Send what has been collected."""
        worker = self._worker
        now = perf_counter()
        for executor in worker.executors:
            executor.reads.tell(now)
        with self._lock:
            tables = {
                "memory": self._memory_rows,
                "system": self._system_rows,
                "load": self._load_rows,
                "running": self._running_rows,
                "transfers": self._fetching.rows(),
                "fine": worker.ledger.rows(worker.names),
            }
            self._memory_rows = []
            self._system_rows = []
            self._load_rows = []
            self._running_rows = []
            if with_samples:
                # (whoever asks is told of looks for which this thread has had no core yet)
                now = perf_counter()
                self._look_if_due(now)
                self._await()
                self.sampler.settle(now)
                tables["samples"] = self.sampler.rows()
                tables["stacks"], tables["frames"] = self.sampler.stacks.rows()
            # The scheduler places tasks by what transfers took, and tells clients how workers are,
            # also where nobody records.
            kept = tables if self.recording else ("memory", "transfers", "system", "load")
            tables = {name: rows for name, rows in tables.items() if rows and name in kept}
            if tables:
                self._follow_clock(with_samples)
                worker.send("measured", None, tables)

    def _follow_clock(self, with_samples: bool) -> None:
        """Ask for the scheduler's clock with what is sent anyway, if it differs from ours."""
        clock = self._worker.clock
        if not clock.asks:
            return
        now = perf_counter()
        if with_samples:
            # (none are left of those that were counted from another moment)
            epoch = self._scheduler_start - clock.at(now)
            self.sampler.epoch = self.machinery.epoch = epoch
        if clock.is_due(now):
            self._worker.ask_clock()

    def _tell_running(self, now: float) -> None:
        said = self._said
        for executor in self._worker.executors:
            # (asked first: once it is over, the clock is no more the ended run's)
            reporting = executor.reporting
            row, started = None if reporting else executor.row, executor.clock
            before = said.get(executor.number)
            if before is not None and row is not before:
                del said[executor.number]
                self._running_rows.append((executor.number, NONE_U32, 0, 0, 0, now))
                before = None
            if row is not None and before is None and now - started > RUNNING_SECONDS:
                said[executor.number] = row
                self._running_rows.append(
                    (
                        executor.number,
                        row[TASK_ID],
                        row[TASK_RUN_ID],
                        row[TASK_FUNCTION],
                        row[TASK_SPAN],
                        started,
                    )
                )

    def _push_overdue(self, now: float) -> None:
        report = self._worker.report
        if report.runs and now - report.since > OVERDUE_SECONDS:
            self._worker.flush()

    def _give_back_idle(self) -> None:
        """Return memory that tasks, and results that were released, have freed."""
        worker = self._worker
        busy = [executor.busy_since for executor in worker.executors]
        self._free.give_back_idle((busy, worker.table.managed))

    def _measure_memory(self, now: float) -> None:
        worker = self._worker
        spill = worker.spill
        # (it may pause amid what is written below)
        was_paused = worker.paused
        self._measured_at = now
        worker.segments.look()
        spill.set_target(worker)
        spill.compact(worker, self._look_meanwhile)
        if worker.table.managed > spill.target:
            # Results from peers: no task of this worker made room for them.
            self._book(spill.make_room(worker, 0.0, self._look_meanwhile))
        if self._measured_at > now:
            now = perf_counter()
        row = self._memory_row(now)
        if self._holds_free(row[1] - worker.managed) and self._free.give_back():
            row = self._memory_row(now)
        if spill.is_short(row[1]) and (spill.give_up_spare(inf) | self._free.give_back()):
            row = self._memory_row(now)
        while spill.is_short(row[1]):
            spent = spill.spill(worker, 0.0, self._look_meanwhile)
            if spent is not None:
                self._book(spent)
                self._look_meanwhile()
            elif spill.give_up_beside(spill.beyond(row[1]) + 1.0):
                gc.collect()  # functions by value lie in circles
            else:
                break
            give_back_free_memory()
            now = perf_counter()
            row = self._memory_row(now)
        if self._memory.is_short(row[1]) and not was_paused:
            gc.collect()
            give_back_free_memory()
            row = self._memory_row(now)
        with self._lock:
            self._memory_rows.append(row)
        self._measured_at = row[0]
        process = row[1]
        self._held = process, worker.managed
        if not self._memory.is_short(process):
            worker.pause(False)
            return
        if self._memory.is_over(process) and not spill.is_writing:
            # What is only free is no reason to end, nor a result that its thread is about to
            # refuse: it had the interpreter lock until now.
            sleep(SECOND_LOOK_SECONDS)
            give_back_free_memory()
            process = self._memory.process()
        if self._memory.is_over(process) and not spill.is_writing:
            self.send_measured(False)  # whoever tells of its end says what it used
            self._end(
                f"Worker {worker.number} uses {process / 2**20:.0f} MiB of the "
                f"{self._memory.limit / 2**20:.0f} MiB that it may use, and ends."
            )
        worker.pause(True, self._why(process), self._is_stalled(was_paused))

    def _memory_row(self, now: float) -> MemoryRow:
        worker = self._worker
        return self._memory.measure(now, worker.managed, float(worker.spill.disk_bytes))

    def _look_meanwhile(self) -> None:
        """Look, measure and send, if it is time to, while this thread writes results to disk.

        A slow disk takes seconds for each. Nothing is written from here.
        """
        now = perf_counter()
        self._look(now)
        self._push_overdue(now)
        if now - self._measured_at < self.memory_seconds:
            return
        worker = self._worker
        row = self._memory_row(now)
        with self._lock:
            self._memory_rows.append(row)
            self.sampler.work_out_within(self.budget)
        self._measured_at = now
        is_short = self._memory.is_short(row[1])
        if is_short != worker.paused:
            # (tasks would fill it faster than this disk takes what is there; what was pickled for
            # the disk is gone again)
            worker.pause(is_short, self._why(row[1]) if is_short else "")
        if self._system.is_due(now, SYSTEM_SECONDS):
            self._look_at_system()
        self.send_measured()

    def _holds_free(self, unmanaged: float) -> bool:
        """Whether so much may be free amid the heap that it is to go back, though tasks run.

        What a phase of many results has left stays there, and a worker may never be idle.
        """
        self._least_unmanaged = min(self._least_unmanaged, unmanaged)
        return unmanaged > self._least_unmanaged + MOST_FREE_BYTES

    def _is_stalled(self, was_paused: bool) -> bool:
        """Whether neither a running task nor a write can end the pause of the look before."""
        worker = self._worker
        before, self._written_bytes = self._written_bytes, worker.spill.written_bytes
        return (
            was_paused
            and before == self._written_bytes
            and not worker.spill.is_writing
            and all(each.row is None or each.waits for each in worker.executors)
        )

    def pause_if_short(self) -> None:
        """Pause at once, as nothing can leave memory; from any thread."""
        process = self._memory.process()
        if self._memory.is_short(process):
            self._worker.pause(True, self._why(process))

    def _why(self, process: float) -> str:
        worker = self._worker
        spill = worker.spill
        held = [(max(0.0, worker.table.managed - worker.elsewhere), "results")]
        held += [(source.held_bytes(), source.what) for source in spill.sources]
        rest = max(0.0, process - sum(nbytes for nbytes, _ in held))
        held.append((rest, "modules and what tasks keep besides their results"))
        return (
            f"{mebibytes(process)} of {mebibytes(self._memory.limit)} are in use ("
            + ", ".join(f"{mebibytes(nbytes)} {what}" for nbytes, what in held)
            + (f"); {spill.failing}" if spill.failing else ")")
        )

    def _book(self, spent: Spent) -> None:
        if spent.disk_bytes:
            self._worker.spill.book(spent)


def _is_alike(before: tuple[float, float], held: tuple[float, float]) -> bool:
    """Whether a process that has no task holds what it held (no: it has not been measured)."""
    return before[1] == held[1] and abs(before[0] - held[0]) < RESTING_CHANGE_BYTES
