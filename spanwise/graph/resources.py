"""Amounts of resources, such as ``{"GPU": 1}``: of workers, and of tasks that need them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

#: The same bound in `src/wire/describe.ts`.
_MOST = 2**53 - 1


def amounts_of(given: Any, what: str = "resources") -> dict[str, float]:
    """Check amounts by name, and return them as plain numbers.

    Raises
    ------
    TypeError, ValueError
    """
    if not isinstance(given, Mapping):
        raise TypeError(f'{what} are amounts by name, such as {{"GPU": 1}}, not {given!r:.80}')
    found: dict[str, float] = {}
    for name, amount in given.items():
        is_number = isinstance(amount, Real) and not isinstance(amount, bool)
        if not (isinstance(name, str) and is_number):
            raise TypeError(
                f'{what} are numbers by name, such as {{"GPU": 1}}: '
                f"{name!r:.40} and {amount!r:.40} are not"
            )
        if not 0 <= amount <= _MOST:  # (nor NaN)
            raise ValueError(f"{what} are from 0 to 2**53: {name!r:.40} is {amount!r}")
        found[name] = amount if type(amount) is int else float(amount)
    return found


def by_key(given: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """Amounts by the keys of tasks, or None: `given` has one for all.

    A key stands for itself, a tuple of keys for each of them too, and a collection for its keys.

    Raises
    ------
    TypeError
        Some of its values are amounts, others amounts by name.
    """
    nested = [isinstance(value, Mapping) for value in given.values()]
    if not any(nested):
        return None
    if not all(nested):
        raise TypeError(
            'resources are amounts by name, {"GPU": 1}, or such amounts by the keys of tasks, '
            f"not both: {given!r:.120}"
        )
    found: dict[Any, Any] = {}
    for key, amounts in given.items():
        for each in _keys(key):
            found[each] = amounts
    return found


def _keys(key: Any) -> list[Any]:
    named = getattr(key, "__dask_keys__", None)
    if callable(named):
        return _flat(named())
    if isinstance(key, (tuple, frozenset)):
        members = [each for member in key for each in _keys(member)]
        return [key, *members] if isinstance(key, tuple) else members
    return [key]


def _flat(keys: Any) -> list[Any]:
    if isinstance(keys, list):
        return [each for member in keys for each in _flat(member)]
    return [keys]
