"""Nothing that a Dask scheduler answers is believed; the ring on it keeps its bounds."""

from __future__ import annotations

import ast
import asyncio
import copy
import dataclasses
import gc
import hashlib
import json
import math
import tracemalloc
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.dask_bridge import plugin_source
from spanwise.dask_bridge.plugin_source import (
    ROW_COLUMNS,
    STATE_COLUMNS,
    Bridge,
    Ring,
    Texts,
    Told,
    _event_text,
)
from spanwise.dask_bridge.pulled import (
    ROWS,
    STATES,
    TEXT_LENGTH,
    VERSION,
    Pulled,
    UnreadableAnswer,
    read_answer,
)

#: What may stand where something else is expected.
_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def answer() -> dict[str, Any]:
    """One that is well: two rows of each kind."""
    texts = ["inc-1", "inc-2", "tcp://127.0.0.1:1"]

    def columns(described: dict[str, str]) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {"int": [1, 1], "float": [1.5, 2.5]}
        return {name: [*values.get(kind, [0, 2])] for name, kind in described.items()}

    return {
        "version": VERSION,
        "plugin": "p",
        "scheduler": "s",
        "address": "tcp://127.0.0.1:1",
        "python": "3.11.7",
        "distributed": "2026.8.0",
        "now": 10.0,
        "attached": 1.0,
        "started": 0.5,
        "viewers": 1,
        "cursor": 14,
        "first": 0,
        "newest": 15,
        "live": 2,
        "runs": 9,
        "first_runs": 0,
        "lost": 0,
        "lost_from": 0.0,
        "lost_to": 0.0,
        "state": 3,
        "state_newest": 4,
        "texts": texts,
        "rows": {kind: columns(described) for kind, described in ROWS.items()},
        "states": {kind: columns(described) for kind, described in STATES.items()},
        "cannot": {"spans": "this scheduler has no spans"},
        "states_more": {"tasks": 5},
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all that is in an answer."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, each in value.items():
            found += places(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            found += places(each, (*path, number))
    return found


PLACES = places(answer())


def test_an_answer_is_read_whole() -> None:
    pulled = read_answer(answer())
    assert pulled.problems == {}
    assert pulled.waiting == 1 and pulled.has_more
    assert (pulled.runs, pulled.first_runs, pulled.state_newest) == (9, 0, 4)
    assert {*pulled.rows} == {*ROWS}
    assert {*pulled.states} == {*STATES}
    assert pulled.rows["done"]["key"] == ["inc-1", "tcp://127.0.0.1:1"]
    assert pulled.cannot == {"spans": "this scheduler has no spans"}
    assert pulled.states_more == {"tasks": 5}


def test_both_sides_describe_the_same_columns() -> None:
    assert {kind: [*columns] for kind, columns in ROWS.items()} == ROW_COLUMNS
    assert {kind: [*columns] for kind, columns in STATES.items()} == STATE_COLUMNS


#: Of what answers of this version consist of. Whoever changes that, or what a part of it means,
#: raises `VERSION` in both files, and writes the new sum here: else viewers of two builds on one
#: scheduler misread each other.
SUM_OF_7 = "b5ed56023a06268d"


def test_other_columns_or_fields_are_another_version() -> None:
    fields = sorted(each.name for each in dataclasses.fields(Pulled))
    said = json.dumps([ROW_COLUMNS, STATE_COLUMNS, fields], sort_keys=True)
    assert (VERSION, hashlib.sha256(said.encode()).hexdigest()[:16]) == (7, SUM_OF_7)
    assert plugin_source.VERSION == VERSION


def test_the_oldest_python_of_a_scheduler_can_read_the_plugin() -> None:
    """The oldest release of `distributed` that is watched runs on Python 3.9."""
    text = Path(plugin_source.__file__).read_text("utf-8")
    ast.parse(text, feature_version=(3, 9))
    with pytest.raises(SyntaxError):
        ast.parse(text + "\nmatch 1:\n    case 1: pass\n", feature_version=(3, 9))


@given(place=st.sampled_from(PLACES), value=_ANYTHING)
def test_anything_anywhere_is_left_out_or_refused(place: tuple[Any, ...], value: Any) -> None:
    said = answer()
    inner = said
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    try:
        pulled = read_answer(said)
    except UnreadableAnswer as error:
        assert 0 < len(str(error)) < 500
        return
    for described, found in ((ROWS, pulled.rows), (STATES, pulled.states)):
        for kind, columns in found.items():
            assert [*columns] == [*described[kind]]
            assert len({len(column) for column in columns.values()}) == 1
            for name, column in columns.items():
                types = {"int": int, "float": float}.get(described[kind][name], str)
                needed = described[kind][name] != "text"
                assert all(type(each) is types or (each is None and not needed) for each in column)
    if "done" in pulled.rows:
        assert sum(pulled.rows["done"]["parts"]) == len(pulled.rows["parts"]["action"])


@given(_ANYTHING)
def test_anything_at_all_is_refused(value: Any) -> None:
    with pytest.raises(UnreadableAnswer):
        read_answer(value)


def test_what_is_wrong_leaves_the_rest() -> None:
    said = answer()
    said["rows"]["joined"]["worker"] = [7, 8]
    said["rows"]["parts"]["start"] = [float("inf"), 0.0]
    pulled = read_answer(said)
    assert "joined" not in pulled.rows
    assert "done" not in pulled.rows  # (whose parts cannot be told apart any more)
    assert "graphs" in pulled.rows
    assert [problem.split(" cannot")[0] for problem in pulled.problems.values()] == [
        "Its parts",
        "Its joined",
        "Its done",
    ]


@pytest.mark.parametrize("bad", [float("nan"), float("-inf"), 2.0**63, "much", None])
def test_a_bad_row_takes_no_others_with_it(bad: Any) -> None:
    said = answer()
    said["states"]["fine"]["value"] = [bad, 2.5]
    said["states"]["memory"]["worker"] = [0, 7]
    pulled = read_answer(said)
    whole = read_answer(answer()).states
    for kind, row in (("fine", 1), ("memory", 0)):
        assert pulled.states[kind] == {name: [each[row]] for name, each in whole[kind].items()}
    problems = [each.partition(" cannot be read: column ")[0] for each in pulled.problems.values()]
    assert problems == ["1 of its 2 rows of fine", "1 of its 2 rows of memory"]
    # Of a list of tasks that run, nothing left would say that none does.
    said["states"]["executing"]["t"] = [bad, bad]
    assert "executing" not in read_answer(said).states


def test_huge_texts_are_cut() -> None:
    said = answer()
    said["texts"][0] = "x" * 10_000_000
    pulled = read_answer(said)
    assert len(pulled.rows["done"]["key"][0]) == TEXT_LENGTH


def test_an_answer_to_who_leaves_has_no_rows() -> None:
    said = {name: value for name, value in answer().items() if name != "cursor"}
    pulled = read_answer(said)
    assert pulled.rows == {}
    assert pulled.state == -1


def test_an_error_is_told() -> None:
    with pytest.raises(UnreadableAnswer, match="limit is a number"):
        read_answer({"version": VERSION, "error": "limit is a number from 1 on"})


@given(
    st.lists(st.integers(0, 3_000), max_size=3_000),
    st.integers(1, 5_000),
    st.integers(1, 9),
    st.integers(1, 256),
)
def test_a_ring_gives_the_newest_rows_and_no_others(
    sizes: list[int], most: int, kinds: int, together: int
) -> None:
    ring = Ring(most_rows=most, most_bytes=400_000)

    def row_of(number: int) -> tuple[Any, ...]:
        # (of kind 0 are the tasks that have ended, all of which have computed)
        return (number % kinds, float(number), *[None] * 9, 1)

    for begin in range(0, len(sizes), together):
        some = sizes[begin : begin + together]
        if len(some) == 1:
            ring.add(row_of(begin), some[0])
        else:
            rows = [row_of(number) for number, _ in enumerate(some, begin)]
            ring.add_all(rows, sum(some), sum(map(plugin_source.is_run, rows)))
    assert ring.newest == len(sizes)
    number = ring.first
    assert ring.first_runs == len(range(0, number, kinds))
    while number < ring.newest:
        for row in ring.rows(number):
            assert row == row_of(number)
            if number % 100 == 0:
                runs = ring.runs(number)
                assert runs == len(range(0, number, kinds))
                ring.ended_at(number, runs)
                assert ring.runs(number) == runs
            number += 1
    assert ring.runs(ring.newest) == len(range(0, len(sizes), kinds))
    assert ring.rows(ring.newest) == []
    assert ring.first == 0 or ring.rows(ring.first - 1) == []
    # It holds a chunk more than it may.
    assert ring.newest - ring.first <= most + 512
    assert sum(sizes[ring.first :]) <= 400_000 + 2**20
    if ring.first:
        assert ring.time_of_lost(ring.first - 1) < ring.first


def test_a_graph_does_not_empty_the_ring_for_nothing() -> None:
    ring = Ring(most_rows=10_000, most_bytes=10_000_000)
    for number in range(5_000):
        ring.add((1, float(number)), 400)
    assert ring.first == 0
    ring.add((1, 5_000.0), 9_000_000)
    assert ring.newest - ring.first >= 1_000


def test_what_runs_is_told_as_of_one_moment() -> None:
    """A worker that is heard while others are told has later seconds with its later time."""
    group = SimpleNamespace(name="inc", prefix=SimpleNamespace(name="inc"), span_id=None)

    class Running:
        def __init__(self, number: int) -> None:
            self.key, self.group = f"inc-{number}", group
            self.processing_on: Any = None

    tasks = [*map(Running, range(600))]
    workers = {
        name: SimpleNamespace(executing=dict.fromkeys(tasks_of, 1.0), last_seen=100.0)
        for name, tasks_of in (("a", tasks[:500]), ("b", tasks[500:]))
    }
    for worker in workers.values():
        for task in worker.executing:
            task.processing_on = worker
    bridge = Bridge()
    bridge.scheduler = SimpleNamespace(workers=workers)

    async def heard() -> None:
        workers["b"].executing, workers["b"].last_seen = dict.fromkeys(tasks[500:], 1.5), 100.5

    async def tell() -> None:
        (columns, left), _ = await asyncio.gather(bridge._executing(Texts()), heard())
        assert left == 0 and len(columns["t"]) == 600
        begun = [t - seconds for t, seconds in zip(columns["t"], columns["seconds"], strict=True)]
        assert {*begun} == {99.0}
        assert {*columns["t"]} == {100.0, 100.5}  # (it was heard between the two)

    asyncio.run(tell())


_GROUPS = [None] + [
    SimpleNamespace(name=name, prefix=SimpleNamespace(name=name[:1]), span_id=span)
    for name, span in (("inc", "span"), ("ä" * 9, None))
]
_PARTS = st.lists(
    st.fixed_dictionaries(
        {
            "action": st.sampled_from(["compute", "transfer", "disk-read", 7]),
            "start": st.floats(0, 9) | st.sampled_from(["1.5", 10**400, math.nan, math.inf, 1e30]),
            "stop": st.integers(0, 9) | st.none(),
        },
        optional={"source": st.sampled_from(["w", "compute", None, 7])},
    )
    | _ANYTHING,
    max_size=3,
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["inc-1", "é-2", ("x", 0)]),
            st.sampled_from(_GROUPS),
            st.sampled_from(["w", None, 7]),
            st.sampled_from([1, None, 2.5, 2**63, -(2**63)]),
            _PARTS,
        ),
        max_size=9,
    ),
    st.integers(1, 4),
)
def test_whatever_has_ended_is_told_as_it_is_and_the_rest_is_left_out(
    drawn: list[tuple[Any, ...]], every: int
) -> None:
    rows: list[tuple[Any, ...]] = []
    bridge = Bridge()
    bridge._ring, bridge._given, bridge._unsorted = Ring(), {}, []
    bridge._sections = {}
    for n, (key, group, worker, number, parts) in enumerate(drawn):
        if n % every:
            bridge.ring.add((plugin_source.ENDED, float(n), key, None, "released", "why"), 1)
        row = (plugin_source.DONE, float(n), key, group, worker, number, number, worker)
        text = None if n % 2 else "failed"
        bridge._unsorted.append((*row, plugin_source.parts_of(parts), text))
    rows = bridge.ring.rows(0)
    together, apart = Told(Texts()), Told(Texts())
    runs = together.add_all(7, rows)
    for n, row in enumerate(rows, 7):
        apart.add(n, row)
    columns = _as_texts(together)
    assert columns == _as_texts(apart)
    parts_of = [[part for part in map(_part, parts) if part] for *_, parts in drawn]
    assert runs == sum(map(plugin_source.is_run, rows))
    assert runs == sum(any(part[0] == "compute" for part in parts) for parts in parts_of)
    told = columns.get("parts", {name: [] for name in ROWS["parts"]})
    assert repr([*zip(*told.values(), strict=True)]) == repr([p for some in parts_of for p in some])
    done = columns.get("done", {name: [] for name in ROWS["done"]})
    assert done["parts"] == [*map(len, parts_of)]
    wholes = [number if number == 1 else -1 for _, _, _, number, _ in drawn]
    assert done["thread"] == done["nbytes"] == wholes
    workers = [None if each is None else str(each) for _, _, each, _, _ in drawn]
    told_workers = [None if each == -1 else each for each in done["worker"]]
    assert told_workers == [None if each == -1 else each for each in done["type"]] == workers
    assert done["key"] == [str(key) for key, *_ in drawn]
    spans = [None if group is None else group.span_id for _, group, *_ in drawn]
    assert [None if each == -1 else each for each in done["span"]] == spans
    assert [bool(each) for each in done["erred"]] == [n % 2 == 0 for n in range(len(drawn))]


