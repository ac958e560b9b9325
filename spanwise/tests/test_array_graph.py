"""Graphs of arrays are what Dask's own optimiser makes, up to lines that Dask leaves unfused."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import pytest
from dask import delayed
from dask._task_spec import (
    Alias,
    DataNode,
    GraphNode,
    List,
    Task,
    TaskRef,
    _execute_subgraph,
    _identity_cast,
    convert_legacy_graph,
)
from dask._task_spec import cull as needed
from dask.array.chunk import getitem
from dask.array.core import getter, getter_nofancy
from dask.array.optimization import optimize
from dask.base import collections_to_expr
from dask.blockwise import Blockwise, blockwise_token
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import ensure_dict

from spanwise import Client
from spanwise.graph import array_graph as module
from spanwise.graph import attribution
from spanwise.graph.array_blocks import Blocks
from spanwise.graph.array_graph import array_graph
from spanwise.graph.array_lines import fuse_lines
from spanwise.graph.array_overlaps import is_overlap, overlap_names
from spanwise.graph.array_walk import ArrayWalk
from spanwise.graph.new_task import new_task
from spanwise.graph.prepare import prepare
from spanwise.graph.private_dask import FinalizeCompute, array_names
from spanwise.graph.provenance import Provenance
from spanwise.graph.rows import nodes_of
from spanwise.tests.computations import COMPUTATIONS, SIZES
from spanwise.tests.packed_run import PackedRun
from spanwise.tests.same_results import assert_same


def _grid(side: int = 6, chunk: int = 2) -> da.Array:
    return da.from_array(np.arange(side * side).reshape(side, side), chunks=chunk)


def _add(*blocks: Any, **keywords: Any) -> Any:
    return sum(blocks) + sum(keywords.values())


def _of_blocks(blocks: Any) -> Any:
    return np.asarray(sum(each.sum() for each in flatten([blocks]))).reshape(1)


class Source:
    """Something that is no array, and gives parts of one."""

    shape, dtype, ndim = (6, 6), np.dtype(float), 2

    def __getitem__(self, index: Any) -> Any:
        return np.ones(self.shape)[index]


def _number(value: float) -> da.Array:
    return da.from_delayed(delayed(float)(value), (), dtype=float)


#: What the computations of other tests lack.
ODD: dict[str, Callable[[], Any]] = {
    "blocks in one": lambda: da.blockwise(
        _of_blocks, "i", _grid(), "ij", dtype=int, concatenate=False, new_axes={}
    ),
    "blocks concatenated": lambda: da.blockwise(
        lambda block: block.sum(axis=1), "i", _grid(), "ij", dtype=int, concatenate=True
    ),
    "broadcast": lambda: _grid() + _grid()[:1] + da.ones(6, chunks=2)[:, None],
    "delayed argument": lambda: _grid().map_blocks(_add, delayed(int)(3), dtype=int),
    "delayed keyword": lambda: _grid().map_blocks(_add, more=delayed(int)(3), dtype=int),
    "array keyword": lambda: _grid().map_blocks(_add, more=_number(2.0), dtype=float),
    "own source": lambda: da.from_array(Source(), chunks=2, asarray=True)[1:][::2] + 1,
    "locked source": lambda: da.from_array(Source(), chunks=2, lock=True)[1:5, :3][::2],
    "source in the tasks": lambda: da.from_array(Source(), chunks=3, inline_array=True) * 2,
    "one block of many": lambda: _grid(40, 2).map_blocks(_add, 1, dtype=int)[3, 3],
    "not optimised before": lambda: dask.optimize(_grid() + 1)[0] * 2,
    "persisted before": lambda: dask.persist(_grid() + 1, scheduler="threads")[0] * 2,
    "same twice": lambda: _grid().dot(_grid()) + _grid(),
    "without axes": lambda: _grid().sum() + _number(1.5),
    "shuffled": lambda: _grid()[[5, 0, 3, 1], :] + 1,
    "overlap": lambda: _grid().map_overlap(_add, depth=1, boundary="periodic", dtype=int).sum(),
    "part of an overlap": lambda: _grid(30).map_overlap(_add, depth=1, dtype=int)[:3, :3],
    "random": lambda: da.random.default_rng(3).random((6, 6), chunks=2).std(axis=0),
    "block numbers": lambda: _grid().map_blocks(
        lambda block, block_id, block_info: block + block_id[0] + block_info[0]["num-chunks"][0],
        dtype=int,
    ),
}


def _computations() -> dict[str, Callable[[], Any]]:
    found = ODD.copy()
    for name, build in COMPUTATIONS.items():
        if name.startswith("array-"):
            for size in ("few", "many"):
                found[f"{name}-{size}"] = lambda build=build, size=size: build(SIZES[size])
    return found


ARRAYS = _computations()


def _expression(collection: Any) -> Any:
    return FinalizeCompute(collections_to_expr([collection], True)).optimize()


def _said(value: Any) -> Any:
    """What a task or an argument says, however it is written."""
    if isinstance(value, (TaskRef, Alias)):
        return "input", value.key if isinstance(value, TaskRef) else value.target
    if isinstance(value, DataNode):
        return _said(value.value)
    if isinstance(value, Task):
        if value.func is _execute_subgraph:
            inner, result, keys, *given = value.args
            parts = {key: _said(each) for key, each in inner.items()}
            inputs = {key: _said(each) for key, each in zip(keys, given, strict=True)}
            return "fused", parts, result, inputs
        if isinstance(value, List) or (
            value.func is _identity_cast and value.kwargs == {"typ": list}
        ):
            return [_said(each) for each in value.args]
        keywords = {name: _said(each) for name, each in value.kwargs.items()}
        function: Any = value.func
        if isinstance(function, partial):
            function = (function.func, *function.args)
        return "call", function, [_said(each) for each in value.args], keywords
    if isinstance(value, dict):
        return {key: _said(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_said(each) for each in value]
    if isinstance(value, set):
        return "set", frozenset(value)
    if isinstance(value, np.ndarray):
        return "array", value.dtype, value.shape, value.tobytes()
    if isinstance(value, slice):
        return "slice", value.start, value.stop, value.step
    return value if isinstance(value, (int, float, str, type(None), type)) else id(value)


@pytest.mark.parametrize("name", ARRAYS)
def test_tasks_are_those_of_dask(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before lines are fused; the same layers go both ways."""
    expression = _expression(ARRAYS[name]())
    keys = list(flatten(expression.__dask_keys__()))
    (array,) = expression.operands
    layered = array.hlg
    with dask.config.set({"optimization.fuse.active": False}):
        theirs = needed(convert_legacy_graph(ensure_dict(optimize(layered, keys))), keys)
    monkeypatch.setattr(module, "fuse_lines", lambda nodes, *_: nodes)
    made = module._optimised(layered, keys, array_names())
    assert made is not None
    ours = nodes_of(made)
    assert ours.keys() == theirs.keys()
    for key, node in ours.items():
        # (an alias goes by its target; what blockwise fuses is made anew in each optimisation)
        assert node.key == theirs[key].key
        assert node.dependencies == theirs[key].dependencies, key
        assert node.data_producer == theirs[key].data_producer
        assert type(node) is type(theirs[key])
        assert _said(node) == _said(theirs[key]), key


