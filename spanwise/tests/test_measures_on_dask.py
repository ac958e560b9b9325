"""What a program asks beside a Dask client: Spanwise's answers, equal to Dask's own figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import distributed
import distributed.diagnostics
import pytest

import spanwise
from spanwise import MemorySampler
from spanwise.client.current import default_client
from spanwise.client.report_parts import _OfDask
from spanwise.dask_bridge import viewer
from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.observed.page_file import Page
from spanwise.observed.profiles import Profile
from spanwise.observed.questions import FineMetrics
from spanwise.records.enumerations import MEMORY_MEASURES
from spanwise.tests.dask_threads import dask_threads
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_attach import until
from spanwise.tests.test_report import TITLES, read, values


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with dask_threads() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: distributed.LocalCluster) -> Iterator[Any]:
    """One for all tests: each watch has an observer of its own."""
    with spanwise.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def theirs(cluster: distributed.LocalCluster) -> Iterator[distributed.Client]:
    """Dask's own client, to ask for its own figures."""
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


def part(number: int) -> bytes:
    return bytes(1000 * (1 + number % 7))


def joined(*parts: bytes) -> int:
    return sum(map(len, parts))


def spin(seconds: float) -> float:
    import time

    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return seconds


def away(operation: str, **fields: Any) -> Any:
    raise spanwise.ClusterError("It is away.")


def compute_something(client: Any) -> set[str]:
    """Tasks of a span on both workers, whose inputs travel; returns their keys."""
    workers = sorted(client.nthreads())
    with spanwise.span("load"):
        parts = [
            client.submit(part, number, workers=workers[number % 2], pure=False)
            for number in range(16)
        ]
        sums = [client.submit(joined, *parts[at : at + 4], pure=False) for at in range(0, 16, 4)]
    assert sum(client.gather(sums)) == sum(len(part(number)) for number in range(16))
    return {each.key for each in (*parts, *sums)}


