"""What clients share of results: datasets, futures in variables and queues, executors."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dask.array as da
import pytest

import spanwise
from spanwise import Client, Event, Future, Queue, Variable, fire_and_forget
from spanwise.shared.place import Place
from spanwise.shared.steps import Steps, run_async
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


def double(x: Any) -> Any:
    return x * 2


def fail(x: int) -> None:
    raise ValueError(f"not {x}")


@pytest.fixture
def guest(cluster: Client) -> Iterator[Client]:
    """Another client of the cluster, which is not the current one."""
    with Client(cluster.address, set_as_default=False) as client:
        yield client


class TestDatasets:
    def test_stay_when_the_client_that_published_them_has_left(self, cluster: Client) -> None:
        with Client(cluster.address, set_as_default=False) as other:
            x = other.persist(da.arange(100, chunks=10) * 2)
            other.publish_dataset(x, name="numbers")
            other.publish_dataset(one=other.submit(double, 21), plain={"a": 1})
        assert set(cluster.list_datasets()) == {"numbers", "one", "plain"}
        assert int(cluster.get_dataset("numbers").sum().compute()) == 9900
        one = cluster.get_dataset("one")
        assert isinstance(one, Future)
        assert one.client is cluster
        assert one.result(LIMIT_SECONDS) == 42
        assert cluster.get_dataset("plain") == {"a": 1}
        for name in ("numbers", "one", "plain"):
            cluster.unpublish_dataset(name)
        assert cluster.list_datasets() == ()
        # The future is this client's: it stays.
        assert cluster.submit(double, one).result(LIMIT_SECONDS) == 84

    def test_let_results_go_with_the_last_who_have_them(self, cluster: Client) -> None:
        future = cluster.submit(double, 31, key="goes away")
        future.result(LIMIT_SECONDS)
        cluster.publish_dataset(future, name="goes")
        del future
        assert cluster.get_dataset("goes").result(LIMIT_SECONDS) == 62
        cluster.unpublish_dataset("goes")
        wait_until("it is gone", lambda: not any("goes away" in keys for keys in _held(cluster)))

    def test_keep_their_names(self, cluster: Client) -> None:
        cluster.publish_dataset(1, name="taken")
        with pytest.raises(KeyError, match="'taken' already exists"):
            cluster.publish_dataset(2, name="taken")
        cluster.publish_dataset(2, name="taken", override=True)
        assert cluster.get_dataset("taken") == 2
        cluster.unpublish_dataset("taken")
        with pytest.raises(KeyError, match="'taken' not found"):
            cluster.get_dataset("taken")
        assert cluster.get_dataset("taken", default=3) == 3
        with pytest.raises(ValueError, match="name="):
            cluster.publish_dataset(1)

    def test_are_a_mapping(self, cluster: Client, guest: Client) -> None:
        cluster.datasets["a"] = cluster.submit(double, 2)
        cluster.datasets["b"] = 7
        assert sorted(guest.datasets) == ["a", "b"]
        assert len(guest.datasets) == 2
        assert "a" in guest.datasets
        assert guest.datasets["a"].result(LIMIT_SECONDS) == 4
        del guest.datasets["a"]
        assert guest.datasets.pop("b") == 7
        assert list(cluster.datasets) == []

    def test_are_computed_again_when_a_worker_is_lost(self) -> None:
        with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as owner:
            with Client(owner.address, set_as_default=False) as other:
                other.publish_dataset(other.submit(double, 100), name="x")
                other.get_dataset("x").result(LIMIT_SECONDS)
            owner.restart_workers(list(owner.scheduler_info()["workers"]))
            assert owner.get_dataset("x").result(LIMIT_SECONDS) == 200

    def test_of_an_asynchronous_client(self, cluster: Client) -> None:
        async def work() -> Any:
            async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
                await client.publish_dataset(client.submit(double, 6), name="awaited")
                names = [name async for name in client.datasets]
                value = await (await client.get_dataset("awaited"))
                await client.unpublish_dataset("awaited")
                return names, value

        assert asyncio.run(work()) == (["awaited"], 12)

    def test_are_there_in_tasks(self, cluster: Client) -> None:
        def work() -> int:
            client = spanwise.get_client()
            client.publish_dataset(client.submit(double, 50), name="from a task")
            return int(client.get_dataset("from a task").result())

        assert cluster.submit(work).result(LIMIT_SECONDS) == 100
        assert cluster.get_dataset("from a task").result(LIMIT_SECONDS) == 100
        cluster.unpublish_dataset("from a task")

    def test_bring_errors_and_say_of_released_futures(self, cluster: Client, guest: Client) -> None:
        cluster.publish_dataset(cluster.submit(fail, 3), name="failed")
        with pytest.raises(ValueError, match="not 3"):
            guest.get_dataset("failed").result(LIMIT_SECONDS)
        cluster.unpublish_dataset("failed")
        released = cluster.submit(double, 1, key="released before")
        released.release()
        with pytest.raises(RuntimeError, match="released"):
            cluster.publish_dataset(released, name="released")


def _held(client: Client) -> list[str]:
    return [str(keys) for keys in client.has_what().values()]


def _named(keys: Iterable[Any], name: str) -> bool:
    return any(name in str(each) for each in keys)


def _cancelled(client: Client, steps: Steps[Any], came: Callable[[], bool]) -> None:
    """Take steps in an event loop, and cancel them when an answer is here that nobody has yet."""

    async def work() -> None:
        task = asyncio.ensure_future(run_async(Place(client._session.shared, True), steps))
        await asyncio.sleep(0)
        # (the loop stands still meanwhile)
        wait_until("the answer is here", came)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


def _unread() -> None:
    raise ValueError("not to be read")


class Unreadable:
    """It cannot be opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unread, ()


