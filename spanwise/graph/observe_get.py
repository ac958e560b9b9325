"""Says how the graph that one of Dask's own schedulers is about to run was written.

Dask's schedulers call ``__dask_graph__`` on what ``compute`` hands to them, which runs
the low-level optimisers, and tell their callbacks of the plain dict that is left. So
while somebody observes, that method reads layers and expressions first, by the same
rules as for the embedded cluster (:func:`materialise`), and keeps the answer for the
run that begins next in the same thread::

    get(expr) ─► expr.__dask_graph__() ─► note ─► callbacks' start(dsk) ─► take
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from spanwise.graph.attribution import Attribution, materialise
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.private_dask import Expr
from spanwise.graph.provenance import Provenance, current_annotation
from spanwise.notices import tell

_INSTALL_LOCK = threading.Lock()
_INSTALLED: list[WrittenGraphs] = []


class _Newest:
    """The graph that a thread has made last."""

    def __init__(self) -> None:
        self.working = False
        self.noted: tuple[Attribution, frozenset[Any]] | None = None


class _OfThread(threading.local):
    """Each thread's own."""

    def __init__(self, all_threads: weakref.WeakSet[_Newest], lock: threading.Lock) -> None:
        self.newest = _Newest()
        with lock:
            all_threads.add(self.newest)


class WrittenGraphs:
    """Notes, per thread, where the graph made last was written.

    Attributes
    ----------
    observers
        How many want it; with none, graphs are made as without Spanwise.
    """

    def __init__(self, provenance: Provenance) -> None:
        self.provenance = provenance
        self._lock = threading.Lock()
        self._all_threads: weakref.WeakSet[_Newest] = weakref.WeakSet()
        self._here = _OfThread(self._all_threads, self._lock)
        self._failed = False
        self.observers = 0

    def begin(self) -> None:
        """One more observer."""
        with self._lock:
            self.observers += 1

    def end(self) -> None:
        """One observer less; after the last one, graphs that never ran are forgotten."""
        with self._lock:
            self.observers -= 1
            if not self.observers:
                for newest in self._all_threads:
                    newest.noted = None

    def forget_in_child(self) -> None:
        """In a fork: it is not observed yet, and a thread of the parent may hold its lock."""
        self._lock = threading.Lock()
        self.observers = 0

    def take(self, dsk: Mapping[Any, Any]) -> Attribution:
        """Where the keys of a graph that is about to run were written."""
        newest = self._here.newest
        noted, newest.noted = newest.noted, None
        if noted is not None and next(iter(dsk), None) in noted[1]:
            return noted[0]
        # A plain dict: names are all there is.
        return Attribution(self.provenance, current_annotation())

    def make(self, expression: Expr, make: Callable[[Expr], Any]) -> Any:
        """Make a graph as Dask does, and note where it was written."""
        newest = self._here.newest
        if not self.observers or newest.working or self._failed:
            return make(expression)
        newest.working = True
        try:
            graph, attribution, _ = materialise(expression, self.provenance)
        except Exception as error:  # noqa: BLE001 (said, or raised again by Dask itself)
            graph = make(expression)
            self._failed = True
            tell(
                "Spanwise cannot follow how this version of Dask makes graphs: tasks of observed "
                f"runs may be counted to the span of compute() ({type(error).__name__}: {error}).",
            )
            return graph
        finally:
            newest.working = False
        noted = (attribution, frozenset(graph))
        with self._lock:
            if self.observers:
                newest.noted = noted
        return graph


def written_graphs() -> WrittenGraphs:
    """Follow how Dask makes graphs in this process; the same object each time."""
    provenance = remember_provenance()
    with _INSTALL_LOCK:
        if not _INSTALLED:
            written = WrittenGraphs(provenance)
            for cls in (Expr, *_subclasses(Expr)):
                if "__dask_graph__" in cls.__dict__:
                    _follow(written, cls)
            _INSTALLED.append(written)
        return _INSTALLED[0]


def _subclasses(cls: type) -> list[type]:
    found: list[type] = []
    child: type
    for child in cls.__subclasses__():
        found += [child, *_subclasses(child)]
    return found


def _follow(written: WrittenGraphs, cls: type) -> None:
    make: Callable[[Expr], Any] = cls.__dict__["__dask_graph__"]

    @functools.wraps(make)
    def following(self: Expr) -> Any:
        return written.make(self, make)

    cls.__dask_graph__ = following  # type: ignore[attr-defined]
