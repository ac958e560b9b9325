"""Where the CPU time of a computation goes: microseconds a task, from the call to the result.

    python -m benchmarks decomposition [-- --rounds 3 --case stencil-5K]

* *Dask*: optimising and lowering the collection, and materialising its graph, in the client; of
  arrays what ``spanwise.graph.array_graph`` does in place of it;
* *ours in the client*, the calling thread alone: noting where layers were written (``noted``),
  reading it back (``attributed``), culling, taking fused tasks apart (``flattened``), the rest of
  packing, sending, and what is left (futures, waiting, the result);
* the client's other threads; the scheduler's process with all its threads;
* *tasks*: the functions alone, called once more in this process, one after the other;
* *workers*: all that they use beyond the tasks: reading, unpickling, measuring, transfers.

The calling thread's time is split by a stack of stopwatches around the functions of each step. Each
look at the clock costs 0.3 us or so, which lies in the figures.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from dask.core import flatten

from benchmarks import records
from benchmarks.driver import cpu_seconds, start_spanwise
from benchmarks.graphs import CASES, REAL
from benchmarks.systems import THREADS, WORKERS, round_settings
from benchmarks.verdicts import Figure
from spanwise.graph.prepare import prepare
from spanwise.graph.rows import needs_of
from spanwise.tests.packed_run import PackedRun

#: What issue 11 asks of our own part of the client's time, microseconds a task.
OURS_LIMIT = 25.0
DASK, NOTED, ATTRIBUTED, CULLED, FLATTENED, PACKED, SENT, REST = (
    "Dask",
    "noted",
    "attributed",
    "culled",
    "flattened",
    "packed",
    "sent",
    "rest",
)
OURS = (NOTED, ATTRIBUTED, CULLED, FLATTENED, PACKED, SENT, REST)

#: Function → the step that it is; within another step's function its time is its own.
STEPS = {
    "spanwise.client.dask_collections:collections_to_expr": DASK,
    "spanwise.client.dask_collections:FinalizeCompute": DASK,
    "dask._expr:Expr.optimize": DASK,
    "dask._expr:Expr.__dask_keys__": DASK,
    "dask._expr:HLGExpr.__dask_graph__": DASK,
    "dask._expr:HLGExpr._layer": DASK,
    "dask._expr:_HLGExprSequence.__dask_graph__": DASK,
    "dask._expr:Expr._layer": DASK,
    "spanwise.graph.attribution:ensure_dict": DASK,
    "spanwise.graph.attribution:array_rows": DASK,
    "spanwise.graph.prepare:convert_legacy_graph": DASK,
    "spanwise.graph.provenance:Provenance.note_layers": NOTED,
    "spanwise.graph.provenance:Provenance.note_expression": NOTED,
    "spanwise.graph.provenance:Provenance.note_graph": NOTED,
    "spanwise.graph.provenance:Provenance.note_collection": NOTED,
    "spanwise.graph.prepare:materialise": ATTRIBUTED,
    "spanwise.graph.prepare:cull": CULLED,
    "spanwise.graph.patterns:Patterns.take_apart": FLATTENED,
    "spanwise.graph.packs:_Packing._message": PACKED,
    "spanwise.client.session:Session.send_submit": SENT,
}


class Steps:
    """CPU seconds of one thread by the step that it is in."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack = [REST]
        self._since = time.thread_time()

    def _switch(self) -> None:
        now = time.thread_time()
        step = self._stack[-1]
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._since
        self._since = now

    def around(self, function: Callable[..., Any], step: str) -> Callable[..., Any]:
        """The function, with its time counted to `step`."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            self._switch()
            self._stack.append(step)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self._stack.pop()

        return timed

    def begin(self) -> None:
        """Count from now on."""
        self.seconds = {}
        self._since = time.thread_time()

    def end(self) -> dict[str, float]:
        """The seconds since the beginning."""
        self._switch()
        return self.seconds.copy()


@contextmanager
def stopwatches() -> Iterator[Steps]:
    """Stopwatches around the functions of each step, of this process."""
    steps = Steps()
    before: list[tuple[Any, str, Any]] = []
    for path, step in STEPS.items():
        module, _, names = path.partition(":")
        *owners, name = names.split(".")
        owner: Any = importlib.import_module(module)
        for each in owners:
            owner = getattr(owner, each)
        found = owner.__dict__.get(name)
        if found is None:
            continue  # it has the method from another class of the list
        before.append((owner, name, found))
        setattr(owner, name, steps.around(found, step))
    try:
        yield steps
    finally:
        for owner, name, found in reversed(before):
            setattr(owner, name, found)


class _UntilUsed(dict[int, Any]):
    """Results by number, each until its last user has taken it."""

    def __init__(self, uses: Counter[int]) -> None:
        super().__init__()
        self._uses = uses

    def __getitem__(self, number: int) -> Any:
        self._uses[number] -= 1
        return super().__getitem__(number) if self._uses[number] else self.pop(number)


class Alone(PackedRun):
    """In place of a client: runs a collection's tasks here, and counts their CPU time alone."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def compute(self, collection: Any) -> Any:
        """Something whose ``result()`` is there already."""
        import dask

        (value,) = dask.compute(collection, scheduler=self.get)
        return SimpleNamespace(result=lambda: value)

    def get(self, dsk: Any, keys: Any, **kwargs: Any) -> Any:
        """One graph, whose results do not stay longer than a cluster would keep them."""
        graph = prepare(dsk, keys, self.provenance)
        numbers = {key: number for number, key in enumerate(graph.nodes)}
        wanted = [numbers[key] for key in flatten(keys)]
        needed = (each for node in graph.nodes.values() for each in needs_of(node))
        self.values = _UntilUsed(Counter([*(numbers[each] for each in needed), *wanted]))
        for message in self.packer.pack(graph, {}, set(flatten(keys)), 0):
            self._run(message)
        found = iter([self.values[number] for number in wanted])
        return _laid_out(keys, found)

    def call(self, run: Any, literals: Any, values: list[Any]) -> Any:
        """One part, with the clock beside it."""
        begun = time.thread_time()
        try:
            return run(literals, values)
        finally:
            self.seconds += time.thread_time() - begun


