"""Checks of header fields, compiled from the kinds in ``schema.json``.

A kind is a word or a map (listed in ``src/wire/schema-json.ts``).  Unknown fields are
left alone, so that a newer build may add optional ones; defaults are filled in.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection
from math import isfinite
from typing import Any

from spanwise.wire.errors import BrokenFrame

#: Takes a value and its name, returns it (with defaults), raises BrokenFrame.
Check = Callable[[Any, str], Any]

#: Maps and lists in each other, the header's own among them, as in ``src/wire/header-shape.ts``.
MOST_NESTED = 64

_MISSING = object()


def _refuse(where: str, wanted: str, value: Any) -> BrokenFrame:
    return BrokenFrame(f"{where}: expected {wanted}, got {type(value).__name__}")


def _of_type(wanted: str, *types: type) -> Check:
    allow_flag = bool in types

    def check(value: Any, where: str) -> Any:
        if type(value) in types:
            return value
        if not isinstance(value, types) or (isinstance(value, bool) and not allow_flag):
            raise _refuse(where, wanted, value)
        return value

    return check


def _anything(around: int) -> Check:
    """Any content that is not nested too deeply for a recursive reader.

    Where a kind is stated, the kind itself bounds the depth.

    Parameters
    ----------
    around
        How many maps and lists it lies in.
    """

    def check(value: Any, where: str) -> Any:
        if type(value) is not dict and type(value) is not list:
            return value
        level = [value] if value else []
        for _ in range(around, MOST_NESTED):
            if not level:
                return value
            # Empty ones are no level: nothing lies in them.
            level = [
                inner
                for outer in level
                for inner in (outer.values() if type(outer) is dict else outer)
                if (type(inner) is dict or type(inner) is list) and inner
            ]
        if level:
            raise BrokenFrame(f"{where}: nests more than {MOST_NESTED} maps and lists")
        return value

    return check


def _number(value: Any, where: str) -> Any:
    if type(value) not in (int, float):
        raise _refuse(where, "a number", value)
    if not isfinite(value):
        raise BrokenFrame(f"{where}: expected a number, got {value}")
    return value


def _within(inner: Check, least: float | None, most: float | None) -> Check:
    lowest = -math.inf if least is None else least
    highest = math.inf if most is None else most

    def check(value: Any, where: str) -> Any:
        if type(value) is int and lowest <= value <= highest:
            return value
        value = inner(value, where)
        if (least is not None and value < least) or (most is not None and value > most):
            raise BrokenFrame(f"{where}: expected {least} to {most}, got {value}")
        return value

    return check


_INTEGER = _of_type("an integer", int)
_WORDS: dict[str, Check] = {
    "text": _of_type("text", str),
    "flag": _of_type("true or false", bool),
    "number": _number,
    "integer": _INTEGER,
    "u16": _within(_INTEGER, 0, 2**16 - 1),
    "u32": _within(_INTEGER, 0, 2**32 - 1),
    "count": _within(_INTEGER, 0, 2**53 - 1),
    "blobOrNone": _within(_INTEGER, -1, None),
    "bytes": _of_type("bytes", bytes, bytearray, memoryview),
}


def compile_kind(kind: Any, around: int) -> Check:
    """The check of one kind.

    Parameters
    ----------
    around
        How many maps and lists it lies in, header and fields among them.

    Raises
    ------
    ValueError
        `schema.json` uses a word that this build does not know.
    """
    if kind == "any":
        return _anything(around)
    if isinstance(kind, str) and kind in _WORDS:
        return _WORDS[kind]
    if isinstance(kind, dict):
        for word in ("integer", "number"):
            if word in kind:
                return _within(_WORDS[word], *kind[word])
        if "optional" in kind:
            return compile_kind(kind["optional"], around)
        if "nullable" in kind:
            return _nullable(compile_kind(kind["nullable"], around))
        if "list" in kind:
            return _list(compile_kind(kind["list"], around + 1))
        if "texts" in kind:
            return _texts(compile_kind(kind["texts"], around + 1))
        if "map" in kind:
            return compile_fields(kind["map"], around)
        if "oneOf" in kind:
            return _one_of(kind["oneOf"])
        if "either" in kind:
            return _either([compile_kind(k, around) for k in kind["either"]])
    raise ValueError(f"schema.json: unknown kind {kind!r}")


def compile_fields(fields: dict[str, Any], around: int = 1) -> Check:
    """The check of a map with these fields, which lies in so many maps and lists."""
    compiled: list[tuple[str, Check, Any]] = []
    for name, kind in fields.items():
        default: Any = _MISSING
        if isinstance(kind, dict) and "optional" in kind:
            default = kind.get("default")
        compiled.append((name, compile_kind(kind, around + 1), default))
    count = len(compiled)
    look_over_unknown = unknown_fields(fields, around)

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _refuse(where, "a map", value)
        for name, inner, default in compiled:
            found = value.get(name, _MISSING)
            if found is not _MISSING:
                if found is None and default is None:
                    continue
                value[name] = inner(found, f"{where}.{name}")
            elif default is _MISSING:
                raise BrokenFrame(f"{where}.{name} is missing")
            else:
                value[name] = copy.copy(default)
        if len(value) != count:
            look_over_unknown(value, where)
        return value

    return check


def plain(value: Any, around: int = 0) -> Any:
    """A copy as the other side will see it: a check fills in defaults, and wants no subclasses."""
    if around <= MOST_NESTED:
        if isinstance(value, dict):
            return {name: plain(inner, around + 1) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(inner, around + 1) for inner in value]
    for kind in (int, float):
        if isinstance(value, kind) and type(value) not in (kind, bool):
            return kind(value)
    return value


def unknown_fields(known: Collection[str], around: int) -> Callable[[dict[Any, Any], str], None]:
    """A look over fields that nobody reads: they too may not nest too deeply."""
    anything = _anything(around + 1)
    names = frozenset(known)

    def look(value: dict[Any, Any], where: str) -> None:
        for name in value.keys() - names:
            anything(value[name], f"{where}.{name!s:.40}")

    return look


def _nullable(inner: Check) -> Check:
    return lambda value, where: None if value is None else inner(value, where)


def _list(inner: Check) -> Check:
    def check(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise _refuse(where, "a list", value)
        return [inner(item, where) for item in value]

    return check


def _texts(inner: Check) -> Check:
    def check(value: Any, where: str) -> Any:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise _refuse(where, "a map of texts", value)
        return {key: inner(item, where) for key, item in value.items()}

    return check


def _one_of(options: list[Any]) -> Check:
    def check(value: Any, where: str) -> Any:
        if value not in options:
            raise BrokenFrame(f"{where}: expected one of {options}, got {value!r:.60}")
        return value

    return check


def _either(kinds: list[Check]) -> Check:
    def check(value: Any, where: str) -> Any:
        for inner in kinds:
            try:
                return inner(value, where)
            except BrokenFrame:
                continue
        raise BrokenFrame(f"{where}: fits none of its kinds")

    return check