def _lines(graph: dict[Any, GraphNode], expression: Any) -> set[frozenset[Any]]:
    """The keys of tasks that are one now; aliases of them are none of their own."""
    (array,) = expression.operands
    keys = ensure_dict(array.hlg).keys()
    found = set()
    for key, node in graph.items():
        if isinstance(node, Task) and node.func is _execute_subgraph:
            inner = node.args[0]
            # What blockwise has fused has its layers' names for keys.
            is_line = any(each in keys for each in inner)
            found.add(frozenset(inner) if is_line else frozenset([key]))
        elif not (isinstance(node, Alias) and node.target in graph):
            found.add(frozenset([key]))
    return found


@pytest.mark.parametrize("name", ARRAYS)
def test_lines_that_dask_fuses_are_fused(name: str) -> None:
    expression = _expression(ARRAYS[name]())
    keys = list(flatten(expression.__dask_keys__()))
    theirs = needed(expression.__dask_graph__(), keys)
    ours = array_graph(expression)
    assert ours is not None and set(keys) <= ours.keys()
    assert len(ours) <= len(theirs)
    lines = _lines(ours, expression)
    for line in _lines(theirs, expression):
        assert any(line <= longer for longer in lines), line


@pytest.mark.parametrize("name", ODD)
def test_results_are_those_of_dask(name: str) -> None:
    collection = ODD[name]()
    expression = _expression(collection)
    (key,) = flatten(expression.__dask_keys__())
    graph = array_graph(expression)
    assert graph is not None
    assert_same(dask.get(graph, key), dask.compute(collection, scheduler="sync")[0])


