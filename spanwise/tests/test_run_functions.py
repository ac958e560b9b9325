"""``client.run`` takes so many threads of a worker and no more, and every call is answered."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.tests.processes import wait_until
from spanwise.worker import run_functions
from spanwise.worker.run_functions import MOST_THREADS, RunFunctions


class Answers:
    """Stands in for the worker: functions come as they are, answers are kept."""

    def __init__(self) -> None:
        self.given: dict[int, dict[str, Any]] = {}
        self.library = SimpleNamespace(loads=lambda blob: (blob, (), {}))

    def send(self, kind: str, fields: dict[str, Any], tables: Any, blobs: list[Any]) -> None:
        assert kind == "runResult"
        assert fields["request"] not in self.given
        assert blobs
        self.given[fields["request"]] = fields


def threads() -> int:
    return sum(each.name == "spanwise-run" for each in threading.enumerate())


def test_many_functions_share_so_many_threads() -> None:
    worker = Answers()
    runs = RunFunctions(worker)  # type: ignore[arg-type]
    go_on = threading.Event()
    calls = 5 * MOST_THREADS
    for request in range(calls):
        runs.run(request, go_on.wait)
    assert threads() == MOST_THREADS
    assert not worker.given
    go_on.set()
    wait_until("all are answered", lambda: len(worker.given) == calls)
    wait_until("the threads have ended", lambda: threads() == 0)
    runs.run(calls, lambda: 1)
    wait_until("the next is answered", lambda: calls in worker.given)
    assert all(answer["ok"] for answer in worker.given.values())


def test_who_comes_when_too_many_wait_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_functions, "MOST_THREADS", 1)
    monkeypatch.setattr(run_functions, "MOST_WAITING", 2)
    worker = Answers()
    runs = RunFunctions(worker)  # type: ignore[arg-type]
    go_on = threading.Event()
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        go_on.wait()

    runs.run(0, hold)
    assert begun.wait(20)
    for request in range(1, 4):
        runs.run(request, go_on.wait)
    assert "2 functions wait there already" in worker.given.pop(3)["why"]
    go_on.set()
    wait_until("the others are answered", lambda: len(worker.given) == 3)


def test_without_threads_all_that_wait_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    worker = Answers()
    runs = RunFunctions(worker)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        runs.run(0, lambda: 1)
    assert "cannot start a thread" in worker.given[0]["why"]
    runs.run(1, lambda: 1)
    wait_until("the next is answered", lambda: worker.given.get(1, {}).get("ok", False))


def test_who_waits_for_functions_that_do_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_functions, "MOST_THREADS", 2)
    monkeypatch.setattr(run_functions, "PATIENCE_SECONDS", 0.3)
    worker = Answers()
    runs = RunFunctions(worker)  # type: ignore[arg-type]
    go_on, ran = threading.Event(), threading.Event()
    runs.run(0, go_on.wait)
    runs.run(1, go_on.wait)
    for request in (2, 3):
        runs.run(request, lambda: 1)
        # Nobody would hear that it was not run: it waits on.
        runs.run(request + 10, ran.set, is_awaited=False)
        wait_until("it is refused", lambda request=request: request in worker.given)
        why = worker.given[request]["why"]
        assert "2 functions run there already, none ended for 0.3 s. Try again later." in why
    wait_until("nobody watches on", lambda: not runs._has_watcher)
    assert not ran.is_set()
    go_on.set()
    wait_until("the others are answered", lambda: {0, 1, 12, 13} <= worker.given.keys())
    assert ran.is_set()


def test_who_waits_while_others_end_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_functions, "MOST_THREADS", 1)
    monkeypatch.setattr(run_functions, "PATIENCE_SECONDS", 2.0)
    worker = Answers()
    runs = RunFunctions(worker)  # type: ignore[arg-type]
    for request in range(12):
        runs.run(request, lambda: time.sleep(0.25))
    wait_until("all are answered", lambda: len(worker.given) == 12)
    assert all(answer["ok"] for answer in worker.given.values())
