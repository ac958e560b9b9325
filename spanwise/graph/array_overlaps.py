"""Blocks with the edges of their neighbours, and these edges, made one by one as rows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from spanwise.graph.new_task import new_task
from spanwise.graph.private_dask import Alias, ArrayNames, GraphNode, List, TaskRef, array_names
from spanwise.graph.rows import Pattern, Row

Key = Any


class Overlap:
    """A layer in which each block gets the edges of its neighbours, made one by one.

    An edge is called by where it lies: ("getitem-…", 1.1, 2) is the end of block (1, 2) along the
    first axis, (0.9, 2) its beginning.
    """

    __slots__ = (
        "_around",
        "_blocks",
        "_concatenate",
        "_cut",
        "_edge",
        "_edges",
        "_of",
        "_parts",
        "_slices",
        "_whole",
    )

    def __init__(self, layer: Any, names: ArrayNames) -> None:
        self._of = layer.name
        self._whole, self._edges = overlap_names(layer)
        self._concatenate = names.concatenate_shaped
        #: By axis and number of the block: what stands around it, and itself.
        self._around: list[list[list[float]]] = []
        #: By axis: where an edge lies → its block, and which of the axis' slices it is.
        self._parts: list[dict[float, tuple[int, int]]] = []
        #: By axis: all of a block, its end, its beginning.
        self._slices: list[tuple[slice, slice, slice]] = []
        for axis, chunks in enumerate(layer.chunks):
            depth = layer.axes.get(axis, 0)
            before, after = depth if isinstance(depth, tuple) else (depth, depth)
            count = len(chunks)
            around: list[list[float]] = []
            parts: dict[float, tuple[int, int]] = {}
            for block in range(count):
                found: list[float] = [block]
                parts[block] = block, 0
                if before != 0 and block - 0.9 > 0:
                    found.insert(0, block - 0.9)
                    parts[block - 0.9] = block - 1, 1
                if after != 0 and block + 0.9 < count - 1:
                    found.append(block + 0.9)
                    parts[block + 0.9] = block + 1, 2
                around.append(found)
            self._around.append(around)
            self._parts.append(parts)
            self._slices.append((slice(None, None, None), slice(-before, None), slice(0, after)))
        self._edge = Pattern(_node_of_edge)
        #: By the numbers of an edge's slices: these, as the literals of its row. They are pickled
        #: once for many tasks.
        self._cut: dict[tuple[int, ...], tuple[tuple[slice, ...]]] = {}
        #: By how many stand in a row along each axis.
        self._blocks: dict[tuple[int, ...], Pattern] = {}

    @property
    def names(self) -> tuple[Key, Key]:
        """The names of its keys."""
        return self._whole, self._edges

    def has(self, key: Key) -> bool:
        """Whether a key with one of its names is one of its own."""
        return (
            len(key) == len(self._parts) + 1
            and all(at in parts for at, parts in zip(key[1:], self._parts, strict=True))
            and (key[0] == self._edges or all(at == int(at) for at in key[1:]))
        )

    def make(self, key: Key) -> GraphNode | Row:
        """The task of a block with its edges, or of an edge."""
        if key[0] == self._whole:
            around = [self._around[axis][int(at)] for axis, at in enumerate(key[1:])]
            lengths = tuple(map(len, around))
            pattern = self._blocks.get(lengths)
            if pattern is None:
                pattern = self._blocks[lengths] = Pattern(
                    partial(_node_with_edges, self._concatenate, lengths)
                )
            return pattern, tuple(product((self._edges,), *around)), (), key
        found = [parts[at] for at, parts in zip(key[1:], self._parts, strict=True)]
        block = (self._of, *[number for number, _ in found])
        which = tuple([part for _, part in found])
        if not any(which):
            return Alias(key, block)
        literals = self._cut.get(which)
        if literals is None:
            index = [slices[part] for slices, part in zip(self._slices, which, strict=True)]
            literals = self._cut[which] = (tuple(index),)
        return self._edge, (block,), literals, key


def _node_with_edges(
    concatenate: Callable[..., Any], lengths: tuple[int, ...], row: Row
) -> GraphNode:
    _, edges, _, key = row
    arguments = List(*map(TaskRef, edges)), lengths
    return new_task(key, concatenate, arguments, {}, frozenset(edges))


def _node_of_edge(row: Row) -> GraphNode:
    _, (block,), (index,), key = row
    return new_task(key, operator.getitem, (TaskRef(block), index), {}, frozenset((block,)))


def overlap_names(layer: Any) -> tuple[Key, Key]:
    """Of a layer of overlapping blocks the names of these, and of their edges."""
    return f"overlap-{layer.token}", f"getitem-{layer.token}"


def is_overlap(layer: Any) -> bool:
    """Whether a layer is one of overlapping blocks, none of which has been made."""
    kind = type(layer)
    return (
        kind.__module__ == "dask.layers"
        and kind is array_names().Overlap
        and not layer.is_materialized()
    )
