"""Moves values from the client to the workers."""

from __future__ import annotations

import uuid
from array import array
from typing import Any

from dask.tokenize import tokenize

from spanwise.client.entries import FINISHED, PENDING, Entry
from spanwise.client.errors import ClusterError
from spanwise.client.future import Future
from spanwise.client.session import dump
from spanwise.graph.key_text import KeyTexts
from spanwise.graph.packs import WANTED, join_texts
from spanwise.graph.provenance import current_annotation

#: `scattered` carries no result; its tasks are wanted from the start.
_CONTAINERS = (list, tuple, set, frozenset)


def scatter(client: Any, data: Any, workers: list[int] | None, broadcast: bool, hash: bool) -> Any:
    """Put values on workers and return futures in the layout of `data`.

    Raises
    ------
    ClusterError
        There is no worker to put them on.
    """
    if isinstance(data, dict):
        values, keys = list(data.values()), list(data)
    elif isinstance(data, _CONTAINERS):
        values = list(data)
        keys = [_key(value, hash) for value in values]
    else:
        values, keys = [data], [_key(data, hash)]
    futures = [
        Future(entry, client) for entry in _entries(client, values, keys, workers, broadcast)
    ]
    if isinstance(data, dict):
        return dict(zip(data, futures, strict=True))
    if isinstance(data, _CONTAINERS):
        return type(data)(futures)
    return futures[0]


def _key(value: Any, hash: bool) -> str:
    token = tokenize(value) if hash else uuid.uuid4().hex
    return f"{type(value).__name__}-{token}"


def _entries(
    client: Any, values: list[Any], keys: list[Any], workers: list[int] | None, broadcast: bool
) -> list[Entry]:
    session = client._session
    rows = session.running_workers()
    if workers is not None:
        rows = [row for row in rows if row["id"] in workers]
    if not rows:
        raise ClusterError("There is no worker to scatter to; see wait_for_workers()")
    with session.lock:
        session._check_alive()
        found: dict[Any, Entry] = {}
        fresh: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            entry = session.by_key.get(key)
            if entry is not None and entry.status in (PENDING, FINISHED):
                found[key] = entry
            else:
                fresh[key] = value
        made = session.new_entries(list(fresh))
        for entry in made:
            found[entry.key] = entry
        entries = [found[key] for key in keys]
        for entry in entries:
            entry.count += 1
    if made:
        try:
            _send(session, made, list(fresh.values()), rows, broadcast)
        except BaseException as error:
            # Another thread may have been given the same entries, and would wait for ever.
            session.withdraw(made, error)
            session.drop_later(entries)
            raise
    return entries


def _send(
    session: Any, made: list[Entry], values: list[Any], rows: list[Any], broadcast: bool
) -> None:
    blobs = [dump(value) for value in values]
    puts: dict[int, list[int]] = {}
    for number in range(len(made)):
        for row in rows if broadcast else [rows[number % len(rows)]]:
            puts.setdefault(row["id"], []).append(number)
    holders = []
    for row in rows:
        numbers = puts.get(row["id"], ())
        if numbers:
            session.peers.put(row["address"], [(made[n].id, blobs[n]) for n in numbers])
            holders += [(n, row["id"]) for n in numbers]
    texts = KeyTexts()
    with session.sending:
        names = session.names
        cuts = [texts.cut(entry.key) for entry in made]
        suffixes, keys_blob = join_texts([rest for _, rest, _ in cuts])
        count = len(made)
        tasks = {
            "id": array("I", [entry.id for entry in made]),
            "group": array("I", [names.id(group) for group, _, _ in cuts]),
            "suffix": suffixes,
            "function": array("I", [names.id(function) for _, _, function in cuts]),
            "span": array("H", [session.spans.id(current_annotation())]) * count,
            "flags": bytes([WANTED]) * count,
            "nbytes": array("d", [len(blob) for blob in blobs]),
        }
        fields = {**names.take_new(), "spans": session.spans.take_new(), "keysBlob": 0}
        session.send("scattered", fields, {"tasks": tasks, "holders": holders}, [keys_blob])
