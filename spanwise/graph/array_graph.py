"""The optimised graph of Dask's arrays, from what is asked for on: each task is made once.

Dask's optimiser for arrays goes through all layers to cull them, makes their tasks, converts the
old form of those that have it, and fuses lines of tasks: a handful of passes, each of which finds
out anew which inputs a task has, and copies it for each of them. This is one walk and one pass::

    asked for ─► a block of a blockwise layer: made of the layer's task, its inputs filled in
       ▲         a value of another layer: converted, if it has the old form
       └──────── its inputs, and so on ──► lines of tasks are fused, as Dask does

The tasks are Dask's own, and the same: their keys, functions and arguments. What differs: of lines
that meet Dask may leave one unfused, by the order in which it comes to them; a line whose name Dask
cuts has its last task's key; an input that Dask writes as an alias without a name is a reference
here; and a name of a task in a set or a named tuple is an input even if nothing else needs it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import product
from operator import itemgetter
from types import EllipsisType, NoneType
from typing import Any

from dask import config
from dask.core import flatten

from spanwise.graph.private_dask import (
    Alias,
    ArrayNames,
    DataNode,
    Dict,
    GraphNode,
    HLGExpr,
    HLGExprSequence,
    List,
    Task,
    TaskRef,
    array_names,
    convert_legacy_task,
    execute_subgraph,
    parse_input,
)

Key = Any
Graph = dict[Key, GraphNode]

_NO_KEYS: frozenset[Key] = frozenset()
_NEW_TASK = Task.__new__
#: Arguments of these types stand for themselves, and tuples of them.
_PLAIN = frozenset({slice, NoneType, EllipsisType, type})
#: The same where no key is a number.
_PLAIN_WITH_NUMBERS = _PLAIN | {int, float, bool}
#: Kinds of nodes that may be fused.
_FUSED_KINDS = frozenset({Task, Alias, DataNode})
_SEVERAL = object()
#: Dask cuts longer names of lines, and two may have one then.
_LONGEST_NAME = 115


def array_graph(expression: Any) -> Graph | None:
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
    graph: Graph = {}
    for each in parts:
        made = _optimised(each.hlg, list(flatten(each.__dask_keys__())), names)
        if made is None:
            return None
        graph.update(made)
    return graph


def _optimised(layered: Any, keys: list[Key], names: ArrayNames) -> Graph | None:
    layered = names.fuse_roots(names.optimize_blockwise(layered, keys=keys), keys=keys)
    kinds = {type(each) for each in layered.layers.values()}
    if not kinds <= names.layers:
        return None
    walk = _Walk(layered.layers.values(), names)
    nodes, lines = walk.nodes_for(keys)
    graph = _fuse(nodes, lines, set(keys), names)
    # Blocks of a layer share their parts, which this looks through, and changes where they are.
    fused = {}
    for key, node in graph.items():
        if type(node) is Task and node.func is execute_subgraph:
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


def new_task(
    key: Key,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    inputs: frozenset[Key],
    produces_data: bool = False,
) -> Task:
    """A task whose inputs are known: Dask's constructor would look for them."""
    made = _NEW_TASK(Task)
    made.key = key
    made.func = function
    made.args = arguments
    made.kwargs = keywords
    made._dependencies = inputs
    made._is_coro = made._token = made._repr = None
    made._data_producer = produces_data
    return made


class _Blocks:
    """A blockwise layer, whose tasks are made one by one."""

    __slots__ = (
        "_dummies",
        "_fillings",
        "_places",
        "_ranges",
        "_task",
        "_wanted",
    )

    def __init__(self, layer: Any, names: ArrayNames) -> None:
        concatenate = names.concatenate_axes if layer.concatenate is True else layer.concatenate
        dims = layer.dims
        maps, axes, self._dummies = names.coord_mapping(
            dims, layer.output_indices, layer.numblocks, layer.indices, concatenate
        )
        task = self._task = layer.task
        self._ranges = [range(dims[index]) for index in layer.output_indices]
        self._wanted = layer.output_blocks or None
        #: Token of an input → what stands in its place, by the block's coordinates.
        self._fillings: dict[Key, Callable[[tuple[Any, ...]], Any]] = {}
        for number, ((given, index), at, along) in enumerate(
            zip(layer.indices, maps, axes, strict=True)
        ):
            token = names.blockwise_token(number)
            if token in task.dependencies:
                self._fillings[token] = (
                    _always(token, given)
                    if index is None
                    else _by_coordinates(token, given, at, along, layer.io_deps, concatenate, names)
                )
        #: Where the arguments are that are filled in; None: also inside others.
        self._places: list[tuple[int, Callable[[tuple[Any, ...]], Any]]] | None = []
        for place, argument in enumerate(task.args):
            if type(argument) is TaskRef and argument.key in self._fillings:
                self._places.append((place, self._fillings[argument.key]))
            elif _has_inputs(argument):
                self._places = None
                break
        if type(task) is not Task or any(map(_has_inputs, task.kwargs.values())):
            self._places = None

    def has(self, key: Key) -> bool:
        """Whether a key with its name is one of its own."""
        coordinates = key[1:]
        if self._wanted is not None:
            return coordinates in self._wanted
        return len(coordinates) == len(self._ranges) and all(
            at in numbers for at, numbers in zip(coordinates, self._ranges, strict=True)
        )

    def make(self, key: Key) -> Task:
        """The task of a block."""
        task = self._task
        coordinates = key[1:] + self._dummies
        if self._places is None:
            filled = {token: fill(coordinates) for token, fill in self._fillings.items()}
            made: Task = task.substitute(filled, key=key)
            return made
        arguments = list(task.args)
        inputs = []
        for place, fill in self._places:
            found = arguments[place] = fill(coordinates)
            if isinstance(found, TaskRef):  # (as a future is)
                inputs.append(found.key)
            else:
                inputs += found.dependencies
        return new_task(
            key, task.func, tuple(arguments), task.kwargs, frozenset(inputs), task._data_producer
        )


