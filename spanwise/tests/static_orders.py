"""Graphs, their static orders in TypeScript and in Dask, and how many results either holds.

What counts is not the order itself but what it is for: how many results are in memory at
once when the tasks run in that order on one thread (section 6.7 of the behaviours that
``docs/local-schedulers.md`` lists).
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from dask._task_spec import DataNode, Task, TaskRef, convert_legacy_graph
from dask.order import order

from spanwise.node import find_node
from spanwise.tests.bundled import bundle

#: Needs of each task by place, in no order; None is data.
Needs = list[list[int] | None]


def bundle_program(folder: Path) -> Path:
    """Bundle the TypeScript program that orders graphs into a folder."""
    return bundle(folder / "static-orders.cjs", entryPoints=["src/testing/static-orders.ts"])


def our_orders(program: Path, graphs: list[Needs]) -> list[list[int]]:
    """The number of each place, per graph, by the bundled program."""
    answer = subprocess.run(
        [find_node(), str(program)],
        input=json.dumps(graphs),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    numbers: list[list[int]] = json.loads(answer.stdout)
    return numbers


def dask_order(graph: Needs) -> list[int]:
    """The number of each place by ``dask.order.order``."""
    # Padded, so that names sort as places do.
    names = [f"k{place:06}" for place in range(len(graph))]
    nodes = {
        name: DataNode(name, 0)
        if needs is None
        else Task(name, sum, *(TaskRef(names[need]) for need in needs))
        for name, needs in zip(names, graph, strict=True)
    }
    numbers = order(nodes)
    return [numbers[name] for name in names]


def peak(graph: Needs, numbers: list[int]) -> int:
    """The most results held at once; fails if a task comes before one that it needs."""
    users = [0] * len(graph)
    for needs in graph:
        for need in set(needs or ()):
            users[need] += 1
    held = most = 0
    seen = set()
    for place in sorted(range(len(graph)), key=numbers.__getitem__):
        seen.add(place)
        held += 1
        most = max(most, held)
        for need in set(graph[place] or ()):
            assert need in seen
            users[need] -= 1
            held -= users[need] == 0
    return most


def random_graph(chance: random.Random) -> Needs:
    """Up to 59 tasks that need some of those shortly before them; a tenth of the roots is data."""
    density = chance.choice([0.02, 0.05, 0.1, 0.3])
    window = chance.choice([3, 8, 20, 60])
    graph: Needs = []
    for place in range(chance.randrange(1, 60)):
        nearby = range(max(0, place - window), place)
        needs = [need for need in nearby if chance.random() < density]
        graph.append(None if not needs and chance.random() < 0.1 else needs)
    return graph


def by_place(graph: Mapping[Any, Any]) -> Needs:
    """A graph of Dask, by place; needs sorted: Python's sets have another order in each process."""
    nodes = convert_legacy_graph(dict(graph))
    places = {key: place for place, key in enumerate(nodes)}
    return [
        None
        if isinstance(node, DataNode)
        else sorted(places[need] for need in node.dependencies if need in places)
        for node in nodes.values()
    ]


def realistic_graphs() -> Iterator[tuple[str, Needs]]:
    """Optimised graphs of arrays, dataframes and bags, with their names."""
    x = da.ones((40, 40), chunks=5)
    tall = da.ones((200, 20), chunks=(20, 20))
    table = pd.DataFrame({"a": range(1000), "b": range(1000)})
    frame = dd.from_pandas(table, npartitions=20)
    bag = db.from_sequence(range(100), npartitions=10)
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        collections = {
            "transposed sum": (x + x.T).sum(),
            "matrix product": (x @ x).mean(axis=0),
            "standard deviation": (x - x.mean(axis=0)).std(),
            "singular values": da.linalg.svd(tall)[1],
            "tall QR": da.linalg.qr(tall)[0],
            "rechunk, cumulative sum": x.rechunk((40, 4)).cumsum(axis=0),
            "overlap": da.overlap.overlap(x, 1, boundary="none").sum(),
            "group by": frame.groupby("a").b.sum(split_out=4),
            "shuffle": frame.set_index("b", npartitions=10),
            "merge": frame.merge(frame, on="a").b_x.mean(),
            "bag group by": bag.groupby(lambda n: n % 7, shuffle="tasks"),
            "bag fold": bag.foldby(lambda n: n % 3, lambda a, b: a + b),
        }
        for name, collection in collections.items():
            for fused in (True, False):
                with dask.config.set({"optimization.fuse.active": fused}):
                    if hasattr(collection, "expr"):
                        optimised = collection.optimize(fuse=fused)
                    else:
                        (optimised,) = dask.optimize(collection)
                    yield f"{name}, fused {fused}", by_place(optimised.__dask_graph__())


def ratios(program: Path, graphs: list[Needs]) -> list[float]:
    """Our peak as a multiple of Dask's, per graph."""
    answers = our_orders(program, graphs)
    for graph, numbers in zip(graphs, answers, strict=True):
        assert sorted(numbers) == list(range(len(graph)))
    return [
        peak(graph, numbers) / peak(graph, dask_order(graph))
        for graph, numbers in zip(graphs, answers, strict=True)
    ]