@pytest.mark.parametrize("key", ["inc-1", ("array-1", 2, 3)])
def test_the_ring_is_nothing_that_the_collector_looks_through(key: Any) -> None:
    bridge = Bridge()
    bridge._ring, bridge._given, bridge._unsorted = Ring(), {}, []
    bridge._sections = {}
    parts = plugin_source.parts_of([{"action": "compute", "start": 1.0, "stop": 2.0}])
    for n in range(10):
        bridge._unsorted.append(
            (plugin_source.DONE, float(n), key, _GROUPS[1], "w", n, n, "int", parts, None)
        )
    rows = bridge.ring.rows(0)
    for _ in range(2):
        gc.collect()
    assert len(rows) == 10 and not any(map(gc.is_tracked, rows))


@pytest.mark.parametrize("key", ["increment-{}", ("array-0123456789abcdef0123456789abcdef-{}", 7)])
@pytest.mark.parametrize("parts", [1, 5])
def test_the_ring_knows_what_it_takes(key: Any, parts: int) -> None:
    bridge = Bridge()
    bridge._ring, bridge._given, bridge._unsorted = Ring(), {}, []
    bridge._sections = {}
    tracemalloc.start()
    try:
        for n in range(5_000):
            # (as a scheduler has it from messages: no text is there twice but that of a worker)
            text = str(n)
            named = key.format(n) if isinstance(key, str) else (key[0].format(n), n, n)
            told = [
                {"action": "compute" + text, "start": n + 0.5, "stop": n + 1.5, "source": text}
                for _ in range(parts)
            ]
            what = "tcp://127.0.0.1:1", 2**40 + n, 2**31 + n, "int" + text
            found = plugin_source.parts_of(told)
            row = plugin_source.DONE, n + 0.25, named, _GROUPS[1 + n % 2], *what, found, None
            bridge._unsorted.append(row)
            if n % 64 == 0:
                bridge._sort()
        ring = bridge.ring
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ring.newest == 5_000
    assert 0.7 * taken < ring._bytes + ring._open_bytes < 1.5 * taken


