"""Dask's living expressions: one that is made again, or comes in a value, is the living one.

Dask tells them apart by their tokens, and drops what the new one holds.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dask.base import is_dask_collection

from spanwise.graph.private_dask import Expr, SingletonExpr, Task

Instances = weakref.WeakValueDictionary[str, SingletonExpr]


def forget_living(is_useless: Callable[[Any], bool]) -> None:
    """Have no living expression that holds something useless stand in for a new one.

    Also none that was made of such a one. Who has them can go on using them.
    """
    holds: dict[int, bool] = {}
    # Held meanwhile: the number of one that is gone would be given again.
    living = [
        (expression, instances, reference.key)
        for instances in _instances()
        for reference in instances.valuerefs()
        if (expression := reference()) is not None
    ]
    for expression, instances, name in living:
        # (another thread may have put a new one in its place)
        if _holds(expression, is_useless, holds) and instances.get(name) is expression:
            instances.pop(name, None)


def _instances() -> Iterator[Instances]:
    """Where Dask looks expressions up; most classes have their own."""
    seen: set[type] = set()
    pending: list[type] = [SingletonExpr]
    while pending:
        kind = pending.pop()
        if kind not in seen:
            seen.add(kind)
            pending += kind.__subclasses__()
            if "_instances" in vars(kind):
                yield vars(kind)["_instances"]


def _holds(expression: Expr, is_useless: Callable[[Any], bool], holds: dict[int, bool]) -> bool:
    """Whether there is something useless in an expression.

    `holds`: of the expressions that were looked at, by their id(). They are deep: no recursion.
    """
    pending = [expression]
    while pending:
        one = pending[-1]
        if id(one) in holds:
            pending.pop()
            continue
        found, inner = _look(one, is_useless)
        unknown = [] if found else [each for each in inner if id(each) not in holds]
        if unknown:
            pending += unknown
        else:
            holds[id(one)] = found or any(holds[id(each)] for each in inner)
            pending.pop()
    return holds[id(expression)]


def _look(expression: Expr, is_useless: Callable[[Any], bool]) -> tuple[bool, list[Expr]]:
    """Whether an expression itself holds something useless, and the expressions in it."""
    inner = []
    pending = [*expression.operands]
    while pending:
        value = pending.pop()
        if isinstance(value, Expr):
            inner.append(value)
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            pending += value
        elif isinstance(value, Task):
            pending += [*value.args, *value.kwargs.values()]
        elif type(value) is partial:
            pending += [*value.args, *value.keywords.values()]
        elif is_useless(value):
            return True, inner
        elif is_dask_collection(value):
            pending += value.__dask_graph__().values()
    return False, inner
