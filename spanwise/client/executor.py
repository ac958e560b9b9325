"""An executor of `concurrent.futures` over a client."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from spanwise.client.arguments import seconds_of
from spanwise.client.future import Future
from spanwise.wire.tracebacks import leave_tasks_frames

if TYPE_CHECKING:
    from spanwise.client.needs import Submitting

#: What `get_executor` takes: as `submit`.
ALLOWED = frozenset({"pure", "workers", "resources", "allow_other_workers", "retries", "priority"})


class ClientExecutor(concurrent.futures.Executor):
    """Runs calls as tasks of a client; made by ``client.get_executor()``.

    Parameters
    ----------
    client
        Whose; an executor leaves it open.
    **kwargs
        What ``client.submit`` gets with each call.

    Raises
    ------
    TypeError
        A keyword that is none of these.
    """

    def __init__(self, client: Submitting, **kwargs: Any) -> None:
        unknown = sorted(set(kwargs) - ALLOWED)
        if unknown:
            raise TypeError(
                f"get_executor() takes {', '.join(sorted(ALLOWED))}, not {', '.join(unknown)}"
            )
        if client.asynchronous:
            raise TypeError(
                "An executor waits, and the client is asynchronous: await client.submit(…)"
            )
        self._client = client
        # Executors do not share results between equal calls.
        self._options = {"pure": False, **kwargs}
        self._lock = threading.Lock()
        self._shut = False
        #: Futures of the cluster by those that were handed out, as long as they are not done.
        self._under_way: dict[concurrent.futures.Future[Any], Future] = {}

    def submit(  # type: ignore[override]
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> concurrent.futures.Future[Any]:
        """Run a call; returns a future of `concurrent.futures`.

        Raises
        ------
        RuntimeError
            It was shut down.
        """
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
        future = self._client.submit(_call, fn, args, kwargs, **self._options)
        handed: concurrent.futures.Future[Any] = concurrent.futures.Future()
        with self._lock:
            self._under_way[handed] = future
        handed.add_done_callback(self._ended)
        future.add_done_callback(lambda done: _settle(handed, done))
        return handed

    def _ended(self, handed: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            future = self._under_way.pop(handed, None)
        if future is not None and handed.cancelled() and not future.cancelled():
            future.cancel()

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Any,
        timeout: float | None = None,
        chunksize: int = 1,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Run a function on each row of the iterables; the results come in that order.

        Parameters
        ----------
        timeout
            Seconds, from the call on; `TimeoutError` when a result takes longer.
        chunksize
            Accepted for compatibility: calls are sent in batches.
        """
        if kwargs:
            raise TypeError(f"map() takes timeout and chunksize, not {', '.join(sorted(kwargs))}")
        seconds = seconds_of(timeout)
        end = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
        futures = self._client.map(fn, *iterables, **self._options)
        return _results(futures, end)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no calls any more; the client stays open. Twice is safe.

        Parameters
        ----------
        wait
            Return when all calls are done.
        cancel_futures
            Cancel those that are not done.
        """
        with self._lock:
            self._shut = True
            under_way = list(self._under_way)
        if cancel_futures:
            for each in under_way:
                each.cancel()
        if wait:
            concurrent.futures.wait(under_way)

    def __repr__(self) -> str:
        return f"<ClientExecutor of {self._client!r}>"


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def _results(futures: list[Future], end: float | None) -> Iterator[Any]:
    try:
        for number, future in enumerate(futures):
            left = None if end is None else max(0.0, end - time.monotonic())
            try:
                found = [future.result(left)]
            except BaseException as error:
                leave_tasks_frames(error)
                raise
            yield found.pop()  # (who has taken it alone holds it)
            del future
            futures[number] = None  # type: ignore[call-overload]
    finally:
        for each in futures:
            if each is not None and not each.done():
                each.cancel()


def _settle(handed: concurrent.futures.Future[Any], done: Future) -> None:
    """Give the future that was handed out what its task has become."""
    if done.cancelled():
        handed.cancel()
    if not handed.set_running_or_notify_cancel():
        return
    try:
        value = done.result()
    except BaseException as error:  # noqa: BLE001 (raised by whoever asks)
        leave_tasks_frames(error)
        handed.set_exception(error)
    else:
        handed.set_result(value)
