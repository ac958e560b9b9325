"""Users of `scripts/run` see what it does, which download fails and what may help, meanwhile."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanwise.tests.processes import wait_until

_SCRIPT = """
set -euo pipefail
source "$CHECKOUT/scripts/prepare.sh"
root=$FOLDER state=$FOLDER tools=$FOLDER retry_pause=0 download_pause=$PAUSE
give_up() {{ exit 1; }}
javascript_stamp() {{ echo new; }}
wheel_stamp() {{ echo new; }}
need "JavaScript packages" "nothing" {command}
echo over
"""

#: Says where the registry is not, in as many lines as yarn; at its second try it waits.
_YARN = """#!/usr/bin/env bash
cd "$FOLDER"
echo "➤ YN0013: chalk can't be found in the cache and will be fetched"
echo try >>tries
if [ "$(wc -l <tries)" -gt "$FAILURES" ]; then
  [ -z "$LAST" ] || echo "$LAST"
  until [ -f go-on ]; do sleep 0.05; done
  exit 0
fi
echo "➤ YN0001: RequestError: self-signed certificate"
echo "    at async fetch (yarn.js:1:1)"
exit 1
"""

#: As pip does, it says what failed by itself.
_PYTHON = _YARN.replace("self-signed certificate", "no pip here").replace(
    'cd "$FOLDER"',
    """cd "$FOLDER"
