"""``client.run`` takes so many threads of a worker and no more, and every call is answered."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise import Client
from spanwise.client.patience import run_sentence
from spanwise.errors import ClusterError
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.processes import wait_until
from spanwise.worker import run_functions
from spanwise.worker.run_functions import LONG_SECONDS, MOST_THREADS, RunFunctions

Begin = Callable[["Answers"], RunFunctions]


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


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Make functions of a worker at which a thread looks, as the watch thread does."""
    made: list[RunFunctions] = []
    wanted, ended = threading.Event(), threading.Event()

    def look() -> None:
        while not ended.is_set():
            goes_on = [runs.look() for runs in made]
            if not any(goes_on):
                wanted.wait()
                wanted.clear()
            ended.wait(0.01)

    def begin(worker: Answers) -> RunFunctions:
        made.append(RunFunctions(worker, wanted.set))  # type: ignore[arg-type]
        return made[-1]

    looking = threading.Thread(target=look)
    looking.start()
    yield begin
    ended.set()
    wanted.set()
    looking.join()
    # (the next test counts those of its own)
    wait_until("the threads have ended", lambda: threads() == 0)


class NoThread:
    """Stands in for `Thread.start` of a system that has no more threads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        start = threading.Thread.start

        def fail(thread: threading.Thread) -> None:
            if thread.name.startswith("spanwise-run"):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", fail)


def threads() -> int:
    return sum(each.name == "spanwise-run" for each in threading.enumerate())


def test_many_functions_share_so_many_threads(begin: Begin) -> None:
    worker = Answers()
    runs = begin(worker)
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


def test_who_comes_when_too_many_wait_is_told(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_functions, "MOST_THREADS", 1)
    monkeypatch.setattr(run_functions, "MOST_WAITING", 2)
    worker = Answers()
    runs = begin(worker)
    go_on = threading.Event()
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        go_on.wait()

    runs.run(0, hold)
    assert begun.wait(60)
    for request in range(1, 4):
        runs.run(request, go_on.wait)
    assert "2 functions wait there already" in worker.given.pop(3)["why"]
    go_on.set()
    wait_until("the others are answered", lambda: len(worker.given) == 3)


def test_without_threads_all_that_wait_are_told(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Answers()
    runs = begin(worker)
    with monkeypatch.context() as patch:
        NoThread(patch)
        runs.run(0, lambda: 1)
    assert "cannot start a thread" in worker.given[0]["why"]
    runs.run(1, lambda: 1)
    wait_until("the next is answered", lambda: worker.given.get(1, {}).get("ok", False))


def test_who_waits_for_functions_that_do_not_end_is_told(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_functions, "MOST_THREADS", 2)
    monkeypatch.setattr(run_functions, "PATIENCE_SECONDS", 0.3)
    worker = Answers()
    runs = begin(worker)
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
    # Only those wait whose callers do not. (Right after a look there is none, and it says True.)
    wait_until("there is nobody to look for", lambda: not runs.look())
    assert not ran.is_set()
    go_on.set()
    wait_until("the others are answered", lambda: {0, 1, 12, 13} <= worker.given.keys())
    assert ran.is_set()


def test_who_looks_goes_on_while_a_function_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Answers()
    called: list[int] = []
    runs = RunFunctions(worker, lambda: called.append(1))  # type: ignore[arg-type]
    assert not runs.look_on()
    go_on = threading.Event()
    runs.run(0, go_on.wait)
    assert called
    wait_until("its thread has taken it", lambda: not runs._waiting)
    assert runs.look_on() and not runs.look()
    go_on.set()
    wait_until("its thread has ended", lambda: not runs.look_on())
    assert 0 in worker.given


def test_who_looks_rests_when_functions_have_run_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that serves or waits never ends, and its worker would never rest."""
    now = 1000.0
    monkeypatch.setattr(run_functions, "MOST_THREADS", 2)
    monkeypatch.setattr(run_functions, "time", SimpleNamespace(monotonic=lambda: now))
    worker = Answers()
    runs = RunFunctions(worker, lambda: None)  # type: ignore[arg-type]
    long, short = threading.Event(), threading.Event()
    runs.run(0, long.wait)
    assert runs.look_on(), "it has just come"
    wait_until("its thread has taken it", lambda: not runs._waiting)
    now += LONG_SECONDS - 0.1
    assert runs.look_on()
    now += 0.2
    assert not runs.look_on()
    runs.run(1, short.wait)
    assert runs.look_on(), "another has come"
    wait_until("a thread has taken it", lambda: not runs._waiting)
    now += LONG_SECONDS + 1.0
    assert not runs.look_on()
    runs.run(2, long.wait, is_awaited=False)
    now += LONG_SECONDS + 1.0
    assert not runs.look_on(), "it waits, and nobody waits for it"
    short.set()
    wait_until("it was taken", lambda: not runs._waiting)
    assert runs.look_on(), "it has begun"
    long.set()
    wait_until("all are answered", lambda: worker.given.keys() == {0, 1, 2})


