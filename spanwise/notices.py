"""Warnings for users: each points at the line of theirs that led to it, as far as there is one."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

#: The code that users call, and what it is called through. Tests of it are users.
_NOT_USERS = (
    "spanwise.client.",
    "spanwise.dask_bridge.",
    "spanwise.diagnostics.",
    "spanwise.graph.",
    "spanwise.local.",
    "spanwise.notices.",
    "spanwise.observed.",
    "spanwise.plugins.",
    "spanwise.processes.",
    "spanwise.shared.",
    "spanwise.source.",
    "dask.",
    "contextlib.",
    "functools.",
    # A thread, or an event loop, that runs nothing of the user's.
    "asyncio.",
    "concurrent.futures.",
    "threading.",
)
#: Of warnings that no line of the user's has led to: those that were shown.
_SHOWN: dict[Any, Any] = {}


def users_frame() -> FrameType | None:
    """The innermost frame of the user's code below which all others are ours, or Dask's."""
    frame: FrameType | None = sys._getframe(1)
    # (what exec() is given may have no name)
    while frame is not None and f"{frame.f_globals.get('__name__')}.".startswith(_NOT_USERS):
        frame = frame.f_back
    return frame


def warn_asker(message: str | Warning, category: type[Warning] = RuntimeWarning) -> None:
    """Warn as :func:`warnings.warn` does, at the line of the user's that asked."""
    _warn(message, category, None)


def tell(sentence: str) -> None:
    """Show the user a ``RuntimeWarning``, each time that it is called.

    Python's own filter shows the same sentence from the same place once only, though what it
    tells of has happened again. Filters that ignore warnings are followed. Where warnings are
    errors, the sentence goes to standard error: it is told by threads that must go on.
    """
    try:
        _warn(sentence, RuntimeWarning, {})
    except RuntimeWarning:
        sys.stderr.write(f"{sentence}\n")


def _warn(message: str | Warning, category: type[Warning], shown: dict[Any, Any] | None) -> None:
    frame = users_frame()
    if frame is None:
        # A thread of ours: its lines would tell a user nothing. (In brackets no file is meant: of
        # one with the name, on the path of modules, Python would show the first line.)
        file, line, module, own = "<spanwise>", 1, "spanwise", _SHOWN
    else:
        names = frame.f_globals
        file, line = frame.f_code.co_filename, frame.f_lineno
        module = str(names.get("__name__") or "<string>")
        own = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, category, file, line, module, registry=own if shown is None else shown
    )
