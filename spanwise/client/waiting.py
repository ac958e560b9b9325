"""``wait`` and ``as_completed``."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from functools import partial
from inspect import signature
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from spanwise.client.arguments import seconds_of
from spanwise.client.either_engine import dasks_own, holds_dasks_futures
from spanwise.client.entries import ERROR, PENDING, Entry
from spanwise.client.future import Future, wait_async
from spanwise.client.futures_of import awaited, is_collection, listed, refuse_cancelled
from spanwise.client.late import not_done
from spanwise.client.of_others import by_session
from spanwise.wire.tracebacks import leave_tasks_frames

ALL_COMPLETED = "ALL_COMPLETED"
FIRST_COMPLETED = "FIRST_COMPLETED"


class DoneAndNotDoneFutures(NamedTuple):
    """The answer of :func:`wait`."""

    done: set[Future]
    not_done: set[Future]


class _NothingToWaitFor(DoneAndNotDoneFutures):
    """What `wait` returns for no futures: used directly or awaited, as no client says which."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(DoneAndNotDoneFutures(*self))

    def __await__(self) -> Generator[Any, None, DoneAndNotDoneFutures]:
        yield from ()
        return self


def wait(fs: Any, timeout: float | str | None = None, return_when: str = ALL_COMPLETED) -> Any:
    """Wait until all futures, or the first, are done.

    Parameters
    ----------
    fs
        A future, a persisted collection, or nested containers of those. For those of `distributed`
        its own `wait` waits.
    timeout
        Seconds, or a text such as ``"2s"``.
    return_when
        ``"ALL_COMPLETED"`` or ``"FIRST_COMPLETED"``.

    Returns
    -------
    DoneAndNotDoneFutures
        Two sets; with an asynchronous client, a coroutine of them.

    Raises
    ------
    TimeoutError
    CancelledError
        One of those that are done was cancelled.
    TypeError
        What is given is no future, or futures are of asynchronous clients and of others.
    """
    if not (timeout is None or isinstance(timeout, (int, float, str))):
        raise TypeError(
            f"timeout= is a number of seconds, not {type(timeout).__name__}: several futures are "
            "given in a list, wait([x, y])"
        )
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED):
        raise NotImplementedError(
            f"return_when is ALL_COMPLETED or FIRST_COMPLETED, not {return_when!r}"
        )
    fs = listed(fs)
    if holds_dasks_futures(fs):
        return dasks_own("wait")(fs, timeout=timeout, return_when=return_when)
    futures = awaited(fs)
    if not futures:
        return _NothingToWaitFor(set(), set())
    kinds = {bool(future.client.asynchronous) for future in futures}
    if len(kinds) > 1:
        raise TypeError(
            "wait() takes futures of asynchronous clients, whose answer is awaited, or of others: "
            "wait for each kind by itself"
        )
    first = return_when == FIRST_COMPLETED
    if kinds == {True}:
        return _wait_async(futures, seconds_of(timeout), first)
    return _wait(futures, seconds_of(timeout), first)


def _wait(futures: list[Future], timeout: float | None, first: bool) -> DoneAndNotDoneFutures:
    clients = by_session(futures)
    end = None if timeout is None else time.monotonic() + timeout
    if first and len(clients) > 1:
        next(as_completed(futures, timeout=timeout))
        return _parted(futures)
    for session, own in clients.items():
        entries = [future._alive() for future in own]
        left = None if end is None else max(0.0, end - time.monotonic())
        if not first:
            session.wait_for(entries, left, timeout)
        elif not session.wait_first(entries, left):
            raise session.too_late(entries, timeout)
    return _parted(futures)


async def _wait_async(
    futures: list[Future], timeout: float | None, first: bool
) -> DoneAndNotDoneFutures:
    clients = by_session(futures)
    end = None if timeout is None else time.monotonic() + timeout
    if first and len(clients) > 1:
        await anext(as_completed(futures, timeout=timeout))
        return _parted(futures)
    for session, own in clients.items():
        entries = [future._alive() for future in own]
        left = None if end is None else max(0.0, end - time.monotonic())
        await wait_async(session, entries, left, first, timeout)
    return _parted(futures)


