"""Equal array layers written in several spans: one layer in a graph, whose is it?"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import dask
import dask.array as da
import pytest
from dask import delayed

from spanwise import span
from spanwise.graph.observe_dask import remember_provenance
from spanwise.records.enumerations import ORIGIN_INFERRED, ORIGIN_USER
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.packed_run import PackedRun


@pytest.fixture
def run() -> Iterator[PackedRun]:
    made = PackedRun()
    gc.collect()  # layers of other tests
    with dask.config.set({"scheduler": made.get, "optimization.fuse.active": False}):
        yield made


def ones(tag: str | None) -> da.Array:
    """An array of its own length, which no other test has, equal in all spans."""
    if tag is None:
        return da.ones(23, chunks=23)
    with span(tag):
        return da.ones(23, chunks=23)


def found(run: PackedRun, name: str = "ones_like") -> set[tuple[tuple[str, ...], int]]:
    """(tags, origin) of all runs of a function since the last time."""
    seen = {(each.tags, each.origin) for each in run.runs if each.name == name}
    run.runs.clear()
    return seen


def test_two_that_live_are_only_inferred(run: PackedRun) -> None:
    x, y = ones("A"), ones("B")
    assert x.name == y.name
    x.compute()
    assert found(run) == {(("A",), ORIGIN_INFERRED)}
    y.compute()
    assert found(run) == {(("B",), ORIGIN_INFERRED)}
    dask.compute(x + 1, y + 2)
    ((_, origin),) = found(run)
    assert origin == ORIGIN_INFERRED, "one layer, written twice"


def test_what_was_written_around_them_stays_exact(run: PackedRun) -> None:
    x, y = ones("A"), ones("B")
    with span("C"):
        z = x * 2
    z.compute()
    assert found(run, "mul") == {(("C",), ORIGIN_USER)}
    del y


def test_one_that_is_left_is_exact_again(run: PackedRun) -> None:
    x, y = ones("A"), ones("B")
    del x
    gc.collect()
    y.compute()
    assert found(run) == {(("B",), ORIGIN_USER)}
    y, x = None, ones("A")
    gc.collect()
    x.compute()
    assert found(run) == {(("A",), ORIGIN_USER)}


def test_a_graph_that_holds_both_stays_inferred_when_they_are_gone(run: PackedRun) -> None:
    x, y = ones("A"), ones("B")
    with span("C"):
        z = x + y
    del x, y
    gc.collect()
    z.compute()
    ((_, origin),) = found(run)
    assert origin == ORIGIN_INFERRED
    assert found(run) == set()


def test_the_same_tags_again_are_exact(run: PackedRun) -> None:
    """A cell that is run again."""
    x, y = ones("A"), ones("A")
    dask.compute(x + 1, y + 2)
    assert found(run) == {(("A",), ORIGIN_USER)}


@pytest.mark.parametrize("tags", [("A", None), (None, "A")])
def test_one_outside_all_spans(run: PackedRun, tags: tuple[str | None, str | None]) -> None:
    x, y = ones(tags[0]), ones(tags[1])
    with span("around"):
        dask.compute(x + 1, y + 2)
    ((_, origin),) = found(run)
    assert origin == ORIGIN_INFERRED


def test_by_name_alone(run: PackedRun) -> None:
    """Through a delayed call nothing is left of a layer but its name: the newest counts."""
    x, y = ones("A"), ones("B")
    with span("C"):
        total = delayed(sum)(x)
    total.compute()
    ((tags, origin),) = found(run)
    assert tags == ("B",) and origin == ORIGIN_INFERRED, "it was A's"
    del y


def test_three(run: PackedRun) -> None:
    provenance = remember_provenance()
    x, y, z = ones("A"), ones("B"), ones("C")
    del y
    gc.collect()
    assert provenance.is_shared(z.name)
    del x
    gc.collect()
    z.compute()
    assert found(run) == {(("C",), ORIGIN_USER)}


def test_nothing_is_remembered_of_layers_that_are_gone(run: PackedRun) -> None:
    provenance = remember_provenance()
    x, y = ones("A"), ones("B")
    name = x.name
    assert provenance.is_shared(name) and provenance._living.count(name) == 2
    del x, y
    gc.collect()
    assert provenance._living.count(name) == 0 and not provenance.is_shared(name)


def test_persisting_writes_nothing() -> None:
    """Results of persist() keep the old names, and count as written where these were."""
    provenance = remember_provenance()
    scheduler = ClientScheduler()
    with LocalClient(scheduler) as client, span("A"):
        x = da.ones(29, chunks=29) + 1
        with span("B"):
            kept = client.persist(x)
        source = provenance.find_layer(x.name)
        assert source is not None and source.exact and source.span is not None
        assert source.span["name"] == ("A",)
        assert float(kept.sum().compute()) == 58
    scheduler.close()
