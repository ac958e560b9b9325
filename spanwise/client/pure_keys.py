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
import sys
import types
import uuid
import weakref
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from dask.tokenize import tokenize
from dask.utils import funcname

from spanwise.bounded_map import BoundedMap
from spanwise.graph.private_dask import TaskRef

_PLAIN: frozenset[type] = frozenset({int, float, str, bytes, bool, type(None), complex})
_INEXACT: tuple[type, ...] = (float, complex)
#: Version 0 writes no references and no interning flags: equal values, equal bytes.
_MARSHAL_VERSION = 0
_CACHED_FUNCTIONS = 1_000
#: Functions with more bytes of texts around them are tokenised each time.
_CACHED_BYTES = 16 * 1024


def _are_plain(arguments: tuple[Any, ...]) -> bool:
    for argument in arguments:
        kind = type(argument)
        if kind not in _PLAIN and not (kind is tuple and _are_plain(argument)):
            return False
    return True


def surroundings(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """What a function's result may depend on besides its code, or None if unknown.

    Two equal answers mean that the function has not changed in between. Functions that
    workers import by name are taken not to change; a bound method or a callable object
    changes whenever its object does.
    """
    if is_imported(function):
        return ()
    if not isinstance(function, types.FunctionType) or function.__kwdefaults__:
        return None
    code = function.__code__
    if any(isinstance(constant, types.CodeType) for constant in code.co_consts):
        return None
    found: list[Any] = [code]
    values = [function.__globals__.get(name) for name in code.co_names]
    values += function.__defaults__ or ()
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            return None
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            # 1, 1.0 and True are equal, 0.0 and -0.0 too, and yet not the same.
            found.append((kind, repr(value) if kind in _INEXACT else value))
        elif kind is types.ModuleType or is_imported(value):
            found.append(value)
        else:
            return None
    return tuple(found)


def is_imported(value: Any) -> bool:
    """Whether a function or class is what workers find under its module and name."""
    if isinstance(value, types.BuiltinFunctionType):
        # `len` is bound to its module; `[].append` to a list, which changes.
        owner = value.__self__
        return owner is None or isinstance(owner, types.ModuleType)
    if not isinstance(value, (types.FunctionType, type)) or value.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def weak_reference(function: Callable[..., Any]) -> weakref.ref[Any] | None:
    """Tells a function from a later one with the same id, without keeping it alive."""
    try:
        return weakref.ref(function)
    except TypeError:
        return None


def _text_bytes(values: tuple[Any, ...]) -> int:
    total = 0
    for value in values:
        if isinstance(value, (str, bytes)):
            total += len(value)
        elif type(value) is tuple:
            total += _text_bytes(value)
    return total


class _Card:
    """What is known of one function."""

    __slots__ = ("function", "name", "surroundings", "token")

    def __init__(self, function: Callable[..., Any], around: tuple[Any, ...] | None) -> None:
        self.function = weak_reference(function)
        self.name = funcname(function)
        self.surroundings = around
        self.token = tokenize(function)[:16]


class PureKeys:
    """Makes keys for ``submit`` and ``map``."""

    def __init__(self) -> None:
        self._cards: BoundedMap[int, _Card] = BoundedMap(_CACHED_FUNCTIONS)

    def _card(self, function: Callable[..., Any]) -> _Card:
        around = surroundings(function)
        card = self._cards.get(id(function))
        if (
            card is not None
            and card.function is not None
            and card.function() is function
            and around is not None
            and card.surroundings == around
        ):
            return card
        card = _Card(function, around)
        if around is None or card.function is None or _text_bytes(around) > _CACHED_BYTES:
            return card
        return self._cards.keep(id(function), card)

    def head(
        self, function: Callable[..., Any], keywords: dict[str, Any], name: str | None = None
    ) -> str:
        """The beginning of the keys of calls of one function with these keywords."""
        card = self._card(function)
        if name is None:
            name = card.name
        if not keywords:
            return f"{name}-{card.token}"
        return f"{name}-{tokenize(card.token, keywords)[:16]}"

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

    def impure(self, function: Callable[..., Any], name: str | None = None) -> str:
        """A key that no other call has."""
        return f"{funcname(function) if name is None else name}-{uuid.uuid4()}"


def _stable(argument: Any) -> Any:
    """Futures count by their key: what they hold is the same for equal keys."""
    return ("future", argument.key) if isinstance(argument, TaskRef) else argument
