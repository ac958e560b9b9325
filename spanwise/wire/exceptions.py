"""Exceptions as they travel: each by itself, and beside them what led to which.

::

    links   (error, cause, context, suppressed, notes, places of its frames)   itself first
            (error, …)                 cause and context: numbers of other links, or -1
            …

Pickle alone keeps neither causes nor tracebacks, and a class's own way of being pickled forgets
the notes. Flat, since a chain of thousands is deeper
than pickle can go.

What pickle would make again by calling the class with `args` is made without the class's own
`__init__`: most exceptions with one take other arguments than those which they hand on.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from types import FunctionType, TracebackType
from typing import Any

from spanwise.wire.tracebacks import TRACEBACK, places_of, traceback_of

#: The rest of a longer chain, or of a larger group, is not sent.
MOST_LINKS = 100

#: Read and write attributes of an exception, whatever its class makes of these names.
CAUSE: Any = BaseException.__dict__["__cause__"]
CONTEXT: Any = BaseException.__dict__["__context__"]
SUPPRESSED: Any = BaseException.__dict__["__suppress_context__"]
_GROUPED: Any = BaseExceptionGroup.__dict__["exceptions"]

_DICT: Any = BaseException.__dict__["__dict__"]

_HEAP_TYPE = 1 << 9

Link = tuple[BaseException, int, int, bool, list[str], list[tuple[Any, ...]]]


# ── before it leaves ─────────────────────────────────────────────────────


def chain_of(error: BaseException) -> list[BaseException]:
    """An exception and all that led to it or are in its group, each once; at most MOST_LINKS."""
    found: dict[int, BaseException] = {}
    pending: list[Any] = [error]
    for one in pending:
        if one is None or id(one) in found:
            continue
        if len(found) == MOST_LINKS:
            break
        found[id(one)] = one
        pending += (CAUSE.__get__(one), CONTEXT.__get__(one))
        if issubclass(type(one), BaseExceptionGroup):
            pending += _GROUPED.__get__(one)
    return list(found.values())


def links_of(
    chain: list[BaseException], trim: Callable[[TracebackType | None], TracebackType | None]
) -> list[Link]:
    """The links of a chain; `trim` leaves the frames that are told."""
    numbers = {id(each): number for number, each in enumerate(chain)}
    return [
        (
            each,
            numbers.get(id(CAUSE.__get__(each)), -1),
            numbers.get(id(CONTEXT.__get__(each)), -1),
            SUPPRESSED.__get__(each),
            _notes(each),
            places_of(trim(TRACEBACK.__get__(each))),
        )
        for each in chain
    ]


def _notes(error: BaseException) -> list[str]:
    notes = _DICT.__get__(error).get("__notes__")
    return [each for each in notes if type(each) is str] if type(notes) is list else []


def reduced(error: BaseException) -> Any:
    """How to make an exception again, for a pickler; it may run code of the exception's.

    Its own way if it has one, or one was registered for it; otherwise with the same `args` and
    attributes, and without its `__init__`.
    """
    kind = type(error)
    registered = copyreg.dispatch_table.get(kind)
    if registered is not None and not registered.__module__.startswith("tblib"):
        return registered(error)
    found = error.__reduce_ex__(5)
    base = _made_of(kind)
    if base is None or type(found) is not tuple or not 2 <= len(found) <= 3 or found[0] is not kind:
        return found
    # With the attributes that the class keeps in slots, which exceptions' own way forgets.
    kept = object.__getstate__(error)  # type: ignore[attr-defined]
    slots = kept[1] if type(kept) is tuple else {}
    return rebuild, (kind, base, found[1], found[2] if len(found) == 3 else None, slots)


def _made_of(kind: type) -> type | None:
    """The class of Python's own that an exception's is made of; None if that says not all.

    That is, if a class between has a way of its own of being pickled.
    """
    base = kind
    while base.__flags__ & _HEAP_TYPE:
        base = base.__base__  # type: ignore[assignment]  # all but `object` have one
    for each in kind.__mro__:
        if not each.__flags__ & _HEAP_TYPE:
            continue
        for name in ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"):
            if name in each.__dict__:
                return None
        for name in ("__new__", "__init__"):
            made = each.__dict__.get(name)
            made = made.__func__ if isinstance(made, staticmethod) else made
            if made is not None and type(made) is not FunctionType:
                return None  # in C: what it leaves unset nobody knows
    return base


# ── when it has come ─────────────────────────────────────────────────────


def rebuild(kind: Any, base: Any, args: Any, state: Any, slots: Any) -> BaseException:
    """Make an exception as :func:`reduced` says."""
    error: BaseException = base.__new__(kind, *args)
    base.__init__(error, *args)
    if state:
        error.__setstate__(state)
    for name, value in slots.items():
        object.__setattr__(error, name, value)
    return error


def tie(links: Any) -> None:
    """Give exceptions back what led to them, and their tracebacks.

    Raises
    ------
    TypeError, ValueError, IndexError
        These are no links.
    """
    errors = [link[0] for link in links]
    for error, cause, context, suppressed, notes, places in links:
        CAUSE.__set__(error, errors[cause] if cause >= 0 else None)
        CONTEXT.__set__(error, errors[context] if context >= 0 else None)
        SUPPRESSED.__set__(error, suppressed)
        if notes:
            _DICT.__get__(error)["__notes__"] = notes
        TRACEBACK.__set__(error, traceback_of(places))
