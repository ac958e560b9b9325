"""What the client writes of a graph, piece by piece, against slow descriptions of it."""

from __future__ import annotations

import itertools
import pickle
import time
from fractions import Fraction
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.graph import dictionaries
from spanwise.graph.dictionaries import Names, Spans, SpansOfTasks
from spanwise.graph.packs import Packer, option_columns
from spanwise.graph.resources import amounts_of, by_key
from spanwise.graph.roots import RootAnnotation
from spanwise.graph.span_record import SpanRecord
from spanwise.graph.spans import SpanAnnotation, current_span, record_of, span
from spanwise.graph.task_options import TaskOptions
from spanwise.graph.template import Call, Constant, Part, Run, Slot, Template, settled
from spanwise.records import bounded_texts
from spanwise.records.bounded_texts import LONGEST, BoundedTexts
from spanwise.records.enumerations import SPAN_WORDS


def called(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return args, kwargs


LITERALS = ("a", "b", "c")
VALUES = (0, 1, 2, 3)

# Each place with what it stands for.
leaves = st.one_of(
    st.integers(-3, 3).map(
        lambda i: (Slot(i), ("abc"[~i] if i < 0 else i)),
    ),
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(
        lambda ends: (Run(*ends), list(range(4))[ends[0] : ends[1]])
    ),
    st.sampled_from(["k", None, (1,)]).map(lambda value: (Constant(value), value)),
)
places = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(
            lambda pairs: (
                Call(list, tuple(p for p, _ in pairs), container=True),
                [v for _, v in pairs],
            )
        ),
        st.lists(inner, max_size=3).map(
            lambda pairs: (
                Call(tuple, tuple(p for p, _ in pairs), container=True),
                tuple(v for _, v in pairs),
            )
        ),
        st.tuples(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("xy"), inner)).map(
            lambda drawn: (
                Call(
                    called,
                    tuple(p for p, _ in drawn[0]),
                    {name: p for name, (p, _) in drawn[1].items()},
                ),
                called(
                    *(v for _, v in drawn[0]),
                    **{name: v for name, (_, v) in drawn[1].items()},
                ),
            )
        ),
    ),
    max_leaves=6,
)


@given(st.lists(places, max_size=3), st.dictionaries(st.sampled_from("xyz"), places))
def test_a_pattern_is_filled_as_it_was_written_also_when_it_was_pickled(
    arguments: list[Any], keywords: dict[str, Any]
) -> None:
    template = Template(
        called,
        places=tuple(place for place, _ in arguments),
        keywords={name: place for name, (place, _) in keywords.items()},
    )
    expected = called(
        *(value for _, value in arguments),
        **{name: value for name, (_, value) in keywords.items()},
    )
    for each in (template, pickle.loads(pickle.dumps(template))):
        assert type(each) is Template
        assert each.run(LITERALS, VALUES) == expected


class TestTemplates:
    def test_parts_keep_everything_when_they_are_pickled(self) -> None:
        part = Part(called, None, (Slot(1),), {"x": Slot(-1)}, "name", 3, (0, 2), True)
        again = pickle.loads(pickle.dumps(Template(len, parts=(part,)))).parts[0]
        assert type(again) is Part
        for each in (part, again):
            facts = (each.function, each.order, each.name, each.span, each.drops, each.settles)
            assert facts == (called, None, "name", 3, (0, 2), True)
        plain = Part(called, ())
        assert (plain.name, plain.span, plain.drops, plain.settles) == ("", 0, (), False)
        assert again.run(LITERALS, VALUES) == called(1, x="a")

    def test_a_fused_template_runs_part_by_part(self) -> None:
        seen: list[Any] = []

        def look(*values: Any) -> Any:
            seen.append(values)
            return len(seen)

        parts = (
            Part(look, (0, -2), drops=(0,)),
            Part(look, (2, 1), drops=(1, 2)),
            Part(look, (3,)),
        )
        template = Template(len, parts=parts)
        given = ["a", "b"]
        assert template.run(("x", "y"), given) == 3
        assert seen == [("a", "y"), (1, "b"), (2,)]
        # The caller's values are its own.
        assert given == ["a", "b"]

    def test_iterators_are_computed_at_once_and_stay_iterators(self) -> None:
        made: list[int] = []

        def items() -> Any:
            for i in range(3):
                made.append(i)
                yield i

        lazy, now = Part(items, ()), Part(items, (), settles=True)
        kept = lazy.run((), ())
        assert not made and list(kept) == [0, 1, 2]
        made.clear()
        result = now.run((), ())
        assert made == [0, 1, 2] and list(result) == [0, 1, 2]
        assert next(iter(result), None) is None
        made.clear()
        nested = settled(items() for _ in range(2))
        assert made == [0, 1, 2, 0, 1, 2]
        assert [list(inner) for inner in nested] == [[0, 1, 2], [0, 1, 2]]
        chained = settled(itertools.chain(items()))
        assert len(made) == 9 and list(chained) == [0, 1, 2]
        assert list(settled(iter(()))) == []
        # Bags have iterators of their own.
        of_bag = type("Lazy", (map,), {"__module__": "dask.bag.core"})
        made.clear()
        assert list(settled(of_bag(made.append, [1, 2]))) == [None, None]
        made.clear()
        settled(of_bag(made.append, [1, 2]))
        assert made == [1, 2]
        endless = itertools.count()
        assert settled(endless) is endless
        text = "no iterator"
        assert settled(text) is text

    def test_an_open_file_is_handed_on(self, tmp_path: Any) -> None:
        path = tmp_path / "lines"
        path.write_text("a\nb\n")
        with path.open() as file:
            assert settled(file) is file


