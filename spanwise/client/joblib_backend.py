"""joblib's `Parallel` on a cluster: each batch of its calls is a task.

A backend is made for a ``parallel_config`` block, in which calls may overlap that return
generators. joblib does not say which of them ends or is given up; so each `Parallel` gets a backend
of its own, which is all that it uses.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from joblib.parallel import TASK_ERROR, AutoBatchingMixin, FallbackToBackend, ParallelBackendBase

from spanwise.client.client import Client
from spanwise.client.executor import ALLOWED
from spanwise.client.in_tasks import get_client, waiting_for_tasks
from spanwise.client.joblib_batch import NestedBackend, run_batch
from spanwise.client.joblib_call import ParallelCall

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
        #: How many tasks may be under way, if fewer jobs were asked for than there are threads.
        self._most: int | None = None
        self._call: ParallelCall | None = None

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
        self._call = ParallelCall(self.client, self._most, self._level, self._options)

    def stop_call(self) -> None:
        """The call has ended: nothing of it is kept."""
        self._call = None

    def terminate(self) -> None:
        """The `Parallel` is done with; the next one may call something quicker or slower."""
        self.reset_batch_stats()

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> None:
        """Run a batch of calls, in a task; the callback gets what became of it."""
        assert callback is not None
        call = self._call
        if call is not None:  # (else it has ended meanwhile, and nobody wants this)
            call.submit(func.items, partial(_tell, callback))

    # (its name before joblib 1.4)
    apply_async = submit

    @property
    def _level(self) -> int:
        return self.nesting_level or 0

    # -- what became of it ------------------------------------------------

    def retrieve_result_callback(self, out: tuple[bool, Any]) -> Any:
        """The results of a batch; or raise what its task has raised."""
        succeeded, found = out
        if succeeded:
            return found
        # joblib takes the traceback away.
        frames = [each for each in traceback.extract_tb(found.__traceback__) if _is_users(each)]
        if frames:
            with suppress(BaseException):  # code of others, and its error is the one to raise
                found.add_note("In the task:\n" + "".join(traceback.format_list(frames)).rstrip())
        raise found

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Give up what is not done: a call failed, was interrupted, or nobody wants the rest."""
        call = self._call
        if call is not None:
            call.give_up()

    # -- tasks within tasks -----------------------------------------------

    def get_nested_backend(self) -> tuple[NestedBackend, int]:
        """What calls use that these call in turn, see there."""
        return NestedBackend(nesting_level=self._level + 1), 1

    def retrieval_context(self) -> _Retrieval:
        """In a task: leave the thread to others while results are waited for."""
        # (between the results of a generator the task itself goes on)
        return _Retrieval(is_all=not self.parallel.return_generator)


class _Retrieval:
    def __init__(self, is_all: bool) -> None:
        self._waiting = waiting_for_tasks(is_all=is_all)

    def __enter__(self) -> None:
        self._waiting.__enter__()

    def __exit__(self, *error: object) -> None:
        # Without the error, whose traceback contextlib would set: it may refuse that.
        self._waiting.__exit__(None, None, None)


def _tell(callback: Any, outcome: tuple[bool, Any]) -> None:
    try:
        callback(outcome)
    except BaseException:
        succeeded, found = outcome
        if succeeded:
            raise
        # joblib takes the traceback of an error away, which the error may refuse. Nobody would hear
        # of it then, and the call would wait.
        callback._register_outcome({"status": TASK_ERROR, "result": found})


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
