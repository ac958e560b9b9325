"""Asks the scheduler how far tasks are.

It counts when it is asked; nothing is sent for each task.
"""

from __future__ import annotations

import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from dask.utils import key_split

from spanwise.client.entries import CANCELLED, ERROR
from spanwise.client.future import Future
from spanwise.diagnostics.counts import Counts, Error, Group, named, ordered
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.graph.dictionaries import Spans
from spanwise.graph.key_from_text import key_of
from spanwise.wire.foreign import said

#: Columns of `followed`, in the order of a group's counts.
_COLUMNS = ("total", "done", "running", "failed", "lost", "cancelled", "skipped", "again")
#: The last stands for those beyond, as in the scheduler.
_MOST_GROUPS = 1024
_ALL = "all"
#: Numbers for the scheduler, which keeps those of each client apart.
_NUMBERS = itertools.count(1)

GroupBy = str | Callable[[Any], Any]


class FollowedTasks:
    """Tasks that the scheduler follows.

    Parameters
    ----------
    futures
        Of one client. They are not kept: a bar holds no results.
    complete
        Also what was there already.
    group_by
        ``"prefix"``, ``"spans"`` or a function of a key; None: all in one.

    Raises
    ------
    ClusterError
        The client is closed.
    """

    def __init__(self, futures: Sequence[Future], complete: bool, group_by: GroupBy | None) -> None:
        self._number = next(_NUMBERS)
        self._complete = complete
        self._group_by = group_by
        self._names: list[str] = []
        self._error: Error | None = None
        #: Those that the scheduler does not know: they were cancelled, or never got there.
        self._apart: list[Group] = []
        self._ids = array("I")
        #: Keys by id, until it is known which of them the scheduler knows.
        self._keys: dict[int, Any] = {}
        #: Whether there is anything to ask the scheduler about.
        self._follows = False
        if futures:
            self._session: Any = futures[0].client._session
            self._session.check_alive()
            self._take(futures)

    def _take(self, futures: Sequence[Future]) -> None:
        keys: Counter[tuple[str, str]] = Counter()
        for future in futures:
            entry = future._entry
            if entry is None or entry.status == CANCELLED:
                keys[self._name_of(future.key), "cancelled"] += 1
            elif entry.id < 0:  # could not be submitted
                keys[self._name_of(future.key), "failed" if entry.status == ERROR else "lost"] += 1
            else:
                self._ids.append(entry.id)
                self._keys[entry.id] = future.key
        self._follows = bool(self._ids)
        self._apart = [
            Group(name, count, **{how: count})  # type: ignore[arg-type]
            for (name, how), count in keys.items()
        ]

    def _name_of(self, key: Any) -> str:
        """The group of a key that the scheduler does not know."""
        if callable(self._group_by):
            return str(self._group_by(key))
        if self._group_by is None:
            return _ALL
        return key_split(key) if self._group_by == "prefix" else "(no span)"

    def open(self) -> Counts:
        """Begin to follow, and count.

        Raises
        ------
        ClusterError, TimeoutError
        """
        if not self._follows:
            return self._counted(())
        by = "span" if self._group_by == "spans" else "prefix"
        if callable(self._group_by):
            by = "task"
        fields = {"by": by, "complete": self._complete}
        answer = self._ask("open", fields, self._ids)
        self._forget_unknown(answer.table("unknown").column("id").tolist())
        self._ids = array("I")
        if callable(self._group_by):
            numbers, self._names = _grouped(self._read_keys(), self._group_by)
            answer = self._ask("group", groups=numbers)
        elif by == "span":
            spans = answer.table("groups").column("span").tolist()
            self._names = [path_of(self._session.spans, span) for span in spans]
        elif self._group_by is None:
            self._names = [_ALL] * len(answer.table("groups"))
        else:
            self._names = list(_texts(answer, "groups"))
        return self._counted(self._rows(answer))

    def count(self) -> Counts:
        """How far they are.

        Raises
        ------
        ClusterError, TimeoutError
        """
        if not self._follows:
            return self._counted(())
        return self._counted(self._rows(self._ask("count")))

    def close(self) -> None:
        """Have the scheduler follow them no more."""
        if not self._follows:
            return
        fields = {"request": 0, "what": "close", "number": self._number}
        # A scheduler that has gone follows nothing.
        with suppress(SchedulerLost, ClusterError):
            self._session.send("follow", fields)

    def _counted(self, groups: Iterable[Group]) -> Counts:
        return Counts(ordered([*groups, *self._apart]), self._error)

    def _rows(self, answer: Any) -> list[Group]:
        error = answer.fields["error"]
        if error is not None and self._error is None:
            self._error = Error(error["key"], error["type"], error["message"])
        groups = answer.table("groups")
        columns = [groups.column(name).tolist() for name in _COLUMNS]
        return named(self._names, zip(*columns, strict=True))

    def _forget_unknown(self, ids: list[int]) -> None:
        """Count those apart that the scheduler did not know when it was asked."""
        keys, self._keys = self._keys, {}
        gone = Counter(self._name_of(keys[each]) for each in ids if each in keys)
        self._apart += [Group(name, count, cancelled=count) for name, count in gone.items()]

    def _read_keys(self) -> Iterator[Any]:
        after: int | None = 0
        while after is not None:
            answer = self._ask("keys", {"after": after})
            for text in _texts(answer, "keys"):
                yield key_of(text)
            after = answer.fields["next"]

    def _ask(
        self,
        what: str,
        fields: dict[str, Any] | None = None,
        ids: Any = (),
        groups: Any = (),
    ) -> Any:
        tables = {"ids": {"id": array("I", ids)}, "groups": {"group": array("H", groups)}}
        asked = {"what": what, "number": self._number, **(fields or {})}
        answer = self._session.ask("follow", asked, tables)
        if answer.fields["refused"]:
            raise ClusterError(answer.fields["refused"])
        return answer


class CannotGroup(ValueError):
    """The function that is to group keys has failed."""


def _grouped(keys: Iterable[Any], group_by: Callable[[Any], Any]) -> tuple[list[int], list[str]]:
    """The group of each key by number, and the groups' names."""
    numbers: dict[Any, int] = {}
    chosen = []
    for key in keys:
        try:
            number = numbers.setdefault(group_by(key), len(numbers))
        except Exception as error:
            raise CannotGroup(f"group_by({key!r}) raised {said(error)}") from error
        chosen.append(min(number, _MOST_GROUPS - 1))
    names = [str(each) for each in numbers]
    if len(names) > _MOST_GROUPS:
        names = [*names[: _MOST_GROUPS - 1], "(others)"]
    return chosen, names


def _texts(answer: Any, table: str) -> Iterator[str]:
    texts = bytes(answer.blobs[0]) if answer.blobs else b""
    rows = answer.table(table)
    starts, ends = rows.column("start").tolist(), rows.column("end").tolist()
    for start, end in zip(starts, ends, strict=True):
        yield texts[start:end].decode("utf-8", "replace")


def path_of(spans: Spans, number: int) -> str:
    """A span as the tags that lead to it."""
    record = spans.records.get(number)
    tags: list[str] = []
    while record is not None:
        tags.append(record.tag)
        record = record.parent
    # (of another client, or closed long ago)
    none = "(another span)" if number else "(no span)"
    return " › ".join(reversed(tags)) or none
