"""Tasks and parts go to the span in which they were written, with fusion left on.

Ground truth: a marker function belongs to one span and reports, while it runs, in
which span the part that calls it is counted.
"""

from __future__ import annotations

import operator
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pytest
from dask import delayed
from dask._expr import Expr

from spanwise import span
from spanwise.graph.observe_dask import _harmless, remember_provenance
from spanwise.graph.provenance import Source, current_annotation
from spanwise.records.enumerations import ORIGIN_DEFAULT, ORIGIN_INFERRED
from spanwise.tests.packed_run import PackedRun
from spanwise.tests.warned import warnings_as_errors

#: (marker, tags, origin) of each call; filled while a graph runs.
_SEEN: list[tuple[str, tuple[str, ...], int]] = []
_RUN: list[PackedRun] = []


def marker(name: str) -> Callable[..., Any]:
    """A function of one argument that belongs to span `name`."""

    def mark(value: Any, *rest: Any) -> Any:
        current = _RUN[-1].current if _RUN else None
        if current is not None:
            _SEEN.append((name, current.tags, current.origin))
        return value

    mark.__name__ = f"mark_{name}"
    return mark


class ByReference:
    """Markers pickle by name, so that the copy that runs is this process's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"mark_{name}"

    def __call__(self, value: Any, *rest: Any) -> Any:
        return marker(self.name)(value, *rest)

    def __dask_tokenize__(self) -> Any:
        return ("marker", self.name)

    def __reduce__(self) -> Any:
        return ByReference, (self.name,)


mark_a, mark_b, mark_c = ByReference("A"), ByReference("B"), ByReference("C")


@pytest.fixture
def run() -> Iterator[PackedRun]:
    made = PackedRun()
    _RUN.append(made)
    _SEEN.clear()
    with dask.config.set({"scheduler": made.get, "dataframe.shuffle.method": "tasks"}):
        yield made
    _RUN.pop()


def spans_of(run: PackedRun) -> dict[str, Counter[tuple[str, ...]]]:
    """Function name → how many parts ran in which span."""
    found: dict[str, Counter[tuple[str, ...]]] = {}
    for each in run.runs:
        found.setdefault(each.name, Counter())[each.tags] += 1
    return found


def assert_markers(*names: str) -> None:
    """Every marker ran, and only in its own span."""
    assert {name for name, _, _ in _SEEN} == set(names)
    assert all(tags == (name,) for name, tags, _ in _SEEN), _SEEN


# -- (a) arrays ------------------------------------------------------------


def test_array_built_in_two_spans_computed_outside(run: PackedRun) -> None:
    with span("A"):
        x = da.ones((4, 4), chunks=2).map_blocks(mark_a, dtype=float)
    with span("B"):
        y = (x + 1).map_blocks(mark_b, dtype=float)
    assert y.compute().sum() == 32
    assert_markers("A", "B")
    found = spans_of(run)
    assert found["ones_like"] == {("A",): 4}
    assert found["add"] == {("B",): 4}
    assert found["finalize-hlgfinalizecompute"] == {(): 1}
    assert any(each.fused for each in run.runs), "fusion must be left on"


ARRAYS: dict[str, Callable[[da.Array], da.Array]] = {
    "elementwise": lambda x: (x + 1) * 2 - x,
    "transpose": lambda x: x.T + 1,
    "rechunk": lambda x: x.rechunk((3, 8)) + 1,
    "rechunk-twice": lambda x: x.rechunk((8, 1)).rechunk((1, 8)),
    "reduction": lambda x: x.sum(axis=0),
    "mean-of-axes": lambda x: x.mean(axis=(0, 1)),
    "argmin": lambda x: x.argmin(axis=0),
    "cumsum": lambda x: x.cumsum(axis=0),
    "slicing": lambda x: x[1:5, ::2][::-1],
    "fancy-index": lambda x: x[[0, 5, 2]],
    "overlap": lambda x: x.map_overlap(lambda b: b, depth=1, boundary="none"),
    "dot": lambda x: x.dot(x.T),
    "stack": lambda x: da.stack([x, x + 1]),
    "concatenate": lambda x: da.concatenate([x, x], axis=1),
    "svd": lambda x: da.linalg.svd(x.rechunk((4, 8)))[1],
    "qr": lambda x: da.linalg.qr(x.rechunk((4, 8)))[1],
    "where": lambda x: da.where(x > 1, x, 0),
    "percentile": lambda x: da.percentile(x.ravel(), [50]),
    "topk": lambda x: x.topk(2, axis=0),
    "reshape": lambda x: x.rechunk((4, 8)).reshape(4, 2, 8),
    "boolean-mask": lambda x: x[x > 1],
    "histogram": lambda x: da.histogram(x, bins=3, range=(0, 3))[0],
    "gufunc": lambda x: da.apply_gufunc(
        lambda b: b.mean(axis=-1), "(i)->()", x.rechunk((4, 8)), output_dtypes=float
    ),
    "pad": lambda x: da.pad(x, 1, mode="constant"),
    "random-plus": lambda x: x + da.random.default_rng(0).random((8, 8), chunks=4),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_array_operation(run: PackedRun, name: str) -> None:
    """Source in A, operation in B, follow-up in C, computed outside."""
    with span("A"):
        x = da.from_array(np.arange(64.0).reshape(8, 8), chunks=4, name="source")
        x = x.map_blocks(mark_a, dtype=float)
    with span("B"):
        y = ARRAYS[name](x)
    with span("C"):
        z = y.map_blocks(mark_c, dtype=y.dtype)
    z.compute()
    assert_markers("A", "C")
    for each in run.runs:
        if each.name.startswith("finalize"):
            assert each.tags == (), each
        elif each.name in ("source", "original-source", "mark_A"):
            assert each.tags == ("A",), each
        elif each.name == "mark_C":
            assert each.tags == ("C",), each
        else:
            assert each.tags == ("B",), each
    assert all(each.origin != ORIGIN_INFERRED for each in run.runs), "arrays are never inferred"


def test_random_arrays_with_equal_annotations(run: PackedRun) -> None:
    """Root fusion drops annotations even where fusion is off."""
    with span("A"):
        x = da.random.random(8, chunks=4) + da.random.random(8, chunks=4)
    x.compute()
    found = spans_of(run)
    assert found["random_sample"] == {("A",): 4}
    assert found["add"] == {("A",): 2}


def test_span_around_compute_takes_what_has_no_span(run: PackedRun) -> None:
    x = da.ones(4, chunks=2).map_blocks(mark_c, dtype=float)
    with span("A"):
        y = (x + 1).map_blocks(mark_a, dtype=float)
    with span("C"):
        y.compute()
    assert_markers("A", "C")
    assert all(each.tags for each in run.runs)


def test_same_array_again_in_another_span(run: PackedRun) -> None:
    """Equal expressions have equal names; the layer's own annotation decides."""
    with span("A"):
        x = da.ones(4, chunks=2) + 1
    with span("B"):
        y = da.ones(4, chunks=2) + 1
    x.compute()
    assert set(spans_of(run)["add"]) == {("A",)}
    run.runs.clear()
    y.compute()
    assert set(spans_of(run)["add"]) == {("B",)}


