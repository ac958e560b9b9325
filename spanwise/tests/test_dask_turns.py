"""A look at spans, sums and groups skips what rests, and nothing is lost by that."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.spans import Span
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spanwise.dask_bridge import plugin_source
from spanwise.dask_bridge.plugin_source import Bridge, Turns
from spanwise.tests.task_groups import task_group

_REST = plugin_source._REST_SECONDS
_LOOKS = plugin_source._RESTING_LOOKS
#: A round of all that rests, and what begins it.
_ROUND = _LOOKS + 1


class _Clock:
    """Goes on as it is told; the plugin's while the block runs."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._own = plugin_source.monotonic

    def __enter__(self) -> _Clock:
        plugin_source.monotonic = lambda: self.now  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        plugin_source.monotonic = self._own


def _look_by(turns: Turns, things: dict[Any, Any], forget: Callable[[Any], None]) -> list[Any]:
    """What a look visits that comes to its end."""
    visited = [key for key in turns.visits(things, forget) if key is not None]
    turns.end()
    return visited


_NAMES = st.integers(0, 9)
#: Seconds without a look, some of them longer than what has not changed takes to rest; and those
#: that end with looks, after which all rests.
_PASSES = st.tuples(st.just("pass"), st.sampled_from([1, 20, 31])) | st.just(("rest", 31))


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(0, 40)),
            st.tuples(st.sampled_from(["touch", "remove"]), _NAMES),
            _PASSES,
            st.tuples(st.just("look"), st.integers(1, 3)),
        ),
        max_size=60,
    )
)
@example([("look", 1), ("rest", 31), ("touch", 0), ("look", 20)])
def test_each_thing_has_its_turn(drawn: list[tuple[str, int]]) -> None:
    turns = Turns()
    things = dict.fromkeys(range(0, 40, 2), "thing")
    touched: dict[int, float] = {}
    missed = dict.fromkeys(things, 0)
    forgotten: list[int] = []
    with _Clock() as clock:
        for what, number in drawn:
            if what == "add" and number not in things:
                things[number] = "thing"
                missed[number] = 0
            elif what == "touch":
                turns.touch(number)
                touched[number] = clock.now
            elif what == "remove" and number in things:
                del things[number], missed[number]
                touched.pop(number, None)
            elif what in ("pass", "rest"):
                clock.now += number
            for _ in range(number if what == "look" else 2 * (what == "rest")):
                forgotten.clear()
                visited = _look_by(turns, things, forgotten.append)
                assert len(visited) == len({*visited})
                assert {*visited} <= {*things}
                assert not {*forgotten} & {*things}
                late = {
                    each for each, at in touched.items() if at >= clock.now - _REST
                } & things.keys()
                assert late <= {*visited}
                for each in things:
                    missed[each] = 0 if each in visited else missed[each] + 1
                    # (it may be the first of one round and the last of the next)
                    assert missed[each] < 2 * _LOOKS
        # What has gone is kept no longer, and of what rests a look visits no more than its share.
        for _ in range(2 * _ROUND):
            _look_by(turns, things, forgotten.append)
        clock.now += _REST + 1
        for _ in range(2 * _ROUND):
            visited = _look_by(turns, things, forgotten.append)
        assert turns._late.keys() | turns._resting.keys() == things.keys()
        assert len(visited) <= math.ceil(len(things) / _LOOKS)


def test_a_new_thing_is_visited_at_once() -> None:
    turns = Turns()
    things = dict.fromkeys(range(1_000))
    with _Clock() as clock:
        assert _look_by(turns, things, print) == [*things]
        clock.now += _REST + 1
        # (nobody has looked meanwhile)
        assert _look_by(turns, things, print) == [*things]
        assert len(_look_by(turns, things, print)) < 100
        things[1_000] = None
        assert 1_000 in _look_by(turns, things, print)


def test_the_scheduler_has_its_turns_amid_very_many_things() -> None:
    """Whatever a look has to do with all of them: new ones, gone ones, a round that begins."""
    touched = 0

    class Key:
        def __hash__(self) -> int:
            nonlocal touched
            touched += 1
            return object.__hash__(self)

    turns = Turns()
    things = {Key(): "thing" for _ in range(5_000)}
    with _Clock() as clock:
        for what in ("new", "late", "resting", "all", "gone"):
            clock.now += _REST + 1
            if what == "all":
                turns.take_all_next()
            if what == "gone":
                things = dict([*things.items()][::2])
            touched = 0
            for _ in turns.visits(things, lambda key: None):
                assert touched <= 6 * plugin_source._STRETCH_ROWS, what
                touched = 0
            turns.end()


