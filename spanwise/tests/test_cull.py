"""Which tasks a graph must run, and in which order they are submitted, on drawn graphs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import dask
import hypothesis.strategies as st
import pytest
from dask._task_spec import (
    Alias,
    DataNode,
    Dict,
    GraphNode,
    List,
    Task,
    TaskRef,
    _execute_subgraph,
)
from hypothesis import given

from spanwise import span
from spanwise.graph.cull import cull
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.prepare import prepare

Graph = dict[Any, GraphNode]


class HeldByAFuture(TaskRef):
    """A reference of somebody else's class, as the client's futures are."""


class AfterOthers(Task):
    """A node of somebody else's class that waits for more than its arguments name."""

    __slots__ = ()

    def __init__(self, key: Any, func: Any, /, *args: Any, after: Iterable[Any] = ()) -> None:
        super().__init__(key, func, *args)
        self._dependencies = self.dependencies.union(after)  # type: ignore[misc]  # a slot


def inputs(node: GraphNode) -> Iterable[Any]:
    """What a node needs, in the order in which its arguments name it, repeats included.

    Sorted if they do not name all of it, as in a node that waits for others besides.
    """
    if not isinstance(node, Task):
        return list(node.dependencies)
    named: list[Any] = []
    if node.func is not _execute_subgraph:
        for value in (*node.args, *node.kwargs.values()):
            if isinstance(value, TaskRef):
                named.append(value.key)
            elif isinstance(value, GraphNode):
                named += inputs(value)
    if set(named) == node.dependencies:
        return named
    try:
        return sorted(node.dependencies)
    except TypeError:
        return sorted(node.dependencies, key=str)


def walk(graph: Graph, requested: Iterable[Any], held: Iterable[Any] = ()) -> list[Any]:
    """The order of a walk from the requested keys that leaves a task after its inputs."""
    left: dict[Any, None] = {}

    def visit(key: Any) -> None:
        if key in graph and key not in held and key not in left:
            for each in inputs(graph[key]):
                visit(each)
            left[key] = None

    for key in requested:
        visit(key)
    return list(left)


KINDS = [
    "call",
    "call",
    "list",
    "keywords",
    "nested",
    "dict",
    "fused",
    "alias",
    "data",
    "future",
    "after",
]


@st.composite
def graphs(draw: Any) -> Graph:
    """Random graphs, scrambled, whose tasks name some of their inputs twice or are of outside."""
    count = draw(st.integers(1, 25))
    graph: Graph = {}
    # Texts and tuples: these cannot be sorted by themselves.
    keys: list[Any] = [f"t-{n}" if draw(st.booleans()) else ("t", n) for n in range(count)]
    for number, key in enumerate(keys):
        known = [*keys[:number], "outside", ("outside", 1)]
        refs = [TaskRef(each) for each in draw(st.lists(st.sampled_from(known), max_size=5))]
        kind = draw(st.sampled_from(KINDS))
        if kind == "data" or (kind == "alias" and not refs):
            graph[key] = DataNode(key, number)
        elif kind == "alias":
            graph[key] = Alias(key, refs[0])
        elif kind == "list":
            graph[key] = Task(key, max, 0, *refs[:2], List(*refs[2:]))
        elif kind == "keywords":
            named = {f"x{n}": ref for n, ref in enumerate(refs[2:])}
            graph[key] = Task(key, max, List(*refs[:2], 1), **named)
        elif kind == "nested":
            graph[key] = Task(key, max, Task(None, min, *refs[1:], None), *refs[:1], [refs])
        elif kind == "dict":
            graph[key] = Task(key, max, Dict({str(n): ref for n, ref in enumerate(refs)}), *refs)
        elif kind == "fused":
            first = Task(("inner", number), max, *refs)
            graph[key] = GraphNode.fuse(first, Task(key, abs, first.ref()))
        elif kind == "after":
            graph[key] = AfterOthers(key, max, *refs[2:], after=[ref.key for ref in refs])
        elif kind == "future":
            graph[key] = Task(key, max, *(HeldByAFuture(ref.key) for ref in refs[:1]), *refs[1:])
        else:
            graph[key] = Task(key, max, *refs)
    return {key: graph[key] for key in draw(st.permutations(keys))}


@given(graphs(), st.data())
def test_inputs_are_submitted_before_their_users(graph: Graph, data: Any) -> None:
    requested = data.draw(st.lists(st.sampled_from([*graph, "elsewhere"]), min_size=1))
    held = data.draw(st.sets(st.sampled_from([*graph, "outside"])))
    nodes, external = cull(graph, requested, held)
    assert list(nodes) == walk(graph, requested, held)
    assert all(node is graph[key] for key, node in nodes.items())
    needed = set(requested).union(*(node.dependencies for node in nodes.values()))
    assert external == needed - set(nodes)
    seen: set[Any] = set()
    for key, node in nodes.items():
        assert node.dependencies <= seen | external
        seen.add(key)


@given(graphs())
def test_a_graph_without_held_results_is_whole(graph: Graph) -> None:
    nodes, external = cull(graph, iter(list(graph)), {})
    assert list(nodes) == walk(graph, graph) and set(nodes) == set(graph)
    assert external <= {"outside", ("outside", 1)}


