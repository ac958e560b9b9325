"""Warnings of a block of a test, without those of the collector.

It runs at any moment, and tells then of the sockets and files that other tests have left.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """Have all of them raised in the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def of_the_block(caught: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """Return those that the block itself led to."""
    return [each for each in caught if each.category is not ResourceWarning]
