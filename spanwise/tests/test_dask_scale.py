"""What is too much for one answer, or for one log of a Dask cluster, comes later or is a gap."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Scheduler
from distributed.spans import Span
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spanwise.dask_bridge import dask_log, plugin_source
from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.dask_bridge.plugin_source import Bridge, Section
from spanwise.dask_bridge.pulled import Pulled, read_answer
from spanwise.dask_bridge.sample_pull import Sampled
from spanwise.records.block import decode_block
from spanwise.records.tables import record_tables
from spanwise.tests.task_groups import task_group

#: In place of 50,000.
MOST = 4
#: Of which rows may be many here; `loop` and `memory` change by themselves.
SECTIONS = ["spans", "bandwidth", "clients"]


@pytest.fixture(autouse=True, scope="module")
def few_rows() -> Any:
    """Answers of few rows, at each of which all is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin_source, "_STATE_ROWS", MOST)
        patch.setattr(plugin_source, "_PAIRS", 10)
        patch.setattr(plugin_source, "_STATE_SECONDS", 0.0)
        patch.setattr(plugin_source, "_STATE_SHARE", 1e9)
        # Between any two of which something may happen.
        patch.setattr(plugin_source, "_STRETCH_SECONDS", 0.0)
        patch.setattr(plugin_source, "_STRETCH_ROWS", 1)
        yield


@asynccontextmanager
async def watched() -> AsyncIterator[tuple[Scheduler, Bridge]]:
    """A scheduler of Dask without workers, and the plugin on it."""
    async with Scheduler(
        protocol="inproc://", dashboard=False, dashboard_address=":0", validate=False
    ) as scheduler:
        bridge = Bridge()
        bridge.start(scheduler)
        scheduler.add_plugin(bridge)
        yield scheduler, bridge
        bridge.leave()


