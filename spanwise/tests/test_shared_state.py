"""What clients and tasks share under names: what `distributed` answers, and what ends each wait."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import dask
import distributed
import numpy as np
import pytest

import spanwise
from spanwise import Client, ClusterError, Event, LocalCluster, Lock, Queue, Semaphore, Variable
from spanwise.errors import SchedulerLost
from spanwise.shared import requests
from spanwise.shared.place import Place
from spanwise.shared.requests import Call, SharedRequests
from spanwise.shared.steps import run_async
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=2) as client:
        yield client


@pytest.fixture(autouse=True)
def _is_current(cluster: Client) -> Iterator[None]:
    """What tests make without naming a client is of this cluster, also beside theirs."""
    with cluster.as_current():
        yield


Story = Callable[[Any, Any], list[Any]]


def said(do: Callable[[], Any]) -> Any:
    """What a call returns, or the kind of error that it raises."""
    try:
        return do()
    except Exception as error:  # noqa: BLE001 (compared)
        return type(error).__name__


def metadata(lib: Any, client: Any) -> list[Any]:
    put, get = client.set_metadata, client.get_metadata
    return [
        said(each)
        for each in (
            lambda: put("x", 123),
            lambda: get("x"),
            lambda: get("missing"),
            lambda: get("missing", default=3),
            lambda: get(["missing", "y"], default=None),
            lambda: get(["x", "y"]),
            lambda: put(["x", "y"], 1),
            lambda: put(["x", "w", "z"], 456),
            lambda: get("x"),
            lambda: get(("x", "w")),
            lambda: put("d", {"a": [1, 2]}),
            lambda: get(["d", "a", 0]),
            lambda: get(["d", "a", 7]),
            lambda: put(["d", "b", "c"], 2),
            lambda: put(["d", "a", 1], 9),
            lambda: get("d"),
            lambda: get(["x", "y", "z"], default=4),
            lambda: put(("t", 1), 5),
            lambda: get([("t", 1)]),
            lambda: get(("t", 1)),
            lambda: put(7, {1, 2}),
            lambda: get(7),
            lambda: put([], 1),
            lambda: {key: get([])[key] for key in ("x", "d", 7, ("t", 1))},
        )
    ]


def lock(lib: Any, client: Any) -> list[Any]:
    one, other = lib.Lock("a lock"), lib.Lock("a lock")
    return [
        said(each)
        for each in (
            one.locked,
            one.acquire,
            one.locked,
            other.locked,
            lambda: one.acquire(blocking=False),
            lambda: other.acquire(timeout="20ms"),
            lambda: other.acquire(False, 1),
            other.release,
            one.release,
            other.locked,
            lambda: other.acquire(timeout=0),
            other.release,
            one.release,
            lambda: _within(one, other),
            one.locked,
            lambda: lib.Lock().name != lib.Lock().name,
            lambda: lib.Lock("a lock").name,
        )
    ]


def multi_lock(lib: Any, client: Any) -> list[Any]:
    one, other = lib.MultiLock(["b", "a"]), lib.MultiLock(["a", "c"])
    return [
        said(each)
        for each in (
            one.locked,
            one.acquire,
            one.locked,
            lambda: other.acquire(timeout="20ms"),
            lambda: other.acquire(False, 1),
            one.release,
            one.locked,
            one.release,
            lambda: other.acquire(blocking=False),
            other.release,
            lambda: one.acquire(num_locks=1),
            lambda: lib.MultiLock(["a", "b"]).acquire(timeout="20ms", num_locks=2),
            one.release,
            lambda: lib.MultiLock(["x"]).names,
        )
    ]


def _within(one: Any, other: Any) -> list[Any]:
    with one as got:
        return [got is one, one.locked(), other.acquire(timeout=0)]


def event(lib: Any, client: Any) -> list[Any]:
    one = lib.Event("an event")
    return [
        said(each)
        for each in (
            one.is_set,
            lambda: one.wait(0.02),
            one.set,
            one.set,
            lib.Event("an event").is_set,
            one.wait,
            one.clear,
            one.is_set,
            one.clear,
            lambda: one.wait("20 ms"),
            lambda: one.wait("nonsense"),
            lambda: one.wait(0),
            lambda: lib.Event(("a", 1)).set(),
            lambda: lib.Event(("a", 1)).is_set(),
            lambda: lib.Event("('a', 1)").is_set(),
            lambda: lib.Event().name[:6],
        )
    ]


def semaphore(lib: Any, client: Any) -> list[Any]:
    # Theirs goes on to refresh leases of a closed one, and takes them for leases of the next of its
    # name.
    name = f"a semaphore {uuid4().hex}"
    one = lib.Semaphore(2, name)
    return [
        said(each)
        for each in (
            one.get_value,
            one.release,
            one.acquire,
            one.acquire,
            lambda: one.acquire(timeout=0.02),
            one.get_value,
            one.release,
            one.register,
            lambda: lib.Semaphore(3, name).register(),
            lambda: lib.Semaphore(3, name).acquire(timeout=LIMIT_SECONDS),
            lambda: _entered(one),
            one.get_value,
            one.release,
            one.get_value,
            one.close,
            lambda: one.acquire(timeout=0.02),
            lambda: lib.Semaphore(3, name).acquire(timeout=LIMIT_SECONDS),
            lib.Semaphore(3, name).close,
            lambda: lib.Semaphore(0, "never").acquire(timeout=0.02),
            lambda: lib.Semaphore().name[:10],
            lambda: lib.Semaphore().max_leases,
        )
    ]


def _entered(one: Any) -> list[Any]:
    with one as got:
        return [got is one, one.get_value()]


def variable(lib: Any, client: Any) -> list[Any]:
    one = lib.Variable("a variable", client=client)
    return [
        said(each)
        for each in (
            lambda: one.get(timeout=0.02),
            lambda: one.set([1, (2, 3)]),
            one.get,
            lambda: lib.Variable("a variable").get(),
            lambda: one.set({1}),
            lambda: one.get(timeout="60s"),
            lambda: one.set(None),
            one.get,
            lambda: one.set({"größe": b"\x00", 1: None}),
            one.get,
            one.delete,
            # With theirs it goes in its own time.
            lambda: wait_until("it is gone", lambda: said(lambda: one.get(0.05)) == "TimeoutError"),
            lambda: lib.Variable().name[:9],
        )
    ]


def queue(lib: Any, client: Any) -> list[Any]:
    one = lib.Queue("a queue", maxsize=2)
    return [
        said(each)
        for each in (
            one.qsize,
            lambda: one.put(1),
            lambda: one.put((1, [2])),
            lambda: one.put(3, timeout=0.02),
            one.qsize,
            lambda: one.get(batch=2),
            lambda: one.get(timeout=0.02),
            lambda: one.get(batch=True),
            lambda: one.get(batch=2, timeout=1),
            lambda: one.put({1}),
            lambda: lib.Queue("a queue", maxsize=9).get(timeout=LIMIT_SECONDS),
            lambda: one.get(timeout=0),
            lambda: lib.Queue().name[:6],
            lambda: lib.Queue().maxsize,
        )
    ]


STORIES: list[Story] = [metadata, lock, multi_lock, event, semaphore, variable, queue]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_answers_are_as_with_distributed(
    cluster: Client, theirs: distributed.Client, story: Story
) -> None:
    with cluster.as_current():
        ours = story(spanwise, cluster)
    with theirs.as_current():
        expected = story(distributed, theirs)
    assert ours == expected
    assert [type(each) for each in ours] == [type(each) for each in expected]


def in_task(story: Story) -> list[Any]:
    """A story told on a worker."""
    return story(spanwise, None)


@pytest.mark.parametrize("story", STORIES[1:], ids=lambda story: story.__name__)
def test_answers_on_workers_are_as_with_distributed(
    cluster: Client, theirs: distributed.Client, story: Story
) -> None:
    with theirs.as_current():
        expected = story(distributed, theirs)
    task = cluster.submit(in_task, story, pure=False)
    assert task.result(LIMIT_SECONDS) == expected
    (told,) = cluster.run(in_task, story, workers=[0]).values()
    assert told == expected


# -- between tasks and clients ----------------------------------------------


def add_one(counter: Variable, guard: Lock, times: int) -> None:
    for _ in range(times):
        with guard:
            counter.set(counter.get() + 1)


def test_a_lock_guards_what_tasks_change(cluster: Client) -> None:
    counter, guard = Variable("counter"), Lock("guard")
    counter.set(0)
    cluster.gather(cluster.map(add_one, [counter] * 4, [guard] * 4, [25] * 4, pure=False))
    add_one(counter, guard, 5)
    assert counter.get() == 105
    assert not guard.locked()


def held_together(gate: Semaphore, inside: Queue) -> int:
    with gate:
        inside.put(1)
        together = gate.get_value()
        inside.get()
    return int(together)


def test_no_more_tasks_than_leases_are_inside(cluster: Client) -> None:
    gate, inside = Semaphore(2, "gate"), Queue("inside", maxsize=2)
    # A third item would make its task wait for ever: it has no room.
    seen = cluster.gather(cluster.map(held_together, [gate] * 12, [inside] * 12, pure=False))
    assert set(seen) <= {1, 2}
    assert gate.get_value() == 0
    gate.close()


def produce(into: Queue, numbers: list[int]) -> None:
    for number in numbers:
        into.put(number)


def consume(source: Queue, count: int) -> list[int]:
    return [source.get() for _ in range(count)]


def test_a_queue_between_tasks_loses_and_doubles_nothing(cluster: Client) -> None:
    between = Queue("between", maxsize=3)
    makers = cluster.map(produce, [between] * 2, [range(20), range(20, 40)], pure=False)
    takers = cluster.map(consume, [between] * 2, [15, 25], pure=False)
    got = cluster.gather(takers)
    cluster.gather(makers)
    assert sorted(chain(*got)) == list(range(40))
    for each in got:  # of one maker, the older before the newer
        assert [n for n in each if n < 20] == sorted(n for n in each if n < 20)


def wait_for_it(name: str) -> bool:
    return bool(Event(name).wait())


def quick(n: int) -> int:
    return n


def test_tasks_that_wait_keep_back_no_results(cluster: Client) -> None:
    """All but one of the threads wait; what the others have ended is reported all the same."""
    name = "released-at-last"
    waiting = [cluster.submit(wait_for_it, name, pure=False) for _ in range(3)]
    for n in range(20):
        assert cluster.submit(quick, n, pure=False).result(LIMIT_SECONDS) == n
    assert not any(each.done() for each in waiting)
    Event(name).set()
    assert cluster.gather(waiting) == [True] * 3
    Event(name).clear()


def numbers(n: int) -> np.ndarray[Any, Any]:
    return np.arange(n) * 1.5


def test_arrays_and_classes_of_the_notebook_are_shared(cluster: Client) -> None:
    one = Variable("array")
    one.set(numbers(1000))
    assert np.array_equal(one.get(), numbers(1000))

    class Mine:
        n = 5

    one.set(Mine())
    assert cluster.submit(lambda each: each.get().n, one, pure=False).result(LIMIT_SECONDS) == 5


# -- what ends a wait, and who holds -----------------------------------------


def hold(once: str) -> str:
    if Event(once).is_set():
        return "it runs again"
    guard = Lock("held")  # an object that is forgotten would let go after 30 s
    guard.acquire()
    Event(once).set()
    return str(Event("never").wait())


def test_a_worker_that_is_killed_lets_go_of_its_lock(cluster: Client) -> None:
    holding = cluster.submit(hold, "it is held", pure=False)
    assert Event("it is held").wait(LIMIT_SECONDS)
    mine = Lock("held")
    assert mine.acquire(blocking=False) is False
    (address,) = [each for each, keys in cluster.processing().items() if holding.key in keys]
    os.kill(cluster.scheduler_info()["workers"][address]["pid"], signal.SIGKILL)
    assert mine.acquire(timeout=LIMIT_SECONDS)
    assert holding.result(LIMIT_SECONDS) == "it runs again"
    mine.release()
    assert not mine.locked()
    cluster.wait_for_workers(2, timeout=LIMIT_SECONDS)


def test_a_lease_that_was_forgotten_ends_after_its_timeout(cluster: Client) -> None:
    with dask.config.set({"distributed.scheduler.locks.lease-timeout": "50ms"}):
        assert Semaphore(1, "forgotten").acquire()  # by an object that is gone now
        other = Semaphore(1, "forgotten")
        assert other.acquire(timeout=LIMIT_SECONDS)
        other.close()
    with dask.config.set({"distributed.scheduler.locks.lease-timeout": "inf"}):
        assert Semaphore(1, "kept").acquire()
        other = Semaphore(1, "kept")
        assert other.acquire(timeout=0.2) is False
        other.close()


def test_a_client_that_is_closed_lets_go_of_what_it_holds() -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1) as made:
        with Client(made):
            mine = Lock("of the first")
            assert mine.acquire()
        with Client(made):
            assert Lock("of the first").acquire(timeout=LIMIT_SECONDS)


def test_waits_end_with_the_scheduler() -> None:
    known = {each.pid for role in ("scheduler", "worker") for each in processes_of(role)}
    with Client(n_workers=1, threads_per_worker=1) as client:
        failed: list[BaseException] = []

        def wait() -> None:
            try:
                Event("never", client=client).wait()
            except SchedulerLost as error:
                failed.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        waiting = client.submit(wait_for_it, "never", pure=False)
        wait_until("the task waits", lambda: sum(map(len, client.call_stack(waiting).values())))
        (worker,) = processes_of("worker", besides=known)
        (scheduler,) = processes_of("scheduler", besides=known)
        scheduler.kill()
        thread.join(LIMIT_SECONDS)
        assert len(failed) == 1
        wait_until("the worker has ended", lambda: not worker.is_running())
        with pytest.raises(SchedulerLost):
            Event("never", client=client).is_set()


def test_ctrl_c_ends_a_wait_and_leaves_no_entry(cluster: Client) -> None:
    one, items, holder = Event("interrupted"), Queue("interrupted"), Lock("interrupted")
    holder.acquire()
    items.put("first")
    for wait in (
        one.wait,
        Variable("interrupted").get,
        lambda: items.get(batch=3),  # it has taken one
        Lock("interrupted").acquire,
    ):
        with pytest.raises(KeyboardInterrupt):
            _interrupted(cluster, wait)
    assert items.get(timeout=LIMIT_SECONDS) == "first"
    items.put(1)
    assert items.get(timeout=LIMIT_SECONDS) == 1
    holder.release()
    assert Lock("interrupted").acquire(timeout=LIMIT_SECONDS)
    assert not cluster._session.shared._waiting


def _interrupted(cluster: Client, wait: Callable[[], Any]) -> None:
    """Call something, and interrupt this thread once it waits for longer than an answer takes."""
    shared = cluster._session.shared
    ended = threading.Event()

    def raise_once(number: int, frame: Any) -> None:
        if not ended.is_set():
            ended.set()
            raise KeyboardInterrupt

    def interrupt() -> None:
        seen: set[int] = set()

        def waits_long() -> bool:
            nonlocal seen
            still = seen & set(shared._waiting)
            seen = set(shared._waiting)
            time.sleep(0.2)
            return ended.is_set() or bool(still)

        wait_until("it waits", waits_long)
        # One that comes just before the thread begins to wait does not wake it: again.
        while not ended.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, raise_once)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        wait()
    finally:
        ended.set()
        thread.join(LIMIT_SECONDS)
        signal.signal(signal.SIGINT, before)


def test_what_is_too_large_or_nowhere_is_said(cluster: Client) -> None:
    with pytest.raises(ValueError, match=r"at most 10,485,760 bytes.*scatter"):
        Variable("large").set(bytes(11 * 2**20))
    with pytest.raises(ValueError, match="at most 1,000 characters"):
        Event("n" * 1_001).set()
    with pytest.raises(TypeError, match="max_leases is a number"):
        Semaphore("two", "x").acquire()  # type: ignore[arg-type]
    kept = [Variable(f"room-{n}") for n in range(7)]
    with pytest.raises(ClusterError, match="keeps at most 67,108,864 bytes"):
        for each in kept:
            each.set(bytes(10 * 2**20 - 100))
    for each in kept:
        each.delete()
    kept[0].set(1)
    with dask.config.set(scheduler=None):
        elsewhere = [Lock("x"), Event("x"), Variable("x"), Queue("x"), Semaphore(1, "x")]
        for use in ("acquire", "wait", "get", "get", "register"):
            with pytest.raises(RuntimeError, match=r"not properly initialized.*Client"):
                getattr(elsewhere.pop(0), use)()


class Wire:
    """A link on which somebody else answers."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, list[Any]]] = []
        self.shared = SharedRequests(self.send)

    def send(self, kind: str, fields: Any, tables: Any, blobs: list[Any]) -> None:
        self.sent.append((kind, fields, blobs))

    def answer(self, request: int, outcome: str, *blobs: bytes, hold: int = 0) -> None:
        fields = {
            "request": request,
            "outcome": outcome,
            "why": "",
            "count": 0,
            "names": [],
            "hold": hold,
        }
        self.shared.came(SimpleNamespace(fields=fields, blobs=blobs))  # type: ignore[arg-type]


