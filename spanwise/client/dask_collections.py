"""Computes and persists Dask collections through one session.

Dask returns the results of interleaved types in the wrong order (it regroups them by
optimiser and the keys follow the groups), so collections are submitted by type.
"""

from __future__ import annotations

from typing import Any

from dask.base import collections_to_expr
from dask.core import flatten

from spanwise.client.entries import Entry
from spanwise.client.future import Future
from spanwise.client.futures_of import is_collection
from spanwise.client.session import Session
from spanwise.graph.collector import rare_collections
from spanwise.graph.private_dask import FinalizeCompute
from spanwise.graph.task_options import TaskOptions


def split_collections(values: list[Any]) -> tuple[list[int], list[Any]]:
    """Positions and values of the collections among some values.

    Containers that hold collections become one delayed value each.
    """
    from dask.delayed import delayed, unpack_collections

    places, found = [], []
    for place, value in enumerate(values):
        if is_collection(value):
            places.append(place)
            found.append(value)
        elif isinstance(value, (list, tuple, dict, set)) and unpack_collections(value)[1]:
            places.append(place)
            found.append(delayed(value))
    return places, found


def _by_type(collections: list[Any]) -> list[list[int]]:
    groups: dict[type, list[int]] = {}
    for place, collection in enumerate(collections):
        groups.setdefault(type(collection), []).append(place)
    return list(groups.values())


def _types(collections: list[Any]) -> list[str]:
    return [type(collection).__name__ for collection in collections]


def compute_collections(
    session: Session,
    collections: list[Any],
    optimize_graph: bool,
    options: TaskOptions,
) -> list[Entry]:
    """Submit collections; one entry with the whole value for each."""
    entries: list[Entry | None] = [None] * len(collections)
    for places in _by_type(collections):
        group = [collections[place] for place in places]
        with rare_collections():
            expression = FinalizeCompute(collections_to_expr(group, optimize_graph)).optimize()
            keys = list(flatten(expression.__dask_keys__()))
            if len(keys) != len(places):
                raise RuntimeError(
                    f"Dask gave {len(keys)} keys for {len(places)} {type(group[0]).__name__}s"
                )
            try:
                found = session.submit_graph(expression, keys, options, types=_types(group))
            except BaseException:
                session.drop_later([entry for entry in entries if entry is not None])
                raise
        for place, entry in zip(places, found, strict=True):
            entries[place] = entry
    return entries  # type: ignore[return-value]


def persist_collections(
    session: Session,
    client: Any,
    collections: list[Any],
    optimize_graph: bool,
    options: TaskOptions,
) -> list[Any]:
    """Submit the parts of collections; the same collections, holding futures."""
    kept: list[Any] = [None] * len(collections)
    for places in _by_type(collections):
        group = [collections[place] for place in places]
        with rare_collections():
            expression = collections_to_expr(group, optimize_graph).optimize()
            keys = [list(flatten(each)) for each in expression.__dask_keys__()]
            flat = [key for each in keys for key in each]
            entries = iter(session.submit_graph(expression, flat, options, types=_types(group)))
        for place, collection, own in zip(places, group, keys, strict=True):
            # (collections that are persisted twice hold their parts each by itself)
            futures = {key: Future.apart(next(entries), client) for key in own}
            rebuild, state = collection.__dask_postpersist__()
            kept[place] = rebuild(futures, *state)
    return kept


# -- layouts of keys -------------------------------------------------------


def nested(keys: Any) -> tuple[list[Any], Any]:
    """Flatten nested lists of keys; the layout holds positions in place of keys."""
    flat: list[Any] = []

    def walk(part: Any) -> Any:
        if isinstance(part, list):
            return [walk(inner) for inner in part]
        flat.append(part)
        return len(flat) - 1

    return flat, walk(keys)


def rebuild_nested(layout: Any, values: list[Any]) -> Any:
    """Put values in the places of a layout."""
    if isinstance(layout, list):
        return [rebuild_nested(inner, values) for inner in layout]
    return values[layout]
