"""Graphs, their static orders in TypeScript and in Dask, and how many results either holds.

What counts is not the order itself but what it is for: how many results are in memory at
once when the tasks run in that order on one thread (section 6.7 of the behaviours that
``docs/local-schedulers.md`` lists).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dask
from dask._task_spec import DataNode, GraphNode, Task, TaskRef, convert_legacy_graph
from dask.core import flatten
from dask.order import order

from spanwise.graph.cull import cull
from spanwise.processes.node import find_node
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


def as_dask(graph: Needs) -> dict[str, GraphNode]:
    """A graph as Dask's nodes."""
    # Padded, so that names sort as places do.
    names = [f"k{place:06}" for place in range(len(graph))]
    return {
        name: DataNode(name, 0)
        if needs is None
        else Task(name, max, *(TaskRef(names[need]) for need in needs))
        for name, needs in zip(names, graph, strict=True)
    }


def submitted(nodes: dict[Any, GraphNode], requested: Iterable[Any]) -> tuple[Needs, list[Any]]:
    """A graph as clients submit it, by place, and the keys of the places."""
    kept, _ = cull(nodes, requested, ())
    places = {key: place for place, key in enumerate(kept)}
    needs: Needs = [
        None
        if isinstance(node, DataNode)
        else [places[need] for need in node.dependencies if need in places]
        for node in kept.values()
    ]
    return needs, list(kept)


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


def random_in_tree(chance: random.Random) -> Needs:
    """Each task has one user at most: a reduction of whatever shape, in a scrambled order."""
    count = chance.randrange(1, 120)
    spread = chance.choice([1, 3, 10, 120])
    users = [None] + [chance.randrange(max(0, p - spread), p) for p in range(1, count)]
    return scrambled(chance, needs_of(users))


def random_forest(chance: random.Random) -> Needs:
    """Several reductions beside each other."""
    forest: Needs = []
    for _ in range(chance.randrange(2, 8)):
        tree = random_in_tree(chance)
        forest += [[need + len(forest) for need in needs or ()] for needs in tree]
    return scrambled(chance, forest)


def random_out_forest(chance: random.Random) -> Needs:
    """Each task needs one other at most."""
    spread = chance.choice([1, 3, 10, 120])
    return [
        []
        if place == 0 or chance.random() < 0.05
        else [chance.randrange(max(0, place - spread), place)]
        for place in range(chance.randrange(1, 100))
    ]


def tree_with_shared_leaves(chance: random.Random) -> Needs:
    """A reduction some of whose leaves have a second user: what nearly every real graph is."""
    tree = random_in_tree(chance)
    roots = [place for place, needs in enumerate(tree) if not needs]
    others = [place for place, needs in enumerate(tree) if needs]
    for _ in range(chance.randrange(1, 4)):
        if others:
            needs = tree[chance.choice(others)]
            assert needs is not None
            root = chance.choice(roots)
            if root not in needs:
                needs.append(root)
    return tree


def fold_over_loads(chance: random.Random) -> Needs:
    """``model = fit(model, load(i))``: some tasks before each fit and after it."""
    steps = chance.randrange(2, 120)
    before = chance.randrange(0, 3)
    after = chance.randrange(0, 2)
    evaluated = chance.random() < 0.3
    graph: Needs = []
    model = None
    models = []
    for _ in range(steps):
        graph.append([])
        for _ in range(before):
            graph.append([len(graph) - 1])
        graph.append([len(graph) - 1] if model is None else [model, len(graph) - 1])
        for _ in range(after):
            graph.append([len(graph) - 1])
        model = len(graph) - 1
        models.append(model)
        if evaluated:
            graph.append([model])
    return scrambled(chance, graph) if chance.random() < 0.7 else graph


def layered(chance: random.Random) -> Needs:
    """Layers of blocks: one to one, neighbours, transposed, rows, reduced, one source for all."""
    side = chance.randrange(2, 8)
    layer = list(range(side * side))
    graph: Needs = [[] for _ in layer]

    def at(row: int, column: int) -> int:
        return layer[row % side * side + column % side]

    for _ in range(chance.randrange(1, 5)):
        kind = chance.choice(["map", "near", "transposed", "row", "reduced", "source"])
        places = [(row, column) for row in range(side) for column in range(side)]
        if kind == "source":
            extra = len(graph)
            graph.append([])
            needs = [[at(r, c), extra] for r, c in places]
        elif kind == "map":
            needs = [[at(r, c)] for r, c in places]
        elif kind == "near":
            needs = [[at(r, c), at(r, c + 1), at(r + 1, c)] for r, c in places]
        elif kind == "transposed":
            needs = [[at(r, c), at(c, r)] for r, c in places]
        elif kind == "row":
            needs = [[at(r, other) for other in range(side)] for r, c in places]
        else:
            means = []
            for row in range(side):
                graph.append([at(row, c) for c in range(side)])
                means.append(len(graph) - 1)
            needs = [[at(r, c), means[r]] for r, c in places]
        first = len(graph)
        graph += [sorted(set(each)) for each in needs]
        layer = list(range(first, len(graph)))
    if chance.random() < 0.5:
        while len(layer) > 1:
            first = len(graph)
            graph += [layer[at : at + 4] for at in range(0, len(layer), 4)]
            layer = list(range(first, len(graph)))
    return scrambled(chance, graph) if chance.random() < 0.3 else graph


