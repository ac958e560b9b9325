"""Templates and chunks: kept as received until first used, then opened once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from spanwise.wire import payload
from spanwise.worker.binding import Run, bound
from spanwise.worker.errors import CannotOpen
from spanwise.worker.names import Names
from spanwise.worker.stacks import TextIds

#: The chunk id of a task that has no literals.
NO_CHUNK = 0xFFFF_FFFF

T = TypeVar("T")


class Opened:
    """A template that has been opened, and what is known of its runs."""

    __slots__ = ("parts", "quick", "run", "template")

    def __init__(self, template: Any, names: TextIds) -> None:
        self.template = template
        self.run: Run = bound(template)
        #: Its last run took less than QUICK_SECONDS: finished rows may wait behind it.
        self.quick = False
        #: For fused tasks: (run, drops, function id, span, part) each; else None.
        self.parts: list[tuple[Any, tuple[int, ...], int, int, Any]] | None = None
        if template.parts is not None:
            self.parts = [
                (bound(part), part.drops, names.id_of(part.name), part.span, part)
                for part in template.parts
            ]


class Kept(Generic[T]):
    """Blobs of one sort by id: as received until first used, then what was in them.

    Two threads may open the same blob at once; the first one's object is kept.

    Parameters
    ----------
    what
        Begins the sentence that says that one cannot be opened.
    read
        Makes of a blob what is kept of it.
    """

    def __init__(self, what: str, read: Callable[[Any], T]) -> None:
        #: id → what was in the blob.
        self.opened: dict[int, T] = {}
        self._blobs: dict[int, Any] = {}
        self._what = what
        self._read = read
        #: Around what changes both.
        self._changing = threading.Lock()

    def add(self, blob_id: int, blob: Any) -> None:
        """Keep a blob until it is needed."""
        with self._changing:
            self.opened.pop(blob_id, None)
            self._blobs[blob_id] = blob

    def drop(self, ids: Iterable[int]) -> None:
        """Forget blobs and what was in them."""
        with self._changing:
            for each in ids:
                self.opened.pop(each, None)
                self._blobs.pop(each, None)

    def claim(self, blob_id: int) -> Callable[[], tuple[T, int]]:
        """Return what opens a blob, even if it is dropped before that.

        Returns
        -------
        open
            Gives what was in the blob, and how many bytes were opened for it now. It
            raises `CannotOpen`, with a sentence for the user, whose cause is what pickle
            raised.
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
        try:
            value = self._read(blob)
        except BaseException as error:
            raise CannotOpen(
                f"{self._what} could not be unpickled on the worker ({type(error).__name__}: "
                f"{error}). Modules that it imports must be importable there: "
                "workers use the client's interpreter, sys.path and working directory."
            ) from error
        with self._changing:
            if self._blobs.get(blob_id) is blob:
                self.opened[blob_id] = value
                del self._blobs[blob_id]
            # Else another thread was first, or it was dropped: nobody would drop it again.
            return self.opened.get(blob_id, value), len(blob)


class Library:
    """What the tasks of one worker run.

    Opening happens on the thread that needs the result first, so that its time is
    that task's and its failure that task's error.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        #: Around everything that may import modules. Two threads that enter a circle of
        #: modules (dask has such) at different places get one of them half made.
        self.importing = threading.RLock()
        self._templates = Kept("The function of this task", self._read_template)
        self._chunks: Kept[list[tuple[Any, ...]]] = Kept("The arguments of this task", self.loads)
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
        chunk = None if chunk_id == NO_CHUNK else self._chunks.claim(chunk_id)
        opened, nbytes = template()
        if chunk is None:
            return opened, (), nbytes
        rows, more = chunk()
        return opened, rows[place], nbytes + more

    def loads(self, blob: Any) -> Any:
        """Return the object in a payload; from any thread of the worker.

        Raises
        ------
        Exception
            Whatever unpickling raises.
        """
        with self.importing:
            return payload.loads(blob)

    def _read_template(self, blob: Any) -> Opened:
        return Opened(self.loads(blob), self._names)
