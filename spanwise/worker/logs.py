"""What this worker and its tasks log: the newest records are kept, for `Client.get_worker_logs`.

As in `distributed`, tasks reach these logs by the loggers ``distributed.worker`` and
``spanwise.worker``. What other loggers say goes where tasks send it.
"""

from __future__ import annotations

import logging
import sys
from collections import deque

#: Kept records, as many as `distributed` keeps, and characters of each.
MOST_RECORDS = 10_000
MOST_CHARACTERS = 10_000
_NAMES = ("distributed.worker", "spanwise.worker")
LOGGER = logging.getLogger("spanwise.worker")


class KeptLogs(logging.Handler):
    """Keeps level and text of the newest records; see `logs_here` in `client/on_workers.py`."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: deque[tuple[str, str]] = deque(maxlen=MOST_RECORDS)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.kept.append((record.levelname, self.format(record)[:MOST_CHARACTERS]))


def keep_logs() -> None:
    """From now on keep them, and write them to the scheduler's log, where stderr goes."""
    kept, written = KeptLogs(), logging.StreamHandler(sys.stderr)
    kept.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
    for name in _NAMES:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.addHandler(kept)
        logger.addHandler(written)
        logger.propagate = False
