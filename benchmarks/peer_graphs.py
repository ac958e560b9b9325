"""How a graph enters ``distributed``'s own ``Scheduler`` in this process, without sockets."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import dask.order
from distributed import Scheduler

CLIENT = "nobody"
_Worker = TypeVar("_Worker")


class ClientStream:
    """In the place of the client's stream."""

    def send(self, *messages: Any) -> None:
        """Nobody listens."""


class WorkerStream(Generic[_Worker]):
    """In the place of a worker's stream: keeps what is sent, and to whom."""

    def __init__(self, worker: _Worker, sent: list[tuple[_Worker, dict[str, Any]]]) -> None:
        self._worker = worker
        self._sent = sent

    def send(self, *messages: dict[str, Any]) -> None:
        """Keep messages in their order."""
        self._sent.extend((self._worker, each) for each in messages)


class QuietComm:
    """In the place of the connection on which a worker registers."""

    async def write(self, message: dict[str, Any]) -> None:
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
