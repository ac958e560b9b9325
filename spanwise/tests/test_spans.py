"""Spans as a program asks for them: their ids, fields and filters."""

from __future__ import annotations

import copy
import pickle
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import dask
import pytest

import spanwise
from spanwise import Client, LocalCluster, span
from spanwise.errors import ClusterError
from spanwise.graph import dictionaries
from spanwise.graph.callers import code_of_caller
from spanwise.graph.provenance import current_annotation
from spanwise.observed.span_info import SpanInfo, span_filter, threads_between
from spanwise.observed.span_list import SpanList
from spanwise.tests.file_module import module_of_file
from spanwise.tests.processes import wait_until


def add(a: int, b: int) -> int:
    return a + b


def spin_seconds(seconds: float) -> float:
    """Keep the thread on a core for so much of its CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return seconds


def fail(x: int) -> int:
    raise ZeroDivisionError(x)


def fail_once(path: str) -> None:
    if not Path(path).exists():
        Path(path).touch()
        raise ValueError("once")
    spin_seconds(0.2)


def nested(x: int) -> int:
    from spanwise import get_client

    with span("within"):
        return int(get_client().submit(add, x, 1, pure=False).result())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


def by_id(client: Any) -> dict[str, SpanInfo]:
    spans = client.spans()
    found = {each.id: each for each in spans}
    assert len(found) == len(spans)
    return found


def test_a_span_has_the_id_that_with_gave_and_names_its_family(client: Client) -> None:
    with span("outer") as outer:
        client.submit(add, 1, 1, pure=False).result()
        with span("inner", "leaf") as leaf:
            annotation = dask.get_annotations()["span"]
            client.submit(add, 1, 2, pure=False).result()
        with span("inner") as again:
            client.submit(add, 1, 3, pure=False).result()
    found = by_id(client)
    inner = found[leaf].parent
    assert inner is not None and found[inner].children == (leaf,)
    assert found[outer].children == (inner, again) and found[outer].parent is None
    assert found[again].name == found[inner].name == ("outer", "inner")
    assert [found[each].tasks for each in (outer, inner, leaf, again)] == [3, 1, 1, 1]
    assert found[leaf].name == annotation["name"]
    assert (outer, inner, leaf) == annotation["ids"]


def test_a_span_that_was_never_used_is_not_there(client: Client) -> None:
    with span("unused") as unused, span("unused below"):
        pass
    with span("used for a graph alone") as alone:
        dask.delayed(add)(1, 2)
    found = by_id(client)
    assert unused not in found and alone not in found
    assert not any("unused" in each.name for each in found.values())


def test_spans_of_failed_tasks_are_there(client: Client) -> None:
    with span("failing") as failing:
        future = client.submit(fail, 1, pure=False)
        with pytest.raises(ZeroDivisionError):
            future.result()
    info = by_id(client)[failing]
    assert (info.tasks, info.failed, info.running, info.done) == (1, 1, 0, True)
    assert info.nbytes_total == 0


def test_states_of_a_spans_tasks(client: Client) -> None:
    with span("states") as states:
        kept = client.submit(add, 1, 1, pure=False)
        failed = client.submit(fail, 1, pure=False)
        with span("below") as below:
            client.submit(add, 1, 1, pure=False).result()
            waits = client.submit(spin_seconds, 0.0, pure=False, resources={"GPU": 1})
    kept.result()
    with pytest.raises(ZeroDivisionError):
        failed.result()
    wait_until("tasks to be forgotten", lambda: "forgotten" in by_id(client)[states].states)
    found = by_id(client)
    assert found[below].states == {"no-worker": 1, "forgotten": 1}
    assert found[states].states == {"memory": 1, "erred": 1, "no-worker": 1, "forgotten": 1}
    assert not found[states].done and not found[below].done
    waits.cancel()
    wait_until("the span to be done", lambda: by_id(client)[below].done)


def test_what_a_task_submits_is_below_its_span(client: Client) -> None:
    with span("around") as around:
        assert client.submit(nested, 1, pure=False).result() == 2
    found = by_id(client)
    (within,) = found[around].children
    assert found[within].name == ("around", "within") and found[within].tasks == 1


def test_figures_of_a_span(client: Client) -> None:
    before = time.time()
    with span("figures") as id:
        client.gather(client.map(spin_seconds, [0.05] * 4, pure=False))
        client.submit(bytes, 1_000_000, pure=False).result()
    after = time.time()
    info = by_id(client)[id]
    assert info.closed is not None and info.start is not None and info.stop is not None
    assert info.opened <= info.enqueued <= info.start < info.stop <= info.closed
    # (the log's wall clock is read once, between other things)
    assert before - 1 < info.opened and info.closed < after + 1
    assert info.nbytes_total >= 1_000_000
    assert sum(info.all_durations.values()) == pytest.approx(info.duration)
    assert info.all_durations["compute"] >= 0.2
    assert info.nthreads_intervals == ((info.enqueued, info.stop, 2),)
    assert info.active_cpu_seconds == pytest.approx(2 * (info.stop - info.enqueued))
    execute = info.metrics.by_activity()
    assert execute["thread-cpu"] == pytest.approx(info.cpu)
    for same in (pickle.loads(pickle.dumps(info)), copy.deepcopy(info), asdict(info)["name"]):
        assert same in (info, info.name)
    with pytest.raises(ClusterError, match="pickled"):
        _ = pickle.loads(pickle.dumps(info)).metrics


def test_threads_that_come_and_go_divide_the_span() -> None:
    with LocalCluster(n_workers=1, threads_per_worker=3) as cluster, Client(cluster) as client:
        with span("active") as id:
            client.submit(spin_seconds, 0.01, pure=False).result()
            cluster.scale(2)
            client.wait_for_workers(2)
            client.submit(spin_seconds, 0.01, pure=False).result()
        intervals = by_id(client)[id].nthreads_intervals
        assert [threads for _, _, threads in intervals] == [3, 6]
        (_, end, _), (begin, _, _) = intervals
        assert begin == end


def test_a_result_that_was_there_is_told_as_reused(client: Client) -> None:
    with span("first") as first:
        future = client.submit(add, 100, 1)
        tree = dask.delayed(add)(200, 2)
        kept = client.compute(tree)
        client.gather([future, kept])
    with span("second") as second:
        assert client.submit(add, 100, 1).result() == 101
        assert client.compute(tree).result() == 202
        assert client.submit(add, 100, 7).result() == 107
    found = by_id(client)
    assert (found[first].tasks, found[first].own_reused) == (2, 0)
    assert (found[second].tasks, found[second].own_reused) == (1, 2)


def test_a_span_says_what_was_submitted_in_it(client: Client) -> None:
    with span("typed") as typed:
        client.map(add, range(3), range(3), pure=False)
        client.submit(add, 1, 2, pure=False, retries=1)
        with span("below") as below:
            one, two, three = (dask.delayed(add)(number, 1) for number in (300, 301, 302))
            dask.compute(one)
    # What was written in a span is of it, wherever it is submitted.
    client.gather(client.compute([two]))
    kept = client.persist(three)
    found = by_id(client)
    assert found[typed].metadata == {"collections": [{"type": "Future"}] * 2}
    types = [each["type"] for each in found[below].metadata["collections"]]
    assert types == ["low-level-graph", "Delayed", "Delayed"]
    assert kept.compute() == 303


def test_q18_a_span_of_very_long_ago_is_another_one_of_its_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dictionaries, "_CLOSED_KEPT", 2)
    with spanwise.observe("long ago") as seen, dask.config.set(scheduler="sync"):
        with span("q18") as first:
            later = dask.delayed(add)(1, 2)
            dask.compute(dask.delayed(add)(3, 4))
        for number in range(4):
            with span("q18"):
                dask.compute(dask.delayed(add)(5, number))
        dask.compute(later)
        rows = [info for info in seen.spans() if info.name == ("q18",)]
        assert [info.tasks for info in rows] == [1] * 6
        assert [info.id for info in rows].count(first) == 2
        key = ("execute", "add", "compute", "count")
        assert seen.fine_metrics(span=first)[key] == 2
        assert seen.fine_metrics(span="q18")[key] == 6


def test_finished_spans_are_folded_when_there_are_many() -> None:
    """An observer has rows of their own for 8,192 spans."""
    few, count = 6, 8_250
    with Client(n_workers=1, threads_per_worker=2) as client:
        ids, futures = [], []
        with span("fold-loop") as loop:
            for number in range(count):
                with span("step") as id:
                    if number < few or number == count - 1:
                        futures.append(client.submit(add, number, 1, pure=False))
                    else:
                        # (as a submission does; thousands of tasks would take long)
                        client._session.spans.id(current_annotation())
                ids.append(id)
                if number == few:
                    # As long as an observer takes a task for a running one, its span stays.
                    client.gather(futures)
                    wait_until("the tasks to be told", lambda: by_id(client)[loop].tasks == few)
            client.gather(futures)
            found = by_id(client)
            steps = [info for info in found.values() if info.tag == "step"]
            assert sum(info.tasks for info in steps) == len(futures)
            assert sum(info.folded + 1 for info in steps) == count
            assert found[loop].folded + len(steps) == count
            first = found[ids[0]]
            assert first.folded > 2_000
            # Tasks that are kept are told of in the row in which their span is counted.
            assert (first.tasks, first.states) == (few, {"memory": few})
            assert (found[ids[-1]].tasks, found[ids[-1]].folded) == (1, 0)
            assert ids[1] not in found
            key = ("execute", "add", "compute", "count")
            shared = (
                "A span that was asked for by its id is counted in a row with other finished "
                "spans of the same path: the figures are of all in that row.",
            )
            for id in ids[:2]:
                metrics = client.fine_metrics(span=id)
                assert (metrics[key], metrics.notes) == (few, shared)
            newest = client.fine_metrics(span=ids[-1])
            assert (newest[key], newest.notes) == (1, ())
            assert client.fine_metrics(span=("fold-loop", "step"))[key] == len(futures)


def test_q20_a_span_is_not_swallowed_by_an_earlier_one_of_its_function(client: Client) -> None:
    with span("p1") as first:
        one = client.submit(add, 100_000, 1)
    with span("p2") as second:
        two = client.submit(add, 101_000, 1)
    client.gather([one, two])
    found = by_id(client)
    assert found[first].tasks == found[second].tasks == 1


def test_filters_take_ids_tags_paths_spans_and_any_all_not(client: Client) -> None:
    with span("f-load") as load:
        futures = client.map(spin_seconds, [0.01] * 2, pure=False)
        with span("f-clean") as clean:
            futures += client.map(spin_seconds, [0.01] * 3, pure=False)
    with span("f-load") as again:
        futures += client.map(spin_seconds, [0.01] * 5, pure=False)
    futures += client.map(spin_seconds, [0.01] * 7, pure=False)
    client.gather(futures)
    found = by_id(client)

    def runs(of: Any) -> float:
        key = ("execute", "spin_seconds", "compute", "count")
        return client.fine_metrics(span=of, unit="count").get(key, 0)

    assert runs(load) == runs(found[load]) == 5
    assert runs(clean) == runs("f-clean") == runs(("f-load", "f-clean")) == 3
    assert runs(again) == 5 and runs("f-load") == 10
    assert runs({"any": [load, again]}) == 10
    assert runs({"any": "f-load", "not": clean}) == 7
    assert runs({"any": ["f-load", "f-clean"], "not": [found[again]]}) == 5
    assert runs({"all": ["f-load", ("f-load", "f-clean")]}) == 3
    assert runs("00000000-0000-0000-0000-000000000000") == 0
    with pytest.raises(ValueError, match="'any', 'all' and 'not', but was given none"):
        runs({"none": "f-load"})


def test_two_clients_in_one_block_have_spans_of_their_own() -> None:
    cluster = LocalCluster(n_workers=1, threads_per_worker=1)
    with cluster, Client(cluster) as one, Client(cluster) as other:
        with span("both") as both:
            one.submit(add, 1, 1, pure=False).result()
            other.submit(add, 1, 2, pure=False).result()
        first, second = (each for each in one.spans() if each.id == both)
        assert first.number != second.number
        assert first.tasks == second.tasks == 1
        key = ("execute", "add", "compute", "count")
        assert one.fine_metrics(span=both)[key] == 2


def test_spans_of_an_observation_have_their_ids() -> None:
    with spanwise.observe("spans by id") as seen:
        with span("local") as local, span("below") as below:
            dask.compute(dask.delayed(add)(1, 2), scheduler="sync")
        found = by_id(seen)
        assert found[local].children == (below,) and found[below].parent == local
        assert found[below].tasks == 1
        assert seen.fine_metrics(span=below).by_function("count")


def test_terms_of_a_filter() -> None:
    id = "0e9f1c1e-6c5e-4f5e-9d3c-2f1b8f1f2a3b"
    assert span_filter(id) == {"any": [{"path": [], "id": id}]}
    assert span_filter("span-12") == {"any": [{"path": [], "id": "span-12"}]}
    assert span_filter("span-x") == {"any": [{"tag": "span-x"}]}
    assert span_filter(("a", 1)) == {"any": [{"path": ["a", "1"]}]}
    assert span_filter({"all": "a", "not": [("b",), id]}) == {
        "all": [{"tag": "a"}],
        "not": [{"path": ["b"]}, {"path": [], "id": id}],
    }


def test_spans_are_shown_as_a_short_table(client: Client) -> None:
    with span("<b>shown</b>", "two\nlines"):
        client.submit(add, 1, 2, pure=False).result()
    (found,) = client.spans()[-1:]
    assert found.tag == "two\nlines"
    spans = SpanList(
        replace(found, path=(name, *found.path[-2:]), duration=seconds, tasks=tasks)
        for name, seconds, tasks in [
            ("short", 0.5, 3),
            ("long", 2_000.25, 12_000),
            *[("x" * 80, 0.25 / number, 1) for number in range(1, 70)],
        ]
    )
    first, *lines = repr(spans).split("\n")
    assert first == "71 spans (runs of tasks, thread time):" and len(lines) == 61
    assert re.split(" {2,}", lines[0]) == [
        *("", "long › <b>shown</b> › two lines", "12,000 runs", "2,000.250 s")
    ]
    assert "short › <b>shown</b> › two lines" in lines[1] and "…" in lines[2]
    assert {len(each) for each in lines[:-1]} == {len(lines[0])}
    assert lines[-1] == "  … and 11 more with less time: .to_pandas() has all"
    table = spans.to_pandas()
    assert table.shape[0] == 71 and table.index[1] == "long › <b>shown</b> › two\nlines"
    assert (table["tasks"].iloc[1], table["duration"].iloc[1]) == (12_000, 2_000.25)
    # Those that pandas would show whole are.
    assert len(repr(SpanList(spans[:60])).splitlines()) == 61
    assert SpanList().to_pandas().empty
    assert repr(SpanList(spans[:1])).startswith(
        "1 span (runs of tasks, thread time):\n  <b>shown</b> › two lines  3 runs"
    )
    assert repr(SpanList()) == "0 spans"
    # In a notebook no line breaks within a figure, and text stays text.
    page = spans._repr_html_()
    assert page.count("<tr>") == 60 and page.count("<td") == 180
    assert ">long › &lt;b&gt;shown&lt;/b&gt; › two lines</td>" in page and "<b>" not in page
    assert ">12,000 runs</td>" in page and ">2,000.250 s</td>" in page
    assert "… and 11 more" in page
    assert SpanList()._repr_html_() == "<div>0 spans</div>"
    # A single tag has its first letters and its last.
    name = repr(SpanList([replace(found, path=(), name=("first" + "x" * 90 + "last",))]))
    assert "  firstxx" in name and "xxlast " in name and "x…x" in name
    # It is a list like others.
    of_client = repr(client.spans()).splitlines()[0]
    assert of_client == f"{len(client.spans())} spans (runs of tasks, thread time):"
    assert spans == [*spans] and pickle.loads(pickle.dumps(spans)) == spans


def test_spans_are_shown_as_a_tree_of_runs(client: Client, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    with span("above"):
        with span("quick"):
            client.submit(add, 1, 2, pure=False).result()
        with span("slow"), span("inside"):
            client.submit(fail_once, str(tried), retries=1, pure=False).result()
    spans = SpanList(each for each in client.spans() if each.name[:1] == ("above",))
    _, *lines = repr(spans).splitlines()
    assert [re.split(r"(?<=\S) {2,}", line)[:2] for line in lines] == [
        # The one with most time is the first of each level; of its two runs one failed.
        ["  above", "3 runs"],
        ["    slow", "2 runs"],
        ["      inside", "2 runs"],
        ["    quick", "1 run"],
    ]
    gap = "\N{NO-BREAK SPACE}" * 4
    assert f">{gap * 2}inside</td>" in spans._repr_html_()
    # Without its parent a span says all of its tags, at the top.
    alone = repr(SpanList(spans[1:])).splitlines()[1:]
    assert [re.split(r"(?<=\S) {2,}", line)[0] for line in alone] == [
        *("  above › slow", "    inside", "  above › quick")
    ]
    # Parts of others' tasks ran, and none of its own.
    parts = replace(spans[0], tasks=0, executions=2_000)
    assert "  2,000 executions  " in repr(SpanList([parts]))
    # A pass and what is in it stand together.
    again = [replace(each, id=f"{each.id}'", parent=f"{each.parent}'") for each in spans]
    names = [line.split()[0] for line in repr(SpanList([*spans, *again])).splitlines()[1:]]
    assert names == ["above", "slow", "inside", "quick"] * 2


def test_a_list_of_spans_is_shown_by_the_tags_that_its_user_gave(client: Client) -> None:
    """Not by what all begin with: the file, and a cell's first line."""
    client.submit(add, 1, 2, pure=False).result()
    (found,) = client.spans()[-1:]

    def of(
        cell: str, *tags: str, origin: str = "user", seconds: float = 1.0, file: str = "a.ipynb"
    ) -> SpanInfo:
        path = (file, *([cell] if cell else []), *tags)
        return replace(found, name=tags, path=path, origin=origin, duration=seconds, tasks=1)

    spans = SpanList(
        [
            of("", origin="notebook", seconds=9.0),
            of("with span('load'):", origin="cell", seconds=8.0),
            of("with span('load'):", "load", "read", seconds=7.0),
            of("again = 1", "twice", seconds=6.0),
            of("again = 2", "twice", seconds=5.0),
            of("x", *["a long name"] * 9, "clean", seconds=4.0),
            of("x", *["a long name"] * 9, "features", seconds=3.0),
        ]
    )
    names = [line.rsplit("  1 run", 1)[0].strip() for line in repr(spans).splitlines()[1:]]
    assert names[:5] == [
        "a.ipynb",
        "with span('load'): (cell)",
        "load › read",
        "a.ipynb › again = 1 › twice",
        "a.ipynb › again = 2 › twice",
    ]
    assert [len(name) for name in names[5:]] == [60, 60]
    assert names[5].startswith("…") and names[5].endswith(" › clean")
    assert names[6].endswith(" › features")
    alike = SpanList(
        [
            of("first = work()", *["a long name"] * 9, "clean", seconds=9.0),
            of("second = work()", *["a long name"] * 9, "clean", seconds=8.0),
            of("load()", origin="cell", seconds=7.0),
            of("load()", origin="cell", seconds=6.0, file="b.ipynb"),
            of("table = read(1)", "a tag", *["long"] * 6, file="exploration of the harvest.ipynb"),
            of("table = read(2)", "a tag", *["long"] * 6, file="exploration of the harvest.ipynb"),
            of("a" * 60, origin="cell", seconds=0.2, file="exploration of the harvest.ipynb"),
            of("a" * 60, origin="cell", seconds=0.1, file="exploration of the summer.ipynb"),
        ]
    )
    names = [line.rsplit("  1 run", 1)[0].strip() for line in repr(alike).splitlines()[1:]]
    assert names == [
        "a.ipynb › first = work() › … long name › a long name › clean",
        "a.ipynb › second = work() › …long name › a long name › clean",
        "a.ipynb › load() (cell)",
        "b.ipynb › load() (cell)",
        "exploration o… › table = read(1) › …ong › long › long › long",
        "exploration o… › table = read(2) › …ong › long › long › long",
        *["exploration o… › aaaaaaaaaaaaaaaaaaa…"] * 2,
    ]
    assert (
        repr(SpanList([replace(found, name=("default",), path=("default",))]))
        .splitlines()[1]
        .startswith("  default  ")
    )


