"""A batch of joblib's calls as one task: how it is named, and what runs on a worker.

Workers import this module and not the client: a `Parallel` within a task brings it when it says
itself how many jobs it wants.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from joblib import parallel_config
from joblib.parallel import BACKENDS, FallbackToBackend, ParallelBackendBase

#: A call as joblib has it: the function, its arguments, its keywords.
Call = tuple[Callable[..., Any], Iterable[Any], Mapping[str, Any]]

#: Of a batch of several functions the name has so many of theirs.
_NAMES = 3


class Placed(NamedTuple):
    """Stands in a call for a value that is on the workers already."""

    #: Which of those that are given with the batch.
    number: int
    #: It is there as a pickle, of which each batch makes a value of its own.
    pickled: bool


class Batch:
    """Calls, as they go to a worker.

    Attributes
    ----------
    calls
        With :class:`Placed` in place of arguments that are given apart.
    nesting_level
        joblib's, of what the calls call in turn.
    """

    def __init__(self, calls: list[Call], nesting_level: int) -> None:
        self.calls = calls
        self.nesting_level = nesting_level


def run_batch(batch: Batch, *given: Any) -> list[Any]:
    """Run the calls of a batch, in a task; return what they return."""
    values: dict[int, Any] = {}

    def filled(value: Any) -> Any:
        if type(value) is not Placed:
            return value
        number = value.number
        if number not in values:
            there = given[number]
            values[number] = pickle.loads(there) if value.pickled else _to_read(there)
        return values[number]

    within = NestedBackend(nesting_level=batch.nesting_level)
    with parallel_config(backend=within, n_jobs=1):
        return [
            function(*map(filled, args), **{name: filled(each) for name, each in keywords.items()})
            for function, args, keywords in batch.calls
        ]


def _to_read(value: Any) -> Any:
    """An array that other tasks of the worker use too, so that none writes to it: as joblib's."""
    if not is_array(value):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def is_array(value: Any) -> bool:
    """Whether it is an array that need only be marked for nobody to change what is in it."""
    numpy = sys.modules.get("numpy")
    return (
        numpy is not None
        and type(value) in (numpy.ndarray, numpy.memmap)
        and not value.dtype.hasobject
    )


def name_of(calls: Iterable[Call]) -> str:
    """What the task of some calls is called: as their function, or their functions."""
    names = sorted({_name_of(function) for function, _, _ in calls})
    return "+".join(names if len(names) <= _NAMES else [*names[:_NAMES], "others"])


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not name:
        return type(function).__name__
    return "lambda" if name == "<lambda>" else name


class NestedBackend(ParallelBackendBase):
    """What a `Parallel` in a task uses: the task's own thread, unless it says how many jobs.

    The tasks around it mostly fill the cluster, and what it would run elsewhere needs its data
    there. One that is told ``n_jobs=-1`` becomes tasks all the same, by the worker's own client,
    and leaves its thread to them while it waits.
    """

    default_n_jobs = 1
    supports_retrieve_callback = True

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """One, or what the cluster answers."""
        if n_jobs is None or n_jobs == 1:
            return 1
        return int(self._on_cluster().effective_n_jobs(n_jobs))

    def configure(self, n_jobs: int = 1, parallel: Any = None, **settings: Any) -> int:
        """Go on in this thread, or have the cluster's backend in its place."""
        if n_jobs == 1:
            return 1
        raise FallbackToBackend(self._on_cluster())

    def submit(self, func: Any, callback: Any = None) -> Any:
        """Nobody calls it: `configure` has put another backend in its place, or joblib needs none.

        Raises
        ------
        RuntimeError
        """
        raise RuntimeError("A Parallel of one job submits nothing")

    # (its name before joblib 1.4)
    apply_async = submit

    def _on_cluster(self) -> Any:
        import_module("spanwise.joblib")  # (by name: it brings the client, which brings this one)
        return BACKENDS["spanwise"](nesting_level=self.nesting_level)
