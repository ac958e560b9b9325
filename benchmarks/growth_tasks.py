"""The tasks of ``growth.py``, which each worker imports, for they go to it by name.

That file would import the client and the records of benchmarks for them.
"""

from __future__ import annotations

import time


def increment(x: int) -> int:
    return x + 1


def look_up(i: int, table: bytes) -> int:
    return i + len(table)


def slow_increment(x: int) -> int:
    time.sleep(0.01)
    return x + 1
