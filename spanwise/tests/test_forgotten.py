"""Processes whose owner forgets them, or ends without a word."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest

from spanwise import Client
from spanwise.processes import node_process
from spanwise.processes.ending import Ending
from spanwise.processes.node_process import NodeProcess
from spanwise.tests.test_client import increment, until

#: In place of Node: is ready at once, and takes its time to drain.
SLOW = """
import json, sys, time
from pathlib import Path
go = Path(sys.argv[1])
print(json.dumps({"ready": {"address": "unix:/nowhere"}}), flush=True)
sys.stdin.read()
give_up = time.monotonic() + 300
while not go.exists() and time.monotonic() < give_up:
    time.sleep(0.01)
"""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Processes drain until the file that this returns is there."""
    script, go = tmp_path / "slow.py", tmp_path / "go"
    script.write_text(SLOW)
    command = [sys.executable, str(script), str(go)]
    monkeypatch.setattr(node_process, "node_program", lambda _: command)
    return go


def test_garbage_collection_does_not_wait(slow: Path) -> None:
    owned = NodeProcess("observer", {}, bytes(32))
    process, folder = owned.process, owned.folder
    del owned
    gc.collect()
    # It goes on until it is told, which nobody has done: a collection that waited would have had to
    # kill it.
    assert process.poll() is None and folder.exists(), "it drains"
    slow.touch()
    until(lambda: not folder.exists(), 60)
    assert process.poll() == 0


def test_garbage_collection_in_the_middle_of_starting_a_thread(slow: Path) -> None:
    """Which holds locks that starting another one would want."""
    owned = NodeProcess("observer", {}, bytes(32))
    folder = owned.folder
    lock = threading._active_limbo_lock  # type: ignore[attr-defined]
    with lock:
        del owned
        gc.collect()
    slow.touch()
    until(lambda: not folder.exists(), 60)


def test_closing_waits_and_forgetting_what_is_closed_does_nothing(slow: Path) -> None:
    slow.touch()
    owned = NodeProcess("observer", {}, bytes(32))
    process, folder = owned.process, owned.folder
    owned.close()
    owned.close()
    assert process.poll() == 0 and not folder.exists()
    threads = threading.active_count()
    del owned
    gc.collect()
    assert threading.active_count() <= threads


@pytest.mark.parametrize("how", ["", "del owned", "owned.keep = owned; del owned"])
def test_the_interpreters_end_waits(tmp_path: Path, how: str) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    (tmp_path / "go").touch()
    program = f"""
        import json, sys
        from spanwise.processes import node_process
        program = [sys.executable, {str(script)!r}, {str(tmp_path / "go")!r}]
        node_process.node_program = lambda _: program
        owned = node_process.NodeProcess("observer", {{}}, bytes(32))
        print(json.dumps([owned.process.pid, str(owned.folder)]))
        {how}
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert not ended.stderr
    _, folder = json.loads(ended.stdout)
    assert not Path(folder).exists()


def test_a_process_that_cannot_be_started_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(node_process, "node_program", lambda _: [str(tmp_path / "nothing")])
    with pytest.raises(FileNotFoundError):
        NodeProcess("observer", {"secretHex": "00"}, bytes(32))
    assert not list(tmp_path.iterdir())


def test_a_client_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    go, wait = threading.Event(), Ending.wait
    waited: list[bool] = []

    def wait_until_told(self: Ending) -> None:
        # In a thread. Called by the collection itself, it would hold that up until this fails.
        waited.append(go.wait(60))
        wait(self)

    monkeypatch.setattr(Ending, "wait", wait_until_told)
    client = Client(n_workers=1, threads_per_worker=1, set_as_default=False)
    assert client.submit(increment, 1).result(60) == 2
    assert client._scheduler is not None
    folder, session = client._scheduler.folder, weakref.ref(client._session)
    del client
    gc.collect()
    # The scheduler may have ended and removed its folder by now: not so who waits for that.
    assert waited == [], "the collection of garbage waits"
    go.set()
    until(lambda: not folder.exists() and waited == [True, True], 60)

    def gone() -> bool:
        gc.collect()
        return session() is None

    until(gone, 60)
