"""Where `distributed` is wrong, by the numbers of the register, and what is so here."""

from __future__ import annotations

import operator
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import spanwise
from spanwise import Client
from spanwise.metrics import context_meter
from spanwise.observed import questions
from spanwise.tests import test_machinery
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.marks import now_of
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.test_machinery import Looks, Server, linux_only
from spanwise.wire.clock import ClockOffset
from spanwise.worker.worker import Worker


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1) as client:
        yield client


def test_q01_the_times_of_the_disk_are_the_schedulers_too() -> None:
    """There they are the worker's own clock; here they are told relative to the run."""
    with Client(n_workers=1, threads_per_worker=1, memory_limit="300 MiB") as client:
        with Disturbance(os.getpid()) as disturbance:
            before = now_of(client)
            arrays = [client.submit(np.full, 2_500_000, n, pure=False) for n in range(14)]
            sums = client.map(np.sum, arrays, pure=False)
            client.gather(sums)
            after = now_of(client)
            lost = disturbance.seconds
        parts = [
            part
            for record in client.get_task_stream()
            for part in record["startstops"]
            if part["action"] in ("disk-read", "disk-write")
        ]
        assert parts, "something was spilled"
        for part in parts:
            assert before - 0.1 - lost <= part["start"] <= part["stop"] <= after + 0.1 + lost


@linux_only
def test_q03_a_thread_is_left_out_by_its_clock_and_by_no_files_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There a stack is left out if its innermost file is called `selectors.py`."""
    code = test_machinery.burn.__code__.replace(co_filename="/of/a/user/selectors.py")
    monkeypatch.setattr(test_machinery, "burn", FunctionType(code, {"time": time}))
    server = Server()
    try:
        looks = Looks(server)
        looks.look()
        looks.rest()
        server.told.put(1.0)

        def at_work() -> bool:
            looks.look()
            return looks.counted("burn") > 0

        wait_until("work to be seen", at_work)
        assert server.done.acquire(timeout=LIMIT_SECONDS)
    finally:
        server.end()


def sum_of(*arrays: Any) -> float:
    return float(sum(each.sum() for each in arrays))


def test_q14_nothing_waits_for_a_side_thread_and_all_of_a_run_is_accounted_for() -> None:
    """There `offload` is the wait for a side thread, and told as next to nothing."""
    with Client(n_workers=2, threads_per_worker=1) as client:
        here, there = client.nthreads()
        arrays = [
            client.submit(np.full, 2_000_000, n, pure=False, workers=[here]) for n in range(4)
        ]
        client.submit(sum_of, *arrays, workers=[there]).result(timeout=LIMIT_SECONDS)
        metrics = client.fine_metrics(function="sum_of")
        assert {"offload", "compress"}.isdisjoint(key[2] for key in client.fine_metrics())
        (record,) = [each for each in client.get_task_stream() if each["key"].startswith("sum_of")]
        held = max(each["stop"] for each in record["startstops"]) - min(
            each["start"] for each in record["startstops"] if each["action"] != "transfer"
        )
        # No second is anywhere else: those of the run's activities are the run's.
        assert metrics.summary["attributedNanoseconds"] / 1e9 >= held - 1e-3
        assert sum(
            value
            for key, value in metrics.items()
            if key[0] == "execute" and key[1] == "sum_of" and key[3] == "seconds"
        ) == pytest.approx(metrics.summary["attributedNanoseconds"] / 1e9, abs=1e-6)


def tells_one_row(number: int) -> int:
    context_meter.digest_metric("told", 1, "rows")
    return number


def test_q15_no_figure_is_lost_or_counted_twice_where_a_link_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There what a failed heartbeat carried is lost; here it is sent until it has been heard."""
    # (on a slow machine the next observer takes long to start)
    monkeypatch.setattr(questions, "SUCCESSOR_SECONDS", LIMIT_SECONDS)
    with Client(n_workers=1, threads_per_worker=1) as client:

        def told() -> float:
            return client.fine_metrics(unit="rows").by_activity("rows").get("told", 0.0)

        client.gather(client.map(tells_one_row, range(20), pure=False))
        assert told() == 20
        observer: Any = client._observed.find()
        os.kill(observer.process.process.pid, signal.SIGKILL)
        client.gather(client.map(tells_one_row, range(30), pure=False))
        wait_until("all to be told", lambda: told() >= 50)
        assert told() == 50
        assert (
            client.fine_metrics(function="tells_one_row", unit="count").by_activity("count")[
                "compute"
            ]
            == 50
        )


