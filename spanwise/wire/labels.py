"""Labels of meters as texts: what users call their figures may be anything, and names are texts.

A text stands for itself. Anything else is a literal of Python behind a mark that nobody sees.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Hashable
from typing import Any

#: Begins the text of a label that is no text, or begins so itself.
MARK = "\u2063"


def plain(text: Any) -> str:
    """A text that every process can write: without halves of surrogate pairs."""
    try:
        said = text if type(text) is str else str(text)
    except Exception:  # noqa: BLE001 (it is a user's)
        said = f"<{type(text).__name__}>"
    return said if said.isascii() else said.encode("utf-8", "replace").decode()


def text_of(label: Any) -> str:
    """The text that stands for a label."""
    if type(label) is str and label.isascii():
        return label
    if isinstance(label, str):
        text = plain(label if type(label) is str else str.__str__(label))
        return MARK + repr(text) if text.startswith(MARK) else text
    try:
        return plain(MARK + repr(label))
    except Exception:  # noqa: BLE001 (it is a user's)
        return f"<{type(label).__name__}>"


def checked_text(value: object) -> str:
    """What should be a text.

    Raises
    ------
    TypeError
        It is none.
    """
    if type(value) is not str:
        raise TypeError(f"{type(value).__name__} is no text")
    return value


def label_of(text: str) -> Hashable:
    """The label for which a text stands; what is no literal stays a text.

    Raises
    ------
    TypeError
        It is no text.
    """
    if not checked_text(text).startswith(MARK):
        return text
    said = text[len(MARK) :]
    try:
        label = literal_eval(said)
        hash(label)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return said
    return label  # type: ignore[no-any-return]
