"""What threads did: one account, in Fine Performance Metrics and Profile alike, against /proc."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dask._task_spec import Task, TaskRef, fuse_linear_task_spec

from spanwise import Client, span
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.looks import look_as_asked
from spanwise.tests.observed_tasks import rest, spin
from spanwise.tests.processes import pids_of
from spanwise.tests.stamped_tasks import waited_for_core

#: Words of Fine Metrics and of Profile.
STATES = {"thread-cpu": "onCore", "core": "waiting", "gil": "gil", "blocked": "blocked"}
SECONDS = 1.5


@pytest.fixture(scope="module")
def one_process() -> Iterator[Client]:
    """Two threads under one interpreter lock."""
    with Client(n_workers=1, threads_per_worker=2) as client:
        client.run(rest, 0.0)
        yield client


def looks_of(dask_worker: Any) -> int:
    return int(dask_worker._worker.watch.sampler.looks)


class Looks:
    """Counts the looks of all workers from here on, of which Profile's figures are made.

    From here on, too, there are as many as the setting asks for.

    Parameters
    ----------
    least
        A second, where the machine does not keep lookers from a core.
    """

    def __init__(self, client: Client, least: float = 60.0) -> None:
        self._client, self._least = client, least
        client.run(look_as_asked)
        self._disturbance = Disturbance(*pids_of(client)).__enter__()
        self._before, self._began = self._all(), time.perf_counter()

    def _all(self) -> dict[str, int]:
        return self._client.run(looks_of)

    def chance(self) -> float:
        """How far off a share may be by chance, on a machine that is busy: four standard errors.

        On a quiet one tasks are alike, and whichever a look falls on tells of the others.
        """
        seconds = (time.perf_counter() - self._began) * len(self._before)
        lost = self._disturbance.seconds
        self._disturbance.__exit__(None, None, None)
        looks = sum(self._all().values()) - sum(self._before.values())
        if looks >= self._least * seconds and lost < 0.05 * seconds:
            return 0.0
        return 4 * math.sqrt(0.25 / max(looks, 1))


def states_of(client: Client, tag: str) -> tuple[dict[str, float], dict[str, float], float]:
    """Seconds by state, in Fine Metrics and in Profile, and how far off the estimate may be."""
    filter = {"spans": {"any": [{"tag": tag}]}}
    metrics = client._observed.query("fine-metrics", filter)
    profile = client._observed.query("profile", filter)
    by_activity = {row["activity"]: row["value"] for row in metrics["byActivity"]}
    rate = profile["rateHz"]
    return (
        {state: by_activity.get(state, 0.0) for state in STATES},
        {state: profile["nodes"][name][0] / rate for state, name in STATES.items()},
        metrics["gilErrorSeconds"],
    )


def check_agreement(client: Client, tag: str, chance: float) -> dict[str, float]:
    metrics, profile, error = states_of(client, tag)
    whole = sum(metrics.values())
    assert whole > SECONDS / 2
    for state in STATES:
        # Some hundred samples: three standard deviations of a share are below a tenth.
        slack = max(0.1, chance) * whole + error
        assert profile[state] == pytest.approx(metrics[state], abs=slack), (state, metrics, profile)
    return metrics


def test_under_one_lock(one_process: Client) -> None:
    looks = Looks(one_process)
    with span("locked"):
        futures = [one_process.submit(spin, 0.25, pure=False) for _ in range(8)]
    one_process.gather(futures)
    states = check_agreement(one_process, "locked", looks.chance())
    assert states["gil"] > states["blocked"]


def test_asleep(one_process: Client) -> None:
    looks = Looks(one_process, least=20.0)
    with span("asleep"):
        futures = [one_process.submit(rest_in_queue, 0.25, pure=False) for _ in range(8)]
    in_queue = sum(one_process.gather(futures))
    states = check_agreement(one_process, "asleep", looks.chance())
    # Woken up, they may wait for a core.
    assert states["blocked"] >= 0.9 * (sum(states.values()) - in_queue)


def rest_in_queue(seconds: float) -> float:
    """Rest, and say how long the kernel had the thread wait for a core."""
    before = waited_for_core()
    rest(seconds)
    return waited_for_core() - before


def read_then_compute(seconds: float, number: int) -> None:
    time.sleep(seconds)
    spin_cpu(seconds)


def read(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def spin_cpu(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def seconds_on_core(client: Client, function: str, chance: float) -> float:
    """Of a function, as the Profile tells it: Fine Metrics says the same."""
    filter = {"functions": [function]}
    metrics = client._observed.query("fine-metrics", filter)
    profile = client._observed.query("profile", filter)
    (true,) = (row["value"] for row in metrics["byActivity"] if row["activity"] == "thread-cpu")
    nodes = profile["nodes"]
    on_core = nodes["onCore"][0] / profile["rateHz"]
    whole = sum(nodes[state][0] for state in STATES.values()) / profile["rateHz"]
    assert on_core == pytest.approx(true, rel=0.1, abs=max(0.05, chance * whole))
    return on_core


@pytest.mark.parametrize("seconds", [0.003, 0.01])
def test_reading_and_then_computing(seconds: float) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        client.run(rest, 0.0)
        calls = int(SECONDS / 2 / seconds)
        looks = Looks(client)
        client.gather(client.map(read_then_compute, [seconds] * calls, range(calls)))
        chance = looks.chance()
        found = seconds_on_core(client, "read_then_compute", chance)
        assert found > SECONDS / 3 * (1 - 2 * chance)


def test_parts_of_fused_tasks() -> None:
    calls, seconds = 60, 0.0125
    graph = {}
    for i in range(calls):
        graph["read", i] = Task(("read", i), read, seconds)
        graph["spin_cpu", i] = Task(("spin_cpu", i), spin_cpu, TaskRef(("read", i)))
    wanted = [("spin_cpu", i) for i in range(calls)]
    with Client(n_workers=1, threads_per_worker=1) as client:
        client.run(rest, 0.0)
        looks = Looks(client)
        client.get(fuse_linear_task_spec(graph, wanted), wanted)
        chance = looks.chance()
        assert seconds_on_core(client, "spin_cpu", chance) > SECONDS / 3 * (1 - 2 * chance)
        assert seconds_on_core(client, "read", chance) < SECONDS / 10 * (1 + 10 * chance)


def test_computing_on_more_threads_than_cores() -> None:
    """Processes of one thread each: what is off a core waits in the kernel's queue."""
    workers = 2 * len(os.sched_getaffinity(0))
    with Client(n_workers=workers, threads_per_worker=1) as client:
        client.run(rest, 0.0)
        looks = Looks(client)
        begin = time.perf_counter()
        with span("queued"):
            futures = [client.submit(spin, 0.4, pure=False) for _ in range(2 * workers)]
        client.gather(futures)
        took = time.perf_counter() - begin
        states = check_agreement(client, "queued", looks.chance())
        assert states["thread-cpu"] == pytest.approx(0.4 * 2 * workers, rel=0.1)
        assert states["core"] > states["gil"] + states["blocked"]
        assert sum(states.values()) <= workers * took
