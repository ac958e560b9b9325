"""Errors of tasks that are awkward to open."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from dask.delayed import Delayed, delayed

from spanwise import Future, as_completed, wait
from spanwise.client import failures, session
from spanwise.client.entries import Entry
from spanwise.client.reason import Told
from spanwise.client.session import dump
from spanwise.errors import CancelledError, ClusterError, RemoteTaskError, with_remote_traceback
from spanwise.records.enumerations import REPORT_CANCELLED
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient, _row
from spanwise.tests.test_client import increment, until

LIMIT = 60.0


#: What opening the exceptions below does in this process; the workers' side only writes them.
opening: list[Any] = []


def _open(message: str) -> BaseException:
    opening[-1]()
    return Awkward(message)


class Awkward(Exception):
    def __reduce__(self) -> Any:
        return _open, self.args


def awkward() -> None:
    raise Awkward("the task's own words")


def raise_(error: BaseException) -> None:
    raise error


@pytest.fixture
def on_opening() -> Iterator[list[Any]]:
    yield opening
    opening.clear()


def fail_from(link: str) -> None:
    try:
        look_up({})
    except KeyError as first:
        if link == "cause":
            raise ValueError("the second") from first
        if link == "nothing":
            raise ValueError("the second") from None
        raise ValueError("the second")  # noqa: B904 (one of the three)


def look_up(found: dict[str, int]) -> int:
    return found["the first"]


LINKS = {
    "cause": "The above exception was the direct cause of the following exception",
    "context": "During handling of the above exception, another exception occurred",
    "nothing": "Traceback",
}


@pytest.mark.parametrize("link", LINKS)
def test_what_led_to_an_error_is_in_its_traceback(client: LocalClient, link: str) -> None:
    future = client.submit(fail_from, link)
    with pytest.raises(ValueError, match="the second") as caught:
        future.result(LIMIT)
    shown = "".join(traceback.format_exception(caught.value))
    for text in (shown, future._alive().reason.text):  # type: ignore[union-attr]
        before, _, after = text.partition(LINKS[link])
        assert "in fail_from" in after and "ValueError: the second" in after
        assert ("KeyError: 'the first'" in before) is (link != "nothing")
        assert ("in look_up" in before) is (link != "nothing")


def test_an_error_that_brings_its_causes_keeps_them_and_shows_the_text() -> None:
    first, second, third = KeyError("first"), ValueError("second"), OSError("third")
    third.__cause__, second.__cause__ = second, first
    for _ in range(2):  # an error that is kept is raised again
        assert with_remote_traceback(third, "in the task") is third
        assert third.__cause__ is second and second.__cause__ is first
        assert "".join(traceback.format_exception(third)).count("in the task") == 1
    first.__cause__ = third
    assert with_remote_traceback(third, "in the task") is third, "a ring has no first"


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), GeneratorExit()])
def test_an_exception_that_cannot_be_opened_is_shown_as_text(
    client: LocalClient, on_opening: list[Any], error: BaseException
) -> None:
    on_opening.append(lambda: None)  # the worker's own attempt
    future = client.submit(awkward)
    wait(future, timeout=LIMIT)
    on_opening.append(lambda: raise_(error))
    with pytest.raises(RemoteTaskError, match="Awkward: the task's own words") as caught:
        future.result(LIMIT)
    assert "could not be unpickled" in caught.value.__notes__[0]
    assert type(error).__name__ in caught.value.__notes__[0]
    assert "in awkward" in str(caught.value.__cause__)
    assert future.traceback() is None, "its frames travel with it"
    assert client.submit(increment, 1).result(LIMIT) == 2


def test_opening_an_exception_keeps_nobody_else_waiting(
    client: LocalClient, on_opening: list[Any]
) -> None:
    go = threading.Event()
    on_opening.append(lambda: None)
    future = client.submit(awkward)
    wait(future, timeout=LIMIT)
    on_opening.append(lambda: go.wait(LIMIT))
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(future.exception(LIMIT)))
    asking.start()
    # Others, also those that wait for the scheduler's messages, go on meanwhile.
    assert client.submit(increment, 1).result(LIMIT) == 2
    assert future.status == "error" and not found
    go.set()
    asking.join(LIMIT)
    assert type(found[0]) is Awkward


def test_nobody_asks_nobody_opens(client: LocalClient, on_opening: list[Any]) -> None:
    opened: list[str] = []
    on_opening.append(lambda: opened.append(threading.current_thread().name))
    future = client.submit(awkward)
    wait(future, timeout=LIMIT)
    opened.clear()  # what the worker did to see whether it can be opened
    assert future.status == "error" and future.done()
    assert list(as_completed([future], timeout=LIMIT)) == [future]
    assert client.gather([future], errors="skip") == []
    assert not opened
    with pytest.raises(Awkward):
        future.result(LIMIT)
    assert opened == [threading.main_thread().name]
    assert future.exception(LIMIT) is future.exception(LIMIT)
    dependent = client.submit(increment, future)
    assert dependent.exception(LIMIT) is future.exception(LIMIT), "one reason, opened once"
    assert len(opened) == 1


def test_ctrl_c_ends_opening_and_it_can_be_tried_again(
    client: LocalClient, on_opening: list[Any]
) -> None:
    on_opening.append(lambda: None)
    future = client.submit(awkward)
    wait(future, timeout=LIMIT)
    on_opening.append(lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        future.result(LIMIT)
    on_opening.pop()
    with pytest.raises(Awkward):
        future.result(LIMIT)


def test_errors_of_run_that_cannot_be_opened(client: LocalClient, on_opening: list[Any]) -> None:
    on_opening.append(lambda: None)
    with pytest.raises(Awkward) as caught:
        client.run(awkward)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "awkward"

    def not_here() -> None:
        if threading.current_thread() is threading.main_thread():
            raise ValueError("not here")

    on_opening.append(not_here)
    with pytest.raises((ClusterError, Awkward)) as failed:
        client.run(awkward)
    assert isinstance(failed.value, ClusterError)
    assert "could not be unpickled" in failed.value.__notes__[0]


@pytest.mark.asyncio
async def test_opening_an_exception_does_not_stop_the_event_loop(on_opening: list[Any]) -> None:
    opened: list[str] = []
    scheduler = ClientScheduler()
    on_opening.append(lambda: opened.append(threading.current_thread().name))
    try:
        async with LocalClient(scheduler, asynchronous=True) as client:
            future = client.submit(awkward)
            await wait([future])
            opened.clear()
            assert type(await future.exception()) is Awkward
            assert opened and opened[0] != threading.current_thread().name
    finally:
        scheduler.close()


def test_deep_recursion_while_opening(client: LocalClient, on_opening: list[Any]) -> None:
    on_opening.append(lambda: None)
    future = client.submit(awkward)
    wait(future, timeout=LIMIT)

    def deeper(depth: int = 0) -> int:
        return deeper(depth + 1) if depth < 2 * sys.getrecursionlimit() else depth

    on_opening.append(deeper)
    with pytest.raises(RemoteTaskError, match="own words"):
        future.result(LIMIT)


def by_result(client: LocalClient, made: list[Future]) -> None:
    made[0].result(LIMIT)


def by_gather(client: LocalClient, made: list[Future]) -> None:
    client.gather(made)


def by_hand(client: LocalClient, made: list[Future]) -> None:
    error = made[0].exception(LIMIT)
    assert error is not None
    raise error


def by_as_completed(client: LocalClient, made: list[Future]) -> None:
    for _ in as_completed(made, with_results=True, timeout=LIMIT):
        pass


def by_cancelling(client: LocalClient, made: list[Future]) -> None:
    client.cancel(made)
    client.gather(made)


def by_submitting(client: LocalClient, made: list[Future]) -> None:
    client.submit(increment, threading.Lock())


def by_computing(client: LocalClient, made: list[Future]) -> None:
    client.get({"a": (increment, made[0])}, "a")


async def by_awaiting(client: LocalClient, made: list[Future]) -> None:
    client.asynchronous = True
    try:
        await made[0]
    finally:
        client.asynchronous = False


WAYS: list[Any] = [
    by_result,
    by_gather,
    by_hand,
    by_as_completed,
    by_cancelling,
    by_submitting,
    by_computing,
    by_awaiting,
]


@pytest.mark.parametrize("ask", WAYS)
def test_futures_of_a_function_that_failed_are_let_go(
    client: LocalClient, ask: Callable[[LocalClient, list[Future]], Any]
) -> None:
    """An exception holds the frames that it passed, and they hold the futures."""
    ids: list[int] = []

    def failing() -> None:
        made = [client.submit(fail_from, link) for link in LINKS]
        data = client.submit(increment, 1)
        wait([*made, data], timeout=LIMIT)
        ids.extend(future._alive().id for future in [*made, data])
        asked = ask(client, made)
        if asked is not None:
            asyncio.run(asked)

    with pytest.raises((ValueError, CancelledError, TypeError)):
        failing()
    # (a thread may have held them at one look)
    until(lambda: gc.collect() >= 0 and set(ids) <= set(client.fake.released))


def within_arguments(client: LocalClient, future: Future) -> Any:
    return client.submit(sum, [future]).result(LIMIT)


def within_a_graph(client: LocalClient, future: Future) -> Any:
    return client.get({"sum": (sum, [future])}, "sum")


def within_a_collection(client: LocalClient, future: Future) -> Any:
    part = Delayed(future.key, {future.key: future})
    return client.compute(delayed(sum)([part])).result(LIMIT)


def by_its_key(client: LocalClient, future: Future) -> Any:
    return client.get({}, future.key)


@pytest.mark.parametrize("use", [within_arguments, within_a_graph, within_a_collection, by_its_key])
@pytest.mark.parametrize("failed", [ValueError, CancelledError])
def test_what_needs_a_failed_result_fails_with_it(
    client: LocalClient,
    monkeypatch: pytest.MonkeyPatch,
    use: Callable[[LocalClient, Future], Any],
    failed: type[BaseException],
) -> None:
    """At once: the graph was prepared again and again, without an end."""
    if failed is ValueError:
        future = client.submit(fail_from, next(iter(LINKS)))
        wait(future, timeout=LIMIT)
    else:
        future = client.submit(increment, 1)
        number = future._alive().id
        wait(future, timeout=LIMIT)
        client.fake._report([_row(number, REPORT_CANCELLED)])  # with what it was made of
        until(lambda: future.status == "cancelled")
    prepare, left = session.prepare, [None] * 3

    def prepare_a_few(*args: Any, **options: Any) -> Any:
        left.pop()
        return prepare(*args, **options)

    monkeypatch.setattr(session, "prepare", prepare_a_few)
    with pytest.raises(failed):
        use(client, future)


def test_a_reason_outlasts_its_retry(client: LocalClient) -> None:
    """Another thread may have seen that it failed, and be about to raise it."""
    future = client.submit(fail_from, next(iter(LINKS)))
    wait(future, timeout=LIMIT)
    entry = future._alive()
    client.fake.hold.clear()
    future.retry()
    assert future.status == "pending"
    assert isinstance(entry.failure().error, ValueError)
    client.fake.hold.set()
    with pytest.raises(ValueError):
        future.result(LIMIT)


class Text(str):
    """A text that can be looked for."""


def test_who_found_what_was_never_submitted_keeps_nothing_of_its_submitter(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_key, packer = client._session.by_key, client._session.packer
    found: list[Future] = []

    def found_meanwhile(blob: bytes) -> Any:
        found.append(Future(by_key["same"], client))
        found[0]._alive().count += 1
        raise TypeError("cannot pickle it")

    def failing() -> weakref.ref[Any]:
        local = Text("held by this frame")
        seen = weakref.ref(local)
        with pytest.raises(TypeError, match="cannot pickle it"):
            client.submit(increment, 1, key="same")
        return seen

    with monkeypatch.context() as patch:
        patch.setattr(packer, "template", found_meanwhile)
        seen = failing()
    gc.collect()
    assert seen() is None
    for _ in range(2):
        with pytest.raises(ClusterError, match="TypeError: cannot pickle it"):
            found[0].result(LIMIT)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_as_completed_was_given_is_let_go_with_it(
    client: LocalClient, asynchronous: bool
) -> None:
    """Also what is not done, and may never be."""
    ids: list[int] = []

    def failing() -> None:
        first = client.submit(fail_from, next(iter(LINKS)))
        wait(first, timeout=LIMIT)
        client.fake.hold.clear()
        made = [first, *client.map(increment, range(5))]
        ids.extend(future._alive().id for future in made)
        coming = as_completed(made, with_results=True, timeout=LIMIT)
        if asynchronous:
            asyncio.run(anext_of(coming))
        else:
            next(coming)

    async def anext_of(coming: Any) -> None:
        await coming.__anext__()

    with pytest.raises(ValueError):
        failing()
    # (a thread may have held them at one look)
    until(lambda: gc.collect() >= 0 and set(ids) <= set(client.fake.released))


def test_a_future_that_is_released_keeps_no_frames(client: LocalClient) -> None:
    future = client.submit(fail_from, next(iter(LINKS)))

    def failing() -> weakref.ref[Any]:
        local = Text("held by this frame")
        seen = weakref.ref(local)
        with pytest.raises(ValueError):
            future.result(LIMIT)
        return seen

    seen = failing()
    future.release()
    gc.collect()
    assert seen() is None


def test_reasons_end_with_their_last_holder() -> None:
    """And not with the next search for circles, of which a program may make none."""
    text = Text("Traceback")
    seen = weakref.ref(text)
    reason = Told("ValueError", "no", text, dump({"exception": ValueError("no")}))
    assert str(reason.open().error) == "no"
    gc.disable()
    try:
        del text, reason
        assert seen() is None
    finally:
        gc.enable()


def test_pickled_exceptions_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "KEPT_BYTES", 3_500)
    known = failures.Failures()
    reasons = []
    for cause in range(10):
        blob = dump({"exception": ValueError(cause, "x" * 900), "text": ""})
        told = {"cause": cause, "type": "ValueError", "message": f"no {cause}", "text": "there"}
        known.learn(SimpleNamespace(fields={"errors": [{**told, "blob": 0}]}, blobs=[blob]))  # type: ignore[arg-type]
        entry = Entry("x", cause)
        known.mark(entry, 2, cause)
        reasons.append(entry.reason)
    assert sum(reason.nbytes for reason in reasons if isinstance(reason, Told)) <= 3_500
    opened = [reason.open().error for reason in reasons if reason]
    assert [type(error) for error in opened] == [RemoteTaskError] * 7 + [ValueError] * 3
    assert str(opened[0]) == "ValueError: no 0"