class TestTexts:
    def test_beyond_the_bound_one_stands_for_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bounded_texts, "MOST_NAMES", 3)
        coined: list[tuple[int, str]] = []
        texts = BoundedTexts(lambda number, text: coined.append((number, text)))
        assert [texts.id_of(each) for each in ("a", "b", "a")] == [0, 1, 0]
        assert texts.group("g", "-1") == (2, "-1")
        assert texts.group("g", "-2") == (2, "-2")
        assert texts.group("h", "-3") == (3, "h-3")
        assert texts.group("i", "-4") == (3, "i-4")
        assert [texts.id_of(each) for each in ("c", "d", "b")] == [4, 4, 1]
        assert coined == list(enumerate(["a", "b", "g", "", "(others)"]))

    def test_characters_are_bounded_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bounded_texts, "MOST_CHARACTERS", 5)
        coined: list[str] = []
        texts = BoundedTexts(lambda _, text: coined.append(text))
        for text in ("abcd", "e", "f", "abcd"):
            texts.id_of(text)
        assert coined == ["abcd", "e", "(others)"]

    def test_long_functions_are_cut_and_long_groups_are_none(self) -> None:
        coined: list[str] = []
        texts = BoundedTexts(lambda _, text: coined.append(text))
        whole, long = "x" * LONGEST, "y" * (LONGEST + 1)
        assert texts.id_of(whole) == 0
        assert texts.id_of(long) == texts.id_of(long + "more") == 1
        assert coined == [whole, "y" * (LONGEST - 1) + "…"]
        assert texts.group("g" * LONGEST, "-1") == (2, "-1")
        assert texts.group("h" * (LONGEST + 1), "-1") == (3, "h" * (LONGEST + 1) + "-1")

    def test_each_text_is_announced_once_and_again_when_it_was_lost(self) -> None:
        names = Names()
        assert names.take_new() == {"firstName": 0, "names": []}
        names.id_of("a")
        names.id_of("b")
        assert names.announced == 0
        assert names.take_new() == {"firstName": 0, "names": ["a", "b"]}
        names.id_of("c")
        assert names.take_new() == {"firstName": 2, "names": ["c"]}
        assert names.announced == 3
        names.announce_again(1)
        names.announce_again(2)
        assert names.take_new() == {"firstName": 1, "names": ["b", "c"]}