def test_who_waits_while_others_end_goes_on_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_functions, "MOST_THREADS", 1)
    monkeypatch.setattr(run_functions, "PATIENCE_SECONDS", 2.0)
    now = 1000.0
    monkeypatch.setattr(run_functions, "time", SimpleNamespace(monotonic=lambda: now))
    worker = Answers()
    runs = RunFunctions(worker, lambda: None)  # type: ignore[arg-type]
    may_end = threading.Semaphore(0)
    for request in range(12):
        runs.run(request, may_end.acquire)
    # Each takes 0.75 s, the last waits for 8.25 s.
    for count in range(1, 13):
        for _ in range(3):
            now += 0.25
            runs.look()
        may_end.release()
        wait_until("one more has ended", lambda count=count: len(worker.given) == count)
    assert all(answer["ok"] for answer in worker.given.values())


def test_who_waits_since_no_further_thread_starts_is_told(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_functions, "PATIENCE_SECONDS", 0.3)
    worker = Answers()
    runs = begin(worker)
    go_on = threading.Event()
    runs.run(0, go_on.wait)
    wait_until("it runs", lambda: threads() == 1)
    with monkeypatch.context() as patch:
        NoThread(patch)
        runs.run(1, lambda: 1)
        wait_until("it is refused", lambda: 1 in worker.given)
        assert "1 functions run there already" in worker.given[1]["why"]
        # One that is not given up in time is taken by the thread that there is.
        monkeypatch.setattr(run_functions, "PATIENCE_SECONDS", 600.0)
        runs.run(2, lambda: 1)
        go_on.set()
        wait_until("both are answered", lambda: {0, 2} <= worker.given.keys())
    assert worker.given[2]["ok"]