class _Overlap:
    """A layer in which each block gets the edges of its neighbours, made one by one.

    An edge is called by where it lies: ("getitem-…", 1.1, 2) is the end of block (1, 2) along the
    first axis, (0.9, 2) its beginning.
    """

    __slots__ = ("_around", "_concatenate", "_edges", "_of", "_parts", "_whole")

    def __init__(self, layer: Any, names: ArrayNames) -> None:
        self._of = layer.name
        self._whole, self._edges = overlap_names(layer)
        self._concatenate = names.concatenate_shaped
        #: By axis and number of the block: what stands around it, and itself.
        self._around: list[list[list[float]]] = []
        #: By axis: where an edge lies → its block, and which part of it.
        self._parts: list[dict[float, tuple[int, slice]]] = []
        for axis, chunks in enumerate(layer.chunks):
            depth = layer.axes.get(axis, 0)
            before, after = depth if isinstance(depth, tuple) else (depth, depth)
            count = len(chunks)
            around: list[list[float]] = []
            parts: dict[float, tuple[int, slice]] = {}
            for block in range(count):
                found: list[float] = [block]
                parts[block] = block, slice(None, None, None)
                if before != 0 and block - 0.9 > 0:
                    found.insert(0, block - 0.9)
                    parts[block - 0.9] = block - 1, slice(-before, None)
                if after != 0 and block + 0.9 < count - 1:
                    found.append(block + 0.9)
                    parts[block + 0.9] = block + 1, slice(0, after)
                around.append(found)
            self._around.append(around)
            self._parts.append(parts)

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

    def make(self, key: Key) -> GraphNode:
        """The task of a block with its edges, or of an edge."""
        if key[0] == self._whole:
            around = [self._around[axis][int(at)] for axis, at in enumerate(key[1:])]
            edges = list(product((self._edges,), *around))
            arguments = List(*map(TaskRef, edges)), tuple(map(len, around))
            return new_task(key, self._concatenate, arguments, {}, frozenset(edges))
        found = [parts[at] for at, parts in zip(key[1:], self._parts, strict=True)]
        block = (self._of, *[number for number, _ in found])
        if block[1:] == key[1:]:
            return Alias(key, block)
        index = tuple([part for _, part in found])
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


def _has_inputs(argument: Any) -> bool:
    if isinstance(argument, GraphNode):
        return bool(argument.dependencies)
    return isinstance(argument, TaskRef)


def _always(token: Key, given: Any) -> Callable[[tuple[Any, ...]], Any]:
    """The same for every block."""
    if isinstance(given, TaskRef):
        found: Any = given
    elif isinstance(given, GraphNode):
        found = given.substitute({}, key=token)
    else:
        found = DataNode(token, given)
    return lambda coordinates: found


def _by_coordinates(
    token: Key,
    given: Any,
    at: list[int],
    along: list[int],
    own: Mapping[Key, Any],
    concatenate: Any,
    names: ArrayNames,
) -> Callable[[tuple[Any, ...]], Any]:
    """The block of an input, or the value that the layer itself has for a block.

    Parameters
    ----------
    at
        Which of the coordinates are the input's.
    along
        Axes of the input that the block has all of.
    own
        Values by block, of inputs that are no arrays.
    """
    pick = _picker(at)
    if given in own:
        values = own[given]

        def value(coordinates: tuple[Any, ...]) -> Any:
            picked = pick(coordinates)
            found = parse_input(values.get(picked, picked))
            if isinstance(found, GraphNode):
                return found.substitute({}, key=token)
            return DataNode(token, found)

        return value
    if along:

        def blocks(coordinates: tuple[Any, ...]) -> Any:
            found = names.lol_product((given,), pick(coordinates), as_taskref=True)
            return Task(token, concatenate, found, along) if concatenate else found

        return blocks
    return lambda coordinates: TaskRef((given, *pick(coordinates)))


