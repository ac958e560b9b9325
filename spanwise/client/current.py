"""Which client is the current one: the newest that is open, kept in Dask's own settings.

``dask.config.set(scheduler=client)`` makes every ``compute()`` use a client; so the
setting itself is the record of which one is current. Closing it restores the one
before, skipping any that were closed in between.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import dask
from dask.callbacks import Callback

from spanwise.client.arguments import shown
from spanwise.client.elsewhere import stand_in_elsewhere

#: Settings while a client is current: without a distributed client the shuffle would
#: go through a shared local file, and p2p needs distributed's workers.
SETTINGS = {
    "dataframe.shuffle.method": "tasks",
    "array.rechunk.method": "tasks",
}

_UNSET: Any = object()
_NONE = "No Spanwise client is open: make one with spanwise.Client()"
_NONE_IN_THREAD = (
    "No Spanwise client is open in this thread. The thread that runs a task has the worker's: call "
    "this there; or write there `with worker_client() as client:`, which lets other tasks run "
    "meanwhile, and give that client to this thread (client=…)"
)


class CurrentClient:
    """What a client changed in Dask's settings, to be undone."""

    def __init__(self, client: Any) -> None:
        self._client = client
        stand_in_elsewhere(type(client))
        self._before = {
            name: dask.config.get(name, default=_UNSET) for name in ("scheduler", *SETTINGS)
        }
        dask.config.set({"scheduler": client, **SETTINGS})

    def undo(self) -> None:
        """Restore what was there before, unless a newer client is current."""
        if dask.config.get("scheduler", default=None) is not self._client:
            return
        before = self._before
        scheduler = before["scheduler"]
        while isinstance(getattr(scheduler, "_current", None), CurrentClient):
            # (not its `status`: if its cluster has ended, what is computed next is to say so, and
            # not to run in this process)
            if scheduler._status == "running":
                break
            before = scheduler._current._before
            scheduler = before["scheduler"]
        for name, value in before.items():
            if value is _UNSET:
                _forget(name)
            else:
                dask.config.set({name: value})


def _forget(name: str) -> None:
    settings = dask.config.config
    *folders, last = name.split(".")
    for folder in folders:
        settings = settings.get(folder, {})
    settings.pop(last, None)


def default_client(c: Any = None) -> Any:
    """Return `c`, or the current client: one of Spanwise, or of `distributed` beside which it is.

    Raises
    ------
    ValueError
        There is none.
    TypeError
        `c` is none.
    """
    found = c if c is not None else dask.config.get("scheduler", default=None)
    # In a worker the settings hold what answers for each task.
    found = getattr(found, "client_here", lambda: found)()
    if hasattr(found, "_session"):
        return found
    theirs = dasks_client() if c is None else c
    if not is_dasks_client(theirs):
        if c is not None:
            raise TypeError(
                "client is a client of Spanwise or of distributed, or what spanwise.attach() "
                f"returned, not {shown(c)}"
            )
        raise ValueError(_NONE_IN_THREAD if _is_in_worker() else _NONE)
    return theirs


def _is_in_worker() -> bool:
    """Whether this process is a worker: it has threads that run tasks."""
    return any(
        hasattr(each, "seceded") and hasattr(each, "worker") for each in threading.enumerate()
    )


def is_dasks_client(c: Any) -> bool:
    """Whether it is a client of `distributed`, which is not imported for that."""
    kind = _dasks_kind()
    return kind is not None and isinstance(c, kind)


def _dasks_kind() -> Any:
    """The class of Dask's clients; None where nobody has imported `distributed`."""
    return getattr(sys.modules.get("distributed"), "Client", None)


def dasks_client() -> Any:
    """The current client of `distributed`; None if there is none."""
    kind = _dasks_kind()
    try:
        found = None if kind is None else kind.current()
    except ValueError:
        return None
    return found if found is not None and found.status == "running" else None


def sampled(c: Any = None) -> Any:
    """Return what is sampled: `c`, the current client, or the newest observation that is on.

    Raises
    ------
    ValueError
        There is none.
    """
    scheduler = dask.config.get("scheduler", default=None)
    if c is not None:
        return c
    if hasattr(scheduler, "_session"):
        return scheduler
    # An observation is found by its callback.
    callbacks = (getattr(hooks[0], "__self__", None) for hooks in list(Callback.active))
    owners: list[Any] = [getattr(each, "owner", None) for each in callbacks]
    observations = [each for each in owners if hasattr(each, "_begin_memory_run")]
    theirs = dasks_client()
    # (a client of Dask that is not its scheduler computes nothing that is not handed to it)
    if theirs is not None and (scheduler == "dask.distributed" or not observations):
        return theirs
    if not observations:
        raise ValueError(
            "There is nothing whose memory could be sampled: make a client with "
            "spanwise.Client(), or observe Dask's own schedulers with spanwise.observe()"
        )
    return max(observations, key=lambda each: each.began)