class Packed:
    """Opened it is bytes, and what was in it is still packed."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def __reduce__(self) -> tuple[Any, ...]:
        return bytes, (pickle.dumps(self._content),)


class TestFutures:
    def test_in_variables_hold_their_tasks(self, cluster: Client, guest: Client) -> None:
        variable = Variable("a future", client=cluster)
        variable.set(cluster.submit(double, 8, key="in a variable"))
        # (the client's own future is gone; the release is told some milliseconds later)
        wait_until("it is let go", lambda: "in a variable" not in cluster.futures)
        got = Variable("a future", client=guest).get(timeout=LIMIT_SECONDS)
        assert got.client is guest
        assert got.result(LIMIT_SECONDS) == 16
        variable.delete()
        assert guest.submit(double, got).result(LIMIT_SECONDS) == 32

    def test_in_queues_go_from_tasks_to_clients_and_back(self, cluster: Client) -> None:
        def produce() -> None:
            client = spanwise.get_client()
            queue = Queue("futures")
            for n in range(3):
                queue.put(client.submit(double, n))

        queue = Queue("futures")
        cluster.submit(produce).result(LIMIT_SECONDS)
        futures = queue.get(batch=3)
        assert cluster.gather(futures) == [0, 2, 4]

        def consume() -> int:
            return int(Queue("futures").get().result())

        queue.put([cluster.submit(double, 5)][0])
        assert cluster.submit(consume).result(LIMIT_SECONDS) == 10
        queue.close()

    def test_stay_in_items_of_a_queue_that_are_put_back(self, cluster: Client) -> None:
        queue = Queue("put back", client=cluster)
        for n in range(3):
            queue.put(cluster.submit(double, n, key=f"put back-{n}"))
        wait_until("they are let go", lambda: not _named(cluster.futures, "put back"))
        # Taken one at a time, and all at once.
        for count, left, steps in ((3, 0, queue._get_many(4)), (3, 0, queue._get_all())):
            assert queue.qsize() == count
            _cancelled(cluster, steps, lambda left=left: queue.qsize() == left)
            wait_until("they are put back", lambda count=count: queue.qsize() == count)
        got = queue.get(batch=3)
        assert [each.key for each in got] == [f"put back-{n}" for n in range(3)]
        assert cluster.gather(got) == [0, 2, 4]
        del got
        queue.close()
        wait_until("they are gone", lambda: not _named(_held(cluster), "put back"))

    def test_are_not_held_for_who_has_not_taken_them(self, cluster: Client) -> None:
        variable = Variable("not taken", client=cluster)
        variable.set(cluster.submit(double, 3, key="not taken-cancelled"))
        _cancelled(cluster, variable._get(None), lambda: not cluster._session.shared._waiting)
        variable.set([Unreadable(), cluster.submit(double, 3, key="not taken-unreadable")])
        with pytest.raises(ValueError, match="not to be read"):
            variable.get(timeout=LIMIT_SECONDS)
        wait_until("it was run", lambda: _named(_held(cluster), "not taken-unreadable"))
        variable.delete()
        wait_until("they are gone", lambda: not _named(_held(cluster), "not taken"))

    def test_are_not_held_where_a_value_opens_without_them(self, cluster: Client) -> None:
        variable = Variable("packed", client=cluster)
        future = cluster.submit(double, 3, key="packed twice")
        assert future.result(LIMIT_SECONDS) == 6
        variable.set(Packed(future))
        assert isinstance(variable.get(timeout=LIMIT_SECONDS), bytes)
        del future
        assert _named(_held(cluster), "packed twice")
        variable.delete()
        wait_until("it is gone", lambda: not _named(_held(cluster), "packed twice"))

    def test_in_metadata(self, cluster: Client, guest: Client) -> None:
        cluster.set_metadata(["futures", "a"], cluster.submit(double, 9))
        assert guest.get_metadata(["futures", "a"]).result(LIMIT_SECONDS) == 18
        cluster.set_metadata("futures", None)

    def test_in_results_are_the_client_s_that_gets_them(self, cluster: Client) -> None:
        def make() -> list[Any]:
            client = spanwise.get_client()
            return client.map(double, range(4))

        outer = cluster.submit(make)
        inner = outer.result(LIMIT_SECONDS)
        assert {each.client for each in inner} == {cluster}
        assert cluster.gather(inner) == [0, 2, 4, 6]
        assert cluster.submit(sum, inner).result(LIMIT_SECONDS) == 12

        def use(futures: list[Any]) -> int:
            return int(sum(spanwise.get_client().gather(futures)))

        assert cluster.submit(use, outer).result(LIMIT_SECONDS) == 12


class TestFireAndForget:
    def test_outlives_its_client(self, cluster: Client) -> None:
        def mark(name: str) -> None:
            Event("let it run").wait(LIMIT_SECONDS)
            Event(name).set()

        with Client(cluster.address, set_as_default=False) as other:
            fire_and_forget(other.submit(mark, "it ran"))
            with pytest.warns(RuntimeWarning, match="nobody"):
                forgotten = other.submit(mark, "it did not run", workers=["nobody"], key="waits")
            del forgotten
        Event("let it run").set()
        assert Event("it ran").wait(LIMIT_SECONDS)
        Event("let it run").clear()

    def test_can_be_cancelled(self, cluster: Client) -> None:
        with pytest.warns(RuntimeWarning, match="nobody"):
            future = cluster.submit(double, 77, workers=["nobody"], key="kept and cancelled")
        fire_and_forget(future)
        future.cancel()
        del future
        wait_until(
            "no task waits",
            lambda: cluster.submit(double, time.time()).result(LIMIT_SECONDS) is not None,
        )


class TestExecutor:
    def test_runs_calls(self, cluster: Client) -> None:
        with cluster.get_executor(retries=1) as executor:
            assert isinstance(executor, concurrent.futures.Executor)
            future = executor.submit(double, 4)
            assert future.result(LIMIT_SECONDS) == 8
            assert list(executor.map(double, range(5))) == [0, 2, 4, 6, 8]
            assert list(executor.map(pow, [2, 3], [3, 2])) == [8, 9]
            with pytest.raises(ValueError, match="not 5"):
                executor.submit(fail, 5).result(LIMIT_SECONDS)
        with pytest.raises(RuntimeError, match="after shutdown"):
            executor.submit(double, 1)
        assert cluster.submit(double, 1).result(LIMIT_SECONDS) == 2

    def test_cancels(self, cluster: Client) -> None:
        executor = cluster.get_executor()
        blocked = [executor.submit(Event("never").wait, LIMIT_SECONDS) for _ in range(20)]
        assert blocked[-1].cancel()
        executor.shutdown(wait=False, cancel_futures=True)
        assert all(each.cancelled() for each in blocked)
        Event("never").set()

    def test_refuses_what_it_does_not_know(self, cluster: Client) -> None:
        with pytest.raises(TypeError, match="not actors"):
            cluster.get_executor(actors=True)

    def test_map_ends_after_its_timeout(self, cluster: Client) -> None:
        executor = cluster.get_executor()
        with pytest.raises(TimeoutError):
            list(executor.map(Event("not yet").wait, [LIMIT_SECONDS], timeout=0.05))
        Event("not yet").set()
