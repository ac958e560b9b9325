"""The cluster from within a worker: in tasks, functions of ``client.run`` and plugins.

The code of a worker shares one client, a guest of the worker's own cluster: it is made when it is
first asked for, and ends with the process. Tasks that it submits are of the span of the task that
submits them, and go before what stands beside that. A task that waits for others leaves its thread
to them meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

import dask
from dask.local import get_sync

from spanwise.client.beside_distributed import advise_beside_distributed
from spanwise.client.client import Client
from spanwise.client.cluster_file import ClusterPlace
from spanwise.client.current import SETTINGS, default_client, is_dasks_client
from spanwise.client.joined_cluster import JoinedCluster
from spanwise.wire.rows import TASK_ID, TASK_RUN_ID, TASK_SPAN

if TYPE_CHECKING:
    from spanwise.client.needs import Sleeper

#: A wait for tasks that is shorter leaves the thread to nobody.
_SHORT_SECONDS = 0.01
#: How long the scheduler may take to let the client in.
_JOIN_SECONDS = 30.0
#: Around making a worker's client.
_MAKING = threading.Lock()
_NOT_IN_TASK = (
    "{}() is for tasks: it answers on the thread that runs one, and not elsewhere, also not in "
    "functions of client.run() and in threads that a task starts"
)


def get_client(
    address: str | None = None,
    timeout: float | str | None = None,
    resolve_address: bool = True,
) -> Any:
    """Return the client of the code that calls.

    In a task, in a function of ``client.run`` and in a plugin that is the worker's own client of
    the same cluster, which all of these share, and a task's ``compute()`` uses it from then on. In
    a coroutine it is an asynchronous one. Elsewhere it is the current one.

    Parameters
    ----------
    address
        Which cluster is expected.
    timeout
        Seconds to wait for the scheduler, in a worker.
    resolve_address
        Accepted for compatibility; an address is compared as it is.

    Raises
    ------
    ValueError
        There is none, or it is of another cluster.
    """
    thread = threading.current_thread()
    worker = getattr(thread, "worker", None)
    if worker is None:
        client = default_client()
    else:
        client = client_of(worker, timeout)
        row = getattr(thread, "row", None)
        if row is not None:
            thread.client_run = row[TASK_RUN_ID]  # type: ignore[attr-defined]
    there = client.scheduler.address if is_dasks_client(client) else client.address
    if address is not None and there != address:
        raise ValueError(f"The current client is of {there}, not {address}")
    return client


@contextmanager
def worker_client(
    timeout: float | str | None = None, separate_thread: bool = True
) -> Iterator[Any]:
    """Use the cluster in a task; the block gets the worker's client.

    Parameters
    ----------
    timeout
        Seconds to wait for the scheduler.
    separate_thread
        Leave the worker's thread to other tasks within the block, and wait for one at its end.

    Examples
    --------
    >>> def total(numbers):
    ...     with worker_client() as client:
    ...         return sum(client.gather(client.map(square, numbers)))

    Raises
    ------
    ValueError
        No task runs in this thread.
    """
    executor = _executor("worker_client")
    client = get_client(timeout=timeout)
    leaves = separate_thread and not executor.seceded
    if leaves:
        executor.worker.lanes.secede(executor)
    try:
        yield client
    finally:
        if leaves:
            executor.worker.lanes.rejoin(executor)


#: Its older name.
local_client = worker_client


def secede() -> None:
    """Leave the thread of the calling task to other tasks, while this one goes on.

    For tasks that wait long for other things than the processor. It is so until the task ends or
    calls :func:`rejoin`.

    Raises
    ------
    ValueError
        No task runs in this thread.
    ClusterError
        Too many tasks of this worker have done so.
    """
    executor = _executor("secede")
    executor.worker.lanes.secede(executor)


def rejoin() -> None:
    """Have a thread of the worker again, after :func:`secede`: wait until one has nothing to run.

    Raises
    ------
    ValueError
        No task runs in this thread.
    """
    executor = _executor("rejoin")
    executor.worker.lanes.rejoin(executor)


def _executor(asker: str) -> Any:
    thread = threading.current_thread()
    if not _runs_task(thread):
        raise ValueError(_NOT_IN_TASK.format(asker))
    return thread


def _runs_task(thread: Any) -> bool:
    return getattr(thread, "row", None) is not None and hasattr(thread, "seceded")


@contextmanager
def waiting_for_tasks(*, since: float | None = None, is_all: bool = True) -> Iterator[None]:
    """Leave the thread of the calling task, if one runs here, to other tasks within the block.

    Parameters
    ----------
    since
        When the wait has begun; default: now.
    is_all
        The block does nothing but wait: its time is told as such.
    """
    executor: Any = threading.current_thread()
    if not _runs_task(executor):
        yield
        return
    since = perf_counter() if since is None else since
    row = executor.row
    lanes = executor.worker.lanes
    leaves = not executor.seceded
    if leaves:
        lanes.secede(executor)
    executor.waits = is_all
    try:
        yield
    finally:
        # A generator with such a block may be dropped later, and elsewhere.
        if executor.row is row and executor.ident == threading.get_ident():
            executor.waits = False
            try:
                if is_all:
                    executor.waited(since)
            finally:  # (callbacks of users hear it, which may raise)
                if leaves:
                    lanes.rejoin(executor)


class Submitter:
    """The task that the calling thread runs, if any, for other threads that submit on its behalf.

    What these submit is then of its span, and goes before what stands beside it.
    """

    def __init__(self) -> None:
        thread = threading.current_thread()
        self._row = getattr(thread, "row", None)
        self._part = getattr(thread, "part", None)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Have what this thread submits within the block be the task's."""
        thread: Any = threading.current_thread()
        if self._row is None or hasattr(thread, "row"):
            yield
            return
        thread.row, thread.part = self._row, self._part
        try:
            yield
        finally:
            del thread.row, thread.part


