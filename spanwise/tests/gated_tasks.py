"""A task that runs until a test lets it end: workers import this, and little with it."""

from __future__ import annotations

import time
from pathlib import Path

from spanwise.tests.processes import LIMIT_SECONDS


def held(file: str) -> str:
    """Runs until a file is there; it waits as what Python cannot stop."""
    end = time.monotonic() + LIMIT_SECONDS
    while not Path(file).exists():
        if time.monotonic() > end:
            raise TimeoutError(file)
        time.sleep(0.01)
    return file
