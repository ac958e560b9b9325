"""The register's rules, on layers and expressions made for them."""

from __future__ import annotations

import threading
from copy import copy
from typing import Any, ClassVar

import dask.array as da
import pytest
from dask._expr import Expr
from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef
from dask.highlevelgraph import Layer, MaterializedLayer
from hypothesis import given
from hypothesis import strategies as st

from spanwise import span
from spanwise.graph import provenance as rules
from spanwise.graph.attribution import Attribution
from spanwise.graph.provenance import (
    Provenance,
    Source,
    current_annotation,
    layer_names,
    name_of,
    same_span,
    same_tags,
    without_reuse_suffix,
)
from spanwise.tests.work import lines_of


class Single(Expr):
    """An expression of one input, a label and a number."""

    _parameters: ClassVar[list[str]] = ["of", "label", "number"]
    _defaults: ClassVar[dict[str, Any]] = {"label": "", "number": 0}


class Projection(Single):
    """What the optimiser coins too."""


class Add(Single):
    """Another class."""


class Both(Expr):
    """An expression of two inputs."""

    _parameters: ClassVar[list[str]] = ["left", "right"]


class Leaf(Expr):
    """One without inputs."""

    _parameters: ClassVar[list[str]] = ["label"]


class Several(Expr):
    """One of as many operands as it is given; of fused dataframes the first is a list."""

    _parameters: ClassVar[list[str]] = []


def again(value: Any) -> Any:
    """An equal object that is not the same, of numbers and texts."""
    return type(value)(str(value)) if type(value) in (int, float) else f" {value}"[1:]


#: Values that are equal, or the same, in some ways and not in others.
operands = st.sampled_from(
    [Leaf("p"), Leaf("p"), Leaf("q"), True, False, None, [1], [1], 1]
) | st.sampled_from(["some", "text", 1_000, 1_001, 1_000.0, 2.5]).map(again)


def tags(source: Source | None) -> Any:
    """Where, and whether that is known: ("A", "exact")."""
    if source is None:
        return None
    name = None if source.span is None else "/".join(source.span["name"])
    return name, "exact" if source.exact else "inferred"


@pytest.fixture
def register() -> Provenance:
    return Provenance()


def write(register: Provenance, tag: str | None, *roots: Expr) -> None:
    """Collections that a user writes in a span."""
    for root in roots:
        if tag is None:
            register.note_collection(root)
        else:
            with span(tag):
                register.note_collection(root)


def found(register: Provenance, *expressions: Expr) -> list[Any]:
    return [tags(register.find_expression(each._name)) for each in expressions]