def test_passes_are_shown_by_the_run_of_their_cell_or_by_their_place(client: Client) -> None:
    client.submit(add, 1, 2, pure=False).result()
    (found,) = client.spans()[-1:]
    midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
    yesterday = midnight - 3600
    date = time.strftime("%Y-%m-%d", time.localtime(yesterday))

    def of(opened: float, *path: str, **fields: Any) -> SpanInfo:
        fields = {"origin": "user", "folded": 0, "code": (), "name": path[2:], **fields}
        return replace(found, id=f"{opened}", path=path, opened=midnight + opened, **fields)

    def cell(opened: float, number: int, *path: str, **fields: Any) -> SpanInfo:
        code = (({"filename": f"In [{number}]", "cell": "c"},),)
        return of(opened, *path, origin="cell", code=code, **fields)

    def names(*spans: SpanInfo) -> list[str]:
        shown = repr(SpanList(replace(span, tasks=7) for span in spans))
        return [line.rsplit("  7 runs", 1)[0].strip() for line in shown.splitlines()[1:]]

    loads = ("a.ipynb", "# the loads")
    assert names(
        cell(3, 6, *loads),
        cell(1, 4, *loads),
        of(4, *loads, "load"),
        of(2, *loads, "load"),
        of(-3600, *loads, "load"),
        cell(5, 7, "a.ipynb", "# once"),
        of(6, "a.ipynb", "# once", "fit"),
    ) == [
        "# the loads (cell) [6] · 00:00:03",
        "# the loads (cell) [4] · 00:00:01",
        "load 3 of 3 · 00:00:04",
        "load 2 of 3 · 00:00:02",
        f"load 1 of 3 · {date} 23:00:00",
        "# once (cell)",
        "fit",
    ]
    # Others are counted in one of them.
    assert names(of(1, *loads, "load", folded=5), of(2, *loads, "load")) == [
        "load · 00:00:01",
        "load · 00:00:02",
    ]
    # Spans of the same tags in another cell, and of another client, are no passes.
    other = ("a.ipynb", "# other")
    assert names(of(1, *loads, "load"), of(2, *other, "load"), of(3, *other, "load")) == [
        "a.ipynb › # the loads › load",
        "a.ipynb › # other › load 1 of 2 · 00:00:02",
        "a.ipynb › # other › load 2 of 2 · 00:00:03",
    ]
    alone = names(of(1, *loads, "load", client="one"), of(2, *loads, "load", client="two"))
    assert alone == ["a.ipynb › # the loads › load"] * 2
    # However long they are called, what tells them apart is whole.
    long = ("exploration of the harvest.ipynb", "table = read(1, 2, 3)", *["a long name"] * 9)
    for name in names(of(1, *long), of(2, *long), of(3, "b.ipynb", "x", *long[2:])):
        assert len(name) <= 60
    assert names(of(1, *long), of(-3600, *long))[1].endswith(f"long name 1 of 2 · {date} 23:00:00")


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (0, 2, ((1, 2, 3),)),
        (2, 4, ((2, 4, 3),)),
        (2, 6, ((2, 5, 3), (5, 6, 7))),
        (2, 12, ((2, 5, 3), (5, 9, 7), (9, 12, 3))),
        (10, 10, ()),
        (0, 1, ()),
    ],
)
def test_threads_between(begin: float, end: float, expected: tuple[Any, ...]) -> None:
    assert threads_between([(1, 3), (5, 7), (9, 3)], begin, end) == expected
    assert threads_between([], begin, end) == ()


