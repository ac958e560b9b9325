"""Events under topics: what `distributed` does, and what is bounded."""

from __future__ import annotations

import asyncio
import datetime
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import distributed
import numpy as np
import pytest

from spanwise import Client, get_worker
from spanwise.client import events
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


def messages(client: Any, topic: str) -> list[Any]:
    return [message for _, message in client.get_events(topic)]


PLAIN = [
    1,
    -(2**63),
    2**64 - 1,
    1.5,
    "größer",
    b"\x00\xff",
    None,
    True,
    [1, [2, 3]],
    (1, 2),
    {"a": [1], "größe": {"b": None}},
    [],
    {},
]


@pytest.mark.parametrize("msg", PLAIN, ids=repr)
def test_a_message_arrives_as_with_distributed(
    cluster: Client, theirs: distributed.Client, msg: Any
) -> None:
    got = []
    for client in (cluster, theirs):
        assert client.log_event("as-theirs", msg) is None
        got.append(messages(client, "as-theirs")[-1])
    assert got[0] == got[1]
    assert type(got[0]) is type(got[1])


OTHER = [{1, 2}, object(), np.arange(3), {"a": object()}, 1j, datetime.date(2026, 1, 1), len]


@pytest.mark.parametrize(
    "msg", OTHER, ids=["set", "object", "array", "object inside", "complex", "date", "function"]
)
def test_what_is_not_plain_is_refused_as_by_distributed(
    cluster: Client, theirs: distributed.Client, msg: Any
) -> None:
    for client in (cluster, theirs):
        with pytest.raises(TypeError, match="must be msgpack serializable"):
            client.log_event("refused", msg)
    assert cluster.get_events("refused") == theirs.get_events("refused") == ()


def test_several_topics_order_and_times(cluster: Client, theirs: distributed.Client) -> None:
    # (the wall clock may be set while a cluster runs, and ours tells it by another one)
    for client, now in ((cluster, cluster._session.wall_now), (theirs, time.time)):
        before = now()
        assert abs(before - time.time()) < LIMIT_SECONDS
        for n in range(3):
            client.log_event(["one", "two"], {"n": n})
        after = now()
        assert messages(client, "one") == messages(client, "two") == [{"n": n} for n in range(3)]
        assert client.get_events("nobody") == ()
        everything = client.get_events()
        assert everything["one"] == client.get_events("one")
        times = [t for t, _ in everything["one"]]
        assert times == sorted(times)
        # Two clocks of one machine, one of them in milliseconds.
        assert before - 0.1 <= times[0] and times[-1] <= after + 0.1


def log_from_worker(n: int) -> str:
    worker = get_worker()
    worker.log_event("from-worker", {"n": n})
    worker.log_event(worker.address, {"n": n})
    worker.log_event("from-worker", n)
    return worker.address


def log_from_their_worker(n: int) -> str:
    worker = distributed.get_worker()
    worker.log_event("from-worker", {"n": n})
    worker.log_event(worker.address, {"n": n})
    worker.log_event("from-worker", n)
    return str(worker.address)


def test_workers_log_too_and_are_named(cluster: Client, theirs: distributed.Client) -> None:
    cases: list[tuple[Any, Callable[[int], str]]] = [
        (cluster, log_from_worker),
        (theirs, log_from_their_worker),
    ]
    for client, function in cases:
        address = client.submit(function, 7, pure=False).result(LIMIT_SECONDS)
        wait_until("they came", lambda: len(messages(client, "from-worker")) == 2)  # noqa: B023
        assert messages(client, "from-worker") == [{"n": 7, "worker": address}, 7]
        wait_until("its own", lambda: messages(client, address)[-1:] == [{"n": 7}])  # noqa: B023
    with pytest.raises(TypeError, match="msgpack"):
        cluster.submit(lambda: get_worker().log_event("from-worker", object())).result()


def is_subscribed(theirs: distributed.Client, topic: str) -> bool:
    number = theirs.id  # (the client itself cannot be sent)

    def ask(dask_scheduler: Any) -> bool:
        return number in dask_scheduler._broker._topics[topic].subscribers

    return bool(theirs.run_on_scheduler(ask))


def test_a_handler_gets_what_is_logged_from_then_on(
    cluster: Client, theirs: distributed.Client
) -> None:
    for client in (cluster, theirs):
        client.log_event("watched", "before")
        came: list[Any] = []
        later: list[Any] = []

        async def handle_later(event: Any) -> None:
            await asyncio.sleep(0)
            later.append(event)  # noqa: B023

        client.subscribe_topic("watched", came.append)
        if client is theirs:
            # It subscribes on another connection than it logs on.
            wait_until("theirs is subscribed", lambda: is_subscribed(theirs, "watched"))
        for n in range(5):
            client.log_event("watched", n)
        client.log_event("unwatched", 9)
        wait_until("five", lambda: len(came) == 5)  # noqa: B023
        assert tuple(came) == client.get_events("watched")[1:]
        client.subscribe_topic("watched", handle_later)
        client.log_event("watched", "to the newer handler")
        wait_until("one more", lambda: len(later) == 1)  # noqa: B023
        assert len(came) == 5
        client.unsubscribe_topic("watched")
        client.log_event("watched", "to nobody")
        assert messages(client, "watched")[-1] == "to nobody"
        with pytest.raises(ValueError, match="No event handler known for topic"):
            client.unsubscribe_topic("nobody's")
        # One that was on its way may still come to theirs.
        assert client is theirs or (len(came), len(later)) == (5, 1)


