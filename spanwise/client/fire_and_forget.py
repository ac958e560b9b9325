"""Runs tasks to their end whose futures nobody keeps."""

from __future__ import annotations

from typing import Any

from spanwise.client.either_engine import dasks_own, holds_dasks_futures
from spanwise.client.entries import Entry
from spanwise.client.futures_of import futures_given, listed


def fire_and_forget(obj: Any) -> None:
    """Let tasks run to their end although their futures are let go.

    Their results are released when they are done, unless somebody else holds them. What they
    raise nobody is told. They outlive their client, and end with their cluster.

    Parameters
    ----------
    obj
        What :func:`spanwise.futures_of` takes: a future, a persisted collection, or containers;
        or an iterator or a view of futures. Those of `distributed` are given to its own function.

    Raises
    ------
    TypeError
        It holds no future: what the function returned was given, and not what ``submit`` did.

    Examples
    --------
    >>> fire_and_forget(client.submit(write, table))            # doctest: +SKIP
    """
    obj = listed(obj)
    if holds_dasks_futures(obj):
        dasks_own("fire_and_forget")(obj)
        return
    entries: dict[Any, list[Entry]] = {}
    for future in futures_given(obj, "fire_and_forget"):
        if not future.done():
            entries.setdefault(future.client._session, []).append(future._alive())
    for session, found in entries.items():
        session.keep(found)
