"""Templates and chunks: kept as received until first used, then opened once.

::

    received ── claim, open ──▶ opened
       │ put away                 │ put away: pickled again
       ▼                          ▼
    on disk ◀─────────────────────┘        (opened again when a task needs it)

The scheduler says when one is to be dropped; what large ones take in between leaves memory
when that is short (pinned.py).
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, suppress
from functools import partial
from time import perf_counter, thread_time
from typing import Any, Generic, TypeVar

from spanwise.graph.template import Call, Constant
from spanwise.measure import imports
from spanwise.measure.names import Names
from spanwise.measure.opened import Opened
from spanwise.measure.sizes import Sizes
from spanwise.processes import forks
from spanwise.records.enumerations import NONE_U32
from spanwise.wire import payload
from spanwise.wire.foreign import said
from spanwise.worker.errors import CannotOpen
from spanwise.worker.spill_file import Spilled
from spanwise.worker.unpickle import unpickle_waiting

#: Blobs of at least this size are measured when they are opened, and can leave memory;
#: smaller ones count as much as their pickle.
LARGE_BYTES = 64 * 1024

T = TypeVar("T")


class DiskReads(threading.local):
    """Sums up what this thread has read back from disk since the last call."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0
        self.nbytes = 0

    def take(self) -> tuple[float, float, int]:
        """Return seconds, CPU seconds and bytes since the last call, and reset them."""
        taken = self.seconds, self.cpu, self.nbytes
        self.seconds = self.cpu = 0.0
        self.nbytes = 0
        return taken


class Kept(Generic[T]):
    """Blobs of one sort by id: as received until first used, then their content.

    Two threads may open the same blob at once; the first one's object is kept.

    Parameters
    ----------
    what
        Begins the error's sentence when one cannot be opened.
    read
        Turns a blob into the object that is kept.
    content, weigh
        Return the part of that object which is pickled when it leaves memory, and its
        size in bytes.
    disk_reads
        Counts what is read back.
    """

    def __init__(
        self,
        what: str,
        read: Callable[[Any], T],
        content: Callable[[T], Any] = lambda opened: opened,
        weigh: Callable[[Any], float] = lambda content: 0.0,
        disk_reads: DiskReads | None = None,
    ) -> None:
        #: id → the object that was in the blob.
        self.opened: dict[int, T] = {}
        #: id → the blob of one that is not opened, or the marker of one that is on
        #: disk.
        self._blobs: dict[int, Any] = {}
        #: id → bytes in memory, unless there are none.
        self._sizes: dict[int, float] = {}
        #: Sum of `_sizes`.
        self.nbytes = 0.0
        #: Ids of objects that cannot be pickled again.
        self._refused: set[int] = set()
        self._what = what
        self._read = read
        self._content = content
        self._weigh = weigh
        self._disk_reads = DiskReads() if disk_reads is None else disk_reads
        #: Held around changes of both.
        self._changing = threading.Lock()

    def add(self, blob_id: int, blob: Any) -> None:
        """Keep a blob until it is needed."""
        blob = own(blob)
        with self._changing:
            self.opened.pop(blob_id, None)
            self._blobs[blob_id] = blob
            self._resize(blob_id, len(blob))

    def drop(self, ids: Iterable[int]) -> None:
        """Forget blobs and what was in them."""
        with self._changing:
            for each in ids:
                self.opened.pop(each, None)
                self._blobs.pop(each, None)
                self._refused.discard(each)
                self.nbytes -= self._sizes.pop(each, 0.0)

    def large(self) -> list[tuple[int, float]]:
        """Id and bytes of each that can leave memory, oldest first."""
        with self._changing:
            return [
                (blob_id, size)
                for blob_id, size in self._sizes.items()
                if size >= LARGE_BYTES and blob_id not in self._refused
            ]

    def put_away(self, blob_id: int, write: Callable[[list[Any]], Spilled | None] | None) -> float:
        """Let one leave memory; a thread that uses it now keeps it until it has finished.

        Parameters
        ----------
        write
            Writes buffers to disk; gives None if it cannot. None: nothing is to be written.

        Returns
        -------
        nbytes
            How many bytes have gone.
        """
        with self._changing:
            blob, opened = self._blobs.get(blob_id), self.opened.get(blob_id)
        marker = blob if isinstance(blob, Spilled) else None
        if marker is None:
            if write is None:
                return 0.0
            buffers = [blob]
            if opened is not None:
                try:
                    buffers = list(payload.dumps(self._content(opened)))
                    forks.came_back()
                except BaseException:  # noqa: BLE001 (it stays)
                    forks.came_back()
                    self._refused.add(blob_id)
                    return 0.0
            if buffers[0] is None:
                return 0.0  # dropped meanwhile
            marker = write(buffers)
            if marker is None:
                return 0.0
        with self._changing:
            if self._blobs.get(blob_id) is not blob or self.opened.get(blob_id) is not opened:
                return 0.0  # dropped, or opened meanwhile
            self._blobs[blob_id] = marker
            self.opened.pop(blob_id, None)
            return self._resize(blob_id, 0.0)

    def _resize(self, blob_id: int, nbytes: float) -> float:
        """Count one again, as the newest; return how many bytes fewer that is."""
        before = self._sizes.pop(blob_id, 0.0)
        if nbytes:
            self._sizes[blob_id] = nbytes
        self.nbytes += nbytes - before
        return before - nbytes

    def claim(self, blob_id: int) -> Callable[[], tuple[T, int]]:
        """Return what opens a blob, even if it is dropped before that.

        Returns
        -------
        open
            Gives what was in the blob, and how many bytes were opened for it now. It
            raises `CannotOpen` with a sentence for the user; its cause is the error
            that pickle raised.
        """
        with self._changing:
            blob, found = self._blobs.get(blob_id), self.opened.get(blob_id)
        if found is not None:
            return lambda: (found, 0)
        return lambda: self._open(blob_id, blob)

    def _open(self, blob_id: int, blob: Any) -> tuple[T, int]:
        if blob is None:
            raise CannotOpen(
                f"{self._what} did not reach the worker. Submitting it again sends it again."
            )
        if isinstance(blob, Spilled):
            content = self._read_back(blob)
        else:
            content = blob
        try:
            value = self._read(content)
        except BaseException as error:
            raise CannotOpen(
                f"{self._what} could not be unpickled on the worker ({said(error)}). "
                "Modules that it imports must be importable there: "
                "workers use the client's interpreter, sys.path and working directory."
            ) from error
        nbytes = len(content)
        size: float = nbytes
        if nbytes >= LARGE_BYTES:
            size = max(nbytes, self._weigh(self._content(value)))
        with self._changing:
            if self._blobs.get(blob_id) is blob and blob_id not in self.opened:
                self.opened[blob_id] = value
                if content is blob:
                    del self._blobs[blob_id]
                if content is not blob or nbytes >= LARGE_BYTES:
                    self._resize(blob_id, size)
                # Small ones count as much as before, and their age does not matter.
                # Another thread may have been first, or the blob was dropped: then
                # nobody would drop the object.
            return self.opened.get(blob_id, value), nbytes

    def _read_back(self, marker: Spilled) -> memoryview:
        begin, begin_cpu = perf_counter(), thread_time()
        try:
            content = marker.read()
        except OSError as error:
            raise CannotOpen(
                f"{self._what} was written to disk for want of memory and could not be read "
                f"back ({error.strerror or error}). Submitting it again sends it again."
            ) from error
        reads = self._disk_reads
        reads.seconds += perf_counter() - begin
        reads.cpu += thread_time() - begin_cpu
        reads.nbytes += len(content)
        return content