def test_graphs_and_clients_are_logged_as_by_distributed(
    cluster: Client, theirs: distributed.Client
) -> None:
    graphs, scatters, clients = [], [], []
    for client in (cluster, theirs):
        before = len(messages(client, "scheduler"))
        client.submit(abs, -5, pure=False).result(LIMIT_SECONDS)
        client.scatter([1, 2, 3], hash=False)
        (graph,) = messages(client, "scheduler")[before:]
        graphs.append(graph)
        everything = messages(client, "all")
        scatters.append([each for each in everything if each["action"] == "scatter"][-1])
        # Whoever came before it or since.
        (came,) = [
            each
            for each in everything
            if each["action"] == "add-client" and each["client"] == scatters[-1]["client"]
        ]
        clients.append(came)
        # The same under the topic of the client.
        assert graph in messages(client, clients[-1]["client"])
        assert scatters[-1] in messages(client, scatters[-1]["client"])
    ours, their = graphs
    assert set(ours) == set(their)
    assert (ours["action"], ours["status"]) == (their["action"], their["status"])
    assert {"tasks", "duration_seconds"} <= set(ours["metrics"]) < set(their["metrics"])
    assert ours["metrics"]["tasks"] == their["metrics"]["tasks"] == 1
    assert all(each >= 0 for each in ours["metrics"].values())
    assert abs(ours["metrics"]["start_timestamp_seconds"] - time.time()) < LIMIT_SECONDS
    assert scatters[0].pop("client") and scatters[1].pop("client")
    assert scatters[0] == scatters[1]
    assert set(clients[0]) == set(clients[1])


def test_workers_that_come_restart_and_retire_are_logged() -> None:
    came: list[Any] = []
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
        first, second = client.scheduler_info()["workers"]
        assert {"action": "add-worker", "worker": first} in messages(client, "all")
        assert messages(client, first) == [{"action": "add-worker", "worker": first}]
        client.subscribe_topic("all", lambda event: came.append(event[1]))
        with Client(client.cluster.scheduler_address, set_as_default=False):
            wait_until("a client", lambda: "add-client" in [each["action"] for each in came])
        wait_until("its end", lambda: "remove-client" in [each["action"] for each in came])
        assert came[0]["client"] == came[1]["client"]
        came.clear()
        client.restart_workers([first])
        wait_until("a new worker", lambda: "add-worker" in [each["action"] for each in came])
        assert came[0] == {
            "action": "remove-worker",
            "worker": first,
            "stimulus_id": came[0]["stimulus_id"],
            "expected": True,
        }
        assert came[1]["action"] == "restart-workers" and came[1]["workers"] == (first,)
        client.retire_workers([second])
        wait_until("it has gone", lambda: "retire-workers" in [each["action"] for each in came])
        (gone,) = [each for each in came if each["action"] == "retire-workers"]
        assert gone["retired"] == (second,) and gone["could-not-retire"] == ()
        wait_until("its own", lambda: messages(client, second)[-1] == {"action": "retired"})
        assert client.submit(abs, -1).result(LIMIT_SECONDS) == 1


def test_events_of_the_scheduler_that_went_are_not_warned_of_among_all(cluster: Client) -> None:
    futures = [cluster.submit(abs, -n, pure=False) for n in range(1_005)]
    assert futures[-1].result(LIMIT_SECONDS) == 1_004
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*older events of '(scheduler|all|client-)")
        everything = cluster.get_events()
    assert len(everything["scheduler"]) == 1_000
    with pytest.warns(RuntimeWarning, match="older events of 'scheduler'"):
        cluster.get_events("scheduler")


def test_what_a_handler_raises_is_told_and_the_next_event_comes(cluster: Client) -> None:
    came: list[Any] = []

    def handle(event: Any) -> None:
        came.append(event[1])
        raise SystemExit("no" if event[1] == 0 else "never")

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cluster.subscribe_topic("failing", handle)
        cluster.log_event("failing", 0)
        cluster.log_event("failing", 1)
        # Others may warn meanwhile, of something else.
        said = "The handler of events of 'failing' failed"
        wait_until("both are told", lambda: [said in str(w.message) for w in told].count(True) == 2)
    assert came == [0, 1]
    cluster.unsubscribe_topic("failing")


