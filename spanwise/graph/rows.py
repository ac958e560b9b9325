"""Tasks of which only that is made in which they differ: their inputs and their literals.

::

    Task(("add", 0), add, TaskRef(("x", 0)), 1)     pattern of "add", (("x", 0),), (1,), ("add", 0)
    Task(("add", 1), add, TaskRef(("x", 1)), 2)     the same,         (("x", 1),), (2,), ("add", 1)

The layer that makes them knows the pattern, so that none of these tasks has to be made, walked
through, or fused with others by itself: one stands for all. A row is a plain tuple, since there are
as many as tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from spanwise.graph.private_dask import Alias, DataNode, GraphNode, Task

Key = Any
#: Pattern, inputs (none twice), literals, and by what the pattern makes the node: mostly its key.
Row = tuple["Pattern", tuple[Key, ...], tuple[Any, ...], Any]


class Pattern:
    """What rows have in common.

    Two rows of a pattern give nodes that are the same up to the names of their inputs and the
    values of their literals, and their keys have one name.

    Parameters
    ----------
    node
        Makes the node of a row.
    is_getter
        Whether it reads a part of its input: Dask joins two of these in a line.
    """

    __slots__ = ("is_getter", "node")

    def __init__(self, node: Callable[[Row], GraphNode], is_getter: bool = False) -> None:
        self.node = node
        self.is_getter = is_getter


class LinePattern(Pattern):
    """Rows of lines of tasks, each the only user of the one before, that are one now.

    Parameters
    ----------
    members
        The pattern of each, or the class of an alias or of data; and how many literals it has.
    name
        What the keys of these rows begin with; None: they are the keys of the last tasks.
    """

    __slots__ = ("name",)

    def __init__(self, members: list[tuple[Pattern | type, int]], name: Key | None) -> None:
        super().__init__(partial(_fused, members))
        self.name = name


def _fused(members: list[tuple[Pattern | type, int]], row: Row) -> GraphNode:
    _, inputs, literals, (name, keys) = row
    line: list[GraphNode] = []
    start = 0
    for (pattern, count), key in zip(members, keys, strict=True):
        own = literals[start : start + count]
        start += count
        if isinstance(pattern, Pattern):
            line.append(pattern.node((pattern, inputs, own, key)))
        elif pattern is Alias:
            line.append(Alias(key, inputs[0]))
        else:
            line.append(DataNode(key, own[0]))
        inputs = (key,)
    return Task.fuse(*line, key=name)


def node_of(row_or_node: GraphNode | Row) -> GraphNode:
    """The node itself."""
    if type(row_or_node) is tuple:
        return row_or_node[0].node(row_or_node)
    return row_or_node  # type: ignore[return-value]


def nodes_of(graph: Mapping[Key, GraphNode | Row]) -> dict[Key, GraphNode]:
    """A graph without rows."""
    return {key: node_of(each) for key, each in graph.items()}


def needs_of(row_or_node: GraphNode | Row) -> Any:
    """The keys of its inputs, each once, in any order."""
    if type(row_or_node) is tuple:
        return row_or_node[1]
    return row_or_node._dependencies  # type: ignore[union-attr]
