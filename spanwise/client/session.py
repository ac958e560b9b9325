"""The connection to one scheduler: ids, results, waiting, releasing.

Threads: the caller's (submit, wait, gather), one reader (blocks in the socket, applies
reports; a caller that waits may do so in its stead: reading_waiter.py), one releaser (collects
dropped futures and tells the scheduler in batches), two for callbacks of futures
(done_callbacks.py) once there is one.
Two locks, taken in this order:

* `sending`: held while a submission is packed and sent, so that ids, names and spans
  reach the scheduler in the order in which they were given out;
* `lock`: guards the tables, held for moments only. The reader needs just this one: it
  must always be able to empty the socket, or both sides could wait to send.

Code of the user may run in a thread that holds them: it pickles objects for a graph, and
wherever Python collects objects it calls their ``__del__``. So both know their owner
(:meth:`Session.check_turn`, :meth:`Session.check_wait`).
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.client.check_messages import check_from_scheduler, check_rows
from spanwise.client.clock_follower import ClockFollower
from spanwise.client.closed_session import CLOSED
from spanwise.client.done_callbacks import DoneCallbacks
from spanwise.client.entries import (
    CANCELLED,
    ERROR,
    FINISHED,
    PENDING,
    Entry,
    Waiter,
    pending,
)
from spanwise.client.events import Subscriptions
from spanwise.client.failures import Failures
from spanwise.client.gathering import Gathering
from spanwise.client.imported import imported_modules
from spanwise.client.large_graphs import GraphSize
from spanwise.client.late import Late, Question, not_done
from spanwise.client.peers import Peers
from spanwise.client.reading_waiter import MOST_READ, ReadingWaiter
from spanwise.client.reason import WITH_CLIENT, FoundHere, cancelled
from spanwise.client.scheduler_plugins import SchedulerPlugins
from spanwise.errors import (
    ClusterError,
    SchedulerLost,
)
from spanwise.graph.callers import code_of_caller
from spanwise.graph.cells import follow_roots
from spanwise.graph.dictionaries import RAW_GRAPH, Names, Spans, SpansOfTasks
from spanwise.graph.observe_dask import remember_provenance
from spanwise.graph.packs import FIRST_TASKS, Packer, SubmitMessage
from spanwise.graph.prepare import PreparedGraph, prepare
from spanwise.graph.provenance import Annotation, current_annotation
from spanwise.graph.roots import RootAnnotation
from spanwise.graph.task_options import TaskOptions
from spanwise.notices import tell
from spanwise.processes.this_process import notebook_path
from spanwise.records.enumerations import NONE_U32, REPORT_LOST, REPORT_MEMORY
from spanwise.shared.requests import SharedRequests
from spanwise.wire import payload
from spanwise.wire.content import MOST_BYTES, broken
from spanwise.wire.errors import (
    BrokenFrame,
    FrameTooLong,
    LinkClosed,
    LinkError,
    RefusedThere,
)
from spanwise.wire.foreign import is_ctrl_c, said, type_name
from spanwise.wire.frame import Message
from spanwise.wire.kinds import plain
from spanwise.wire.link import Link
from spanwise.wire.schema import link_type
from spanwise.wire.sign import Sign
from spanwise.wire.sign import unpack as unpack_sign
from spanwise.wire.turns import Turns

if TYPE_CHECKING:
    import asyncio

    from spanwise.client.needs import Around, Sleeper

Key = Any

#: Request → the message that answers it.
ANSWER_TO = {
    "locate": "located",
    "flush": "flushed",
    "question": "answer",
    "askEvents": "events",
    "command": "done",
    "reserve": "done",
    "copy": "copied",
    "plugin": "pluginDone",
    "schedulerModule": "pluginDone",
    "follow": "followed",
    "watchScheduler": "watched",
}

#: Dropped futures are collected for this long before the scheduler is told: a loop
#: of submit and result would otherwise pay one message per task for it.
RELEASE_PAUSE_SECONDS = 0.005
#: The same if the first of them has a result of at most 4 KB: nobody lacks its memory, and each
#: message wakes the scheduler and then a worker.
SMALL_RELEASE_PAUSE_SECONDS = 0.02
#: A large graph waits at most this long until the scheduler is told of all that was dropped.
LET_GO_SECONDS = 10.0
CLOSE_SECONDS = 10.0
#: A thread that cannot send waits at most this long for the reader, which may learn why.
_LAST_WORDS_SECONDS = 10.0
#: While closing, seconds between two checks whether the scheduler was stopped.
_LOOK_SECONDS = 0.25

_SENDS = (
    "An object submits, scatters or cancels tasks while this thread is sending for the same "
    "client: in its __reduce__ or __getstate__, for which it is pickled (do this before, and pass "
    "its result), or in its __del__, which Python calls at any moment (do this in a method or a "
    "with block, or leave it to another thread)."
)
_IS_BUSY = (
    "An object uses a client in its __del__, which Python calls at any moment: now its thread is "
    "in the middle of something for the same client. Do this in a method or a with block, or "
    "leave it to another thread."
)
#: Large, and of what was looked over when it was given: their fields are not checked once more.
_BUILT_HERE = frozenset({"submit", "spans", "scattered"})
_WAS_CLOSED = "The client was closed; make a new one with Client()."

#: Up to here the codec packs rows into one buffer.
FEW_ROWS = 64
TASK_COLUMNS = link_type("client").message("up", "submit").by_name["tasks"].columns


class Run(NamedTuple):
    """A run of a task.

    Attributes
    ----------
    worker, thread
        Their numbers; a task that has left its thread has one beyond those of the worker.
    began, ended
        By `time.perf_counter` of this process; None: it goes on.
    """

    worker: int
    thread: int
    began: float
    ended: float | None


class NotHeld(ClusterError):
    """A graph needs results that this client has not.

    Attributes
    ----------
    keys
        Of these results.
    """

    def __init__(self, key: Key, keys: Iterable[Key]) -> None:
        super().__init__(
            f"The graph needs the result of {key!r}, which this client does not hold: it was "
            "released, or belongs to another cluster. Compute it again."
        )
        self.keys = {*keys}


class Session:
    """Speaks the client link.

    Parameters
    ----------
    link
        Open, role ``client``; `link.welcome` describes the cluster.
    secret
        The cluster's, for the workers' peer doors.
    on_lost
        Called with the workers' pids, by the reader, when the scheduler has died.
    around
        Of a worker's client: what is known of the task that uses it.
    """

    def __init__(
        self,
        link: Link,
        secret: bytes,
        on_lost: Callable[[list[int]], None] = lambda pids: None,
        around: Around | None = None,
    ) -> None:
        self._around = around
        self._on_lost = on_lost
        welcome = link.welcome
        self.pid = os.getpid()
        self.cluster_id: str = welcome["clusterId"]
        self.name: str = welcome["name"]
        self.number: int = welcome.get("client", 0)
        self.log_id: str = welcome["logId"]
        self.scheduler_start: float = welcome["schedulerStart"]
        self.wall_epoch: float = welcome["wallEpoch"]
        #: worker id → its row in the message `cluster`.
        self.workers: dict[int, dict[str, Any]] = {w["id"]: w for w in welcome["workers"]}
        self.state = "running"
        #: Why nothing can run any more, or None.
        self.dead: str | None = None
        #: It has ended for want of use: nothing of this client was lost with it.
        self.was_idle = False
        self.provenance = remember_provenance()
        if around is None:
            follow_roots(notebook_path())
        self.names = Names()
        self.spans = (
            Spans(self._span_closed, link.clock.at, self.number)
            if around is None
            else SpansOfTasks(around.span, self._span_closed, link.clock.at, self.number)
        )
        self.packer = Packer(dump, self.names, self.spans)
        self.peers = Peers(secret, welcome.get("client", 0), self._have_told_soon)
        self._gathering = Gathering(self)
        self.subscriptions = Subscriptions(self)
        self.scheduler_plugins = SchedulerPlugins(self)
        self.shared = SharedRequests(self.send, check=self._check_shared)
        #: Who is told of the runs of this client's tasks.
        self._run_watchers: list[Callable[[int, Run], None]] = []
        #: Held while that is told to the scheduler.
        self._changing_watchers = threading.Lock()
        self.link = self._link = link
        #: Who reads it.
        self.turns = Turns()
        self._clock = ClockFollower(link.clock, self.send)
        # (typeshed does not know `_is_owned`)
        self.sending: Any = threading.RLock()
        #: Around whole scatters, taken before the others; pickling may scatter again.
        self.scattering = threading.RLock()
        self.lock: Any = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self.by_key: dict[Key, Entry] = {}
        self._by_id: dict[int, Entry] = {}
        self._failures = Failures()
        self.done_callbacks = DoneCallbacks()
        #: Number of another client, and its id of a task → the id here, under the key that it has
        #: there.
        self._adopted: dict[tuple[int, int], int] = {}
        self._next_id = 0
        self._requests = itertools.count(1)
        #: Request → the type of its answers, and where they go.
        self._answers: dict[int, tuple[str, Any]] = {}
        self._launch: tuple[list[str], str] | None = None
        #: The modules that workers were told to import while they wait, and how many were
        #: imported here then.
        self._modules: list[str] = []
        self._module_count = -1
        self._dropped: SimpleQueue[Any] | _Nowhere = SimpleQueue()
        #: Set: what was dropped is let go of without a pause.
        self._hurry = threading.Event()
        self._closing = False
        #: Why tasks are not done, for who has waited for them in vain.
        self.late = Late(self, self._ask_late)
        #: Half a sentence of how the scheduler's process has ended, where that is known.
        self.how_ended: Callable[[], str] = str
        #: Called by the reader with what is to be done with a worker that this program started.
        self.on_order: Callable[[int, str], None] = _disregard
        self._reader = threading.Thread(target=self._read, name="spanwise-reader", daemon=True)
        self._releaser = threading.Thread(
            target=self._release, name="spanwise-releaser", daemon=True
        )
        self._reader.start()
        self._releaser.start()
        self._clock.begin()

    # -- submitting -------------------------------------------------------

    def submit_graph(
        self,
        dsk: Any,
        keys: Sequence[Key],
        options: TaskOptions | None = None,
        written_here: bool = False,
        begin: Callable[[PreparedGraph], None] | None = None,
        types: Sequence[str] = (RAW_GRAPH,),
    ) -> list[Entry]:
        """Submit a graph and hold the requested keys.

        Parameters
        ----------
        dsk
            What Dask hands to ``get``.
        keys
            Flat list of the requested keys.
        options
            Retries, priorities and workers of the submission's tasks.
        written_here
            See :func:`prepare`.
        begin
            Called with the graph before it is sent; then all its tasks are held.
        types
            Names of the classes of what is submitted.

        Returns
        -------
        list of Entry
            One per key, each counted once; give them to :meth:`drop_later`. With `begin` then one
            per task of the graph.

        Raises
        ------
        ClusterError
            The scheduler is gone, or the graph needs results that exist nowhere.
        """
        while True:
            held = _Held(self.by_key)
            # Callbacks are told of tasks as Dask makes them.
            graph = prepare(dsk, list(keys), self.provenance, held, written_here, begin is None)
            held_keys = keys
            if begin is not None:
                begin(graph)
                held_keys = [*keys, *graph.nodes]
            self.check_turn()
            if len(graph.nodes) > FIRST_TASKS:
                self._let_go_of_dropped(graph)
            size = GraphSize(self.names)
            entries = None
            with self.sending:
                external = self._pin(graph)
                if external is not None:
                    try:
                        if options is not None:
                            options.add_annotations(graph.annotations)
                        entries = self._submit_prepared(
                            graph, held_keys, external, options, types, size
                        )
                    finally:
                        self.drop_later(list(external.values()))
            if entries is not None:
                self.warn_of(size, entries)
                return entries
            # A result has gone. It is tried once more: results that the graph can make
            # are made again.
            for key in graph.external:
                if key in graph.known:
                    continue
                entry = self.by_key.get(key)
                if entry is None:
                    raise NotHeld(key, [each for each in graph.external if each not in self.by_key])
                if entry.status == CANCELLED:
                    raise entry.failure().error

    def _let_go_of_dropped(self, graph: PreparedGraph) -> None:
        """Have the scheduler told of what was dropped, so that a large graph gets its room.

        Not under `sending`, for which what lets go may wait. What the graph needs is held.
        """
        external = self._pin(graph)
        try:
            self.let_go()
        finally:
            if external:
                self.drop_later(list(external.values()))

    def let_go(self) -> None:
        """Have the scheduler told of what was dropped until now, before what is sent next."""
        mark = _Mark()
        self._dropped.put(mark)
        self._hurry.set()
        with self.lock:
            self._changed.wait_for(
                lambda: mark.is_passed or self._closing or self.dead is not None, LET_GO_SECONDS
            )

    def _pin(self, graph: PreparedGraph) -> dict[Key, Entry] | None:
        """Hold results that a graph needs; None if one of them has gone meanwhile.

        A failed result that the graph cannot make is held too: the scheduler then fails
        its users.
        """
        with self.lock:
            self._check_alive()
            found = {}
            for key in graph.external:
                entry = self.by_key.get(key)
                if entry is None or entry.status == CANCELLED:
                    return None
                if entry.status == ERROR and key in graph.known:
                    return None
                found[key] = entry
            for entry in found.values():
                entry.count += 1
            return found

    def _submit_prepared(
        self,
        graph: PreparedGraph,
        keys: Sequence[Key],
        external: dict[Key, Entry],
        options: TaskOptions | None,
        types: Sequence[str],
        size: GraphSize,
    ) -> list[Entry]:
        annotation = current_annotation()
        # First: if its settings cannot be, nothing has been made yet.
        code = None if annotation is None else code_of_caller()
        wanted = {key for key in keys if key not in external}
        found: dict[Key, Entry] = dict(external)
        with self.lock:
            first_id = self._next_id
            self._next_id += len(graph.nodes)
            made = []
            for task_id, key in enumerate(graph.nodes, first_id):
                if key in wanted:
                    entry = found[key] = self._new_entry(key, task_id)
                    made.append(entry)
            entries = [found[key] for key in keys]
            for entry in entries:
                entry.count += 1
        if annotation is not None:
            self.spans.count_reused(annotation, sum(key in graph.known for key in external))
            if code is not None:
                self.spans.tell_code(annotation, code)
        if graph.nodes:
            ids = {key: entry.id for key, entry in external.items()}
            try:
                messages = self.packer.pack(graph, ids, wanted, first_id, options)
                self.send_all(messages, first_id, len(graph.nodes), made, types, size)
            except BaseException:
                self.drop_later(entries)
                raise
        return entries

    def tell_code(self, annotation: Annotation) -> None:
        """Keep who submits in a span, if that is wanted; under `sending`. A cell's is known."""
        if type(annotation) is RootAnnotation:
            return
        code = code_of_caller()
        if code is not None:
            self.spans.tell_code(annotation, code)

    def send_all(
        self,
        messages: Iterable[SubmitMessage],
        first_id: int,
        count: int,
        made: list[Entry],
        types: Sequence[str],
        size: GraphSize,
    ) -> None:
        """Send the messages of a submission, of `count` tasks, while they are being packed.

        Its spans keep the `types` of what was submitted, `size` counts what is sent.

        If packing fails half way (an argument that cannot be pickled), what was sent is
        cancelled, the entries fail, and that error is raised.
        """
        sent = None
        mark = self.packer.mark()
        spans: set[int] = set()
        try:
            for message in messages:
                sent = message  # even if Ctrl-C comes while it is sent: it arrives all the same
                self.send_submit(message)
                size.add(message)
                spans.update(message.spans)
            self.spans.tell_types(spans, types)
        except BaseException as error:
            self.withdraw(made, error)
            unheard = first_id if sent is None else sent.last_id + 1
            self._give_back_ids(unheard, first_id + count)
            templates = self.packer.back_to(mark)
            if templates and self.dead is None:
                self.send("forget", {"templates": templates})
            if sent is not None and self.dead is None:
                generation = sent.fields["generation"]
                self.send("submit", {"generation": generation, "last": True})
                ids = array("I", range(first_id, unheard))
                self.send("cancel", {"force": True}, {"ids": {"id": ids}})
            raise

    def warn_of(self, size: GraphSize, entries: list[Entry]) -> None:
        """Warn if what was submitted is large; not under `sending`, for it runs code of others.

        Where warnings are errors, that is raised, and the entries are let go of.
        """
        try:
            size.warn()
        except BaseException:
            self.drop_later(entries)
            raise

    def check_turn(self) -> None:
        """Raise if code of the user wants to send while this very thread sends.

        Raises
        ------
        ClusterError
        """
        if self.sending._is_owned():
            raise ClusterError(_SENDS)
        self.check_wait()  # (whoever sends may wait for what the reader brings)

    def check_wait(self) -> None:
        """Raise if a wait could not end: this thread has the tables, or reads the answers.

        Raises
        ------
        ClusterError
        """
        if self._is_needed_here():
            raise ClusterError(_IS_BUSY)

    def _check_shared(self) -> None:
        self.check_wait()
        self.turns.need_reader()

    def _is_needed_here(self) -> bool:
        """Whether nobody is served while this thread waits."""
        return (
            threading.current_thread() is self._reader
            or bool(self.lock._is_owned())
            or self.turns.is_busy_here
        )

    def withdraw(self, made: list[Entry], error: BaseException) -> None:
        """Fail entries whose tasks the scheduler was not told of.

        The caller gets the error itself, which holds the frames that it passes. Another
        thread that asked for one of the keys meanwhile gets its message only.
        """
        why = f"Another thread could not submit it: {said(error)}"
        reason = FoundHere(lambda: ClusterError(why))
        with self.lock:
            for entry in made:
                self._by_id.pop(entry.id, None)
                if self.by_key.get(entry.key) is entry:
                    del self.by_key[entry.key]
                entry.id = -1  # which another entry may get from now on
                entry.reason = reason  # before the status, which tells others of it
                entry.status = ERROR
                self._done(entry)

    def _give_back_ids(self, unheard: int, end: int) -> None:
        """Reuse ids that the scheduler was not told: it takes room for skipped ones."""
        with self.lock:
            if self._next_id == end:  # else data that is being scattered has some beyond
                self._next_id = unheard

    @staticmethod
    def _done(entry: Entry) -> None:
        """Wake the waiters of an entry; under the lock.

        A caller that reads may be interrupted in it, and then it is done again: what stands between
        two calls is not interrupted.
        """
        waiters = entry.waiters
        while waiters:
            waiter = waiters[0]
            if waiter.left == 1:
                waiter.finish()
            waiter.left -= 1
            del waiters[0]
        entry.waiters = None

    def send_submit(self, message: SubmitMessage) -> None:
        """Send a `submit`; under `sending`."""
        if self._around is not None:
            # Its Python is a worker's: it has told it all.
            message.fields["within"] = self._around.within()
            launch = self._launch = ([], "")
            self._module_count = len(sys.modules)
        else:
            launch = (list(sys.path), os.getcwd())  # noqa: PTH109 (a third of Path.cwd's time)
        if launch != self._launch or len(sys.modules) != self._module_count:
            self._module_count = len(sys.modules)
            modules = imported_modules()
            if launch != self._launch or modules != self._modules:
                message.fields["launch"] = {
                    "path": launch[0],
                    "cwd": launch[1],
                    "modules": modules,
                }
                self._launch = launch
                self._modules = modules
        tasks: Any = message.tasks
        dependencies: Any = {"id": message.dependencies}
        if message.is_one:
            tasks = [tuple([tasks[name] for name in TASK_COLUMNS])]
        elif len(tasks["id"]) <= FEW_ROWS and len(message.dependencies) <= FEW_ROWS:
            # One buffer instead of fifteen: a third of the time of a single submit.
            tasks = list(zip(*(tasks[name] for name in TASK_COLUMNS), strict=True))
        if type(tasks) is list and len(message.dependencies) <= FEW_ROWS:
            dependencies = [(each,) for each in message.dependencies]
        tables = {"tasks": tasks, "dependencies": dependencies}
        if message.users is not None:
            tables["users"] = {"count": message.users}
        self.send("submit", message.fields, tables, message.blobs)

    def entry_of(self, task_id: int) -> Entry | None:
        """What is held under one of the client's ids."""
        return self._by_id.get(task_id)

    def adopt(self, key: Key, number: int, task: int) -> Entry:
        """Hold a task that another client has submitted, or this one; counted once.

        Parameters
        ----------
        number, task
            Of the client, and its id of the task.
        """
        (entry,) = self.adopt_all([(key, number, task)])
        return entry

    def adopt_all(
        self, tasks: Iterable[tuple[Key, int, int]], renamed: bool = False
    ) -> list[Entry]:
        """As :meth:`adopt`, of several.

        `renamed`: under keys that no task of this client has or gets. A key that a task of its own
        has is changed in any case: keys tell what a call depends on.
        """
        entries = []
        rows = []
        with self.lock:
            self._check_alive()
            for plain, number, task in tasks:
                key = plain
                own = task if number == self.number else self._adopted.get((number, task), -1)
                entry = None if renamed else self._by_id.get(own)
                if entry is None:
                    held = self.by_key.get(plain)
                    if renamed or (held is not None and held.status in (PENDING, FINISHED)):
                        key = _key_of_another(plain, number, task)
                        entry = self.by_key.get(key)
                if entry is None:
                    entry = self._new_entry(key, self.reserve_ids(1))
                    if key is plain:
                        self._adopted[number, task] = entry.id
                    rows.append((entry.id, number, task))
                entry.count += 1
                entries.append(entry)
            if len(self._adopted) > 2 * len(self._by_id) + 1_000:
                living = self._by_id
                self._adopted = {
                    name: each for name, each in self._adopted.items() if each in living
                }
        if rows:
            self.send("adopt", {}, {"tasks": rows})
        return entries

    def shared_name(self, entry: Entry) -> tuple[int, int]:
        """The client's number and its number of a task: what other clients adopt it by."""
        return self.number, entry.id

    def keep(self, entries: Sequence[Entry]) -> None:
        """Have tasks run to their end, also when nobody holds them any more."""
        ids = array("I", [entry.id for entry in entries if entry.id >= 0])
        if ids:
            self.send("keep", {}, {"ids": {"id": ids}})

    def reserve_ids(self, count: int) -> int:
        """Take ids for entries that are made later; under the lock."""
        first = self._next_id
        self._next_id = first + count
        return first

    def new_entries(self, keys: Sequence[Key], first: int | None = None) -> list[Entry]:
        """Make entries with fresh, dense ids, or those from `first` on; under the lock."""
        if first is None:
            first = self.reserve_ids(len(keys))
        return [self._new_entry(key, task_id) for task_id, key in enumerate(keys, first)]

    def _new_entry(self, key: Key, task_id: int) -> Entry:
        entry = self.by_key[key] = self._by_id[task_id] = Entry(key, task_id)
        return entry

    def send(
        self, kind: str, fields: Any = None, tables: Any = None, blobs: Sequence[Any] = ()
    ) -> None:
        """Send a message.

        Raises
        ------
        SchedulerLost
        ClusterError
            The message is too long, or cannot be; nothing of it was sent.
        """
        if fields and kind not in _BUILT_HERE:
            self._check_fields(kind, fields)
        try:
            self._link.send(kind, fields, tables, blobs)
        except FrameTooLong as error:
            raise ClusterError(
                f"What is sent to the scheduler is too large: {error} Let tasks load their own "
                "data, or bring it to the workers in pieces with scatter()."
            ) from error
        except LinkError as error:
            raise SchedulerLost(self._why_unsent(error)) from error

    @staticmethod
    def _check_fields(kind: str, fields: dict[str, Any]) -> None:
        """Raise what the scheduler would refuse: there it could end more than this call."""
        try:
            link_type("client").up[kind].check(plain(fields), f'"{kind}"')
        except BrokenFrame as error:
            raise ClusterError(
                f"This cannot be sent to the scheduler, and nothing was: {error}"
            ) from None

    def _why_unsent(self, error: LinkError) -> str:
        """Why nothing can be sent: what the scheduler said before it hung up, or that it did."""
        if threading.current_thread() is not self._reader:
            self.turns.need_reader()
            with self.lock:
                # It may have come, and the reader not have got to it.
                self._changed.wait_for(
                    lambda: self._closing or self.dead is not None, _LAST_WORDS_SECONDS
                )
        return CLOSED if self._closing else self.dead or self._lost_sentence(error)

    def check_alive(self) -> None:
        """Raise the error of a client that is closed, or whose scheduler has gone."""
        with self.lock:
            self._check_alive()

    def _check_alive(self) -> None:
        # First: a link that the close has ended may be noted as a loss, and is none.
        if self._closing:
            raise ClusterError(CLOSED)
        if self.dead is not None:
            raise SchedulerLost(self.dead)

    def _span_closed(self, row: dict[str, Any]) -> None:
        if self.dead is not None or self._closing:
            return
        # A generator that is collected leaves its spans wherever its thread happens to be,
        # perhaps holding the very locks that sending needs: another thread sends then. So does
        # it for an object that closes a span while it is pickled or collected.
        is_busy = self.sending._is_owned() or self._is_needed_here()
        if is_busy or isinstance(sys.exception(), GeneratorExit):
            self._dropped.put(row)
        else:
            self._send_span(row)

    def _send_span(self, row: dict[str, Any]) -> None:
        with self.sending:
            mark = self.packer.mark()
            try:
                fields = {**self.names.take_new(), "spans": [*self.spans.take_new(), row]}
                self.send("spans", fields)
            except SchedulerLost:
                return  # the reader reports it; leaving a block must not raise
            except Exception:
                raise  # it would fail again
            except BaseException:
                # Ctrl-C: it may not have gone out, and nothing else reports that the span closed.
                self.packer.announce_again(mark)
                self._dropped.put(row)
                raise

    # -- waiting ----------------------------------------------------------

    def watch(
        self, entries: Sequence[Entry], notify: Callable[[], None], first: bool = False
    ) -> Waiter | None:
        """Call `notify` once all entries (or the first) are done; None: they are already.

        `notify` runs under a lock, in any thread; it must neither wait nor raise. A caller
        that stops waiting earlier calls :meth:`unwatch`.
        """
        self.check_wait()
        self.turns.need_reader()
        self.wait_in_loop()
        waiter = Waiter(1, notify)
        with self.lock:
            if first:
                return waiter if self._watch_first(entries, waiter) else None
            return None if self._watch(entries, waiter) else waiter

    def unwatch(self, entries: Iterable[Entry], waiter: Waiter) -> None:
        """Forget a waiter: a loop that waits a little at a time would leave thousands."""
        with self.lock:
            for entry in entries:
                if entry.waiters is not None and waiter in entry.waiters:
                    entry.waiters.remove(waiter)

    def _watch_first(self, entries: Sequence[Entry], waiter: Waiter) -> bool:
        """Have the first of the entries end the wait; False if one is done."""
        if any(entry.status != PENDING for entry in entries):
            return False
        for entry in entries:
            self._add_waiter(entry, waiter)
        return True

    def _watch(self, entries: Iterable[Entry], waiter: Waiter) -> bool:
        left = 0
        for entry in entries:
            if entry.status == PENDING:
                if entry.waiters is None:
                    entry.waiters = [waiter]
                else:
                    entry.waiters.append(waiter)
                left += 1
        waiter.left = left
        return left == 0

    def wait_for(
        self,
        entries: Sequence[Entry],
        timeout: float | None = None,
        given: float | None = None,
    ) -> None:
        """Sleep until all entries are done.

        Parameters
        ----------
        given
            The seconds that the error tells of, if `timeout` is what is left of them.

        Raises
        ------
        TimeoutError
        """
        self.check_wait()
        waiter = self._waiter(0, len(entries))
        with self.lock:
            if self._watch(entries, waiter):
                return
        done = False
        try:
            done = self.sleep(waiter, timeout, lambda: pending(entries))
        finally:
            if not done:
                self.unwatch(entries, waiter)
        if not done:
            raise self.too_late(entries, timeout if given is None else given)

    def too_late(self, entries: Sequence[Entry], timeout: float | None) -> TimeoutError:
        """The error of who has waited for entries, with what the scheduler knows of them."""
        sentence = _not_done(entries, timeout)
        return TimeoutError(sentence + self.late.why(entries, timeout))

    async def too_late_in_loop(
        self, entries: Sequence[Entry], timeout: float | None
    ) -> TimeoutError:
        """The same in an event loop."""
        sentence = _not_done(entries, timeout)
        return TimeoutError(sentence + await self.late.why_in_loop(entries, timeout))

    def wait_first(self, entries: Sequence[Entry], timeout: float | None) -> bool:
        """Sleep until at least one entry is done."""
        self.check_wait()
        waiter = self._waiter(1, len(entries))
        with self.lock:
            if not self._watch_first(entries, waiter):
                return True
        try:
            return self.sleep(waiter, timeout, lambda: pending(entries))
        finally:
            self.unwatch(entries, waiter)

    def _waiter(self, left: int, entries: int) -> Waiter:
        """For a thread that waits until `left` of so many entries are done."""
        if self._around is not None:
            return Waiter(left)
        return ReadingWaiter(left, self, entries <= MOST_READ)

    def wait_in_loop(self) -> None:
        """Called when an event loop begins to wait for tasks: one in a task leaves its thread."""
        if self._around is not None:
            self._around.wait_in_loop()

    async def sleep_in_loop(
        self, woken: asyncio.Event, late: Callable[[], Sequence[Entry]]
    ) -> None:
        """Wait in an event loop for tasks, without a limit; `late` as in :meth:`sleep`."""
        if self._around is None:
            await self.late.wait_in_loop(woken, late)
        else:
            await woken.wait()

    def sleep(
        self, waiter: Sleeper, timeout: float | None, late: Callable[[], Sequence[Entry]]
    ) -> bool:
        """Wait for tasks; a task that does leaves its thread. Whether they came in time.

        Parameters
        ----------
        late
            Those that have not come, for who has waited for long.
        """
        around = self._around
        if around is None:
            if type(waiter) is not ReadingWaiter:
                self.turns.need_reader()
            return self.late.wait(waiter, timeout, late)
        return around.wait(waiter, timeout)

    def when_done(
        self,
        entry: Entry,
        callback: Callable[[], None],
        waits: Callable[[], bool] | None = None,
    ) -> None:
        """Call `callback` once the entry is done, from some thread; at once if it is.

        `waits`: see :class:`Waiter`.
        """
        with self.lock:
            if entry.status == PENDING:
                self._add_waiter(entry, Waiter(1, callback, waits))
                return
        callback()

    def _is_waiting(self) -> bool:
        """Whether any caller waits for a task.

        It is asked only while the cluster is stalled, so waits need not be counted. Not
        under the lock: a million entries take tenths of a second.
        """
        with self.lock:
            entries = list(self._by_id.values())
        return any(
            waiter.waits is None or waiter.waits()
            for entry in entries
            for waiter in entry.waiters or ()
        )

    @staticmethod
    def _add_waiter(entry: Entry, waiter: Waiter) -> None:
        if entry.waiters is None:
            entry.waiters = [waiter]
        else:
            entry.waiters.append(waiter)

    # -- gathering: gathering.py -------------------------------------------

    def gather_one(self, entry: Entry, timeout: float | None = None) -> Any:
        """Wait for one entry and return its value, or raise its error."""
        return self._gathering.one(entry, timeout)

    def gather(
        self, entries: Sequence[Entry], timeout: float | None = None, errors: str = "raise"
    ) -> list[Any]:
        """Wait for entries and return their values; see :meth:`Gathering.gather`."""
        return self._gathering.gather(entries, timeout, errors)

    def values(self, entries: Sequence[Entry], errors: str) -> dict[Entry, Any]:
        """The same by entry; those left out are not in it."""
        return self._gathering.values(entries, None, errors)

    # -- changing one's mind ----------------------------------------------

    def cancel(self, entries: Sequence[Entry], force: bool, how: str) -> None:
        """Give up tasks and results, for all futures of their keys, at once.

        The scheduler gives up what depends on them too, and reports that.

        Parameters
        ----------
        how
            As :func:`~spanwise.client.reason.cancelled` takes it.
        """
        self.check_turn()
        with self.sending:
            ids = array("I")
            with self.lock:
                if entries:
                    self._check_alive()
                for entry in entries:
                    if self._by_id.pop(entry.id, None) is None:
                        continue  # given up before
                    ids.append(entry.id)
                    if self.by_key.get(entry.key) is entry:
                        del self.by_key[entry.key]
                    entry.reason = cancelled(entry.key, how)
                    self._failures.keep_cancelled(entry, how)
                    entry.status = CANCELLED
                    entry.inline = entry.sign = None
                    self._done(entry)
            if ids:
                self.send("cancel", {"force": force}, {"ids": {"id": ids}})
                self.send("release", {}, {"ids": {"id": ids}})

    def cancel_all(self, how: str) -> None:
        """Give up all that is held; `how` as of :meth:`cancel`."""
        with self.lock:
            entries = list(self._by_id.values())
        self.cancel(entries, True, how)

    def retry(self, entries: Sequence[Entry]) -> None:
        """Run failed tasks again."""
        if not entries:
            return
        with self.lock:
            self._check_alive()
            for entry in entries:
                if entry.id < 0:
                    raise ClusterError(
                        f"{entry.key!r} was never submitted: there is nothing to retry. Submit it."
                    )
            for entry in entries:
                # Its reason stays until the next: another thread may be about to raise it.
                entry.status = PENDING
            ids = array("I", [entry.id for entry in entries])
        self.send("retry", {}, {"ids": {"id": ids}})

    # -- runs -------------------------------------------------------------

    def watch_runs(self, watcher: Callable[[int, Run], None]) -> None:
        """Call `watcher` with a task's id and its run, when it has gone on for a while or ended.

        It is called by the reader, before others are told of the result, under the lock.
        """
        with self._changing_watchers:
            with self.lock:
                self._check_alive()
                self._run_watchers = [*self._run_watchers, watcher]
            if len(self._run_watchers) == 1:
                self.send("watchRuns", {"on": True})

    def unwatch_runs(self, watcher: Callable[[int, Run], None]) -> None:
        """End :meth:`watch_runs`."""
        with self._changing_watchers:
            with self.lock:
                self._run_watchers = [each for each in self._run_watchers if each != watcher]
            if not self._run_watchers and self.dead is None and not self._closing:
                with suppress(SchedulerLost):  # the reader reports it
                    self.send("watchRuns", {"on": False})

    def _on_ran(self, message: Message) -> None:
        clock, now = self._link.clock, time.perf_counter()
        with self.lock:
            for id_, worker, thread, start, duration in zip(
                *message.table("runs").values(), strict=True
            ):
                began = clock.ours(start, now)
                ended = None if duration < 0 else began + duration
                run = Run(worker, thread, began, ended)
                for watcher in self._run_watchers:
                    watcher(id_, run)

    # -- requests ---------------------------------------------------------

    def ask(
        self,
        kind: str,
        fields: dict[str, Any],
        tables: Any = None,
        blobs: Sequence[Any] = (),
        timeout: float | None = 30.0,
    ) -> Message:
        """Send a request and wait for its answer.

        Raises
        ------
        TimeoutError, SchedulerLost
        """
        request, answers = self.open_request(ANSWER_TO[kind])
        try:
            self.send(kind, {**fields, "request": request}, tables, blobs)
            return self.next_answer(answers, kind, timeout)
        finally:
            self._answers.pop(request, None)

    def open_request(self, answer: str, answers: Any = None) -> tuple[int, Any]:
        """A request number and the queue that its answers come into, messages of type `answer`.

        The queue is a new one, or what is given, into which the reader puts them.
        """
        self.check_wait()
        self.turns.need_reader()
        request = next(self._requests)
        if answers is None:
            answers = SimpleQueue()
        with self.lock:
            self._check_alive()
            self._answers[request] = (answer, answers)
        return request, answers

    def close_request(self, request: int) -> None:
        self._answers.pop(request, None)

    def next_answer(self, answers: SimpleQueue[Any], what: str, timeout: float | None) -> Message:
        from queue import Empty

        try:
            answer = answers.get(timeout=timeout)
        except Empty:
            raise TimeoutError(f"The scheduler did not answer {what!r} in {timeout:g} s") from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    # -- releasing --------------------------------------------------------

    def drop_later(self, dropped: Entry | list[Entry]) -> None:
        """Give up a count of an entry, or of each in a list.

        Safe from ``__del__``: a SimpleQueue may be put to while it is being put to.
        """
        self._dropped.put(dropped)

    def drop(self, entries: list[Entry]) -> None:
        """Give up a count of each entry at once: their keys mean nothing any more.

        The scheduler is still told later, with others.
        """
        with self.lock:
            ids = self._count_down(entries)
        if ids:
            self._dropped.put(array("I", ids))

    def _release(self) -> None:
        try:
            while self._let_go_next():
                pass  # holding nothing: entries hold results, and errors their callers' frames
        finally:
            self._dropped = _NOWHERE

    def _let_go_next(self) -> bool:
        """Wait for dropped entries, and let go of them; False: nothing more comes."""
        queue = self._dropped
        assert not isinstance(queue, _Nowhere)
        after = self.peers.tell_after()
        if after == 0.0:
            self.peers.tell()
            return True
        try:
            batch = [queue.get(timeout=after)]
        except Empty:
            return True
        if batch[0] is None:
            return False
        if batch[0] is _TAKEN:
            return True
        self._hurry.wait(_release_pause(batch[0]))
        self._hurry.clear()
        while not queue.empty():
            batch.append(queue.get())
        rows: list[dict[str, Any]] = []
        unused: list[_Unused] = []
        marks: list[_Mark] = []
        questions: list[Question] = []
        stalled = False
        ended = any(each is None for each in batch)
        with self.lock:
            ids = array("I")
            for dropped in batch:
                if isinstance(dropped, array):
                    ids.extend(dropped)
                elif isinstance(dropped, dict):
                    rows.append(dropped)
                elif type(dropped) is _Unused:
                    unused.append(dropped)
                elif type(dropped) is _Mark:
                    marks.append(dropped)
                elif type(dropped) is Question:
                    questions.append(dropped)
                elif dropped is _STALLED:
                    stalled = True
                elif dropped is not None and dropped is not _TAKEN:
                    entries = dropped if type(dropped) is list else [dropped]
                    ids.extend(self._count_down(entries))
        for row in rows:
            if self.dead is None and not self._closing:
                try:
                    self._send_span(row)
                except Exception as error:  # noqa: BLE001 (releases must go on)
                    tell(f"The end of span {row['tag']!r} was not recorded: {said(error)}")
        try:
            if ids and self.dead is None and not self._closing:
                self.send("release", {}, {"ids": {"id": ids}})
            if marks:
                self._pass(marks)
            for question in questions:
                about = {"request": question.request, "about": "why"}
                self.send("question", about, {"ids": {"id": question.ids}})
            if not ended and stalled and self.dead is None and not self._closing:
                # Sent after the releases, which may end the stall.
                self.send("waiting", {"waiting": self._is_waiting()})
        except SchedulerLost:
            return False  # the reader reports it
        if ended:
            return False
        for each in unused:
            self._forget_unused(each)
        return True

    def _ask_late(self, question: Question) -> None:
        self._dropped.put(question)
        self._hurry.set()

    def _have_told_soon(self) -> None:
        self._dropped.put(_TAKEN)

    def _pass(self, marks: list[_Mark]) -> None:
        with self.lock:
            for mark in marks:
                mark.is_passed = True
            self._changed.notify_all()

    def _forget_unused(self, unused: _Unused) -> None:
        """Let the scheduler free templates that nothing has named since it asked."""
        if self.dead is not None or self._closing:
            return
        if not self.sending.acquire(blocking=False):
            # A graph is being packed, which may take long, and releases must not wait for it.
            self._dropped.put(unused)
            return
        try:
            templates = self.packer.give_back(unused.generation, unused.templates)
            if templates:
                self.send("forget", {"templates": templates})
        except SchedulerLost:
            return  # the reader reports it
        finally:
            self.sending.release()

    def _count_down(self, entries: list[Entry]) -> list[int]:
        """Ids of the entries that no future holds any more; under the lock."""
        ids = []
        for entry in entries:
            entry.count -= 1
            if entry.count == 0 and self._by_id.pop(entry.id, None) is not None:
                if self.by_key.get(entry.key) is entry:
                    del self.by_key[entry.key]
                ids.append(entry.id)
        return ids

    # -- the reader thread ------------------------------------------------

    def _read(self) -> None:
        handlers: dict[str, Callable[[Message], None]] = {
            "report": self._on_report,
            "cluster": self._on_cluster,
            "located": self._on_answer,
            "runResult": self._on_answer,
            "flushed": self._on_answer,
            "answer": self._on_answer,
            "done": self._on_answer,
            "copied": self._on_answer,
            "memoryRunEnded": self._on_memory_run,
            "problem": self._on_problem,
            "closed": self._on_closed,
            "unused": self._on_unused,
            "stalled": self._on_stalled,
            "events": self._on_answer,
            "pluginDone": self._on_answer,
            "followed": self._on_answer,
            "order": self._on_order,
            "event": self.subscriptions.came,
            "shared": self.shared.came,
            "ran": self._on_ran,
            "clockIs": self._clock.came,
            "watched": self._on_watched,
            "happened": self.scheduler_plugins.came,
        }
        try:
            self._link.look_over(check_from_scheduler)
            self._link.is_read_to_the_end = True
            self.turns.begin()
            while True:
                # No message is held while this waits: the result of `run` may be large.
                self._handle(self._link.read_batch(), handlers)
                if self.turns.rest():
                    self._link.go_on()
        except BrokenFrame as error:
            # The scheduler lives, and cleans up when this connection ends.
            self._link.refuse("broken-frame", str(error))
            self._end(
                f"The scheduler of cluster {self.name!r} sent an impossible message ({error}). "
                "This is a bug of Spanwise. The connection to it was closed, and its results are "
                "gone; make a new cluster with Client() and compute again."
            )
        except LinkError as error:
            self._end(self._lost_sentence(error))
            # (a scheduler that refuses goes on, and so may its other clients)
            if not self._closing and not isinstance(error, RefusedThere):
                self._on_lost([worker["pid"] for worker in self.workers.values()])
        except BaseException as error:
            self._link.close()
            self._end(f"The client could not understand its scheduler: {error!r}")
            raise
        finally:
            self.subscriptions.close()
            self.scheduler_plugins.end()
            self._clock.end()
            # Ends the releaser, which would otherwise keep a forgotten client for ever.
            self._dropped.put(None)

    @staticmethod
    def _handle(messages: list[Message], handlers: dict[str, Callable[[Message], None]]) -> None:
        for message in messages:
            handler = handlers.get(message.type)
            if handler is None:
                raise BrokenFrame(f'"{message.type}" does not belong here.')
            handler(message)

    def _on_report(self, message: Message) -> None:
        self._failures.learn(message)
        columns = message.table("tasks").values()
        if not columns[0]:
            return
        check_rows(message, columns[2], columns[4])
        with self.lock:
            self._take_rows(message, zip(*columns, strict=True))

    def take_report(self, message: Message) -> bool:
        """Handle a report of results in a thread that waits, if it is no more than that.

        Interrupted by Ctrl-C, it is done again by the reader.
        """
        if message.type != "report" or message.fields["errors"]:
            self.turns.met_foreign()
            return False
        rows = list(message.table("tasks"))
        by_id = self._by_id
        with self.lock:
            for id_, _, status, _, nbytes, *_ in rows:
                if status != REPORT_MEMORY or not 0.0 <= nbytes <= MOST_BYTES:
                    return False
                entry = by_id.get(id_)
                if entry is not None and entry.waiters is not None:
                    for waiter in entry.waiters:
                        if waiter.notify is not None:
                            return False
            self._take_rows(message, rows)
        return True

    def _take_rows(self, message: Message, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take over what a report says; under the lock."""
        blob = message.blobs[0] if message.blobs else None
        inline_bytes = 0 if blob is None else blob.nbytes
        told = message.table("signs")
        signs = frozenset(told.values()[0]) if told.rows else ()
        by_id = self._by_id
        for row, (id_, task_id, status, worker, nbytes, start, length, cause) in enumerate(rows):
            entry = by_id.get(id_)
            if entry is None:
                continue
            entry.task_id = task_id
            entry.worker = worker
            entry.nbytes = nbytes
            entry.sign = None
            if status == REPORT_MEMORY:
                if start != NONE_U32:
                    if blob is None or start + length > inline_bytes:
                        why = f"{length} bytes from {start} on, in {inline_bytes}"
                        raise broken(message, "tasks.inlineLength", why)
                    if row in signs:
                        entry.sign = _sign(message, blob[start : start + length])
                    else:
                        entry.inline = blob[start : start + length]
                entry.status = FINISHED
            elif status == REPORT_LOST:
                entry.status = PENDING
                entry.inline = None
                continue
            else:
                self._failures.mark(entry, status, cause)
            if entry.waiters is not None:
                self._done(entry)

    def _on_cluster(self, message: Message) -> None:
        before = self.workers
        with self.lock:
            self.state = message.fields["state"]
            self.workers = {worker["id"]: worker for worker in message.fields["workers"]}
            self._changed.notify_all()
        gone = [row["address"] for number, row in before.items() if number not in self.workers]
        if gone:
            # A stopped worker keeps its connections open; callers that wait for it would wait on.
            self.peers.gone(gone)

    def _on_unused(self, message: Message) -> None:
        # The releaser answers: a thread that packs a graph may be waiting for this one to
        # empty the socket.
        self._dropped.put(_Unused(message.fields["generation"], message.fields["templates"]))

    def _on_stalled(self, message: Message) -> None:
        self._dropped.put(_STALLED)

    def _on_answer(self, message: Message) -> None:
        self._answer(message, message.fields["request"])

    def _on_memory_run(self, message: Message) -> None:
        self._answer(message, message.fields["run"])  # which has its request's number

    def _on_watched(self, message: Message) -> None:
        # First: what happens next comes behind it.
        self.scheduler_plugins.came(message)
        self._on_answer(message)

    def _answer(self, message: Message, request: int) -> None:
        found = self._answers.get(request)
        if found is None:
            return  # no caller waits for it any more
        awaited, answers = found
        if awaited != message.type:
            raise broken(message, "request", f'{request} is answered by "{awaited}"')
        answers.put(message)

    def _on_order(self, message: Message) -> None:
        self.on_order(message.fields["worker"], message.fields["what"])

    def _on_problem(self, message: Message) -> None:
        sentence = message.fields["sentence"]
        if message.fields["fatal"]:
            self._end(sentence or "The scheduler has given up, and did not say why.")
            return
        found = self._answers.get(message.fields["request"])
        if found is not None:  # its caller is told
            found[1].put(ClusterError(sentence))
            return
        self.late.note(self._next_id, sentence)
        tell(sentence)

    def _on_closed(self, message: Message) -> None:
        with self.lock:
            self.state = "closed"
            self.was_idle = message.fields["idle"]
            self._changed.notify_all()
        if not self._closing:
            # It may keep the connection open; waiting callers would wait on.
            self._link.close()
            raise LinkClosed(message.fields["why"] or "it was told to end")

    def _lost_sentence(self, error: BaseException) -> str:
        if isinstance(error, RefusedThere):
            return (
                f"The scheduler of cluster {self.name!r} has turned this client away for what it "
                f"said: {str(error).rstrip('.')}. The cluster goes on while other clients use it. "
                "This client's results are gone; make a new one with Client() and compute again."
            )
        how = "" if self.state == "closed" else self.how_ended()
        why = f"{error}; {how}" if how else str(error)
        return (
            f"The scheduler of cluster {self.name!r} has ended ({why}). Its results are "
            "gone; make a new cluster with Client() and compute again."
        )

    def _end(self, sentence: str) -> None:
        """Fail everything that still waits."""
        with self.lock:
            if self.dead is None:
                self.dead = sentence
            sentence = _WAS_CLOSED if self._closing else self.dead
            reason = FoundHere(lambda: SchedulerLost(sentence))
            for entry in self._by_id.values():
                if entry.status == PENDING:
                    if self._closing:
                        entry.reason = cancelled(entry.key, WITH_CLIENT)
                        entry.status = CANCELLED
                    else:
                        entry.reason = reason
                        entry.status = ERROR
                    self._done(entry)
            for _, answers in list(self._answers.values()):  # other threads remove items meanwhile
                answers.put(SchedulerLost(sentence))
            self._changed.notify_all()
            # Futures are no longer counted, and an ended client may be kept for long:
            # results are dropped now.
            gone = self._by_id, self.by_key
            self._by_id, self.by_key = {}, {}
        del gone  # not under the lock: the last holders of results
        self.shared.end(lambda: SchedulerLost(sentence))

    # -- the cluster ------------------------------------------------------

    def running_workers(self, closing: bool = False) -> list[dict[str, Any]]:
        """Workers that are there, by id, also those whose process is stopped.

        `closing`: also those that are about to end.
        """
        workers = self.workers  # the reader puts another in its place
        return [
            workers[number]
            for number in sorted(workers)
            if closing or workers[number]["state"] != "closing"
        ]

    def workers_there(self, closing: bool = False) -> list[dict[str, Any]]:
        """The same, and none once the cluster has ended, of which the session has the last."""
        return [] if self.dead is not None else self.running_workers(closing)

    def workers_called(self, named: Any, closing: bool = False) -> list[int]:
        """Numbers of the workers that have a number, name, host or address."""
        return [
            row["id"]
            for row in self.running_workers(closing)
            if named == row["id"]
            or str(named) in (row["address"], row["host"])
            or str(named) in row.get("names", ())
        ]

    @staticmethod
    def place_of(row: dict[str, Any]) -> int:
        """The number of the first worker in a worker's place: it stays when one is replaced."""
        names = row.get("names")
        if names and len(names[0]) <= 5 and names[0].isascii() and names[0].isdigit():
            return int(names[0])
        return int(row["id"])

    @classmethod
    def name_of(cls, row: dict[str, Any]) -> int | str:
        """What the worker is called: as its user named it, or the number of its place."""
        names = row.get("names") or [str(row["id"])]
        first = str(names[0])
        return cls.place_of(row) if first.isdigit() else first

    def last_seen(self, row: dict[str, Any]) -> float:
        """When a worker's last message came, in seconds of the wall clock.

        A running worker sends several messages a second, which the client is not told.
        """
        if row["state"] in ("running", "paused"):
            return time.time()
        return self.wall_time(row["lastSeen"])

    def wall_now(self) -> float:
        """Seconds of the wall clock, by the scheduler's clock."""
        now = time.perf_counter()
        return self.wall_time(now + self._link.clock.at(now))

    def wall_time(self, t: float) -> float:
        """Seconds of the wall clock, of seconds of the scheduler's clock."""
        return float(t) - self.scheduler_start + self.wall_epoch

    def wait_for_workers(self, count: int, timeout: float | None) -> None:
        """Sleep until this many workers run.

        Raises
        ------
        TimeoutError, SchedulerLost
        """
        self.check_wait()
        self.turns.need_reader()
        with self.lock:
            enough = self._changed.wait_for(
                lambda: self.dead is not None or self._count_at_work() >= count, timeout
            )
            if self.dead is not None:
                raise SchedulerLost(self.dead)
            if not enough:
                raise TimeoutError(
                    f"{self._count_at_work()} of {count} workers run after {timeout:g} s"
                )

    def _count_at_work(self) -> int:
        rows = self.running_workers()
        return sum(row["state"] in ("running", "paused") for row in rows)

    def wait_until_ended(self) -> str:
        """Sleep until the cluster has ended or was left; returns why, empty if it was left."""
        self.turns.need_reader()
        with self.lock:
            self._changed.wait_for(lambda: self.dead is not None or self._closing)
            return "" if self._closing else self.dead or ""

    def abandon_links(self) -> None:
        """In a fork: let go of the parent's connections without telling the other side."""
        self._link.abandon()
        self.peers.abandon()

    def _has_closed(self, timeout: float) -> bool:
        self.turns.need_reader()
        with self.lock:
            return self._changed.wait_for(
                lambda: self.state == "closed" or self.dead is not None, timeout
            )

    def close(self, meanwhile: Callable[[], None] = lambda: None, cluster: bool = False) -> None:
        """Say goodbye, wait until the scheduler has heard it; twice is safe.

        Parameters
        ----------
        meanwhile
            Called now and then: the scheduler may have been stopped and hear nothing.
        cluster
            End the cluster too, if another program has started it.

        Raises
        ------
        ClusterError
            An object closes it in its ``__del__``, where nobody would hear the answer.
        """
        self.check_wait()
        with self.lock:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        if self.dead is None:
            try:
                self.shared.tell_rest()
                self.send("close", {"cluster": cluster})
                limit = time.monotonic() + CLOSE_SECONDS
                while not self._has_closed(_LOOK_SECONDS) and time.monotonic() < limit:
                    meanwhile()
            except SchedulerLost:
                pass  # it was faster
        self._link.close()
        self._reader.join(CLOSE_SECONDS)
        self._dropped.put(None)
        # (it may be collecting what nobody will be told of)
        self._hurry.set()
        self._releaser.join(CLOSE_SECONDS)
        self.done_callbacks.end()
        self.scheduler_plugins.close()
        self.peers.close()


def _key_of_another(key: Key, number: int, task: int) -> Key:
    """A key for another client's task that no task of this client has."""
    mark = f"@{number}.{task}"
    return (*key, mark) if isinstance(key, tuple) else f"{key}{mark}"


def _sign(message: Message, told: memoryview) -> Sign:
    try:
        return unpack_sign(told)
    except BrokenFrame as error:
        raise broken(message, "signs.row", str(error)) from error


def _disregard(worker: int, what: str) -> None:
    """Of workers that this program has not started."""


class _Nowhere:
    """Replaces the queue of dropped entries, once nobody empties it."""

    def put(self, dropped: object) -> None:
        """Keep nothing."""


_NOWHERE = _Nowhere()

#: Stands for the scheduler's question whether the client waits.
_STALLED = object()
#: Stands for results that were read in workers' memory, of which these are to be told.
_TAKEN = object()


def _not_done(entries: Sequence[Entry], timeout: float | None) -> str:
    late = sum(entry.status == PENDING for entry in entries)
    return not_done(late, timeout or 0.0, len(entries))


def _release_pause(first: Any) -> float:
    """Seconds for which what is dropped after the first is collected."""
    is_small = type(first) is Entry and first.inline is not None
    return SMALL_RELEASE_PAUSE_SECONDS if is_small else RELEASE_PAUSE_SECONDS


class _Mark:
    """Stands among what is dropped, for a thread that waits until the scheduler is told of it."""

    __slots__ = ("is_passed",)

    def __init__(self) -> None:
        self.is_passed = False


class _Unused(NamedTuple):
    """Templates that no task needs, of the graphs up to `generation`."""

    generation: int
    templates: list[int]


class _Held:
    """The keys whose results exist or are on their way."""

    __slots__ = ("_by_key",)

    def __init__(self, by_key: dict[Key, Entry]) -> None:
        self._by_key = by_key

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: Key) -> bool:
        entry = self._by_key.get(key)
        return entry is not None and entry.status in (PENDING, FINISHED)


def dump(obj: Any) -> bytes:
    """An object as one payload; raises as :func:`buffers_of`."""
    return b"".join(buffers_of(obj))


def buffers_of(obj: Any) -> list[payload.Buffer]:
    """An object as a payload; large buffers are not copied.

    Raises
    ------
    TypeError
        Instead of SystemExit and its like, which would end the program.
    """
    try:
        return payload.dumps(obj)
    except Exception:
        raise
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise TypeError(f"A {type_name(obj)} cannot be pickled ({said(error)}).") from None
