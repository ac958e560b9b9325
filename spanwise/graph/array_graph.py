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

import operator
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
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
from spanwise.graph.rows import LinePattern, Pattern, Row, node_of, nodes_of

Key = Any
Graph = dict[Key, GraphNode]

_NO_KEYS: frozenset[Key] = frozenset()
_NEW_TASK = Task.__new__
#: Arguments of these types stand for themselves, and tuples of them.
_PLAIN = frozenset({slice, NoneType, EllipsisType, type})
#: The same where no key is a number.
_PLAIN_WITH_NUMBERS = _PLAIN | {int, float, bool}
#: Kinds of nodes that may be fused.
_FUSED_KINDS = frozenset({Task, Alias, DataNode, tuple})
_SEVERAL = object()
#: Dask cuts longer names of lines, and two may have one then.
_LONGEST_NAME = 115


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
    walk = _Walk(layered.layers.values(), names)
    nodes, lines = walk.nodes_for(keys)
    graph = _fuse(nodes, lines, set(keys), names)
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
        "_is_getter",
        "_pattern",
        "_places",
        "_ranges",
        "_repeating",
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
        self._fillings: dict[Key, _Filling] = {}
        for number, ((given, index), at, along) in enumerate(
            zip(layer.indices, maps, axes, strict=True)
        ):
            token = names.blockwise_token(number)
            if token in task.dependencies:
                self._fillings[token] = (
                    _Always(token, given)
                    if index is None
                    else _filling(token, given, at, along, layer.io_deps, concatenate, names)
                )
        #: Where the arguments are that are filled in; None: also inside others.
        self._places: list[tuple[int, _Filling]] | None = []
        for place, argument in enumerate(task.args):
            if type(argument) is TaskRef and argument.key in self._fillings:
                self._places.append((place, self._fillings[argument.key]))
            elif _has_inputs(argument):
                self._places = None
                break
        if type(task) is not Task or any(map(_has_inputs, task.kwargs.values())):
            self._places = None
        #: Of its rows; None: it makes tasks.
        self._pattern: Pattern | None = None
        #: The same of those that need an input twice, by which of their inputs these are.
        self._repeating: dict[tuple[int, ...], Pattern] = {}
        if (
            self._places is not None
            and all(each.gives_rows for _, each in self._places)
            # (Dask joins some of them, and changes the task)
            and not (task.func is execute_subgraph and _calls_any(task, names.getters))
        ):
            self._is_getter = _calls_any(task, names.getters)
            self._pattern = self._new_pattern()

    def has(self, key: Key) -> bool:
        """Whether a key with its name is one of its own."""
        coordinates = key[1:]
        if self._wanted is not None:
            return coordinates in self._wanted
        return len(coordinates) == len(self._ranges) and all(
            map(operator.contains, self._ranges, coordinates)
        )

    def make(self, key: Key) -> Task | Row:
        """The task of a block, as a row if it can be."""
        pattern = self._pattern
        if pattern is None:
            return self._task_of(key)
        coordinates = key[1:] + self._dummies
        inputs: list[Key] = []
        literals: list[Any] = []
        for _, filling in self._places:  # type: ignore[union-attr]
            if not filling.add(coordinates, inputs, literals):
                return self._task_of(key)
        if len(inputs) > 1 and len(set(inputs)) < len(inputs):
            places = tuple([inputs.index(each) for each in inputs])
            pattern = self._repeating.get(places)
            if pattern is None:
                pattern = self._repeating[places] = self._new_pattern()
            inputs = list(dict.fromkeys(inputs))
        return pattern, tuple(inputs), tuple(literals), key

    def _new_pattern(self) -> Pattern:
        # (it does not refer to this object, which refers to it: nobody would find them)
        assert self._places is not None
        return Pattern(
            partial(_node_of_block, self._task, self._places, self._dummies), self._is_getter
        )

    def _task_of(self, key: Key) -> Task:
        if self._places is not None:
            return _filled(self._task, self._places, key, key[1:] + self._dummies, None)
        coordinates = key[1:] + self._dummies
        filled = {token: filling.node(coordinates) for token, filling in self._fillings.items()}
        made: Task = self._task.substitute(filled, key=key)
        return made


def _node_of_block(
    task: Task, places: list[tuple[int, _Filling]], dummies: tuple[Any, ...], row: Row
) -> Task:
    _, _, literals, key = row
    return _filled(task, places, key, key[1:] + dummies, iter(literals))


