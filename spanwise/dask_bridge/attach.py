"""``spanwise.attach()``: panels and figures of a Dask cluster that runs."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

from spanwise.dask_bridge.memory_run import DaskMemoryRun
from spanwise.dask_bridge.own_answers import own_profile
from spanwise.dask_bridge.reach import security_of
from spanwise.dask_bridge.viewer import AlreadyWatched, Viewer
from spanwise.errors import ClusterError
from spanwise.notices import tell
from spanwise.observed.asked_handle import AskedHandle
from spanwise.observed.find_observer import find_observer
from spanwise.observed.html import cluster_html
from spanwise.observed.profile_page import check_page, with_page
from spanwise.observed.questions import Questions, moment
from spanwise.processes.fork_hook import ForkHook

_OF_TASKS = "Functions of tasks"


class AttachedCluster(AskedHandle):
    """A Dask cluster that is watched; see :func:`attach`.

    Attributes
    ----------
    name
        Shown by the panels.
    address
        Of the scheduler.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.name = viewer.name
        self.address = viewer.address
        self._questions: tuple[str, Questions] | None = None
        #: Why something is missing in figures, as it was said last.
        self._said_missing = ""
        self._uses = 1

    @property
    def cluster_id(self) -> str:
        """The id that panels know it by; another one after a restart of the scheduler."""
        log = self._viewer.log
        assert log is not None
        return log.cluster_id

    @property
    def scheduler_id(self) -> str:
        """The id that Dask gives the scheduler."""
        return self._viewer.scheduler

    @property
    def status(self) -> str:
        """``"watching"``, ``"reconnecting"`` or ``"closed"``."""
        return self._viewer.status

    @property
    def problem(self) -> str:
        """Why the scheduler does not answer, or why nobody watches it any more.

        ``""`` while it answers, and after :meth:`close`.
        """
        return self._viewer.problem

    def __enter__(self) -> AttachedCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Watch no more. Panels keep the history; on the cluster nothing is left. Twice is safe.

        Outside Jupyter nobody else holds the figures: ask for them before.

        Who has attached to the same cluster twice has one handle, and closes it twice.
        """
        with _LOCK:
            self._uses -= 1
            if self._uses > 0:
                return
            _forget(self)
        self._end("closed")

    def let_go(self) -> None:
        """Watch no more, whoever else has this handle. What was recorded can still be asked for."""
        with _LOCK:
            _forget(self)
        self._viewer.close()

    def _end(self, why: str) -> None:
        self._viewer.close(why)
        if self._questions is not None:
            self._questions[1].close()
        observer = self._viewer.observer
        if observer is not None:
            observer.close()

    # -- questions --------------------------------------------------------

    def _asked(self) -> Questions:
        """Of the log that is written now."""
        self._tell_missing()
        log = self._viewer.log
        assert log is not None
        if self._questions is None or self._questions[0] != log.cluster_id:
            if self._questions is not None:
                self._questions[1].close()
            viewed = ViewedLog(self._viewer, log.cluster_id, log.epoch)
            self._questions = log.cluster_id, Questions(viewed, lambda: self._viewer.observer)
        return self._questions[1]

    def _tell_missing(self) -> None:
        """Warn who asks, once, if nobody writes the log."""
        why = self._viewer.why_not_watched()
        if why and why != self._said_missing:
            self._said_missing = why
            tell(f"{why} What came after that is missing in these figures.")

    def _take_sums(self) -> None:
        self._viewer.flush_sums()

    def profile(
        self,
        key: str | None = None,
        start: float | str | None = None,
        stop: float | str | None = None,
        workers: Any = None,
        merge_workers: bool = True,
        plot: bool | str = False,
        filename: str | Path | None = None,
        server: bool = False,
        scheduler: bool = False,
        *,
        span: Any = None,
    ) -> Any:
        """In which functions threads were; as :meth:`spanwise.Client.profile`.

        It takes 4 s: workers tell of a second some time after it has ended. With `server` or
        `scheduler` it is of Dask's event loops, in seconds of the wall clock and not of a core.
        """
        if (server or scheduler) and (key is not None or span is not None):
            raise ValueError("key= and span= are of tasks: event loops have none")
        if scheduler and workers is not None:
            raise ValueError("workers= are of tasks: scheduler=True has none")
        check_page(plot, filename)
        asked = self._asked()
        wanted = [workers] if isinstance(workers, str) else workers
        wanted = None if wanted is None else [str(each) for each in wanted]
        by_worker = not (merge_workers or scheduler)
        # (what is asked for is over when it is told)
        now = asked.log.wall_now()
        since, until = moment(start, now), moment(stop, now)
        self._viewer.flush_samples()
        if server or scheduler:
            until = now if until is None else min(until, now)
            profile = own_profile(self._viewer, since, until, wanted, scheduler, by_worker)
        else:
            profile = asked.profile(key, since, until, wanted, span, by_worker)
        found: Any = profile.tree()
        if by_worker:
            there = [each[0] for each in self.workers_there()]
            found = profile.trees([each for each in there if wanted is None or each in wanted])
        told = {"Key": key, "From": start, "Until": stop, "Span": span, "Workers": wanted}
        title = "Scheduler" if scheduler else "Workers besides tasks" if server else _OF_TASKS
        return with_page(found, profile, self.name, told, plot, filename, title)

    def system_monitor(
        self, start: float | str | None = None, stop: float | str | None = None
    ) -> dict[str, dict[str, list[Any]]]:
        """What the system counted; as :meth:`spanwise.Client.system_monitor`.

        It is what workers say of themselves with their heartbeats.
        """
        return self._asked().system(start, stop)

    def workers_there(self) -> list[tuple[str, str, int, float]]:
        """Address, host, threads and memory limit (0: none) of the workers that are there."""
        log = self._viewer.log
        return [] if log is None else log.workers_there()

    def _begin_memory_run(
        self, label: str, measure: str, interval: float, client: Any = None
    ) -> DaskMemoryRun:
        """Called by :class:`spanwise.MemorySampler`.

        Parameters
        ----------
        client
            For whom the scheduler samples; default: one of this process that is connected to it.

        Raises
        ------
        ClusterError
            The scheduler cannot be asked, or no client of `distributed` is connected to it.
        """
        if client is not None:
            # (it may have come by another address of the scheduler)
            return DaskMemoryRun(self._viewer, client.id, label, measure, interval)
        newest = self._viewer.newest
        addresses = {self.address} | (set() if newest is None else {newest.address})
        for each in running_clients():
            if getattr(getattr(each, "scheduler", None), "address", None) in addresses:
                return DaskMemoryRun(self._viewer, each.id, label, measure, interval)
        raise ClusterError(
            f"Dask samples memory for a client that is connected: make one in this process, "
            f"distributed.Client({self.address!r})."
        )

    def bandwidth(self) -> dict[str, Any]:
        """How fast results go from worker to worker, as Dask's scheduler estimates it.

        Returns
        -------
        dict
            ``total``: bytes a second; ``types``: by the type of the result; ``workers``: a list
            of ``source``, ``destination`` and ``bandwidth``. Dask tells no bytes and counts.
        """
        self._tell_missing()
        self._viewer.flush()
        said = self._viewer.bandwidths
        return {
            "total": next((value for kind, _, _, value in said if kind == "total"), None),
            "types": {a: value for kind, a, _, value in said if kind == "type"},
            "workers": [
                {"source": b, "destination": a, "bandwidth": value}
                for kind, a, b, value in said
                if kind == "pair"
            ],
        }

    # -- showing ----------------------------------------------------------

    def __repr__(self) -> str:
        return f"<AttachedCluster {self.name!r} at {self.address}: {self.status}>"

    def _repr_html_(self) -> str:
        newest = self._viewer.newest
        version = "" if newest is None else f"distributed {newest.distributed}"
        facts = ["Dask cluster", self.address, version]
        return cluster_html(
            self.cluster_id, self.name, self.status, [each for each in facts if each]
        )


class ViewedLog:
    """A viewer's log, in the form that questions need."""

    def __init__(self, viewer: Viewer, cluster_id: str, epoch: float) -> None:
        self._viewer = viewer
        self.cluster_id = cluster_id
        self.wall_epoch = epoch

    def wall_now(self) -> float:
        """As :meth:`Recorded.wall_now`: by the scheduler's clock."""
        return time() + self._viewer.clock_offset

    def flush(self) -> int:
        """Pull what the scheduler has now; returns the log's place."""
        return self._viewer.flush()

    def states_by_span(self) -> None:
        """As :meth:`Recorded.states_by_span`: not counted here."""
        return


