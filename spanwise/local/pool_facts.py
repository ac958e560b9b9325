"""What Dask's loop does not tell its callbacks: which pool a run uses, of what size.

Both are local variables of the function that calls the callbacks. They are only read.
Where they are not found, the run is not observed, and the user is told once. The set of
callbacks that the run will put back is found in the same way.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import RUN, Pool, ThreadPool
from types import FrameType
from typing import Any, NamedTuple

from dask.local import MultiprocessingPoolExecutor, SynchronousExecutor

#: At most so many frames lie between a callback's method and Dask's loop.
_FRAMES = 8


class PoolFacts(NamedTuple):
    """The pool of one run.

    Attributes
    ----------
    owner
        The executor, or the calling thread if tasks run in it.
    size
        How many tasks run at a time.
    has_processes
        Whether tasks run in other processes.
    """

    owner: Any
    size: int
    has_processes: bool


class UnknownPool(Exception):
    """The run's pool cannot be observed; the text says which pool and why."""


def pool_facts() -> PoolFacts:
    """The pool of the run whose callback this is called from.

    Raises
    ------
    UnknownPool
    """
    variables = loop_variables(sys._getframe(1))
    if variables is None:
        raise UnknownPool("this version of Dask calls its callbacks in another way")
    submit, size = variables.get("submit"), variables.get("num_workers")
    owner = getattr(submit, "__self__", None)
    if owner is None or not isinstance(size, int):
        raise UnknownPool("the pool of this run cannot be found")
    if isinstance(owner, SynchronousExecutor):
        return PoolFacts(threading.current_thread(), 1, False)
    if isinstance(owner, MultiprocessingPoolExecutor):
        owner = owner.pool
    if isinstance(owner, (ThreadPoolExecutor, ThreadPool)):
        return PoolFacts(owner, size, False)
    if isinstance(owner, (ProcessPoolExecutor, Pool)):
        return PoolFacts(owner, size, True)
    raise UnknownPool(
        f"{type(owner).__module__}.{type(owner).__qualname__} may run tasks where Spanwise is not"
    )


def is_over(owner: Any) -> bool:
    """Whether a pool of processes was shut down, or has broken: its processes end."""
    if isinstance(owner, Pool):
        return getattr(owner, "_state", RUN) != RUN
    return bool(getattr(owner, "_shutdown_thread", False))


def loop_variables(frame: FrameType | None) -> Mapping[str, Any] | None:
    """The variables of Dask's loop, which has called the code of `frame` a few frames up."""
    for _ in range(_FRAMES):
        if frame is None:
            return None
        if frame.f_code.co_name == "get_async":
            return frame.f_locals
        frame = frame.f_back
    return None
