"""What a client is told about tasks and workers, beside what `distributed` says of the same."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import distributed
import pytest

from spanwise import Client
from spanwise.client import on_workers
from spanwise.client.future import Future
from spanwise.client.queries import tasks_seen
from spanwise.tests.processes import wait_until
from spanwise.tests.query_tasks import double, go_on, hold, wait_for_ever
from spanwise.tests.their_client import workers_told


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.fixture(scope="module")
def theirs() -> Iterator[Any]:
    with distributed.Client(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        set_as_default=False,
    ) as made:
        yield made


def test_who_has_what_and_how_much_of_it(client: Client, theirs: Any) -> None:
    def ask(one: Any) -> tuple[Any, ...]:
        first, second = sorted(one.nthreads())
        at_first = one.submit(bytes, 10_000, workers=[first], key="at-first")
        at_second = one.submit(bytes, 20_000, workers=[second], key=("at-second", 0))
        late = one.submit(wait_for_ever, key="late", workers=[first])
        one.gather([at_first, at_second])
        places = {first: "first", second: "second"}

        def named(found: Any) -> Any:
            return {
                places[address]: sorted(map(str, keys))
                for address, keys in found.items()
                if address in places
            }

        wait_until("it is assigned", lambda: "late" in one.processing()[first])
        answer = (
            {key: [places[each] for each in held] for key, held in one.who_has().items()},
            {
                key: [places[each] for each in held]
                for key, held in one.who_has([at_second, late]).items()
            },
            named(one.has_what()),
            named(one.has_what(second)),
            named(one.has_what([first])),
            one.has_what("tcp://10.0.0.1:1"),
            named(one.processing()),
            named(one.processing([first])),
            {key: size // 1000 for key, size in one.nbytes(summary=False).items()},
            {key: size // 1000 for key, size in one.nbytes().items()},
            {key: size // 1000 for key, size in one.nbytes(keys=["at-first"]).items()},
            sorted(map(str, one.futures)),
            one.futures["late"].status,
        )
        with pytest.raises(KeyError):
            one.nbytes(keys=["never"])
        late.cancel()
        one.run(go_on)
        return answer

    ours, other = ask(client), ask(theirs)
    # `distributed` counts a task that has not run as one of no bytes, or leaves it out.
    assert ours == other
    assert ours[0] == {"at-first": ["first"], ("at-second", 0): ["second"], "late": []}


def test_keys_are_those_that_users_made_also_without_a_future(client: Client) -> None:
    x = da.arange(40, chunks=10).persist(optimize_graph=False)
    y = (x + 1).persist(optimize_graph=False)
    client.gather(client.futures_of(y))
    expected = {*x.__dask_keys__(), *y.__dask_keys__()}
    assert expected <= {*client.who_has()}
    assert {*client.who_has(x)} == {*x.__dask_keys__()}
    assert all(client.who_has([x, y]).values())
    assert {key for keys in client.has_what().values() for key in keys} >= expected
    sizes = client.nbytes(summary=False)
    assert {sizes[key] for key in expected} == {80}
    alias = client.submit(abs, -7, key="whole")
    graph = {"alias": "whole2", "whole2": (abs, alias)}
    assert client.get(graph, ["alias"]) == [7]
    inner = dask.delayed(double)(dask.delayed(double)(1, dask_key_name=("inner", 1, "a")))
    done = client.compute(inner, optimize_graph=False)
    assert done.result(60) == 4
    # The task stays for what might need it again; its result does not.
    wait_until("it is let go", lambda: client.who_has()[("inner", 1, "a")] == [])


def test_answers_come_in_pages_and_each_task_once(client: Client) -> None:
    futures = client.map(double, range(10_000))
    client.gather(futures)
    keys = {future.key for future in futures}
    counted = [task.key for task in tasks_seen(client._session) if task.key in keys]
    assert len(counted) == 10_000 and {*counted} == keys
    named = client.who_has(futures)
    assert len(named) == 10_000 and all(len(held) == 1 for held in named.values())
    assert sum(map(len, client.has_what().values())) >= 10_000
    first, *_ = client.nthreads()
    assert {key for key, held in named.items() if held == [first]} <= {
        *client.has_what(first)[first]
    }
    del futures
    wait_until("all are let go", lambda: not keys & {*client.who_has()})


def test_an_alias_has_the_place_of_what_it_stands_for(client: Client) -> None:
    entries = client._session.submit_graph({"real": (abs, -7), "other": "real"}, ["real", "other"])
    real, other = (Future(entry, client) for entry in entries)
    assert client.gather([real, other]) == [7, 7]
    held = client.who_has([real, other])
    assert held["real"] == held["other"] != []
    assert {"real", "other"} <= {*client.who_has()}
    assert client.who_has()["other"] == held["real"]
    (keys,) = client.has_what(held["real"]).values()
    assert {"real", "other"} <= {*keys}
    del real, entries
    wait_until("one is let go", lambda: "real" not in client.futures)
    assert client.who_has([other]) == {"other": held["other"]}
    assert "other" in client.who_has()


def test_what_is_running(client: Client) -> None:
    # (who repeats the test would get the future of before, which is done)
    wait_until("its key is free", lambda: "runs" not in {*client.futures, *client.who_has()})
    client.run(hold)
    running = client.submit(wait_for_ever, key="runs", pure=False)

    def waits() -> dict[str, Any]:
        stacks: dict[str, Any] = client.call_stack()
        lines = [line for tasks in stacks.values() for line in tasks.get("runs", ())]
        is_there = any("wait_for_ever" in line and "MAY_END.wait" in line for line in lines)
        return stacks if is_there else {}

    # (before that the thread reads the function)
    ((address, tasks),) = wait_until("it runs", waits).items()
    assert address in client.nthreads() and [*tasks] == ["runs"]
    assert client.call_stack([running]) and client.call_stack(keys=["runs"])
    assert client.call_stack(keys=["another"]) == {}
    client.run(go_on)
    running.result(60)
    assert client.call_stack() == {}


def test_versions(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    said = client.get_versions(check=True, packages=["pytest"])
    assert {*said} == {"scheduler", "workers", "client"} == {*theirs_versions()}
    assert {*said["workers"]} == {*client.nthreads()}
    for worker in said["workers"].values():
        assert worker["packages"] == said["client"]["packages"]
        assert {*worker["host"]} == {*theirs_versions()["client"]["host"]}
    assert said["client"]["packages"]["pytest"] == pytest.__version__
    monkeypatch.setattr(dask, "__version__", "1.0")
    assert on_workers.versions_here()["packages"]["dask"] == "1.0"
    with pytest.raises(ValueError, match=r"dask: 1\.0 here, .* on "):
        client.get_versions(check=True)


def test_workers_are_told_of_under_distributeds_names(client: Client) -> None:
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as theirs,
    ):
        (their_row,) = workers_told(theirs).values()
    told = client.scheduler_info()["workers"]
    for row in told.values():
        assert {*their_row} <= {*row}
        assert row["nanny"] is their_row["nanny"] is None
        # (theirs have a dashboard each)
        assert row["services"] == {} and type(their_row["services"]) is dict
        assert type(row["local_directory"]) is type(their_row["local_directory"]) is str
    # The same that a task gets, once one has asked for it and before.
    for _ in range(2):
        folders = {address: row["local_directory"] for address, row in told.items()}
        assert folders == client.run(lambda dask_worker: dask_worker.local_directory)
        told = client.scheduler_info()["workers"]


def test_versions_that_no_worker_has_said_are_not_taken_for_equal() -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        ((address, row),) = client.scheduler_info()["workers"].items()
        os.kill(row["pid"], signal.SIGSTOP)
        try:
            wait_until(
                "it is seen to be stopped",
                lambda: client.scheduler_info()["workers"][address]["status"] == "stopped",
            )
            with pytest.raises(TimeoutError, match="No worker has answered which versions"):
                client.get_versions(check=True)
        finally:
            os.kill(row["pid"], signal.SIGCONT)


def theirs_versions() -> dict[str, Any]:
    from distributed.versions import get_versions

    one: dict[str, Any] = get_versions()
    return {"scheduler": one, "workers": {}, "client": one}


def test_the_story_of_a_task(client: Client) -> None:
    future = client.submit(abs, -3, key="told")
    assert future.result(60) == 3
    story = client.story("told")
    assert [line[1:3] for line in story] == [
        ("Released", "Waiting"),
        ("Waiting", "Queued"),
        ("Queued", "Processing"),
        ("Processing", "Memory"),
    ]
    assert {line[0] for line in story} == {"told"} and client.story("nobody") == []
    times = [line[5] for line in story]
    assert times == sorted(times) and client.scheduler_info()["started"] <= times[0]
    assert client.story(future) == story
    with pytest.raises(ValueError, match="not 'maybe'"):
        client.story("told", on_error="maybe")


def test_within_a_block_a_client_is_current(client: Client) -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as other:
        assert Client.current() is client
        with other.as_current():
            assert Client.current() is other
            assert dask.delayed(abs)(-1).compute() == 1
        assert Client.current() is client


def test_asynchronous() -> None:
    async def ask() -> tuple[Any, ...]:
        async with Client(
            n_workers=1, threads_per_worker=1, asynchronous=True, set_as_default=False
        ) as client:
            future = client.submit(abs, -1, key="one")
            await future
            (held,) = (await client.who_has(future)).values()
            return (
                held == [*client.nthreads()],
                await client.has_what(),
                await client.nbytes(summary=False),
                [*(await client.get_versions())["workers"]] == held,
                await client.processing(),
            )

    same, held, sizes, versions, processing = asyncio.run(ask())
    assert same and versions and [*held.values()] == [["one"]] and {*sizes} == {"one"}
    assert [*processing.values()] == [[]]
