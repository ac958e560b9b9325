"""Dask's callbacks around a blocking ``get`` on a cluster, called as its local schedulers do.

::

    start        the graph is whole, and nothing of it has been sent
    start_state  what is to be computed
    pretask      a task has begun: as soon as that is known, of short ones when they have ended
    posttask     its result is there
    finish       all results are there, or something was raised

The cluster keeps the result of each task until the callbacks have been told of it, as if the caller
wanted it, and the reports of these results say how far the computation is. So the state is that of
Dask's own schedulers: it is kept by their functions. All hooks are called in the thread that waits.

When a task ran, and at which thread, comes with `ran`. Dask's profilers read a clock when they are
called, which is later; so their notes get the times of the workers.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from dask.callbacks import Callback, unpack_callbacks
from dask.local import finish_task, release_data, start_state_from_dask

from spanwise.client.entries import CANCELLED, ERROR, FINISHED, Entry, Waiter, pending
from spanwise.client.reason import WITH_INTERRUPT
from spanwise.client.session import Run, Session
from spanwise.errors import ClusterError
from spanwise.graph.prepare import PreparedGraph
from spanwise.graph.private_dask import DataNode, GraphNode
from spanwise.records.enumerations import NONE_U16

Key = Any
#: Five functions or None each: start, start_state, pretask, posttask, finish.
Hooks = tuple[Any, ...]

#: Stands for a result that nobody has asked for here.
_THERE: Any = type("There", (), {"__repr__": lambda self: "<result on the cluster>"})()


def is_called_back(given: Any) -> bool:
    """Whether a computation that begins now has callbacks; `given`: its keyword."""
    if given is not None:
        return bool(given)
    return bool(Callback.active) and not all(_is_of_local(each) for each in Callback.active)


def _is_of_local(hooks: Hooks) -> bool:
    """Whether they follow Dask's own schedulers alone (:func:`spanwise.observe`)."""
    return bool(getattr(getattr(hooks[0], "__self__", None), "is_of_local_schedulers", False))


@contextmanager
def taken_callbacks(given: Any = None) -> Iterator[Any]:
    """Take the active callbacks for one computation: what a callback computes has none.

    Parameters
    ----------
    given
        The keyword `callbacks` of the computation: these alone, and the active ones stay.
    """
    if given is not None:
        yield given or ()
        return
    active = Callback.active
    local = {each for each in active if _is_of_local(each)}
    Callback.active = local
    try:
        yield [each for each in active if each not in local]
    finally:
        # Observations begin and end meanwhile.
        now = {each for each in Callback.active if _is_of_local(each)}
        Callback.active = active if now == local else (active - local) | now