class Viewer:
    """Has what it was told, by section and key."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        self._bridge = bridge
        self._request = {"viewer": name, "plugin": "", "cursor": -1, "state": -1, "limit": 100}
        self._request |= {"lease": 120.0, "want": SECTIONS}
        self.has_more = True
        self.known: dict[str, dict[Any, Any]] = {name: {} for name in SECTIONS}

    async def pull(self) -> Pulled:
        answer = await self._bridge.answer(self._request)
        pulled = read_answer(answer)
        assert pulled.problems == {} and pulled.cannot == {}
        self._request |= {"plugin": pulled.plugin, "cursor": pulled.cursor, "state": pulled.state}
        self.has_more = pulled.has_more
        for name, columns in pulled.states.items():
            rows = [*zip(*columns.values(), strict=True)]
            assert len(rows) <= MOST
            for row in rows:
                self.known[name][row[:3] if name == "bandwidth" else row[0]] = row
        return pulled

    async def catch_up(self) -> None:
        while True:
            await self.pull()
            if not self.has_more:
                return


def change(scheduler: Any, what: str, which: int, value: int) -> None:
    """One thing that a scheduler has is another."""
    if what == "span":
        span = scheduler.extensions["spans"]._ensure_span((f"span {which}",), (f"id-{which}",))
        span.groups.add(scheduler.new_task(key=f"t{which}-1", spec=None, state="released").group)
    elif what == "pair":
        scheduler.bandwidth_workers[f"to-{which % 5}", f"from-{which % 7}"] = float(value)
    else:
        scheduler.bandwidth_types[f"type-{which}"] = float(value)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(
                st.sampled_from(["span", "pair", "type"]), st.integers(0, 40), st.integers(1, 9)
            ),
            st.sampled_from(["one", "two", "both"]),
        ),
        max_size=80,
    )
)
def test_all_that_changes_is_told_in_the_end(steps: list[Any]) -> None:
    async def tell() -> None:
        async with watched() as (scheduler, bridge):
            one, two = Viewer(bridge, "one"), Viewer(bridge, "two")
            for step in steps:
                if isinstance(step, tuple):
                    change(scheduler, *step)
                else:
                    viewers = {"one": [one], "two": [two], "both": [one, two]}[step]
                    await asyncio.gather(*(viewer.pull() for viewer in viewers))
            for viewer in (one, two):
                await viewer.catch_up()
                spans = scheduler.extensions["spans"].spans
                assert {*viewer.known["spans"]} == {*spans}
                pairs = [*scheduler.bandwidth_workers.items()][: plugin_source._PAIRS]
                theirs = {("pair", *pair): value for pair, value in pairs}
                theirs |= {
                    ("type", name, None): value for name, value in scheduler.bandwidth_types.items()
                }
                told = {label: row[3] for label, row in viewer.known["bandwidth"].items()}
                assert told.pop(("total", None, None)) == scheduler.bandwidth
                assert told == theirs

    asyncio.run(tell())


def test_looks_at_very_many_sums_leave_the_scheduler_its_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sums are read in stretches; what comes between them is told by the next answer."""
    monkeypatch.setattr(plugin_source, "_STRETCH_ROWS", 10)
    monkeypatch.setattr(plugin_source, "_STATE_ROWS", 50_000)
    read: list[int] = []
    spans: dict[str, Any] = {}

    class Sums(dict):
        def items(self) -> Any:
            read[-1] += 1
            return super().items()

    def add(name: str) -> None:
        spans[name] = SimpleNamespace(_cumulative_worker_metrics=Sums())
        spans[name]._cumulative_worker_metrics["execute", "f", "cpu", "seconds"] = 1.0
        bridge._sections["spans"].rows[name] = (1, (name,))

    bridge = Bridge()
    bridge.scheduler = SimpleNamespace(extensions={"spans": SimpleNamespace(spans=spans)})
    bridge._begin_states()
    fine = bridge._sections["fine"]
    for number in range(100):
        add(f"id-{number}")
    told: dict[str, float] = {}

    def look(meanwhile: Callable[[], None]) -> None:
        before = fine.looked
        read[:] = [0]
        for _ in fine.looking(bridge._next_state):
            assert [*fine.changed(before, bridge._state)] == [], "all of it comes at once"
            meanwhile()
            bridge._next_state()  # (another section's, that an answer says)
            read.append(0)
        assert fine.looked == bridge._state
        told.update({row[1]: row[5] for row in fine.changed(before, bridge._state)})

    look(lambda: add(f"later {len(read)}"))
    assert len(read) > 10 and max(read) <= 10 and sum(read) == 100
    assert len(told) == 100 and len(spans) > 110
    look(lambda: None)
    assert told.keys() == spans.keys() == bridge._fine_seen.keys() - {None}
    # What is gone is kept no longer.
    for name in [*spans][:-3]:
        del spans[name]
    look(lambda: None)
    assert bridge._fine_seen.keys() - {None} == spans.keys()
    assert fine.rows.keys() == {(name, ("execute", "f", "cpu", "seconds")) for name in spans}


