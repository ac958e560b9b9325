"""Drawn graphs of all of Dask's nodes: what they give when packed and run, and each column."""

from __future__ import annotations

import itertools
import random
from array import array
from collections import Counter
from contextlib import nullcontext
from typing import Any, ClassVar, NamedTuple

import dask
import numpy as np
import pytest
from dask._expr import ProhibitReuse
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
from dask.utils import key_split
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import span
from spanwise.graph import packs
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.packs import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    FIRST_TASKS,
    MORE_TASKS,
    SubmitMessage,
    join_texts,
)
from spanwise.graph.prepare import prepare
from spanwise.graph.span_record import SpanRecord
from spanwise.graph.spans import SpanAnnotation
from spanwise.graph.task_options import TaskOptions
from spanwise.graph.template import Run, Slot, Template
from spanwise.records.bounded_texts import LONGEST
from spanwise.records.enumerations import (
    FLAG_ALIAS,
    FLAG_DATA,
    FLAG_FUSED,
    FLAG_WANTED,
    NONE_U32,
    ORIGIN_DEFAULT,
    ORIGIN_USER,
)
from spanwise.tests.drawn_nodes import (
    Drawing,
    HeldByAFuture,
    Labelled,
    Name,
    OwnWay,
    parts_of,
    say,
    tell,
    written_names,
)
from spanwise.tests.packed_run import PackedRun
from spanwise.tests.work import Compared, lines_of

_serial = itertools.count()


class Row(NamedTuple):
    """One task as the scheduler is told of it."""

    id: int
    key: str
    function: str
    tags: tuple[str, ...]
    origin: int
    flags: int
    template: int
    chunk: int
    row: int
    dependencies: list[int]


class Told(PackedRun):
    """Keeps what was sent, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.messages: list[SubmitMessage] = []

    def _run(self, message: SubmitMessage) -> None:
        super()._run(message)
        self.messages.append(message)
        tasks = message.tasks
        count = len(tasks["id"])
        assert {len(column) for column in tasks.values()} == {count}
        stops = [*tasks["firstDependency"][1:], len(message.dependencies)]
        for i in range(count):
            task_id = tasks["id"][i]
            self.rows.append(
                Row(
                    task_id,
                    self.key_texts[task_id],
                    self.texts[tasks["function"][i]],
                    self.tags[tasks["span"][i]],
                    tasks["origin"][i],
                    tasks["flags"][i],
                    tasks["template"][i],
                    tasks["chunk"][i],
                    tasks["row"][i],
                    list(message.dependencies[tasks["firstDependency"][i] : stops[i]]),
                )
            )


def last_part(node: Any) -> Any:
    """The key in whose span a fused task is counted as a whole."""
    return node.args[1] if node.func is _execute_subgraph else node.key


@given(st.randoms(use_true_random=False), st.booleans())
@settings(deadline=None)
def test_all_that_is_sent_is_true(chance: random.Random, inside: bool) -> None:
    """Two graphs of one client, the second with some of the first's templates."""
    run = Told()
    names = written_names(run.provenance, next(_serial))
    around = ("around",) if inside else ()

    def expected(name: Name) -> tuple[tuple[str, ...], int]:
        if name.tags is not None:
            return name.tags, name.origin
        return around, ORIGIN_USER if inside else ORIGIN_DEFAULT

    for generation in range(2):
        drawing = Drawing(chance, names, 10)
        graph = drawing.graph
        wanted = chance.sample(list(graph), min(len(graph), 3))
        first_id = run.next_id
        run.rows.clear()
        run.runs.clear()
        with span("around") if inside else nullcontext():
            given_back = run.get(dict(graph), wanted)
        assert given_back == list(dask.get(dict(graph), wanted))

        nodes = prepare(dict(graph), wanted, run.provenance).nodes
        ids = {key: first_id + place for place, key in enumerate(nodes)}
        parts: Counter[Any] = Counter()
        assert len(run.rows) == len(nodes)
        for row, (key, node) in zip(run.rows, nodes.items(), strict=True):
            inner = list(parts_of(node))
            assert row.id == ids[key]
            assert (row.key, row.function) == (str(key), key_split(key))
            counted = last_part(node) if row.flags & FLAG_FUSED else key
            assert (row.tags, row.origin) == expected(drawing.names[counted])
            assert bool(row.flags & FLAG_WANTED) == (key in wanted)
            assert bool(row.flags & FLAG_ALIAS) == (type(node) is Alias)
            assert bool(row.flags & FLAG_DATA) == (type(node) is DataNode)
            if row.flags & FLAG_FUSED:
                assert inner
                parts.update((key_split(each), expected(drawing.names[each])) for each in inner)
            assert row.flags < 2 * max(FLAG_WANTED, FLAG_ALIAS, FLAG_DATA, FLAG_FUSED)
            assert (row.template == NONE_U32) == (type(node) is Alias)
            assert sorted(row.dependencies) == sorted(ids[each] for each in node.dependencies)
        # Where each part is counted; parts that the result does not need may not run.
        ran = Counter((each.name, each.tags) for each in run.runs if each.fused)
        assert not ran - Counter({(name, tags): n for (name, (tags, _)), n in parts.items()})
        in_chunks = [(row.chunk, row.row) for row in run.rows if row.chunk != NONE_U32]
        assert len(set(in_chunks)) == len(in_chunks)
        assert run.messages[-1].fields["generation"] == generation
        assert run.messages[-1].fields["last"] is True


