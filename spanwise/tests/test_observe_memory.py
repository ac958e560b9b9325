"""The memory sampler without a cluster: on what ``observe()`` returned."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import pytest

import spanwise
from spanwise import MemorySampler
from spanwise.errors import ClusterError
from spanwise.local.memory_run import LocalMemoryRun
from spanwise.local.observe import Observation
from spanwise.measure.memory import give_back_free_memory
from spanwise.records.enumerations import MEMORY_MEASURES
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.observed_tasks import held
from spanwise.tests.processes import wait_until

MIB = 2**20


@pytest.fixture
def seen() -> Iterator[Observation]:
    with spanwise.observe("test") as seen:
        yield seen
    seen.close()


def shown(seen: Observation) -> dict[str, dict[str, Any]]:
    """The runs of the Memory Sampler's panel by label."""
    return {run["label"]: run for run in seen._asked().query("memory")["runs"]}


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_a_block_is_sampled_and_shown(seen: Observation, scheduler: str, tmp_path: Path) -> None:
    sampler = MemorySampler()
    task = dask.delayed(held)(96 * MIB, tmp_path / "go")

    def is_seen() -> bool:
        sizes = shown(seen).get("block", {}).get("bytes", [])
        return len(sizes) >= 4 and max(sizes) >= sizes[0] + 60 * MIB

    def let_go() -> None:
        try:
            wait_until("the block is seen", is_seen)
        finally:
            (tmp_path / "go").touch()

    def now() -> float:
        """By the clock of the samples."""
        assert seen._recorder is not None
        log = seen._recorder.log
        return log.wall_epoch + log.since(time.perf_counter())

    # What other tests have left might go amid this one.
    gc.collect()
    give_back_free_memory()
    begin = now()
    assert abs(begin - time.time()) < 60
    with sampler.sample("block", client=seen, interval=0.05), ThreadPoolExecutor(1) as pool:
        begun = now()
        letting_go = pool.submit(let_go)
        task.compute(scheduler=scheduler, num_workers=1)
        letting_go.result()
        done = now()
    end = now()
    samples = sampler.samples["block"]
    times = [t for t, _ in samples]
    assert times == sorted(times)
    # Before the block has begun, and after it is over: it may be shorter than the interval.
    assert begin <= times[0] <= begun
    assert done - 0.001 <= times[-1] <= end, "no second one within a millisecond"
    assert len(samples) >= 4
    sizes = [nbytes for _, nbytes in samples]
    assert max(sizes) >= sizes[0] + 60 * MIB
    run = shown(seen)["block"]
    assert run["bytes"] == sizes
    assert run["peak"] == max(sizes)
    assert run["stopped"] is not None and run["measure"] == "process"


def test_it_is_shown_while_it_goes_on(seen: Observation) -> None:
    with MemorySampler().sample("long", client=seen, interval=0.02):
        wait_until("samples are there", lambda: len(shown(seen).get("long", {}).get("t", [])) > 2)
        assert shown(seen)["long"]["stopped"] is None


def test_without_a_client_it_is_the_newest_observation(
    seen: Observation, scheduler: ClientScheduler
) -> None:
    with spanwise.observe("newer") as newer:
        with MemorySampler().sample("here"):
            pass
        assert "here" in shown(newer) and "here" not in shown(seen)
        with LocalClient(scheduler) as client:
            sampler = MemorySampler()
            with sampler.sample("there"):
                client.submit(len, "ab").result()
            assert "there" in sampler.samples and "there" not in shown(newer)
    newer.close()


def test_an_end_in_the_midst_keeps_the_samples() -> None:
    sampler = MemorySampler()
    seen = spanwise.observe("short")
    with sampler.sample("cut", client=seen, interval=0.02):
        seen._end("closed")
    assert len(sampler.samples["cut"]) >= 2
    assert shown(seen)["cut"]["stopped"] is not None
    seen.close()
    with pytest.raises(ClusterError, match="short has ended"), sampler.sample("late", client=seen):
        pytest.fail("the block has begun")


def test_the_next_sample_is_due_at_a_whole_interval_since_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = object.__new__(LocalMemoryRun)
    run._start, run._interval = 100.0, 0.01
    for now, due in [(100.0004, 100.01), (100.0234, 100.03), (100.0299999, 100.04), (103, 103.01)]:
        monkeypatch.setattr("spanwise.local.memory_run.perf_counter", lambda now=now: now)
        assert now + run._until_next() == pytest.approx(due, abs=1e-9)


@pytest.mark.parametrize("measure", [each for each in MEMORY_MEASURES if each != "process"])
def test_what_dask_does_not_say_is_refused(seen: Observation, measure: str) -> None:
    sampling = MemorySampler().sample("x", client=seen, measure=measure)
    with pytest.raises(ValueError, match='Sample with measure="process"'), sampling:
        pytest.fail("the block has begun")


def test_with_nothing_there_it_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"spanwise\.observe\(\)"), MemorySampler().sample("x"):
        pytest.fail("the block has begun")
    sampling = MemorySampler().sample("x", client=object())
    with pytest.raises(TypeError, match=r"a spanwise\.Client, a distributed"), sampling:
        pytest.fail("the block has begun")
