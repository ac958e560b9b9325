"""In which span keys are counted, by the names and layers of what Dask hands over."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar

import dask
import pytest
from dask._expr import Expr, HLGExpr, _ExprSequence, _HLGExprSequence
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

from spanwise import span
from spanwise.graph.attribution import Attribution, materialise
from spanwise.graph.provenance import Provenance, Source, current_annotation

TOKEN = "0123456789abcdef" * 2
OTHER = "f" * 32


@pytest.fixture
def register() -> Provenance:
    return Provenance()


def note(register: Provenance, tag: str, *names: str) -> None:
    with span(tag):
        for name in names:
            register.note_delayed(name)


def tags(source: Source) -> Any:
    name = None if source.span is None else "/".join(source.span["name"])
    return name, "exact" if source.exact else "inferred"


def ask(register: Provenance, *keys: Any, around: str = "around") -> list[Any]:
    """Of keys of a plain graph, submitted within a span."""
    with span(around):
        found = materialise(dict.fromkeys(keys), register)[1]
        return [tags(found.of(key)) for key in keys]


class TestNames:
    def test_with_a_token_they_are_proof_and_else_a_guess(self, register: Provenance) -> None:
        uuid = "load-12345678-9abc-4def-8123-456789abcdef"
        note(register, "A", f"sum-{TOKEN}", uuid, "load", "x-1")
        assert ask(register, f"sum-{TOKEN}", (uuid, 3, 4), "load", ("x-1", 0), f"sum-{OTHER}") == [
            ("A", "exact"),
            ("A", "exact"),
            ("A", "inferred"),
            ("A", "inferred"),
            ("around", "exact"),
        ]

    def test_as_fusion_spells_them(self, register: Provenance) -> None:
        note(register, "A", f"sum-{TOKEN}", "load", "a_b")
        note(register, "B", "a")
        note(register, "C", f"x-{OTHER}")
        expected = {
            f"sum-{TOKEN}_.0": ("A", "exact"),
            (f"sum-{TOKEN}_.0_.12", 7): ("A", "exact"),
            # The suffix that Dask appends to an array that goes into a delayed call,
            # and both.
            f"sum-{TOKEN}-{OTHER}": ("A", "exact"),
            f"sum-{TOKEN}_.1-{OTHER}": ("A", "exact"),
            f"load-{TOKEN}": ("A", "inferred"),
            "load_.3": ("A", "inferred"),
            "load_2": ("A", "inferred"),
            # The longest that is known.
            "a_b_c": ("A", "inferred"),
            "a_c_b": ("B", "inferred"),
            f"x-{OTHER}": ("C", "exact"),
            f"nowhere-{TOKEN}_.0": ("around", "exact"),
            "_load": ("around", "exact"),
            5: ("around", "exact"),
            (): ("around", "exact"),
            ((f"x-{OTHER}", 1), 2): ("C", "exact"),
        }
        assert dict(zip(expected, ask(register, *expected), strict=True)) == expected
        # So many are looked for and no more.
        many = [f"sum-{TOKEN}" + "".join(f"_.{n}" for n in range(most)) for most in (13, 14)]
        assert ask(register, many[0]) == [("A", "exact")]
        assert ask(register, many[1]) == [("around", "exact")]
        # Neighbours of one name, known and unknown in turn.
        turns = ["load", "nowhere", "nowhere", "load", "else", "nowhere", ("load", 1)]
        assert [span_of for span_of, _ in ask(register, *turns)] == [
            *("A", "around", "around", "A", "around", "around", "A"),
        ]

    def test_outside_spans_what_has_none_has_none(self, register: Provenance) -> None:
        register.note_delayed(f"sum-{TOKEN}")
        found = Attribution(register, None)
        assert tags(found.of(f"sum-{TOKEN}")) == tags(found.of("nowhere")) == (None, "exact")
        assert ask(register, f"sum-{TOKEN}") == [("around", "exact")]

    def test_expressions_have_names_too(self, register: Provenance) -> None:
        leaf = Leaf("named")
        with span("A"):
            register.note_collection(leaf)
        assert ask(register, (leaf._name, 0)) == [("A", "exact")]

    def test_work_in_the_middle_of_optimising_is_of_what_is_optimised(
        self, register: Provenance
    ) -> None:
        leaf = Leaf("optimised")
        with span("A"):
            register.note_collection(leaf)
        with register.working_on(leaf):
            assert ask(register, "nowhere") == [("A", "inferred")]

    def test_a_graph_of_the_call_s_own_is_written_there(self, register: Provenance) -> None:
        note(register, "A", f"sum-{TOKEN}")
        with span("B"):
            found = Attribution(register, current_annotation())
            assert found.by_name
            found.write_here([f"sum-{TOKEN}", ("x", 0)])
            assert not found.by_name
        assert tags(found.of(f"sum-{TOKEN}")) == tags(found.of(("x", 0))) == ("B", "exact")
        assert tags(found.of((f"sum-{TOKEN}", 1))) == ("A", "exact")


class Leaf(Expr):
    """An expression of one task."""

    _parameters: ClassVar[list[str]] = ["label"]

    def _layer(self) -> dict[Any, Any]:
        return {(self._name, 0): Task((self._name, 0), str, self.operand("label"))}


class Of(Expr):
    """One that uses others, and has a part of another name."""

    _parameters: ClassVar[list[str]] = ["left", "right"]

    def _layer(self) -> dict[Any, Any]:
        part = f"part-of-{self._name}"
        inputs = [TaskRef((each._name, 0)) for each in self.dependencies()]
        return {
            (part, 0): Task((part, 0), max, *inputs),
            (self._name, 0): Task((self._name, 0), len, TaskRef((part, 0))),
        }


class TestExpressions:
    def test_each_has_its_span_and_what_is_unknown_its_user_s(self, register: Provenance) -> None:
        known, shared, unknown = Leaf("known"), Leaf("shared"), Leaf("unknown")
        with span("A"):
            register.note_collection(known)
        inner = Of(shared, unknown)
        top = Of(inner, known)
        with span("B"):
            register.note_collection(Of(known, known))
            register._keep(top, Source(current_annotation(), True))
        with span("around"):
            graph, found, annotations = materialise(top, register)
        assert graph == top.__dask_graph__() and annotations == {}
        cases: list[tuple[Expr, Any]] = [
            (top, ("B", "exact")),
            (known, ("A", "exact")),
            (inner, ("B", "inferred")),
            (shared, ("B", "inferred")),
            (unknown, ("B", "inferred")),
        ]
        for expression, expected in cases:
            assert tags(found.of((expression._name, 0))) == expected
        assert tags(found.of((f"part-of-{top._name}", 0))) == ("B", "exact")
        assert tags(found.of((f"part-of-{inner._name}", 0))) == ("B", "inferred")

    def test_unknown_ones_of_unknown_users_are_of_the_call(self, register: Provenance) -> None:
        outside = Of(Leaf("x"), Leaf("y"))
        register._keep(outside, Source(None, True))
        with span("around"):
            _, found, _ = materialise(Of(outside, Leaf("z")), register)
        left = outside.dependencies()[0]
        for name in (outside._name, left._name, f"part-of-{outside._name}", "nowhere"):
            assert tags(found.of((name, 0))) == ("around", "exact")

    def test_parts_that_were_written_elsewhere_stay_there(self, register: Provenance) -> None:
        one = Of(Leaf("x"), Leaf("y"))
        note(register, "A", f"part-of-{one._name}")
        with span("B"):
            register.note_collection(one)
        _, found, _ = materialise(one, register)
        assert tags(found.of((f"part-of-{one._name}", 0))) == ("A", "exact")

    def test_a_part_of_two_expressions_is_the_nearer_one_s(
        self, register: Provenance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        below = Leaf("below")
        above = Of(below, below)
        for tag, expression in (("A", below), ("B", above)):
            with span(tag):
                register.note_collection(expression)
        tasks = {("shared", 0): Task(("shared", 0), max, 1)}
        for cls in (Leaf, Of):
            monkeypatch.setattr(cls, "_layer", lambda _: tasks)
        _, found, _ = materialise(above, register)
        assert tags(found.of(("shared", 0))) == ("B", "exact")

    def test_a_sequence_is_its_parts(self, register: Provenance) -> None:
        one, two = Leaf("one"), Of(Leaf("two"), Leaf("three"))
        with span("A"):
            register.note_collection(two)
        graph, found, _ = materialise(_ExprSequence(one, two), register)
        assert graph == one.__dask_graph__() | two.__dask_graph__()
        for name in (two._name, f"part-of-{two._name}"):
            assert tags(found.of((name, 0))) == ("A", "exact")
        assert tags(found.of((one._name, 0))) == (None, "exact")

    def test_what_is_used_by_several_is_looked_at_once(self, register: Provenance) -> None:
        """Over all ways to it would take for ever; others are looked at nevertheless."""
        shared: Expr = Leaf("shared")
        for _ in range(60):
            shared = Of(shared, shared)
        whole = Of(Leaf("other"), shared)
        graph, _, _ = materialise(whole, register)
        assert graph == whole.__dask_graph__() and len(graph) == 2 * 61 + 2

    def test_what_their_layers_make_is_theirs(
        self, register: Provenance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[Any] = []
        one = Leaf("making")

        def asked(_: Leaf) -> dict[Any, Any]:
            seen.append(register.worked_on())
            return {}

        monkeypatch.setattr(Leaf, "_layer", asked)
        with span("A"):
            register.note_collection(one)
        materialise(one, register)
        assert tags(seen[0]) == ("A", "inferred") and register.worked_on() is None


def layer(tag: str | None, *names: str, **annotations: Any) -> Layer:
    """A layer with tasks of these names, as it is written in a span."""
    tasks = {(name, 0): Task((name, 0), max, 1) for name in names}
    if tag is None:
        return MaterializedLayer(tasks, annotations=annotations or None)
    with span(tag):
        return MaterializedLayer(tasks, annotations={"span": current_annotation(), **annotations})


def layered(**layers: Layer) -> HighLevelGraph:
    return HighLevelGraph(layers, {name: set() for name in layers})


class TestLayers:
    def test_a_layer_s_own_span_counts(self, register: Provenance) -> None:
        graph = layered(x=layer("A", "x", "inner"), y=layer(None, "y"))
        # Known from elsewhere by these names.
        note(register, "B", "inner", "other")
        with span("around"):
            made, found, annotations = materialise(graph, register)
        assert made == graph.to_dict() and annotations == {}
        assert tags(found.of(("x", 0))) == tags(found.of(("inner", 0))) == ("A", "exact")
        assert tags(found.of(("y", 0))) == ("around", "exact")
        assert tags(found.of("other")) == ("B", "inferred")

    def test_what_fusion_makes_of_a_layer_s_name_is_its_too(self, register: Provenance) -> None:
        # An equal layer was written later.
        register.note_layers({"load": layer("B", "load")})
        found = materialise(layered(load=layer("A", "load")), register)[1]
        assert tags(found.of("load_.3")) == tags(found.of(("load", 7))) == ("A", "exact")
        # It may have nothing to do with the layer.
        assert tags(found.of("load_2")) == ("A", "inferred")

    def test_but_for_layers_of_an_optimiser_and_delayed_ones(self, register: Provenance) -> None:
        note(register, "A", f"x-{TOKEN}", "value")
        first = layer("B", f"x-{TOKEN}_.0", f"x-{TOKEN}-{OTHER}", "new", "y")
        register.note_layers({"y": layer("B", "y")})
        first.__dict__["_spanwise_seen"] = first.__dict__["_spanwise_wrapped"] = True
        # What is worked out at work, or opened where it was sent to.
        with span("C"):
            made = layer(None, "made")
            made.__dict__["_spanwise_source"] = (current_annotation(), False)
        found = materialise(layered(y=first, value=layer("D", "value"), made=made), register)[1]
        assert tags(found.of((f"x-{TOKEN}_.0", 0))) == ("A", "exact")
        assert tags(found.of((f"x-{TOKEN}-{OTHER}", 0))) == ("A", "exact")
        assert tags(found.of(("new", 0))) == tags(found.of(("y", 0))) == ("B", "exact")
        assert tags(found.of(("value", 0))) == ("A", "exact")
        assert tags(found.of(("made", 0))) == ("C", "inferred")

    def test_an_optimised_layer_nobody_knows_is_its_own_annotation_s(
        self, register: Provenance
    ) -> None:
        wrapped = layer("A", "x")
        wrapped.__dict__["_spanwise_seen"] = wrapped.__dict__["_spanwise_wrapped"] = True
        assert tags(materialise(layered(x=wrapped), register)[1].of(("x", 0))) == ("A", "exact")

    def test_one_layer_of_two_spans_is_inferred(self, register: Provenance) -> None:
        one, two = layer("A", "x", "inner"), layer("B", "x")
        register.note_layers({"x": one})
        register.note_layers({"x": two})
        found = materialise(layered(x=one), register)[1]
        assert tags(found.of(("x", 0))) == tags(found.of(("inner", 0))) == ("A", "inferred")

    def test_of_single_keys_annotations_count_where_names_are_unknown(
        self, register: Provenance
    ) -> None:
        note(register, "A", f"x-{TOKEN}")
        with span("B"):
            there = dict(current_annotation() or {})
        names = [f"x-{TOKEN}", "y", "z"]
        values = {(f"x-{TOKEN}", 0): there, ("y", 0): there, ("z", 0): object()}
        tasks = layer(None, *names)
        tasks.annotations = {"span": values.get}
        graph = layered(o=tasks, p=layer("C", "p"))
        with span("around"):
            found = materialise(graph, register)[1]
        assert [tags(found.of((name, 0))) for name in [*names, "p"]] == [
            ("A", "exact"),
            ("B", "exact"),
            ("around", "exact"),
            ("C", "exact"),
        ]

    def test_layers_that_are_not_made_yet_stay_unmade(self, register: Provenance) -> None:
        import dask.array as da

        with span("A"):
            x = da.ones(4, chunks=2, name=f"x-{TOKEN}")
        layers = list(x.dask.layers.values())
        expected = [each.is_materialized() for each in layers]
        assert not all(expected)
        Attribution(register, None).read_layers(x.dask)
        assert [each.is_materialized() for each in layers] == expected


def numbers(key: Any) -> int:
    return len(key[0])


class TestAnnotations:
    def expected(self) -> dict[str, Any]:
        return {
            "retries": {("x", 0): 3, ("abc", 0): 3, ("yy", 0): 2},
            "priority": {("yy", 0): 7},
        }

    def graphs(self) -> list[HighLevelGraph]:
        return [
            layered(x=layer("A", "x", "abc", retries=3)),
            layered(yy=layer("B", "yy", retries=numbers, priority=7), z=layer("C", "z")),
        ]

    def test_of_a_layered_graph(self, register: Provenance) -> None:
        merged = HighLevelGraph.merge(*self.graphs(), layered(w=layer(None, "w")))
        assert materialise(merged, register)[2] == self.expected()

    def test_of_expressions_over_layered_graphs(self, register: Provenance) -> None:
        expressions = [HLGExpr(graph) for graph in self.graphs()]
        for whole in (
            _HLGExprSequence(*expressions),
            _HLGExprSequence(*expressions, HLGExpr(layered(w=layer(None, "w")))),
        ):
            graph, found, annotations = materialise(whole, register)
            assert graph == whole.__dask_graph__() and annotations == self.expected()
            for name, tag in [("x", "A"), ("abc", "A"), ("yy", "B"), ("z", "C")]:
                assert tags(found.of((name, 0))) == (tag, "exact")
        graph, found, annotations = materialise(expressions[1], register)
        assert set(graph) == {("yy", 0), ("z", 0)}
        assert annotations == {"retries": {("yy", 0): 2}, "priority": {("yy", 0): 7}}

    def test_without_others_than_spans_dask_is_not_asked(self, register: Provenance) -> None:
        class Asked(HLGExpr):
            """Annotations of large graphs are made key by key."""

            def __dask_annotations__(self) -> Any:
                raise AssertionError

        whole = Asked(layered(x=layer("A", "x"), y=layer(None, "y")))
        assert materialise(whole, register)[2] == {}

    def test_a_graph_is_taken_as_it_is(self, register: Provenance) -> None:
        graph = {"x": 1}
        assert materialise(graph, register)[0] is graph

        class Other(dict[Any, Any]):
            """A mapping of somebody else's."""

        copied = materialise(Other(graph), register)[0]
        assert type(copied) is dict and copied == graph


@pytest.mark.parametrize("tag", ["A", None])
def test_annotations_are_those_that_dask_reads(tag: str | None) -> None:
    with dask.annotate(retries=3), span(tag) if tag else nullcontext():
        collection = dask.delayed(len)("text")
    register = Provenance()
    expression = dask.base.collections_to_expr([collection]).optimize()
    _, _, annotations = materialise(expression, register)
    assert annotations == {"retries": {collection.key: 3}}
