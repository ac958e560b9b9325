"""The client when waits are given up, in the middle of things, again and again."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest
from dask import delayed

from spanwise import as_completed, span, wait
from spanwise.client import scatter
from spanwise.client.future import wait_async
from spanwise.client.waiting import FIRST_COMPLETED
from spanwise.errors import ClusterError
from spanwise.shared.requests import Call
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.test_client import fail, increment, until
from spanwise.tests.warned import warnings_as_errors
from spanwise.wire.errors import FrameTooLong


def test_waiting_a_little_at_a_time_leaves_nothing_behind(client: LocalClient) -> None:
    client.fake.hold.clear()
    futures = client.map(increment, range(5))
    entries = [future._alive() for future in futures]
    for _ in range(3):
        with pytest.raises(TimeoutError):
            futures[0].result(timeout=0.01)
        with pytest.raises(TimeoutError):
            wait(futures, timeout=0.01)
        with pytest.raises(TimeoutError):
            wait(futures, timeout=0.01, return_when=FIRST_COMPLETED)
    assert not any(entry.waiters for entry in entries)
    client.fake.hold.set()
    assert client.gather(futures) == [1, 2, 3, 4, 5]


def test_first_completed_forgets_the_others(client: LocalClient) -> None:
    one = client.submit(increment, 1)
    one.result(60)
    client.fake.hold.clear()
    late = client.submit(increment, 2)
    assert wait([one, late], timeout=60, return_when=FIRST_COMPLETED).done == {one}
    assert not late._alive().waiters
    client.fake.hold.set()


def test_a_task_that_ends_after_its_event_loop_does_no_harm(client: LocalClient) -> None:
    client.fake.hold.clear()
    future = client.submit(increment, 1)
    session = client._session

    async def leave_behind() -> None:
        loop = asyncio.get_running_loop()
        coming = as_completed([future])
        waiting = [loop.create_task(coming.__anext__()), asyncio.ensure_future(_result(future))]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(leave_behind())
    client.fake.hold.set()
    assert future.result(timeout=60) == 2
    assert session.dead is None
    assert client.submit(increment, 2).result(timeout=60) == 3


@pytest.mark.asyncio
async def test_tasks_that_ended_in_time_count_also_where_the_loop_was_busy_until_the_limit() -> (
    None
):
    """A notebook's cell computes: its loop learns of both in one turn."""

    class Prompt:
        def watch(self, _entries: Any, notify: Any, _first: bool) -> object:
            notify()
            return object()

        def unwatch(self, _entries: Any, _waiter: object) -> None:
            pass

        async def sleep_in_loop(self, woken: asyncio.Event, _late: Any) -> None:
            await woken.wait()

        async def too_late_in_loop(self, _entries: Any, timeout: float) -> TimeoutError:
            return TimeoutError(timeout)

    await wait_async(Prompt(), [], 0.0)
    coming = as_completed([])
    coming._pending, coming._give_up = 1, 0.0
    came: Any = object()
    waiting = asyncio.ensure_future(coming._next_async())
    await asyncio.sleep(0)
    coming._done.put(came)
    coming._wake()
    assert await waiting is came


async def _result(future: Any) -> Any:
    return await future


@pytest.mark.asyncio
async def test_many_coroutines_wait_and_none_keeps_others_from_going_on(
    scheduler: ClientScheduler,
) -> None:
    async with LocalClient(scheduler, asynchronous=True) as client:
        scheduler.hold.clear()
        futures = client.map(increment, range(100))
        waiting = [asyncio.ensure_future(future.result()) for future in futures]
        waiting += [asyncio.ensure_future(client.gather(futures))]
        waiting += [asyncio.ensure_future(wait(futures))]
        waiting += [asyncio.ensure_future(futures[0].exception())]
        iterator = as_completed(futures)
        waiting += [asyncio.ensure_future(iterator.__anext__())]
        waiting += [asyncio.ensure_future(client.get({"x": (increment, 1)}, "x"))]
        await asyncio.sleep(0)
        # Needs a thread of the executor, of which there are fewer than coroutines here.
        assert await asyncio.wait_for(client.run(increment, 1), 60)
        with pytest.raises(TimeoutError):
            await futures[0].result(timeout=0.01)
        scheduler.hold.set()
        answers = await asyncio.wait_for(asyncio.gather(*waiting), 60)
        assert answers[:100] == list(range(1, 101)) == answers[100]
        assert answers[101].done == set(futures)
        assert answers[102] is None and answers[103] in futures and answers[104] == 2
        assert [future async for future in iterator]
        assert await client.compute(delayed(increment)(1), sync=True) == 2


