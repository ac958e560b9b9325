"""What a client can be told about its cluster.

The scheduler answers page by page, each bounded, so that no question holds up what it does
meanwhile. Entries that come or go between two pages may be missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import dask
from dask.utils import key_split

from spanwise.client.arguments import keys_of, shown, workers_of
from spanwise.client.current import SETTINGS
from spanwise.client.dashboard import dashboard_link
from spanwise.client.entries import Entry
from spanwise.client.futures_of import futures_given
from spanwise.client.of_others import refuse_others
from spanwise.client.on_workers import stacks_here, versions_here
from spanwise.client.session import Session
from spanwise.client.system import metrics_of_workers
from spanwise.errors import SchedulerLost
from spanwise.graph.key_from_text import key_of
from spanwise.records.enumerations import NONE_U16, NONE_U32

Key = Any

#: As many as an answer has at most: each page of it repeats the question.
_NAMED_AT_ONCE = 4096


class FutureState(NamedTuple):
    """What a client knows of one of its keys."""

    status: str
    type: type | None


class TaskSeen(NamedTuple):
    """A task as the scheduler tells of it.

    Attributes
    ----------
    task_id
        The scheduler's own id, -1 for one that it does not know.
    worker
        The number of the worker that it is assigned to, or -1.
    nbytes
        Of the result; -1 unless it is in memory.
    holders
        Numbers of the workers that have the result.
    """

    key: Key
    task_id: int
    worker: int
    nbytes: float
    holders: tuple[int, ...]
    #: The id under which this client holds it, -1 if it does not.
    client_id: int = -1


def tasks_seen(
    session: Session,
    entries: Sequence[Entry] | None = None,
    states: Iterable[str] = (),
    worker: int | None = None,
) -> Iterator[TaskSeen]:
    """Tasks of the scheduler, a page at a time: those of `entries`, or all that fit.

    Raises
    ------
    TimeoutError, SchedulerLost
    """
    fields = {"states": [*states], "worker": worker, "named": entries is not None}
    if entries is None:
        yield from _pages(session, fields, {})
        return
    for few in _batched(entries, _NAMED_AT_ONCE):
        # An entry that never got to the scheduler has no id there.
        yield from _pages(session, fields, {each.id: each for each in few if each.id >= 0})


def _pages(
    session: Session, fields: dict[str, Any], given: Mapping[int, Entry]
) -> Iterator[TaskSeen]:
    named = [(each,) for each in given]
    after: int | None = 0
    while after is not None:
        answer = session.ask("question", {**fields, "after": after}, {"ids": named})
        yield from _page(session, answer, given)
        after = answer.fields["next"]


def _page(session: Session, answer: Any, given: Mapping[int, Entry]) -> Iterator[TaskSeen]:
    texts = bytes(answer.blobs[0]) if answer.blobs else b""
    holders: dict[int, list[int]] = defaultdict(list)
    for row, holder in answer.table("holders"):
        holders[row].append(holder)
    last = -1
    for row, (id_, task_id, worker, nbytes, start, end) in enumerate(answer.table("tasks")):
        entry = given.get(id_) or session.entry_of(id_)
        if entry is None and start == last and end > start:
            continue  # another name of the task before it, which this client has just let go of
        last = start
        yield TaskSeen(
            key_of(texts[start:end].decode("utf-8", "replace")) if entry is None else entry.key,
            -1 if task_id == NONE_U32 else task_id,
            -1 if worker == NONE_U16 else worker,
            nbytes,
            tuple(holders.get(row, ())),
            -1 if entry is None else entry.id,
        )


def scheduler_info(session: Session, address: str, n_workers: int) -> dict[str, Any]:
    """The scheduler and its first workers (-1: all), under `distributed`'s names."""
    rows = session.workers_there()
    workers = info_of_workers(session)
    shown = len(workers) if n_workers == -1 else max(0, n_workers)
    if shown:
        metrics = metrics_of_workers(session)
        for row in workers.values():
            row["metrics"] = metrics.get(row["id"], {})
    return {
        "type": "Scheduler",
        "id": session.cluster_id,
        "address": address,
        "services": {},
        "started": session.wall_epoch,
        "n_workers": len(rows),
        "total_threads": sum(row["threads"] for row in rows),
        "total_memory": int(sum(row["memoryLimit"] for row in rows)),
        "workers": dict(islice(workers.items(), shown)),
    }


def info_of_workers(session: Session, closing: bool = False) -> dict[str, dict[str, Any]]:
    """What is known of each worker, by its address; also of those that are `closing`."""
    return {
        row["address"]: {
            "type": "Worker",
            "id": row["id"],
            "name": session.name_of(row),
            "host": row["host"],
            "pid": row["pid"],
            "nthreads": row["threads"],
            "memory_limit": row["memoryLimit"],
            "resources": dict(row.get("resources") or {}),
            "local_directory": row.get("directory") or None,
            "services": {},
            "nanny": None,
            "status": row["state"],
            "last_seen": session.last_seen(row),
        }
        for row in session.workers_there(closing)
    }


