"""What ``scripts/test`` runs, and in which order: steps are written down instead of being run.

And that the kernel of another Dask, which its browser tests may have, is made in the checkout.
"""

from __future__ import annotations

import json
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
LINT = ["Types (tsc)", "eslint", "oxlint", "oxfmt", "stylelint", "ruff", "ruff format", "mypy"]
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


def test_of_lint_the_checks_that_passed_are_counted(run) -> None:
    ran = run("lint", failing="stylelint")
    checks, failed, counts = ran.printed.splitlines()[-3:]
    assert checks.startswith("13 checks passed (")
    assert failed == "failed: stylelint"
    assert counts == "0 passed, 1 failed, 0 skipped"


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


#: Where its packages are, and what is the exit code of its pip.
_INTERPRETER = """#!/bin/sh
case "$*" in
  *sys.prefix*) echo "$PACKAGES" ;;
  *pip*) echo pip; exit "$PIP" ;;
esac
"""
_KERNEL_OF = """
set -euo pipefail
complain() { echo "$*"; }
state=$1
source <(sed -n "/^kernel_of() {/,/^run_browser() {/{/^run_browser/d;p}" "$2")
kernel_of "$3" || exit 1
echo "$JUPYTER_PATH"
"""


@pytest.fixture
def kernel_of(checkout: Path, tmp_path: Path):
    """Return a function: a folder of packages, exit code of pip → what came of making a kernel."""
    (tmp_path / ".build" / "browser").mkdir(parents=True)
    python = tmp_path / "python"
    python.write_text(_INTERPRETER)
    python.chmod(0o755)

    def kernel_of(packages: Path, pip: int = 0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", _KERNEL_OF, "-", tmp_path / ".build", checkout / "scripts/test", python],
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PACKAGES": str(packages), "PIP": str(pip)},
        )

    return kernel_of


def test_notebooks_have_a_kernel_of_another_environment(kernel_of, tmp_path: Path) -> None:
    done = kernel_of(tmp_path / ".build" / "dask-oldest")
    folder = tmp_path / ".build" / "browser" / "jupyter"
    assert (done.returncode, done.stdout.split()) == (0, ["pip", str(folder)])
    kernel = json.loads((folder / "kernels" / "python3" / "kernel.json").read_text("utf8"))
    assert kernel["argv"][0] == str(tmp_path / "python")


def test_the_wheel_is_put_into_no_environment_outside_of_the_checkout(
    kernel_of, tmp_path: Path
) -> None:
    for packages in (tmp_path, tmp_path / ".build", tmp_path / ".building"):
        done = kernel_of(packages)
        assert done.returncode == 1
        assert f"has its packages in {packages}, where" in done.stdout
        assert "pip" not in done.stdout.split()


def test_no_notebook_begins_where_the_wheel_or_the_kernel_could_not_be_put(
    kernel_of, tmp_path: Path
) -> None:
    packages = tmp_path / ".build" / "dask-oldest"
    done = kernel_of(packages, pip=1)
    assert (done.returncode, done.stdout) == (1, "pip\n")
    (tmp_path / ".build" / "browser" / "jupyter" / "kernels" / "python3" / "kernel.json").mkdir(
        parents=True
    )
    done = kernel_of(packages)
    assert (done.returncode, done.stdout) == (1, "pip\n")


_LIMITED = """
set -euo pipefail
complain() { echo "$*"; }
source <(sed -n "/^limited() {/,/^}/p" "$1")
shift
limited "$@"
"""


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["0.1", "sleep", "60"], 124, "   Ended at its limit of 0.1 s, "),
        (["60", "bash", "-c", "kill -KILL $$"], 137, "   Ended at its limit of 60 s, or killed"),
        (["60", "bash", "-c", "exit 3"], 3, ""),
        (["60", "true"], 0, ""),
    ],
)
def test_a_step_that_is_ended_says_so(
    checkout: Path, arguments: list[str], exit_code: int, said: str
) -> None:
    done = subprocess.run(
        ["bash", "-c", _LIMITED, "-", checkout / "scripts/prepare.sh", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == exit_code
    assert done.stdout.startswith(said) and bool(done.stdout) == bool(said)
