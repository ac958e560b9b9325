"""Pages are told how many tasks wait, for what, and which notice users have for it."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spanwise import Client, Future, LocalCluster
from spanwise.tests.gated_tasks import held
from spanwise.tests.processes import wait_until
from spanwise.tests.test_pressure import cluster as small_cluster
from spanwise.tests.test_pressure import fill_up, let_go
from spanwise.tests.told_to_pages import needs_in, notices, told, waiting, waiting_in

pytestmark = pytest.mark.filterwarnings("always::RuntimeWarning")


def wait_for(client: Client, running: int, **tasks: int) -> None:
    """Wait until pages are told of so many tasks that run, and that wait for each reason."""
    expected = {reason.replace("_", "-"): count for reason, count in tasks.items()}
    wait_until(
        f"{running} to run and {expected} to wait",
        lambda: (told(client)["running"], waiting(client)) == (running, expected),
    )


@contextmanager
def warned() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def pending(*futures: Future) -> int:
    return sum(future.status == "pending" for future in futures)


def test_tasks_are_counted_by_what_they_wait_for(tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, resources={"A": 1}) as local,
        Client(local) as client,
        warned() as caught,
    ):
        # Each has a worker's only thread, and its A.
        going = [client.submit(held, file, resources={"A": 1}) for file in (first, second)]
        wait_for(client, 2)
        futures = [
            *client.map(abs, [-1, -2, -3]),
            *client.map(str.upper, going),
            *client.map(float, [1, 2, 3, 4], resources={"A": 1}),
            *client.map(float, [5, 6, 7, 8, 9], resources={"GPU": 1}),
            client.submit(abs, -5, workers=["nobody"]),
        ]
        wait_for(client, 2, thread=3, input=2, resource=4, no_resource=5, no_named=1)
        # By the client's own account too, none is left out and none is counted twice.
        assert sum(waiting(client).values()) + 2 == pending(*going, *futures) == 17
        at_workers = [key for keys in client.processing().values() for key in keys]
        assert {future.key for future in going} <= set(at_workers)

        assert needs_in(told(client)) == {"resource": "A=1", "no-resource": "GPU=1"}
        found = wait_until("what users are told", lambda: notices(client))
        (notice,) = found.values()
        commands = [each["command"] for each in told(client)["waiting"] if "command" in each]
        assert [f"`{command}`" in notice for command in commands] == [True]
        assert "`spanwise worker " in notice
        assert notice in {str(each.message) for each in caught}

        for file in (first, second):
            Path(file).touch()
        client.gather([*going, *futures[:9]])
        wait_for(client, 0, no_resource=5, no_named=1)
        client.cancel(futures)
        wait_until("none waits", lambda: "waiting" not in told(client))


def test_while_others_wait_no_thread_is_told_to_stand_empty() -> None:
    """Of a run workers tell only from 0.1 s on, and between two of them nothing seemed to run."""
    running: list[int] = []

    def look() -> bool:
        cluster = told(client)
        if waiting_in(cluster).get("thread", 0) > 0:
            running.append(cluster["running"])
        return all(future.done() for future in futures)

    with Client(n_workers=1, threads_per_worker=2) as client:
        futures = client.map(time.sleep, [0.3] * 30, pure=False)
        wait_until("all to end", look)
    # 30 of 0.3 s on two threads take 4.5 s, and one is counted each second.
    assert len(running) > 10
    assert set(running) == {2}


def test_tasks_without_any_worker_are_counted(tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client, warned() as caught:
        client.scale(0)
        futures = client.map(abs, [-1, -2, -3])
        wait_for(client, 0, no_worker=3)
        wait_until("what users are told", lambda: notices(client))
        assert notices(client)["no-worker"] in {str(each.message) for each in caught}
        client.scale(1)
        assert client.gather(futures) == [1, 2, 3]
        wait_until("none waits", lambda: "waiting" not in told(client))


def test_tasks_for_paused_and_stopped_workers_are_counted(tmp_path: Path) -> None:
    with small_cluster() as client:
        go = tmp_path / "go"
        fill_up(client)
        futures = client.map(abs, [-1, -2, -3])
        wait_for(client, 0, paused=3)
        assert notices(client) == {}
        client.run(let_go)
        assert client.gather(futures) == [1, 2, 3]
        wait_until("none waits", lambda: "waiting" not in told(client))

        going = client.submit(held, str(go))
        wait_for(client, 1)
        (row,) = client.scheduler_info()["workers"].values()
        os.kill(row["pid"], signal.SIGSTOP)
        try:
            futures += client.map(abs, [-4, -5])
            wait_for(client, 1, paused=2)
        finally:
            os.kill(row["pid"], signal.SIGCONT)
        wait_for(client, 1, thread=2)
        go.touch()
        assert client.gather([going, *futures[3:]]) == [str(go), 4, 5]
        wait_until("none waits", lambda: "waiting" not in told(client))