class TestWrittenExpressions:
    def test_what_is_below_a_collection_is_written_with_it(self, register: Provenance) -> None:
        leaf, other = Leaf("x"), Leaf("y")
        first = Add(leaf, "1")
        write(register, "A", first)
        second = Both(Add(first, "2"), Both(other, leaf))
        write(register, "B", second)
        assert found(register, leaf, first) == [("A", "exact")] * 2
        assert found(register, second, second.left, second.right, other) == [("B", "exact")] * 4
        assert found(register, Leaf("never written")) == [None]

    @pytest.mark.parametrize(
        ("first", "again", "expected"),
        [
            ("A", "A", ("A", "exact")),
            ("A", "B", ("B", "inferred")),
            (None, "B", ("B", "inferred")),
            ("A", None, (None, "inferred")),
            (None, None, (None, "exact")),
        ],
    )
    def test_written_again(
        self, register: Provenance, first: Any, again: Any, expected: Any
    ) -> None:
        leaf = Leaf(f"{first} {again}")
        write(register, first, leaf)
        before = register.find_expression(leaf._name)
        write(register, again, leaf)
        after = register.find_expression(leaf._name)
        assert tags(after) == expected
        if first is not None and again is not None:
            assert after is not None and before is not None
            assert not same_span(before.span, after.span), "the newest run of a cell"
        # What is inferred once stays so.
        write(register, again, leaf)
        assert tags(register.find_expression(leaf._name)) == expected

    def test_again_in_the_same_span_changes_nothing(self, register: Provenance) -> None:
        leaf = Leaf("same")
        with span("A"):
            register.note_collection(leaf)
            before = register.find_expression(leaf._name)
            register.note_collection(leaf)
        assert register.find_expression(leaf._name) is before

    def test_what_dask_makes_at_work_is_not_written(self, register: Provenance) -> None:
        leaf = Leaf("made at work")
        with register.working_on(Leaf("T")):
            register.note_collection(leaf)
        assert found(register, leaf) == [None]

    def test_expressions_that_are_gone_are_forgotten(self, register: Provenance) -> None:
        leaf = Leaf("gone")
        name = leaf._name
        write(register, "A", leaf)
        twin = Leaf("gone")
        # An equal one that is written in its place outlives it.
        del leaf
        assert register.find_expression(name) is None
        write(register, "A", twin)
        other = Leaf("gone")
        write(register, "B", other)
        del twin
        assert tags(register.find_expression(name)) == ("B", "inferred")

    def test_a_key_of_an_expression_alone_is_found_by_its_name(self, register: Provenance) -> None:
        leaf = Leaf("plain")
        write(register, "A", leaf)
        # (a name without "_", of which no other spelling is tried)
        name = "plain-1"
        register._expressions[name] = register._expressions[leaf._name]
        assert not register.is_unknown(name) and register.is_unknown("plain-2")
        attribution = Attribution(register, None)
        assert tags(attribution.of((name, 0)))[:1] == ("A",)
        assert attribution.of(("plain-2", 0)).span is None


def make(register: Provenance, of: Expr, made: Expr, lowers: bool = False) -> Any:
    """Where an expression is counted that Dask makes while it works on another."""
    with register.working_on(of, lowers):
        register.note_expression(made)
    return found(register, made)[0]


