"""`scripts/run` prints one address, which opens the panels; JupyterLab's words go into a file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanwise.tests.processes import wait_until

#: Says what JupyterLab says when it starts, and where it is, as it does; then waits to be ended. It
#: ends with the tests as well, should they be killed, and the script with it.
_JUPYTERLAB = """
import json, os, pathlib, signal, sys, time
parent = os.getppid()
print("[W] Could not determine npm prefix: no such program")
print("[C] Or copy this URL: http://127.0.0.1:8888/lab?token=secret", file=sys.stderr)
if "ends" in os.environ["HOW"]:
    sys.exit(3)
place = pathlib.Path(os.environ["JUPYTER_RUNTIME_DIR"], f"jpserver-{os.getpid()}.json")
part = place.with_suffix(".part")
configured = os.environ["JUPYTER_CONFIG_PATH"]
pathlib.Path(os.environ["JUPYTER_RUNTIME_DIR"], "configured").write_text(configured)
part.write_text(json.dumps({"url": "http://127.0.0.1:8888/", "token": "secret"}))
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
os.replace(part, place)
may_end = pathlib.Path(os.environ["MAY_END"])
def tests_go_on():
    try:
        os.kill(int(os.environ["OWNER"]), 0)
    except ProcessLookupError:
        return False
    return True
while os.getppid() == parent and tests_go_on():
    if told and ("waits" not in os.environ["HOW"] or may_end.exists()):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # (else one more now might kill it)
        sys.exit(0)
    time.sleep(0.1)
