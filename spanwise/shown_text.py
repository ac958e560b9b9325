"""Texts of users (keys, functions, tags, errors) as they are shown; ``src/base/shown-text.ts``.

Characters that nobody sees are written out, as in `repr`: they can turn the order of what stands
around them, or make two names look like one. Letters of every script stay, and so do tabs, ends
of lines, joiners within emoji and within words of scripts that join their letters, and what
chooses the look of an emoji, of an ideograph or of a Mongolian letter, behind one.
``src/testing/hidden-characters.json`` has the examples for both languages.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import category

#: Controls, all that Unicode calls ignorable by default (also as yet unassigned ones), and three
#: to annotate texts with.
_HIDDEN_CLASS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
#: Symbols that are emoji, or letters and signs that have an emoji of their own; some between them
#: are neither.
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_IDEOGRAPH = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
#: What joiners may stand between: letters from Arabic to Mongolian, symbols, and what lies above
#: the first 65,536 characters.
_JOINED = "[\u0600-\u1cff\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010000-\U0001ffff]"
#: What stays, in all but the last; else one hidden character.
_HIDDEN_OR_KEPT = re.compile(
    f"(?:(?<={_JOINED})(?<![{_HIDDEN_CLASS}])|(?<={_EMOJI}\ufe0f))[\u200c\u200d]"
    f"(?![{_HIDDEN_CLASS}])(?={_JOINED})"
    f"|(?<={_EMOJI})[\ufe0e\ufe0f]"
    # (keys of a phone)
    "|(?<=[#*0-9])\ufe0f(?=\u20e3)"
    f"|(?<={_IDEOGRAPH})[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    "|\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f"
    f"|([{_HIDDEN_CLASS}]|\r(?!\n))"
)


def shown_text(text: str) -> str:
    """The text, and nothing of it hidden."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_KEPT.sub(lambda found: _written(found[1]) if found[1] else found[0], text)


def line_text(text: str, other: str | None = None) -> str:
    """The same in one line: ``other`` stands for ends of lines, tabs, and what has no look.

    None: they are written out too, as in `repr`.
    """
    return "".join(
        each if _has_look(each) else repr(each)[1:-1] if other is None else other
        for each in shown_text(text)
    )


def _has_look(character: str) -> bool:
    # What `shown_text` has left of characters for formatting is part of an emoji or a word.
    return (
        character.isprintable() or character == "\N{NO-BREAK SPACE}" or category(character) == "Cf"
    )


def markup_text(text: str) -> str:
    """The same as text in HTML, in elements and in quoted attributes."""
    return escape(shown_text(text), quote=True)


def _written(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