def test_a_collected_generator_closes_its_span_whatever_is_locked(client: LocalClient) -> None:
    def steps() -> Iterator[Any]:
        with span("left open"):
            yield client.submit(increment, 1)

    stepping: Any = steps()
    next(stepping).result(timeout=60)
    with client._session.sending:
        del stepping
        gc.collect()
    until(lambda: any(row["closed"] is not None for row in client.fake.spans.values()))


def test_ctrl_c_amid_a_large_result_leaves_later_ones_whole(client: LocalClient) -> None:
    one = client.submit(np.arange, 100_000)
    other = client.submit(np.full, 100_000, 7)
    wait([one, other], timeout=60)
    other.result(timeout=60)  # the link is open from here on
    (peer,) = client._session.peers._peers.values()
    link = peer.link
    assert link is not None

    def interrupted(*_: Any) -> Any:
        link._sock.recv(1000)  # part of the answer has been taken from the socket
        raise KeyboardInterrupt

    link.read = interrupted  # type: ignore[method-assign]  # this link's alone
    with pytest.raises(KeyboardInterrupt):
        one.result()
    assert peer.link is None, "what follows on it would be read from the middle"
    np.testing.assert_array_equal(other.result(timeout=60), np.full(100_000, 7))
    np.testing.assert_array_equal(one.result(timeout=60), np.arange(100_000))