def parts_of(record: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return sorted((each["action"], each["start"], each["stop"]) for each in record["startstops"])


def assert_same_records(ours: Any, theirs: Any) -> None:
    by_key = {each["key"]: each for each in theirs}
    assert {each["key"] for each in ours} == by_key.keys() and len(ours) == len(by_key) > 0
    for our in ours:
        their = by_key[our["key"]]
        assert (our["worker"], our["thread"]) == (their["worker"], their["thread"])
        assert our["nbytes"] == their["nbytes"]
        for (action, *own), (same, *of_dask) in zip(parts_of(our), parts_of(their), strict=True):
            assert action == same and own == pytest.approx(of_dask, abs=1e-5)


class TestTaskStream:
    def test_a_block_has_the_records_that_dask_has(
        self, client: Any, theirs: distributed.Client, tmp_path: Path
    ) -> None:
        theirs.get_task_stream()  # (from now on Dask notes them, too)
        client.submit(part, 1, key="before", pure=False).result()
        file = tmp_path / "stream.html"
        with (
            distributed.get_task_stream(client=theirs) as of_dask,
            spanwise.get_task_stream(plot="save", filename=file) as stream,
        ):
            compute_something(client)
        after = client.submit(part, 1, key="after", pure=False)
        after.result()
        assert len(stream.data) == 20
        assert_same_records(stream.data, of_dask.data)
        assert isinstance(stream.figure, Page) and "Task Stream" in read(file)
        with stream:
            client.submit(part, 2, key="again", pure=False).result()
        assert [each["key"] for each in stream.data[20:]] == ["again"]
        # The function, of all; and its picture.
        records, page = client.get_task_stream(plot=True)
        assert {"before", "after", "again"} <= {each["key"] for each in records}
        assert isinstance(page, Page)
        with spanwise.get_task_metadata() as tasks:
            client.submit(part, 3, key="told", pure=False).result()
        assert tasks.state == {"told": "memory"}


class TestMemorySampler:
    def test_samples_are_those_that_dask_takes(
        self, client: Any, theirs: distributed.Client
    ) -> None:
        kept = client.scatter({"kept": bytes(30_000_000)})

        def managed(dask_scheduler: Any) -> int:
            return int(dask_scheduler.memory.managed)

        def least(dask_scheduler: Any) -> int:
            return min(map(len, dask_scheduler.extensions["memory_sampler"].samples.values()))

        size = theirs.run_on_scheduler(lambda dask_scheduler: dask_scheduler.tasks["kept"].nbytes)
        until(lambda: theirs.run_on_scheduler(managed) == size, "workers tell what they hold")
        ours, of_dask = MemorySampler(), distributed.diagnostics.MemorySampler()
        for measure in ("managed", "managed_total", "spilled"):
            with (
                of_dask.sample(measure, client=theirs, measure=measure, interval=0.02),
                ours.sample(measure, measure=measure, interval=0.02),
            ):
                until(lambda: theirs.run_on_scheduler(least) > 2, "each has taken some")
            expected = {"spilled": 0}.get(measure, size)
            assert {nbytes for _, nbytes in of_dask.samples[measure]} == {expected}
            assert {nbytes for _, nbytes in ours.samples[measure]} == {expected}
            # Each lies within the other's block.
            times = [t for t, _ in ours.samples[measure]]
            assert times == sorted(times) and len(times) > 2
            assert of_dask.samples[measure][0][0] <= times[0]
        assert list(ours.to_pandas().columns) == ["managed", "managed_total", "spilled"]
        assert kept is not None

    def test_each_measure_and_the_panel(self, client: Any) -> None:
        sampler = MemorySampler()
        for measure in MEMORY_MEASURES:
            with sampler.sample(f"of {measure}", measure=measure, interval=3600):
                sleep(0.01)
            # The first at the begin, the last at the end.
            assert len(sampler.samples[f"of {measure}"]) == 2
        assert all(nbytes > 0 for _, nbytes in sampler.samples["of process"])
        params = {"measure": "process", "show": "cluster"}
        answer = client.attached._asked().query("memory", params=params)
        runs = {run["label"]: run for run in answer["runs"]}
        for measure in MEMORY_MEASURES:
            run, curve = runs[f"of {measure}"], sampler.samples[f"of {measure}"]
            assert (run["measure"], run["samples"], run["stopped"] is None) == (measure, 2, False)
            assert (run["first"], run["last"]) == (curve[0][1], curve[1][1])

    def test_a_curve_that_is_lost_is_a_note_of_the_users_error(
        self, client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sampler = MemorySampler()
        with pytest.raises(KeyError) as caught, sampler.sample("lost"):
            monkeypatch.setattr(client.attached._viewer, "ask", away)
            raise KeyError("mine")
        monkeypatch.undo()
        assert "'lost' are lost: It is away." in caught.value.__notes__[-1]

    def test_without_the_sample_at_the_end_the_others_are_kept(
        self, client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask = client.attached._viewer.ask

        def begins_none(operation: str, **fields: Any) -> Any:
            return (away if operation == "memory_sampler_start" else ask)(operation, **fields)

        sampler = MemorySampler()
        with sampler.sample("kept", interval=3600):
            monkeypatch.setattr(client.attached._viewer, "ask", begins_none)
        ((_, nbytes),) = sampler.samples["kept"]
        assert nbytes > 0


class TestReport:
    def test_every_figure_is_that_of_the_api_and_of_dask(
        self,
        client: Any,
        theirs: distributed.Client,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # (workers may take so long to tell their sums on a slow machine)
        monkeypatch.setattr(viewer, "_HEARTBEATS_SECONDS", LIMIT_SECONDS)
        theirs.get_task_stream()  # (from now on Dask notes them, too)
        client.submit(part, 1, key="before", pure=False).result()
        sampler = MemorySampler()
        file = tmp_path / "report.html"
        with spanwise.performance_report(file) as report:
            with sampler.sample("sampled", interval=0.05):
                spun = client.map(spin, [0.2, 0.21], pure=False)
                client.gather(spun)
            keys = compute_something(client) | {each.key for each in spun}
        client.submit(part, 1, key="after", pure=False).result()
        start, stop = report.start, report.stop
        assert start is not None and stop is not None
        sections = read(file)
        assert list(sections) == TITLES
        # Tasks, as Dask has noted them.
        records = client.get_task_stream(start, stop)
        noted = [each for each in theirs.get_task_stream() if each["key"] in keys]
        assert_same_records(records, noted)
        assert sections["Task Stream"]["records"]["key"] == [each["key"] for each in records]
        facts = dict(values(sections["Summary"]))
        assert facts["Task runs"] == len(records) == 22
        assert (facts["Failed task runs"], facts["Lost task runs"]) == (0, None)
        assert (facts["Workers"], facts["Threads"]) == (2, 4)
        assert facts["distributed version"] == distributed.__version__
        assert facts["Duration"] == stop - start
        for action in ("compute", "transfer"):
            total = sum(
                each["stop"] - each["start"]
                for record in noted
                for each in record["startstops"]
                if each["action"] == action
            )
            assert total > 0 and facts[action] == pytest.approx(total, abs=1e-4)
        limits = theirs.run_on_scheduler(
            lambda dask_scheduler: [each.memory_limit for each in dask_scheduler.workers.values()]
        )
        assert facts["Memory limit"] == sum(limits)
        # Where the time went; spans.
        metrics = client.fine_metrics(start=start)
        by_function = sections["Fine Performance Metrics by function"]
        assert "until" in by_function["note"] and "after its end" in by_function["note"]
        functions = dict(values(by_function))
        assert functions["spin"] == pytest.approx(
            sum(v for k, v in metrics.items() if k[:2] == ("execute", "spin") and k[3] == "seconds")
        )
        # (to which cause the last gap of a thread belongs, the task after the block tells)
        metrics = client.fine_metrics(start=start, stop=stop)
        idle = [value for key, value in metrics.items() if key[0] == "idle"]
        causes = dict(values(sections["Idle time by cause"]))
        assert sum(causes.values()) == pytest.approx(sum(idle))
        assert "cause is unknown" in sections["Idle time by cause"]["note"]
        spans = {row[0]: row for row in values(sections["Spans"])}
        assert spans["load"][1] == 20
        # Profiles.
        profile = Profile(sections["Workers’ profile"]["result"]).tree()
        assert profile == client.profile(start=start, stop=stop)
        assert "spin" in {each["description"]["name"] for each in below(profile)}
        for title, which in (("Workers’ own", "server"), ("Scheduler’s", "scheduler")):
            section = sections[f"{title} profile"]
            tree = Profile(section["result"]).tree()
            their = theirs.profile(start=start, stop=stop, **{which: True})
            assert tree["count"] == their["count"]
            assert tree["children"].keys() == {
                each["description"]["name"] + f";{_file_and_line(each)}"
                for each in their["children"].values()
            }
            assert section["missing"] or "event loops" in section["note"]
        # Of the cluster.
        told = client.bandwidth()
        assert {row[:3] for row in values(sections["Bandwidth by workers"])} == {
            (each["source"], each["destination"], each["bandwidth"]) for each in told["workers"]
        }
        assert dict(values(sections["Bandwidth by types"])) == told["types"]
        (run,) = values(sections["Memory runs"])
        curve = [nbytes for _, nbytes in sampler.samples["sampled"]]
        assert run[:3] == ("sampled", "process", len(curve)) and run[3] == curve[0]
        assert len(values(sections["Memory"])) == 3
        workers = theirs.nthreads()
        assert {cell["value"] for cell in sections["System"]["lines"]} == {"scheduler", *workers}
        assert set(client.system_monitor(start, stop)) == {"scheduler", *workers}
        lines = {line for _, line in theirs.get_scheduler_logs()}
        shown = sections["Scheduler’s log"]["text"].split("\n")
        assert shown != [""] and set("\n".join(lines).split("\n")) >= set(shown)

    def test_an_empty_block_and_a_scheduler_that_refuses_are_said(
        self, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask = client.attached._viewer.ask

        def refused(operation: str, **fields: Any) -> Any:
            if operation == "logs":
                operation, fields = "memory_sampler_stop", {"key": "none"}
            return ask("no_such" if operation == "worker_logs" else operation, **fields)

        monkeypatch.setattr(client.attached._viewer, "ask", refused)
        with spanwise.performance_report(tmp_path / "report.html"):
            pass
        sections = read(tmp_path / "report.html")
        assert dict(values(sections["Summary"]))["Task runs"] == 0
        for title in ("Task Stream", "Spans", "Workers’ profile", "Memory runs"):
            assert sections[title]["missing"], title
        missing = sections["Scheduler’s log"]["missing"]
        assert missing.startswith("the cluster has not answered (The scheduler at")
        assert "does not do 'memory_sampler_stop'" in missing
        assert "has told no logs" in sections["Workers’ logs"]["missing"]

    def test_sums_are_waited_for_until_workers_have_told_those_of_the_block(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told_until = [10.7, 10.7, None]

        def flush_sums() -> float | None:
            return told_until.pop(0)

        def fine_metrics(start: float, stop: float) -> FineMetrics:
            ran = {("idle", "N/A", "unknown", "seconds"): stop - start}
            ran |= {("background", "f", "transfer", "seconds"): (stop - start) / 2}
            told = {("execute", "f", "thread-cpu", "seconds"): 2.0} if stop > 10.5 else {}
            return FineMetrics(ran | told, {"notes": ["mine"], "byFunction": [stop]})

        asked = SimpleNamespace(fine_metrics=fine_metrics)
        silent = [0, 1, 2]
        log = SimpleNamespace(has_task_sums=True, silent_since=lambda t: t < 10.0 or silent.pop(0))
        watching = SimpleNamespace(flush_sums=flush_sums, log=log, status="watching")
        parts = _OfDask.__new__(_OfDask)
        monkeypatch.setattr(parts, "_viewer", watching, raising=False)
        monkeypatch.setattr(parts, "_asked", asked, raising=False)
        metrics = parts.metrics(4.0, 10.0)
        # What is by the runs of tasks is of the block alone.
        assert dict(metrics) == {
            ("execute", "f", "thread-cpu", "seconds"): 2.0,
            ("idle", "N/A", "unknown", "seconds"): 6.0,
            ("background", "f", "transfer", "seconds"): 3.0,
        }
        assert metrics.notes[0] == "mine" and metrics.notes[1].endswith("0.7 s after its end.")
        assert metrics.summary["byFunction"] == [10.7]
        assert parts.metrics(4.0, 10.0).notes[1].endswith("in the block.")
        # While none but silent workers are waited for, others may compute: that is not the block's.
        assert dict(parts.metrics(4.0, 10.0)) == dict(fine_metrics(4.0, 10.0))
        # Of a cluster that nobody watches any more, and of one that tells none.
        watching.status = "closed"
        assert dict(parts.metrics(4.0, 10.0)) == dict(fine_metrics(4.0, 10.0))
        watching.status, log.has_task_sums = "watching", False
        assert dict(parts.metrics(4.0, 10.0)) == dict(fine_metrics(4.0, 10.0))


def _file_and_line(node: Mapping[str, Any]) -> str:
    return f"{node['description']['filename']};{node['identifier'].rpartition(';')[2]}"


def below(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for child in node["children"].values():
        yield child
        yield from below(child)


class TestProfile:
    def test_by_worker_and_as_a_file(self, client: Any, tmp_path: Path) -> None:
        worker = sorted(client.nthreads())[0]
        began = client.attached._asked().log.wall_now()
        client.submit(spin, 0.3, workers=worker, pure=False).result()
        trees, page = client.profile(
            start=began, merge_workers=False, filename=tmp_path / "profile.html"
        )
        assert trees.keys() == set(client.nthreads())
        assert "spin" in {each["description"]["name"] for each in below(trees[worker])}
        assert isinstance(page, Page) and "Functions of tasks" in read(tmp_path / "profile.html")
        one = client.profile("spin", start=began, workers=worker)
        assert one["count"] == trees[worker]["count"] > 0

    def test_event_loops_have_neither_keys_nor_spans(self, client: Any) -> None:
        with pytest.raises(ValueError, match="are of tasks"):
            client.profile("spin", server=True)
        with pytest.raises(ValueError, match="are of tasks"):
            client.profile(workers="one", scheduler=True)


def test_bandwidths_of_a_time_are_not_kept_by_dask(client: Any) -> None:
    with pytest.raises(spanwise.ClusterError, match="keeps none of a time"):
        client.bandwidth(1.0, 2.0)
    assert client.bandwidth()["total"] > 0


class TestFutures:
    """Functions of futures take those of Dask."""

    def test_progress_is_dasks_own(self, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        futures = client.map(spin, [0.01] * 4, pure=False)
        own, asked = distributed.progress, []

        def progress(*given: Any, **options: Any) -> Any:
            asked.append((given, options))
            return own(*given, **options)

        monkeypatch.setattr(distributed, "progress", progress)
        assert spanwise.progress(futures, notebook=False, width=10, interval="20ms") is None
        ((given, options),) = asked
        assert given == (futures,) and (options["width"], options["interval"]) == (10, "20ms")
        until(lambda: {each.status for each in futures} == {"finished"}, "all have ended")

    def test_waiting(self, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        futures = client.map(spin, [0.05] * 4, pure=False)
        assert isinstance(spanwise.wait(futures, timeout=LIMIT_SECONDS).done, set)
        assert {each.status for each in futures} == {"finished"}
        named = {each.key: each for each in client.map(spin, [0.05] * 4, pure=False)}
        assert spanwise.wait(named.values()).done == {*named.values()}
        more = client.map(spin, [0.05] * 4, pure=False)
        assert spanwise.wait(each for each in more).done == {*more}
        more = client.map(spin, [0.05] * 4, pure=False)
        found = [each.result() for each in spanwise.as_completed(more)]
        assert found == [0.05] * 4
        assert {*spanwise.as_completed(named.values())} == {*named.values()}
        assert {*spanwise.as_completed(each for each in more)} == {*more}
        assert spanwise.futures_of({"deep": [more]}) == more
        spanwise.fire_and_forget(client.submit(spin, 0.01, pure=False))
        forgotten: list[Any] = []
        monkeypatch.setattr(distributed, "fire_and_forget", forgotten.append)
        spanwise.fire_and_forget(named.values())
        assert forgotten == [[*named.values()]]

    def test_the_current_client_is_dasks(self, client: Any) -> None:
        assert spanwise.default_client() is client is spanwise.get_client()
        assert default_client(client) is client
        assert spanwise.get_client(client.scheduler.address) is client
        with pytest.raises(ValueError, match="The current client is of tcp://"):
            spanwise.get_client("tcp://127.0.0.1:1")
        with pytest.raises(RuntimeError, match=r"Use distributed\.Lock"):
            spanwise.Lock("mine").acquire()


def test_drawn_memory_runs_are_in_the_log() -> None:
    """Rows of two curves that overlap; the first begins before and ends after the second."""
    from spanwise.dask_bridge.pulled import Pulled
    from spanwise.records.block import decode_block

    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    pulled = Pulled(**head, now=1e9 + 9, attached=1e9, started=1e9, viewers=1)  # type: ignore[arg-type]
    blocks: list[Any] = []
    log = DaskLog("memory", pulled, lambda block, _: blocks.append(block))
    one = log.begin_memory_run("one", "process", 0.5, 1e9 + 1)
    two = log.begin_memory_run("two", "managed", 0.5, 1e9 + 2)
    log.end_memory_run(two, 1e9 + 3, [(1e9 + 2, 7), (1e9 + 3, 8)])
    log.end_memory_run(one, 1e9 + 4, [(1e9 + 1, 5)])
    log.seal()
    rows: dict[str, list[Any]] = {"memoryRuns": [], "memorySamples": []}
    for sealed in blocks:
        block = decode_block(sealed.data)
        if block.table.name == "memoryRuns":
            columns = map(block.column, ("label", "start", "stopped"))
            rows["memoryRuns"] += [*zip(*columns, strict=True)]
        elif block.table.name == "memorySamples":
            columns = map(block.column, ("run", "t", "bytes"))
            rows["memorySamples"] += [*zip(*columns, strict=True)]
    assert [row[:2] for row in rows["memoryRuns"]] == [
        *(("one", 1.0), ("two", 2.0)),
        *(("two", 2.0), ("one", 1.0)),
    ]
    assert [row[2] for row in rows["memoryRuns"][2:]] == [3.0, 4.0]
    assert rows["memorySamples"] == [(two, 2.0, 7.0), (two, 3.0, 8.0), (one, 1.0, 5.0)]
