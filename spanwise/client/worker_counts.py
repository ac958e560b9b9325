"""How many workers have so many cores in all, or so much memory; as `distributed` counts them."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from dask.utils import parse_bytes

from spanwise.client.arguments import shown
from spanwise.client.launch import MOST_WORKERS, check_workers

#: Threads and bytes of one worker; 0 bytes: no limit.
Unit = tuple[int, float]


def count_of(n: Any, memory: Any, cores: Any, unit: Callable[[], Unit]) -> int:
    """Return so many workers, or more that have the memory and the cores.

    Raises
    ------
    TypeError, ValueError
    """
    counts = [check_workers("n", n)]
    if cores is not None:
        counts.append(math.ceil(_cores(cores, "cores") / unit()[0]))
    if memory is not None:
        counts.append(math.ceil(_bytes(memory, "memory") / _limit(unit()[1], "memory")))
    return check_workers("n", max(counts))


def range_of(
    minimum: Any, maximum: Any, cores: tuple[Any, Any], memory: tuple[Any, Any], unit: Any
) -> tuple[int, int | None]:
    """Return the fewest and most workers within bounds of workers, cores and memory.

    Raises
    ------
    TypeError, ValueError
    """
    fewest = [check_workers("minimum", minimum)]
    most = [] if maximum in (None, math.inf) else [check_workers("maximum", maximum)]
    if maximum == math.inf:
        most.append(MOST_WORKERS)
    if cores[0] is not None:
        fewest.append(math.ceil(_cores(cores[0], "minimum_cores") / unit()[0]))
    if cores[1] is not None:
        most.append(int(_cores(cores[1], "maximum_cores") // unit()[0]))
    if memory[0] is not None:
        limit = _limit(unit()[1], "minimum_memory")
        fewest.append(math.ceil(_bytes(memory[0], "minimum_memory") / limit))
    if memory[1] is not None:
        limit = _limit(unit()[1], "maximum_memory")
        most.append(int(_bytes(memory[1], "maximum_memory") // limit))
    return max(fewest), min(most) if most else None


def _cores(given: Any, name: str) -> float:
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if not is_number or not 0 <= given < math.inf:
        raise ValueError(f"{name} is a number of threads of all workers, not {shown(given)}")
    return float(given)


def _bytes(given: Any, name: str) -> float:
    try:
        found = float(parse_bytes(given))
    except (TypeError, ValueError, AttributeError, LookupError):
        found = -1.0
    if not 0 <= found < math.inf:
        raise ValueError(
            f'{name} is a number of bytes of all workers, or text such as "64 GiB", not '
            f"{shown(given)}"
        )
    return found


def _limit(limit: float, name: str) -> float:
    if limit <= 0:
        raise ValueError(f"{name} counts in workers' memory limits, and these have none: give n")
    return limit
