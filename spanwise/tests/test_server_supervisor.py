"""The supervisor's states, with observers that only pretend."""

import asyncio
import itertools
import logging
import threading
from types import SimpleNamespace

import pytest

from spanwise.errors import ClusterError
from spanwise.processes import restarts
from spanwise.processes.node import NodeNotFound
from spanwise.server import supervisor as module
from spanwise.server.supervisor import ObserverUnavailable, Supervisor

LOG = logging.getLogger("test")
LIMIT = 60.0


class Pretended:
    """An observer that dies when told."""

    def __init__(self, pid):
        self.process = SimpleNamespace(pid=pid)
        self.ended = threading.Event()
        self.stopped = False

    def on_death(self, call):
        def wait():
            self.ended.wait(LIMIT)
            call()

        threading.Thread(target=wait, daemon=True).start()

    def log_tail(self):
        return ""

    def close(self):
        self.stopped = True
        self.ended.set()


class Starts:
    """What the supervisor calls; counts, and fails as often as told."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.made = []
        self.gate = threading.Event()
        self.gate.set()
        self._pids = itertools.count(1)

    def __call__(self):
        assert self.gate.wait(LIMIT)
        if self.failures:
            raise self.failures.pop(0)
        self.made.append(Pretended(next(self._pids)))
        return self.made[-1]


async def until(condition):
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def short_times(monkeypatch):
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(restarts, "FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
def clock(monkeypatch):
    """The supervisor's clock, which stands still unless a test moves it."""
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_all_who_ask_share_one_start():
    async def run():
        starts = Starts()
        starts.gate.clear()
        supervisor = Supervisor(starts, LOG)
        asked = [asyncio.create_task(supervisor.ensure()) for _ in range(10)]
        await asyncio.sleep(0)
        asked[0].cancel()
        starts.gate.set()
        observers = await asyncio.gather(*asked[1:])
        assert {observer.process.pid for observer in observers} == {1}
        assert supervisor.running is starts.made[0]
        await supervisor.stop()

    asyncio.run(run())


def test_the_dead_are_replaced():
    async def run():
        starts = Starts()
        told = []
        supervisor = Supervisor(starts, LOG, told.append)
        first = await supervisor.ensure()
        first.ended.set()
        await until(lambda: supervisor.running not in (None, first))
        assert first.stopped
        assert told == starts.made
        await supervisor.stop()
        assert all(observer.stopped for observer in starts.made)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "state", "sentence"),
    [
        (NodeNotFound("Install it."), "no-node", "Install it."),
        (ClusterError("Broken."), "no-observer", "Broken."),
        (OSError("No room."), "no-observer", "The observer could not be started: No room."),
    ],
)
def test_a_failure_is_a_state_with_its_sentence_and_tried_again(error, state, sentence, clock):
    async def run():
        starts = Starts(error)
        supervisor = Supervisor(starts, LOG)
        for _ in range(2):
            with pytest.raises(ObserverUnavailable) as unavailable:
                await supervisor.ensure()
            assert unavailable.value.state == state
            assert unavailable.value.sentence == sentence
            clock.now += 0.02
        assert starts.failures == []
        clock.now += 0.02
        assert (await supervisor.ensure()).process.pid == 1
        assert supervisor.problem is None
        await supervisor.stop()

    asyncio.run(run())


def test_a_restart_that_fails_is_tried_again():
    async def run():
        starts = Starts()
        supervisor = Supervisor(starts, LOG)
        first = await supervisor.ensure()
        starts.failures = [ClusterError("Not now."), ClusterError("Nor now.")]
        first.ended.set()
        await until(lambda: len(starts.made) == 2)
        await supervisor.stop()

    asyncio.run(run())


def test_one_that_keeps_dying_is_not_started_by_every_page(monkeypatch, clock):
    monkeypatch.setattr(restarts, "FIRST_PAUSE_SECONDS", 60.0)

    async def run():
        starts = Starts()
        supervisor = Supervisor(starts, LOG)
        (await supervisor.ensure()).ended.set()
        await until(lambda: supervisor.running is None)
        with pytest.raises(ObserverUnavailable, match="started again in 60 s"):
            await supervisor.ensure()
        assert len(starts.made) == 1
        await supervisor.stop()

    asyncio.run(run())


def test_a_stop_during_a_start_ends_what_started():
    async def run():
        starts = Starts()
        starts.gate.clear()
        supervisor = Supervisor(starts, LOG)
        asked = asyncio.create_task(supervisor.ensure())
        await asyncio.sleep(0.01)
        stopping = asyncio.create_task(supervisor.stop())
        await asyncio.sleep(0.01)
        starts.gate.set()
        await stopping
        with pytest.raises(ObserverUnavailable, match="shutting down"):
            await asked
        assert starts.made[0].stopped
        with pytest.raises(ObserverUnavailable, match="shutting down"):
            await supervisor.ensure()

    asyncio.run(run())