class Graphs(spanwise.SchedulerPlugin):
    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def update_graph(self, scheduler: Any, **facts: Any) -> None:
        self.told.append(facts)


def test_q16_what_is_told_of_a_graph_has_no_negative_durations(client: Client) -> None:
    """There two durations of the scheduler's are negative; here none is told."""
    graphs = Graphs()
    client.register_plugin(graphs, name="graphs")
    keys = [each.key for each in client.map(operator.neg, range(5), pure=False)]
    wait_until("the graph to be told", lambda: graphs.told)
    client.unregister_scheduler_plugin("graphs")
    assert {key for facts in graphs.told for key in facts["tasks"]} == set(keys)
    assert all("metrics" not in facts for facts in graphs.told)
    seconds = [each for facts in graphs.told for each in facts.values() if isinstance(each, float)]
    assert all(each >= 0 for each in seconds)


def kills_its_worker_once(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def lost(records: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    found = [each for each in records if each["status"] == "lost"]
    assert len({each["key"] for each in found}) == len(found)
    return {each["key"]: each for each in found}


def test_q19_a_task_killed_with_its_worker_is_in_the_stream(client: Client, tmp_path: Path) -> None:
    with spanwise.get_task_stream(client) as stream:
        future = client.submit(kills_its_worker_once, tmp_path / "mark")
        assert future.result(timeout=LIMIT_SECONDS) == "done"
    (record,) = lost(stream.data).values()
    assert record["key"] == future.key
    assert record["worker"] not in (None, *client.nthreads())
    assert "SIGKILL" in record["reason"]
    (part,) = record["startstops"]
    assert part["action"] == "lost"
    # Too short to have been told as running; on a busy machine it may have been, and is a run.
    assert 0 <= part["stop"] - part["start"] < LIMIT_SECONDS
    assert [each["status"] for each in stream.data if each["key"] == future.key] == ["lost", "OK"]


def test_q19_what_needs_a_task_that_failed_is_in_the_stream(client: Client) -> None:
    with spanwise.get_task_stream(client) as stream:
        bad = client.submit(operator.truediv, 1, 0, key="bad")
        needs = client.submit(operator.neg, bad, key=("needs", 1))
        last = client.submit(operator.neg, needs, key="last")
        assert isinstance(last.exception(timeout=LIMIT_SECONDS), ZeroDivisionError)
    found = lost(stream.data)
    assert found.keys() == {("needs", 1), "last"}
    for record in found.values():
        assert record["reason"] == "its input bad failed (ZeroDivisionError: division by zero)"
        (part,) = record["startstops"]
        assert part["start"] == part["stop"]
    # They are no runs: no sum, no count has them.
    assert {"needs", "last"}.isdisjoint(client.fine_metrics().by_function())
    runs = [each for each in client.get_task_stream() if each["attempt"] is not None]
    assert sum(each.own_tasks for each in client.spans()) == len(runs)


def test_q21_one_late_answer_does_not_replace_what_is_known_of_the_clock() -> None:
    """There the newest answer replaces all before, however long it took."""
    clock = ClockOffset(1003.0001, 1000.0, 1000.0002)
    before = clock.at(1001.0)
    # (half a second on the way back: by itself it would say 0.25 s less)
    clock.answered(1004.0001, 1001.0, 1001.5, lambda: 1001.5)
    assert abs(clock.at(1012.0) - before) < 0.001
    assert clock.within(1001.5) < 0.001


def test_q21_the_clock_is_read_right_before_the_question_is_sent() -> None:
    """There the time in which the worker gathers its metrics is a part of the round trip."""
    sent: list[float] = []
    worker = Worker(0, "w", 1, 0.0, Path())
    worker.connect(
        lambda kind, fields, *_: sent.append(fields["sent"]),
        lambda _: None,
        ClockOffset(3.0, 0.0, 0.0),
    )
    with worker.sending:
        asking = threading.Thread(target=worker.ask_clock)
        asking.start()
        held = time.perf_counter()
    asking.join(LIMIT_SECONDS)
    # Not read while another thread sends something long.
    assert sent and sent[0] >= held
    assert worker.clock.asked_at == sent[0]
