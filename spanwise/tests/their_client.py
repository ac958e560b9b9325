"""A client of `distributed`, whose answers Spanwise's are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import distributed


@contextmanager
def their_client(n_workers: int = 1) -> Iterator[distributed.Client]:
    """A client whose scheduler and workers live in this process, and speak over sockets."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
