"""What ``scripts/test`` runs, and in which order: steps are written down instead of being run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

#: In place of what is at the end of lanes.sh, which comes after prepare.sh.
_INSTEAD = """
step() {
  echo "begin $1" >>"$root/steps"
  sleep 0.1
  # As the system does it when memory is short.
  [ "$1" != "$KILLING" ] || kill -KILL "$BASHPID"
  echo "end $1" >>"$root/steps"
  step_status=0
  [ "$1" != "$FAILING" ] || step_status=1
}
use_tools() { :; }
find_exactly() { echo python; }
"""

PYTEST = "pytest on the installed wheel"
BROWSER = "Browser tests on the installed wheel"
ALONE = "pytest, what measures time"
NEWEST = "pytest, the quick ones, on the newest Python"
EXAMPLE = "The example outside Jupyter"
BENCHMARKS = "Benchmarks, smoke run"
LINT = ["Types (tsc)", "eslint", "oxlint", "prettier", "stylelint", "ruff", "ruff format", "mypy"]
NPM_PACKAGE = "npm package (.build/npm)"


class Ran(NamedTuple):
    exit_code: int
    #: "begin NAME" and "end NAME", in their order.
    steps: list[str]
    printed: str

    @property
    def names(self) -> list[str]:
        return [step.removeprefix("begin ") for step in self.steps if step.startswith("begin ")]


@pytest.fixture
def run(checkout: Path, tmp_path: Path):
    """Return a function: arguments of the script, the step that fails → what it did.

    ``killing`` names a step in which its lane is killed.
    """
    shutil.copytree(checkout / "scripts", tmp_path / "scripts")
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    with (tmp_path / "scripts" / "lanes.sh").open("a") as lanes:
        lanes.write(_INSTEAD)
    tools = tmp_path / ".venv" / "bin"
    tools.mkdir(parents=True)
    (tools / "python").symlink_to(sys.executable)

    def run(*arguments: str, failing: str = "", killing: str = "") -> Ran:
        done = subprocess.run(
            ["bash", tmp_path / "scripts" / "test", *arguments],
            stdin=subprocess.DEVNULL,
            # What a lane that is ended leaves is named on the error output.
            stdout=subprocess.PIPE,
            text=True,
            timeout=240,
            check=False,
            env={
                **os.environ,
                "FAILING": failing,
                "KILLING": killing,
                "SPANWISE_CHROMIUM": "true",
            },
        )
        steps = (tmp_path / "steps").read_text("utf8").splitlines()
        return Ran(done.returncode, steps, done.stdout)

    return run


def test_everything_runs_once_and_what_measures_time_after_all_else(run) -> None:
    ran = run()
    assert ran.exit_code == 0, ran.printed
    assert len(ran.names) == len(set(ran.names))
    assert {*LINT, PYTEST, "jest", BROWSER, NEWEST, BENCHMARKS, EXAMPLE, ALONE} <= {*ran.names}
    assert ran.steps[-2:] == [f"begin {ALONE}", f"end {ALONE}"]
    for name in (PYTEST, BROWSER, BENCHMARKS):
        assert ran.steps.index("end Wheel") < ran.steps.index(f"begin {name}")
    for name in ("jest", BROWSER):
        assert ran.steps.index(f"end {NPM_PACKAGE}") < ran.steps.index(f"begin {name}")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["jest"], {"jest"}),
        (["pytest"], {PYTEST, EXAMPLE, ALONE}),
        (["pytest", "--", "-k", "span"], {PYTEST}),
        (["browser"], {BROWSER}),
        (["lint", "newest"], {*LINT, NEWEST}),
    ],
    # Not by the sets: each runner collects tests under names of its own order.
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_asked_for_runs_and_no_more(run, arguments, expected) -> None:
    ran = run(*arguments)
    assert ran.exit_code == 0, ran.printed
    all_of_them = {*LINT, PYTEST, "jest", BROWSER, NEWEST, BENCHMARKS, EXAMPLE, ALONE}
    assert {*ran.names} & all_of_them == expected


def test_without_the_npm_package_only_what_needs_it_is_left_out_and_failed(run) -> None:
    ran = run(failing=NPM_PACKAGE)
    assert ran.exit_code == 1
    assert not {"jest", BROWSER} & {*ran.names}
    assert {"mypy", PYTEST, NEWEST, BENCHMARKS, EXAMPLE, ALONE} <= {*ran.names}
    assert f"failed: {NPM_PACKAGE}" in ran.printed
    assert "failed: jest: without the npm package" in ran.printed


@pytest.mark.parametrize("failing", ["Wheel", "Clean environment (.test-env)"])
def test_without_a_wheel_or_a_place_for_it_the_run_ends_and_says_so(run, failing) -> None:
    ran = run(failing=failing)
    assert ran.exit_code == 1
    assert not {PYTEST, BROWSER, NEWEST, BENCHMARKS, ALONE} & {*ran.names}
    assert f"failed: {failing}" in ran.printed.splitlines()[-3:-1]


def test_without_packages_for_the_newest_python_only_its_tests_are_left_out(run) -> None:
    ran = run("newest", "pytest", failing="Packages of the newest Python")
    assert ran.exit_code == 1
    assert {PYTEST, EXAMPLE, ALONE} <= {*ran.names} and NEWEST not in ran.names
    assert "failed: Packages of the newest Python" in ran.printed


def test_a_lane_that_is_killed_is_waited_for_no_longer(run) -> None:
    ran = run("pytest", "lint", killing="Clean environment (.test-env)")
    assert ran.exit_code == 1
    assert not {PYTEST, ALONE, "mypy"} & {*ran.names}
    assert "failed: The lane environments" in ran.printed


def test_a_check_that_fails_stops_no_other(run) -> None:
    ran = run(failing="eslint")
    assert ran.exit_code == 1
    assert {"mypy", "jest", PYTEST, BROWSER, ALONE} <= {*ran.names}
    assert ran.printed.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
