"""What is remembered of graphs that Dask has made and nobody has run yet."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

import dask
import pytest
from dask._expr import Expr
from dask._task_spec import Task

from spanwise.graph import observe_get
from spanwise.graph.attribution import materialise
from spanwise.graph.observe_get import WrittenGraphs, written_graphs
from spanwise.graph.spans import span
from spanwise.tests.warned import of_the_block, warnings_as_errors


def test_a_graph_that_never_ran_is_forgotten_with_the_last_observer() -> None:
    written = written_graphs()
    made: list[weakref.ref[object]] = []
    go, noted = threading.Event(), threading.Event()

    def make() -> None:
        with span("A"):
            value = dask.delayed(len)([1, 2])
        # As dask.compute() does, but for the run.
        dict(dask.optimize(value)[0].__dask_graph__())
        dask.base.collections_to_expr([value]).__dask_graph__()
        assert written._here.newest.noted is not None
        made.append(weakref.ref(written._here.newest.noted[0]))
        noted.set()
        assert go.wait(60)

    written.begin()
    written.begin()
    thread = threading.Thread(target=make)
    thread.start()
    try:
        assert noted.wait(60)
        written.end()
        gc.collect()
        assert made[0]() is not None, "somebody observes still"
        written.end()
        gc.collect()
        assert made[0]() is None
    finally:
        go.set()
        thread.join(60)


class Summed(Expr):
    """An expression with tasks, which makes its graph as Dask's own do."""

    _parameters: ClassVar[list[str]] = ["number"]

    def _layer(self) -> dict[Any, Any]:
        return {(self._name, 0): Task((self._name, 0), sum, [self.operand("number")])}


class OwnGraph(Summed):
    """One that makes its graph itself, as some of Dask's do."""

    def __dask_graph__(self) -> dict[Any, Any]:
        return {**Summed._layer(self), "more": 1}

    _layer = __dask_graph__


class Below(OwnGraph):
    """One of a class below, which makes its own too."""

    def __dask_graph__(self) -> dict[Any, Any]:
        return {**super().__dask_graph__(), "below": 2}

    _layer = __dask_graph__


class Refused(Exception):
    """What a graph that cannot be made raises."""


class Broken(Summed):
    """One whose graph cannot be made."""

    def _layer(self) -> dict[Any, Any]:
        raise Refused


@pytest.fixture
def written() -> Iterator[WrittenGraphs]:
    found = written_graphs()
    assert written_graphs() is found
    found.begin()
    yield found
    found.end()
    assert not found.observers


def tags(written: WrittenGraphs, graph: Any, key: Any) -> Any:
    """In which span the run of a graph that begins now counts a key."""
    found = written.take(graph).of(key).span
    return None if found is None else found["name"]


def lazy(tag: str, value: Any) -> Any:
    with span(tag):
        return dask.delayed(abs)(value)


def graph_of(collection: Any) -> dict[Any, Any]:
    """As a scheduler is handed it."""
    return dict(dask.base.collections_to_expr([collection]).__dask_graph__())


def test_the_graph_made_last_is_the_one_that_begins(written: WrittenGraphs) -> None:
    one, two = lazy("A", -1), lazy("B", -2)
    first, second = graph_of(one), graph_of(two)
    with span("around"):
        # Made by this thread, but not the last: names are all there is.
        assert tags(written, {"other": 1, **second}, "other") == ("around",)
        assert graph_of(two) == second
        assert written.take(second).of(two.key).exact
        assert tags(written, second, "never seen") == ("around",), "taken once"
        graph_of(one)
        taken = written.take(first)
    # Of the span that was open when it was made.
    spans = [taken.of(key).span for key in ("never seen", one.key)]
    assert [found and found["name"] for found in spans] == [("around",), ("A",)]
    graph_of(one)
    assert tags(written, {}, "never seen") is None