@pytest.mark.asyncio
async def test_what_comes_after_a_wait_was_given_up_is_given_back() -> None:
    wire = Wire()
    place = Place(wire.shared, True)
    with dask.config.set(scheduler=SimpleNamespace(_session=wire, asynchronous=True)):
        items, guard = Queue("q"), Lock("l")
        for steps in (items._take(2, None), guard._acquire(place, None)):
            task = asyncio.ensure_future(run_async(place, steps))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    kinds = [(kind, fields.get("what"), fields["request"]) for kind, fields, _ in wire.sent]
    assert kinds[:5] == [
        ("share", "open", 0),
        ("share", "get", 1),
        ("giveUp", None, 1),
        ("share", "acquire", 2),
        ("giveUp", None, 2),
    ]
    wire.answer(1, "done", b"a", b"b")
    wire.answer(2, "done")
    told = wait_until("all is told", lambda: len(wire.sent) >= 9 and wire.sent[5:])
    given = [(fields["what"], blobs) for _, fields, blobs in told]
    assert [each for each in given if each[0] == "putBack"] == [
        ("putBack", [b"b"]),
        ("putBack", [b"a"]),
    ]
    acquired = wire.sent[3][1]["lease"]
    assert {fields["lease"] for _, fields, _ in told if fields["what"] == "release"} == {acquired}
    assert not wire.shared._given_up and not wire.shared._waiting
    wire.shared.end(lambda: SchedulerLost("gone"))
    with pytest.raises(SchedulerLost):
        await wire.shared.ask_async(Call("event", "wait", "e", None))