class TasksClient(Client):
    """The client of a worker's process.

    Parameters
    ----------
    worker
        Whose.
    shared
        Share its connection.
    """

    # The programs' own clients print what tasks do.
    _hears_tasks = False
    is_of_worker = True

    def __init__(
        self,
        worker: Any,
        timeout: float | str | None,
        asynchronous: bool = False,
        shared: TasksClient | None = None,
    ) -> None:
        self._worker = worker
        self._shared = shared
        super().__init__(
            asynchronous=asynchronous,
            set_as_default=False,
            timeout=_JOIN_SECONDS if timeout is None else timeout,
        )
        if asynchronous:
            self._start()

    def _join(self) -> JoinedCluster:
        if self._shared is not None:
            private = self._shared._private
            assert isinstance(private, JoinedCluster)
            return private
        address, secret, pid = self._worker.cluster
        place = ClusterPlace(self._worker.name, address, secret, pid, None)
        joined = JoinedCluster(lambda: place, self._worker.number, Surroundings())
        joined.start(self._timeout)
        return joined

    def _activate(self) -> None:
        """It is the current one for code that has asked for it, and nowhere else."""

    def close(self, timeout: float | str | None = None) -> Any:
        """Leave it open: other tasks of the worker use it too, and it ends with the worker."""
        return self._call(lambda: None)

    def _close(self) -> None:
        """As `close`."""

    async def __aexit__(self, *error: Any) -> None:
        """As `close`."""


def client_of(worker: Any, timeout: float | str | None = None) -> TasksClient:
    """The client of a worker's process; in a coroutine the asynchronous one."""
    with _MAKING:
        clients = worker.client
        if clients is None or clients[0]._session.dead is not None:
            client = TasksClient(worker, timeout)
            clients = worker.client = [client, None]
            advise_beside_distributed()  # as programs do: futures of ours come with a client
            dask.config.set({"scheduler": ClientInTask(client), **SETTINGS})
        client = clients[0]
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return client
        if clients[1] is None:
            clients[1] = TasksClient(worker, timeout, True, client)
        return clients[1]


class ClientInTask:
    """What Dask's settings hold in a worker: its client for code that has asked for it.

    Other tasks compute collections in their own thread, as they did before.
    """

    def __init__(self, client: TasksClient) -> None:
        self._client = weakref.ref(client)

    def client_here(self) -> Any:
        """The client if the task of this thread has asked for it, or no task runs here; or None."""
        thread = threading.current_thread()
        if getattr(thread, "worker", None) is None:
            return None
        row = getattr(thread, "row", None)
        if row is not None and getattr(thread, "client_run", None) != row[TASK_RUN_ID]:
            return None
        return self._client()

    @property
    def asynchronous(self) -> bool:
        """Whether that client is."""
        client = self.client_here()
        return client is not None and bool(client.asynchronous)

    @property
    def get(self) -> Callable[..., Any]:
        """Dask's protocol."""
        client = self.client_here()
        return get_sync if client is None else client.get  # type: ignore[no-any-return]

    @property
    def _session(self) -> Any:
        client = self.client_here()
        if client is None:
            raise AttributeError("_session")
        return client._session

    def __reduce__(self) -> tuple[Any, ...]:
        return (lambda: None), ()


class Surroundings:
    """What a session is told of the task whose thread uses it."""

    def within(self) -> int | None:
        """The scheduler's id of the task that runs in this thread."""
        row = getattr(threading.current_thread(), "row", None)
        return None if row is None else int(row[TASK_ID])

    def span(self) -> int:
        """The log's number of the span of the task, or of its inner part; 0: none."""
        thread = threading.current_thread()
        part = getattr(thread, "part", None)
        if part is not None:
            return int(part[3])
        row = getattr(thread, "row", None)
        return 0 if row is None else int(row[TASK_SPAN])

    def wait(self, waiter: Sleeper, timeout: float | None) -> bool:
        """Wait for other tasks: they may need this thread."""
        executor: Any = threading.current_thread()
        if not _runs_task(executor):
            return waiter.wait(timeout)
        since = perf_counter()
        short = _SHORT_SECONDS if timeout is None else min(timeout, _SHORT_SECONDS)
        left = None if timeout is None else timeout - short
        has_come = waiter.wait(short)
        if has_come or (left is not None and left <= 0):
            executor.waited(since)
            return has_come
        with waiting_for_tasks(since=since):
            return waiter.wait(left)

    def wait_in_loop(self) -> None:
        """An event loop of a task begins to wait for others: it leaves its thread for good."""
        executor: Any = threading.current_thread()
        if _runs_task(executor):
            with suppress(ValueError):
                executor.worker.lanes.secede(executor)
