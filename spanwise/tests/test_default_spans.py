"""Default spans, one after another: what is computed outside of all spans."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest

import spanwise
from spanwise import Client, LocalCluster, span
from spanwise.observed.span_info import SpanInfo
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.their_client import their_client


def add(a: int, b: int) -> int:
    return a + b


def wait_for(file: str) -> str:
    """Wait until the file is there."""
    end = time.monotonic() + LIMIT_SECONDS
    while not Path(file).exists() and time.monotonic() < end:
        time.sleep(0.005)
    return file


def nested(x: int) -> int:
    from spanwise import get_client

    inner = get_client()
    with span("within"):
        one = inner.submit(add, x, 1, pure=False)
    return int(one.result()) + int(inner.submit(add, x, 2, pure=False).result())


@pytest.fixture(autouse=True)
def no_roots() -> Iterator[None]:
    """Else what a script computes is of the script."""
    with dask.config.set({"spanwise.spans.cells": False}):
        yield


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


@pytest.fixture
def theirs() -> Iterator[Any]:
    """With a worker for what waits, and one for what runs beside it."""
    with their_client(n_workers=2) as made:
        yield made


def defaults_of(client: Any) -> list[SpanInfo]:
    return [each for each in client.spans() if each.origin == "default"]


def runs(client: Any, of: Any) -> float:
    found = client.fine_metrics(span=of, unit="count")
    functions = ("add", "wait_for")
    return sum(found.get(("execute", each, "compute", "count"), 0) for each in functions)


def test_a_default_span_closes_when_idle_and_the_next_graph_begins_another(
    client: Client, tmp_path: Path
) -> None:
    first = client.submit(add, 1, 1, pure=False)
    assert first.result() == 2
    (one,) = defaults_of(client)
    assert one.number == 0 and one.tasks == 1 and one.done
    assert one.stop is not None and one.closed is not None
    assert one.opened <= one.enqueued <= one.stop <= one.closed

    # The result of the first is still held, but nothing is left to do.
    gate = str(tmp_path / "gate")
    waits = client.submit(wait_for, gate, pure=False)
    assert client.submit(add, 1, 2, pure=False).result() == 3
    _, two = defaults_of(client)
    assert two.closed is None and not two.done and two.tasks == 1
    Path(gate).touch()
    waits.result()
    third = client.submit(add, 1, 3, pure=False)
    third.result()

    found = defaults_of(client)
    assert [each.name for each in found] == [("default",)] * 3
    assert [each.tasks for each in found] == [1, 2, 1]
    assert all(each.closed is not None and each.done for each in found)
    stops = [each.stop or 0.0 for each in found]
    starts = [each.start or 0.0 for each in found]
    assert all(stop <= start for stop, start in zip(stops, starts[1:], strict=False))
    assert len({each.id for each in found}) == 3
    assert [runs(client, each) for each in found] == [1, 2, 1]
    assert [runs(client, each.id) for each in found] == [1, 2, 1]
    assert runs(client, ("default",)) == runs(client, "default") == 4
    assert {record["span"] for record in client.get_task_stream()} == {("default",)}


def test_parts_of_fused_tasks_are_of_the_default_span_of_their_task(client: Client) -> None:
    import dask.array as da

    for _ in range(3):
        assert int((da.ones(4, chunks=2) + 1).sum().compute()) == 8
    found = defaults_of(client)
    assert len(found) == 3 and found[0].own_tasks > 0
    assert len({(each.own_tasks, each.executions) for each in found}) == 1
    assert sum(each.own_nanoseconds for each in found) > 0


def test_spans_in_tasks_of_a_later_default_span_have_no_parent(client: Client) -> None:
    assert client.submit(nested, 0, pure=False).result() == 3
    assert client.submit(nested, 1, pure=False).result() == 5
    spans = client.spans()
    within = [each for each in spans if each.tag == "within"]
    assert [(each.name, each.parent, each.tasks) for each in within] == [
        (("within",), None, 1),
        (("within",), None, 1),
    ]
    assert [each.tasks for each in spans if each.origin == "default"] == [2, 2]


def test_failed_and_cancelled_tasks_are_finished(client: Client) -> None:
    failed = client.submit(add, 1, "no number", pure=False)
    assert isinstance(failed.exception(timeout=LIMIT_SECONDS), TypeError)
    (one,) = defaults_of(client)
    assert one.closed is not None and one.failed == 1
    waits = client.submit(add, 1, 1, pure=False, resources={"GPU": 1})
    waits.cancel()

    def is_idle() -> bool:
        client.submit(add, 1, 1, pure=False).result()
        return len(defaults_of(client)) >= 3

    wait_until("the cancelled task to be forgotten", is_idle)


def test_each_client_has_default_spans_of_its_own(tmp_path: Path) -> None:
    cluster = LocalCluster(n_workers=1, threads_per_worker=2)
    with cluster, Client(cluster) as one, Client(cluster) as other:
        gate = str(tmp_path / "gate")
        waits = one.submit(wait_for, gate, pure=False)
        for number in range(2):
            other.submit(add, number, 1, pure=False).result()
        found = defaults_of(other)
        assert [(each.tasks, each.closed is None) for each in found if each.done] == [
            (1, False),
            (1, False),
        ]
        assert [each.closed for each in found if not each.done] == [None]
        Path(gate).touch()
        waits.result()


def test_default_spans_are_those_of_distributed(
    client: Client, theirs: Any, tmp_path: Path
) -> None:
    def program(client: Any, gate: Path) -> list[Any]:
        held = [client.submit(add, 1, 1, pure=False)]
        held[0].result()
        with spanwise.span("own") if client is not theirs else distributed.span("own"):
            held.append(client.submit(add, 1, 2, pure=False, key="own-task"))
        held[-1].result()
        held.append(client.submit(wait_for, str(gate), key="waits"))
        held.append(client.submit(max, 1, 2, key="beside"))
        held[-1].result()
        gate.touch()
        held[-2].result()
        held.append(client.submit(min, 1, 2, key="last"))
        held[-1].result()
        return held

    expected = program(theirs, tmp_path / "theirs")
    ours = program(client, tmp_path / "ours")
    extension = theirs.cluster.scheduler.extensions["spans"]
    their_defaults = extension.spans_search_by_name[("default",)]

    def counts() -> list[int]:
        return [each.states.get("memory", 0) for each in defaults_of(client)]

    assert [each.states["memory"] for each in their_defaults] == [1, 2, 1]
    wait_until("our states", lambda: counts() == [1, 2, 1])
    assert all(each.done for each in their_defaults)
    assert all(each.done and each.closed is not None for each in defaults_of(client))
    assert len(expected) == len(ours)
