"""Each code example of the texts, word for word but for the import, gives what its text says.

D: Diagnosing Performance. L: diagnostics of local schedulers. F: Fine Performance Metrics and
Spans. A row that waits for what is not built is expected to fail, by the error that it fails
with: who builds it takes the mark away.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
from collections.abc import Callable, Iterator
from operator import add, mul
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import matplotlib
import numpy as np
import psutil
import pytest
from dask.callbacks import Callback

import spanwise
from spanwise import Client, LocalCluster, MemorySampler, get_task_stream, span
from spanwise.tests.marks import now_of
from spanwise.tests.test_report import sections_of
from spanwise.tests.text_snippets import (
    FINE,
    LOCAL,
    LOCAL_NEWER,
    PERFORMANCE,
    PERFORMANCE_NEWER,
    output,
    program,
    run,
    run_async,
    shape_of,
    signature_of,
    snippet,
)

MIB = 2**20
#: Of rows that both versions of a text have.
AGES = ["old", "newer"]
#: Of spanwise/tests/texts: a snippet stays as its text has it.
TEXTS = {
    PERFORMANCE: "1fbe89b020928b94",
    PERFORMANCE_NEWER: "9cc0fde500679c8e",
    LOCAL: "26c282c04070c0a6",
    LOCAL_NEWER: "fcfbeedc5361a2d8",
    FINE: "9758fb935714b2b9",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.fixture
def names(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[dict[str, Any]]:
    """The names that a snippet finds.

    `Client` is a client of the tests' cluster; it takes no notice of ``...``, with which the
    texts leave something out. Files are written to a folder of the test.
    """
    made: list[Client] = []

    def make_client(*args: Any, **options: Any) -> Client:
        assert args in ((), (...,))
        made.append(Client(cluster, **options))
        return made[-1]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spanwise, "Client", make_client)
    matplotlib.use("Agg")
    before = set(Callback.active)
    ones = da.ones((100, 100), chunks=(50, 50))
    yield {
        "Client": make_client,
        "MemorySampler": MemorySampler,
        "collection1": ones + 1,
        "collection2": ones.sum(),
        "da": da,
        "span": span,
    }
    for client in made:
        if not client.asynchronous:
            client.close()
    Callback.active.clear()
    Callback.active.update(before)


@pytest.fixture
def client(names: dict[str, Any]) -> Client:
    """The client of snippets that begin with one."""
    names["client"] = names["Client"]()
    return names["client"]


def move_between_workers(client: Client) -> int:
    """Let each worker fetch an array from the other; returns the bytes of one."""
    there = list(client.nthreads())
    arrays = [client.submit(np.ones, MIB // 8 + i, workers=[at]) for i, at in enumerate(there)]
    moved = [
        client.submit(np.sum, array, workers=[at])
        for array, at in zip(arrays, reversed(there), strict=True)
    ]
    client.gather(moved)
    return MIB


@pytest.mark.parametrize("text", TEXTS)
def test_the_snippets_are_the_texts_own(text: str) -> None:
    kept = Path(__file__).with_name("texts") / f"{text}.txt"
    assert hashlib.sha256(kept.read_bytes()).hexdigest()[:16] == TEXTS[text]


# -- D: Diagnosing Performance ---------------------------------------------


@pytest.mark.parametrize(
    "text, first, last", [(PERFORMANCE, 70, 71), (PERFORMANCE_NEWER, 87, 88)], ids=AGES
)
def test_d1_d2_transfer_logs(
    client: Client, names: dict[str, Any], text: str, first: int, last: int
) -> None:
    begin = now_of(client)
    nbytes = move_between_workers(client)
    outgoing, incoming = run(program(snippet(text, first, last)), names)
    workers = set(client.nthreads())
    assert set(outgoing) == set(incoming) == workers
    for logs in (outgoing, incoming):
        for worker, log in logs.items():
            recent = [each for each in log if each["start"] >= begin]
            (moved,) = [each for each in recent if each["total"] >= nbytes]
            # "Total bytes", "Start/stop times", "Keys moved", "Peer"
            assert moved["total"] < 1.1 * nbytes
            assert moved["start"] <= moved["stop"]
            assert len(moved["keys"]) == 1
            assert moved["who"] in workers - {worker}
    # "Compressed bytes transferred"
    assert all("compressed" in each for log in outgoing.values() for each in log)


@pytest.mark.parametrize(
    "text, first, last, before",
    [
        (PERFORMANCE, 77, 80, "    ## some dask computation\n"),
        # The newer text has lost its indentation.
        (PERFORMANCE_NEWER, 97, 99, "## some dask computation\n"),
    ],
    ids=AGES,
)
def test_d3_performance_report(
    client: Client, names: dict[str, Any], text: str, first: int, last: int, before: str
) -> None:
    # A comment is no body.
    body = {before: f"    {before.strip()}\n    collection1.compute()\n"}
    begin = now_of(client)
    run(program(snippet(text, first, last), body), names)
    report = Path("dask-report.html").read_text("utf-8")
    assert report.lstrip().lower().startswith("<!doctype html>")
    sections = sections_of(report)
    # "Task stream", "Worker profiles", "Bandwidth"
    assert {"Task Stream", "Workers’ profile", "Bandwidth by workers"} <= set(sections)
    records = client.get_task_stream(start=begin)
    facts = {name["value"]: cell["value"] for name, cell in sections["Summary"]["rows"]}
    assert facts["Task runs"] == len(records) > 0
    assert facts["Workers"] == facts["Threads"] == 2
    computing = [
        part["stop"] - part["start"]
        for record in records
        for part in record["startstops"]
        if part["action"] == "compute"
    ]
    assert facts["compute"] == pytest.approx(sum(computing), rel=1e-12)
    assert len(sections["Task Stream"]["records"]["key"]) == len(records)


def is_curve_of(samples: list[tuple[float, int]]) -> bool:
    times = [t for t, _ in samples]
    return len(samples) >= 2 and times == sorted(times) and all(nbytes > 0 for _, nbytes in samples)


@pytest.mark.parametrize(
    "text, first, last, changed",
    [
        (
            PERFORMANCE,
            96,
            102,
            # The older text has lost the bodies, and the line that plots.
            {
                'with ms.sample("collection 1"):\n': 'with ms.sample("collection 1"):\n'
                "    collection1.compute()\n",
                'with ms.sample("collection 2"):\n': 'with ms.sample("collection 2"):\n'
                "    collection2.compute()\n...\nms.plot(align=True)\n",
            },
        ),
        (
            PERFORMANCE_NEWER,
            126,
            135,
            # The newer one has lost the indentation.
            {
                "\ncollection1.compute()": "\n    collection1.compute()",
                "\ncollection2.compute()": "\n    collection2.compute()",
            },
        ),
    ],
    ids=AGES,
)
def test_d4_memory_sampler(
    names: dict[str, Any], text: str, first: int, last: int, changed: dict[str, str]
) -> None:
    _, axes = run(program(snippet(text, first, last), changed), names)
    samples = names["ms"].samples
    assert list(samples) == ["collection 1", "collection 2"]
    assert all(is_curve_of(each) for each in samples.values())
    # Both begin at zero, side by side.
    assert [line.get_label() for line in axes.get_lines()] == list(samples)
    assert "GiB" in axes.get_ylabel()


def test_d5_memory_sampler_of_two_workflows(client: Client, names: dict[str, Any]) -> None:
    workflows = {
        "<run first workflow>": "collection1.compute()",
        "<run second workflow>": "collection2.compute()",
    }
    run(program(snippet(PERFORMANCE, 112, 118), workflows), names)
    samples = names["ms"].samples
    assert list(samples) == ["run 1", "run 2"]
    assert all(is_curve_of(each) for each in samples.values())


def test_d6_memory_sampler_of_an_asynchronous_client(names: dict[str, Any]) -> None:
    workflows = {
        "<run first workflow>": "await client.compute(collection1)",
        "<run second workflow>": "await client.compute(collection2)",
    }

    async def all_of_it() -> None:
        await run_async(program(snippet(PERFORMANCE, 122, 128), workflows), names)
        await names["client"].close()

    asyncio.run(all_of_it())
    samples = names["ms"].samples
    assert list(samples) == ["run 1", "run 2"]
    assert all(is_curve_of(each) for each in samples.values())


@pytest.mark.parametrize("line", [129, 141, 163])
def test_d7_signatures_of_the_memory_sampler(line: int) -> None:
    said = snippet(PERFORMANCE, line, line)
    ours = getattr(MemorySampler, said.partition("(")[0])
    assert shape_of(inspect.signature(ours)) == shape_of(signature_of(said))


def test_d8_profile_as_data_and_as_a_file(client: Client) -> None:
    client.submit(spin_seconds, 0.3).result()
    tree = client.profile()
    assert {"identifier", "description", "count", "children"} <= set(tree)
    assert tree["count"] > 0
    client.profile(filename="profile.html")
    assert "<html" in Path("profile.html").read_text("utf-8")


def test_d9_interval_of_the_profile_is_a_setting() -> None:
    with (
        dask.config.set({"distributed.worker.profile.interval": "50ms"}),
        Client(n_workers=1, threads_per_worker=1) as client,
    ):
        # (with the first one a worker imports this module)
        client.submit(spin_seconds, 0, key="first-0").result()
        began = client.submit(spin_seconds, 1.0).result()
        (record,) = [each for each in client.get_task_stream() if each["name"] == "spin_seconds"]
        held = sum(part["stop"] - part["start"] for part in record["startstops"])
        # A look each 50 ms.
        assert 0 < client.profile(key="spin_seconds", start=began)["count"] <= 1.1 * held / 0.05 + 2


def spin_seconds(seconds: float) -> float:
    """Compute so long; returns when it began."""
    from time import time

    began = time()
    while time() < began + seconds:
        pass
    return began


def test_d10_scheduler_plugin_is_told_of_every_task(client: Client) -> None:
    from spanwise.diagnostics import SchedulerPlugin

    told: dict[Any, dict[str, Any]] = {}

    class Notes(SchedulerPlugin):
        def transition(self, key: Any, start: str, finish: str, *args: Any, **facts: Any) -> None:
            if start == "processing" and finish in ("memory", "erred"):
                told[key] = {"finish": finish, **facts}

    client.register_plugin(Notes(), name="notes")
    good = client.submit(add, 1, 2)
    bad = client.submit(divmod, 1, 0)
    spanwise.wait([good, bad])
    client.unregister_scheduler_plugin("notes")
    assert told[good.key]["finish"] == "memory" and told[bad.key]["finish"] == "erred"
    assert all(each["startstops"] for each in told.values())


def test_d11_task_stream_around_a_block(client: Client, names: dict[str, Any]) -> None:
    names["collection1"].compute()
    with get_task_stream() as stream:
        client.submit(add, 1, 2).result()
    assert [record["name"] for record in stream.data] == ["add"]


def test_d11_picture_of_the_task_stream(client: Client) -> None:
    with get_task_stream(plot="save", filename="task-stream.html") as stream:
        client.submit(add, 1, 2).result()
    assert stream.figure is not None
    assert "<html" in Path("task-stream.html").read_text("utf-8")


# -- L: Diagnostics of local schedulers ------------------------------------


#: What Dask's own threads give (it is Dask's code), the cluster gives.
on_threads_and_cluster = pytest.mark.parametrize("where", ["threads", "cluster"], indirect=True)


@pytest.fixture
def where(
    request: pytest.FixtureRequest, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Where `compute` and `get` compute.

    Arrays are a tenth as long as the text's, in two chunks and not ten: in full they are 2 TFLOP.
    """
    kind: str = request.param
    for drawn in ("normal", "random"):
        monkeypatch.setattr(da.random, drawn, in_small(getattr(da.random, drawn)))
    names["get"] = names["Client"]().get if kind == "cluster" else dask.get
    return kind


