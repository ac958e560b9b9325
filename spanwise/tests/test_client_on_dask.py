"""One notebook, two engines: the argument of Client() is all that changes."""

from __future__ import annotations

import operator
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import distributed
import numpy as np
import pytest

import spanwise
from spanwise.client.on_dask import is_dasks
from spanwise.dask_bridge.attach import attached_clusters
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.dask_threads import dask_threads
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_measures_on_dask import below
from spanwise.tests.test_moving import run
from spanwise.tests.test_report import TITLES, read, values

PAGE = CHECKOUT / "docs" / "two-engines.md"
EMBEDDED = "Client(n_workers=2, threads_per_worker=2)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with dask_threads() as cluster:
        yield cluster


class Told(NamedTuple):
    """What a notebook learns.

    Attributes
    ----------
    compared
        How many values of the page.
    tasks
        How many ran, by function and span; of those of the array only that there are some: which
        tasks a graph has, each engine decides.
    fields
        Of a record.
    listed
        Whether `client.spans()` has those of the program.
    block
        The spans of the tasks that ended within a block.
    profiled
        Whether the function that takes the time is there.
    """

    compared: int
    tasks: dict[Any, int]
    spans: set[tuple[str, ...]]
    listed: bool
    fields: list[str]
    block: set[tuple[str, ...]]
    profiled: bool
    waited: int
    results: list[int]
    monitored: int
    titles: list[str]


def notebook(code: str) -> Told:
    """Run the cells of the page, and ask each thing by the name that Spanwise has for it."""
    # Functions made here go to workers by value, as those of a notebook do.
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        compared = run(code, names)
        return told(names["client"], names["scores"], compared)
    finally:
        if "client" in names:
            names["client"].close()


def told(client: Any, futures: list[Any], compared: int) -> Told:
    """What a client tells after the page's cells."""
    spanwise.progress(futures, notebook=False)
    waited = spanwise.wait(futures).done
    with spanwise.span("again"), spanwise.get_task_stream() as stream:
        pending = spanwise.as_completed(client.map(operator.neg, range(4), pure=False))
        results = sorted(each.result() for each in pending)
    records = client.get_task_stream()
    sections = read(Path("report.html"))
    # The report has what the API tells, on each engine.
    of_block = {each["key"] for each in stream.data}
    noted = {str(each["key"]) for each in records if each["key"] not in of_block}
    assert set(sections["Task Stream"]["records"]["key"]) == noted
    assert dict(values(sections["Summary"]))["Task runs"] == len(noted)
    seconds = sum(
        part["stop"] - part["start"]
        for record in records
        for part in record["startstops"]
        if record["name"] == "read" and part["action"] == "compute"
    )
    assert seconds > 2.4
    names = {each.id: each.name for each in client.spans()}
    return Told(
        compared,
        Counter(
            (each["name"], each["span"])
            for each in records
            if each["name"] in ("read", "fit", "score", "neg")
        ),
        {each["span"] for each in records},
        # (with those around them)
        {("load",), ("model",), ("model", "fit")} <= set(names.values()),
        sorted(records[0]),
        {each["span"] for each in stream.data},
        "read" in {each["description"]["name"] for each in below(client.profile())},
        len(waited),
        results,
        len(client.system_monitor()),
        list(sections),
    )