class Pair(NamedTuple):
    """Dask takes it for a list of its own kind."""

    first: Any
    second: Any


@pytest.mark.parametrize("key", ["a", ("a", 0), 1, 1.5])
def test_arguments_in_the_old_form_are_those_of_dask(key: Any) -> None:
    """Whatever names a key is an input, wherever it stands, and nothing else."""
    arguments: list[Any] = [
        *(key, [key], [[key], 1], (key, 1), (slice(key), key), {key}, Pair(key, [key])),
        *({"of": key}, [{"of": key}], (_add, key, 1), [(_add, key)], [], (), [1], ["b"], "b"),
        *(True, 1, 1.0, 2.5, None, ..., slice(1), (slice(1), 1, None), ("a", 1), (1, 2), int),
        # (calls of classes)
        *((int, 3), (list,), (slice, None), (slice(1), (int, 3))),
        *(np.arange(3), {"c"}, Pair(1, "b"), (1, "text"), DataNode(None, 3), TaskRef(key)),
    ]
    graph: dict[Any, Any] = {key: 5, "d": {"of": key}, "e": [key], "f": key, "g": "text"}
    graph.update({("task", n): (_add, each, 7) for n, each in enumerate(arguments)})
    made, _ = ArrayWalk([MaterializedLayer(graph)], array_names()).nodes_for(graph)
    ours = nodes_of(made)
    theirs = convert_legacy_graph(graph)
    assert ours.keys() == theirs.keys()
    for each, node in theirs.items():
        assert type(ours[each]) is type(node)
        assert ours[each].dependencies == node.dependencies, each
        assert _said(ours[each]) == _said(node), each


def test_lines_end_where_others_join_and_at_what_is_asked_for() -> None:
    """By the letters: b needs a, c needs b and so on; d and e both need c; f needs d and e."""
    graph: dict[Any, Any] = {
        "a": Task("a", _add, 1),
        "b": Task("b", _add, TaskRef("a")),
        "c": Task("c", _add, TaskRef("b"), TaskRef("b")),
        "d": Task("d", _add, TaskRef("c")),
        "e": Task("e", _add, TaskRef("c"), 1),
        "f": Task("f", _add, TaskRef("d"), TaskRef("e")),
        "g": Task("g", _add, TaskRef("f")),
        "h": Task("h", _add, TaskRef("g")),
    }
    names = array_names()

    def fused(*asked: str) -> set[frozenset[Any]]:
        walk = ArrayWalk([MaterializedLayer(graph)], names)
        nodes, lines = walk.nodes_for(asked)
        made = nodes_of(fuse_lines(nodes, lines, set(asked), names))
        assert dask.get(made, list(asked)) == dask.get(graph, list(asked))
        return {
            frozenset(node.args[0]) if node.func is _execute_subgraph else frozenset([node.key])
            for node in made.values()
            if isinstance(node, Task)
        }

    assert fused("h") == {frozenset("abc"), frozenset("d"), frozenset("e"), frozenset("fgh")}
    assert fused("h", "g") == {
        frozenset("abc"), frozenset("d"), frozenset("e"), frozenset("fg"), frozenset("h")
    }  # fmt: skip
    assert fused("b", "c") == {frozenset("ab"), frozenset("c")}


