"""Every process of a cluster is killed once: nothing hangs, no loss is unsaid, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import Client
from spanwise.client.errors import ClusterError
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until


def slow_square(x: int, seconds: float = 0.1) -> int:
    time.sleep(seconds)
    return x * x


@pytest.fixture
def known() -> set[int]:
    """Pids that lived before the test."""
    return set(marked_processes())


@pytest.fixture
def client(known: set[int]) -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


def done_at_least(client: Client, futures: list, count: int) -> None:
    wait_until(f"{count} tasks done", lambda: sum(f.done() for f in futures) >= count)


def test_a_killed_worker_s_tasks_run_again_elsewhere(client: Client, known: set[int]) -> None:
    inputs = client.map(slow_square, range(30))
    total = client.submit(sum, inputs)
    done_at_least(client, inputs, 8)
    processes_of("worker", known)[0].kill()
    assert total.result(timeout=LIMIT_SECONDS) == sum(x * x for x in range(30))
    assert client.gather(inputs) == [x * x for x in range(30)]
    wait_until("the worker is replaced", lambda: len(processes_of("worker", known)) == 2)


def test_a_task_that_kills_every_worker_is_blamed(client: Client) -> None:
    def kill_my_worker() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    deadly = client.submit(kill_my_worker)
    error = deadly.exception(timeout=LIMIT_SECONDS)
    assert "kill_my_worker" in str(error)
    assert client.submit(slow_square, 3).result(timeout=LIMIT_SECONDS) == 9


def test_a_killed_observer_does_not_disturb_the_computation(
    client: Client, known: set[int]
) -> None:
    futures = client.map(slow_square, range(20))
    done_at_least(client, futures, 3)
    processes_of("observer", known)[0].kill()
    assert client.gather(futures) == [x * x for x in range(20)]
    with pytest.raises(ClusterError, match="observer"):
        client.spans()


def test_a_killed_scheduler_is_said_and_the_next_client_works(known: set[int]) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        futures = client.map(slow_square, range(50))
        done_at_least(client, futures, 1)
        processes_of("scheduler", known)[0].kill()
        with pytest.raises(ClusterError, match="scheduler"):
            client.gather(futures)
        with pytest.raises(ClusterError, match="scheduler"):
            client.submit(slow_square, 1000).result(timeout=LIMIT_SECONDS)
    wait_until("its workers are gone", lambda: not processes_of("worker", known))
    with Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(slow_square, 4).result(timeout=LIMIT_SECONDS) == 16


def test_a_killed_kernel_takes_its_cluster_along(known: set[int], tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import time
        from spanwise import Client
        if __name__ == "__main__":
            client = Client(n_workers=2, threads_per_worker=1)
            futures = client.map(time.sleep, [0.01] * 100_000, pure=False)
            futures[0].result()
            print("running", flush=True)
            time.sleep(600)
        """
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("SPANWISE_CONNECTION", None)
    kernel = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert kernel.stdout is not None
    assert kernel.stdout.readline().strip() == "running"
    assert len(processes_of("worker", known)) == 2
    kernel.kill()
    kernel.wait()
    kernel.stdout.close()
    wait_until(
        "its processes are gone", lambda: not (set(marked_processes()) - known - {kernel.pid})
    )
    wait_until("its folders are gone", lambda: not list(tmp_path.glob("spanwise-*")))
