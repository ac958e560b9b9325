"""Fine metrics and memory of a Dask cluster are Dask's: of each span, function, activity, unit."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from distributed.metrics import context_meter
from distributed.spans import Span

import spanwise
from spanwise.dask_bridge import viewer
from spanwise.dask_bridge.plugin_source import Bridge
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.unreached_viewer import unreached_viewer

#: Results of 4 MB go to disk at once.
SPILLING = {
    f"DASK_DISTRIBUTED__WORKER__MEMORY__{name}": value
    for name, value in {
        "TARGET": "0.003",
        "SPILL": "False",
        "PAUSE": "False",
        "TERMINATE": "False",
    }.items()
}

Sums = dict[tuple[Any, ...], float]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    options = ("--memory-limit", "1 GB")
    folder = tmp_path_factory.mktemp("dask")
    processes = DaskProcesses(folder, worker_options=options, config=SPILLING)
    yield processes
    processes.close()


@pytest.fixture
def client(cluster: DaskProcesses, monkeypatch: pytest.MonkeyPatch) -> Iterator[distributed.Client]:
    # (workers may take so long to tell their sums on a slow machine)
    monkeypatch.setattr(viewer, "_HEARTBEATS_SECONDS", LIMIT_SECONDS)
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(2, timeout=LIMIT_SECONDS)
        yield client


def count_up(number: int) -> int:
    return sum(range(100_000 + number))


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def numbers(number: int) -> np.ndarray:
    return np.full(500_000, float(number))


def total(*parts: np.ndarray) -> float:
    return float(sum(np.sum(each) for each in parts))


def bad(number: int) -> int:
    time.sleep(0.02)
    raise ValueError(number)


def metered(number: int) -> int:
    """Label of a text, a pair and nothing; seconds, another unit, and less than nothing."""
    with context_meter.meter("reading"):
        time.sleep(0.03)
    context_meter.digest_metric(("rows", 1), number, "count")
    context_meter.digest_metric(None, -2.5, "degrees")
    context_meter.digest_metric("\u2063odd", 0.25, "seconds")
    return number


def newest_span() -> Any:
    """Spanwise's own, as its users write it; Dask's where that needs a newer Dask."""
    # (what begins with 2024.5 is the oldest of scripts/dask-versions, and no other)
    return distributed.span if dask.__version__.startswith("2024.5.") else spanwise.span


def compute_something(client: distributed.Client, span: Any = distributed.span) -> None:
    workers = sorted(client.nthreads())
    with span("load"):
        parts = [
            client.submit(numbers, number, workers=workers[number % 2], pure=False)
            for number in range(8)
        ]
        with span("inner", "innermost"):
            slept = client.map(sleep, [0.05] * 4, pure=False)
    with span("learn"):
        sums = [client.submit(total, *parts, workers=each, pure=False) for each in workers]
        measured = client.map(metered, range(3), pure=False)
    counted = client.map(count_up, range(6), pure=False)
    # (its input is no larger than what stays in memory)
    added = client.submit(sum, counted, pure=False)
    failed = client.map(bad, range(2), pure=False)
    client.gather([*slept, *sums, *measured, added])
    distributed.wait(failed)


def of_dask(dask_scheduler: Any) -> tuple[Sums, dict[str, tuple[tuple[str, ...], Sums]]]:
    """All sums, and the sums of each span with what is below it; runs on the scheduler."""

    def told(metrics: Any) -> Sums:
        idle = ("execute", "N/A", "idle or other spans", "seconds")
        return {
            key: value
            for key, value in metrics.items()
            if isinstance(key, tuple) and value and key != idle
        }

    spans = dask_scheduler.extensions["spans"].spans
    return told(dask_scheduler.cumulative_worker_metrics), {
        number: (span.name, told(span.cumulative_worker_metrics)) for number, span in spans.items()
    }


def named_as_dasks(metrics: Mapping[Any, float]) -> Sums:
    """Contexts of Dask alone; those without a function have none in their keys."""
    known = ("execute", "get-data", "gather-dep", "memory-monitor")
    return {
        tuple(part for place, part in enumerate(key) if place != 1 or part != ""): value
        for key, value in metrics.items()
        if key[0] in known
    }


def assert_equal(ours: Sums, theirs: Sums) -> None:
    assert {*map(repr, ours)} == {*map(repr, theirs)}
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def standing_still(client: distributed.Client, look: Any) -> tuple[Any, Any]:
    """What Dask has, and what `look` gives, between which Dask's figures have not changed."""
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        before = client.run_on_scheduler(of_dask)
        seen = look()
        if client.run_on_scheduler(of_dask) == before:
            return before, seen
        time.sleep(0.05)
    raise AssertionError("Dask's figures never stand still")


