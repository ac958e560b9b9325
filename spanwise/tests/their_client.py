"""A client of `distributed`, whose answers Spanwise's are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import distributed

#: Looks at threads and at the loop's pace, which nobody asks for here: they take two thirds of what
#: a cluster without work takes of this process, 5 % of a core for as long as it is there.
_UNASKED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "200ms",
}


@contextmanager
def their_client(n_workers: int = 1) -> Iterator[distributed.Client]:
    """A client whose scheduler and workers live in this process, and speak over sockets."""
    with dask.config.set(_UNASKED):
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=None,
        )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


def workers_told(client: distributed.Client) -> dict[str, Any]:
    """Return what the scheduler says of each worker.

    `scheduler_info` gives the answer that the client has kept last: a thread of it asks every two
    seconds, and for none of the workers.
    """
    told: dict[str, Any] = client.sync(client.scheduler.identity, n_workers=-1)["workers"]  # type: ignore[no-untyped-call]
    return told