def _part(said: Any) -> tuple[Any, ...] | None:
    """A start/stop as it is told; None: it is none."""
    if not isinstance(said, dict) or not {"action", "start", "stop"} <= said.keys():
        return None
    try:
        times = float(said["start"]), float(said["stop"])
    except (OverflowError, TypeError, ValueError):
        return None
    if not all(abs(each) < 2**62 for each in times):
        return None
    source = said.get("source")
    return (str(said["action"]), *times, -1 if source is None else str(source))


def _as_texts(told: Told) -> dict[str, dict[str, list[Any]]]:
    """Columns, of texts not the numbers, which may differ."""
    texts = told._texts.texts
    return {
        kind: {
            name: [
                texts[value]
                if ROWS[kind][name] in ("text", "needed text") and value >= 0
                else value
                for value in column
            ]
            for name, column in columns.items()
        }
        for kind, columns in told.columns().items()
    }


_STEPS = ("assigned", "done", "erred", "lost", "failed before", "restart")


@given(st.lists(st.tuples(st.sampled_from(_STEPS), st.integers(0, 3)), max_size=400))
def test_what_has_happened_is_told_in_its_order(steps: list[tuple[str, int]]) -> None:
    """Also where some of it is written down later than the rest."""
    group = SimpleNamespace(name="inc", prefix=SimpleNamespace(name="inc"), span_id=None)
    tasks = {f"inc-{n}": SimpleNamespace(group=group, exception_blame=None) for n in range(4)}
    bridge = Bridge()
    bridge._ring, bridge._given, bridge._unsorted = Ring(), {}, []
    bridge._sections, bridge._undone = {}, {}
    bridge.scheduler = SimpleNamespace(tasks=tasks)
    bridge.transition = bridge._noting()
    expected: list[tuple[int, str, bool]] = []
    assigned: set[str] = set()
    told = {"startstops": [], "worker": "w", "exception_text": "x"}
    for step, number in steps:
        key = f"inc-{number}"
        was = key in assigned
        if step == "assigned":
            bridge.transition(key, "waiting", "processing", stimulus_id="s")
            assigned.add(key)
            continue
        if step == "restart":
            assigned = set()
        elif step != "failed before":
            assigned.discard(key)
        if step == "done":
            bridge.transition(key, "processing", "memory", stimulus_id="s", **told)
            expected.append((plugin_source.DONE, key, was))
        elif step == "erred":
            bridge.transition(key, "processing", "erred", stimulus_id="s", **told)
            expected.append((plugin_source.DONE, key, was))
        elif step == "lost":
            bridge.transition(key, "processing", "released", stimulus_id="s")
            expected.append((plugin_source.ENDED, key, False))
        elif step == "failed before":
            bridge.transition(key, "waiting", "erred", stimulus_id="s")
            expected.append((plugin_source.ENDED, key, False))
        else:
            bridge.restart(bridge.scheduler)
            expected.append((plugin_source.RESTART, "", False))
        assert len(bridge._unsorted) < 300
    found = []
    times = []
    for row in bridge.ring.rows(0):
        times.append(row[1])
        key = "" if row[0] == plugin_source.RESTART else row[2]
        found.append((row[0], key, row[0] == plugin_source.DONE and row[10] > 0.0))
    assert found == expected
    assert times == sorted(times)


