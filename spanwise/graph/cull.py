"""The tasks that a graph must run for the requested keys, inputs before their users.

The scheduler orders graphs; tasks that its order does not tell apart run as submitted. So
the walk through a graph follows the order of the requested keys and of each task's
arguments, never that of a set: a set of texts has another order in each process.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from spanwise.graph.private_dask import GraphNode, Task, TaskRef, execute_subgraph

Key = Any


def cull(
    graph: dict[Key, GraphNode], requested: Iterable[Key], held: Container[Key]
) -> tuple[dict[Key, GraphNode], set[Key]]:
    """Keep the ancestors of `requested`, stopping at results that exist.

    Returns
    -------
    nodes
        What must run; inputs come before their users.
    external
        Keys that are needed but not run: held, or not in the graph.

    Raises
    ------
    RuntimeError
        Tasks wait for each other.
    """
    requested = list(dict.fromkeys(requested))
    nodes: dict[Key, GraphNode] = {}
    external: set[Key] = set()
    find = graph.get
    if not held:
        held = ()  # asked once per key: an empty tuple answers in a third of the time
    work = requested.copy()
    is_shared = False
    while work:
        key = work.pop()
        if key in nodes:
            is_shared = True
            continue
        node = find(key)
        if node is None or key in held:
            external.add(key)
            continue
        nodes[key] = node
        if node._dependencies:
            work.extend(inputs_of(node))
    if is_shared:
        return _inputs_first(nodes, requested), external
    # Each task has one user at most and was met after it.
    return dict(reversed(nodes.items())), external


def _inputs_first(nodes: dict[Key, GraphNode], requested: list[Key]) -> dict[Key, GraphNode]:
    """The nodes in the order in which a walk from the requested keys leaves them."""
    ordered: dict[Key, GraphNode] = {}
    opened: set[Key] = set()
    work = requested[::-1]
    while work:
        key = work[-1]
        if key in ordered or key not in nodes:
            work.pop()
            continue
        node = nodes[key]
        if node._dependencies and key not in opened:
            opened.add(key)
            waiting = [each for each in inputs_of(node) if each in nodes and each not in ordered]
            if waiting:
                if not opened.isdisjoint(waiting):
                    raise RuntimeError("The graph has a cycle: " + _cycle(nodes, key))
                waiting.reverse()
                work.extend(waiting)
                continue
        ordered[key] = node
        work.pop()
    return ordered


def _cycle(nodes: dict[Key, GraphNode], start: Key) -> str:
    """One loop that `start` is in, each key needing the next."""
    needed_by: dict[Key, Key] = {}
    work = [start]
    while start not in needed_by:
        key = work.pop(0)
        for each in inputs_of(nodes[key]):
            if each in nodes and each not in needed_by:
                needed_by[each] = key
                work.append(each)
    loop = [start, needed_by[start]]
    while loop[-1] != start:
        loop.append(needed_by[loop[-1]])
    return " -> ".join(str(key) for key in reversed(loop))


def inputs_of(node: GraphNode) -> Iterable[Key]:
    """The keys a node needs, each once, in the order of its arguments."""
    dependencies = node._dependencies
    count = len(dependencies)
    if count <= 1:
        return dependencies
    if isinstance(node, Task) and node.func is not execute_subgraph:
        # As keys of a dictionary each counts once, however often a task names it.
        found = dict.fromkeys([each.key for each in node.args if isinstance(each, TaskRef)])
        if len(found) < count:
            found = dict.fromkeys(_references(node))
        if len(found) == count:
            return found
    # Dask sorts the arguments of fused tasks by their hashes.
    try:
        return sorted(dependencies)
    except TypeError:
        return sorted(dependencies, key=str)


def _references(node: Task) -> Iterable[Key]:
    for value in (*node.args, *node.kwargs.values()):
        if isinstance(value, TaskRef):
            yield value.key
        elif isinstance(value, GraphNode):
            yield from inputs_of(value)