_LOCK = threading.Lock()
#: The clusters that this process watches, by all addresses that were given for them.
_ATTACHED: dict[str, AttachedCluster] = {}
#: One attaches to an address at a time, …
_TURNS: dict[str, threading.Lock] = {}
#: … and to a scheduler, by its id: that may have several addresses.
_CLAIMED: dict[str, Viewer] = {}


def attached_clusters() -> dict[str, AttachedCluster]:
    """What this process watches, by all addresses that were given for it."""
    with _LOCK:
        return dict(_ATTACHED)


def shown() -> dict[str, str]:
    """The ids of the clusters that are watched, by the addresses and ids of their schedulers.

    The page asks a kernel for them (``src/lab/kernel-snippet.ts``), whoever has attached.
    """
    names: dict[str, str] = {}
    for address, each in attached_clusters().items():
        if each.status != "closed":
            names |= dict.fromkeys((address, each.scheduler_id), each.cluster_id)
    return names


def _forget(attached: AttachedCluster) -> None:
    for address in [each for each, known in _ATTACHED.items() if known is attached]:
        del _ATTACHED[address]


def _forget_ended() -> None:
    """Hold no more what has ended by itself: who has its handle may go on asking."""
    with _LOCK:
        ended = {each for each in _ATTACHED.values() if each.status == "closed"}
        for each in ended:
            _forget(each)
    for each in ended:
        if each._questions is not None:
            each._questions[1].close()


