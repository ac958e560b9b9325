"""Takes a graph node apart: a pattern shared by many tasks, and this task's own values.

::

    Task(key, add, TaskRef("x"), 1)      shape: (add, slots (0, -1))
                                         inputs: ["x"]     literals: [1]

Two tasks of one shape share a template. Fused tasks become several parts; a node that
cannot be taken apart (a subclass of Dask's nodes with its own way to run) is kept
whole, as a literal that is called with its inputs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from spanwise.graph.cull import inputs_of
from spanwise.graph.private_dask import (
    Alias,
    DataNode,
    Dict,
    GraphNode,
    List,
    NestedContainer,
    Set,
    Task,
    TaskRef,
    Tuple,
    execute_subgraph,
    prohibited_reuse,
)
from spanwise.graph.template import Call, Part, Run, Slot, Template, identity

Key = Any
Place = Slot | Run | Call

#: Containers that a template can rebuild by calling the type with a list.
_REBUILT = {List: list, Tuple: tuple, Set: set}

#: Above this many inputs consecutive slots become one Run, so that a merge of
#: 25,000 tasks has a template of two integers.
_RUN_FROM = 8


class PartNames(Protocol):
    """Names and spans of the parts of fused tasks."""

    def part(self, key: Key) -> tuple[str, int]:
        """The function name and the span id of an inner key."""


class Shape:
    """One task, taken apart.

    Attributes
    ----------
    signature
        Equal for tasks that may share a template.
    inputs
        Keys of the inputs, in the order of the slots.
    literals
        This task's own values.
    build
        Makes the template; called once per signature.
    fused
        Whether the template has parts.
    """

    __slots__ = ("signature", "inputs", "literals", "build", "fused")

    def __init__(
        self,
        signature: Hashable,
        inputs: list[Key],
        literals: list[Any],
        build: Callable[[], Template],
        fused: bool = False,
    ) -> None:
        self.signature = signature
        self.inputs = inputs
        self.literals = literals
        self.build = build
        self.fused = fused


class _Reader:
    """Gives slots to the inputs and literals of one task while its node is read."""

    __slots__ = ("inputs", "literals", "known")

    def __init__(self) -> None:
        self.inputs: list[Key] = []
        self.literals: list[Any] = []
        #: Input → its index in `inputs`.
        self.known: dict[Key, int] = {}

    def input(self, key: Key) -> Place:
        index = self.known.get(key)
        if index is None:
            index = self.known[key] = len(self.inputs)
            self.inputs.append(key)
        return Slot(index)

    def new_inputs(self, keys: list[Key]) -> Run | None:
        """All of `keys` at once, if there are many and each is met for the first time."""
        first = len(self.inputs)
        found = dict(zip(keys, range(first, first + len(keys)), strict=True))
        if (
            len(keys) < _RUN_FROM
            or len(found) < len(keys)
            or not found.keys().isdisjoint(self.known)
        ):
            return None
        self.known.update(found)
        self.inputs += keys
        return Run(first, first + len(keys))

    def literal(self, value: Any) -> Place:
        self.literals.append(value)
        return Slot(~(len(self.literals) - 1))


class _Scope:
    """Resolves keys inside one (possibly nested) fused task."""

    __slots__ = ("reader", "places")

    def __init__(self, reader: _Reader, places: dict[Key, Place] | None) -> None:
        self.reader = reader
        self.places = places

    def find(self, key: Key) -> Place:
        if self.places is not None:
            found = self.places.get(key)
            if found is not None:
                return found
        return self.reader.input(key)


class NotSeparable(Exception):
    """The node has its own way to run; it must be kept whole."""


def shape_of(node: GraphNode, names: PartNames) -> Shape:
    """Take one graph node apart.

    Parameters
    ----------
    node
        No Alias, which never runs, and no DataNode, which is one literal.
    names
        Asked for each part of a fused task.
    """
    try:
        if _inner_of(node) is not None:
            return _fused_shape(node, names)
        return _plain_shape(node)
    except NotSeparable:
        return _whole_shape(node)


def _plain_shape(node: GraphNode) -> Shape:
    reader = _Reader()
    function, places, keywords = _read_call(node, _Scope(reader, None))
    order = _order_of(places) if not keywords else None

    def build() -> Template:
        if order is not None:
            return Template(function, order)
        return Template(function, None, places, keywords)

    signature = (id(function), _describe(places), _describe_keywords(keywords))
    return Shape(signature, reader.inputs, reader.literals, build)


def _whole_shape(node: GraphNode) -> Shape:
    inputs = list(node.dependencies)
    places = (Slot(-1), Slot(-2), Run(0, len(inputs)))
    return Shape(
        ("whole", len(inputs)),
        inputs,
        [_plain_references(node), inputs],
        lambda: Template(run_whole, None, places),
    )


def _plain_references(value: Any) -> Any:
    """The node with references in place of futures, which stay with the client."""
    if isinstance(value, TaskRef):
        return TaskRef(value.key)
    if not isinstance(value, Task):
        return value
    plain = copy.copy(value)
    plain.args = tuple(_plain_references(each) for each in value.args)
    plain.kwargs = {name: _plain_references(each) for name, each in value.kwargs.items()}
    if value.func is execute_subgraph:
        inner = {key: _plain_references(each) for key, each in value.args[0].items()}
        plain.args = (inner, *plain.args[1:])
    return plain


def run_whole(node: GraphNode, keys: list[Key], values: list[Any]) -> Any:
    """Run a node that was not taken apart."""
    return node(dict(zip(keys, values, strict=True)))


# -- one call --------------------------------------------------------------


def _read_call(
    node: GraphNode, scope: _Scope
) -> tuple[Callable[..., Any], tuple[Place, ...], dict[str, Place] | None]:
    """Function, positional places and keyword places of a node."""
    if isinstance(node, NestedContainer):
        return identity, (_read_place(node, scope),), None
    if type(node) is not Task and not _runs_like_task(node):
        raise NotSeparable
    places = tuple(_read_place(argument, scope) for argument in node.args)
    keywords = None
    if node.kwargs:
        keywords = {k: _read_place(value, scope) for k, value in node.kwargs.items()}
    return node.func, places, keywords


def _runs_like_task(node: GraphNode) -> bool:
    """Subclasses that only add fields, such as the barriers of a shuffle."""
    return isinstance(node, Task) and type(node).__call__ is Task.__call__


def _read_place(argument: Any, scope: _Scope) -> Place:
    if isinstance(argument, TaskRef):
        return scope.find(argument.key)
    if not isinstance(argument, GraphNode):
        return scope.reader.literal(argument)
    if isinstance(argument, Alias):
        return scope.find(argument.target)
    if isinstance(argument, DataNode):
        return scope.reader.literal(argument.value)
    if isinstance(argument, Dict):
        items = [_read_place(item, scope) for item in argument.args]
        pairs = tuple(
            Call(tuple, (items[i], items[i + 1]), container=True) for i in range(0, len(items), 2)
        )
        return Call(dict, pairs, container=True)
    rebuilt = _REBUILT.get(type(argument))
    if rebuilt is not None:
        if scope.places is None and all(type(item) is TaskRef for item in argument.args):
            inputs = scope.reader.new_inputs([item.key for item in argument.args])
            if inputs is not None:
                return inputs if rebuilt is list else Call(rebuilt, (inputs,))
        places = [_read_place(item, scope) for item in argument.args]
        run = _as_run(places)
        if run is not None:
            return run if rebuilt is list else Call(rebuilt, (run,))
        return Call(rebuilt, tuple(places), container=True)
    if _inner_of(argument) is not None:
        raise NotSeparable
    function, arguments, keywords = _read_call(argument, scope)
    return Call(function, arguments, keywords)


def _as_run(places: list[Place]) -> Run | None:
    if len(places) < _RUN_FROM:
        return None
    first = places[0]
    if not isinstance(first, Slot) or first.index < 0:
        return None
    for offset, place in enumerate(places):
        if not isinstance(place, Slot) or place.index != first.index + offset:
            return None
    return Run(first.index, first.index + len(places))


def _order_of(places: tuple[Place, ...]) -> tuple[int, ...] | None:
    if all(type(place) is Slot for place in places):
        return tuple(place.index for place in places)  # type: ignore[union-attr]
    return None


def _describe(places: tuple[Place, ...]) -> Hashable:
    return tuple(_describe_place(place) for place in places)


def _describe_place(place: Place) -> Hashable:
    if isinstance(place, Slot):
        return place.index
    if isinstance(place, Run):
        return ("run", place.start, place.stop)
    return (
        id(place.function),
        place.container,
        _describe(place.arguments),
        _describe_keywords(place.keywords),
    )


def _describe_keywords(keywords: dict[str, Place] | None) -> Hashable:
    if not keywords:
        return None
    return tuple((name, _describe_place(place)) for name, place in keywords.items())


# -- fused tasks -----------------------------------------------------------


def _inner_of(node: Any) -> Task | None:
    """The fused task that a node is, or only hands on; None for other nodes."""
    while isinstance(node, Task):
        if node.func is execute_subgraph:
            return node
        if node.func is not prohibited_reuse or len(node.args) != 1:
            return None
        node = node.args[0]
    return None


class _Parts:
    """Parts of one fused task while it is flattened."""

    __slots__ = ("reader", "names", "count", "found")

    def __init__(self, reader: _Reader, names: PartNames, inputs: list[Key]) -> None:
        self.reader = reader
        self.names = names
        for key in inputs:
            reader.input(key)
        self.count = len(inputs)
        #: function, places, keywords, name, span
        self.found: list[tuple[Any, tuple[Place, ...], Any, str, int]] = []

    def flatten(self, node: Task, outer: _Scope, walk: _Walk) -> Place:
        """Append the parts of `node`; return the place of its result."""
        inner, result, inner_keys, *arguments = node.args
        places = {
            key: _read_place(argument, outer)
            for key, argument in zip(inner_keys, arguments, strict=True)
        }
        scope = _Scope(self.reader, places)
        for key in walk.inside:
            places[key] = self._add(key, inner[key], scope)
        return places[result]

    def _add(self, key: Key, node: GraphNode, scope: _Scope) -> Place:
        if isinstance(node, Alias):
            return scope.find(node.target)
        if isinstance(node, DataNode):
            return self.reader.literal(node.value)
        fused = _inner_of(node)
        if fused is not None:
            return self.flatten(fused, scope, _Walk(fused))
        function, places, keywords = _read_call(node, scope)
        name, span = self.names.part(key)
        self.found.append((function, places, keywords, name, span))
        return Slot(self.count + len(self.found) - 1)


class _Walk:
    """The way through a fused task that goes by the order of arguments.

    Dask writes sets and what it has sorted by hashes: these have another order in each block
    of a layer, whose blocks are to share one template.

    Attributes
    ----------
    inside
        Keys of the parts that the result needs, inputs first.
    outside
        Other keys that these name, as they are met.
    """

    __slots__ = ("inside", "outside")

    def __init__(self, fused: Task) -> None:
        inner, result = fused.args[:2]
        self.inside: dict[Key, None] = {}
        self.outside: dict[Key, None] = {}
        opened: set[Key] = set()
        stack = [(result, False)]
        while stack:
            key, expanded = stack.pop()
            if key in self.inside:
                continue
            if key not in inner:
                self.outside[key] = None
                continue
            if expanded:
                self.inside[key] = None
                continue
            node = inner[key]
            if key in opened or not isinstance(node, GraphNode):
                raise NotSeparable  # parts that need each other, or are none: the task's own error
            opened.add(key)
            stack.append((key, True))
            stack.extend((each, False) for each in reversed(list(inputs_of(node))))


def _fused_shape(node: GraphNode, names: PartNames) -> Shape:
    fused = _inner_of(node)
    assert fused is not None
    reader = _Reader()
    walk = _Walk(fused)
    parts = _Parts(reader, names, _inputs_of(fused, walk))
    result = parts.flatten(fused, _Scope(reader, None), walk)
    if len(reader.inputs) != parts.count or not isinstance(result, Slot):
        raise NotSeparable  # an input that the node does not declare
    if result.index < parts.count:
        # Nothing but aliases: hand the input, or the literal, on.
        order = (result.index,)
        return Shape(
            ("identity", order),
            reader.inputs,
            reader.literals,
            lambda: Template(identity, order),
        )
    # A task has the result of its last part. Another's comes where the result is an alias: what
    # was handed to a nested graph that does not use it stands behind, and need not run.
    found = parts.found = parts.found[: result.index - parts.count + 1]
    signature = (
        "fused",
        parts.count,
        tuple(
            (id(function), _describe(places), _describe_keywords(keywords), name, span)
            for function, places, keywords, name, span in found
        ),
    )
    return Shape(signature, reader.inputs, reader.literals, lambda: _template(parts), True)


def _inputs_of(fused: Task, walk: _Walk) -> list[Key]:
    """Its inputs in the order in which its parts need them, then those that none needs."""
    given = dict(zip(fused.args[2], fused.args[3:], strict=True))
    ordered: dict[Key, None] = {}
    for inner_key in (*walk.outside, *given):
        argument = given.get(inner_key)
        if isinstance(argument, TaskRef):
            ordered[argument.key] = None
        elif isinstance(argument, GraphNode):
            ordered.update(dict.fromkeys(inputs_of(argument)))
    return list(ordered)


def _template(parts: _Parts) -> Template:
    last_use: dict[int, int] = {}
    crosses: set[int] = set()
    for position, (_, places, keywords, _, span) in enumerate(parts.found):
        for place in (*places, *(keywords or {}).values()):
            for index in _used(place):
                last_use[index] = position
                made_by = index - parts.count
                if made_by >= 0 and parts.found[made_by][4] != span:
                    crosses.add(made_by)
    drops: list[list[int]] = [[] for _ in parts.found]
    for index, position in last_use.items():
        drops[position].append(index)
    made: list[Part] = []
    for position, (function, places, keywords, name, span) in enumerate(parts.found):
        # Workers call functions with plain slots directly. A part whose result is
        # settled must go through Part.run: `order` None makes it so.
        settles = position in crosses
        order = None if keywords or settles else _order_of(places)
        made.append(
            Part(
                function,
                order,
                () if order is not None else places,
                keywords,
                name,
                span,
                tuple(drops[position]),
                settles,
            )
        )
    return Template(identity, parts=tuple(made))


def _used(place: Place) -> list[int]:
    if isinstance(place, Slot):
        return [place.index] if place.index >= 0 else []
    if isinstance(place, Run):
        return list(range(place.start, place.stop))
    inside = [*place.arguments, *(place.keywords or {}).values()]
    return [index for each in inside for index in _used(each)]