def test_time_in_which_nobody_could_look_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when the process was stopped, or its interpreter lock was held."""
    monkeypatch.setattr(run_functions, "MOST_THREADS", 1)
    now = 1000.0
    monkeypatch.setattr(run_functions, "time", SimpleNamespace(monotonic=lambda: now))
    worker = Answers()
    runs = RunFunctions(worker, lambda: None)  # type: ignore[arg-type]
    go_on = threading.Event()
    runs.run(0, go_on.wait)
    wait_until("it runs", lambda: not runs._waiting)
    runs.run(1, lambda: 1)
    for _ in range(5):
        now += 3600.0
        assert runs.look()
    assert not worker.given
    looks = 0
    while runs.look():
        now += 0.25
        looks += 1
    # 5 looks counted half a second each.
    assert worker.given.keys() == {1}
    assert 29 <= looks <= 32
    go_on.set()
    wait_until("the other is answered", lambda: 0 in worker.given)


def _short_of_threads(
    patience_seconds: float, memory_seconds: float = 0.2, dask_worker: Any = None
) -> None:
    """In a worker: no second thread, less patience, and another time between looks at memory."""
    watch = dask_worker._worker.watch
    watch.memory_seconds = memory_seconds
    measure = watch._measure_memory
    measured = threading.Event()

    def measure_and_tell(now: float) -> None:
        measure(now)
        measured.set()

    watch._measure_memory = measure_and_tell
    # The next look comes so much later.
    assert measured.wait(60)
    start = threading.Thread.start
    has_one = threading.Event()

    def start_one(thread: threading.Thread) -> None:
        if thread.name == "spanwise-run":
            if has_one.is_set():
                raise RuntimeError("can't start new thread")
            has_one.set()
        start(thread)

    run_functions.PATIENCE_SECONDS = patience_seconds
    threading.Thread.start = start_one  # type: ignore[method-assign]


def _send_so_much(nbytes: int, dask_worker: Any) -> None:
    dask_worker._worker._send.__self__._limit = nbytes


def _fail_with(value: bytes) -> None:
    raise ValueError(value)


def test_a_result_that_is_too_long_to_be_sent_ends_no_worker() -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        pid = client.run(os.getpid)
        client.run(_send_so_much, 20_000)
        for function in (bytes, _fail_with):
            with pytest.raises(RuntimeError, match=r"its result cannot be sent: .* 20000 bytes"):
                client.run(function, bytes(100_000) if function is _fail_with else 100_000)
        assert client.run(os.getpid) == pid


def _set_after(path: Any, seconds: float) -> None:
    path.touch()
    time.sleep(seconds)


def _set_until(path: Any, go: Any) -> None:
    path.touch()
    while not go.exists():
        time.sleep(0.005)


@pytest.mark.parametrize("is_busy", [False, True])
def test_callers_are_told_whatever_the_worker_does(tmp_path: Path, is_busy: bool) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        # Nothing but the call has it look: it measures memory no more.
        client.run(_short_of_threads, 0.5, 3600.0)
        if is_busy:
            working = client.submit(_set_after, tmp_path / "task", 3600.0)
            wait_until("it works", (tmp_path / "task").exists)

        def hold() -> None:
            with suppress(RuntimeError, ClusterError):  # it ends with the cluster
                client.run(_set_after, tmp_path / "function", 3600.0)

        holding = threading.Thread(target=hold)
        holding.start()
        wait_until("it runs", (tmp_path / "function").exists)
        refused: list[str] = []

        def ask() -> None:
            try:
                client.run(os.getpid)
            except (RuntimeError, ClusterError) as error:
                refused.append(str(error))

        asking = threading.Thread(target=ask)
        asking.start()
        asking.join(60)
        told = list(refused)
        if is_busy:
            working.release()
    holding.join()
    asking.join()
    assert told and "1 functions run there already" in told[0]


def test_a_worker_without_further_threads_answers_and_counts_no_time_of_a_stop(
    tmp_path: Any,
) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        (pid,) = (row["pid"] for row in client.scheduler_info()["workers"].values())
        client.run(_short_of_threads, 3.0)
        # It has nothing to do, and measures memory seldom: the call itself has it look.
        answers: list[Any] = []
        go = tmp_path / "go"

        def ask(function: Callable[..., Any], *arguments: Any) -> None:
            try:
                answers.append(client.run(function, *arguments))
            except RuntimeError as error:
                answers.append(str(error))

        asking = [threading.Thread(target=ask, args=(_set_until, tmp_path / "first", go))]
        asking[0].start()
        wait_until("it runs", (tmp_path / "first").exists)
        with pytest.raises(RuntimeError, match="1 functions run there already"):
            client.run(os.getpid)
        with Disturbance() as disturbance:
            asking.append(threading.Thread(target=ask, args=(os.getpid,)))
            asking[1].start()
            time.sleep(0.3)
            os.kill(pid, signal.SIGSTOP)
            waited = disturbance.stood_still
        time.sleep(4.5)
        # It ends when the worker goes on, so that the second has its turn.
        go.touch()
        os.kill(pid, signal.SIGCONT)
        for each in asking:
            each.join()
        # (its patience may be over where the machine stood still before the stop)
        assert not [each for each in answers if isinstance(each, str)] or waited > 2.0


@pytest.mark.parametrize("count", [1, 16, 40])
def test_of_very_many_workers_the_first_are_named_and_restarted(count: int) -> None:
    names = [f"worker-{number}" for number in range(min(count, 16))]
    workers: dict[int, dict[str, Any]] = {number: {"state": "running"} for number in range(count)}
    sentence = run_sentence(workers, "slow", reversed(range(count)), 30)
    more, there = (" and 24 more", "on these 16") if count > 16 else ("", "there")
    listed = ", ".join(f"{name} (running)" for name in names)
    assert f"has waited 30 s for {listed}{more}, where slow runs" in sentence
    assert f"; client.restart_workers({names}) ends the function {there}." in sentence


def test_a_wait_for_a_function_is_told_with_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.client.patience.FIRST_SECONDS", 0.1)
    go = tmp_path / "go"

    def slow(dask_worker: Any) -> int:
        while dask_worker.id == 1 and not go.exists():
            time.sleep(0.01)
        return dask_worker.id

    with Client(n_workers=2, threads_per_worker=1) as client:
        answers: list[dict[str, int]] = []
        running = threading.Thread(target=lambda: answers.append(client.run(slow)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            running.start()

            def said() -> list[str]:
                texts = [str(each.message) for each in told]
                # The other may be late too, on a busy machine.
                return [text for text in texts if "s for worker-1 (running), where" in text]

            wait_until("it is told twice", lambda: len(said()) > 1)
            go.touch()
            running.join(60)
        assert "where slow runs or waits for a thread" in said()[-1]
        assert "client.restart_workers(['worker-1']) ends" in said()[-1]
        assert [*answers[0].values()] == [0, 1]
