"""Where code runs that uses something shared: at which client, or on which worker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import dask

from spanwise.errors import ClusterError
from spanwise.shared.requests import SharedRequests


class Place(NamedTuple):
    """A link to the scheduler, and whether calls there return coroutines."""

    shared: SharedRequests
    asynchronous: bool
    #: That link's; None: the worker's.
    client: Any = None

    def of(self, futures: Sequence[Any]) -> Place:
        """The link by which a value with these futures goes: behind what made them.

        Raises
        ------
        ClusterError
            One is of another cluster, which would be given the value.
        """
        if not futures:
            return self
        if self.client is not None:
            here = self.client._session
            for each in futures:
                theirs = each.client._session
                if theirs.cluster_id != here.cluster_id:
                    raise ClusterError(
                        f"The future {each.key!r} is of the cluster {theirs.name!r}, and this is "
                        f"shared in {here.name!r}: give what future.result() returns."
                    )
        return self._replace(shared=futures[0].client._session.shared)


def find_place(user: str, client: Any = None) -> Place:
    """The worker that runs the calling thread's task, else `client`, or the current one.

    Raises
    ------
    RuntimeError
        There is none.
    TypeError
        `client` is none.
    """
    worker = getattr(threading.current_thread(), "worker", None)
    if worker is not None:
        return Place(worker.shared, _in_loop())
    found = client if client is not None else dask.config.get("scheduler", default=None)
    if found == "dask.distributed":
        raise RuntimeError(
            f"{user} object not properly initialized: the current client is one of Dask, whose "
            f"cluster keeps no {user} of Spanwise. Use distributed.{user}."
        )
    if client is not None and not hasattr(found, "_session"):
        raise TypeError(f"client is a spanwise.Client, not {client!r:.80}")
    if not hasattr(found, "_session"):
        raise RuntimeError(
            f"{user} object not properly initialized: no Spanwise client is open here, and no "
            "task runs in this thread. Make a client with spanwise.Client(); in a task use it "
            "on the task's own thread."
        )
    # In a worker the settings hold what answers for each task.
    found = getattr(found, "client_here", lambda: found)()
    return Place(found._session.shared, found.asynchronous, found)


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
