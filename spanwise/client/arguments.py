"""Checks of what users give: each error names the argument, the value, and what it may be."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

from dask.utils import parse_timedelta

from spanwise.wire.foreign import type_name


def shown(value: Any) -> str:
    """A value in an error: short, also where its own text fails."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (an object of the caller's)
        text = f"a {type_name(value)}"
    return text if len(text) <= 80 else f"{text[:79]}…"


def seconds_of(value: Any, name: str = "timeout", least: float | None = None) -> float | None:
    """Return a time in seconds; None: no limit.

    Parameters
    ----------
    value
        A number of seconds, text such as ``"500 ms"``, a timedelta, or None.
    name
        Of the argument.
    least
        The shortest; default: what is left of a time that is over counts as 0.

    Raises
    ------
    TypeError, ValueError
    """
    if value is None:
        return None
    start = "" if least is None else f" from {least:g}"
    says = f'{name} is a number of seconds{start}, text such as "30s", or None for no limit'
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number and not isinstance(value, (str, timedelta)):
        raise TypeError(f"{says}, not {shown(value)}")
    try:
        found = float(value) if is_number else float(parse_timedelta(value, "s"))
    except (TypeError, ValueError, LookupError, OverflowError):
        raise ValueError(f"{says}, not {shown(value)}") from None
    if math.isnan(found) or (least is not None and found < least):
        raise ValueError(f"{says}, not {shown(value)}")
    return None if found == math.inf else max(0.0, found)


def whole_of(value: Any, name: str, least: int, most: int | None, what: str, why: str = "") -> int:
    """Return a whole number within bounds.

    Parameters
    ----------
    most
        None: there is no bound.
    what, why
        What the number is, and more of it for the end of the sentence.

    Raises
    ------
    TypeError, ValueError
    """
    bounds = f"from {least}" if most is None else f"from {least} to {most:,}"
    sentence = f"{name} is a {what} {bounds}, not {shown(value)}"
    sentence = f"{sentence}: {why}" if why else sentence
    if isinstance(value, bool):
        raise TypeError(sentence)
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(sentence) from None
    if found < least or (most is not None and found > most):
        raise ValueError(sentence)
    return found


def flag_of(value: Any, name: str) -> bool:
    """Return whether something is so; a text such as ``"no"`` would count as yes.

    Raises
    ------
    TypeError
    """
    if value is None or isinstance(value, (bool, int)) or type_name(value) in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"{name} is True or False, not {shown(value)}")


def workers_of(given: Any) -> list[Any]:
    """Return what names workers, one or several, as a list.

    Raises
    ------
    TypeError
    """
    if isinstance(given, (str, Integral)):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray)):
        return list(given)
    raise TypeError(
        "workers is a number, name, host or address of a worker, or a list of those, not "
        f"{shown(given)}"
    )


def keys_of(given: Any, name: str) -> list[Any]:
    """Return keys of tasks, or futures in their place, as a list of keys.

    Raises
    ------
    TypeError
    """
    says = f"{name} is a list of keys of tasks, or of futures, not {shown(given)}"
    if isinstance(given, (str, bytes)) or hasattr(given, "key"):
        given = [given]
    elif not isinstance(given, Iterable):
        raise TypeError(says)
    found = [getattr(each, "key", each) for each in given]
    for each in found:
        if not is_key(each):
            raise TypeError(f"{says}: {shown(each)} is no key")
    return found


def is_key(value: Any) -> bool:
    """Whether a task could be called so."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def check_keys(keys: Iterable[Any]) -> None:
    """Look over keys that are given to new tasks.

    Raises
    ------
    TypeError
    """
    for each in keys:
        if not is_key(each):
            raise TypeError(
                f"key is a text, a number, bytes, or a tuple of those, not {shown(each)}: it is "
                "the name of a task"
            )


def check_function(given: Any, method: str) -> None:
    """Refuse what cannot be called.

    Raises
    ------
    TypeError
    """
    if not callable(given):
        raise TypeError(f"{method}() takes a function, not {shown(given)}")