def test_threads_do_not_take_each_other_s(written: WrittenGraphs) -> None:
    graph = graph_of(lazy("A", -1))
    noted = written._here.newest.noted
    assert noted is not None
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(written.take(graph)))
    thread.start()
    thread.join(60)
    assert found[0] is not noted[0]
    assert written.take(graph) is noted[0]


def classes_below(cls: type) -> list[type]:
    children: list[type] = cls.__subclasses__()
    return [cls, *(each for child in children for each in classes_below(child))]


def test_each_way_to_make_a_graph_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        cls: cls.__dict__["__dask_graph__"]
        for cls in classes_below(Expr)
        if "__dask_graph__" in cls.__dict__
    }
    assert {Expr, OwnGraph, Below} <= set(own) and Summed not in own
    for cls, method in own.items():
        monkeypatch.setattr(cls, "__dask_graph__", method)
    monkeypatch.setattr(observe_get, "_INSTALLED", [])
    written = written_graphs()
    for cls, method in own.items():
        following = cls.__dict__["__dask_graph__"]
        assert following.__wrapped__ is method and following.__doc__ == method.__doc__
    assert "__dask_graph__" not in Summed.__dict__
    written.begin()
    # Methods that call those of the classes above them are one graph, made once.
    expression = Below(4)
    read: list[Any] = []

    def reading(dsk: Any, provenance: Any) -> Any:
        read.append(dsk)
        return materialise(dsk, provenance)

    monkeypatch.setattr(observe_get, "materialise", reading)
    graph = expression.__dask_graph__()
    assert len(read) == 1 and read[0] is expression
    assert set(graph) == {"more", "below", (expression._name, 0)}
    noted = written._here.newest.noted
    assert noted is not None and noted[1] == set(graph)
    assert written.take({"below": 2}) is noted[0]


def test_nothing_is_noted_while_nobody_observes() -> None:
    written = written_graphs()
    assert not written.observers
    graph_of(lazy("A", -1))
    assert written._here.newest.noted is None
    with_child = WrittenGraphs(written.provenance)
    with_child.begin()
    with_child._lock.acquire()
    with_child.forget_in_child()
    assert with_child.observers == 0
    with_child.begin()
    assert with_child.observers == 1


def test_a_graph_that_is_ready_after_the_last_observer_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = WrittenGraphs(written_graphs().provenance)
    written.begin()

    def last_leaves(_: Summed) -> dict[Any, Any]:
        written.end()
        return {"x": 1}

    monkeypatch.setattr(Summed, "_layer", last_leaves)
    assert written.make(Summed(5), Summed.__dask_graph__) == {"x": 1}
    assert written._here.newest.noted is None


def test_what_dask_itself_refuses_it_refuses_still(written: WrittenGraphs) -> None:
    with pytest.raises(Refused):
        Broken(1).__dask_graph__()
    graph = graph_of(lazy("A", -1))
    assert written.take(graph).of(next(iter(graph))) is not None
    made = lazy("A", -3)
    assert tags(written, graph_of(made), made.key) == ("A",), "it goes on"


def test_without_a_way_to_follow_graphs_are_made_and_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = WrittenGraphs(written_graphs().provenance)
    written.begin()

    def fails(*_: Any) -> Any:
        raise AttributeError("no such thing in this version")

    monkeypatch.setattr(observe_get, "materialise", fails)
    expression = Summed(3)
    with pytest.warns(RuntimeWarning) as caught:
        graph = written.make(expression, Summed.__dask_graph__)
    assert graph == expression.__dask_graph__()
    assert [str(each.message) for each in of_the_block(caught)] == [
        "Spanwise cannot follow how this version of Dask makes graphs: tasks of observed runs may "
        "be counted to the span of compute() (AttributeError: no such thing in this version)."
    ]
    monkeypatch.undo()
    with warnings_as_errors():
        assert written.make(expression, Summed.__dask_graph__) == graph
    assert written._here.newest.noted is None and not written._here.newest.working