def test_ways_through_a_graph_are_those_of_its_arguments() -> None:
    loads = [f"load-{number}" for number in range(100)]
    graph: Graph = {key: Task(key, abs, 1) for key in sorted(loads, key=hash)}
    graph["all"] = Task("all", sum, List(*(TaskRef(key) for key in loads)))
    assert list(cull(graph, ["all"], ())[0]) == [*loads, "all"]
    # The same where some are shared.
    graph["two"] = Task("two", max, TaskRef(loads[7]), TaskRef(loads[3]))
    assert list(cull(graph, ["two", "all"], ())[0]) == [
        *(loads[7], loads[3], "two"),
        *(load for load in loads if load not in (loads[7], loads[3])),
        "all",
    ]


def needing(*needs: list[int]) -> Graph:
    """Tasks t0, t1, …, each with the numbers of those that it needs."""
    return {
        f"t{number}": Task(f"t{number}", max, *(TaskRef(f"t{need}") for need in needed))
        for number, needed in enumerate(needs)
    }


def test_cycles_are_named() -> None:
    graph = needing([1], [2], [0], [0, 1])
    with pytest.raises(RuntimeError, match=r"cycle: (t[012]( -> |$)){4}"):
        cull(graph, ["t3"], ())
    with pytest.raises(RuntimeError, match=r"^The graph has a cycle: t0 -> t0$"):
        cull(needing([0]), ["t0"], ())
    # Beside what is no part of it: keys of outside, tasks that wait for it, other inputs.
    graph = needing([1, 4], [9, 5, 2, 4], [3, 5], [4, 1], [], [])
    with pytest.raises(RuntimeError, match=r"^The graph has a cycle: t3 -> t1 -> t2 -> t3$"):
        cull(graph, ["t5", "t0"], ())


@given(st.lists(st.lists(st.integers(0, 8), max_size=3), min_size=1, max_size=8), st.data())
def test_a_cycle_is_one_or_there_is_none(needs: list[list[int]], data: Any) -> None:
    graph = needing(*needs)
    held = data.draw(st.sets(st.sampled_from(list(graph))))
    try:
        nodes, _ = cull(graph, graph, held)
    except RuntimeError as error:
        loop = str(error).partition("The graph has a cycle: ")[2].split(" -> ")
        assert loop[0] == loop[-1] and len(set(loop)) == len(loop) - 1
        for key, needed in itertools.pairwise(loop):
            assert needed in graph[key].dependencies and key not in held
    else:
        seen: set[Any] = set()
        for key, node in nodes.items():
            assert not (node.dependencies - held - seen) & set(graph)
            seen.add(key)


def test_inputs_of_fused_tasks_are_in_the_order_of_their_keys() -> None:
    """Not in that of their texts, if they have one."""
    refs = [TaskRef(("x", number)) for number in (30, 4, 200, 1)]
    first = Task("inner", max, *refs)
    graph: Graph = {ref.key: Task(ref.key, abs, 1) for ref in refs}
    graph["fused"] = GraphNode.fuse(first, Task("fused", abs, first.ref()))
    nodes, _ = cull(graph, ["fused"], ())
    assert list(nodes) == [("x", 1), ("x", 4), ("x", 30), ("x", 200), "fused"]


class TestPrepare:
    def test_keys_may_be_nested_or_any_iterable(self) -> None:
        provenance = remember_provenance()
        graph = {key: Task(key, abs, 1) for key in ("a", "b", ("c", 0), "d")}
        for keys in (["b", [["a"], ("c", 0)]], ("b", "a", ("c", 0)), iter(["b", "a", ("c", 0)])):
            prepared = prepare(graph, keys, provenance)
            assert list(prepared.nodes) == ["b", "a", ("c", 0)]
            assert prepared.external == set() and prepared.annotations == {}
            assert set(prepared.known) == set(graph)  # type: ignore[call-overload]

    def test_legacy_graphs_become_nodes_if_any_is_none(self) -> None:
        provenance = remember_provenance()
        graph = {"a": Task("a", abs, -1), "b": (max, "a", 0), "c": 5, "d": "c"}
        nodes = prepare(graph, ["b", "d"], provenance).nodes
        assert list(nodes) == ["a", "b", "c", "d"]
        assert all(isinstance(node, GraphNode) for node in nodes.values())
        assert nodes["a"] is graph["a"] and nodes["b"].dependencies == {"a"}

    def test_annotations_are_handed_on(self) -> None:
        with dask.annotate(retries=3), span("A"):
            value = dask.delayed(abs)(-1)
        expression = dask.base.collections_to_expr([value]).optimize()
        prepared = prepare(expression, [value.key], remember_provenance())
        assert prepared.annotations == {"retries": {value.key: 3}}

    def test_what_is_held_is_not_made_again(self) -> None:
        graph = {"a": Task("a", abs, -1), "b": Task("b", abs, TaskRef("a"))}
        prepared = prepare(graph, ["b"], remember_provenance(), held={"a"})
        assert list(prepared.nodes) == ["b"] and prepared.external == {"a"}
        assert "a" in prepared.known

    def test_a_call_s_own_graph_is_written_where_it_is_made(self) -> None:
        provenance = remember_provenance()
        key = "sum-0123456789abcdef0123456789abcdef"
        with span("A"):
            provenance.note_delayed(key)
        cases: list[tuple[dict[str, bool], Any]] = [
            ({"written_here": True}, ("B",)),
            ({"written_here": False}, ("A",)),
            ({}, ("A",)),
        ]
        for options, expected in cases:
            with span("B"):
                prepared = prepare({key: 1}, [key], provenance, **options)  # type: ignore[arg-type]
            found = prepared.attribution.of(key).span
            assert found is not None and found["name"] == expected
