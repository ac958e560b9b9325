"""Futures of other clients of this process: made this client's own, or left to theirs.

Numbers of tasks are each client's own. So what is done with a future is done by the client that
made it, and a call that takes one as an argument gets a future of its own for the same task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from spanwise.client.entries import CANCELLED, PENDING, Entry
from spanwise.client.future import Future
from spanwise.client.session import NotHeld, Session
from spanwise.errors import ClusterError
from spanwise.graph.private_dask import Task
from spanwise.shared.futures import CLIENTS


def by_session(futures: Iterable[Future]) -> dict[Any, list[Future]]:
    """Futures by the session of the client that made them."""
    found: dict[Any, list[Future]] = {}
    for future in futures:
        found.setdefault(future.client._session, []).append(future)
    return found


def are_there_others() -> bool:
    """Whether this process has had other clients, whose futures it may have."""
    return len(CLIENTS) > 1


def own_of(client: Any, future: Future) -> Future:
    """Return a future of a client for the task of another one's.

    Raises
    ------
    ClusterError
        That is a client of another cluster, or is closed.
    CancelledError
    """
    session: Session = client._session
    theirs: Any = future.client._session
    if theirs is session:
        return future
    entry = future._alive()
    if theirs.cluster_id != session.cluster_id:
        raise ClusterError(
            f"The future {future.key!r} is of the cluster {theirs.name!r}, and this client is of "
            f"{session.name!r}: give it what future.result() returns, or what "
            "scatter(future.result()) does if several tasks need it."
        )
    if entry.status == PENDING:
        # Each client has a connection of its own: the scheduler is to know the task first.
        named: dict[str, Any] = {"states": [], "worker": None, "named": True, "after": 0}
        theirs.ask("question", named, {"ids": [(entry.id,)]})
    if entry.status == CANCELLED or entry.id < 0:
        raise entry.failure().error
    return Future(session.adopt(future.key, theirs.number, entry.id), client)


def with_others(client: Any, held: Iterable[Any], submit: Callable[[], Any]) -> Any:
    """Submit a graph; what of it only other clients hold becomes this client's too.

    Parameters
    ----------
    held
        The graphs, or collections of them.
    submit
        Submits them.

    Raises
    ------
    ClusterError
        Nobody of this process holds what they need, or only a client of another cluster.
    """
    try:
        return submit()
    except NotHeld as missing:
        found = {each.key: each for each in _futures_in(held) if each.key in missing.keys}
        if not found:
            raise
        adopted = [own_of(client, future) for future in found.values()]
    answer = submit()
    del adopted  # the graph has them now
    return answer


def _futures_in(held: Iterable[Any]) -> Iterator[Future]:
    """The futures in graphs, also within the arguments of their tasks."""
    pending: list[Any] = []
    for one in held:
        graph = one if isinstance(one, Mapping) else one.__dask_graph__()
        pending += graph.values()
    while pending:
        value = pending.pop()
        if isinstance(value, Future):
            yield value
        elif isinstance(value, Task):
            pending += [*value.args, *value.kwargs.values()]
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            pending += value


def refuse_others(client: Any, futures: Iterable[Future], method: str) -> list[Entry]:
    """Return the entries of a client's own futures.

    Raises
    ------
    ClusterError
        Another client made one of them.
    """
    entries = []
    for future in futures:
        if future.client._session is not client._session:
            raise ClusterError(
                f"The future {future.key!r} is of another client: ask that one, "
                f"future.client.{method}(…)"
            )
        entries.append(future._alive())
    return entries