def _laid_out(keys: Any, found: Iterator[Any]) -> Any:
    if isinstance(keys, list):
        return [_laid_out(each, found) for each in keys]
    return next(found)


def one_round(steps: Steps, client: Any, case: str, size: int, salt: str) -> dict[str, float]:
    """Microseconds a task by part."""
    import spanwise

    work = CASES[case].build(salt, size)
    tasks = work.tasks() if callable(work.tasks) else work.tasks
    gc.collect()
    before = cpu_seconds()
    begun = time.thread_time()
    started = time.perf_counter()
    steps.begin()
    with spanwise.span(case):
        result = work.run(client)
    by_step = steps.end()
    caller = time.thread_time() - begun
    wall = time.perf_counter() - started
    used: dict[str, float] = {}
    for pid, (role, seconds) in cpu_seconds().items():
        used[role] = used.get(role, 0.0) + seconds - before.get(pid, (role, 0.0))[1]
    if result != work.expected:
        raise AssertionError(f"{case}: the result is wrong: {str(result)[:200]}")
    alone = Alone()
    work.run(alone)
    found = {
        **{step: by_step.get(step, 0.0) for step in (DASK, *OURS)},
        "ours in the client": sum(by_step.get(step, 0.0) for step in OURS),
        "client's other threads": used["client"] - caller,
        "scheduler": used.get("scheduler", 0.0),
        "observer": used.get("observer", 0.0),
        "workers": used.get("worker", 0.0) - alone.seconds,
        "tasks": alone.seconds,
        "wall": wall,
    }
    return {"count": tasks, **{name: 1e6 * each / tasks for name, each in found.items()}}


def figures_of(case: str, rounds: list[dict[str, float]]) -> list[Figure]:
    """Per part the microseconds a task of each round."""
    row = f"{case} ({int(rounds[0]['count']):,} tasks)"
    names = (DASK, "ours in the client", *OURS, "client's other threads", "scheduler")
    return [
        Figure(
            row,
            name,
            "us",
            "lower",
            tuple(each[name] for each in rounds),
            limit=OURS_LIMIT if name == "ours in the client" else None,
        )
        for name in (*names, "workers", "tasks", "wall")
    ]


def report(case: str, rounds: list[dict[str, float]]) -> str:
    """The parts of a case, in one line each."""
    lines = ["", f"{case}  ({int(rounds[0]['count']):,} tasks), us a task"]
    for name in rounds[0]:
        if name != "count":
            values = [each[name] for each in rounds]
            middle = statistics.median(values)
            lines.append(f"  {name:24s} {middle:9.2f}   ({min(values):.2f} – {max(values):.2f})")
    return "\n".join(lines)


def main() -> int:
    """Run, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that it runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", action="append", choices=list(REAL))
    records.add_option(parser)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Increasing number of chunks")
    # A smoke run has no warm-up, and one worker: each imports the libraries of all cases.
    rounds, uncounted, workers = (1, 0, 1) if options.smoke else (options.rounds, 1, WORKERS)
    figures: list[Figure] = []
    # Before the client: it has Dask's constructors call what notes where layers were written.
    with stopwatches() as steps:
        client = start_spanwise(workers, THREADS, recording=True)
        try:
            for case in options.case or REAL:
                size = CASES[case].smoke if options.smoke else CASES[case].full
                found = [
                    one_round(steps, client, case, size, f"d-{number}")
                    for number in range(uncounted + rounds)
                ][uncounted:]
                print(report(case, found), flush=True)
                figures += figures_of(case, found)
        finally:
            client.close()
    settings = round_settings(rounds, uncounted, options.smoke) | {"workers": workers}
    records.hand_over(options, settings, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