def test_a_scheduler_that_stood_still_does_not_end_leases() -> None:
    async def stand_still() -> tuple[bool, bool]:
        scheduler = SimpleNamespace(handlers={}, plugins={}, tasks={}, workers={}, id="s")
        scheduler.address = "tcp://127.0.0.1:1"
        scheduler.remove_plugin = lambda name: scheduler.plugins.pop(name)
        bridge = Bridge()
        bridge.start(scheduler)
        scheduler.plugins[bridge.name] = bridge
        request = {"viewer": "v", "plugin": "", "cursor": -1, "state": -1, "limit": 1, "want": []}
        assert "error" not in await bridge.answer(request | {"lease": 5.0})
        # As if the timer came a minute late.
        bridge._due -= 60.0
        bridge._leases = {viewer: end - 60.0 for viewer, end in bridge._leases.items()}
        bridge._end_leases()
        stays = bridge.name in scheduler.plugins
        # It comes in time, and nobody has pulled.
        bridge._leases = {viewer: end - 60.0 for viewer, end in bridge._leases.items()}
        bridge._due = monotonic()
        bridge._end_leases()
        return stays, bridge.name in scheduler.plugins

    assert asyncio.run(stand_still()) == (True, False)


def test_texts_come_once_and_can_be_sent() -> None:
    texts = Texts()
    assert [texts("a"), texts(None), texts(("x", 1)), texts("a")] == [0, -1, 1, 0]
    assert texts("half \ud800") == 2
    assert texts("y" * 5_000) == 3
    for text in texts.texts:
        text.encode()
        assert len(text) <= TEXT_LENGTH


def test_a_message_of_any_size_is_a_short_text() -> None:
    message: dict[str, Any] = {"keys": {*range(100_000)}, "blob": b"\xff" * 10, "nan": float("nan")}
    message["self"] = {"deep": {"deeper": {"deepest": [[[1]]]}}}
    before = copy.deepcopy(message["self"])
    text = _event_text(message)
    assert len(text) < 2_000
    assert "100000 in all" in text
    assert message["self"] == before