def assert_all_is_as_dask_has_it(client: distributed.Client, attached: Any) -> None:
    def look() -> Any:
        ours = attached.fine_metrics()
        ids = client.run_on_scheduler(lambda dask_scheduler: [*of_dask(dask_scheduler)[1]])
        return ours, {id: attached._asked().fine_metrics(span=id) for id in ids}

    (theirs, their_spans), (ours, our_spans) = standing_still(client, look)
    activities = {(*key[-2:], key[0]) for key in theirs}
    for wanted in (
        ("thread-cpu", "seconds", "execute"),
        ("thread-noncpu", "seconds", "execute"),
        ("executor", "seconds", "execute"),
        ("other", "seconds", "execute"),
        ("failed", "seconds", "execute"),
        ("disk-write", "bytes", "execute"),
        ("disk-read", "seconds", "execute"),
        ("memory-read", "count", "execute"),
        (("rows", 1), "count", "execute"),
        (None, "degrees", "execute"),
        ("\u2063odd", "seconds", "execute"),
        ("network", "seconds", "gather-dep"),
        ("network", "seconds", "get-data"),
    ):
        assert wanted in activities, "the workload does all that is told"
    assert_equal(named_as_dasks(ours), theirs)
    assert {name for name, _ in their_spans.values()} >= {
        ("load",),
        ("load", "inner"),
        ("load", "inner", "innermost"),
        ("learn",),
        ("default",),
    }
    for number, (_, sums) in their_spans.items():
        assert_equal(named_as_dasks(our_spans[number]), sums)


