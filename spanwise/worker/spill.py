"""Results on disk: older results make room for what is computed now.

The oldest results go first: at the end of a task, while the results kept would exceed
60 % of the memory limit, and in the watch thread, while the process exceeds 70 %. In the
table a marker takes the place of the value; a task that needs it reads it back, a peer
that asks for it is sent the piece's bytes, which are a payload already.

When the disk is full, results stay in memory, the worker pauses when that is full, and
writing is tried again and again::

    written ─── OSError ──▶ failing: told once; tried again after 0.25, 0.5, 1, 2, 2 … s
       ▲                       │
       └── the next success ───┘
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from spanwise.measure.fine import Ledger
from spanwise.measure.memory import Thresholds
from spanwise.processes import forks
from spanwise.wire import payload
from spanwise.worker.spill_file import (
    Piece,
    Spent,
    Spilled,
    SpillFile,
    SpillFiles,
    is_out_of_descriptors,
)

if TYPE_CHECKING:
    from spanwise.worker.needs import Spilling

#: A marker takes 48 to 80 bytes, so smaller results stay in memory.
SMALLEST_BYTES = 128
#: A larger result has a file to itself, and is not copied on its way there.
ALONE_BYTES = 64 * 1024
#: Smaller ones share a file of about this much, or of so many.
PACK_BYTES, PACK_PIECES = 2 * 2**20, 4096
#: Seconds until a failed write is tried again, at first and at most.
FIRST_RETRY_SECONDS, RETRY_SECONDS = 0.25, 2.0
#: Who does something else meanwhile waits at most so long for another thread that writes.
MEANWHILE_SECONDS = 0.05
#: The context of what is measured here outside tasks, as in Dask.
CONTEXT = "memory-monitor"


def mebibytes(nbytes: float) -> str:
    """A size, for sentences."""
    return f"{nbytes / 2**20:.0f} MiB"


class Source(Protocol):
    """Something besides results that is kept in memory for tasks, and can leave it."""

    #: The name of what it keeps, in the plural, for sentences: "functions of tasks".
    what: str

    def held_bytes(self) -> float:
        """Bytes in memory now."""

    def give_up(self, wanted: float) -> float:
        """Let about `wanted` bytes go and return how many went; 0: no more can.

        :meth:`SpillStore.put_away` writes what is needed again.
        """


class SpillStore:
    """The results of one worker that are on disk.

    Parameters
    ----------
    folder
        Where files go.
    limit
        The worker's memory limit in bytes; 0: nothing is ever spilled.
    thresholds
        Shares of it.
    quota
        Bytes of all files at most.
    elsewhere
        A folder in which the files are to lie, behind a link.
    """

    def __init__(
        self,
        folder: Path,
        limit: float,
        ledger: Ledger,
        thresholds: Thresholds = Thresholds(),  # noqa: B008 (it cannot be changed)
        quota: float = inf,
        elsewhere: Path | None = None,
    ) -> None:
        self.files = SpillFiles(folder, quota, elsewhere)
        self.limit = limit
        self._thresholds = thresholds
        #: Other users of memory, which count as if they were results.
        self.sources: list[Source] = []
        #: The one of them that loses nothing by letting go: asked before results are written.
        self.spare: Source | None = None
        #: Results kept may take this much; more while nothing else can be spilled.
        self.target = self._goal = thresholds.target * limit if limit > 0 else inf
        #: A result from this size on may end the worker, also where none is written to disk.
        self.too_large = thresholds.terminate * limit if limit > 0 else inf
        #: Whether anything has ever been spilled: else there are no markers to look for.
        self.used = False
        #: Why nothing can be written now; empty: writing works, or was not tried.
        self.failing = ""
        self._retry_at = 0.0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._ledger = ledger
        #: Task ids whose values cannot be pickled, and the ids of these objects.
        self._refused: dict[int, int] = {}
        self._writing = threading.Lock()

    @property
    def disk_bytes(self) -> int:
        """Bytes on disk now."""
        return self.files.disk_bytes

    @property
    def memory_bytes(self) -> float:
        """Bytes that what is on disk now would take in memory."""
        return self.files.memory_bytes

    @property
    def is_writing(self) -> bool:
        """Whether a result is in memory twice, as itself and as its pickle."""
        return self._writing.locked()

    @property
    def written_bytes(self) -> int:
        """Bytes that have ever been written."""
        return self.files.written_bytes

    @property
    def may_write(self) -> bool:
        """Whether the last write succeeded, or it is time to try again."""
        return perf_counter() >= self._retry_at

    def held_beside(self) -> float:
        """Bytes kept for tasks besides their results."""
        return sum(source.held_bytes() for source in self.sources)

    def give_up_beside(self, wanted: float) -> bool:
        """Free about `wanted` of these bytes; False: no more can be freed."""
        return any(source.give_up(wanted) for source in self.sources)

    @property
    def own_target(self) -> float:
        """Bytes that results and sources may take together."""
        return self._thresholds.target * self.limit

    def give_up_spare(self, wanted: float) -> bool:
        """Free about `wanted` bytes that nothing lies in; False: there are none."""
        return self.spare is not None and self.spare.give_up(wanted) > 0

    def is_short(self, process: float) -> bool:
        """Whether the process is so large that results should leave it."""
        return self.limit > 0 and process >= self._thresholds.spill * self.limit

    def fits(self, process: float) -> bool:
        """Whether a process so large is below all shares at which something happens."""
        return self.limit <= 0 or process < min(self._thresholds[1:]) * self.limit

    def why_too_large(self, nbytes: float, process: float) -> str:
        """Why a result ends the worker that keeps it; empty: it need not.

        Parameters
        ----------
        nbytes
            Its size. (What lies in a mapped file is as large, and in no memory.)
        process
            Bytes of the process that holds it.
        """
        if min(nbytes, process) < self.too_large:
            return ""
        return (
            f"The result of this task takes {mebibytes(nbytes)} of memory, and with it the worker "
            f"uses {mebibytes(process)} of the {mebibytes(self.limit)} that it may use. The result "
            "was dropped, for it would have ended the worker. To run the task again cannot help: "
            "return less or smaller pieces, or give each worker more memory "
            "(Client(memory_limit=…), or fewer workers)."
        )

    def beyond(self, process: float) -> float:
        """Bytes by which the process is above the share from which on it spills."""
        return process - self._thresholds.spill * self.limit

    # ── making room ───────────────────────────────────────────────────────

    def set_target(self, worker: Spilling) -> None:
        """Set how much memory the sources leave to results; called now and then."""
        if self.limit <= 0:
            return
        goal = max(0.0, self.own_target - self.held_beside() + worker.elsewhere)
        if self.target == self._goal or worker.table.managed < goal:
            self.target = goal
        self._goal = goal

    def make_room(
        self,
        worker: Spilling,
        coming: float = 0.0,
        meanwhile: Callable[[], None] | None = None,
    ) -> Spent:
        """Spill until the results kept, and what is coming, are below the target.

        `meanwhile` is called again and again until they are, as of :meth:`SpillFiles.write`.
        """
        begin = perf_counter()
        serialize = 0.0
        disk_bytes = 0
        while (excess := worker.table.managed + coming - self.target) > 0:
            if self.give_up_spare(excess):
                self.set_target(worker)
                continue
            spent = self.spill(worker, excess, meanwhile)
            if spent is not None:
                serialize += spent.serialize
                disk_bytes += spent.disk_bytes
            elif not self.give_up_beside(excess):
                if not self.failing:
                    # Everything left is tiny or cannot be pickled. The next look comes
                    # when there is 10 % more, so that not every task looks through all
                    # of it.
                    self.target = 1.1 * (worker.table.managed + coming)
                break
        return Spent(serialize, perf_counter() - begin - serialize, disk_bytes)

    def spill(
        self, worker: Spilling, wanted: float, meanwhile: Callable[[], None] | None = None
    ) -> Spent | None:
        """Write about `wanted` bytes of the oldest results; None if nothing can be written."""
        with self._writes(meanwhile):
            if not self.may_write:
                return None
            with worker.lock:
                oldest = self._oldest(worker, wanted)
            if not oldest:
                return None
            serialize = disk_write = 0.0
            disk_bytes = 0
            pieces: list[Piece] = []
            values: list[Any] = []
            size = 0
            for position, (task_id, value, nbytes) in enumerate(oldest, 1):
                begin = perf_counter()
                buffers = self.pickled(task_id, value)
                if buffers is not None:
                    pieces.append((task_id, nbytes, buffers))
                    values.append(value)
                    size += payload.nbytes(buffers)
                serialize += perf_counter() - begin
                isnt_last = position < len(oldest)
                if isnt_last and size < PACK_BYTES and len(pieces) < PACK_PIECES:
                    continue
                if not pieces:
                    continue
                begin = perf_counter()
                if not self._put(worker, pieces, values, meanwhile):
                    return None
                disk_write += perf_counter() - begin
                disk_bytes += size
                pieces, values, size = [], [], 0
            return Spent(serialize, disk_write, disk_bytes)

    @contextmanager
    def _writes(self, meanwhile: Callable[[], None] | None) -> Iterator[None]:
        """Wait until no other thread writes results; none does until this ends."""
        wait = -1 if meanwhile is None else MEANWHILE_SECONDS
        while not self._writing.acquire(timeout=wait):
            if meanwhile is not None:
                meanwhile()
        try:
            yield
        finally:
            self._writing.release()

    def put_on_disk(self, worker: Spilling, task_id: int) -> Any:
        """Write one result, if that is possible.

        Who calls it holds the value no more: it leaves memory before other threads may find that
        nothing is being written, and the process too large.

        Returns
        -------
        What the table has in its place then; None: nothing.
        """
        with self._writing:
            # (it may just have been written)
            if self.may_write and type(worker.table.values.get(task_id)) is not Spilled:
                self._write_one(worker, task_id)
        return worker.table.values.get(task_id)

    def _write_one(self, worker: Spilling, task_id: int) -> None:
        with worker.lock:
            value = worker.table.values.get(task_id)
            nbytes = worker.table.sizes.get(task_id, 0.0)
        buffers = self.pickled(task_id, value)
        if buffers is not None:
            self._put(worker, [(task_id, nbytes, buffers)], [value])

    def pickled(self, task_id: int, value: Any) -> Sequence[payload.Buffer] | None:
        """Return its payload; None: it cannot be pickled, and is not tried again."""
        try:
            buffers = payload.dumps(value)
            forks.came_back()
        except BaseException as error:  # noqa: BLE001 (it stays; an error if asked for)
            forks.came_back(error)
            self._refused[task_id] = id(value)
            return None
        return buffers

    def _oldest(self, worker: Spilling, wanted: float) -> list[tuple[int, Any, float]]:
        """Return results that can be written: either one large one, or small ones.

        Small ones wait for others until a file can be filled, or nothing else is left.
        """
        values, sizes = worker.table.values, worker.table.sizes
        shared = worker.table.shared
        refused = self._refused = {
            task_id: value_id
            for task_id, value_id in self._refused.items()
            if task_id in values and id(values[task_id]) == value_id
        }
        found = []
        total = 0.0
        for task_id, value in values.items():
            nbytes = sizes[task_id]
            # (what is on disk already has size 0)
            if nbytes < SMALLEST_BYTES or task_id in refused:
                continue
            if shared and task_id in shared and shared[task_id].is_elsewhere:
                continue  # the memory is another process's
            if nbytes >= ALONE_BYTES:
                return [(task_id, value, nbytes)]
            found.append((task_id, value, nbytes))
            total += nbytes
            # Taking few at a time would mean more looks.
            if total >= max(wanted, PACK_BYTES):
                break
        return found

    def _put(
        self,
        worker: Spilling,
        pieces: Sequence[Piece],
        values: Sequence[Any],
        meanwhile: Callable[[], None] | None = None,
    ) -> bool:
        """Write pieces and put markers into their values' places."""
        try:
            markers = self.files.write(pieces, meanwhile)
        except OSError as error:
            self._failed(worker, error)
            return False
        self._written(worker)
        table = worker.table
        with worker.lock:
            for (task_id, _, _), value, marker in zip(pieces, values, markers, strict=True):
                if table.values.get(task_id) is value:
                    table.replace(task_id, marker, 0.0)
        return True

    def put_away(self, worker: Spilling, buffers: Sequence[payload.Buffer]) -> Spilled | None:
        """Write buffers of a source; None if nothing can be written now."""
        if not self.may_write:
            return None
        try:
            (marker,) = self.files.write([(0, 0.0, buffers)])
        except OSError as error:
            self._failed(worker, error)
            return None
        self._written(worker)
        return marker

    # ── files that are mostly dead ────────────────────────────────────────

    def compact(self, worker: Spilling, meanwhile: Callable[[], None] | None = None) -> None:
        """Rewrite the living part of mostly dead files; those end with their last readers."""
        for file in self.files.mostly_dead():
            with self._writes(meanwhile):
                if not self.may_write or not self._move(worker, file, meanwhile):
                    return

    def _move(
        self, worker: Spilling, file: SpillFile, meanwhile: Callable[[], None] | None
    ) -> bool:
        table = worker.table
        pieces: list[Piece] = []
        markers: list[Spilled] = []
        with worker.lock:
            for task_id in file.task_ids:
                marker = table.values.get(task_id)
                if type(marker) is Spilled and marker.is_in(file):
                    markers.append(marker)
                    pieces.append((task_id, marker.nbytes, ()))
        if not pieces:
            return True  # only its present readers need it
        read: list[tuple[Piece, Spilled]] = []
        for (task_id, nbytes, _), marker in zip(pieces, markers, strict=True):
            try:
                read.append(((task_id, nbytes, [marker.read(0.0)]), marker))
            except MemoryError:
                return False  # they stay where they are, and are tried again
            except OSError as error:
                if is_out_of_descriptors(error):
                    return False  # as well
                worker.lose(task_id, marker)  # unreadable for all: it is computed again
        if not read:
            return True
        try:
            moved = self.files.write([piece for piece, _ in read], meanwhile)
        except OSError as error:
            self._failed(worker, error)
            return False
        with worker.lock:
            for ((task_id, _, _), marker), new in zip(read, moved, strict=True):
                if table.values.get(task_id) is marker:
                    # It keeps its place: it has not become newer.
                    table.values[task_id] = new
        return True

    # ── when the disk is full ─────────────────────────────────────────────

    def _failed(self, worker: Spilling, error: OSError) -> None:
        self._retry_at = perf_counter() + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, RETRY_SECONDS)
        is_told = bool(self.failing)
        self.failing = (
            f"results cannot be written to {self.files.folder} ({error.strerror or error})"
        )
        if not is_told:
            worker.send("event", {"kind": "spill-failed", "text": self.failing})

    def _written(self, worker: Spilling) -> None:
        self.used = True
        self._retry_seconds = FIRST_RETRY_SECONDS
        if self.failing:
            self.failing = ""
            worker.send("event", {"kind": "spill-resumed"})

    def book(self, spent: Spent) -> None:
        """Record the time and bytes of making room outside tasks."""
        now = perf_counter()
        add = self._ledger.add
        add(now, CONTEXT, "serialize", "seconds", spent.serialize)
        add(now, CONTEXT, "disk-write", "seconds", spent.disk_write)
        add(now, CONTEXT, "disk-write", "bytes", float(spent.disk_bytes))
        add(now, CONTEXT, "disk-write", "count", 1.0)
