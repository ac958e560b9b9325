"""How often the threads of a worker are looked at."""

from __future__ import annotations

import math
from typing import Any


def look_as_asked(dask_worker: Any) -> None:
    """Look as often as the setting says, whatever looks cost.

    Where they are dear, as on a slow or busy machine, the budget of looks would have fewer: for
    figures that many looks make, or where chance of one counts.
    """
    dask_worker._worker.watch.budget.share = math.inf
