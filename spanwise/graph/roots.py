"""Which root is in force: the cell, notebook or script that spans and tasks are of by themselves.

Nobody opens a root, and Dask's own annotations never show one: what is written outside of all
``with span(…)`` blocks is of the root, and the outermost of these blocks are within it::

    notebook.ipynb ── # load the data ── with span("load")
                   └─ # fit

`cells.py` says which root is in force.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from spanwise.graph.span_record import SpanRecord


class RootAnnotation(dict[str, Any]):
    """What stands for a root where a span's annotation is expected; never in Dask's."""

    __slots__ = ("record",)

    def __init__(self, record: SpanRecord) -> None:
        super().__init__(name=record.path, ids=(record.id,))
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        # Layers take it along to other processes, where it means nothing.
        return type(None), ()


#: The root of what runs in this context: a cell's statements, and the coroutines that they start.
_HERE: ContextVar[RootAnnotation | None] = ContextVar("spanwise_root", default=None)


class _InForce:
    """Where no context says it.

    Attributes
    ----------
    now
        The cell that runs; between cells the notebook; of a script the script.
    of_threads
        Identity of a thread that has outlived its cell → the thread, and the cell.
    """

    __slots__ = ("now", "of_threads")

    def __init__(self) -> None:
        self.now: RootAnnotation | None = None
        self.of_threads: dict[int, tuple[weakref.ref[threading.Thread], RootAnnotation | None]] = {}


_IN_FORCE = _InForce()


def current_root() -> RootAnnotation | None:
    """The root in force here, or None. It is asked for once per task that is submitted."""
    here = _HERE.get()
    if here is not None:
        return here
    if _IN_FORCE.of_threads:
        thread = threading.current_thread()
        found = _IN_FORCE.of_threads.get(threading.get_ident())
        if found is not None and found[0]() is thread:
            return found[1]
    return _IN_FORCE.now


def enter(root: RootAnnotation | None, *, here: bool) -> None:
    """Have this root in force from now on.

    Parameters
    ----------
    here
        In this context too, with what it starts: it is that of a cell.
    """
    _HERE.set(root if here else None)
    _IN_FORCE.now = root


def keep_threads(threads: Iterable[threading.Thread], root: RootAnnotation | None) -> None:
    """What these threads do from now on is of this root, whatever comes to be in force."""
    kept = {ident: row for ident, row in _IN_FORCE.of_threads.items() if _is_alive(row[0])}
    for thread in threads:
        if thread.ident is not None:
            kept[thread.ident] = (weakref.ref(thread), root)
    _IN_FORCE.of_threads = kept


def _is_alive(thread: weakref.ref[threading.Thread]) -> bool:
    found = thread()
    return found is not None and found.is_alive()
