"""Where `distributed` is wrong, by the numbers of the register, and what is so here."""

from __future__ import annotations

import operator
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spanwise
from spanwise import Client
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.marks import now_of
from spanwise.tests.processes import LIMIT_SECONDS


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
