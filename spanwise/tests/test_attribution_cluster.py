"""The operations of the attribution tests on a real cluster, held against marks of its tasks.

The truth is made here and knows no name of the product: functions of the user's code note,
in the worker's process, the span in which they were written and the time. Which part of which
task ran there then, and in which span it is counted, is what the cluster says::

    worker's thread   ├── part ──┤├─── part ───┤├ part ┤      get_task_stream()
    marks                  ^A          ^B                     noted in the worker

Source in A, operation in B, follow-up in C, computed in D: what no mark lies in is B's work,
but for the few tasks with which `compute` puts a result together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed

from spanwise import Client, span
from spanwise.tests.test_attribution import ARRAYS
from spanwise.tests.test_attribution_frames import OPERATIONS, make_other, make_source

#: (name, time) of each mark that was met in this process.
_met: list[tuple[str, float]] = []
#: A mark lies so far within its part: clocks are told to 0.25 us.
MARGIN_SECONDS = 20e-6


class Mark:
    """A function of the span `name`: notes that it ran, and returns its argument."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any = None, *rest: Any, **options: Any) -> Any:
        before = perf_counter()
        while (now := perf_counter()) < before + MARGIN_SECONDS:
            pass
        _met.append((self.name, now))
        while perf_counter() < now + MARGIN_SECONDS:
            pass
        return value

    def __dask_tokenize__(self) -> Any:
        return ("mark", self.name)


mark_a, mark_b, mark_c = Mark("A"), Mark("B"), Mark("C")


def taken() -> list[tuple[str, float]]:
    """The marks of this process since the last time."""
    met = _met.copy()
    _met.clear()
    return met


class Part(NamedTuple):
    """The cluster's account of a stretch of a thread."""

    worker: str
    start: float
    stop: float
    tags: tuple[str, ...]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.fixture(autouse=True)
def _fresh(client: Client) -> None:
    client.run(taken)


def parts_of(client: Client, since: float) -> list[Part]:
    """The parts since then in which functions of the user's ran."""
    return [
        Part(record["worker"], part["start"], part["stop"], tuple(part["span"]))
        for record in client.get_task_stream(start=since)
        for part in record["startstops"]
        if part["action"] == "compute"
    ]


def judge(client: Client, since: float) -> tuple[set[str], list[Part]]:
    """Fail if a mark was met in another span than its own; return the marks and the other parts."""
    parts = parts_of(client, since)
    session = client._session
    marked: set[Part] = set()
    names: set[str] = set()
    for address, met in client.run(taken).items():
        worker = Path(address).stem
        for name, at in met:
            when = at - session.scheduler_start + session.wall_epoch
            (found,) = [p for p in parts if p.worker == worker and p.start <= when <= p.stop]
            assert found.tags == (name,), f"written in {name}, counted in {found.tags}"
            marked.add(found)
            names.add(name)
    return names, [part for part in parts if part not in marked]


def now_of(client: Client) -> float:
    """Now, on the cluster's clock: what ended before is another test's."""
    session = client._session
    return perf_counter() - session.scheduler_start + session.wall_epoch


def tags_of(parts: list[Part]) -> set[str]:
    return {"/".join(part.tags) for part in parts}


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
        z.compute()
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
        made.compute()
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
        made.compute()
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
        dask.compute(collection)
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
