"""Random graphs: observed and unobserved runs have one result, one error, one order of events."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import dask.local
import dask.threaded
import pytest
from dask._task_spec import Alias, DataNode, Dict, GraphNode, List, Task, TaskRef
from dask.callbacks import Callback
from dask.diagnostics import Profiler
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.local.observe import Observation

_serial = itertools.count()


class Refused(Exception):
    """The error of some tasks."""


class OwnWay(Task):
    """A node of somebody else's class, which runs in its own way."""

    def __call__(self, values: Any = ()) -> Any:
        return ("own way", super().__call__(values))


def combine(*inputs: Any, fails: bool = False) -> Any:
    if fails:
        raise Refused(len(inputs))
    return (len(inputs), *inputs)


#: Per node: its kind, and which of the nodes before it are its inputs (modulo their number).
graphs = st.lists(
    st.tuples(
        st.sampled_from(["call", "call", "list", "dict", "alias", "data", "own", "fused", "fails"]),
        st.lists(st.integers(0, 50), max_size=4),
    ),
    min_size=1,
    max_size=14,
)


def graph_of(described: list[tuple[str, list[int]]], fails: bool) -> dict[Any, GraphNode]:
    """The graph; keys are of this example alone."""
    example = f"e{next(_serial)}"
    nodes: dict[Any, GraphNode] = {}
    for number, (kind, chosen) in enumerate(described):
        key: Any = (example, number) if number % 2 else f"{example}-{number}"
        refs = [TaskRef(list(nodes)[each % number]) for each in chosen] if number else []
        if kind == "data" or (kind == "alias" and not refs):
            nodes[key] = DataNode(key, number)
        elif kind == "alias":
            nodes[key] = Alias(key, refs[0].key)
        elif kind == "list":
            nodes[key] = Task(key, combine, List(*refs), number)
        elif kind == "dict":
            nodes[key] = Task(key, combine, Dict({str(n): ref for n, ref in enumerate(refs)}))
        elif kind == "own":
            nodes[key] = OwnWay(key, combine, *refs)
        elif kind == "fused":
            first = Task((example, "inner", number), combine, *refs)
            nodes[key] = GraphNode.fuse(first, Task(key, combine, first.ref(), number), key=key)
        else:
            nodes[key] = Task(key, combine, *refs, fails=kind == "fails" and fails)
    return nodes


class Events(Callback):
    """The events of a callback, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def _start(self, dsk: Any) -> None:
        self.told.append(("start", set(dsk)))

    def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
        self.told.append(("pretask", key))

    def _posttask(self, key: Any, value: Any, dsk: Any, state: Any, worker: Any) -> None:
        self.told.append(("posttask", key, value))

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        # (a task that failed may stand there as it was measured, if this is told first)
        self.told.append(("finish", errored, dict(dsk), [repr(node) for node in dsk.values()]))


def outcome(get: Callable[..., Any], graph: dict[Any, GraphNode], keys: list[Any]) -> Any:
    try:
        return get(dict(graph), keys, num_workers=2)
    except Refused as error:
        return str(error)


@pytest.fixture(scope="module")
def seen() -> Iterator[Observation]:
    with spanwise.observe("graphs") as seen:
        yield seen
    seen.close()


@given(graphs, st.booleans(), st.lists(st.integers(0, 50), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_nobody_can_tell_that_a_run_is_observed(
    seen: Observation,
    described: list[tuple[str, list[int]]],
    fails: bool,
    wanted: list[int],
) -> None:
    graph = graph_of(described, fails)
    keys = [list(graph)[each % len(graph)] for each in wanted]
    with Events() as observed_events, Profiler() as profiler:
        observed = outcome(dask.local.get_sync, graph, keys)
    assert seen._runs is not None
    seen._runs.closed = True
    try:
        with Events() as plain_events:
            plain = outcome(dask.local.get_sync, graph, keys)
    finally:
        seen._runs.closed = False
        seen._runs.stay_registered()
    assert observed == plain
    assert observed_events.told == plain_events.told
    threaded = outcome(dask.threaded.get, graph, keys)
    if not isinstance(plain, str):
        # (of several tasks that fail, any may be the first on threads)
        assert threaded == plain
    _profiled.update(str(each.key) for each in profiler.results)
    if not isinstance(plain, str):
        _profiled.update(str(each.key) for each in profiler.results)
    else:
        _uncertain.update(str(key) for key in graph)


#: What the examples above have run, by the Profiler's account.
_profiled: Counter[str] = Counter()
_uncertain: set[str] = set()


def test_all_of_that_is_in_the_record(seen: Observation) -> None:
    recorded = Counter(
        record["key"] for record in seen.get_task_stream() if record["status"] == "OK"
    )
    assert sum(_profiled.values()) > 100
    for counted in (recorded, _profiled):
        for key in _uncertain:
            del counted[key]
    assert recorded == _profiled
