"""The worker's own dictionary: texts that the scheduler's log does not have yet."""

from __future__ import annotations

import threading
from collections.abc import Sequence

#: At most so many texts, of so many characters together, get ids: new functions and
#: files come for as long as a worker lives, and an id is never used again.
MOST_NAMES, MOST_CHARACTERS = 50_000, 8 << 20
#: Of what tasks call their figures at most so many: the rest is for functions and files.
MOST_LABELS = 10_000
#: A longer one is cut.
LONGEST = 1_000
#: Stands for all later texts.
OTHERS = "(others)"

#: Ids with this bit are the worker's; the rest are the log's.
OWN = 0x8000_0000


class Names:
    """Text ↔ id, and which of them the scheduler has been told.

    Any thread may coin an id; only the holder of the sending lock announces ids, so that
    each is announced in or before the first message that uses it.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._texts: list[str] = []
        self._announced = 0
        self._characters = 0
        self._labels = 0
        self._coining = threading.Lock()

    def id_of(self, text: str) -> int:
        """Return the id of `text`, coining one if it is new."""
        found = self._ids.get(text)
        if found is not None:
            return found
        if len(text) > LONGEST:
            text = f"{text[: LONGEST - 1]}…"
        with self._coining:
            if len(self._ids) >= MOST_NAMES or self._characters >= MOST_CHARACTERS:
                text = OTHERS if text not in self._ids else text
            found = self._ids.get(text)
            if found is None:
                found = OWN | len(self._texts)
                self._texts.append(text)
                self._characters += len(text)
                self._ids[text] = found
            return found

    def label_id_of(self, text: str) -> int:
        """The same of a text of which users' code may make any number."""
        found = self._ids.get(text)
        if found is None:
            # (two threads may count one label twice)
            self._labels += 1
            found = self.id_of(text if self._labels <= MOST_LABELS else OTHERS)
        return found

    def label_ids_of(self, texts: Sequence[str]) -> list[int]:
        """The same of many, most of which have an id."""
        find = self._ids.get
        return [
            self.label_id_of(text) if (found := find(text)) is None else found for text in texts
        ]

    def announcement(self) -> dict[str, object]:
        """Return the fields that announce what is new: put them into the next message."""
        first = self._announced
        texts = self._texts[first:]
        if not texts:
            return {}
        self._announced = first + len(texts)
        return {"firstName": OWN | first, "names": texts}
