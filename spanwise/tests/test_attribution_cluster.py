"""The operations of the attribution tests on a real cluster, held against marks of its tasks.

What came out is what Dask's threads make of the same collection.

Source in A, operation in B, follow-up in C, computed in D: what no mark lies in is B's work,
but for the few tasks with which `compute` puts a result together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed

from spanwise import Client, span
from spanwise.tests.computations import threaded
from spanwise.tests.marks import judge, mark_a, mark_b, mark_c, now_of, tags_of, taken
from spanwise.tests.same_results import assert_same
from spanwise.tests.test_attribution import ARRAYS
from spanwise.tests.test_attribution_frames import OPERATIONS, make_other, make_source


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.fixture(autouse=True)
def _fresh(client: Client) -> None:
    client.run(taken)


# -- arrays ----------------------------------------------------------------


def make_block(number: int) -> Any:
    mark_a()
    return np.arange(16.0).reshape(4, 4) + number


def array_source() -> da.Array:
    """Blocks that are made by tasks of the user's alone."""
    rows = [[delayed(make_block, pure=True)(2 * i + j) for j in (0, 1)] for i in (0, 1)]
    blocks = [[da.from_delayed(each, (4, 4), float) for each in row] for row in rows]
    return da.block(blocks)


@pytest.mark.parametrize("name", ARRAYS)
def test_array_operation(client: Client, name: str) -> None:
    since = now_of(client)
    with span("A"):
        x = array_source().map_blocks(mark_a, dtype=float)
    with span("B"):
        y = ARRAYS[name](x.map_blocks(mark_b, dtype=float))
        y = y.map_blocks(mark_b, dtype=y.dtype)
    with span("C"):
        z = y.map_blocks(mark_c, dtype=y.dtype)
    with span("D"):
        result = z.compute()
    assert_same(result, threaded(z))
    names, others = judge(client, since)
    assert names == {"A", "B", "C"}
    # What `da.block` and `from_delayed` do about the source is A's.
    assert tags_of(others) <= {"A", "B", "D"}
    assert sum(part.tags == ("D",) for part in others) <= 1


# -- dataframes ------------------------------------------------------------


def marked_source(number: int, columns: list[str] | None = None) -> pd.DataFrame:
    mark_a()
    return make_source(number, columns)


def marked_other(number: int) -> pd.DataFrame:
    mark_a()
    return make_other(number)


@pytest.mark.parametrize("name", OPERATIONS)
def test_dataframe_operation(client: Client, name: str) -> None:
    since = now_of(client)
    with span("A"):
        source = dd.from_map(marked_source, range(4), divisions=(0, 20, 40, 60, 79))
        other = dd.from_map(marked_other, range(1))
    with span("B"):
        made = OPERATIONS[name](source.map_partitions(mark_b), other)
        made = made.map_partitions(mark_b)
    with span("C"):
        made = made.map_partitions(mark_c)
    with span("D"):
        result = made.compute()
    assert_same(result, threaded(made))
    names, others = judge(client, since)
    assert names == {"A", "B", "C"}
    assert tags_of(others) <= {"A", "B", "D"}
    assert sum(part.tags == ("D",) for part in others) <= 2


# -- bags ------------------------------------------------------------------

Bag = Any
BAGS: dict[str, Callable[[Bag], Bag]] = {
    "map, filter": lambda b: b.filter(lambda x: x > 2).map(operator.neg),
    "groupby": lambda b: b.groupby(lambda x: x % 3, shuffle="tasks"),
    "foldby": lambda b: b.foldby(lambda x: x % 2, operator.add, 0, operator.add, 0),
    "frequencies": lambda b: b.frequencies(sort=True),
    "repartition": lambda b: b.repartition(2),
    "accumulate": lambda b: b.accumulate(operator.add),
    "product": lambda b: b.product(b),
}


@pytest.mark.parametrize("name", BAGS)
def test_bag_operation(client: Client, name: str) -> None:
    since = now_of(client)
    with span("A"):
        bag = db.from_delayed([delayed(mark_a)([n, n + 1]) for n in range(4)]).map(mark_a)
    with span("B"):
        made = BAGS[name](bag.map(mark_b)).map(mark_b)
    with span("C"):
        made = made.map(mark_c)
    with span("D"):
        result = made.compute()
    assert_same(result, threaded(made))
    # (a part of C's without a mark: no item of a partition passed the filter)
    assert judge(client, since)[0] == {"A", "B", "C"}


# -- delayed and futures ---------------------------------------------------


def _tree() -> Any:
    with span("A"):
        leaves = [delayed(mark_a)(i) for i in range(5)]
    with span("B"):
        pairs = [delayed(mark_b)(leaves[i], leaves[i - 1]) for i in range(5)]
    with span("C"):
        return delayed(mark_c)(pairs, leaves[0])


def _containers() -> Any:
    with span("A"):
        one, text = delayed(mark_a)(1), delayed(mark_a)("text")
    with span("B"):
        both = delayed(mark_b)({"one": [one, {"two": one}], "t": text.upper()})
    with span("C"):
        return delayed(mark_c)([both, one])


def _array_in_delayed() -> Any:
    with span("A"):
        x = array_source().map_blocks(mark_a, dtype=float)
    with span("B"):
        out = delayed(mark_b)({"x": [x]})
    with span("C"):
        return delayed(mark_c)(out)


def _delayed_in_array() -> Any:
    with span("A"):
        block = delayed(mark_a)(np.ones(3))
    with span("B"):
        x = da.from_delayed(block, (3,), float).map_blocks(mark_b, dtype=float)
    with span("C"):
        return [delayed(mark_c)(piece) for piece in x.to_delayed()]


DELAYED: dict[str, Callable[[], Any]] = {
    "tree": _tree,
    "containers": _containers,
    "an array in it": _array_in_delayed,
    "in an array": _delayed_in_array,
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", DELAYED)
def test_delayed(client: Client, name: str, fuse: bool) -> None:
    since = now_of(client)
    collection = DELAYED[name]()
    with dask.config.set({"optimization.fuse.delayed": fuse}), span("D"):
        (result,) = dask.compute(collection)
    assert_same(result, threaded(collection))
    assert judge(client, since)[0] == {"A", "B", "C"}


def test_futures(client: Client) -> None:
    """Submitted, mapped, passed on alone and in containers, to a delayed call, persisted."""
    since = now_of(client)
    with span("A"):
        firsts = client.map(mark_a, range(3), pure=False)
        kept = client.persist(array_source().map_blocks(mark_a, dtype=float))
    with span("B"):
        alone = client.submit(mark_b, firsts[2], pure=False)
        inside = client.submit(mark_b, {"these": [firsts[0], alone]}, pure=False)
        lazy = delayed(mark_b)([inside, firsts[1]])
        x = kept.map_blocks(mark_b, dtype=float).sum()
    with span("C"):
        last = client.compute(delayed(mark_c)([lazy, x]))
    assert last.result(60)[0][1] == 1
    names, others = judge(client, since)
    assert names == {"A", "B", "C"}
    # (C puts together what it is given)
    assert tags_of(others) <= {"A", "B", "C"}
