"""A cluster that is made before its client, on real processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import dask
import distributed
import pytest

import spanwise
from spanwise import Client, LocalCluster
from spanwise.client.distributed_names import CLIENT, LOCAL_CLUSTER
from spanwise.client.launch import worker_saturation
from spanwise.errors import AbsentAttribute, CancelledError, ClusterError
from spanwise.processes.process_state import lives
from spanwise.tests.processes import wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, name="ours") as made:
        yield made


def test_a_client_of_a_cluster_leaves_it_as_it_was(cluster: LocalCluster) -> None:
    with Client(cluster) as client:
        assert client.cluster is cluster and cluster.get_client() is client
        kept = client.submit(abs, -1)
        assert kept.result(60) == 1
        assert dask.delayed(abs)(-2).compute() == 2
        assert Client.current() is client
    assert client.status == "closed" and kept.status == "cancelled"
    assert dask.config.get("scheduler", None) is not client
    assert cluster.status == "running" and len(cluster.workers) == 2
    for asked in (lambda: client.submit(abs, -1), kept.result, client.nthreads().items):
        if asked.__name__ == "items":
            assert not asked()
            continue
        with pytest.raises((ClusterError, CancelledError), match="closed"):
            asked()
    assert "closed" in repr(client)
    assert client.scheduler_info()["workers"] == {}
    client.close()
    with Client(cluster) as other:
        assert other.submit(abs, -1).result(60) == 1, "the same key, computed anew"


def test_a_client_that_closes_wakes_who_waits_and_frees_what_it_held(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    client = Client(cluster)
    held = client.scatter(b"x" * 100_000)
    waits = client.submit(_hold, tmp_path / "go", pure=False)
    seen: list[BaseException] = []

    def wait() -> None:
        try:
            waits.result(60)
        except BaseException as error:  # noqa: BLE001 (kept for the test)
            seen.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    wait_until("it waits", lambda: waits._alive().waiters is not None)
    client.close()
    waiter.join(60)
    assert isinstance(seen[0], CancelledError) and held.status == "cancelled"
    (tmp_path / "go").touch()
    with Client(cluster) as other:
        wait_until("all is freed", lambda: not any(other.run(_kept_values).values()))


def _hold(go: Path) -> None:
    """Run until the file is there."""
    import time

    while not go.exists():
        time.sleep(0.01)


def _kept_values() -> int:
    return len(threading.current_thread().worker.table.values)  # type: ignore[attr-defined]


def test_a_forgotten_client_makes_room(cluster: LocalCluster) -> None:
    with pytest.raises(TypeError, match=r"give n_workers.* to LocalCluster"):
        Client(cluster, n_workers=2)
    with pytest.raises(TypeError, match="not <object object"):
        Client(object())
    forgotten = Client(cluster, set_as_default=False)
    del forgotten
    with Client(cluster) as again:
        assert cluster.get_client() is again
        assert again.submit(abs, -1).result(60) == 1


def test_a_closed_client_handles_no_events(cluster: LocalCluster) -> None:
    ours: list[object] = []
    others: list[object] = []
    with Client(cluster) as client:
        client.subscribe_topic("left", ours.append)
    with Client(cluster) as client:
        client.log_event("left", 1)
        client.subscribe_topic("next", others.append)
        client.log_event("next", 2)
        wait_until("the later one comes", lambda: others)
    assert not ours


def test_what_it_says_of_itself(cluster: LocalCluster) -> None:
    info = cluster.scheduler_info
    assert info["address"] == cluster.scheduler_address and info["n_workers"] == 2
    assert cluster.name == "ours" and "ours" in repr(cluster)
    assert [*cluster.workers] == [0, 1]
    assert {each["nthreads"] for each in cluster.workers.values()} == {1}
    assert "Open the panels" in cluster._repr_html_() and "JupyterLab" in cluster.dashboard_link
    cluster.wait_for_workers(2, 60)
    assert {"scheduler", "worker_spec"} <= {*LOCAL_CLUSTER}
    for name, instead in LOCAL_CLUSTER.items():
        with pytest.raises(AbsentAttribute, match=f"LocalCluster has no {name} ") as absent:
            getattr(cluster, name)
        assert instead in str(absent.value)
    with pytest.raises(AttributeError, match="'LocalCluster' object has no attribute 'nonsense'"):
        _ = cluster.nonsense
    with Client(cluster) as client:
        every = client.scheduler_info(n_workers=None)["workers"]
        assert {*every} == {*client.scheduler_info()["workers"]}
        ours = client.scheduler_info(n_workers=1)
        assert len(ours["workers"]) == 1 and ours["n_workers"] == 2 == ours["total_threads"]
        with distributed.Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as each:
            # (as `scheduler_info` asks; what it gives, a thread of the client may have replaced)
            theirs = each.sync(each.scheduler.identity, n_workers=1)
            # Names that instances alone have are told of too.
            for one, other, known in (
                (each.cluster, cluster, LOCAL_CLUSTER),
                (each, client, CLIENT),
            ):
                assert not [name for name in _own(one) if name not in {*known, *dir(other)}]
        assert {*theirs} <= {*ours} and len(theirs["workers"]) == 1


def _own(theirs: object) -> list[str]:
    return [name for name in vars(theirs) if name not in dir(type(theirs)) and name[0] != "_"]


def test_closing_the_cluster_closes_its_client(tmp_path: Path) -> None:
    with dask.config.set({"distributed.scheduler.worker-saturation": "inf"}):
        cluster = LocalCluster(n_workers=1, threads_per_worker=1)
    client = Client(cluster)
    pids = [row["pid"] for row in cluster.workers.values()]
    future = client.submit(abs, -1)
    assert future.result(60) == 1
    # Its worker has all of them, though it knows nothing of how long they take.
    waits = client.map(_hold, [tmp_path / "never"] * 30, pure=False)
    wait_until("all are sent", lambda: list(map(len, client.processing().values())) == [30])
    client.cancel(waits)
    cluster.close()
    cluster.close()
    assert (cluster.status, client.status) == ("closed", "closed")
    wait_until("workers end", lambda: not any(lives(pid) for pid in pids))
    with pytest.raises(ClusterError, match="is closed"):
        Client(cluster)
    assert "closed" in repr(cluster) and cluster._repr_html_()
    client.close()


def test_the_cluster_that_a_client_started() -> None:
    with Client(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as one:
        own = one.cluster
        assert isinstance(own, LocalCluster) and own is one.cluster and own.status == "running"
        assert own.get_client() is one
        with Client(own) as other:
            assert other.cluster is own and own.get_client() is one
        one.shutdown()
        assert (one.status, own.status) == ("closed", "closed")


def test_asynchronous() -> None:
    async def use() -> int:
        unstarted = LocalCluster(n_workers=1, threads_per_worker=1, asynchronous=True)
        assert "starting" in repr(unstarted) and unstarted._repr_html_()
        with pytest.raises(ClusterError, match="has not started"):
            await Client(unstarted, asynchronous=True)
        async with unstarted as cluster:
            assert cluster is unstarted and cluster.status == "running"
            await cluster.wait_for_workers(1)
            async with Client(cluster, asynchronous=True, set_as_default=False) as client:
                found: int = await client.submit(abs, -5)
            assert cluster.status == "running"
            client = await Client(cluster, asynchronous=True, set_as_default=False)
            await client.shutdown()
        assert cluster.status == "closed"
        return found

    assert asyncio.run(use()) == 5


def test_an_idle_one_ends_if_it_was_told_to() -> None:
    """Not while its worker starts: ``cluster-idle.spec.ts``, by a clock of its own."""
    try:
        with LocalCluster(n_workers=1, threads_per_worker=1, idle_timeout="500ms") as cluster:
            said = cluster._session.wait_until_ended()
    except ClusterError as error:
        said = str(error)  # it ended before this thread, on a busy machine, heard of the worker
    assert "nothing was computed for 0.5 s" in said
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="idle_timeout is a number of seconds from 0"):
            LocalCluster(n_workers=1, idle_timeout=wrong)


@pytest.mark.parametrize("wrong", [0, -1, "many", float("nan"), True])
def test_a_saturation_that_means_nothing_is_refused(wrong: object) -> None:
    name = "distributed.scheduler.worker-saturation"
    with dask.config.set({name: wrong}), pytest.raises(ValueError, match=name):
        LocalCluster(n_workers=1)


def test_saturation_is_read_and_what_distributed_has_unasked_is_no_wish() -> None:
    theirs, ours = (f"{who}.scheduler.worker-saturation" for who in ("distributed", "spanwise"))
    for settings, found in (
        ({}, None),
        ({theirs: 1.1}, None),
        ({theirs: "1.5"}, 1.5),
        ({theirs: float("inf")}, "inf"),
        ({theirs: 2, ours: 1.1}, 1.1),
        ({theirs: 2, ours: None}, None),
    ):
        with dask.config.set(settings):
            assert worker_saturation() == found


def test_it_is_a_public_name() -> None:
    assert spanwise.LocalCluster is LocalCluster
