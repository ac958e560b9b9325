"""The tasks of arrays that some keys need, each made once, and pairs of them that form lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import EllipsisType, NoneType
from typing import Any

from spanwise.graph.array_blocks import Blocks
from spanwise.graph.array_overlaps import Overlap, is_overlap
from spanwise.graph.new_task import new_task
from spanwise.graph.private_dask import (
    Alias,
    ArrayNames,
    DataNode,
    Dict,
    GraphNode,
    List,
    TaskRef,
    convert_legacy_task,
)
from spanwise.graph.rows import Pattern, Row

Key = Any

_NO_KEYS: frozenset[Key] = frozenset()
#: Arguments of these types stand for themselves, and tuples of them.
_PLAIN = frozenset({slice, NoneType, EllipsisType, type})
#: The same where no key is a number.
_PLAIN_WITH_NUMBERS = _PLAIN | {int, float, bool}
_SEVERAL = object()
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


class ArrayWalk:
    """From keys to their tasks, and on to these tasks' inputs."""

    def __init__(self, layers: Iterable[Any], names: ArrayNames) -> None:
        #: Values of layers that have each of theirs.
        self._raw: dict[Key, Any] = {}
        #: By name, layers that make theirs.
        self._made: dict[Key, Blocks | Overlap] = {}
        for each in layers:
            if type(each) is names.Blockwise:
                self._made[each.output] = Blocks(each, names)
            elif is_overlap(each):
                overlap = Overlap(each, names)
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