#: Families of graphs that are drawn, by name.
DRAWN: dict[str, Callable[[random.Random], Needs]] = {
    "random": random_graph,
    "in-tree": random_in_tree,
    "forest": random_forest,
    "out-forest": random_out_forest,
    "tree with shared leaves": tree_with_shared_leaves,
    "fold over loads": fold_over_loads,
    "layers": layered,
}


def needs_of(users: list[int | None]) -> Needs:
    """The needs of each place from its one user."""
    graph: Needs = [[] for _ in users]
    for place, user in enumerate(users):
        if user is not None:
            graph[user].append(place)  # type: ignore[union-attr]
    return graph


def scrambled(chance: random.Random, graph: Needs) -> Needs:
    """The same graph, its tasks in another order."""
    places = list(range(len(graph)))
    chance.shuffle(places)
    moved: Needs = [None] * len(graph)
    for place, needs in enumerate(graph):
        moved[places[place]] = None if needs is None else [places[need] for need in needs]
    return moved


def realistic_graphs() -> Iterator[tuple[str, dict[Any, GraphNode], list[Any]]]:
    """Optimised graphs of arrays, dataframes and bags: name, nodes, requested keys."""
    # Only here: the programs that compare import them, those that start these programs do not.
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd
    import pandas as pd

    x = da.ones((40, 40), chunks=5)
    tall = da.ones((200, 20), chunks=(20, 20))
    table = pd.DataFrame({"a": range(1000), "b": range(1000)})
    frame = dd.from_pandas(table, npartitions=20)
    bag = db.from_sequence(range(100), npartitions=10)
    # What Dask takes by itself without a cluster: each of the processes would import `distributed`
    # to find that out.
    methods = {
        "dataframe.shuffle.method": "tasks",
        "array.rechunk.method": "tasks",
        "scheduler": dask.get,
    }
    with dask.config.set(methods):
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
                    nodes = convert_legacy_graph(dict(optimised.__dask_graph__()))
                    yield f"{name}, fused {fused}", nodes, list(flatten(optimised.__dask_keys__()))


class Compared(NamedTuple):
    """One graph: the most results held in either order, and what tells equal graphs."""

    name: str
    ours: int
    dasks: int
    digest: str


def drawn_graphs(chance: random.Random, count: int) -> Iterator[tuple[str, dict[Any, GraphNode]]]:
    """So many of each family, with names."""
    for family, make in DRAWN.items():
        for number in range(count):
            yield f"{family} {number}", as_dask(make(chance))


def compare(program: Path, seed: int, common: int, own: int) -> list[Compared]:
    """Both orders of the realistic graphs and of drawn ones.

    Parameters
    ----------
    program
        See :func:`bundle_program`.
    seed
        Draws the graphs that are this call's own.
    common, own
        Graphs of each family that every call draws, and that this one draws.
    """
    cases = [
        (name, nodes, _leaves(nodes))
        for chance, count in ((random.Random(0), common), (random.Random(f"own {seed}"), own))
        for name, nodes in drawn_graphs(chance, count)
    ]
    cases += realistic_graphs()
    graphs = [submitted(nodes, requested) for _, nodes, requested in cases]
    answers = our_orders(program, [needs for needs, _ in graphs])
    found = []
    for (name, nodes, _), (needs, keys), numbers in zip(cases, graphs, answers, strict=True):
        assert sorted(numbers) == list(range(len(needs)))
        dasks = order({key: nodes[key] for key in keys})
        edges = sorted((str(key), sorted(map(str, nodes[key].dependencies))) for key in keys)
        digest = hashlib.md5(repr(edges).encode(), usedforsecurity=False).hexdigest()
        found.append(
            Compared(name, peak(needs, numbers), peak(needs, [dasks[key] for key in keys]), digest)
        )
    return found


#: Collections of garbage take a tenth of what such a process computes, and free little. Dask's
#: arrays import SciPy where it is there, for what is not computed here, in a sixth of its time.
_COMPARE = """
import gc; gc.disable()
import sys; sys.modules["scipy"] = None
import runpy; runpy.run_module("spanwise.tests.static_orders", run_name="__main__")
"""


def compare_under(program: Path, seeds: Iterable[int], common: int, own: int) -> list[Compared]:
    """:func:`compare` in processes whose sets have another order each."""
    running = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", _COMPARE),
                *(str(program), str(seed), str(common), str(own)),
            ],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in seeds
    ]
    found: list[Compared] = []
    for process in running:
        answer, _ = process.communicate(timeout=290)
        assert process.returncode == 0
        found += (Compared(*each) for each in json.loads(answer))
    return found


def _leaves(nodes: dict[Any, GraphNode]) -> list[Any]:
    used = {need for node in nodes.values() for need in node.dependencies}
    return [key for key in nodes if key not in used]


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
