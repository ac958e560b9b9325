"""One call of a `Parallel`: its batches as tasks, as many at a time as there are jobs.

joblib submits further batches in the threads that tell it of results. All are of the span that was
open where `Parallel` was called, as are its other annotations.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from spanwise.client.client import Client
from spanwise.client.future import Future
from spanwise.client.in_tasks import Submitter
from spanwise.client.joblib_batch import Batch, Placed, name_of, run_batch
from spanwise.client.placed_once import Place, PlacedOnce
from spanwise.errors import ClusterError

#: Is told what became of a batch: whether it succeeded, and its results or its error.
Told = Callable[[tuple[bool, Any]], None]


class ParallelCall:
    """A call, which begins in this thread.

    Parameters
    ----------
    client
        Whose tasks.
    most
        How many of them may be under way; None: all.
    level
        joblib's, of this nesting.
    options
        For each task.
    """

    def __init__(
        self, client: Client, most: int | None, level: int, options: dict[str, Any]
    ) -> None:
        self._client = client
        self._most = most
        self._level = level
        self._options = options
        self._context = copy_context()
        self._submitter = Submitter()
        self._placed = PlacedOnce(client)
        self._lock = threading.Lock()
        #: Tasks that are not done, and who is to be told; and how many are about to be.
        self._under_way: dict[Future, Told] = {}
        self._sending = 0
        self._waiting: deque[tuple[list[Any], Told]] = deque()
        self._given_up = False

    def submit(self, items: list[Any], told: Told) -> None:
        """Run a batch of calls in a task, when there is room."""
        with self._lock:
            if self._given_up:
                return
            under_way = self._sending + len(self._under_way)
            if self._most is not None and under_way >= self._most:
                self._waiting.append((items, told))
                return
            self._sending += 1
        self._send(items, told)

    def _send(self, items: list[Any], told: Told) -> None:
        # Not under the lock: it may take long, and results come meanwhile.
        future: Future | None = None
        failure: Exception | None = None
        try:
            # A context is entered by one thread at a time.
            future = self._context.copy().run(self._submit, items)
        except Exception as error:  # noqa: BLE001 (raised where the results are wanted)
            failure = error
        with self._lock:
            self._sending -= 1
            given_up = self._given_up
            if future is not None and not given_up:
                self._under_way[future] = told
        if future is None:
            # In a thread that tells of results nobody would hear of it, and all would wait.
            told((False, failure))
        elif given_up:
            self._cancel([future])
        else:
            try:
                future.add_done_callback(self._ended)
            except Exception as error:  # noqa: BLE001 (no thread, or it was released)
                with self._lock:
                    self._under_way.pop(future, None)
                told((False, error))

    def _submit(self, items: list[Any]) -> Future:
        with self._submitter.here():
            calls, given = self._apart(items)
            future: Future = self._client.submit(
                run_batch,
                Batch(calls, self._level + 1),
                *given,
                key=f"{name_of(items)}-{uuid.uuid4()}",
                **self._options,
            )
            return future

    def _apart(self, items: list[Any]) -> tuple[list[Any], list[Future]]:
        """The calls without what is on the workers, and what is there."""
        given: dict[Future, int] = {}
        #: By identity: the calls hold them meanwhile, and many may have the same.
        placed: dict[int, Place | None] = {}

        def kept(value: Any) -> Any:
            if id(value) not in placed:
                is_there = isinstance(value, Future)
                placed[id(value)] = Place(value, False) if is_there else self._placed.place(value)
            place = placed[id(value)]
            if place is None:
                return value
            return Placed(given.setdefault(place.future, len(given)), place.pickled)

        calls = [
            (function, [*map(kept, args)], {name: kept(each) for name, each in keywords.items()})
            for function, args, keywords in items
        ]
        return calls, list(given)

    def _ended(self, future: Future) -> None:
        """A task is done."""
        with self._lock:
            told = self._under_way.pop(future, None)
            if told is None:  # given up
                return
            following = self._waiting.popleft() if self._waiting else None
            self._sending += following is not None
        if following is not None:
            self._send(*following)
        try:
            outcome = True, future.result()
        except BaseException as error:  # noqa: BLE001 (raised where the results are wanted)
            outcome = False, error
        told(outcome)

    def give_up(self) -> None:
        """End what is not done, and begin nothing any more."""
        with self._lock:
            self._given_up = True
            self._waiting.clear()
            given_up = list(self._under_way)
            self._under_way.clear()
        self._cancel(given_up)

    def _cancel(self, futures: list[Future]) -> None:
        with suppress(ClusterError):  # it has ended, and nothing runs any more
            self._client.cancel(futures, reason="joblib gave the call up")
