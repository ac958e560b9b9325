"""Checks of what users give: each error names the argument, the value, and what it may be."""

from __future__ import annotations

import math
import operator
from datetime import timedelta
from numbers import Real
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


def whole_of(value: Any, name: str, least: int, most: int, what: str, why: str) -> int:
    """Return a whole number within bounds.

    Parameters
    ----------
    what, why
        What the number is, and more of it for the end of the sentence.

    Raises
    ------
    TypeError, ValueError
    """
    sentence = f"{name} is a {what} from {least} to {most:,}, not {shown(value)}: {why}"
    if isinstance(value, bool):
        raise TypeError(sentence)
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(sentence) from None
    if not least <= found <= most:
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