def test_tasks_that_wait_for_each_other_stay() -> None:
    """The cull that follows says so to the user."""
    graph: dict[Any, Any] = {
        "a": Task("a", _add, TaskRef("b")),
        "b": Task("b", _add, TaskRef("a")),
        "c": Task("c", _add, 1),
    }
    names = array_names()
    nodes, lines = ArrayWalk([MaterializedLayer(graph)], names).nodes_for(["a", "c"])
    assert fuse_lines(nodes, lines, {"c"}, names).keys() == graph.keys()


class Held(TaskRef):
    """Refers to a task by its key, as a future does."""


def test_futures_are_inputs_wherever_they_stand() -> None:
    array = _grid().map_blocks(_add, Held("held"), dtype=int)
    for graph in (array, da.Array({("y", 0): (_add, 1, Held("held"))}, "y", ((1,),), dtype=int)):
        made = array_graph(_expression(graph))
        assert made is not None
        assert {"held"} == set().union(*(node.dependencies for node in made.values())) - made.keys()


def test_a_future_is_an_argument_of_blocks() -> None:
    with Client(n_workers=1) as client:
        for future, more in ((client.submit(int, 3), 3), (client.scatter(np.ones((2, 2))), 1)):
            blocks = _grid().map_blocks(_add, future, dtype=float)
            assert blocks.sum().compute() == _grid().sum().compute() + 36 * more


def _step(name: str) -> Callable[[Any], Any]:
    def step(value: Any) -> Any:
        return value

    step.__name__ = name
    made: Callable[[Any], Any] = delayed(step)
    return made


