"""Tasks of arrays that are made as rows are sent as their nodes would be, and give what Dask does.

What was sent is opened: tasks of one template may lie in other chunks.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import cloudpickle
import dask.array as da
import numpy as np
import pytest
from dask.base import collections_to_expr
from dask.core import flatten
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import span
from spanwise.graph.packs import SubmitMessage
from spanwise.graph.prepare import PreparedGraph, prepare
from spanwise.graph.private_dask import FinalizeCompute, execute_subgraph
from spanwise.graph.rows import nodes_of
from spanwise.records.enumerations import FLAG_FUSED, NONE_U32
from spanwise.tests.drawn_arrays import drawn_array
from spanwise.tests.packed_run import PackedRun
from spanwise.tests.same_results import assert_same
from spanwise.tests.test_array_graph import ARRAYS


def _expression(collection: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FinalizeCompute(collections_to_expr([collection], True)).optimize()


def _prepared(collection: Any, run: PackedRun) -> tuple[list[Any], PreparedGraph]:
    expression = _expression(collection)
    keys = list(flatten(expression.__dask_keys__()))
    return keys, prepare(expression, keys, run.provenance)


class _Opened:
    """What the messages of one graph say of each of its tasks."""

    def __init__(self, run: PackedRun) -> None:
        self._run = run
        self._templates: dict[int, bytes] = {}
        self._texts: list[str] = []

    def tasks(self, graph: PreparedGraph, keys: list[Any]) -> list[Any]:
        found: list[Any] = []
        for message in self._run.packer.pack(graph, {}, set(keys), 0):
            found += self._of(message)
        return found

    def _of(self, message: SubmitMessage) -> list[Any]:
        fields, tasks, blobs = message.fields, message.tasks, message.blobs
        self._texts += fields["names"]
        for row in fields["spans"]:
            self._run.tags[row["id"]] = (*self._run.tags[row["parent"]], row["tag"])
        self._templates.update({row["id"]: blobs[row["blob"]] for row in fields["templates"]})
        chunks = {row["id"]: pickle.loads(blobs[row["blob"]]) for row in fields["chunks"]}
        text = bytes(blobs[fields["keysBlob"]]).decode()
        ends = [*tasks["suffix"][1:], len(text)]
        stops = [*tasks["firstDependency"][1:], len(message.dependencies)]
        return [
            (
                self._texts[tasks["group"][i]] + text[tasks["suffix"][i] : ends[i]],
                self._texts[tasks["function"][i]],
                self._templates.get(tasks["template"][i]),
                list(message.dependencies[tasks["firstDependency"][i] : stops[i]]),
                # One by one: what several have in common is pickled once.
                None
                if tasks["chunk"][i] == NONE_U32
                else list(map(cloudpickle.dumps, chunks[tasks["chunk"][i]][tasks["row"][i]])),
                *[tasks[name][i] for name in ("flags", "span", "origin")],
            )
            for i in range(len(tasks["id"]))
        ]


def both_ways(collection: Any) -> int:
    """Send a program as rows and as nodes, compare; how many rows there were."""
    one, other = PackedRun(), PackedRun()
    keys, graph = _prepared(collection, one)
    count = sum(type(each) is tuple for each in graph.nodes.values())
    mine = _Opened(one).tasks(graph, keys)
    nodes = graph.nodes = nodes_of(graph.nodes)  # type: ignore[assignment]
    theirs = _Opened(other).tasks(graph, keys)
    for sent, expected, node in zip(mine, theirs, nodes.values(), strict=True):
        if getattr(node, "func", None) is execute_subgraph and not expected[-3] & FLAG_FUSED:
            sent, expected = sent[:-2], expected[:-2]  # a node is looked up by its own key
        assert sent == expected
    return count


@pytest.mark.parametrize("name", ARRAYS)
def test_rows_are_sent_as_their_nodes_are(name: str) -> None:
    with span("written here"):
        collection = ARRAYS[name]()
    both_ways(collection)


def test_lines_that_only_hand_on_a_block_keep_their_span() -> None:
    """In a line of data and an alias nothing is called, and no part is named."""
    with span("written here"):
        collection = ARRAYS["overlap"]()
    run = PackedRun()
    keys, graph = _prepared(collection, run)
    tasks = _Opened(run).tasks(graph, keys)
    lines = [task for task in tasks if task[0].startswith("('array-concatenate-")]
    assert lines and all(run.tags[each[-2]] == ("written here",) for each in lines)


def test_blocks_that_need_one_array_twice_are_told_apart() -> None:
    """In a line: what a part of it needs is put in order by the keys."""
    array = da.from_array(np.arange(36).reshape(6, 6), chunks=2)
    assert both_ways(da.concatenate([array * 3 + array.T, array])) > 5


@given(st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=60)
def test_drawn_programs_give_what_dask_does(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # One for each: Dask keeps the tasks of a layer that it has made.
        expected = drawn_array(seed).compute(scheduler="sync")
        assert_same(drawn_array(seed).compute(scheduler=PackedRun().get), expected)
        both_ways(drawn_array(seed))
