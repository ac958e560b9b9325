"""Spans: named parts of a program that its tasks are attributed to.

``with span("load", "clean"):`` opens two nested spans. The innermost is kept in
Dask's own annotations, so graph layers written inside the block carry it::

    annotations["span"] = {"name": ("load", "clean"), "ids": (id 1, id 2)}

The value is a :class:`SpanAnnotation`, a dict that also knows its
:class:`SpanRecord`: when it was opened and closed, its tag, its parent.
"""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dask

from spanwise.graph.observe_dask import remember_provenance


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
    """

    __slots__ = ("id", "tag", "parent", "opened", "closed", "origin", "_watchers")

    def __init__(
        self,
        tag: str,
        parent: SpanRecord | None,
        id: str | None = None,
        origin: str = "user",
    ) -> None:
        self.id = id if id is not None else str(uuid.uuid4())
        self.tag = tag
        self.parent = parent
        self.opened = time.perf_counter()
        self.closed: float | None = None
        self.origin = origin
        self._watchers: list[weakref.WeakMethod[Callable[[SpanRecord], None]]] = []

    @property
    def name(self) -> tuple[str, ...]:
        """The tags from the root to this span."""
        return (*(self.parent.name if self.parent else ()), self.tag)

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


class SpanAnnotation(dict[str, Any]):
    """The value of the annotation ``span``; equal to distributed's by content."""

    __slots__ = ("record",)

    def __init__(self, record: SpanRecord) -> None:
        ids: list[str] = []
        ancestor: SpanRecord | None = record
        while ancestor is not None:
            ids.append(ancestor.id)
            ancestor = ancestor.parent
        super().__init__(name=record.name, ids=tuple(reversed(ids)))
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def record_of(annotation: Mapping[str, Any]) -> SpanRecord:
    """Return the record behind an annotation, also one set by other libraries."""
    if isinstance(annotation, SpanAnnotation):
        return annotation.record
    record: SpanRecord | None = None
    for tag, span_id in zip(annotation["name"], annotation["ids"], strict=True):
        record = SpanRecord(tag, record, id=span_id)
    if record is None:
        raise ValueError("a span annotation needs at least one tag")
    return record


def current_span() -> Mapping[str, Any] | None:
    """Return the annotation of the span that is open here, or None."""
    return dask.get_annotations().get("span")


@contextmanager
def span(*tags: str) -> Iterator[str]:
    """Attribute everything written and submitted in the block to a span.

    Parameters
    ----------
    *tags
        One nested span per tag; inside an open span they are its descendants.

    Yields
    ------
    str
        The id of the innermost span.

    Raises
    ------
    ValueError
        On entering, if there is no tag.

    Examples
    --------
    >>> with span("Alice's workflow", "data load"):
    ...     frame = dd.read_parquet("sensors/")       # doctest: +SKIP
    """
    if not tags:
        raise ValueError("span() needs at least one tag, such as span('load')")
    remember_provenance()
    enclosing = current_span()
    record = None if enclosing is None else record_of(enclosing)
    opened = []
    for tag in tags:
        record = SpanRecord(str(tag), record)
        opened.append(record)
    assert record is not None
    with dask.annotate(span=SpanAnnotation(record)):
        try:
            yield record.id
        finally:
            for record in reversed(opened):
                record.close()