def packed(graph: dict[Any, Any], run: Told | None = None) -> Told:
    """All of a graph, sent and run."""
    run = run or Told()
    run.rows.clear()
    run.messages.clear()
    assert run.get(dict(graph), list(graph)) == list(dask.get(dict(graph), list(graph)))
    return run


def sizes_of_chunks(run: Told) -> list[int]:
    """In rows, in the order in which they were begun."""
    return [len(run.chunks[number]) for number in sorted(run.chunks)]


class TestMessages:
    def test_the_first_is_small_and_all_follow_one_another(self) -> None:
        count = FIRST_TASKS + MORE_TASKS + 3
        graph: dict[Any, Any] = {("x", n): Task(("x", n), abs, -n) for n in range(count)}
        run = Told()
        run.next_id = 70
        packed(graph, run)
        assert [len(each.tasks["id"]) for each in run.messages] == [FIRST_TASKS, MORE_TASKS, 3]
        assert [each.fields["last"] for each in run.messages] == [False, False, True]
        assert {each.fields["generation"] for each in run.messages} == {0}
        assert [len(each.fields["templates"]) for each in run.messages] == [1, 0, 0]
        assert [row.id for row in run.rows] == list(range(70, 70 + count))
        ends = [FIRST_TASKS, FIRST_TASKS + MORE_TASKS, count]
        assert [each.last_id for each in run.messages] == [69 + end for end in ends]
        assert SubmitMessage({}, {"id": 8}, (), [], is_one=True).last_id == 8
        assert [row.key for row in run.rows] == [f"('x', {n})" for n in range(count)]
        # A message is complete: chunks end with it.
        assert sizes_of_chunks(run) == [CHUNK_ROWS] * 40 + [3]
        assert [len(each.fields["chunks"]) for each in run.messages] == [8, 32, 1]
        for message in run.messages:
            assert message.tasks["firstDependency"].tolist() == [0] * len(message.tasks["id"])

    def test_parts_say_how_many_tasks_of_the_whole_graph_use_each(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(packs, "FIRST_TASKS", 2)
        monkeypatch.setattr(packs, "MORE_TASKS", 3)

        def check(needs: list[list[int]], is_alias: list[bool], is_wanted: list[bool]) -> None:
            graph: dict[Any, Any] = {}
            for place, inputs in enumerate(needs):
                key = ("t", place)
                if is_alias[place] and inputs:
                    graph[key] = Alias(key, ("t", inputs[0]))
                else:
                    graph[key] = Task(key, tell, *(TaskRef(("t", each)) for each in inputs))
            used = {each for inputs in needs for each in inputs}
            wanted = [
                ("t", place) for place in range(len(needs)) if is_wanted[place] or place not in used
            ]
            run = Told()
            prepared = prepare(graph, wanted, run.provenance)
            messages = list(run.packer.pack(prepared, {}, set(wanted), 0))
            if len(prepared.nodes) <= 2:
                assert [each.users for each in messages] == [None] * len(messages)
                return
            told: list[int] = []
            seen: Counter[int] = Counter()
            stands_for: dict[int, int] = {}
            for message in messages:
                assert message.users is not None
                users = message.users
                assert (users.typecode, len(users)) == ("I", len(message.tasks["id"]))
                told += users
                starts = [*message.tasks["firstDependency"], len(message.dependencies)]
                for row, task in enumerate(message.tasks["id"]):
                    flags = message.tasks["flags"][row]
                    inputs = [
                        stands_for.get(each, each)
                        for each in message.dependencies[starts[row] : starts[row + 1]]
                    ]
                    if flags & FLAG_ALIAS:
                        stands_for[task] = inputs[0]
                        # It is wanted until its alias has come: as if by one that never comes.
                        seen.update(inputs if flags & FLAG_WANTED else ())
                    else:
                        seen.update(inputs)
            assert [n for i, n in enumerate(told) if i not in stands_for] == [
                seen[i] for i in range(len(told)) if i not in stands_for
            ]

        count = st.integers(1, 14)
        graphs = count.flatmap(
            lambda n: st.tuples(
                st.tuples(
                    *(
                        st.lists(st.integers(0, place - 1), max_size=3, unique=True)
                        if place
                        else st.just([])
                        for place in range(n)
                    )
                ),
                st.lists(st.booleans(), min_size=n, max_size=n),
                st.lists(st.booleans(), min_size=n, max_size=n),
            )
        )
        settings(max_examples=150)(given(graphs)(lambda drawn: check(*drawn)))()

    def test_columns_are_as_wide_as_the_wire_says(self) -> None:
        expected = {
            **dict.fromkeys(["id", "group", "suffix", "function", "template", "chunk"], "I"),
            **dict.fromkeys(["row", "firstDependency", "span"], "I"),
            "restriction": "H",
            "userPriority": "i",
        }
        options = TaskOptions(lambda *_: None, {"priority": -(2**31), "workers": ["w"]})
        run = Told()
        graph: dict[Any, Any] = {"x": 1, "y": Task("y", abs, TaskRef("x"))}
        for given_options in (None, options):
            prepared = prepare(dict(graph), ["y"], run.provenance)
            (message,) = run.packer.pack(prepared, {}, (), 2**32 - 2, given_options)
            arrays = {n: each for n, each in message.tasks.items() if isinstance(each, array)}
            assert {name: each.typecode for name, each in arrays.items()} == expected
            assert message.dependencies.typecode == "I"
            assert arrays["id"].tolist() == [2**32 - 2, 2**32 - 1]

    def test_an_empty_graph_is_no_message(self) -> None:
        assert packed({}).messages == []

    def test_inputs_that_exist_are_named_by_their_ids(self) -> None:
        run = Told()
        graph: dict[Any, Any] = {
            "new": Task("new", tell, TaskRef("held"), TaskRef("elsewhere"), TaskRef("held")),
            "held": DataNode("held", 1),
            "other": Alias("other", "elsewhere"),
        }
        prepared = prepare(graph, [["new"], ["other", "new"]], run.provenance, {"held"})
        assert prepared.external == {"held", "elsewhere"}
        ids = {"held": 5, "elsewhere": 3}
        (message,) = run.packer.pack(prepared, ids, {"new"}, 9)
        assert ids == {"held": 5, "elsewhere": 3, "new": 9, "other": 10}
        assert message.dependencies.tolist() == [5, 3, 3]
        assert message.tasks["firstDependency"].tolist() == [0, 2]
        assert list(message.tasks["flags"]) == [FLAG_WANTED, FLAG_ALIAS]

    def test_options_stand_beside_their_tasks(self) -> None:
        looked: list[Any] = []
        options = TaskOptions(lambda named, _: looked.append(named), {"priority": -2})
        options.add_annotations({"retries": {"b": 3}, "workers": {"c": ["w"]}})
        graph: dict[Any, Any] = {key: Task(key, abs, 1) for key in "abc"}
        run = Told()
        prepared = prepare(graph, list("abc"), run.provenance)
        (message,) = run.packer.pack(prepared, {}, (), 0, options)
        assert list(message.tasks["retries"]) == [0, 3, 0]
        assert message.tasks["restriction"].tolist() == [0, 0, 1]
        assert message.tasks["userPriority"].tolist() == [-2, -2, -2]
        assert message.fields["restrictions"] == [{"workers": ["w"], "allowOther": False}]
        # Without any there is nothing to be read.
        for none in (None, TaskOptions(lambda named, _: looked.append(named), {})):
            (message,) = run.packer.pack(prepared, {}, (), 0, none)
            assert "restrictions" not in message.fields
            for column, typecode in (("restriction", "H"), ("userPriority", "i")):
                assert message.tasks[column] == array(typecode, [0, 0, 0])
            assert bytes(message.tasks["retries"]) == bytes(3)

    @given(st.lists(st.text() | st.sampled_from(["\ud800", "Ω", ""]), max_size=8))
    def test_texts_are_joined_byte_by_byte(self, texts: list[str]) -> None:
        starts, blob = join_texts(texts)
        ends = [*starts[1:], len(blob)]
        assert starts.typecode == "I" and len(starts) == len(texts)
        assert texts == [
            blob[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(starts, ends, strict=False)
        ]

    def test_keys_that_begin_with_the_same_object(self) -> None:
        inner, long = ("a", 1), "x" * (LONGEST + 1)
        keys = [
            ("", 0),
            (inner, 0),
            ("", 1),
            (inner, 1),
            ("a", 0),
            ("a", 2),
            (long, 3),
            (long, 4),
            ("a", 5),
            ("a",),
            (inner, 2),
            (inner, 3),
        ]
        run = packed({key: Task(key, abs, 1) for key in [*keys, ("b-1", 0), ("b-1", 1, 2, 3), ()]})
        assert [row.key for row in run.rows][: len(keys)] == [str(key) for key in keys]
        functions = {row.key[:4]: row.function for row in run.rows}
        assert functions["()"] == "Other"
        assert functions["('xx"] == "x" * (LONGEST - 1) + "…"
        assert functions["('b-"] == "b" and functions["(('a"] == "a"


class Weighing:
    """As much as it says."""

    def __init__(self, nbytes: Any) -> None:
        self.nbytes = nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weighing) and other.nbytes == self.nbytes

    def __sizeof__(self) -> int:
        return CHUNK_BYTES // 2


class TestChunks:
    def test_are_closed_when_they_are_full(self) -> None:
        run = packed({n: Task(n, abs, n) for n in range(2 * CHUNK_ROWS + 1)})
        assert sizes_of_chunks(run) == [CHUNK_ROWS, CHUNK_ROWS, 1]
        # Those of another template are others, and what has no literals is in none.
        graph: dict[Any, Any] = {"x": 1, "y": Alias("y", "x"), "z": Task("z", abs, TaskRef("x"))}
        graph |= {("n", n): Task(("n", n), abs, -n) for n in range(3)}
        run = packed(graph)
        assert sizes_of_chunks(run) == [1, 3]
        assert [row.chunk for row in run.rows] == [0, NONE_U32, NONE_U32, 1, 1, 1]
        assert [row.row for row in run.rows] == [0, 0, 0, 0, 1, 2]

    @pytest.mark.parametrize(
        "make",
        [
            lambda size: "x" * size,
            lambda size: b"x" * size,
            lambda size: bytearray(size),
            lambda size: np.zeros(size, "u1"),
            lambda size: Weighing(size),
        ],
    )
    def test_are_closed_above_so_many_bytes(self, make: Any) -> None:
        half = CHUNK_BYTES // 2
        sizes = [half, half, 1, half, half, 1, half, half + 1, 7, CHUNK_BYTES + 1, 5]
        run = packed({n: Task(n, type, make(size)) for n, size in enumerate(sizes)})
        assert sizes_of_chunks(run) == [3, 3, 2, 2, 1]

    def test_what_does_not_say_what_it_weighs_is_measured(self) -> None:
        for odd in (Weighing("many"), Weighing(None), Weighing(1.5)):
            run = packed({n: Task(n, type, odd) for n in range(4)})
            assert sizes_of_chunks(run) == [2, 2]
        many = list(range(CHUNK_BYTES // 24))
        run = packed({n: Task(n, len, many) for n in range(3)})
        assert sizes_of_chunks(run) == [1, 1, 1]
        # Tuples are taken to be small, so that they need not be looked through.
        run = packed({n: Task(n, len, tuple(many)) for n in range(2)})
        assert sizes_of_chunks(run) == [2]


def templates_of(run: Told) -> list[int]:
    return [row.template for row in run.rows]


def fuse(key: Any, inner: Any, *args: Any, function: Any = tell, **kwargs: Any) -> GraphNode:
    """Two calls in one."""
    first = Task(inner, function, *args, **kwargs)
    return GraphNode.fuse(first, Task(key, say, first.ref(), 1))


#: Each with tasks of one shape; `n` is what differs.
SHAPES: dict[str, Any] = {
    "literals": lambda n: Task(n, tell, n, "x"),
    "more literals": lambda n: Task(n, tell, n, "x", 2),
    "another function": lambda n: Task(n, say, n, "x"),
    "inputs": lambda n: Task(n, tell, TaskRef(f"in-{n}"), n),
    "inputs behind": lambda n: Task(n, tell, n, TaskRef(f"in-{n}")),
    "repeated": lambda n: Task(n, tell, *[TaskRef(f"in-{k}") for k in (n, n + 1, n)]),
    "not repeated": lambda n: Task(n, tell, *[TaskRef(f"in-{k}") for k in (n, n + 1, n + 2)]),
    "keywords": lambda n: Task(n, tell, a=n, b=TaskRef(f"in-{n}")),
    "other keywords": lambda n: Task(n, tell, a=n, c=TaskRef(f"in-{n}")),
    "list": lambda n: Task(n, tell, List(n, TaskRef(f"in-{n}"))),
    "tuple": lambda n: Task(n, tell, Tuple(n, TaskRef(f"in-{n}"))),
    "set": lambda n: Task(n, tell, Set(n, TaskRef(f"in-{n}"))),
    "dict": lambda n: Task(n, tell, Dict({n: TaskRef(f"in-{n}")})),
    "many": lambda n: Task(n, tell, List(*[TaskRef(f"in-{k + n}") for k in range(8)])),
    "as many in a tuple": lambda n: Task(
        n, tell, Tuple(*[TaskRef(f"in-{k + n}") for k in range(8)])
    ),
    "one more": lambda n: Task(n, tell, List(*[TaskRef(f"in-{k + n}") for k in range(9)])),
    "one fewer": lambda n: Task(n, tell, List(*[TaskRef(f"in-{k + n}") for k in range(7)])),
    "many in a set": lambda n: Task(n, tell, Set(*[TaskRef(f"in-{k + n}") for k in range(9)])),
    "call in a call": lambda n: Task(n, tell, Task(None, say, n, x=TaskRef(f"in-{n}"))),
    "another call in a call": lambda n: Task(n, tell, Task(None, tell, n, x=TaskRef(f"in-{n}"))),
    "call in a call with another keyword": lambda n: Task(
        n, tell, Task(None, say, n, y=TaskRef(f"in-{n}"))
    ),
    "list for another function": lambda n: Task(n, say, List(n, TaskRef(f"in-{n}"))),
    "data": lambda n: DataNode(n, n),
    "whole": lambda n: OwnWay(n, tell, TaskRef(f"in-{n}"), n),
    "fused": lambda n: fuse(("out", n), ("inner", n), TaskRef(f"in-{n}"), n),
    "of another function": lambda n: fuse(
        ("out", n), ("inner", n), TaskRef(f"in-{n}"), n, function=say
    ),
    "with a keyword": lambda n: fuse(("out", n), ("inner", n), n, x=TaskRef(f"in-{n}")),
    "with another keyword": lambda n: fuse(("out", n), ("inner", n), n, y=TaskRef(f"in-{n}")),
    "of other names": lambda n: fuse(("out", -n), ("other", n), TaskRef(f"in-{n}"), n),
    "with other arguments": lambda n: fuse(("out", n, n), ("inner", -n), n, TaskRef(f"in-{n}")),
}


class TestTemplates:
    def test_tasks_of_one_shape_share_one_and_no_others(self) -> None:
        inputs: dict[Any, Any] = {f"in-{n}": Task(f"in-{n}", str, n) for n in range(50)}
        run = packed(inputs)
        seen: dict[int, str] = {}
        for shape, make in SHAPES.items():
            graph = inputs | {node.key: node for node in map(make, range(1, 40, 3))}
            packed(graph, run)
            found = [row for row in run.rows if not row.key.startswith("in-")]
            ((template, _),) = {(row.template, row.chunk) for row in found}
            assert seen.setdefault(template, shape) == shape
            assert [len(each.fields["templates"]) for each in run.messages] == [1]
            # A later graph names the same one, and it is not sent again.
            packed(graph, run)
            assert template in templates_of(run)
            assert [len(each.fields["templates"]) for each in run.messages] == [0]

    def test_in_one_graph_none_takes_another_s(self) -> None:
        inputs: dict[Any, Any] = {f"in-{n}": Task(f"in-{n}", str, n) for n in range(20)}
        graph = {(shape, n): make(n) for n in range(1, 8, 3) for shape, make in SHAPES.items()}
        run = packed(inputs | graph)
        rows = [row for row in run.rows if not row.key.startswith("in-")]
        assert len({(row.template, row.chunk) for row in rows}) == len(SHAPES)
        assert len({row.template for row in rows}) == len(SHAPES)

    def test_what_no_later_graph_names_is_given_back(self) -> None:
        packer = Told().packer
        first = packer.new_generation()
        one, two = (packer.template(blob) for blob in (b"one", b"two"))
        assert (one, two) == ((0, True), (1, True))
        second = packer.new_generation()
        assert (first, second) == (0, 1)
        assert packer.template(b"two") == (1, False)
        assert packer.give_back(first, [1, 0, 77]) == [0]
        assert packer.give_back(first, [0]) == []
        assert packer.template(b"one") == (2, True)
        assert packer.give_back(second, [1, 2]) == [1, 2]
        assert packer.template(b"two") == (3, True)

    def test_what_may_not_have_been_sent_is_announced_again(self) -> None:
        run = Told()
        packer = run.packer
        packer.new_generation()
        old, _ = packer.template(b"old")
        packer.names.id_of("before")
        packer.spans.id(SpanAnnotation(SpanRecord("before", None)))
        packer.names.take_new()
        packer.spans.take_new()
        mark = packer.mark()
        packer.new_generation()
        packer.template(b"old")
        new, _ = packer.template(b"new")
        packer.names.id_of("after")
        packer.spans.id(SpanAnnotation(SpanRecord("after", None)))
        packer.names.take_new()
        packer.spans.take_new()
        assert packer.back_to(mark) == [old, new]
        assert packer.names.take_new() == {"firstName": 1, "names": ["after"]}
        assert [row["tag"] for row in packer.spans.take_new()] == ["after"]
        assert packer.template(b"old")[1] and packer.template(b"new")[1]
        assert [packer.new_chunk(), packer.new_chunk()] == [0, 1]


class TestManyInputs:
    """Eight and more in a list are written as a stretch, if they are one."""

    INPUTS: ClassVar[dict[Any, Any]] = {f"in-{n}": Task(f"in-{n}", str, n) for n in range(12)}
    REFS: ClassVar[list[TaskRef]] = [TaskRef(f"in-{n}") for n in range(12)]

    @pytest.mark.parametrize("container", [List, Tuple, Set])
    def test_in_any_order_with_repeats_and_others(self, container: Any) -> None:
        refs = self.REFS
        arguments: dict[str, list[Any]] = {
            "all": [container(*refs)],
            "eight": [container(*refs[:8])],
            "seven": [container(*refs[:7])],
            "repeated": [container(*refs[:8], refs[3])],
            "named before": [refs[4], container(*refs[:8])],
            "named before, in order": [*refs[:8], container(*refs[:8])],
            "named before, from the second": [*refs[:9], container(*refs[1:9])],
            "named before, reversed": [*refs[:8], container(*refs[7::-1])],
            "named after": [container(*refs[:8]), refs[4], refs[11]],
            "behind others": [refs[11], refs[9], container(*refs[:8])],
            "twice": [container(*refs[:8]), container(*refs[:8]), container(*refs[2:10])],
            "behind a literal": [container("x", *refs[:8])],
            "before a literal": [container(*refs[:8], "x")],
            "behind a call": [container(Task(None, tell, refs[0]), *refs[1:9])],
            "with a gap": [*refs[:9], container(*refs[:4], *refs[5:9])],
            "of literals": [container(*range(9))],
        }
        graph = {
            name: Task(name, tell, *given_arguments) for name, given_arguments in arguments.items()
        }
        run = packed(self.INPUTS | graph)
        rows = {row.key: row for row in run.rows}
        for name, node in graph.items():
            assert len(rows[name].dependencies) == len(node.dependencies), "each once"
        for name in ("all", "eight", "named before, in order", "named after", "behind others"):
            template = run.templates[rows[name].template]
            (place,) = [each for each in template.places if not isinstance(each, Slot)]
            if container is not List:
                (place,) = place.arguments
            assert type(place) is Run

    def test_ten_times_as_many_arguments_cost_ten_times_as_much(self) -> None:
        def compared(count: int) -> int:
            run = Told()
            # No other test has such keys: Dask remembers names, and these equal tuples.
            keys = [Compared(("compared", n)) for n in range(count)]
            graph: dict[Any, Any] = {key: DataNode(key, 0) for key in keys}
            graph["all"] = Task("all", tell, *map(TaskRef, keys))
            prepared = prepare(graph, ["all"], run.provenance)
            before = Compared.times
            (message,) = run.packer.pack(prepared, {}, (), 0)
            assert message.dependencies.tolist() == list(range(count))
            return Compared.times - before

        few, many = compared(100), compared(1_000)
        assert few > 100
        # Were each looked for among those before it, it would be 100 times as much.
        assert many <= 11 * few

    def test_parts_in_a_list_stay_parts(self) -> None:
        parts = [Task(f"part-{n}", tell, TaskRef("in-0"), n) for n in range(9)]
        last = Task("last", say, List(*(TaskRef(part.key) for part in parts)), List(*self.REFS[:9]))
        template, _ = fused_template(
            self.INPUTS | {"fused": GraphNode.fuse(*parts, last, key="fused")}, "fused"
        )
        assert template.parts is not None and len(template.parts) == 10

    def test_parts_that_need_each_other_often_are_met_once(self) -> None:
        """Each needs the two before it: over all ways to them would take for ever."""
        nodes = [Task("p0", str, TaskRef("in-0")), Task("p1", str, TaskRef("p0"))]
        for n in range(2, 90):
            nodes.append(Task(f"p{n}", tell, TaskRef(f"p{n - 1}"), TaskRef(f"p{n - 2}")))
        inputs = {"in-0": Task("in-0", str, 0)}
        run = packed(inputs | {"fused": GraphNode.fuse(*nodes, key="fused")})
        assert len([each for each in run.runs if each.fused]) == 90


class Looked(list[Any]):
    """Values that know which of them were last looked at."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.now: set[int] = set()

    def __getitem__(self, at: Any) -> Any:
        self.now.update(range(*at.indices(len(self))) if isinstance(at, slice) else [at])
        return super().__getitem__(at)


def fused_template(graph: dict[Any, Any], key: Any) -> tuple[Template, tuple[Any, ...]]:
    """The template and the literals of the fused task `key`."""
    run = packed(graph)
    (row,) = (row for row in run.rows if row.key == str(key))
    assert row.flags & FLAG_FUSED
    return run.templates[row.template], run.chunks[row.chunk][row.row]


class TestFusedTasks:
    def chain(self, *spans: str) -> dict[Any, Any]:
        """Parts in these spans; each needs the one before it, the third the first too."""
        provenance = remember_provenance()
        keys = [f"part{place}-{next(_serial):032x}" for place in range(len(spans))]
        for tag in set(spans):
            with span(tag) if tag else nullcontext():
                for key in itertools.compress(keys, [each == tag for each in spans]):
                    provenance.note_delayed(key)
        refs = [TaskRef(key) for key in keys]
        many = List(*(TaskRef(f"in-{n}") for n in range(9)))
        nodes = [
            Task(keys[0], tell, TaskRef("in-0"), 5, x=many),
            Task(keys[1], tell, 6, List(refs[0], TaskRef("in-8"))),
            Task(keys[2], tell, refs[1], x=refs[0]),
            *(Task(key, tell, ref) for key, ref in zip(keys[3:], refs[2:], strict=False)),
        ]
        inputs = {f"in-{n}": Task(f"in-{n}", str, n) for n in range(9)}
        return inputs | {"fused": GraphNode.fuse(*nodes, key="fused")}

    def test_each_value_is_let_go_after_its_last_use(self) -> None:
        template, literals = fused_template(self.chain("A", "A", "A", "A"), "fused")
        assert template.parts is not None and len(template.parts) == 4
        values = Looked([f"value {n}" for n in range(9)])
        uses: list[set[int]] = []
        for part in template.parts:
            values.now = set()
            list.append(values, part.run(literals, values))
            uses.append(values.now)
        assert len(values) == 13 and set.union(*uses) == set(range(12))
        for place, part in enumerate(template.parts):
            later = set().union(*uses[place + 1 :])
            assert sorted(part.drops) == sorted(uses[place] - later)

    def test_inputs_that_only_the_first_part_needs_are_let_go_after_it(self) -> None:
        refs = [TaskRef(f"in-{n}") for n in range(11)]
        inputs: dict[Any, Any] = {ref.key: Task(ref.key, str, 1) for ref in refs}
        first = Task("a", tell, *refs[:2])
        node = GraphNode.fuse(first, Task("b", say, first.ref(), 3, List(*refs[2:])), key="fused")
        template, _ = fused_template(inputs | {"fused": node}, "fused")
        assert template.parts is not None
        drops = [sorted(part.drops) for part in template.parts]
        assert drops == [[0, 1], list(range(2, 12))]
        # Workers call functions of plain places without looking through them.
        assert [part.order for part in template.parts] == [(0, 1), None]
        assert [bool(part.places) for part in template.parts] == [False, True]

    def test_what_is_wrapped_to_be_computed_again_is_taken_apart_too(self) -> None:
        node = Task("y", ProhibitReuse._identity, fuse("y", "inner", TaskRef("x"), 1))
        template, _ = fused_template({"x": Task("x", str, 1), "y": node}, "y")
        assert template.parts is not None and [part.name for part in template.parts] == [
            *("inner", "y"),
        ]

    def test_one_among_the_arguments_of_a_call_is_sent_without_futures(self) -> None:
        for others in ((), (2,)):
            node = Task("y", say, fuse("outer", "inner", HeldByAFuture("x"), 1), *others)
            run = packed({"x": Task("x", str, 1), "y": node})
            assert not any(row.flags & FLAG_FUSED for row in run.rows)

    def test_ten_times_as_many_parts_cost_ten_times_as_much(self) -> None:
        def lines(count: int) -> int:
            keys = [f"part-{n}" for n in range(count)]
            nodes = [Task(keys[0], tell, TaskRef("x"))]
            for key, before in zip(keys[1:], keys, strict=False):
                nodes.append(Task(key, tell, TaskRef(before), TaskRef("x")))
            graph = {"x": DataNode("x", 1), keys[-1]: GraphNode.fuse(*nodes)}
            run = Told()
            prepared = prepare(graph, [keys[-1]], run.provenance)
            return lines_of(lambda: list(run.packer.pack(prepared, {}, (), 0)))

        few, many = lines(20), lines(200)
        # Were each part compared with every value, it would be 100 times as much.
        assert few > 20 and many <= 11 * few

    def test_only_results_that_cross_into_another_span_are_settled(self) -> None:
        for spans, settled in [
            ("AAAA", [False] * 4),
            ("AABB", [True, True, False, False]),
            ("ABAA", [True, True, False, False]),
            (["", "", "", "A"], [False, False, True, False]),
        ]:
            template, _ = fused_template(self.chain(*spans), "fused")
            assert template.parts is not None
            assert [part.settles for part in template.parts] == settled
            assert [part.name for part in template.parts] == ["part0", "part1", "part2", "part3"]
            assert len({part.span for part in template.parts}) == len(set(spans))

    def test_one_of_aliases_alone_hands_its_input_on(self) -> None:
        inner = {"a": Alias("a", "__0"), "b": Alias("b", "a")}
        graph = {
            "x": Task("x", str, 1),
            "input": Task("input", _execute_subgraph, inner, "b", ("__0",), TaskRef("x")),
            "literal": Task("literal", _execute_subgraph, inner, "b", ("__0",), "text"),
            "data": Task("data", _execute_subgraph, {"b": DataNode("b", 3)}, "b", ()),
            # A value that is handed on may have to be put together first.
            "list": Task("list", _execute_subgraph, inner, "b", ("__0",), List(TaskRef("x"), 1)),
            "call": Task("call", _execute_subgraph, inner, "b", ("__0",), Task(None, tell, 2)),
        }
        run = packed(graph)
        assert not any(row.flags & FLAG_FUSED for row in run.rows)
        rows = {row.key: row for row in run.rows}
        assert rows["literal"].template == rows["data"].template != rows["input"].template

    def test_one_whose_nested_graph_leaves_an_input_unused_has_its_own_result(self) -> None:
        nested = Task(
            "last",
            _execute_subgraph,
            {"a": Alias("a", "__0")},
            "a",
            ("__0", "__1"),
            TaskRef("p"),
            TaskRef("q"),
        )
        inner = {
            "p": Task("p", say, TaskRef("__0")),
            "q": Task("q", tell, TaskRef("__0"), 7),
            "last": nested,
        }
        graph = {"x": Task("x", str, 1)}
        # (the second of its pattern is taken apart by the first's plan)
        for key in "yz":
            graph[key] = Task(key, _execute_subgraph, inner, "last", ("__0",), TaskRef("x"))
        run = packed(graph)
        assert [part.name for part in run.runs if part.fused] == ["p", "p"]

    def test_one_that_names_what_it_does_not_declare_fails_as_in_dask(self) -> None:
        inner = {"b": Task("b", tell, TaskRef("x"))}
        graph = {
            "w": Task("w", str, 1),
            "y": Task("y", _execute_subgraph, inner, "b", ("__0",), TaskRef("w")),
        }
        errors = []
        for get in (dask.get, Told().get):
            with pytest.raises(RuntimeError, match="missing keys") as caught:
                get(dict(graph), ["y"])
            errors.append(str(caught.value))
        assert errors[0] == errors[1]

    def test_parts_that_the_result_does_not_need_are_left_out(self) -> None:
        inner = {
            "unused": Task("unused", tell, TaskRef("__0")),
            "b": Task("b", tell, TaskRef("__1"), 1),
        }
        refs = [TaskRef("x"), TaskRef("y")]
        graph = {
            "x": Task("x", str, 1),
            "y": Task("y", str, 2),
            "z": Task("z", _execute_subgraph, inner, "b", ("__0", "__1"), *refs),
        }
        template, _ = fused_template(graph, "z")
        assert template.parts is not None and [part.name for part in template.parts] == ["b"]

    def test_blocks_of_a_layer_share_one_template_whatever_their_keys_sort_like(self) -> None:
        """Dask sorts the inputs of fused tasks by their hashes, and keeps sets of them."""
        graph: dict[Any, Any] = {}
        for n in range(40):
            for name in ("left", "right", "more"):
                graph[(name, n)] = Task((name, n), str, f"{name} {n}")
            inner = {("f", n): Task(("f", n), tell, TaskRef("__0"), TaskRef("__1"))}
            lists = List(TaskRef(("right", n)), 1, TaskRef(("left", n)))
            arguments = (TaskRef(("more", n)), lists)
            graph[("f", n)] = Task(
                ("f", n), _execute_subgraph, inner, ("f", n), ("__1", "__0"), *arguments
            )
        run = packed(graph)
        rows = [row for row in run.rows if row.flags & FLAG_FUSED]
        assert len({row.template for row in rows}) == 1
        keys = {row.id: row.key for row in run.rows}
        for n, row in enumerate(rows):
            given = [keys[each] for each in row.dependencies]
            assert given == [f"('right', {n})", f"('left', {n})", f"('more', {n})"]

    def test_parts_are_in_the_order_of_arguments_in_each_block(self) -> None:
        """If a node needs several parts, no hash decides which of them is the first."""
        graph: dict[Any, Any] = {}
        for n in range(40):
            keys = [(name, n) for name in ("z", "b", "k", "a", "out")]
            refs = [TaskRef(key) for key in keys]
            graph |= {(name, n): Task((name, n), str, n) for name in ("in", "other", "unused")}
            nodes = [
                Task(keys[0], tell, TaskRef(("other", n))),
                Task(keys[1], tell, refs[0], n),
                Task(keys[2], tell, List(refs[0], TaskRef(("in", n)))),
                Task(keys[3], tell, Dict({"x": refs[2], "y": refs[0]}), n),
                Task(keys[4], say, refs[3], List(refs[1], refs[3]), x=refs[0]),
            ]
            inner = {node.key: node for node in reversed(nodes)}
            outside = sorted([("in", n), ("other", n), ("unused", n)], key=hash)
            graph[keys[4]] = Task(
                keys[4], _execute_subgraph, inner, keys[4], outside, *map(TaskRef, outside)
            )
        run = packed(graph)
        rows = [row for row in run.rows if row.flags & FLAG_FUSED]
        (number,) = {row.template for row in rows}
        parts = run.templates[number].parts
        assert parts is not None and [part.name for part in parts] == ["z", "k", "a", "b", "out"]
        keys_of = {row.id: row.key for row in run.rows}
        for n, row in enumerate(rows):
            given = [keys_of[each] for each in row.dependencies]
            assert given == [f"('other', {n})", f"('in', {n})", f"('unused', {n})"]

    @pytest.mark.parametrize(
        ("a", "message"),
        [
            (Task("a", tell, TaskRef("b"), TaskRef("__0")), "Cycle"),
            (5, "'int' object is not callable"),
        ],
    )
    def test_parts_that_need_each_other_or_are_none_fail_as_in_dask(
        self, a: Any, message: str
    ) -> None:
        inner = {"a": a, "b": Task("b", tell, TaskRef("a"))}
        graph = {
            "x": Task("x", str, 1),
            "y": Task("y", _execute_subgraph, inner, "b", ("__0",), TaskRef("x")),
        }
        errors = []
        for get in (dask.get, Told().get):
            with pytest.raises((RuntimeError, TypeError), match=message) as caught:
                get(dict(graph), ["y"])
            errors.append(type(caught.value))
        assert errors[0] is errors[1]


def test_a_node_with_a_field_more_is_a_call_as_others_are() -> None:
    graph = {
        "x": Task("x", str, 1),
        "labelled": Labelled("labelled", tell, TaskRef("x"), List(1, 2)),
        "plain": Task("plain", tell, TaskRef("x"), List(1, 2)),
        "own": OwnWay("own", tell, TaskRef("x"), List(1, 2)),
    }
    graph["of plain places"] = Labelled("of plain places", tell, TaskRef("x"), 1)
    run = packed(graph)
    templates = {row.key: row.template for row in run.rows}
    assert templates["labelled"] == templates["plain"] != templates["own"]
    assert run.templates[templates["of plain places"]].order == (0, -1)


def test_a_wrapped_call_of_several_arguments_is_an_ordinary_one() -> None:
    """Only what hands on one value stands for that value."""
    run = PackedRun()
    graph = {"x": Task("x", ProhibitReuse._identity, 1, 2)}
    for get in (dask.get, run.get):
        with pytest.raises(TypeError, match="argument"):
            get(dict(graph), ["x"])