def test_nested_spans_give_the_leaf(run: PackedRun) -> None:
    with span("A"):
        with span("inner"):
            x = da.ones(4, chunks=2)
        x = x + 1
    x.compute()
    found = spans_of(run)
    assert found["ones_like"] == {("A", "inner"): 2}
    assert found["add"] == {("A",): 2}


def test_several_collections_in_one_compute(run: PackedRun) -> None:
    with span("A"):
        x = da.ones(4, chunks=2).map_blocks(mark_a, dtype=float)
    with span("B"):
        bag = db.range(4, npartitions=2).map(mark_b)
    with span("C"):
        lazy = delayed(mark_c)(1)
    dask.compute(x, bag, lazy)
    assert_markers("A", "B", "C")


# -- bags, delayed ---------------------------------------------------------


def test_bag(run: PackedRun) -> None:
    with span("A"):
        bag = db.from_sequence(range(8), npartitions=4).map(mark_a)
    with span("B"):
        total = bag.map(mark_b).filter(lambda x: x > 2).fold(operator.add)
    assert total.compute() == 25
    assert_markers("A", "B")
    found = spans_of(run)
    assert found["reduce-part"] == {("B",): 4}


def test_bag_groupby(run: PackedRun) -> None:
    with span("A"):
        bag = db.range(12, npartitions=3).map(mark_a)
    with span("B"):
        groups = bag.groupby(lambda x: x % 2, shuffle="tasks")
    with span("C"):
        groups = groups.map(mark_c)
    groups.compute()
    assert_markers("A", "C")
    wrong = [each for each in run.runs if each.tags == () and "finalize" not in each.name]
    assert not wrong


def test_delayed(run: PackedRun) -> None:
    """(d), also with linear fusion switched on."""
    with span("A"):
        parts = [delayed(mark_a)(i) for i in range(4)]
    with span("B"):
        parts = [delayed(mark_b)(part) for part in parts]
    with span("C"):
        total = delayed(mark_c)(delayed(sum)(parts))
    assert total.compute() == 6
    assert_markers("A", "B", "C")
    assert all(each.tags for each in run.runs)
    _SEEN.clear()
    with dask.config.set({"optimization.fuse.delayed": True}):
        assert total.compute() == 6
    assert_markers("A", "B", "C")


