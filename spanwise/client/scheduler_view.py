"""The cluster, as a scheduler plugin in the client's process sees it: what it was told so far."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from spanwise.graph.key_from_text import key_of


class TaskView:
    """A task, as it stands after the newest move that was told.

    Attributes
    ----------
    key
    state : str
    dependencies : set of TaskView
        Empty of a task that was submitted before the first plugin was registered.
    processing_on : WorkerView or None
    nbytes : int
        -1: there is no result, or it is not known.
    typename : str or None
        Class of the result.
    """

    __slots__ = ("dependencies", "key", "nbytes", "processing_on", "state", "typename")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.state = "released"
        self.dependencies: set[TaskView] = set()
        self.processing_on: WorkerView | None = None
        self.nbytes = -1
        self.typename: str | None = None

    def __repr__(self) -> str:
        return f"<TaskView {self.key!r} {self.state}>"


class WorkerView:
    """A worker.

    Attributes
    ----------
    address : str
    name : str
    nthreads : int
    memory_limit : int
        Bytes; 0: none.
    """

    __slots__ = ("address", "memory_limit", "name", "nthreads")

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.address: str = row["address"]
        self.name: str = row["name"]
        self.nthreads: int = row["threads"]
        self.memory_limit = int(row["memoryLimit"])

    def __repr__(self) -> str:
        return f"<WorkerView {self.address!r} {self.name} threads: {self.nthreads}>"


class SchedulerView:
    """What plugins get as `scheduler`. It is read only, and as old as what the plugin is told.

    Attributes
    ----------
    id, address : str
        Of the cluster.
    tasks : Mapping
        Key to :class:`TaskView`: tasks that came or moved since the first plugin was registered,
        until they are forgotten.
    workers : Mapping
        Address to :class:`WorkerView`.
    clients : Mapping
        The ids of the clients that are connected, each with itself.
    """

    def __init__(self, id_: str, address: str) -> None:
        self.id = id_
        self.address = address
        self._by_text: dict[str, TaskView] = {}
        self._tasks: dict[Any, TaskView] = {}
        self._workers: dict[str, WorkerView] = {}
        self._clients: dict[str, str] = {}
        self._addresses: dict[int, str] = {}
        self.tasks: Mapping[Any, TaskView] = MappingProxyType(self._tasks)
        self.workers: Mapping[str, WorkerView] = MappingProxyType(self._workers)
        self.clients: Mapping[str, str] = MappingProxyType(self._clients)

    def __repr__(self) -> str:
        return f"<SchedulerView {self.address!r} workers: {len(self.workers)}>"

    def begin(self, workers: list[dict[str, Any]], clients: list[int]) -> None:
        """Begin with these workers and clients, and no tasks."""
        for held in (self._by_text, self._tasks, self._workers, self._clients, self._addresses):
            held.clear()  # type: ignore[attr-defined]
        for row in workers:
            self.add_worker(row)
        for number in clients:
            self.add_client(number)

    def task(self, text: str) -> TaskView:
        """The task of a key's text, which is known from now on."""
        task = self._by_text.get(text)
        if task is None:
            task = self._by_text[text] = TaskView(key_of(text))
            self._tasks[task.key] = task
        return task

    def forget(self, text: str) -> None:
        """It is gone."""
        task = self._by_text.pop(text, None)
        if task is not None:
            self._tasks.pop(task.key, None)
            task.dependencies.clear()

    def add_worker(self, row: dict[str, Any]) -> str:
        """A worker has joined; returns its address."""
        view = WorkerView(row)
        self._workers[view.address] = view
        self._addresses[row["id"]] = view.address
        return view.address

    def remove_worker(self, row: dict[str, Any]) -> str:
        """A worker has left; returns its address."""
        self._workers.pop(row["address"], None)
        self._addresses.pop(row["id"], None)
        return str(row["address"])

    def address_of(self, worker: int) -> str:
        """The address of a worker; its name, if it has left."""
        return self._addresses.get(worker, f"worker-{worker}")

    def add_client(self, number: int) -> str:
        """A client has come; returns its id."""
        name = client_name(number)
        self._clients[name] = name
        return name

    def remove_client(self, number: int) -> str:
        """A client has gone; returns its id."""
        name = client_name(number)
        self._clients.pop(name, None)
        return name


def client_name(number: int) -> str:
    """What a client is called in hooks and topics."""
    return f"client-{number}"
