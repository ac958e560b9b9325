"""Spans: named parts of a program that its tasks are attributed to.

``with span("load", "clean"):`` opens two nested spans. The innermost is kept in
Dask's own annotations, so graph layers written inside the block carry it::

    annotations["span"] = {"name": ("load", "clean"), "ids": (id 1, id 2)}

The value is a :class:`SpanAnnotation`, a dict that also knows its
:class:`~spanwise.graph.span_record.SpanRecord`: when it was opened and closed, its tag, its parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dask

from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.roots import RootAnnotation, current_root
from spanwise.graph.span_record import SpanRecord


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


class ForeignSpan(SpanRecord):
    """A span that another library has opened: nobody says when it closes."""

    __slots__ = ()


def record_of(annotation: Mapping[str, Any]) -> SpanRecord:
    """Return the record behind an annotation, also one set by other libraries."""
    if isinstance(annotation, (SpanAnnotation, RootAnnotation)):
        return annotation.record
    record: SpanRecord | None = None
    for tag, span_id in zip(annotation["name"], annotation["ids"], strict=True):
        record = ForeignSpan(tag, record, id=span_id, root=_root_below(record))
    if record is None:
        raise ValueError("a span annotation needs at least one tag")
    return record


def _root_below(parent: SpanRecord | None) -> SpanRecord | None:
    """The root around a new span within `parent`: only the outermost span has one."""
    root = current_root() if parent is None else None
    return None if root is None else root.record


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
    TypeError, ValueError
        On entering, if there is no tag, or one is no text.

    Examples
    --------
    >>> with span("Alice's workflow", "data load"):
    ...     frame = dd.read_parquet("sensors/")       # doctest: +SKIP
    """
    if not tags:
        raise ValueError("span() needs at least one tag, such as span('load')")
    given: tuple[Any, ...] = tags
    for tag in given:
        if tag is None or isinstance(tag, (list, tuple, set, frozenset, dict)) or callable(tag):
            raise TypeError(f"span() takes tags, such as span('load', 'csv'), not {tag!r:.80}")
    remember_provenance()
    enclosing = current_span()
    record = None if enclosing is None else record_of(enclosing)
    opened = []
    for tag in tags:
        record = SpanRecord(str(tag), record, root=_root_below(record))
        opened.append(record)
    assert record is not None
    with dask.annotate(span=SpanAnnotation(record)):
        try:
            yield record.id
        finally:
            for record in reversed(opened):
                record.close()