def test_delayed_containers_and_attributes(run: PackedRun) -> None:
    with span("A"):
        one = delayed(mark_a)(1)
        text = delayed(mark_a)("text")
    with span("B"):
        upper = text.upper
        both = delayed(mark_b)({"one": [one, {"two": one}], "t": text})
    with span("C"):
        out = delayed(mark_c)([both, upper()])
    out.compute()
    assert_markers("A", "B", "C")
    attribute = [each for each in run.runs if each.name in ("getattr", "upper")]
    assert attribute and all(each.tags in (("B",), ("C",)) for each in attribute)


# -- (f) collections passed on ---------------------------------------------


@pytest.mark.parametrize("container", [lambda x: x, lambda x: [x, 1], lambda x: {"x": (x,)}])
@pytest.mark.parametrize("keep", [True, False])
def test_array_passed_into_delayed(run: PackedRun, container: Any, keep: bool) -> None:
    with span("A"):
        x = da.ones((4, 4), chunks=2).map_blocks(mark_a, dtype=float) + 1
    with span("B"):
        out = delayed(mark_b)(container(x))
    if not keep:
        del x
    out.compute()
    assert_markers("A", "B")
    found = spans_of(run)
    assert set(found["add"]) == {("A",)} and set(found["ones_like"]) == {("A",)}


def test_delayed_into_array(run: PackedRun) -> None:
    with span("A"):
        block = delayed(mark_a)(np.ones(3))
    with span("B"):
        x = da.from_delayed(block, (3,), float).map_blocks(mark_b, dtype=float)
    with span("C"):
        pieces = [delayed(mark_c)(piece) for piece in x.to_delayed()]
    dask.compute(*pieces)
    assert_markers("A", "B", "C")


def test_optimised_and_kept_collections(run: PackedRun) -> None:
    with span("A"):
        x = da.ones(4, chunks=2).map_blocks(mark_a, dtype=float)
    with span("B"):
        y = (x + 1).map_blocks(mark_b, dtype=float)
    with span("C"):
        (optimised,) = dask.optimize(y)
        z = optimised.map_blocks(mark_c, dtype=float)
    z.compute()
    assert_markers("A", "B", "C")


def test_legacy_graph_without_spans(run: PackedRun) -> None:
    # Keys that no other test gives to a layer.
    graph = {"one": 1, "eleven": (operator.add, "one", 10), "twelve": (sum, ["one", "eleven"])}
    assert run.get(graph, ["twelve", ["eleven"]]) == [12, [11]]
    assert all(each.tags == () and each.origin == ORIGIN_DEFAULT for each in run.runs)
    with span("A"):
        run.runs.clear()
        run.get(graph, ["twelve"])
    assert all(each.tags == ("A",) for each in run.runs)


def test_layered_graph_given_to_get(run: PackedRun) -> None:
    with span("A"):
        x = da.ones(4, chunks=2).map_blocks(mark_a, dtype=float)
    with span("B"):
        y = x.map_blocks(mark_b, dtype=float)
    run.get(y.dask, y.__dask_keys__())
    assert_markers("A", "B")
    _SEEN.clear()
    run.get(dict(y.dask), y.__dask_keys__())
    assert_markers("A", "B")


def test_a_name_that_a_user_chose_proves_nothing(run: PackedRun) -> None:
    with span("A"):
        delayed(mark_a)(1, dask_key_name="load").compute()
    with span("B"):
        run.get({"load": (mark_b, 1)}, ["load"])
        run.get({"load_2": (mark_b, 1)}, ["load_2"])
    guessed = [(tags, origin) for name, tags, origin in _SEEN if name == "B"]
    assert guessed == [(("A",), 2)] * 2, "wrong, and so it must not be called exact"


class _Written(Expr):
    """Any expression."""

    _parameters: ClassVar[list[str]] = ["value"]


def test_layers_travel_to_where_there_is_no_spanwise() -> None:
    provenance = remember_provenance()
    with span("A"):
        x = da.ones(3)
        expression = _Written(1)
        provenance._keep(expression, Source(current_annotation(), True))
        with provenance.working_on(expression):
            y = x + 1
    layers = pickle.dumps(list(y.dask.layers.values()))
    assert b"_spanwise_source" in layers, "a layer made while Dask optimised"
    assert b"spanwise." not in layers


def test_dask_goes_on_when_noting_fails() -> None:
    def fails(made: Any) -> None:
        raise AttributeError("no such thing in this version")

    note = _harmless(fails)
    with pytest.warns(RuntimeWarning, match="no such thing in this version"):
        note(1)
    with warnings_as_errors():
        note(2)
