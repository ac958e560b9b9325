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
from types import CoroutineType, FrameType, FunctionType, ModuleType

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

    Of coroutines of tests those of the calling file, and of what it has from other files of tests:
    what a test gives as a task we may drop.
    """
    own = _tests_of(sys._getframe(1))
    return [each for each in caught if not _is_of_others(each, own)]


def _tests_of(frame: FrameType) -> set[Path]:
    """The file of a frame, and those of tests from which it has modules, functions or classes."""
    named = frame.f_globals.values()
    modules = {each.__name__ for each in named if isinstance(each, ModuleType)}
    modules |= {each.__module__ for each in named if isinstance(each, FunctionType | type)}
    files = {getattr(sys.modules.get(each), "__file__", None) for each in modules}
    shared = {Path(each) for each in files if each}
    return {Path(frame.f_code.co_filename), *filter(_is_of_tests, shared)}


def _is_of_tests(file: Path) -> bool:
    return file.is_relative_to(_PACKAGE / "tests")


def _is_of_others(warning: warnings.WarningMessage, own: set[Path]) -> bool:
    if isinstance(warning.source, CoroutineType):  # that nobody has awaited
        file = Path(warning.source.cr_code.co_filename)
        is_ours = file.is_relative_to(_PACKAGE) and not _is_of_tests(file)
        return not is_ours and file not in own
    is_socket = re.match(THEIRS, str(warning.message)) is not None
    return warning.category is ResourceWarning and is_socket
