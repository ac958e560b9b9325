"""What is known of one opened span, whoever opened it."""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable


class SpanRecord:
    """One opened span.

    Attributes
    ----------
    id
        Text that no other span has.
    tag
        The last element of the span's name.
    parent
        The enclosing span, or None.
    opened, closed
        perf_counter seconds, as in all measurements; `closed` is None while it is open.
    origin
        ``"user"`` for spans written in code.
    root
        Of an outermost span: the cell, notebook or script around it, or None.
    code
        JSON: the code that it is, as a stack of one; empty: it is not known.
    """

    __slots__ = ("id", "tag", "parent", "opened", "closed", "origin", "root", "code", "_watchers")

    def __init__(
        self,
        tag: str,
        parent: SpanRecord | None,
        id: str | None = None,
        origin: str = "user",
        root: SpanRecord | None = None,
        code: str = "",
    ) -> None:
        self.id = id if id is not None else str(uuid.uuid4())
        self.tag = tag
        self.parent = parent
        self.opened = time.perf_counter()
        self.closed: float | None = None
        self.origin = origin
        self.root = root
        self.code = code
        self._watchers: list[weakref.WeakMethod[Callable[[SpanRecord], None]]] = []

    @property
    def name(self) -> tuple[str, ...]:
        """The tags that the user gave, from the outermost to this span."""
        return (*(self.parent.name if self.parent else ()), self.tag)

    @property
    def above(self) -> SpanRecord | None:
        """The enclosing span, or the root; None: there is neither."""
        return self.root if self.parent is None else self.parent

    @property
    def path(self) -> tuple[str, ...]:
        """The tags from the root to this span."""
        return (*(self.above.path if self.above else ()), self.tag)

    def watch(self, closed: Callable[[SpanRecord], None]) -> None:
        """Call the method `closed` when the span closes; its object is held weakly."""
        self._watchers.append(weakref.WeakMethod(closed))

    def close(self) -> None:
        self.closed = time.perf_counter()
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            notify = watcher()
            if notify is not None:
                notify(self)
