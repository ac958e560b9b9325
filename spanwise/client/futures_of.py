"""Finds futures in what users hold: containers and persisted collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dask.base import is_dask_collection as _is_dask_collection

from spanwise.client.arguments import shown
from spanwise.client.entries import CANCELLED
from spanwise.client.future import Future
from spanwise.notices import warn_asker


def futures_of(o: Any, client: Any = None) -> list[Future]:
    """Return the futures in an object, each once.

    Parameters
    ----------
    o
        A future, a collection that `persist` returned or that was made of one, or lists, tuples,
        sets and dicts of those, in each other.
    client
        Look for cancelled ones.

    Raises
    ------
    CancelledError
        Of the first one that was cancelled, if a client is given.
    """
    futures: list[Future] = [*each_in(o, Future)]
    if client is not None:
        refuse_cancelled(futures)
    return futures


def futures_given(given: Any, method: str, lenient: bool = False) -> list[Future]:
    """Return the futures that a method is to do something with, each once.

    Where nothing of a collection is on the cluster, a warning says so: nothing can be done.

    Parameters
    ----------
    given
        As of :func:`futures_of`; also an iterator or a view of futures.
    method
        Its name, for the messages.
    lenient
        Of collections and containers nothing is said: of some there may be nothing to be done.

    Raises
    ------
    TypeError
        It holds no future, and could not.
    """
    within = listed(given)
    found = futures_of(within)
    if found:
        return found
    lazy: list[Any] = []
    pending = [within]
    while pending:
        one = pending.pop()
        if isinstance(one, (list, tuple, set, frozenset)):
            pending += one
        elif isinstance(one, dict):
            pending += one.values()
        elif lenient and one is not within:
            continue
        elif is_collection(one):
            lazy.append(one)
        else:
            raise TypeError(
                f"{method}() takes futures, persisted collections, and containers of them, not "
                f"{shown(given)}"
            )
    if lazy and not lenient:
        warn_asker(
            f"{method}() has nothing to do: this {type(lazy[0]).__name__} is not persisted, so "
            f"nothing of it is on the cluster. Write x = x.persist(), then {method} x."
        )
    return found


def each_in(o: Any, kind: type | tuple[type, ...]) -> Iterator[Any]:
    """What is of a kind in containers and collections, each once."""
    found: dict[int, Any] = {}
    # Held meanwhile: the number of one that is gone would be given again.
    opened: dict[int, Any] = {}
    pending = [o]
    while pending:
        one = pending.pop()
        if isinstance(one, kind):
            if id(one) not in found:
                found[id(one)] = one
                yield one
            continue
        inside = _inside(one)
        if inside is not None and id(one) not in opened:
            opened[id(one)] = one
            pending += reversed(inside)


def is_collection(value: Any) -> bool:
    """Whether Dask can compute a value."""
    return bool(_is_dask_collection(value))


def _inside(one: Any) -> list[Any] | None:
    """What a container or a collection holds; None for anything else."""
    if isinstance(one, (list, tuple, set, frozenset)):
        return list(one)
    if isinstance(one, dict):
        return list(one.values())
    if is_collection(one):
        return list(one.__dask_graph__().values())
    return None


def listed(fs: Any) -> Any:
    """What an iterator or a view gives, as a list; anything else as it is."""
    if isinstance(fs, (list, tuple, set, frozenset, dict, str, bytes, Future)):
        return fs
    return list(fs) if isinstance(fs, Iterable) and not is_collection(fs) else fs


def awaited(fs: Any) -> list[Future]:
    """The futures that a caller waits for.

    Parameters
    ----------
    fs
        What :func:`listed` returns.

    Raises
    ------
    TypeError
        It is neither future nor collection, and holds none.
    """
    if isinstance(fs, Future):
        return [fs]
    if isinstance(fs, (list, set)) and all(isinstance(each, Future) for each in fs):
        return list(fs)
    if not is_collection(fs) and not isinstance(fs, (list, tuple, set, frozenset, dict)):
        raise TypeError(
            "wait() takes futures, persisted collections, and containers of them, "
            f"not {type(fs).__name__}"
        )
    return futures_of(fs)


def refuse_cancelled(futures: Iterable[Future]) -> None:
    """Raise the error of the first future that was cancelled."""
    for future in futures:
        entry = future._entry
        if entry is not None and entry.status == CANCELLED:
            failure = entry.failure()
            raise failure.error
