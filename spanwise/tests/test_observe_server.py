"""``observe()`` in a kernel of a real Jupyter server: one observer, which may die."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest

import spanwise
from spanwise.errors import ClusterError
from spanwise.observed.find_observer import find_observer
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.leftover import marked_processes
from spanwise.tests.observed_tasks import rest
from spanwise.tests.processes import processes_of, wait_until
from spanwise.wire.link import dial

pytest.importorskip("jupyter_server")


@pytest.fixture
def known() -> set[int]:
    return set(marked_processes())


@pytest.fixture
def server(
    known: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[JupyterServer]:
    server = JupyterServer(tmp_path)
    monkeypatch.setenv("SPANWISE_CONNECTION", str(server.connection_file))
    yield server
    server.close()


def clusters() -> list[dict[str, Any]]:
    """The facts that pages are told."""
    observer = find_observer()
    link = dial(observer.current_address(), observer.secret, "panel")
    try:
        message = link.read()
        assert message.type == "clusters"
        return list(message.fields["clusters"])
    finally:
        link.close()


def keys(seen: Any) -> set[str]:
    return {record["key"] for record in seen.get_task_stream()}


def test_the_servers_observer_is_used_and_keeps_the_figures(
    server: JupyterServer, known: set[int]
) -> None:
    with spanwise.observe("kept") as seen:
        dask.delayed(rest)(0.0, dask_key_name="a").compute(scheduler="threads")
        assert keys(seen) == {"a"}
    seen.close()
    assert len(processes_of("observer", known)) == 1
    # It is not ours: it still answers.
    assert keys(seen) == {"a"}
    (info,) = clusters()
    assert (info["name"], info["kind"], info["state"]) == ("kept", "local", "ended")


def test_the_next_observer_gets_what_the_one_that_died_had(
    server: JupyterServer, known: set[int]
) -> None:
    with spanwise.observe("replayed") as seen:
        dask.delayed(rest)(0.0, dask_key_name="before").compute(
            scheduler="processes", num_workers=1
        )
        assert keys(seen) == {"before"}
        (observer,) = processes_of("observer", known)
        observer.kill()
        observer.wait(60)
        dask.delayed(rest)(0.0, dask_key_name="between").compute(scheduler="threads")
        find_observer()  # as a page does that is open

        def is_there() -> bool:
            try:
                return keys(seen) == {"before", "between"}
            except ClusterError:
                return False  # it has not found the next one yet

        wait_until("the next one has it all", is_there)
        names = {info.name for info in seen.spans()}
        assert names == {("default",)}
    seen.close()


def test_a_kernel_that_is_killed_leaves_its_history(
    server: JupyterServer, known: set[int], tmp_path: Path
) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(
        textwrap.dedent(
            """
            import time, dask, spanwise
            seen = spanwise.observe("killed")
            dask.delayed(sum)([1, 2]).compute(scheduler="threads")
            assert len(seen.get_task_stream()) == 1
            print("computed", flush=True)
            time.sleep(600)
            """
        )
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == "computed\n"
        it.kill()

    def has_ended() -> bool:
        (info,) = clusters()
        return bool(info["state"] == "ended")

    wait_until("the panels say so", has_ended)
    (info,) = clusters()
    assert "its process was lost. The history is kept." in info["why"]
    assert info["tasks"] == 1