def test_slow_handlers_are_told_what_they_missed(
    cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_WAITING", 3)
    came: list[Any] = []
    go_on = threading.Event()
    begun = threading.Event()

    def handle(event: Any) -> None:
        came.append(event[1])
        begun.set()
        assert go_on.wait(LIMIT_SECONDS)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cluster.subscribe_topic("fast", handle)
        cluster.log_event("fast", 0)
        assert begun.wait(LIMIT_SECONDS)
        for n in range(1, 11):
            cluster.log_event("fast", n)
        wait_until("they have come", lambda: cluster._session.subscriptions._lost == 7)
        go_on.set()
        wait_until("all that were kept", lambda: came == [0, 1, 2, 3])
    said = [str(each.message) for each in told]
    # (others may warn meanwhile, of something else)
    assert [each[:24] for each in said if "left out" in each] == ["7 events were left out: "]
    cluster.unsubscribe_topic("fast")


def test_a_topic_is_bounded_and_says_so(cluster: Client) -> None:
    for n in range(1_005):
        cluster.log_event("long", n)
    with pytest.warns(RuntimeWarning, match="No longer kept: 5 older events of 'long'"):
        assert messages(cluster, "long") == list(range(5, 1_005))
    with pytest.warns(RuntimeWarning, match="'long'"):
        assert len(cluster.get_events()["long"]) == 1_000


def test_what_is_too_large_is_refused(cluster: Client) -> None:
    with pytest.raises(ValueError, match="at most 1,048,576 bytes, this one has"):
        cluster.log_event("large", bytes(2**20))
    with pytest.raises(TypeError, match="must be msgpack serializable"):
        cluster.log_event("large", 2**64)
    with pytest.raises(ValueError, match="at most 1,000 characters"):
        cluster.log_event("x" * 1_001, 1)
    with pytest.raises(TypeError, match="A topic is a text"):
        cluster.log_event(["large", 1], 1)  # type: ignore[list-item]
    assert cluster.get_events("large") == ()


def test_an_asynchronous_client_calls_handlers_in_its_loop() -> None:
    async def main() -> None:
        async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as client:
            came: asyncio.Queue[Any] = asyncio.Queue()
            await client.subscribe_topic("topic", came.put_nowait)
            await client.log_event("topic", 1)
            assert (await asyncio.wait_for(came.get(), LIMIT_SECONDS))[1] == 1
            threads: list[int] = []

            async def where(_event: Any) -> None:
                threads.append(threading.get_ident())
                came.put_nowait(None)

            await client.subscribe_topic("topic", where)
            await client.log_event("topic", 2)
            await asyncio.wait_for(came.get(), LIMIT_SECONDS)
            assert threads == [threading.get_ident()]
            assert [message for _, message in await client.get_events("topic")] == [1, 2]
            await client.unsubscribe_topic("topic")

    asyncio.run(main())


def test_a_topic_that_is_no_text_is_refused_and_the_cluster_goes_on(cluster: Client) -> None:
    for asked in (
        lambda: cluster.get_events(5),  # type: ignore[arg-type]
        lambda: cluster.log_event(5, "x"),  # type: ignore[arg-type]
        lambda: cluster.subscribe_topic(["a", "b"], print),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="A topic is a text"):
            asked()
    assert cluster.submit(abs, -1).result(LIMIT_SECONDS) == 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_handler_that_does_not_end_is_told(
    monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    monkeypatch.setattr(events, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr("spanwise.client.patience.FIRST_SECONDS", 0.1)
    go = threading.Event()
    got: list[Any] = []

    async def stuck_later(event: Any) -> None:
        while not go.is_set():
            await asyncio.sleep(0.01)
        got.append(event[1])

    def stuck(event: Any) -> None:
        go.wait()
        got.append(event[1])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")

        def is_told() -> bool:
            said = " ".join(str(each.message) for each in told)
            name = "stuck_later" if asynchronous else "stuck"
            return f"The handler {name} of events of 'slow' has been" in said and (
                "1 events wait behind it" in said
            )

        async def use() -> None:
            async with Client(n_workers=1, asynchronous=True, set_as_default=False) as client:
                await client.subscribe_topic("slow", stuck_later)
                for number in range(2):
                    await client.log_event("slow", number)
                await asyncio.to_thread(wait_until, "it is told", is_told)
                go.set()
                await asyncio.to_thread(wait_until, "both are handled", lambda: got == [0, 1])

        if asynchronous:
            asyncio.run(use())
        else:
            with Client(n_workers=1) as client:
                client.subscribe_topic("slow", stuck)
                for number in range(2):
                    client.log_event("slow", number)
                wait_until("it is told", is_told)
                go.set()
                wait_until("both are handled", lambda: got == [0, 1])


def test_topics_that_a_client_subscribes_to_are_bounded(
    cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_TOPICS", 4)  # with those of print() and warn()
    for topic in "ab":
        cluster.subscribe_topic(topic, print)
    with pytest.raises(ValueError, match="at most 4 topics: unsubscribe"):
        cluster.subscribe_topic("c", print)
    cluster.subscribe_topic("b", repr)  # in the place of the one before
    cluster.unsubscribe_topic("a")
    cluster.subscribe_topic("c", print)
    for topic in "bc":
        cluster.unsubscribe_topic(topic)
