"""The client: submit work to a cluster and ask what it measured."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import dask
from dask.utils import format_bytes

from spanwise.client.arguments import (
    check_function,
    check_keys,
    flag_of,
    seconds_of,
    shown,
    whole_of,
    workers_of,
)
from spanwise.client.beside_distributed import advise_beside_distributed
from spanwise.client.callbacks import Computation, is_called_back, taken_callbacks
from spanwise.client.calls import Calls
from spanwise.client.closed_session import ClosedSession
from spanwise.client.cluster_control import ClusterControl
from spanwise.client.cluster_file import copy_cluster_file, find_cluster, wait_for_cluster
from spanwise.client.copies import CopyMethods
from spanwise.client.current import CurrentClient, default_client
from spanwise.client.dask_collections import (
    compute_collections,
    nested,
    persist_collections,
    rebuild_nested,
    split_collections,
)
from spanwise.client.datasets import DatasetMethods
from spanwise.client.default_cluster import DefaultCluster, NoDefaultCluster, shares_default
from spanwise.client.entries import ERROR
from spanwise.client.events import EventMethods
from spanwise.client.executor import ClientExecutor
from spanwise.client.future import Future, wait_async
from spanwise.client.futures_of import futures_given, futures_of, is_collection
from spanwise.client.gathering import open_result
from spanwise.client.html import cluster_facts_html
from spanwise.client.joined_cluster import JoinedCluster
from spanwise.client.keywords import take_keywords
from spanwise.client.launch import check_cluster, check_workers, cluster_keywords
from spanwise.client.local_cluster import LocalCluster
from spanwise.client.logs import DEFAULT_HANDLERS, LogMethods
from spanwise.client.measured import MeasuredMethods
from spanwise.client.metadata import MetadataMethods
from spanwise.client.method_names import name_methods
from spanwise.client.observed import Observed
from spanwise.client.of_others import are_there_others, by_session, with_others, with_own
from spanwise.client.on_dask import dask_client, is_dasks
from spanwise.client.patience import Patience, name_of, run_sentence
from spanwise.client.peers import TOLD_SECONDS
from spanwise.client.plugins import PluginMethods
from spanwise.client.private_cluster import PrivateCluster
from spanwise.client.queries import Queries, scheduler_info
from spanwise.client.reason import IN_CALL, WITH_CLIENT, WITH_INTERRUPT, open_error
from spanwise.client.scatter import scatter
from spanwise.client.session import Session, dump
from spanwise.client.shared_cluster import SharedCluster
from spanwise.client.system import SystemMethods
from spanwise.client.transfers import TransferMethods
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.graph.collector import rare_collections
from spanwise.graph.spans import span as _span  # noqa: F401  (re-exported by the package)
from spanwise.graph.task_options import TaskOptions
from spanwise.notices import tell, warn_asker
from spanwise.observed.observer_address import ObserverAddress
from spanwise.processes.node_process import NodeProcess
from spanwise.shared.futures import CLIENTS
from spanwise.wire import payload
from spanwise.wire.tracebacks import leave_tasks_frames

#: `run` waits for its results without a limit.
_NO_LIMIT = None
#: How long questions that workers answer wait for one that does not.
_ANSWER_SECONDS = 30.0
#: What a client that is given a cluster leaves to it.
_AS_IT_IS: tuple[Any, ...] = (None, None, "auto", {})


class Client(
    Queries,
    CopyMethods,
    LogMethods,
    EventMethods,
    MetadataMethods,
    DatasetMethods,
    PluginMethods,
    MeasuredMethods,
    TransferMethods,
    SystemMethods,
    ClusterControl,
):
    """A cluster on this machine, and the way to use it.

    Parameters
    ----------
    address
        What to use: a :class:`LocalCluster`, the address of a running cluster (as
        ``scheduler_info()["address"]`` shows it in another program of this user) or the path of its
        ``cluster.json``. Without one a cluster is started, which ends with this client. With the
        address of a Dask scheduler (``tcp://…``, ``tls://…``) or a cluster object of Dask this is a
        `distributed.Client`, whose cluster the panels show; it takes that one's keywords.
    n_workers, threads_per_worker
        Default: as many threads in all (processes × threads of each) as there are cores: one
        per process up to 4 cores, beyond that about as many processes as threads of each.
    memory_limit
        Per worker: bytes, text such as ``"2GiB"``, a share of the machine's memory, None for no
        limit, or ``"auto"``: the share of the machine's memory that its threads are of the cores.
    name
        Shown by the panels; default: the notebook's or script's name.
    asynchronous
        Methods that wait return coroutines; use ``async with`` or ``await``.
    set_as_default
        Let every ``compute()`` of Dask use this client until it is closed. ``compute()``
        cannot use an asynchronous client and says so: use ``await client.compute(x)``.
    timeout
        Seconds to wait for the workers, and for the file of `scheduler_file`.
    resources, idle_timeout
        Of the cluster that it starts, as of :class:`LocalCluster`.
    scheduler_file
        The path of a running cluster's ``cluster.json``, or of what
        :meth:`write_scheduler_file` has written. It is waited for, up to `timeout`.
    **kwargs
        Other keywords of `distributed`'s clients and clusters: one warning says what happens
        instead.

    Raises
    ------
    ClusterError
        The cluster could not be started or joined; the message says why and what to do.
    TypeError
        A keyword that nobody knows.

    Examples
    --------
    >>> client = Client(n_workers=2, threads_per_worker=2)      # doctest: +SKIP
    >>> with span("load"):                                      # doctest: +SKIP
    ...     total = client.submit(sum, [1, 2, 3]).result()
    """

    #: Methods that wait return coroutines.
    asynchronous: bool = False
    #: Whether what tasks print for clients is printed here.
    _hears_tasks = True
    #: It is in a worker's process, for the tasks there.
    is_of_worker: bool = False

    def __new__(cls, address: Any = None, *args: Any, **kwargs: Any) -> Any:
        """On a cluster of Dask: Dask's own client, with the figures and panels of Spanwise."""
        if cls is Client and address is not None and is_dasks(address):
            return dask_client(address, *args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        address: Any = None,
        *,
        n_workers: int | None = None,
        threads_per_worker: int | None = None,
        memory_limit: Any = "auto",
        name: str | None = None,
        asynchronous: bool = False,
        set_as_default: bool = True,
        timeout: float | str = 30,
        scheduler_file: str | None = None,
        resources: dict[str, float] | None = None,
        idle_timeout: float | str | None = None,
        **kwargs: Any,
    ) -> None:
        cluster = address if isinstance(address, LocalCluster) else None
        # (what is read from a variable of the environment that is empty)
        scheduler_file = None if scheduler_file == "" else scheduler_file
        place = _place(address if cluster is None else None, scheduler_file)
        own = ("n_workers", "threads_per_worker", "memory_limit", "name", "asynchronous")
        take_keywords("Client", kwargs, (*own, "set_as_default", "timeout"))
        joins = cluster is not None or place is not None
        settings = cluster_keywords(resources, idle_timeout)
        check_cluster(n_workers, threads_per_worker, memory_limit, name)
        if joins and (n_workers, threads_per_worker, memory_limit, settings) != _AS_IT_IS:
            raise TypeError(
                "A client takes a running cluster as it is: give n_workers, threads_per_worker, "
                "memory_limit, resources and idle_timeout to LocalCluster(), or to the Client() "
                "that starts it"
            )
        self.asynchronous = flag_of(asynchronous, "asynchronous")
        self._set_as_default = flag_of(set_as_default, "set_as_default")
        self._timeout = seconds_of(timeout, "timeout", 0)
        self._status = "starting"
        self._made_from = cluster
        self._place = place
        self._scheduler_file = scheduler_file
        self._own_handle: LocalCluster | None = None
        self._private: PrivateCluster | JoinedCluster | None = None
        self._options = (n_workers, threads_per_worker, memory_limit, name)
        self._settings = settings
        self._shares = not joins and shares_default(self._options, {**kwargs, **settings})
        self._current: CurrentClient | None = None
        self._waking = threading.Lock()
        self._session: Session
        if not self.asynchronous:
            self._start()
            self._activate()

    # -- starting and ending ----------------------------------------------

    def _start(self) -> None:
        cluster = self._join()
        self._private = cluster
        self._session = cluster.session
        self._calls = Calls(self._session)
        # Not through the client: one that is forgotten is to go at once.
        self._observed = Observed(self._session, lambda: cluster.observer)
        if self._hears_tasks:
            self._session.subscriptions.add_defaults(DEFAULT_HANDLERS)
        self._status = "running"
        CLIENTS.add(self)

    def _join(self) -> PrivateCluster | JoinedCluster:
        cluster: PrivateCluster | JoinedCluster
        if self._made_from is not None:
            cluster = self._made_from._lend(self)
        elif self._scheduler_file is not None:
            # The command that writes it may just have been started, in another terminal.
            wait = partial(wait_for_cluster, self._scheduler_file, self._timeout)
            cluster = JoinedCluster(wait)
        elif self._place is not None:
            cluster = JoinedCluster(partial(find_cluster, self._place))
        elif self._shares:
            cluster = DefaultCluster()
        else:
            cluster = PrivateCluster(*self._options, **self._settings)
        if self._made_from is None or isinstance(cluster, JoinedCluster):
            try:
                cluster.start(self._timeout)
            except NoDefaultCluster as why:
                if str(why):
                    tell(
                        "This notebook gets a cluster of its own, and does not share that of its "
                        f"environment. {why}"
                    )
                cluster = PrivateCluster(*self._options)
                cluster.start(self._timeout)
        return cluster

    def _wake(self) -> None:
        """Join the default cluster again if it has ended for want of use, which lost nothing."""
        if not isinstance(self._private, DefaultCluster) or self.asynchronous:
            return
        with self._waking:
            ended = self._private
            if self._status != "running" or not (self._session.was_idle and self._session.dead):
                return
            self._observed.close()
            self._start()
        ended.close()

    @property
    def status(self) -> str:
        """``starting``, ``running``, or ``closed``: by :meth:`close`, or as its cluster has ended.

        A default cluster that ended for want of use counts as running: the next call wakes it.
        """
        if self._status != "running" or self._session.dead is None:
            return self._status
        sleeps = self._session.was_idle and isinstance(self._private, DefaultCluster)
        return "running" if sleeps else "closed"

    @property
    def _scheduler(self) -> NodeProcess | None:
        return None if self._private is None else self._private.scheduler

    @property
    def _observer(self) -> ObserverAddress | None:
        return None if self._private is None else self._private.observer

    @property
    def cluster(self) -> LocalCluster | None:
        """The cluster that it was made from, that it started, or that notebooks share.

        None: it joined one that another program started.
        """
        if self._made_from is not None:
            return self._made_from
        if self._own_handle is None or self._own_handle._cluster is not self._private:
            if isinstance(self._private, PrivateCluster):
                self._own_handle = LocalCluster._of(self, self._private)
            elif isinstance(self._private, DefaultCluster):
                self._own_handle = SharedCluster._of(self, self._private)
        return self._own_handle

    def _activate(self) -> None:
        advise_beside_distributed()
        if self._set_as_default:
            self._current = CurrentClient(self)

    def close(self, timeout: float | str | None = None) -> Any:
        """Let go of all results, and end the cluster if this client started it.

        Panels keep its history. Twice is safe.
        """
        return self._call(self._close)

    def _close(self) -> None:
        if self._status in ("closed", "starting"):
            return
        self._status = "closed"
        if self._current is not None:
            self._current.undo()
        self._observed.close()
        if self._made_from is not None and not isinstance(self._private, JoinedCluster):
            self._leave()
        elif self._private is not None:
            self._private.close()
        else:
            self._session.close()

    def _leave(self) -> None:
        """Give the cluster back as it was."""
        with suppress(SchedulerLost):
            self._session.subscriptions.remove_all()
            self._session.shared.give_up_all()
            self._session.cancel_all(WITH_CLIENT)
        closed: Any = ClosedSession(self._session)
        self._session = self._calls = closed

    def shutdown(self) -> Any:
        """End the cluster too, whoever made it. Twice is safe."""
        return self._call(self._shutdown)

    def _shutdown(self) -> None:
        if self._made_from is None and isinstance(self._private, JoinedCluster):
            self._private.ends_all = True
        self._close()
        if self._made_from is not None:
            self._made_from._close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: Any) -> None:
        self._close()

    def __await__(self) -> Generator[Any, None, Client]:
        return self._started().__await__()

    def start(self, **kwargs: Any) -> Any:
        """Start an asynchronous client that was not awaited; any other has started."""
        return self._started() if self.asynchronous else None

    async def _started(self) -> Client:
        if self._status == "starting":
            await asyncio.to_thread(self._start)
            self._activate()
        return self

    async def __aenter__(self) -> Client:
        return await self._started()

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self._close)

    def __del__(self) -> None:
        if getattr(self, "_status", "closed") == "running" and not sys.is_finalizing():
            # The processes see their lifelines end; this waits for nothing.
            self._status = "closed"

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a method that waits: here, or as a coroutine if asynchronous."""
        if self.asynchronous:
            return asyncio.to_thread(function, *args)
        return function(*args)

    @classmethod
    def current(cls, allow_global: bool = True) -> Client:
        """The newest open client.

        Raises
        ------
        ValueError
            There is none.
        """
        found: Client = default_client()
        return found

    # -- submitting -------------------------------------------------------

    def submit(
        self,
        func: Callable[..., Any],
        *args: Any,
        key: Any = None,
        workers: Any = None,
        resources: Any = None,
        retries: int | None = None,
        priority: int = 0,
        fifo_timeout: Any = "100 ms",
        allow_other_workers: bool = False,
        actor: bool = False,
        actors: bool = False,
        pure: bool = True,
        **kwargs: Any,
    ) -> Future:
        """Run a function on a worker; returns a future at once.

        Parameters
        ----------
        func, *args, **kwargs
            The call; arguments may hold futures.
        key
            Name of the task; default: made from the function and the arguments.
        workers, allow_other_workers
            Where it may run; whether that is only a preference.
        resources
            What it holds of its worker's resources while it runs, such as ``{"GPU": 1}``; it runs
            only where these are free. For collections also by keys: ``{key: {"GPU": 1}}``, where a
            key may be a tuple of keys.
        retries
            How often to run it again if it fails.
        priority
            Larger runs earlier.
        fifo_timeout
            Accepted for compatibility: of equal priorities the earlier submission is first.
        actor, actors
            There are none: True is an error.
        pure
            Equal calls share one result.
        """
        if actor or actors:
            raise _no_actors()
        _check_call("submit", func, workers, allow_other_workers)
        self._wake()
        if are_there_others():
            func, args, kwargs = with_own(self, (func, args, kwargs))
        options = self._task_options(resources, retries, priority, workers, allow_other_workers)
        keys = None if key is None else [key]
        check_keys(keys or ())
        (entry,) = self._calls.submit(func, (args,), kwargs, keys, pure, options)
        return Future(entry, self)

    def map(
        self,
        func: Callable[..., Any],
        *iterables: Any,
        key: Any = None,
        workers: Any = None,
        retries: int | None = None,
        resources: Any = None,
        priority: int = 0,
        fifo_timeout: Any = "100 ms",
        allow_other_workers: bool = False,
        actor: bool = False,
        actors: bool = False,
        pure: bool = True,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[Future]:
        """Run a function on each row of the iterables; returns a list of futures.

        Parameters
        ----------
        key
            Beginning of the keys in place of the function's name, or a list of keys.
        batch_size
            Accepted for compatibility; calls are always sent in batches.

        See Also
        --------
        submit : for the other parameters.
        """
        if actor or actors:
            raise _no_actors()
        _check_call("map", func, workers, allow_other_workers)
        for each in iterables:
            if not isinstance(each, Iterable) and not hasattr(each, "__getitem__"):
                raise TypeError(
                    f"map() takes iterables after the function, not {shown(each)}: submit() takes "
                    "the arguments of one call"
                )
        self._wake()
        rows = list(zip(*iterables, strict=False))
        if are_there_others():
            func, rows, kwargs = with_own(self, (func, rows, kwargs))
        keys: list[Any] | str | None
        if isinstance(key, list):
            if len(key) != len(rows):
                raise ValueError(
                    f"key has {len(key)} keys for {len(rows)} calls: give one for each, or a text "
                    "with which all begin"
                )
            check_keys(key)
            keys = key
        else:
            # Keys are not numbered: another map of the same name would then get the
            # results of this one.
            keys = None if key is None else str(key)
        options = self._task_options(resources, retries, priority, workers, allow_other_workers)
        entries = self._calls.submit(func, rows, kwargs, keys, pure, options)
        return [Future(entry, self) for entry in entries]

    def _task_options(
        self, resources: Any, retries: Any, priority: Any, workers: Any, others: Any
    ) -> TaskOptions | None:
        ambient = dict(dask.get_annotations())
        ambient.pop("span", None)
        for name, value in (
            ("resources", resources),
            ("retries", retries),
            ("priority", priority or None),
            ("workers", workers),
            ("allow_other_workers", others or None),
        ):
            if value is not None:
                ambient[name] = value
        return TaskOptions(self._look_for, ambient) if ambient else None

    def _worker_ids(self, named: Any) -> list[int]:
        """Numbers of the living workers that have a number, name, host or address.

        Parameters
        ----------
        named
            One of these, or several.

        Raises
        ------
        TypeError
            It names no workers.
        ValueError
            No worker has one of them.
        """
        found: list[int] = []
        for one in workers_of(named):
            matches = self._session.workers_called(one)
            if not matches:
                raise ValueError(self._no_worker_sentence([one]))
            found += matches
        return found

    def _look_for(self, named: Sequence[int | str], others: bool) -> None:
        """Warn if no worker has a name that a task is to run at: it waits, as in `distributed`."""
        if not any(self._session.workers_called(one) for one in named):
            then = "Others take the task" if others else "The task waits until one comes"
            warn_asker(f"{self._no_worker_sentence(named)} {then}.")

    def _no_worker_sentence(self, named: Sequence[Any]) -> str:
        there = ", ".join(f"worker-{row['id']}" for row in self._session.running_workers())
        wanted = " or ".join(repr(one) for one in named)
        return f"There is no worker {wanted}; there are {there or 'none'}."

    def get_executor(self, **kwargs: Any) -> ClientExecutor:
        """Return an executor of `concurrent.futures` whose calls are tasks of this client.

        Parameters
        ----------
        **kwargs
            For each call, as :meth:`submit`: `pure` (False), `workers`, `allow_other_workers`,
            `retries`, `priority`, `resources`.
        """
        return ClientExecutor(self, **kwargs)

    # -- Dask's protocol --------------------------------------------------

    def get(
        self,
        dsk: Any,
        keys: Any,
        workers: Any = None,
        allow_other_workers: Any = None,
        resources: Any = None,
        sync: bool = True,
        asynchronous: bool | None = None,
        retries: Any = None,
        priority: Any = 0,
        **kwargs: Any,
    ) -> Any:
        """Compute the keys of a graph; what Dask's ``compute`` calls.

        Parameters
        ----------
        dsk
            An expression, a layered graph, or a mapping of keys to nodes.
        keys
            A key, or (nested) lists of keys; the answer has the same layout.
        sync
            False: return futures instead of values.
        **kwargs
            `callbacks`: Dask's callbacks of this computation, in place of the active ones.
            Others have no effect.
        """
        self._wake()
        flat, layout = nested(keys)
        options = self._task_options(resources, retries, priority, workers, allow_other_workers)
        # A graph may be submitted without options and carry annotations of its own.
        options = options or TaskOptions(self._look_for, {})
        if sync and not self.asynchronous and is_called_back(kwargs.get("callbacks")):
            return self._get_with_callbacks(dsk, flat, layout, options, kwargs.get("callbacks"))
        with rare_collections():
            entries = with_others(
                self, [dsk], lambda: self._session.submit_graph(dsk, flat, options)
            )
        if not sync:
            return rebuild_nested(layout, [Future(entry, self) for entry in entries])
        if self.asynchronous:
            return self._get_async(entries, layout)
        try:
            return self._get(entries, layout)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def _get(self, entries: list[Any], layout: Any) -> Any:
        try:
            return rebuild_nested(layout, self._session.gather(entries))
        except KeyboardInterrupt:
            # The keys that a future or a persisted collection holds are taken from
            # there.
            here = Counter(entries)
            own = [entry for entry, count in here.items() if entry.count == count]
            with suppress(ClusterError):  # it has ended, and nothing runs any more
                self._session.cancel(own, False, WITH_INTERRUPT)
            raise
        finally:
            self._session.drop(entries)

    def _get_with_callbacks(
        self, dsk: Any, keys: list[Any], layout: Any, options: TaskOptions, given: Any
    ) -> Any:
        session = self._session
        with taken_callbacks(given) as callbacks:
            computation = Computation(session, keys, callbacks)

            def submit() -> list[Any]:
                with rare_collections():
                    return session.submit_graph(dsk, keys, options, begin=computation.begin)

            try:
                values = computation.values(lambda: with_others(self, [dsk], submit))
            except BaseException as error:
                leave_tasks_frames(error)
                raise
        return rebuild_nested(layout, values)

    async def _get_async(self, entries: list[Any], layout: Any) -> Any:
        try:
            await wait_async(self._session, entries, None)
        except BaseException:
            self._session.drop(entries)
            raise
        try:
            return await asyncio.to_thread(self._get, entries, layout)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def compute(
        self,
        collections: Any,
        sync: bool = False,
        optimize_graph: bool = True,
        workers: Any = None,
        allow_other_workers: bool = False,
        resources: Any = None,
        retries: int | None = 0,
        priority: int = 0,
        traverse: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Compute collections; returns a future, or a list of futures, at once.

        Parameters
        ----------
        collections
            A collection, or a list or tuple of collections and other values.
        sync
            True: wait, and return values.
        traverse
            Accepted for compatibility: collections inside containers are found.
        """
        self._wake()
        options = self._task_options(
            resources, retries or None, priority, workers, allow_other_workers
        )
        single = not isinstance(collections, (list, tuple, set, frozenset))
        given = [collections] if single else list(collections)
        places, found = split_collections(given)
        options = options or TaskOptions(self._look_for, {})
        entries = with_others(
            self, found, lambda: compute_collections(self._session, found, optimize_graph, options)
        )
        answers: list[Any] = list(given)
        for place, entry in zip(places, entries, strict=True):
            answers[place] = Future(entry, self)
        if not sync:
            return answers[0] if single else answers
        try:
            return self.gather(answers[0] if single else answers)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def persist(
        self,
        collections: Any,
        optimize_graph: bool = True,
        workers: Any = None,
        allow_other_workers: bool | None = None,
        resources: Any = None,
        retries: int | None = None,
        priority: int = 0,
        **kwargs: Any,
    ) -> Any:
        """Start computing collections and keep them on the cluster.

        Returns
        -------
        The same collections, holding futures of their parts.
        """
        self._wake()
        options = self._task_options(resources, retries, priority, workers, allow_other_workers)
        single = not isinstance(collections, (list, tuple, set, frozenset))
        given = [collections] if single else list(collections)
        for one in given:
            if not is_collection(one):
                raise TypeError(f"persist() takes Dask collections, not {type(one).__name__}")
        options = options or TaskOptions(self._look_for, {})
        kept = with_others(
            self,
            given,
            lambda: persist_collections(self._session, self, given, optimize_graph, options),
        )
        return kept[0] if single else kept

    # -- results ----------------------------------------------------------

    def gather(
        self,
        futures: Any,
        errors: str = "raise",
        direct: bool | None = None,
        asynchronous: bool | None = None,
    ) -> Any:
        """Bring results here.

        Parameters
        ----------
        futures
            A future, or containers holding futures. Of an iterator the answer is one too,
            which waits for one item at a time.
        errors
            ``"raise"``, or ``"skip"``: leave failed ones out of lists and sets, and put None
            for them elsewhere.
        direct
            Accepted for compatibility; results always come straight from the workers.
        """
        if errors not in ("raise", "skip"):
            raise ValueError(f"errors is 'raise' or 'skip', not {errors!r}")
        if isinstance(futures, Iterator):
            return (self.gather(each, errors, direct) for each in futures)
        found: dict[int, Future] = {}
        _collect(futures, found)
        for future in found.values():
            future._alive()
        if self.asynchronous:
            return self._gather_async(futures, found, errors)
        try:
            return self._gather(futures, found, errors)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def _gather(self, futures: Any, found: dict[int, Future], errors: str) -> Any:
        """Put values in the places of futures; `found` has them by their id()."""
        values: dict[int, Any] = {}
        for session, own in by_session(found.values()).items():
            entries = [future._alive() for future in own]
            got = session.values(entries, errors)
            values.update(
                (id(future), got[entry])
                for future, entry in zip(own, entries, strict=True)
                if entry in got
            )
        return _replace(futures, values, skip=errors == "skip")

    async def _gather_async(self, futures: Any, found: dict[int, Future], errors: str) -> Any:
        for session, own in by_session(found.values()).items():
            await wait_async(session, [future._alive() for future in own], None)
        try:
            return await asyncio.to_thread(self._gather, futures, found, errors)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def scatter(
        self,
        data: Any,
        workers: Any = None,
        broadcast: bool = False,
        direct: bool | None = None,
        hash: bool = True,
        timeout: Any = None,
        asynchronous: bool | None = None,
    ) -> Any:
        """Move data to the workers; returns futures in the layout of `data`.

        Parameters
        ----------
        data
            A list, tuple, set or dict of values, or one value.
        workers
            Where to; default: all in turn.
        broadcast
            Put every value on all of them.
        hash
            Equal values share one key.
        """
        self._wake()
        chosen = None if workers is None else self._worker_ids(workers)
        return self._call(scatter, self, data, chosen, broadcast, hash)

    def cancel(
        self,
        futures: Any,
        asynchronous: bool | None = None,
        force: bool = False,
        reason: str | None = None,
        msg: str | None = None,
    ) -> Any:
        """Give up tasks and results; all their futures are cancelled at once.

        Tasks that have not started never will; results are let go; what depends on them is
        cancelled too.

        Parameters
        ----------
        futures
            A future, a persisted collection, or containers of those.
        reason, msg
            Shown in the error that their callers get.
        """
        found = [] if futures is None else futures_given(futures, "cancel", lenient=True)
        for future in found:
            future._alive()
        why = " ".join(str(each) for each in (reason, msg) if each)
        return self._call(self._cancel, found, force, f"{IN_CALL} ({why})" if why else IN_CALL)

    def _cancel(self, futures: list[Future], force: bool, how: str) -> None:
        for session, own in by_session(futures).items():
            session.cancel([future._alive() for future in own], force, how)

    def retry(self, futures: Any, asynchronous: bool | None = None) -> Any:
        """Run failed tasks again."""
        given = [] if futures is None else futures_given(futures, "retry", lenient=True)
        found = [each for each in given if each.status == ERROR]
        return self._call(self._retry, found)

    def _retry(self, futures: list[Future]) -> None:
        for session, own in by_session(futures).items():
            session.retry([future._alive() for future in own])

    def futures_of(self, futures: Any) -> list[Future]:
        """Return the futures in collections and containers; see :func:`spanwise.futures_of`.

        Raises
        ------
        CancelledError
            Of the first one that was cancelled.
        """
        return futures_of(futures, self)

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        workers: Any = None,
        wait: bool = True,
        nanny: bool = False,
        on_error: str = "raise",
        **kwargs: Any,
    ) -> Any:
        """Run a function once on every worker, outside the graph.

        Parameters
        ----------
        function
            What it returns is awaited there if it can be: so it may be a coroutine function. A
            parameter `dask_worker` gets the worker, as ``get_worker()`` returns it.
        workers
            Numbers, names, hosts or addresses of workers; default: all.
        wait
            Wait for the results.
        on_error
            ``"raise"`` the first error, ``"return"`` errors in the places of results, or
            ``"ignore"``: leave those workers out.

        Returns
        -------
        dict
            Worker address to result; None without `wait`.
        """
        self._wake()
        if nanny:
            raise NotImplementedError("Spanwise workers have no nanny: the scheduler watches them")
        check_function(function, "run")
        wait = flag_of(wait, "wait")
        if on_error not in ("raise", "return", "ignore"):
            raise ValueError(f"on_error is 'raise', 'return' or 'ignore', not {shown(on_error)}")
        chosen = None if workers is None else self._worker_ids(workers)
        blob = dump((function, args, kwargs))
        try:
            what = name_of(function)
            return self._call(self._run, blob, chosen, wait, on_error, _NO_LIMIT, what)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def run_coroutine(
        self, function: Callable[..., Any], *args: Any, wait: bool = True, **kwargs: Any
    ) -> Any:
        """Run a coroutine function once on every worker: the same as :meth:`run`."""
        return self.run(function, *args, wait=wait, **kwargs)

    def _run_everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """On all workers that run; a stopped one does not answer."""
        rows = self._session.running_workers()
        chosen = [row["id"] for row in rows if row["state"] in ("running", "paused")]
        return self._run(dump((function, args, {})), chosen, True, "ignore", _ANSWER_SECONDS)

    def _run(
        self,
        blob: bytes,
        chosen: list[int] | None,
        wait: bool,
        on_error: str,
        limit: float | None = _NO_LIMIT,
        what: str = "a function",
    ) -> Any:
        """`limit`: workers that do not answer in this many seconds are left out, with a warning."""
        end = None if limit is None else time.monotonic() + limit
        patience = Patience()
        session = self._session
        rows = session.running_workers()
        if chosen is not None:
            rows = [row for row in rows if row["id"] in chosen]
        waiting = {row["id"] for row in rows}
        request, answers = session.open_request("runResult")
        results: dict[str, Any] = {}
        try:
            if wait:
                # (half of the limit is left for those that answer)
                told = TOLD_SECONDS if limit is None else min(TOLD_SECONDS, limit / 2)
                addresses = [row["address"] for row in rows]
                session.peers.have_told(addresses, time.monotonic() + told)
            session.send(
                "run", {"request": request, "workers": sorted(waiting), "wait": wait}, None, [blob]
            )
            if not wait:
                return None
            while waiting:
                try:
                    left = patience.left if end is None else max(0.0, end - time.monotonic())
                    answer = session.next_answer(answers, "run", left)
                except TimeoutError:
                    if limit is None:
                        tell(run_sentence(session.workers, what, waiting, patience.told()))
                        continue
                    silent = ", ".join(f"worker-{each}" for each in sorted(waiting))
                    tell(f"Without {silent}: no answer came from there within {limit:g} s.")
                    break
                worker = answer.fields["worker"]
                if worker not in waiting:
                    continue
                waiting.discard(worker)
                row = session.workers.get(worker)
                address = row["address"] if row else str(worker)
                if answer.fields["ok"]:
                    blob = bytes(answer.blobs[0])
                    results[address] = open_result(payload.loads, blob, "run")
                    continue
                error = _run_error(answer)
                if on_error == "raise":
                    raise error
                if on_error == "return":
                    results[address] = error
        finally:
            session.close_request(request)
        return results

    # -- the cluster ------------------------------------------------------

    def write_scheduler_file(self, scheduler_file: str) -> None:
        """Write what other programs of this user join the cluster with, as `scheduler_file`.

        Only you can read the file. It tells where the secret lies, not the secret itself.
        """
        copy_cluster_file(self.address, scheduler_file)

    def wait_for_workers(self, n_workers: int, timeout: float | str | None = None) -> Any:
        """Wait until this many workers run."""
        self._wake()
        count = check_workers("n_workers", n_workers)
        return self._call(self._session.wait_for_workers, count, seconds_of(timeout))

    def scheduler_info(self, n_workers: int | None = -1, **kwargs: Any) -> dict[str, Any]:
        """The cluster, and its first workers by address.

        Of each worker there is what it is, and in ``metrics`` what it has told last: its CPU and
        memory, its host's network and disk, how many tasks it has (docs/system.md). A figure that
        its system does not tell is None; ``metrics`` is empty while the scheduler does not answer.

        Parameters
        ----------
        n_workers
            How many workers; -1 or None: all. A cluster that has ended has none.
        """
        wanted = -1 if n_workers is None else n_workers
        most = whole_of(wanted, "n_workers", -1, None, "number of workers", "-1 is all of them")
        return scheduler_info(self._session, self.address, most)

    def nthreads(self, workers: Any = None, **kwargs: Any) -> dict[str, int]:
        """Worker address to its number of threads; of all, or of those named.

        A cluster that has ended has none.
        """
        rows = self._session.workers_there()
        if workers is not None:
            named = self._worker_ids(workers)
            rows = [row for row in rows if row["id"] in named]
        return {row["address"]: row["threads"] for row in rows}

    ncores = nthreads

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return "" if self._private is None else self._private.address

    @property
    def name(self) -> str:
        """The cluster's name, as panels show it."""
        return self._session.name

    @property
    def id(self) -> str:
        """The cluster's id."""
        return self._session.cluster_id

    # -- how it looks -----------------------------------------------------

    def __repr__(self) -> str:
        if self._status != "running":
            return f"<{type(self).__name__}: {self._status}>"
        session = self._session
        if session.dead is not None:
            return f"<{type(self).__name__}: {self.address!r} not connected>"
        workers = session.running_workers()
        threads = sum(row["threads"] for row in workers)
        memory = format_bytes(int(sum(row["memoryLimit"] for row in workers)))
        return (
            f"<{type(self).__name__}: {self.address!r} processes={len(workers)} "
            f"threads={threads}, memory={memory}>"
        )

    def _repr_html_(self) -> str:
        if self._status == "starting":
            return "<p>The client is starting.</p>"
        return cluster_facts_html(self._session, self._status)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A client cannot be sent to workers; give tasks futures instead")

    if not TYPE_CHECKING:  # the type checker finds names that exist nowhere

        def __getattr__(self, name: str) -> Any:
            """Raise an error; for a name of `distributed`'s clients it says what to use."""
            from spanwise.client.distributed_names import absent_attribute

            raise absent_attribute(name)


