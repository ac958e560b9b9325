"""Real clusters of one thread hold few loads at once: beside ``distributed``, in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.tests.held_loads import LOADS, fold_over_loads, reduced_loads, take_peak

pytestmark = pytest.mark.slow


def peak_of(client: Any, make: Callable[[], Any]) -> int:
    """The most bytes of loads and sums alive at once in the one worker."""
    client.run(take_peak)
    result = make()
    assert client.compute(result).result(timeout=100) == sum(range(LOADS))
    (peak,) = client.run(take_peak).values()
    return int(peak)


@pytest.fixture(scope="module")
def distributed_client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


@pytest.mark.parametrize("make", [fold_over_loads, reduced_loads])
def test_as_many_loads_are_held_as_by_distributed(
    make: Callable[[], Any], distributed_client: Any
) -> None:
    theirs = peak_of(distributed_client, make)
    with spanwise.Client(n_workers=1, threads_per_worker=1) as client:
        ours = max(peak_of(client, make) for _ in range(3))
    assert ours <= 1.3 * theirs