def test_ctrl_c_in_compute_spares_what_others_hold(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.fake.hold.clear()
    kept = client.submit(increment, 1)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(client._session, "gather", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.get({kept.key: (increment, 1), "own": (increment, 2)}, [kept.key, "own"])
    monkeypatch.undo()
    client.fake.hold.set()
    assert kept.result(timeout=60) == 2
    until(lambda: client.fake.cancelled)
    assert len(client.fake.cancelled) == 1


@pytest.mark.parametrize(
    ("error", "match"),
    [(KeyboardInterrupt(), None), (FrameTooLong("4 GiB."), "in pieces with scatter")],
)
def test_what_a_submission_that_failed_had_announced_is_announced_again(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch, error: BaseException, match: str | None
) -> None:
    send = client._session._link.send

    def fails_once(kind: str, *args: Any) -> None:
        if kind == "submit":
            monkeypatch.undo()
            raise error
        send(kind, *args)

    for submit in (lambda: client.submit(renamed, 1), lambda: delayed(renamed)(1).compute()):
        monkeypatch.setattr(client._session._link, "send", fails_once)
        with span("outer", "inner"):
            with pytest.raises((KeyboardInterrupt, ClusterError), match=match):
                submit()
            answer = submit()
    assert answer == 2 and client.submit(renamed, 1).result(60) == 2
    until(lambda: len(client.fake.ran) >= 2)
    for _, name, number, _ in client.fake.ran[:2]:
        assert name == "renamed" and client.fake.tags(number) == ("outer", "inner")


def renamed(x: int) -> int:
    return x + 1


def test_an_error_raised_again_does_not_grow(client: LocalClient) -> None:
    future = client.submit(fail, 3)
    lengths = set()
    for _ in range(4):
        with pytest.raises(ZeroDivisionError) as caught:
            future.result(timeout=60)
        lengths.add(len(caught.traceback))
    assert len(lengths) == 1


def test_type_of_a_result_once_it_is_here(client: LocalClient) -> None:
    future = client.submit(increment, 1)
    wait(future, timeout=60)
    assert future.type is None
    assert future.result() == 2 and future.type is int
    assert future.result() == 2 and future.type is int


def test_a_failed_submission_gives_up_what_it_held(client: LocalClient) -> None:
    held = client.submit(increment, 1)
    held.result(60)
    with pytest.raises(TypeError, match="pickle"):
        client.map(lambda x: x, [1, _Unpicklable()])
    entry = held._alive()
    with pytest.raises(TypeError, match="pickle"):
        client.get({"a": (max, held, _Unpicklable())}, [held.key, "a"])
    until(lambda: entry.count == 1)


def test_ids_of_a_submission_that_failed_are_used_again(client: LocalClient) -> None:
    """The scheduler takes room for ids that are left out, and refuses when they are too many."""
    first = client.submit(increment, 1)._alive().id
    for _ in range(3):
        with pytest.raises(TypeError, match="pickle"):
            client.map(lambda x: x, [_Unpicklable()] * 1_000)
        with pytest.raises(TypeError, match="pickle"):
            client.get({str(i): (max, i, _Unpicklable()) for i in range(100)}, ["3", "99"])
    assert client.submit(increment, 2)._alive().id == first + 1


def test_what_has_failed_half_way_keeps_the_ids_that_were_sent(client: LocalClient) -> None:
    sent = 8_192  # calls in a message
    calls = [*range(sent), _Unpicklable(), *range(sent, sent + 100)]
    with pytest.raises(TypeError, match="pickle"):
        client.map(lambda x: x, calls)
    later = client.submit(increment, 1)
    assert later._alive().id == sent
    until(lambda: len(client.fake.cancelled) == sent)
    assert later.result(60) == 2


def test_who_found_a_submission_that_failed_gives_up_nobody_elses(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = client._session
    found: list[Any] = []

    def found_meanwhile(blob: bytes) -> Any:
        with session.lock:
            (entry,) = [each for key, each in session.by_key.items() if "renamed" in str(key)]
            entry.count += 1  # another thread has asked for the same
        found.append(entry)
        monkeypatch.undo()
        raise TypeError("cannot pickle it")

    monkeypatch.setattr(session.packer, "template", found_meanwhile)
    with pytest.raises(TypeError, match="pickle"):
        client.submit(renamed, 1)
    later = client.submit(increment, 1)
    client.fake.released.clear()
    session.drop_later(found)
    until(lambda: found[0].count == 0)
    assert later.result(60) == 2 and client.submit(increment, later).result(60) == 3
    assert later._alive().id not in client.fake.released


def test_ctrl_c_is_what_a_computation_raises_though_its_cluster_has_ended(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = client._session

    def interrupted(entries: Any) -> Any:
        assert client.fake.link is not None
        client.fake.link.close()
        until(lambda: session.dead is not None)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "gather", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.get({"a": (increment, 1)}, "a")


def test_a_span_closes_though_ctrl_c_comes_while_that_is_told(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = client._session
    send = session.send

    def interrupted(kind: str, *args: Any) -> None:
        if kind == "spans":
            monkeypatch.undo()
            raise KeyboardInterrupt
        send(kind, *args)

    with pytest.raises(KeyboardInterrupt), span("interrupted"):
        assert client.submit(increment, 1).result(60) == 2
        monkeypatch.setattr(session, "send", interrupted)
    until(
        lambda: any(
            row["tag"] == "interrupted" and row["closed"] is not None
            for row in client.fake.spans.values()
        )
    )


class _ActsWhilePickled:
    """Does something else with the client while a graph is packed."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def __reduce__(self) -> Any:
        self._act()
        return int, (1,)


def test_a_span_closes_while_a_graph_is_packed(client: LocalClient) -> None:
    opened = span("outer")
    with opened:
        assert client.submit(increment, 1).result(60) == 2
        closing = _ActsWhilePickled(lambda: opened.__exit__(None, None, None))
        # What closes it is pickled by this thread, which is sending meanwhile.
        assert client.get({"x": (increment, closing)}, "x") == 2
    until(
        lambda: any(
            row["tag"] == "outer" and row["closed"] is not None
            for row in client.fake.spans.values()
        )
    )


def _sending_act(client: LocalClient, name: str, held: Any) -> Callable[[], Any]:
    """What has a client send, by its name; `held` is what it may cancel."""
    acts: dict[str, Callable[[], Any]] = {
        "submit": lambda: client.submit(increment, 2),
        "get": lambda: client.get({"y": (increment, 2)}, "y"),
        "scatter": lambda: client.scatter(5),
        "cancel": lambda: client.cancel([held]),
    }
    return acts[name]


@pytest.mark.parametrize("act", ["submit", "get", "scatter", "cancel"])
def test_what_is_submitted_while_a_graph_is_packed_is_refused(
    client: LocalClient, act: str
) -> None:
    held = client.submit(increment, 7)
    sends = _sending_act(client, act, held)
    with pytest.raises(ClusterError, match="while this thread is sending"):
        client.get({"x": (increment, _ActsWhilePickled(sends))}, "x")
    assert client.submit(increment, 3).result(60) == 4


def test_who_scatters_while_a_graph_is_packed_does_not_wait_for_who_scatters(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs, scatters = threading.Event(), threading.Event()
    put = scatter._put

    def put_while_packed(*args: Any) -> Any:
        holders = put(*args)
        scatters.set()
        return holders  # and waits for the thread that packs

    def scatter_too() -> None:
        packs.set()
        assert scatters.wait(60)
        client.scatter(5)

    scattered: list[Any] = []

    def scatter_meanwhile() -> None:
        assert packs.wait(60)
        scattered.extend(client.scatter([1, 2, 3]))

    monkeypatch.setattr(scatter, "_put", put_while_packed)
    # (a daemon: the test ends though it hangs)
    other = threading.Thread(target=scatter_meanwhile, daemon=True)
    other.start()
    with pytest.raises(ClusterError, match="while this thread is sending"):
        client.get({"x": (increment, _ActsWhilePickled(scatter_too))}, "x")
    other.join(60)
    assert client.gather(scattered) == [1, 2, 3]


class _ActsWhenCollected:
    """Does something when the garbage is collected that it belongs to."""

    def __init__(self, act: Callable[[], Any], raised: list[str]) -> None:
        self._act = act
        self._raised = raised
        self._circle = self

    def __del__(self) -> None:
        try:
            self._act()
        except ClusterError as error:
            self._raised.append(str(error))


def _collect_in(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, act: Callable[[], Any]
) -> list[str]:
    """Have garbage collected, once, where a method is called; give what was raised by then."""
    own = getattr(place, name)
    raised: list[str] = []
    acts = iter([act])

    def collecting(*args: Any, **options: Any) -> Any:
        for each in acts:
            gc.disable()  # (another thread would collect it elsewhere)
            try:
                _ActsWhenCollected(each, raised)
                gc.collect()
            finally:
                gc.enable()
        return own(*args, **options)

    monkeypatch.setattr(place, name, collecting)
    return raised


@pytest.mark.parametrize("act", ["submit", "get", "scatter", "cancel"])
@pytest.mark.parametrize("within", ["scatter", "submit", "get", "reader"])
def test_what_a_collected_object_submits_while_its_thread_sends_is_refused(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch, within: str, act: str
) -> None:
    held = client.submit(increment, 7)
    session = client._session
    if within == "reader":
        client.fake.hold.clear()
        pending = client.submit(increment, 3)
    # The first with one lock held, the next with both, the last with none.
    place: dict[str, tuple[Any, str]] = {
        "scatter": (session.packer, "mark"),
        "submit": (session, "new_entries"),
        "reader": (session._failures, "learn"),
    }
    sends = _sending_act(client, act, held)
    raised = _collect_in(monkeypatch, *place.get(within, (session, "_new_entry")), sends)
    if within == "scatter":
        assert client.scatter(3).result(60) == 3
    elif within == "submit":
        assert client.submit(increment, 3).result(60) == 4
    elif within == "reader":
        with session.sending:  # (which may wait for results, as an object does that is pickled)
            client.fake.hold.set()
            assert pending.result(60) == 4
    else:
        assert client.get({"x": (increment, 3)}, "x") == 4
    assert len(raised) == 1 and "in its __del__" in raised[0]
    assert held.result(60) == 8


def _close_in(client: LocalClient, monkeypatch: pytest.MonkeyPatch, is_reader: bool) -> list[str]:
    """Close a span while its thread sends, or while that one waits for the reader's."""
    opened = span("outer")
    session = client._session
    with opened:
        assert client.submit(increment, 1).result(60) == 2
        client.fake.hold.clear()
        pending = client.submit(increment, 3)
        place: tuple[Any, str] = (session.packer, "mark")
        if is_reader:
            place = (session._failures, "learn")

        def close() -> None:
            with suppress(ValueError):  # (of another thread's context)
                opened.__exit__(None, None, None)

        raised = _collect_in(monkeypatch, *place, close)
        if not is_reader:
            assert client.scatter(3).result(60) == 3
        with session.sending:
            client.fake.hold.set()
            assert pending.result(60) == 4
    return raised


@pytest.mark.parametrize("is_reader", [False, True])
def test_a_span_of_a_collected_object_closes_while_its_thread_sends(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch, is_reader: bool
) -> None:
    """Or while another one sends, and waits for what this one reads."""
    # Where another thread closes the span, it stays in this one's context: no later test has that.
    raised = copy_context().run(_close_in, client, monkeypatch, is_reader)
    assert raised == []
    until(
        lambda: any(
            row["tag"] == "outer" and row["closed"] is not None
            for row in client.fake.spans.values()
        )
    )


@pytest.mark.parametrize("act", ["result", "wait_for_workers", "lock", "close"])
@pytest.mark.parametrize("is_reader", [False, True])
def test_what_a_collected_object_waits_for_where_nobody_would_bring_it_is_refused(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch, is_reader: bool, act: str
) -> None:
    """In a thread that has the tables, and in the one that reads what the scheduler sends."""
    client.fake.hold.clear()
    pending = client.submit(increment, 7)
    session = client._session
    place: tuple[Any, str] = (session, "_new_entry")
    if is_reader:
        place = (session._failures, "learn")
    acts: dict[str, Callable[[], Any]] = {
        "result": pending.result,
        "wait_for_workers": lambda: client.wait_for_workers(9),
        "lock": lambda: session.shared.ask(Call("lock", "acquire", "x", None)),
        "close": session.close,
    }
    raised = _collect_in(monkeypatch, *place, acts[act])
    another = client.submit(increment, 3)
    client.fake.hold.set()
    assert another.result(60) == 4
    assert len(raised) == 1 and "in its __del__" in raised[0]
    assert pending.result(60) == 8


class _Unpicklable:
    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")


def test_the_same_warning_is_shown_each_time_that_it_comes(client: LocalClient) -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.resetwarnings()
        warnings.simplefilter("default")  # as in programs; tests show all
        for _ in range(3):
            client.fake._send("problem", {"sentence": "Mind the gap.", "fatal": False})
        assert client.submit(increment, 1).result(timeout=60) == 2
        # (the collector may tell of what other tests have left)
        assert [str(each.message) for each in shown].count("Mind the gap.") == 3
        warnings.simplefilter("ignore")
        client.fake._send("problem", {"sentence": "Mind the gap.", "fatal": False})
        assert client.submit(increment, 2).result(timeout=60) == 3
        assert [str(each.message) for each in shown].count("Mind the gap.") == 3


def test_a_warning_that_is_an_error_does_not_end_the_cluster(
    client: LocalClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings_as_errors():
        client.fake._send("problem", {"sentence": "Mind the gap.", "fatal": False})
        assert client.submit(increment, 1).result(timeout=60) == 2
    assert client._session.dead is None
    assert "Mind the gap." in capsys.readouterr().err
