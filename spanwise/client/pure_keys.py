"""Keys of submitted calls: the same function and arguments give the same key.

``dask.tokenize`` costs 11-30 us. For plain arguments the bytes of ``marshal`` are as
good and cost a microsecond; everything else goes to Dask.

::

    submit(inc, 5)        "inc-3f2a…-5"        function token, then the one short int
    submit(inc, 5.0)      "inc-3f2a…-d9c0…"    digest of the marshalled arguments
    submit(f, array)      "f-77b1…"            dask.tokenize of it all
"""

from __future__ import annotations

import marshal
import types
import uuid
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from dask._task_spec import TaskRef
from dask.tokenize import tokenize
from dask.utils import funcname

_PLAIN: frozenset[type] = frozenset({int, float, str, bytes, bool, type(None), complex})
#: Version 0 writes no references and no interning flags: equal values, equal bytes.
_MARSHAL_VERSION = 0
_SIMPLE_GLOBALS: tuple[type, ...] = (*_PLAIN, types.ModuleType, types.BuiltinFunctionType, type)
_CACHED_FUNCTIONS = 1_000


def _are_plain(arguments: tuple[Any, ...]) -> bool:
    for argument in arguments:
        kind = type(argument)
        if kind not in _PLAIN and not (kind is tuple and _are_plain(argument)):
            return False
    return True


def surroundings(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """What a function's result may depend on besides its code, or None if unknown.

    Two equal answers mean that the function has not changed in between. A function
    of an importable module is taken not to change.
    """
    if not isinstance(function, types.FunctionType):
        return () if getattr(function, "__module__", None) != "__main__" else None
    if function.__module__ != "__main__" and "<locals>" not in function.__qualname__:
        return ()
    code = function.__code__
    if any(isinstance(constant, types.CodeType) for constant in code.co_consts):
        return None
    found: list[Any] = [code, function.__defaults__, function.__kwdefaults__]
    for name in code.co_names:
        value = function.__globals__.get(name)
        if not isinstance(value, _SIMPLE_GLOBALS):
            return None
        found.append(value)
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            return None
        if type(value) not in _PLAIN:
            return None
        found.append(value)
    return tuple(found)


class _Card:
    """What is known of one function."""

    __slots__ = ("function", "name", "surroundings", "token")

    def __init__(self, function: Callable[..., Any], around: tuple[Any, ...] | None) -> None:
        self.function = function
        self.name = funcname(function)
        self.surroundings = around
        self.token = tokenize(function)[:16]


class PureKeys:
    """Makes keys for ``submit`` and ``map``."""

    def __init__(self) -> None:
        self._cards: dict[int, _Card] = {}

    def _card(self, function: Callable[..., Any]) -> _Card:
        around = surroundings(function)
        card = self._cards.get(id(function))
        if (
            card is not None
            and card.function is function
            and around is not None
            and card.surroundings == around
        ):
            return card
        card = _Card(function, around)
        if len(self._cards) >= _CACHED_FUNCTIONS:
            self._cards.clear()
        self._cards[id(function)] = card
        return card

    def head(self, function: Callable[..., Any], keywords: dict[str, Any]) -> str:
        """The beginning of the keys of calls of one function with these keywords."""
        card = self._card(function)
        if not keywords:
            return f"{card.name}-{card.token}"
        return f"{card.name}-{tokenize(card.token, keywords)[:16]}"

    def key(self, head: str, arguments: tuple[Any, ...]) -> str:
        """The key of one call."""
        if len(arguments) == 1:
            only = arguments[0]
            if type(only) is int and -(10**9) < only < 10**9:
                return f"{head}-{only}"
        if _are_plain(arguments):
            packed = marshal.dumps(arguments, _MARSHAL_VERSION)
            return f"{head}-{blake2b(packed, digest_size=16).hexdigest()}"
        return f"{head}-{tokenize(*(_stable(argument) for argument in arguments))}"

    def impure(self, function: Callable[..., Any]) -> str:
        """A key that no other call has."""
        return f"{funcname(function)}-{uuid.uuid4()}"


def _stable(argument: Any) -> Any:
    """Futures count by their key: what they hold is the same for equal keys."""
    return ("future", argument.key) if isinstance(argument, TaskRef) else argument
