"""Whether a function that is called on a worker asks for it: `client.run` and worker callbacks."""

from __future__ import annotations

import inspect
from typing import Any

#: The parameter that gets what ``get_worker()`` returns.
WORKER_PARAMETER = "dask_worker"


def takes_worker(function: Any) -> bool:
    """Whether a function has a parameter for its worker."""
    try:
        return WORKER_PARAMETER in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False  # builtins without a signature
