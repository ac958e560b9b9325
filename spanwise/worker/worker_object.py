"""The worker as code sees that runs there: in tasks, functions of ``client.run`` and plugins."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from time import perf_counter
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

    @property
    def scheduler_delay(self) -> float:
        """Seconds that are added to times of its clock to get the scheduler's; 0: it is the same.

        The clock is `time.perf_counter`; see docs/measures.md.
        """
        return self._worker.clock.at(perf_counter())

    # -- transfers --------------------------------------------------------

    @property
    def transfer_incoming_log(self) -> deque[dict[str, Any]]:
        """The last 1,000 answers of other workers to requests for results, the oldest first.

        Each is a dict of ``start``, ``stop`` and ``middle`` (seconds of the wall clock),
        ``duration`` (seconds, 0.001 at least), ``keys`` (key to bytes), ``total`` (bytes),
        ``bandwidth`` (bytes per second) and ``who`` (the other worker's address).

        Workers are not told the keys of tasks: the scheduler is asked when this is read.

        Raises
        ------
        TimeoutError
            The scheduler does not answer.
        """
        return self._worker.entries_of(self._worker.transfers.incoming)

    @property
    def transfer_outgoing_log(self) -> deque[dict[str, Any]]:
        """The last 1,000 answers to requests for results, the oldest first.

        As :attr:`transfer_incoming_log`; ``who`` is None for a client. ``compressed`` is how
        many bytes went through the socket: large results lie in memory that both see.

        Raises
        ------
        TimeoutError
            The scheduler does not answer.
        """
        return self._worker.entries_of(self._worker.transfers.outgoing)

    @property
    def incoming_transfer_log(self) -> deque[dict[str, Any]]:
        """What :attr:`transfer_incoming_log` was called before."""
        return self.transfer_incoming_log

    @property
    def outgoing_transfer_log(self) -> deque[dict[str, Any]]:
        """What :attr:`transfer_outgoing_log` was called before."""
        return self.transfer_outgoing_log

    @property
    def transfer_incoming_count(self) -> int:
        """Requests for results that others are answering."""
        return self._worker.transfers.incoming.count

    @property
    def transfer_incoming_count_total(self) -> int:
        """All requests for results so far."""
        return self._worker.transfers.incoming.count_total

    @property
    def transfer_incoming_bytes(self) -> int:
        """Bytes of the results that others are asked for now."""
        return int(self._worker.transfers.incoming.nbytes)

    @property
    def transfer_outgoing_count(self) -> int:
        """Requests for results that this worker is answering."""
        return self._worker.transfers.outgoing.count

    @property
    def transfer_outgoing_count_total(self) -> int:
        """All that it has begun to answer."""
        return self._worker.transfers.outgoing.count_total

    @property
    def transfer_outgoing_bytes(self) -> int:
        """Bytes of the results that it is asked for now."""
        return int(self._worker.transfers.outgoing.nbytes)

    @property
    def transfer_outgoing_bytes_total(self) -> int:
        """Bytes of all that it was asked for."""
        return int(self._worker.transfers.outgoing.nbytes_total)

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
        self._worker.make_folder()
        own = self._worker.own_folder
        own.mkdir(mode=0o700, exist_ok=True)
        return str(own)

    def search_first(self, path: str) -> None:
        """Have modules looked for in a folder or archive before all others, also the client's."""
        search_first(path)

    def import_anew(self, names: Iterable[str]) -> None:
        """Import modules, again if they were imported before, while no task imports any.

        Raises
        ------
        BaseException
            Whatever a module raises.
        """
        self._worker.library.import_anew(names)

    def __getattr__(self, name: str) -> Any:
        """Say what the worker has, of a name that it lacks and nobody has set."""
        if name == "get_current_task":
            advice = (
                "workers are not told what tasks are called: give the function an argument that "
                "says it"
            )
        else:
            advice = (
                "id, name, address, nthreads, memory_limit, local_directory and plugins are there, "
                "and what your code sets"
            )
        raise AttributeError(f"The worker has no attribute {name!r}: {advice}")

    def __repr__(self) -> str:
        return f"<Worker {self.name!r} at {self.address!r}, threads={self.nthreads}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A worker cannot be sent away; return what is to be known of it")
