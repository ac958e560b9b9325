"""Retries, priorities, workers and resources of the tasks of one submission."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from numbers import Integral, Real
from typing import Any

from spanwise.graph.resources import amounts_of, by_key
from spanwise.records.enumerations import LARGEST_U16

Key = Any

#: Names of the annotations understood here; spans are handled by attribution.
UNDERSTOOD = ("retries", "priority", "workers", "allow_other_workers", "resources")


#: Numbers of workers are below this (u16 on the wire).
_WORKERS = 1 << 16
#: Different wishes of one submission, as many as the column counts.
_MOST_RESTRICTIONS = LARGEST_U16
#: The largest numbers that the columns of `submit` hold (u8, i32); larger values count as the
#: nearest of these, since nobody can tell 300 retries from 255.
_MOST_RETRIES = 0xFF
_MOST_PRIORITY = 0x7FFFFFFF


class TaskOptions:
    """Options by key: those written on a layer win over those of the submission.

    Parameters
    ----------
    look_for
        Gets the named workers, and whether others may take the task; warns if none is there.
        They are matched with those that live when a task is placed.
    ambient
        Option name to value, or to a callable that takes a key.

    Raises
    ------
    TypeError, ValueError
        One of them is not what it may be.
    """

    def __init__(
        self,
        look_for: Callable[[Sequence[int | str], bool], None],
        ambient: dict[str, Any],
    ) -> None:
        self._look_for = look_for
        self._ambient = {
            name: ambient[name] for name in UNDERSTOOD if ambient.get(name) is not None
        }
        for name, check in _CHECKS.items():
            if name in self._ambient and not callable(self._ambient[name]):
                self._ambient[name] = check(self._ambient[name])
        self._by_key: dict[str, dict[Key, Any]] = {}
        self._numbers: dict[Any, int] = {}
        #: Resources by key, given with the submission.
        self._named: dict[Key, Any] = {}
        resources = self._ambient.get("resources")
        if resources is not None and not callable(resources):
            named = by_key(resources) if isinstance(resources, Mapping) else None
            if named is not None:
                self._named = {key: amounts_of(amounts) for key, amounts in named.items()}
                del self._ambient["resources"]
            elif not amounts_of(resources):
                del self._ambient["resources"]
        #: Rows for the message `submit`; a task names one by index + 1.
        self.restrictions: list[dict[str, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._ambient or self._by_key or self._named)

    def add_annotations(self, annotations: dict[str, dict[Key, Any]]) -> None:
        """Take the annotations that Dask's layers carry."""
        for name in UNDERSTOOD:
            if annotations.get(name):
                self._by_key[name] = annotations[name]

    def row(self, key: Key) -> tuple[int, int, int]:
        """Retries, restriction and user priority of one task."""
        retries = self._value("retries", key)
        priority = self._value("priority", key)
        given = self._value("workers", key)
        workers = [] if given is None else _workers(given)
        resources = self._value("resources", key)
        if resources is None and self._named:
            resources = self._named.get(key)
        restriction = 0
        if workers or resources:
            others = _flag(self._value("allow_other_workers", key) or False)
            restriction = self._number(workers, others, resources)
        return (
            0 if retries is None else _retries(retries),
            restriction,
            0 if priority is None else _priority(priority),
        )

    def _value(self, name: str, key: Key) -> Any:
        value = self._by_key.get(name, {}).get(key)
        if value is None:
            value = self._ambient.get(name)
        return value(key) if callable(value) else value

    def _number(self, workers: Sequence[Any], others: bool, resources: Any) -> int:
        wanted = tuple(
            one if type(one) is int and 0 <= one < _WORKERS else str(one) for one in workers
        )
        amounts = amounts_of(resources) if resources else {}
        wish = (wanted, others, tuple(sorted(amounts.items())))
        number = self._numbers.get(wish)
        if number is None:
            if len(self.restrictions) >= _MOST_RESTRICTIONS:
                raise ValueError(
                    f"The tasks of one submission have more than {_MOST_RESTRICTIONS:,} different "
                    "workers= and resources=. Round the amounts, or submit them in parts."
                )
            row: dict[str, Any] = {"allowOther": others}
            if wanted:
                self._look_for(wanted, others)
                row["workers"] = list(wanted)
            if amounts:
                row["resources"] = amounts
            self.restrictions.append(row)
            number = self._numbers[wish] = len(self.restrictions)
        return number


def _retries(given: Any) -> int:
    if not _is_number(given):
        raise TypeError(f"retries is a number of times to run a task again, not {given!r:.80}")
    if not given >= 0:  # (nor NaN)
        raise ValueError(f"retries is a number of times from 0, not {given!r:.80}")
    if given != inf and given != int(given):
        raise ValueError(f"retries is a whole number of times, not {given!r:.80}")
    return int(min(given, _MOST_RETRIES))


def _priority(given: Any) -> int:
    if not _is_number(given):
        raise TypeError(f"priority is a number, and larger ones run earlier: not {given!r:.80}")
    if given != given:
        raise ValueError(f"priority is a number that others can be compared with, not {given!r}")
    return int(max(-_MOST_PRIORITY - 1, min(_MOST_PRIORITY, given)))


def _is_number(given: Any) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool)


def _flag(given: Any) -> bool:
    if given not in (True, False):
        raise TypeError(f"allow_other_workers is True or False, not {given!r:.80}")
    return bool(given)


def _workers(given: Any) -> list[Any]:
    """The workers that are named, each by what it is called; none: any worker will do."""
    named = [given] if isinstance(given, (str, Integral)) else given
    is_list = isinstance(named, Collection) and not isinstance(named, Mapping)
    listed: list[Any] = [*named] if is_list else [None]
    if not all(isinstance(one, (str, Integral)) for one in listed):
        raise TypeError(
            "workers is a number, name, host or address of a worker, or a list of those, not "
            f"{given!r:.80}"
        )
    return [one if isinstance(one, (str, bool)) else int(one) for one in listed]


#: Of the options that are given to a whole submission; those of a key are checked with its task.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "retries": _retries,
    "priority": _priority,
    "workers": _workers,
    "allow_other_workers": _flag,
}
