"""Finds tasks that differ in keys and literals alone: one of them is taken apart for all.

::

    Task(("add", 0), add, TaskRef(("x", 0)), Alias(("y", 0)), 1)
    Task(("add", 1), add, TaskRef(("x", 1)), Alias(("y", 1)), 2)
                     pattern: add, 3 arguments: input 0, alias of input 1, literal
                     plan: the template's number, its inputs (0, 1), its literals (0,)

A pattern is read off a node in one walk that makes no objects; taking a node apart
(:mod:`spanwise.graph.places`) costs several times as much. Which of the inputs and literals that
the walk meets stands where in the template, the plan knows from a copy of one such node, whose
literals are marks. Most patterns of small graphs are met once, so the second node of one makes its
plan.

Two nodes of one pattern are the same up to the names of keys, so taking them apart gives the same
template, and inputs and literals from the same places. What would depend on more than that has no
pattern: a :class:`Scan` then raises :class:`Odd`, and the node is taken apart by itself.

The blocks of a blockwise layer that Dask has fused share the dictionary of their parts. It is
walked through once; after that only the block's own arguments are looked at.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from spanwise.graph.cull import named_inputs
from spanwise.graph.places import PartNames, Shape, shape_of
from spanwise.graph.private_dask import (
    Alias,
    DataNode,
    Dict,
    GraphNode,
    List,
    Set,
    Task,
    TaskRef,
    Tuple,
    execute_subgraph,
    prohibited_reuse,
)
from spanwise.graph.provenance import name_of
from spanwise.graph.rows import Row

Key = Any
Pattern = tuple[Any, ...]

#: What comes next in a pattern. Numbers of keys are below these, see `_OUTER` and `_LOCAL`.
_LITERAL, _DATA, _ALIAS, _CONTAINER, _NESTED, _KEYWORDS, _FUSED, _GIVEN, _BEARING, _SHARED = (
    -number for number in range(1, 11)
)
#: Key n outside the task is `_OUTER - 2 * n`; key n inside a fused task `_LOCAL - 2 * n`.
_OUTER, _LOCAL = -11, -12
_CONTAINERS = frozenset({List, Tuple, Set, Dict})
#: Longer fused tasks are taken apart by themselves: walks into them go as deep.
_MOST_PARTS = 100
#: Dictionaries of parts that were met once and may be met again.
_MET_ONCE = 1_024


class Odd(Exception):
    """A node without a pattern: it is taken apart by itself."""


class _Parts:
    """The scope of keys inside one fused task."""

    __slots__ = ("bearing", "given", "inner", "numbers", "outer", "unmet")

    def __init__(self, inner: dict[Key, Any], given: dict[Key, Any], outer: _Parts | None) -> None:
        self.inner = inner
        self.given = given
        self.outer = outer
        self.numbers: dict[Key, int] = {}
        self.unmet = len(given)
        #: Keys whose arguments hold literals.
        self.bearing: set[Key] = set()


class Scan:
    """One walk through a node.

    Attributes
    ----------
    code
        The pattern so far.
    inputs
        Keys outside the node, as they are met, and their numbers.
    literals
        Its own values, as they are met.
    """

    __slots__ = ("code", "inputs", "literals")

    def __init__(self) -> None:
        self.code: list[Any] = []
        self.inputs: dict[Key, int] = {}
        self.literals: list[Any] = []

    def call(self, node: Task, scope: _Parts | None) -> None:
        """A node that is no fused task: its function and its arguments."""
        code = self.code
        code.append(id(node.func))
        self.places(node.args, scope)
        if node.kwargs:
            code.append(_KEYWORDS)
            code.append(tuple(node.kwargs))
            self.places(node.kwargs.values(), scope)

    def places(self, arguments: Any, scope: _Parts | None) -> None:
        """Arguments, one after the other."""
        code = self.code
        inputs = self.inputs
        code.append(len(arguments))
        for argument in arguments:
            if isinstance(argument, TaskRef):
                if scope is None:
                    code.append(_OUTER - 2 * inputs.setdefault(argument.key, len(inputs)))
                else:
                    self.reference(argument.key, scope)
            elif isinstance(argument, GraphNode):
                self.place(argument, scope)
            else:
                code.append(_LITERAL)
                self.literals.append(argument)

    def place(self, argument: GraphNode, scope: _Parts | None) -> None:
        """A node among the arguments of another."""
        code = self.code
        kind = type(argument)
        if kind is Alias:
            code.append(_ALIAS)
            self.reference(argument.target, scope)
        elif kind is DataNode:
            code.append(_DATA)
            self.literals.append(argument.value)
        elif kind in _CONTAINERS:
            code.append(_CONTAINER)
            code.append(id(kind))
            self.places(argument.args, scope)
        elif kind is Task and argument.func not in (execute_subgraph, prohibited_reuse):
            code.append(_NESTED)
            self.call(argument, scope)
        else:
            raise Odd

    def reference(self, key: Key, scope: _Parts | None) -> None:
        """A key; inside a fused task its part comes with it when it is met for the first time."""
        code = self.code
        if scope is None:
            inputs = self.inputs
            code.append(_OUTER - 2 * inputs.setdefault(key, len(inputs)))
            return
        number = scope.numbers.get(key)
        if number is not None:
            code.append(_LOCAL - 2 * number)
            return
        number = scope.numbers[key] = len(scope.numbers)
        code.append(_LOCAL - 2 * number)
        node = scope.inner.get(key)
        if node is not None:
            name = key[0] if type(key) is tuple and key else key
            if type(name) is not str:
                name = name_of(key)
                if type(name) is not str:
                    raise Odd
            code.append(name)
            self.part(node, scope)
            return
        if key not in scope.given:
            raise Odd  # an input that the node does not declare
        scope.unmet -= 1
        count = len(self.literals)
        argument = scope.given[key]
        code.append(_GIVEN)
        self.places((argument,), scope.outer)
        if len(self.literals) > count:
            scope.bearing.add(key)

    def part(self, node: GraphNode, scope: _Parts) -> None:
        """A node inside a fused task."""
        code = self.code
        kind = type(node)
        if kind is Task:
            code.append(len(node._dependencies))
            if node.func is execute_subgraph:
                self.fused(node, scope)
            elif node.func is prohibited_reuse:
                raise Odd
            else:
                self.call(node, scope)
        elif kind is Alias or kind is DataNode:
            self.place(node, scope)
        else:
            raise Odd

    def fused(self, node: Task, outer: _Parts | None) -> None:
        """A fused task, from its result on."""
        inner, result, inner_keys, *arguments = node.args
        if len(inner) > _MOST_PARTS:
            raise Odd
        scope = _Parts(inner, dict(zip(inner_keys, arguments, strict=True)), outer)
        self.code.append(_FUSED)
        self.reference(result, scope)
        if scope.unmet:
            raise Odd  # inputs that no part needs come in their own order
        if len(scope.bearing) > 1:
            # Literals of arguments are taken in the order of these.
            self.code.append(_BEARING)
            numbers = scope.numbers
            self.code += [numbers[key] for key in inner_keys if key in scope.bearing]


class _Shared:
    """A dictionary of parts that several fused tasks have."""

    __slots__ = ("inner", "inner_keys", "number", "result")

    def __init__(self, number: int, inner: dict[Key, Any], result: Key, inner_keys: Any) -> None:
        self.number = number
        self.inner = inner
        self.result = result
        self.inner_keys = inner_keys


class Plan:
    """How to take apart the tasks of a pattern.

    Attributes
    ----------
    group
        What the packer keeps for their template.
    inputs, literals
        Picks them, in the order of the template's slots, out of those met; None: as they were met.
    """

    __slots__ = ("group", "inputs", "literals")

    def __init__(
        self,
        group: Any,
        inputs: Callable[[Sequence[Key]], Sequence[Key]] | None,
        literals: Callable[[Sequence[Any]], tuple[Any, ...]] | None,
    ) -> None:
        self.group = group
        self.inputs = inputs
        self.literals = literals


#: Stands for the plan of a pattern that was met once.
_MET = Plan(None, None, None)


class Patterns:
    """The patterns of one graph.

    Ids of functions stand in them, which the graph keeps alive meanwhile.

    Parameters
    ----------
    names
        See :func:`shape_of`.
    group_of
        Gets the packer's group for a shape.
    keys_alike
        Whether keys of one name have one source. If not, only tasks that share their parts have a
        pattern, or that have none.
    """

    def __init__(
        self, names: PartNames, group_of: Callable[[Shape], Any], keys_alike: bool
    ) -> None:
        self._names = names
        self._group_of = group_of
        self._keys_alike = keys_alike
        self._plans: dict[Pattern, Plan | None] = {}
        self._met_once: dict[int, _Shared] = {}
        self._shared: dict[int, _Shared] = {}

    def take_apart(self, node: GraphNode) -> tuple[Any, Any, tuple[Any, ...]]:
        """Group, inputs and literals of a node, neither an alias nor data."""
        scan = Scan()
        plan: Plan | None = None
        try:
            pattern = self._pattern(node, scan)
        except (Odd, RecursionError):
            pass
        else:
            plans = self._plans
            if pattern in plans:
                plan = plans[pattern]
                if plan is _MET:
                    plan = plans[pattern] = self._plan(node, pattern)
            else:
                plans[pattern] = _MET  # most patterns of small graphs are met once
        if plan is None:
            shape = shape_of(node, self._names)
            return self._group_of(shape), shape.inputs, tuple(shape.literals)
        inputs: Any = scan.inputs
        if plan.inputs is not None:
            inputs = plan.inputs(list(inputs))
        if plan.literals is not None:
            return plan.group, inputs, plan.literals(scan.literals)
        return plan.group, inputs, tuple(scan.literals)

    def plan_of_row(self, row: Row) -> Plan | None:
        """How rows with the pattern of this one are taken apart; None: each as its node."""
        pattern, inputs, literals, about = row
        marks = [_Mark() for _ in literals]
        node = pattern.node((pattern, inputs, tuple(marks), about))
        if not _arguments_tell_order(node):
            return None
        shape = shape_of(node, self._names)
        if shape.signature[0] == "whole" or set(shape.inputs) != set(inputs):  # type: ignore[index]
            return None
        return Plan(
            self._group_of(shape),
            _picking([inputs.index(key) for key in shape.inputs]),
            _filling(shape.literals, {id(mark): number for number, mark in enumerate(marks)}),
        )

    def _pattern(self, node: GraphNode, scan: Scan) -> Pattern:
        if type(node) is not Task or node.func is prohibited_reuse:
            raise Odd
        if node.func is not execute_subgraph:
            scan.call(node, None)
        else:
            shared = self._shared_by(node)
            if shared is not None:
                scan.code += (_SHARED, shared.number)
                scan.places(node.args[3:], None)
            elif self._keys_alike:
                scan.fused(node, None)
            else:
                raise Odd
        return tuple(scan.code)

    def _shared_by(self, node: Task) -> _Shared | None:
        """The parts of a fused task, if another was met that has the same."""
        inner, result, inner_keys = node.args[:3]
        found = self._shared.get(id(inner))
        if found is None:
            found = self._met_once.pop(id(inner), None)
            if found is None:
                if len(self._met_once) == _MET_ONCE:
                    self._met_once.clear()
                # It keeps the dictionary: its id is nobody else's meanwhile.
                self._met_once[id(inner)] = _Shared(-1, inner, result, inner_keys)
                return None
            found.number = len(self._shared)
            self._shared[id(inner)] = found
        if found.result != result or found.inner_keys != inner_keys:
            return None
        return found

    def _plan(self, node: GraphNode, pattern: Pattern) -> Plan | None:
        """How nodes of this pattern are taken apart; None: each by itself."""
        keeps_parts = pattern[0] == _SHARED
        if not _arguments_tell_order(node):
            return None
        marked = _marked(node, keeps_parts)
        scan = Scan()
        if self._pattern(marked, scan) != pattern:
            return None
        shape = shape_of(marked, self._names)
        met = list(scan.inputs)
        if shape.signature[0] == "whole" or len(shape.inputs) != len(met):  # type: ignore[index]
            return None
        places = [scan.inputs[key] for key in shape.inputs]
        marks = {id(mark): number for number, mark in enumerate(scan.literals)}
        return Plan(self._group_of(shape), _picking(places), _filling(shape.literals, marks))


def _picking(places: list[int]) -> Callable[[Sequence[Key]], Sequence[Key]] | None:
    """Puts inputs into the order of the template; None: they are in it."""
    # There are two at least if their order is another: it gives a tuple.
    return None if places == list(range(len(places))) else itemgetter(*places)


def _filling(
    literals: list[Any], marks: dict[int, int]
) -> Callable[[Sequence[Any]], tuple[Any, ...]] | None:
    """Makes a task's literals of those met; what is no mark is the same for all tasks."""
    places = [marks.get(id(each)) for each in literals]
    if places == list(range(len(marks))):
        return None
    if None not in places:
        return itemgetter(*places)  # two at least, as of the inputs
    if not marks:
        fixed = tuple(literals)
        return lambda met: fixed
    filled = [
        None if place is not None else each for each, place in zip(literals, places, strict=True)
    ]
    own = [(at, place) for at, place in enumerate(places) if place is not None]

    def fill(met: Sequence[Any]) -> tuple[Any, ...]:
        values = filled.copy()
        for at, place in own:
            values[at] = met[place]
        return tuple(values)

    return fill


