"""``spanwise doctor``: each fault is made, and has its line with what helps."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from spanwise.command import doctor, jupyter_here, this_python
from spanwise.command.findings import Finding, State, bad, good
from spanwise.command.main import main
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.processes import wait_until
from spanwise.version import read_version

# To import it takes seconds of each process that collects the tests.
if find_spec("jupyterlab") is None:
    pytest.skip("needs jupyterlab", allow_module_level=True)


@pytest.fixture(autouse=True)
def _own_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of Jupyter that are this test's, and none of our variables.

    Whoever runs the tests may have servers of `scripts/run`, too.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("CONFIG", "RUNTIME", "DATA"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "path"))
    for name in [each for each in os.environ if each.startswith("SPANWISE_CONNECTION")]:
        monkeypatch.delenv(name)


def one(findings: list[Finding], what: str, state: State) -> Finding:
    """The only finding of this subject and state."""
    (found,) = [each for each in findings if (each.what, each.state) == (what, state)]
    return found


def kernels_named(name: str) -> list[Finding]:
    return [each for each in jupyter_here.look_at_kernels() if each.found.startswith(f"{name} ")]


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def write_kernel(folder: Path, name: str, program: str, **env: str) -> None:
    spec = {"argv": [program, "-f", "{connection_file}"], "display_name": name, "env": env}
    write(
        folder / "path" / "kernels" / name / "kernel.json",
        json.dumps({**spec, "language": "python"}),
    )


def test_all_is_well_here_and_a_cluster_runs() -> None:
    program = Path(sys.executable).with_name("spanwise")
    command = [str(program)] if program.exists() else [sys.executable, "-m", "spanwise"]
    ran = subprocess.run(
        [*command, "doctor"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Two seconds of the time of a processor: the server of which it reads two settings.
    assert "jupyter_client.kernelspec" in ran.stderr
    assert "jupyter_server.serverapp" not in ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[-1] == "Spanwise works here."
    subjects = ["Python", "Node", "sockets", "observer", "cluster"]
    if (Path(sys.prefix) / "share/jupyter/labextensions" / jupyter_here.LAB_EXTENSION).exists():
        subjects += ["JupyterLab", "panels", "server part", "kernel"]
    assert {line[6:20].strip() for line in lines if line.startswith("ok ")} >= set(subjects)
    assert sys.executable in ran.stdout


@pytest.mark.parametrize(
    ("name", "value", "what", "found", "remedy"),
    [
        ("SPANWISE_NODE", "/nowhere/node", "Node", "/nowhere/node", "unset it"),
        ("SPANWISE_TRANSPORT", "smoke", "sockets", '"smoke"', "unix"),
    ],
)
def test_a_variable_that_cannot_be_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, what: str, found: str, remedy: str
) -> None:
    monkeypatch.setenv(name, value)
    out = io.StringIO()
    assert doctor.run_doctor(out, starts=False, as_json=True) == 1
    (wrong,) = [each for each in json.loads(out.getvalue()) if each["state"] == "bad"]
    assert wrong["what"] == what
    assert found in wrong["found"]
    assert remedy in wrong["remedy"]


def test_a_node_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_NODE", str(write(tmp_path / "node", "#!/bin/sh\nexit 3", 0o700)))
    (found,) = this_python.look_at_node()
    assert (found.what, found.state) == ("Node", State.BAD)
    assert "does not run" in found.found


def test_no_folder_for_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    (found,) = this_python.look_at_sockets()
    assert (found.what, found.state) == ("sockets", State.BAD)
    assert "TMPDIR" in found.remedy


def test_little_room_for_what_is_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(this_python, "SCARCE_BYTES", 1 << 80)
    assert "free" in one(list(this_python.look_at_sockets()), "sockets", State.NOTE).remedy


def test_packages_that_are_missing_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["msgpack>=99.5", "surely-not-there>=1", "psutil>=1", 'jupyterlab>=99; extra == "test"']
    monkeypatch.setattr(metadata, "requires", lambda name: asked)
    found = list(this_python.look_at_packages())
    wrong = [each for each in found if each.state is State.BAD]
    assert ["msgpack" in wrong[0].found, "surely-not-there" in wrong[1].found] == [True, True]
    assert len(wrong) == 2
    assert all(each.remedy.startswith(f"{sys.executable} -m pip install") for each in wrong)
    assert one(found, "packages", State.GOOD).found == f"psutil {metadata.version('psutil')}"


def panels_of(folder: Path, version: str) -> None:
    write(
        folder / "path/labextensions" / jupyter_here.LAB_EXTENSION / "package.json",
        json.dumps({"name": jupyter_here.LAB_EXTENSION, "version": version}),
    )


def test_panels_of_this_version_of_another_and_disabled(tmp_path: Path) -> None:
    panels_of(tmp_path, read_version())
    assert one(list(jupyter_here.look_at_jupyterlab()), "panels", State.GOOD)
    panels_of(tmp_path, "0.0.7")
    other = one(list(jupyter_here.look_at_jupyterlab()), "panels", State.BAD)
    assert "0.0.7" in other.found
    panels_of(tmp_path, read_version())
    write(
        tmp_path / "config/labconfig/page_config.json",
        json.dumps({"disabledExtensions": {jupyter_here.LAB_EXTENSION: True}}),
    )
    disabled = one(list(jupyter_here.look_at_jupyterlab()), "panels", State.BAD)
    assert disabled.remedy == "jupyter labextension enable @spanwise/lab"


def test_panels_that_are_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jupyter_core.paths

    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *parts: [str(tmp_path)])
    assert one(list(jupyter_here.look_at_jupyterlab()), "panels", State.BAD).found.endswith(
        str(tmp_path)
    )


def test_the_server_part_is_disabled_and_enabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a virtual environment its own settings come before the user's.
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    for enabled, state in ((False, State.BAD), (True, State.GOOD)):
        write(
            tmp_path / "config/jupyter_server_config.json",
            json.dumps({"ServerApp": {"jpserver_extensions": {"spanwise.server": enabled}}}),
        )
        found = one(list(jupyter_here.look_at_jupyterlab()), "server part", state)
        assert enabled or "enable spanwise.server" in found.remedy


def test_kernels_with_another_spanwise_with_none_and_without_a_program(tmp_path: Path) -> None:
    other = write(tmp_path / "other", "#!/bin/sh\necho '[\"9.9\", 0]'\n", 0o700)
    none = write(tmp_path / "none", "#!/bin/sh\necho 'No module: spanwise' >&2\nexit 1\n", 0o700)
    write_kernel(tmp_path, "this-one", sys.executable)
    write_kernel(tmp_path, "other", str(other))
    write_kernel(tmp_path, "none", str(none))
    write_kernel(tmp_path, "gone", str(tmp_path / "gone"))
    (this_one,) = kernels_named("this-one")
    assert this_one.state is State.GOOD
    assert this_one.found.endswith(f"Spanwise {read_version()}")
    (of_another,) = kernels_named("other")
    assert of_another.state is State.BAD
    assert "9.9 of protocol 0" in of_another.found
    (without,) = kernels_named("none")
    assert without.state is State.NOTE
    assert "No module: spanwise" in without.found
    assert without.remedy == f"{none} -m pip install spanwise"
    (gone,) = kernels_named("gone")
    assert gone.state is State.NOTE
    assert "not there" in gone.found


def test_a_server_that_runs_is_stopped_and_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server").mkdir()
    server = JupyterServer(tmp_path / "server")
    try:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(server.runtime))
        monkeypatch.setattr(jupyter_here, "_DIAL_SECONDS", 60.0)
        (runs,) = jupyter_here.look_at_servers()
        assert runs.state is State.GOOD
        assert f"process {server.process.pid}" in runs.found
        (file,) = server.runtime.glob("spanwise-*.json")
        monkeypatch.setattr(jupyter_here, "PROTOCOL", 99)
        (other,) = jupyter_here.look_at_servers()
        assert (other.state, "99" in other.found) == (State.BAD, True)
        monkeypatch.undo()
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(server.runtime))
        monkeypatch.setenv("SPANWISE_CONNECTION", str(file))
        monkeypatch.setattr(jupyter_here, "_DIAL_SECONDS", 0.2)
        server.process.send_signal(signal.SIGSTOP)
        (stopped,) = jupyter_here.look_at_servers()
        assert (stopped.state, "does not answer" in stopped.found) == (State.BAD, True)
        server.kill()
        (ended,) = jupyter_here.look_at_servers()
        assert (ended.state, "has ended" in ended.found) == (State.BAD, True)
        file.write_text("{")
        (broken,) = jupyter_here.look_at_servers()
        assert (broken.state, "cannot be read" in broken.found) == (State.BAD, True)
        file.unlink()
        monkeypatch.delenv("SPANWISE_CONNECTION")
        mine = {"pid": os.getpid(), "url": "http://here/"}
        write(server.runtime / "jpserver-7.json", json.dumps(mine))
        write(server.runtime / "jpserver-8.json", "{")
        (without,) = jupyter_here.look_at_servers()
        assert (without.state, "http://here/" in without.found) == (State.NOTE, True)
    finally:
        server.close()


@pytest.mark.parametrize("by", ["the folder", "the environment"])
def test_the_servers_of_a_checkout_are_seen_there(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    where = f'source "{checkout}/scripts/prepare.sh"; echo "$JUPYTER_RUNTIME_DIR"'
    said = subprocess.run(
        ["bash", "-c", where], capture_output=True, text=True, timeout=200, check=True
    )
    below = Path(said.stdout.strip()).relative_to(checkout.resolve())
    here = tmp_path / "a checkout"
    write(here / "scripts/run", "")
    (here / below).parent.mkdir(parents=True)
    server = JupyterServer(here / below.parent)
    try:
        assert list(jupyter_here.look_at_servers()) == []
        if by == "the folder":
            (here / "examples").mkdir()
            monkeypatch.chdir(here / "examples")
        else:
            monkeypatch.setattr(sys, "prefix", str(here / ".venv"))
        monkeypatch.setattr(jupyter_here, "_DIAL_SECONDS", 60.0)

        def seen() -> Finding | None:
            # (Jupyter writes down its address after Spanwise's files are there)
            (found,) = jupyter_here.look_at_servers()
            return found if "http://" in found.found else None

        runs = wait_until("the server's address is known", seen)
        assert runs is not None and runs.state is State.GOOD
        assert runs.found.startswith(f"process {server.process.pid}, http://")
        # (as a shell reads it: the folder's name has a space)
        assert shlex.split(runs.remedy)[-1] == f"JUPYTER_RUNTIME_DIR={here / below}"
        # (as in a terminal of that JupyterLab)
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(here / below))
        (same,) = jupyter_here.look_at_servers()
        assert (same.state, same.remedy) == (State.GOOD, "")
        monkeypatch.delenv("JUPYTER_RUNTIME_DIR")
        monkeypatch.setenv("SPANWISE_CONNECTION", str(server.connection_file))
        (named,) = jupyter_here.look_at_servers()
        assert (named.state, named.remedy) == (State.GOOD, "")
        # Files that another user has written are not believed.
        monkeypatch.delenv("SPANWISE_CONNECTION")
        with monkeypatch.context() as another:
            another.setattr(os, "getuid", lambda: -1)
            assert list(jupyter_here.look_at_servers()) == []
    finally:
        server.close()


def test_servers_are_looked_at_from_a_folder_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"pid": os.getpid(), "url": "http://here/"}
    write(tmp_path / "runtime/jpserver-7.json", json.dumps(mine))
    (deleted := tmp_path / "deleted").mkdir()
    monkeypatch.chdir(deleted)
    deleted.rmdir()
    (found,) = jupyter_here.look_at_servers()
    assert "http://here/" in found.found


def test_servers_are_looked_at_where_a_folder_above_may_not_be_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"pid": os.getpid(), "url": "http://here/"}
    write(tmp_path / "runtime/jpserver-7.json", json.dumps(mine))
    real = os.stat

    def stat(path: Any, *args: Any, **options: Any) -> os.stat_result:
        # (root, who may run the tests, may search every folder)
        if str(path).endswith("scripts/run"):
            raise PermissionError(errno.EACCES, "may not be searched", str(path))
        return real(path, *args, **options)

    with monkeypatch.context() as closed:
        closed.setattr(os, "stat", stat)
        (found,) = jupyter_here.look_at_servers()
    assert "http://here/" in found.found


def test_a_look_that_fails_is_a_line_and_the_next_ones_go_on() -> None:
    def look_at_the_moon() -> list[Finding]:
        raise OSError("too far")

    found = list(doctor.look([look_at_the_moon, lambda: [good("earth", "here")]]))
    assert [(each.what, each.state) for each in found] == [
        ("the moon", State.BAD),
        ("earth", State.GOOD),
    ]
    assert "too far" in found[0].found


def test_lines_wrap_and_the_last_one_names_what_is_wrong() -> None:
    finding = bad("sockets", "word " * 40, "do this " * 20)
    lines = doctor.line_of(finding).splitlines()
    assert lines[0].startswith("WRONG sockets       word")
    assert max(map(len, lines)) <= 96
    assert [line[:22] for line in lines if "→" in line] == [" " * 20 + "→ "]
    assert " ".join(" ".join(lines).split()) == (
        "WRONG sockets " + "word " * 40 + "→ " + ("do this " * 20).strip()
    )
    assert doctor.verdict([finding, good("Node", "")]).startswith("1 wrong: sockets.")


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "doctor" in capsys.readouterr().out
    with pytest.raises(SystemExit) as version:
        main(["--version"])
    assert version.value.code == 0
    assert capsys.readouterr().out == f"spanwise {read_version()}\n"
    with pytest.raises(SystemExit) as unknown:
        main(["cure"])
    assert unknown.value.code == 2
