"""joblib's `Parallel` on a cluster: each batch of its calls is a task.

A backend is made for a ``parallel_config`` block, in which calls may overlap that return
generators. joblib does not say which of them ends or is given up; so each `Parallel` gets a backend
of its own, which is all that it uses.

joblib submits further batches in the threads that tell it of results. All batches are of the span
that was open where `Parallel` was called, as are its other annotations.
"""

from __future__ import annotations

import threading
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from typing import Any

from joblib.parallel import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase

from spanwise.client.client import Client
from spanwise.client.executor import ALLOWED
from spanwise.client.future import Future
from spanwise.client.in_tasks import Submitter, get_client, waiting_for_tasks
from spanwise.client.joblib_batch import Batch, NestedBackend, Placed, name_of, run_batch
from spanwise.client.placed_once import Place, PlacedOnce
from spanwise.errors import ClusterError

#: How long a cluster may have no worker when a call begins.
_WORKERS_SECONDS = 30.0
_OPTIONS = ALLOWED - {"pure"}


class SpanwiseBackend(AutoBatchingMixin, ParallelBackendBase):
    """The backend "spanwise" of joblib.

    Parameters
    ----------
    client
        Default: the current one; in a task the worker's own.
    scatter
        Accepted for compatibility: large arguments are put on the workers once by themselves.
    **options
        For each task, as :meth:`Client.submit`: `workers`, `allow_other_workers`, `resources`,
        `retries`, `priority`.

    Raises
    ------
    ValueError
        No client is open.
    TypeError
        The client is asynchronous, or one of Dask; or nobody knows an option.
    """

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(
        self,
        client: Any = None,
        scatter: Any = None,
        nesting_level: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level)
        unknown = sorted(set(options) - _OPTIONS)
        if unknown:
            raise TypeError(
                f'The backend "spanwise" takes client, {", ".join(sorted(_OPTIONS))}, not '
                f"{', '.join(unknown)}"
            )
        self.client = _checked(get_client() if client is None else client)
        self.parallel: Any = None
        self._options = options
        self._lock = threading.Lock()
        #: Tasks that are not done, and who is to be told.
        self._under_way: dict[Future, Callable[[Any], None]] = {}
        #: How many tasks may be under way, if fewer jobs were asked for than there are threads, and
        #: the batches that wait for that.
        self._most: int | None = None
        self._waiting: deque[tuple[Any, Callable[[Any], None]]] = deque()
        self._given_up = False
        self._placed = PlacedOnce(self.client)
        self._context: Context = copy_context()
        self._submitter = Submitter()

    # -- how many ---------------------------------------------------------

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """How many calls run at a time; for -1 as many as the cluster has threads now.

        On a single thread too that is more than 1, for which joblib would run the calls here.

        Raises
        ------
        ValueError
            0 jobs.
        TimeoutError
            The cluster has no worker for half a minute.
        """
        n_jobs = self.default_n_jobs if n_jobs is None else n_jobs
        if n_jobs == 0:
            raise ValueError("n_jobs is a number of jobs, or -1 for all threads, and not 0")
        if n_jobs > 0:
            return n_jobs
        threads = self._threads()
        return max(2, threads) if n_jobs == -1 else max(1, threads + 1 + n_jobs)

    def _threads(self) -> int:
        threads = sum(self.client.nthreads().values())
        if not threads:
            self.client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
            threads = sum(self.client.nthreads().values())
        return threads

    def configure(self, n_jobs: int = 1, parallel: Any = None, **settings: Any) -> int:
        """Begin with a `Parallel`: it gets a backend of its own."""
        jobs = self.effective_n_jobs(n_jobs)
        if jobs == 1:
            return 1
        if self.parallel is None:
            its = SpanwiseBackend(self.client, nesting_level=self.nesting_level, **self._options)
            its.parallel = parallel
            raise FallbackToBackend(its)
        self._most = jobs if jobs < self._threads() else None
        return jobs

    # -- a call -----------------------------------------------------------

    def start_call(self) -> None:
        """`Parallel` is called, in this thread."""
        self._given_up = False
        self._context = copy_context()
        self._submitter = Submitter()

    def stop_call(self) -> None:
        """The call has ended: nothing of it is kept."""
        self._placed.clear()
        self._context = Context()
        self._submitter = Submitter()

    def terminate(self) -> None:
        """The `Parallel` is done with; the next one may call something quicker or slower."""
        self.reset_batch_stats()

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> None:
        """Run a batch of calls, in a task; the callback gets what became of it."""
        assert callback is not None
        with self._lock:
            if self._given_up:
                return
            if self._most is not None and len(self._under_way) >= self._most:
                self._waiting.append((func, callback))
                return
            sent = self._send(func, callback)
        self._follow(sent, callback)

    # (its name before joblib 1.4)
    apply_async = submit

    def _send(self, func: Any, callback: Callable[[Any], None]) -> Future | Exception:
        try:
            # A context is entered by one thread at a time.
            future: Future = self._context.copy().run(self._submit, func.items)
        except Exception as error:  # noqa: BLE001 (raised where the results are wanted)
            return error
        self._under_way[future] = callback
        return future

    def _follow(self, sent: Future | Exception, callback: Callable[[Any], None]) -> None:
        if isinstance(sent, Future):
            sent.add_done_callback(self._ended)
        else:
            # In a thread that tells of results nobody would hear of it, and all would wait.
            callback((False, sent))

    def _submit(self, items: list[Any]) -> Future:
        with self._submitter.here():
            calls, given = self._apart(items)
            return self.client.submit(
                run_batch,
                Batch(calls, self._level + 1),
                *given,
                key=f"{name_of(items)}-{uuid.uuid4()}",
                **self._options,
            )

    @property
    def _level(self) -> int:
        return self.nesting_level or 0

    def _apart(self, items: list[Any]) -> tuple[list[Any], list[Future]]:
        """The calls without what is on the workers, and what is there."""
        given: dict[Future, int] = {}

        def kept(value: Any) -> Any:
            place = Place(value, False) if isinstance(value, Future) else self._placed.place(value)
            if place is None:
                return value
            return Placed(given.setdefault(place.future, len(given)), place.pickled)

        calls = [
            (function, [*map(kept, args)], {name: kept(each) for name, each in keywords.items()})
            for function, args, keywords in items
        ]
        return calls, list(given)

    # -- what became of it ------------------------------------------------

    def _ended(self, future: Future) -> None:
        """A task is done; in a thread of its own."""
        with self._lock:
            callback = self._under_way.pop(future, None)
            if callback is None:  # given up
                return
            following = self._waiting.popleft() if self._waiting else None
            sent = None if following is None else self._send(*following)
        if following is not None and sent is not None:
            self._follow(sent, following[1])
        try:
            outcome = True, future.result()
        except BaseException as error:  # noqa: BLE001 (raised where the results are wanted)
            outcome = False, error
        callback(outcome)

    def retrieve_result_callback(self, out: tuple[bool, Any]) -> Any:
        """The results of a batch; or raise what its task has raised."""
        succeeded, found = out
        if succeeded:
            return found
        # joblib takes the traceback away.
        frames = [each for each in traceback.extract_tb(found.__traceback__) if _is_users(each)]
        if frames:
            found.add_note("In the task:\n" + "".join(traceback.format_list(frames)).rstrip())
        raise found

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Give up what is not done: a call failed, was interrupted, or nobody wants the rest."""
        with self._lock:
            self._given_up = True
            self._waiting.clear()
            given_up = list(self._under_way)
            self._under_way.clear()
        with suppress(ClusterError):  # it has ended, and nothing runs any more
            self.client.cancel(given_up, reason="joblib gave the call up.")

    # -- tasks within tasks -----------------------------------------------

    def get_nested_backend(self) -> tuple[NestedBackend, int]:
        """What calls use that these call in turn, see there."""
        return NestedBackend(nesting_level=self._level + 1), 1

    @contextmanager
    def retrieval_context(self) -> Iterator[None]:
        """In a task: leave the thread to others while results are waited for."""
        # (between the results of a generator the task itself goes on)
        with waiting_for_tasks(is_all=not self.parallel.return_generator):
            yield


def _is_users(frame: traceback.FrameSummary) -> bool:
    return frame.filename not in (__file__, run_batch.__code__.co_filename)


def _checked(client: Any) -> Client:
    if not isinstance(client, Client):
        raise TypeError(
            f'The backend "spanwise" needs a client of Spanwise, and this is one of '
            f"{type(client).__module__.partition('.')[0]}: on a cluster of Dask write "
            'joblib.parallel_config("dask")'
        )
    if client.asynchronous:
        raise TypeError(
            "joblib waits, and the client is asynchronous: give it another one, "
            'joblib.parallel_config("spanwise", client=…)'
        )
    return client
