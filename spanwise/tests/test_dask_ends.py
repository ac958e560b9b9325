"""A Dask cluster that is closed ends in the panels; one that cannot be reached is asked again."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.dask_bridge import outage, viewer
from spanwise.dask_bridge.attach import attached_clusters, shown
from spanwise.dask_bridge.in_kernel import attach_here, let_go_here
from spanwise.dask_bridge.ship import NAME
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_attach import part, until
from spanwise.tests.test_dask_scale import first_answer
from spanwise.wire.link import dial


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path, workers=1)
    yield processes
    processes.close()


@pytest.fixture
def local() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=":0",
    ) as cluster:
        yield cluster


def listed(attached: Any, cluster: str, is_so: Any) -> dict[str, Any]:
    """What the panels are told of a cluster, once it is so."""
    observer = attached._viewer.observer
    link = dial(observer.address_to_ask(), observer.secret, "panel")
    end = time.monotonic() + LIMIT_SECONDS
    try:
        while True:
            message = link.read(end)
            for each in message.fields.get("clusters", ()) if message.type == "clusters" else ():
                if each["cluster"] == cluster and is_so(each):
                    return {
                        name: value.replace("\u00a0", " ") if isinstance(value, str) else value
                        for name, value in each.items()
                    }
    finally:
        link.close()


def is_ended(info: dict[str, Any]) -> bool:
    return info["state"] == "ended"


def test_a_cluster_that_is_closed_ends_with_all_that_it_did(
    local: distributed.LocalCluster,
) -> None:
    with distributed.Client(local, set_as_default=False) as client, spanwise.attach(local) as seen:
        plugin = local.scheduler.plugins[NAME]
        # (here it may wait for a viewer on a slow machine)
        plugin.before_close.__globals__["FAREWELL_SECONDS"] = LIMIT_SECONDS
        until(lambda: plugin._waiting, "the viewer waits for the end")
        futures = client.map(part, range(30), key="last", pure=False)
        client.gather(futures)
        keys = [each.key for each in futures]
        local.close()
        until(lambda: seen.status == "closed", "it ends")
        assert seen.problem == "The cluster was closed."
        info = listed(seen, seen.cluster_id, is_ended)
        assert re.fullmatch(
            r"Ended at \d\d:\d\d:\d\d: the cluster was closed\. The history is kept\.", info["why"]
        )
        assert "dropped" not in info
        assert {each["key"] for each in seen.get_task_stream()} == set(keys)
        assert shown() == {}


def test_a_scheduler_that_ends_as_it_is_told_to_is_closed(processes: DaskProcesses) -> None:
    name, seconds = NAME, LIMIT_SECONDS

    def is_waited_for(dask_scheduler: Any) -> bool:
        plugin = dask_scheduler.plugins[name]
        # (it may wait for a viewer on a slow machine)
        plugin.before_close.__globals__["FAREWELL_SECONDS"] = seconds
        return bool(plugin._waiting)

    with spanwise.attach(processes.address, timeout=LIMIT_SECONDS) as attached:
        with distributed.Client(processes.address, set_as_default=False) as client:
            until(lambda: client.run_on_scheduler(is_waited_for), "the viewer waits for the end")
        processes.scheduler.send_signal(signal.SIGINT)
        until(lambda: attached.status == "closed", "it ends")
        assert attached.problem == "The cluster was closed."
        listed(attached, attached.cluster_id, is_ended)
    processes.scheduler.wait(LIMIT_SECONDS)


def test_a_cluster_object_says_itself_that_it_was_closed(local: distributed.LocalCluster) -> None:
    # (the list itself is of the configuration)
    local.scheduler.blocked_handlers = ["register_scheduler_plugin"]
    with (
        pytest.warns(RuntimeWarning, match="takes no plugins"),
        spanwise.attach(local) as attached,
    ):
        local.close()
        until(lambda: attached.status == "closed", "it ends")
        assert attached.problem == "The cluster was closed."


def test_a_scheduler_that_was_killed_may_come_back_until_it_is_given_up(
    processes: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spanwise.attach(processes.address, timeout=LIMIT_SECONDS) as attached:
        first = attached.cluster_id
        processes.scheduler.kill()
        processes.scheduler.wait(LIMIT_SECONDS)
        until(
            lambda: "nobody listens" in attached.problem and attached.status == "reconnecting",
            "it is said",
        )
        assert "firewall" not in attached.problem
        clock = r"\d\d:\d\d:\d\d"
        assert re.fullmatch(
            rf"The scheduler has not answered since {clock}: nobody listens at "
            rf"{processes.address} any more\. It is tried again until {clock}\.",
            attached.problem,
        )
        told = listed(attached, first, lambda each: "nobody" in each.get("why", ""))
        assert told["state"] == "reconnecting" and re.fullmatch(
            rf"Reconnecting: the scheduler has not answered since {clock} \(nobody listens at "
            rf"{processes.address} any more\)\. Figures are from [^;]+; it is tried again until "
            rf"{clock}\.",
            told["why"],
        )
        processes.start_scheduler(int(processes.address.rpartition(":")[2]))
        until(lambda: attached.cluster_id != first, "the new one is watched")
        until(lambda: attached.status == "watching" and not attached.problem, "it is watched")
        old = listed(attached, first, is_ended)
        assert "another scheduler answers at its address" in old["why"]
        assert "What ran while nobody watched is missing" in old["dropped"]
        new = listed(attached, attached.cluster_id, lambda each: "dropped" in each)
        assert "were before Spanwise was attached" in new["dropped"]

        monkeypatch.setattr(outage, "MOST_SECONDS", 0.0)
        second = attached.cluster_id
        with pytest.warns(RuntimeWarning, match="could not be reached for"):
            processes.scheduler.kill()
            until(lambda: attached.status == "closed", "it is given up")
        assert attached.problem.startswith("Its scheduler could not be reached for")
        listed(attached, second, is_ended)


def test_that_a_scheduler_has_closed_is_not_said_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(viewer, "ObserverLink", lambda *given: None)
    seen: Any = viewer.Viewer("tcp://127.0.0.1:1", None, "seen", lambda: None, 1.0)  # type: ignore[arg-type, return-value]
    seen._observer = object()
    seen._begin_log(first_answer())
    seen._write(replace(first_answer(), closing=1e9 + 9))
    assert seen._closed_at == 1e9 + 9
    seen._write(replace(first_answer(), scheduler="next", plugin="next"))
    assert seen._closed_at == 0.0


def test_one_scheduler_is_one_cluster_by_whatever_address(
    local: distributed.LocalCluster,
) -> None:
    address = local.scheduler_address
    port = address.rpartition(":")[2]
    with (
        spanwise.attach(f"127.0.0.1:{port}") as attached,
        spanwise.attach(address) as second,
        spanwise.attach(f"tcp://localhost:{port}") as third,
        spanwise.attach(local) as fourth,
        spanwise.Client(local, set_as_default=False) as client,
    ):
        assert attached is second is third is fourth is client.attached
        assert len(local.scheduler.plugins[NAME]._leases) == 1
        assert shown()[local.scheduler.id] == attached.cluster_id
    assert attached.status == "closed" and attached_clusters() == {}


def question(checkout: Path, name: str, **arguments: str) -> Any:
    """What the page asks of a kernel."""
    source = (checkout / "src/lab/kernel-snippet.ts").read_text("utf-8")
    text = source.partition(f"const {name} = `")[2].partition("`;")[0]
    names: dict[str, Any] = {"arguments": arguments}
    exec(text.replace("${MOST_CLUSTERS}", "20"), names)  # noqa: S102 (our own text)
    return names["look"]


def test_a_notebook_does_not_offer_what_is_watched(
    local: distributed.LocalCluster, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A program that attaches by itself does not import what the page attaches by.
    monkeypatch.delitem(sys.modules, "spanwise.dask_bridge.in_kernel")
    look = question(checkout, "SEEN")

    def offers() -> list[str]:
        return [each["shownAs"] for each in look()["clusters"]]

    port = local.scheduler_address.rpartition(":")[2]
    with spanwise.Client(local, set_as_default=False) as client:
        assert offers() == [client.attached.cluster_id]
    with (
        distributed.Client(local, set_as_default=False),
        spanwise.attach(f"tcp://localhost:{port}") as attached,
    ):
        assert offers() == [attached.cluster_id]
        attached.let_go()
        assert offers() == [""]


def test_a_kernel_lets_go_of_a_cluster(local: distributed.LocalCluster, checkout: Path) -> None:
    cluster = attach_here(local.scheduler_address)["cluster"]
    attached = attached_clusters()[local.scheduler_address]
    with spanwise.attach(local) as held:
        assert held is attached
        assert question(checkout, "LET_GO", cluster=cluster)() == {"cluster": cluster}
        assert held.status == "closed" and shown() == {}
        assert "watched no more" in listed(held, cluster, is_ended)["why"]
        assert held.spans() is not None
        assert "was attached to elsewhere" in let_go_here(cluster)["problem"]
        until(lambda: not local.scheduler.plugins.get(NAME), "the plugin leaves")
    attached.close()  # (for the page, which had attached first: its observer ends)
