"""How Dask's constructors and optimisers call the register, in a process that begins with it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import pytest
from dask import delayed
from dask._expr import Expr, SingletonExpr, collect_dependents
from dask.dataframe.dask_expr import _collection
from dask.delayed import DelayedAttr, DelayedLeaf
from dask.highlevelgraph import HighLevelGraph

from spanwise import span
from spanwise.graph import observe_dask
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.private_dask import dataframe_classes
from spanwise.graph.provenance import Provenance
from spanwise.tests.warned import of_the_block, warnings_as_errors


class Recorder(Provenance):
    """Keeps what it is told: of which method, and what."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, Any]] = []
        self.fails: set[str] = set()

    def _tell(self, method: str, what: Any) -> None:
        self.told.append((method, what))
        if method in self.fails:
            raise AttributeError(f"{method} is built otherwise")

    def of(self, method: str) -> list[Any]:
        return [what for name, what in self.told if name == method]

    def note_layers(self, layers: Any) -> None:
        self._tell("layers", set(layers))

    def note_delayed(self, key: Any) -> None:
        self._tell("delayed", key)

    def note_expression(self, expression: Expr) -> None:
        self._tell("expression", expression)

    def note_collection(self, root: Expr) -> None:
        self._tell("collection", root)

    def note_graph(self, root: Expr) -> None:
        self._tell("graph", root)

    @contextmanager
    def working_on(self, expression: Expr, lowers: bool = True) -> Iterator[None]:
        self.told.append(("begin", (expression, lowers)))
        yield
        self.told.append(("end", expression))