@pytest.mark.asyncio
@pytest.mark.parametrize("turns", [0, 1], ids=["before its loop knows", "before it goes on"])
async def test_what_comes_as_a_wait_is_given_up_is_given_back(turns: int) -> None:
    """The answer is here, and whoever asked is cancelled before it has it."""
    wire = Wire()
    place = Place(wire.shared, True)
    with dask.config.set(scheduler=SimpleNamespace(_session=wire, asynchronous=True)):
        task = asyncio.ensure_future(run_async(place, Queue("q")._take(2, None)))
        await asyncio.sleep(0)
        wire.answer(1, "done", b"a", b"b")
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    told = wait_until("all is told", lambda: len(wire.sent) >= 4 and wire.sent[2:])
    assert [(fields["what"], blobs) for _, fields, blobs in told] == [
        ("putBack", [b"b"]),
        ("putBack", [b"a"]),
    ]
    wire.shared.end(lambda: SchedulerLost("gone"))


@pytest.mark.asyncio
async def test_items_are_put_back_in_their_order_also_behind_one_on_its_way() -> None:
    """The third is on its way as its wait is given up; each hold is ended once, and last."""
    wire = Wire()
    with dask.config.set(scheduler=SimpleNamespace(_session=wire, asynchronous=True)):
        steps = Queue("q")._get_many(4)
        task = asyncio.ensure_future(run_async(Place(wire.shared, True), steps))
        await asyncio.sleep(0)
        wire.answer(1, "done", b"1", hold=7)
        await until("the second is asked for", lambda: len(wire.sent) == 3)
        wire.answer(2, "done", b"2")
        await until("the third is asked for", lambda: len(wire.sent) == 4)
        # They are to be held together: of 10,000 holds the scheduler lets go of the oldest.
        assert [fields["hold"] for _, fields, _ in wire.sent[1:4]] == [0, 7, 7]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [(kind, fields.get("what")) for kind, fields, _ in wire.sent[4:]] == [
        ("giveUp", None),
        ("share", "count"),
    ]
    wire.answer(3, "done", b"3", hold=7)
    wire.answer(4, "done")
    wait_until("all is told", lambda: len(wire.sent) >= 11)
    wire.shared.end(lambda: SchedulerLost("gone"))
    wire.shared._teller.join(LIMIT_SECONDS)  # type: ignore[union-attr]
    assert [
        (fields.get("what", kind), fields["request"], fields.get("hold"), *blobs)
        for kind, fields, blobs in wire.sent[6:]
    ] == [
        ("putBack", 0, 7, b"3"),
        ("giveUp", 3, 7),
        ("putBack", 0, 0, b"2"),
        ("putBack", 0, 7, b"1"),
        ("giveUp", 1, 7),
    ]


