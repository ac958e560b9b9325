"""The tasks that a graph must run for the requested keys, inputs before their users.

The scheduler orders graphs; tasks that its order does not tell apart run as submitted. So
the walk through a graph follows the order of the requested keys and of each task's
arguments, never that of a set: a set of texts has another order in each process.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from spanwise.graph.array_graph import ArrayGraph
from spanwise.graph.private_dask import GraphNode, Task, TaskRef, execute_subgraph
from spanwise.graph.rows import Row, needs_of

Key = Any


def cull(
    graph: dict[Key, GraphNode | Row], requested: Iterable[Key], held: Container[Key]
) -> tuple[dict[Key, GraphNode | Row], set[Key]]:
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
    nodes: dict[Key, GraphNode | Row] = {}
    external: set[Key] = set()
    find = graph.get
    has_rows = type(graph) is ArrayGraph  # (to ask each node takes 4 % of a walk)
    if not held:
        held = ()  # asked once per key: an empty tuple answers in a third of the time
    #: Tasks whose inputs come first, and are under way.
    opened: set[Key] = set()
    work = list(dict.fromkeys(requested))
    work.reverse()
    while work:
        key = work[-1]
        if key in nodes:
            work.pop()
            continue
        node = find(key)
        if node is None or key in held:
            external.add(key)
            work.pop()
            continue
        is_row = has_rows and type(node) is tuple
        inputs: Any = node[1] if is_row else node._dependencies  # type: ignore[index, union-attr]
        if inputs and key not in opened:
            if not is_row:
                inputs = inputs_of(node)  # type: ignore[arg-type]
            waiting = [each for each in inputs if each not in nodes]
            if waiting:
                opened.add(key)
                if not opened.isdisjoint(waiting):
                    raise RuntimeError("The graph has a cycle: " + _cycle(graph, held, key))
                waiting.reverse()
                work += waiting
                continue
        nodes[key] = node
        work.pop()
    return nodes, external


def _cycle(graph: dict[Key, GraphNode | Row], held: Container[Key], start: Key) -> str:
    """One loop that `start` is in, each key needing the next."""
    needed_by: dict[Key, Key] = {}
    work = [start]
    while start not in needed_by:
        key = work.pop(0)
        for each in needs_of(graph[key]):
            if each in graph and each not in held and each not in needed_by:
                needed_by[each] = key
                work.append(each)
    loop = [start, needed_by[start]]
    while loop[-1] != start:
        loop.append(needed_by[loop[-1]])
    return " -> ".join(str(key) for key in reversed(loop))


def inputs_of(node: GraphNode) -> Iterable[Key]:
    """The keys a node needs, each once, in the order of its arguments."""
    dependencies = node._dependencies
    if len(dependencies) <= 1:
        return dependencies
    found = named_inputs(node)
    if found is not None:
        return found
    # Dask sorts the arguments of fused tasks by their hashes.
    try:
        return sorted(dependencies)
    except TypeError:
        return sorted(dependencies, key=str)


def named_inputs(node: GraphNode) -> Iterable[Key] | None:
    """The same of a node with several inputs, if its arguments tell the order."""
    count = len(node._dependencies)
    if isinstance(node, Task) and node.func is not execute_subgraph:
        # As keys of a dictionary each counts once, however often a task names it.
        found = dict.fromkeys([each.key for each in node.args if isinstance(each, TaskRef)])
        if len(found) < count:
            found = dict.fromkeys(_references(node))
        if len(found) == count:
            return found
    return None


def _references(node: Task) -> Iterable[Key]:
    for value in (*node.args, *node.kwargs.values()):
        if isinstance(value, TaskRef):
            yield value.key
        elif isinstance(value, GraphNode):
            yield from inputs_of(value)
