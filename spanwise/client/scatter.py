"""Moves values from the client to the workers."""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from dask.tokenize import tokenize

from spanwise.client.entries import FINISHED, PENDING, Entry
from spanwise.client.future import Future
from spanwise.client.parcel import Parcel
from spanwise.client.peers import Unreachable
from spanwise.client.session import buffers_of
from spanwise.errors import ClusterError
from spanwise.graph.key_text import KeyTexts
from spanwise.graph.packs import join_texts
from spanwise.graph.provenance import current_annotation
from spanwise.records.enumerations import FLAG_WANTED

#: `scattered` carries no result; its tasks are wanted from the start.
_CONTAINERS = (list, tuple, set, frozenset)

#: If there is no worker, the scheduler may have ended before them: how long it may take to answer.
_SCHEDULER_SECONDS = 10.0


def scatter(client: Any, data: Any, workers: list[int] | None, broadcast: bool, hash: bool) -> Any:
    """Put values on workers and return futures in the layout of `data`.

    Raises
    ------
    ClusterError
        There is no worker to put them on.
    """
    if isinstance(data, range):
        data = list(data)
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
    """One entry per key, counted once for each."""
    session = client._session
    # First: who scatters waits for the thread that sends.
    session.check_turn()
    # One scatter at a time: if two threads scatter the same value, the second finds the
    # first one's.
    with session.scattering:
        rows = _targets(session, workers)
        found, fresh = _held(session, keys, values)
        if fresh:
            try:
                found.update(_scatter_fresh(session, fresh, rows, broadcast))
            except BaseException:
                session.drop_later(list(found.values()))
                raise
        entries = [found[key] for key in keys]
        with session.lock:
            for entry in entries:
                entry.count += 1
            for entry in found.values():
                entry.count -= 1
    return entries


def _targets(session: Any, workers: list[int] | None) -> list[Any]:
    rows = session.running_workers()
    if workers is not None:
        rows = [row for row in rows if row["id"] in workers]
    if not rows:
        raise ClusterError("There is no worker to scatter to; see wait_for_workers()")
    return rows


def _held(
    session: Any, keys: list[Any], values: list[Any]
) -> tuple[dict[Any, Entry], dict[Any, Any]]:
    """The entries that the cluster has already, each counted once, and the values that it lacks."""
    found: dict[Any, Entry] = {}
    fresh: dict[Any, Any] = {}
    with session.lock:
        session._check_alive()
        for key, value in zip(keys, values, strict=True):
            entry = session.by_key.get(key)
            if entry is None or entry.status not in (PENDING, FINISHED):
                fresh[key] = value
            elif key not in found:
                entry.count += 1
                found[key] = entry
    return found, fresh


def _scatter_fresh(
    session: Any, fresh: dict[Any, Any], rows: list[Any], broadcast: bool
) -> dict[Any, Entry]:
    """Move values to workers, then announce them; each entry is counted once.

    Entries cannot be found before that: a task that named one would reach the scheduler
    first.
    """
    with session.lock:
        first = session.reserve_ids(len(fresh))
    parcels = [Parcel(buffers_of(value), broadcast) for value in fresh.values()]
    made: list[Entry] = []
    tried: list[tuple[int, int]] = []
    announced = False
    try:
        holders = _put(session, first, parcels, rows, broadcast, tried)
        with session.sending:
            mark = session.packer.mark()
            try:
                with session.lock:
                    session._check_alive()
                    made += session.new_entries(list(fresh), first)
                    for entry in made:
                        entry.count = 1
                _announce(session, made, parcels, holders)
                announced = True
            except BaseException as error:
                session.withdraw(made, error)
                session.packer.announce_again(mark)
                raise
        # A worker that did not answer in time may have its data, or take it later.
        _have_dropped(session, first, set(tried).difference(holders))
    except BaseException:
        if announced:
            session.drop_later(made)
        _give_up(session, first, 0 if announced else len(fresh), tried)
        raise
    finally:
        for parcel in parcels:
            parcel.close()
    return {entry.key: entry for entry in made}


def _give_up(session: Any, first: int, count: int, tried: list[tuple[int, int]]) -> None:
    """Let go of data that was given to workers in vain, and of `count` ids from `first` on."""
    try:
        if tried and count:
            # After Ctrl-C the announcement may have gone out or not; if not, these ids mean
            # nothing to the scheduler.
            session.send("release", {}, {"ids": {"id": array("I", range(first, first + count))}})
        _have_dropped(session, first, tried)
    except ClusterError:
        return  # the cluster ends, and with it what its workers hold


def _have_dropped(session: Any, first: int, tried: Collection[tuple[int, int]]) -> None:
    """Have workers drop the data (number, worker), or not keep it when it comes."""
    if tried:
        items = [(first + number, worker) for number, worker in tried]
        session.send("discard", {}, {"items": items})


def _put(
    session: Any,
    first: int,
    parcels: list[Parcel],
    rows: list[Any],
    broadcast: bool,
    tried: list[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Store the payloads on workers, in turn or on all; return (number, worker) of each.

    The other workers get the values meant for one that does not answer.

    Parameters
    ----------
    tried
        Gets (number, worker) of all that may be there, also when this is interrupted.

    Raises
    ------
    ClusterError
        None of them answers, or the scheduler has ended.
    """
    left = list(rows)
    if broadcast:
        puts = {row["id"]: list(range(len(parcels))) for row in rows}
    else:
        puts = {}
        for number in range(len(parcels)):
            puts.setdefault(rows[number % len(rows)]["id"], []).append(number)
    holders: list[tuple[int, int]] = []
    while puts:
        row = next(each for each in left if each["id"] in puts)
        numbers = puts.pop(row["id"])
        tried += [(n, row["id"]) for n in numbers]
        try:
            session.peers.put(row["address"], [(first + n, parcels[n]) for n in numbers])
        except Unreachable as error:
            left.remove(row)
            if not left:
                _check_scheduler(session)
                raise ClusterError(f"No worker took the scattered data: {error}") from error
            if not broadcast:
                puts.setdefault(left[0]["id"], []).extend(numbers)
            continue
        holders += [(n, row["id"]) for n in numbers]
    return holders


def _check_scheduler(session: Any) -> None:
    """Raise the error of a scheduler that has ended: its workers do too, and are seen first.

    Raises
    ------
    SchedulerLost
    """
    with suppress(TimeoutError):  # it lives
        session.ask("locate", {}, {"ids": []}, timeout=_SCHEDULER_SECONDS)


def _announce(
    session: Any, made: list[Entry], parcels: list[Parcel], holders: list[tuple[int, int]]
) -> None:
    """Tell the scheduler; under `sending`."""
    texts = KeyTexts()
    names = session.names
    cuts = [texts.cut(entry.key) for entry in made]
    groups = [names.group(group, rest) for group, rest, _ in cuts]
    suffixes, keys_blob = join_texts([rest for _, rest in groups])
    count = len(made)
    tasks = {
        "id": array("I", [entry.id for entry in made]),
        "group": array("I", [group for group, _ in groups]),
        "suffix": suffixes,
        "function": array("I", [names.id_of(function) for _, _, function in cuts]),
        "span": array("I", [session.spans.id(current_annotation())]) * count,
        "flags": bytes([FLAG_WANTED]) * count,
        "nbytes": array("d", [each.nbytes for each in parcels]),
    }
    fields = {**names.take_new(), "spans": session.spans.take_new(), "keysBlob": 0}
    session.send("scattered", fields, {"tasks": tasks, "holders": holders}, [keys_blob])