def _filled(
    task: Task,
    places: list[tuple[int, _Filling]],
    key: Key,
    coordinates: tuple[Any, ...],
    literals: Iterator[Any] | None,
) -> Task:
    """A layer's task with the arguments of a block in these places.

    Parameters
    ----------
    literals
        Of the block's row, in place of its own; None: it has none.
    """
    arguments = list(task.args)
    inputs = []
    for place, filling in places:
        if literals is not None and filling.is_literal:
            found: Any = DataNode(task.args[place].key, next(literals))
        else:
            found = filling.node(coordinates)
        arguments[place] = found
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


def _has_inputs(argument: Any) -> bool:
    if isinstance(argument, GraphNode):
        return bool(argument.dependencies)
    return isinstance(argument, TaskRef)


def _calls_any(task: Task, functions: Iterable[Any]) -> bool:
    """Whether a task, or a part of a fused one, calls one of the functions."""
    if task.func is not execute_subgraph:
        return any(task.func is each for each in functions)
    return any(type(each) is Task and _calls_any(each, functions) for each in task.args[0].values())


class _Filling:
    """What stands in the place of an input of a blockwise layer's task.

    Attributes
    ----------
    gives_rows
        Whether it can add itself to a row.
    is_literal
        Whether it is one there.
    """

    __slots__ = ()
    gives_rows = True
    is_literal = False

    def node(self, coordinates: tuple[Any, ...]) -> Any:
        """The argument of the block with these coordinates."""
        raise NotImplementedError

    def add(self, coordinates: tuple[Any, ...], inputs: list[Key], literals: list[Any]) -> bool:
        """Add it to the inputs or literals of a row; False: this block can have none."""
        raise NotImplementedError


class _Always(_Filling):
    """The same for every block."""

    __slots__ = ("_found", "gives_rows")

    def __init__(self, token: Key, given: Any) -> None:
        if isinstance(given, TaskRef):
            found: Any = given
        elif isinstance(given, GraphNode):
            found = given.substitute({}, key=token)
        else:
            found = DataNode(token, given)
        self._found = found
        self.gives_rows = isinstance(found, TaskRef) or not found.dependencies

    def node(self, coordinates: tuple[Any, ...]) -> Any:
        return self._found

    def add(self, coordinates: tuple[Any, ...], inputs: list[Key], literals: list[Any]) -> bool:
        if isinstance(self._found, TaskRef):
            inputs.append(self._found.key)
        return True


class _Own(_Filling):
    """A value that the layer itself has for a block."""

    __slots__ = ("_pick", "_token", "_values")
    is_literal = True

    def __init__(self, token: Key, at: list[int], values: Mapping[Any, Any]) -> None:
        self._token = token
        self._pick = _picker(at)
        self._values = values

    def _found(self, coordinates: tuple[Any, ...]) -> Any:
        picked = self._pick(coordinates)
        return parse_input(self._values.get(picked, picked))

    def node(self, coordinates: tuple[Any, ...]) -> Any:
        found = self._found(coordinates)
        if isinstance(found, GraphNode):
            return found.substitute({}, key=self._token)
        return DataNode(self._token, found)

    def add(self, coordinates: tuple[Any, ...], inputs: list[Key], literals: list[Any]) -> bool:
        found = self._found(coordinates)
        if isinstance(found, GraphNode):
            return False
        literals.append(found)
        return True


class _Block(_Filling):
    """A block of an input."""

    __slots__ = ("_given", "_pick")

    def __init__(self, given: Key, at: list[int]) -> None:
        self._given = given
        self._pick = _picker(at)

    def node(self, coordinates: tuple[Any, ...]) -> Any:
        return TaskRef((self._given, *self._pick(coordinates)))

    def add(self, coordinates: tuple[Any, ...], inputs: list[Key], literals: list[Any]) -> bool:
        inputs.append((self._given, *self._pick(coordinates)))
        return True


class _Along(_Filling):
    """All blocks of an input along some axes, in nested lists, or concatenated."""

    __slots__ = ("_along", "_concatenate", "_given", "_pick", "_product", "_token")

    def __init__(
        self,
        token: Key,
        given: Key,
        at: list[int],
        along: list[int],
        concatenate: Any,
        names: ArrayNames,
    ) -> None:
        self._token = token
        self._given = given
        self._pick = _picker(at)
        self._along = along
        self._concatenate = concatenate
        self._product = names.lol_product

    def node(self, coordinates: tuple[Any, ...]) -> Any:
        found = self._product((self._given,), self._pick(coordinates), as_taskref=True)
        if self._concatenate:
            return Task(self._token, self._concatenate, found, self._along)
        return found

    def add(self, coordinates: tuple[Any, ...], inputs: list[Key], literals: list[Any]) -> bool:
        inputs += flatten([self._product((self._given,), self._pick(coordinates))])
        return True


