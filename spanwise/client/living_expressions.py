"""Dask's living expressions: one that is made again, or comes in a value, is the living one.

Dask tells them apart by their tokens, and drops what the new one holds. That must not be where
the living one holds futures that were released. It is looked into when Dask asks whether there
is one: so it does not matter when it was made, nor of what. It stays in Dask's dictionary until
another one takes its name, as Dask asks first and takes afterwards, and a thread may come
between; who has it can go on using it.
"""

from __future__ import annotations

import threading
import weakref
from functools import partial
from typing import Any, Protocol

from dask.highlevelgraph import HighLevelGraph, Layer

from spanwise.graph.private_dask import DataNode, Expr, SingletonExpr, Task


class Releasable(Protocol):
    """What may be released, once and for all."""

    #: Whether an expression is known to hold it: its release is counted.
    _is_held: bool

    @property
    def _is_released(self) -> bool: ...


class Releases:
    """Calls of `release` in this process, by number."""

    #: The kinds of what may be released.
    kinds: tuple[type[Any], ...] = ()
    #: The last one of all, and the last one of what an expression was known to hold.
    last = last_held = 0


class _Here(threading.local):
    #: Whether this thread looks into an expression: what is in it may make others.
    is_looking = False


_HERE = _Here()
#: Where an expression keeps its `_Held`: with it, that goes as well.
_HELD = "_spanwise_held"


class _Held:
    """What is in an expression. It is looked for once: expressions do not change."""

    __slots__ = ("checked", "inner", "is_useless", "releasable")

    def __init__(self, releasable: list[Releasable], inner: list[Expr], is_useless: bool) -> None:
        self.releasable = releasable
        self.inner = inner
        #: Whether some of it was released, or cannot be told of.
        self.is_useless = is_useless
        #: The last release after which it was not.
        self.checked = -1


class _Living(weakref.WeakValueDictionary[str, SingletonExpr]):
    """Has only what may stand in for a new one; what else is there can still be got."""

    def __contains__(self, name: object) -> bool:
        found = self.get(name)  # type: ignore[call-overload]
        if found is None:
            return False
        if not Releases.last or _HERE.is_looking:
            return True
        _HERE.is_looking = True
        try:
            return not _is_useless(found)
        finally:
            _HERE.is_looking = False


class _OfEachClass:
    """Gives a class its dictionary, as `SingletonExpr` would."""

    def __get__(self, instance: SingletonExpr | None, owner: type[SingletonExpr]) -> _Living:
        found = vars(owner).get("_instances")
        if not isinstance(found, _Living):
            found = owner._instances = _Living()
        return found


def _have_dask_ask() -> None:
    """Have all dictionaries of living expressions be ours, also those that are there."""
    if "_instances" not in vars(SingletonExpr):
        SingletonExpr._instances = _OfEachClass()  # type: ignore[assignment]
    seen: set[type] = set()
    pending: list[type] = [SingletonExpr]
    while pending:
        kind = pending.pop()
        if kind not in seen:
            seen.add(kind)
            pending += kind.__subclasses__()
            living = vars(kind).get("_instances")
            if type(living) is weakref.WeakValueDictionary:
                living.__class__ = _Living


def _is_useless(expression: Expr) -> bool:
    """Whether something in an expression was released. They are deep: no recursion."""
    last = Releases.last_held  # (before anything is looked at)
    entered: set[int] = set()
    pending = [expression]
    while pending:
        held = _held(pending[-1])
        if not held.is_useless and held.checked != last:
            inner = [_held(each) for each in held.inner]
            if not any(each.is_useless for each in inner) and id(held) not in entered:
                entered.add(id(held))  # (one that is in itself is entered once)
                unknown = [
                    each
                    for each, its in zip(held.inner, inner, strict=True)
                    if its.checked != last and id(its) not in entered
                ]
                if unknown:
                    pending += unknown
                    continue
            if any(each.is_useless for each in inner) or _are_released(held):
                held.is_useless = True  # (never back: another thread may have looked later)
            held.checked = last
        pending.pop()
    return _held(expression).is_useless


def _are_released(held: _Held) -> bool:
    """Whether some of what an expression itself holds were released."""
    return any(each._is_released for each in held.releasable)


def _held(expression: Expr) -> _Held:
    found = vars(expression).get(_HELD)
    if not isinstance(found, _Held):
        releasable: list[Releasable] = []
        inner: list[Expr] = []
        try:
            _look(expression.operands, releasable, inner)
            is_useless = False
        except Exception:  # noqa: BLE001 (a collection of the user raises any)
            is_useless = True
        # (one for all threads)
        held: _Held = vars(expression).setdefault(_HELD, _Held(releasable, inner, is_useless))
        return held
    return found


def _look(operands: list[Any], releasable: list[Releasable], inner: list[Expr]) -> None:
    """Find what may be released in an expression itself, and the expressions in it."""
    # Held meanwhile: the number of one that is gone would be given again.
    seen: dict[int, Any] = {}
    pending = [*operands]
    while pending:
        value = pending.pop()
        if isinstance(value, (str, int, float, type)) or value is None:
            continue
        if isinstance(value, Releases.kinds):
            value._is_held = True  # (before anybody asks whether it was released)
            releasable.append(value)
        elif isinstance(value, Expr):
            inner.append(value)
        elif id(value) not in seen:
            seen[id(value)] = value
            pending += _parts(value)


def _parts(value: Any) -> Any:
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if isinstance(value, Task):
        return [*value.args, *value.kwargs.values()]
    if isinstance(value, DataNode):
        return [value.value]
    if type(value) is partial:
        return [*value.args, *value.keywords.values()]
    if hasattr(type(value), "__dask_graph__"):
        # Not the graph of what has an expression: it would be lowered for it.
        expression = getattr(value, "expr", None)
        return [expression if isinstance(expression, Expr) else value.__dask_graph__()]
    # No other mapping: its values may be all files of a bucket.
    if isinstance(value, (dict, HighLevelGraph, Layer)):
        return value.values()
    return ()


_have_dask_ask()
