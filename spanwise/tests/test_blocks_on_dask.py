"""Blocks beside a Dask cluster that nobody watches, and beside the handle of ``attach()``."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.dask_bridge.attach import AttachedCluster, attached_clusters
from spanwise.tests.dask_threads import dask_threads
from spanwise.tests.test_report import TITLES, read
from spanwise.tests.warned import of_the_block


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with dask_threads() as cluster:
        yield cluster


@pytest.fixture
def theirs(cluster: distributed.LocalCluster) -> Iterator[distributed.Client]:
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


def square(number: int) -> int:
    return number * number


def test_a_client_of_distributed_is_watched_for_the_block_alone(theirs: Any) -> None:
    with spanwise.get_task_stream(theirs) as stream:
        (cluster,) = attached_clusters().values()
        future = theirs.submit(square, 1, pure=False)
        future.result()
    assert [each["key"] for each in stream.data] == [future.key]
    assert attached_clusters() == {} and cluster.status == "closed"


def test_asynchronously_the_same(cluster: distributed.LocalCluster, tmp_path: Path) -> None:
    sampler = spanwise.MemorySampler()

    async def reported() -> str:
        async with distributed.Client(cluster.scheduler_address, asynchronous=True) as client:
            async with (
                spanwise.performance_report(tmp_path / "report.html"),
                sampler.sample("block", client=client),
            ):
                future = client.submit(square, 1, pure=False)
                await future
            return str(future.key)

    key = asyncio.run(reported())
    sections = read(tmp_path / "report.html")
    assert list(sections) == TITLES
    assert sections["Task Stream"]["records"]["key"] == [key]
    assert len(sampler.samples["block"]) >= 2
    assert attached_clusters() == {}


def test_a_cluster_that_was_let_go_of_is_watched_for_the_block(
    cluster: distributed.LocalCluster,
) -> None:
    with spanwise.Client(cluster, set_as_default=False) as client:
        handle = client.attached
        handle.let_go()
        with spanwise.get_task_stream(client) as stream:
            future = client.submit(square, 1, pure=False)
            future.result()
        assert [each["key"] for each in stream.data] == [future.key]
        assert attached_clusters() == {}
        with (
            pytest.raises(spanwise.ClusterError, match=r"no more: attach\(\) to it again"),
            spanwise.get_task_stream(handle),
        ):
            pytest.fail("the block has begun")


def test_a_cluster_that_is_let_go_of_within_a_block_is_said(
    cluster: distributed.LocalCluster, tmp_path: Path
) -> None:
    sampler = spanwise.MemorySampler()
    missing = "was let go of. What came after that is missing in the block's figures."
    with spanwise.Client(cluster, set_as_default=True) as client:
        with (
            pytest.warns(RuntimeWarning, match=re.escape(missing)) as warned,
            pytest.raises(spanwise.ClusterError, match=r"was let go of\."),
            spanwise.performance_report(tmp_path / "report.html") as report,
            spanwise.get_task_stream() as stream,
            sampler.sample("lost"),
        ):
            before = client.submit(square, 1, pure=False)
            before.result()
            client.fine_metrics()
            client.attached.let_go()
            client.submit(square, 2, pure=False).result()
        assert sum(missing in str(each.message) for each in warned) == 2
        assert [each["key"] for each in stream.data] == [before.key]
        assert read(tmp_path / "report.html")["Task Stream"]["records"]["key"] == [before.key]
        told = dict(report.page.content["facts"])
        assert told["Missing"].endswith(missing)


def test_who_asks_a_cluster_that_was_let_go_of_is_told_so_once(
    cluster: distributed.LocalCluster,
) -> None:
    def asked() -> list[str]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert [each["key"] for each in client.get_task_stream()] == [before.key]
            client.spans()
            client.bandwidth()
        return [str(each.message) for each in of_the_block(told)]

    with spanwise.Client(cluster, set_as_default=False) as client:
        before = client.submit(square, 1, pure=False)
        before.result()
        assert asked() == []
        client.attached.let_go()
        client.submit(square, 2, pure=False).result()
        assert asked() == [
            f"The Dask cluster at {cluster.scheduler_address} was let go of. What came after that "
            "is missing in these figures."
        ]
        assert asked() == []
        # (why changes when a scheduler is away again)
        client.attached._viewer.problem = "Another cause."
        assert asked() == ["Another cause. What came after that is missing in these figures."]


def test_without_any_client_it_says_so() -> None:
    with pytest.raises(ValueError, match="No Spanwise client is open"):
        spanwise.get_task_stream()


@pytest.fixture(scope="module")
def attached(cluster: distributed.LocalCluster) -> Iterator[AttachedCluster]:
    with spanwise.attach(cluster) as attached:
        yield attached


def test_the_handle_is_a_cluster_too(attached: AttachedCluster, theirs: Any) -> None:
    with spanwise.get_task_stream(attached) as stream:
        future = theirs.submit(square, 1, pure=False)
        future.result()
    assert attached.status == "watching"
    assert [each["key"] for each in stream.data] == [future.key]


def test_dask_samples_for_a_client_alone(
    attached: AttachedCluster, cluster: distributed.LocalCluster
) -> None:
    sampler = spanwise.MemorySampler()
    with (
        pytest.raises(spanwise.ClusterError, match=r"make one in this process, distri"),
        sampler.sample("none", client=attached),
    ):
        pytest.fail("the block has begun")
    with distributed.Client(cluster), sampler.sample("one", client=attached, interval=3600):
        sleep(0.01)
    assert len(sampler.samples["one"]) == 2


def test_a_client_that_came_by_another_address_is_one_that_is_connected(
    attached: AttachedCluster, cluster: distributed.LocalCluster
) -> None:
    port = cluster.scheduler_address.rpartition(":")[2]
    sampler = spanwise.MemorySampler()
    with (
        distributed.Client(f"tcp://localhost:{port}", set_as_default=False) as client,
        sampler.sample("other", client=client),
    ):
        assert attached in attached_clusters().values()
    assert sampler.samples["other"] and attached.status == "watching"


def test_a_scheduler_that_is_started_again_within_the_block_is_said(
    attached: AttachedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(spanwise.ClusterError, match="started again within the block"),
        spanwise.get_task_stream(attached),
    ):
        # (to whoever asks, it looks as after a restart)
        log: Any = attached._viewer.log
        monkeypatch.setattr(log, "cluster_id", "another")
