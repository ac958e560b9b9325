"""A Dask cluster whose scheduler and workers are threads of the test's process.

They are reached by TCP as if they were processes, and start without importing anything.
"""

from __future__ import annotations

import distributed


def dask_threads(workers: int = 2, threads: int = 2) -> distributed.LocalCluster:
    """Start a cluster, without a dashboard; its ``with`` block ends it."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        # (None as address would take port 8787)
        scheduler_kwargs={"dashboard": False},
    )