def attach(
    where: Any = None, *, security: Any = None, name: str | None = None, timeout: float = 10.0
) -> AttachedCluster:
    """Show a Dask cluster that runs in the panels, and ask for its figures.

    Nothing is installed there: one plugin goes to the scheduler while somebody watches.

    Parameters
    ----------
    where
        The address of a scheduler, a `distributed.Client`, a cluster object of Dask, or None: the
        client that this process has.
    security
        A `distributed.Security` or its arguments; default: that of the client or cluster, or of
        Dask's configuration.
    name
        Shown by the panels; default: the cluster's name or the address.
    timeout
        Seconds for each answer of the scheduler.

    Raises
    ------
    ClusterError
        There is no such cluster, it cannot be reached, or it cannot be watched.

    Examples
    --------
    >>> with attach("tcp://127.0.0.1:8786") as cluster:          # doctest: +SKIP
    ...     cluster.fine_metrics().by_activity()
    """
    _forget_ended()
    if where is None:
        where = _only_client()
    security = security_of(security if security is not None else _security_at(where))
    address, called = _address_of(where)
    known = _shared(address)
    if known is not None:
        return known
    with _LOCK:
        turn = _TURNS.setdefault(address, threading.Lock())
    with turn:
        # (who attaches at the same moment waits, and gets the same handle)
        known = _shared(address)
        if known is not None:
            return known
        called = name or called or address
        viewer = Viewer(address, security, called, find_observer, timeout, _closed_by(where))
        try:
            viewer.begin(lambda scheduler: _claim(scheduler, viewer))
            attached = AttachedCluster(viewer)
            with _LOCK:
                _ATTACHED[address] = attached
        except AlreadyWatched as other:
            (known,) = other.args
            assert isinstance(known, AttachedCluster)
            with _LOCK:
                if known.status != "closed":
                    _ATTACHED[address] = known
            return known
        finally:
            with _LOCK:
                for scheduler in [each for each, by in _CLAIMED.items() if by is viewer]:
                    del _CLAIMED[scheduler]
        _FORKED.add(attached)
    return attached


