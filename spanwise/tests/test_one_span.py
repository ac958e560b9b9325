"""Of a graph that is not made yet it is said in which span all of it was written, or nothing."""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import distributed
import pytest
from dask import delayed
from dask._expr import Expr, LLGExpr
from dask.base import collections_to_expr

from spanwise import span
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.one_span import written_in_one_span


def tags_of(*collections: Any) -> tuple[str, ...] | None:
    """The tags of the span that is said, () for none; None: nothing is said."""
    said = written_in_one_span(sent(*collections))
    return None if said is None else () if said[0] is None else tuple(said[0]["name"])


def sent(*collections: Any) -> Expr:
    """What Dask sends for them when they are computed."""
    from dask._expr import FinalizeCompute

    return FinalizeCompute(collections_to_expr(collections)).optimize()


@pytest.fixture(autouse=True)
def register() -> None:
    remember_provenance()
    # (equal layers of an earlier test, in other spans, would be shared with those of this one)
    gc.collect()


def array(number: int) -> Any:
    return (da.full(12, number, chunks=3) + 1).sum()


def bag(number: int) -> Any:
    return db.from_sequence(range(number), npartitions=2).map(operator.neg).sum()


@pytest.mark.parametrize(
    "make",
    [
        array,
        lambda number: (da.full((6, 6), number, chunks=2) + 1).rechunk(3).T[1:4].mean(axis=0),
        bag,
        lambda number: delayed(operator.neg)(delayed(operator.neg)(number)),
    ],
)
def test_all_of_one_span(make: Callable[[int], Any]) -> None:
    with span("load", "clean"):
        within = make(101)
        assert tags_of(within) == ("load", "clean")
    assert tags_of(within) == ("load", "clean")
    with span("other"):
        assert tags_of(within) == ("load", "clean")
    outside = make(102)
    assert tags_of(outside) == ()
    # What was written in none counts to the span in which it is computed.
    with span("other"):
        assert tags_of(outside) == ("other",)


def test_several_collections() -> None:
    with span("one"):
        first, second = array(201), delayed(operator.neg)(202)
    with span("one"):
        third = array(203)
    assert tags_of(first, second) == ("one",)
    # (two spans of the same tags are two)
    assert tags_of(first, third) is None


@pytest.mark.parametrize("make", [array, bag])
def test_several_collections_of_a_kind(make: Callable[[int], Any]) -> None:
    """Dask merges their graphs, with the tasks that put results together."""
    with span("one"):
        first, second, call = make(211), make(212), delayed(operator.neg)(1)
        assert tags_of(first, second) == ("one",)
    assert tags_of(first, second) == tags_of(first, second, call) == ("one",)
    with span("two"):
        assert tags_of(first, second) == ("one",)
        third = make(213)
        assert tags_of(first, second, third) is None
    outside = make(214), make(215)
    assert tags_of(*outside) == ()
    with span("two"):
        assert tags_of(*outside) == ("two",)


def test_what_a_delayed_call_takes_does_not_only_put_results_together() -> None:
    """Where it takes a list, Dask calls a layer so that has the tasks of an array as well."""
    with span("one"):
        made = da.ones(3, chunks=3) + 216
    with span("two"):
        calls = [delayed(operator.itemgetter(number))([made, 0]) for number in (0, 1)]
        assert all(
            any(name.startswith("finalize-hlgfinalizecompute-") for name in call.dask.layers)
            for call in calls
        )
        assert tags_of(*calls) is None


def test_of_dasks_own_spans() -> None:
    with distributed.span("theirs"):
        made = array(301)
    assert tags_of(made) == ("theirs",)


def test_nothing_is_said_of_a_graph_of_several_spans() -> None:
    with span("one"):
        made = da.ones(12, chunks=3) + 401
    with span("two"):
        assert tags_of((made * 2).sum()) is None
    assert tags_of((made * 3).sum()) is None


def test_nothing_is_said_of_what_an_optimiser_has_made() -> None:
    with span("one"):
        made = da.ones(12, chunks=3) + 501
    with span("two"):
        (fused,) = dask.optimize((made * 2).sum())
        assert tags_of(fused) is None
        with dask.config.set({"optimization.fuse.active": False}):
            (unfused,) = dask.optimize(made * 4)
        assert tags_of(unfused) is None
        assert tags_of(delayed(operator.neg)(made * 6)) is None


def test_nothing_is_said_of_layers_that_two_spans_share() -> None:
    with span("one"):
        first = array(601)
    with span("two"):
        second = array(601)
    assert tags_of(first) is None and tags_of(second) is None


@pytest.mark.parametrize("graph", [LLGExpr({"x": 1}), {"x": 1}, None])
def test_nothing_is_said_of_other_graphs(graph: Any) -> None:
    assert written_in_one_span(graph) is None
