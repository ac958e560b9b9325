"""Futures in values that are shared: found when a value is packed, adopted when it is opened.

Keys are each client's own. What travels is whose task it is and that client's number of it; who
opens the value becomes a holder of the task, under a number of its own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanwise.shared.requests import Hold


class _Here(threading.local):
    """What this thread is doing."""

    def __init__(self) -> None:
        #: Futures that were pickled so far; None: they must not be.
        self.found: list[Any] | None = None
        #: The client that adopts what is opened; None: the current one.
        self.adopter: Any = None
        #: The session by which the last future was adopted.
        self.session: Any = None


HERE = _Here()
#: The worker of this process, if it is one's.
WORKER: list[Any] = []
#: The clients of this process.
CLIENTS: weakref.WeakSet[Any] = weakref.WeakSet()


@contextmanager
def collecting() -> Iterator[list[Any]]:
    """Let futures be pickled within the block; the list gets them."""
    before = HERE.found
    found: list[Any] = []
    HERE.found = found
    try:
        yield found
    finally:
        HERE.found = before


@contextmanager
def adopting(adopter: Any, holds: Sequence[Hold]) -> Iterator[None]:
    """Have a client adopt the futures that are opened within the block.

    At its end what was held for them on their way is let go. Where there were none the holds
    stay: see `spanwise.shared.steps`.
    """
    before = HERE.adopter, HERE.session
    HERE.adopter, HERE.session = adopter, None
    try:
        yield
    finally:
        session = HERE.session
        HERE.adopter, HERE.session = before
        if holds and session is not None:
            session.send("adopt", {"letGo": [int(hold) for hold in holds]})
            for hold in holds:
                hold.is_let_go = True


def find_adopter(cluster: str) -> Any:
    """The client of this process that futures of a cluster become: None: there is none."""
    if WORKER:
        # (in a worker no client may be there yet; not before one is needed is its code loaded)
        return import_module("spanwise.client.in_tasks").client_of(WORKER[0])
    # (a worker starts without Dask: it reads settings that the worker makes for it)
    import dask

    current = dask.config.get("scheduler", default=None)
    for client in (HERE.adopter, current, *CLIENTS):
        if getattr(client, "status", "") == "running" and client.id == cluster:
            return client
    return None
