"""Scheduler plugins of a client: its thread calls their hooks with what the scheduler tells.

```
  scheduler ─ happened ─► reader ─► queue ─► one thread ─► the view as it is now, then hooks
```
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from spanwise.client.reason import Told
from spanwise.client.scheduler_view import SchedulerView, client_name
from spanwise.errors import SchedulerLost
from spanwise.notices import tell
from spanwise.observed.task_records import type_fields
from spanwise.records.enumerations import NONE_U16, NONE_U32
from spanwise.wire import plain
from spanwise.wire.foreign import said
from spanwise.wire.frame import Message

if TYPE_CHECKING:
    from spanwise.client.needs import Watching

#: Moves that wait for slow plugins: beyond them the plugins are removed, and the user is told.
MOST_WAITING = 1_000_000
#: How long a closing client waits for what its plugins still have to be told.
CLOSE_SECONDS = 5.0
_LOOK_SECONDS = 0.25
_STATES = (
    "forgotten",
    "released",
    "waiting",
    "no-worker",
    "queued",
    "processing",
    "memory",
    "erred",
)
_COLUMNS = {
    "moves": ("key", "from", "to", "worker", "t", "stimulus", "run", "failure"),
    "runs": ("ident", "start", "duration", "nbytes", "type", "firstPart"),
    "parts": ("kind", "offset", "duration", "from"),
    "tasks": ("key", "wanted", "retries", "userPriority", "restriction", "place", "firstInput"),
    "inputs": ("key",),
}
_ACTIONS = {
    1: "transfer",
    2: "disk-read",
    3: "deserialize",
    4: "compute",
    5: "serialize",
    6: "disk-write",
    7: "import",
}


class _Order(NamedTuple):
    """What the thread is to do for a caller."""

    act: Callable[[], Any]
    answers: SimpleQueue[Any]


class SchedulerPlugins:
    """The scheduler plugins of a session, and the thread that calls them while there are any."""

    def __init__(self, session: Watching) -> None:
        self._session = session
        self._lock = threading.Lock()
        #: Who registers and unregisters, one after another.
        self._changing = threading.RLock()
        self._plugins: dict[str, Any] = {}
        self._queue: SimpleQueue[Message | _Order | None] = SimpleQueue()
        self._waiting = 0
        self._is_watching = False
        self._is_too_slow = False
        self._has_ended = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._view: SchedulerView | None = None
        #: Of the cluster.
        self._address = ""

    # -- callers ----------------------------------------------------------

    def add(self, name: str, plugin: Any, idempotent: bool, address: str = "") -> None:
        """Call a plugin's hooks from now on, behind its `start`.

        Raises
        ------
        BaseException
            What `start` raised; the plugin is not added.
        """
        with self._turn():
            if idempotent and name in self._plugins:
                return
            self._address = address
            self._begin()
            try:
                self._do(lambda: self._start(name, plugin))
            finally:
                self._end_if_unused()
            # (the last of those before it may have failed meanwhile)
            if name in self._plugins and not self._is_watching:
                self._begin()

    def remove(self, name: str) -> None:
        """Call a plugin no more, once it was told of what has happened so far.

        Raises
        ------
        ValueError
            There is none of this name.
        """
        with self._turn():
            if name not in self._plugins:
                raise ValueError(f"There is no scheduler plugin {name!r}")
            self._do(lambda: self._plugins.pop(name, None))
            self._end_if_unused()

    def __contains__(self, name: str) -> bool:
        return name in self._plugins

    def close(self) -> None:
        """Wait for the thread, which ends once the reader has ended; at most some seconds."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS)

    def _turn(self) -> AbstractContextManager[Any]:
        """Who changes them waits for others who do; hooks do not, which those wait for."""
        if threading.current_thread() is self._thread:
            return nullcontext()
        return self._changing

    def _begin(self) -> None:
        """Start the thread, and watch the scheduler."""
        with self._lock:
            if self._has_ended:
                raise SchedulerLost("The client was closed, or its scheduler is gone.")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="spanwise-scheduler-plugins", daemon=True
                )
                self._thread.start()
        if not self._is_watching:
            self._is_too_slow = False
            self._session.ask("watchScheduler", {"on": True})
            self._is_watching = True

    def _end_if_unused(self) -> None:
        if self._is_watching and not self._plugins:
            self._stop_watching()

    def _stop_watching(self) -> None:
        with suppress(SchedulerLost):  # the reader reports it
            self._session.send("watchScheduler", {"request": 0, "on": False})
        # Afterwards: who sees this has the scheduler watched again.
        self._is_watching = False

    def _do(self, act: Callable[[], Any]) -> Any:
        """Have the thread do something behind what it has to do already; the caller waits."""
        if threading.current_thread() is self._thread:
            return act()
        answers: SimpleQueue[Any] = SimpleQueue()
        with self._lock:
            if self._has_ended:
                raise SchedulerLost("The client was closed, or its scheduler is gone.")
            self._queue.put(_Order(act, answers))
        while True:
            try:
                error = answers.get(timeout=_LOOK_SECONDS)
            except Empty:
                if self._thread is None or not self._thread.is_alive():
                    raise SchedulerLost("The scheduler's plugins have ended.") from None
                continue
            if error is not None:
                raise error
            return None

    # -- the reader -------------------------------------------------------

    def came(self, message: Message) -> None:
        """Take a `watched` or `happened`; called by the reader, which must not wait."""
        rows = message.table("moves").rows if message.type == "happened" else 0
        with self._lock:
            if self._is_too_slow or self._has_ended:
                return
            self._waiting += rows
            self._is_too_slow = self._waiting > MOST_WAITING
        self._queue.put(message)

    def end(self) -> None:
        """The session has ended: the thread tells what has come, and ends."""
        with self._lock:
            self._has_ended = True
            self._queue.put(None)

    # -- the thread -------------------------------------------------------

    def _serve(self) -> None:
        try:
            while (item := self._queue.get()) is not None:
                if isinstance(item, _Order):
                    self._carry_out(item)
                elif item.type == "watched":
                    self._make_view(item)
                else:
                    self._tell(item)
            for hook in ("before_close", "close"):
                self._call(hook)
        finally:
            self._plugins.clear()
            if self._loop is not None:
                self._loop.close()

    @staticmethod
    def _carry_out(order: _Order) -> None:
        try:
            order.act()
        except BaseException as error:  # noqa: BLE001 (the user's code; its caller gets it)
            order.answers.put(error)
        else:
            order.answers.put(None)

    def _make_view(self, message: Message) -> None:
        if self._view is None:
            self._view = SchedulerView(self._session.cluster_id, self._address)
        if message.fields["request"]:
            self._view.begin(message.fields["workers"], message.fields["clients"])

    def _start(self, name: str, plugin: Any) -> None:
        self._run(plugin.start, (self._view,), {})
        if name in self._plugins:
            tell(f"The scheduler plugin {name!r} takes the place of another one of that name.")
        self._plugins.pop(name, None)
        self._plugins[name] = plugin

    def _tell(self, message: Message) -> None:
        with self._lock:
            self._waiting -= message.table("moves").rows
            lost = message.fields["lost"] or self._is_too_slow
        if lost:
            self._give_up()
            return
        if not self._plugins or self._view is None:
            return
        for tell_next in _steps(message, self._view, self._session):
            hook, args, kwargs, after = tell_next
            self._call(hook, *args, **kwargs)
            after()

    def _give_up(self) -> None:
        names = ", ".join(map(repr, self._plugins))
        self._plugins.clear()
        self._stop_watching()
        if names:
            tell(
                f"The scheduler plugins {names} were removed: they are slower than what they are "
                "told of comes. Do less in their hooks, or let a thread of yours do it."
            )

    def _call(self, hook: str, *args: Any, **kwargs: Any) -> None:
        """Call a hook of all plugins; one that throws is told of and removed."""
        for name, plugin in [*self._plugins.items()]:
            function = getattr(plugin, hook, None)
            if function is None or self._plugins.get(name) is not plugin:
                continue
            try:
                self._run(function, args, kwargs)
            except BaseException:  # noqa: BLE001 (the user's code; others come after it)
                self._plugins.pop(name, None)
                self._end_if_unused()
                tell(
                    f"The scheduler plugin {name!r} has failed in {hook}() and was removed; the "
                    f"cluster goes on.\n{traceback.format_exc()}"
                )

    def _run(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        answer = function(*args, **kwargs)
        if inspect.isawaitable(answer):

            async def wait() -> None:
                await answer

            if self._loop is None:
                self._loop = asyncio.new_event_loop()
            self._loop.run_until_complete(wait())


def _failure(said: dict[str, Any], blob: bytes | None) -> dict[str, Any]:
    """What is told of a task that failed itself; opens its exception, which runs user code."""
    failure = Told(said["type"], said["message"], said["text"], blob).open()
    return {
        "exception": failure.error,
        "traceback": failure.trace,
        "exception_text": _text_of(failure.error),
        "traceback_text": said["text"],
    }


def _text_of(error: BaseException) -> str:
    try:
        return repr(error)
    except BaseException:  # noqa: BLE001 (the user's code; said in other words)
        return said(error)


#: A hook, its arguments, and what follows its calls.
_Step = tuple[str, tuple[Any, ...], dict[str, Any], Callable[[], Any]]


def _nothing() -> None:
    pass


def _steps(message: Message, view: SchedulerView, session: Watching) -> Iterator[_Step]:
    """What a message says, in order; the view is that of each step when it is yielded."""
    told = _Told(message, view, session)
    members, graphs = message.fields["members"], message.fields["graphs"]
    member = graph = 0
    for row in range(message.table("moves").rows + 1):
        while True:
            here = graph < len(graphs) and graphs[graph]["before"] == row
            if here and graphs[graph]["order"] <= member:
                yield told.graph(graph)
                graph += 1
                continue
            if member < len(members) and members[member]["before"] == row:
                yield told.member(members[member])
                member += 1
                continue
            break
        if row < message.table("moves").rows:
            yield told.move(row)


class _Told:
    """Opens one `happened`."""

    def __init__(self, message: Message, view: SchedulerView, session: Watching) -> None:
        self._message = message
        self._view = view
        self._session = session
        self._tables = {
            name: dict(zip(columns, message.table(name).values(*columns), strict=True))
            for name, columns in _COLUMNS.items()
        }
        (ends,) = message.table("keys").values("end")
        blob = bytes(message.blobs[0]) if message.blobs else b""
        self._keys = [
            blob[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        self._texts: list[str] = message.fields["texts"]

    def move(self, row: int) -> _Step:
        moves = {name: column[row] for name, column in self._tables["moves"].items()}
        text = self._keys[moves["key"]]
        task = self._view.task(text)
        start, finish = _STATES[moves["from"]], _STATES[moves["to"]]
        facts: dict[str, Any] = {}
        task.processing_on = None
        if moves["run"] != NONE_U32:
            facts.update(self._run(moves["run"], moves["worker"], finish == "memory"))
        elif finish == "processing" and moves["worker"] != NONE_U16:
            address = self._view.address_of(moves["worker"])
            task.processing_on = self._view.workers.get(address)
        if moves["failure"] != NONE_U32:
            failed = self._message.fields["failures"][moves["failure"]]
            facts["cause"] = self._view.task(self._keys[failed["cause"]]).key
            if failed["isOwn"]:
                blobs, blob = self._message.blobs, failed["blob"]
                facts.update(_failure(failed, None if blob < 0 else bytes(blobs[blob])))
        task.state = finish
        if finish == "memory":
            task.nbytes, task.typename = facts.get("nbytes", -1), facts.get("typename")
        elif finish != "forgotten":
            task.nbytes = -1
        after = (lambda: self._view.forget(text)) if finish == "forgotten" else _nothing
        stimulus = self._texts[moves["stimulus"]]
        return "transition", (task.key, start, finish), {**facts, "stimulus_id": stimulus}, after

    def graph(self, index: int) -> _Step:
        graphs = self._message.fields["graphs"]
        graph, tasks, view = graphs[index], self._tables["tasks"], self._view
        end = graphs[index + 1]["firstTask"] if index + 1 < len(graphs) else len(tasks["key"])
        rows = range(graph["firstTask"], end)
        firsts, inputs = tasks["firstInput"], self._tables["inputs"]["key"]
        keys: set[Any] = set()
        priority: dict[Any, tuple[int, ...]] = {}
        annotations: dict[str, dict[Any, Any]] = {}
        made = []
        for row in rows:
            task = view.task(self._keys[tasks["key"][row]])
            made.append(task)
            last = firsts[row + 1] if row + 1 < len(firsts) else len(inputs)
            # A key that is empty is of a task that is gone.
            texts = [self._keys[each] for each in inputs[firsts[row] : last]]
            task.dependencies = {view.task(text) for text in texts if text}
            if tasks["wanted"][row]:
                keys.add(task.key)
            urgency = tasks["userPriority"][row]
            priority[task.key] = (-urgency, graph["generation"], int(tasks["place"][row]))
            for name, value in self._annotations(graph, row).items():
                annotations.setdefault(name, {})[task.key] = value
        # Also what was there already, and is an input now.
        touched = dict.fromkeys([*made, *(each for task in made for each in task.dependencies)])
        arguments = {
            "client": client_name(graph["client"]),
            "keys": keys,
            "tasks": [task.key for task in touched],
            "annotations": annotations,
            "priority": priority,
            "stimulus_id": graph["stimulus"],
        }
        return "update_graph", (view,), arguments, _nothing

    def _annotations(self, graph: dict[str, Any], row: int) -> dict[str, Any]:
        tasks = self._tables["tasks"]
        found: dict[str, Any] = {}
        if tasks["userPriority"][row]:
            found["priority"] = tasks["userPriority"][row]
        if tasks["retries"][row]:
            found["retries"] = tasks["retries"][row]
        if tasks["restriction"][row]:
            said = graph["restrictions"][tasks["restriction"][row] - 1]
            if said["workers"] is not None:
                found["workers"] = list(said["workers"])
            if said["allowOther"]:
                found["allow_other_workers"] = True
            if said.get("resources"):
                found["resources"] = dict(said["resources"])
        return found

    def member(self, said: dict[str, Any]) -> _Step:
        view, what = self._view, said["what"]
        stimulus = {"stimulus_id": said["stimulus"]}
        if what == "add-worker":
            return "add_worker", (view, view.add_worker(said["worker"])), {}, _nothing
        if what == "remove-worker":
            return "remove_worker", (view, view.remove_worker(said["worker"])), stimulus, _nothing
        if what == "add-client":
            return "add_client", (view, view.add_client(said["client"])), {}, _nothing
        if what == "remove-client":
            return "remove_client", (view, view.remove_client(said["client"])), {}, _nothing
        if what == "log-event":
            content = plain.unpack(self._message.blobs[said["blob"]])
            return "log_event", (said["topic"], content), {}, _nothing
        return "restart", (view,), {}, _nothing

    def _run(self, row: int, worker: int, is_done: bool) -> dict[str, Any]:

        run = {name: column[row] for name, column in self._tables["runs"].items()}
        firsts, parts = self._tables["runs"]["firstPart"], self._tables["parts"]
        last = firsts[row + 1] if row + 1 < len(firsts) else len(parts["kind"])
        start = self._session.wall_time(run["start"])
        stretches = []
        for k in range(run["firstPart"], last):
            began = start + parts["offset"][k]
            stretch = {
                "action": _ACTIONS.get(parts["kind"][k], "compute"),
                "start": began,
                "stop": began + parts["duration"][k],
            }
            if stretch["action"] == "transfer" and parts["from"][k] != NONE_U16:
                stretch["source"] = self._view.address_of(parts["from"][k])
            stretches.append(stretch)
        if not any(each["action"] == "compute" for each in stretches):
            whole = {"action": "compute", "start": start, "stop": start + run["duration"]}
            stretches.append(whole)
        facts: dict[str, Any] = {
            "worker": self._view.address_of(worker),
            "thread": int(run["ident"]) or None,
            "startstops": stretches,
            "status": "OK" if is_done else "error",
        }
        if is_done:
            facts["nbytes"] = int(run["nbytes"])
            facts.update(type_fields(self._texts[run["type"]]), metadata={})
        return facts