def _picker(at: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    if len(at) > 1:
        return itemgetter(*at)
    if at:
        (only,) = at
        return lambda coordinates: (coordinates[only],)
    return lambda coordinates: ()


class _Walk:
    """From keys to their tasks, and on to these tasks' inputs."""

    def __init__(self, layers: Iterable[Any], names: ArrayNames) -> None:
        #: Values of layers that have each of theirs.
        self._raw: dict[Key, Any] = {}
        #: By name, layers that make theirs.
        self._made: dict[Key, _Blocks | _Overlap] = {}
        for each in layers:
            if type(each) is names.Blockwise:
                self._made[each.output] = _Blocks(each, names)
            elif is_overlap(each):
                overlap = _Overlap(each, names)
                self._made.update(dict.fromkeys(overlap.names, overlap))
            else:
                # Asked one by one, a layer would look for its tasks each time.
                self._raw.update(each._dict if type(each) is names.Overlap else each.mapping)
        has_numbers = not {str, tuple}.issuperset(map(type, self._raw))
        self._plain = _PLAIN if has_numbers else _PLAIN_WITH_NUMBERS

    def __contains__(self, key: Key) -> bool:
        """Whether it is a key of the graph; raises TypeError for what can be none."""
        if key in self._raw:
            return True
        made = self._made.get(key[0]) if type(key) is tuple and key else None
        return made is not None and made.has(key)

    def nodes_for(self, keys: Iterable[Key]) -> tuple[Graph, list[tuple[Key, Key]]]:
        """The tasks that these keys need.

        Returns
        -------
        nodes
            By key.
        lines
            Pairs of keys: the second names the first as its only input, and no other does so.
        """
        nodes: Graph = {}
        raw = self._raw
        made_by = self._made
        #: Input → its user.
        user_of: dict[Key, Any] = {}
        lone: list[tuple[Key, Key]] = []
        work = list(keys)
        while work:
            key = work.pop()
            if key in nodes:
                continue
            if key in raw:
                node = self._converted(key, raw[key])
                if node is None:
                    continue
            else:
                layer = made_by.get(key[0]) if type(key) is tuple and key else None
                if layer is None:
                    continue  # the result of another graph
                node = layer.make(key)
            nodes[key] = node
            inputs = node._dependencies
            for each in inputs:
                if each in user_of:
                    user_of[each] = _SEVERAL
                else:
                    user_of[each] = key
                    work.append(each)
            if len(inputs) == 1:
                lone.append((each, key))
        return nodes, [pair for pair in lone if user_of[pair[0]] is not _SEVERAL]

    def _converted(self, key: Key, value: Any) -> GraphNode | None:
        """The node of a value in whichever form; None: it is known elsewhere by its key."""
        if type(value) is tuple and value and callable(value[0]):
            arguments = tuple([self._argument(each) for each in value[1:]])
            inputs: set[Key] = set()
            for each in arguments:
                if isinstance(each, TaskRef):
                    inputs.add(each.key)
                elif isinstance(each, GraphNode):
                    inputs |= each.dependencies
            return new_task(key, value[0], arguments, {}, frozenset(inputs) or _NO_KEYS)
        node = convert_legacy_task(key, value, self)
        if type(node) is Alias and node.target == key:
            return None
        return node if isinstance(node, GraphNode) else DataNode(key, node)

    def _argument(self, value: Any) -> Any:
        kind = type(value)
        if kind in self._plain:
            return value
        if kind is dict:
            return Dict(value)
        if kind is tuple:
            if not (value and callable(value[0])):
                try:
                    if value in self:
                        return TaskRef(value)
                except TypeError:
                    pass  # it holds what cannot be part of a key
                if self._plain.issuperset(map(type, value)):
                    return value
        elif kind is list:
            return self._list(value)
        found = convert_legacy_task(None, value, self)
        return TaskRef(found.target) if type(found) is Alias else found

    def _list(self, values: list[Any]) -> Any:
        """A list as an argument; mostly it holds keys."""
        items = []
        holds_inputs = False
        for each in values:
            found = each if type(each) is dict else self._argument(each)
            items.append(found)
            holds_inputs = holds_inputs or isinstance(found, (TaskRef, GraphNode))
        return List(*items) if holds_inputs else items


def _fuse(
    nodes: Graph, lines: Iterable[tuple[Key, Key]], wanted: Container[Key], names: ArrayNames
) -> Graph:
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
    for key in next_of:
        if key in within:
            continue
        line = []
        while key in next_of:
            line.append(graph.pop(key))
            key = next_of[key]
        line.append(graph.pop(key))
        name = _line_name([each.key for each in line], names)
        if name in graph or name in nodes:
            name = key
        graph[name] = Task.fuse(*line, key=name)
        if name != key:
            graph[key] = Alias(key, name)
    return graph


def _line_name(keys: list[Key], names: ArrayNames) -> Key:
    """What Dask calls a line; where it has no name, or cuts it, the last key is the line's."""
    name = names.fused_key(keys)
    text = name[0] if type(name) is tuple else name
    return keys[-1] if text is None or len(text) > _LONGEST_NAME else name


def _may_be_fused(node: GraphNode) -> bool:
    return type(node) in _FUSED_KINDS or not node.block_fusion
