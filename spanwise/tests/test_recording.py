"""With ``spanwise.recording: False`` nothing is written down, and all else is as before."""

from __future__ import annotations

import time
from collections.abc import Iterator

import dask
import pytest

from spanwise import Client, MemorySampler, span
from spanwise.errors import ClusterError
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import processes_of


@pytest.fixture
def known() -> set[int]:
    return set(marked_processes())


@pytest.fixture
def unrecorded(known: set[int]) -> Iterator[Client]:
    with (
        dask.config.set({"spanwise.recording": False}),
        Client(n_workers=2, threads_per_worker=1) as client,
    ):
        yield client


def add(x: int, y: int) -> int:
    return x + y


def test_results_come_without_an_observer(unrecorded: Client, known: set[int]) -> None:
    with span("unseen"):
        firsts = unrecorded.map(add, range(500), range(500))
        total = unrecorded.submit(sum, firsts)
    assert total.result() == 2 * sum(range(500))
    assert processes_of("scheduler", known)
    assert not processes_of("observer", known)
    with pytest.raises(ClusterError, match="nothing was recorded"):
        unrecorded.fine_metrics()


def test_short_results_leave_although_a_long_task_follows(unrecorded: Client) -> None:
    """The watch thread, which sends them then, also runs while it takes no samples."""
    unrecorded.gather(unrecorded.map(time.sleep, [0.0] * 50, pure=False))
    futures = unrecorded.map(time.sleep, [0.0] * 20, pure=False)
    unrecorded.map(time.sleep, [1.0] * 2, pure=False)
    assert unrecorded.gather(futures) == [None] * 20


def test_memory_is_sampled_on_demand_all_the_same(unrecorded: Client) -> None:
    sampler = MemorySampler()
    with sampler.sample("run", interval=0.05):
        unrecorded.submit(time.sleep, 0.5, pure=False).result()
    assert [nbytes > 0 for _, nbytes in sampler.samples["run"][-2:]] == [True, True]