class TestSpans:
    def test_a_span_is_numbered_after_its_parents_and_told_once(self) -> None:
        closed: list[dict[str, Any]] = []
        spans = Spans(closed.append, offset_at=lambda _: 1000.0)
        outer = SpanRecord("outer", None, origin="cell")
        inner = SpanRecord("inner", outer)
        other = SpanRecord("other", None)
        other.close()
        assert spans.id(None) == 0
        assert spans.id(SpanAnnotation(inner)) == 2
        assert spans.id(SpanAnnotation(inner)) == 2
        assert spans.id(SpanAnnotation(outer)) == 1
        assert spans.id(SpanAnnotation(other)) == 3
        assert spans.records == {1: outer, 2: inner, 3: other}
        beside = SpanRecord("beside", outer)
        unmoved = Spans(closed.append)
        assert [unmoved.id(SpanAnnotation(each)) for each in (inner, beside)] == [2, 3]
        rows = unmoved.take_new()
        assert [(row["id"], row["parent"], row["tag"]) for row in rows] == [
            (1, 0, "outer"),
            (2, 1, "inner"),
            (3, 1, "beside"),
        ]
        assert rows[0]["opened"] == outer.opened
        del unmoved

        def new(number: int, record: SpanRecord, parent: int) -> dict[str, Any]:
            return {**row(number, record, parent), "uuid": record.id}

        def row(number: int, record: SpanRecord, parent: int) -> dict[str, Any]:
            return {
                "id": number,
                "parent": parent,
                "tag": record.tag,
                "opened": record.opened + 1000.0,
                "closed": None if record.closed is None else record.closed + 1000.0,
                "origin": SPAN_WORDS[record.origin],
            }

        assert spans.take_new() == [new(1, outer, 0), new(2, inner, 1), new(3, other, 0)]
        assert spans.take_new() == []
        inner.close()
        outer.close()
        assert closed == [row(2, inner, 1), row(1, outer, 0)]
        inner.close()
        assert len(closed) == 2
        spans.announce_again(2)
        spans.announce_again(2)
        assert spans.take_new() == [new(2, inner, 1), new(3, other, 0)]
        spans.count_reused(SpanAnnotation(inner), 2)
        spans.count_reused(SpanAnnotation(inner), 3)
        spans.count_reused(None, 7)
        # One row however often: nothing is sent meanwhile.
        assert spans.take_new() == [{**row(2, inner, 1), "reused": 5}]
        assert spans.take_new() == []
        assert spans.first_unannounced == 4

    def test_types_of_what_was_submitted_have_a_bound(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dictionaries, "_TYPES_KEPT", 5)
        monkeypatch.setattr(dictionaries, "_STRETCHES_KEPT", 3)
        spans = Spans(lambda row: None)
        record = SpanRecord("a", None)
        number = spans.id(SpanAnnotation(record))
        spans.tell_types([0, number], ["Array", "Array", "Bag"])
        spans.tell_types([number], ["Future"])
        assert spans.types_of(record.id) == ["Array", "Array", "Bag", "Future"]
        spans.tell_types([number], ["Bag"])
        for _ in range(9):
            spans.tell_types({number}, ["Future"])
        assert spans.types_of(record.id) == ["Array", "Array", "Bag", "Future", "Future"]
        assert spans.types_of("another") == []

    def test_spans_of_several_clients_have_numbers_of_their_own(self) -> None:
        records = [SpanRecord(str(i), None) for i in range(1_000)]
        numbers: set[int] = set()
        for client in (0, 1, 2_047):
            spans = Spans(lambda row: None, client=client)
            numbers.update(spans.id(SpanAnnotation(each)) for each in records)
            first = [row["id"] for row in spans.take_new()]
            assert spans.first_unannounced == 1_001
            spans.announce_again(999)
            assert [row["id"] for row in spans.take_new()] == first[998:]
        assert len(numbers) == 3_000 and max(numbers) < dictionaries.LAST_SPAN

    @pytest.mark.parametrize("of_tasks", [False, True])
    def test_numbers_go_on_from_the_first_after_the_last(
        self, monkeypatch: pytest.MonkeyPatch, of_tasks: bool
    ) -> None:
        monkeypatch.setattr(dictionaries, "LAST_SPAN", 8)
        monkeypatch.setattr(dictionaries, "_SPANS_APART", 3)
        monkeypatch.setattr(dictionaries, "_APART", 60)
        monkeypatch.setattr(dictionaries, "_CLOSED_KEPT", 4)
        spans = Spans(lambda row: None, client=62)
        if of_tasks:
            spans = SpansOfTasks(lambda: 0, lambda row: None, client=62)
        records = [SpanRecord(str(i), None) for i in range(9)]
        for each in records[1:]:
            each.close()
        assert [spans.id(SpanAnnotation(each)) for each in records[:2]] == [7, 1]
        assert spans.first_unannounced == 1
        assert [row["id"] for row in spans.take_new()] == [7, 1]
        numbers = [spans.id(SpanAnnotation(each)) for each in records]
        # The first is open and keeps its number.
        assert numbers == [7, 1, 2, 3, 4, 5, 6, 1, 2]
        assert spans.first_unannounced == 3
        assert [row["id"] for row in spans.take_new()] == [2, 3, 4, 5, 6, 1, 2]
        assert spans.first_unannounced == 11
        spans.announce_again(6)
        assert [row["id"] for row in spans.take_new()] == [5, 6, 7, 1, 2]

    def test_q18_spans_that_closed_long_ago_are_kept_nowhere(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dictionaries, "_CLOSED_KEPT", 3)
        closed: list[dict[str, Any]] = []
        spans = Spans(closed.append)

        def numbered(*records: SpanRecord) -> list[int]:
            return [spans.id(SpanAnnotation(each)) for each in records]

        loop = SpanRecord("loop", None)
        steps = [SpanRecord("step", loop) for _ in range(7)]
        assert numbered(loop, *steps[:2]) == [1, 2, 3]
        late = SpanRecord("late", steps[0])
        assert numbered(late) == [4]
        spans.take_new()
        spans.count_reused(SpanAnnotation(steps[0]), 5)
        for each in steps:
            each.close()
        assert numbered(*steps[2:]) == [5, 6, 7, 8, 9]
        assert list(spans.records) == [1, 4, 7, 8, 9]
        # What was new of one is told, and what is below it stays there.
        told = [(row["id"], row["parent"], row.get("reused")) for row in spans.take_new()]
        assert told == [(number, 1, None) for number in (5, 6, 7, 8, 9)] + [(2, 1, 5)]
        late.close()
        assert [(row["id"], row["parent"]) for row in closed] == [(2, 1), (3, 1), (4, 2)]
        # One that is met again is another one of its id.
        assert numbered(steps[0], steps[6]) == [10, 9]
        spans.count_reused(SpanAnnotation(steps[0]), 2)
        new, again = spans.take_new()
        assert (new["id"], new["parent"], new["uuid"]) == (10, 1, steps[0].id)
        assert (again["id"], again["reused"]) == (10, 2)
        assert spans.first_unannounced == 11

    def test_q18_any_number_of_spans_takes_bounded_memory(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dictionaries, "_CLOSED_KEPT", 100)
        spans = Spans(lambda row: None)
        loop = SpanRecord("loop", None)
        told = 0
        for number in range(70_000):
            step = SpanRecord("step", loop)
            assert spans.id(SpanAnnotation(step)) == number + 2
            step.close()
            told += len(spans.take_new())
        assert told == 70_001
        # (nobody says when spans of other libraries close)
        last: dict[int, dict[str, Any]] = {}
        for number in range(200):
            theirs = {"name": ("theirs",), "ids": (str(number),)}
            spans.id(theirs)
            spans.count_reused(theirs, number)
            last |= {row["id"]: dict(row) for row in spans.take_new()}
        for kept in (spans.records, spans._by_id, spans._parents):
            assert len(kept) == 101
        assert len(spans._finished) == 100
        # Who is forgotten is told as closed: nobody keeps it for its end.
        are_open = [row["closed"] is None for row in last.values()]
        assert are_open == [False] * 100 + [True] * 100
        assert all(row["opened"] <= row["closed"] for row in [*last.values()][:100])
        assert [row.get("reused", 0) for row in last.values()] == [*range(200)]
        # Met again it is another one.
        assert spans.id({"name": ("theirs",), "ids": ("0",)}) == 70_202

    def test_q18_spans_that_are_met_again_keep_their_numbers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dictionaries, "_CLOSED_KEPT", 10)
        spans = Spans(lambda row: None)
        # One that another library keeps open, and one of a graph that is computed again and again.
        step = {"name": ("loop", "step"), "ids": ("loop", "step")}
        own = SpanRecord("own", None)
        first = [spans.id(step), spans.id(SpanAnnotation(own))]
        own.close()
        opened = spans.records[first[0]].opened
        for number in range(100):
            spans.id({"name": ("loop", "a"), "ids": ("loop", str(number))})
            if number % 3 == 0:
                assert [spans.id(step), spans.id(SpanAnnotation(own))] == first
        # Those around it stay as well.
        for number in range(100):
            spans.id({"name": ("b",), "ids": (f"b{number}",)})
            assert spans.id(step) == first[0]
        rows = spans.take_new()
        assert [row["tag"] for row in rows].count("loop") == 1
        assert (spans.records[first[0]].opened, spans._by_id["loop"]) == (opened, 1)

    def test_roots_are_numbered_before_what_is_within_them_and_told_with_their_code(self) -> None:
        closed: list[dict[str, Any]] = []
        spans = Spans(closed.append)
        notebook = SpanRecord("a.ipynb", None, origin="notebook")
        cell = SpanRecord("# load", None, origin="cell", root=notebook, code="[1]")
        outer = SpanRecord("load", None, root=cell)
        inner = SpanRecord("read", outer)
        assert SpanAnnotation(inner) == {"name": ("load", "read"), "ids": (outer.id, inner.id)}
        assert inner.name == ("load", "read")
        assert inner.path == ("a.ipynb", "# load", "load", "read")
        assert spans.id(SpanAnnotation(inner)) == 4
        assert spans.id(RootAnnotation(cell)) == 2
        told = [(row["id"], row["parent"], row["tag"], row.get("code")) for row in spans.take_new()]
        assert told == [
            (1, 0, "a.ipynb", None),
            (2, 1, "# load", "[1]"),
            (3, 2, "load", None),
            (4, 3, "read", None),
        ]
        assert record_of(RootAnnotation(cell)) is cell
        # In another process it means nothing.
        assert pickle.loads(pickle.dumps(RootAnnotation(cell))) is None
        cell.close()
        assert [(row["id"], row["parent"]) for row in closed] == [(2, 1)]

    def test_an_annotation_of_another_library_has_its_record(self) -> None:
        annotation = {"name": ("a", "b"), "ids": ("1", "2")}
        record = record_of(annotation)
        assert (record.tag, record.id, record.name) == ("b", "2", ("a", "b"))
        assert record.parent is not None and record.parent.id == "1"
        assert SpanAnnotation(record) == annotation
        assert type(pickle.loads(pickle.dumps(SpanAnnotation(record)))) is dict
        spans = Spans(lambda row: None)
        assert [spans.id(annotation), spans.id(dict(annotation))] == [2, 2]
        with pytest.raises(ValueError, match="at least one tag"):
            record_of({"name": (), "ids": ()})