class FailingWire(Wire):
    """Its question cannot be sent."""

    error: BaseException

    def send(self, kind: str, fields: Any, tables: Any, blobs: list[Any]) -> None:
        if fields.get("what") == "count":
            raise self.error
        super().send(kind, fields, tables, blobs)


#: What was taken, the last first, with its hold.
PUT_BACK = [("putBack", 0, b"2"), ("putBack", 7, b"1"), ("giveUp", 7)]


def taken(wire: Wire) -> list[requests.Answer]:
    """Two items, and futures in the first of them."""
    return [
        requests.Answer("done", values=[b"1"], hold=requests.Hold(7), request=1),
        requests.Answer("done", values=[b"2"], request=2),
    ]


def told_of(wire: Wire, count: int) -> list[tuple[Any, ...]]:
    wait_until("all is told", lambda: len(wire.sent) >= count)
    wire.shared.end(lambda: SchedulerLost("gone"))
    if wire.shared._teller is not None:
        wire.shared._teller.join(LIMIT_SECONDS)
    return [
        (fields.get("what", kind), fields.get("hold"), *blobs) for kind, fields, blobs in wire.sent
    ]


@pytest.mark.parametrize("error", [RuntimeError("too large"), KeyboardInterrupt()], ids=repr)
def test_items_are_put_back_also_where_nothing_can_be_asked(error: BaseException) -> None:
    """The link lives: the hold is ended, the items are the next ones, nobody is waited for."""
    wire = FailingWire()
    wire.error = error
    queue = Queue("q")
    answers = taken(wire)
    raised = pytest.raises(type(error)) if not isinstance(error, Exception) else nullcontext()
    with raised:
        wire.shared.put_back(answers, queue._undo, queue._call("count"))
    assert answers[0].hold.is_let_go
    assert not wire.shared._waiting and not wire.shared._putting_back
    assert told_of(wire, 3) == PUT_BACK


