"""Checks of header fields, compiled from the kinds in ``schema.json``.

A kind is a word or a map (listed in ``src/wire/schema-json.ts``).  Unknown fields are
left alone, so that a newer build may add optional ones; defaults are filled in.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from spanwise.wire.errors import BrokenFrame

#: Takes a value and its name, returns it (with defaults), raises BrokenFrame.
Check = Callable[[Any, str], Any]

_MISSING = object()


def _refuse(where: str, wanted: str, value: Any) -> BrokenFrame:
    return BrokenFrame(f"{where}: expected {wanted}, got {type(value).__name__}")


def _of_type(wanted: str, *types: type) -> Check:
    allow_flag = bool in types

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and not allow_flag):
            raise _refuse(where, wanted, value)
        return value

    return check


def _anything(value: Any, where: str) -> Any:
    return value


_WORDS: dict[str, Check] = {
    "text": _of_type("text", str),
    "flag": _of_type("true or false", bool),
    "number": _of_type("a number", int, float),
    "integer": _of_type("an integer", int),
    "bytes": _of_type("bytes", bytes, bytearray, memoryview),
    "any": _anything,
}


def compile_kind(kind: Any) -> Check:
    """The check of one kind.

    Raises
    ------
    ValueError
        `schema.json` uses a word that this build does not know.
    """
    if isinstance(kind, str) and kind in _WORDS:
        return _WORDS[kind]
    if isinstance(kind, dict):
        if "optional" in kind:
            return compile_kind(kind["optional"])
        if "nullable" in kind:
            return _nullable(compile_kind(kind["nullable"]))
        if "list" in kind:
            return _list(compile_kind(kind["list"]))
        if "texts" in kind:
            return _texts(compile_kind(kind["texts"]))
        if "map" in kind:
            return compile_fields(kind["map"])
        if "oneOf" in kind:
            return _one_of(kind["oneOf"])
        if "either" in kind:
            return _either([compile_kind(k) for k in kind["either"]])
    raise ValueError(f"schema.json: unknown kind {kind!r}")


def compile_fields(fields: dict[str, Any]) -> Check:
    """The check of a map with these fields."""
    compiled: list[tuple[str, Check, Any]] = []
    for name, kind in fields.items():
        default: Any = _MISSING
        if isinstance(kind, dict) and "optional" in kind:
            default = kind.get("default")
        compiled.append((name, compile_kind(kind), default))

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
        return value

    return check


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