def _filling(
    token: Key,
    given: Any,
    at: list[int],
    along: list[int],
    own: Mapping[Key, Any],
    concatenate: Any,
    names: ArrayNames,
) -> _Filling:
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
    if given in own:
        return _Own(token, at, own[given])
    if along:
        return _Along(token, given, at, along, concatenate, names)
    return _Block(given, at)


def _picker(at: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    if len(at) > 1:
        return itemgetter(*at)
    if at:
        (only,) = at
        return lambda coordinates: (coordinates[only],)
    return lambda coordinates: ()


#: What an argument is: a literal, an input by its number, a list of these.
_Shape = int | tuple["_Shape", ...] | None


def _node_of_call(function: Callable[..., Any], shape: tuple[_Shape, ...], row: Row) -> GraphNode:
    _, inputs, literals, key = row
    left = iter(literals)
    arguments = [next(left) if each is None else _argument_of(each, inputs) for each in shape]
    return new_task(key, function, tuple(arguments), {}, frozenset(inputs) or _NO_KEYS)


def _argument_of(shape: _Shape, inputs: tuple[Key, ...]) -> Any:
    if type(shape) is tuple:
        return List(*[_argument_of(each, inputs) for each in shape])
    return TaskRef(inputs[shape])  # type: ignore[index]


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
        self._getters = names.getters
        #: By name of the keys, function and what its arguments are: patterns of values.
        self._patterns: dict[tuple[Any, ...], Pattern] = {}
        has_numbers = not {str, tuple}.issuperset(map(type, self._raw))
        self._plain = _PLAIN if has_numbers else _PLAIN_WITH_NUMBERS

    def __contains__(self, key: Key) -> bool:
        """Whether it is a key of the graph; raises TypeError for what can be none."""
        if key in self._raw:
            return True
        made = self._made.get(key[0]) if type(key) is tuple and key else None
        return made is not None and made.has(key)

    def nodes_for(
        self, keys: Iterable[Key]
    ) -> tuple[dict[Key, GraphNode | Row], list[tuple[Key, Key]]]:
        """The tasks that these keys need.

        Returns
        -------
        nodes
            By key.
        lines
            Pairs of keys: the second names the first as its only input, and no other does so.
        """
        nodes: dict[Key, GraphNode | Row] = {}
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
            inputs: Any = node[1] if type(node) is tuple else node._dependencies  # type: ignore[union-attr]
            for each in inputs:
                if each in user_of:
                    user_of[each] = _SEVERAL
                else:
                    user_of[each] = key
                    work.append(each)
            if len(inputs) == 1:
                lone.append((each, key))
        return nodes, [pair for pair in lone if user_of[pair[0]] is not _SEVERAL]

    def _row(self, key: Key, value: tuple[Any, ...]) -> Row | None:
        """A value whose arguments are inputs, lists of them, and literals; None: it has others."""
        name = key[0] if type(key) is tuple and key else None
        if type(name) is not str:
            return None
        inputs: dict[Key, int] = {}
        literals: list[Any] = []
        shape: list[_Shape] = []
        function, *arguments = value
        for each in arguments:
            kind = type(each)
            if kind in self._plain:
                literals.append(each)
                shape.append(None)
            elif kind is list or self._is_key(each):
                found = self._shape(each, inputs)
                if found is None:
                    return None
                shape.append(found)
            elif (
                kind is tuple
                and self._plain.issuperset(map(type, each))
                and not (each and callable(each[0]))  # (else it is a call itself)
            ):
                literals.append(each)
                shape.append(None)
            else:
                return None
        arranged = tuple(shape)
        signature = name, id(function), arranged
        pattern = self._patterns.get(signature)
        if pattern is None:
            pattern = self._patterns[signature] = Pattern(
                partial(_node_of_call, function, arranged),
                any(function is each for each in self._getters),
            )
        return pattern, tuple(inputs), tuple(literals), key

    def _is_key(self, value: Any) -> bool:
        if type(value) is not tuple:
            return False
        try:
            return value in self
        except TypeError:
            return False  # it holds what cannot be part of a key

    def _shape(self, value: Any, inputs: dict[Key, int]) -> _Shape:
        """The number of an input, or those of a list's; None: it holds others, or nothing."""
        if type(value) is not list:
            return inputs.setdefault(value, len(inputs)) if self._is_key(value) else None
        numbers: list[_Shape] = []
        for each in value:
            found = self._shape(each, inputs)
            if found is None:
                return None
            numbers.append(found)
        return tuple(numbers) or None

    def _converted(self, key: Key, value: Any) -> GraphNode | Row | None:
        """The node of a value in whichever form; None: it is known elsewhere by its key."""
        if type(value) is tuple and value and callable(value[0]):
            row = self._row(key, value)
            if row is not None:
                return row
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
