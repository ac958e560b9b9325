"""A graph for which the scheduler has no room fails alone, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from spanwise import Client, LocalCluster, TooManyTasks
from spanwise.client import session
from spanwise.processes import node_process
from spanwise.tests.processes import wait_until

LIMIT = 60.0
#: More than the first message of a graph holds, and fewer than the first two.
ROOM = 4_000


def increment(x: int) -> int:
    return x + 1


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    give = node_process.give_settings

    def give_less_room(process: Any, settings: Any) -> None:
        give(process, {**settings, "mostTasks": ROOM})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_process, "give_settings", give_less_room)
        made = LocalCluster(n_workers=2, threads_per_worker=1)
    with made:
        yield made


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    """One of a cluster that has room again for as many tasks as at its start."""
    with Client(cluster) as made:
        wait_until("nothing is held", lambda: not made.who_has())
        yield made


def chain(length: int) -> tuple[dict[str, Any], str]:
    graph: dict[str, Any] = {
        f"step-{length}-{i}": (increment, f"step-{length}-{i - 1}") for i in range(1, length)
    }
    graph[f"step-{length}-0"] = (increment, 0)
    return graph, f"step-{length}-{length - 1}"


def test_a_graph_that_is_too_large_fails_alone(client: Client) -> None:
    before = client.submit(increment, 1)
    assert before.result(LIMIT) == 2
    # Twice: nothing of the first is left. Of its four messages the second is refused.
    for _ in range(2):
        futures = client.map(increment, range(3 * ROOM), pure=False)
        with pytest.raises(TooManyTasks, match=r"room for 4,000 tasks .* Release results"):
            futures[-1].result(LIMIT)
        with pytest.raises(TooManyTasks):
            client.gather(futures)
        # A refused task ends when it is tried again, too.
        with pytest.raises(RuntimeError, match="Submit it again"):
            futures[-1].retry()
            futures[-1].result(LIMIT)
        del futures
    # Futures that are dropped reach the scheduler some milliseconds later.
    wait_until("there is room", lambda: len(client.who_has()) == 1)
    assert before.result(LIMIT) == 2
    assert client.submit(increment, before).result(LIMIT) == 3
    assert client.gather(client.map(increment, range(ROOM - 100), pure=False))[-1] == ROOM - 100


def test_a_graph_with_inputs_too(client: Client) -> None:
    with pytest.raises(TooManyTasks):
        client.get(*chain(2 * ROOM))
    assert client.get(*chain(ROOM - 200)) == ROOM - 200


def test_what_was_dropped_just_now_leaves_its_room_to_a_large_graph(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed: small results go 20 ms later, with others, here a minute later."""
    monkeypatch.setattr(session, "SMALL_RELEASE_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(session, "RELEASE_PAUSE_SECONDS", 60.0)
    for number in range(20):
        if number % 2:
            futures = client.map(increment, range(ROOM), pure=False)
            assert client.gather(futures)[-1] == ROOM
            del futures
        else:
            graph = {f"part-{number}-{i}": (increment, i) for i in range(ROOM)}
            assert client.get(graph, [*graph])[-1] == ROOM
    client._session.let_go()  # which ends the last pause


def test_who_waits_for_what_was_dropped_is_told_of_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait has a limit of 10 s, and needs none where nobody lets go any more."""
    waits = []
    # (by which its waits are known)
    monkeypatch.setattr(session, "LET_GO_SECONDS", 10.25)
    with Client(n_workers=1, threads_per_worker=1) as client:
        changed, let_go = client._session._changed, client._session.let_go
        wait_for = changed.wait_for

        def watched(condition: Any, limit: float) -> bool:
            told = wait_for(condition, limit)
            # (the others, such as that of the close, end by their limit where the machine is slow)
            if limit == session.LET_GO_SECONDS:
                waits.append(told)
            return told

        monkeypatch.setattr(changed, "wait_for", watched)
        let_go()
        client.close()
        let_go()
    assert len(waits) >= 2 and all(waits)


def test_data_too(client: Client) -> None:
    kept = client.map(increment, range(ROOM), pure=False)
    assert kept[-1].result(LIMIT) == ROOM
    with pytest.raises(TooManyTasks):
        client.scatter([1])[0].result(LIMIT)
    with pytest.raises(TooManyTasks):
        client.scatter([2], broadcast=True)[0].result(LIMIT)
    # The workers are told, too.
    assert list(client.run(lambda dask_worker: len(dask_worker._worker.puts)).values()) == [0, 0]
    del kept[:10]
    # Futures that are dropped reach the scheduler some milliseconds later, in order.
    wait_until("there is room", lambda: client.scatter([3])[0].exception(LIMIT) is None)
