"""Tasks of one pattern are sent as they would be if each were taken apart by itself."""

from __future__ import annotations

import itertools
import pickle
import random
import weakref
from collections.abc import Hashable
from typing import Any

import cloudpickle
import dask
import pytest
from dask._task_spec import (
    Alias,
    DataNode,
    Dict,
    GraphNode,
    List,
    Set,
    Task,
    TaskRef,
    Tuple,
    _execute_subgraph,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import span
from spanwise.graph import patterns
from spanwise.graph.packs import SubmitMessage
from spanwise.graph.patterns import Patterns
from spanwise.graph.places import Shape, shape_of
from spanwise.graph.prepare import prepare
from spanwise.graph.provenance import name_of
from spanwise.tests import packed_run
from spanwise.tests.computations import COMPUTATIONS, SIZES
from spanwise.tests.drawn_nodes import Drawing, Name, say, tell, written_names
from spanwise.tests.packed_run import PackedRun

_serial = itertools.count()


class Kept(PackedRun):
    """Keeps what was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[SubmitMessage] = []

    def _run(self, message: SubmitMessage) -> None:
        super()._run(message)
        self.messages.append(message)

    def sent(self) -> list[Any]:
        """All of it, comparable."""
        found: list[Any] = []
        for each in self.messages:
            blobs: list[Any] = [bytes(blob) for blob in each.blobs]
            for chunk in each.fields["chunks"]:
                # One by one: what several have in common is pickled once.
                rows = pickle.loads(blobs[chunk["blob"]])
                blobs[chunk["blob"]] = [list(map(cloudpickle.dumps, row)) for row in rows]
            columns = {name: list(column) for name, column in each.tasks.items()}
            found.append((each.fields, columns, list(each.dependencies), blobs))
        return found


def by_itself(self: Patterns, node: GraphNode) -> Any:
    """Take a node apart as if it had no pattern."""
    shape = shape_of(node, self._names)
    return self._group_of(shape), shape.inputs, tuple(shape.literals)


def both_ways(graph: Any, keys: Any, run: Kept | None = None) -> Kept:
    """Send a graph both ways, compare, and return the run with patterns."""
    run = run or Kept()
    alone = Kept()
    # Once: where Dask's graphs were written may be known better the second time.
    prepared = prepare(graph, keys, run.provenance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_run, "prepare", lambda *_: prepared)
        run.get(graph, keys)
        patch.setattr(Patterns, "take_apart", by_itself)
        alone.get(graph, keys)
    assert run.sent() == alone.sent()
    return run


def counted(monkeypatch: pytest.MonkeyPatch) -> list[GraphNode]:
    """The nodes that are taken apart by themselves from now on."""
    found: list[GraphNode] = []

    def noting(node: GraphNode, names: Any) -> Any:
        found.append(node)
        return shape_of(node, names)

    monkeypatch.setattr(patterns, "shape_of", noting)
    return found


class Again(Drawing):
    """Draws the same as another of the same chance, under other keys."""

    def __init__(self, seed: int, names: list[Name], most: int, first: int) -> None:
        self._first = first
        super().__init__(random.Random(seed), names, most)

    def _key(self, number: int) -> Any:
        return super()._key(self._first + number)


@given(st.integers(0, 1 << 32), st.booleans())
@settings(deadline=None, max_examples=100)
def test_drawn_graphs_whose_tasks_repeat_are_sent_alike(seed: int, shared: bool) -> None:
    """Three times the same graph under other keys; with or without their parts in common."""
    run = Kept()
    names = written_names(run.provenance, next(_serial))
    copies = [list(Again(seed, names, 8, 10_000 * n).graph.items()) for n in range(3)]
    chance = random.Random(seed)
    graph: dict[Any, GraphNode] = {}
    for alike in zip(*copies, strict=True):
        first = alike[0][1]
        for key, node in alike:
            if shared and isinstance(node, Task) and node.func is _execute_subgraph:
                inner = first.args[:3]  # type: ignore[attr-defined]
                if chance.random() < 0.9:
                    node = Task(node.key, _execute_subgraph, *inner, *node.args[3:])
            graph[key] = node
    keys = list(graph)
    chance.shuffle(keys)
    both_ways({key: graph[key] for key in keys}, [key for each in copies for key, _ in each])


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_real_collections_are_sent_alike(name: str) -> None:
    with span("written", name):
        collection = COMPUTATIONS[name](SIZES["few"])

    def get(graph: Any, keys: Any, **kwargs: Any) -> Any:
        both_ways(graph, keys)
        return PackedRun().get(graph, keys)

    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        dask.compute(collection, scheduler=get)


def test_repeated_tasks_are_taken_apart_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as the first of their pattern, once for the plan; then never again."""
    found = counted(monkeypatch)
    graph: dict[Any, Any] = {}
    for n in range(50):
        graph["data", n] = DataNode(("data", n), n)
        graph["nested", n] = Task(
            ("nested", n), tell, List(Alias("a", ("data", n)), n), word=TaskRef(("data", n))
        )
        parts = (
            Task(("part", n), say, TaskRef(("nested", n)), n),
            Task(("fused", n), tell, TaskRef(("part", n)), n + 1),
        )
        graph["fused", n] = GraphNode.fuse(*parts, key=("fused", n))
    run = both_ways(graph, list(graph))
    mine = [node for node in found if isinstance(node, Task)]
    assert len(mine) == 4
    assert len(run.templates) == 3


def test_parts_in_common_are_walked_through_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {
        "last": Task("last", tell, TaskRef("first"), TaskRef("given"), "same"),
        "first": Task("first", say, TaskRef("given"), TaskRef("other")),
    }
    graph: dict[Any, Any] = {("data", n): DataNode(("data", n), n) for n in range(50)}
    for n in range(50):
        given = [TaskRef(("data", n)), DataNode(None, ("own", n))]
        graph["block", n] = Task(
            ("block", n), _execute_subgraph, inner, "last", ("given", "other"), *given
        )
    walks: list[Any] = []
    fused = patterns.Scan.fused

    def walking(self: patterns.Scan, node: Task, outer: Any) -> None:
        walks.append(node)
        fused(self, node, outer)

    monkeypatch.setattr(patterns.Scan, "fused", walking)
    run = Kept()
    values = run.get(graph, [("block", n) for n in range(50)])
    assert values == list(dask.get(graph, [("block", n) for n in range(50)]))
    assert len(walks) == 1
    both_ways(graph, [("block", n) for n in range(50)])


def test_what_differs_in_one_thing_has_another_pattern() -> None:
    """Each of these looks like its neighbours, and is another call."""
    a, b = TaskRef("a"), TaskRef("b")
    calls = [
        Task(None, tell, List(a), a, 1),
        Task(None, tell, List(a), b, 1),
        Task(None, tell, List(b), a, 1),
        Task(None, tell, List(a), 1, a),
        Task(None, say, List(a), a, 1),
        Task(None, tell, List(a, a), 1),
        Task(None, tell, List(a, List(a)), 1),
        Task(None, tell, List(Task(None, tell, a)), a, 1),
        Task(None, tell, List(Task(None, say, a)), a, 1),
        Task(None, tell, List(a), a, word=1),
        Task(None, tell, List(a), a, other=1),
        Task(None, tell, List(a), word=a, other=1),
        Task(None, tell, List(a), other=a, word=1),
        Task(None, tell, List(*[TaskRef(f"x{n}") for n in range(9)]), 1),
        Task(None, tell, List(*[TaskRef(f"x{n % 8}") for n in range(9)]), 1),
    ]
    graph: dict[Any, Any] = {key: DataNode(key, key) for key in "ab"}
    graph |= {f"x{n}": DataNode(f"x{n}", n) for n in range(9)}
    for number, call in enumerate(calls * 3):
        key = ("call", number)
        graph[key] = Task(key, call.func, *call.args, **call.kwargs)
        first = Task(("part", number), tell, TaskRef("a"), number)
        named = Task(("whole", number), call.func, first.ref(), *call.args, **call.kwargs)
        graph["whole", number] = GraphNode.fuse(first, named, key=("whole", number))
    keys = [key for key in graph if key[0] in ("call", "whole")]
    run = both_ways(graph, keys)
    found = PackedRun().get(graph, keys)
    assert found == list(dask.get(graph, keys))
    # Those with `a` and `b` exchanged are one call, where nothing else names `a`.
    assert len(run.templates) == 2 * len(calls)


def test_parts_of_other_names_or_spans_are_other_templates() -> None:
    run = Kept()
    with span("A"):
        run.provenance.note_delayed(f"in-a{id(run)}")
    graph: dict[Any, Any] = {}
    for n in range(6):
        name = ("out", f"in-a{id(run)}", "other")[n % 3]
        part = Task((name, n), tell, n)
        graph["whole", n] = GraphNode.fuse(
            part, Task(("whole", n), say, part.ref()), key=("whole", n)
        )
    both_ways(graph, list(graph), run)
    assert len(run.templates) == 3


def test_keys_with_sources_of_their_own_have_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one layer the span may be a function of the key."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    spans = {}
    for tag in "AB":
        with span(tag):
            spans[tag] = dask.get_annotations()["span"]
    tasks: dict[Any, Any] = {}
    for n in range(8):
        part = Task(("part", n), tell, n)
        whole = Task(("whole", n), say, part.ref())
        tasks["whole", n] = GraphNode.fuse(part, whole, key=("whole", n))
    layer = MaterializedLayer(tasks, annotations={"span": lambda key: spans["AB"[key[1] % 2]]})
    run = Kept()
    run.get(HighLevelGraph({"whole": layer}, {"whole": set()}), list(tasks))
    both_ways(HighLevelGraph({"whole": layer}, {"whole": set()}), list(tasks))
    wholes = [each for each in run.runs if each.name == "whole"]
    assert len(wholes) == 8


def test_long_and_deep_tasks_are_taken_apart_by_themselves() -> None:
    graph: dict[Any, Any] = {}
    for n in range(3):
        chain = [Task(("link", n, 0), tell, n)]
        for place in range(1, 150):
            chain.append(Task(("link", n, place), tell, chain[-1].ref()))
        graph["long", n] = GraphNode.fuse(*chain, key=("long", n))
    run = both_ways(graph, list(graph))
    assert len(run.templates) == 1
    assert pickle.loads(run.messages[0].blobs[0]).parts


def block(key: Any, inner: Any, result: Any, given: dict[str, Any]) -> Task:
    return Task(key, _execute_subgraph, inner, result, tuple(given), *given.values())


def test_parts_in_common_with_another_result_or_other_names_of_arguments() -> None:
    inner = {"a": Task("a", tell, TaskRef("x"), TaskRef("y")), "b": Task("b", say, TaskRef("a"))}
    graph: dict[Any, Any] = {}
    for n in range(12):
        x, y = DataNode(None, n), DataNode(None, -n)
        given = {"x": x, "y": y} if n % 3 else {"y": y, "x": x}
        graph["block", n] = block(("block", n), inner, "ab"[n % 2], given)
    both_ways(graph, list(graph))
    assert PackedRun().get(graph, list(graph)) == list(dask.get(graph, list(graph)))


def test_literals_come_in_the_order_of_the_arguments() -> None:
    graph: dict[Any, Any] = {}
    for n in range(12):
        x, y = DataNode(None, ("x", n)), DataNode(None, ("y", n))
        inner = {"a": Task("a", tell, TaskRef("x"), TaskRef("y"), n)}
        given = {"x": x, "y": y} if n % 3 else {"y": y, "x": x}
        graph["block", n] = block(("block", n), inner, "a", given)
    both_ways(graph, list(graph))
    assert PackedRun().get(graph, list(graph)) == list(dask.get(graph, list(graph)))


def test_parts_that_are_ordered_by_their_keys_have_no_pattern() -> None:
    """What a fused task inside another needs has an order by its keys alone."""
    graph: dict[Any, Any] = {}
    for n in range(12):
        one, two = ("part", n % 3), ("part", (n + 1) % 3)
        nested = {"r": Task("r", say, TaskRef("x"), TaskRef("y"))}
        inner = {
            "all": block("all", nested, "r", {"x": TaskRef(one), "y": TaskRef(two)}),
            one: Task(one, tell, 1),
            two: Task(two, say, 2),
        }
        graph["block", n] = block(("block", n), inner, "all", {})
        within = {"within": block("within", inner, "all", {})}
        graph["deeper", n] = block(("deeper", n), within, "within", {})
    both_ways(graph, list(graph))
    assert PackedRun().get(graph, list(graph)) == list(dask.get(graph, list(graph)))


def test_aliases_inputs_and_literals_that_look_alike_are_told_apart() -> None:
    five = [TaskRef(f"x{n}") for n in range(5)]
    calls = [
        List(Alias("p", "x0"), Alias("q", "x0")),
        List(Alias("p", "x0"), Alias("q", "x1")),
        List(*five, TaskRef("x5")),
        List(*five, 1),
    ]
    graph: dict[Any, Any] = {f"x{n}": DataNode(f"x{n}", n) for n in range(6)}
    for number, call in enumerate(calls * 3):
        graph["call", number] = Task(("call", number), tell, call)
    both_ways(graph, list(graph))
    assert PackedRun().get(graph, list(graph)) == list(dask.get(graph, list(graph)))


def test_literals_are_told_apart_though_they_were_one_value_at_first() -> None:
    graph: dict[Any, Any] = {}
    for n in range(12):
        inner = {"a": Task("a", tell, TaskRef("x"), TaskRef("y"))}
        given = {"x": DataNode(None, n // 2), "y": DataNode(None, n // 3)}
        graph["block", n] = block(("block", n), inner, "a", given)
    both_ways(graph, list(graph))
    assert PackedRun().get(graph, list(graph)) == list(dask.get(graph, list(graph)))


def test_parts_of_each_kind_are_taken_apart_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    found = counted(monkeypatch)
    graph: dict[Any, Any] = {"data": DataNode("data", 1)}
    for n in range(20):
        nested = {"r": Task("r", say, TaskRef("z"))}
        inner = {
            "last": Task(
                "last",
                tell,
                TaskRef("first"),
                List(TaskRef("first"), Alias("k", "second"), Task(None, say, TaskRef("first"))),
                word=TaskRef("second"),
            ),
            "first": Task("first", say, TaskRef("x"), n, "same"),
            "second": Alias("second", "third"),
            "third": DataNode("third", n),
        }
        graph["block", n] = block(("block", n), inner, "last", {"x": TaskRef("data")})
        outer = {"all": block("all", nested, "r", {"z": TaskRef("x")})}
        graph["nested", n] = block(("nested", n), outer, "all", {"x": TaskRef("data")})
    both_ways(graph, list(graph))
    names = [node.key[0] for node in found if isinstance(node, Task)]
    assert sorted(names) == ["block", "block", "nested", "nested"]


def test_parts_in_common_are_known_again_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = counted(monkeypatch)
    inners = [{"a": Task("a", tell, TaskRef("x"), tag)} for tag in "bc"]
    graph: dict[Any, Any] = {"data": DataNode("data", 1)}
    for n in range(20):
        given = {"x": TaskRef("data")}
        graph["block", n] = block(("block", n), inners[n % 2], "a", given)
    walks: list[Any] = []
    fused = patterns.Scan.fused

    def walking(self: patterns.Scan, node: Task, outer: Any) -> None:
        walks.append(node)
        fused(self, node, outer)

    monkeypatch.setattr(patterns.Scan, "fused", walking)
    run = Kept()
    run.get(graph, list(graph))
    # Each once, and one for the plan of both.
    assert len(walks) == 3
    assert len([node for node in found if isinstance(node, Task)]) <= 6


class NamesAlone:
    """A part is called by its key, and has a span for each name."""

    def part(self, key: Any) -> tuple[str, int]:
        name = name_of(key)
        return str(name), len(str(name))


def signature(shape: Shape) -> Hashable:
    return shape.signature


class OneOther(random.Random):
    """Draws the same as another of its seed, but for one choice."""

    def __init__(self, seed: float, other: int) -> None:
        super().__init__(seed)
        self._left = other

    def choice(self, among: Any) -> Any:
        place = self.randrange(len(among))
        self._left -= 1
        return among[(place + (self._left == 0)) % len(among)]


class Few:
    """Draws calls of few functions with few arguments.

    The same chance draws the same call for each number, with other keys and literals.
    """

    def __init__(self, chance: random.Random, number: int) -> None:
        self._chance = chance
        self._number = number

    def draw(self, inner: Any = None) -> Task:
        """A call; of a fused one the parts are `inner`, if there are such already."""
        outer = [("x", place, self._number) for place in range(3)]
        if self._chance.random() < 0.5:
            return self._call(("whole", self._number), outer, 2)
        return self._fused(("whole", self._number), outer, 2, inner)

    def _literal(self) -> Any:
        """Of its own; or one that is the same as others for some numbers."""
        step = self._chance.choice([0, 1, 2])
        return self._number * step // 3 if step else [self._number]

    def _call(self, key: Any, known: list[Any], depth: int) -> Task:
        chance = self._chance
        args = [self._place(known, depth) for _ in range(chance.randint(0, 3))]
        kwargs = {}
        if chance.random() < 0.2:
            names = chance.sample(["one", "two"], chance.randint(1, 2))
            kwargs = {name: self._place(known, depth) for name in names}
        return Task(key, chance.choice([tell, say]), *args, **kwargs)

    def _place(self, known: list[Any], depth: int) -> Any:
        chance = self._chance
        kind = chance.choice(["ref", "ref", "literal", "data", "alias", "many", "nested"])
        if kind == "ref":
            return TaskRef(chance.choice(known))
        if kind == "alias":
            return Alias("alias", chance.choice(known))
        if kind == "data":
            return DataNode(None, self._literal())
        if kind == "literal" or depth == 0:
            return self._literal()
        if kind == "nested":
            return self._call(None, known, depth - 1)
        places = [self._place(known, depth - 1) for _ in range(2 * chance.randint(0, 1))]
        return chance.choice([List, Tuple, Set, lambda *items: Dict([items] if items else {})])(
            *places
        )

    def _fused(self, key: Any, outer: list[Any], depth: int, made: Any = None) -> Task:
        chance = self._chance
        number = self._number
        given = {f"given-{n}": self._place(outer, 1) for n in range(chance.randint(0, 2))}
        known: list[Any] = list(given)
        inner: dict[Any, Any] = {}
        for n in range(chance.randint(1, 3)):
            name = chance.choice(["part", "part", "step", ("part", 1), 5])
            # Of two parts the first by its key is not the same for each number.
            part: Any = (name, (n + number) % 3, n)
            kind = chance.choice(["call"] * 5 + ["alias", "data", "fused"])
            if kind == "alias" and known:
                inner[part] = Alias(part, chance.choice(known))
            elif kind == "data":
                inner[part] = DataNode(part, self._literal())
            elif kind == "fused" and depth and known:
                inner[part] = self._fused(part, known, depth - 1)
            else:
                inner[part] = self._call(part, known or outer[:1], 1)
            known.append(part)
        result = chance.choice([*[list(inner)[-1]] * 3, *inner])
        names = chance.sample(list(given), len(given))
        if made is not None:
            inner, result = made
        arguments = [given[name] for name in names]
        return Task(key, _execute_subgraph, inner, result, tuple(names), *arguments)


def taken_apart_alike(nodes: list[Task]) -> None:
    """By patterns, one after the other, as each is by itself."""
    names = NamesAlone()
    found = Patterns(names, signature, True)
    for node in nodes:
        group, inputs, literals = found.take_apart(node)
        shape = shape_of(node, names)
        assert group == shape.signature
        assert list(inputs) == shape.inputs
        if group[0] == "whole":
            assert literals[0].key == node.key and list(literals[1]) == shape.inputs
        else:
            assert list(map(id, literals)) == list(map(id, shape.literals))


@given(st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=80)
def test_drawn_calls_that_are_nearly_alike_are_told_apart(seed: int) -> None:
    """A call, and others that differ from it in one choice, each four times."""
    chance = random.Random(seed)
    shared = chance.random() < 0.2
    nodes: list[Task] = []
    for other in [0, *(chance.randint(1, 15) for _ in range(8))]:
        inner = None
        for number in range(4):
            node = Few(OneOther(seed, other), number).draw(inner)
            if shared and node.func is _execute_subgraph and inner is None:
                inner = node.args[:2]
            nodes.append(node)
    chance.shuffle(nodes)
    taken_apart_alike(nodes)


def test_parts_that_need_each_other_are_sent_whole_each_by_itself() -> None:
    """They fail when they run, with the error of the task."""
    nodes = []
    for n in range(4):
        inner = {each: Task(each, tell, TaskRef(other), n) for each, other in ("ab", "ba")}
        nodes.append(block(("block", n), inner, "a", {}))
    taken_apart_alike(nodes)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_parts_in_common_are_kept_while_others_could_get_their_place(times: int) -> None:
    class Parts(dict[Any, Any]):
        """Can be watched."""

    inner = Parts(a=Task("a", tell, TaskRef("x")))
    found = Patterns(NamesAlone(), signature, True)
    kept = weakref.ref(inner)
    for n in range(times):
        found.take_apart(block("whole", inner, "a", {"x": TaskRef(f"x{n}")}))
    del inner
    assert kept() is not None
