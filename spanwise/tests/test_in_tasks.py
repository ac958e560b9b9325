"""The environment of code in tasks and in functions of `client.run`, as `distributed` has it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import distributed
import pytest

import spanwise
from spanwise import Client, get_worker
from spanwise.tests.processes import LIMIT_SECONDS


def seen(worker: Any) -> dict[str, Any]:
    return {
        "address": worker.address,
        "name": worker.name,
        "id": worker.id,
        "nthreads": worker.nthreads,
        "memory_limit": worker.memory_limit,
    }


def where(_n: int = 0) -> dict[str, Any]:
    return seen(get_worker())


async def where_later() -> dict[str, Any]:
    await asyncio.sleep(0)
    return seen(get_worker())


def test_a_task_and_a_function_see_the_same_worker(cluster: Client) -> None:
    for address, row in cluster.scheduler_info()["workers"].items():
        expected = {
            "address": address,
            "name": row["name"],
            "id": row["id"],
            "nthreads": 1,
            "memory_limit": row["memory_limit"],
        }
        task = cluster.submit(where, workers=address, pure=False)
        assert task.result(LIMIT_SECONDS) == expected
        # Its names and number are taken by `workers=`.
        for named in (expected["name"], f"worker-{row['id']}", expected["id"]):
            assert cluster.submit(where, workers=named, pure=False).result() == expected
        later = cluster.submit(where_later, workers=address, pure=False)
        assert later.result(LIMIT_SECONDS) == expected
        assert cluster.run(lambda dask_worker: seen(dask_worker), workers=address) == {
            address: expected
        }
        assert cluster.run(where, workers=address) == {address: expected}


def outside(_n: int = 0) -> str:
    found: list[Any] = []

    def look() -> None:
        try:
            found.append(get_worker())
        except ValueError as error:
            found.append(str(error))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return str(found[0])


def test_there_is_no_worker_elsewhere_as_in_distributed(
    cluster: Client, theirs: distributed.Client
) -> None:
    def thread_of_a_task() -> str:
        found: list[str] = []

        def look() -> None:
            try:
                distributed.get_worker()
            except ValueError as error:
                found.append(str(error))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return found[0]

    ours = cluster.submit(outside, pure=False).result(LIMIT_SECONDS)
    told = theirs.submit(thread_of_a_task).result(LIMIT_SECONDS)
    # In this process our client is the current one: theirs says so behind its own words.
    assert told.partition(":")[0] == "No worker found"
    assert ours.partition(":")[0] == "No worker found"
    with pytest.raises(ValueError, match="No worker found"):
        get_worker()
    with pytest.raises(ValueError, match="No worker found"):
        distributed.get_worker()


def test_attributes_stay_on_the_worker(cluster: Client) -> None:
    def keep(dask_worker: Any) -> None:
        dask_worker.model = {"worker": dask_worker.id}

    cluster.run(keep)
    for row in cluster.scheduler_info()["workers"].values():
        got = cluster.submit(lambda _: get_worker().model, row["id"], workers=row["id"])
        assert got.result(LIMIT_SECONDS) == {"worker": row["id"]}
    # What the worker itself lives on is not to be had by a name of the user's choice.
    cluster.run(lambda dask_worker: setattr(dask_worker, "table", None))
    assert cluster.submit(abs, -1, pure=False).result(LIMIT_SECONDS) == 1


def test_what_a_worker_lacks_is_said_with_what_it_has(cluster: Client) -> None:
    def lacks(name: str) -> tuple[bool, str]:
        worker = get_worker()
        try:
            getattr(worker, name)
        except AttributeError as error:
            return hasattr(worker, name), str(error)
        return True, ""

    there, told = cluster.submit(lacks, "get_current_task").result(LIMIT_SECONDS)
    assert not there
    assert "an argument that says it" in told
    there, told = cluster.submit(lacks, "batched_stream").result(LIMIT_SECONDS)
    assert not there
    assert "'batched_stream'" in told
    for name in ("id", "name", "address", "nthreads", "memory_limit", "local_directory", "plugins"):
        assert name in told
        assert cluster.submit(lacks, name).result(LIMIT_SECONDS) == (True, "")


def test_its_folder_is_its_own(cluster: Client) -> None:
    folders = cluster.run(lambda dask_worker: dask_worker.local_directory)
    assert len({*folders.values()}) == 2
    for folder in folders.values():
        assert Path(folder).is_dir()
        assert Path(folder).stat().st_mode & 0o077 == 0


def test_a_worker_does_not_travel(cluster: Client) -> None:
    with pytest.raises(TypeError, match="return what is to be known of it"):
        cluster.run(lambda dask_worker: dask_worker)


async def add_later(a: int, b: int, dask_worker: Any = None) -> tuple[int, bool]:
    await asyncio.sleep(0)
    return a + b, dask_worker is not None


async def fail_later() -> None:
    await asyncio.sleep(0)
    raise KeyError("later")


def test_coroutine_functions_run_on_every_worker(
    cluster: Client, theirs: distributed.Client
) -> None:
    (expected,) = theirs.run(add_later, 1, b=2).values()
    assert expected == (3, True)
    for run in (cluster.run, cluster.run_coroutine):
        assert [*run(add_later, 1, b=2).values()] == [expected] * 2
        for client in (cluster, theirs):
            with pytest.raises(KeyError, match="later"):
                client.run(fail_later)
    assert cluster.run_coroutine(add_later, 1, 2, wait=False) is None


def test_the_names_are_public() -> None:
    assert spanwise.get_worker is get_worker
