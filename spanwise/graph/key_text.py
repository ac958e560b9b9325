"""Texts of keys, cut into a shared beginning (the group) and a short rest.

::

    ("add-77a…", 0, 1)   group "('add-77a…'"   rest ", 0, 1)"
    "inc-12"             group "inc"           rest "-12"

The function name shown for a task is Dask's key prefix (``key_split``).
"""

from __future__ import annotations

from typing import Any

from dask.utils import key_split

from spanwise.bounded_map import BoundedMap

#: Beginnings that are remembered: new graphs bring new ones for ever.
_KEPT = 20_000


class KeyTexts:
    """Cuts keys and remembers what it found for each beginning."""

    __slots__ = ("_after_dash", "_heads", "_last", "_last_dash", "_tuples")

    def __init__(self) -> None:
        # The function of the last key of the form "word-1…".
        self._last = ""
        self._last_dash = "-"
        self._after_dash = 1
        self._heads: BoundedMap[str, str] = BoundedMap(_KEPT)
        self._tuples: BoundedMap[str, tuple[str, str, int]] = BoundedMap(_KEPT)

    def function(self, key: Any) -> str:
        """Dask's prefix of a key: what colours and statistics go by."""
        while type(key) is tuple and key:
            key = key[0]
        if type(key) is not str:
            # Dask would take the first element of an empty tuple.
            return "Other" if key == () else str(key_split(key))
        cut = key.find("-")
        if cut <= 0:
            return str(key_split(key))
        # A second word that is not purely alphabetic ends the prefix: it then
        # depends on the first word alone, which is the same for many keys.
        end = key.find("-", cut + 1)
        second = key[cut + 1 : end] if end > 0 else key[cut + 1 :]
        if second.isalpha():
            return str(key_split(key))
        head = key[:cut]
        found = self._heads.get(head)
        if found is None:
            found = self._heads.keep(head, str(key_split(head + "-0")))
        return found

    def cut(self, key: Any) -> tuple[str, str, str]:
        """Group, rest, function name; group + rest is ``str(key)``."""
        if type(key) is str:
            if key.startswith(self._last_dash):
                after = self._after_dash
                last = self._last
                if last and key[after : after + 1].isdigit():
                    # "inc-0", "inc-1", …: the second word is not alphabetic, see `function`.
                    return last, key[after - 1 :], last
            function = self.function(key)
            if not key.startswith(function):
                return "", key, function
            rest = key[len(function) :]
            if rest[:1] == "-" and rest[1:2].isdigit() and "-" not in function:
                self._last = function
                self._last_dash = function + "-"
                self._after_dash = len(function) + 1
            return function, rest, function
        if type(key) is tuple and key and type(key[0]) is str:
            found = self._tuples.get(key[0])
            if found is None:
                group = "(" + repr(key[0])
                found = self._tuples.keep(key[0], (group, self.function(key), len(group)))
            group, function, length = found
            if len(key) == 2 and type(key[1]) is int:
                return group, f", {key[1]})", function
            return group, str(key)[length:], function
        return "", str(key), self.function(key)

    @staticmethod
    def rest(key: tuple[Any, ...], length: int) -> str:
        """The rest of a tuple's text whose group has `length` characters.

        The same as ``str(key)[length:]``; the usual lengths without the group's repr.
        """
        count = len(key)
        if count == 2:
            return f", {key[1]!r})"
        if count == 3:
            return f", {key[1]!r}, {key[2]!r})"
        if count == 4:
            return f", {key[1]!r}, {key[2]!r}, {key[3]!r})"
        return str(key)[length:]
