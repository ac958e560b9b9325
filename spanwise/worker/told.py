"""``spanwise.print`` and ``spanwise.warn``: said where a task runs, and by all clients too.

``distributed.print`` and ``distributed.warn`` are the same here: code whose imports were not all
changed would print where nobody looks.
"""

from __future__ import annotations

import builtins
import sys
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TextIO

from spanwise.amended import amend
from spanwise.wire import by_value
from spanwise.worker.current import get_worker

#: Of one call: an event takes 1 MiB.
_MOST_CHARACTERS = 200_000


def print(
    *args: Any,
    sep: str | None = " ",
    end: str | None = "\n",
    file: TextIO | None = None,
    flush: bool = False,
) -> None:
    """Print here and, within a task, at all clients of the cluster too.

    Parameters
    ----------
    *args, sep, end, flush
        As of the builtin.
    file
        Within a task ``sys.stdout`` or ``sys.stderr``: no other file is there at the clients.

    Raises
    ------
    TypeError
        `file` is another one, within a task.
    """
    try:
        worker = get_worker()
    except ValueError:
        builtins.print(*args, sep=sep, end=end, file=file, flush=flush)
        return
    if file not in (None, sys.stdout, sys.stderr):
        raise TypeError(
            "Within a task, print(file=…) takes sys.stdout or sys.stderr: clients have no other "
            "file of it. Use the builtin print to write to one that is here"
        )
    texts = tuple(map(str, args))
    told = {
        "args": _cut(texts),
        "sep": sep,
        "end": end,
        "file": None if file is None else 1 if file is sys.stdout else 2,
        "flush": bool(flush),
    }
    worker.log_event("print", told)
    builtins.print(*texts, sep=sep, end=end, file=file, flush=flush)


def _cut(texts: tuple[str, ...]) -> tuple[str, ...]:
    left = _MOST_CHARACTERS
    cut = []
    for text in texts:
        cut.append(text if len(text) <= left else f"{text[:left]}…")
        left = max(0, left - len(text))
        if left == 0:
            break
    return tuple(cut)


def warn(
    message: str | Warning,
    category: type[Warning] | None = UserWarning,
    stacklevel: int = 1,
    source: Any = None,
) -> None:
    """Warn here and, within a task, at all clients of the cluster too.

    Parameters
    ----------
    message, category, stacklevel, source
        As of :func:`warnings.warn`; clients are told of the first two.
    """
    try:
        worker = get_worker()
    except ValueError:
        pass
    else:
        told = {"message": by_value.dumps(message), "category": by_value.dumps(category)}
        worker.log_event("warn", told)
    warnings.warn(message, category, stacklevel + 1, source)


def take_over_theirs() -> None:
    """Have `distributed`'s functions of these names call ours, on the threads of this worker."""
    amend({"distributed.worker": {"print": _instead_of_print, "warn": _instead_of_warn}})


def _instead_of_print(theirs: Callable[..., None]) -> Callable[..., None]:
    @wraps(theirs)
    def their_print(*args: Any, **kwargs: Any) -> None:
        (print if _is_ours() else theirs)(*args, **kwargs)

    return their_print


def _instead_of_warn(theirs: Callable[..., None]) -> Callable[..., None]:
    @wraps(theirs)
    def their_warn(
        message: str | Warning,
        category: type[Warning] | None = UserWarning,
        stacklevel: int = 1,
        source: Any = None,
    ) -> None:
        (warn if _is_ours() else theirs)(message, category, stacklevel + 1, source)

    return their_warn


def _is_ours() -> bool:
    """Whether this thread runs something for a cluster of ours; a worker of theirs may be here."""
    return getattr(threading.current_thread(), "worker", None) is not None
