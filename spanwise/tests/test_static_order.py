"""The static order against ``dask.order.order``, on drawn and on realistic graphs (§6.7)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import hypothesis.strategies as st
import pytest
from dask._task_spec import List, Task, TaskRef
from hypothesis import given

from spanwise.graph.cull import cull
from spanwise.tests.static_orders import DRAWN, Compared, as_dask, bundle_program, compare_under

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    """2,100 drawn graphs and 24 realistic ones in processes of five hash seeds."""
    program = bundle_program(tmp_path_factory.mktemp("order"))
    return compare_under(program, range(1, 6), common=10, own=58)


@pytest.mark.slow
def test_orders_hold_no_more_than_dasks(compared: list[Compared]) -> None:
    families = defaultdict(list)
    for each in compared:
        ratio = each.ours / each.dasks
        family = each.name.rstrip(" 0123456789")
        families[family if family in DRAWN else "arrays, dataframes, bags"].append(ratio)
        assert ratio <= 2, each
    for family, ratios in families.items():
        assert sum(ratios) / len(ratios) <= 1.1, family
    assert len({each.digest for each in compared}) > 2_000


@pytest.mark.slow
def test_orders_are_the_same_under_each_hash_seed(compared: list[Compared]) -> None:
    """Dask itself makes other graphs of two collections; equal graphs have equal orders."""
    peaks = defaultdict(set)
    for each in compared:
        peaks[each.digest].add(each.ours)
    assert [held for held in peaks.values() if len(held) > 1] == []
    digests = defaultdict(set)
    for each in compared:
        if "fused" in each.name:
            digests[each.name].add(each.digest)
    assert sum(len(found) == 1 for found in digests.values()) >= len(digests) - 2


@st.composite
def graphs(draw: Any) -> dict[Any, Task]:
    """Random graphs, scrambled, whose tasks name some of their inputs twice or in lists."""
    count = draw(st.integers(1, 30))
    graph: dict[Any, Task] = {}
    for number in range(count):
        inputs = draw(st.lists(st.integers(0, number - 1), max_size=4)) if number else []
        references = [TaskRef(f"t-{each}") for each in inputs]
        graph[f"t-{number}"] = Task(f"t-{number}", max, 0, *references[:2], List(*references[2:]))
    return {key: graph[key] for key in draw(st.permutations(list(graph)))}


@given(graphs(), st.data())
def test_inputs_are_submitted_before_their_users(graph: dict[Any, Task], data: Any) -> None:
    requested = data.draw(st.lists(st.sampled_from(list(graph)), min_size=1))
    held = data.draw(st.sets(st.sampled_from(list(graph))))
    nodes, external = cull(graph, requested, held)
    assert external <= held and external.isdisjoint(nodes)
    needed = set(requested) - held
    for key, node in reversed(nodes.items()):
        assert key in needed and node is graph[key]
        needed |= node.dependencies - held
    assert needed == set(nodes)
    seen: set[Any] = set()
    for key, node in nodes.items():
        assert node.dependencies <= seen | external
        seen.add(key)


def test_ways_through_a_graph_are_those_of_its_arguments() -> None:
    loads = [f"load-{number}" for number in range(100)]
    graph = {key: Task(key, abs, 1) for key in sorted(loads, key=hash)}
    graph["all"] = Task("all", sum, List(*(TaskRef(key) for key in loads)))
    assert list(cull(graph, ["all"], ())[0]) == [*loads, "all"]
    # The same where some are shared.
    graph["two"] = Task("two", max, TaskRef(loads[7]), TaskRef(loads[3]))
    assert list(cull(graph, ["two", "all"], ())[0]) == [
        *(loads[7], loads[3], "two"),
        *(load for load in loads if load not in (loads[7], loads[3])),
        "all",
    ]


def test_cycles_are_named() -> None:
    graph = as_dask([[1], [2], [0], [0, 1]])
    with pytest.raises(RuntimeError, match=r"cycle: (k00000[012]( -> |$)){4}"):
        cull(graph, ["k000003"], ())
    with pytest.raises(RuntimeError, match="cycle: k000000 -> k000000"):
        cull(as_dask([[0]]), ["k000000"], ())
