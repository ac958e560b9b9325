"""A cluster on this machine, made before its client: `LocalCluster`."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Generator
from typing import Any, ClassVar, Self

from dask.utils import format_bytes

from spanwise.client.arguments import flag_of, seconds_of
from spanwise.client.cluster_control import adapt, scale
from spanwise.client.dashboard import dashboard_link
from spanwise.client.html import cluster_facts_html
from spanwise.client.joined_cluster import JoinedCluster
from spanwise.client.keywords import take_keywords
from spanwise.client.launch import check_cluster, check_workers, cluster_keywords
from spanwise.client.private_cluster import PrivateCluster
from spanwise.client.queries import info_of_workers, scheduler_info
from spanwise.client.session import Session
from spanwise.client.worker_counts import Unit, count_of, range_of
from spanwise.errors import ClusterError
from spanwise.shown_text import shown_text


class LocalCluster:
    """A scheduler and workers on this machine, which a client then uses.

    It ends when it is closed, or when nothing refers to it any more; a client that was made from
    it does not end it. It may have several clients, and other programs may join it by its address:
    see :class:`Client`.

    Parameters
    ----------
    name, n_workers, threads_per_worker, memory_limit
        As of :class:`Client`.
    processes
        Workers are processes; False says so in a warning.
    resources
        What tasks may hold of each worker beside a thread, such as ``{"GPU": 1}``; default: what
        Dask's setting ``distributed.worker.resources`` says.
    idle_timeout
        Seconds, or text such as ``"10 minutes"``: the cluster ends when nothing has run or waited,
        and no client has come or gone, for so long. Default: never.
    asynchronous
        Methods that wait return coroutines; use ``async with`` or ``await``.
    timeout
        Seconds to wait for the workers.
    **kwargs
        Other keywords of `distributed`'s clusters: one warning says what happens instead.

    Raises
    ------
    ClusterError
        The cluster could not be started; the message says why and what to do.
    TypeError
        A keyword that nobody knows.

    Examples
    --------
    >>> with LocalCluster(n_workers=2) as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     client.submit(sum, [1, 2, 3]).result()
    6
    """

    #: Makes a client: the file of clients imports this one, and says how.
    _make_client: ClassVar[Callable[..., Any]]

    asynchronous: bool = False

    def __init__(
        self,
        name: str | None = None,
        n_workers: int | None = None,
        threads_per_worker: int | None = None,
        processes: bool | None = None,
        *,
        memory_limit: Any = "auto",
        resources: dict[str, float] | None = None,
        idle_timeout: float | str | None = None,
        asynchronous: bool = False,
        timeout: float | str = 30,
        **kwargs: Any,
    ) -> None:
        own = ("name", "n_workers", "threads_per_worker", "memory_limit", "resources", "timeout")
        take_keywords("LocalCluster", {"processes": processes, **kwargs}, own)
        settings = cluster_keywords(resources, idle_timeout)
        check_cluster(n_workers, threads_per_worker, memory_limit, name)
        self._timeout = seconds_of(timeout, "timeout", 0)
        self._begin(
            PrivateCluster(n_workers, threads_per_worker, memory_limit, name, **settings),
            flag_of(asynchronous, "asynchronous"),
        )
        if not self.asynchronous:
            self._start()

    def _begin(self, cluster: PrivateCluster | JoinedCluster, asynchronous: bool) -> None:
        self._cluster = cluster
        self.asynchronous = asynchronous
        self._has_started = False
        #: The client that uses the cluster's own session, and those with one of their own.
        self._client: weakref.ref[Any] | None = None
        self._guests: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lending = threading.Lock()

    def _start(self) -> None:
        self._cluster.start(self._timeout)
        self._has_started = True

    @classmethod
    def _of(cls, client: Any, cluster: PrivateCluster | JoinedCluster) -> Self:
        """The cluster that a client started for itself, or shares."""
        made = cls.__new__(cls)
        made._begin(cluster, client.asynchronous)
        made._has_started = True
        made._client = weakref.ref(client)
        return made

    # -- its client -------------------------------------------------------

    def get_client(self) -> Any:
        """Return the first client that is open, or a new one."""
        client = self._open_client()
        return type(self)._make_client(self) if client is None else client

    def _open_client(self) -> Any:
        client = None if self._client is None else self._client()
        return None if client is None or client._status == "closed" else client

    def _lend(self, client: Any) -> PrivateCluster | JoinedCluster:
        """Give what a new client needs; it is still to be started if it is a guest's.

        Raises
        ------
        ClusterError
            The cluster is closed, or has not started.
        """
        if self.status != "running":
            what = "has not started: await it first" if self.status == "starting" else "is closed"
            raise ClusterError(f"The cluster {what}; Client() starts one of its own.")
        with self._lending:
            if self._open_client() is None:
                self._client = weakref.ref(client)
                return self._cluster
            self._guests.add(client)
        return JoinedCluster(self._cluster.place)

    # -- ending -----------------------------------------------------------

    def close(self, timeout: float | str | None = None) -> Any:
        """End the cluster, and close its clients. Panels keep its history. Twice is safe."""
        return self._call(self._close)

    def _close(self) -> None:
        if self.status != "running":
            self._cluster.is_closed = True
            return
        with self._lending:  # a client that is being made would change what is gone through
            clients = [*self._guests, self._open_client()]
        for client in clients:
            if client is not None:
                client._close()
        self._cluster.close()

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *error: Any) -> None:
        self._close()

    def __await__(self) -> Generator[Any, None, LocalCluster]:
        return self._started().__await__()

    async def _started(self) -> LocalCluster:
        if self.status == "starting":
            await asyncio.to_thread(self._start)
        return self

    async def __aenter__(self) -> LocalCluster:
        return await self._started()

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self._close)

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        if self.asynchronous:
            return asyncio.to_thread(function, *args)
        return function(*args)

    # -- its workers ------------------------------------------------------

    def scale(
        self, n: int = 0, memory: float | str | None = None, cores: float | None = None
    ) -> Any:
        """Have `n` workers, or more that have so much memory and cores, as :meth:`Client.scale`."""
        count = count_of(n, memory, cores, self._unit)
        return scale(self._session, count, self.asynchronous)

    def adapt(
        self,
        minimum: int = 0,
        maximum: float | None = None,
        *,
        Adaptive: Any = None,
        minimum_cores: float | None = None,
        maximum_cores: float | None = None,
        minimum_memory: float | str | None = None,
        maximum_memory: float | str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Have as many workers as the work is worth, as :meth:`Client.adapt`.

        Cores and memory are those of all workers.

        Raises
        ------
        TypeError
            Of another keyword: the policy has no other settings.
        """
        if Adaptive is not None:
            raise NotImplementedError("adapt(Adaptive=…) is not there: the scheduler adapts itself")
        if kwargs:
            raise TypeError(
                f"adapt() has no {', '.join(map(repr, kwargs))}: it looks each second, and its "
                "policy has no settings but how few and how many workers there are"
            )
        fewest, most = range_of(
            minimum,
            maximum,
            (minimum_cores, maximum_cores),
            (minimum_memory, maximum_memory),
            self._unit,
        )
        return adapt(self._session, fewest, most, self.asynchronous)

    def _unit(self) -> Unit:
        """Threads and bytes of one worker that it would start."""
        if isinstance(self._cluster, PrivateCluster):
            return self._cluster.unit()  # workers that joined from a terminal may be others
        rows = self._session.running_workers()
        if rows:
            return rows[0]["threads"], rows[0]["memoryLimit"]
        raise ValueError("No worker runs that tells how many threads and bytes one has: give n")

    # -- what it is -------------------------------------------------------

    @property
    def status(self) -> str:
        """``starting``, ``running`` or ``closed``."""
        if self._cluster.is_closed:
            return "closed"
        return "running" if self._has_started else "starting"

    @property
    def _session(self) -> Session:
        if not self._has_started:
            raise ClusterError("The cluster has not started: await it first.")
        return self._cluster.session

    def wait_for_workers(self, n_workers: int, timeout: float | str | None = None) -> Any:
        """Wait until this many workers run."""
        count = check_workers("n_workers", n_workers)
        return self._call(self._session.wait_for_workers, count, seconds_of(timeout))

    @property
    def scheduler_info(self) -> dict[str, Any]:
        """The scheduler and all workers, as :meth:`Client.scheduler_info` tells them."""
        return scheduler_info(self._session, self._cluster.address, -1)

    @property
    def workers(self) -> dict[int, dict[str, Any]]:
        """What is known of each worker, by the number of its place."""
        return {each["name"]: each for each in info_of_workers(self._session).values()}

    @property
    def scheduler_address(self) -> str:
        """Where the scheduler listens."""
        return self._cluster.address

    @property
    def dashboard_link(self) -> str:
        """The address of the JupyterLab whose sidebar has the panels; a sentence without one."""
        return dashboard_link()

    @property
    def name(self) -> str:
        """As panels show it."""
        return self._session.name

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self.status != "running":
            return f"{kind}({self.status})"
        if self._session.dead is not None:
            return f"{kind}({shown_text(self.name)}, {self.scheduler_address!r}, not connected)"
        workers = self._session.running_workers()
        threads = sum(row["threads"] for row in workers)
        limits = [int(row["memoryLimit"]) for row in workers]
        memory = f", memory={format_bytes(sum(limits))}" if all(limits) else ""
        return (
            f"{kind}({shown_text(self.name)}, {self.scheduler_address!r}, workers={len(workers)}, "
            f"threads={threads}{memory})"
        )

    def _repr_html_(self) -> str:
        if not self._has_started:
            return f"<p>The cluster is {self.status}.</p>"
        return cluster_facts_html(self._session, self.status)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A cluster cannot be sent to workers")

    def __getattr__(self, name: str) -> Any:
        """Say what to use instead of what `distributed`'s clusters have."""
        from spanwise.client.distributed_names import absent_attribute

        raise absent_attribute(name, "LocalCluster")