class TestDescent:
    """T is what Dask works on, written in C; its inputs in A and B."""

    def test_a_step_of_lowering_is_its_own(self, register: Provenance) -> None:
        inner = Add(Leaf("x"), "1")
        whole = Single(inner)
        write(register, "A", inner)
        write(register, "C", whole)
        assert make(register, whole, Leaf("step"), True) == ("C", "exact")
        # Of the class of an input, with other arguments: a step too.
        assert make(register, whole, Add(inner, "2"), True) == ("C", "exact")
        assert make(register, whole, Both(inner, inner), True) == ("C", "exact")

    def test_what_repeats_an_input_is_that_input(self, register: Provenance) -> None:
        inner = Add(Leaf("x"), "label", 7)
        whole = Single(inner)
        write(register, "A", inner)
        write(register, "C", whole)
        label, number = inner.operands[1:]
        assert make(register, whole, Add(Leaf("lowered"), label, number), True) == ("A", "exact")
        assert make(register, whole, Add(Leaf("lowered"), label, 8), True) == ("C", "exact")
        # With an expression for a value, or with fewer or more operands, it is a step.
        assert make(register, whole, Add(Leaf("lowered"), Leaf("label"), number), True) == (
            *("C", "exact"),
        )
        for count in (1, 3):
            with register.working_on(Single(Several(inner, inner))):
                register.note_expression(made := Several(*[Leaf("lowered")] * count))
            assert found(register, made) == [(None, "inferred")]

    def test_without_a_word_work_lowers(self, register: Provenance) -> None:
        inner = Add(Leaf("x"), "1")
        whole = Single(inner)
        write(register, "A", inner)
        write(register, "C", whole)
        with register.working_on(whole):
            register.note_expression(step := Add(Leaf("y"), "2"))
        assert found(register, step) == [("C", "exact")]

    def test_of_an_unknown_one_the_span_of_the_call_is_taken(self, register: Provenance) -> None:
        with span("around"):
            for lowers in (True, False):
                made = make(register, Leaf("unknown"), Leaf(f"made {lowers}"), lowers)
                assert made == ("around", "inferred")

    def test_operations_that_move_keep_their_span(self, register: Provenance) -> None:
        inner = Add(Leaf("x"), "1")
        whole = Projection(inner, "columns")
        write(register, "A", inner.of)
        write(register, "B", inner)
        write(register, "C", whole)
        moved = Projection(inner.of, "columns")
        assert make(register, whole, moved) == ("C", "exact")
        assert make(register, whole, Add(moved, "1")) == ("B", "exact")
        # Coined by the optimiser, not written by anyone.
        coined = Single(Projection(inner, "other"))
        write(register, "D", coined)
        assert make(register, coined, Projection(Leaf("y"), "other")) == ("D", "inferred")

    def test_a_new_step_is_exact_among_inputs_of_the_same_span(self, register: Provenance) -> None:
        one, two = Leaf("one"), Leaf("two")
        alike, mixed = Both(one, one), Both(one, two)
        with span("C"):
            register.note_collection(one)
            register.note_collection(alike)
            register.note_collection(Both(alike, alike))
        write(register, "D", two)
        with span("C"):
            register.note_collection(mixed)
        assert make(register, alike, Add(one, "new")) == ("C", "exact")
        assert make(register, mixed, Add(two, "new")) == ("C", "inferred")
        # Inputs of inputs are no reason to doubt.
        deep = Both(mixed, mixed)
        with span("E"):
            register.note_collection(deep)
        assert make(register, deep, Add(deep, "new")) == ("E", "inferred")

    def test_inputs_of_inputs_do_not_make_a_step_doubtful(self, register: Provenance) -> None:
        leaf = Leaf("deep")
        write(register, "A", leaf)
        whole = Single(Add(leaf, "1"))
        write(register, "C", whole)
        assert make(register, whole, Both(leaf, leaf)) == ("C", "exact")

    def test_of_several_the_one_with_equal_arguments_is_meant(self, register: Provenance) -> None:
        base = Leaf("base")
        left, right = Add(base, "left", 1), Add(base, "right", 2)
        write(register, "A", left)
        write(register, "B", right)
        whole = Both(left, right)
        write(register, "C", whole)
        assert make(register, whole, Add(whole, "right", 2)) == ("B", "exact")
        assert make(register, whole, Add(whole, "left", 2.0)) == ("A", "exact")
        # As many of the one as of the other.
        assert make(register, whole, Add(whole, "left", 2)) == ("A", "inferred")
        assert make(register, whole, Add(base, "neither", 3)) == ("A", "inferred")

    @given(st.lists(operands, min_size=3, max_size=4), st.lists(operands, min_size=3, max_size=4))
    def test_arguments_are_equal_in_value_and_type(self, one: list[Any], other: list[Any]) -> None:
        def equal(mine: Any, theirs: Any) -> bool:
            if isinstance(mine, Expr) or isinstance(theirs, Expr):
                return type(mine) is type(theirs) and mine._name == theirs._name
            plain = isinstance(mine, (str, int, float))
            return mine is theirs or (plain and type(mine) is type(theirs) and mine == theirs)

        expected = sum(map(equal, one, other))
        assert rules._equal_arguments(Several(*one), Several(*other)) == expected

    def test_what_was_made_is_nearer_than_inputs_unless_it_is_one(
        self, register: Provenance
    ) -> None:
        far, near = Add(Leaf("x"), "far"), Add(Leaf("y"), "near")
        written = Add(Leaf("z"), "written")
        for tag, each in (("A", far), ("B", near), ("D", written)):
            write(register, tag, each)
        whole = Both(near, Single(far))
        write(register, "C", whole)
        with register.working_on(whole, False):
            # An input of an input is no nearer for being made again.
            register.note_expression(far)
            register.note_expression(one := Add(Leaf("new"), "1"))
        assert found(register, one) == [("B", "exact")]
        with register.working_on(whole, False):
            register.note_expression(written)
            for number in range(2 * rules.SIBLINGS):
                register.note_expression(Both(Leaf(str(number)), written))
            register.note_expression(two := Add(Leaf("new"), "2"))
        assert found(register, two) == [("D", "exact")]

    def test_the_nearest_is_meant_and_none_is_beyond_two(self, register: Provenance) -> None:
        far = Add(Leaf("x"), "far")
        near = Add(far, "near")
        write(register, "A", far)
        write(register, "B", near)
        whole = Both(near, Leaf("y"))
        write(register, "C", whole)
        assert make(register, whole, Add(Leaf("z"), "far")) == ("B", "exact")
        two = Single(Single(Both(far, far)))
        write(register, "D", two)
        assert make(register, two, Add(Leaf("z"), "new")) == ("D", "exact"), "three below"
        assert make(register, two.of, Add(Leaf("zz"), "new")) == ("A", "exact"), "two below"

    def test_what_was_made_in_the_same_work_counts_too(self, register: Provenance) -> None:
        base = Leaf("base")
        inner = Add(base, "1")
        whole = Single(inner)
        write(register, "A", inner)
        write(register, "C", whole)
        with register.working_on(whole, False):
            moved = Both(base, base)
            register.note_expression(moved)
            register.note_expression(Both(moved, base))
        with register.working_on(Single(Leaf("other")), False):
            register.note_expression(inner)
            again = Add(Leaf("again"), "2")
            register.note_expression(again)
        assert found(register, again) == [("A", "exact")]

    def test_ten_times_as_much_that_is_made_costs_ten_times_as_much(
        self, register: Provenance
    ) -> None:
        """Concatenating makes thousands in one work, all of one class."""
        whole = Add(Leaf("whole"), "1")
        write(register, "A", whole)

        def lines(count: int) -> int:
            made = [Add(Leaf("below"), f"{count} {number}") for number in range(count)]

            def make_all() -> None:
                with register.working_on(whole, False):
                    for each in made:
                        register.note_expression(each)

            cost = lines_of(make_all)
            assert found(register, *made) == [("A", "exact")] * count
            return cost

        few, many = lines(100), lines(1_000)
        assert few > 100
        # Were each compared with all before it, it would be 100 times as much. (The first few
        # have fewer before them.)
        assert many <= 13 * few

    def test_what_was_derived_before_users_wrote_more_is_derived_again(
        self, register: Provenance
    ) -> None:
        one, other = Single(Leaf("one")), Single(Leaf("other"))
        write(register, "A", one)
        made = Leaf("cached by Dask")
        assert make(register, one, made) == ("A", "exact")
        assert make(register, Leaf("unknown"), made) == ("A", "exact"), "it is known"
        write(register, "B", other)
        assert make(register, other, made) == ("B", "exact")
        # Written again counts too, however often.
        step = Both(made, made)
        for tag, worked_on in (("A", one), ("E", other), ("F", one), ("G", other)):
            write(register, tag, worked_on)
            assert make(register, worked_on, step)[0] == tag
        # Written by a user in the end.
        write(register, "C", made)
        assert make(register, one, made) == ("C", "exact")
        assert found(register, made) == [("C", "exact")]

    def test_outside_all_work_nothing_is_derived(self, register: Provenance) -> None:
        leaf = Leaf("scaffolding")
        register.note_expression(leaf)
        assert found(register, leaf) == [None]
        with pytest.raises(ZeroDivisionError), register.working_on(Leaf("T")):
            _ = 1 / 0
        register.note_expression(leaf)
        assert found(register, leaf) == [None]

    def test_work_belongs_to_the_innermost_that_is_known(self, register: Provenance) -> None:
        known, unknown = Leaf("known"), Leaf("unknown")
        write(register, "A", known)
        assert register.worked_on() is None
        with register.working_on(known):
            assert tags(register.worked_on()) == ("A", "inferred")
            with register.working_on(unknown):
                assert tags(register.worked_on()) == ("A", "inferred")
            other: list[Any] = []
            thread = threading.Thread(target=lambda: other.append(register.worked_on()))
            thread.start()
            thread.join(60)
            assert other == [None], "each thread works on its own"
        with register.working_on(unknown):
            assert register.worked_on() is None


