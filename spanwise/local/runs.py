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
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Concatenate, ParamSpec

from dask.callbacks import Callback

from spanwise.graph.attribution import Attribution
from spanwise.graph.observe_get import WrittenGraphs
from spanwise.local.lanes import Processes, Threads
from spanwise.local.measured_node import MeasuredNode, maker, retired
from spanwise.local.pool_facts import PoolFacts, UnknownPool, loop_variables, pool_facts
from spanwise.local.recorder import Recorder
from spanwise.local.work import Counted, TakingApart, is_fused
from spanwise.notices import tell

P = ParamSpec("P")


class _Run:
    """One run that is followed.

    Attributes
    ----------
    numbers, first, shared, has_fused
        How its tasks are counted (:class:`Counted`).
    ready
        When the last input of a task came; of the others none has.
    is_whole
        Each node that was replaced has been put back, unless its task has not ended.
    """

    def __init__(self, facts: PoolFacts, attribution: Attribution) -> None:
        self.facts = facts
        self.attribution = attribution
        self.began = perf_counter()
        self.numbers, self.first, self.shared, self.has_fused = Counted({}, 0, [], False)
        self.ready: dict[Any, float] = {}
        self.is_whole = True
        self.taking: TakingApart
        self.threads: Threads | None = None
        self.processes: Processes | None = None
        #: What the paths of its processes' files begin with.
        self.place: str | None = None


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
        The observer of these runs; lives as long as this is registered.
    """

    #: A client, which calls the callbacks of others, leaves these out.
    is_of_local_schedulers = True

    def __init__(self, recorder: Recorder, written: WrittenGraphs, owner: Any) -> None:
        super().__init__()
        self.closed = False
        self.owner = owner
        self._recorder = recorder
        self._meter = recorder.meter
        self._written = written
        #: By the id of its graph, which Dask's loop holds until the run has ended; each thread has
        #: its own ones. Of a run whose end is not heard (another's callback failed before) the
        #: graph is let go, so that another may get its id: that one's start drops the run.
        self._runs: dict[int, _Run] = {}
        #: The one that was asked for last, and the id of its graph: mostly there is no other.
        self._newest: tuple[int, _Run] | None = None
        self._said: set[str] = set()

    # -- registering ------------------------------------------------------

    def stay_registered(self) -> None:
        """Be among the active callbacks, even after a run has taken them out.

        Dask gives its callbacks to the run that begins first, and to no run at the same
        time; and the run that ends last may restore an empty set. The set is replaced and
        never changed, since a run may be iterating over it.
        """
        # Looked up first: no other thread may have a turn between reading the set and replacing
        # it, and calls of Python code give it one.
        mine = self._callback
        if not self.closed and mine not in Callback.active:
            Callback.active = {*Callback.active, mine}

    def return_to_set(self) -> None:
        """As :meth:`stay_registered`, from another thread: between runs, when no run waits."""
        if not self._runs:
            self.stay_registered()

    def leave(self) -> None:
        """Follow nothing any more. Twice is safe."""
        self.closed = True
        self.owner = None
        mine = self._callback
        if mine in Callback.active:
            Callback.active = Callback.active - {mine}

    def _leave_set_of_run(self) -> None:
        """Drop the callback from the set that Dask puts back when the run ends."""
        variables = loop_variables(sys._getframe(1))
        taken = None if variables is None else variables.get("callbacks")
        if isinstance(taken, set):
            # (Dask has listed its callbacks and iterates over it no more)
            taken.discard(self._callback)

    def give_up(self, error: Exception) -> None:
        """Say what went wrong in following a run, once."""
        self._say(
            f"Spanwise cannot follow this computation, which goes on unobserved "
            f"({type(error).__name__}: {error})."
        )

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            tell(sentence)

    # -- Dask's hooks -----------------------------------------------------

    @_harmless
    def _start(self, dsk: Mapping[Any, Any]) -> None:
        self._forget(dsk)
        # Runs of other threads want to be seen as well.
        self.stay_registered()
        attribution = self._written.take(dsk)
        meter = self._recorder.meter
        # (closed: it could not go on, and the user was told)
        if meter.closed or meter.is_busy_here():
            return
        try:
            facts = pool_facts()
        except UnknownPool as unknown:
            self._say(
                f"Spanwise does not observe this run: {unknown}. Dask's schedulers threads, "
                "processes and sync can be observed, and pools of concurrent.futures."
            )
            return
        self._runs[id(dsk)] = _Run(facts, attribution)

    @_harmless
    def _start_state(self, dsk: Mapping[Any, Any], state: Mapping[str, Any]) -> None:
        run = self._runs.get(id(dsk))
        if run is None:
            return
        try:
            self._begin(run, dsk, [*state["ready"], *state["waiting"]])
        except BaseException:  # Ctrl-C, too
            self._forget(dsk)
            self._release(run)
            raise

    def _begin(self, run: _Run, dsk: Mapping[Any, Any], keys: list[Any]) -> None:
        recorder, facts = self._recorder, run.facts
        run.numbers, run.first, run.shared, run.has_fused = recorder.log.tasks(
            keys, dsk, run.attribution, run.began
        )
        run.taking = TakingApart(recorder.log.part_names(run.attribution), recorder.locked_names)
        if facts.has_processes:
            run.processes = recorder.begin_processes(facts.owner, facts.size, run.began)
            run.place = recorder.pools.place_of(run.processes)
        else:
            run.threads = recorder.begin_threads(facts.owner, facts.size, run.began)

    @_harmless
    def _release(self, run: _Run) -> None:
        now = perf_counter()
        threads, run.threads = run.threads, None
        if threads is not None:
            self._recorder.end_threads(threads, now)
        processes, run.processes = run.processes, None
        if processes is not None:
            self._recorder.end_processes(processes, now)

    # Called for each task: they are harmless by themselves, and call little.

    def _run_of(self, dsk: Any) -> _Run | None:
        graph = id(dsk)
        run = self._runs.get(graph)
        if run is not None:
            self._newest = graph, run
        return run

    def _forget(self, dsk: Any) -> _Run | None:
        graph = id(dsk)
        # (another thread may replace it meanwhile, by its own: then it is asked for again)
        newest = self._newest
        if newest is not None and newest[0] == graph:
            self._newest = None
        return self._runs.pop(graph, None)

    def _pretask(self, key: Any, dsk: dict[Any, Any], state: Mapping[str, Any]) -> None:
        newest = self._newest
        run = newest[1] if newest is not None and newest[0] == id(dsk) else self._run_of(dsk)
        if run is None or self.closed:
            return
        try:
            number = run.numbers.get(key)
            node = dsk[key]
            kind: Any = type(node)
            make = maker(kind)
            if number is None or make is None:
                return
            taken = None
            if run.has_fused and is_fused(node):
                log = self._recorder.log
                with log.lock:
                    taken = run.taking.take(node)
                    log.write_new_spans()
            began, ready = run.began, run.ready
            _, function, span, _ = run.shared[number - run.first]
            made = make()
            made._spanwise_work = (
                number,
                node,
                began,
                ready.pop(key, began) if ready else began,
                taken,
                function,
                span,
                run.threads,
                self._meter,
            )
            made._spanwise_place = run.place
            dsk[key] = made
        except Exception as error:  # noqa: BLE001 (said; the run goes on)
            self.give_up(error)

    def _posttask(
        self, key: Any, value: Any, dsk: dict[Any, Any], state: Any, worker_id: Any
    ) -> None:
        newest = self._newest
        run = newest[1] if newest is not None and newest[0] == id(dsk) else self._run_of(dsk)
        if run is None or self.closed:
            return
        try:
            dependents = state["dependents"][key]
            if dependents:
                now, ready = perf_counter(), run.ready
                for each in dependents:
                    # The last of its inputs says when it became ready.
                    ready[each] = now
            node = dsk.get(key)
            if isinstance(node, MeasuredNode):
                dsk[key] = retired(node)
        except Exception as error:  # noqa: BLE001 (said; the run goes on)
            run.is_whole = False
            self.give_up(error)

    def _finish(self, dsk: dict[Any, Any], state: Any, errored: bool) -> None:
        is_closed = self.closed
        if is_closed:
            self._leave_set_of_run()
        run = self._forget(dsk)
        if run is None:
            return
        self._meter.leave_thread()
        if errored or is_closed or not run.is_whole:
            for key, node in list(dsk.items()):
                if isinstance(node, MeasuredNode):
                    dsk[key] = retired(node)
        self._release(run)