def test_items_are_put_back_before_their_client_leaves() -> None:
    """It hears no answer any more; one that comes all the same changes nothing."""
    wire = Wire()
    queue = Queue("q")
    wire.shared.put_back(taken(wire), queue._undo, queue._call("count"))
    question = wire.sent[0][1]["request"]
    wire.shared.give_up_all()
    wire.answer(question, "done")
    assert told_of(wire, 5) == [("count", None), *PUT_BACK, ("giveUp", None)]


class SlowWire(Wire):
    """Its thread holds the first item for a moment, in which another would overtake it."""

    def send(self, kind: str, fields: Any, tables: Any, blobs: list[Any]) -> None:
        if blobs == [b"2"]:
            time.sleep(0.2)
        super().send(kind, fields, tables, blobs)


def test_what_is_left_is_told_by_one_thread_alone() -> None:
    wire = SlowWire()
    queue = Queue("q")
    wire.shared.put_back(taken(wire), queue._undo, queue._call("count"))
    wire.shared.give_up_all()
    assert told_of(wire, 5) == [("count", None), *PUT_BACK, ("giveUp", None)]


def test_items_are_put_back_before_the_link_of_their_client_is_closed() -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster:
        stays, leaves = (Client(cluster.scheduler_address, set_as_default=False) for _ in "12")
        queue = Queue("left", client=stays)
        for item in (1, 2):
            queue.put(item)
        of_who_leaves = Queue("left", client=leaves)
        shared = leaves._session.shared
        call = of_who_leaves._call("get", 0.0)
        answers = [shared.ask(call._replace(fields={**call.fields, "count": 2}))]
        # No answer to the question comes any more.
        shared._open = lambda take: 2**32 - 1  # type: ignore[method-assign]
        shared.put_back(answers, of_who_leaves._undo, of_who_leaves._call("count"))
        assert queue.qsize() == 0
        leaves.close()
        assert queue.get(batch=True) == [1, 2]
        stays.close()