class TestGraphsOfExpressions:
    def test_each_known_name_is_kept_when_its_expression_is_gone(
        self, register: Provenance
    ) -> None:
        leaf, inner, unknown = Leaf("x"), Leaf("inner"), Leaf("unknown")
        write(register, "A", leaf, inner)
        write(register, None, outside := Leaf("outside"))
        whole = Both(Several([inner, 7, outside], Single(leaf, "label")), Both(leaf, unknown))
        register._keep(whole, Source(current_annotation(), False))
        names = [each._name for each in (leaf, inner, outside, whole, unknown)]
        assert [register.find_layer(name) for name in names] == [None] * 5
        register.note_graph(whole)
        del leaf, inner, outside, whole
        assert [tags(register.find_layer(name)) for name in names] == [
            *(("A", "exact"), ("A", "exact"), (None, "exact"), (None, "inferred"), None)
        ]

    def test_ways_to_an_expression_are_not_gone_one_by_one(self, register: Provenance) -> None:
        made: Expr = Leaf("below")
        for _ in range(60):
            made = Both(made, made)
        register.note_graph(made)

    def test_a_layer_of_them_is_theirs_whatever_it_is_called(self, register: Provenance) -> None:
        written = Leaf("written")
        write(register, "A", written)
        register.note_graph(written)
        for name in (77, f"of {written._name}"):
            made = layer("B", task(written._name))
            register.note_layers({name: made})
            assert made.__dict__.get("_spanwise_wrapped") is True
        unknown = layer("B", task("unknown"))
        register.note_layers({78: unknown, 79: layer("B", {(79, 0): 1})})
        assert "_spanwise_wrapped" not in unknown.__dict__
        assert register.find_layer("unknown") is None
        assert tags(register.find_layer(written._name)) == ("A", "exact")