def test_what_takes_long_is_looked_at_again_within_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A look that something else made longer than the others is no reason to wait."""
    now = 0.0
    monkeypatch.setattr(plugin_source, "_STATE_SECONDS", 0.45)
    monkeypatch.setattr(plugin_source, "_STATE_SHARE", 0.002)
    monkeypatch.setattr(plugin_source, "monotonic", lambda: now)

    def take() -> Iterator[tuple[str, tuple[str]]]:
        nonlocal now
        now += seconds
        yield "key", ("values",)

    section = Section(take)
    pauses = []
    for took in (0.5, 0.5, 0.004, 0.5, 0.5, 0.003, 0.0):
        seconds = took
        section.look(1)
        pauses.append(round(section.due - now, 3))
    assert pauses == [10.0, 10.0, 2.0, 2.0, 2.0, 1.5, 0.45]


#: Spans are made at 100.
_TIMES = st.just(0.0) | st.floats(90, 110)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.dictionaries(st.sampled_from(["processing", "memory", "forgotten"]), st.just(1)),
            _TIMES,
            _TIMES,
            st.integers(0, 9),
        ),
        max_size=6,
    )
)
def test_figures_of_a_span_are_those_that_it_tells_itself(
    drawn: list[tuple[int, dict[str, int], float, float, int]],
) -> None:
    spans = [Span(("load",), "a", None, [(0.0, 1)])]
    for name in ("b", "c"):
        spans.append(Span(("load", name), name, spans[-1], [(0.0, 1)]))
        spans[-2].children.append(spans[-1])
    for span in spans:
        span.enqueued = 100.0
    known = {}
    for number, (of, states, start, stop, nbytes) in enumerate(drawn):
        group = task_group(f"g{number}")
        group.states.update(states)
        group.start, group.stop, group.nbytes_total = start, stop, nbytes
        spans[of].groups.add(group)
        if {*states} - {"forgotten"}:
            known[group.name] = group
    bridge = Bridge()
    bridge.scheduler = SimpleNamespace(task_groups=known)
    for span in spans:
        start, stop, told, done = bridge._span_figures(span)
        assert (start, told, done) == (span.start, span.nbytes_total, span.done)
        assert stop == ((span.stop if [*span.traverse_groups()] else span.enqueued) if done else 0)


def test_sums_that_cannot_be_told_are_counted_and_the_others_told() -> None:
    """Dask adds up whatever users measure: a loss may be no number, FLOPs more than 4.6e18."""

    async def told() -> None:
        async with watched() as (scheduler, bridge):
            loaded = Span(("load",), "id", None, [(0.0, 1)])
            of_span = loaded._cumulative_worker_metrics
            scheduler.extensions["spans"].spans["id"] = loaded
            total = scheduler.cumulative_worker_metrics
            request = {"viewer": "v", "plugin": "", "cursor": -1, "state": -1, "limit": 100}
            request |= {"lease": 120.0, "want": ["spans", "fine"], "fresh": True}

            async def pulled() -> tuple[dict[str, float], int]:
                said = read_answer(await bridge.answer(request))
                assert said.problems == {} and said.cannot == {}
                request.update(plugin=said.plugin, cursor=said.cursor, state=said.state)
                fine = said.states.get("fine", {"activity": [], "value": []})
                sums = zip(fine["activity"], fine["value"], strict=True)
                return dict(sums), said.states_more.get("fine", 0)

            def measured(metrics: Any, *key: str, **sums: Any) -> None:
                for activity, value in sums.items():
                    metrics[(*key, activity, "x")] = value

            measured(total, "get-data", many=2.0**62, more=2**63, most=10**400, odd="odd")
            measured(of_span, "execute", "f", loss=1.5, cpu=2.5, infinite=math.inf)
            known: dict[str, float] = {}
            # (the first answer may tell the span alone)
            for _ in range(2):
                sums, untold = await pulled()
                known |= sums
            assert (known, untold) == ({"many": 2.0**62, "loss": 1.5, "cpu": 2.5}, 4)
            measured(of_span, "execute", "f", loss=math.nan, cpu=3.5)
            assert await pulled() == ({"cpu": 3.5}, 5)
            measured(of_span, "execute", "f", loss=-1.5, infinite=0.5)
            assert await pulled() == ({"loss": -1.5, "infinite": 0.5}, 3)
            del scheduler.extensions["spans"].spans["id"]
            measured(total, "get-data", more=0)
            assert (await pulled())[1] == 2

    asyncio.run(told())


def test_a_look_that_is_asked_for_amid_another_one_comes() -> None:
    section = Section(lambda: iter([None] * 100))
    looking = section.looking(lambda: 1)
    next(looking)
    section.due = 0.0  # (a worker has left)
    list(looking)
    assert section.due == 0.0
    list(section.looking(lambda: 2))
    assert 0.0 < section.due < math.inf


def test_a_look_that_fails_is_due_again() -> None:
    def take() -> Iterator[None]:
        yield None
        raise ValueError("a release without it")

    section = Section(take)
    with pytest.raises(ValueError, match="a release"):
        list(section.looking(lambda: 1))
    assert 0.0 < section.due < math.inf


def test_who_was_heard_of_has_told_its_sums() -> None:
    """The sums are looked at after what says when a worker was heard of."""

    async def look() -> list[str]:
        async with watched() as (_, bridge):
            return [*bridge._sections]

    order = asyncio.run(look())
    assert order.index("memory") < order.index("fine")


def test_of_very_many_pairs_of_workers_it_is_told_how_many_are_left_out() -> None:
    async def tell() -> None:
        async with watched() as (scheduler, bridge):
            for number in range(25):
                scheduler.bandwidth_workers[f"to-{number}", "from"] = 1.0
            pulled = await Viewer(bridge, "viewer").pull()
            assert pulled.states_more == {"bandwidth": 15}

    asyncio.run(tell())


def test_tasks_come_with_their_spans_where_there_are_very_many() -> None:
    async def tell() -> None:
        async with watched() as (scheduler, bridge):
            spans = scheduler.extensions["spans"]
            names = tuple(f"span {number}" for number in range(3 * MOST))
            ids = tuple(f"id-{number}" for number in range(3 * MOST))
            innermost = spans._ensure_span(names, ids)
            group = scheduler.new_task(key="a", spec=None, state="released").group
            group.span_id = ids[-1]
            innermost.groups.add(group)
            names = plugin_source.names_of(group)
            bridge.ring.add((plugin_source.ENDED, 1.0, "a", names, "released", "released"), 1)
            request = {"viewer": "viewer", "plugin": "", "cursor": -1, "state": -1, "limit": 100}
            answer = await bridge.answer(request | {"lease": 120.0, "want": ["spans"]})
            pulled = read_answer(answer)
            assert pulled.rows["ended"]["span"] == [ids[-1]]
            assert pulled.has_more
            assert {*pulled.states["spans"]["id"]} == {*ids}

    asyncio.run(tell())


def test_sums_come_with_their_spans_where_there_are_very_many() -> None:
    async def tell() -> None:
        async with watched() as (scheduler, bridge):
            spans = scheduler.extensions["spans"].spans
            for number in range(3 * MOST):
                change(scheduler, "span", number, 1)
            # Of the last ones, which are told last.
            for span in [*spans.values()][-MOST:]:
                span._cumulative_worker_metrics["execute", "f", "thread-cpu", "seconds"] = 1.0
            request: dict[str, Any] = {"plugin": "", "cursor": -1, "limit": 100, "lease": 120.0}
            request |= {"want": ["spans", "fine"]}
            for _ in range(2):  # (sums of a span are told when that is known)
                await bridge.answer(request | {"viewer": "one", "state": -1, "fresh": True})
            # The spans change once more, so that they are told after their sums.
            for number, span in enumerate([*spans.values()]):
                new = scheduler.new_task(key=f"u{number}-1", spec=None, state="released")
                span.groups.add(new.group)
            known: set[str] = set()
            whose: set[str] = set()
            state, newest = -1, 0
            while state < newest:
                answer = await bridge.answer(request | {"viewer": "two", "state": state})
                pulled = read_answer(answer)
                state, newest = pulled.state, pulled.state_newest
                request["plugin"] = pulled.plugin
                known |= {*pulled.states.get("spans", {}).get("id", ())}
                whose |= {*pulled.states.get("fine", {}).get("span", ())} - {None}
                assert whose <= known
            assert len(whose) == MOST and len(known) == 3 * MOST

    asyncio.run(tell())


# -- the log --------------------------------------------------------------


def first_answer() -> Pulled:
    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    times = {"now": 1e9 + 9, "attached": 1e9, "started": 1e9}
    return Pulled(**head, **times, viewers=1)  # type: ignore[arg-type]


def runs_of(workers: int, runs: int) -> dict[str, Any]:
    """Rows of tasks: each takes 1 s, and the next worker."""
    done = {
        "n": [*range(runs)],
        "key": [f"k-{number}" for number in range(runs)],
        "worker": [f"w-{number % workers}" for number in range(runs)],
        "t": [1e9 + number + 1 for number in range(runs)],
    }
    same = {"group": "k", "prefix": "k", "span": None, "thread": 7, "erred": 0, "nbytes": 1}
    same |= {"type": None, "given": 0.0, "parts": 1, "text": None}
    parts = {"action": ["compute"] * runs, "source": [None] * runs}
    parts |= {"start": [1e9 + number for number in range(runs)], "stop": done["t"]}
    return {"done": done | {name: [each] * runs for name, each in same.items()}, "parts": parts}


def rows_of(blocks: list[Any], table: str) -> list[tuple[Any, ...]]:
    columns = [*record_tables()[table].columns]
    decoded = [decode_block(block.data) for block in blocks]
    return [
        row
        for block in decoded
        if block.table.name == table
        for row in zip(*map(block.column, columns), strict=True)
    ]


def test_runs_for_which_there_is_no_lane_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_log, "_MOST_LANES", 3)
    pulled = first_answer()
    pulled.rows.update(runs_of(workers=5, runs=20))
    blocks: list[Any] = []
    log = DaskLog("lanes", pulled, lambda block, _: blocks.append(block))
    log.write(pulled)
    pulled.rows.clear()
    log.write(pulled)
    log.seal()
    runs, gaps = rows_of(blocks, "runs"), rows_of(blocks, "gaps")
    number = record_tables()["runs"].number
    assert gaps == [(number, 3.0, 20.0, 8, "no lane was left")]
    assert len(runs) + gaps[0][3] == 20
    # Nor are there lanes for what was sampled there.
    blocks.clear()
    log.write_samples([Sampled("k", "w-4", {0: 3, 1: 4}, [(1e9 + 5, 7)])])  # type: ignore[arg-type]
    log.write(pulled)
    log.seal()
    number = record_tables()["samples"].number
    assert rows_of(blocks, "gaps") == [(number, 5.0, 5.0, 7, "no lane was left")]
    # Fewer than were told are told with those of the next minute, or at the end.
    blocks.clear()
    for second in (6, 8):
        log.write_samples([Sampled("k", "w-4", {0: 3}, [(1e9 + second, 3)])])  # type: ignore[arg-type]
        log.write(pulled)
    log.seal()
    assert rows_of(blocks, "gaps") == []
    log.seal_all()
    assert rows_of(blocks, "gaps") == [(number, 6.0, 8.0, 6, "no lane was left")]


class Noted:
    """The plugin on what stands for a scheduler; what happens there is counted here, too."""

    def __init__(self, before: str) -> None:
        self.happened: list[bool] = []
        records = [self._ended(kind == "r") for kind in before]
        recorder = SimpleNamespace(buffer=[{"key": key, **told} for key, _, told in records])
        plugins: dict[str, Any] = {"task-stream": recorder}
        self.scheduler = SimpleNamespace(handlers={}, plugins=plugins, tasks={}, workers={}, id="s")
        self.scheduler.address = "tcp://127.0.0.1:1"
        self.scheduler.remove_plugin = plugins.pop
        self.scheduler.extensions = self.scheduler.bandwidth_workers = {}
        self.bridge = Bridge()
        self.bridge.start(self.scheduler)

    def _ended(self, has_computed: bool) -> tuple[str, str, dict[str, Any]]:
        number = len(self.happened)
        self.happened.append(has_computed)
        part = {"action": "compute" if has_computed else "deserialize"}
        told = {"startstops": [part | {"start": 1e9 + number, "stop": 1e9 + number + 0.5}]}
        told |= {"worker": "w", "thread": 7, "nbytes": 1, "typename": "int"}
        return f"k-{number}", "memory" if has_computed else "erred", told

    def happen(self, kinds: str) -> None:
        """A letter for each row: a run, a failure before it, a graph, a worker, an event."""
        for kind in kinds:
            if kind in "rf":
                key, finish, told = self._ended(kind == "r")
                self.bridge.transition(key, "processing", finish, **told)
                continue
            self.happened.append(False)
            if kind == "g":
                self.bridge.update_graph(self.scheduler, tasks=["a", "b"], client="c")
            elif kind == "w":
                self.bridge.add_worker(self.scheduler, "w")
            else:
                self.bridge.log_event("all", "said")


class Account:
    """What a viewer shows, and what it says to be missing."""

    def __init__(self, noted: Noted) -> None:
        self._noted = noted
        self._request = {"viewer": str(id(self)), "plugin": "", "cursor": -1, "state": -1}
        self._request |= {"want": [], "lease": 120.0}
        self._log: Any = None
        self._blocks: list[Any] = []
        self._begin = 0

    async def pull(self, limit: int) -> bool:
        """Whether there is more."""
        if self._log is None:
            self._begin = min(self._noted.bridge.live, self._noted.bridge.ring.first)
        pulled = read_answer(await self._noted.bridge.answer(self._request | {"limit": limit}))
        assert pulled.problems == {}
        self._request |= {"plugin": pulled.plugin, "cursor": pulled.cursor}
        if self._log is None:
            self._log = DaskLog("account", pulled, lambda block, _: self._blocks.append(block))
        self._log.write(pulled)
        return pulled.waiting > 0

    async def check(self) -> None:
        while await self.pull(100):
            pass
        self._log.seal_all()
        missing = sum(row[3] for row in rows_of(self._blocks, "gaps"))
        shown = len(rows_of(self._blocks, "runs"))
        assert shown + missing == sum(self._noted.happened[self._begin :])


_ROWS = st.text("rrrfgwe", max_size=30)


@settings(max_examples=80, deadline=None)
@given(
    _ROWS,
    st.integers(1, 12),
    st.lists(st.one_of(_ROWS, st.tuples(st.integers(0, 2), st.integers(1, 20), _ROWS)), max_size=9),
)
@example("", 6, [(0, 5, "r"), "r" * 9, (0, 9, "rg" * 9), "rrr"])
@example("ffrr", 6, ["rfgw" * 9, (1, 3, "")])
def test_what_is_shown_and_what_is_missing_is_all_that_has_happened(
    before: str, most: int, steps: list[Any]
) -> None:
    """Also where the ring loses rows before a viewer comes, or amid an answer."""

    async def tell() -> None:
        noted = Noted(before)
        noted.bridge.ring._most_rows = most
        accounts = [Account(noted) for _ in range(3)]

        async def happen(kinds: str) -> None:
            for kind in kinds:
                noted.happen(kind)
                await asyncio.sleep(0)

        for step in steps:
            if isinstance(step, str):
                noted.happen(step)
            else:
                which, limit, meanwhile = step
                await asyncio.gather(accounts[which].pull(limit), happen(meanwhile))
        for each in accounts:
            await each.check()
        noted.bridge.leave()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin_source, "_CHUNK_ROWS", 4)
        patch.setattr(plugin_source, "_AT_ONCE", 2)
        asyncio.run(tell())


def test_the_gap_of_the_ring_counts_runs_alone() -> None:
    """Workers and graphs lie in the ring, too; an old plugin does not say how many."""
    pulled = first_answer()
    blocks: list[Any] = []
    log = DaskLog("ring", pulled, lambda block, _: blocks.append(block))
    pulled.runs = 5
    log.write(pulled)
    pulled.lost, pulled.first_runs, pulled.runs = 12, 14, 20
    pulled.lost_from, pulled.lost_to = 1e9 + 1, 1e9 + 2
    log.write(pulled)
    pulled.first_runs = pulled.runs = -1
    log.write(pulled)
    log.seal()
    number = record_tables()["runs"].number
    why = "the ring on the Dask scheduler"
    assert rows_of(blocks, "gaps") == [(number, 1.0, 2.0, 9, why), (number, 1.0, 2.0, 12, why)]


def test_sums_that_are_too_many_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_log, "_KNOWN_SUMS", 2)
    pulled = first_answer()
    blocks: list[Any] = []
    log = DaskLog("sums", pulled, lambda block, _: blocks.append(block))

    def told(*values: float) -> None:
        count = len(values)
        same = {"context": "execute", "span": None, "function": "f", "unit": "seconds"}
        pulled.states["fine"] = {name: [each] * count for name, each in same.items()}
        pulled.states["fine"] |= {"activity": [*"abcd"][:count], "value": [*values]}
        log.write(pulled)

    told(1.0, 2.0)
    told(1.0, 2.0, 3.0, 4.0)
    pulled.now += 1
    told(5.0, 2.0, 3.5)
    log.seal()
    assert [row[-1] for row in rows_of(blocks, "fine")] == [1.0, 2.0, 4.0]
    number, why = record_tables()["fine"].number, "more sums than are kept"
    assert rows_of(blocks, "gaps") == [(number, 9.0, 9.0, 2, why)]
    log.seal_all()
    assert rows_of(blocks, "gaps")[1:] == [(number, 10.0, 10.0, 1, why)]


def test_sums_that_are_too_many_for_hours_are_a_gap_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_log, "_KNOWN_SUMS", 0)
    pulled = first_answer()
    blocks: list[Any] = []
    log = DaskLog("sums", pulled, lambda block, _: blocks.append(block))
    sums = {"context": "execute", "span": None, "function": "f", "unit": "seconds"}
    fine = {name: [each] for name, each in sums.items()} | {"activity": ["a"], "value": [1.0]}
    for second in range(7_200):
        pulled.now = 1e9 + second
        pulled.states = {"fine": fine} if second < 7_150 else {}
        log.write(pulled)
    log.seal_all()
    gaps = [row[1:4] for row in rows_of(blocks, "gaps")]
    # The first, as many again, and as many as all of these; then each minute.
    assert gaps[:4] == [(9.0, 9.0, 1), (9.0, 9.0, 1), (9.0, 9.0, 2), (9.0, 9.0, 4)]
    assert len(gaps) < 130
    assert sum(rows for *_, rows in gaps) == 7_150
    # (no time of the log is before the first answer's)
    assert gaps[-1][1] == 7_149.0
    assert all(after[0] - before[1] <= 1 for before, after in pairwise(gaps))


def test_tasks_of_spans_for_which_there_is_no_room_are_of_those_around_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_log, "_KNOWN_SPANS", 1)
    monkeypatch.setattr(dask_log, "_REFUSED_SPANS", 2)
    pulled = first_answer()
    blocks: list[Any] = []
    log = DaskLog("spans", pulled, lambda block, _: blocks.append(block))
    ids = ["outer", "a", "b", "c"]
    times = {"enqueued": 1e9, "start": 1e9, "stop": 0.0, "done": 0}
    spans: dict[str, Any] = {"id": ids, "name": ids, "parent": [None, "outer", "a", "b"]}
    pulled.states["spans"] = spans | {name: [each] * 4 for name, each in times.items()}
    done = runs_of(1, 5)
    done["done"]["span"] = [*ids, "another"]
    pulled.rows = done
    log.write(pulled)
    log.seal()
    assert [row[0] for row in rows_of(blocks, "spans")] == [0, 1]
    of_spans = [*record_tables()["runs"].columns].index("span")
    # (of the newest two is known what is around them)
    assert [row[of_spans] for row in rows_of(blocks, "runs")] == [1, 0, 1, 1, 0]


def test_workers_have_numbers_in_the_order_of_their_names() -> None:
    """So groups of a thousand workers are of those that are called alike."""
    pulled = first_answer()
    names = ["worker-10", "b", "2", "worker-1", "a"]
    rows = {"worker": [f"tcp://{name}" for name in names], "name": names, "threads": [2] * 5}
    rows |= {name: [None] * 5 for name in ("host", "status")}
    rows |= {name: [0] * 5 for name in ("pid", "memory_limit", "joined")}
    pulled.states["workers"] = rows
    blocks: list[Any] = []
    log = DaskLog("names", pulled, lambda block, _: blocks.append(block))
    log.write(pulled)
    log.seal()
    told = [(row[0], row[6]) for row in rows_of(blocks, "workers")]
    assert told == [*enumerate(["worker-1", "2", "worker-10", "a", "b"])]
    # The lanes of a worker lie beside each other, before they have run anything.
    lanes = [row[:3] for row in rows_of(blocks, "lanes")]
    assert lanes == [(2 * worker + place, worker, place) for worker in range(5) for place in (0, 1)]