def test_lines_with_long_names_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a name of more than 115 letters Dask keeps these, and a hash of 16 bits."""
    monkeypatch.setattr("dask.optimization.hash", lambda _: 7, raising=False)
    steps = [_step(letter * 19) for letter in "abcdefg"]
    parts = []
    for number in range(3):
        value: Any = number
        for step in steps:
            value = step(value)
        # (each line has two users, with which it ends)
        parts += [da.from_delayed(delayed(np.full)(1, value), (1,), dtype=int) for _ in range(2)]
    expression = _expression(da.concatenate(parts))
    graph = array_graph(expression)
    assert graph is not None
    assert sum(len(line) == len(steps) for line in _lines(graph, expression)) == 3
    (key,) = flatten(expression.__dask_keys__())
    assert dask.get(graph, key).tolist() == [0, 0, 1, 1, 2, 2]


def test_a_line_has_no_name_that_is_anothers() -> None:
    """Dask would name it by both functions and the last key: "first-last"."""
    graph: dict[Any, Any] = {
        "first": Task("first", _add, 1),
        "last": Task("last", _add, TaskRef("first"), 1),
        "first-last": Task("first-last", _add, 5),
    }
    names = array_names()
    asked = ["last", "first-last"]
    nodes, lines = ArrayWalk([MaterializedLayer(graph)], names).nodes_for(asked)
    made = nodes_of(fuse_lines(nodes, lines, set(asked), names))
    assert dask.get(made, asked) == (2, 5)


@pytest.mark.parametrize("key", [1, 2.5, b"b", (3, 7), (None,)])
def test_lines_end_in_keys_of_all_kinds(key: Any) -> None:
    """Dask has no name for a line that ends in a key without a text at its beginning."""
    graph: dict[Any, Any] = {
        "a": Task("a", _add, 1),
        key: Task(key, _add, TaskRef("a"), 1),
        "c": Task("c", _add, TaskRef(key), 1),
        "d": Task("d", _add, TaskRef(key), TaskRef("c")),
    }
    names = array_names()
    nodes, lines = ArrayWalk([MaterializedLayer(graph)], names).nodes_for("d")
    made = nodes_of(fuse_lines(nodes, lines, {"d"}, names))
    assert len(made) == 3
    assert dask.get(made, "d") == 5


@pytest.mark.parametrize("get", [getter, getter_nofancy])
def test_tasks_that_read_from_a_source_are_fused_with_slices(get: Any) -> None:
    source = np.arange(40.0)
    blocks = {("read", i): (get, source, (slice(10 * i, 10 * i + 10),)) for i in range(4)}
    read = da.Array(blocks, "read", ((10,) * 4,), dtype=float)
    for array, values in ((read[5:31], source[5:31]), (read * 2, source * 2)):
        expression = _expression(array - array.mean())
        graph = array_graph(expression)
        assert graph is not None
        (key,) = flatten(expression.__dask_keys__())
        assert_same(dask.get(graph, key), values - values.mean())


def _fused(graph: Any, expression: Any) -> dict[Any, Any]:
    """What fused tasks say."""
    keys = list(flatten(expression.__dask_keys__()))
    return {
        key: _said(node)
        for key, node in needed(graph, keys).items()
        if isinstance(node, Task) and node.func is _execute_subgraph
    }


def _old_slices(array: da.Array) -> da.Array:
    """The middle of each of four blocks, in two steps, in the old form."""
    steps = {
        **{("wide", n): (getitem, (array.name, n), (slice(1, 9),)) for n in range(4)},
        **{("narrow", n): (getitem, ("wide", n), (slice(1, 3),)) for n in range(4)},
    }
    layered = HighLevelGraph.from_collections("narrow", steps, dependencies=[array])
    return da.Array(layered, "narrow", ((2,) * 4,), dtype=float)


def _blocks_of_slices(array: da.Array) -> da.Array:
    """The same, in a layer whose task is fused."""
    token = blockwise_token(0)
    inner = {
        "wide": Task("wide", getitem, TaskRef(token), (slice(1, 9),)),
        "narrow": Task("narrow", getitem, TaskRef("wide"), (slice(1, 3),)),
    }
    task = Task("cut", _execute_subgraph, inner, "narrow", (token,), TaskRef(token))
    layer = Blockwise("cut", "i", task, [(array.name, "i")], {array.name: (4,)})
    layered = HighLevelGraph.from_collections("cut", layer, dependencies=[array])
    cut = da.Array(layered, "cut", ((2,) * 4,), dtype=float)
    return da.concatenate([cut, cut, array])  # (so that it is in no line)


@pytest.mark.parametrize("cut", [_old_slices, _blocks_of_slices, lambda array: array[1:][:30][::2]])
def test_slices_of_slices_are_one(cut: Callable[[da.Array], da.Array]) -> None:
    """As Dask has it: otherwise a worker would read more than is needed."""
    # One for each: Dask changes parts where they are.
    mine, theirs = (_expression(cut(da.from_array(np.arange(40.0), chunks=10))) for _ in range(2))
    graph = array_graph(mine)
    assert graph is not None
    fused = _fused(graph, mine)
    assert fused and fused == _fused(theirs.__dask_graph__(), theirs)


def test_only_what_is_needed_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make = Blocks.make

    def counted(self: Any, key: Any) -> Any:
        made.append(key)
        return make(self, key)

    monkeypatch.setattr(Blocks, "make", counted)
    large = da.ones((4_000, 4_000), chunks=10).map_blocks(_add, 1, dtype=float)
    graph = array_graph(_expression(large[:5, :5] + 1))
    assert graph is not None and len(graph) <= 4
    assert len(made) <= 2


def test_a_task_has_all_that_dasks_constructor_gives() -> None:
    theirs = Task("key", _add, TaskRef("a"), 1, more=2, _data_producer=True)
    ours = new_task("key", _add, theirs.args, {"more": 2}, frozenset("a"), True)
    assert {slot: getattr(ours, slot) for slot in Task.get_all_slots()} == {
        slot: getattr(theirs, slot) for slot in Task.get_all_slots()
    }


@pytest.mark.parametrize("name", ["overlap", "block numbers", "same twice"])
def test_a_graph_is_gone_once_it_is_sent(name: str) -> None:
    """Nothing of it is left for the collector, which would look through all that is new."""
    run = PackedRun()

    def send() -> int:
        expression = _expression(ODD[name]())
        keys = list(flatten(expression.__dask_keys__()))
        graph = prepare(expression, keys, run.provenance)
        return sum(len(each.tasks["id"]) for each in run.packer.pack(graph, {}, keys, 0))

    send()
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        assert send() > 10
        assert gc.collect() < 50
    finally:
        if enabled:
            gc.enable()


def test_overlaps_have_the_names_of_their_keys() -> None:
    array = _grid().map_overlap(_add, depth={0: 1, 1: (2, 0)}, boundary="none", dtype=int)
    (layer,) = [each for each in array.dask.layers.values() if is_overlap(each)]
    assert {key[0] for key in dict(layer)} == set(overlap_names(layer))
    assert not is_overlap(layer)


@pytest.mark.parametrize("depth", [0, 1, (2, 0), {0: 1}, {0: (0, 1), 1: 0}, {0: (1, 2), 1: 1}])
def test_overlaps_of_any_depth_are_those_of_dask(depth: Any) -> None:
    """Also what asks for blocks and edges that are none is told so."""
    array = _grid(9, 3).map_overlap(_add, depth=depth, boundary="none", dtype=int)
    for layer in array.dask.layers.values():
        if not is_overlap(layer):
            continue
        walk = ArrayWalk([layer], array_names())
        theirs = dict(layer)
        assert all(key in walk for key in theirs)
        whole, edges = overlap_names(layer)
        for key in ((whole, 0.9, 1), (whole, 3, 0), (edges, 0.5, 0), (edges, 0), (whole,)):
            assert key not in theirs and key not in walk
        names = convert_legacy_graph(theirs, {*theirs, *((layer.name, *key[1:]) for key in theirs)})
        made, _ = walk.nodes_for(theirs)
        ours = nodes_of(made)
        assert ours.keys() == names.keys()
        for key, node in names.items():
            assert ours[key].dependencies == node.dependencies
            assert _said(ours[key]) == _said(node), key


def test_what_users_set_otherwise_is_left_to_dask() -> None:
    plain = _grid() + 1
    assert array_graph(_expression(plain)) is not None
    with dask.config.set({"optimization.fuse.active": False}):
        assert array_graph(_expression(plain)) is None
    with dask.config.set(array_optimize=lambda graph, keys: graph):
        assert array_graph(_expression(plain)) is None
    assert array_graph(_expression(delayed(int)(1))) is None
    assert array_graph(collections_to_expr([plain], False)) is None


def test_several_arrays_are_one_graph() -> None:
    one = _grid() + 1
    expression = FinalizeCompute(collections_to_expr([one, one * 2], True)).optimize()
    graph = array_graph(expression)
    assert graph is not None
    keys = list(flatten(expression.__dask_keys__()))
    found = dask.get(graph, keys)
    expected = dask.compute(one, one * 2, scheduler="sync")
    for mine, theirs in zip(found, expected, strict=True):
        assert_same(mine, theirs)


def test_annotated_arrays_are_left_to_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """It alone knows what became of the annotations of layers that it has fused."""
    with dask.annotate(priority=3):
        expression = _expression(_grid().sum())
    made: list[Any] = []
    monkeypatch.setattr(attribution, "array_rows", made.append)
    assert prepare(expression, expression.__dask_keys__(), Provenance()).nodes
    assert not made


def test_prepare_makes_arrays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    expression = _expression(ODD["overlap"]())

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("Dask's optimiser was called.")

    monkeypatch.setattr("dask.array.optimization.fuse_linear_task_spec", never)
    # (also since it leaves references to the frames of all callers to the collector)
    monkeypatch.setattr("dask.layers.ArrayOverlapLayer._construct_graph", never)
    assert prepare(expression, expression.__dask_keys__(), Provenance()).nodes