def row_of(rows: Any, place: int) -> tuple[Any, ...]:
    """The literals of one task in an opened chunk.

    Raises
    ------
    CannotOpen
        There are none for it.
    """
    try:
        return rows[place]  # type: ignore[no-any-return]
    except (LookupError, TypeError):
        raise CannotOpen(
            f'"assign".tasks.row: {place} is no row of the arguments that came with this task. '
            "This is a bug of Spanwise."
        ) from None


def own(blob: Any) -> Any:
    """Bytes that keep no large frame alive: a view of at most half of its frame is copied."""
    if isinstance(blob, memoryview) and 2 * blob.nbytes <= memoryview(blob.obj).nbytes:
        return bytearray(blob)
    return blob


def constants(template: Any) -> Iterator[Any]:
    """What a template holds besides its function's code: keywords, closures, defaults."""
    for part in (template, *(template.parts or ())):
        function = part.function
        yield from getattr(function, "__defaults__", None) or ()
        for cell in getattr(function, "__closure__", None) or ():
            with suppress(ValueError):  # an empty one
                yield cell.cell_contents
    for place in constant_places(template):
        yield place.value


def constant_places(template: Any) -> Iterator[Constant]:
    """The arguments of a template that are the same for all of its tasks."""
    for part in (template, *(template.parts or ())):
        pending = [*part.places, *(part.keywords or {}).values()]
        while pending:
            place = pending.pop()
            if isinstance(place, Constant):
                yield place
            elif isinstance(place, Call):
                pending += [*place.arguments, *(place.keywords or {}).values()]


