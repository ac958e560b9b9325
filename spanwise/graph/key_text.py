"""Texts of keys, cut into a shared beginning (the group) and a short rest.

::

    ("add-77a…", 0, 1)   group "('add-77a…'"   rest ", 0, 1)"
    "inc-12"             group "inc"           rest "-12"

The function name shown for a task is Dask's key prefix (``key_split``).
"""

from __future__ import annotations

from typing import Any

from dask.utils import key_split


class KeyTexts:
    """Cuts keys and remembers what it found for each beginning."""

    __slots__ = ("_heads", "_tuples")

    def __init__(self) -> None:
        self._heads: dict[str, str] = {}
        self._tuples: dict[str, tuple[str, str, int]] = {}

    def function(self, key: Any) -> str:
        """Dask's prefix of a key: what colours and statistics go by."""
        while type(key) is tuple and key:
            key = key[0]
        if type(key) is not str:
            return str(key_split(key))
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
            found = self._heads[head] = str(key_split(head + "-0"))
        return found

    def cut(self, key: Any) -> tuple[str, str, str]:
        """Group, rest, function name; group + rest is ``str(key)``."""
        if type(key) is str:
            function = self.function(key)
            if key.startswith(function):
                return function, key[len(function) :], function
            return "", key, function
        text = str(key)
        if type(key) is tuple and key and type(key[0]) is str:
            found = self._tuples.get(key[0])
            if found is None:
                group = "(" + repr(key[0])
                found = (group, self.function(key), len(group))
                self._tuples[key[0]] = found
            group, function, length = found
            return group, text[length:], function
        return "", text, self.function(key)
