"""Texts of users (keys, functions, tags, errors) as they are shown; ``src/base/shown-text.ts``.

Characters that nobody sees are written out, as in `repr`: they can turn the order of what stands
around them, or make two names look like one. Letters of every script stay, and so do tabs, ends
of lines, and joiners within emoji and within words of scripts that join their letters.
``src/testing/hidden-characters.json`` has the examples for both languages.
"""

from __future__ import annotations

import re
from html import escape

_HIDDEN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]|\r(?!\n)"
)
#: What joiners may stand between: letters from Arabic to Mongolian, symbols, and what lies above
#: the first 65,536 characters.
_JOINED = (
    "[\u0600-\u1cff\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe0f\ufe70-\ufefc\U00010000-\U0001ffff]"
)
#: What stays (joiners, tags of flags), or one hidden character.
_HIDDEN_OR_KEPT = re.compile(
    f"(?<={_JOINED})[\u200c\u200d](?={_JOINED})"
    "|\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f"
    f"|({_HIDDEN})"
)


def shown_text(text: str) -> str:
    """The text, and nothing of it hidden."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_KEPT.sub(lambda found: _written(found[1]) if found[1] else found[0], text)


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
