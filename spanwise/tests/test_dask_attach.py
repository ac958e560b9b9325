"""A Dask cluster that is attached to: the figures are Dask's own, and problems are sentences."""

from __future__ import annotations

import gc
import random
import re
import signal
import socket
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import distributed
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.dask_bridge import ship, viewer
from spanwise.dask_bridge.attach import AttachedCluster, attached_clusters, shown
from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.dask_bridge.in_kernel import attach_here
from spanwise.dask_bridge.pulled import ROWS, STATES, Pulled
from spanwise.dask_bridge.ship import NAME
from spanwise.dask_bridge.thread_places import ThreadPlaces
from spanwise.errors import ClusterError
from spanwise.observed import find_observer, own_observer
from spanwise.records.block import decode_block
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.observed_tasks import rest_between
from spanwise.tests.processes import LIMIT_SECONDS, processes_of
from spanwise.tests.test_dask_history import missing


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path_factory.mktemp("dask"))
    yield processes
    processes.close()


@pytest.fixture
def client(cluster: DaskProcesses) -> Iterator[distributed.Client]:
    with distributed.Client(cluster.address) as client:
        client.wait_for_workers(2, timeout=LIMIT_SECONDS)
        yield client


def until(is_so: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def part(number: int) -> bytes:
    return bytes(1000 * (1 + number % 7))


def joined(*parts: bytes) -> int:
    return sum(map(len, parts))


def bad(number: int) -> int:
    raise ValueError(f"not {number}")


def compute_something(client: distributed.Client) -> None:
    """Tasks of two spans on both workers, whose inputs travel, and one that raises."""
    workers = sorted(client.nthreads())
    with distributed.span("load"):
        parts = [
            client.submit(part, number, workers=workers[number % 2], pure=False)
            for number in range(40)
        ]
    with distributed.span("learn"), distributed.span("join"):
        sums = [client.submit(joined, *parts[at : at + 8], pure=False) for at in range(0, 40, 8)]
    client.gather(sums)
    failed = client.submit(bad, 7, pure=False)
    distributed.wait(failed)


def test_records_are_those_of_dask(cluster: DaskProcesses, client: distributed.Client) -> None:
    client.get_task_stream()  # (from now on Dask notes them, too)
    with spanwise.attach(client) as attached:
        streams = client.get_task_stream, attached.get_task_stream
        earlier = {each["key"] for stream in streams for each in stream()}
        compute_something(client)
        theirs, ours = (
            {each["key"]: each for each in stream() if each["key"] not in earlier}
            for stream in streams
        )
        spent = [each for record in ours.values() for each in record["startstops"]]
        begun, ended = min(each["start"] for each in spent), max(each["stop"] for each in spent)
        since, later = (
            {each["key"] for each in attached.get_task_stream(start=start)}
            for start in (begun - 1e-3, ended + 1e-3)
        )
        assert ours.keys() <= since
        assert not ours.keys() & later
    assert ours.keys() == theirs.keys() and len(ours) == 46
    for key, their in theirs.items():
        our = ours[key]
        assert our["worker"] == their["worker"]
        assert our["thread"] == their["thread"]
        assert our["status"] == ("error" if key.startswith("bad") else "OK")
        if our["status"] == "OK":
            assert our["nbytes"] == their["nbytes"]
            assert our["typename"] == their["typename"]
        else:
            assert "not 7" in our["exception_text"] and "in bad" in our["traceback_text"]
        parts = sorted((each["action"], each["start"], each["stop"]) for each in our["startstops"])
        stops = sorted(
            (each["action"], each["start"], each["stop"]) for each in their["startstops"]
        )
        assert [each[0] for each in parts] == [each[0] for each in stops]
        for (_, *own), (_, *of_dask) in zip(parts, stops, strict=True):
            assert own == pytest.approx(of_dask, abs=1e-5)
    sources = [
        each["source"]
        for record in ours.values()
        for each in record["startstops"]
        if each["action"] == "transfer"
    ]
    assert sources and set(sources) <= {each["worker"] for each in ours.values()}
    named = Counter(record["span"] for record in ours.values())
    assert named == {("load",): 40, ("learn", "join"): 5, ("default",): 1}


def test_spans_are_those_of_dask(client: distributed.Client) -> None:
    def asked(dask_scheduler: Any) -> Any:
        spans = dask_scheduler.extensions["spans"].spans.values()
        return {
            each.id: (each.name, None if each.parent is None else each.parent.id)
            for each in spans
            if each.name[0] != "default"
        }

    with spanwise.attach(client) as attached:
        compute_something(client)
        theirs = client.run_on_scheduler(asked)
        ours = {each.id: each for each in attached.spans() if each.name[0] != "default"}
    assert {id: (each.name, each.parent) for id, each in ours.items()} == theirs
    assert {("load",), ("learn",), ("learn", "join")} == {name for name, _ in theirs.values()}


def test_what_was_measured_outside_of_tasks_is_that_of_dask(client: distributed.Client) -> None:
    def asked(dask_scheduler: Any) -> Any:
        found = dask_scheduler.cumulative_worker_metrics
        return {key: value for key, value in found.items() if isinstance(key, tuple)}

    def by_label(metrics: Any) -> dict[Any, float]:
        found: Counter[Any] = Counter()
        for key, value in metrics.items():
            if key[0] in ("gather-dep", "get-data"):
                found[key[0], *key[-2:]] += value
        return {key: value for key, value in found.items() if value}

    with spanwise.attach(client) as attached:
        compute_something(client)

        def same() -> bool:
            # (heartbeats tell them: neither side is asked at the same moment)
            before = by_label(client.run_on_scheduler(asked))
            ours = by_label(attached.fine_metrics())
            if by_label(client.run_on_scheduler(asked)) != before or not before:
                return False
            assert ours == pytest.approx(before, rel=1e-9)
            return True

        until(same, "the figures stand still")


def test_memory_and_workers_are_told(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        until(lambda: len(attached._asked().system()) >= 2, "workers have told of themselves")
        log = attached._viewer.log
        assert log is not None and sorted(log._workers) == sorted(client.nthreads())
        assert attached.bandwidth()["total"] > 0


def test_bandwidths_are_those_of_dask(cluster: DaskProcesses, client: distributed.Client) -> None:
    def asked(dask_scheduler: Any) -> Any:
        return (
            dask_scheduler.bandwidth,
            dict(dask_scheduler.bandwidth_types),
            dict(dask_scheduler.bandwidth_workers),
        )

    with spanwise.attach(client) as attached:
        # (Dask estimates from what is larger than 1 MB)
        first, second = sorted(client.nthreads())

        def told() -> bool:
            # (a worker forgets what came while it waited for the answer to its heartbeat)
            large = [client.submit(bytes, 2_000_000, workers=first, pure=False) for _ in range(3)]
            client.submit(joined, *large, workers=second, pure=False).result()
            return bool(client.run_on_scheduler(asked)[2])

        def same() -> bool:
            total, types, workers = client.run_on_scheduler(asked)
            ours = attached.bandwidth()
            if client.run_on_scheduler(asked) != (total, types, workers) or not workers:
                return False
            pairs = {
                (each["destination"], each["source"]): each["bandwidth"] for each in ours["workers"]
            }
            assert (ours["total"], ours["types"], pairs) == (total, types, workers)
            return True

        until(told, "they are told")
        # (they change with each heartbeat, which may come before both have been asked)
        workers = [each for each in cluster.processes if each.pid != cluster.scheduler.pid]
        try:
            for each in workers:
                each.suspend()
            until(same, "the figures stand still")
        finally:
            for each in workers:
                each.resume()


def test_the_turns_of_event_loops_are_told(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:

        def told() -> bool:
            found = attached._asked().system()
            lists = [each.get("event_loop_interval") for each in found.values()]
            # Dask's loops turn each 20 ms, if they can.
            return len(lists) >= 3 and all(
                each is not None and any(value is not None and value > 0.005 for value in each)
                for each in lists
            )

        until(told, "the scheduler and both workers have told it")


def test_a_cluster_object_is_attached_to_by_its_kind_and_name() -> None:
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
        spanwise.attach(client) as attached,
        spanwise.attach(local) as same,
    ):
        assert attached is same and attached.name == f"LocalCluster {local.name}"
        future = client.submit(part, 1, pure=False)
        assert len(future.result()) == 2000
        assert [each["key"] for each in attached.get_task_stream()] == [future.key]


def traces(client: distributed.Client) -> Any:
    def asked(dask_scheduler: Any) -> Any:
        ours = [name for name in dask_scheduler.plugins if "spanwise" in name]
        return ours, [name for name in dask_scheduler.handlers if "spanwise" in name]

    return client.run_on_scheduler(asked)


@pytest.fixture
def own_observers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attached cluster has an observer of its own, as in a script (and not the file's)."""
    monkeypatch.setattr(find_observer, "OwnObserver", own_observer.OwnObserver)


@pytest.mark.usefixtures("own_observers")
def test_nothing_is_left_on_the_cluster(client: distributed.Client) -> None:
    others = {each.pid for each in processes_of("observer")}
    with spanwise.attach(client) as attached, spanwise.attach(client.scheduler.address) as same:
        assert same is attached
        assert len(processes_of("observer", others)) == 1
        assert [*map(len, traces(client))] == [1, 1]
        attached.close()
        assert attached.status == "watching"
        assert attached.spans() is not None
    assert attached.status == "closed"
    until(lambda: traces(client) == ([], []), "the plugin leaves")
    until(lambda: not processes_of("observer", others), "its observer ends")


def things(client: distributed.Client) -> dict[str, list[tuple[str, int]]]:
    """What a scheduler and its workers have, by name and identity; what is ours is left out."""

    def named(found: Any) -> list[tuple[str, int]]:
        return sorted((str(name), id(found[name])) for name in found if "spanwise" not in str(name))

    def of_scheduler(dask_scheduler: Any) -> dict[str, list[tuple[str, int]]]:
        # (Dask makes that topic when a worker steals, which may be at any time)
        topics = sorted({*map(str, dask_scheduler.get_events())} - {"stealing"})
        return {
            # (a bound method is made anew each time)
            "handlers": [(name, 0) for name, _ in named(dask_scheduler.handlers)],
            "streams": [(name, 0) for name, _ in named(dask_scheduler.stream_handlers)],
            "plugins": named(dask_scheduler.plugins),
            "extensions": named(dask_scheduler.extensions),
            "callbacks": named(dask_scheduler.periodic_callbacks),
            "topics": [(topic, 0) for topic in topics],
            "subscribers": [
                (f"{topic} {each}", 0)
                for topic in topics
                for each in sorted(subscribers(dask_scheduler, topic))
            ],
        }

    def subscribers(scheduler: Any, topic: str) -> Any:
        if not hasattr(scheduler, "_broker"):  # (releases of 2024)
            return scheduler.event_subscriber.get(topic, ())
        return scheduler._broker._topics[topic].subscribers

    def of_worker(dask_worker: Any) -> list[tuple[str, int]]:
        return [*named(dask_worker.plugins), *named(dask_worker.extensions)]

    found: dict[str, list[tuple[str, int]]] = client.run_on_scheduler(of_scheduler)
    return found | client.run(of_worker)


def test_what_dask_has_itself_is_left_as_it_is(client: distributed.Client) -> None:
    def recorded() -> dict[str, Any]:
        return {each["key"]: each for each in client.get_task_stream()}

    def ran(name: str) -> set[str]:
        futures = client.map(part, range(5), key=name, pure=False)
        client.gather(futures)
        return {each.key for each in futures}

    # The plugin of the dashboard's Task Stream; the first question puts it there.
    recorded()
    keys = ran("before-viewer")
    before, things_before = recorded(), things(client)
    assert {"task-stream"} < {name for name, _ in things_before["plugins"]}
    with spanwise.attach(client) as attached:
        assert [*map(len, traces(client))] == [1, 1]
        keys |= ran("while-viewer")
        assert keys <= {each["key"] for each in attached.get_task_stream()}
        attached.profile()
        assert things(client) == things_before
    until(lambda: traces(client) == ([], []), "the plugin leaves")
    keys |= ran("after-viewer")
    assert things(client) == things_before
    after = client.get_task_stream()
    # (it has each run once, and what it had before)
    counted = Counter(each["key"] for each in after)
    assert {key: counted[key] for key in keys} == dict.fromkeys(keys, 1)
    assert {key: recorded()[key] for key in before} == before


def test_who_attaches_at_the_same_moment_has_one_handle(cluster: DaskProcesses) -> None:
    with ThreadPoolExecutor(4) as pool:
        handles = [*pool.map(lambda _: spanwise.attach(cluster.address), range(4))]
    for each in handles:
        assert each is handles[0] and each.status == "watching"
        each.close()
    assert handles[0].status == "closed" and attached_clusters() == {}


def test_a_cluster_that_has_ended_is_held_no_more(cluster: DaskProcesses) -> None:
    """Who shows one after another keeps the log of the last alone."""
    attached = spanwise.attach(cluster.address)
    attached.spans()
    held = [weakref.ref(each) for each in (attached, attached._viewer, attached._viewer.log)]
    # (as by itself, when the cluster is closed)
    attached._viewer.close()
    assert attached.status == "closed" and attached in attached_clusters().values()
    with spanwise.attach(cluster.address.replace("127.0.0.1", "localhost")) as other:
        assert [*attached_clusters().values()] == [other]
        assert attached.spans() is not None  # (who has the handle may go on asking)
        attached.close()
        del attached
        # (its threads may end somewhat later)
        until(lambda: gc.collect() >= 0 and not any(each() for each in held), "all is collected")


def test_a_fork_ends_nothing_of_its_parent(cluster: DaskProcesses) -> None:
    program = (
        "import os, sys, spanwise\n"
        "from spanwise.dask_bridge.attach import attached_clusters\n"
        "with spanwise.attach(sys.argv[1]) as attached:\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        assert attached.status == 'closed' and attached_clusters() == {}\n"
        "        sys.exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "    attached.spans()\n"
        "    assert attached.status == 'watching'\n"
    )
    cluster.run(program)


@pytest.mark.usefixtures("own_observers")
@pytest.mark.parametrize("is_early", [True, False])
def test_a_user_who_waits_no_longer_leaves_nothing(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    others = {each.pid for each in processes_of("observer")}

    class Interrupted(Future[None]):
        def result(self, timeout: float | None = None) -> None:
            if not is_early:
                super().result(timeout)
                assert len(processes_of("observer", others)) == 1
            raise KeyboardInterrupt

    monkeypatch.setattr(viewer, "Future", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        spanwise.attach(client)
    assert attached_clusters() == {}
    until(lambda: traces(client) == ([], []), "the plugin leaves")
    until(lambda: "spanwise-dask" not in {each.name for each in threading.enumerate()}, "it ends")
    until(lambda: not processes_of("observer", others), "its observer ends")


def test_what_nobody_foresaw_ends_the_watch_and_is_said(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("of the log")

    with spanwise.attach(client) as attached:
        with (
            pytest.warns(RuntimeWarning, match="watched no more: ZeroDivisionError: of the log"),
            monkeypatch.context() as broken,
        ):
            broken.setattr(DaskLog, "write", fail)
            until(lambda: attached.status == "closed", "it ends")
            attached._viewer._thread.join(LIMIT_SECONDS)
        assert attached.spans() is not None  # (what was written is there)
        with spanwise.attach(client) as again:
            assert again is not attached and again.status == "watching"
    with monkeypatch.context() as broken:
        broken.setattr(DaskLog, "write", fail)
        with pytest.raises(ClusterError, match="cannot be watched: ZeroDivisionError: of the log"):
            spanwise.attach(client)


def test_a_kernel_attaches_by_address(client: distributed.Client) -> None:
    told = attach_here(client.scheduler.address)
    try:
        assert told == {"cluster": shown()[client.scheduler.address]}
        assert attach_here(client.scheduler.address) == told
    finally:
        for each in attached_clusters().values():
            each.close()
    assert shown() == {}


def test_a_kernel_is_told_why_it_cannot_attach(tmp_path: Path) -> None:
    with deaf_port() as port:
        assert "Nobody listens" in attach_here(f"tcp://127.0.0.1:{port}")["problem"]
    assert "'none.pem'" in attach_here("tls://127.0.0.1:1", ca_file="none.pem")["problem"]
    empty = tmp_path / "empty.pem"
    empty.touch()
    files = dict.fromkeys(("ca_file", "cert_file", "key_file"), str(empty))
    assert "TLS files cannot be read" in attach_here("tls://127.0.0.1:1", **files)["problem"]


def test_a_kernel_is_asked_without_asking_the_scheduler(
    cluster: DaskProcesses, client: distributed.Client, checkout: Path
) -> None:
    """One that stands still must not hold the kernel after each cell."""
    source = (checkout / "src/lab/kernel-snippet.ts").read_text("utf-8")
    text = source.partition("const SEEN = `")[2].partition("`;")[0]
    names: dict[str, Any] = {}
    exec(text.replace("${MOST_CLUSTERS}", "20"), names)  # noqa: S102 (our own text)
    seen: list[Any] = []
    asking = threading.Thread(target=lambda: seen.append(names["look"]()), daemon=True)
    cluster.scheduler.send_signal(signal.SIGSTOP)
    try:
        asking.start()
        asking.join(LIMIT_SECONDS)
        assert seen, "it waits for the scheduler"
    finally:
        cluster.scheduler.send_signal(signal.SIGCONT)
    assert cluster.address in {each["address"] for each in seen[0]["clusters"]}
    told = {"services": {"dashboard": 1234}}
    link = names["dashboard"](client, told, "tcp://127.0.0.1:5678")
    assert link == "http://127.0.0.1:1234/status"


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port at which nobody listens, and within the block nobody else can."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield int(sock.getsockname()[1])


class TestProblems:
    """Each is a sentence that says what to do, and comes within the time limit."""

    def problem(self, where: Any, timeout: float = LIMIT_SECONDS) -> str:
        with pytest.raises(ClusterError) as caught:
            spanwise.attach(where, timeout=timeout)
        return str(caught.value)

    def test_nobody_listens(self) -> None:
        with deaf_port() as port:
            said = self.problem(f"tcp://127.0.0.1:{port}")
        assert said.startswith(f"Nobody listens at tcp://127.0.0.1:{port}")

    @pytest.mark.parametrize("address", ["", "nonsense://1", "tcp://127.0.0.1:x"])
    def test_no_address(self, address: str) -> None:
        assert "give one like tcp://127.0.0.1:8786" in self.problem(address)

    def test_no_answer(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            said = self.problem(f"tcp://127.0.0.1:{silent.getsockname()[1]}", timeout=2.0)
        assert "did not answer in time" in said

    def test_no_certificates(self, cluster: DaskProcesses) -> None:
        said = self.problem(cluster.address.replace("tcp", "tls"))
        assert "for which certificates are needed" in said

    def test_a_worker(self, client: distributed.Client) -> None:
        worker = next(iter(client.nthreads()))
        assert "is not a Dask scheduler but a Worker" in self.problem(worker)

    def test_too_old(self, cluster: DaskProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ship, "OLDEST", (9999, 1, 0))
        assert "is older than 9999.1.0" in self.problem(cluster.address)

    def test_no_cluster(self) -> None:
        assert "not int" in self.problem(7)


@contextmanager
def stands_still(cluster: DaskProcesses, attached: AttachedCluster) -> Iterator[None]:
    """Within the block the scheduler answers nobody, and the viewer has said so."""
    watching, seconds = attached._viewer, attached._viewer._seconds
    cluster.scheduler.send_signal(signal.SIGSTOP)
    try:
        # (of one that runs, an answer may take as long as it likes)
        watching._seconds = 0.5
        until(lambda: attached.status == "reconnecting", "it is said")
        yield
    finally:
        watching._seconds = seconds
        cluster.scheduler.send_signal(signal.SIGCONT)
    until(lambda: attached.status == "watching", "it is watched again")


def test_a_scheduler_that_stands_still_is_watched_again(
    cluster: DaskProcesses, client: distributed.Client, tmp_path: Path
) -> None:
    with spanwise.attach(client) as attached:
        begun, go, ended = [tmp_path / name for name in ("begun", "go", "ended")]
        futures = [client.submit(rest_between, begun, go, ended, pure=False)]
        try:
            until(begun.exists, "a worker runs it")
            with stands_still(cluster, attached):
                assert "did not answer in time" in attached.problem
                go.touch()
                until(ended.exists, "it ends meanwhile")
        finally:
            go.touch()
        futures += [client.submit(part, 2, pure=False)]
        client.gather(futures)
        # (what had ended meanwhile, workers have told after it)
        told = {each["key"] for each in attached.get_task_stream()}
        assert {each.key for each in futures} <= told


def test_a_block_ends_while_the_scheduler_stands_still(
    cluster: DaskProcesses, client: distributed.Client
) -> None:
    """It has what was there before."""
    lacking = "What came after that is missing in the block's figures."
    with spanwise.attach(client) as attached, ExitStack() as still:
        with (
            pytest.warns(RuntimeWarning, match=re.escape(lacking)) as warned,
            spanwise.get_task_stream(attached) as stream,
        ):
            before = client.submit(part, 1, pure=False)
            before.result()
            assert before.key in {each["key"] for each in attached.get_task_stream()}
            still.enter_context(stands_still(cluster, attached))
        assert any("has not answered since" in str(each.message) for each in warned)
        assert [each["key"] for each in stream.data] == [before.key]
        assert attached.status == "reconnecting"


def test_a_scheduler_that_is_started_again_is_another_cluster(
    tmp_path: Path, lasting_port: int
) -> None:
    processes = DaskProcesses(tmp_path, workers=1, port=lasting_port)
    try:
        with spanwise.attach(processes.address, timeout=LIMIT_SECONDS) as attached:
            first = attached.cluster_id
            processes.scheduler.kill()
            processes.scheduler.wait(LIMIT_SECONDS)
            until(lambda: attached.status == "reconnecting", "it is said")
            processes.start_scheduler(lasting_port)
            until(lambda: attached.cluster_id != first, "the new one is watched")
            processes.start_worker()
            with distributed.Client(processes.address, set_as_default=False) as client:
                future = client.submit(part, 1, pure=False)
                assert future.result(timeout=LIMIT_SECONDS) == part(1)
                keys = [each["key"] for each in attached.get_task_stream()]
            assert keys == [future.key]
    finally:
        processes.close()


def test_a_scheduler_that_takes_no_plugins_is_watched_in_part(tmp_path: Path) -> None:
    processes = DaskProcesses(
        tmp_path,
        config={"DASK_DISTRIBUTED__SCHEDULER__BLOCKED_HANDLERS": "['register_scheduler_plugin']"},
    )
    try:
        with distributed.Client(processes.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=LIMIT_SECONDS)
            with (
                pytest.warns(RuntimeWarning, match="takes no plugins"),
                spanwise.attach(processes.address, timeout=LIMIT_SECONDS) as attached,
            ):
                client.gather(client.map(part, range(10), key="seen"))
                theirs = {each["key"]: each for each in client.get_task_stream()}
                ours = {each["key"]: each for each in attached.get_task_stream()}
                assert ours.keys() == theirs.keys()
                missing(
                    attached,
                    r"Not known here: spans, tasks that run, .*, clients.* \(the scheduler takes "
                    r"no plugins: its distributed\.scheduler\.blocked-handlers has ",
                )
                (default,) = attached.spans()
                # (what is in no span may be in any)
                assert (default.tasks, default.inferred, default.exact) == (10, 10, 0)
                for key, our in ours.items():
                    their = theirs[key]
                    assert (our["worker"], our["thread"]) == (their["worker"], their["thread"])
                    assert (our["name"], our["nbytes"]) == ("seen", their["nbytes"])
    finally:
        processes.close()


def test_a_plugin_that_is_shipped_again_tells_nothing_twice(client: distributed.Client) -> None:
    client.get_task_stream()  # (Dask notes them, and what it has noted is the new one's history)

    def end(dask_scheduler: Any) -> None:
        dask_scheduler.plugins[NAME].leave()

    with spanwise.attach(client) as attached:
        before = client.map(part, range(5), key="before", pure=False)
        client.gather(before)
        assert {each.key for each in before} <= {each["key"] for each in attached.get_task_stream()}
        client.run_on_scheduler(end)
        between = client.map(part, range(5), key="between", pure=False)
        client.gather(between)
        after = client.submit(part, 1, key="after", pure=False)
        after.result()
        counted = Counter(each["key"] for each in attached.get_task_stream())
    ours = {key: counted[key] for key in (each.key for each in (*before, *between, after))}
    assert set(ours.values()) == {1} and len(ours) == 11


# -- without a cluster ----------------------------------------------------

_CHANCE = random.Random("columns")
_WORDS = ["", "a", "b", "compute", "transfer", "default", "ä", "\0", "\n", "<b>", "\U0001f600"]


def _text() -> str:
    return "".join(chr(_CHANCE.choice([97, 45, _CHANCE.randrange(0xD800)])) for _ in range(6))


#: Of each kind 256 values, many of them extreme: a byte that is drawn names one. To draw the values
#: themselves takes ten seconds.
_VALUES: dict[str, list[Any]] = {
    "int": [
        *(sign * n for sign in (1, -1) for n in (0, 1, 2, 3, 9, 255, 2**16, 2**31, 2**32, 2**62)),
        *(_CHANCE.randrange(-(2 ** _CHANCE.randrange(63)), 2**62) for _ in range(236)),
    ],
    "float": [
        *(sign * x for sign in (1.0, -1.0) for x in (0.0, 1e-308, 0.5, 1.0, 1e9, 2e9, 1e18, 1e308)),
        *(_CHANCE.uniform(-1, 1) * 10.0 ** _CHANCE.randrange(-20, 308) for _ in range(240)),
    ],
    "text": [None] * 64 + 8 * _WORDS + [_text() for _ in range(104)],
    "needed text": 8 * _WORDS + [_text() for _ in range(168)],
}


@st.composite
def columns(draw: st.DrawFn, described: dict[str, str]) -> dict[str, list[Any]]:
    count = draw(st.integers(0, 4))
    places = st.binary(min_size=count, max_size=count)
    return {
        name: [_VALUES[kind][place] for place in draw(places)] for name, kind in described.items()
    }


@st.composite
def answers(draw: st.DrawFn) -> Pulled:
    """An answer as a scheduler may give that says whatever it likes."""
    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    times = {"now": 2e9, "attached": 1e9, "started": 1e9}
    pulled = Pulled(**head, **times, viewers=1, lost=draw(st.integers(0, 3)))  # type: ignore[arg-type]
    for kind, described in ROWS.items():
        if kind not in ("parts", "submitted") and draw(st.booleans()):
            pulled.rows[kind] = draw(columns(described))
    for owner, owned, count in (("done", "parts", "parts"), ("graphs", "submitted", "tasks")):
        if owner in pulled.rows:
            rows = len(pulled.rows[owner][count])
            counts = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
            pulled.rows[owner] = {**pulled.rows[owner], count: counts}
            total = sum(counts)
            pulled.rows[owned] = {
                name: [
                    _VALUES[kind][place]
                    for place in draw(st.binary(min_size=total, max_size=total))
                ]
                for name, kind in ROWS[owned].items()
            }
    for section, described in STATES.items():
        if draw(st.booleans()):
            pulled.states[section] = draw(columns(described))
    return pulled


@settings(max_examples=150, deadline=None)
@given(st.lists(answers(), min_size=1, max_size=3))
def test_whatever_a_scheduler_says_becomes_a_log(told: list[Pulled]) -> None:
    blocks: list[bytes] = []
    log = DaskLog("odd", told[0], lambda block, _: blocks.append(block.data))
    for pulled in told:
        log.write(pulled)
        log.seal()
    for block in blocks:
        decode_block(block)


@given(
    threads=st.integers(1, 4),
    runs=st.lists(st.tuples(st.integers(0, 9), st.floats(0.01, 1)), max_size=60),
)
def test_a_lane_is_one_thread_at_a_time(threads: int, runs: list[tuple[int, float]]) -> None:
    """Runs of a pool whose threads are replaced: no two overlap on a lane."""
    places = ThreadPlaces()
    places.threads = threads
    free = [0.0] * threads
    generation = [0] * threads
    taken: dict[int, list[tuple[float, float]]] = {}
    for chance, seconds in runs:
        at = min(range(threads), key=free.__getitem__)
        if chance == 0:
            generation[at] += 1  # (this thread has ended; another takes its place)
        start, stop = free[at], free[at] + seconds
        free[at] = stop
        found = places.of(100 * at + generation[at], start, stop)
        assert found is not None
        place, _ = found
        assert all(stop <= a or start >= b for a, b in taken.get(place, []))
        taken.setdefault(place, []).append((start, stop))
    assert len(taken) <= threads


def test_clients_come_and_go() -> None:
    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    pulled = Pulled(**head, now=1e9 + 9, attached=1e9, started=1e9, viewers=1)  # type: ignore[arg-type]
    blocks: list[Any] = []
    log = DaskLog("clients", pulled, lambda block, _: blocks.append(block))
    pulled.states["clients"] = {"client": ["there"], "joined": [1], "seen": [1e9]}
    pulled.rows["client"] = {
        **{"n": [0, 1, 2], "t": [1e9 + 1, 1e9 + 2, 1e9 + 3]},
        **{"client": ["new", "there", "unknown"], "joined": [1, 0, 0]},
    }
    log.write(pulled)
    pulled.rows.clear()
    pulled.states["clients"] = {"client": ["new"], "joined": [1], "seen": [1e9 + 8]}
    log.write(pulled)
    log.seal()
    rows = []
    for sealed in blocks:
        block = decode_block(sealed.data)
        if block.table.name == "clients":
            columns = map(block.column, ("client", "joined", "left", "name"))
            rows += [*zip(*columns, strict=True)]
    assert [(*row[:2], None if isnan(row[2]) else row[2], row[3]) for row in rows] == [
        (1, 0.0, None, "there"),
        (2, 1.0, None, "new"),
        (1, 0.0, 2.0, "there"),
    ]


def test_a_worker_that_came_and_went_between_looks_has_gone() -> None:
    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    pulled = Pulled(**head, now=1e9 + 9, attached=1e9, started=1e9, viewers=1)  # type: ignore[arg-type]
    run = {
        "n": 0,
        "t": 1e9 + 2,
        "key": "k",
        "group": "k",
        "prefix": "k",
        "span": None,
        "text": None,
    }
    run |= {"worker": "w", "thread": 7, "erred": 0, "nbytes": 1, "type": None, "given": 1e9 + 1}
    compute = {"action": "compute", "start": 1e9 + 1, "stop": 1e9 + 2, "source": None}
    left = {"n": 1, "t": 1e9 + 3, "worker": "w", "expected": -1}
    for kind, row in (("done", run | {"parts": 1}), ("parts", compute), ("left", left)):
        pulled.rows[kind] = {name: [value] for name, value in row.items()}
    blocks: list[Any] = []
    log = DaskLog("workers", pulled, lambda block, _: blocks.append(block))
    log.write(pulled)
    assert log.present() == []
    log.seal()
    decoded = [decode_block(each.data) for each in blocks]
    lefts = [
        each for block in decoded if block.table.name == "workers" for each in block.column("left")
    ]
    assert isnan(lefts[0]) and lefts[1:] == [3.0]


@pytest.mark.parametrize(
    ("told", "threads"),
    [
        pytest.param(4, 4, id="told when it came"),
        pytest.param(-1, 2, id="not told: as many as ran at a time"),
    ],
)
def test_a_worker_that_came_and_went_between_looks_had_its_threads(told: int, threads: int) -> None:
    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    pulled = Pulled(**head, now=1e9 + 9, attached=1e9, started=1e9, viewers=1)  # type: ignore[arg-type]
    # Threads 7 and 8 run one task each at the same time, then 7 another one.
    runs = [(7, 1.0, 3.0), (8, 2.0, 4.0), (7, 3.0, 5.0)]
    count = len(runs)
    pulled.rows["done"] = {
        **{name: [None] * count for name in ("span", "text", "type")},
        **{name: ["k"] * count for name in ("group", "prefix")},
        "n": [1, 2, 3],
        "t": [1e9 + stop for _, _, stop in runs],
        "key": ["a", "b", "c"],
        "worker": ["w"] * count,
        "thread": [thread for thread, _, _ in runs],
        "erred": [0] * count,
        "nbytes": [1] * count,
        "given": [1e9 + start for _, start, _ in runs],
        "parts": [1] * count,
    }
    pulled.rows["parts"] = {
        "action": ["compute"] * count,
        "start": [1e9 + start for _, start, _ in runs],
        "stop": [1e9 + stop for _, _, stop in runs],
        "source": [None] * count,
    }
    pulled.rows["joined"] = {"n": [0], "t": [1e9 + 0.5], "worker": ["w"], "threads": [told]}
    pulled.rows["left"] = {"n": [4], "t": [1e9 + 6], "worker": ["w"], "expected": [1]}
    blocks: list[Any] = []
    log = DaskLog("workers", pulled, lambda block, _: blocks.append(block))
    log.write(pulled)
    log.seal()
    tables: dict[str, list[Any]] = {}
    for block in (decode_block(each.data) for each in blocks):
        names = ("t", "worker", "threads") if block.table.name == "capacity" else ()
        if block.table.name == "workers":
            names = ("threads", "joined", "left")
        if names:
            columns = (block.column(name) for name in names)
            tables.setdefault(block.table.name, []).extend(zip(*columns, strict=True))
    assert tables["workers"][-1] == (threads, 0.5, 6.0)
    # It could run so many while it was there.
    assert [row for row in tables["capacity"] if row[2] > 0] == [(0.5, 0, threads)]
    assert log.present() == []
