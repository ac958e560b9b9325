"""Templates and chunks: kept as received until first used, then opened once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from spanwise.wire import payload
from spanwise.worker.binding import Run, bound
from spanwise.worker.errors import CannotOpen
from spanwise.worker.names import Names
from spanwise.worker.stacks import TextIds

#: The chunk id of a task that has no literals.
NO_CHUNK = 0xFFFF_FFFF


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


class Library:
    """What the tasks of one worker run.

    Opening happens on the thread that needs the result first, so that its time is
    that task's and its failure that task's error. Two threads may open the same
    blob at once; the first one's object is kept.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        #: Around everything that may import modules. Two threads that enter a circle of
        #: modules (dask has such) at different places get one of them half made.
        self.importing = threading.RLock()
        self._template_blobs: dict[int, Any] = {}
        self._chunk_blobs: dict[int, Any] = {}
        #: id → opened template.
        self.templates: dict[int, Opened] = {}
        #: id → list of tuples of literals.
        self.chunks: dict[int, list[tuple[Any, ...]]] = {}

    def add_template(self, template_id: int, blob: Any) -> None:
        """Keep a template's payload until it is needed."""
        self.templates.pop(template_id, None)
        self._template_blobs[template_id] = blob

    def add_chunk(self, chunk_id: int, blob: Any) -> None:
        """Keep a chunk's payload until it is needed."""
        self.chunks.pop(chunk_id, None)
        self._chunk_blobs[chunk_id] = blob

    def drop(self, templates: Sequence[int], chunks: Sequence[int]) -> None:
        """Forget templates and chunks that no task will name again."""
        for each in templates:
            self.templates.pop(each, None)
            self._template_blobs.pop(each, None)
        for each in chunks:
            self.chunks.pop(each, None)
            self._chunk_blobs.pop(each, None)

    def open_template(self, template_id: int) -> tuple[Opened, int]:
        """Return a template and how many bytes were opened for it now.

        Raises
        ------
        CannotOpen
            With a sentence for the user; its cause is what pickle raised.
        """
        opened = self.templates.get(template_id)
        if opened is not None:
            return opened, 0
        template, nbytes = self._open(
            self._template_blobs.get(template_id), "The function of this task"
        )
        opened = self.templates.setdefault(template_id, Opened(template, self._names))
        self._template_blobs.pop(template_id, None)
        return opened, nbytes

    def open_chunk(self, chunk_id: int) -> tuple[list[tuple[Any, ...]], int]:
        """Return a chunk's rows and how many bytes were opened for it now.

        Raises
        ------
        CannotOpen
        """
        rows = self.chunks.get(chunk_id)
        if rows is not None:
            return rows, 0
        rows, nbytes = self._open(self._chunk_blobs.get(chunk_id), "The arguments of this task")
        rows = self.chunks.setdefault(chunk_id, rows)
        self._chunk_blobs.pop(chunk_id, None)
        return rows, nbytes

    def loads(self, blob: Any) -> Any:
        """Return the object in a payload; from any thread of the worker.

        Raises
        ------
        Exception
            Whatever unpickling raises.
        """
        with self.importing:
            return payload.loads(blob)

    def _open(self, blob: Any, what: str) -> tuple[Any, int]:
        if blob is None:
            raise CannotOpen(
                f"{what} did not reach the worker. Submitting it again sends it again."
            )
        try:
            return self.loads(blob), len(blob)
        except BaseException as error:
            raise CannotOpen(
                f"{what} could not be unpickled on the worker ({type(error).__name__}: "
                f"{error}). Modules that it imports must be importable there: "
                "workers use the client's interpreter, sys.path and working directory."
            ) from error
