"""Dask's tasks, made without a look for inputs that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spanwise.graph.private_dask import Task

Key = Any

_NEW_TASK = Task.__new__


def new_task(
    key: Key,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    inputs: frozenset[Key],
    produces_data: bool = False,
) -> Task:
    """A task whose inputs are known: Dask's constructor would look for them."""
    made = _NEW_TASK(Task)
    made.key = key
    made.func = function
    made.args = arguments
    made.kwargs = keywords
    made._dependencies = inputs
    made._is_coro = made._token = made._repr = None
    made._data_producer = produces_data
    return made
