"""Tasks that use the cluster: the client that they get, and threads that they leave to others."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import pytest

import spanwise
from spanwise import Client, Event, Reschedule, as_completed, get_client, wait, worker_client
from spanwise.metrics import context_meter
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.worker.lanes import Lanes


def square(x: int) -> int:
    return x * x


def sum_of_squares(n: int) -> int:
    with worker_client() as client:
        return sum(client.gather(client.map(square, range(n))))


def fib(n: int) -> int:
    if n < 2:
        return n
    client = get_client()
    one, other = client.submit(fib, n - 1, pure=False), client.submit(fib, n - 2, pure=False)
    return int(one.result()) + int(other.result())


def test_a_task_has_its_own_tasks_computed(cluster: Client) -> None:
    assert cluster.submit(sum_of_squares, 10).result(LIMIT_SECONDS) == 285


def test_tasks_that_wait_for_their_own_leave_them_the_threads(cluster: Client) -> None:
    # Many more wait at a time than there are threads, to several levels.
    assert cluster.submit(fib, 9).result(LIMIT_SECONDS) == 34
    many = cluster.map(sum_of_squares, range(5, 25))
    assert cluster.gather(many) == [sum(x * x for x in range(n)) for n in range(5, 25)]


def test_each_worker_has_one_client(cluster: Client) -> None:
    def numbers() -> tuple[int, int]:
        return os.getpid(), id(get_client())

    for address, (pid, own) in cluster.run(numbers).items():
        seen = {
            cluster.submit(numbers, workers=[address], pure=False).result(LIMIT_SECONDS)
            for _ in range(3)
        }
        assert seen == {(pid, own)}


def test_closing_the_client_of_a_task_leaves_it_to_the_others(cluster: Client) -> None:
    def close() -> int:
        with get_client() as client:
            pass
        client.close()
        return int(client.submit(square, 7).result())

    assert cluster.submit(close).result(LIMIT_SECONDS) == 49


def test_functions_of_run_have_it_too(cluster: Client) -> None:
    def ask() -> int:
        return int(get_client().submit(square, 5).result())

    assert set(cluster.run(ask).values()) == {25}


def test_waits_and_iterators_work_in_tasks(cluster: Client) -> None:
    def work() -> list[Any]:
        client = get_client()
        futures = client.map(square, range(6))
        done = wait(futures).done
        first = sorted(each.result() for each in as_completed(futures))
        return [len(done), first, client.gather({"a": futures[2]})]

    assert cluster.submit(work).result(LIMIT_SECONDS) == [6, [0, 1, 4, 9, 16, 25], {"a": 4}]


def test_iterators_leave_their_thread_to_what_they_wait_for(cluster: Client) -> None:
    (address, *_), threads = cluster.nthreads(), {*cluster.nthreads().values()}
    assert threads == {1}, "what is waited for has no other thread"

    def work() -> list[Any]:
        def several() -> list[Any]:
            return get_client().map(square, range(4), workers=[address], pure=False)

        growing = as_completed(several())
        plain = [next(growing).result()]
        growing.update(several())
        plain += [each.result() for each in growing]
        pairs = as_completed(several(), with_results=True)
        batches = as_completed(several(), with_results=True)
        return [
            sorted(plain),
            sorted(value for _, value in pairs),
            sorted(value for batch in batches.batches() for _, value in batch),
        ]

    found = cluster.submit(work, workers=[address]).result(LIMIT_SECONDS)
    assert found == [[0, 0, 1, 1, 4, 4, 9, 9], [0, 1, 4, 9], [0, 1, 4, 9]]
    there = cluster.submit(_iterates, address, workers=[address])
    assert there.result(LIMIT_SECONDS) == [0, 1, 4, 9]


async def _iterates(address: str) -> list[int]:
    futures = get_client().map(square, range(4), workers=[address], pure=False)
    return sorted([value async for _, value in as_completed(futures, with_results=True)])


def test_collections_are_computed_by_the_cluster_once_it_was_asked_for(cluster: Client) -> None:
    def plain() -> int:
        before = threading.get_ident()
        return int(dask.delayed(threading.get_ident)().compute() == before)

    def with_client() -> list[Any]:
        with worker_client():
            x = da.arange(20, chunks=5).persist()
            return [int(x.sum().compute()), type(next(iter(x.__dask_graph__().values()))).__name__]

    assert cluster.submit(plain).result(LIMIT_SECONDS) == 1
    assert cluster.submit(with_client).result(LIMIT_SECONDS) == [190, "Future"]
    # The next task on that thread has not asked.
    assert cluster.submit(plain, pure=False).result(LIMIT_SECONDS) == 1


async def _in_coroutine() -> int:
    client = get_client()
    return int(await client.submit(square, 3)) + int(
        (await client.gather([client.submit(square, 4)]))[0]
    )


def test_a_coroutine_gets_an_asynchronous_client(cluster: Client) -> None:
    assert cluster.submit(_in_coroutine).result(LIMIT_SECONDS) == 25


def test_errors_of_inner_tasks_arrive(cluster: Client) -> None:
    def fail() -> None:
        get_client().submit(int, "no number").result()

    with pytest.raises(ValueError, match="no number"):
        cluster.submit(fail).result(LIMIT_SECONDS)


def test_outside_of_tasks_there_is_nothing_to_leave(cluster: Client) -> None:
    for name in ("secede", "rejoin"):
        with pytest.raises(ValueError, match=rf"{name}\(\) is for tasks"):
            getattr(spanwise, name)()
    with pytest.raises(ValueError, match="worker_client"), worker_client():
        pass
    assert get_client() is cluster


def test_a_task_that_secedes_gives_its_thread_away_and_gets_one_again(cluster: Client) -> None:
    address = next(iter(cluster.scheduler_info()["workers"]))
    threads = cluster.nthreads()[address]

    def secedes(number: int) -> str:
        spanwise.secede()
        Event("go on").wait(LIMIT_SECONDS)
        spanwise.rejoin()
        return f"done {number}"

    try:
        away = [cluster.submit(secedes, n, workers=[address]) for n in range(threads + 2)]
        # All threads are with tasks that wait, and others run there all the same.
        assert cluster.submit(square, 11, workers=[address]).result(LIMIT_SECONDS) == 121
        assert [each.status for each in away] == ["pending"] * len(away)
    finally:
        Event("go on").set()
    assert cluster.gather(away) == [f"done {n}" for n in range(threads + 2)]
    Event("go on").clear()


def test_a_seceded_task_can_be_cancelled(cluster: Client) -> None:
    def secedes() -> None:
        spanwise.secede()
        Event("begun").set()
        Event("cancelled").wait(LIMIT_SECONDS)

    future = cluster.submit(secedes)
    assert Event("begun").wait(LIMIT_SECONDS)
    future.cancel()
    assert future.cancelled()
    Event("cancelled").set()
    assert cluster.submit(square, 13).result(LIMIT_SECONDS) == 169


def test_nothing_waits_for_a_cancelled_task_that_goes_on(cluster: Client, tmp_path: Path) -> None:
    runs, may_end, has_ended = (tmp_path / name for name in ("runs", "may_end", "has_ended"))

    def goes_on() -> None:
        # (With an `Event` it would leave its thread to others while it waits.)
        runs.touch()
        wait_until("it may end", may_end.exists)
        has_ended.touch()

    future = cluster.submit(goes_on)
    try:
        wait_until("it runs", runs.exists)
        future.cancel()
        for n in range(4):
            assert cluster.submit(square, 17 + n).result(LIMIT_SECONDS) == (17 + n) ** 2
        assert cluster.gather(cluster.map(square, range(21, 30))) == [n * n for n in range(21, 30)]
        assert not has_ended.exists()
    finally:
        may_end.touch()
    wait_until("it has ended", has_ended.exists)
    # Its thread is free again.
    for address in cluster.nthreads():
        here = cluster.submit(square, 31, workers=[address], pure=False)
        assert here.result(LIMIT_SECONDS) == 961


def test_a_rescheduled_task_runs_again(cluster: Client) -> None:
    def third_time() -> int:
        runs = spanwise.Variable("runs of third_time")
        count = 1
        try:
            count = runs.get(timeout=0) + 1
        except TimeoutError:
            pass
        runs.set(count)
        if count < 3:
            raise Reschedule
        return count

    assert cluster.submit(third_time).result(LIMIT_SECONDS) == 3


def test_a_task_that_always_asks_for_another_run_fails(cluster: Client) -> None:
    def never() -> None:
        raise Reschedule("not here")

    with pytest.raises(spanwise.TaskError, match="raised Reschedule more than 1000 times"):
        # (a thousand times there and back, which a busy machine does in a minute)
        cluster.submit(never).result(4 * LIMIT_SECONDS)


def test_what_a_task_submits_is_of_its_span(cluster: Client) -> None:
    def outer() -> int:
        client = get_client()
        inner = client.submit(square, 21)
        with spanwise.span("deeper"):
            deep = client.submit(square, 22)
        return int(inner.result()) + int(deep.result())

    with spanwise.span("the span of the task"):
        cluster.submit(outer).result(LIMIT_SECONDS)
    rows = cluster.get_task_stream()
    spans = {row["span"] for row in rows if row["name"] == "square"}
    assert ("the span of the task",) in spans
    assert ("the span of the task", "deeper") in spans


def test_no_lane_has_two_runs_at_a_time(cluster: Client) -> None:
    cluster.gather(cluster.map(sum_of_squares, range(30, 42)))
    lanes: dict[tuple[str, int], list[tuple[float, float]]] = {}
    (threads,) = set(cluster.nthreads().values())
    # (what ended without a run was on none)
    for row in [each for each in cluster.get_task_stream() if each["lane"] is not None]:
        # (inputs of others may come while a thread is busy)
        own = [each for each in row["startstops"] if each["action"] != "transfer"]
        start, stop = min(each["start"] for each in own), max(each["stop"] for each in own)
        lanes.setdefault((row["worker"], row["lane"]), []).append((start, stop))
        place = row["lane"] - threads + 1
        assert row["beside"] == (("seceded", place) if place > 0 else None)
    beside = {thread for _, thread in lanes if thread >= threads}
    assert beside, "some have seceded"
    for runs in lanes.values():
        runs.sort()
        for (_, stop), (start, _) in itertools.pairwise(runs):
            assert start >= stop - 1e-6


def test_a_callback_that_raises_at_a_wait_leaves_the_task_its_thread(cluster: Client) -> None:
    def waits() -> tuple[str, bool]:
        def refuse(label: Any, *_: Any) -> None:
            raise ValueError(label)

        client = get_client()
        said = ""
        with context_meter.add_callback(refuse):
            try:
                client.submit(time.sleep, 0.1, pure=False).result()
            except ValueError as error:
                said = str(error)
        executor: Any = threading.current_thread()
        return said, executor.seceded

    assert cluster.submit(waits).result(LIMIT_SECONDS) == ("other-tasks", False)


def test_a_thread_that_a_task_has_again_is_told_though_a_callback_raises() -> None:
    sent: list[tuple[str, Any]] = []

    def refuse(since: float) -> None:
        raise ValueError("other-tasks")

    worker: Any = SimpleNamespace(
        lock=threading.Lock(), idle=[], send=lambda kind, fields, _: sent.append((kind, fields))
    )
    executor: Any = SimpleNamespace(
        row=[0] * 20, seceded=True, clock=0.0, wakeup=threading.Lock(), waited=refuse
    )
    with pytest.raises(ValueError, match="other-tasks"):
        Lanes(worker).rejoin(executor)
    assert sent == [("seceded", {"back": True})]


def test_each_record_names_the_thread_that_ran_the_task(cluster: Client) -> None:
    """Also when threads change their lanes, as tasks secede and rejoin."""

    def tell_thread(away: bool) -> int:
        if away:
            spanwise.secede()
            get_client().submit(square, 3, pure=False).result()
            spanwise.rejoin()
        return threading.get_ident()

    # All at once: what a seceded task asks for comes after them, so others run beside it. A task
    # that is alone can come back before a second thread is needed.
    futures = cluster.map(tell_thread, [n % 3 == 0 for n in range(30)], pure=False)
    told = dict(zip([each.key for each in futures], cluster.gather(futures), strict=True))
    recorded = {
        row["key"]: row["thread"] for row in cluster.get_task_stream() if row["key"] in told
    }
    assert recorded == told
    assert len(set(told.values())) > 2


def test_a_seceded_task_of_a_worker_that_dies_runs_again() -> None:
    def waits_once() -> int:
        spanwise.secede()
        with spanwise.Lock("runs of waits_once"):
            seen = Event("seen")
            if not seen.is_set():
                seen.set()
                os.kill(os.getpid(), signal.SIGKILL)
        return int(get_client().submit(square, 9).result())

    with Client(n_workers=2, threads_per_worker=1) as client:
        assert client.submit(waits_once).result(LIMIT_SECONDS) == 81
        wait_until("there are two again", lambda: len(client.nthreads()) == 2)