class _Scheduler:
    """What the sections read of a scheduler: spans in one another, groups, sums."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}
        self.extensions = {"spans": SimpleNamespace(spans=self.spans)}
        self.task_groups: dict[str, Any] = {}
        self.cumulative_worker_metrics: dict[tuple[str, ...], float] = {}
        #: Of each number the ids of its spans. Dask gives none twice.
        self._ids: dict[int, list[str]] = {}

    def span(self, number: int) -> Span | None:
        """The one that there is with this number."""
        ids = self._ids.get(number)
        return self.spans.get(ids[-1]) if ids else None

    def add_span(self, number: int) -> None:
        if self.span(number) is None:
            ids = self._ids.setdefault(number, [])
            ids.append(f"s{number}" + "'" * len(ids))
            around = self.span(number // 3) if number else None
            span = Span(("load", f"n{number}"), ids[-1], around, [(0.0, 1)])
            span.enqueued = 100.0
            if around is not None:
                around.children.append(span)
            self.spans[span.id] = span

    def add_group(self, name: str, span: Span) -> None:
        group = task_group(name)
        group.span_id = span.id
        span.groups.add(group)
        self.task_groups[name] = group


def _bridge(scheduler: _Scheduler) -> Bridge:
    bridge = Bridge()
    bridge.scheduler = scheduler
    bridge._begin_states()
    for name in bridge._sections.keys() - {"spans", "groups", "fine"}:
        del bridge._sections[name]
    return bridge


def _told(bridge: Bridge) -> dict[str, list[tuple]]:
    return {
        name: sorted((values for _, values in section.rows.values()), key=repr)
        for name, section in bridge._sections.items()
    }


def _look(bridge: Bridge, stretches: int | None = None) -> None:
    for section in bridge._sections.values():
        looking = section.looking(bridge._next_state)
        for place, _ in enumerate(looking):
            if place == stretches:
                break  # (who asked has left)
        looking.close()  # type: ignore[attr-defined]


_CHANGES = st.one_of(
    st.tuples(st.sampled_from(["span", "group"]), _NAMES, st.just(0.0)),
    st.tuples(st.just("states"), _NAMES, st.sampled_from([0.0, 1.0])),
    st.tuples(st.just("ran"), _NAMES, st.sampled_from([110.0, 120.0])),
    st.tuples(st.just("forget"), _NAMES, st.just(0.0)),
    st.tuples(st.just("sum"), _NAMES, st.sampled_from([1.0, 2.0**61, math.nan, -0.5])),
    st.tuples(st.just("total"), _NAMES, st.just(1.0)),
    st.tuples(st.just("gone"), _NAMES, st.just(0.0)),
    st.tuples(st.just("look"), st.integers(1, 3), st.just(0.0)),
    st.tuples(st.just("cut"), st.integers(0, 3), st.just(0.0)),
)


@pytest.fixture
def often_amid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look pauses after every third thing."""
    monkeypatch.setattr(plugin_source, "_STRETCH_ROWS", 3)
    monkeypatch.setattr(plugin_source, "_STRETCH_SECONDS", 0.0)


class _Watched:
    """A scheduler that things happen to, and a bridge that looks."""

    def __init__(self) -> None:
        self.scheduler = _Scheduler()
        self.bridge = _bridge(self.scheduler)
        for number in range(10):
            self.scheduler.add_span(number)
            span = self.scheduler.span(number)
            assert span is not None
            self.scheduler.add_group(f"g{number}", span)

    def happen(self, what: str, number: int, value: float) -> None:
        scheduler, touch = self.scheduler, self.bridge._touch
        span = scheduler.span(number)
        group = scheduler.task_groups.get(f"g{number}")
        if what == "span":
            scheduler.add_span(number)
        elif what == "group" and span is not None and group is None:
            scheduler.add_group(f"g{number}", span)
            touch([span.id])
        elif what == "states" and group is not None:
            # (the bridge is not told of a task that is given up)
            if value:
                touch([group.span_id])
            group.states["processing"] = int(value)
        elif what == "ran" and group is not None:
            group.start = group.stop = value
            group.nbytes_total += 8
            touch([group.span_id])
        elif what == "forget" and group is not None:
            del scheduler.task_groups[f"g{number}"]
        elif what == "sum" and span is not None:
            # (a worker may tell it long after the task)
            key = ("execute", "f", f"a{number % 3}", "seconds")
            span._cumulative_worker_metrics[key] += value
            for name in ("execute", "get-data"):
                sums = scheduler.cumulative_worker_metrics
                sums[name, "f", f"a{number % 3}", "seconds"] = value
        elif what == "total":
            scheduler.cumulative_worker_metrics["get-data", "network", "seconds"] = value
        elif what == "gone" and span is not None and not span.children:
            del scheduler.spans[span.id]
            if span.parent is not None:
                span.parent.children.remove(span)
        elif what == "look":
            for _ in range(number):
                _look(self.bridge)
        elif what == "cut":
            _look(self.bridge, number)

    def fresh(self) -> Bridge:
        """A bridge that looks for the first time."""
        found = _bridge(self.scheduler)
        found._known_groups = {
            number: (group, seen, False)
            for number, (group, seen, _) in self.bridge._known_groups.items()
        }
        # (sums are told of spans that are known)
        _look(found)
        _look(found)
        return found


