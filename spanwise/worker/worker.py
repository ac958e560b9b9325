"""The worker: one task table, its lock, and the threads that live on it.

The threads::

    link thread      reads the scheduler's messages, changes the table (scheduler.py)
    executor threads take, run, measure, store, report               (executor.py)
                     and, idle behind a lone short task, read too    (wakeup.py)
    fetch threads    one per peer: ask for inputs, store them        (fetch.py)
    door threads     one per connected peer: serve results           (door.py)
    watch thread     stacks, memory, long tasks                      (watch.py)

All of them change `table` and `report` under `lock`, and none blocks while it holds
it. `sending` is held while a message goes to the scheduler; it is taken before
`lock`, never after it. The watch thread's own lock comes before both.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from math import inf
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from spanwise.bounded_map import BoundedMap
from spanwise.measure.fine import Ledger
from spanwise.measure.memory import ProcessMemory, Thresholds
from spanwise.measure.names import Names
from spanwise.measure.sizes import Sizes
from spanwise.measure.type_names import TypeNames
from spanwise.shared.requests import SharedRequests
from spanwise.wire.clock import ClockOffset, in_their_clock
from spanwise.wire.rows import TASK_ID, TASK_RUN_ID
from spanwise.wire.turns import Turns
from spanwise.worker.errors import Described
from spanwise.worker.key_questions import KeyQuestions
from spanwise.worker.lanes import Lanes
from spanwise.worker.library import Library
from spanwise.worker.pinned import Pinned
from spanwise.worker.report import Report
from spanwise.worker.segments import SHARE_BYTES, Segments
from spanwise.worker.signs import Signs
from spanwise.worker.spill import SpillStore
from spanwise.worker.spill_file import Spilled
from spanwise.worker.tasks import Arrival, Entry, Fetch, Lacking, Row, TaskTable
from spanwise.worker.transfer_log import LOG_LENGTH, TransferLog, Transfers
from spanwise.worker.worker_object import WorkerObject

if TYPE_CHECKING:
    from spanwise.worker.needs import Lane, Watching
    from spanwise.worker.segment import Segment
    from spanwise.worker.wakeup import LinkReader

#: Sends a message to the scheduler: type, fields, tables, blobs.
Send = Callable[[str, dict[str, Any], dict[str, Any], list[Any]], None]

#: So many pieces of data that may come after they were adopted or discarded are remembered.
MOST_GIVEN_UP = 100_000


class Worker:
    """State shared by the threads of one worker.

    Parameters
    ----------
    number
        The worker's number in its cluster.
    name
        Its name for people.
    threads
        How many executor threads it has.
    memory_limit
        Bytes; 0: none.
    folder
        The cluster's, for what is spilled.
    memory
        What to do as memory fills: `memory` of the settings (docs/contracts.md §8).
    resources
        What tasks may hold of it beside threads, by name. The scheduler counts what they do.
    log_length
        So many transfers of each direction are kept.
    """

    def __init__(
        self,
        number: int,
        name: str,
        threads: int,
        memory_limit: float,
        folder: Path,
        memory: Mapping[str, Any] = MappingProxyType({}),
        resources: Mapping[str, float] = MappingProxyType({}),
        log_length: int = LOG_LENGTH,
    ) -> None:
        self.number = number
        self.name = name
        #: As its user named it, or the number of its place: the scheduler says which.
        self.called: int | str = number
        self.threads = threads
        self.memory_limit = memory_limit
        self.resources = dict(resources)
        #: Of its peer door, once that is open.
        self.address = ""
        #: Who waits must not keep back results that ended before.
        self.shared = SharedRequests(self.send, self.flush)
        #: What came in from others and went out to them.
        self.transfers = Transfers(log_length)
        self.key_questions = KeyQuestions(self)
        #: What users' code gets of it.
        self.object = WorkerObject(self)
        self.names = Names()
        self.library = Library(self.names)
        self.sizes = Sizes(quickens=True)
        self.types = TypeNames(self.names)
        self.ledger = Ledger()
        #: What it writes to disk.
        self.folder = folder / f"spill-{number}"
        self.thresholds = Thresholds.of(memory)
        quota, elsewhere = memory.get("maxSpill"), memory.get("folder")
        self.spill = SpillStore(
            self.folder,
            memory_limit,
            self.ledger,
            self.thresholds,
            inf if quota is None else quota,
            None if elsewhere is None else Path(elsewhere),
        )
        self.pinned = Pinned(self)
        self.segments = Segments(memory_limit, int(memory.get("share", SHARE_BYTES) or 0))
        self._process = ProcessMemory()
        self.signs = Signs()
        self.spill.sources += [self.segments, self.pinned]
        self.spill.spare = self.segments

        #: Around table, report, idle, paused, puts.
        self.lock = threading.Lock()
        #: Data that was put here has got its task, or is dropped.
        self._settled = threading.Condition(self.lock)
        self.table = TaskTable(number)
        self.report = Report()
        #: (taskId, bytes) of copies of which the scheduler is still to be told.
        self._copies: list[tuple[int, float]] = []
        #: Who reads the scheduler's link, and what handles what it brings.
        self.turns = Turns()
        self.link_reader: LinkReader | None = None
        #: Executors that have nothing to do, each waiting for its `wakeup`.
        self.idle: list[Lane] = []
        #: No new task is begun: memory is short.
        self.paused = False
        #: Besides, nothing runs, and nothing leaves memory.
        self.stalled = False
        #: Around messages about both.
        self._pausing = threading.Lock()
        #: Clients that have left the cluster, of at most 65,535.
        self._gone_clients: set[int] = set()
        #: (client, dataId) → value, bytes and shared memory of what clients put here.
        self.puts: dict[tuple[int, int], tuple[Any, float, Segment | None]] = {}
        #: The same, of what was asked for and not here: no id is used twice.
        self._given_up = BoundedMap[tuple[int, int], bool](MOST_GIVEN_UP)

        #: Around everything that is sent to the scheduler.
        self.sending = threading.Lock()
        self.executors: list[Lane] = []
        self.watch: Watching | None = None
        self.lanes = Lanes(self)
        #: The scheduler's address and process, and the cluster's secret: for the client that tasks
        #: here use.
        self.cluster: tuple[str, bytes, int] | None = None
        #: That client, once one has asked for it.
        self.client: Any = None
        #: From this process's clock to the scheduler's.
        self.clock = ClockOffset()
        self._send: Send | None = None
        self._fetch: Callable[[list[Fetch]], None] | None = None

    def connect(
        self,
        send: Send,
        fetch: Callable[[list[Fetch]], None],
        clock: ClockOffset | None = None,
    ) -> None:
        """Set how messages reach the scheduler, how inputs are fetched, and what its clock says."""
        self._send = send
        self._fetch = fetch
        self.clock = clock or ClockOffset()

    # ── to the scheduler ──────────────────────────────────────────────────

    def send(
        self,
        kind: str,
        fields: dict[str, Any] | None = None,
        tables: dict[str, Any] | None = None,
        blobs: list[Any] | None = None,
    ) -> None:
        """Send one message; safe from any thread."""
        with self.sending:
            if kind == "measured":
                with self.lock:
                    placed = self.lanes.take_placed()
                self._send_placed(placed)
            self._send_now(kind, fields or {}, tables or {}, blobs or [])

    def ask_clock(self) -> None:
        """Ask the scheduler what its clock says."""
        clock = self.clock
        with self.sending:
            now = perf_counter()
            told = {"offset": clock.at(now), "within": clock.within(now)}
            sent = perf_counter()
            clock.asked(sent)
            self._send_now("askClock", {"sent": sent, **told}, {}, [])

    def flush(self) -> None:
        """Send what has been reported. Runs leave in the order in which they ended."""
        with self.sending:
            with self.lock:
                # Decided here: a run that ends from now on is in the next report.
                ended, copies = None, self._copies
                placed: list[tuple[float, int, float]] = []
                if self.report.runs:
                    ended, self.report = self.report, Report()
                    placed = self.lanes.take_placed()
                if copies:
                    self._copies = []
            if copies:
                # First: when a run has ended that used one, all copies of it may be released.
                self._send_now("replicas", {}, {"added": copies}, [])
            if ended is not None:
                # First: who is told of a run is told which thread it had.
                self._send_placed(placed)
                fields, tables, blobs = ended.message(self.names)
                self._send_now("finished", fields, tables, blobs)

    def _send_now(
        self, kind: str, fields: dict[str, Any], tables: dict[str, Any], blobs: Any
    ) -> None:
        assert self._send is not None
        if kind in ("finished", "measured"):
            fields.update(self.names.announcement())
            if not self.clock.is_one:
                tables = in_their_clock(kind, tables, self.clock.at)
        self._send(kind, fields, tables, blobs)

    def _send_placed(self, placed: list[tuple[float, int, float]]) -> None:
        """Tell which threads have lanes from now on."""
        if placed:
            self._send_now("measured", {}, {"threads": placed}, [])

    # ── from the scheduler ────────────────────────────────────────────────

    def assign(self, rows: list[Row], dependencies: Any, holders: Any, nbytes: Any) -> None:
        """Take over tasks; see :meth:`TaskTable.assign`."""
        with self.lock:
            fetches, lacking = self.table.assign(rows, dependencies, holders, nbytes)
            self.report_lacking(lacking)
            self.wake(len(self.table.runnable))
        if fetches:
            assert self._fetch is not None
            self._fetch(fetches)
        if lacking:
            self.flush()

    def acquire(self, items: Any) -> None:
        """Copy results of other workers; see :meth:`TaskTable.acquire`."""
        with self.lock:
            fetches = self.table.acquire(items)
        if fetches:
            assert self._fetch is not None
            self._fetch(fetches)

    def release(self, task_ids: Any, uncounted: Collection[int] = ()) -> None:
        """Forget results, replicas and runs.

        Of those in `uncounted` the scheduler knows no result here. One may have come all the
        same, and been told of meanwhile: the scheduler, which may read that when the task is in
        memory again, is told that it is gone.
        """
        with self.lock:
            gone = [(each,) for each in uncounted if each in self.table.values]
            lacking = self.table.release(task_ids)
            self.report_lacking(lacking)
            dropped, self.table.dropped = self.table.dropped, []
        del dropped
        if lacking or gone:
            self.flush()
        if gone:
            self.send("replicas", None, {"removed": gone})

    def take_back(self, rows: Any) -> None:
        """Give back (taskId, runId) that have not started, and say of each whether it was.

        What waited for them here comes back with them. That is said after the answer, with
        which the scheduler has recalled it: else each would be a run that lacked its input.
        """
        answers = []
        given_up: list[Lacking] = []
        with self.lock:
            for task_id, run_id in rows:
                taken, lacking = self.table.take_back(task_id, run_id)
                given_up += lacking
                answers.append((task_id, run_id, int(taken)))
        self.send("takenBack", None, {"tasks": answers})
        with self.lock:
            self.report_lacking(given_up)
        self.flush()

    def adopt(self, data_id: int, client: int, task_id: int) -> bool:
        """Bind data that a client put here to a task id."""
        with self.lock:
            found = self._take_put(data_id, client)
            if found is None:
                return False
            value, nbytes, segment = found
            self.wake(self.table.adopt(task_id, value, nbytes, perf_counter()))
            if segment is not None:
                self.table.shared[task_id] = segment
        return True

    def await_adoption(self, task_ids: Collection[int], until: float) -> None:
        """Wait for results that may be data which was put here; the lock is held.

        The scheduler tells this worker which task such data is, and another one to fetch it: by
        two links, of which the other's may be read first.

        Parameters
        ----------
        until
            The perf_counter at which to give up.
        """
        while self.puts and not self.table.values.keys() >= set(task_ids):
            left = until - perf_counter()
            if left <= 0 or not self._settled.wait(left):
                return

    def discard(self, data_id: int, client: int) -> None:
        """Drop data that a client put here: the scheduler refused it, or the client gave it up."""
        with self.lock:
            found = self._take_put(data_id, client)
        del found  # user code may run with it: not under the lock

    def discard_all(self, client: int) -> None:
        """Drop what a client that has gone put here, also what still comes."""
        with self.lock:
            self._gone_clients.add(client)
            found = [self.puts.pop(name) for name in list(self.puts) if name[0] == client]
            self._settled.notify_all()
        del found  # as above

    def _take_put(self, data_id: int, client: int) -> tuple[Any, float, Segment | None] | None:
        found = self.puts.pop((client, data_id), None)
        self._settled.notify_all()
        if found is None:
            self._given_up.keep((client, data_id), True)
        return found

    def keep_put(
        self,
        client: int,
        data_id: int,
        value: Any,
        nbytes: float,
        segment: Segment | None = None,
    ) -> None:
        """Keep data that a client puts here, until it is adopted or discarded.

        What has been before was given up while it was on its way: nobody will ask for it.
        """
        with self.lock:
            if client in self._gone_clients:
                return
            if self._given_up.get((client, data_id)) is None:
                self.puts[client, data_id] = (value, nbytes, segment)
        self._stir()

    # ── from peers ────────────────────────────────────────────────────────

    def arrived(self, items: list[tuple[Fetch, Any, float]], arrival: Arrival) -> bool:
        """Keep inputs that a peer sent and tell the scheduler of the copies.

        Returns whether any of them is still wanted.

        Where ended runs wait to be sent, which is for 50 ms at the most (`Watch` looks so often),
        it is told with them: each message wakes it, and small inputs come by the hundred.
        """
        with self.lock:
            replicas, woken = self.table.arrived(items, arrival)
            self._copies += replicas
            has_to_be_sent = bool(replicas) and not self.report.runs
            self.wake(woken)
        if has_to_be_sent:
            self.flush()
        self._stir()
        return bool(replicas)

    def _stir(self) -> None:
        """Have memory measured soon: data came, and there may be no task that would see to it."""
        watch = self.watch
        if watch is not None:
            watch.is_stirred = True
            if watch.parked:
                watch.wake()

    def not_there(self, fetches: list[Fetch]) -> None:
        """Report the tasks whose inputs a peer could not give."""
        with self.lock:
            for fetch in fetches:
                self.report_lacking(self.table.not_there(fetch))
        self.flush()

    def unusable(self, fetch: Fetch, error: Described) -> None:
        """Fail tasks with an input that came but cannot be used: asking again would not help."""
        with self.lock:
            now = perf_counter()
            for row, lost in self.table.not_there(fetch):
                if lost[0][0] == fetch.task_id:
                    self.report.add_error(row[TASK_ID], row[TASK_RUN_ID], error, now)
                else:
                    self.report_lacking([(row, lost)])
        self.flush()

    @property
    def managed(self) -> float:
        """Bytes in memory of results, and of functions and arguments.

        Results that lie in memory of another process count there.
        """
        return max(0.0, self.table.managed - self.elsewhere) + self.spill.held_beside()

    @property
    def elsewhere(self) -> float:
        """Bytes of results here that lie in memory of another process."""
        return self.segments.elsewhere_bytes(self)

    def load(self) -> tuple[int, int, int, int, int, float, int, float, float, int, float, float]:
        """How much there is: a row of the table `load` but for its time."""
        table, incoming, outgoing = self.table, self.transfers.incoming, self.transfers.outgoing
        with self.lock:
            queued, results, fetching = len(table.queued), len(table.values), len(table.fetches)
            ready = min(len(table.runnable), queued)
        executing = sum(each.row is not None for each in self.executors)
        return (
            executing,
            ready,
            queued - ready,
            results,
            fetching,
            self.spill.memory_bytes,
            incoming.count,
            incoming.nbytes,
            float(incoming.count_total),
            outgoing.count,
            outgoing.nbytes,
            float(outgoing.count_total),
        )

    def ask_what_is_held(self) -> dict[str, float]:
        """Ask the scheduler what tasks hold of this worker's resources."""
        # By name: the client's folder imports this one, and most workers never need a client.
        client = import_module("spanwise.client.in_tasks").client_of(self)
        question = {"about": "held", "worker": self.number}
        answer = client._session.ask("question", question, {"ids": []})
        return dict(answer.fields.get("held") or {})

    def entries_of(self, log: TransferLog) -> deque[dict[str, Any]]:
        """Transfers in one direction, as users' code gets them."""
        return self.transfers.entries(log, self.key_questions.ask, self.clock)

    @property
    def own_folder(self) -> Path:
        """What tasks may write into; made when they ask for it."""
        return self.folder / "files"

    def make_folder(self) -> Path:
        """Return the folder of its files, which goes with it."""
        self.spill.files.make_folder()
        return self.folder

    def process_bytes(self) -> float:
        """Bytes that the process takes, with the shared ones that count here."""
        return self._process.read() + self.segments.counted_bytes()

    def lose(self, task_id: int, spilled: Spilled) -> None:
        """Forget a result that the disk does not give back; it is made again."""
        with self.lock:
            if self.table.values.get(task_id) is not spilled:
                return
            self.report_lacking(self.table.release([task_id]))
            # (a marker: its file may end with it)
            dropped, self.table.dropped = self.table.dropped, []
        del dropped
        self.flush()
        self.send("replicas", None, {"removed": [(task_id,)]})

    # ── executors ─────────────────────────────────────────────────────────

    def take(self) -> Entry | None:
        """Return the next task to run; the lock is held by the caller."""
        # Who waits to have a thread's place again has it before the next task.
        return None if self.paused or self.lanes.rejoining else self.table.take()

    def is_idle(self) -> bool:
        """Whether all threads are parked: no task runs, and none waits for one."""
        with self.lock:
            return len(self.idle) == len(self.executors) and not self.table.runnable

    def pause(self, paused: bool, why: str = "", stalled: bool = False) -> None:
        """Pause or resume the start of tasks; `stalled`: nothing here can end the pause."""
        # In the order of the decisions: two threads may pause at once.
        with self._pausing:
            with self.lock:
                if (self.paused, self.stalled) == (paused, stalled):
                    return
                self.paused, self.stalled = paused, stalled
                if not paused:
                    self.wake(len(self.table.runnable))
            self.send("state", {"paused": paused, "why": why, "stalled": stalled})

    def wake(self, tasks: int) -> None:
        """Wake as many idle executors as there are new tasks; the lock is held."""
        idle = self.idle
        while tasks > 0 and idle:
            at = -1
            if self.turns.is_handling:
                # The task that came is for the thread that has read it, which is awake.
                for number, each in enumerate(idle):
                    if each.wakeup is self.turns.stand_in:
                        at = number
            idle.pop(at).wakeup.release()
            tasks -= 1

    def report_lacking(self, lacking: list[Lacking]) -> None:
        """Report tasks that cannot run here; the lock is held."""
        now = perf_counter()
        for row, lost in lacking:
            self.report.add_missing(row[TASK_ID], row[TASK_RUN_ID], lost, now)
