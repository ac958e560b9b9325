"""Cancelling what is finished, waiting for nothing, asynchronous clients as the default."""

from __future__ import annotations

import asyncio
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest
from dask import delayed

from spanwise import as_completed, get_client, span, wait
from spanwise.client.current import default_client
from spanwise.client.entries import CANCELLED, ERROR, Entry
from spanwise.errors import CancelledError, ClusterError
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.test_client import fail, increment, until

LIMIT = 60.0


class TestCancel:
    @pytest.mark.parametrize("size", [1, 100_000], ids=["inline", "remote"])
    def test_a_finished_one(self, client: LocalClient, size: int) -> None:
        future, same = client.submit(np.arange, size), client.submit(np.arange, size)
        future.result(LIMIT)
        future.cancel()
        for each in (future, same):
            assert each.status == "cancelled" and each.cancelled() and each.done()
            with pytest.raises(CancelledError):
                each.result(LIMIT)
            assert isinstance(each.exception(LIMIT), CancelledError)
        with pytest.raises(CancelledError):
            client.gather([future])
        assert client.gather([future], errors="skip") == []
        entry = future._alive()
        until(lambda: entry.id in client.fake.released)

    def test_it_is_computed_again_afterwards(self, client: LocalClient) -> None:
        future = client.submit(increment, 1)
        future.result(LIMIT)
        future.cancel()
        again = client.submit(increment, 1)
        assert again.key == future.key and again.result(LIMIT) == 2
        assert future.cancelled()
        assert [key for key, *_ in client.fake.ran] == [future.key] * 2

    def test_a_failed_one(self, client: LocalClient) -> None:
        future = client.submit(fail, 1)
        wait(future, timeout=LIMIT)
        future.cancel()
        assert future.cancelled()
        with pytest.raises(CancelledError):
            future.result(LIMIT)

    def test_one_that_waits_is_cancelled_at_once_and_wakes_who_waits(
        self, client: LocalClient
    ) -> None:
        client.fake.hold.clear()
        future = client.submit(increment, 1)
        coming = as_completed([future], timeout=LIMIT)
        client.cancel([future, [future]])
        assert future.cancelled()
        with pytest.raises(CancelledError):
            wait([future], timeout=LIMIT)
        assert list(coming) == [future]
        future.cancel()
        client.fake.hold.set()
        # A report that was under way changes nothing.
        assert client.submit(increment, 2).result(LIMIT) == 3
        assert future.cancelled() and len(client.fake.cancelled) == 1

    @pytest.mark.parametrize("chosen", [[4], [0, 4], [3, 1, 2], [0, 1, 2, 3, 4], [2, 2, 0]])
    def test_each_of_several_and_no_other(self, client: LocalClient, chosen: list[int]) -> None:
        client.fake.hold.clear()
        futures = [client.submit(increment, i) for i in range(5)]
        ids = [future._alive().id for future in futures]
        client.cancel({"these": [futures[each] for each in chosen]})
        assert [future.cancelled() for future in futures] == [i in chosen for i in range(5)]
        until(lambda: client.fake.cancelled == {ids[each] for each in chosen})
        client.fake.hold.set()
        assert client.gather(futures, errors="skip") == [i + 1 for i in range(5) if i not in chosen]
        until(lambda: sorted(client.fake.released) == sorted({ids[each] for each in chosen}))

    def test_a_cancelled_argument_is_refused(self, client: LocalClient) -> None:
        future = client.submit(increment, 1)
        future.cancel()
        with pytest.raises(CancelledError):
            client.submit(increment, future)
        assert client.submit(increment, 3).result(LIMIT) == 4

    def test_the_reason_is_shown(self, client: LocalClient) -> None:
        future = client.submit(increment, 1)
        future.cancel(reason="too slow:", msg="ask again tomorrow")
        with pytest.raises(CancelledError) as caught:
            future.result(LIMIT)
        assert str(caught.value) == (
            f"{future.key} was cancelled by cancel() (too slow: ask again tomorrow). "
            "Submit it again to have its result."
        )
        assert caught.value.key == future.key
        copy = pickle.loads(pickle.dumps(caught.value))
        assert type(copy) is CancelledError and str(copy) == str(caught.value)

    def test_letting_go_of_it_afterwards(self, client: LocalClient) -> None:
        future = client.submit(increment, 1)
        future.result(LIMIT)
        number = future._alive().id
        future.cancel()
        del future
        client.submit(increment, 2).result(LIMIT)
        until(lambda: len(client.fake.released) == 2)
        assert client.fake.released.count(number) == 1
        assert not client._session.by_key and not client._session._by_id


