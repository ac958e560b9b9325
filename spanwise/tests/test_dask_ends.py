"""A Dask cluster that is closed ends in the panels; one that cannot be reached is asked again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.dask_bridge import outage, viewer
from spanwise.dask_bridge.attach import attached_clusters, shown
from spanwise.dask_bridge.in_kernel import attach_here, let_go_here
from spanwise.dask_bridge.pulled import VERSION
from spanwise.dask_bridge.sample_pull import SamplePull
from spanwise.dask_bridge.ship import NAME
from spanwise.observed.find_observer import OBSERVER_VARIABLE
from spanwise.observed.own_observer import OwnObserver
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_attach import part, until
from spanwise.tests.test_dask_scale import first_answer
from spanwise.tests.unreached_viewer import unreached_viewer
from spanwise.wire.link import dial


@pytest.fixture
def processes(tmp_path: Path, lasting_port: int) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path, workers=1, port=lasting_port)
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
    processes: DaskProcesses, lasting_port: int, monkeypatch: pytest.MonkeyPatch
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
        processes.start_scheduler(lasting_port)
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
        # (it may go on behind a network that is away)
        ended = listed(attached, second, is_ended)
        assert ended["unwatched"] is True
        assert re.fullmatch(
            rf"Not watched since {clock}: its scheduler could not be reached for 0 min\. "
            r"The history is kept\.",
            ended["why"],
        )


def test_of_a_cluster_that_is_let_go_while_it_does_not_answer_nothing_is_claimed(
    processes: DaskProcesses,
) -> None:
    with spanwise.attach(processes.address, timeout=LIMIT_SECONDS) as attached:
        cluster = attached.cluster_id
        processes.scheduler.kill()
        until(lambda: attached.status == "reconnecting", "it is said")
        attached.let_go()
        ended = listed(attached, cluster, is_ended)
        assert "the cluster was let go while it did not answer. The history" in ended["why"]
        assert ended["unwatched"] is True


def test_a_cluster_that_is_let_go_as_it_closes_is_said_to_be_closed(
    local: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave, leaving = viewer.Viewer._leave, threading.Event()

    async def leave_late(seen: viewer.Viewer) -> None:
        leaving.set()
        while not seen.is_closing:
            await asyncio.sleep(0.01)
        await leave(seen)

    monkeypatch.setattr(viewer.Viewer, "_leave", leave_late)
    # (the thread may take long to end on a slow machine)
    monkeypatch.setattr(viewer, "_END_SECONDS", LIMIT_SECONDS)
    with spanwise.attach(local) as attached:
        local.close()
        assert leaving.wait(LIMIT_SECONDS)
        assert attached.status != "closed"
        attached.let_go()
        assert attached.problem == "The cluster was closed."
        ended = listed(attached, attached.cluster_id, is_ended)
        assert re.fullmatch(
            r"Ended at \d\d:\d\d:\d\d: the cluster was closed\. The history is kept\.",
            ended["why"],
        )
        assert "unwatched" not in ended


def test_who_lets_go_is_told_of_the_cluster_only_what_is_known() -> None:
    seen = unreached_viewer()
    seen.status = "watching"
    assert seen._why_let_go("closed") == "the cluster was let go and went on"
    seen._is_closed = lambda: True
    assert seen._why_let_go("closed") == "the cluster was let go"
    seen._is_closed, seen._closed_at = bool, 1e9
    assert seen._why_let_go("closed") == "the cluster was let go"
    seen._closed_at, seen.status = 0.0, "reconnecting"
    assert seen._why_let_go("closed") == "the cluster was let go while it did not answer"


def test_of_a_program_that_watched_and_has_ended_the_panels_say_that(
    local: distributed.LocalCluster,
) -> None:
    code = f"import spanwise; print(spanwise.attach({local.scheduler_address!r}).cluster_id)"
    observer = OwnObserver()
    try:
        named = {OBSERVER_VARIABLE: str(Path(observer.secret_file).parent)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            env=os.environ | named,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
        )
        seen = SimpleNamespace(_viewer=SimpleNamespace(observer=observer))
        ended = listed(seen, done.stdout.strip(), is_ended)
    finally:
        observer.close()
    assert ended["unwatched"] is True
    assert re.fullmatch(
        r"Not watched since \d\d:\d\d:\d\d: the kernel or program that watched the cluster has "
        r"ended\. The history is kept\.",
        ended["why"],
    )


def test_a_scheduler_whose_connections_have_ended_is_not_waited_for() -> None:
    """Dask would try to connect for most of the time that an answer has."""

    class Rpc:
        def __init__(self, *closed: bool) -> None:
            self.comms = [SimpleNamespace(closed=lambda each=each: each) for each in closed]

        async def asked(self, **request: Any) -> None:
            return None

        def __getattr__(self, operation: str) -> Any:
            return self.asked

    seen = unreached_viewer()
    for closed in ((True, True), (True,), ()):
        seen._rpc = Rpc(*closed)
        with pytest.raises(ConnectionError, match="has ended the connection"):
            asyncio.run(seen._asked(False))
    seen._rpc = Rpc(True, False)
    assert asyncio.run(seen._asked(False)) is None


def viewer_with_log(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a viewer that has begun a log with the first answer, and sends it to nobody."""
    monkeypatch.setattr(viewer, "ObserverLink", lambda *given: None)
    seen = unreached_viewer()
    seen._observer = object()
    seen._begin_log(first_answer())
    return seen