if [ "$*" = "-m pip config list" ]; then cat pip-settings; exit 0; fi""",
)

#: Writes down with what settings it was started, and fails if it is to.
_UV = """#!/usr/bin/env bash
cd "$FOLDER"
echo "$UV_DEFAULT_INDEX $SSL_CERT_FILE $UV_HTTP_RETRIES ${UV_INDEX-} $*" >uv
[ ! -e uv-ends-early ] || mkdir -p lib/python3.11/site-packages/half
[ -e uv-works ] || { echo "no uv here"; exit 2; }
"""


class Run:
    """A script that prepares, and what it has printed so far."""

    def __init__(
        self, folder: Path, command: str, failures: int, pause: float, last: str, checkout: Path
    ) -> None:
        self._folder = folder
        for name in ("package.json", "yarn.lock", ".yarnrc.yml"):
            (folder / name).write_text("")
        (folder / "node_modules").mkdir()
        (folder / "pip-settings").touch()
        programs = folder / "bin"
        programs.mkdir()
        for name, text in {"jlpm": _YARN, "python": _PYTHON, "uv": _UV}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self._printed = (folder / "printed").open("wb")
        self.process = subprocess.Popen(
            ["bash", "-c", _SCRIPT.format(command=command)],
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=self._printed,
            env={
                **os.environ,
                "CHECKOUT": str(checkout),
                "FOLDER": str(folder),
                "FAILURES": str(failures),
                "LAST": last,
                "PAUSE": str(pause),
                "PATH": f"{programs}:{os.environ['PATH']}",
            },
        )

    def printed(self) -> str:
        return (self._folder / "printed").read_text("utf8")

    def tries(self) -> int:
        tries = self._folder / "tries"
        return len(tries.read_text().splitlines()) if tries.exists() else 0

    def go_on(self) -> int:
        (self._folder / "go-on").touch()
        return self.process.wait(timeout=200)

    def close(self) -> None:
        self.go_on()
        self._printed.close()


@pytest.fixture
def run(checkout: Path, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    made: list[Run] = []

    def run(command: str, failures: int, pause: float = 3600.0, last: str = "") -> Run:
        made.append(Run(tmp_path, command, failures, pause, last, checkout))
        return made[-1]

    yield run
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        ("prepare_node_modules", "RequestError: self-signed certificate"),
        ('pip_install "$FOLDER" dask', "RequestError: no pip here"),
    ],
    ids=["yarn", "pip"],
)
def test_a_failed_try_is_told_while_the_next_goes_on(
    run: Callable[..., Run], command: str, cause: str
) -> None:
    begun = run(command, 1)
    wait_until("the second try", lambda: begun.tries() == 2)
    said = begun.printed()
    assert cause in said
    assert "try 1 of 3 (exit code 1)" in said
    for setting in ("HTTPS_PROXY", "YARN_HTTPS_PROXY", "PIP_CERT", "NODE_EXTRA_CA_CERTS"):
        assert f" {setting}=" in said
    assert "Trying again in 0 s" in said
    assert begun.go_on() == 0
    assert begun.printed().endswith("over\n")


def test_what_fails_three_times_says_the_cause_each_time(run: Callable[..., Run]) -> None:
    begun = run("prepare_node_modules", 3)
    assert begun.process.wait(timeout=200) == 1
    said = begun.printed()
    assert said.count("self-signed certificate") == said.count("Failed, try") == 3
    assert said.count("Trying again") == 2
    assert said.count("PIP_CERT") == 1
    # Only what is to be read.
    assert "yarn.js" not in said and "chalk" not in said


def test_a_download_that_stands_still_is_told_of(run: Callable[..., Run]) -> None:
    begun = run("prepare_node_modules", 0, pause=0.2)
    wait_until("what helps", lambda: "NODE_EXTRA_CA_CERTS" in begun.printed())
    wait_until("the last line", lambda: "… ➤ YN0013: chalk" in begun.printed())
    assert begun.tries() == 1
    assert begun.go_on() == 0
    assert "Failed" not in begun.printed()


def test_packages_that_have_come_take_their_time(run: Callable[..., Run]) -> None:
    begun = run("prepare_node_modules", 0, pause=0.2, last="➤ YN0000: ┌ Link step")
    wait_until("two looks", lambda: begun.printed().count("Link step") >= 2)
    assert begun.go_on() == 0
    # Before the first look at that line, yarn may have said nothing for long.
    _, *since = begun.printed().split("Link step")
    assert "PIP_CERT" not in "".join(since)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("prepare_node_modules", "yarn downloads and installs"),
        ("prepare_javascript", "builds the labextension and the Node bundle"),
        ("prepare_wheel", "builds the wheel"),
        ('pip_install "$FOLDER" dask', "pip downloads and installs"),
    ],
)
def test_a_step_says_what_it_does_before_it_is_silent_for_long(
    run: Callable[..., Run], command: str, sentence: str
) -> None:
    begun = run(command, 0)
    wait_until("the program", lambda: begun.tries() == 1)
    assert f"\n   {sentence}" in begun.printed()
    assert begun.go_on() == 0


#: In pip's order, of which the variables come first and hold.
_SETTINGS = """:env:.cert='/a certificate'
:env:.find-links='/nowhere /'
:env:.index-url='https://index.example/simple?a=b'
download.index-url='https://download.example'
global.index-url='https://file.example'
global.no-color='true'
global.retries='1'
install.index-url=''
"""


def test_packages_are_installed_by_uv_with_the_settings_of_pip(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uv-works").touch()
    (tmp_path / "pip-settings").write_text(_SETTINGS)
    monkeypatch.setenv("UV_INDEX", "https://elsewhere.example")
    begun = run('install_packages "$FOLDER" dask', 0)
    assert begun.go_on() == 0
    index, certificate, retries, *said = (tmp_path / "uv").read_text().strip().split(" ", 4)
    assert index == "https://index.example/simple?a=b"
    assert f"{certificate} {retries}" == "/a certificate"
    assert said[0] == "1" and "elsewhere" not in said[1]
    assert said[1].endswith(" dask") and " --find-links / " in said[1]
    assert "/nowhere" not in said[1]
    # pip has installed nothing.
    assert begun.tries() == 0
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.parametrize("setting", ["", ":env:.no-index='1'", "install.extra-index-url='x'"])
def test_what_uv_cannot_install_pip_does(
    run: Callable[..., Run], tmp_path: Path, setting: str
) -> None:
    if setting:
        (tmp_path / "uv-works").touch()
    (tmp_path / "pip-settings").write_text(f"{setting}\n")
    begun = run('install_packages "$FOLDER" dask', 0)
    assert begun.go_on() == 0
    assert begun.tries() == 1
    # (where uv is not given a setting of pip's, it is not tried)
    assert (tmp_path / "uv").exists() == (setting == "")
    name = setting.partition("=")[0].removeprefix(":env:.")
    said = f"pip has the setting {name}, which uv is not given." if setting else "no uv here"
    assert f"\n   {said}\n   So pip takes the place of uv.\n" in begun.printed()


def test_without_uv_pip_installs(run: Callable[..., Run]) -> None:
    begun = run("""eval 'rm "$FOLDER/bin/uv"; install_packages "$FOLDER" dask'""", 0)
    assert begun.go_on() == 0
    assert begun.tries() == 1


def test_an_environment_of_which_uv_made_a_part_is_made_anew(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    (tmp_path / "uv-ends-early").touch()
    begun = run('install_packages "$FOLDER" dask', 0)
    assert begun.go_on() == 1
    assert begun.tries() == 0
    assert "makes the environment anew" in begun.printed()
    assert (tmp_path / "unfinished").exists()
