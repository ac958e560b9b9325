"""A graph that is large to send is warned of, as by `distributed`, with what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

from spanwise import Client
from spanwise.tests.processes import LIMIT_SECONDS

SETTING = "distributed.admin.large-graph-warning-threshold"
#: Above the limit that tests set, and what they send then.
LIMIT, LARGE = "1MB", 2_000_000


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


def length(value: Any, *_: Any, **__: Any) -> int:
    return len(value)


def told(call: Callable[[], Any]) -> list[str]:
    """What users are warned of, with the line at which Python shows it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    for each in found:
        assert each.category is UserWarning and each.filename == __file__
    return [str(each.message) for each in found]


def test_the_limit_is_distributeds(client: Client) -> None:
    assert dask.config.get(SETTING) == "10MB"
    small, large = bytes(9_000_000), bytes(11_000_000)
    assert told(lambda: client.submit(length, small).result(LIMIT_SECONDS)) == []
    (sentence,) = told(lambda: client.submit(length, large).result(LIMIT_SECONDS))
    assert sentence == (
        "A graph holds values of 10.49 MiB; 10.49 MiB of it are arguments of one task length. The "
        "scheduler keeps them as long as the tasks, and workers get copies. Bring large values to "
        "the workers once, future = client.scatter(value), and give the future to the tasks in "
        "place of the value; or let tasks load their own data. (The limit is "
        "distributed.admin.large-graph-warning-threshold, 10MB.)"
    )


def test_what_most_of_it_is(client: Client) -> None:
    large, array = bytes(LARGE), np.zeros(LARGE // 8)

    def closes_over() -> int:
        return len(large)

    cases: list[tuple[str, Callable[[], Any]]] = [
        (
            "arguments of one task length",
            lambda: client.submit(length, large, pure=False),
        ),
        (
            "arguments of one task length",
            lambda: client.map(length, [large, b"", b"", b""], pure=False),
        ),
        (
            r"arguments of \d+ tasks length",
            lambda: client.map(length, [bytes([i]) * 9_000 for i in range(250)]),
        ),
        (
            "the function closes_over, with values that it refers to and its keyword arguments",
            lambda: client.submit(closes_over),
        ),
        (
            "the function length, with values that it refers to and its keyword arguments",
            lambda: client.submit(length, b"", value=large),
        ),
        (
            r"arguments of one task array\S*",
            lambda: client.compute(da.from_array(array, chunks=-1).sum()),
        ),
        (
            "arguments of one task length",
            lambda: client.compute(dask.delayed(length)(large)),
        ),
        (
            r"arguments of one task array\S*",
            lambda: client.persist(da.from_array(array, chunks=-1) + 1),
        ),
    ]
    with dask.config.set({SETTING: LIMIT}):
        for what, call in cases:
            found = told(call)
            assert len(found) == 1, (what, found)
            sentence = found[0]
            assert re.search(rf"; [\d.]+ [kM]iB of it are {what}\. The scheduler", sentence), (
                sentence
            )


def test_a_graph_in_several_messages_is_warned_of_once(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):
        rows = [bytes([i % 256]) * 2000 for i in range(10_000)]
        (sentence,) = told(lambda: client.gather(client.map(length, rows, pure=False)))
    assert re.search(r"values of 19\.\d+ MiB; .* of it are arguments of 256 tasks length", sentence)


def test_many_tasks_with_small_arguments_are_no_large_graph(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):
        rows = [bytes([i % 256]) * 200 for i in range(20_000)]
        assert told(lambda: client.gather(client.map(length, rows, pure=False))) == []


def test_what_is_scattered_is_not_sent_again(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}):

        def scattered() -> None:
            future = client.scatter(bytes(LARGE))
            assert client.submit(length, future).result(LIMIT_SECONDS) == LARGE

        assert told(scattered) == []


def test_where_warnings_are_errors_nothing_is_left(client: Client) -> None:
    with dask.config.set({SETTING: LIMIT}), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="A graph holds values"):
            client.submit(length, bytes(LARGE), key="left-1")
        with pytest.raises(UserWarning, match="A graph holds values"):
            client.compute(dask.delayed(length)(bytes(LARGE), dask_key_name="left-2"))
    client._session.let_go()
    assert not [key for key in client.futures if str(key).startswith("left")]


def test_a_limit_of_ours_goes_first_and_one_that_cannot_be_is_named(client: Client) -> None:
    ours = "spanwise.admin.large-graph-warning-threshold"
    with dask.config.set({SETTING: LIMIT, ours: "1GB"}):
        assert told(lambda: client.submit(length, bytes(LARGE + 1))) == []
    with (
        dask.config.set({ours: "much"}),
        pytest.raises(ValueError, match=f"{ours} is a number of bytes, such as .10MB.: not 'much'"),
    ):
        client.submit(length, bytes(LARGE + 2))


def test_distributed_warns_where_we_do() -> None:
    """Of the same graph, with the same limit: in its own words."""
    calls: list[Callable[[Any], Any]] = [
        lambda client: client.submit(len, bytes(LARGE), pure=False),
        lambda client: client.map(len, [bytes(LARGE)], pure=False),
        lambda client: client.compute(dask.delayed(len)(bytes(LARGE))),
        lambda client: client.submit(len, bytes(1000)),
    ]
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as theirs,
        Client(n_workers=1, threads_per_worker=1) as ours,
        dask.config.set({SETTING: LIMIT}),
    ):
        for call in calls:
            kinds = []
            for client in (theirs, ours):
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    call(client)
                kinds.append({each.category for each in found})
            assert kinds[0] == kinds[1]
