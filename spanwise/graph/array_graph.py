"""The optimised graph of Dask's arrays, from what is asked for on: each task is made once.

Dask's optimiser for arrays goes through all layers to cull them, makes their tasks, converts the
old form of those that have it, and fuses lines of tasks: a handful of passes, each of which finds
out anew which inputs a task has, and copies it for each of them. This is one walk and one pass::

    asked for ─► a block of a blockwise layer: a row (rows.py), the layer's task stands for all
       ▲         a value of another layer: converted, if it has the old form
       └──────── its inputs, and so on ──► lines of tasks are fused, as Dask does

The tasks are Dask's own, and the same: their keys, functions and arguments. What differs: of lines
that meet Dask may leave one unfused, by the order in which it comes to them; a line whose name Dask
cuts has its last task's key; an input that Dask writes as an alias without a name is a reference
here; and a name of a task in a set or a named tuple is an input even if nothing else needs it.
"""

from __future__ import annotations

import sys
from typing import Any

from dask import config
from dask.core import flatten

from spanwise.graph.array_lines import fuse_lines
from spanwise.graph.array_walk import ArrayWalk
from spanwise.graph.private_dask import (
    ArrayNames,
    GraphNode,
    HLGExpr,
    HLGExprSequence,
    Task,
    TaskRef,
    array_names,
    execute_subgraph,
)
from spanwise.graph.rows import Row, nodes_of

Key = Any
Graph = dict[Key, GraphNode]


class ArrayGraph(dict[Key, GraphNode | Row]):
    """Nodes by key, many of them as rows."""


def array_graph(expression: Any) -> Graph | None:
    """The same as :func:`array_rows`, without rows."""
    rows = array_rows(expression)
    return None if rows is None else nodes_of(rows)


def array_rows(expression: Any) -> ArrayGraph | None:
    """The optimised graph of arrays; None: there are others, or it is to be optimised otherwise."""
    # Without Dask's arrays nobody has made one.
    if sys.modules.get("dask.array.optimization") is None:
        return None
    if isinstance(expression, HLGExpr):
        parts = [expression]
    elif isinstance(expression, HLGExprSequence):
        parts = list(expression.operands)
    else:
        return None
    names = array_names()
    if config.get("optimization.fuse.active") is False or not all(
        isinstance(each, HLGExpr) and each.low_level_optimizer is names.optimize for each in parts
    ):
        return None
    graph = ArrayGraph()
    for each in parts:
        made = _optimised(each.hlg, list(flatten(each.__dask_keys__())), names)
        if made is None:
            return None
        graph.update(made)
    return graph


def _optimised(
    layered: Any, keys: list[Key], names: ArrayNames
) -> dict[Key, GraphNode | Row] | None:
    layered = names.fuse_roots(names.optimize_blockwise(layered, keys=keys), keys=keys)
    kinds = {type(each) for each in layered.layers.values()}
    if not kinds <= names.layers:
        return None
    walk = ArrayWalk(layered.layers.values(), names)
    nodes, lines = walk.nodes_for(keys)
    graph = fuse_lines(nodes, lines, set(keys), names)
    # Blocks of a layer share their parts, which this looks through, and changes where they are.
    # (rows have none that it would change)
    fused = {}
    for key, node in graph.items():
        if isinstance(node, Task) and node.func is execute_subgraph:
            fused[id(node.args[0])] = key, node
    # (of a task that reads from the source itself, and not from an input, it asks for the key)
    names.optimize_slices(
        {key: node for key, node in fused.values() if not _reads_source(node.args[0], names)}
    )
    return graph


def _reads_source(parts: Graph, names: ArrayNames) -> bool:
    return any(
        type(node) is Task
        and node.func in names.getters
        and node.args
        and not isinstance(node.args[0], (TaskRef, GraphNode))
        for node in parts.values()
    )
