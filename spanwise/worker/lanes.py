"""Which threads run a worker's tasks, while some tasks leave theirs to others.

::

    lane 0   task A ─┬─ A secedes                  ┌ C ends, lane 0 goes to A
             thread 1│  thread 2   task B │ task C ┘ thread 2 is spare
    lane 2           └── thread 1, A, waits ── A: rejoin ── A ends, thread 1 is lane 0's

There are always as many lanes at work as the worker has threads. A run that has seceded is of
a lane of its own, beside those, until it ends: so no lane has two runs at a time.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from spanwise.errors import ClusterError
from spanwise.wire.rows import TASK_ID, TASK_RUN_ID

if TYPE_CHECKING:
    from spanwise.worker.needs import Executing, Lane

    class Worker(Executing, Protocol):
        """A worker with threads."""

        name: str
        threads: int


#: So many runs may go on beside the threads of a worker; ``src/sources/worker-lanes.ts`` has the
#: same figure. Each is a thread of the process.
MOST_SECEDED = 1000
#: Threads that wait to be used again; others end.
MOST_SPARE = 8


class Lanes:
    """Threads of one worker that come and go; its `lock` guards all of this.

    Parameters
    ----------
    worker
        Whose executors they are.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        #: Numbers of lanes beside the threads that are free, and when the last run there ended.
        self._free: dict[int, float] = {}
        #: How many such numbers there are, and how many runs have one.
        self._numbers = 0
        self._beside = 0
        #: Runs that wait for a thread, in the order of their asking.
        self.rejoining: list[Lane] = []
        self._spare: list[Lane] = []
        #: (since when, lane, thread of the system), until the scheduler is told.
        self._placed: list[tuple[float, int, float]] = []

    # ── which thread is where; the lock is held ───────────────────────────

    def placed(self, executor: Lane) -> None:
        """From now on the tasks of its lane run in this thread."""
        self._note(executor, executor.number)

    def take_placed(self) -> list[tuple[float, int, float]]:
        """What has changed since this was asked last."""
        placed, self._placed = self._placed, []
        return placed

    def _note(self, executor: Lane, lane: int) -> None:
        if executor.ident is not None:
            self._placed.append((perf_counter(), lane, float(executor.ident)))

    # ── in the thread of a task ───────────────────────────────────────────

    def secede(self, executor: Lane) -> None:
        """Leave the thread's place to another one, until the task ends or rejoins.

        Raises
        ------
        ClusterError
            Too many have done so already, or no thread can be started.
        """
        worker = self._worker
        row = executor.row
        if row is None or executor.seceded:
            return
        # Runs that ended before must not wait for this one.
        worker.flush()
        with worker.lock:
            if executor.lane >= 0:  # it has rejoined: it gives that place away again
                place, executor.lane = executor.lane, -1
            else:
                if self._beside >= MOST_SECEDED:
                    raise ClusterError(
                        f"{MOST_SECEDED} tasks of {worker.name} have seceded and wait already. "
                        "Let tasks submit less deeply, or scale the cluster up."
                    )
                place = executor.number
                executor.number = self._take_number(executor.clock)
                self._beside += 1
            executor.seceded = True
            self.placed(executor)
            other = self._spare.pop() if self._spare else None
            if other is not None:
                other.number = place
                self.placed(other)
                worker.executors = [*worker.executors, other]
                other.wakeup.release()
        if other is None:
            self._start(executor, place)
        self._tell(row, executor, False)

    def _start(self, executor: Lane, place: int) -> None:
        worker = self._worker
        kind: Any = type(executor)
        other: Lane = kind(worker, place)
        try:
            other.start()
        except RuntimeError as error:
            with worker.lock:
                executor.seceded = False
                self._free[executor.number] = 0.0
                self._beside -= 1
                executor.number = place
                self.placed(executor)
            raise ClusterError(f"{worker.name} cannot start a thread ({error}).") from error
        with worker.lock:
            worker.executors = [*worker.executors, other]
        if worker.watch is not None:
            worker.watch.sees(other)

    def rejoin(self, executor: Lane) -> None:
        """Wait until a thread of the worker has nothing to run, and take its place."""
        worker = self._worker
        row = executor.row
        if row is None or not executor.seceded:
            return
        with worker.lock:
            waits = not worker.idle
            if waits:
                self.rejoining.append(executor)
            else:
                other = worker.idle.pop()
                self._hand_over(other, executor)
                other.wakeup.release()  # which sees that it has no place any more
        since = perf_counter()
        if waits:
            executor.wakeup.acquire()
        self._tell(row, executor, True)
        if waits:
            # (last: callbacks of users hear it, which may raise)
            executor.waited(since)

    def _tell(self, row: Any, executor: Lane, back: bool) -> None:
        held = max(0.0, perf_counter() - executor.clock)
        tasks = [(row[TASK_ID], row[TASK_RUN_ID], held)]
        self._worker.send("seceded", {"back": back}, {"tasks": tasks})

    # ── between two tasks; the lock is held ───────────────────────────────

    def gives_way(self, executor: Lane) -> bool:
        """Give an executor's place to a run that wants one back, if there is one."""
        if not self.rejoining:
            return False
        other = self.rejoining.pop(0)
        self._hand_over(executor, other)
        other.wakeup.release()
        return True

    def ended(self, executor: Lane) -> None:
        """The run of an executor has ended that was on a lane beside the threads'."""
        self._free[executor.number] = executor.clock
        self._beside -= 1
        if executor.seceded:
            executor.seceded = False
            executor.placeless = True
        else:
            executor.number, executor.lane = executor.lane, -1

    def retire(self, executor: Lane) -> bool:
        """Take a thread out that has no place any more; False: it is to end."""
        worker = self._worker
        executor.placeless = False
        worker.executors = [each for each in worker.executors if each is not executor]
        if len(self._spare) < MOST_SPARE:
            self._spare.append(executor)
            return True
        if worker.watch is not None:
            worker.watch.forgets(executor)
        return False

    def _hand_over(self, executor: Lane, to: Lane) -> None:
        executor.placeless = True
        to.lane = executor.number
        to.seceded = False
        # Its run stays on the lane beside, and holds the place from here on: it is not idle.
        self._note(to, to.lane)

    def _take_number(self, began: float) -> int:
        """A lane beside the threads that has been free since the run began."""
        fits = [number for number, ended in self._free.items() if ended <= began]
        if not fits and self._numbers < MOST_SECEDED:
            self._numbers += 1
            return self._worker.threads + self._numbers - 1
        number = min(fits) if fits else min(self._free, key=lambda each: self._free[each])
        del self._free[number]
        return number
