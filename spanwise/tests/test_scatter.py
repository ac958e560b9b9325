"""Scattering from several threads, and to workers that do not answer."""

from __future__ import annotations

import operator
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest

import spanwise
from spanwise import Client
from spanwise.client import scatter as scatter_module
from spanwise.client.peers import Unreachable
from spanwise.current_frames import current_frames
from spanwise.errors import ClusterError
from spanwise.records.enumerations import ITEM_MISSING, ITEM_OK
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.processes import wait_until
from spanwise.tests.test_client import increment, until
from spanwise.wire.frame import Message
from spanwise.worker import door
from spanwise.worker.door import Server
from spanwise.worker.worker import Worker

LIMIT = 60.0


@pytest.fixture
def client() -> Iterator[LocalClient]:
    scheduler = ClientScheduler(workers=3)
    with LocalClient(scheduler) as made:
        yield made
    scheduler.close()


def test_two_threads_scatter_the_same_value(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has its future while the first's value is still on its way to a worker."""
    put = client._session.peers.put
    reached, go = threading.Event(), threading.Event()

    def slow(address: str, items: Any) -> None:
        reached.set()
        assert go.wait(LIMIT)
        put(address, items)

    monkeypatch.setattr(client._session.peers, "put", slow)
    futures: dict[str, Any] = {}
    scattered = []  # a value that nobody holds is dropped: the second would put it again

    def use(name: str) -> None:
        (future,) = client.scatter([41])
        scattered.append(future)
        futures[name] = client.submit(increment, future, key=name)

    threads = [threading.Thread(target=use, args=(name,)) for name in ("first", "second")]
    threads[0].start()
    assert reached.wait(LIMIT)
    threads[1].start()
    # A task that names the value now would come to the scheduler before the value.
    threads[1].join(0.3)
    go.set()
    for thread in threads:
        thread.join(LIMIT)
    assert [futures[name].result(LIMIT) for name in ("first", "second")] == [42, 42]
    assert len(client.fake.put) == 1


def test_what_is_on_its_way_has_no_name_yet(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph of another thread that names the key is told that it is not there."""
    put = client._session.peers.put

    def look(address: str, items: Any) -> None:
        with ThreadPoolExecutor(1) as pool, pytest.raises(ClusterError, match="does not hold"):
            pool.submit(client.get, {"y": (increment, 1)}, "x").result(LIMIT)
        put(address, items)

    monkeypatch.setattr(client._session.peers, "put", look)
    assert client.scatter({"x": 1})["x"].result(LIMIT) == 1


def test_many_threads_scatter_and_let_go(client: LocalClient) -> None:
    def use(number: int) -> int:
        future = client.scatter(number % 3)
        return client.submit(operator.add, future, number, pure=False).result(LIMIT)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(100))) == [n % 3 + n for n in range(100)]
    until(lambda: not client._session.by_key)


def test_a_value_named_twice_is_counted_for_each(client: LocalClient) -> None:
    one, two = client.scatter([5, 5])
    key = one.key
    assert key == two.key
    del one
    until(lambda: client._session.by_key[key].count == 1)
    assert two.result(LIMIT) == 5
    held = client.scatter([5, 5, 6])
    assert client.gather(held) == [5, 5, 6] and len(client.fake.put) == 2
    del two, held
    until(lambda: not client._session.by_key)


@pytest.mark.parametrize("broadcast", [False, True])
def test_a_worker_that_does_not_answer_is_passed_over(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch, broadcast: bool
) -> None:
    put = client._session.peers.put
    dead = client.fake.rows[1]["address"]

    def fails(address: str, items: Any) -> None:
        if address == dead:
            raise Unreachable(f"{address} does not answer")
        put(address, items)

    monkeypatch.setattr(client._session.peers, "put", fails)
    futures = client.scatter(list(range(10)), broadcast=broadcast)
    assert client.gather(futures) == list(range(10))
    with pytest.raises(ClusterError, match="No worker took"):
        client.scatter([20], workers=[1], broadcast=broadcast)
    assert client.scatter([20])[0].result(LIMIT) == 20, "what failed leaves nothing behind"


def test_a_value_that_cannot_be_pickled_leaves_nothing_behind(client: LocalClient) -> None:
    kept = client.scatter([1])
    with pytest.raises(TypeError, match="pickle"):
        client.scatter([1, threading.Lock()], hash=False)
    with pytest.raises(TypeError, match="pickle"):
        client.scatter({"a": 1, "b": threading.Lock()})
    entry = kept[0]._alive()
    until(lambda: entry.count == 1 and list(client._session.by_key) == [kept[0].key])
    assert scatter_module._entries(client, [1], [kept[0].key], None, False) == [entry]


def kept(dask_worker: Any) -> tuple[int, int]:
    """How much a worker keeps that was put there, and how many results."""
    return len(dask_worker._worker.puts), len(dask_worker._worker.table.values)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("comes", ["before", "later", "never"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, Unreachable])
def test_workers_drop_what_a_client_gives_up_to_scatter(
    cluster: Client,
    monkeypatch: pytest.MonkeyPatch,
    broadcast: bool,
    comes: str,
    error: type[BaseException],
) -> None:
    """It ends between the two: at Ctrl-C, or because no worker has answered."""
    put = cluster._session.peers.put
    calls: list[tuple[str, Any]] = []

    def fail(address: str, items: Any) -> None:
        calls.append((address, items))
        if comes == "before" or (error is KeyboardInterrupt and len(calls) == 1):
            put(address, items)
        if error is Unreachable or len(calls) == 2:
            raise error("It does not answer.")

    def is_empty() -> bool:
        return set(cluster.run(kept).values()) == {(0, 0)}

    with monkeypatch.context() as patch:
        patch.setattr(cluster._session.peers, "put", fail)
        with pytest.raises((KeyboardInterrupt, ClusterError)):
            cluster.scatter([[1], [2], [3]], broadcast=broadcast)
    assert len(calls) >= 2
    wait_until("nothing is kept", is_empty, LIMIT)
    if comes == "later":
        for address, items in calls[1 if error is KeyboardInterrupt else 0 :]:
            put(address, items)
        assert is_empty()
    # The same values can be scattered afterwards.
    futures = cluster.scatter([[1], [2], [3]], broadcast=broadcast)
    assert cluster.gather(futures) == [[1], [2], [3]]
    del futures
    wait_until("they are released", is_empty, LIMIT)


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("comes", ["before", "later"])
def test_a_worker_drops_what_another_took_in_its_stead(
    cluster: Client, monkeypatch: pytest.MonkeyPatch, broadcast: bool, comes: str
) -> None:
    """It has the data and did not answer in time, or gets it when it is no more needed."""
    put = cluster._session.peers.put
    late = cluster._session.running_workers()[0]
    calls: list[tuple[str, Any]] = []

    def fail(address: str, items: Any) -> None:
        if address != late["address"]:
            put(address, items)
            return
        if comes == "before":
            put(address, items)
        calls.append((address, items))
        raise Unreachable("It does not answer.")

    def put_there() -> set[int]:
        return {puts for puts, _ in cluster.run(kept).values()}

    with monkeypatch.context() as patch:
        patch.setattr(cluster._session.peers, "put", fail)
        futures = cluster.scatter([[1], [2], [3]], broadcast=broadcast)
    if comes == "later":
        for address, items in calls:
            put(address, items)
    assert calls and put_there() == {0}
    # Nobody believes that the first has them: what runs there has them brought.
    ends = [cluster.submit(sum, each, workers=[late["id"]]) for each in futures]
    assert [end.result(LIMIT) for end in ends] == [1, 2, 3]
    assert cluster.gather(futures) == [[1], [2], [3]]
    del futures, ends
    wait_until("they are released", lambda: set(cluster.run(kept).values()) == {(0, 0)}, LIMIT)


@pytest.mark.parametrize("kind", ["scattered", "discard"])
@pytest.mark.parametrize("sent", [False, True])
def test_nothing_stays_of_a_scatter_that_is_interrupted_while_it_is_announced(
    cluster: Client, monkeypatch: pytest.MonkeyPatch, kind: str, sent: bool
) -> None:
    session = cluster._session
    put, send = session.peers.put, session.send
    late = session.running_workers()[0]["address"]

    def answers_late(address: str, items: Any) -> None:
        put(address, items)
        if address == late:
            raise Unreachable("It does not answer.")

    def interrupted(type_: str, *args: Any, **options: Any) -> None:
        if type_ == kind:
            patch.setattr(session, "send", send)
            if sent:
                send(type_, *args, **options)
            raise KeyboardInterrupt
        send(type_, *args, **options)

    name = f"never-seen-{kind}-{sent}"
    with monkeypatch.context() as patch:
        patch.setattr(session.peers, "put", answers_late)
        patch.setattr(session, "send", interrupted)
        with spanwise.span(name), pytest.raises(KeyboardInterrupt):
            cluster.scatter({name: [1], "other": [2]})
    wait_until("no name is left", lambda: not session.by_key, LIMIT)
    wait_until("nothing is kept", lambda: set(cluster.run(kept).values()) == {(0, 0)}, LIMIT)
    # What was announced for the first time with it is announced again.
    futures = cluster.scatter({name: [1], "other": [2]})
    assert cluster.gather(futures) == {name: [1], "other": [2]}
    del futures
    wait_until("they are released", lambda: set(cluster.run(kept).values()) == {(0, 0)}, LIMIT)
    assert session.dead is None


def test_data_given_up_by_one_client_is_kept_for_another(tmp_path: Path) -> None:
    """Each counts its own."""
    worker = Worker(0, "w", 1, 0.0, tmp_path)
    worker.discard(7, client=1)
    worker.keep_put(1, 7, "late", 4.0)
    worker.keep_put(2, 7, "kept", 4.0)
    assert worker.puts == {(2, 7): ("kept", 4.0, None)}
    assert not worker.adopt(7, client=1, task_id=0)
    assert worker.adopt(7, client=2, task_id=1)
    assert worker.table.values == {1: "kept"} and not worker.puts


def test_who_asks_for_data_before_its_holder_knows_which_task_it_is_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said to be lost: `adopt` and `assign` go by two links."""
    # (it is told of in the end, however slow the machine is)
    monkeypatch.setattr(door, "ADOPTION_SECONDS", 10 * LIMIT)
    worker = Worker(0, "w", 1, 0.0, tmp_path)
    worker.keep_put(1, 7, "data", 4.0)
    worker.keep_put(1, 8, "more", 4.0)
    answers: list[Any] = []

    class OneLink:
        can_share = False
        written_bytes = 0
        intro: ClassVar[dict[str, Any]] = {}

        def send(self, kind: str, fields: Any, tables: Any, *blobs: Any) -> None:
            answers.append([status for _, status, _ in tables["items"]])

    tables = {"ids": [(30,)], "done": []}
    fields = {"request": 1, "share": 0, "direct": False, "together": False}
    message = Message("get", fields, tables, [])

    def ask() -> None:
        Server(worker)._get(OneLink(), message, Counter(), [])  # type: ignore[arg-type]

    for task_id, data_id, status in ((30, 7, ITEM_OK), (31, 8, ITEM_MISSING)):
        asking = threading.Thread(target=ask, daemon=True)
        tables["ids"] = [(task_id,)]
        asking.start()
        wait_until("it waits", lambda: bool(worker._settled._waiters), LIMIT)  # type: ignore[attr-defined]
        assert not answers
        if status == ITEM_OK:
            assert worker.adopt(data_id, 1, task_id)
        else:
            worker.discard(data_id, 1)
        asking.join(LIMIT)
        assert not asking.is_alive()
        assert answers.pop() == [status]
    # What is here does not wait for what is not, which waits but once.
    worker.keep_put(1, 9, "data", 4.0)
    tables["ids"] = [(31,), (30,), (32,), (33,)]
    waits: list[Any] = []
    # (each ends at once, as if its time were over)
    monkeypatch.setattr(worker._settled, "wait", lambda left: waits.append(left) or False)
    ask()
    assert answers == [[ITEM_OK], [ITEM_MISSING] * 3] and len(waits) == 1
    assert 0 < waits[0] <= 10 * LIMIT
    answers.clear()
    worker.discard(9, 1)
    tables["ids"] = [(31,)]
    ask()
    assert answers == [[ITEM_MISSING]], "nobody waits where nothing was put"


def held_messages(type_: str) -> int:
    """How many messages of a type the threads of this process hold.

    The collector does not list them all: workers freeze what they have.
    """
    held = 0
    for frame in current_frames().values():
        for each, _ in traceback.walk_stack(frame):
            values = list(each.f_locals.values())
            held += sum(isinstance(value, Message) and value.type == type_ for value in values)
    return held


def test_who_waits_for_a_message_does_not_hold_the_last(cluster: Client) -> None:
    """Scattered data, and what `run` returned, stayed in memory until another message came."""
    future = cluster.scatter([b"x" * 1_000], workers=[0])[0]
    wait_until(
        "no worker holds it", lambda: not any(cluster.run(held_messages, "put").values()), LIMIT
    )
    wait_until("nor its pickle the client", lambda: held_messages("runResult") == 0, LIMIT)
    assert len(future.result(LIMIT)) == 1_000
