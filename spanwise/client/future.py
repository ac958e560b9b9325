"""Futures: the client's handles on results that stay on the workers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Generator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dask.utils import typename

from spanwise.client.arguments import check_function, seconds_of, shown
from spanwise.client.entries import CANCELLED, ERROR, NOTHING, PENDING, Entry, pending
from spanwise.client.html import future_html
from spanwise.client.living_expressions import Releases
from spanwise.client.reason import Failure
from spanwise.errors import ClusterError
from spanwise.graph.private_dask import TaskRef
from spanwise.shared.futures import HERE, find_adopter
from spanwise.shown_text import shown_text
from spanwise.wire.tracebacks import leave_tasks_frames

if TYPE_CHECKING:
    from spanwise.client.needs import Holder

_NUMBERS = itertools.count(1)


class Future(TaskRef):
    """A result, or the promise of one.

    The result stays on the workers while any future of its key is alive. Futures may
    be passed to `submit`, `map`, delayed functions and collections.

    Attributes
    ----------
    key
        The task's key.
    client
        The client that made it.
    """

    __slots__ = ("__weakref__", "_entry", "_failure", "_first_name", "_is_held", "client")

    def __init__(
        self, entry: Entry, client: Holder, first_name: tuple[int, int, int] | None = None
    ) -> None:
        try:
            self.key = entry.key  # type: ignore[misc]  # a slot of TaskRef
        except AttributeError:
            raise TypeError(
                "A future is not made of a key: submit(), map(), compute(), persist() and "
                f"scatter() return futures. It was given {shown(entry)}"
            ) from None
        self._entry: Entry | None = entry
        if first_name is None and entry.released:
            # The result may be had again before it is let go of, and is not in the futures that
            # were released.
            first_name = (client._session.number, entry.id, entry.released)
        #: If it came in a value, is told apart from others of its key, or one of these was released
        #: before: see `_named_first`.
        self._first_name = first_name
        #: The error that it raised, to raise the same object again. The session must not
        #: hold it: see reason.py.
        self._failure: Failure | None = None
        self.client = client
        #: Whether an expression of Dask is known to hold it: see living_expressions.py.
        self._is_held = False

    @classmethod
    def apart(cls, entry: Entry, client: Holder) -> Future:
        """Make one that is told apart in tokens from all others of its key.

        An expression that holds it is none that holds another: who releases the one goes on
        with the other.
        """
        return cls(entry, client, (client._session.number, entry.id, next(_NUMBERS)))

    # Unlike references in graphs, futures are told apart by identity.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    # Not by key alone: an expression of Dask is the living one of the same token, and so would
    # hold futures that were cancelled, released, or are a closed client's, in place of new ones.
    def __dask_tokenize__(self) -> tuple[Any, ...]:
        cluster = self.client._session.cluster_id
        return (type(self).__name__, self.key, cluster, *self._named_first())

    def __reduce__(self) -> tuple[Any, ...]:
        if HERE.found is not None:
            HERE.found.append(self)
        elif not self.client.is_of_worker:
            raise TypeError(
                f"The future {self.key!r} is inside something that is sent to a worker (what a "
                "function refers to, a default argument, an attribute of an object), where the "
                "worker cannot replace it by its value. Pass the future as an argument of the "
                "call, by itself or within lists, tuples, sets and dicts: the function then gets "
                "the value. Or send what its result() returns."
            )
        named = (self.client._session.cluster_id, *self._shared_name(), self.key)
        return _adopted, named if self._first_name is None else (*named, self._first_name)

    def _shared_name(self) -> tuple[int, int]:
        """Its client's number, and the client's number of its task."""
        return self.client._session.shared_name(self._alive())

    def _named_first(self) -> tuple[int, int, int]:
        """The `_shared_name` that it was made under, and which of its key it is: 0: any.

        The same wherever it gets to, and once it is released.
        """
        if self._first_name is not None:
            return self._first_name
        return self.client._session.number, self._alive().id, 0

    def __copy__(self) -> Future:
        return self

    def __deepcopy__(self, memo: Any) -> Future:
        return self

    def __repr__(self) -> str:
        kind = f", type: {typename(self.type)}" if self.type else ""
        return f"<Future: {self.status}{kind}, key: {shown_text(str(self.key))}>"

    # References in graphs are printed as their keys.
    __str__ = __repr__

    def _repr_html_(self) -> str:
        return future_html(self.key, self.status, self.type)

    def __del__(self) -> None:
        entry = getattr(self, "_entry", None)  # (without one where it was not made)
        if entry is not None:
            self.client._session.drop_later(entry)

    def _alive(self) -> Entry:
        entry = self._entry
        if entry is None:
            raise CancelledFuture(f"{self.key} was released")
        return entry

    @property
    def status(self) -> str:
        """``pending``, ``finished``, ``error``, ``cancelled`` or ``lost``."""
        return CANCELLED if self._entry is None else self._entry.status

    def done(self) -> bool:
        """Whether it is finished, failed or cancelled."""
        return self.status != PENDING

    def cancelled(self) -> bool:
        return self.status == CANCELLED

    @property
    def type(self) -> type | None:
        """The type of a finished result that was already brought here, else None."""
        entry = self._entry
        return None if entry is None or entry.value is NOTHING else entry.value

    def result(self, timeout: float | str | None = None) -> Any:
        """Wait and return the value; in an asynchronous client, return a coroutine.

        Parameters
        ----------
        timeout
            Seconds to wait until the task is done. A result that is done may take some
            seconds more to come from its worker, also with 0.

        Raises
        ------
        TimeoutError
            Not done after `timeout` seconds, or its worker stalls.
        BaseException
            What the task raised, with the task's frames in its traceback.
        """
        seconds = seconds_of(timeout)
        if self.client.asynchronous:
            return self._await(seconds)
        try:
            return self._value(self._alive(), seconds)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def _value(self, entry: Entry, timeout: float | None = None) -> Any:
        try:
            return self.client._session.gather_one(entry, timeout)
        except BaseException:
            # The future keeps the failure: otherwise the next call would raise another
            # object.
            self._failure = None if entry.reason is None else entry.reason.opened
            raise

    def exception(self, timeout: float | str | None = None) -> Any:
        """Wait and return what the task raised, or None."""
        return self._once_done(self._exception, seconds_of(timeout))

    def _exception(self, entry: Entry) -> BaseException | None:
        if entry.status not in (ERROR, CANCELLED):
            return None
        failure = self._failure = entry.failure()
        return failure.error

    def traceback(self, timeout: float | str | None = None) -> Any:
        """Wait and return the traceback of what the task raised, or None.

        Its frames are the task's, without locals: `traceback.format_tb` takes it. There is none
        of an exception that no task raised (:class:`KilledWorker`), nor of a stand-in for one
        that could not be unpickled here.
        """
        return self._once_done(self._traceback, seconds_of(timeout))

    def _traceback(self, entry: Entry) -> TracebackType | None:
        if entry.status != ERROR:
            return None
        failure = self._failure = entry.failure()
        return failure.trace

    def _once_done(self, look: Callable[[Entry], Any], timeout: float | None) -> Any:
        entry = self._alive()
        session = self.client._session
        if not self.client.asynchronous:
            session.wait_for([entry], timeout)
            return look(entry)

        async def wait() -> Any:
            await wait_async(session, [entry], timeout)
            # In another thread, since opening an exception runs user code.
            return await asyncio.to_thread(look, entry)

        return wait()

    def cancel(self, reason: str | None = None, msg: str | None = None, force: bool = False) -> Any:
        """Cancel the task for all holders of its key; the error tells why."""
        return self.client.cancel([self], force=force, reason=reason, msg=msg)

    def retry(self) -> Any:
        """Run a failed task again."""
        return self.client.retry([self])

    def release(self) -> None:
        """Let go of the result now instead of when this object is collected."""
        number = next(_NUMBERS)
        if self._entry is not None:
            self._first_name = self._named_first()
            self._entry.released = number
        entry, self._entry = self._entry, None
        self._failure = None  # it holds the frames that it passed
        if entry is not None:
            Releases.last = number
            if self._is_held:
                Releases.last_held = number
            self.client._session.drop_later(entry)

    @property
    def _is_released(self) -> bool:
        """Whether it was let go of by `release`."""
        return self._entry is None

    def add_done_callback(self, fn: Callable[[Future], Any]) -> None:
        """Call `fn` with this future, in another thread, once it is done.

        A client's callbacks are called one after the other. One that takes long holds up the
        others for a tenth of a second.

        Raises
        ------
        RuntimeError
            No thread can start.
        """
        check_function(fn, "add_done_callback")
        entry, session = self._alive(), self.client._session
        # Here, where it may raise: where futures become done it would end the client.
        session.done_callbacks.begin()
        session.when_done(entry, partial(session.done_callbacks.put, partial(fn, self)))

    def __await__(self) -> Generator[Any, None, Any]:
        return self._await().__await__()

    async def _await(self, timeout: float | None = None) -> Any:
        session = self.client._session
        entry = self._alive()
        await wait_async(session, [entry], timeout)
        try:
            return await asyncio.to_thread(self._value, entry, timeout)
        except BaseException as error:
            leave_tasks_frames(error)
            raise


def _adopted(
    cluster: str,
    number: int,
    task: int,
    key: Any,
    first_name: tuple[int, int, int] | None = None,
) -> Future:
    """A future of a client of this process, for the task of another client."""
    client = find_adopter(cluster)
    if client is None:
        raise ClusterError(
            f"The future {key!r} is of a cluster that no client is open of here: make one with "
            "Client(address) first."
        )
    HERE.session = client._session
    entry = client._session.adopt(key, number, task)
    return Future(entry, client, first_name or (number, task, 0))


Releases.kinds = (Future,)


class CancelledFuture(RuntimeError):
    """The future was released and holds nothing any more."""


async def wait_async(
    session: Any,
    entries: list[Entry],
    timeout: float | None,
    first: bool = False,
    given: float | None = None,
) -> None:
    """Wait in an event loop until all entries, or the first of them, are done.

    `given`: the seconds that the error tells of, if `timeout` is what is left of them.

    No thread stands still for it: the few of the loop's executor must stay free for what
    ends the wait, such as `cancel` and `close`.

    Raises
    ------
    TimeoutError
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def notify() -> None:
        # A loop that has ended needs no notice.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set)

    waiter = session.watch(entries, notify, first)
    if waiter is None:
        return
    try:
        async with asyncio.timeout(timeout):
            await session.sleep_in_loop(done, lambda: pending(entries))
    except TimeoutError:
        if not done.is_set():  # (the loop may have been busy until the limit, and beyond)
            waited = timeout if given is None else given
            raise await session.too_late_in_loop(entries, waited) from None
    finally:
        session.unwatch(entries, waiter)