def test_code_of_the_caller(client: Client, tmp_path: Path) -> None:
    theirs = tmp_path / "their_program.py"
    theirs.write_text(
        "def inner(client, function):\n"
        "    number = 2\n"
        "    return client.submit(function, 1, number, pure=False).result()\n"
        "\n"
        "def outer(client, function):\n"
        "    return inner(client, function)\n"
    )
    module = module_of_file("their_program", theirs)
    with span("not kept") as without:
        module.outer(client, add)
    kept = {
        "distributed.diagnostics.computations.nframes": 2,
        # (the folder of this test is one of pytest's)
        "distributed.diagnostics.computations.ignore-files": ["runpy"],
    }
    with dask.config.set(kept), span("kept") as id, span("below") as below:
        module.outer(client, add)
        # Once more from the same lines is no other code.
        module.outer(client, add)
    spans = by_id(client)
    assert spans[without].code == ()
    (stack,) = spans[below].code
    assert spans[id].code == (stack,)
    assert [(each["filename"], each["lineno_frame"]) for each in stack] == [
        (str(theirs), 6),
        (str(theirs), 3),
    ]
    assert [each["lineno_relative"] for each in stack] == [1, 2]
    assert stack[0]["code"].startswith("def outer(client, function):\n")


_COMPUTATIONS = "distributed.diagnostics.computations."


