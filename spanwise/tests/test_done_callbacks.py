"""Callbacks of futures: in which threads they are called, and what one may do to the others."""

from __future__ import annotations

import os
import threading
import weakref
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from spanwise import Client, get_client
from spanwise.client import done_callbacks
from spanwise.client.done_callbacks import DoneCallbacks
from spanwise.tests.observed_tasks import wait_for_file
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

NAME = "spanwise-callback"


def running() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == NAME}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, none of them takes long."""
    monkeypatch.setattr(done_callbacks, "HELD_SECONDS", LIMIT_SECONDS)


@pytest.mark.usefixtures("patient")
def test_many_are_called_one_after_the_other_in_one_thread() -> None:
    before = running()
    seen: SimpleQueue[Any] = SimpleQueue()
    most = 0

    def called(future: Any) -> None:
        nonlocal most
        most = max(most, len(running() - before))
        seen.put((threading.current_thread(), future.result()))

    with Client(n_workers=1) as client:
        for future in client.map(abs, range(300)):
            future.add_done_callback(called)
        found = [seen.get(timeout=LIMIT_SECONDS) for _ in range(300)]
        del future
        assert len({thread for thread, _ in found}) == 1 and most <= 2
        assert sorted(value for _, value in found) == list(range(300))


def test_one_that_waits_for_another_holds_it_up_for_a_moment_only() -> None:
    callbacks = DoneCallbacks()
    done = [threading.Event() for _ in range(5)]
    ended = threading.Event()

    def wait_for_the_next(number: int) -> None:
        assert done[number + 1].wait(LIMIT_SECONDS)
        done[number].set()

    for number in range(4):
        callbacks.begin()
        callbacks.put(partial(wait_for_the_next, number))
    callbacks.put(done[4].set)
    assert done[0].wait(LIMIT_SECONDS)
    callbacks.put(ended.set)
    callbacks.end()
    assert ended.wait(LIMIT_SECONDS)


def test_what_one_raises_is_told_and_the_next_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda of: told.append(of.exc_value))
    callbacks = DoneCallbacks()
    callbacks.begin()
    callbacks.put(partial(int, "no number"))
    called = threading.Event()
    callbacks.put(called.set)
    assert called.wait(LIMIT_SECONDS)
    assert [type(each) for each in told] == [ValueError]
    callbacks.end()


class CountedGets(SimpleQueue[Any]):
    """Counts how often something was waited for."""

    gets = 0

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        self.gets += 1
        return super().get(block, timeout)


def test_the_end_ends_one_that_was_overtaken_while_it_waited_and_its_successor() -> None:
    before = running()
    callbacks = DoneCallbacks()
    ready = callbacks._ready = CountedGets()
    callbacks.begin()
    wait_until("one waits", lambda: ready.gets == 1)
    # As where the watcher sees one that takes long just before it ends.
    callbacks._overtake()
    wait_until("two wait", lambda: ready.gets == 2)
    callbacks.end()
    wait_until("all have ended", lambda: not running() - before)


def call_one_that_fails() -> int:
    future = get_client().submit(abs, -1)
    called = threading.Event()
    future.add_done_callback(lambda _: int("no number"))
    future.add_done_callback(lambda _: called.set())
    assert called.wait(LIMIT_SECONDS)
    return os.getpid()


def test_one_that_raises_in_a_worker_leaves_it_alone() -> None:
    with Client(n_workers=1, threads_per_worker=2) as client:
        before = set(client.run(os.getpid).values())
        assert {client.submit(call_one_that_fails).result(LIMIT_SECONDS)} == before
        assert set(client.run(os.getpid).values()) == before


def test_what_was_called_is_not_held() -> None:
    class Result:
        def call(self) -> None: ...

    callbacks, result = DoneCallbacks(), Result()
    callbacks.begin()
    callbacks.put(result.call)
    there = weakref.ref(result)
    del result
    wait_until("it is let go", lambda: there() is None)
    callbacks.end()


def test_a_thread_that_cannot_start_is_said_where_the_callback_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And not where futures become done: that thread would end, and the client with it."""
    start = threading.Thread.start
    refused: list[str] = []

    def starting(thread: threading.Thread) -> None:
        if thread.name == NAME:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    called = threading.Event()
    with Client(n_workers=1) as client:
        future = client.submit(wait_for_file, tmp_path / "go")
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", starting)
            with pytest.raises(RuntimeError, match="can't start"):
                future.add_done_callback(lambda _: called.set())
            assert refused == [NAME]
            (tmp_path / "go").touch()
            future.result(LIMIT_SECONDS)
        assert client.submit(abs, -1).result(LIMIT_SECONDS) == 1
        assert not called.is_set()
        future.add_done_callback(lambda _: called.set())
        assert called.wait(LIMIT_SECONDS)
        with monkeypatch.context() as patched:
            # One that is not there to go on with the others is asked for again.
            first, second = threading.Event(), threading.Event()
            patched.setattr(threading.Thread, "start", starting)
            future.add_done_callback(lambda _: first.wait(LIMIT_SECONDS))
            future.add_done_callback(lambda _: second.set())
            wait_until("it was asked for twice", lambda: len(refused) > 2)
            assert not second.is_set()
        assert second.wait(LIMIT_SECONDS)
        first.set()


def test_threads_end_with_the_client_and_are_there_for_who_asks_later() -> None:
    before = running()
    called: SimpleQueue[Any] = SimpleQueue()
    with Client(n_workers=1) as client:
        future = client.submit(abs, -1)
        for _ in range(2):
            future.add_done_callback(called.put)
            assert called.get(timeout=LIMIT_SECONDS) is future
        assert running() - before
    for _ in range(2):
        wait_until("they have ended", lambda: not running() - before)
        future.add_done_callback(called.put)
        assert called.get(timeout=LIMIT_SECONDS) is future
