"""One notebook, two engines: the argument of Client() is all that changes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import distributed
import pytest

import spanwise
from spanwise.client.on_dask import is_dasks
from spanwise.dask_bridge.attach import attached_clusters
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_measures_on_dask import below
from spanwise.tests.test_report import TITLES, read


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield processes
    processes.close()


def square(number: int) -> int:
    return number * number


def add(*numbers: int) -> int:
    return sum(numbers)


def busy(seconds: float) -> float:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return seconds


class Told(NamedTuple):
    """What a notebook learns.

    Attributes
    ----------
    tasks
        How many ran, by function and span.
    fields
        Of a record.
    block
        The spans of the tasks that ended within a block; which tasks a graph has, each engine
        decides.
    profiled
        Whether the function that computes is there.
    """

    results: tuple[Any, ...]
    tasks: dict[Any, int]
    spans: dict[str, tuple[str, ...]]
    fields: list[str]
    block: set[Any]
    profiled: bool
    waited: int
    sampled: list[str]
    monitored: int
    titles: list[str]


def notebook(client: Any, folder: Path) -> Told:
    """What a notebook does, each thing by the name that Spanwise has for it."""
    ids = {}
    sampler = spanwise.MemorySampler()
    with spanwise.performance_report(folder / "report.html"), sampler.sample("all"):
        with spanwise.span("load") as ids["load"]:
            squares = client.map(square, range(20), pure=False)
            with spanwise.span("add") as ids["add"]:
                total = client.submit(add, *squares, pure=False)
        spanwise.progress(squares, notebook=False)
        waited = spanwise.wait(squares).done
        x = da.arange(1000, chunks=100)
        with spanwise.span("learn") as ids["learn"], spanwise.get_task_stream() as stream:
            mean = client.compute((x * x).mean())
            results = total.result(), float(mean.result())
        pending = spanwise.as_completed(client.map(busy, [0.2, 0.2], pure=False))
        results += (sum(each.result() for each in pending),)
    records = client.get_task_stream()
    counts = Counter(
        (each["name"], each["span"]) for each in records if each["name"] in ("square", "add")
    )
    names = {each.id: each.name for each in client.spans()}
    profile = client.profile("busy")
    return Told(
        results,
        dict(counts),
        {name: names[id] for name, id in ids.items()},
        sorted(records[0]),
        {each["span"] for each in stream.data if each["name"] != "add"},
        "busy" in {each["description"]["name"] for each in below(profile)},
        len(waited),
        list(sampler.to_pandas().columns),
        len(client.system_monitor()),
        list(read(folder / "report.html")),
    )


def test_a_notebook_learns_the_same_on_both(cluster: DaskProcesses, tmp_path: Path) -> None:
    with spanwise.Client(n_workers=2, threads_per_worker=2) as client:
        embedded = notebook(client, tmp_path)
    with spanwise.Client(cluster.address) as client:
        assert isinstance(client, distributed.Client)
        on_dask = notebook(client, tmp_path)
    assert on_dask == embedded
    assert embedded.results == (2470, 332833.5, 0.4)
    assert embedded.tasks == {("square", ("load",)): 20, ("add", ("load", "add")): 1}
    assert embedded.spans == {"load": ("load",), "add": ("load", "add"), "learn": ("learn",)}
    assert embedded.block == {("learn",)} and embedded.profiled and embedded.waited == 20
    assert embedded.sampled == ["all"] and embedded.monitored == 3
    assert embedded.titles == TITLES


def test_a_cluster_object_and_a_client_that_is_closed(tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
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