def in_small(draw: Callable[..., Any]) -> Callable[..., Any]:
    def drawn(*, size: tuple[int, ...], chunks: tuple[int, ...]) -> Any:
        return draw(size=[n // 10 for n in size], chunks=tuple(n // 2 for n in chunks))

    return drawn


FULL_BAR = f"[{'#' * 40}] | 100% Completed |"


@on_threads_and_cluster
@pytest.mark.parametrize("text, first, last", [(LOCAL, 35, 41), (LOCAL_NEWER, 37, 43)], ids=AGES)
def test_l1_progress_bar(
    where: str,
    names: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    text: str,
    first: int,
    last: int,
) -> None:
    lines = snippet(text, first, last)
    assert output(lines)[-1].startswith(FULL_BAR)
    run(program(lines), names)
    assert FULL_BAR in capsys.readouterr().out
    assert names["out"].shape == (1000,)


@on_threads_and_cluster
@pytest.mark.parametrize(
    "text, lines, last", [(LOCAL, (45, 48), 52), (LOCAL_NEWER, (47, 50), 54)], ids=AGES
)
def test_l2_registered_progress_bar(
    where: str,
    names: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    text: str,
    lines: tuple[int, int],
    last: int,
) -> None:
    from dask.diagnostics import ProgressBar

    names.update(ProgressBar=ProgressBar, res=names["collection1"])
    run(program(snippet(text, *lines)), names)
    assert FULL_BAR in capsys.readouterr().out
    run(program(snippet(text, last, last)), names)
    names["res"].compute()
    assert capsys.readouterr().out == ""


@on_threads_and_cluster
@pytest.mark.parametrize("text, first, last", [(LOCAL, 75, 76), (LOCAL_NEWER, 80, 81)], ids=AGES)
def test_l3_resources_are_those_of_what_computes(
    where: str, names: dict[str, Any], text: str, first: int, last: int
) -> None:
    run(program(snippet(text, first, last)), names)
    pids = [os.getpid()]
    if where == "cluster":
        pids += Client.current().run(os.getpid).values()
    kept = da.arange(200 * MIB // 8, chunks=-1).persist()
    if where == "cluster":
        spanwise.wait(spanwise.futures_of(kept))
    before = resident_megabytes(pids)
    with names["rprof"] as rprof:
        names["collection2"].compute()
    # "Memory usage in MB": it looks at least once. What others let go of may go meanwhile.
    highest = max(each.mem for each in rprof.results)
    assert highest > 0.9 * min(before, resident_megabytes(pids))


def resident_megabytes(pids: list[int]) -> float:
    return sum(psutil.Process(pid).memory_info().rss for pid in pids) / 1e6


@on_threads_and_cluster
@pytest.mark.parametrize("text, first, last", [(LOCAL, 89, 91), (LOCAL_NEWER, 95, 97)], ids=AGES)
def test_l3_cache_by_the_bytes_of_cachey(
    where: str, names: dict[str, Any], text: str, first: int, last: int
) -> None:
    run(program(snippet(text, first, last)), names)
    with names["cprof"] as cprof:
        names["collection1"].compute()
    assert [each.metric for each in cprof.results].count(50 * 50 * 8) >= 4


@on_threads_and_cluster
@pytest.mark.parametrize(
    "text, example, shown, drawn, together",
    [
        (LOCAL, (96, 104), [(108, 110), (112, 113), (115, 117)], (121, 121), (125, 126)),
        (LOCAL_NEWER, (103, 111), [(115, 120), (122, 123), (125, 130)], (134, 134), (138, 139)),
    ],
    ids=AGES,
)
def test_l4_l5_l6_profilers_their_results_and_pictures(
    where: str,
    names: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    example: tuple[int, int],
    shown: list[tuple[int, int]],
    drawn: tuple[int, int],
    together: tuple[int, int],
) -> None:
    # The text has lost a backslash at the end of a line.
    joined = {"rprof,\n        CacheProfiler": "rprof, CacheProfiler"}
    run(program(snippet(text, *example), joined), names)
    for place in shown:
        lines = snippet(text, *place)
        (found,) = run(program(lines), names)
        said = "".join(output(lines))
        assert said.startswith(f"{type(found).__name__}(")
        fields = [each for each in found._fields if f"{each}=" in said]
        assert fields[0] == found._fields[0] and len(fields) >= 2
    ran = {each.key for each in names["prof"].results}
    assert ran == {each.key for each in names["cprof"].results}
    # "Start time", "Finish time"
    assert all(each.start_time <= each.end_time for each in names["prof"].results)
    assert {each.metric for each in names["cprof"].results} == {1}
    pictures: list[Any] = []
    monkeypatch.setattr("bokeh.plotting.show", pictures.append)
    run(program(snippet(text, *drawn)), names)
    run(program(snippet(text, *together)), names)
    assert len(pictures) == 2


@on_threads_and_cluster
@pytest.mark.parametrize(
    "text, of_class, of_use",
    [(LOCAL, (140, 144), (148, 154)), (LOCAL_NEWER, (153, 157), (161, 167))],
    ids=AGES,
)
def test_l7_own_callback(
    where: str,
    names: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    text: str,
    of_class: tuple[int, int],
    of_use: tuple[int, int],
) -> None:
    run(program(snippet(text, *of_class)), names)
    lines = snippet(text, *of_use)
    assert run(program(lines), names) == []
    assert capsys.readouterr().out.splitlines() == as_the_code_prints(lines)


@on_threads_and_cluster
@pytest.mark.parametrize(
    "text, first, last", [(LOCAL, 158, 164), (LOCAL_NEWER, 171, 177)], ids=AGES
)
def test_l8_callback_of_a_function(
    where: str,
    names: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    text: str,
    first: int,
    last: int,
) -> None:
    names["Callback"] = Callback
    names["dsk"] = {"a": (add, 1, 2), "b": (add, 3, "a"), "c": (mul, "a", "b")}
    lines = snippet(text, first, last)
    run(program(lines), names)
    assert capsys.readouterr().out.splitlines() == as_the_code_prints(lines)


def as_the_code_prints(lines: str) -> list[str]:
    """The texts show their output without the colon that their code prints."""
    return [line.replace("Computing ", "Computing: ") for line in output(lines)]


# -- F: Fine Performance Metrics and Spans ---------------------------------


def test_f1_spans_of_a_workflow(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import dask.dataframe as dd
    import pandas as pd

    # What the text leaves out.
    table = pd.DataFrame({"x": range(100)})
    monkeypatch.setattr(dd, "read_parquet", lambda place: dd.from_pandas(table, npartitions=2))
    names["preprocess"] = lambda df: df[df.x >= 50]
    names["train"] = lambda df: df.x.sum()
    run(program(snippet(FINE, 93, 109)), names)
    assert names["model"] == sum(range(50, 100))
    bullets = [line.strip("• ") for line in snippet(FINE, 113, 119).splitlines() if line]
    said = {tuple(bullet.split(" / ")) for bullet in bullets}
    spans = {each.name: each for each in names["client"].spans() if "Alice" in each.name[0]}
    assert set(spans) == said
    # "The parent span will be mapped to all tasks of its children."
    whole = spans.pop(("Alice's workflow",))
    assert whole.tasks == whole.own_tasks + sum(each.tasks for each in spans.values()) > 0
    # "The grand total … runtime, multiplied by the number of CPU cores": time with tasks to run.
    summary = names["client"].fine_metrics(span="Alice's workflow").summary
    assert summary["capacitySeconds"] > 0


def test_f2_a_tag_with_a_parameter(client: Client, names: dict[str, Any]) -> None:
    lines = snippet(FINE, 125, 126)
    tasks = {"Alice": 3, "Bob": 2}

    # "all the workload submitted by Alice … or all the data loading activity"
    def runs_of(tag: str) -> int:
        return sum(row["executions"] for row in client.fine_metrics(span=tag).summary["byFunction"])

    # The cluster may have run another of the texts' snippets, which is Alice's as well.
    before = {tag: runs_of(tag) for tag in ("Alice's workflow", "data load")}
    for user, count in tasks.items():
        run(program(lines), {**names, "user": user})
        loads = {
            "    ...": f"    with span('data load'):\n"
            f"        client.gather(client.map(divmod, range({count}), [7] * {count}, pure=False))"
        }
        run(program(lines, loads), {**names, "user": user})
    # "Alice's workflow / data load, Bob's workflow / data load, etc."
    found = {each.name: each.tasks for each in client.spans()}
    for user, count in tasks.items():
        assert found[f"{user}'s workflow", "data load"] == count
    assert runs_of("Alice's workflow") - before["Alice's workflow"] == tasks["Alice"]
    assert runs_of("data load") - before["data load"] == sum(tasks.values())


def test_f3_idle_is_one_of_the_activities(client: Client) -> None:
    client.submit(spin_seconds, 0.2).result()
    metrics = client.fine_metrics()
    idle = metrics.get(("execute", "N/A", "idle or other spans", "seconds"), None)
    assert idle is not None and idle > 0.1


def test_f4_a_meter_of_a_users_own(client: Client) -> None:
    def metered(x: int) -> int:
        from spanwise.metrics import context_meter

        with context_meter.meter("decode"):
            spin_seconds(0.05)
        context_meter.digest_metric("rows", x, "count")
        return x

    import spanwise.metrics

    assert spanwise.metrics.context_meter is not None
    client.gather(client.map(metered, [2, 3], pure=False))
    metrics = client.fine_metrics()
    assert metrics["execute", "metered", "rows", "count"] == 5
    assert metrics["execute", "metered", "decode", "seconds"] >= 0.1


def test_f5_a_span_is_found_by_the_id_that_with_gave(client: Client) -> None:
    with span("outer") as outer, span("inner") as inner:
        client.submit(add, 1, 2).result()
    found = {each.id: each for each in client.spans()}
    assert inner in found and outer in found
    assert found[inner].parent == outer and found[outer].children == (inner,)