class TestSpansOfTasks:
    def test_what_a_task_submits_is_of_its_span_or_below_it(self) -> None:
        around = 0
        closed: list[dict[str, Any]] = []
        spans = SpansOfTasks(lambda: around, closed.append, offset_at=lambda _: 1000.0)

        def numbered(record: SpanRecord | None) -> int:
            return spans.id(None if record is None else SpanAnnotation(record))

        def told() -> list[tuple[Any, ...]]:
            return [
                (row["id"], row["parent"], row["tag"], row.get("same")) for row in spans.take_new()
            ]

        outside, first, other, late = (SpanRecord(tag, None) for tag in "abcd")
        inner = SpanRecord("inner", first)
        assert [numbered(None), numbered(outside)] == [0, 1]
        around = 7
        assert [numbered(None), numbered(None)] == [2, 2]
        assert [numbered(inner), numbered(other)] == [4, 5]
        around = 9
        # Of the task in which it was met first.
        below = SpanRecord("below", first)
        assert [numbered(first), numbered(late), numbered(None)] == [3, 7, 6]
        assert numbered(below) == 8
        rows = [
            (1, 0, "a", None),
            (2, 0, "", 7),
            (3, 2, "b", None),
            (4, 3, "inner", None),
            (5, 2, "c", None),
            (6, 0, "", 9),
            (7, 6, "d", None),
            (8, 3, "below", None),
        ]
        assert told() == rows
        around = 0
        spans.announce_again(1)
        top, task, *_ = again = spans.take_new()
        assert [row["parent"] for row in again] == [parent for _, parent, *_ in rows]
        assert task["closed"] == task["opened"]
        assert top["opened"] == outside.opened + 1000.0
        for each in (other, inner):
            each.close()
        assert [(row["id"], row["parent"]) for row in closed] == [(5, 2), (4, 3)]


