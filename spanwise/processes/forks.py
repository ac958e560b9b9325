"""Children of a worker by `os.fork`, made by users' code: they never answer in its place, and end.

Users' code runs in tasks, and wherever a value is pickled, unpickled, measured or released,
in any thread. A child that comes back out of it would report a result of its own on the
parent's connections, or read what was sent to the parent::

    users' code ── comes back ──▶ came_back(): exits, as a program does
         │                             │ where nobody asks: the first touch of a connection
         │                             ▼ that was open at the fork does the same
         └ goes on ──▶ ends with the worker: a thread of it waits for the end of a pipe that
                       only the worker holds

Children that run another program (`exec`) have neither the thread nor the pipe.
"""

from __future__ import annotations

import _thread
import os
import sys
import traceback
from collections.abc import Callable

#: This process is such a child.
is_child = False


def end_with_worker(let_go: Callable[[], None]) -> None:
    """Make later forks of this process note that they are, and call `let_go` first."""
    ends, held = os.pipe()

    def in_child() -> None:
        global is_child
        if not is_child:
            os.close(held)
        is_child = True
        let_go()
        _thread.start_new_thread(_wait_for_end, (ends,))

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)


def _wait_for_end(ends: int) -> None:
    try:
        os.read(ends, 1)
    finally:
        os._exit(1)


def came_back(error: BaseException | None = None) -> None:
    """Go on in the worker; in a child, end it. Called behind users' code."""
    if is_child:
        leave(error)


def leave(error: BaseException | None) -> None:
    """End a child that has come back, as the end of a program does."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        code = 1
    try:
        if error is not None and not isinstance(error, SystemExit):
            traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xFF)