def test_a_notebook_learns_the_same_on_both(
    cluster: distributed.LocalCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    checkout: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
    assert code.count(EMBEDDED) == 1
    embedded = notebook(code)
    # Nothing else changes.
    on_dask = notebook(code.replace(EMBEDDED, f"Client({cluster.scheduler_address!r})"))
    assert on_dask == embedded
    assert embedded.compared == 6
    assert embedded.tasks == {
        ("read", ("load",)): 24,
        ("fit", ("model", "fit")): 24,
        ("score", ("model", "score")): 24,
        ("neg", ("again",)): 4,
    }
    assert embedded.spans == {tags for _, tags in embedded.tasks} | {("average",)}
    assert (
        embedded.listed
        and embedded.block == {("again",)}
        and embedded.profiled
        and embedded.waited == 24
    )
    assert embedded.results == [-3, -2, -1, 0]
    assert embedded.monitored == 3
    assert embedded.titles == TITLES


def test_a_cluster_object_and_a_client_that_is_closed(tmp_path: Path) -> None:
    with dask_threads(1, 1) as cluster:
        client = spanwise.Client(cluster)
        assert client.submit(operator.neg, -7).result() == 7
        seconds = client.fine_metrics(function="neg").by_activity()
        assert sum(seconds.values()) > 0
        attached = client.attached
        assert attached is not None and attached.name == f"LocalCluster {cluster.name}"
        client.close()
        assert attached.status == "closed" and client.attached is None


def test_a_cluster_that_cannot_be_watched_computes_all_the_same(
    cluster: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise.dask_bridge import ship

    monkeypatch.setattr(ship, "OLDEST", (9999, 1, 0))
    with (
        pytest.warns(RuntimeWarning, match="no panel shows them: The scheduler has distributed"),
        spanwise.Client(cluster.scheduler_address, set_as_default=False) as client,
    ):
        assert client.submit(operator.neg, -7).result() == 7
        with pytest.raises(spanwise.ClusterError, match="is older than"):
            client.spans()


def test_an_asynchronous_client_is_watched_when_it_is_asked(
    cluster: distributed.LocalCluster,
) -> None:
    import asyncio

    async def asked() -> list[Any]:
        async with spanwise.Client(cluster.scheduler_address, asynchronous=True) as client:
            await client.wait_for_workers(2, timeout=LIMIT_SECONDS)
            assert client.attached is None
            await asyncio.to_thread(client.spans)
            future = client.submit(operator.neg, -7, pure=False)
            assert await future == 7
            records = await asyncio.to_thread(client.attached.get_task_stream)
            return [each["key"] for each in records if each["key"] == future.key]

    assert len(asyncio.run(asked())) == 1
    assert attached_clusters() == {}


def test_what_dask_awaits_is_dasks(cluster: distributed.LocalCluster) -> None:
    """`distributed.performance_report` asks its client so, from the client's loop."""
    with spanwise.Client(cluster.scheduler_address, set_as_default=False) as client:

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


def test_clients_of_both_kinds_side_by_side(cluster: distributed.LocalCluster) -> None:
    with (
        spanwise.Client(n_workers=1, threads_per_worker=1, set_as_default=False) as ours,
        spanwise.Client(cluster.scheduler_address, set_as_default=False) as theirs,
    ):
        futures = ours.submit(operator.neg, 2), theirs.submit(operator.neg, 3)
        assert [each.result() for each in futures] == [-2, -3]
        for client, future in zip((ours, theirs), futures, strict=True):
            assert future.key in {each["key"] for each in client.get_task_stream()}


#: Key of a task that a thread of the test's cluster has run → the functions that it called.
CALLED: dict[str, set[str]] = {}


def called(name: str) -> None:
    task = distributed.get_worker().get_current_task()
    CALLED.setdefault(str(task), set()).add(name)


def loading(block: np.ndarray) -> np.ndarray:
    called("loading")
    return block + 1


def scaling(block: np.ndarray) -> np.ndarray:
    called("scaling")
    return block * 2


def either(number: int) -> int:
    return -number


@pytest.fixture
def client(cluster: distributed.LocalCluster) -> Iterator[Any]:
    CALLED.clear()
    with spanwise.Client(cluster.scheduler_address, set_as_default=True) as client:
        yield client


def blocks(number: int, *functions: Any) -> Any:
    array = da.from_array(np.full(40, number), chunks=10)
    for function in functions:
        array = array.map_blocks(function, dtype=int)
    return array


def spans_of_tasks(client: Any) -> dict[str, tuple[str, ...]]:
    return {each["key"]: each["span"] for each in client.get_task_stream()}


def counted(client: Any) -> dict[tuple[str, ...], tuple[int, int]]:
    """Of each span: tasks that are exactly in it, and those that are inferred."""
    found: Counter[Any] = Counter()
    for each in client.spans():
        found[each.name, "exact"] += each.exact
        found[each.name, "inferred"] += each.inferred
    return {name: (found[name, "exact"], found[name, "inferred"]) for name, _ in found}


def test_what_was_written_in_one_span_is_exactly_in_it(
    cluster: distributed.LocalCluster, client: Any
) -> None:
    """Dask itself counts it so, also where it fuses all layers and forgets their spans."""
    # (what is persisted has no tasks any more, whichever span it is of)
    with spanwise.span("persisting"):
        kept = blocks(1).persist()
    with spanwise.span("loading"):
        loaded = kept.map_blocks(loading, dtype=int).map_blocks(loading, dtype=int).sum()
    with spanwise.span("scaling"):
        scaled = blocks(2, scaling, scaling).compute()
    # (all tasks that put results together are one group as long as Dask knows one of them)
    end = time.monotonic() + LIMIT_SECONDS
    while any(group.startswith("finalize") for group in list(cluster.scheduler.task_groups)):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert [scaled.sum(), loaded.compute()] == [40 * 8, 40 * 3]
    assert set(map(frozenset, CALLED.values())) == {frozenset(["loading"]), frozenset(["scaling"])}
    told = spans_of_tasks(client)
    assert {key: told[key] for key in CALLED} == {key: (name,) for key, (name,) in CALLED.items()}
    theirs = cluster.scheduler.extensions["spans"].spans_search_by_name
    for name in ("loading", "scaling"):
        span = theirs[name,][-1]
        ran = list(told.values()).count((name,))
        # (Dask has some tasks that are no more than a value)
        assert counted(client)[name,] == (ran, 0) and 4 < ran <= sum(span.states.values())


def test_what_was_written_in_several_spans_is_inferred(client: Any) -> None:
    """One task, and one sum of Dask's, is of both: no span is right for it."""
    with spanwise.span("loading"):
        loaded = blocks(3, loading)
    with spanwise.span("scaling"):
        blocks_of_both = loaded.map_blocks(scaling, dtype=int)
        blocks_of_both.compute()
    both = [key for key, names in CALLED.items() if names == {"loading", "scaling"}]
    assert len(both) == 4
    told = spans_of_tasks(client)
    assert len({told[key] for key in both}) == 1
    exact, inferred = counted(client)[told[both[0]]]
    assert exact == 0 and inferred >= 4


def test_what_took_the_span_of_its_group_is_inferred_and_nothing_else(client: Any) -> None:
    """Dask's sums are by group, so its tasks cannot be counted elsewhere."""
    written: dict[str, tuple[str, ...]] = {}
    kept = []
    for name, numbers in (("first", range(3)), ("second", range(3, 8)), ("first", range(8, 10))):
        with spanwise.span(name):
            futures = client.map(either, numbers, pure=False)
            futures.append(client.submit(either, 100, pure=False))
        written.update((each.key, (name,)) for each in futures)
        kept += futures
    client.gather(kept)
    told = spans_of_tasks(client)
    assert {told[key] for key in written} == {("first",)}
    # (the second span named "first" is another one)
    assert counted(client)["first",] == (4, 9)


def test_a_graph_that_cannot_be_followed_is_computed(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise.client import spans_on_dask

    def fails(graph: Any) -> None:
        raise AttributeError("no such operand")

    monkeypatch.setattr(spans_on_dask, "written_in_one_span", fails)
    said = "how this version of Dask sends graphs"
    with pytest.warns(RuntimeWarning, match=said) as told:
        assert [blocks(4, loading).sum().compute() for _ in range(2)] == [200, 200]
    assert sum(said in str(each.message) for each in told) == 1
