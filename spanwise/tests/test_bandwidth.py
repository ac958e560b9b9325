"""How fast results go from worker to worker, by pair and by type: Q-10, Q-11, Q-22 among it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from spanwise import Client
from spanwise.observed.bandwidth import bandwidth_of
from spanwise.tests.marks import now_of

MIB = 2**20


def answer(**changes: Any) -> dict[str, Any]:
    sums = {"count": [3, 1], "bytes": [900.0, 5.0]}
    large = {"largeBytes": [800.0, 0.0], "largeSeconds": [4.0, 0.0]}
    return {
        "total": {"count": 4, "bytes": 905.0, "largeBytes": 800.0, "largeSeconds": 4.0},
        "workers": [
            {"worker": 3, "name": "worker-3", "address": "tcp://three"},
            {"worker": 5, "name": "worker-5", "address": ""},
        ],
        "pairs": {"from": [3, 5], "to": [5, 3], **sums, **large},
        "types": {"type": ["numpy:ndarray", "m:A.B"], **sums, **large},
        **changes,
    }


def test_q10_a_rate_is_all_bytes_by_all_seconds() -> None:
    told = bandwidth_of(answer())
    assert told["total"] == 200.0
    assert told["types"] == {"numpy.ndarray": 200.0}


def test_q11_the_source_is_who_had_the_result() -> None:
    one, other = bandwidth_of(answer())["workers"]
    assert one == {
        "source": "tcp://three",
        "destination": "worker-5",
        "bandwidth": 200.0,
        "bytes": 900,
        "count": 3,
    }
    # Of small ones alone there is no rate.
    assert (other["source"], other["bandwidth"], other["bytes"]) == ("worker-5", None, 5)


@pytest.mark.parametrize(
    "name, typename",
    [("builtins:list", "list"), ("m:A.B", "m.B"), ("pandas.core.frame:DataFrame", None)],
)
def test_types_are_named_as_dask_names_them(name: str, typename: str | None) -> None:
    types = {"type": [name], "largeBytes": [1.0], "largeSeconds": [1.0]}
    (found,) = bandwidth_of(answer(types=types))["types"]
    assert found == (typename or name.replace(":", "."))


@pytest.mark.parametrize(
    "changes", [{"workers": []}, {"pairs": {}}, {"total": {}}, {"types": {"type": []}}]
)
def test_what_is_no_answer_is_refused(changes: Any) -> None:
    with pytest.raises((LookupError, TypeError, ValueError)):
        bandwidth_of(answer(**changes))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


def length(value: Any) -> int:
    return len(value)


def move(client: Client, source: str, destination: str, value: Any) -> None:
    made = client.submit(value, workers=[source], pure=False)
    client.submit(length, made, workers=[destination], pure=False).result()


def large_array() -> Any:
    return np.ones(MIB)


def large_bytes() -> bytes:
    return bytes(2 * MIB)


def large_mix() -> list[Any]:
    return [np.ones(MIB), 7]


def test_it_is_as_measured(client: Client) -> None:
    here, there = client.nthreads()
    begin = now_of(client)
    for value in (large_array, large_array, large_bytes):
        move(client, here, there, value)
    told = client.bandwidth(start=begin)
    (pair,) = told["workers"]
    assert (pair["source"], pair["destination"]) == (here, there)
    assert 18 * MIB <= pair["bytes"] < 18.1 * MIB and pair["count"] == 3
    # (an array may come as memory that both see: that takes next to no time)
    assert pair["bandwidth"] == told["total"] > 1e6
    assert set(told["types"]) == {"numpy.ndarray", "bytes"}
    # As the logs of the workers have it, whose time includes unpickling.
    log = client.run(lambda dask_worker: dask_worker.transfer_incoming_log)[there]
    seconds = sum(each["duration"] for each in log if each["start"] >= begin)
    assert pair["bytes"] / pair["bandwidth"] <= seconds


def test_the_other_way_is_another_pair(client: Client) -> None:
    here, there = client.nthreads()
    begin = now_of(client)
    move(client, there, here, large_array)
    end = now_of(client)
    move(client, here, there, large_mix)
    (pair,) = client.bandwidth(begin, end)["workers"]
    assert (pair["source"], pair["destination"]) == (there, here)
    told = client.bandwidth(start=end)
    assert [each["source"] for each in told["workers"]] == [here]
    assert set(told["types"]) == {"list"}


def test_what_was_not_measured_is_none(client: Client) -> None:
    told = client.bandwidth(start=now_of(client))
    assert told == {"total": None, "types": {}, "workers": []}


def test_q22_no_figure_is_a_sum_of_rates(client: Client) -> None:
    here, there = client.nthreads()
    move(client, here, there, large_array)
    assert not [key for key in client.fine_metrics() if "bandwidth" in key[2]]
