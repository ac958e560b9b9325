"""Blocks of blockwise layers, made one by one: as rows where the layer's task stands for all."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from dask.core import flatten

from spanwise.graph.new_task import new_task
from spanwise.graph.private_dask import (
    ArrayNames,
    DataNode,
    GraphNode,
    Task,
    TaskRef,
    execute_subgraph,
    parse_input,
)
from spanwise.graph.rows import Pattern, Row

Key = Any


class Blocks:
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