def _parted(futures: list[Future]) -> DoneAndNotDoneFutures:
    refuse_cancelled(futures)
    done = {future for future in futures if future.status != PENDING}
    return DoneAndNotDoneFutures(done, set(futures) - done)


class as_completed:
    """Iterate over futures in the order in which they finish.

    Parameters
    ----------
    futures
        More may be added while iterating, with :meth:`add` and :meth:`update`. Of those of
        `distributed` its own `as_completed` is made.
    with_results
        Yield (future, result) pairs.
    raise_errors
        With results: raise what a task raised; else its exception is the result.
    timeout
        Seconds after which iterating raises TimeoutError.

    Examples
    --------
    >>> for future in as_completed(client.map(f, range(8))):    # doctest: +SKIP
    ...     print(future.result())
    """

    #: From `__new__` to `__init__`.
    _found_within: Any

    def __new__(cls, futures: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is not as_completed:
            return super().__new__(cls)
        found = listed(futures)
        if holds_dasks_futures(found):
            return dasks_own("as_completed")(found, *args, **kwargs)
        made = super().__new__(cls)
        made._found_within = found
        return made

    def __init__(
        self,
        futures: Iterable[Future] | None = None,
        loop: Any = None,
        with_results: bool = False,
        raise_errors: bool = True,
        *,
        timeout: float | str | None = None,
    ) -> None:
        self.with_results = with_results
        self.raise_errors = raise_errors
        self._seconds = seconds = seconds_of(timeout)
        self._give_up = None if seconds is None else time.monotonic() + seconds
        #: Whether the error of a wait in vain has said why.
        self._has_said_why = False
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._pending = 0
        #: Futures by a number. Only this object holds them, so they are released with
        #: it.
        self._coming: dict[int, Future] = {}
        self._numbers = itertools.count()
        #: How many threads sleep until the next is done.
        self._waiting = 0
        #: Wakes the coroutine that waits for the next, if one does.
        self._wake: Callable[[], None] | None = None
        #: By which one waits, as a task of its workers leaves its thread meanwhile; None: nothing
        #: was pending when it was added.
        self._session: Any = None
        # The session keeps these callbacks until the last task is done, which may be
        # never, so they hold this object weakly.
        self._found = found = weakref.ref(self)
        self._waits = partial(_is_waiting, found)
        # (an iterator has given its futures when its kind was looked at)
        futures = self.__dict__.pop("_found_within", futures)
        if futures is not None:
            self.update(futures)

    def add(self, future: Future) -> None:
        """Add one future."""
        if not isinstance(future, Future):
            raise _no_future(future)
        entry = future._alive()
        self._pending += 1
        if entry.status != PENDING:
            self._has_come(future)
            return
        number = next(self._numbers)
        self._coming[number] = future
        done = partial(_has_come, self._found, number)
        self._session = future.client._session
        self._session.when_done(entry, done, self._waits)

    def _has_come(self, future: Future) -> None:
        self._done.put(future)
        wake = self._wake
        if wake is not None:
            wake()

    def update(self, futures: Iterable[Future]) -> None:
        """Add several futures."""
        if isinstance(futures, (str, Future)) or is_collection(futures):
            raise _no_future(futures)
        if not isinstance(futures, Iterable):
            raise _no_future(futures)
        for future in futures:
            self.add(future)

    def count(self) -> int:
        """How many are still to come."""
        return self._pending

    def is_empty(self) -> bool:
        return self._pending == 0

    def has_ready(self) -> bool:
        return not self._done.empty()

    def next_batch(self, block: bool = True) -> list[Any]:
        """All that are done; waits for the first if `block`."""
        try:
            batch = [next(self)] if block else []
            while not self._done.empty():
                batch.append(next(self))
        except BaseException as error:
            leave_tasks_frames(error)
            raise
        return batch

    def batches(self) -> Iterator[list[Any]]:
        """Iterate over all that are done at a time."""
        while self._pending:
            try:
                found = [self.next_batch()]
            except BaseException as error:
                leave_tasks_frames(error)
                raise
            yield found.pop()  # (who has taken it alone holds it)

    def __iter__(self) -> as_completed:
        return self

    def __next__(self) -> Any:
        if not self._pending:
            raise StopIteration
        left = None if self._give_up is None else max(0.0, self._give_up - time.monotonic())
        coming = _Next(self._done)
        self._waiting += 1
        try:
            session = self._session
            come = coming.wait(left) if session is None else session.sleep(coming, left, self._late)
        finally:
            self._waiting -= 1
        if not come:
            sentence = not_done(self._pending, self._seconds or 0.0)
            if session is not None:
                sentence += session.late.why(self._late(), self._waited(left))
            raise TimeoutError(sentence)
        self._pending -= 1
        if not self.with_results:
            return coming.future
        try:
            return self._item(coming.future)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    def _waited(self, left: float | None) -> float | None:
        """For how long one has waited in vain, by which the scheduler is asked why.

        The first time since the beginning, be the last wait ever so short; then this wait alone, so
        that who goes on asking for the next does not have the scheduler look each time.
        """
        if self._has_said_why:
            return left
        self._has_said_why = True
        return self._seconds

    def _late(self) -> list[Entry]:
        """Of those that are still to come, what the session of the last is asked for."""
        coming = [*self._coming.values()]
        return [
            each._entry
            for each in coming
            if each._entry is not None and each.client._session is self._session
        ]

    def _item(self, future: Future) -> Any:
        entry = future._alive()
        if entry.status == ERROR and not self.raise_errors:
            return future, future._exception(entry)
        return future, future._value(entry)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if not self._pending:
            raise StopAsyncIteration
        future = await self._next_async()
        self._pending -= 1
        if not self.with_results:
            return future
        try:
            return await asyncio.to_thread(self._item, future)
        except BaseException as error:
            leave_tasks_frames(error)
            raise

    async def _next_async(self) -> Future:
        """Wait in the event loop: a waiting thread would outlive a cancelled wait."""
        loop = asyncio.get_running_loop()
        while True:
            woken = asyncio.Event()

            def wake(woken: asyncio.Event = woken) -> None:
                # A loop that has ended needs no notice.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(woken.set)

            self._wake = wake
            try:
                return self._done.get_nowait()
            except Empty:
                left = None if self._give_up is None else self._give_up - time.monotonic()
            if self._session is not None:
                self._session.wait_in_loop()
            self._waiting += 1
            try:
                async with asyncio.timeout(left):
                    if self._session is None:
                        await woken.wait()
                    else:
                        await self._session.sleep_in_loop(woken, self._late)
            except TimeoutError:
                if not woken.is_set():  # (the loop may have been busy until the limit, and beyond)
                    sentence = not_done(self._pending, self._seconds or 0.0)
                    if self._session is not None:
                        sentence += await self._session.late.why_in_loop(
                            self._late(), self._waited(left)
                        )
                    raise TimeoutError(sentence) from None
            finally:
                self._waiting -= 1


class _Next:
    """Waits for the next future that is done."""

    def __init__(self, done: SimpleQueue[Future]) -> None:
        self._done = done
        self.future: Any = None

    def wait(self, timeout: float | None) -> bool:
        """Whether it came in time (seconds; None: no limit)."""
        try:
            self.future = self._done.get(timeout=timeout)
        except Empty:
            return False
        return True


as_completed.__new__.__signature__ = signature(as_completed.__init__)  # type: ignore[attr-defined]


def _no_future(given: Any) -> TypeError:
    kind = type(given).__name__
    if isinstance(given, Future):
        return TypeError("as_completed() takes several futures in a list: as_completed([future])")
    return TypeError(
        f"as_completed() takes futures, not {kind}: futures_of(…) gives those within persisted "
        "collections and containers"
    )


def _has_come(found: weakref.ref[as_completed], number: int) -> None:
    this = found()
    if this is not None:
        this._has_come(this._coming.pop(number))


def _is_waiting(found: weakref.ref[as_completed]) -> bool:
    this = found()
    return this is not None and this._waiting > 0


__all__ = ["ALL_COMPLETED", "FIRST_COMPLETED", "as_completed", "wait", "wait_async"]
