"""Tasks of a Dask cluster that run now: they are shown while they run, and not twice afterwards."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import distributed
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.dask_bridge import running_tasks, thread_places
from spanwise.dask_bridge.plugin_source import Bridge
from spanwise.dask_bridge.pulled import read_answer
from spanwise.dask_bridge.running_tasks import RunningTasks
from spanwise.dask_bridge.thread_places import ThreadPlaces
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.gated_tasks import held
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_attach import until


@pytest.fixture
def client(tmp_path: Path) -> Iterator[distributed.Client]:
    processes = DaskProcesses(tmp_path, workers=1, threads=2)
    try:
        with distributed.Client(processes.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=LIMIT_SECONDS)
            yield client
    finally:
        processes.close()


def stream(attached: Any) -> dict[str, Any]:
    attached._viewer.flush()
    found: dict[str, Any] = attached._asked().query("task-stream")
    return found


def running(attached: Any) -> list[str]:
    return sorted(each["key"] for each in stream(attached)["running"])


def submitted(client: distributed.Client, tmp_path: Path, *names: str) -> list[distributed.Future]:
    return [client.submit(held, str(tmp_path / name), key=name) for name in names]


def test_tasks_are_shown_while_they_run(client: distributed.Client, tmp_path: Path) -> None:
    with spanwise.attach(client) as attached:
        began = time.time()
        with distributed.span("held"):
            first, second = submitted(client, tmp_path, "first", "second")
        until(lambda: running(attached) == ["first", "second"], "both are shown")
        (span,) = [each for each in attached.spans() if each.name == ("held",)]
        assert (span.running, span.tasks) == (2, 0)
        seen = {each["key"]: each for each in stream(attached)["running"]}
        assert {each["function"] for each in seen.values()} == {"first", "second"}
        assert len({each["laneIndex"] for each in seen.values()}) == 2
        epoch = attached._viewer.log.epoch
        for each in seen.values():
            assert began - 0.1 <= each["started"] + epoch <= time.time()
        assert attached.get_task_stream() == []

        (tmp_path / "second").touch()
        second.result(timeout=LIMIT_SECONDS)
        until(lambda: running(attached) == ["first"], "the other one runs on")
        (record,) = attached.get_task_stream()
        assert record["key"] == "second"

        (tmp_path / "first").touch()
        first.result(timeout=LIMIT_SECONDS)
        until(lambda: running(attached) == [], "nothing runs")
        assert Counter(each["key"] for each in attached.get_task_stream()) == {
            "first": 1,
            "second": 1,
        }
        (span,) = [each for each in attached.spans() if each.name == ("held",)]
        assert (span.running, span.tasks) == (0, 2)


def test_tasks_that_run_when_attaching_are_shown(
    client: distributed.Client, tmp_path: Path
) -> None:
    (future,) = submitted(client, tmp_path, "early")
    try:
        with spanwise.attach(client) as attached:
            until(lambda: running(attached) == ["early"], "it is shown")
            (tmp_path / "early").touch()
            future.result(timeout=LIMIT_SECONDS)
            until(lambda: running(attached) == [], "it has ended")
            assert [each["key"] for each in attached.get_task_stream()] == ["early"]
    finally:
        (tmp_path / "early").touch()


def test_what_had_ended_when_attaching_does_not_run(
    client: distributed.Client, tmp_path: Path
) -> None:
    """Though its worker has sent no heartbeat since then."""

    def told_seconds(dask_scheduler: Any) -> float:
        (worker,) = dask_scheduler.workers.values()
        return max(worker.executing.values(), default=0.0)

    async def be_silent(dask_worker: Any) -> None:
        dask_worker.periodic_callbacks["heartbeat"].stop()

    (future,) = submitted(client, tmp_path, "ended")
    try:
        until(
            lambda: client.run_on_scheduler(told_seconds) > running_tasks.SHOWN_SECONDS,
            "a heartbeat says how long it runs",
        )
        client.run(be_silent)
    finally:
        (tmp_path / "ended").touch()
    future.result(timeout=LIMIT_SECONDS)
    assert client.run_on_scheduler(told_seconds) > 0.0, "it is said still"
    with spanwise.attach(client) as attached:
        assert running(attached) == []
        assert sum(each.running + each.inferred for each in attached.spans()) == 0
        # Of what comes later the figures are as before.
        client.submit(len, "abc", key="later").result(timeout=LIMIT_SECONDS)
        assert [each["key"] for each in attached.get_task_stream()] == ["later"]
        (span,) = [each for each in attached.spans() if each.tasks]
        assert (span.name, span.exact, span.inferred) == (("default",), 1, 0)


def test_what_ends_while_an_answer_is_made_runs_or_has_ended(tmp_path: Path) -> None:
    async def compute() -> None:
        async with (
            distributed.Scheduler(
                protocol="inproc://", dashboard=False, dashboard_address=":0"
            ) as scheduler,
            distributed.Worker(scheduler.address, local_directory=str(tmp_path)) as worker,
            distributed.Client(scheduler.address, asynchronous=True) as client,
        ):
            worker.periodic_callbacks["heartbeat"].stop()
            bridge = Bridge()
            bridge.start(scheduler)
            scheduler.add_plugin(bridge)
            request = {"viewer": "v", "plugin": "", "cursor": -1, "state": -1, "limit": 100}
            request |= {"lease": 120.0, "want": ["executing"]}

            async def told() -> tuple[list[str], list[str]]:
                pulled = read_answer(await bridge.answer(request))
                request.update(plugin=pulled.plugin, cursor=pulled.cursor, state=pulled.state)
                return pulled.states["executing"]["key"], pulled.rows.get("done", {}).get("key", [])

            future = client.submit(held, str(tmp_path / "end"), key="held")
            try:
                while not worker.state.executing:
                    await asyncio.sleep(0.01)
                await worker.heartbeat()
                assert await told() == (["held"], [])
                take = bridge._rows

                async def ending(*which: Any) -> Any:
                    rows = await take(*which)
                    (tmp_path / "end").touch()
                    await future
                    return rows

                bridge._rows = ending
                assert await told() == (["held"], [])
                bridge._rows = take
                assert await told() == ([], ["held"])
            finally:
                (tmp_path / "end").touch()
                bridge.leave()

    asyncio.run(compute())


def test_a_cancelled_task_that_goes_on_is_not_told_by_dask(
    client: distributed.Client, tmp_path: Path
) -> None:
    def goes_on(begun: str, file: str) -> None:
        Path(begun).touch()
        held(file)

    with spanwise.attach(client) as attached:
        begun = tmp_path / "begun"
        future = client.submit(goes_on, str(begun), str(tmp_path / "end"), key="unwanted")
        try:
            until(lambda: begun.exists() and running(attached) == ["unwanted"], "it is shown")
            future.cancel()
            until(lambda: running(attached) == [], "it is not told any more")
        finally:
            (tmp_path / "end").touch()
        assert attached.get_task_stream() == []


class Said:
    """What is said to run, as the observer takes it."""

    def __init__(self) -> None:
        self.now: dict[tuple[int, int], tuple[str, float]] = {}
        self.rows = 0

    def __call__(self, worker: int, place: int, key: str | None, start: float) -> None:
        self.rows += 1
        if key is None:
            self.now.pop((worker, place), None)
        else:
            self.now[worker, place] = key, start

    def running(self) -> list[str]:
        return sorted(key for key, _ in self.now.values())


@given(
    st.lists(
        st.tuples(
            st.sampled_from("rl"), st.sampled_from("abcd"), st.integers(0, 2), st.integers(0, 3)
        ),
        max_size=40,
    )
)
def test_a_task_runs_at_one_place_and_a_place_runs_one_task(
    steps: list[tuple[str, str, int, int]],
) -> None:
    said = Said()
    tasks = RunningTasks(said)
    places = ThreadPlaces()
    places.threads = 3
    time_ = 0.0
    for what, key, thread, count in steps:
        time_ += 1.0
        if what == "r":
            found = places.of(thread, time_ - 0.5, time_)
            assert found is not None
            place, _ = found
            tasks.ran(0, key, place)
            assert key not in said.running() and (0, place) not in said.now
        else:
            listed = {(0, each): time_ for each in "abcd"[: count + 1]}
            tasks.list(listed, {0: places})
            rows = said.rows
            tasks.list(listed, {0: places})
            assert said.rows == rows  # (only what changes is said)
            assert len(said.running()) == len(set(said.running())) == min(count + 1, 3)
            assert set(said.running()) <= {key for _, key in listed}
    tasks.list({}, {0: places})
    assert said.now == {}


def test_a_task_runs_where_the_last_one_has_ended() -> None:
    said = Said()
    tasks = RunningTasks(said)
    places = ThreadPlaces()
    places.threads = 3
    places.of(7, 0.0, 1.0)
    places.of(8, 0.0, 3.0)
    tasks.list({(0, "a"): 3.1}, {0: places})
    assert said.now == {(0, 1): ("a", 3.1)}
    # What has begun before the end of all that is known runs where nothing has run.
    tasks.list({(0, "a"): 3.1, (0, "b"): 0.5}, {0: places})
    assert said.now[0, 2] == ("b", 0.5)
    # A place that is taken by its times takes a task from then on only.
    tasks.list({(0, "a"): 3.1, (0, "b"): 0.5, (0, "c"): 0.6}, {0: places})
    assert said.now[0, 0] == ("c", 1.001)
    # A start that a slow heartbeat had told is set right; trifles are not.
    tasks.list({(0, "a"): 3.01, (0, "b"): 0.1, (0, "c"): 0.9}, {0: places})
    assert said.now == {(0, 1): ("a", 3.1), (0, 2): ("b", 0.1), (0, 0): ("c", 1.001)}


class Taken(dict[int, str]):
    """Places, and how often one asks for one of them."""

    asked = 0

    def __contains__(self, place: object) -> bool:
        self.asked += 1
        return super().__contains__(place)


def test_threads_and_tasks_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_places, "MOST_PLACES", 8)
    monkeypatch.setattr(running_tasks, "_MOST_SHOWN", 5)
    places = ThreadPlaces()
    places.threads = 60_000
    taken = Taken({0: "a"})
    assert places.likely(1.0, taken) == (1, -inf)
    # All run at the same time, each on a thread of its own: after eight there is no lane.
    for thread in range(50):
        assert places.of(thread, 1.0, 2.0) == ((thread, True) if thread < 8 else None)
    assert places.of(3, 2.0, 3.0) == (3, False)
    assert places.of(99, 2.0, 2.5) == (0, True) and places.of(0, 2.0, 2.5) == (1, True)
    assert places.likely(2.0, taken) == (2, 2.0)
    assert taken.asked <= 2 + 8
    assert places.likely(2.0, dict.fromkeys(range(8), "b")) is None
    said = Said()
    tasks = RunningTasks(said)
    for worker in range(2):
        tasks.list({(worker, f"k-{each}"): 5.0 for each in range(50)}, {worker: places})
        assert len(said.now) == 5 and {at for at, _ in said.now} == {worker}


@given(
    threads=st.integers(1, 5),
    runs=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(1, 9))),
)
def test_a_new_thread_has_the_place_that_was_free_for_longest(
    threads: int, runs: list[tuple[int, int, int]]
) -> None:
    places = ThreadPlaces()
    places.threads = threads
    known: dict[int, int] = {}
    until: list[float] = []
    now = 0.0
    for thread, later, seconds in runs:
        now += later
        place = known.get(thread)
        if place is None:
            place = min(range(len(until)), key=until.__getitem__, default=0)
            if len(until) < threads or until[place] > now:
                place = len(until)
                until.append(-inf)
            known = {each: at for each, at in known.items() if at != place} | {thread: place}
            until[place] = -inf
            assert places.of(thread, now, now + seconds) == (place, True)
        else:
            assert places.of(thread, now, now + seconds) == (place, False)
        until[place] = max(until[place], now + seconds)