class Queries:
    """Questions of a client about tasks and workers; mixed into :class:`Client`."""

    _session: Session

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        raise NotImplementedError

    def _worker_ids(self, named: Any) -> list[int]:
        raise NotImplementedError

    def _run_everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        raise NotImplementedError

    # -- results and tasks ------------------------------------------------

    def who_has(self, futures: Any = None, **kwargs: Any) -> Any:
        """Which workers hold each result.

        Parameters
        ----------
        futures
            Futures or collections, also in containers; default: every task of the cluster.

        Returns
        -------
        dict
            Key to a list of addresses; empty for what is not in memory.
        """
        found = None if futures is None else futures_given(futures, "who_has")
        return self._call(self._who_has, found)

    def _who_has(self, futures: list[Any] | None) -> dict[Key, list[str]]:
        entries = None if futures is None else refuse_others(self, futures, "who_has")
        # Also those that are leaving: a result may lie there alone for a while yet.
        addresses = {row["id"]: row["address"] for row in self._session.workers.values()}
        return {
            task.key: [addresses[holder] for holder in task.holders if holder in addresses]
            for task in tasks_seen(self._session, entries)
        }

    def has_what(self, workers: Any = None, **kwargs: Any) -> Any:
        """Which results each worker holds.

        Parameters
        ----------
        workers
            Addresses, names or numbers; default: all.

        Returns
        -------
        dict
            Address to a list of keys. A name that no worker has gets an empty list.
        """
        return self._call(self._has_what, None if workers is None else workers_of(workers))

    def _has_what(self, workers: list[Any] | None) -> dict[str, list[Key]]:
        addresses = self._addresses()
        found: dict[str, list[Key]] = {address: [] for address in addresses.values()}
        for task in tasks_seen(self._session, states=["memory"], worker=self._only(workers)):
            for holder in task.holders:
                if holder in addresses:
                    found[addresses[holder]].append(task.key)
        if workers is None:
            return found
        asked: dict[str, list[Key]] = {}
        for one in workers:
            ids = self._session.workers_called(one)
            asked |= {addresses[each]: found[addresses[each]] for each in ids} or {one: []}
        return asked

    def processing(self, workers: Any = None) -> Any:
        """Which tasks each worker has been given and has not finished.

        Some of them run, others wait there for a thread or for their inputs.

        Parameters
        ----------
        workers
            Addresses, names or numbers; default: all.

        Returns
        -------
        dict
            Address to a list of keys.

        Raises
        ------
        ValueError
            No worker is called so.
        """
        return self._call(self._processing, None if workers is None else workers_of(workers))

    def _processing(self, workers: list[Any] | None) -> dict[str, list[Key]]:
        addresses = self._addresses()
        if workers is not None:
            wanted = self._worker_ids(workers)
            addresses = {each: addresses[each] for each in wanted if each in addresses}
        found: dict[str, list[Key]] = {address: [] for address in addresses.values()}
        only = self._only(workers)
        for task in tasks_seen(self._session, states=["processing"], worker=only):
            if task.worker in addresses:
                found[addresses[task.worker]].append(task.key)
        return found

    def nbytes(self, keys: Any = None, summary: bool = True, **kwargs: Any) -> Any:
        """How large the results in memory are.

        Parameters
        ----------
        keys
            One, or a list of several, or of futures; default: all.
        summary
            Sums by the keys' prefixes, as ``key_split`` makes them.

        Returns
        -------
        dict
            Key or prefix to bytes. A result that several workers hold counts once.

        Raises
        ------
        KeyError
            A key that is not in memory.
        """
        wanted = None if keys is None else keys_of(keys, "keys")
        return self._call(self._nbytes, wanted, summary)

    def _nbytes(self, keys: list[Key] | None, summary: bool) -> dict[Any, int]:
        tasks = tasks_seen(self._session, states=["memory"])
        sizes = {task.key: int(task.nbytes) for task in tasks}
        if keys is not None:
            sizes = {key: sizes[key] for key in keys}
        if not summary:
            return sizes
        sums: dict[Any, int] = defaultdict(int)
        for key, size in sizes.items():
            sums[key_split(key)] += size
        return dict(sums)

    def call_stack(self, futures: Any = None, keys: Any = None) -> Any:
        """What is being run now, as text.

        Parameters
        ----------
        futures, keys
            Only these tasks; default: all that run.

        Returns
        -------
        dict
            Address to key to the frames of the thread, the outermost first. Workers without one
            are left out.
        """
        wanted = (
            None
            if futures is None and keys is None
            else {*keys_of(() if keys is None else keys, "keys")}
        )
        if wanted is not None and futures is not None:
            wanted |= {each.key for each in futures_given(futures, "call_stack")}
        return self._call(self._call_stack, wanted)

    def _call_stack(self, wanted: set[Key] | None) -> dict[str, dict[Key, list[str]]]:
        # First the stacks: a task that ends meanwhile is left out, and none has another's key.
        stacks = self._run_everywhere(stacks_here)
        tasks = tasks_seen(self._session, states=["processing"])
        keys = {task.task_id: task.key for task in tasks}
        found = {
            address: {
                keys[task_id]: lines
                for task_id, lines in running.items()
                if task_id in keys and (wanted is None or keys[task_id] in wanted)
            }
            for address, running in stacks.items()
            if isinstance(running, dict)
        }
        return {address: running for address, running in found.items() if running}

    def story(self, *keys_or_stimuli: Any, on_error: str = "raise") -> Any:
        """How the scheduler has moved tasks, as far as it remembers: its last 65,536 moves.

        Parameters
        ----------
        *keys_or_stimuli
            Keys, or futures, that this client holds; at most 64 are looked up.
        on_error
            ``"raise"``, or ``"ignore"``: nothing is told by a scheduler that does not answer.

        Returns
        -------
        list of tuple
            ``(key, from, to, {}, cause, time)``, oldest first; time on the wall clock. The
            cause is the event's name and number. There is nothing of workers in it.
        """
        if on_error not in ("raise", "ignore"):
            raise ValueError(f"on_error is 'raise' or 'ignore', not {on_error!r}")
        return self._call(self._story, keys_of(keys_or_stimuli, "story()"), on_error)

    def _story(self, named: Sequence[Any], on_error: str) -> list[tuple[Any, ...]]:
        try:
            return self._story_of(named)
        except (SchedulerLost, TimeoutError):
            if on_error == "raise":
                raise
            return []

    def _story_of(self, named: Sequence[Any]) -> list[tuple[Any, ...]]:
        session = self._session
        entries = [entry for key in named if (entry := session.by_key.get(key)) is not None]
        by_id = {entry.id: entry.key for entry in entries}
        answer = session.ask(
            "question", {"about": "story"}, {"ids": [(number,) for number in by_id]}
        )
        return [
            (
                by_id[line["id"]],
                line["from"],
                line["to"],
                {},
                f"{line['cause']}-{line['event']}",
                session.wall_epoch + line["at"],
            )
            for line in answer.fields["story"]
            if line["id"] in by_id
        ]

    # -- the cluster ------------------------------------------------------

    def get_versions(self, check: bool = False, packages: Sequence[str] | None = None) -> Any:
        """Which versions run where.

        Parameters
        ----------
        check
            Raise an error if workers and client differ.
        packages
            Others that are asked for too; one, or several.

        Returns
        -------
        dict
            ``scheduler``, ``workers`` (by address) and ``client``, each with its ``host`` and
            ``packages``. The scheduler runs no Python: it has the packages ``spanwise`` alone.

        Raises
        ------
        ValueError
            With `check`: the error lists what differs.
        TimeoutError
            With `check`: there are workers, and none of them has answered.
        """
        names = [packages] if isinstance(packages, str) else packages or ()
        if not isinstance(names, Iterable) or not all(isinstance(each, str) for each in names):
            raise TypeError(
                f"packages is a list of names, such as ['numpy'], not {shown(packages)}"
            )
        return self._call(self._get_versions, check, [*names])

    def _get_versions(self, check: bool, packages: list[str]) -> dict[str, Any]:
        own = versions_here(packages)
        workers = self._run_everywhere(versions_here, packages)
        if check:
            if not workers and self._session.running_workers():
                raise TimeoutError(
                    "No worker has answered which versions it runs, so none was compared. Ask "
                    "again; if workers are stopped, client.restart_workers([…]) replaces them."
                )
            different = [
                f"{name}: {own['packages'][name]} here, {theirs} on {address}"
                for address, said in workers.items()
                for name, theirs in said["packages"].items()
                if theirs != own["packages"].get(name)
            ]
            if different:
                raise ValueError("Versions differ:\n  " + "\n  ".join(different))
        ours = {"spanwise": own["packages"]["spanwise"]}
        scheduler = {"host": own["host"], "packages": ours}
        return {"scheduler": scheduler, "workers": workers, "client": own}

    @property
    def dashboard_link(self) -> str:
        """The address of the JupyterLab whose sidebar has the panels; a sentence without one."""
        return dashboard_link()

    @property
    def futures(self) -> dict[Key, FutureState]:
        """The keys that this client holds, and what it knows of them now."""
        entries = list(self._session.by_key.values())
        return {
            each.key: FutureState(each.status, each.value if isinstance(each.value, type) else None)
            for each in entries
        }

    @contextmanager
    def as_current(self) -> Iterator[None]:
        """Within the block, ``Client.current()`` and ``compute()`` use this client."""
        with dask.config.set({"scheduler": self, **SETTINGS}):
            yield

    def _addresses(self) -> dict[int, str]:
        return {row["id"]: row["address"] for row in self._session.running_workers()}

    def _only(self, workers: list[Any] | None) -> int | None:
        """The number of the worker that alone is asked for: the others' tasks need not be sent."""
        if workers is None or len(workers) != 1:
            return None
        ids = self._session.workers_called(workers[0])
        return ids[0] if len(ids) == 1 else None


def _batched(entries: Sequence[Entry], count: int) -> Iterator[Sequence[Entry]]:
    """The entries, so many at a time."""
    for first in range(0, len(entries), count):
        yield entries[first : first + count]
