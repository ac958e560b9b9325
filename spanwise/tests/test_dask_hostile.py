"""Whatever a Dask scheduler says, who watches it is not told without end, and may close."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from distributed.core import Server
from distributed.security import Security

from spanwise.dask_bridge import viewer
from spanwise.dask_bridge.ship import OPERATION, ask
from spanwise.dask_bridge.viewer import Viewer
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_attach import until
from spanwise.tests.test_dask_pulled import answer

Say = Callable[[int], dict[str, Any]]


class StandIn:
    """Takes the plugin as a scheduler does, and answers for it.

    Attributes
    ----------
    asked
        The requests that came.
    """

    def __init__(self, say: Say) -> None:
        self.asked: list[dict[str, Any]] = []
        self._say = say
        self._end = asyncio.Event()

    async def identity(self) -> dict[str, Any]:
        return {"type": "Scheduler", "id": "s"}

    async def versions(self) -> dict[str, Any]:
        return {}

    async def register(self, **plugin: Any) -> None:
        return None

    async def pull(self, **request: Any) -> Any:
        if "wait" in request:
            await self._end.wait()
        self.asked.append(request)
        now = time.time()
        said = answer() | {"rows": {}, "states": {}, "now": now, "attached": now, "closing": 0.0}
        return said | {"cursor": 0, "newest": 0} | self._say(len(self.asked))

    @property
    def has_been_left(self) -> bool:
        return any(each["lease"] == 0 for each in self.asked)

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Give the address."""
        address: list[str] = []
        begun = threading.Event()
        loop = asyncio.new_event_loop()
        operations = {
            "identity": self.identity,
            "versions": self.versions,
            "register_scheduler_plugin": self.register,
            OPERATION: self.pull,
        }

        async def serve() -> None:
            async with Server(operations) as server:
                await server.listen("tcp://127.0.0.1:0")
                address.append(server.address)
                begun.set()
                await self._end.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
        thread.start()
        assert begun.wait(LIMIT_SECONDS)
        try:
            yield address[0]
        finally:
            loop.call_soon_threadsafe(self._end.set)
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()
            loop.close()


class NoObserver:
    """In place of an observer, and of the link to it."""

    has_viewers = True

    def __init__(self, *given: Any) -> None:
        pass

    def push(self, *block: Any) -> None:
        pass

    def wait_for(self, *place: Any) -> None:
        pass

    def end(self, *why: Any) -> None:
        pass

    def close(self) -> None:
        pass


class NoSamples:
    """In place of what asks the workers, of which there are none."""

    def __init__(self, *given: Any) -> None:
        pass

    async def begun(self, *asked: Any) -> None:
        return None

    async def take(self, *asked: Any) -> list[Any]:
        return []

    async def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "ObserverLink", NoObserver)
    monkeypatch.setattr(viewer, "SamplePull", NoSamples)


def watching(address: str) -> Viewer:
    find: Any = NoObserver
    seen = Viewer(address, Security(), "stand-in", find, LIMIT_SECONDS)
    seen.begin()
    return seen


@pytest.mark.parametrize(
    "say",
    [
        lambda n: {"cursor": 0, "newest": 10 + n},
        lambda n: {"cursor": n, "newest": 2**60},
        lambda n: {"cursor": 0, "newest": 10, "plugin": f"p-{n}"},
        lambda n: {"state": 3, "state_newest": 10 + n},
        lambda n: {"state": n, "state_newest": 2**60},
    ],
    ids=["stands-still", "never-ends", "is-another", "state-stands-still", "state-never-ends"],
)
def test_who_watches_rows_without_end_may_close(say: Say) -> None:
    scheduler = StandIn(say)
    with scheduler.listening() as address:
        seen = watching(address)
        # A question waits for all that is there.
        asking = threading.Thread(target=seen.flush, daemon=True)
        asking.start()
        until(lambda: any(each["fresh"] for each in scheduler.asked), "it is asked for all")
        before = len(scheduler.asked)
        until(lambda: len(scheduler.asked) > before + 5, "it is asked for more")
        seen.close()
        assert seen.status == "closed"
        for thread in (seen._thread, asking):
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()
        assert scheduler.has_been_left


@pytest.mark.parametrize(
    "say",
    [lambda n: {"cursor": 0, "newest": 10 + n}, lambda n: {"state": 3, "state_newest": 10 + n}],
    ids=["rows", "states"],
)
def test_who_is_told_of_what_is_not_given_asks_at_its_usual_pace(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked again as soon as it had an answer, half of a core's time without end."""
    begun: list[int] = []
    scheduler = StandIn(say)
    step = Viewer._step

    async def count(seen: Viewer) -> bool:
        begun.append(len(scheduler.asked))
        return await step(seen)

    monkeypatch.setattr(Viewer, "_step", count)
    with scheduler.listening() as address:
        seen = watching(address)
        until(lambda: len(begun) > 4, "it has rested in between")
        seen.close()
    # One says more than is there, the next that it is still so.
    assert max(after - before for before, after in pairwise(begun)) <= 2


def test_of_each_kind_that_cannot_be_read_one_sentence_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(viewer, "tell", said.append)
    scheduler = StandIn(
        lambda n: {
            "states": {"gone": {"worker": [100 + n]}},
            "rows": {"restart": {"n": [n + 0.5], "t": [1.0]}} if n % 2 else {},
        }
    )
    with scheduler.listening() as address:
        seen = watching(address)
        for _ in range(12):
            seen.flush()
        seen.close()
    assert len(scheduler.asked) > 12
    told = [each.partition(" is not whole: ")[2].partition(" cannot")[0] for each in said]
    assert sorted(told) == ["Its gone", "Its restart"]


@pytest.mark.asyncio
async def test_who_is_cancelled_as_the_answer_comes_ends() -> None:
    """`asyncio.wait_for` gives the answer back, and the cancelled task goes on: in Python 3.11."""
    answered = asyncio.get_running_loop().create_future()
    asking = asyncio.ensure_future(ask(answered, LIMIT_SECONDS))
    await asyncio.sleep(0)
    answered.set_result(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