def layer(tag: str | None, tasks: dict[Any, Any], **annotations: Any) -> Layer:
    """A layer as it is written in a span."""
    if tag is None:
        return MaterializedLayer(tasks, annotations=annotations or None)
    with span(tag):
        return MaterializedLayer(tasks, annotations={"span": current_annotation(), **annotations})


def task(name: str, *inputs: Any) -> dict[Any, GraphNode]:
    return {(name, 0): Task((name, 0), max, *(TaskRef(each) for each in inputs))}


def fused(name: str, *inner: str) -> Task:
    nodes = [Task((inner[0], 0), max, 1)]
    for each in inner[1:]:
        nodes.append(Task((each, 0), max, nodes[-1].ref()))
    return Task.fuse(*nodes, Task((name, 0), max, nodes[-1].ref()))  # type: ignore[return-value]


class TestLayers:
    def test_a_layer_and_what_it_is_made_of(self, register: Provenance) -> None:
        made = layer("A", task("x") | task("part") | {"single": 1, 5: 1})
        bare = layer(None, task("bare"), retries=3)
        register.note_layers({"x": made, "bare": bare, 7: layer("B", {})})
        for name in ("x", "part", "single"):
            assert tags(register.find_layer(name)) == ("A", "exact")
        assert tags(register.find_layer("bare")) == (None, "exact")
        assert register.find_layer("nowhere") is None
        assert not register.is_pinned("x") and not register.is_pinned("nowhere")

    def test_outside_all_spans_is_known_too(self, register: Provenance) -> None:
        register.note_layers({"x": layer(None, task("x"))})
        register.note_delayed("y")
        for name in ("x", "y"):
            assert tags(register.find_layer(name)) == (None, "exact")

    def test_layers_that_are_not_made_yet_are_no_optimiser_s(self, register: Provenance) -> None:
        x = da.ones(4, chunks=2, name="x") + 1
        assert not all(each.is_materialized() for each in x.dask.layers.values())
        layers = [copy(each) for each in x.dask.layers.values()]
        for each in layers:
            each.__dict__.pop("_spanwise_seen", None)
        register.note_layers(dict(zip(x.dask.layers, layers, strict=True)))
        assert not any("_spanwise_wrapped" in each.__dict__ for each in layers)

    def test_each_layer_is_noted_once(self, register: Provenance) -> None:
        first, second = layer("A", task("x")), layer("B", task("x"))
        register.note_layers({"x": first})
        register.note_layers({"x": second})
        del second
        register.note_layers({"x": first})
        assert tags(register.find_layer("x")) == ("B", "exact")
        assert not register.is_shared("x", first)

    def test_equal_layers_of_two_spans_are_shared_while_a_graph_holds_both(
        self, register: Provenance
    ) -> None:
        first, second = layer("A", task("x")), layer("B", task("x"))
        register.note_layers({"x": first})
        assert not register.is_shared("x")
        register.note_layers({"x": second})
        assert register.is_shared("x") and register.is_shared("x", first)
        assert tags(register.find_layer("x")) == ("B", "inferred")
        register.note_layers({"x": first})
        del second
        assert not register.is_shared("x") and register.is_shared("x", first)

    def test_results_kept_by_persist_were_written_long_before(self, register: Provenance) -> None:
        register.note_layers({"x": layer("A", task("x"))})
        register.note_layers({"x": layer("B", {("x", 0): TaskRef(("x", 0))})})
        assert tags(register.find_layer("x")) == ("A", "exact")
        register.note_layers({"y": layer("B", {("y", 0): TaskRef(("y", 0))})})
        assert tags(register.find_layer("y")) == ("B", "exact"), "of another client, say"
        # The first is looked at: in what persist() keeps all are results.
        mixed = task("x") | {("x", 1): TaskRef(("x", 1))}
        register.note_layers({"x": layer("C", mixed)})
        assert tags(register.find_layer("x")) == ("C", "exact")

    def test_what_an_optimiser_left_was_written_before(self, register: Provenance) -> None:
        register.note_layers({"x": layer("A", task("x")), "y": layer("B", task("y"))})
        # Parts of it are known: the layer is wrapped again.
        wrapped = layer("C", task("y") | task("x") | task("new"))
        register.note_layers({"y": wrapped})
        assert wrapped.__dict__["_spanwise_wrapped"] is True
        assert tags(register.find_layer("y")) == ("B", "exact")
        assert register.find_layer("new") is None
        # Unless nobody knows it yet.
        unknown = layer("C", task("z") | task("x") | task("more"))
        register.note_layers({"z": unknown})
        assert tags(register.find_layer("z")) == tags(register.find_layer("more")) == ("C", "exact")
        assert tags(register.find_layer("x")) == ("A", "exact")
        assert not register.is_shared("z") and not register.is_shared("y")

    @pytest.mark.parametrize(
        ("tasks", "expected"),
        [
            ({("x", 0): fused("x", "inside")}, True),
            ({("x", 0): Alias(("x", 0), "f"), "f": fused("x", "inside")}, True),
            ({"first": DataNode("first", 1), ("x", 0): fused("x", "inside")}, True),
            ({("x", 0): Alias(("x", 0), "f"), "f": Task("f", max, 1)}, False),
            ({("x", 0): Alias(("x", 0), "elsewhere")}, False),
            # The first two are looked at.
            (
                {
                    **{("x", n): Alias(("x", n), f"f{n}") for n in range(2)},
                    **{f"f{n}": fused(f"x{n}", "inside") for n in range(2)},
                },
                True,
            ),
            ({**task("x"), ("x", 1): DataNode(("x", 1), 1), ("x", 2): fused("x", "in")}, False),
            ({("x", 0): (max, 1)}, False),
            ({}, False),
        ],
    )
    def test_fused_tasks_are_an_optimiser_s(
        self, register: Provenance, tasks: dict[Any, Any], expected: bool
    ) -> None:
        register.note_layers({"x": layer("A", task("x"))})
        again = layer("B", tasks)
        register.note_layers({"x": again})
        assert ("_spanwise_wrapped" in again.__dict__) == expected
        assert tags(register.find_layer("x")) == ("A" if expected else "B", "exact")

    def test_layers_made_at_work_are_of_what_is_worked_on(self, register: Provenance) -> None:
        expression = Leaf("worked on")
        write(register, "A", expression)
        made = layer("B", task("x"))
        with register.working_on(expression):
            register.note_layers({"x": made})
        assert tags(register.find_layer("x")) == ("A", "inferred")
        annotation, exact = made.__dict__["_spanwise_source"]
        assert annotation["name"] == ("A",) and exact is False

    def test_annotations_of_single_keys_are_an_optimised_graph_s(
        self, register: Provenance
    ) -> None:
        register.note_layers({"x": MaterializedLayer(task("x"), {"span": lambda key: None})})
        assert register.find_layer("x") is None

    def test_delayed_values_stay_where_they_were_written(self, register: Provenance) -> None:
        with span("A"):
            register.note_delayed("value")
            register.note_delayed(("no", "text"))
        register.note_layers({"value": layer("B", {"value": 1})})
        assert tags(register.find_layer("value")) == ("A", "exact")
        assert register.is_pinned("value")
        with span("C"):
            register.note_delayed("value")
        assert tags(register.find_layer("value")) == ("C", "exact")

    def test_with_the_suffix_that_dask_appends_a_name_is_known(self, register: Provenance) -> None:
        token = "0123456789abcdef" * 2
        assert without_reuse_suffix(f"x-{token}") == "x"
        for other in (
            f"x{token}",
            f"x-{token}-1",
            f"x-{token[1:]}",
            f"x-{token}0",
            f"x-{'g' * 32}",
        ):
            assert without_reuse_suffix(other) == other
        register.note_layers({"x": layer("A", task("x"))})
        wrapped = layer("B", task("y") | task(f"x-{token}"))
        register.note_layers({"y": wrapped})
        assert wrapped.__dict__["_spanwise_wrapped"] is True

    def test_the_oldest_names_are_forgotten(
        self, register: Provenance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rules, "LAYER_NAMES", 20)
        for number in range(20):
            register.note_delayed(f"name {number}")
        register.note_delayed("name 0")  # once more: the newest now
        assert register.find_layer("name 1") is not None
        register.note_delayed("name 20")
        gone = [n for n in range(21) if register.find_layer(f"name {n}") is None]
        assert gone == [1, 2]


def test_names_of_keys_and_layers() -> None:
    assert [name_of(key) for key in ("x", ("x", 1), (("x", 1), 2), (), ((), 1), 5)] == [
        *("x", "x", "x"),
        *((), (), 5),
    ]
    assert layer_names(layer(None, {("x", 0): 1, "y": 1, ("z", 1, 2): 1, 5: 1}), "x") == {"y", "z"}


def test_equal_spans_and_equal_tags() -> None:
    with span("A"):
        one = current_annotation()
        assert current_annotation() is one
        with span("B"):
            inner = current_annotation()
    with span("A"):
        again = current_annotation()
    assert one is not None and again is not None
    assert same_span(one, dict(one)) and same_tags(one, again)
    assert not same_span(one, again) and not same_tags(one, inner)
    for other in (one, again):
        assert not same_span(None, other) and not same_span(other, None)
        assert not same_tags(None, other) and not same_tags(other, None)
    assert same_span(None, None) and same_tags(None, None)
