"""Warnings of a block of a test, without those of the collector for what is not ours.

It runs at any moment, and tells then of the sockets and coroutines that other tests have left.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CoroutineType

import spanwise

#: As in ``pyproject.toml``: sockets of asyncio, tornado or urllib. Ours have protocol 0.
THEIRS = "unclosed <socket.*proto=6,"
_PACKAGE = Path(spanwise.__file__).parent


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """Have all of them raised in the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", THEIRS, ResourceWarning)
        yield


def of_the_block(caught: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """Return those that the block itself led to, or that tell of something of ours.

    Of coroutines of tests those of the calling file: what a test gives as a task we may drop.
    """
    own = Path(sys._getframe(1).f_code.co_filename)
    return [each for each in caught if not _is_of_others(each, own)]


def _is_of_others(warning: warnings.WarningMessage, own: Path) -> bool:
    if isinstance(warning.source, CoroutineType):  # that nobody has awaited
        file = Path(warning.source.cr_code.co_filename)
        is_ours = file.is_relative_to(_PACKAGE) and not file.is_relative_to(_PACKAGE / "tests")
        return not is_ours and file != own
    is_socket = re.match(THEIRS, str(warning.message)) is not None
    return warning.category is ResourceWarning and is_socket
