"""Idle, capacity and wall of tasks that run again, against the test's own clock."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client, span, wait
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.leftover import marked_processes
from spanwise.tests.observed_tasks import holds_and_waits
from spanwise.tests.processes import LIMIT_SECONDS, pids_of, wait_until

WORKERS = 2
#: A pause for which no task waits: it must be in no figure. It is far longer than the
#: tasks.
PAUSE_SECONDS = 2.5
#: Each stretch of the cluster lies within one of the test: begun after the test's stamp, and ended
#: before the next. However slow the machine is, that holds but for the rounding of stamps.
ROUNDING_SECONDS = 0.001


@pytest.fixture
def client() -> Iterator[Client]:
    known = set(marked_processes())
    with Client(n_workers=WORKERS, threads_per_worker=1) as client:
        client.run(time.sleep, 0.0)
        client.gather(client.map(time.sleep, [0.0] * 8, pure=False))
        yield client
    wait_until("all processes to end", lambda: not set(marked_processes()) - known)


def sleep_and_fail_once(seconds: float, marker: str) -> int:
    time.sleep(seconds)
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return 1
    raise ValueError("the first time")


def sleep_and_say_where(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def account(client: Client, tag: str) -> tuple[float, float, float]:
    """Return executed, idle and capacity seconds of a span."""
    summary = client.fine_metrics(span=tag).summary
    executed = sum(
        row["value"] for row in summary["byActivity"] if not row["activity"].startswith("idle:")
    )
    idle = sum(row["seconds"] for row in summary["idle"])
    return executed, idle, summary["capacitySeconds"]


def test_idle_of_a_retried_task_does_not_count_until_it_is_retried(
    client: Client, tmp_path: Path
) -> None:
    """::

    failed ████|              |████ retried        the other lane is idle for both
    the test        2.5 s
    """
    warm_up = client.fine_metrics().summary["wallSeconds"]
    begin = time.perf_counter()
    with span("retried"):
        future = client.submit(sleep_and_fail_once, 0.4, str(tmp_path / "marker"), pure=False)
    wait([future])
    worked = time.perf_counter() - begin
    assert future.status == "error"
    time.sleep(PAUSE_SECONDS)
    begin = time.perf_counter()
    future.retry()
    assert future.result(timeout=60) == 1
    worked += time.perf_counter() - begin
    executed, idle, _ = account(client, "retried")
    assert executed >= 0.8
    assert executed + idle <= WORKERS * worked + ROUNDING_SECONDS
    wall = client.fine_metrics().summary["wallSeconds"] - warm_up
    assert 0.8 <= wall <= worked + ROUNDING_SECONDS
    (row,) = [each for each in client.spans() if each.tag == "retried"]
    assert row.idle == pytest.approx(idle, abs=0.01)


def slow_sum(values: list[int]) -> int:
    time.sleep(1.5)
    return sum(values)


def add(values: list[int], last: int) -> int:
    return sum(values, last)


def test_the_task_that_all_wait_for_is_named(client: Client) -> None:
    begin = time.perf_counter()
    quick = client.map(sleep_and_say_where, [0.05] * 4, pure=False)
    total = client.submit(add, quick, client.submit(slow_sum, [1, 2], pure=False), pure=False)
    total.result(timeout=60)
    worked = time.perf_counter() - begin
    summary = client.fine_metrics().summary
    told = summary["waitedFor"]
    idle = {row["cause"]: row["seconds"] for row in summary["idle"]}
    assert (told["function"], told["isLeast"]) == ("slow_sum", False)
    # While it ran, the other thread had other tasks, waited for it, or was idle for another cause.
    functions = {row["function"]: row["total"] for row in summary["byFunction"]}
    slow = functions.pop("slow_sum")
    waited = idle.pop("nothing-runnable")
    least = slow - sum(functions.values()) - sum(idle.values()) - ROUNDING_SECONDS
    assert least <= told["seconds"] <= waited
    assert told["seconds"] <= (WORKERS - 1) * worked + ROUNDING_SECONDS


def test_an_automatic_retry_counts_what_it_waited_once(client: Client, tmp_path: Path) -> None:
    begin = time.perf_counter()
    with span("again"):
        future = client.submit(
            sleep_and_fail_once, 0.4, str(tmp_path / "marker"), pure=False, retries=2
        )
    assert future.result(timeout=60) == 1
    worked = time.perf_counter() - begin
    executed, idle, _ = account(client, "again")
    assert executed >= 0.8
    assert executed + idle <= WORKERS * worked + ROUNDING_SECONDS


def test_a_recomputed_result_counts_from_its_loss(client: Client) -> None:
    """::

    computed ████|          | killed, lost  ████| computed again
    the test       2.5 s
    """
    before = client.fine_metrics().summary
    begin = time.perf_counter()
    with span("lost"):
        future = client.submit(sleep_and_say_where, 0.4, pure=False)
    first = future.result(timeout=60)
    worked = time.perf_counter() - begin
    time.sleep(PAUSE_SECONDS)
    begin = time.perf_counter()
    os.kill(first, signal.SIGKILL)
    second = wait_until("another run", lambda: _other_pid(future, first))
    again = time.perf_counter() - begin
    assert second != first
    executed, idle, _ = account(client, "lost")
    assert executed >= 0.8
    assert executed + idle <= WORKERS * (worked + again) + ROUNDING_SECONDS
    after = client.fine_metrics().summary
    wall = after["wallSeconds"] - before["wallSeconds"]
    assert 0.8 <= wall <= worked + again + ROUNDING_SECONDS
    # One worker from the death until another one has joined, else two.
    capacity = after["capacitySeconds"] - before["capacitySeconds"]
    assert capacity >= WORKERS * 0.4 + 0.4
    assert capacity <= WORKERS * (worked + again) + ROUNDING_SECONDS


def _other_pid(future: Any, first: int) -> int | None:
    pid: int = future.result(timeout=60)
    return None if pid == first else pid


def test_a_run_that_its_worker_s_death_ended_is_not_waited_for_twice(
    client: Client, tmp_path: Path
) -> None:
    """The task is unfinished all the time: once in its lost run, once in the one after."""
    marker = tmp_path / "pid"
    begin = time.perf_counter()
    with span("killed"):
        future = client.submit(tell_and_run_until_killed, str(marker), pure=False)
    pid = wait_until("the task to begin", lambda: marker.exists() and marker.read_text())
    # Workers tell of runs from a tenth of a second on.
    wait_until("it to be told", lambda: _is_running(client))
    os.kill(int(pid), signal.SIGKILL)
    assert future.result(timeout=60) > 0
    worked = time.perf_counter() - begin
    executed, idle, _ = account(client, "killed")
    assert executed + idle <= WORKERS * worked + ROUNDING_SECONDS
    activities = {
        row["activity"]: row["value"]
        for row in client.fine_metrics(span="killed").summary["byActivity"]
    }
    assert 0.1 <= activities["lost"] <= worked


def tell_and_run_until_killed(marker: str) -> int:
    """Take minutes, until the worker that ran it is killed; then a moment."""
    if Path(marker).exists():
        time.sleep(0.2)
        return os.getpid()
    text = Path(marker + "-new")
    text.write_text(str(os.getpid()))
    text.rename(marker)
    time.sleep(600)
    raise AssertionError("not killed")


def _is_running(client: Client) -> bool:
    return bool(client._observed.query("task-stream")["running"])


def hold(nbytes: int, number: int) -> bytes:
    return bytes([number % 256]) * nbytes


def stamp_spilling(dask_worker: Any) -> None:
    """Note in a worker for how many seconds its executor writes results to disk."""
    spill = dask_worker._worker.spill
    make_room, spilled = spill.make_room, []

    def stamped(*arguments: Any) -> Any:
        begin = time.perf_counter()
        spent = make_room(*arguments)
        # (the watch thread writes too, beside the one that runs tasks)
        if spent.disk_bytes and threading.current_thread() in dask_worker._worker.executors:
            spilled.append(time.perf_counter() - begin)
        return spent

    spill.make_room, spill.stamped = stamped, spilled


def seconds_spilled(dask_worker: Any) -> float:
    return sum(dask_worker._worker.spill.stamped)


def test_a_thread_that_spills_is_not_idle() -> None:
    """One thread, results beyond the memory that they may take: between runs there is nothing."""
    # Modules that other tests have imported here would fill the worker first.
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    with alone, Client(n_workers=1, threads_per_worker=1, memory_limit="200MB") as client:
        client.gather(client.map(hold, [1] * 4, range(4), pure=False))
        client.run(stamp_spilling)
        with span("spilling"):
            futures = [client.submit(hold, 10_000_000, number) for number in range(25)]
        wait(futures)
        activities = {
            row["activity"]: row["value"]
            for row in client.fine_metrics(span="spilling").summary["byActivity"]
        }
        executed, idle, capacity = account(client, "spilling")
        (spilled,) = client.run(seconds_spilled).values()
        assert spilled > 0.0
        # All of it is the runs', and what is the runs' cannot be idle besides.
        assert activities["serialize"] + activities["disk-write"] >= spilled
        assert executed + idle <= capacity + ROUNDING_SECONDS


THREADS = 2
#: From a worker's taking a task up, and when it has a thread again, until its own code goes on.
AROUND_SECONDS = 0.03


def test_a_thread_is_not_idle_while_a_task_holds_it_that_has_left_it_or_will() -> None:
    """By the tasks' own stamps, in drawn ranges of time.

    ::

        thread 1   outer ███│ child ██████│ idle ·····│███ outer, has a thread again
        thread 2   outer ███│ child ██████│███ outer
        beside              │ waits       │
    """
    chance = random.Random(7)
    drawn = [[chance.uniform(0.2, 0.5) for _ in range(2)] for _ in range(4)]
    with Client(n_workers=1, threads_per_worker=THREADS) as client:
        # (the first one imports the client, and waits for its files)
        client.submit(holds_and_waits, [0.0], pure=False).result()
        with Disturbance(*pids_of(client)) as disturbance, span("nested"):
            before = time.perf_counter()
            told = client.gather(client.map(holds_and_waits, drawn, pure=False))
            after = time.perf_counter()
            lost = disturbance.seconds
        zero = client._session.scheduler_start
        held = [(start - zero, stop - zero) for rows in told for start, stop in rows]
        first, last = min(start for start, _ in held), max(stop for _, stop in held)
        assert before - zero <= first < last <= after - zero
        ranges = [sorted(chance.uniform(first, last) for _ in range(2)) for _ in range(40)]
        for begin, end in [(first, last), *ranges]:
            answer = client._observed.query("fine-metrics", time={"from": begin, "to": end})
            capacity, idle = answer["capacitySeconds"], sum(x["seconds"] for x in answer["idle"])
            assert capacity == pytest.approx(THREADS * (end - begin), abs=ROUNDING_SECONDS)
            cut = [max(0.0, min(stop, end) - max(start, begin)) for start, stop in held]
            busy = sum(cut)
            assert 0.0 <= idle <= capacity - busy + ROUNDING_SECONDS
            around = AROUND_SECONDS * sum(each > 0.0 for each in cut)
            assert idle >= capacity - busy - around - lost - 0.02 * capacity
            executed = sum(x["value"] for x in answer["byActivity"] if x["activity"][:5] != "idle:")
            beside = sum(answer["beside"].values())
            assert executed - beside + idle == pytest.approx(capacity, abs=ROUNDING_SECONDS)
            assert executed - beside <= capacity + ROUNDING_SECONDS
        summary = client._observed.query("summary")
        ran, idle = summary["executeSeconds"], summary["idleSeconds"]
        assert ran + idle == pytest.approx(summary["capacitySeconds"], abs=ROUNDING_SECONDS)


def test_a_wait_for_a_worker_that_is_not_there_is_no_wait_for_a_thread(client: Client) -> None:
    """::

    waits    ├──── 2.5 s ────┤ GPU worker starts ├── runs      two threads are idle for it
    others                                                     nothing to do
    """

    def idle() -> dict[str, float]:
        metrics = client.fine_metrics(unit="seconds")
        return {
            cause: value for (context, _, cause, _), value in metrics.items() if context == "idle"
        }

    before = idle()
    begin = time.perf_counter()
    future = client.submit(time.perf_counter, resources={"GPU": 1}, pure=False)
    submitted = time.perf_counter()
    time.sleep(PAUSE_SECONDS)
    program = Path(sys.executable).with_name("spanwise")
    address = client.scheduler_info()["address"]
    started = time.perf_counter()
    options = ("--resources", "GPU=1", "--nthreads", "1")
    joining = subprocess.Popen([program, "worker", address, *options])
    try:
        ran = future.result(LIMIT_SECONDS)
    finally:
        joining.terminate()
        joining.wait(LIMIT_SECONDS)
    after = idle()
    grown = {cause: after[cause] - before.get(cause, 0.0) for cause in after}
    # From its submission until a worker has come, and not longer than until it ran there.
    least, most = WORKERS * (started - submitted), WORKERS * (ran - begin)
    assert least - ROUNDING_SECONDS <= grown["no-worker"] <= most + ROUNDING_SECONDS
    assert grown.get("held-elsewhere", 0.0) + grown["no-worker"] <= most + ROUNDING_SECONDS
    assert grown.get("nothing-runnable", 0.0) < 0.5
    # (the new worker is told of the task, and begins)
    assert grown.get("held-elsewhere", 0.0) < 0.2 * least