@pytest.mark.usefixtures("often_amid")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_CHANGES | _PASSES.map(lambda drawn: (*drawn, 0.0)), max_size=60))
@example(
    [
        *[("states", 5, 1.0), ("look", 1, 0.0)],
        *[("rest", 31, 0.0), ("states", 5, 0.0), ("look", 1, 0.0)],
    ]
)
@example(
    [
        *[("look", 1, 0.0), ("rest", 31, 0.0)],
        *[("sum", 8, 1.0), ("cut", 0, 0.0), ("pass", 31, 0.0)],
    ]
)
@example([("sum", 4, 1.0), ("look", 1, 0.0), ("gone", 4, 0.0), ("span", 4, 0.0)])
def test_what_looks_have_found_is_what_is_there(drawn: list[tuple[str, int, float]]) -> None:
    """However things change between looks: as one finds that has never looked before."""
    watched = _Watched()
    with _Clock() as clock:
        for what, number, value in drawn:
            if what in ("pass", "rest"):
                clock.now += number
            if what == "rest":
                what, number = "look", 2
            watched.happen(what, number, value)
            if what == "look":
                told = {row[0]: row for row in _told(watched.bridge)["spans"]}
                true = {row[0]: row for row in _told(watched.fresh())["spans"]}
                for number, row in told.items():
                    assert row[6] or row == true[number], "what goes on goes on"
        for _ in range(2 * _ROUND + 1):
            _look(watched.bridge)
        fresh = watched.fresh()
        assert _told(watched.bridge) == _told(fresh)
        assert watched.bridge._fine_untold == fresh._fine_untold


@pytest.mark.usefixtures("often_amid")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        _CHANGES.filter(lambda change: change[0] != "gone")
        | _PASSES.map(lambda drawn: (*drawn, 0.0)),
        max_size=60,
    )
)
@example([("look", 1, 0.0), ("sum", 0, 1.0), ("cut", 0, 0.0), ("look", 1, 0.0)])
@example([("look", 1, 0.0), ("rest", 31, 0.0), ("ran", 9, 110.0), ("look", 1, 0.0)])
@example(
    [
        *[("look", 1, 0.0), ("ran", 9, 110.0), ("pass", 31, 0.0)],
        *[("cut", 0, 0.0), ("look", 1, 0.0)],
    ]
)
def test_each_look_finds_all_that_changed_of_late(drawn: list[tuple[str, int, float]]) -> None:
    """All of spans, since the bridge is told what happens to them; of sums, if none rests."""
    watched = _Watched()
    sections = {"spans", "groups", "fine"}
    with _Clock() as clock:
        for what, number, value in drawn:
            if what in ("pass", "rest"):
                clock.now += number
                sections = {"spans", "groups"}
            if what == "rest":
                what, number = "look", 2
            watched.happen(what, number, value)
            if what == "look":
                # (sums are told of spans that are known)
                _look(watched.bridge)
                told, true = _told(watched.bridge), _told(watched.fresh())
                for name in sections:
                    assert told[name] == true[name]


def test_who_asks_a_question_is_told_of_what_rests_too() -> None:
    """A worker that stood still told its sums long after its last task."""
    watched = _Watched()
    bridge = watched.bridge

    def told(fresh: bool) -> set[str]:
        texts = plugin_source.Texts()
        said = asyncio.run(bridge._states(-1, {"spans", "fine"}, fresh, set(), texts, None))
        spans = said["states"]["fine"]["span"]
        return {texts.texts[number] for number in spans if number >= 0}

    with _Clock() as clock:
        for _ in range(3):
            _look(bridge)
            clock.now += _REST + 1
        for number in (5, 6, 7):
            watched.happen("sum", number, 1.0)
        assert len(told(fresh=False)) <= 1
        assert told(fresh=True) == {"s5", "s6", "s7"}
