"""Retries, priorities and worker restrictions of the tasks of one submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Key = Any

#: Names of the annotations understood here; spans are handled by attribution.
UNDERSTOOD = ("retries", "priority", "workers", "allow_other_workers")


#: Numbers of workers are below this (u16 on the wire).
_WORKERS = 1 << 16
#: The largest numbers that the columns of `submit` hold (u8, i32); larger values count as the
#: nearest of these, since nobody can tell 300 retries from 255.
_MOST_RETRIES = 0xFF
_MOST_PRIORITY = 0x7FFFFFFF


class TaskOptions:
    """Options by key: those written on a layer win over those of the submission.

    Parameters
    ----------
    look_for
        Gets the named workers; warns if none is there. They are matched
        with those that live when a task is placed.
    ambient
        Option name to value, or to a callable that takes a key.

    Raises
    ------
    NotImplementedError
        An option that this cluster does not honour was given.
    """

    def __init__(
        self,
        look_for: Callable[[Sequence[int | str]], None],
        ambient: dict[str, Any],
    ) -> None:
        if ambient.get("resources"):
            raise NotImplementedError(
                "resources= is not scheduled by Spanwise yet; use workers= instead"
            )
        self._look_for = look_for
        self._ambient = {
            name: ambient[name] for name in UNDERSTOOD if ambient.get(name) is not None
        }
        self._by_key: dict[str, dict[Key, Any]] = {}
        self._numbers: dict[tuple[tuple[int | str, ...], bool], int] = {}
        #: Rows for the message `submit`; a task names one by index + 1.
        self.restrictions: list[dict[str, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._ambient or self._by_key)

    def add_annotations(self, annotations: dict[str, dict[Key, Any]]) -> None:
        """Take the annotations that Dask's layers carry."""
        for name in UNDERSTOOD:
            if annotations.get(name):
                self._by_key[name] = annotations[name]

    def row(self, key: Key) -> tuple[int, int, int]:
        """Retries, restriction and user priority of one task."""
        retries = self._value("retries", key)
        priority = self._value("priority", key)
        workers = self._value("workers", key)
        restriction = 0
        if workers is not None:
            others = bool(self._value("allow_other_workers", key))
            restriction = self._number(workers, others)
        return (
            max(0, min(_MOST_RETRIES, int(retries or 0))),
            restriction,
            max(-_MOST_PRIORITY - 1, min(_MOST_PRIORITY, int(priority or 0))),
        )

    def _value(self, name: str, key: Key) -> Any:
        value = self._by_key.get(name, {}).get(key)
        if value is None:
            value = self._ambient.get(name)
        return value(key) if callable(value) else value

    def _number(self, workers: Any, others: bool) -> int:
        named = [workers] if isinstance(workers, (str, int)) else list(workers)
        wanted = tuple(
            one if type(one) is int and 0 <= one < _WORKERS else str(one) for one in named
        )
        number = self._numbers.get((wanted, others))
        if number is None:
            self._look_for(wanted)
            self.restrictions.append({"workers": list(wanted), "allowOther": others})
            number = self._numbers[(wanted, others)] = len(self.restrictions)
        return number
