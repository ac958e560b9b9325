"""A key from its text. Workers import this: it needs no Dask."""

from __future__ import annotations

import ast
from typing import Any


def key_of(text: str) -> Any:
    """The key of a task that no future holds, from its text; that is all the scheduler knows."""
    if text.startswith("(") and text.endswith(")"):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text  # holds what is no literal
    return text