@pytest.fixture
def unobserved(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As in a process that has opened no span yet; afterwards all is as before."""
    # The process's own register must not begin to look at dataframes in the middle: what it
    # puts in Dask's place then would be taken out again.
    remember_provenance()
    frame()
    monkeypatch.setattr(observe_dask, "_REGISTERED", [])
    monkeypatch.setattr(observe_dask, "Provenance", Recorder)
    classes = dataframe_classes()
    for cls, *names in [
        (HighLevelGraph, "__init__"),
        (DelayedAttr, "__init__"),
        (DelayedLeaf, "__init__"),
        (SingletonExpr, "__new__"),
        (Expr, "__new__", "__dask_graph__", "simplify_once", "rewrite", "lower_once"),
        (classes.FrameBase, "__init__"),
        (classes.FrameExpr, "fuse"),
    ]:
        for name in names:
            monkeypatch.setattr(cls, name, getattr(cls, name))
    for owner, name in PROPERTIES:
        found = getattr(classes, owner).__dict__.get(name)
        if found is not None:
            monkeypatch.setattr(found, "func", found.func)
    return monkeypatch


#: What Dask works out of an expression later, when it is asked.
PROPERTIES = [
    ("FrameExpr", "divisions"),
    ("PartitionsFiltered", "divisions"),
    ("Merge", "_npartitions"),
    ("FromMap", "_meta"),
]


@pytest.fixture
def told(unobserved: pytest.MonkeyPatch) -> Iterator[Recorder]:
    with warnings_as_errors():
        found = remember_provenance()
        assert isinstance(found, Recorder)
        yield found


class Plain(Expr):
    """An expression."""

    _parameters: ClassVar[list[str]] = ["value"]


class Single(SingletonExpr):
    """An expression of which there is one for equal arguments."""

    _parameters: ClassVar[list[str]] = ["value"]


def frame() -> Any:
    return dd.from_pandas(pd.DataFrame({"a": range(6), "b": 1.5}), npartitions=3)


def test_there_is_one_register(told: Recorder) -> None:
    assert remember_provenance() is told
    before = len(told.told)
    HighLevelGraph({}, {})
    assert told.told[before:] == [("layers", set())]


def test_layers_are_told_once_they_are_there(told: Recorder) -> None:
    x = da.ones(4, chunks=2) + 1
    assert told.of("layers")[-1] == set(x.dask.layers)
    graph = HighLevelGraph(layers={"x": x.dask.layers[x.name]}, dependencies={"x": set()})
    assert told.of("layers")[-1] == {"x"} and set(graph.layers) == {"x"}


def test_delayed_leaves_and_attributes_are_told_when_they_are_written(told: Recorder) -> None:
    function = delayed(len)
    assert told.of("delayed") == [function.key]
    attribute = function("text").real
    assert told.of("delayed") == [function.key, attribute.key]
    assert attribute.compute(scheduler="sync") == 4
    pair = delayed(divmod, pure=True, nout=2)
    assert pair._pure is True and len(pair(7, 4)) == 2


def test_expressions_are_told_once_each_and_as_they_are_kept(told: Recorder) -> None:
    plain = Plain(1)
    first, again = Single(1), Single(1)
    assert first is again
    expressions = told.of("expression")
    expected = [plain, first, first]
    assert all(each is made for each, made in zip(expressions, expected, strict=True))


def test_collections_are_told_with_their_expressions(told: Recorder) -> None:
    made = frame()
    assert told.of("collection")[-1] is made.expr
    summed = made.a.sum()
    assert told.of("collection")[-1] is summed.expr


def test_graphs_are_told_with_their_expressions_once_they_are_made(
    told: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered = frame().expr.lower_completely()
    before = lowered.__dask_graph__.__wrapped__(lowered)
    assert not told.of("graph")
    assert lowered.__dask_graph__().keys() == before.keys()
    assert [root is lowered for root in told.of("graph")] == [True]


def begun(told: Recorder, method: Callable[[], Any]) -> list[tuple[Any, bool]]:
    """The expressions that are worked on while `method` runs, and whether they are lowered; each
    begins and ends."""
    told.told.clear()
    method()
    nesting: list[Any] = []
    for what, of in told.told:
        if what == "begin":
            nesting.append(of[0])
        elif what == "end":
            assert nesting.pop() is of
    assert not nesting
    return told.of("begin")


def test_what_the_optimiser_works_on_is_told(told: Recorder) -> None:
    expression = (frame() + 1)[["a"]].expr
    dependents = collect_dependents(expression)
    simplified = begun(told, lambda: expression.simplify_once(dependents, {}))
    assert simplified[0] == (expression, False)
    assert begun(told, lambda: expression.rewrite("tune", {}))[0] == (expression, False)
    lowered = expression.simplify()
    assert begun(told, lambda: lowered.lower_once({}))[0] == (lowered, True)
    lowered = lowered.lower_completely()
    assert begun(told, lowered.fuse)[0] == (lowered, True)


@pytest.mark.parametrize(("owner", "name"), PROPERTIES)
def test_what_is_worked_out_later_is_worked_on_too(told: Recorder, owner: str, name: str) -> None:
    frame()
    cls = getattr(dataframe_classes(), owner)
    found = cls.__dict__.get(name)
    if found is None:
        pytest.skip(f"this version of Dask has no {owner}.{name}")

    class Asked:
        """Stands for an expression of this class."""

    asked = Asked()

    def fails() -> None:
        # It has none of an expression's fields.
        with pytest.raises((AttributeError, TypeError)):
            found.func(asked)

    if name == "divisions" and owner == "FrameExpr":
        made = frame().expr
        assert begun(told, lambda: found.func(made))[0] == (made, True)
    else:
        told.told.clear()
        fails()
        assert told.of("begin")[0] == (asked, True)


def test_results_names_and_descriptions_stay_those_of_dask(unobserved: Any) -> None:
    wrapped: list[tuple[Any, str]] = [
        *((cls, "__init__") for cls in (HighLevelGraph, DelayedAttr, DelayedLeaf)),
        *((Expr, name) for name in ("__new__", "__dask_graph__")),
        *((Expr, name) for name in ("simplify_once", "rewrite", "lower_once")),
        (SingletonExpr, "__new__"),
        (dataframe_classes().FrameBase, "__init__"),
        (dataframe_classes().FrameExpr, "fuse"),
    ]
    before = [getattr(cls, name) for cls, name in wrapped]
    expected = (frame() + 1).sum().compute(scheduler="sync")
    remember_provenance()
    assert ((frame() + 1).sum().compute(scheduler="sync") == expected).all()
    for (cls, name), method in zip(wrapped, before, strict=True):
        after = getattr(cls, name)
        assert after is not method and after.__wrapped__ is method
        assert (after.__name__, after.__doc__) == (method.__name__, method.__doc__)


def test_dataframes_may_be_imported_later(told: Recorder, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "dask.dataframe")
        frame()
        assert not told.of("collection")
    with monkeypatch.context() as patch:
        # Another thread may be in the middle of importing them.
        patch.setattr(observe_dask, "dataframe_classes", half_imported)
        frame()
        assert not told.of("collection")
    made = frame()
    assert [root is made.expr for root in told.of("collection")] == [True]


def half_imported() -> Any:
    raise ImportError("cannot import name 'FrameBase' from partially initialized module")


def test_dask_s_warning_of_annotations_is_not_of_spans(told: Recorder, monkeypatch: Any) -> None:
    with span("outer", "with {braces} and 'quotes'"):
        monkeypatch.setattr(_collection, "_WARN_ANNOTATIONS", True)
        frame()
        with dask.annotate(retries=3):
            monkeypatch.setattr(_collection, "_WARN_ANNOTATIONS", True)
            with pytest.raises(UserWarning, match="annotations"):
                frame()
    with dask.annotate(label={"a": 3}):
        monkeypatch.setattr(_collection, "_WARN_ANNOTATIONS", True)
        with pytest.raises(UserWarning, match="annotations"):
            frame()


@pytest.mark.parametrize("method", ["layers", "delayed", "expression", "collection", "graph"])
def test_dask_goes_on_where_it_is_built_otherwise(unobserved: Any, method: str) -> None:
    told = remember_provenance()
    assert isinstance(told, Recorder)
    told.fails.add(method)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert int(frame().a.sum().compute(scheduler="sync")) == 15
            assert delayed(len)("text").compute(scheduler="sync") == 4
            assert int(da.ones(4, chunks=2).sum().compute(scheduler="sync")) == 4
    assert [str(each.message) for each in of_the_block(caught)] == [
        "Spanwise cannot follow this version of Dask any further: some tasks will be counted to "
        f"the span of compute() (AttributeError: {method} is built otherwise)."
    ]
    assert len(told.of(method)) == 1, "not asked again"
