"""Warnings of a block of a test, without those of the collector for what is not ours.

It runs at any moment, and tells then of the sockets that other tests have left.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

#: As in ``pyproject.toml``: sockets of asyncio, tornado or urllib. Ours have protocol 0.
THEIRS = "unclosed <socket.*proto=6,"


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """Have all of them raised in the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", THEIRS, ResourceWarning)
        yield


def of_the_block(caught: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """Return those that the block itself led to, or that tell of something of ours."""
    return [
        each
        for each in caught
        if each.category is not ResourceWarning or not re.match(THEIRS, str(each.message))
    ]