class TestEnded:
    @pytest.mark.parametrize("ends", ["closed", "lost"])
    def test_a_client_that_is_kept_keeps_no_results(self, client: LocalClient, ends: str) -> None:
        before = {id(each) for each in gc.get_objects() if type(each) is Entry}
        futures = client.map(increment, range(100))
        assert client.gather(futures) == list(range(1, 101))
        early, late = futures[:50], futures[50:]
        client.fake.hold.clear()
        pending = client.submit(increment, -1)
        del futures
        if ends == "closed":
            client.close()
        else:
            assert client.fake.link is not None
            client.fake.link.close()
        with pytest.raises(CancelledError if ends == "closed" else ClusterError):
            pending.result(LIMIT)
        del early
        until(lambda: not client._session._releaser.is_alive())
        del late, pending
        gc.collect()
        left = [each for each in gc.get_objects() if type(each) is Entry]
        assert {id(each) for each in left} <= before

    def test_nothing_is_collected_any_more(
        self, client: LocalClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("spanwise.client.session.SMALL_RELEASE_PAUSE_SECONDS", 10 * LIMIT)
        assert client.submit(increment, 1).result(LIMIT) == 2
        until(client._session._dropped.empty)
        client.close()
        assert not client._session._releaser.is_alive()


class TestNothingToWaitFor:
    def test_synchronous(self, client: LocalClient) -> None:
        done, not_done = wait([])
        assert done == not_done == set()
        assert wait([]) == (set(), set()) and wait(iter(())).done == set()
        assert list(as_completed([])) == [] == list(as_completed())
        assert list(as_completed([]).batches()) == []
        assert as_completed([]).is_empty() and as_completed([]).count() == 0
        assert client.gather([]) == []

    @pytest.mark.asyncio
    async def test_asynchronous(self, scheduler: ClientScheduler) -> None:
        async with LocalClient(scheduler, asynchronous=True) as client:
            done, not_done = await wait([])
            assert done == not_done == set()
            assert [each async for each in as_completed([])] == []
            assert await client.gather([]) == []


class TestAsynchronousDefault:
    @pytest.mark.asyncio
    async def test_it_is_the_default_until_it_is_closed(self, scheduler: ClientScheduler) -> None:
        before = dask.config.get("scheduler", default=None)
        async with LocalClient(scheduler, asynchronous=True) as client:
            assert default_client() is client and get_client() is client

            async def deep() -> int:
                return await get_client().submit(increment, 1)

            assert await asyncio.create_task(deep()) == 2
            assert await client.compute(delayed(increment)(2)) == 3
        assert dask.config.get("scheduler", default=None) is before
        with pytest.raises(ValueError, match="Client"):
            get_client()

    @pytest.mark.asyncio
    async def test_only_if_it_is_asked_to(self, scheduler: ClientScheduler) -> None:
        async with LocalClient(scheduler, asynchronous=True, set_as_default=False):
            with pytest.raises(ValueError, match="Client"):
                get_client()

    @pytest.mark.asyncio
    async def test_dasks_own_compute_refuses(self, scheduler: ClientScheduler) -> None:
        """As with distributed, instead of computing somewhere else without a word."""
        async with LocalClient(scheduler, asynchronous=True):
            with pytest.raises(RuntimeError, match="asynchronous Client in a synchronous context"):
                delayed(increment)(1).compute()


class TestStalls:
    """What a client says when it is asked whether anything waits, nothing moving."""

    @pytest.mark.parametrize(
        "wait_for",
        [
            lambda futures: futures[0].result(),
            lambda futures: futures[0].exception(),
            lambda futures: wait(futures),
            lambda futures: wait(futures, return_when="FIRST_COMPLETED"),
            lambda futures: next(as_completed(futures)),
            lambda futures: futures[0].client.gather(futures),
        ],
        ids=["result", "exception", "wait", "first", "as_completed", "gather"],
    )
    def test_waits(
        self, client: LocalClient, scheduler: ClientScheduler, wait_for: Callable[[Any], Any]
    ) -> None:
        scheduler.hold.clear()
        futures = client.map(increment, range(3))
        assert not scheduler.waits()
        thread = threading.Thread(target=wait_for, args=(futures,))
        thread.start()
        until(scheduler.waits)
        scheduler.hold.set()
        thread.join(60)
        assert not scheduler.waits()

    def test_what_as_completed_gave_is_worked_on(
        self, client: LocalClient, scheduler: ClientScheduler
    ) -> None:
        first = client.submit(increment, 0)
        first.result()
        scheduler.hold.clear()
        for future in as_completed([first, *client.map(increment, range(1, 4))]):
            assert not scheduler.waits()
            future.release()
            # Releases come before the answer: they may be what lets things move.
            assert not scheduler.waits()
            assert scheduler.released
            scheduler.hold.set()

    def test_other_threads_go_on_while_entries_are_looked_over(
        self, client: LocalClient, scheduler: ClientScheduler
    ) -> None:
        """A look at a million entries would halt them for tenths of a second."""
        scheduler.hold.clear()
        future = client.submit(increment, 1)
        session = client._session
        went_on: list[bool] = []

        def waits() -> bool:
            went_on.append(session.lock.acquire(timeout=60))
            if went_on[-1]:
                session.lock.release()
            return True

        session.when_done(future._alive(), lambda: None, waits)
        assert scheduler.waits()
        assert went_on == [True]
        scheduler.hold.set()

    def test_a_callback_is_a_wait(self, client: LocalClient, scheduler: ClientScheduler) -> None:
        scheduler.hold.clear()
        future = client.submit(increment, 1)
        called = threading.Event()
        future.add_done_callback(lambda _: called.set())
        assert scheduler.waits()
        scheduler.hold.set()
        assert called.wait(60)
        assert not scheduler.waits()

    @pytest.mark.asyncio
    async def test_asynchronous_waits(self, scheduler: ClientScheduler) -> None:
        async with LocalClient(scheduler, asynchronous=True) as client:
            scheduler.hold.clear()
            futures = client.map(increment, range(3))
            completed = as_completed(futures)
            waits = lambda: asyncio.to_thread(scheduler.waits)  # noqa: E731
            assert not await waits()
            for wait_for in (futures[0].result, completed.__anext__):
                task = asyncio.ensure_future(wait_for())
                while not await waits():
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert not await waits()
            scheduler.hold.set()
            assert await client.gather(futures) == [1, 2, 3]


#: What is in file names that are no UTF-8, as `os.fsdecode` gives them.
HALF = "a\udc80"


@pytest.mark.parametrize("where", ["key", "span", "scattered"])
def test_half_a_surrogate_pair_in_a_name_stops_nothing(client: LocalClient, where: str) -> None:
    if where == "key":
        assert client.submit(increment, 1, key=f"{HALF}-1").result(60) == 2
    elif where == "span":
        with span(HALF):
            assert client.submit(increment, 1).result(60) == 2
    else:
        assert client.submit(increment, client.scatter({HALF: 1})[HALF]).result(60) == 2
    later = client.submit(increment, 5)
    number = later._alive().id
    assert later.result(60) == 6
    del later
    until(lambda: number in client.fake.released)


def test_a_span_whose_end_cannot_be_sent_keeps_no_results(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("spanwise.client.session.tell", told.append)
    session = client._session
    send = session.send

    def refuse(kind: str, *arguments: Any) -> None:
        if kind == "spans":
            raise ValueError("this cannot be written")
        send(kind, *arguments)

    monkeypatch.setattr(session, "send", refuse)
    later = client.submit(increment, 5)
    number = later._alive().id
    # As a generator that is collected ends its span: the thread that releases sends it.
    session._dropped.put({"tag": "the span"})
    until(lambda: told)
    assert told == [
        "The end of span 'the span' was not recorded: ValueError: this cannot be written"
    ]
    del later
    until(lambda: number in client.fake.released)


def test_what_was_never_submitted_is_not_tried_again(client: LocalClient) -> None:
    future = client.submit(fail)
    wait(future, timeout=60)
    client._session.withdraw([future._alive()], ValueError("it cannot be pickled"))
    with pytest.raises(ClusterError, match="never submitted"):
        future.retry()
    assert future.status == "error"
    with pytest.raises(ClusterError, match="it cannot be pickled"):
        future.result(60)


def test_whoever_sees_that_a_task_failed_finds_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads look without the lock."""
    seen: list[str] = []

    class Looked(Entry):
        __slots__ = ()

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "status" and value in (CANCELLED, ERROR):
                seen.append(value)
                assert self.reason is not None
            super().__setattr__(name, value)

    monkeypatch.setattr("spanwise.client.session.Entry", Looked)
    scheduler = ClientScheduler()
    try:
        with LocalClient(scheduler) as client:
            failed = client.submit(fail)
            wait(failed, timeout=60)
            client.submit(increment, 1).cancel()
            client._session.withdraw([failed._alive()], ValueError())
            scheduler.hold.clear()
            waiting = client.submit(increment, 1)
    finally:
        scheduler.close()
    assert waiting.status == CANCELLED
    assert seen == [ERROR, CANCELLED, ERROR, CANCELLED]
