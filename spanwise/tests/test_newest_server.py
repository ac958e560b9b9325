"""``SPANWISE_CONNECTION=newest``: programs of ordinary terminals in JupyterLab's panels."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jupyter_core.paths import jupyter_runtime_dir

from spanwise.client.dashboard import dashboard_link
from spanwise.errors import ClusterError
from spanwise.observed.find_observer import find_observer
from spanwise.observed.newest_server import jupyter_runtime_folder, newest_connection_file
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.processes import LIMIT_SECONDS

SCRIPT = """
from spanwise import Client

if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1, name="shown") as client:
        client.submit(abs, -1).result()
        assert client.fine_metrics()["execute", "abs", "compute", "count"] == 1
        print(client._private.observer.address)
        print(client.dashboard_link)
"""


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
    return runtime


def server(runtime: Path, pid: int, written: float) -> Path:
    """What a server of this process's user leaves in the folder."""
    folder = runtime.parent / f"folder-{written:g}"
    folder.mkdir(mode=0o700)
    secret = folder / "secret"
    file = runtime / f"spanwise-{pid}-{int(written):08x}.json"
    for path, content in (
        (secret, "00" * 32),
        (file, json.dumps({"pid": pid, "folder": str(folder), "secretFile": str(secret)})),
    ):
        path.touch(mode=0o600)
        path.write_text(content)
    os.utime(file, (written, written))
    return file


def test_the_newest_that_runs_is_taken(runtime: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait(LIMIT_SECONDS)
    server(runtime, os.getpid(), 1000)
    newest = server(runtime, os.getpid(), 2000)
    server(runtime, ended.pid, 3000)
    (runtime / "spanwise-1-00.json").write_text("half of a fi")
    (runtime / "spanwise-1-01.json").mkdir()
    (runtime / "jpserver-1.json").write_text(newest.read_text())
    assert newest_connection_file() == newest


def test_none_is_told_with_what_to_do(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_CONNECTION", "newest")
    with pytest.raises(ClusterError, match=f"looked in {runtime}; .* Start JupyterLab first"):
        find_observer()
    runtime.rmdir()
    with pytest.raises(ClusterError, match="Start JupyterLab first"):
        find_observer()
    assert "SPANWISE_CONNECTION=newest" in dashboard_link()
    # Where a script's user looks for the panels, that says how to have them.
    monkeypatch.delenv("SPANWISE_CONNECTION")
    assert "SPANWISE_CONNECTION=newest" in dashboard_link()


def open_to_others(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o022)


def a_link(path: Path) -> None:
    moved = path.with_name("moved")
    path.rename(moved)
    path.symlink_to(moved)


@pytest.mark.parametrize(
    ("which", "spoil"),
    [
        *itertools.product(["secret", "folder", "runtime", "file"], [open_to_others, a_link]),
        ("secret", Path.unlink),
        ("file", Path.unlink),
    ],
)
def test_what_others_could_use_is_refused(
    runtime: Path, which: str, spoil: Callable[[Path], None]
) -> None:
    file = server(runtime, os.getpid(), 1000)
    secret = Path(json.loads(file.read_text())["secretFile"])
    path = {"secret": secret, "folder": secret.parent, "runtime": runtime, "file": file}[which]
    spoil(path)
    with pytest.raises(ClusterError, match=r"([Rr]estart|Start) JupyterLab"):
        newest_connection_file()


def test_a_secret_elsewhere_is_refused(runtime: Path) -> None:
    file = server(runtime, os.getpid(), 1000)
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "secretFile": str(runtime.parent / "elsewhere")}))
    with pytest.raises(ClusterError, match="outside of its server's own folder"):
        newest_connection_file()


def test_servers_are_looked_for_where_jupyter_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "HOME": tmp_path,
        "XDG_DATA_HOME": tmp_path / "shared",
        "JUPYTER_DATA_DIR": tmp_path / "data",
        "JUPYTER_RUNTIME_DIR": tmp_path / "named",
    }.items():
        monkeypatch.setenv(name, str(value))
        assert jupyter_runtime_folder() == Path(jupyter_runtime_dir())


def test_a_script_outside_jupyterlab_sends_to_its_newest_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    jupyter = JupyterServer(tmp_path)
    try:
        monkeypatch.setenv("SPANWISE_CONNECTION", str(jupyter.connection_file))
        servers = find_observer().address
        ran = subprocess.run(
            [sys.executable, tmp_path / "script.py"],
            env={**jupyter.environment, "SPANWISE_CONNECTION": "newest"},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        link = f"http://localhost:{jupyter.port}/lab"
        assert (ran.stdout.splitlines(), ran.stderr) == ([servers, link], "")
    finally:
        jupyter.close()
