"""The memory sampler when the block, the cluster or the samples are not as they should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spanwise import MemorySampler
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.test_client import increment, until


def end(client: LocalClient) -> None:
    """Let the scheduler die and wait until the client knows."""
    until(lambda: client.fake.link is not None)
    assert client.fake.link is not None
    client.fake.link.close()
    until(lambda: client._session.dead is not None)


@pytest.mark.parametrize("interval", [0, -1, 86_401, float("nan"), float("inf")])
def test_an_interval_that_the_scheduler_would_refuse_is_refused_here(interval: float) -> None:
    with pytest.raises(ValueError, match="up to 86400"):
        MemorySampler().sample(interval=interval)


@pytest.mark.parametrize("mistake", [KeyError("mine"), KeyboardInterrupt()])
def test_the_users_error_is_not_replaced(client: LocalClient, mistake: BaseException) -> None:
    with pytest.raises(type(mistake)) as caught, MemorySampler().sample("x"):
        end(client)
        raise mistake
    assert caught.value is mistake
    assert "samples of 'x' are lost" in mistake.__notes__[-1]


def test_nor_by_a_scheduler_that_does_not_answer(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.client.memory_sampler._STOP_SECONDS", 0.1)
    monkeypatch.setattr(client.fake, "_on_memoryRun", lambda message: None)
    with pytest.raises(ZeroDivisionError) as caught, MemorySampler().sample("x"):
        _ = 1 / 0
    assert "did not answer" in caught.value.__notes__[-1]
    assert not client._session._answers
    with pytest.raises(TimeoutError), MemorySampler().sample("x"):
        client.submit(increment, 1).result(60)


def test_without_an_error_of_the_user_it_says_so(client: LocalClient) -> None:
    with pytest.raises(SchedulerLost), MemorySampler().sample("x"):
        end(client)


def test_a_failed_start_leaves_no_request(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ClusterError("no")

    monkeypatch.setattr(client._session, "send", fails)
    with pytest.raises(ClusterError), MemorySampler().sample("x"):
        pytest.fail("the block has begun")
    monkeypatch.undo()
    assert not client._session._answers


@pytest.mark.asyncio
async def test_asynchronously_the_same(scheduler: ClientScheduler) -> None:
    async with LocalClient(scheduler, asynchronous=True) as client:
        mistake = KeyError("mine")
        with pytest.raises(KeyError) as caught:
            async with MemorySampler().sample("x"):
                end(client)
                raise mistake
        assert caught.value is mistake and mistake.__notes__


@pytest.mark.parametrize("align", [False, True])
class TestRunsWithoutSamples:
    def test_alone(self, align: bool) -> None:
        sampler = MemorySampler()
        sampler.samples["empty"] = []
        frame = sampler.to_pandas(align=align)
        assert list(frame.columns) == ["empty"] and len(frame) == 0
        with pytest.raises(ValueError, match="no samples yet"):
            sampler.plot(align=align)

    def test_beside_others(self, align: bool) -> None:
        sampler = MemorySampler()
        sampler.samples = {"one": [(100.0, 1.0), (101.0, 2.0)], "empty": [], "two": [(200.0, 3.0)]}
        frame = sampler.to_pandas(align=align)
        assert list(frame.columns) == ["one", "empty", "two"]
        assert frame["empty"].isna().all()
        assert frame["one"].dropna().tolist() == [1.0, 2.0]
        assert frame["two"].dropna().tolist() == [3.0]
        if align:
            np.testing.assert_allclose(frame.index.total_seconds(), [0, 1])

    def test_none_at_all(self, align: bool) -> None:
        assert MemorySampler().to_pandas(align=align).empty