def _shared(address: str) -> AttachedCluster | None:
    """The handle of a cluster that is watched, for one user more."""
    with _LOCK:
        known = _ATTACHED.get(address)
        if known is None or known.status == "closed":
            return None
        known._uses += 1
        return known


def _claim(scheduler: str, viewer: Viewer) -> bool:
    """Whether this viewer may watch it; False: another one attaches to it just now.

    Raises
    ------
    AlreadyWatched
        With the handle, for one user more.
    """
    with _LOCK:
        for known in _ATTACHED.values():
            if known.status != "closed" and known._viewer.scheduler == scheduler:
                known._uses += 1
                raise AlreadyWatched(known)
        if viewer.is_closing:
            return True  # (it attaches to nothing, and has no turn)
        return _CLAIMED.setdefault(scheduler, viewer) is viewer


def _closed_by(where: Any) -> Callable[[], bool]:
    """Says whether a cluster object of Dask was closed: its scheduler may not be able to."""
    cluster = where if hasattr(where, "scheduler_address") else getattr(where, "cluster", None)
    try:
        reference = weakref.ref(cluster)
    except TypeError:  # (there is none)
        return bool

    def is_closed() -> bool:
        status = getattr(reference(), "status", None)
        return getattr(status, "name", "") in ("closing", "closed")

    return is_closed


def _address_of(where: Any) -> tuple[str, str | None]:
    """The scheduler's address, and what the cluster is called."""
    if isinstance(where, str):
        return (f"tcp://{where}" if where and "://" not in where else where), None
    address = getattr(getattr(where, "scheduler", None), "address", None) or getattr(
        where, "scheduler_address", None
    )
    if not isinstance(address, str) or not address:
        raise ClusterError(
            f"attach() takes the address of a scheduler, or a client or cluster of Dask that is "
            f"connected, not {type(where).__name__}."
        )
    cluster = getattr(where, "cluster", None)
    cluster = where if cluster is None else cluster
    name = getattr(cluster, "name", None)
    # (a client is none, and Dask's names of clusters are mostly chance)
    is_named = isinstance(name, str) and hasattr(cluster, "scheduler_address")
    return address, f"{type(cluster).__name__} {name}" if is_named else None


def _security_at(where: Any) -> Any:
    return None if isinstance(where, str) else getattr(where, "security", None)


def running_clients() -> list[Any]:
    """The clients of `distributed` in this process that are connected; it is not imported."""
    clients = getattr(sys.modules.get("distributed"), "Client", None)
    return [each for each in list(getattr(clients, "_instances", ())) if each.status == "running"]


def _only_client() -> Any:
    """The client of `distributed` that this process has."""
    running = running_clients()
    if len(running) != 1:
        found = "no Dask client" if not running else f"{len(running)} Dask clients"
        raise ClusterError(
            f"This process has {found}: give attach() the client, or the scheduler's address."
        )
    return running[0]


def _in_fork(attached: AttachedCluster) -> None:
    """It is the parent that watches: the end of a fork ends nothing, and waits for nothing."""
    global _LOCK
    _LOCK = threading.Lock()  # (a thread of the parent may have held it)
    _TURNS.clear()
    _CLAIMED.clear()
    _ATTACHED.clear()
    attached._viewer.forget_in_child()


_FORKED: ForkHook[AttachedCluster] = ForkHook(_in_fork)


def _at_exit() -> None:
    for each in attached_clusters().values():
        each._end("kernel-ended")


atexit.register(_at_exit)