async def until(what: str, is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not is_so():
            await asyncio.sleep(0.001)
    assert is_so(), what


def test_what_cannot_be_told_keeps_nothing_else_from_being_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither a message that fails, nor a moment in which no thread can be started."""
    wire = Wire()
    answer = requests.Answer("done", values=[b"a"], hold=requests.Hold(7), request=1)

    def undo(_: requests.Answer) -> list[Call]:
        return [Call("queue", "putBack", "q", value=b"a")]

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        # (it is called where another error is on its way up)
        wire.shared.take_back(answer, undo)
    assert wire.sent == []
    wire.shared.tell_later(Call("queue", "fails", "q", value=b"", futures=[None]))
    wire.shared.take_back(answer, undo)
    wait_until("all is told", lambda: len(wire.sent) == 4)
    wire.shared.end(lambda: SchedulerLost("gone"))


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


class PromptWire(Wire):
    """It is answered while it is sent."""

    def send(self, kind: str, fields: Any, tables: Any, blobs: list[Any]) -> None:
        super().send(kind, fields, tables, blobs)
        self.answer(fields["request"], "done", b"a")


@pytest.mark.asyncio
async def test_an_answer_counts_also_where_its_loop_was_busy_until_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "ANSWER_SECONDS", 0.0)
    answer = await PromptWire().shared.ask_async(Call("queue", "get", "q", 0.0))
    assert answer.values == [b"a"]


# -- asynchronous -------------------------------------------------------------


async def in_async_task(name: str) -> list[Any]:
    guard = Lock(f"{name}-lock")
    async with guard:
        held = await guard.locked()
    await Variable(f"{name}-variable").set(1)
    await asyncio.gather(Queue(f"{name}-queue").put(2), Queue(f"{name}-queue").put(2))
    return [held, await guard.locked(), await Event(name).wait(LIMIT_SECONDS)]


@pytest.mark.asyncio
async def test_all_of_it_without_blocking() -> None:
    async with Client(n_workers=1, threads_per_worker=2, asynchronous=True) as client:
        name = "async"
        # More than there are threads in the loop's executor.
        waits = [asyncio.ensure_future(Event(name).wait()) for _ in range(200)]
        future = client.submit(in_async_task, name)
        assert await Variable(f"{name}-variable").get(timeout=LIMIT_SECONDS) == 1
        assert await Queue(f"{name}-queue").get(batch=2) == [2, 2]
        assert await Queue(f"{name}-queue").get(batch=True) == []
        cancelled = waits.pop()
        cancelled.cancel()
        await (await Event(name)).set()
        assert await asyncio.gather(*waits) == [True] * 199
        assert await future == [True, False, True]
        gate = await Semaphore(2, "gate")
        async with gate, gate:
            assert await gate.get_value() == 2
            assert not await gate.acquire(timeout=0)
        assert await gate.get_value() == 0
        await gate.close()
        with pytest.raises(TypeError, match="async with"), Lock("x"):
            pass
        await client.set_metadata(["a", "b"], 1)
        assert await client.get_metadata("a") == {"b": 1}
        await asyncio.gather(*(client.set_metadata(["a", n], n) for n in range(20)))
        assert await client.get_metadata("a") == {"b": 1, **{n: n for n in range(20)}}
        assert await Queue("late").get(timeout=0.01, batch=True) == []
        with pytest.raises(TimeoutError):
            await Queue("late").get(timeout=0.01)
        assert not client._session.shared._waiting


def test_some_of_several_locks_are_had_as_soon_as_so_many_are_free(
    cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for one that is held for long takes others that come free meanwhile."""
    free, short, long = (f"{name}-{uuid4().hex}" for name in "abc")
    held_short, held_long = spanwise.MultiLock([short]), spanwise.MultiLock([long])
    assert held_short.acquire() and held_long.acquire()
    waits = threading.Event()
    acquire = Lock._acquire

    def noted(lock: Lock, place: Place, seconds: float | None) -> Any:
        if seconds != 0.0:
            waits.set()
        return acquire(lock, place, seconds)

    monkeypatch.setattr(Lock, "_acquire", noted)
    wanted = spanwise.MultiLock([free, short, long])
    with ThreadPoolExecutor(1) as threads:
        got = threads.submit(wanted.acquire, timeout=LIMIT_SECONDS, num_locks=2)
        assert waits.wait(LIMIT_SECONDS)
        held_short.release()
        assert got.result(LIMIT_SECONDS)
    assert held_long.locked()
    assert wanted.locked()
    wanted.release()
    held_long.release()
    assert held_long.acquire() and held_short.acquire()
    assert not wanted.acquire(timeout=0.12, num_locks=2)
    held_long.release()
    held_short.release()