class Computation:
    """One blocking ``get`` and its callbacks.

    Parameters
    ----------
    session
        The connection to the cluster.
    keys
        What is computed.
    callbacks
        Those of this computation.
    """

    def __init__(self, session: Session, keys: Sequence[Key], callbacks: Any) -> None:
        self._session = session
        self._keys = list(keys)
        self._results = set(self._keys)
        self._callbacks = callbacks
        _, self._start_state, self._pretask, self._posttask, _ = unpack_callbacks(callbacks)
        self._brings = any(not _ignores_result(hook) for hook in self._posttask)
        self._profilers = _owners(self._posttask, "Profiler")
        self._cache_profilers = _owners(self._posttask, "CacheProfiler")
        self._resources: list[Any] = []
        #: Callbacks whose `start` was called; they get `finish`.
        self._started: list[Hooks] = []
        self._dsk: Any = None
        self._nodes: dict[Key, GraphNode] = {}
        self._place: dict[Key, int] = {}
        #: The same object for all calls; from `start_state` on with the fields of Dask's.
        self._state: dict[str, Any] = {}
        #: Place of each key in the list `ready`.
        self._place_in_ready: dict[Key, int] = {}
        #: Tasks whose results are kept for the callbacks.
        self._held: dict[Key, Entry] = {}
        self._key_of: dict[int, Key] = {}
        self._events = _Events(session, lambda: pending(self._held.values()))
        #: By the task's number: the run by which it has ended, which is told before the report.
        self._runs: dict[int, Run] = {}
        #: When tasks have ended, by `time.perf_counter`.
        self._ends: dict[Key, float] = {}
        #: Tasks that were reported, or began, before their inputs were.
        self._early: set[Key] = set()
        self._early_begun: set[Key] = set()

    def values(self, submit: Any) -> list[Any]:
        """Compute; returns the values of the keys.

        Parameters
        ----------
        submit
            Sends the graph, and calls :meth:`begin` before. It returns the entries of the keys,
            then those of all tasks.
        """
        is_done = False
        entries: list[Entry] = []
        try:
            self._session.watch_runs(self._ran)
            entries = submit()
            own = entries[len(self._keys) :]
            self._held = dict(zip(self._nodes, own, strict=True))
            found = self._run(entries[: len(self._keys)])
            is_done = True
            return found
        except KeyboardInterrupt:
            self._cancel(entries)
            raise
        finally:
            try:
                for resources in self._resources:
                    resources.end()
                for hooks in self._started:
                    if hooks[4]:
                        hooks[4](self._dsk, self._state, not is_done)
            finally:
                self._session.unwatch_runs(self._ran)
                held, self._held = self._held, {}
                self._session.drop([*entries[: len(self._keys)], *held.values()])

    def begin(self, graph: PreparedGraph) -> None:
        """Tell the callbacks of the graph, before it is sent.

        Once more if it was made again, because results that it needs have gone: then callbacks are
        told nothing, and see it in the state.
        """
        self._nodes = graph.nodes
        self._place = {key: place for place, key in enumerate(graph.nodes)}
        is_first = self._dsk is None
        if is_first:
            self._dsk = graph.known
            for hooks in self._callbacks:
                if hooks[0]:
                    hooks[0](self._dsk)
                self._started.append(hooks)
            for profiler in _owners([hooks[0] for hooks in self._started], "ResourceProfiler"):
                from spanwise.client.cluster_resources import ClusterResources

                self._resources.append(ClusterResources(self._session, profiler))
        there = {key: DataNode(key, _THERE) for key in graph.external}
        state = start_state_from_dask(
            {**there, **graph.nodes},
            cache=_Results(self),
            sortkey=self._place.__getitem__,
            keys=list(self._results),
        )
        self._state.update(state)
        self._place_in_ready = {key: place for place, key in enumerate(self._state["ready"])}
        if is_first:
            for hook in self._start_state:
                hook(self._dsk, self._state)

    def bring(self, key: Key) -> Any:
        """Bring a result that is on the cluster."""
        entry = self._held.get(key) or self._session.by_key[key]
        return self._session.gather_one(entry)

    def _ran(self, number: int, run: Run) -> None:
        """Called by the reader."""
        if run.ended is None:
            self._events.add(number, False)
        else:
            self._runs[number] = run

    def _run(self, requested: list[Entry]) -> list[Any]:
        state = self._state
        for key, entry in self._held.items():
            self._key_of[entry.id] = key
            if key in state["waiting"] or key in self._place_in_ready:
                self._session.when_done(entry, partial(self._events.add, entry.id, True))
        while state["waiting"] or state["ready"] or state["running"]:
            events = [
                (self._key_of[number], has_ended)
                for number, has_ended in self._events.next()
                # Other computations of this client have tasks too.
                if number in self._key_of
            ]
            ended = [key for key, has_ended in events if has_ended]
            brought = self._bring_all(ended) if self._brings and ended else {}
            for key, has_ended in events:
                if has_ended:
                    self._take(key, brought)
                elif key in state["waiting"]:
                    self._early_begun.add(key)
                else:
                    self._begin_one(key)
        # What callbacks have seen is what the caller gets.
        cache = state["cache"]
        left = {
            key: entry
            for key, entry in zip(self._keys, requested, strict=True)
            if cache.is_there(key)
        }
        cache.update(zip(left, self._session.gather([*left.values()]), strict=True))
        return [cache[key] for key in self._keys]

    def _bring_all(self, keys: list[Key]) -> dict[Entry, Any]:
        """The values of tasks that have ended, without those that failed or cannot be brought."""
        try:
            return self._session.values([self._held[key] for key in keys], "skip")
        except Exception:  # noqa: BLE001 (one of them; each is brought alone then)
            return {}

    def _bring_one(self, key: Key, entry: Entry) -> Any:
        try:
            return self._session.gather_one(entry)
        except Exception:
            if key in self._results or entry.status != FINISHED:
                raise
            # The next task can use it, where it is: it is no error that it cannot be pickled.
            return _THERE

    def _take(self, key: Key, brought: dict[Entry, Any]) -> None:
        """Take in that a task has ended, and others that had to wait for that."""
        state = self._state
        found = [key]
        while found:
            key = found.pop()
            if key in state["waiting"]:
                self._early.add(key)
                continue
            self._end_one(key, brought)
            for user in state["dependents"][key]:
                if user in state["waiting"]:
                    continue
                if user in self._early_begun:
                    self._early_begun.discard(user)
                    self._begin_one(user)
                if user in self._early:
                    self._early.discard(user)
                    found.append(user)

    def _end_one(self, key: Key, brought: dict[Entry, Any]) -> None:
        state = self._state
        entry = self._held[key]
        self._begin_one(key)
        if entry.status in (ERROR, CANCELLED):
            failure = entry.failure()  # lives as long as this frame: see Future.result
            raise failure.error
        value = brought.get(entry, _THERE)
        if value is _THERE and self._brings:
            value = self._bring_one(key, entry)
        state["cache"][key] = value
        before = len(state["ready"])
        # (it takes the key off `waiting` of its users, and lets go of what nobody needs any more)
        finish_task(
            self._dsk,
            key,
            state,
            self._results,
            self._place.__getitem__,
            release_data=self._let_go,
        )
        ready = state["ready"]
        for place in range(before, len(ready)):
            self._place_in_ready[ready[place]] = place
        run = self._runs.pop(entry.id, None)
        worker = _place_of(run, entry)
        freed = [len(each.results) for each in self._cache_profilers]
        for hook in self._posttask:
            hook(key, value, self._dsk, state, worker)
        self._stamp(key, run, worker, freed)

    def _stamp(self, key: Key, run: Run | None, worker: str, freed: list[int]) -> None:
        """Put the workers' times into what Dask's profilers have noted of a task.

        `freed`: how many results the cache's profilers had noted as freed before.
        """
        if run is not None and run.ended is not None:
            began, ended = run.began, run.ended
        else:
            # An alias runs nowhere: it is there with its input.
            inputs = [self._ends[each] for each in self._dsk[key].dependencies & self._ends.keys()]
            began = ended = max(inputs, default=time.perf_counter())
        self._ends[key] = ended
        for profiler in self._profilers:
            noted = profiler._results.get(key, ())
            if len(noted) == 5:
                profiler._results[key] = (key, noted[1], began, ended, worker)
        for profiler, before in zip(self._cache_profilers, freed, strict=True):
            noted = profiler._cache.get(key)
            if noted is not None:
                profiler._cache[key] = (noted[0], ended)
            for place in range(before, len(profiler.results)):
                profiler.results[place] = profiler.results[place]._replace(free_time=ended)

    def _begin_one(self, key: Key) -> None:
        state = self._state
        place = self._place_in_ready.pop(key, None)
        if place is None:
            return  # it has begun
        ready = state["ready"]
        last = ready.pop()
        if last != key:
            ready[place] = last
            self._place_in_ready[last] = place
        state["running"].add(key)
        for hook in self._pretask:
            hook(key, self._dsk, state)

    def _let_go(self, key: Key, state: dict[str, Any], delete: bool = True) -> None:
        release_data(key, state, delete=delete)
        entry = self._held.pop(key, None)
        if entry is not None:
            # At once: what a callback computes would find it there, and not compute it.
            self._session.drop([entry])

    def _cancel(self, entries: list[Entry]) -> None:
        """Give up what is under way, but for keys that a future or a persisted collection holds."""
        here = Counter([*entries[: len(self._keys)], *self._held.values()])
        own = [entry for entry, count in here.items() if entry.count == count]
        with suppress(ClusterError):  # it has ended, and nothing runs any more
            self._session.cancel(own, False, WITH_INTERRUPT)


