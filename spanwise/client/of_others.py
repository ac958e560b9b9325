"""Futures of other clients of this process: made this client's own, or left to theirs.

Numbers of tasks and keys are each client's own. So what is done with a future is done by the client
that made it, and a call that takes one as an argument gets a future of its own for the same task,
under a key that no call of this client has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
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


def with_own(client: Any, call: Any) -> Any:
    """Return a function and its arguments, with a client's own futures for the tasks of others'.

    Raises
    ------
    ClusterError
        A future is of a client of another cluster, or of one that is closed.
    CancelledError
    """
    session: Session = client._session
    found = {
        id(future): future
        for future in _futures_within([call])
        if future.client._session is not session
    }
    if not found:
        return call
    adopted = _adopt(session, found.values(), renamed=True)
    own = {number: Future(entry, client) for number, entry in zip(found, adopted, strict=True)}
    return _replace(call, own)


def _adopt(session: Session, futures: Iterable[Future], renamed: bool) -> list[Entry]:
    """Entries of a session for tasks of others: one question and one message for each of them."""
    futures = list(futures)
    for theirs, of_theirs in by_session(futures).items():
        entries = [future._alive() for future in of_theirs]
        if theirs.cluster_id != session.cluster_id:
            raise ClusterError(
                f"The future {of_theirs[0].key!r} is of the cluster {theirs.name!r}, and this "
                f"client is of {session.name!r}: give it what future.result() returns, or what "
                "scatter(future.result()) does if several tasks need it."
            )
        pending = next((entry for entry in entries if entry.status == PENDING), None)
        if pending is not None:
            # Each client has a connection of its own. The answer comes when the scheduler has
            # read all that this one has sent, and so knows all these tasks.
            named: dict[str, Any] = {"states": [], "worker": None, "named": True, "after": 0}
            theirs.ask("question", named, {"ids": [(pending.id,)]})
        for entry in entries:
            if entry.status == CANCELLED or entry.id < 0:
                raise entry.failure().error
    named_there = [(future.key, *future._shared_name()) for future in futures]
    return session.adopt_all(named_there, renamed)


def with_others(client: Any, held: Iterable[Any], submit: Callable[[], Any]) -> Any:
    """Submit graphs; what of them only other clients hold becomes this client's too.

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
    session: Session = client._session
    adopted: dict[Any, Future] = {}
    while True:
        try:
            return submit()  # what it needs is held until then
        except NotHeld as missing:
            # The next graph may lack others.
            found = {
                each.key: each
                for each in _futures_in(held)
                if each.key in missing.keys and each.key not in adopted
            }
            if not found:
                raise
            entries = _adopt(session, found.values(), renamed=False)
            for key, entry in zip(found, entries, strict=True):
                adopted[key] = Future(entry, client)


def _futures_in(held: Iterable[Any]) -> Iterator[Future]:
    """The futures in graphs, also within the arguments of their tasks."""
    for one in held:
        graph = one if isinstance(one, Mapping) else one.__dask_graph__()
        yield from _futures_within(graph.values())


def _futures_within(values: Iterable[Any]) -> Iterator[Future]:
    """The futures in values, in containers, and in the arguments of tasks and partial functions."""
    pending = [*values]
    while pending:
        value = pending.pop()
        if isinstance(value, Future):
            yield value
        elif isinstance(value, Task):
            pending += [*value.args, *value.kwargs.values()]
        elif isinstance(value, dict):
            pending += [*value, *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            pending += value
        elif type(value) is partial:
            pending += [*value.args, *value.keywords.values()]


def _replace(value: Any, own: Mapping[int, Future]) -> Any:
    """A value with others in the place of futures, by their id(); as far as calls may have them."""
    if isinstance(value, Future):
        return own.get(id(value), value)
    if isinstance(value, dict):
        return {_replace(key, own): _replace(each, own) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        kept = [_replace(each, own) for each in value]
        is_named = isinstance(value, tuple) and hasattr(value, "_fields")
        return type(value)(*kept) if is_named else type(value)(kept)
    if type(value) is partial:
        return partial(value.func, *_replace(value.args, own), **_replace(value.keywords, own))
    return value


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