# What is asked for the keywords of the class is told those of `__init__`.
Client.__new__.__signature__ = signature(Client.__init__)  # type: ignore[attr-defined]
name_methods(Client, "Client")
LocalCluster._make_client = Client


def _place(address: Any, scheduler_file: Any) -> str | os.PathLike[str] | None:
    """Where the cluster is that is to be joined; None: nowhere yet."""
    if address is not None and scheduler_file is not None:
        raise TypeError("Give an address or a scheduler_file, not both")
    place = scheduler_file if address is None else address
    if place is None or isinstance(place, (str, os.PathLike)):
        return place
    raise TypeError(
        "Client() takes a spanwise.LocalCluster, the address of a running cluster, or the path of "
        f"its cluster.json, not {shown(place)}"
    )


def _check_call(method: str, func: Any, workers: Any, others: Any) -> None:
    if not callable(func):
        raise TypeError(
            f"{method}() takes a function first, and not {shown(func)}: scatter() brings values to "
            "the workers, compute() computes collections"
        )
    if others and workers is None:
        raise ValueError("allow_other_workers=True goes with workers=, and there is none")


def _no_actors() -> NotImplementedError:
    return NotImplementedError(
        "There are no actors: keep the object in a module that the workers import, and reach "
        "it by submit(…, workers=…)"
    )


def _run_error(answer: Any) -> BaseException:
    stand_in = ClusterError(answer.fields.get("why") or "The function failed on a worker.")
    return open_error(bytes(answer.blobs[0]), stand_in) if answer.blobs else stand_in


def _collect(value: Any, found: dict[int, Future]) -> None:
    if isinstance(value, Future):
        found[id(value)] = value
    elif isinstance(value, dict):
        for each in value.values():
            _collect(each, found)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            _collect(each, found)


def _replace(value: Any, values: dict[int, Any], skip: bool) -> Any:
    if isinstance(value, Future):
        return values.get(id(value))
    if isinstance(value, dict):
        return {key: _replace(each, values, skip) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        leaves_out = skip and not isinstance(value, tuple)
        kept = [
            _replace(each, values, skip)
            for each in value
            if not (leaves_out and isinstance(each, Future) and id(each) not in values)
        ]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*kept)
        return type(value)(kept)
    return value
