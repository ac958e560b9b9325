"""One notebook, two engines: the argument of Client() is all that changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import distributed
import pytest

import spanwise
from spanwise.client.on_dask import is_dasks
from spanwise.dask_bridge.attach import attached_clusters
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield processes
    processes.close()


def square(number: int) -> int:
    return number * number


def add(*numbers: int) -> int:
    return sum(numbers)


def notebook(client: Any) -> tuple[Any, dict[Any, int], dict[str, tuple[str, ...]]]:
    """What a notebook does: its results, its tasks by function and span, and its spans."""
    ids = {}
    with spanwise.span("load") as ids["load"]:
        squares = client.map(square, range(20), pure=False)
        with spanwise.span("add") as ids["add"]:
            total = client.submit(add, *squares, pure=False)
    x = da.arange(1000, chunks=100)
    with spanwise.span("learn") as ids["learn"]:
        mean = client.compute((x * x).mean())
    results = total.result(), float(mean.result())
    records = client.get_task_stream()
    counts = Counter(
        (each["name"], each["span"]) for each in records if each["name"] in ("square", "add")
    )
    names = {each.id: each.name for each in client.spans()}
    return results, dict(counts), {name: names[id] for name, id in ids.items()}


def test_results_tasks_and_spans_are_the_same_on_both(cluster: DaskProcesses) -> None:
    with spanwise.Client(n_workers=2, threads_per_worker=2) as client:
        embedded = notebook(client)
    with spanwise.Client(cluster.address) as client:
        assert isinstance(client, distributed.Client)
        on_dask = notebook(client)
    assert on_dask == embedded
    assert embedded[0] == (2470, 332833.5)
    assert embedded[1] == {("square", ("load",)): 20, ("add", ("load", "add")): 1}
    assert embedded[2] == {"load": ("load",), "add": ("load", "add"), "learn": ("learn",)}


def test_a_cluster_object_and_a_client_that_is_closed(tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        client = spanwise.Client(cluster)
        assert client.submit(square, 7).result() == 49
        seconds = client.fine_metrics(function="square").by_activity()
        assert sum(seconds.values()) > 0
        attached = client.attached
        assert attached is not None and attached.name == f"LocalCluster {cluster.name}"
        client.close()
        assert attached.status == "closed" and client.attached is None


def test_a_cluster_that_cannot_be_watched_computes_all_the_same(
    cluster: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise.dask_bridge import ship

    monkeypatch.setattr(ship, "OLDEST", (9999, 1, 0))
    with (
        pytest.warns(RuntimeWarning, match="no panel shows them: The scheduler has distributed"),
        spanwise.Client(cluster.address, set_as_default=False) as client,
    ):
        assert client.submit(square, 7).result() == 49
        with pytest.raises(spanwise.ClusterError, match="is older than"):
            client.spans()


def test_an_asynchronous_client_is_watched_when_it_is_asked(cluster: DaskProcesses) -> None:
    import asyncio

    async def asked() -> list[Any]:
        async with spanwise.Client(cluster.address, asynchronous=True) as client:
            await client.wait_for_workers(2, timeout=LIMIT_SECONDS)
            assert client.attached is None
            await asyncio.to_thread(client.spans)
            future = client.submit(square, 7, pure=False)
            assert await future == 49
            records = await asyncio.to_thread(client.attached.get_task_stream)
            return [each["key"] for each in records if each["key"] == future.key]

    assert len(asyncio.run(asked())) == 1
    assert attached_clusters() == {}


def test_what_dask_awaits_is_dasks(cluster: DaskProcesses) -> None:
    """`distributed.performance_report` asks its client so, from the client's loop."""
    with spanwise.Client(cluster.address, set_as_default=False) as client:

        async def asked() -> Any:
            return await client.get_task_stream(start=0, stop=0)

        assert isinstance(client.sync(asked), (list, tuple))


def test_a_class_derived_from_spanwises_cluster_is_none_of_dask() -> None:
    class Own(spanwise.LocalCluster):
        __module__ = "notebook"
        scheduler_address = "unix:/here"

    class Theirs:
        __module__ = "notebook"
        scheduler_address = "tcp://127.0.0.1:1"

    assert not is_dasks(Own.__new__(Own)) and is_dasks(Theirs())


@pytest.mark.parametrize("start", ["tcp://", ""])
def test_a_scheduler_that_is_not_there_is_said_by_dask(start: str) -> None:
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1 "):
        spanwise.Client(f"{start}127.0.0.1:1", timeout=1)


def test_clients_of_both_kinds_side_by_side(cluster: DaskProcesses) -> None:
    with (
        spanwise.Client(n_workers=1, threads_per_worker=1, set_as_default=False) as ours,
        spanwise.Client(cluster.address, set_as_default=False) as theirs,
    ):
        futures = ours.submit(square, 2), theirs.submit(square, 3)
        assert [each.result() for each in futures] == [4, 9]
        for client, future in zip((ours, theirs), futures, strict=True):
            assert future.key in {each["key"] for each in client.get_task_stream()}
