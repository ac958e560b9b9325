"""Calls the register of names from Dask's own constructors and optimisers.

Dask offers no hook for "user code has just written this", so a few of its methods
are wrapped: once per process, and only after the first span or client. Each wrapper
calls the original and then notes the result; none changes what Dask returns. If noting
fails (in a version of Dask that is built otherwise), the user is told once and noting
ends.

The register is the one piece of process-wide state in Spanwise: constructors of
Dask's classes have no other place to look.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from dask.delayed import DelayedAttr, DelayedLeaf
from dask.highlevelgraph import HighLevelGraph

from spanwise.graph.private_dask import Expr, SingletonExpr, dataframe_classes
from spanwise.graph.provenance import Provenance
from spanwise.notices import tell

#: Annotations of spans only; their tags have any characters.
_DASK_WARNING = r"Dask annotations \{'span': \{'name': .*, 'ids': \([^()]*\)\}\} detected"

_INSTALL_LOCK = threading.Lock()
_REGISTERED: list[Provenance] = []


def remember_provenance() -> Provenance:
    """Start observing Dask in this process, or return the register that does."""
    with _INSTALL_LOCK:
        if not _REGISTERED:
            provenance = Provenance()
            _observe_graphs(provenance)
            _observe_expressions(provenance)
            _REGISTERED.append(provenance)
        return _REGISTERED[0]


def _harmless(note: Callable[[Any], None]) -> Callable[[Any], None]:
    """Never let an error of noting break Dask's own work."""
    failed = False

    def noting(made: Any) -> None:
        nonlocal failed
        if failed:
            return
        try:
            note(made)
        except Exception as error:  # noqa: BLE001 (said; Dask goes on)
            failed = True
            tell(
                "Spanwise cannot follow this version of Dask any further: some tasks will be "
                f"counted to the span of compute() ({type(error).__name__}: {error}).",
            )

    return noting


def _observe_graphs(provenance: Provenance) -> None:
    initialise = HighLevelGraph.__init__
    note_layers = _harmless(provenance.note_layers)

    @functools.wraps(initialise)
    def noting(self: HighLevelGraph, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        note_layers(self.layers)

    HighLevelGraph.__init__ = noting  # type: ignore[method-assign]
    note_delayed = _harmless(lambda made: provenance.note_delayed(made._key))
    for delayed in (DelayedAttr, DelayedLeaf):
        _after_init(delayed, note_delayed)
    # Dask warns once that dataframes ignore annotations; spans are not ignored here.
    warnings.filterwarnings("ignore", message=_DASK_WARNING)


def _after_init(cls: type, note: Callable[[Any], None]) -> None:
    initialise = cls.__init__  # type: ignore[misc]

    @functools.wraps(initialise)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        note(self)

    cls.__init__ = noting  # type: ignore[misc]


def _observe_expressions(provenance: Provenance) -> None:
    create_plain = Expr.__new__
    create_single = SingletonExpr.__new__
    note_expression = _harmless(provenance.note_expression)
    dataframes_observed = False

    @functools.wraps(create_plain)
    def new_plain(cls: type[Expr], *args: Any, **kwargs: Any) -> Expr:
        made = create_plain(cls, *args, **kwargs)
        if not issubclass(cls, SingletonExpr):
            note_expression(made)
        return made

    @functools.wraps(create_single)
    def new_single(cls: type[SingletonExpr], *args: Any, **kwargs: Any) -> Expr:
        nonlocal dataframes_observed
        if not dataframes_observed and "dask.dataframe" in sys.modules:
            # Importing dataframes takes most of a second, so this waits until the user
            # imports them.
            dataframes_observed = _observe_dataframes(provenance)
        made = create_single(cls, *args, **kwargs)
        note_expression(made)
        return made

    make_graph = Expr.__dask_graph__
    note_graph = _harmless(provenance.note_graph)

    @functools.wraps(make_graph)
    def making(self: Expr) -> Any:
        graph = make_graph(self)
        note_graph(self)
        return graph

    Expr.__dask_graph__ = making  # type: ignore[method-assign]
    Expr.__new__ = new_plain  # type: ignore[method-assign]
    SingletonExpr.__new__ = new_single  # type: ignore[method-assign]
    for name, lowers in (
        ("simplify_once", False),
        ("rewrite", False),
        ("lower_once", True),
    ):
        setattr(Expr, name, _framed(provenance, getattr(Expr, name), lowers))


def _framed(provenance: Provenance, method: Callable[..., Any], lowers: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    def framed(self: Expr, *args: Any, **kwargs: Any) -> Any:
        with provenance.working_on(self, lowers):
            return method(self, *args, **kwargs)

    return framed


def _observe_dataframes(provenance: Provenance) -> bool:
    """Wrap the methods of dataframes; False while dataframes are half imported."""
    try:
        classes = dataframe_classes()
    except ImportError:
        return False
    _after_init(classes.FrameBase, _harmless(lambda made: provenance.note_collection(made._expr)))
    for cls, name in (
        (classes.FrameExpr, "divisions"),
        (classes.PartitionsFiltered, "divisions"),
        (classes.Merge, "_npartitions"),
        (classes.FromMap, "_meta"),
    ):
        found = cls.__dict__.get(name)
        if isinstance(found, functools.cached_property):
            found.func = _framed(provenance, found.func, True)
    classes.FrameExpr.fuse = _framed(provenance, classes.FrameExpr.fuse, True)
    return True
