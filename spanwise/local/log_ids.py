"""Ids of the log: its dictionary, and what ids of other processes mean in it."""

from __future__ import annotations

from collections.abc import Callable

from spanwise.graph.dictionaries import MOST_NAMES, OTHERS
from spanwise.worker.names import OWN


class LogNames:
    """The log's dictionary. The owner has a lock."""

    def __init__(self, coined: Callable[[int, str], None]) -> None:
        self._ids: dict[str, int] = {}
        self._coined = coined

    def id_of(self, text: str) -> int:
        """The id of a text, new or not."""
        found = self._ids.get(text)
        if found is None:
            found = self._coin(text if len(self._ids) < MOST_NAMES else OTHERS)
        return found

    def group(self, group: str, rest: str) -> tuple[int, str]:
        """The id of a group, and the rest of the text of a key that begins with it.

        When there is no room for the group, the rest is the whole text.
        """
        found = self._ids.get(group)
        if found is not None:
            return found, rest
        if len(self._ids) < MOST_NAMES:
            return self._coin(group), rest
        return self._coin(""), group + rest

    def _coin(self, text: str) -> int:
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = len(self._ids)
            self._coined(found, text)
        return found


class ProcessIds:
    """What ids of one process mean in the log: names, stacks, frames, threads."""

    def __init__(self) -> None:
        self.names: list[int] = []
        self.stacks: dict[int, int] = {}
        self.frames: dict[int, int] = {}
        #: A thread as the process counts them → its place in the worker.
        self.places: dict[int, int] = {}

    def name(self, number: int) -> int:
        """The log's id of a name."""
        return self.names[number & ~OWN] if number & OWN else number