class Watcher:
    """Is told when spans close."""

    def __init__(self) -> None:
        self.closed: list[tuple[str, float | None]] = []

    def on_closed(self, record: SpanRecord) -> None:
        self.closed.append((record.tag, record.closed))


class TestOpenedSpans:
    def test_one_span_per_tag_open_until_the_block_ends(self) -> None:
        before = time.perf_counter()
        watcher = Watcher()
        assert current_span() is None
        with pytest.raises(ZeroDivisionError), span("outer"):
            outer = record_of(current_span() or {})
            with span("inner", 7) as identifier:  # type: ignore[arg-type]
                annotation = current_span()
                assert annotation is not None
                leaf = record_of(annotation)
                assert leaf.parent is not None and leaf.parent.parent is outer
                assert annotation["name"] == leaf.name == ("outer", "inner", "7")
                assert annotation["ids"] == (outer.id, leaf.parent.id, identifier)
                assert leaf.id == identifier and leaf.origin == "user"
                assert leaf.closed is None and outer.parent is None
                for record in (outer, leaf.parent, leaf):
                    record.watch(watcher.on_closed)
                assert before <= outer.opened <= leaf.parent.opened <= leaf.opened
            assert [tag for tag, _ in watcher.closed] == ["7", "inner"]
            _ = 1 / 0
        assert [tag for tag, _ in watcher.closed] == ["7", "inner", "outer"]
        times = [at for _, at in watcher.closed]
        assert None not in times and times == sorted(times)  # type: ignore[type-var]
        assert current_span() is None
        assert len({outer.id, leaf.parent.id, leaf.id}) == 3

    def test_inside_a_span_of_another_library(self) -> None:
        with dask.annotate(span={"name": ("a", "b"), "ids": ("1", "2")}), span("c") as identifier:
            assert current_span() == {"name": ("a", "b", "c"), "ids": ("1", "2", identifier)}
        with pytest.raises(ValueError):
            record_of({"name": ("a", "b"), "ids": ("1",)})

    def test_who_watched_and_is_gone_is_not_told(self) -> None:
        record, watcher = SpanRecord("x", None), Watcher()
        other = Watcher()
        for each in (watcher, other):
            record.watch(each.on_closed)
        del watcher, each
        record.close()
        first = record.closed
        assert other.closed == [("x", first)]
        record.close()
        assert len(other.closed) == 1, "told once"

    def test_without_a_tag_it_is_refused_with_an_example(self) -> None:
        with pytest.raises(ValueError, match=r"span\('load'\)"), span():
            pass
        with pytest.raises(ValueError, match="at least one tag"):
            record_of({"name": (), "ids": ()})


