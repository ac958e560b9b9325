"""The plugin on a Dask scheduler tells what Dask's own figures say, and leaves no trace."""

from __future__ import annotations

import asyncio
import gc
import pickle
import pickletools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import wraps
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Scheduler, span
from distributed.core import rpc

from spanwise.dask_bridge import plugin_source
from spanwise.dask_bridge.pulled import (
    STATES,
    VERSION,
    Pulled,
    UnreadableAnswer,
    read_answer,
)
from spanwise.dask_bridge.ship import (
    NAME,
    OPERATION,
    PluginForbidden,
    _ByText,
    plugin_pickle,
    ship,
)
from spanwise.dask_bridge.without_code import WithoutCode
from spanwise.errors import ClusterError
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS

#: All that a viewer may ask for.
SECTIONS = sorted({*STATES} - {"gone", "durations"})
#: Of a viewer that shall stay, however slow the machine is.
LEASE = 120.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield processes
    processes.close()


class Viewer:
    """Pulls, as one that writes down where it is."""

    def __init__(self, scheduler: Any, name: str = "viewer") -> None:
        self.scheduler = scheduler
        self.request: dict[str, Any] = {
            "viewer": name,
            "plugin": "",
            "cursor": -1,
            "state": -1,
            "limit": 4_000,
            "lease": LEASE,
            "want": SECTIONS,
        }

    async def pull(self, **changes: Any) -> Pulled:
        answer = await getattr(self.scheduler, OPERATION)(**self.request | changes)
        assert answer is not None, "the plugin is not there"
        pulled = read_answer(answer)
        assert pulled.problems == {}
        self.request |= {"plugin": pulled.plugin, "cursor": pulled.cursor, "state": pulled.state}
        return pulled

    async def catch_up(self) -> None:
        """Pull until there is nothing more."""
        while (await self.pull(limit=20_000)).waiting:
            pass

    async def leave(self) -> None:
        await getattr(self.scheduler, OPERATION)(**self.request | {"lease": 0})


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[tuple[Client, Any]]:
    """A client for the work, and a connection as a viewer has it."""
    async with Client(address, asynchronous=True, set_as_default=False) as client:
        await client.wait_for_workers(2, timeout=LIMIT_SECONDS)
        scheduler = rpc(address, deserialize=False)
        try:
            yield client, scheduler
        finally:
            await scheduler.close_rpc()


async def traces(client: Client) -> tuple[list[str], list[str]]:
    """Names of the scheduler's plugins and operations."""

    def names(dask_scheduler: Any) -> tuple[list[str], list[str]]:
        return sorted(dask_scheduler.plugins), sorted(dask_scheduler.handlers)

    found: tuple[list[str], list[str]] = await client.run_on_scheduler(names)
    return found


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def until(what: str, condition: Any) -> Any:
    """Wait until an awaited condition is true; the test's own limit is the worst case."""
    end = time.monotonic() + LIMIT_SECONDS
    while True:
        found = await condition()
        if found:
            return found
        assert time.monotonic() < end, what
        await asyncio.sleep(0.05)


def add(a: int, b: int) -> int:
    return a + b


def fail(_: Any) -> None:
    raise ValueError("told")


async def compute(client: Client, name: str, tasks: int = 50) -> None:
    """A graph with transfers, a task that fails, and one that is never run."""
    numbers = [
        client.submit(add, number, 1, key=f"{name}-add-{number}", pure=False)
        for number in range(tasks)
    ]
    total = client.submit(sum, numbers, key=f"{name}-total")
    bad = client.submit(fail, total, key=f"{name}-bad")
    after = client.submit(add, bad, 1, key=f"{name}-after")
    with pytest.raises(ValueError, match="told"):
        await after
    # (they are forgotten, and another graph of the same names is another one)
    del numbers, total, bad, after


