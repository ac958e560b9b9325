"""The worker's table of tasks: assigned, waiting, runnable, kept.

No threads, no sockets, no clock: each call of :class:`TaskTable` tells it an event and
returns what follows. Its owner holds one lock around every call.

::

                      every input here
    assign ──────────────────────────────▶ runnable ── take ──▶ running
       │                                      ▲                    │ store
       └─ inputs missing ─▶ waiting ──────────┘                    ▼
          made here, or     (waiters)   the last input came       kept ── release ──▶ gone
          fetched from a peer
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Any

from spanwise.records.enumerations import FLAG_WANTED
from spanwise.wire.rows import (
    TASK_FIRST_DEPENDENCY,
    TASK_FLAGS,
    TASK_ID,
    TASK_PRIORITY,
    TASK_READY_AT,
    TASK_RUN_ID,
    TaskRow,
)

#: One row of the message `assign`, in the order of its columns: taskId, runId,
#: template, chunk, row, function, span, flags, priority, readyAt, firstDependency.
Row = TaskRow

#: An entry of the runnable list: -priority, -serial, row, ids of the inputs, what
#: it waited for (None: nothing). The list is kept ascending, so that the next
#: task is the last element; `serial` keeps the order of arrival between equals.
Entry = tuple[float, int, Row, tuple[int, ...], "Waiting | None"]

NO_INPUTS: tuple[int, ...] = ()
#: Of results that are smaller, as far as `sizeof` knows, nobody notes whether they are wanted.
LARGE_BYTES = 64 * 1024


class Arrival:
    """One answer of a peer, or the part of it that came in one frame.

    Times are perf_counter seconds: asked, received, opened (unpickled).
    """

    __slots__ = ("asked", "cpu", "opened", "peer", "received")

    def __init__(self, peer: int, asked: float, received: float, opened: float, cpu: float) -> None:
        self.peer = peer
        self.asked = asked
        self.received = received
        self.opened = opened
        self.cpu = cpu


#: Of all tasks that wait for what is made here; nobody adds to it.
_NO_ARRIVALS: list[tuple[Arrival, float]] = []


class Waiting:
    """A task some of whose inputs are not here yet."""

    __slots__ = ("arrivals", "inputs", "inputs_at", "lacking", "ready_at", "row")

    def __init__(self, row: Row, inputs: tuple[int, ...], lacking: int) -> None:
        self.row = row
        self.inputs = inputs
        #: How many inputs are missing.
        self.lacking = lacking
        #: When the last input came.
        self.inputs_at = 0.0
        #: When it became runnable: readyAt, or when the last input made here was made.
        self.ready_at: float = row[TASK_READY_AT]
        #: What was fetched for it: (arrival, bytes).
        self.arrivals = _NO_ARRIVALS


class Fetch:
    """An input on its way from a peer; identity tells two fetches of one id apart."""

    __slots__ = ("nbytes", "peer", "task_id")

    def __init__(self, task_id: int, peer: int, nbytes: float) -> None:
        self.task_id = task_id
        self.peer = peer
        self.nbytes = nbytes


#: A task that cannot run here: its row and the lacking inputs as (id, worker asked).
Lacking = tuple[Row, list[tuple[int, int]]]


class TaskTable:
    """Tasks of one worker.

    Parameters
    ----------
    worker
        The worker's own number: inputs held by it are here or made here.
    """

    def __init__(self, worker: int) -> None:
        self.worker = worker
        #: taskId → result. Each has its size in `sizes`.
        self.values: dict[int, Any] = {}
        #: taskId → bytes.
        self.sizes: dict[int, float] = {}
        #: taskId → the memory that other processes see too, in which the value lies.
        self.shared: dict[int, Any] = {}
        #: Large results made here that a client wants.
        self.wanted: set[int] = set()
        #: Sum of `sizes`.
        self.managed = 0.0
        #: Ascending; the next task to run is the last.
        self.runnable: list[Entry] = []
        #: taskId → its row, from assignment until a thread takes it.
        self.queued: dict[int, Row] = {}
        #: taskId → runId of the run, now on a thread, whose result will be kept.
        #: A release takes the run out, and the task may then be assigned again.
        self.running: dict[int, int] = {}
        #: Lacking input → the tasks that wait for it, once per use.
        self.waiters: dict[int, list[Waiting]] = {}
        #: Lacking input → its fetch; disjoint from what is made here.
        self.fetches: dict[int, Fetch] = {}
        #: Released results: their owner drops them while it holds no lock, since that may run a
        #: user's `__del__`.
        self.dropped: list[Any] = []
        self._serial = 0

    # ── from the scheduler ────────────────────────────────────────────────

    def assign(
        self,
        rows: Iterable[Row],
        dependencies: Sequence[int] = (),
        holders: Sequence[int] = (),
        nbytes: Sequence[float] = (),
    ) -> tuple[list[Fetch], list[Lacking]]:
        """Take over tasks.

        Parameters
        ----------
        rows
            The rows of the message, in its order.
        dependencies, holders, nbytes
            Its table `dependencies`, by columns.

        Returns
        -------
        fetches, lacking
            Inputs to fetch now; tasks that cannot run because an input that
            should be here is not.
        """
        fetches: list[Fetch] = []
        lacking: list[Lacking] = []
        added: list[Entry] = []
        queued = self.queued
        values = self.values
        serial = self._serial
        if not dependencies:
            for row in rows:
                serial -= 1
                queued[row[TASK_ID]] = row
                added.append((-row[TASK_PRIORITY], serial, row, NO_INPUTS, None))
        else:
            listed = list(rows)
            last = len(listed) - 1
            for index, row in enumerate(listed):
                serial -= 1
                first = row[TASK_FIRST_DEPENDENCY]
                stop = (
                    listed[index + 1][TASK_FIRST_DEPENDENCY] if index < last else len(dependencies)
                )
                inputs = tuple(dependencies[first:stop])
                for each in inputs:
                    if each not in values:
                        self._wait(row, inputs, first, holders, nbytes, fetches, lacking)
                        break
                else:
                    queued[row[TASK_ID]] = row
                    added.append((-row[TASK_PRIORITY], serial, row, inputs, None))
        self._serial = serial
        self.runnable.extend(added)
        # Both halves are sorted or nearly so, which timsort merges in about one
        # comparison per entry; serials differ, so rows are never compared.
        self.runnable.sort()
        return fetches, lacking

    def _wait(
        self,
        row: Row,
        inputs: tuple[int, ...],
        first: int,
        holders: Sequence[int],
        nbytes: Sequence[float],
        fetches: list[Fetch],
        lacking: list[Lacking],
    ) -> None:
        """Have a task wait for those of its inputs that are not here; `first`: where they begin."""
        values, queued, running, coming = self.values, self.queued, self.running, self.fetches
        absent: list[int] = []
        elsewhere: list[Fetch] = []
        gone: list[tuple[int, int]] = []
        for place, input_id in enumerate(inputs, first):
            if input_id in values:
                continue
            absent.append(input_id)
            if input_id in queued or input_id in running or input_id in coming:
                continue
            if holders[place] == self.worker:
                gone.append((input_id, self.worker))
            else:
                elsewhere.append(Fetch(input_id, holders[place], nbytes[place]))
        if gone:
            lacking.append((row, gone))
            return
        for fetch in elsewhere:
            # (an input that the task uses twice)
            if fetch.task_id not in coming:
                coming[fetch.task_id] = fetch
                fetches.append(fetch)
        waiting = Waiting(row, inputs, len(absent))
        waiters = self.waiters
        for input_id in absent:
            others = waiters.get(input_id)
            if others is None:
                waiters[input_id] = [waiting]
            else:
                others.append(waiting)
        queued[row[TASK_ID]] = row

    def _comes(self, task_id: int) -> bool:
        return task_id in self.queued or task_id in self.running or task_id in self.fetches

    def acquire(self, items: Iterable[tuple[int, int, float]]) -> list[Fetch]:
        """Copy results of others.

        Of what is here already the scheduler was told when it came. Said again, it could cross
        a release, and the scheduler would count on a copy that is gone.

        Parameters
        ----------
        items
            (taskId, a worker that holds it, bytes)

        Returns
        -------
        fetches
            What is to be fetched now.
        """
        fetches: list[Fetch] = []
        for task_id, holder, nbytes in items:
            if task_id in self.values or holder == self.worker or self._comes(task_id):
                continue
            fetch = self.fetches[task_id] = Fetch(task_id, holder, nbytes)
            fetches.append(fetch)
        return fetches

    def release(self, task_ids: Iterable[int]) -> list[Lacking]:
        """Forget results, replicas and runs. A running task runs on; its result is not kept.

        Returns
        -------
        lacking
            Tasks that waited for one of them and are not themselves released.
        """
        dropped = list(task_ids)
        values, sizes = self.values, self.sizes
        # Few, and mostly empty when results of a finished graph are released.
        underway: list[dict[int, Any]] = [
            # A queued row stays in `runnable` and is skipped by `take`.
            each
            for each in (self.running, self.fetches, self.queued)
            if each and not each.keys().isdisjoint(dropped)
        ]
        managed = 0.0
        shared, wanted, drop = self.shared, self.wanted, self.dropped.append
        for task_id in dropped:
            if task_id in values:
                drop(values.pop(task_id))
                managed += sizes.pop(task_id)
                if shared:
                    shared.pop(task_id, None)
                if wanted:
                    wanted.discard(task_id)
            if underway:
                for each in underway:
                    each.pop(task_id, None)
        self.managed -= managed
        if not self.waiters:
            return []
        return [
            entry
            for task_id in dropped
            if task_id in self.waiters
            for entry in self.give_up(task_id, self.worker)
        ]

    def take_back(self, task_id: int, run_id: int) -> tuple[bool, list[Lacking]]:
        """Give a task back if no thread has taken it."""
        row = self.queued.get(task_id)
        if row is None or row[TASK_RUN_ID] != run_id:
            return False, []
        del self.queued[task_id]
        return True, self.give_up(task_id, self.worker)

    # ── from the threads ──────────────────────────────────────────────────

    def take(self) -> Entry | None:
        """Return the next task for a thread, or None."""
        runnable = self.runnable
        queued = self.queued
        while runnable:
            entry = runnable.pop()
            row = entry[2]
            task_id = row[TASK_ID]
            if queued.get(task_id) is row:
                del queued[task_id]
                self.running[task_id] = row[TASK_RUN_ID]
                return entry
        return None

    def store(self, row: Row, value: Any, nbytes: float, now: float) -> int:
        """Keep the result of a run and return how many tasks became runnable."""
        task_id = row[TASK_ID]
        if self.running.get(task_id) != row[TASK_RUN_ID]:
            return 0  # released while it ran
        del self.running[task_id]
        # As `_keep`, of most results: a call less.
        sizes = self.sizes
        self.managed += nbytes - sizes[task_id] if task_id in sizes else nbytes
        self.values[task_id] = value
        sizes[task_id] = nbytes
        if self.shared:
            self.shared.pop(task_id, None)
        if nbytes >= LARGE_BYTES and row[TASK_FLAGS] & FLAG_WANTED:
            self.wanted.add(task_id)
        if task_id not in self.waiters:
            return 0
        waiters = self.waiters.pop(task_id)
        for waiting in waiters:
            if waiting.ready_at < now:
                waiting.ready_at = now
        return self._came(waiters, now)

    def failed(self, row: Row) -> list[Lacking]:
        """End a run without a result: tasks that waited for it cannot run here."""
        task_id = row[TASK_ID]
        if self.running.get(task_id) != row[TASK_RUN_ID]:
            return []
        del self.running[task_id]
        return self.give_up(task_id, self.worker)

    # ── from peers and clients ────────────────────────────────────────────

    def arrived(
        self,
        items: Iterable[tuple[Fetch, Any, float]],
        arrival: Arrival,
    ) -> tuple[list[tuple[int, float]], int]:
        """Keep what a peer sent.

        Parameters
        ----------
        items
            (fetch, value, bytes)

        Returns
        -------
        replicas, woken
            (taskId, bytes) of what is new here; how many tasks became runnable.
        """
        replicas: list[tuple[int, float]] = []
        woken = 0
        for fetch, value, nbytes in items:
            task_id = fetch.task_id
            if self.fetches.get(task_id) is not fetch:
                continue  # released meanwhile
            del self.fetches[task_id]
            self._keep(task_id, value, nbytes)
            replicas.append((task_id, nbytes))
            waiters = self.waiters.pop(task_id, None)
            if waiters is None:
                continue
            # The bytes are booked once, to the task that asked first.
            booked = nbytes
            for waiting in waiters:
                arrivals = waiting.arrivals
                if not arrivals:
                    waiting.arrivals = [(arrival, booked)]
                elif arrivals[-1][0] is arrival:
                    arrivals[-1] = (arrival, arrivals[-1][1] + booked)
                else:
                    arrivals.append((arrival, booked))
                booked = 0.0
            if len(waiters) == 1 and waiters[0].lacking > 1:
                # As below: a reduction waits for thousands.
                waiters[0].lacking -= 1
                continue
            woken += self._came(waiters, arrival.opened)
        return replicas, woken

    def not_there(self, fetch: Fetch) -> list[Lacking]:
        """Give up an input: the peer does not have it, or cannot be reached."""
        if self.fetches.get(fetch.task_id) is not fetch:
            return []
        del self.fetches[fetch.task_id]
        return self.give_up(fetch.task_id, fetch.peer)

    def adopt(self, task_id: int, value: Any, nbytes: float, now: float) -> int:
        """Keep data that a client put here; returns how many tasks became runnable."""
        self._keep(task_id, value, nbytes)
        return self._came(self.waiters.pop(task_id, []), now)

    # ── inner ─────────────────────────────────────────────────────────────

    def replace(self, task_id: int, value: Any, nbytes: float) -> None:
        """Replace a value; the new one counts as the newest."""
        del self.values[task_id]
        self._keep(task_id, value, nbytes)

    def _keep(self, task_id: int, value: Any, nbytes: float) -> None:
        self.managed += nbytes - self.sizes.get(task_id, 0.0)
        self.values[task_id] = value
        self.sizes[task_id] = nbytes
        if self.shared:
            self.shared.pop(task_id, None)

    def _came(self, waiters: list[Waiting], now: float) -> int:
        woken = 0
        runnable = self.runnable
        for waiting in waiters:
            waiting.lacking -= 1
            if waiting.lacking:
                continue
            row = waiting.row
            if self.queued.get(row[TASK_ID]) is not row:
                continue  # taken back or released meanwhile
            waiting.inputs_at = now
            self._serial -= 1
            entry = (-row[TASK_PRIORITY], self._serial, row, waiting.inputs, waiting)
            if not runnable or entry > runnable[-1]:
                # What follows its inputs in the order of all mostly is the next.
                runnable.append(entry)
            else:
                insort(runnable, entry)
            woken += 1
        return woken

    def give_up(self, task_id: int, holder: int) -> list[Lacking]:
        """Drop the tasks that wait for `task_id`, and those that wait for them."""
        lacking: list[Lacking] = []
        pending = [(task_id, holder)]
        while pending:
            lost, asked = pending.pop()
            for waiting in self.waiters.pop(lost, ()):
                row = waiting.row
                if self.queued.get(row[TASK_ID]) is not row:
                    continue
                del self.queued[row[TASK_ID]]
                lacking.append((row, [(lost, asked)]))
                pending.append((row[TASK_ID], self.worker))
        return lacking

    def check(self) -> None:  # pragma: no mutate block
        """Raise AssertionError if the table contradicts itself (for tests)."""
        assert set(self.values) == set(self.sizes)
        assert abs(sum(self.sizes.values()) - self.managed) < 1e-3
        assert self.runnable == sorted(self.runnable)
        runnable = {
            id(entry[2]) for entry in self.runnable if self.queued.get(entry[2][0]) is entry[2]
        }
        waiting: dict[int, int] = {}
        for task_id, waiters in self.waiters.items():
            assert task_id not in self.values, "waits for what is here"
            for each in waiters:
                if self.queued.get(each.row[TASK_ID]) is each.row:
                    waiting[id(each)] = waiting.get(id(each), 0) + 1
                    assert id(each.row) not in runnable
                    assert (
                        task_id in self.queued or task_id in self.running or task_id in self.fetches
                    ), "waits for what never comes"
                    assert waiting[id(each)] <= each.lacking
        assert not set(self.queued) & set(self.running)