class Library:
    """The functions and arguments of the tasks of one worker.

    Opening happens on the thread that needs the result first, so that its time is
    that task's and its failure that task's error.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        #: Held around everything that may import modules. Python's own locks are per module,
        #: which is not enough. Two threads that enter a circle of modules (dask has such) at
        #: different places get one of them half made. And a thread gets a finished module
        #: although its package is not finished (dask.dataframe registers what it can do in its
        #: last lines). So a payload that needs a module which is not finished is opened when no
        #: import is under way, if need be after 1.5 s of pandas that it does not need.
        self.importing = threading.RLock()
        #: The time that unpickling has spent on modules that were not imported yet.
        self.import_times = imports.new()
        self.disk_reads = DiskReads()
        sizes = Sizes()
        self._templates = Kept(
            "The function of this task",
            self._read_template,
            lambda opened: opened.template,
            lambda template: sum(map(sizes.of, constants(template))),
            self.disk_reads,
        )
        self._chunks: Kept[list[tuple[Any, ...]]] = Kept(
            "The arguments of this task", self.loads, weigh=sizes.of, disk_reads=self.disk_reads
        )
        #: id → opened template.
        self.templates = self._templates.opened
        #: id → list of tuples of literals.
        self.chunks = self._chunks.opened

    def add_template(self, template_id: int, blob: Any) -> None:
        """Keep a template's payload until it is needed."""
        self._templates.add(template_id, blob)

    def add_chunk(self, chunk_id: int, blob: Any) -> None:
        """Keep a chunk's payload until it is needed."""
        self._chunks.add(chunk_id, blob)

    @property
    def nbytes(self) -> float:
        """Bytes in memory of all that is kept."""
        return self._templates.nbytes + self._chunks.nbytes

    def put_away(
        self,
        wanted: float,
        templates: Set[int],
        chunks: Set[int],
        write: Callable[[list[Any]], Spilled | None] | None,
    ) -> float:
        """Let about `wanted` bytes leave memory, the oldest first, sparing those named.

        Returns
        -------
        nbytes
            How many bytes have gone.
        """
        gone = 0.0
        for kept, spared in ((self._chunks, chunks), (self._templates, templates)):
            for blob_id, _ in kept.large():
                if gone >= wanted:
                    return gone
                if blob_id not in spared:
                    gone += kept.put_away(blob_id, write)
        return gone

    def drop(self, templates: Sequence[int], chunks: Sequence[int]) -> None:
        """Forget templates and chunks that no task will name again."""
        self._templates.drop(templates)
        self._chunks.drop(chunks)

    def open(
        self, template_id: int, chunk_id: int, place: int
    ) -> tuple[Opened, tuple[Any, ...], int]:
        """Return what a task runs, its literals, and how many bytes were opened now.

        Both are claimed before either is opened: a task that is cancelled while its
        function is being imported, which may take seconds, still has its arguments.

        Raises
        ------
        CannotOpen
            With a sentence for the user.
        """
        template = self._templates.claim(template_id)
        chunk = None if chunk_id == NONE_U32 else self._chunks.claim(chunk_id)
        opened, nbytes = template()
        if chunk is None:
            return opened, (), nbytes
        rows, more = chunk()
        return opened, row_of(rows, place), nbytes + more

    def loads(self, blob: Any) -> Any:
        """Return the object in a payload; from any thread of the worker.

        Raises
        ------
        Exception
            Whatever unpickling raises.
        """
        if not self.importing.acquire(blocking=False):
            return self._loads_beside(blob)
        try:
            with self.import_times:
                try:
                    return payload.loads(blob)
                finally:
                    if forks.is_child:
                        forks.leave(sys.exception())
        finally:
            self.importing.release()

    def _loads_beside(self, blob: Any) -> Any:
        """The same while another thread may import: only who may need more modules waits for it."""
        with ExitStack() as held:
            try:
                wait = partial(self._wait_for_import, held)
                return payload.loads(blob, partial(unpickle_waiting, wait))
            finally:
                if forks.is_child:
                    forks.leave(sys.exception())

    def _wait_for_import(self, held: ExitStack) -> None:
        self.import_times.wait(self.importing)
        held.callback(self.importing.release)
        held.enter_context(self.import_times)

    def import_ahead(self, module: str) -> None:
        """Import a module that tasks will need; a task that may need it meanwhile waits for it.

        Raises
        ------
        BaseException
            Whatever the module raises.
        """
        with self.importing, self.import_times:
            try:
                importlib.import_module(module)
            finally:
                forks.came_back()

    def import_anew(self, names: Iterable[str]) -> None:
        """Import modules, again if they were imported before.

        Raises
        ------
        BaseException
            Whatever a module raises.
        """
        with self.importing, self.import_times:
            for name in names:
                if name in sys.modules:
                    importlib.reload(sys.modules[name])
                else:
                    importlib.import_module(name)

    def _read_template(self, blob: Any) -> Opened:
        template = self.loads(blob)
        if len(blob) < LARGE_BYTES:
            # A task may change its keywords: as with `distributed`, they are its own, and calls
            # with equal ones share a template. Large ones are there once for all.
            for place in constant_places(template):
                place.keep_apart()
            if forks.is_child:
                forks.leave(None)
        return Opened(template, self._names)
