"""Tasks of `test_queries.py`, in a module that imports next to nothing.

A worker imports it for them, and with the tests pytest and `distributed`, in a second of a core.
By value they could not go: those of a process share what they wait for.
"""

from __future__ import annotations

import threading

MAY_END = threading.Event()


def wait_for_ever() -> None:
    MAY_END.wait(60)


def go_on() -> None:
    MAY_END.set()


def hold() -> None:
    MAY_END.clear()


def double(x: int) -> int:
    return 2 * x