@pytest.mark.parametrize("status", ["closed", "watching"])
@pytest.mark.parametrize("problem", ["", "The cluster was closed."])
def test_who_asks_and_who_measures_are_told_the_same_sentence(status: str, problem: str) -> None:
    seen = unreached_viewer()
    # (its thread may have ended just now)
    seen.status, seen.problem = status, problem
    with pytest.raises(spanwise.ClusterError) as told:
        seen.ask("identity")
    seen.status = "closed"
    assert str(told.value) == seen.why_not_watched() != ""


def test_that_a_scheduler_has_closed_is_not_said_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = viewer_with_log(monkeypatch)
    seen._write(replace(first_answer(), closing=1e9 + 9))
    assert seen._closed_at == 1e9 + 9
    seen._write(replace(first_answer(), scheduler="next", plugin="next"))
    assert seen._closed_at == 0.0


def test_who_has_heard_the_end_of_a_scheduler_waits_for_that_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(viewer, "_LISTEN_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(viewer, "_readable", lambda answer: answer)
    seen = unreached_viewer()
    seen.status, seen._rpc = "watching", object()
    closing = {"s": [0.0, 1e9 + 9], "next": [0.0, 1e9 + 19], "old": [-1.0], "last": [1e9 + 29]}

    async def listened() -> list[float]:
        heard = []
        seen._wake = asyncio.Event()

        async def operation(**request: Any) -> Any:
            assert request["wait"] > 0
            (now, *then) = closing[seen.scheduler]
            closing[seen.scheduler] = then
            return replace(seen.newest, closing=now)

        seen._operation = operation
        seen.newest = first_answer()
        listening = asyncio.ensure_future(seen._listen())
        for scheduler in closing:
            # (as a pull does of which another one answers)
            seen.newest, seen._closed_at = replace(first_answer(), scheduler=scheduler), 0.0
            while closing[scheduler] or not (scheduler == "old" or seen._closed_at):
                assert not listening.done()
                await asyncio.sleep(0)
            heard.append(seen._closed_at)
        listening.cancel()
        return heard

    limited = asyncio.wait_for(listened(), LIMIT_SECONDS)
    assert asyncio.run(limited) == [1e9 + 9, 1e9 + 19, 0.0, 1e9 + 29]


def test_a_scheduler_that_answers_badly_is_not_said_to_be_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = viewer_with_log(monkeypatch)
    seen._write(first_answer())
    events: list[Any] = []
    monkeypatch.setattr(seen.log, "_event", lambda *event: events.append(event))
    clock = r"\d\d:\d\d:\d\d"

    def problem(error: Exception) -> str:
        assert not seen._is_out_for_long(error)
        return str(seen.problem)

    with pytest.raises(spanwise.ClusterError, match=r"cannot be read: it is of version 1") as bad:
        viewer._readable({"version": 1})
    assert re.fullmatch(
        rf"The scheduler has answered nothing of use since {clock}: its answer cannot be read: it "
        rf"is of version 1, this reads {VERSION}\. It is tried again until {clock}\.",
        problem(bad.value),
    )
    assert problem(TimeoutError()).startswith("The scheduler has not answered since")
    told = [json.loads(text) for kind, _, _, text in events if kind == "unreachable"]
    assert [each.get("hasAnswered") for each in told] == [True, None]

    monkeypatch.setattr(outage, "MOST_SECONDS", 60.0)
    assert seen._outage.end() == "its scheduler could not be reached for 1 min"
    problem(bad.value)
    assert seen._outage.end() == "its scheduler answered nothing of use for 1 min"


def test_what_the_plugin_does_not_tell_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(viewer, "tell", said.append)
    seen = viewer_with_log(monkeypatch)
    for more in ({"tasks": 5}, {"executing": 7}, {"executing": 9, "bandwidth": 3}, {"fine": 2}):
        seen._write(replace(first_answer(), states_more=more))
    assert said == [
        "7 tasks that run at tcp://127.0.0.1:1 are not shown until they have ended.",
        "Of 3 pairs of workers at tcp://127.0.0.1:1 the bandwidths are not told.",
        "2 fine metrics of tasks at tcp://127.0.0.1:1 are not told, or as they were before: they "
        "are not finite, or above 4.6e18.",
    ]


def test_one_scheduler_is_one_cluster_by_whatever_address(
    local: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulls: list[Any] = []

    class Noted(SamplePull):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            pulls.append(self)

    monkeypatch.setattr(viewer, "SamplePull", Noted)
    address = local.scheduler_address
    port = address.rpartition(":")[2]
    with (
        spanwise.attach(f"127.0.0.1:{port}") as attached,
        spanwise.attach(address) as second,
        spanwise.attach(f"tcp://localhost:{port}") as third,
        spanwise.attach(local) as fourth,
    ):
        assert attached is second is third is fourth
        assert len(local.scheduler.plugins[NAME]._leases) == 1
        assert shown()[local.scheduler.id] == attached.cluster_id
    assert attached.status == "closed" and attached_clusters() == {}
    # (of one that stays open Dask says so when the program ends)
    assert len(pulls) >= 2 and [each for each in pulls if each._rpc is not None] == []


def test_a_client_of_spanwise_is_one_of_those_who_watch(local: distributed.LocalCluster) -> None:
    with (
        spanwise.attach(local.scheduler_address) as attached,
        spanwise.Client(local, set_as_default=False) as client,
    ):
        assert client.attached is attached
        assert len(local.scheduler.plugins[NAME]._leases) == 1


def question(checkout: Path, name: str, **arguments: str) -> Any:
    """What the page asks of a kernel."""
    source = (checkout / "src/lab/kernel-snippet.ts").read_text("utf-8")
    text = source.partition(f"const {name} = `")[2].partition("`;")[0]
    names: dict[str, Any] = {"arguments": arguments}
    exec(text.replace("${MOST_CLUSTERS}", "20"), names)  # noqa: S102 (our own text)
    return names["look"]


def offers(checkout: Path) -> list[str]:
    """Under which ids the clusters of a notebook are shown: ``""`` is offered."""
    return [each["shownAs"] for each in question(checkout, "SEEN")()["clusters"]]


@pytest.fixture
def attached_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program that attaches: it does not import what the page attaches by."""
    monkeypatch.delitem(sys.modules, "spanwise.dask_bridge.in_kernel")


@pytest.mark.usefixtures("attached_by_itself")
def test_a_notebook_does_not_offer_what_is_watched(
    local: distributed.LocalCluster, checkout: Path
) -> None:
    port = local.scheduler_address.rpartition(":")[2]
    with (
        distributed.Client(local, set_as_default=False),
        spanwise.attach(f"tcp://localhost:{port}") as attached,
    ):
        assert offers(checkout) == [attached.cluster_id]
        attached.let_go()
        assert offers(checkout) == [""]


@pytest.mark.usefixtures("attached_by_itself")
def test_a_notebook_does_not_offer_what_its_client_of_spanwise_watches(
    local: distributed.LocalCluster, checkout: Path
) -> None:
    with spanwise.Client(local, set_as_default=False) as client:
        assert offers(checkout) == [client.attached.cluster_id]


def test_a_kernel_lets_go_of_a_cluster(local: distributed.LocalCluster, checkout: Path) -> None:
    cluster = attach_here(local.scheduler_address)["cluster"]
    attached = attached_clusters()[local.scheduler_address]
    with spanwise.attach(local) as held:
        assert held is attached
        assert question(checkout, "LET_GO", cluster=cluster)() == {"cluster": cluster}
        assert held.status == "closed" and shown() == {}
        ended = listed(held, cluster, is_ended)
        assert re.fullmatch(
            r"Not watched since \d\d:\d\d:\d\d: the cluster was let go and went on\. "
            r"The history is kept\.",
            ended["why"],
        )
        assert ended["unwatched"] is True
        assert held.spans() is not None
        assert "was attached to elsewhere" in let_go_here(cluster)["problem"]
        until(lambda: not local.scheduler.plugins.get(NAME), "the plugin leaves")
    attached.close()  # (for the page, which had attached first: its observer ends)