@pytest.mark.parametrize(
    "name, value",
    [
        ("nframes", "two"),
        ("nframes", [1]),
        ("ignore-modules", "dask"),
        ("ignore-modules", 7),
        ("ignore-files", ["["]),
    ],
)
def test_a_setting_of_code_that_cannot_be_is_named(client: Client, name: str, value: Any) -> None:
    settings = {f"{_COMPUTATIONS}nframes": 2, f"{_COMPUTATIONS}{name}": value}
    why = rf"{re.escape(_COMPUTATIONS + name)} is a .*, not {re.escape(repr(value))}"
    with span("refused"), dask.config.set(settings):
        with pytest.raises(ValueError, match=why):
            client.submit(add, 1, 2, key=f"one-{name}-{value}")
        with pytest.raises(ValueError, match=why):
            dask.delayed(add)(1, 2, dask_key_name=f"graph-{name}-{value}").compute()
    # Nothing of it is left.
    assert client.submit(add, 1, 2, key=f"one-{name}-{value}").result(timeout=60) == 3
    assert dask.delayed(add)(1, 2, dask_key_name=f"graph-{name}-{value}").compute() == 3


@pytest.mark.parametrize("none", [0, None, -1, 0.5])
def test_no_frames_keep_no_code(none: Any) -> None:
    with dask.config.set({f"{_COMPUTATIONS}nframes": none, f"{_COMPUTATIONS}ignore-files": 7}):
        assert code_of_caller() is None
