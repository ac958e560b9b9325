"""Every process of a cluster is killed once: nothing hangs, no loss is unsaid, nothing is left."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import Client, span
from spanwise.errors import ClusterError
from spanwise.observed import questions
from spanwise.observed.report_page import seconds_by_action
from spanwise.processes.process_state import lives
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until
from spanwise.tests.warned import of_the_block


def slow_square(x: int, seconds: float = 0.1) -> int:
    time.sleep(seconds)
    return x * x


def first_time_long(mark: Path) -> str:
    """Take minutes, until the worker that ran it is killed; then no time."""
    if mark.exists():
        return "done"
    mark.touch()
    time.sleep(600)
    return "not killed"


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


def test_what_a_killed_worker_was_running_is_shown_as_lost(known: set[int], tmp_path: Path) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        lose_a_run(client, known, tmp_path / "mark")


def lose_a_run(client: Client, known: set[int], mark: Path) -> None:
    with span("doomed"):
        doomed = client.submit(first_time_long, mark, pure=False)
    running = wait_until("the task runs", lambda: client._observed.query("task-stream")["running"])
    assert running[0]["key"] == doomed.key
    wait_until("it has left its mark", mark.exists)
    processes_of("worker", known)[0].kill()
    assert doomed.result(timeout=LIMIT_SECONDS) == "done"
    lost, done = wait_until("both runs are told", lambda: both_runs(client))
    assert (lost["status"], done["status"]) == ("lost", "OK")
    # (what it did until then is not known: neither that it computed nor what else)
    assert [each["action"] for each in lost["startstops"]] == ["lost"]
    lost_seconds = lost["startstops"][0]["stop"] - lost["startstops"][0]["start"]
    assert seconds_by_action([lost]) == {"lost": lost_seconds}
    summary = client.fine_metrics(span="doomed").summary
    activities = {row["activity"]: row["value"] for row in summary["byActivity"]}
    assert activities["lost"] == pytest.approx(lost_seconds, rel=1e-6)
    assert lost_seconds >= 0.1
    # Nobody was idle where the lost run was.
    executed = sum(
        value for activity, value in activities.items() if not activity.startswith("idle")
    )
    idle = sum(row["seconds"] for row in summary["idle"])
    assert executed + idle == pytest.approx(summary["capacitySeconds"], rel=0.02)


def both_runs(client: Client) -> list:
    runs = client.get_task_stream()
    return runs if len(runs) == 2 else []


def keep_the_lock(mark: Path, pipe: Path) -> None:
    """Keep the interpreter lock until the pipe is written to, as compiled code may."""
    # For both: opening waits for nobody.
    descriptor = os.open(pipe, os.O_RDWR)
    mark.touch()
    ctypes.PyDLL(None).read(descriptor, ctypes.create_string_buffer(1), 1)


def test_figures_without_a_stuck_worker_say_so(client: Client, tmp_path: Path) -> None:
    client.gather(client.map(slow_square, range(4)))
    client.fine_metrics()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    stuck = client.submit(keep_the_lock, tmp_path / "mark", pipe)
    wait_until("it is stuck", (tmp_path / "mark").exists)
    try:
        # A thread that waited for it would wait for ever.
        with pytest.warns(RuntimeWarning, match=r"worker-\d did not answer within 5 s") as told:
            figures = client.fine_metrics()
    finally:
        pipe.write_bytes(b"1")
    assert of_the_block(told)[0].filename == __file__
    assert figures.by_function()["slow_square"] > 0.3
    stuck.result(timeout=LIMIT_SECONDS)


def test_a_task_that_kills_every_worker_is_blamed(client: Client) -> None:
    def kill_my_worker() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    deadly = client.submit(kill_my_worker)
    # (one worker after another starts for it, each in ten seconds on a busy machine)
    error = deadly.exception(timeout=4 * LIMIT_SECONDS)
    assert "kill_my_worker" in str(error)
    assert client.submit(slow_square, 3).result(timeout=LIMIT_SECONDS) == 9


def test_panels_know_at_once_that_the_scheduler_was_killed(client: Client, known: set[int]) -> None:
    client.gather(client.map(slow_square, range(4)))
    client.spans()
    link = client._observed._open()
    (scheduler,), (observer,) = processes_of("scheduler", known), processes_of("observer", known)
    with Disturbance(os.getpid(), observer.pid) as lost:
        killed = time.monotonic()
        scheduler.kill()
        while lives(scheduler.pid):
            time.sleep(0.001)
        gone = time.monotonic()
        told: list[str] = []
        while "ended" not in told:
            message = link.read(killed + LIMIT_SECONDS)
            if message.type == "clusters":
                told += [each["state"] for each in message.fields["clusters"]]
        # Without a look at its process, the observer gives it 10 s to come back.
        assert time.monotonic() - killed < 5 + lost.seconds
    # It may say that it waits for one whose links are closed, but which is there 0.15 s later.
    assert "reconnecting" not in told or gone - killed >= 0.15


def test_a_killed_observer_is_replaced_and_gets_every_row(
    client: Client, known: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # (the next one may take a busy machine longer to start)
    monkeypatch.setattr(questions, "SUCCESSOR_SECONDS", LIMIT_SECONDS)
    with span("before"):
        client.gather(client.map(slow_square, range(4)))
    assert len(client.get_task_stream()) == 4
    with span("during"):
        futures = client.map(slow_square, range(100, 120))
    done_at_least(client, futures, 3)
    first = processes_of("observer", known)[0]
    first.kill()
    # The first question after it is answered already, and by another.
    seconds = client.fine_metrics(span="before").by_function()
    assert seconds["slow_square"] >= 0.4
    assert client.gather(futures) == [x * x for x in range(100, 120)]
    assert len(client.get_task_stream()) == 24
    assert {each.tag: each.tasks for each in client.spans() if each.tasks} == {
        "before": 4,
        "during": 20,
    }
    (second,) = processes_of("observer", known)
    assert second.pid != first.pid


def test_closing_after_the_observer_was_killed_leaves_nothing(known: set[int]) -> None:
    """Whether the next one is not there yet, is just starting, or runs."""
    with Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(abs, -1).result(timeout=LIMIT_SECONDS) == 1
        began = time.monotonic()
        client.close()
        usual = time.monotonic() - began
    wait_until("all have ended", lambda: not set(marked_processes()) - known)
    for wait_seconds in (0.0, 0.25, 1.0):
        client = Client(n_workers=1, threads_per_worker=1)
        assert client.submit(abs, -1).result(timeout=LIMIT_SECONDS) == 1
        assert client._observer is not None
        folder = Path(client._observer.secret_file).parent
        processes_of("observer", known)[0].kill()
        time.sleep(wait_seconds)
        with Disturbance(os.getpid(), *(set(marked_processes()) - known)) as lost:
            began = time.monotonic()
            client.close()
            assert time.monotonic() - began < usual + 3 + lost.seconds
        wait_until("all have ended", lambda: not set(marked_processes()) - known)
        assert not folder.exists()


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
        from spanwise import Client, span
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
    wait_until("both workers run", lambda: len(processes_of("worker", known)) == 2)
    kernel.kill()
    kernel.wait()
    kernel.stdout.close()
    wait_until(
        "its processes are gone", lambda: not (set(marked_processes()) - known - {kernel.pid})
    )
    wait_until("its folders are gone", lambda: not list(tmp_path.glob("spanwise-*")))
