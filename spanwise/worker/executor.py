"""A thread that runs tasks and measures them.

Stamps.  One task's stop is the next one's start, so the time between two stamps always
belongs to a task::

        stop A = start B                    stop B = start C
            │ bind │ run B            │ size │ │ store B, report B, take C, bind C …
            ├──────────── duration B ────────┤ ├───────────── duration C ───

A new pair of stamps is taken only when the thread has been idle or has sent a
message; the gap is nobody's, and its length is in the ledger as `report`.

CPU is the thread's own clock at the same places (0.3 to 2 us a reading, against 0.05 us for the
wall clock), so a run's cpu and duration cover the same stretch.  It is not read at the end of what
is short, see :func:`read_cpu`::

    read     short   short   short   read
      │  A    │  B    │  C    │  D    │
      ├───────┴───────┴───────┼───────┤
      │ cpu = duration        │ clock − Σ (never less than 0: the rest is taken from the next)
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from spanwise.errors import Reschedule
from spanwise.measure.clocks import CoreWait
from spanwise.measure.looks import Plan
from spanwise.measure.meters import Metered, MeteredValues, take_metered, without_seconds
from spanwise.measure.opened import Opened
from spanwise.measure.parts import Part
from spanwise.measure.scopes import Heard, digest_wait, listen
from spanwise.measure.steps import (
    LONG_SECONDS,
    MOST_ENDS,
    SENT,
    SHORT_SECONDS,
    UNMARKED_SECONDS,
    UNREAD_SECONDS,
    WRITTEN,
    End,
    read_cpu,
    run_parts,
    tell_behind,
    tell_end,
)
from spanwise.measure.waits import Waits
from spanwise.processes import forks
from spanwise.records.enumerations import (
    FLAG_WANTED,
    KIND_COMPUTE,
    KIND_DISK_WRITE,
    KIND_SERIALIZE,
    NONE_U32,
    OTHER_TASKS,
    RUN_FAILED,
    RUN_OK,
    RUN_RESCHEDULED,
)
from spanwise.wire.rows import (
    PART_CPU,
    PART_DURATION,
    PART_HELD,
    PART_KIND,
    TASK_CHUNK,
    TASK_FLAGS,
    TASK_FUNCTION,
    TASK_ID,
    TASK_READY_AT,
    TASK_ROW,
    TASK_RUN_ID,
    TASK_SPAN,
    TASK_TEMPLATE,
)
from spanwise.worker.awaiting import awaited
from spanwise.worker.errors import describe
from spanwise.worker.held import placed_arrivals
from spanwise.worker.inline import INLINE_BYTES, inline, plain_inline
from spanwise.worker.library import row_of
from spanwise.worker.memory_reads import MemoryReads, Sums
from spanwise.worker.opening import open_blobs, own_part, read_back
from spanwise.worker.spill_file import Spilled, Unreadable
from spanwise.worker.tasks import Entry, Row
from spanwise.worker.wakeup import Wakeup

if TYPE_CHECKING:
    from spanwise.worker.needs import Executing

#: Finished rows wait for further ones at most this long, or until there are this many.
#: A message costs some 150 us in both processes, most of it for waking the other one;
#: meanwhile the thread has work, since the scheduler keeps 10 ms of it ahead.
FLUSH_SECONDS = 0.004
FLUSH_ROWS = 256
#: After a run shorter than this the next one of its template is expected to be short: ended runs
#: wait for it, and leave with it.
QUICK_SECONDS = 0.001
#: A run that computes little and takes longer waits for something else than a core.
WAITING_SECONDS = 0.03
#: Sizing and pickling a result shorter than this is counted as compute.
PART_SECONDS = 0.00005
_NAN = float("nan")


class Executor(threading.Thread):
    """One lane of a worker.

    Parameters
    ----------
    worker
        The owner of the table.
    number
        Its thread number, from 0.
    """

    def __init__(self, worker: Executing, number: int) -> None:
        super().__init__(name=f"spanwise-executor-{number}", daemon=True)
        self.worker = worker
        #: Its lane; of a run that has seceded one beside the threads', until the run ends.
        self.number = number
        #: Of a run that has rejoined: the lane whose thread this is again; else -1.
        self.lane = -1
        #: The run goes on beside the worker's threads.
        self.seceded = False
        #: Another one has its place: it is to wait for one, or to end.
        self.placeless = False
        #: The run waits for other tasks.
        self.waits = False
        #: The run that has asked for the worker's client: see `spanwise.client.in_tasks`.
        self.client_run = -1
        #: Releasing it wakes the thread, where it has nothing to do.
        self.wakeup = Wakeup(worker)
        #: The row that is being run, or None. Read by the watch thread.
        self.row: Row | None = None
        #: The inner part of a fused task that is being run (see `Opened.parts`).
        self.part: tuple[Any, tuple[int, ...], int, int, Any] | None = None
        #: `row` has ended and is being reported: it no longer counts as running. It stays set
        #: for the sampler, which mostly looks while a thread sends: without it short tasks
        #: would have no samples.
        self.reporting = False
        #: Wall and CPU stamps at the start of `row`, and when it has ended, at its end.
        self.clock = 0.0
        self.cpu = 0.0
        #: The wall stamp at which `cpu` was last what the clock said.
        self.cpu_read_at = 0.0
        #: CPU seconds that short runs were given too many before `cpu` was set to the clock; the
        #: next run makes up for them that neither opens its function nor may read from disk.
        self.owed = 0.0
        #: For the sampler, as `Sampled` says.
        self.began = 0.0
        self.began_cpu = 0.0
        self.due = self.next_due = math.inf
        self.plan: Plan | None = None
        self.ends: deque[End] = deque(maxlen=MOST_ENDS)
        #: Since when the thread has not been idle, and since when it was before that.
        self.busy_since = 0.0
        self.idle_since = 0.0
        self.core_wait: CoreWait | None = None
        #: What the task measures itself, and what of it belongs to parts that have ended.
        self.heard = Heard()
        self.metered: list[Metered] = []
        #: Size and id of the class of results that are all of one size.
        self._plain: dict[type, tuple[float, int]] = {}
        #: What its runs read in memory, until it is told.
        self.reads = MemoryReads(worker.ledger)
        #: The function and the span of the last run that read any, and their sums there: most
        #: runs are like the one before.
        self._read_by = self._read_in = -1
        self._read_sums: Sums = []

    # ── the loop ──────────────────────────────────────────────────────────

    def run(self) -> None:
        """Take, run, report, until the process ends, or others have all places."""
        worker = self.worker
        self.core_wait = Waits(worker.ledger)
        templates = worker.library.templates
        listen(self.heard)
        entry: Entry | None = None
        self.clock = perf_counter()
        with worker.lock:
            worker.lanes.placed(self)
        while True:
            if entry is None:
                entry = self._idle()
                if entry is None:
                    return
            else:
                report = worker.report
                if report.runs:
                    opened = templates.get(entry[2][2])
                    if (
                        opened is None
                        or not opened.quick
                        or len(report.runs) >= FLUSH_ROWS
                        or self.clock - report.since >= FLUSH_SECONDS
                    ):
                        self._flush()
                    else:
                        # This task is expected to be short; the watch thread sees to it that rows
                        # do not wait for a long one.
                        watch = worker.watch
                        if watch is not None:
                            watch.rows_wait = True
                            if not watch.ticks:
                                watch.tick()
            row = entry[2]
            try:
                entry = self._run(entry)
            except BaseException as error:  # noqa: BLE001 (user code may hide where nobody looks)
                entry = self._failed(row, None, self.clock, self.cpu, None, error)

    def _flush(self) -> None:
        begin, begin_cpu = self.clock, self._settled_cpu()
        self.reporting = True
        self._tell_reads()
        self.worker.flush()
        self.core_wait.mark()  # type: ignore[union-attr]
        cpu = thread_time()
        end = perf_counter()
        if end >= self.due and self.row is not None:
            # (before `clock` is set: a look must not take this for the run's end)
            tell_behind(self, self.row, begin, begin_cpu, end, cpu, SENT)
        self.cpu, self.clock, self.cpu_read_at = cpu, end, end
        self.reporting = False
        self.worker.ledger.add(end, "report", "serialize", "seconds", end - begin)

    def _stamp(self) -> None:
        self.core_wait.mark()  # type: ignore[union-attr]
        self._read_clocks()

    def _read_clocks(self) -> None:
        self.cpu = thread_time()
        self.clock = self.cpu_read_at = perf_counter()

    def _read_cpu(self, at: float) -> float:
        return read_cpu(self, at, self.cpu)

    def _settled_cpu(self) -> float:
        """What the CPU clock says behind a run; what short ones were given beyond it is owed."""
        if self.cpu_read_at < self.clock:
            cpu = thread_time()
            self.owed = min(UNREAD_SECONDS, self.owed + max(0.0, self.cpu - cpu))
            self.cpu = cpu
        return self.cpu

    def _idle(self) -> Entry | None:
        worker = self.worker
        self.idle_since = idle_since = self.clock
        self._settled_cpu()
        self.row = None
        self._tell_reads()
        while True:
            worker.flush()
            entry = None
            with worker.lock:
                if self.placeless or worker.lanes.gives_way(self):
                    if not worker.lanes.retire(self):
                        return None
                    idle_since = math.inf
                    has_place = False
                else:
                    has_place = True
                    entry = worker.take()
                    if entry is None:
                        worker.idle.append(self)
            if entry is not None:
                break
            if has_place:
                self.wakeup.wait()
            else:
                self.wakeup.acquire()
        opened = worker.library.templates.get(entry[2][TASK_TEMPLATE])
        unmarked = perf_counter() - self.core_wait.marked  # type: ignore[union-attr]
        if opened is not None and opened.quick and unmarked < LONG_SECONDS:
            # A mark takes 2 to 7 us. Runs of this function have been too short for it to matter; of
            # one that is long all the same nobody knows what it waited for.
            self._read_clocks()
        else:
            self._stamp()
        self.busy_since = self.clock
        waiting = entry[4]
        if waiting is not None and waiting.arrivals:
            # The thread was idle while this task's inputs were fetched: the run begins
            # with that wait.
            first = min(arrival.asked for arrival, _ in waiting.arrivals)
            self.clock = min(self.clock, max(idle_since, first))
        self._wake_watch()
        return entry

    def waited(self, since: float) -> None:
        """The run has waited for other tasks until now; in this thread."""
        digest_wait(OTHER_TASKS, perf_counter() - since)

    def _tell_reads(self) -> None:
        if self.reads.tell_and_forget(self.clock):
            self._read_by = -1

    def _wake_watch(self) -> None:
        watch = self.worker.watch
        if watch is not None and watch.parked:
            watch.wake(self.busy_since)

    # ── one task ──────────────────────────────────────────────────────────

    def _next(self) -> Entry | None:
        """The next task for this thread; the lock is held."""
        worker = self.worker
        if self.seceded or self.lane >= 0:
            worker.lanes.ended(self)
            if self.placeless:
                return None
        return worker.take()

    def _run(self, entry: Entry) -> Entry | None:
        """Run one task and return the next one, if there is one."""
        worker = self.worker
        row = entry[2]
        if worker.table.running.get(row[TASK_ID]) != row[TASK_RUN_ID]:
            # The task was released after it was taken: the thread may have sent or written
            # results since. The scheduler has been told that it has begun, and counts on a row
            # of its end.
            with worker.lock:
                worker.report.add_missing(row[TASK_ID], row[TASK_RUN_ID], [], self.clock)
                return self._next()
        if self.reporting:
            self.reporting = False  # (it has made room)
        self.began = start = self.clock
        self.began_cpu = cpu = self.cpu
        self.row = row
        parts: list[Part] | None = None
        waiting = entry[4]
        begin = start
        if waiting is not None and waiting.arrivals:
            parts = placed_arrivals(waiting.arrivals, row, start)
            begin = start + sum(part[PART_DURATION] for part in parts if part[PART_HELD])
        begin_cpu = cpu
        try:
            # Inputs are taken before anything that takes long, so that a task cancelled
            # meanwhile runs to its end.
            values = worker.table.values
            try:
                inputs: list[Any] = [values[each] for each in entry[3]]
            except KeyError as gone:
                return self._inputs_gone(row, gone.args[0])
            if inputs and worker.memory_limit:
                if (
                    self._read_by != row[TASK_FUNCTION]
                    or self._read_in != row[TASK_SPAN]
                    or worker.spill.used
                ):
                    self._count_reads(row, entry[3], inputs)
                else:
                    reads = self._read_sums
                    reads[0] += len(inputs)
                    read_bytes, size_of = reads[1], worker.table.sizes.get
                    for each in entry[3]:
                        read_bytes += size_of(each, 0.0)
                    reads[1] = read_bytes
            library = worker.library
            opened = library.templates.get(row[TASK_TEMPLATE])
            if row[TASK_CHUNK] == NONE_U32:
                literals: Any = ()
            else:
                rows = library.chunks.get(row[TASK_CHUNK])
                if type(rows) is list and row[TASK_ROW] < len(rows):
                    literals = rows[row[TASK_ROW]]
                else:
                    literals = None if rows is None else row_of(rows, row[TASK_ROW])
            by_the_clock = opened is None or literals is None or worker.spill.used
            if by_the_clock:
                # So the steps before it computes are measured.
                self.began_cpu = cpu = begin_cpu = self._settled_cpu()
            elif self.owed:
                self.began_cpu = self.cpu = cpu = begin_cpu = cpu + self.owed
                self.owed, self.cpu_read_at = 0.0, -math.inf
            if opened is None or literals is None:
                opened, literals, begin, begin_cpu, opening = open_blobs(
                    library, self, row, start, begin, begin_cpu
                )
                parts = [*parts, *opening] if parts else opening
            if worker.spill.used:
                begin, begin_cpu, read = read_back(
                    worker, self, row, entry[3], inputs, start, begin, begin_cpu
                )
                if read:
                    parts = [*parts, *read] if parts else read
            if opened.parts is None:
                wait = self.core_wait
                if begin != start and begin - wait.marked > UNMARKED_SECONDS:  # type: ignore[union-attr]
                    wait.mark()  # type: ignore[union-attr]
                value = opened.run(literals, inputs)
            else:
                parts = [] if parts is None else parts
                inner = opened.parts_in(row[TASK_SPAN])
                value = run_parts(self, inner, literals, inputs, start, begin, begin_cpu, parts)
            known = self._plain.get(type(value))
            if known is None:
                value, nbytes, kind = self._meet(value)
            else:
                nbytes, kind = known
        except Unreadable as lost:
            return self._unreadable(row, lost)
        except Reschedule:
            return self._failed(row, waiting, start, cpu, parts, None)
        except BaseException as error:  # noqa: BLE001 (told to the client)
            if forks.is_child:
                forks.leave(error)
            return self._failed(row, waiting, start, cpu, parts, error)
        finally:
            self.part = None
        if forks.is_child:
            forks.leave(None)

        # ── stamps, size, inline result ──
        small: bytes | None = None
        is_sign = False
        if nbytes is not None:
            if row[TASK_FLAGS] & FLAG_WANTED:
                small = plain_inline(value)
            stop = perf_counter()
            duration = stop - start
            if (
                duration < SHORT_SECONDS
                and stop - self.cpu_read_at < UNREAD_SECONDS
                and stop < self.due
                and parts is None
                and not by_the_clock
            ):
                stop_cpu = cpu + duration
            else:
                stop_cpu = self._read_cpu(stop)
            if parts is not None and opened.parts is None:
                parts.append(self._compute(row, start, begin, stop, stop_cpu - begin_cpu))
        else:
            nbytes, small, is_sign, parts = self._weigh(
                row, value, opened, start, begin, begin_cpu, parts
            )
            stop = perf_counter()
            stop_cpu = self._read_cpu(stop)
        spill = worker.spill
        if worker.table.managed + nbytes > spill.target or nbytes >= spill.too_large:
            refused = spill.why_too_large(nbytes, worker.process_bytes())
            if refused:
                # At once: the watch thread ends the worker if it finds it in memory.
                del value
                return self._failed(row, waiting, start, cpu, parts, MemoryError(refused))
            if parts is None:
                parts = [self._compute(row, start, begin, stop, stop_cpu - begin_cpu)]
            stop, stop_cpu = self._make_room(row, nbytes, start, stop, stop_cpu, parts)
        elif stop >= self.due:
            tell_end(self, stop, stop_cpu, row)
        duration = stop - start
        if parts is None and duration >= LONG_SECONDS:
            parts = [self._compute(row, start, begin, stop, stop_cpu - begin_cpu)]
        if duration < QUICK_SECONDS:
            opened.quick = True
            opened.has_waited = False
        elif opened.quick:
            # A run that has waited for a core or for the interpreter lock, as one in some hundred
            # does, says nothing of the next. Taken for long, it had rows sent, whose answer had the
            # next run wait for the lock.
            if stop_cpu - cpu >= QUICK_SECONDS or duration >= WAITING_SECONDS:
                opened.quick = False
            elif duration >= FLUSH_SECONDS:
                # Two, and none shorter than QUICK_SECONDS in between: it sleeps, or reads a file.
                opened.quick = not opened.has_waited
                opened.has_waited = True

        self.clock = stop
        self.cpu = stop_cpu
        heard = self.heard
        meters: Sequence[MeteredValues] | None = None
        if heard.sums or heard.seconds or heard.events or self.metered:
            if parts is None:
                # (no fused task: then nothing is in `metered`)
                function, span = row[TASK_FUNCTION], row[TASK_SPAN]
                meters = take_metered(heard, function, span, duration, stop_cpu - cpu)
            else:
                whole = (duration, stop_cpu - cpu) if opened.parts is None else (0.0, 0.0)
                meters = self._take_metered(row, parts, *whole)
        if waiting is None:
            wait_inputs, wait_thread = 0.0, start - row[TASK_READY_AT]
            if not wait_thread > 0.0:
                wait_thread = 0.0
        else:
            wait_inputs, wait_thread = _waits(waiting, row, start)
        with worker.lock:
            woken = worker.table.store(row, value, nbytes, stop)
            report = worker.report
            if not report.runs:
                report.since = stop
            if meters is not None:
                report.add_meters(meters)
            if is_sign:
                report.signs.append(len(report.runs))
            report.runs.append(
                (
                    row[TASK_ID],
                    row[TASK_RUN_ID],
                    RUN_OK,
                    self.number,
                    start,
                    duration,
                    stop_cpu - cpu,
                    wait_inputs,
                    wait_thread,
                    nbytes,
                    0 if small is None else report.add_inline(small),
                    NONE_U32 if small is None else len(small),
                    len(report.parts),
                    kind,
                )
            )
            if parts is not None:
                report.parts += parts
            following = self._next() if self.seceded or self.lane >= 0 else worker.take()
            if woken and worker.idle:
                worker.wake(woken if following is None else woken - 1)
        return following

    def _meet(self, value: Any) -> tuple[Any, float | None, int]:
        """A result, awaited if it stands for one to come, its size if all of its class have one.

        Returns
        -------
        value, nbytes, kind
        """
        worker = self.worker
        nbytes = worker.sizes.fixed.get(type(value))
        if nbytes is None and worker.sizes.is_awaitable(type(value)):
            value = awaited(value)
            nbytes = worker.sizes.fixed.get(type(value))
        kind = worker.types.ids.get(type(value))
        if kind is None:
            kind = worker.types.meet(type(value))
        if nbytes is not None:
            self._plain[type(value)] = nbytes, kind
        return value, nbytes, kind

    def _count_reads(self, row: Row, ids: Sequence[int], inputs: list[Any]) -> None:
        """Count the inputs that are in memory, and not on disk."""
        function, span = row[TASK_FUNCTION], row[TASK_SPAN]
        self._read_by, self._read_in = function, span
        self._read_sums = reads = self.reads.sums_of(function, span)
        worker = self.worker
        if worker.spill.used:
            ids = [
                each for each, value in zip(ids, inputs, strict=True) if type(value) is not Spilled
            ]
        reads[0] += len(ids)
        size_of = worker.table.sizes.get
        for each in ids:
            reads[1] += size_of(each, 0.0)

    def _weigh(
        self,
        row: Row,
        value: Any,
        opened: Opened,
        start: float,
        begin: float,
        begin_cpu: float,
        parts: list[Part] | None,
    ) -> tuple[float, bytes | None, bool, list[Part] | None]:
        """Size a result; if it is wanted, pickle it if it is small, else say where it lies.

        Returns
        -------
        nbytes, small, is_sign, parts
            `parts` gets a compute part if sizing took long enough to be shown apart
            from the task.
        """
        computed = perf_counter()
        # (2 us on some machines; fused tasks have parts that computed.)
        computed_cpu = self._read_cpu(computed) if opened.parts is None else 0.0
        nbytes = self.worker.sizes.of(value)
        forks.came_back()
        sized = perf_counter()
        small = None
        is_sign = False
        if row[TASK_FLAGS] & FLAG_WANTED:
            if nbytes <= INLINE_BYTES:
                small = inline(value)
            else:
                small = self.worker.signs.show(value)
                is_sign = small is not None
        stop = perf_counter()
        if parts is None and stop - computed <= PART_SECONDS:
            return nbytes, small, is_sign, None
        parts = parts or []
        if opened.parts is None:
            parts.append(self._compute(row, start, begin, computed, computed_cpu - begin_cpu))
        if small is not None:
            # Its CPU time includes that of the sizing before it.
            parts.append(own_part(KIND_SERIALIZE, row, start, sized, stop, 0.0, float(len(small))))
        return nbytes, small, is_sign, parts

    def _make_room(
        self,
        row: Row,
        nbytes: float,
        start: float,
        begin: float,
        begin_cpu: float,
        parts: list[Part],
    ) -> tuple[float, float]:
        """Spill older results before one is kept; this holds the thread, so it is part of the run.

        Returns
        -------
        stop, stop_cpu
        """
        worker = self.worker
        if begin >= self.due:
            tell_end(self, begin, begin_cpu, row)
        # The task no longer runs; looks see that results are written, as they see them sent.
        self.clock = begin
        self.reporting = True
        spent = worker.spill.make_room(worker, nbytes)
        if worker.spill.failing and worker.watch is not None:
            worker.watch.pause_if_short()
        if self.core_wait is not None:
            self.core_wait.mark()
        stop = perf_counter()
        stop_cpu = max(begin_cpu, self._read_cpu(stop))
        if stop >= self.due:
            # (before `clock` is set: a look must not take this for the run's end)
            tell_behind(self, row, begin, begin_cpu, stop, stop_cpu, WRITTEN)
        # (until the next run begins, nothing of it is this one's)
        self.clock = stop
        if spent.disk_bytes:
            pickled = begin + spent.serialize
            cpu = min(stop_cpu - begin_cpu, spent.serialize)
            size = float(spent.disk_bytes)
            parts.append(own_part(KIND_SERIALIZE, row, start, begin, pickled, cpu))
            parts.append(own_part(KIND_DISK_WRITE, row, start, pickled, stop, 0.0, size))
        self._wake_watch()
        return stop, stop_cpu

    def _compute(self, row: Row, start: float, begin: float, stop: float, cpu: float) -> Part:
        waited = _NAN
        wait = self.core_wait
        if stop - begin >= LONG_SECONDS and wait is not None:
            if begin - wait.marked <= UNMARKED_SECONDS:
                waited = wait.of_part(row[TASK_FUNCTION], row[TASK_SPAN], stop - begin, cpu)
            else:
                # Short runs came before this one, and nobody knows which run the waits
                # belong to.
                wait.mark()
        return own_part(KIND_COMPUTE, row, start, begin, stop, cpu, core_wait=waited)

    def _take_metered(
        self, row: Row, parts: list[Part] | None, duration: float, cpu: float
    ) -> Sequence[MeteredValues]:
        """What the run has measured itself.

        Parameters
        ----------
        parts
            Of a run that is no fused task: that which computes had this time.
        duration, cpu
            Of a run without parts.
        """
        rows = self.metered
        if duration > 0.0 and parts is not None:
            for part in parts:
                if part[PART_KIND] == KIND_COMPUTE:
                    duration, cpu = part[PART_DURATION], part[PART_CPU]
        told = take_metered(self.heard, row[TASK_FUNCTION], row[TASK_SPAN], duration, cpu)
        if not rows:
            return told
        self.metered = []
        return [*rows, *told]

    # ── other ends ────────────────────────────────────────────────────────

    def _failed(
        self,
        row: Row,
        waiting: Any,
        start: float,
        cpu: float,
        parts: list[Part] | None,
        error: BaseException | None,
    ) -> Entry | None:
        """Report an error, or (None) that the scheduler shall have the task run anew."""
        worker = self.worker
        if error is not None:
            described = describe(error)
            # The traceback's frames hold the task's inputs. (The exception may forbid the
            # plain way.)
            BaseException.with_traceback(error, None)
        stop = perf_counter()
        stop_cpu = self._read_cpu(stop)
        self.clock = stop
        self.cpu = stop_cpu
        if stop >= self.due:
            tell_end(self, stop, stop_cpu, row)
        heard = self.heard
        meters: Sequence[MeteredValues] | None = None
        if heard.sums or heard.seconds or heard.events or self.metered:
            # (of the part that failed by now nothing is left)
            meters = without_seconds(self._take_metered(row, None, 0.0, 0.0))
        wait_inputs, wait_thread = _waits(waiting, row, start)
        with worker.lock:
            lacking = worker.table.failed(row)
            report = worker.report
            if not report.runs:
                report.since = stop
            if error is not None:
                report.errors.append((len(report.runs), described))
            if meters is not None:
                report.add_meters(meters)
            report.runs.append(
                (
                    row[TASK_ID],
                    row[TASK_RUN_ID],
                    RUN_RESCHEDULED if error is None else RUN_FAILED,
                    self.number,
                    start,
                    stop - start,
                    stop_cpu - cpu,
                    wait_inputs,
                    wait_thread,
                    0.0,
                    0,
                    NONE_U32,
                    len(report.parts),
                    NONE_U32,
                )
            )
            if parts is not None:
                report.parts += parts
            worker.report_lacking(lacking)
            return self._next()

    def _unreadable(self, row: Row, lost: Unreadable) -> Entry | None:
        worker = self.worker
        with worker.lock:
            lacking = worker.table.failed(row)
            worker.report_lacking([(row, [(lost.task_id, worker.number)]), *lacking])
        worker.lose(lost.task_id, lost.spilled)
        self._stamp()
        with worker.lock:
            return self._next()

    def _inputs_gone(self, row: Row, lost: int) -> Entry | None:
        worker = self.worker
        with worker.lock:
            lacking = worker.table.failed(row)
            worker.report_lacking([(row, [(lost, worker.number)]), *lacking])
            return self._next()


def _waits(waiting: Any, row: Row, start: float) -> tuple[float, float]:
    """Seconds from runnable to inputs here, and from there to the start."""
    if waiting is None:
        return 0.0, max(0.0, start - row[TASK_READY_AT])
    here, ready_at = waiting.inputs_at, waiting.ready_at
    if ready_at > here:
        here = ready_at
    if start < here:
        here = start
    return (here - ready_at if here > ready_at else 0.0), start - here
