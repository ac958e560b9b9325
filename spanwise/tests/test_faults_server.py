"""A cluster under a real Jupyter server: observer, server and kernel are killed in turn."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import Client, span
from spanwise.errors import ClusterError
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import processes_of, wait_until

pytest.importorskip("jupyter_server")


@pytest.fixture
def known() -> set[int]:
    """Pids that lived before the test."""
    return set(marked_processes())


@pytest.fixture
def server(known: set[int], tmp_path: Path) -> Iterator[JupyterServer]:
    server = JupyterServer(tmp_path)
    yield server
    server.close()


@pytest.fixture
def as_its_kernel(server: JupyterServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process finds the observer as a kernel of the server does."""
    monkeypatch.setenv("SPANWISE_CONNECTION", str(server.connection_file))


def tasks_seen(client: Client, tag: str) -> int:
    """Tasks of the span that the observer knows; 0 while it cannot be asked."""
    try:
        return next((s.tasks for s in client.spans() if s.tag == tag), 0)
    except ClusterError:
        return 0


@pytest.mark.usefixtures("as_its_kernel")
def test_a_killed_observer_is_replaced_and_gets_all_that_is_kept(known: set[int]) -> None:
    with Client(n_workers=2, threads_per_worker=1) as client:
        with span("before"):
            client.gather(client.map(abs, range(300)))
        wait_until("all tasks are seen", lambda: tasks_seen(client, "before") == 300)
        first = processes_of("observer", known)[0]
        with span("during"):
            futures = client.map(abs, range(1000, 1500))
        first.kill()
        assert client.gather(futures) == list(range(1000, 1500))
        wait_until(
            "another observer",
            lambda: [p for p in processes_of("observer", known) if p.pid != first.pid],
        )
        # The ring still holds the whole log, so nothing is missing: no gap is shown.
        wait_until("what came before is back", lambda: tasks_seen(client, "before") == 300)
        wait_until("what came meanwhile is there", lambda: tasks_seen(client, "during") == 500)


def test_a_killed_server_takes_its_observer_along(
    server: JupyterServer, known: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANWISE_CONNECTION", str(server.connection_file))
    with Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(abs, -1).result() == 1
        assert len(processes_of("observer", known)) == 1
        server.kill()
        wait_until("its observer is gone", lambda: not processes_of("observer", known))
        # The cluster belongs to the kernel: it goes on.
        assert client.submit(abs, -2).result() == 2


def test_a_killed_kernel_s_cluster_ends_and_its_history_stays(
    server: JupyterServer, known: set[int]
) -> None:
    script = textwrap.dedent(
        """
        import time
        from spanwise import Client, span
        client = Client(n_workers=1, threads_per_worker=1, name="short-lived")
        with span("kept"):
            client.gather(client.map(abs, range(50)))
        print(len([s for s in client.spans() if s.tag == "kept"]), flush=True)
        time.sleep(600)
        """
    )
    kernel = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**server.environment, "SPANWISE_CONNECTION": str(server.connection_file)},
    )
    assert kernel.stdout is not None
    assert kernel.stdout.readline().strip() == "1"
    kernel.kill()
    kernel.wait()
    kernel.stdout.close()
    wait_until("its scheduler is gone", lambda: not processes_of("scheduler", known))
    wait_until("its workers are gone", lambda: not processes_of("worker", known))
    assert len(processes_of("observer", known)) == 1