class _Mark:
    """Stands for a literal."""

    __slots__ = ()


def _marked(node: GraphNode, keeps_parts: bool) -> GraphNode:
    """A copy with marks in place of literals; `keeps_parts`: not inside a fused task."""
    if type(node) is DataNode:
        return DataNode(node.key, _Mark())
    if not isinstance(node, Task):
        return node
    made = copy.copy(node)
    if node.func is execute_subgraph:
        inner, result, inner_keys, *arguments = node.args
        if not keeps_parts:
            inner = {key: _marked(each, False) for key, each in inner.items()}
        made.args = (inner, result, inner_keys, *map(_marked_place, arguments))
        return made
    made.args = tuple(map(_marked_place, node.args))
    if type(node) not in _CONTAINERS:
        made.kwargs = {name: _marked_place(each) for name, each in node.kwargs.items()}
    return made


def _marked_place(argument: Any) -> Any:
    if isinstance(argument, TaskRef):
        return argument
    return _marked(argument, False) if isinstance(argument, GraphNode) else _Mark()


def _arguments_tell_order(node: Any) -> bool:
    """Whether nothing inside a fused task is put in order by its keys."""
    if not isinstance(node, Task) or node.func is not execute_subgraph:
        return True
    inner, _, _, *arguments = node.args
    for each in (*inner.values(), *arguments):
        if not isinstance(each, GraphNode):
            continue
        if len(each._dependencies) > 1 and named_inputs(each) is None:
            return False
        if not _arguments_tell_order(each):
            return False
    return True
