"""Computations on a real cluster equal those of Dask's threaded scheduler."""

from __future__ import annotations

import operator
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from dask import delayed

from spanwise import Client, span
from spanwise.tests.computations import COMPUTATIONS, FEW, PLAIN, SIZES, threaded
from spanwise.tests.same_results import assert_same

LIMIT_SECONDS = 120.0


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=2) as made:
        yield made


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_equals_threaded(client: Client, name: str) -> None:
    for size in SIZES.values():
        with span("equality", name):
            (result,) = dask.compute(COMPUTATIONS[name](size))
        assert_same(result, threaded(COMPUTATIONS[name](size)))


@pytest.mark.parametrize("name", PLAIN)
def test_equals_what_has_no_scheduler(client: Client, name: str) -> None:
    """Dask's threads run in this process, where Spanwise watches Dask, and might err alike."""
    for size in SIZES.values():
        (result,) = dask.compute(COMPUTATIONS[name](size))
        expected = PLAIN[name](size)
        if isinstance(expected, pd.DataFrame):
            # Dask reads text into a dtype of its own.
            expected = expected.astype(result.dtypes)
        assert_same(result, expected)


@pytest.mark.parametrize(
    "name", ["array-svd", "frame-merge", "frame-groupby-agg", "bag-frequencies", "array-overlap"]
)
def test_persisted_equals_threaded(client: Client, name: str) -> None:
    (kept,) = dask.persist(COMPUTATIONS[name](FEW))
    assert_same(kept.compute(), threaded(COMPUTATIONS[name](FEW)))


def test_legacy_tuple_graph(client: Client) -> None:
    graph = {
        "x": 1,
        ("y", 0): (operator.add, "x", 10),
        ("y", 1): (sum, ["x", ("y", 0), [("y", 0)][0]]),
        "z": [("y", 0), (operator.mul, ("y", 1), 2)],
        "alias": "z",
    }
    assert client.get(graph, ["alias", [("y", 1), "x"]]) == [[11, 46], [23, 1]]


def test_results_of_100_MB(client: Client) -> None:
    n = 100 * 2**20 // 8
    arrays = client.map(np.full, [n, n], [1.0, 2.0])
    total = client.submit(lambda a, b: a + b, *arrays)
    value = total.result(timeout=LIMIT_SECONDS)
    assert value.nbytes == n * 8 and value[0] == 3.0 and value[-1] == 3.0


def test_20_000_tasks_at_once(client: Client) -> None:
    futures = client.map(operator.add, range(20_000), range(20_000))
    assert client.gather(futures) == [2 * i for i in range(20_000)]
    graph: dict[Any, Any] = {f"abs-{i}": (abs, -i) for i in range(20_000)}
    graph["total"] = (sum, list(graph))
    assert client.get(graph, "total") == sum(range(20_000))


def test_errors_are_the_original_ones(client: Client) -> None:
    def fail(x: Any) -> Any:
        raise ValueError(f"bad {x}")

    with pytest.raises(ValueError, match="bad 3") as caught:
        delayed(abs)(delayed(fail)(3)).compute()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fail"
    future = client.submit(fail, 4)
    with pytest.raises(ValueError, match="bad 4"):
        future.result(timeout=LIMIT_SECONDS)
    assert client.submit(abs, -5).result(timeout=LIMIT_SECONDS) == 5


def test_scatter_run_and_locality(client: Client) -> None:
    (data,) = client.scatter([np.arange(100_000)])
    assert client.submit(np.sum, data).result(timeout=LIMIT_SECONDS) == 4999950000
    everywhere = client.scatter({"x": 5}, broadcast=True)
    assert client.submit(abs, everywhere["x"]).result(timeout=LIMIT_SECONDS) == 5
    assert set(client.run(operator.add, 1, 2).values()) == {3}
    assert len(client.run(operator.add, 1, 2)) == 2


def test_spans_account_for_all_tasks(client: Client) -> None:
    with span("account", "A"):
        futures = client.map(operator.mul, range(50), [7] * 50)
    with span("account", "B"):
        more = [client.submit(operator.mul, i, 11) for i in range(30)]
    client.gather([*futures, *more])
    own: Counter[tuple[str, ...]] = Counter()
    subtree: Counter[tuple[str, ...]] = Counter()
    for each in client.spans():  # every `with` is a span of its own
        own[each.name] += each.own_tasks
        subtree[each.name] += each.tasks
    assert own[("account", "A")] == 50 and own[("account", "B")] == 30
    assert subtree[("account",)] == 80
    metrics = client.fine_metrics(span=("account", "A"))
    assert {unit for *_, unit in metrics} == {"seconds", "bytes", "count"}
    seconds = client.fine_metrics(span=("account", "A"), unit="seconds")
    assert {unit for *_, unit in seconds} == {"seconds"}
    assert seconds == {key: value for key, value in metrics.items() if key[3] == "seconds"}
    assert sum(seconds.values()) > 0
    stream = client.get_task_stream(count=10)
    assert len(stream) == 10 and all(record["startstops"] for record in stream)
