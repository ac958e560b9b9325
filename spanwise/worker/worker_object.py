"""The worker as code sees that runs there: in tasks, functions of ``client.run`` and plugins."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from spanwise.wire import plain
from spanwise.worker.launch import search_first

if TYPE_CHECKING:
    from spanwise.worker.needs import Shown


class WorkerState:
    """What a worker has of resources; `state` of the worker object."""

    def __init__(self, worker: Shown) -> None:
        self._worker = worker

    @property
    def total_resources(self) -> dict[str, float]:
        """What tasks may hold of it, by name."""
        return dict(self._worker.resources)

    @property
    def available_resources(self) -> dict[str, float]:
        """What is free of that now.

        The scheduler counts it, and is asked: a task that was just given to the worker holds its
        amounts already.

        Raises
        ------
        ClusterError, TimeoutError
            The scheduler does not answer.
        """
        if not self._worker.resources:
            return {}
        held = self._worker.ask_what_is_held()
        return {name: amount - held.get(name, 0) for name, amount in self._worker.resources.items()}


class WorkerObject:
    """What ``get_worker()`` returns, and ``client.run`` gives to an argument `dask_worker`.

    There is one per worker. Attributes of any other name may be set, and stay until the
    worker ends.

    Attributes
    ----------
    plugins : dict
        The plugins that are set up here, by name.
    """

    def __init__(self, worker: Shown) -> None:
        self._worker = worker
        self.plugins: dict[str, Any] = {}
        #: What it has of resources, and what is free.
        self.state = WorkerState(worker)

    @property
    def id(self) -> int:
        """The worker's number, as in ``client.scheduler_info()``."""
        return self._worker.number

    @property
    def name(self) -> int | str:
        """As in ``client.scheduler_info()``: what its user named it, or the number of its place."""
        return self._worker.called

    @property
    def address(self) -> str:
        """Where it gives its results to others, as in ``client.scheduler_info()``."""
        return self._worker.address

    @property
    def nthreads(self) -> int:
        """How many tasks it runs at a time."""
        return self._worker.threads

    @property
    def memory_limit(self) -> float:
        """Bytes; 0: none."""
        return self._worker.memory_limit

    def log_event(self, topic: str | Collection[str], msg: Any) -> None:
        """Log something under a topic: see :meth:`spanwise.Client.log_event`.

        A dict that is logged under another topic than the worker's own address gets an item
        ``worker``, that address.

        Raises
        ------
        TypeError
            The message is not of numbers, texts, lists, dicts and the like.
        ValueError
            It is too large.
        """
        names = plain.topic_names(topic)
        if isinstance(msg, dict) and names != [self.address]:
            msg = {**msg, "worker": self.address}
        fields, blobs = plain.event(names, msg)
        self._worker.send("logEvent", fields, None, blobs)

    @property
    def local_directory(self) -> str:
        """A folder of its own, made at first use, which is removed when the worker ends.

        Raises
        ------
        OSError
            It cannot be made.
        """
        own = self._worker.make_folder() / "files"
        own.mkdir(mode=0o700, exist_ok=True)
        return str(own)

    def search_first(self, path: str) -> None:
        """Have modules looked for in a folder or archive before all others, also the client's."""
        search_first(path)

    def __repr__(self) -> str:
        return f"<Worker {self.name!r} at {self.address!r}, threads={self.nthreads}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A worker cannot be sent away; return what is to be known of it")
