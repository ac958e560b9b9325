"""How a graph enters ``distributed``'s own ``Scheduler`` in this process, without sockets."""

from __future__ import annotations

from typing import Any

import dask.order
from distributed import Scheduler

CLIENT = "nobody"


class ClientStream:
    """In the place of the client's stream."""

    def send(self, *messages: Any) -> None:
        """Nobody listens."""


def new_scheduler() -> Scheduler:
    """One that has not started: it listens nowhere, and a client that hears nothing is there."""
    scheduler = Scheduler(dashboard=False, dashboard_address=":0", validate=False)
    scheduler.client_comms[CLIENT] = ClientStream()  # type: ignore[assignment]
    return scheduler


def enter_graph(
    scheduler: Scheduler,
    graph: Any,
    wanted: set[Any],
    start: float,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Put a graph in order and make its tasks known, as when a client has submitted it.

    Parameters
    ----------
    graph : mapping of key to GraphNode
    wanted
        The keys that the client waits for.
    start
        When it was submitted, in seconds of the scheduler's clock.
    annotations
        Of all tasks.
    """
    scheduler._create_taskstate_from_graph(
        start=start,
        dsk=graph,
        keys=wanted,
        ordered=dask.order.order(dict(graph)),
        client=CLIENT,
        annotations_by_type={},
        global_annotations=annotations,
        stimulus_id="submit",
        submitting_task=None,
        span_metadata={"collections": []},
    )
