"""The callback that follows the runs of Dask's own schedulers.

One run, and who calls what, in the thread that called ``compute``::

    start        which pool, where its graph was written
    start_state  what will run: a row in `nodes` each
    pretask      the node is replaced by one that measures itself; when it became ready
    posttask     the node is put back
    finish       the pool's lanes are free again

Nothing here raises: an error of Spanwise's own is said once, and the run goes on
unobserved. A run inside a task is the task's own affair (as for all of Dask's callbacks).
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Concatenate, ParamSpec

from dask._task_spec import GraphNode
from dask.callbacks import Callback

from spanwise.graph.attribution import Attribution
from spanwise.graph.observe_get import WrittenGraphs
from spanwise.local.lanes import ProcessSlot, Threads
from spanwise.local.measured_node import MeasuredNode, measured, original, retire
from spanwise.local.pool_facts import PoolFacts, UnknownPool, pool_facts
from spanwise.local.recorder import Recorder
from spanwise.local.work import TakingApart, Work

P = ParamSpec("P")


class _Run:
    """One run that is followed.

    Attributes
    ----------
    works
        Tasks that are still to run, and how they are counted.
    finished
        Key → when its result was there.
    replaced
        Measured nodes that stand in the graph.
    """

    def __init__(self, facts: PoolFacts, attribution: Attribution) -> None:
        self.facts = facts
        self.attribution = attribution
        self.began = perf_counter()
        self.works: dict[Any, Work] = {}
        self.finished: dict[Any, float] = {}
        self.replaced: dict[Any, MeasuredNode] = {}
        self.taking: TakingApart
        self.threads: Threads | None = None
        self.slots: list[ProcessSlot] = []


def _harmless(
    hook: Callable[Concatenate[ObservedRuns, P], None],
) -> Callable[Concatenate[ObservedRuns, P], None]:
    """Never let observing break a computation."""

    @functools.wraps(hook)
    def harmless(self: ObservedRuns, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.closed:
            return
        try:
            hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (said; the run goes on)
            self.give_up(error)

    return harmless


class ObservedRuns(Callback):
    """Follows all runs of Dask's local schedulers in this process while it is registered.

    Parameters
    ----------
    recorder
        Takes what is measured.
    written
        Says where graphs were written.
    owner
        Whoever observes; lives as long as this is registered.
    """

    def __init__(self, recorder: Recorder, written: WrittenGraphs, owner: Any) -> None:
        super().__init__()
        self.closed = False
        self.owner = owner
        self._recorder = recorder
        self._written = written
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._runs: dict[int, _Run] = {}
        self._said: set[str] = set()

    # -- registering ------------------------------------------------------

    def stay_registered(self) -> None:
        """Be among the active callbacks, also after a run has taken them for itself.

        Dask gives its callbacks to the run that begins first and to no run beside it; and a
        run that ends last may restore an empty set. The set is replaced, never changed: some
        run may be going through it.
        """
        if not self.closed and self._callback not in Callback.active:
            Callback.active = {*Callback.active, self._callback}

    def return_to_set(self) -> None:
        """As :meth:`stay_registered`, from another thread: between runs, when nobody hurries."""
        if not self._runs:
            self.stay_registered()

    def leave(self) -> None:
        """Follow nothing any more. Twice is safe."""
        self.closed = True
        self.owner = None
        if self._callback in Callback.active:
            Callback.active = Callback.active - {self._callback}

    def give_up(self, error: Exception) -> None:
        """Say what went wrong in following a run, once."""
        self._say(
            f"Spanwise cannot follow this computation, which goes on unobserved "
            f"({type(error).__name__}: {error})."
        )

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            warnings.warn(sentence, RuntimeWarning, stacklevel=4)

    # -- Dask's hooks -----------------------------------------------------

    @_harmless
    def _start(self, dsk: Mapping[Any, Any]) -> None:
        if os.getpid() != self._pid:
            return  # a fork of the observing process
        # Runs of other threads want to be seen as well.
        self.stay_registered()
        if self._recorder.meter.is_busy_here():
            return
        attribution = self._written.take(dsk)
        try:
            facts = pool_facts()
        except UnknownPool as unknown:
            self._say(
                f"Spanwise does not observe this run: {unknown}. Dask's schedulers threads, "
                "processes and sync can be observed, and pools of concurrent.futures."
            )
            return
        with self._lock:
            self._runs[id(dsk)] = _Run(facts, attribution)

    @_harmless
    def _start_state(self, dsk: Mapping[Any, Any], state: Mapping[str, Any]) -> None:
        run = self._runs.get(id(dsk))
        if run is None:
            return
        recorder = self._recorder
        keys = [*state["ready"], *state["waiting"]]
        run.works = recorder.log.tasks(keys, dsk, run.attribution, run.began)
        run.taking = TakingApart(recorder.log.part_names(run.attribution), recorder.locked_names)
        if run.facts.has_processes:
            run.slots = recorder.begin_processes(run.facts.size, run.began)
        else:
            run.threads = recorder.begin_threads(run.facts.owner, run.facts.size, run.began)

    @_harmless
    def _pretask(self, key: Any, dsk: dict[Any, Any], state: Mapping[str, Any]) -> None:
        run = self._runs.get(id(dsk))
        if run is None:
            return
        work = run.works.get(key)
        node = dsk[key]
        if work is None or not isinstance(node, GraphNode):
            return
        finished = run.finished
        for each in state["dependencies"][key]:
            at = finished.get(each)
            if at is not None and at > work.ready:
                work.ready = at
        work.threads = run.threads
        recorder = self._recorder
        if not isinstance(node, MeasuredNode):
            with recorder.log.lock:
                work.taken = run.taking.take(node)
                recorder.log.write_new_spans()
        folder = recorder.folder if run.facts.has_processes else None
        made = dsk[key] = measured(node, work, recorder.meter, folder)
        run.replaced[key] = made

    @_harmless
    def _posttask(
        self, key: Any, value: Any, dsk: dict[Any, Any], state: Any, worker_id: Any
    ) -> None:
        run = self._runs.get(id(dsk))
        if run is None:
            return
        run.finished[key] = perf_counter()
        self._put_back(run, key, dsk)
        run.works.pop(key, None)

    @_harmless
    def _finish(self, dsk: dict[Any, Any], state: Any, errored: bool) -> None:
        with self._lock:
            run = self._runs.pop(id(dsk), None)
        if run is None:
            return
        for key in list(run.replaced):
            self._put_back(run, key, dsk)
        now = perf_counter()
        if run.threads is not None:
            self._recorder.end_threads(run.threads, now)
        if run.slots:
            self._recorder.end_processes(run.slots, now)

    @staticmethod
    def _put_back(run: _Run, key: Any, dsk: dict[Any, Any]) -> None:
        made = run.replaced.pop(key, None)
        if made is None:
            return
        retire(made)
        if isinstance(dsk.get(key), MeasuredNode):
            dsk[key] = original(made)
