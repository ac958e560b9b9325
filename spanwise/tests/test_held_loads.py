"""Real clusters of one thread hold few loads at once: beside ``distributed``, in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.tests.held_loads import LOADS, fold_over_loads, reduced_loads, take_peak

pytestmark = pytest.mark.slow

GOOD_ROUNDS, MOST_ROUNDS = 3, 15


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
    peaks: list[int] = []
    with spanwise.Client(n_workers=1, threads_per_worker=1) as client:
        # While the scheduler gets no core the worker goes on, and nothing is released: such a
        # round is repeated.
        while _count_low(peaks, theirs) < GOOD_ROUNDS and len(peaks) < MOST_ROUNDS:
            peaks.append(peak_of(client, make))
    assert _count_low(peaks, theirs) == GOOD_ROUNDS, (peaks, theirs)


def _count_low(peaks: list[int], theirs: int) -> int:
    return sum(peak <= 1.3 * theirs for peak in peaks)
