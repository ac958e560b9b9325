"""Tasks of `test_progress.py`, in a module that imports next to nothing.

New processes of these tests import it, and with the tests pytest, `dask.array` and the client's
rest, which takes them most of a minute where the machine is slow.
"""

from __future__ import annotations

import os
import time

#: As long as any test waits for what a task keeps from going on.
_HELD_SECONDS = 900.0


def held(number: int, go: str) -> int:
    """Return once the file `go` is there."""
    limit = time.monotonic() + _HELD_SECONDS
    while not os.path.exists(go) and time.monotonic() < limit:  # noqa: PTH110
        time.sleep(0.01)
    return number
