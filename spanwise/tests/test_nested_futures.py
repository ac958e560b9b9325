"""Futures that are not plain arguments: within partials, closures, defaults, objects, graphs."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
import pytest
from dask import delayed
from dask._task_spec import Dict, List, Task

from spanwise import wait
from spanwise.errors import CancelledError, ClusterError
from spanwise.tests.client_scheduler import LocalClient
from spanwise.tests.test_client import increment

LIMIT = 60.0


def test_partials_are_taken_apart(client: LocalClient) -> None:
    two = client.submit(increment, 1)
    assert client.submit(partial(operator.add, two), 5).result(LIMIT) == 7
    assert client.submit(partial(sum, [two, 3]), 10).result(LIMIT) == 15
    assert client.gather(client.map(partial(operator.sub, two), range(3))) == [2, 1, 0]
    assert client.submit(partial(dict, a=two), b={"c": two}).result(LIMIT) == {
        "a": 2,
        "b": {"c": 2},
    }
    assert client.submit(partial(dict, a=two), a=9).result(LIMIT) == {"a": 9}
    assert client.submit(partial(operator.add, 1), 5).result(LIMIT) == 6


def test_partials_with_different_futures_have_different_keys(client: LocalClient) -> None:
    two, three = client.map(increment, [1, 2])
    one = client.submit(partial(operator.add, two), 5)
    other = client.submit(partial(operator.add, three), 5)
    assert one.key != other.key
    assert client.submit(partial(operator.add, two), 5).key == one.key
    assert client.gather([one, other]) == [7, 8]


class _Holder:
    def __init__(self, future: Any) -> None:
        self.future = future


def _with_default(future: Any) -> Callable[[], Any]:
    def function(value: Any = future) -> Any:
        return value

    return function


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "closure": lambda client, future: client.submit(lambda: future),
    "default argument": lambda client, future: client.submit(_with_default(future)),
    "attribute": lambda client, future: client.submit(id, _Holder(future)),
    "method": lambda client, future: client.map(_Holder(future).__eq__, [1]),
    "delayed closure": lambda _, future: delayed(lambda: future)().compute(),
    "delayed partial": lambda _, future: delayed(partial(increment, future))().compute(),
    "collection": lambda client, _: client.submit(id, da.ones(2, chunks=1).persist()),
    "scatter": lambda client, future: client.scatter([future]),
    "run": lambda client, future: client.run(increment, future),
}


@pytest.mark.parametrize("way", WAYS)
def test_elsewhere_they_are_refused_with_what_to_do(client: LocalClient, way: str) -> None:
    future = client.submit(increment, 1)
    with pytest.raises(TypeError, match="Pass the future as an argument of the call"):
        WAYS[way](client, future)
    assert client.submit(increment, future).result(LIMIT) == 3, "the client goes on"


#: Each needs the future's result, and says which error it meets.
NEEDING: dict[str, Callable[[LocalClient, Any], BaseException | None]] = {
    "argument": lambda client, future: client.submit(str, future).exception(LIMIT),
    "keyword": lambda client, future: client.submit(dict, a=future).exception(LIMIT),
    "list": lambda client, future: client.submit(len, [1, future]).exception(LIMIT),
    "dictionary": lambda client, future: client.submit(len, {"a": (future,)}).exception(LIMIT),
    "partial": lambda client, future: client.submit(partial(len, [future])).exception(LIMIT),
    "map": lambda client, future: client.map(len, [[future]])[0].exception(LIMIT),
    "delayed": lambda client, future: client.compute(delayed(len)([future])).exception(LIMIT),
}


@pytest.mark.parametrize("needing", NEEDING)
def test_what_needs_a_failed_result_fails_with_its_error(client: LocalClient, needing: str) -> None:
    failed = client.submit(operator.truediv, 1, 0)
    wait(failed, timeout=LIMIT)
    assert failed.status == "error"
    error = NEEDING[needing](client, failed)
    assert isinstance(error, ZeroDivisionError)
    assert client.submit(increment, 1).result(LIMIT) == 2, "the client goes on"


@pytest.mark.parametrize("needing", [each for each in NEEDING if each != "argument"])
def test_what_needs_a_cancelled_result_is_refused(client: LocalClient, needing: str) -> None:
    cancelled = client.submit(operator.truediv, 1, 0)
    cancelled.cancel()
    with pytest.raises((ClusterError, CancelledError)):
        NEEDING[needing](client, cancelled)
    assert client.submit(increment, 1).result(LIMIT) == 2, "the client goes on"


def test_a_collection_of_which_a_part_has_failed(client: LocalClient) -> None:
    def first_fails(block: Any, block_id: Any = None) -> Any:
        return block if block_id != (0,) else block / "nothing"

    failed = da.ones(4, chunks=2).map_blocks(first_fails, dtype=float).persist()
    with pytest.raises(TypeError):
        failed.sum().compute()
    with pytest.raises(TypeError):
        client.gather(client.compute((failed + 1).sum()))


def test_copies_are_the_future_itself(client: LocalClient) -> None:
    future = client.submit(increment, 1)
    assert copy.copy(future) is future
    assert copy.deepcopy({"a": [future]})["a"][0] is future


class _Own(Task):
    """A node with its own way to run, which is sent whole."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        return super().__call__(values)


def test_nodes_that_are_sent_whole_keep_their_inputs(client: LocalClient) -> None:
    two = client.submit(increment, 1)
    graph = {"whole": _Own("whole", dict, a=two, b=1), "last": _Own("last", operator.add, two, two)}
    assert client.get(graph, ["whole", "last"]) == [{"a": 2, "b": 1}, 4]
    assert client.submit(increment, two).result(LIMIT) == 3


def called(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def test_of_nodes_that_are_sent_whole_no_future_is_pickled(client: LocalClient) -> None:
    two, three = client.submit(increment, 1), client.submit(increment, 2)
    first = Task("first", operator.sub, three, two)
    fused = Task.fuse(first, Task("fused", called, first.ref(), List(two, 5)))
    graph = {
        "listed": _Own("listed", called, List(two, List(three, 7)), x=three),
        # Nobody's optimiser puts a fused task into another one's argument: it is not taken apart.
        "around": Task("around", called, 1, fused, x=Dict(a=three)),
    }
    assert client.get(graph, ["listed", "around"]) == [
        (([2, [3, 7]],), {"x": 3}),
        ((1, ((1, [2, 5]), {})), {"x": {"a": 3}}),
    ]


def test_persisted_collections_are_computed_on(client: LocalClient) -> None:
    kept = da.ones(4, chunks=2).persist()
    assert (kept + 1).sum().compute() == 8
    lazy = delayed(sum)([client.submit(increment, 1), delayed(increment)(2)])
    assert lazy.persist().compute() == 5