class TestOptions:
    def test_a_layer_s_options_win_over_those_of_the_submission(self) -> None:
        asked: list[Any] = []
        options = TaskOptions(
            lambda named, _: asked.append(named),
            {
                "retries": 2,
                "priority": lambda key: len(key),
                "workers": "alice",
                "allow_other_workers": None,
                "resources": {},
                "else": 1,
            },
        )
        assert options
        options.add_annotations(
            {
                "retries": {"ab": 300, "c": 0},
                "workers": {"ab": ["bob", 3, 70_000, True], "c": lambda key: [key]},
                "allow_other_workers": {"ab": True},
                "priority": {},
            }
        )
        assert options.row("xyz") == (2, 1, 3)
        assert options.row("ab") == (255, 2, 2)
        assert options.row("c") == (0, 3, 1)
        assert options.row("other") == (2, 1, 5)
        assert options.restrictions == [
            {"workers": ["alice"], "allowOther": False},
            {"workers": ["bob", 3, "70000", "True"], "allowOther": True},
            {"workers": ["c"], "allowOther": False},
        ]
        # Each set of workers is looked for once.
        assert asked == [("alice",), ("bob", 3, "70000", "True"), ("c",)]

    def test_the_same_workers_alone_or_first_are_two_restrictions(self) -> None:
        options = TaskOptions(lambda *_: None, {"workers": [0, 65_535, 65_536, -1]})
        assert options.row("a") == (0, 1, 0)
        options.add_annotations({"allow_other_workers": {"b": True}})
        assert options.row("b") == (0, 2, 0)
        assert options.row("c") == (0, 1, 0)
        assert options.restrictions[0]["workers"] == [0, 65_535, "65536", "-1"]

    def test_nothing_is_nothing(self) -> None:
        options = TaskOptions(lambda *_: None, {"retries": None})
        assert not options
        options.add_annotations({"retries": {}, "span": {"a": 1}})
        assert not options and options.row("a") == (0, 0, 0) and options.restrictions == []
        options.add_annotations({"priority": {"a": -4}})
        assert options and options.row("a") == (0, 0, -4)

    def test_resources_are_wished_for_with_workers_or_alone(self) -> None:
        asked: list[Any] = []
        options = TaskOptions(lambda named, _: asked.append(named), {"resources": {"GPU": 1}})
        options.add_annotations(
            {"resources": {"b": {"MEM": 2.5}, "c": {}}, "workers": {"b": "alice"}}
        )
        assert options.row("a") == (0, 1, 0)
        assert options.row("b") == (0, 2, 0)
        assert options.row("c") == (0, 0, 0)
        assert options.row("d") == (0, 1, 0)
        assert options.restrictions == [
            {"allowOther": False, "resources": {"GPU": 1}},
            {"allowOther": False, "workers": ["alice"], "resources": {"MEM": 2.5}},
        ]
        assert asked == [("alice",)]

    def test_resources_by_key(self) -> None:
        named = {"a": {"GPU": 1}, ("b", "c"): {"GPU": 2}, ("x", 0): {"GPU": 3}}
        options = TaskOptions(lambda *_: None, {"resources": named})
        assert options
        rows = [options.row(key)[1] for key in ("a", "b", "c", ("x", 0), ("x", 1), "d")]
        assert rows == [1, 2, 2, 3, 0, 0]
        # Those of a layer win here too.
        options.add_annotations({"resources": {"a": {"MEM": 5}}})
        assert options.row("a")[1] == 4 and options.restrictions[3]["resources"] == {"MEM": 5}
        assert not TaskOptions(lambda *_: None, {"resources": {}})

    def test_amounts_become_plain_numbers(self) -> None:
        most = 2**53 - 1
        found = amounts_of({"a": 0, "b": most, "c": Fraction(1, 4), "d": most + 0.0})
        assert found == {"a": 0, "b": most, "c": 0.25, "d": most}
        assert [type(each) for each in found.values()] == [int, int, float, float]

    @pytest.mark.parametrize(
        ("amounts", "error", "begins"),
        [
            (["GPU"], TypeError, r"of mine are amounts by name.*not \['GPU'\]"),
            ({"GPU": True}, TypeError, "of mine are numbers by name.*'GPU' and True are not"),
            ({"GPU": "1"}, TypeError, "of mine are numbers by name"),
            ({1: 1}, TypeError, "of mine are numbers by name.*1 and 1 are not"),
            ({"MEM": 1, "GPU": -1}, ValueError, "of mine are from 0.*'GPU' is -1"),
            ({"GPU": float("nan")}, ValueError, "of mine are from 0"),
            ({"GPU": 2**53}, ValueError, "of mine are from 0"),
        ],
    )
    def test_amounts_that_cannot_be(self, amounts: Any, error: Any, begins: str) -> None:
        with pytest.raises(error, match=f"^{begins}"):
            amounts_of(amounts, "of mine")
        with pytest.raises(error, match=f"^{begins.replace('of mine', 'resources')}"):
            TaskOptions(lambda *_: None, {"resources": amounts})
        with pytest.raises(error, match=r"^resources are"):
            TaskOptions(lambda *_: None, {"resources": {"key": amounts}})

    def test_keys_of_resources_are_tuples_collections_and_sets_of_them(self) -> None:
        class Collection:
            def __dask_keys__(self) -> Any:
                return [["x", ("y", 1)], "z"]

        inner = frozenset({"s", ("t", 0)})
        pair = (Collection(), "w")
        first, second, third = {"GPU": 1}, {"GPU": 2}, {"GPU": 3}
        assert by_key({"a": first, pair: second, inner: third}) == {
            "a": first,
            **dict.fromkeys([pair, "w"], second),
            **dict.fromkeys(["x", ("y", 1), "z"], second),
            **dict.fromkeys(["s", ("t", 0), "t", 0], third),
        }
        assert by_key({"GPU": 1, "MEM": 2}) is by_key({}) is None
        with pytest.raises(TypeError, match="not both"):
            by_key({"GPU": 1, "a": first})

    @pytest.mark.parametrize(
        ("name", "value", "error"),
        [
            ("retries", "2", TypeError),
            ("retries", True, TypeError),
            ("retries", False, TypeError),
            ("retries", -1, ValueError),
            ("retries", float("nan"), ValueError),
            ("priority", "2", TypeError),
            ("priority", True, TypeError),
            ("priority", False, TypeError),
            ("priority", "", TypeError),
            ("priority", float("nan"), ValueError),
            ("workers", 3.5, TypeError),
            ("workers", {"alice": 1}, TypeError),
            ("workers", ["alice", None], TypeError),
            ("allow_other_workers", "yes", TypeError),
        ],
    )
    def test_options_that_cannot_be(self, name: str, value: Any, error: Any) -> None:
        """Of the submission at once, of a layer with its task."""
        with pytest.raises(error, match=f"^{name} is"):
            TaskOptions(lambda *_: None, {name: value})
        options = TaskOptions(lambda *_: None, {"workers": "alice"})
        options.add_annotations({name: {"a": value}})
        with pytest.raises(error, match=f"^{name} is"):
            options.row("a")
        assert options.row("b") == (0, 1, 0)

    def test_options_that_are_unusual_numbers_and_collections(self) -> None:
        infinite = float("inf")
        rows = [
            TaskOptions(lambda *_: None, given).row("a")
            for given in (
                {"retries": 2.0, "priority": Fraction(-5, 2)},
                {"retries": infinite, "priority": infinite},
                {"retries": 0, "priority": -infinite},
            )
        ]
        assert rows == [(2, 0, -2), (255, 0, 2**31 - 1), (0, 0, -(2**31))]
        options = TaskOptions(
            lambda *_: None, {"workers": ("alice", np.int64(3)), "allow_other_workers": 1}
        )
        options.add_annotations(
            {"workers": {"b": np.int64(7), "c": [], "d": {"bob"}}, "priority": {"c": 1}}
        )
        assert [options.row(key)[1] for key in "abcd"] == [1, 2, 0, 3]
        assert [row["workers"] for row in options.restrictions] == [["alice", 3], [7], ["bob"]]
        assert type(options.restrictions[1]["workers"][0]) is int
        assert {row["allowOther"] for row in options.restrictions} == {True}
        assert type(options.restrictions[0]["allowOther"]) is bool

    def test_workers_are_looked_for_with_whether_others_will_do(self) -> None:
        asked: list[Any] = []
        options = TaskOptions(lambda *all_: asked.append(all_), {"workers": "alice"})
        options.add_annotations({"allow_other_workers": {"b": True}})
        assert [options.row(key)[1] for key in "ab"] == [1, 2]
        assert asked == [(("alice",), False), (("alice",), True)]

    def test_more_wishes_than_the_column_counts_are_refused(self) -> None:
        options = TaskOptions(lambda *_: None, {"resources": lambda key: {"MEM": key}})
        for amount in range(1, 65_536):
            options.row(amount)
        with pytest.raises(ValueError, match="65,535 different"):
            options.row(65_536)


