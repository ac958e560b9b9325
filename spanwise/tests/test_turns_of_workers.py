"""An executor that has nothing to do reads the scheduler's link, and is woken all the same."""

from __future__ import annotations

import operator
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import spanwise
from spanwise.tests.processes import wait_until
from spanwise.wire import turns
from spanwise.wire.link import Link
from spanwise.worker.wakeup import Wakeup

LIMIT_SECONDS = 60.0

pytestmark = [
    pytest.mark.skipif(not turns.IS_POSSIBLE, reason="the reader always reads here"),
    pytest.mark.timeout(300),
]


@pytest.fixture(params=[1, 2], ids=["one thread each", "two threads each"])
def client(request: pytest.FixtureRequest) -> Iterator[spanwise.Client]:
    with spanwise.Client(n_workers=2, threads_per_worker=request.param) as found:
        found.wait_for_workers(2)
        yield found


_NUMBERS = iter(range(10**9))


def call_often(client: spanwise.Client, times: int = 12) -> None:
    """Lone short calls, behind which executors read."""
    for _ in range(times):
        number = next(_NUMBERS)
        assert client.submit(operator.add, number, 1).result(LIMIT_SECONDS) == number + 1


def times_read(client: spanwise.Client) -> int:
    def look() -> int:
        from spanwise.shared.futures import WORKER

        return WORKER[0].turns.count

    return sum(client.run(look).values())


def test_lone_calls_are_read_by_who_runs_them(client: spanwise.Client) -> None:
    wait_until("one reads", lambda: call_often(client) or times_read(client) > 0)


def test_the_scheduler_is_heard_while_a_task_runs(client: spanwise.Client, tmp_path: Path) -> None:
    go_on = str(tmp_path / "go on")

    def last(until: str, number: int) -> int:
        import os
        import time

        while number >= 0 and not os.path.exists(until):  # noqa: PTH110 (in a worker)
            time.sleep(0.001)
        return number

    for number in range(1, 4):
        for short in range(12):
            assert client.submit(last, go_on, -number - 3 * short).result(LIMIT_SECONDS) < 0
        running = client.submit(last, go_on, number)
        # (its function has been short until now)
        assert len(client.run(lambda: 1)) == 2
        queued = [client.submit(operator.add, next(_NUMBERS), 1) for _ in range(4)]
        queued[0].cancel()
        assert len(client.run(lambda: 2)) == 2
        Path(go_on).touch()
        assert running.result(LIMIT_SECONDS) == number
        assert [each.result(LIMIT_SECONDS) for each in queued[1:]]
        Path(go_on).unlink()


def test_inputs_that_come_from_another_worker_wake_who_reads(client: spanwise.Client) -> None:
    first, second = client.scheduler_info()["workers"]
    for _ in range(15):
        call_often(client, 3)
        one = client.submit(operator.add, next(_NUMBERS), 1, workers=[first])
        other = client.submit(operator.add, next(_NUMBERS), 1, workers=[second])
        call_often(client, 1)
        both = client.submit(operator.add, one, other)
        assert both.result(LIMIT_SECONDS) == one.result() + other.result()


def test_a_task_that_waits_for_others_gets_its_thread_back(client: spanwise.Client) -> None:
    def ask(number: int) -> int:
        import operator

        import spanwise

        inner = spanwise.get_client().submit(operator.add, number, 1, pure=False)
        return int(inner.result()) + 1

    for _ in range(8):
        call_often(client, 3)
        number = next(_NUMBERS)
        asked = [client.submit(ask, number + each, pure=False) for each in range(3)]
        assert client.gather(asked) == [number + 2, number + 3, number + 4]


def test_threads_that_call_at_the_same_time_are_all_served(client: spanwise.Client) -> None:
    failed: list[Any] = []

    def call() -> None:
        try:
            call_often(client, 40)
        except BaseException as error:  # noqa: BLE001 (the test looks at it)
            failed.append(error)

    calling = [threading.Thread(target=call) for _ in range(3)]
    for each in calling:
        each.start()
    for each in calling:
        each.join(2 * LIMIT_SECONDS)
        assert not each.is_alive()
    assert not failed


def test_a_result_is_told_to_callbacks_and_in_loops_behind_lone_calls(
    client: spanwise.Client,
) -> None:
    for _ in range(5):
        call_often(client, 3)
        told = threading.Event()
        future = client.submit(operator.add, next(_NUMBERS), 1)
        future.add_done_callback(lambda _, told=told: told.set())
        assert told.wait(LIMIT_SECONDS)
        call_often(client, 2)
        futures = client.map(operator.add, [next(_NUMBERS) for _ in range(5)], [1] * 5)
        assert len([*spanwise.as_completed(futures)]) == 5


def test_a_worker_that_has_nothing_to_do_rests_again(client: spanwise.Client) -> None:
    wait_until("one reads", lambda: call_often(client) or times_read(client) > 0)
    time.sleep(1.5)  # (longer than an executor reads in vain)
    call_often(client)
    client.restart()
    call_often(client)


def test_what_fails_in_an_executor_that_reads_is_left_to_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "REST_SECONDS", LIMIT_SECONDS)
    here, there = socket.socketpair()
    link, scheduler = Link(here, "worker", "up"), Link(there, "worker", "down")
    for each in (link, scheduler):
        each.authenticated()

    def fail(_: Any) -> bool:
        raise MemoryError

    waits = turns.Turns()
    worker = SimpleNamespace(turns=waits, link_reader=SimpleNamespace(link=link, take_instead=fail))
    wakeup = Wakeup(worker)
    executor = threading.Thread(target=wakeup.wait)
    waits.begin()
    waits.may_rest = True

    def disturb() -> None:
        wait_until("the reader rests", lambda: waits.rests)
        executor.start()
        wait_until("it reads", lambda: waits.stand_in is wakeup)
        scheduler.send("close")

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    assert waits.rest()
    link.go_on()
    assert [each.type for each in link.read_batch()] == ["close"]
    disturbing.join(LIMIT_SECONDS)
    assert executor.is_alive()
    wakeup.release()
    executor.join(LIMIT_SECONDS)
    assert not executor.is_alive()
    link.close()
    scheduler.close()
