"""Lines of tasks, each the only user of the one before: fused as Dask does, of rows a row."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from spanwise.graph.private_dask import Alias, ArrayNames, DataNode, GraphNode, Task
from spanwise.graph.rows import LinePattern, Row, node_of

Key = Any

#: Kinds of nodes that may be fused.
_FUSED_KINDS = frozenset({Task, Alias, DataNode, tuple})
#: Dask cuts longer names of lines, and two may have one then.
_LONGEST_NAME = 115


def fuse_lines(
    nodes: dict[Key, GraphNode | Row],
    lines: Iterable[tuple[Key, Key]],
    wanted: Container[Key],
    names: ArrayNames,
) -> dict[Key, GraphNode | Row]:
    """Fuse lines of tasks, each the only user of the one before; what is asked for ends a line."""
    next_of = {
        inner: key
        for inner, key in lines
        if inner in nodes
        and inner not in wanted
        and _may_be_fused(nodes[inner])
        and _may_be_fused(nodes[key])
    }
    within = set(next_of.values())
    graph = nodes.copy()
    patterns: dict[tuple[Any, ...], LinePattern] = {}
    for key in next_of:
        if key in within:
            continue
        keys = []
        while key in next_of:
            keys.append(key)
            key = next_of[key]
        keys.append(key)
        line = [graph.pop(each) for each in keys]
        found = _row_of_line(line, keys, patterns, names)
        if found is None:
            name = _line_name(keys, names)
        else:
            pattern, inputs, literals = found
            name = key if pattern.name is None else (pattern.name, *key[1:])
        if name in graph or name in nodes:
            name = key
        if found is None:
            graph[name] = Task.fuse(*map(node_of, line), key=name)
        else:
            graph[name] = pattern, inputs, literals, (name, keys)
        if name != key:
            graph[key] = Alias(key, name)
    return graph


def _row_of_line(
    line: list[GraphNode | Row],
    keys: list[Key],
    patterns: dict[tuple[Any, ...], LinePattern],
    names: ArrayNames,
) -> tuple[LinePattern, tuple[Key, ...], tuple[Any, ...]] | None:
    """Pattern, inputs and literals of a line of rows; None: there are others in it."""
    members: list[Any] = []
    counts: list[int] = []
    literals: list[Any] = []
    inputs: tuple[Key, ...] | None = None
    is_after_getter = False
    for node, key in zip(line, keys, strict=True):
        kind = type(node)
        name = key[0] if type(key) is tuple and key else None
        if type(name) is not str:
            return None
        count = len(literals)
        if kind is tuple:
            pattern, needs, own, _ = node  # type: ignore[misc]
            if pattern.is_getter and is_after_getter:
                return None  # Dask joins the two
            literals += own
            members.append(pattern)
        elif kind is Alias:
            needs = (node.target,)  # type: ignore[union-attr]
            members += (Alias, name)
        elif kind is DataNode:
            needs = ()
            literals.append(node.value)  # type: ignore[union-attr]
            members += (DataNode, name)
        else:
            return None
        is_after_getter = kind is tuple and pattern.is_getter
        counts.append(len(literals) - count)
        if inputs is None:
            inputs = needs
    assert inputs is not None
    signature = tuple(members)
    found = patterns.get(signature)
    if found is None:
        parts = [each for each in members if type(each) is not str]
        name = _line_name(keys, names)
        found = patterns[signature] = LinePattern(
            list(zip(parts, counts, strict=True)), None if name == keys[-1] else name[0]
        )
    return found, inputs, tuple(literals)


def _line_name(keys: list[Key], names: ArrayNames) -> Key:
    """What Dask calls a line; where it has no name, or cuts it, the last key is the line's."""
    name = names.fused_key(keys)
    text = name[0] if type(name) is tuple else name
    return keys[-1] if text is None or len(text) > _LONGEST_NAME else name


def _may_be_fused(node: GraphNode | Row) -> bool:
    return type(node) in _FUSED_KINDS or not node.block_fusion  # type: ignore[union-attr]
