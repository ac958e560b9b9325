"""Dask's static order, with short ways for simple shapes.

``dask.order`` costs 6-30 us per task. Two shapes are so common, and their order is
so plain, that it can be written down at once:

* independent tasks, or independent tasks and one that takes them all (a map and its
  reduction): inputs in any order, the reduction last;
* a chain, or several independent chains: each chain to its end before the next.

Everything else goes to ``dask.order``. For the shapes above the numbers may differ from
Dask's between equals; how many results are kept at once does not.
"""

from __future__ import annotations

from typing import Any

from dask._task_spec import GraphNode
from dask.order import order

Key = Any


def static_order(
    nodes: dict[Key, GraphNode],
) -> tuple[dict[Key, GraphNode], list[int]]:
    """Sort nodes so that inputs come first.

    Returns
    -------
    ordered
        The same nodes in topological order.
    priorities
        Their numbers, 0 … n-1, smaller runs first.
    """
    ordered = _fan_in(nodes)
    if ordered is None:
        ordered = _trees(nodes)
    if ordered is None:
        numbers = order(nodes)
        ordered = {key: nodes[key] for key in sorted(nodes, key=numbers.__getitem__)}
    return ordered, list(range(len(ordered)))


def _fan_in(nodes: dict[Key, GraphNode]) -> dict[Key, GraphNode] | None:
    """Tasks without inputs here, and at most one that takes any of them."""
    last = None
    for key, node in nodes.items():
        if node._dependencies and not node._dependencies.isdisjoint(nodes):
            if last is not None:
                return None
            last = key
    if last is None:
        return nodes
    ordered = dict(nodes)
    ordered[last] = ordered.pop(last)
    return ordered


def _trees(nodes: dict[Key, GraphNode]) -> dict[Key, GraphNode] | None:
    """Forests in which every task has at most one user: chains and reductions.

    Post-order from each root is what Dask computes for them as well: it finishes a
    subtree before it opens the next, so as few results as possible are kept.
    """
    used: set[Key] = set()
    for node in nodes.values():
        dependencies = node._dependencies
        if dependencies:
            # Dependencies outside, results that exist already, may be shared.
            if not used.isdisjoint(dependencies) and any(
                each in used and each in nodes for each in dependencies
            ):
                return None
            used.update(dependencies)
    return _post_order(nodes, [key for key in nodes if key not in used])


def _post_order(nodes: dict[Key, GraphNode], roots: list[Key]) -> dict[Key, GraphNode]:
    ordered: dict[Key, GraphNode] = {}
    opened: set[Key] = set()
    for root in roots:
        stack = [root]
        while stack:
            key = stack[-1]
            if key in ordered:
                stack.pop()
                continue
            node = nodes[key]
            dependencies = node._dependencies
            if dependencies and key not in opened:
                opened.add(key)
                waiting = [d for d in dependencies if d in nodes and d not in ordered]
                if waiting:
                    stack.extend(waiting)
                    continue
            ordered[key] = node
            stack.pop()
    if len(ordered) != len(nodes):
        raise RuntimeError("the graph has a cycle: " + _describe_cycle(nodes, ordered))
    return ordered


def _describe_cycle(nodes: dict[Key, GraphNode], ordered: dict[Key, GraphNode]) -> str:
    left = [str(key) for key in nodes if key not in ordered]
    return ", ".join(left[:10]) + ("…" if len(left) > 10 else "")
