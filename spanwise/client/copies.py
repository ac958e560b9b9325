"""Copies of results: on how many workers they are, and how evenly they lie."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import index
from typing import Any

from spanwise.client.arguments import shown, whole_of
from spanwise.client.entries import FINISHED
from spanwise.client.futures_of import futures_given
from spanwise.client.of_others import refuse_others
from spanwise.client.queries import TaskSeen, tasks_seen
from spanwise.client.session import Session
from spanwise.errors import ClusterError
from spanwise.notices import tell

Pair = tuple[int, int]
#: Copies in one request; the scheduler has room for some of these at a time.
_AT_ONCE = 16_384
#: The scheduler gives up a worker that takes nothing for a minute.
_ANSWER_SECONDS = 600.0
#: Moving less than this share of what a worker should hold is not worth it.
_UNEVEN = 0.05


def copy(session: Session, pairs: Iterable[Pair], drop: bool = False) -> tuple[list[Pair], str]:
    """Have workers copy results, (id, worker) of each, or drop copies.

    Returns
    -------
    missing, why
        What has not come, or is still there, and why the last of these.
    """
    missing: list[Pair] = []
    why = ""
    left = iter(pairs)
    while few := list(islice(left, _AT_ONCE)):
        answer = session.ask("copy", {"drop": drop}, {"pairs": few}, timeout=_ANSWER_SECONDS)
        missing += list(answer.table("missing"))
        why = answer.fields["why"] or why
    return missing, why


def spread(
    session: Session, seen: Sequence[TaskSeen], n: int, ids: list[int], branching: int
) -> None:
    """Have each result on `n` of these workers, and on no others of them.

    Raises
    ------
    ClusterError
        Some copies could not be made.
    """
    stored = _stored(session, ids)
    where = {task.client_id: {*task.holders} & {*ids} for task in seen}
    anywhere = {task.client_id: {*task.holders} for task in seen}
    size = {task.client_id: task.nbytes for task in seen}
    while lacking := [each for each, holders in where.items() if len(holders) < n]:
        pairs: list[Pair] = []
        for each in lacking:
            # In one round, as many as those that have it can serve.
            count = min(n - len(where[each]), max(1, branching * len(anywhere[each])))
            free = [worker for worker in ids if worker not in where[each]]
            for worker in heapq.nsmallest(count, free, key=lambda one: (stored[one], one)):
                pairs.append((each, worker))
                stored[worker] += size[each]
                where[each].add(worker)
                anywhere[each].add(worker)
        missing, why = copy(session, pairs)
        if missing:
            raise ClusterError(
                f"{len(missing)} of {len(pairs)} copies could not be made: {why} What has come "
                "stays; ask again when that has changed."
            )
    extra = [
        (each, worker)
        for each, holders in where.items()
        for worker in sorted(holders, key=lambda one: -stored[one])[: len(holders) - n]
    ]
    copy(session, extra, drop=True)  # what a task needs stays for now


def even_out(session: Session, seen: Sequence[TaskSeen], ids: list[int]) -> None:
    """Move results from workers that hold much to those that hold little."""
    stored = _stored(session, ids)
    mean = sum(stored.values()) / max(1, len(stored))
    held: dict[int, list[tuple[float, int, set[int]]]] = defaultdict(list)
    for task in seen:
        for holder in task.holders:
            if holder in stored and task.client_id >= 0 and task.nbytes > 0:
                held[holder].append((task.nbytes, task.client_id, {*task.holders}))
    moves: list[tuple[int, int, int]] = []
    moved: set[int] = set()
    for giver in sorted(stored, key=lambda one: -stored[one]):
        for nbytes, each, holders in sorted(held[giver], key=lambda row: -row[0]):
            taker = min(stored, key=lambda one: (stored[one], one))
            gap = stored[giver] - stored[taker]
            if stored[giver] <= mean * (1 + _UNEVEN) or gap <= 0:
                break
            if each in moved or taker in holders or nbytes >= gap:
                continue  # moving it would only turn the two round
            moved.add(each)
            moves.append((each, giver, taker))
            stored[giver] -= nbytes
            stored[taker] += nbytes
    missing, why = copy(session, [(each, taker) for each, _, taker in moves])
    failed = {each for each, _ in missing}
    copy(session, [(each, giver) for each, giver, _ in moves if each not in failed], drop=True)
    if missing:
        tell(f"{len(missing)} of {len(moves)} results stayed where they are: {why}")


def _stored(session: Session, ids: list[int]) -> dict[int, float]:
    """Bytes of the results of this client that each worker holds."""
    stored = dict.fromkeys(ids, 0.0)
    for task in tasks_seen(session, states=["memory"]):
        for holder in task.holders:
            if holder in stored:
                stored[holder] += max(0.0, task.nbytes)
    return stored


class CopyMethods:
    """Copies of results; mixed into :class:`Client`."""

    _session: Session

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        raise NotImplementedError

    def _worker_ids(self, named: Any) -> list[int]:
        raise NotImplementedError

    def replicate(
        self,
        futures: Any,
        n: int | None = None,
        workers: Any = None,
        branching_factor: int = 2,
        **kwargs: Any,
    ) -> Any:
        """Have results on several workers.

        Returns when the copies are there. A worker that is lost takes its copies with it; they are
        not made again by themselves.

        Parameters
        ----------
        futures
            Futures or collections, also in containers; it waits until they are done.
        n
            On how many workers each is to be; default: on all. What is on more is dropped there,
            unless a task needs it.
        workers
            Addresses, names or numbers of those that may hold them; default: all that take tasks.
        branching_factor
            How many copies are made at a time of each that is there.

        Raises
        ------
        ValueError
            `n` is more than there are workers, or less than 1; no worker is called so.
        ClusterError
            Copies could not be made; the message says why.
        """
        branching = whole_of(branching_factor, "branching_factor", 1, None, "number of copies")
        found = futures_given(futures, "replicate")
        return self._call(self._replicate, found, n, workers, branching)

    def _replicate(self, futures: list[Any], n: int | None, workers: Any, branching: int) -> None:
        ids = self._takers(workers)
        if not ids:
            raise ValueError(
                "No worker of these takes results now, so that none can be replicated: leave "
                "workers= out, or wait for workers with wait_for_workers()"
            )
        try:
            count = len(ids) if n is None else index(n)
        except TypeError:
            count = 0
        if isinstance(n, bool) or not 1 <= count <= len(ids):
            raise ValueError(
                f"n={shown(n)}: each result can be on 1 to {len(ids)} workers, as many as take "
                "results now"
            )
        spread(self._session, self._seen(futures, "replicate"), count, ids, branching)

    def rebalance(self, futures: Any = None, workers: Any = None, **kwargs: Any) -> Any:
        """Move results from workers that hold much to those that hold little.

        Parameters
        ----------
        futures
            Futures or collections, also in containers, which may be moved; it waits until they are
            done. Default: all results of this client.
        workers
            Addresses, names or numbers of those among which they move; default: all that take
            tasks. A warning says which results could not be moved.

        Raises
        ------
        ValueError
            No worker is called so.
        """
        found = None if futures is None else futures_given(futures, "rebalance")
        return self._call(self._rebalance, found, workers)

    def _rebalance(self, futures: list[Any] | None, workers: Any) -> None:
        ids = self._takers(workers)
        if futures is None:
            seen = [*tasks_seen(self._session, states=["memory"])]
        else:
            seen = self._seen(futures, "rebalance")
        even_out(self._session, seen, ids)

    def _takers(self, workers: Any) -> list[int]:
        """Workers that may be given results: neither paused, nor stopped, nor to leave."""
        rows = {
            each["id"] for each in self._session.running_workers() if each["state"] == "running"
        }
        if workers is None:
            return sorted(rows)
        return [each for each in dict.fromkeys(self._worker_ids(workers)) if each in rows]

    def _seen(self, futures: list[Any], method: str) -> list[TaskSeen]:
        """Where the results are, once all are there.

        Raises
        ------
        BaseException
            The error of a future that failed.
        """
        entries = refuse_others(self, futures, method)
        self._session.wait_for(entries)
        for each in entries:
            if each.status != FINISHED:
                raise each.failure().error
        return list(tasks_seen(self._session, entries))