class _Results(dict[Any, Any]):
    """The field `cache` of the state: results that are on the cluster come when they are asked for.

    Parameters
    ----------
    computation
        Brings them.
    """

    def __init__(self, computation: Computation) -> None:
        super().__init__()
        self._computation = computation

    def is_there(self, key: Key) -> bool:
        """Whether the result has not been brought."""
        return super().__getitem__(key) is _THERE

    def __getitem__(self, key: Key) -> Any:
        value = super().__getitem__(key)
        if value is _THERE:
            value = self[key] = self._computation.bring(key)
        return value

    def get(self, key: Key, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]


class _Events:
    """What happens to tasks, in order, for the thread that waits for it."""

    def __init__(self, session: Session, late: Callable[[], list[Entry]]) -> None:
        self._session = session
        #: The tasks that have not ended.
        self._late = late
        self._happened: deque[tuple[int, bool]] = deque()
        self._waiter: Waiter | None = None

    def add(self, number: int, has_ended: bool) -> None:
        """A task has begun or ended. Under the session's lock, or by the thread that waits."""
        self._happened.append((number, has_ended))
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.one_done()

    def next(self) -> list[tuple[int, bool]]:
        """Sleep until there is something; returns all that there is."""
        while not self._happened:
            waiter = Waiter(1)
            with self._session.lock:
                if self._happened:
                    break
                self._waiter = waiter
            self._session.sleep(waiter, None, self._late)
        return [self._happened.popleft() for _ in range(len(self._happened))]


def _profiler_class(name: str) -> Any:
    """A profiler of Dask; None: nobody has imported it, or not to its end."""
    return getattr(sys.modules.get("dask.diagnostics.profile"), name, None)


def _owners(hooks: Sequence[Any], name: str) -> list[Any]:
    """Dask's profilers of this name that have one of the hooks."""
    kind = _profiler_class(name)
    owners = [getattr(hook, "__self__", None) for hook in hooks]
    return [each for each in owners if kind is not None and isinstance(each, kind)]


def _ignores_result(hook: Any) -> bool:
    """Whether a `posttask` is known to make no use of the result: it is not brought for it."""
    function = getattr(hook, "__func__", None)
    if function is None:
        return False
    if function is getattr(_profiler_class("Profiler"), "_posttask", None):
        return True
    if function is not getattr(_profiler_class("CacheProfiler"), "_posttask", None):
        return False
    # Without a metric it counts.
    metric: str = getattr(hook.__self__._metric, "__qualname__", "")
    return metric == "CacheProfiler.__init__.<locals>.<lambda>"


def _place_of(run: Run | None, entry: Entry) -> str:
    """Where a task has run, as far as that is known: its thread, or the worker with its result."""
    if run is not None:
        return f"worker-{run.worker}/{run.thread}"
    return "" if entry.worker in (-1, NONE_U16) else f"worker-{entry.worker}"