"""


#: In place of what `scripts/run` prepares before.
_PREPARED = """
use_tools() { true; }
prepare_tools() { true; }
prepare_node_modules() { true; }
prepare_javascript() { true; }
prepare_wheel() { true; }
install_requirements() { true; }
install_wheel() { true; }
"""


class Started:
    """The script, and a program in the place of JupyterLab."""

    def __init__(self, checkout: Path, folder: Path, how: str) -> None:
        module = folder / "jupyterlab"
        module.mkdir()
        (module / "__init__.py").touch()
        (module / "__main__.py").write_text(_JUPYTERLAB)
        self.log = folder / ".build" / "lab.log"
        self.may_end = folder / "may end"
        self._printed = folder / "printed"
        with self._printed.open("wb") as printed:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(checkout / "scripts" / "open_lab.py"),
                    "--no-open",
                    *("--root", str(folder)),
                    *("--log", ".build/lab.log"),
                    *("--notebook", "playground/a b.ipynb"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env={
                    **os.environ,
                    "JUPYTER_RUNTIME_DIR": str(folder),
                    "JUPYTER_CONFIG_PATH": str(folder / "the user's"),
                    "JUPYTER_CONFIG_DIR": str(folder / "own"),
                    "HOW": how,
                    "OWNER": str(os.getpid()),
                    "MAY_END": str(self.may_end),
                },
            )

    def printed(self) -> str:
        return self._printed.read_text("utf8")

    def end(self) -> int:
        self.may_end.touch()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=200)


@pytest.fixture
def start(checkout: Path, tmp_path: Path) -> Iterator[Callable[[str], Started]]:
    pytest.importorskip("jupyter_core")
    made: list[Started] = []

    def start(how: str) -> Started:
        made.append(Started(checkout, tmp_path, how))
        return made[-1]

    yield start
    for each in made:
        if each.process.poll() is None:
            each.end()


def test_the_address_that_is_printed_opens_the_panels_and_is_the_only_one(
    start: Callable[[str], Started],
) -> None:
    begun = start("stays")
    wait_until("the address", lambda: "token=" in begun.printed())
    addresses = [line for line in begun.printed().splitlines() if "http" in line]
    assert addresses == [
        "   http://127.0.0.1:8888/lab/tree/playground/a%20b.ipynb?spanwise=default-layout&token=secret"
    ]
    assert "npm" not in begun.printed()
    assert ".build/lab.log" in begun.printed().splitlines()[0]
    assert "npm" in begun.log.read_text("utf8")
    # It has the token.
    assert begun.log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_is_told_to_end_says_so_once_and_that_is_no_error(
    start: Callable[[str], Started], number: signal.Signals
) -> None:
    begun = start("waits")
    wait_until("the address", lambda: "token=" in begun.printed())
    begun.process.send_signal(number)
    wait_until("it is said", lambda: "JupyterLab ends" in begun.printed())
    # (kernels may take their time, in which one becomes impatient)
    begun.process.send_signal(number)
    begun.may_end.touch()
    assert begun.process.wait(timeout=200) == 0
    assert "ended" not in begun.printed()
    assert begun.printed().count("JupyterLab ends") == 1


def test_a_jupyterlab_that_ends_says_why(start: Callable[[str], Started]) -> None:
    begun = start("ends")
    assert begun.process.wait(timeout=200) == 1
    assert "JupyterLab ended with 3; its last lines:" in begun.printed()
    assert "Could not determine npm prefix" in begun.printed()


def test_jupyterlab_does_not_ask_over_the_panels_whether_one_wants_its_news(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_utils = pytest.importorskip("jupyterlab_server.settings_utils")
    commands = pytest.importorskip("jupyterlab.commands")
    monkeypatch.delenv("JUPYTERLAB_DIR", raising=False)
    lab = Path(commands.get_app_dir())
    schemas = lab / "schemas"
    # (where the environment in which JupyterLab is has its own folder)
    of_environment = tmp_path / lab.relative_to(Path(sys.prefix).resolve()) / "settings"

    def fetch_news() -> object:
        settings, _ = settings_utils.get_settings(
            *(of_environment, schemas, tmp_path / "settings"),
            schema_name="@jupyterlab/apputils-extension:notification",
        )
        return settings["schema"]["properties"]["fetchNews"]["default"]

    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "the user's"))
    assert fetch_news() == "none"
    answer = f'source "{checkout}/scripts/prepare.sh"; answer_first_questions "{tmp_path}"'
    subprocess.run(["bash", "-c", answer], timeout=200, check=True)
    assert fetch_news() == "false"
    # Who has set it has the last word, wherever.
    labconfig = Path("labconfig", "default_setting_overrides.json")
    for place in (
        tmp_path / "the user's" / labconfig,
        tmp_path / "own" / labconfig,
        of_environment / "overrides.json",
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        of_plugin = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "true"}}
        place.write_text(json.dumps(of_plugin))
        assert fetch_news() == "true"
        place.unlink()
        assert fetch_news() == "false"


@pytest.mark.parametrize("whose", ["another", "the environment's"])
def test_who_has_a_folder_of_jupyterlab_is_told_that_it_may_ask(
    checkout: Path, tmp_path: Path, whose: str
) -> None:
    environment = tmp_path / "environment"
    lab = environment / "share" / "jupyter" / "lab"
    answer = f'source "{checkout}/scripts/prepare.sh"; answer_first_questions "{environment}"'
    said = subprocess.run(
        ["bash", "-c", answer],
        env=os.environ | {"JUPYTERLAB_DIR": str(tmp_path / "own" if whose == "another" else lab)},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert ("JUPYTERLAB_DIR" in said.stdout) == (whose == "another")
    answered = [each for each in tmp_path.rglob("*.json") if lab in each.parents]
    assert bool(answered) == (whose != "another")
    assert not (tmp_path / "own").exists()


def test_answers_that_cannot_be_written_are_a_step_that_says_so(
    checkout: Path, tmp_path: Path
) -> None:
    scripts = tmp_path / "scripts"
    shutil.copytree(checkout / "scripts", scripts)
    with (scripts / "prepare.sh").open("a") as prepare:
        prepare.write(_PREPARED)
    (tmp_path / ".venv").mkdir()
    (tmp_path / "examples").mkdir()
    (tmp_path / ".venv" / "share").touch()  # where a folder is to be made
    said = _call(tmp_path, "run", "--no-browser")
    assert said.returncode == 1
    lines = [line.strip() for line in said.stderr.splitlines()]
    assert any(
        line.startswith("What JupyterLab asks") and "To mend it: bash scripts/run" in line
        for line in lines
    )


def test_jupyter_reads_its_users_settings_once(
    start: Callable[[str], Started], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = pytest.importorskip("jupyter_core.paths")
    begun = start("stays")
    wait_until("the address", lambda: "token=" in begun.printed())
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", (tmp_path / "configured").read_text())
    read = paths.jupyter_config_path()
    assert str(tmp_path / "the user's") in read and str(tmp_path / "own") in read
    assert sorted(set(read)) == sorted(read)


#: Those that are called by hand.
_SCRIPTS = [
    "dask-versions",
    "lock-python",
    "mutate",
    "mutate-python",
    "run",
    "test",
    "test-versions",
]


def test_all_scripts_are_asked_what_they_take(checkout: Path) -> None:
    files = [each for each in (checkout / "scripts").iterdir() if each.is_file()]
    begun = [each.name for each in files if each.read_bytes().startswith(b"#!/usr/bin/env bash")]
    assert sorted(begun) == _SCRIPTS


@pytest.mark.parametrize("script", _SCRIPTS)
def test_a_script_that_is_asked_says_what_it_takes_and_that_is_no_error(
    checkout: Path, script: str
) -> None:
    for asked in ("--help", "-h"):
        said = _call(checkout, script, asked)
        assert (said.returncode, said.stderr) == (0, "")
        # (one takes nothing, and has no example of a call)
        assert f"\n  bash scripts/{script} " in said.stdout or script == "lock-python"
        # (all of the head, and no line of code)
        head = (checkout / "scripts" / script).read_text("utf8").splitlines()[1].lstrip("# ")
        assert said.stdout.startswith(f"{head}\n")
        assert "set -" not in said.stdout and "#" not in said.stdout


@pytest.mark.parametrize("script", ["run", "test"])
def test_a_script_that_does_not_know_an_option_says_what_it_takes(
    checkout: Path, script: str
) -> None:
    said = _call(checkout, script, "--halp")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == _call(checkout, script, "--help").stdout


def _call(checkout: Path, script: str, argument: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(checkout / "scripts" / script), argument],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