@given(st.integers(min_value=0), st.integers())
def test_any_retries_and_priorities_fit_their_columns(retries: int, priority: int) -> None:
    options = TaskOptions(lambda *_: None, {"retries": retries, "priority": priority})
    columns = option_columns(["a"], options)
    assert columns["retries"][0] == min(retries, 255)
    most = 2**31
    assert columns["userPriority"][0] == (
        priority if -most <= priority < most else -most if priority < 0 else most - 1
    )


@given(st.lists(st.sampled_from(["reused", "met", "taken", "sent", "failed"]), max_size=12))
def test_rows_about_announced_spans_wait_until_a_message_with_them_has_gone_out(
    turns: list[str],
) -> None:
    """Those of spans that are forgotten, of new counts and of code."""
    packer = Packer(lambda _: b"", Names(), Spans(lambda _: None))
    spans = packer.spans
    outer: Any = {"name": ("kept",), "ids": ("kept",)}
    spans.id(outer)
    reused, codes, ended = 0, set(), set()
    received: list[dict[str, Any]] = []
    mark, taken = packer.mark(), spans.take_new()
    for turn in [*turns, "sent"]:
        if turn == "reused":
            reused += 1
            spans.count_reused(outer, 1)
        elif turn == "met":
            codes.add(code := f"code {len(codes)}")
            spans.tell_code(outer, code)
            # One that nobody closes.
            other = spans.id({"name": ("gone",), "ids": (f"gone {len(ended)}",)})
            del spans._finished[other]
            spans._forget(other)
            ended.add(other)
        elif turn == "taken":  # a part of a message
            taken += spans.take_new()
        else:
            taken += spans.take_new()
            if turn == "sent":
                received += taken
            else:
                packer.announce_again(mark)
                packer.announce_again(mark)
            mark, taken = packer.mark(), []
    assert max(row.get("reused", 0) for row in received) == reused
    assert codes <= {row.get("code") for row in received}
    assert ended <= {row["id"] for row in received if row["closed"] is not None}


@given(st.lists(st.sampled_from(["new", "sent", "failed"]), max_size=12))
def test_a_span_waits_until_a_message_with_it_has_gone_out(turns: list[str]) -> None:
    """Of a message that fails, all spans come with the next, also those of failures before it."""
    packer = Packer(lambda _: b"", Names(), Spans(lambda _: None))
    made, received = 0, set()
    for turn in [*turns, "sent"]:
        if turn == "new":
            made += 1
            packer.spans._number(SpanRecord(f"tag {made}", None))
            continue
        mark = packer.mark()
        rows = packer.spans.take_new()
        if turn == "sent":
            received |= {row["id"] for row in rows}
        else:
            packer.announce_again(mark)
    assert received == set(range(1, made + 1))
