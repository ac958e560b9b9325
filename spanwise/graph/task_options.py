"""Retries, priorities and worker restrictions of the tasks of one submission."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Key = Any

#: Names of the annotations understood here; spans are handled by attribution.
UNDERSTOOD = ("retries", "priority", "workers", "allow_other_workers")


class TaskOptions:
    """Options by key: those written on a layer win over those of the submission.

    Parameters
    ----------
    worker_ids
        Turns worker names or addresses into worker ids.
    ambient
        Option name to value, or to a callable that takes a key.

    Raises
    ------
    NotImplementedError
        An option that this cluster does not honour was given.
    """

    def __init__(
        self,
        worker_ids: Callable[[Iterable[Any]], list[int]],
        ambient: dict[str, Any],
    ) -> None:
        if ambient.get("resources"):
            raise NotImplementedError(
                "resources= is not scheduled by Spanwise yet; use workers= instead"
            )
        self._worker_ids = worker_ids
        self._ambient = {
            name: ambient[name] for name in UNDERSTOOD if ambient.get(name) is not None
        }
        self._by_key: dict[str, dict[Key, Any]] = {}
        self._numbers: dict[tuple[tuple[int, ...], bool], int] = {}
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
        return min(255, int(retries or 0)), restriction, int(priority or 0)

    def _value(self, name: str, key: Key) -> Any:
        value = self._by_key.get(name, {}).get(key)
        if value is None:
            value = self._ambient.get(name)
        return value(key) if callable(value) else value

    def _number(self, workers: Any, others: bool) -> int:
        named = [workers] if isinstance(workers, (str, int)) else list(workers)
        ids = tuple(sorted(self._worker_ids(named)))
        number = self._numbers.get((ids, others))
        if number is None:
            self.restrictions.append({"workers": list(ids), "allowOther": others})
            number = self._numbers[(ids, others)] = len(self.restrictions)
        return number