@in_loop
async def test_rows_are_those_of_dasks_own_task_stream(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.catch_up()
        await client.get_task_stream(count=0)  # (it switches the recorder on)
        await compute(client, "rows")
        theirs = {
            record["key"]: record
            for record in await client.get_task_stream()
            if record["key"].startswith("rows-")
        }
        pulled = await viewer.pull()
        done = pulled.rows["done"]
        parts = iter(zip(*pulled.rows["parts"].values(), strict=True))
        assert sorted(done["key"]) == sorted(theirs)
        assert len(theirs) == 52
        for row in zip(*done.values(), strict=True):
            said = dict(zip(done, row, strict=True))
            record = theirs[said["key"]]
            own = [next(parts) for _ in range(said["parts"])]
            assert own == [
                (part["action"], part["start"], part["stop"], part.get("source"))
                for part in record["startstops"]
            ]
            assert said["worker"] == record["worker"]
            assert said["thread"] == record["thread"]
            assert said["erred"] == (record["status"] == "error")
            assert said["nbytes"] == record.get("nbytes", -1)
            assert said["type"] == record.get("typename")
            assert 0.0 < said["given"] <= said["t"]
        failed = done["key"].index("rows-bad")
        assert "told" in done["text"][failed]
        ended = pulled.rows["ended"]
        assert (ended["key"], ended["why"]) == (["rows-after"], ["rows-bad"])
        assert sum(pulled.rows["graphs"]["tasks"]) == len(pulled.rows["submitted"]["key"]) == 53
        await viewer.leave()


@in_loop
async def test_states_are_what_the_scheduler_has(cluster: DaskProcesses) -> None:
    def account(dask_scheduler: Any) -> dict[str, Any]:
        spans = dask_scheduler.extensions["spans"].spans.values()
        return {
            "metrics": {
                tuple(map(str, key)): value
                for key, value in dask_scheduler.cumulative_worker_metrics.items()
                if isinstance(key, tuple)
            },
            "spans": {span.id: (span.name[-1], span.nbytes_total) for span in spans},
            "groups": {
                name: (group.nbytes_total, group.states["memory"], dict(group.all_durations))
                for name, group in dask_scheduler.task_groups.items()
            },
            "workers": {
                address: (worker.pid, worker.nthreads, worker.memory_limit)
                for address, worker in dask_scheduler.workers.items()
            },
        }

    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        # (who has not pulled is waited for no longer than 30 s)
        await viewer.pull(plugin="", want=[])
        viewer.request |= {"plugin": "", "cursor": -1, "state": -1}
        kept = client.map(add, range(20), range(20), key="states-kept")
        await client.gather(kept)

        async def at_once(dask_scheduler: Any, request: dict[str, Any]) -> Any:
            before = account(dask_scheduler)
            answer = await dask_scheduler.handlers[OPERATION](**request)
            return (before, answer) if before == account(dask_scheduler) else None

        async def unchanged() -> tuple[Any, Pulled] | None:
            # A heartbeat may come between: then it is asked again.
            request = viewer.request | {"fresh": True}
            found = await client.run_on_scheduler(at_once, request=request)
            if found is None or not found[0]["metrics"]:
                return None
            return found[0], read_answer(found[1])

        theirs, pulled = await until("the figures never stand still", unchanged)
        assert pulled.cannot == {}
        fine = pulled.states["fine"]
        sums: dict[tuple[str, ...], float] = {}
        for context, function, activity, unit, value in zip(
            *(fine[name] for name in ("context", "function", "activity", "unit", "value")),
            strict=True,
        ):
            key = tuple(part for part in (context, function, activity, unit) if part)
            sums[key] = sums.get(key, 0.0) + value
        assert sums == pytest.approx(theirs["metrics"])
        spans = pulled.states["spans"]
        told = zip(spans["id"], zip(spans["name"], spans["nbytes"], strict=True), strict=True)
        assert dict(told) == theirs["spans"]
        groups = pulled.states["groups"]
        durations = pulled.states["durations"]
        for name, nbytes, memory in zip(
            groups["group"], groups["nbytes"], groups["state_memory"], strict=True
        ):
            if name in theirs["groups"]:
                own = {
                    action: seconds
                    for group, action, seconds in zip(*durations.values(), strict=True)
                    if group == name
                }
                assert (nbytes, memory, own) == theirs["groups"][name]
        workers = pulled.states["workers"]
        told = zip(
            workers["worker"],
            zip(workers["pid"], workers["threads"], workers["memory_limit"], strict=True),
            strict=True,
        )
        assert dict(told) == theirs["workers"]
        assert set(pulled.states["memory"]["worker"]) == set(theirs["workers"])
        assert min(pulled.states["memory"]["process"]) > 1e6
        tasks = pulled.states["tasks"]
        own = [
            state
            for key, state in zip(tasks["key"], tasks["state"], strict=True)
            if key in {future.key for future in kept}
        ]
        assert own == ["memory"] * 20
        await viewer.leave()


@in_loop
async def test_a_pull_repeated_gives_the_same_again(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.catch_up()
        await compute(client, "again")
        request = dict(viewer.request)
        first = await viewer.pull(fresh=True)
        again = read_answer(await getattr(scheduler, OPERATION)(**request))
        assert again.rows["done"] == first.rows["done"]
        assert {*first.states["spans"]["id"]} <= {*again.states["spans"]["id"]}
        assert any(name.startswith("again-") for name in first.states["groups"]["group"])
        assert "done" not in (await viewer.pull()).rows
        await viewer.leave()


@in_loop
async def test_changes_add_up_to_the_whole(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        known: dict[str, dict[str, tuple[Any, ...]]] = {"spans": {}, "groups": {}}

        def take(pulled: Pulled) -> None:
            for name, rows in known.items():
                for row in zip(*pulled.states.get(name, {}).values(), strict=True):
                    rows[row[0]] = row

        take(await viewer.pull(fresh=True))
        kept = []
        for wave in range(3):
            numbers = range(wave * 5, wave * 5 + 5)
            kept += client.map(add, numbers, numbers, key=[f"up-{number}" for number in numbers])
            await client.gather(kept)
            take(await viewer.pull(fresh=True))
        assert known["groups"]["up"][[*STATES["groups"]].index("state_memory")] == 15
        # (what other clients have left may be forgotten meanwhile)
        group = known["groups"]["up"]
        span = known["spans"][group[[*STATES["groups"]].index("span")]]
        known = {"spans": {}, "groups": {}}
        take(await viewer.pull(state=-1, fresh=True))
        assert known["groups"]["up"] == group
        assert known["spans"][span[0]] == span
        await viewer.leave()


@in_loop
async def test_small_pulls_give_each_row_once(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.catch_up()
        await compute(client, "small")
        numbers: list[int] = []
        keys: list[str] = []
        while True:
            pulled = await viewer.pull(limit=7, want=[])
            if "done" in pulled.rows:
                assert len(pulled.rows["done"]["n"]) <= 7
                keys += pulled.rows["done"]["key"]
            numbers += sorted(n for rows in pulled.rows.values() for n in rows.get("n", ()))
            if not pulled.waiting:
                break
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(keys) == len(set(keys)) == 52
        await viewer.leave()


@in_loop
async def test_two_viewers_do_not_disturb_each_other(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        before = await traces(client)
        await ship(scheduler, LIMIT_SECONDS)
        one, two = Viewer(scheduler, "one"), Viewer(scheduler, "two")
        await one.catch_up()
        await ship(scheduler, LIMIT_SECONDS)  # (the second finds the first's)
        await two.catch_up()
        assert one.request["plugin"] == two.request["plugin"]
        await compute(client, "two")
        first, second = await one.pull(), await two.pull()
        assert first.viewers == second.viewers == 2
        assert first.rows["done"] == second.rows["done"]
        await one.leave()
        await compute(client, "alone")
        assert len((await two.pull()).rows["done"]["key"]) == 52
        await two.leave()
        assert await traces(client) == before


@in_loop
async def test_who_goes_without_a_word_is_forgotten(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        before = await traces(client)
        await ship(scheduler, LIMIT_SECONDS)
        assert await traces(client) != before
        await Viewer(scheduler).pull(lease=5.0)

        async def gone() -> bool:
            return await traces(client) == before

        await until("the plugin stays when nobody pulls", gone)
        assert await getattr(scheduler, OPERATION)(viewer="viewer") is None

        def living(dask_scheduler: Any) -> int:
            gc.collect()
            return sum(type(each).__name__ == "Bridge" for each in gc.get_objects())

        async def freed() -> bool:
            return await client.run_on_scheduler(living) == 0

        await until("the plugin's memory is not freed", freed)


@in_loop
async def test_what_left_the_ring_is_told(cluster: DaskProcesses) -> None:
    def small(dask_scheduler: Any) -> None:
        bridge = dask_scheduler.plugins[NAME]
        bridge.ring._most_rows = 600

    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.catch_up()
        await client.run_on_scheduler(small)
        cursor = viewer.request["cursor"]
        await client.gather(client.map(add, range(1_250), range(1_250), key="lost", pure=False))
        pulled = await viewer.pull(limit=20_000)
        assert pulled.lost == pulled.first - cursor > 0
        assert 0.0 < pulled.lost_from <= pulled.lost_to <= pulled.now
        assert pulled.waiting == 0
        assert len(pulled.rows["done"]["n"]) <= 1_200
        await viewer.leave()


@in_loop
async def test_what_dask_recorded_before_is_history(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        await client.get_task_stream(count=0)
        await compute(client, "before")
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        pulled = await viewer.pull(limit=20_000)
        done = pulled.rows["done"]
        old = [
            key
            for key, n in zip(done["key"], done["n"], strict=True)
            if n < pulled.live and key.startswith("before-")
        ]
        assert len(old) == 52
        await viewer.leave()


@pytest.mark.parametrize(
    "wrong",
    [
        {"viewer": ""},
        {"viewer": 3},
        {"viewer": "v" * 65},
        {"cursor": "first"},
        {"cursor": float("nan")},
        {"limit": 0},
        {"limit": None},
        {"lease": -1},
        {"want": "all"},
        {"want": [1]},
        {"state": [], "nonsense": {"a": 1}},
    ],
    ids=lambda wrong: "-".join(f"{name}" for name in wrong),
)
@in_loop
async def test_a_wrong_request_gets_a_sentence(
    cluster: DaskProcesses, wrong: dict[str, Any]
) -> None:
    async with connected(cluster.address) as (_, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.catch_up()
        answer = await getattr(scheduler, OPERATION)(**viewer.request | wrong)
        assert set(answer) == {"version", "error"}
        assert answer["error"]
        await viewer.pull()
        await viewer.leave()


@in_loop
async def test_another_plugins_cursor_begins_anew(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await compute(client, "anew")
        first = await viewer.pull()
        viewer.request |= {"plugin": "of another scheduler", "cursor": 10**9, "state": 10**9}
        again = await viewer.pull()
        assert again.rows["done"]["key"] == first.rows["done"]["key"]
        await viewer.leave()


@in_loop
async def test_a_worker_that_comes_and_goes_is_told(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (_, scheduler):
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        known = set((await viewer.pull()).states["workers"]["worker"])
        process = cluster.start_worker()
        joined: list[str] = []
        threads: list[int] = []
        described: dict[str, int] = {}
        left: list[str] = []
        gone: list[str] = []

        async def came() -> bool:
            pulled = await viewer.pull()
            came = pulled.rows.get("joined", {})
            joined.extend(came.get("worker", ()))
            threads.extend(came.get("threads", ()))
            there = pulled.states.get("workers", {"worker": (), "threads": ()})
            described.update(zip(there["worker"], there["threads"], strict=True))
            return bool(joined) and joined[0] in described

        await until("no worker has joined", came)
        assert not {*joined} & known
        assert threads == [described[joined[0]]]
        process.kill()

        async def went() -> bool:
            pulled = await viewer.pull()
            left.extend(pulled.rows.get("left", {}).get("worker", ()))
            gone.extend(pulled.states.get("gone", {}).get("worker", ()))
            return bool(left and gone)

        await until("no worker has left", went)
        assert set(left) == set(gone) == set(joined)
        await viewer.leave()


def test_the_pickle_names_functions_of_python_alone() -> None:
    names = []
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(plugin_pickle()):
        if opcode.name == "STACK_GLOBAL":
            names.append(tuple(texts[-2:]))
        elif opcode.name == "GLOBAL":
            names.append(tuple(str(argument).split()))
        elif isinstance(argument, str):
            texts.append(argument)
    assert names == [("builtins", "eval")]


BLOCKED = {"DASK_DISTRIBUTED__SCHEDULER__BLOCKED_HANDLERS": "['register_scheduler_plugin']"}


@pytest.mark.parametrize("index", [True, False], ids=["with-index", "without-index"])
@in_loop
async def test_a_scheduler_that_takes_no_plugins_is_seen_in_part(
    tmp_path: Path, index: bool
) -> None:
    class Older:
        """A connection to a release that has no index."""

        def __init__(self, scheduler: Any) -> None:
            self._scheduler = scheduler
            self.refused = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._scheduler, name)

        async def get_task_stream_index(self) -> None:
            self.refused += 1

    cluster = DaskProcesses(tmp_path, config=BLOCKED)
    try:
        async with connected(cluster.address) as (client, scheduler):
            with pytest.raises(PluginForbidden, match="takes no plugins"):
                await ship(scheduler, LIMIT_SECONDS)
            await client.get_task_stream(count=0)
            await compute(client, "before")
            older = Older(scheduler)
            viewer = Viewer(WithoutCode(scheduler if index else older, LIMIT_SECONDS))
            first = await viewer.pull()
            assert len(first.rows["done"]["key"]) == 52
            assert max(first.rows["done"]["n"]) < first.live
            assert len(first.states["workers"]["worker"]) == 2
            assert {"fine", "spans"} < {*first.cannot}
            await compute(client, "after")
            keys: list[str] = []
            numbers: list[int] = []
            while True:
                pulled = await viewer.pull(limit=20, want=[])
                keys += pulled.rows["done"]["key"]
                numbers += pulled.rows["done"]["n"]
                if not pulled.waiting:
                    break
            assert numbers == list(range(first.live, first.live + 52))
            theirs = await client.get_task_stream()
            assert sorted(keys) == sorted(
                record["key"] for record in theirs if record["key"].startswith("after-")
            )
            assert "done" not in (await viewer.pull()).rows
            process = cluster.start_worker()

            async def came() -> bool:
                return "joined" in (await viewer.pull(fresh=True)).rows

            await until("no worker has joined", came)
            process.kill()

            async def went() -> bool:
                return "gone" in (await viewer.pull(fresh=True)).states

            await until("no worker has left", went)
            # (it logs a traceback each time)
            assert older.refused == (0 if index else 1)
            await viewer.leave()
    finally:
        cluster.close()


@in_loop
async def test_a_scheduler_that_starts_again_has_no_plugin(
    tmp_path: Path, lasting_port: int
) -> None:
    cluster = DaskProcesses(tmp_path, workers=0, port=lasting_port)
    scheduler = rpc(cluster.address, deserialize=False)
    try:
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        before = await viewer.pull()
        cluster.scheduler.kill()
        cluster.scheduler.wait(LIMIT_SECONDS)
        with pytest.raises(OSError):
            await getattr(scheduler, OPERATION)(**viewer.request)
        cluster.start_scheduler(lasting_port)
        assert await getattr(scheduler, OPERATION)(**viewer.request) is None
        await ship(scheduler, LIMIT_SECONDS)
        after = await viewer.pull()
        assert (after.plugin, after.scheduler) != (before.plugin, before.scheduler)
        assert after.cursor == 0
    finally:
        await scheduler.close_rpc()
        cluster.close()


@in_loop
async def test_a_program_of_the_clusters_own_release_is_seen(cluster: DaskProcesses) -> None:
    scheduler = rpc(cluster.address, deserialize=False)
    try:
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.catch_up()
        cluster.run(
            "import sys\n"
            "from distributed import Client, span\n"
            "with Client(sys.argv[1]) as client, span('seen'):\n"
            "    client.gather(client.map(abs, range(10), key='seen'))\n"
        )
        pulled = await viewer.pull(fresh=True)
        assert pulled.cannot == {}
        done = pulled.rows["done"]
        assert len(done["key"]) == 10
        names = dict(zip(pulled.states["spans"]["id"], pulled.states["spans"]["name"], strict=True))
        assert {names[span] for span in done["span"]} == {"seen"}
        moves = [*pulled.rows["client"]["joined"]]

        async def left() -> bool:
            moves.extend((await viewer.pull()).rows.get("client", {}).get("joined", ()))
            return len(moves) > 1

        # (a program does not wait for long until the scheduler knows that it has left)
        await until("the program has not left", left)
        assert moves == [1, 0]
        await viewer.leave()
    finally:
        await scheduler.close_rpc()


@in_loop
async def test_a_worker_is_no_scheduler(cluster: DaskProcesses) -> None:
    async with connected(cluster.address) as (client, _):
        worker = next(iter((await client.scheduler.identity())["workers"]))
        connection = rpc(worker, deserialize=False)
        try:
            with pytest.raises(ClusterError, match="not a Dask scheduler but a Worker"):
                await ship(connection, LIMIT_SECONDS)
        finally:
            await connection.close_rpc()


def test_names_are_those_of_the_text() -> None:
    assert (plugin_source.OPERATION, plugin_source.NAME) == (OPERATION, NAME)


#: The version before: a plugin of it has this one's text but for the number.
FORMER = VERSION - 1


@in_loop
async def test_viewers_of_two_versions_have_a_plugin_each() -> None:
    text = resources.files("spanwise.dask_bridge").joinpath("plugin_source.py").read_text("utf-8")
    said = f"VERSION = {VERSION}\n"
    assert text.count(said) == 1
    former = pickle.dumps(_ByText(text.replace(said, f"VERSION = {FORMER}\n")), protocol=4)
    name = f"spanwise-bridge-{FORMER}"
    async with Scheduler(
        protocol="inproc://", dashboard=False, dashboard_address=":0", validate=False
    ) as dask:
        before = sorted(dask.plugins), sorted(dask.handlers)
        scheduler = rpc(dask.address, deserialize=False)
        await scheduler.register_scheduler_plugin(plugin=former, name=name, idempotent=True)
        request = Viewer(scheduler).request
        pull = getattr(scheduler, f"spanwise_pull_{FORMER}")
        await pull(**request)
        await ship(scheduler, LIMIT_SECONDS)
        viewer = Viewer(scheduler)
        await viewer.pull()
        async with Client(dask.address, asynchronous=True, set_as_default=False):
            pass
        theirs = await pull(**request)
        # Who meets an answer of another version does not read it.
        why = f"it is of version {FORMER}, this reads {VERSION}"
        with pytest.raises(UnreadableAnswer, match=why):
            read_answer(theirs)
        ours = await viewer.pull()
        assert ours.rows["client"]["joined"] == theirs["rows"]["client"]["joined"] == [1, 0]
        await pull(**request | {"lease": 0})
        assert name not in dask.plugins
        assert (await viewer.pull()).viewers == 1
        await viewer.leave()
        assert (sorted(dask.plugins), sorted(dask.handlers)) == before
        await scheduler.close_rpc()


@in_loop
async def test_tasks_and_workers_come_with_the_states_that_they_need(tmp_path: Path) -> None:
    """However seldom the states are looked at."""

    def look_no_more(dask_scheduler: Any) -> None:
        for section in dask_scheduler.plugins[NAME]._sections.values():
            section.due = float("inf")

    processes = DaskProcesses(tmp_path)
    try:
        async with connected(processes.address) as (client, scheduler):
            await ship(scheduler, LIMIT_SECONDS)
            viewer = Viewer(scheduler)
            await viewer.catch_up()
            await client.run_on_scheduler(look_no_more)
            with span("late"):
                future = client.submit(add, 1, 2, pure=False)
            await future
            pulled = await viewer.pull()
            (number,) = {*pulled.rows["done"]["span"]}
            spans = pulled.states["spans"]
            assert (spans["id"], spans["name"]) == ([number], ["late"])
            await client.run_on_scheduler(look_no_more)
            (worker,) = {*pulled.rows["done"]["worker"]}
            await client.retire_workers([worker])
            pulled = await viewer.pull()
            assert pulled.rows["left"]["worker"] == [worker]
            assert pulled.states["gone"]["worker"] == [worker]
            await viewer.leave()
    finally:
        processes.close()