def test_all_sums_are_those_of_dask(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        compute_something(client, newest_span())
        assert_all_is_as_dask_has_it(client, attached)
        by_function: Counter[Any] = Counter()
        for unit in ("seconds", "bytes", "count", "degrees"):
            shown = attached.fine_metrics(unit=unit).summary
            assert shown["unit"] == unit and shown["account"] == "told"
            theirs = client.run_on_scheduler(of_dask)[0]
            for row in shown["byFunction"]:
                for value in row["activities"].values():
                    by_function[row["function"], unit] += value
                told = sum(
                    value
                    for key, value in theirs.items()
                    if key[:2] == ("execute", row["function"]) and key[-1] == unit
                )
                assert by_function[row["function"], unit] == pytest.approx(told)
                assert row["total"] == pytest.approx(told)
        assert {unit for _, unit in by_function} == {"seconds", "bytes", "count", "degrees"}


def test_who_attaches_later_has_all_of_them_too(client: distributed.Client) -> None:
    compute_something(client)
    with spanwise.attach(client) as attached:
        assert_all_is_as_dask_has_it(client, attached)
        # What was there before counts at the beginning.
        standing = attached.fine_metrics(stop=attached._asked().log.wall_epoch + 0.5)
        assert {key[1] for key in standing if key[0] == "execute"} >= {"numbers", "total"}
        compute_something(client)
        assert_all_is_as_dask_has_it(client, attached)


def test_memory_is_that_of_dask(client: distributed.Client) -> None:
    def memory(dask_scheduler: Any) -> dict[str, int]:
        state = dask_scheduler.memory
        measures = ("process", "managed", "spilled", "unmanaged_old")
        return {measure: getattr(state, measure) for measure in measures}

    workers = sorted(client.nthreads())
    kept = [
        client.submit(numbers, each, workers=workers[each % 2], pure=False) for each in range(6)
    ]
    kept += client.map(count_up, range(4), pure=False)  # (the others are too large for memory)
    distributed.wait(kept)
    with spanwise.attach(client) as attached:
        end = time.monotonic() + LIMIT_SECONDS
        while True:
            before = client.run_on_scheduler(memory)
            now = attached._asked().query("memory")["now"]
            if before == client.run_on_scheduler(memory) and min(before.values()) > 0:
                break
            assert time.monotonic() < end, "Dask's figures never stand still"
            time.sleep(0.05)
    now["unmanaged_old"] = now.pop("unmanagedOld")
    assert now == before


def test_each_second_has_what_was_told_in_it(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        before = attached.fine_metrics()
        client.submit(sleep, 0.25, pure=False).result()
        after = attached.fine_metrics()
        split = attached._asked().log.wall_now() + 1.0
        key = ("execute", "sleep", "thread-noncpu", "seconds")
        assert after[key] - before.get(key, 0.0) >= 0.249
        earlier = attached.fine_metrics(stop=split).get(key, 0.0)
        # (a row is of a whole second, which both ranges may touch)
        later = attached.fine_metrics(start=split + 2.0).get(key, 0.0)
        assert earlier == pytest.approx(after[key]) and later == 0.0


def test_by_worker_they_are_not_known(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        compute_something(client)
        metrics = attached.fine_metrics(worker=0)
        assert {key[0] for key in metrics} <= {"background", "idle"}
        assert any("not by worker" in note for note in metrics.notes)
        assert "not by worker" in metrics.summary["notKnown"]


def test_idle_time_is_no_rest_of_them(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        client.submit(sleep, 0.2, pure=False).result()
        metrics = attached.fine_metrics()
        idle = sum(value for key, value in metrics.items() if key[0] == "idle")
        # One of four threads sleeps.
        assert idle >= 3 * 0.2 * 0.9
        assert not any(key[1] == "N/A" and key[0] == "execute" for key in metrics)
        assert sum(metrics.by_activity().values()) == pytest.approx(
            sum(
                value
                for key, value in metrics.items()
                if key[3] == "seconds" and key[0] not in ("idle", "gather-dep")
            )
        )


def test_what_took_its_groups_span_is_inferred(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        with distributed.span("first"):
            kept = [client.submit(count_up, number, pure=False) for number in range(2)]
        with distributed.span("second"):
            kept.append(client.submit(count_up, 3, pure=False))
        kept.append(client.submit(count_up, 4, pure=False))
        client.gather(kept)
        told = {each.name: (each.exact, each.inferred) for each in attached.spans()}
    # Dask has no second span: the group of all four was in the first.
    assert told["first",] == (2, 2) and ("second",) not in told


def test_tasks_of_a_graph_that_was_fused_are_inferred(client: distributed.Client) -> None:
    def fusing(is_on: bool) -> None:
        # (it is the scheduler that optimises)
        def set_there() -> None:
            dask.config.set({"optimization.fuse.active": is_on})

        client.run_on_scheduler(set_there)

    def inferred(attached: Any) -> Counter[str]:
        found: Counter[str] = Counter()
        for each in attached.spans():
            if each.parent is None:
                found.update({"exact": each.exact, "inferred": each.inferred})
        return found

    with spanwise.attach(client) as attached:
        before = inferred(attached)
        with distributed.span("written"):
            array = da.ones(40, chunks=10) + 1
        fusing(False)
        array.sum().compute()
        unfused = inferred(attached)
        assert unfused["inferred"] == before["inferred"]
        assert unfused["exact"] > before["exact"]
        fusing(True)
        (array * 2).sum().compute()
        fused = inferred(attached)
        assert fused["inferred"] > unfused["inferred"] and fused["exact"] == unfused["exact"]


def test_sums_of_a_span_come_after_it() -> None:
    metrics = {("execute", "f", "thread-cpu", "seconds"): 1.5}
    span = Span(("load",), "id", None, [(0.0, 1)])
    span._cumulative_worker_metrics.update(metrics)
    bridge = Bridge()
    bridge.scheduler = SimpleNamespace(
        extensions={"spans": SimpleNamespace(spans={"id": span})},
        cumulative_worker_metrics=dict(metrics),
        task_groups={},
    )
    bridge._begin_states()
    bridge._sections["spans"].due = 1e9
    bridge._sections["fine"].look(1)
    assert [*bridge._sections["fine"].changed(0, 9)] == []
    assert bridge._sections["spans"].due == 0.0, "it is looked at next"
    bridge._sections["spans"].look(2)
    bridge._sections["fine"].look(3)
    row = ("execute", "id", "f", "thread-cpu", "seconds", 1.5)
    assert [*bridge._sections["fine"].changed(0, 9)] == [row]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # One that is small beside another; two whose sum stays.
        ({"a": 2.0**60, "b": 0.5}, {"a": 2.0**60, "b": 0.75}),
        ({"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}),
    ],
)
def test_each_change_of_a_sum_is_seen(before: dict[str, float], after: dict[str, float]) -> None:
    bridge = Bridge()
    bridge._begin_states()

    def rows(sums: dict[str, float]) -> Any:
        metrics = {("execute", "f", name, "seconds"): value for name, value in sums.items()}
        return bridge._fine_of("id", metrics)

    assert sum(before.values()) == sum(after.values())
    first = rows(before)
    assert rows(before) is first
    assert {values[3]: values[5] for _, values in rows(after)} == after


async def _pulled_heartbeats(
    monkeypatch: pytest.MonkeyPatch, took: float, silent: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Look for heartbeats, of which so many are missing at each look; later as at the last.

    Returns how long one waits between looks, and for each look that has found more the time that
    has passed.
    """
    clock = 0.0
    pauses: list[float] = []
    looks: list[float] = []
    told: list[float] = []

    async def pull_all() -> None:
        nonlocal clock
        clock += took
        log.now = clock

    async def sleep(seconds: float) -> None:
        nonlocal clock
        clock += seconds
        pauses.append(seconds)

    def silent_since(t: float) -> int:
        looks.append(t)
        return silent[min(len(looks), len(silent)) - 1]

    seen = unreached_viewer()
    log = SimpleNamespace(silent_since=silent_since, now=clock)
    seen.log, seen._pull_all = log, pull_all
    monkeypatch.setattr(viewer, "monotonic", lambda: clock)
    monkeypatch.setattr(viewer, "time", lambda: 1e9)
    monkeypatch.setattr(viewer, "asyncio", SimpleNamespace(sleep=sleep))
    await seen._pull_heartbeats(told.append)
    # (one that came sooner may have left before the question)
    assert {*looks} == {1e9 + 0.1}
    return pauses, told


def test_waiting_for_heartbeats_leaves_the_scheduler_most_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_the_fifth = [1, 1, 1, 1, 1, 0]
    pauses, _ = asyncio.run(_pulled_heartbeats(monkeypatch, 0.001, at_the_fifth))
    assert pauses == [0.1] * 4
    pauses, _ = asyncio.run(_pulled_heartbeats(monkeypatch, 0.25, at_the_fifth))
    assert pauses == pytest.approx([1.0] * 4)


def test_while_silent_workers_are_waited_for_nothing_more_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two of three tell with the first and the third answer; the third one never.
    pauses, told = asyncio.run(_pulled_heartbeats(monkeypatch, 0.25, [3, 2, 2, 1]))
    assert len(pauses) > 5 and told == pytest.approx([0.25, 3 * 0.25 + 2 * 1.0])
    # Nobody tells, or nobody is there.
    assert asyncio.run(_pulled_heartbeats(monkeypatch, 1.0, [3]))[1] == []
    assert asyncio.run(_pulled_heartbeats(monkeypatch, 1.0, [0])) == ([], [1.0])
