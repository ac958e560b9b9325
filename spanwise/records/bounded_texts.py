"""Texts by number: a log says a text once, and its number from then on."""

from __future__ import annotations

from collections.abc import Callable

#: At most so many texts have numbers of their own: as many as an observer keeps
#: (``src/records/tables.ts``). New graphs bring new ones for as long as a client lives,
#: and a number is never used again.
MOST_NAMES = 200_000
#: Characters of all of them, and of one: functions are cut there, groups have none.
MOST_CHARACTERS = 16 << 20
LONGEST = 1_000
#: Stands for all that come after.
OTHERS = "(others)"


class BoundedTexts:
    """Texts by number, in the order in which they were first used.

    :data:`MOST_NAMES` of them, or as many as have :data:`MOST_CHARACTERS`.

    Parameters
    ----------
    coined
        Called with each new number and its text.
    """

    __slots__ = ("_characters", "_coined", "_ids")

    def __init__(self, coined: Callable[[int, str], None]) -> None:
        self._ids: dict[str, int] = {}
        self._characters = 0
        self._coined = coined

    def id_of(self, text: str) -> int:
        """The number of a text, new or not."""
        found = self._ids.get(text)
        if found is None:
            if len(text) > LONGEST:
                text = f"{text[: LONGEST - 1]}…"
            found = self._coin(text if self._has_room else OTHERS)
        return found

    @property
    def _has_room(self) -> bool:
        return len(self._ids) < MOST_NAMES and self._characters < MOST_CHARACTERS

    def group(self, group: str, rest: str) -> tuple[int, str]:
        """The number of a group, and the rest of the text of a key that begins with it.

        When there is no room for the group, the rest is the whole text.
        """
        found = self._ids.get(group)
        if found is not None:
            return found, rest
        if self._has_room and len(group) <= LONGEST:
            return self._coin(group), rest
        return self._coin(""), group + rest

    def _coin(self, text: str) -> int:
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = len(self._ids)
            self._characters += len(text)
            self._coined(found, text)
        return found
