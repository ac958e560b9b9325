"""An observer and a cluster start, answer, and end."""

from __future__ import annotations

import time
from collections.abc import Iterator

from spanwise.command.findings import Finding, bad, good
from spanwise.errors import ClusterError
from spanwise.observed.own_observer import OwnObserver
from spanwise.processes.node import NodeNotFound


def look_at_observer() -> Iterator[Finding]:
    """It starts, and says where it listens."""
    began = time.monotonic()
    try:
        observer = OwnObserver()
    except (ClusterError, NodeNotFound, OSError) as error:
        yield bad(
            "observer",
            f"it could not be started: {error}",
            "fix the faults above; if there are none, follow the message",
        )
        return
    observer.close()
    yield good("observer", f"started and ended within {time.monotonic() - began:.1f} s")


def look_at_cluster() -> Iterator[Finding]:
    """One worker adds two numbers."""
    from spanwise.client.client import Client

    began = time.monotonic()
    try:
        with Client(n_workers=1, threads_per_worker=1, set_as_default=False, name="doctor") as own:
            answer = own.submit(sum, [40, 2], pure=False).result(timeout=60)
    except (ClusterError, NodeNotFound, OSError, TimeoutError) as error:
        yield bad(
            "cluster",
            f"a task did not run: {error}",
            "fix the faults above; if there are none, follow the message",
        )
        return
    assert answer == 42
    yield good(
        "cluster", f"a worker started, ran a task and ended within {time.monotonic() - began:.1f} s"
    )
