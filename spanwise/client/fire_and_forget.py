"""Runs tasks to their end whose futures nobody keeps."""

from __future__ import annotations

from typing import Any

from spanwise.client.future import Future
from spanwise.client.futures_of import futures_of


def fire_and_forget(obj: Any) -> None:
    """Let tasks run to their end although their futures are let go.

    Their results are released when they are done, unless somebody else holds them. What they
    raise nobody is told. They end with their client if that is closed before.

    Parameters
    ----------
    obj
        What :func:`spanwise.futures_of` takes: a future, a persisted collection, or containers.

    Examples
    --------
    >>> fire_and_forget(client.submit(write, table))            # doctest: +SKIP
    """
    for future in futures_of(obj):
        if not future.done():
            _hold_until_done(future)


def _hold_until_done(future: Future) -> None:
    def done(held: Future = future) -> None:
        """Hold the future until the session has called this, and lets go of it."""

    future.client._session.when_done(future._alive(), done)
