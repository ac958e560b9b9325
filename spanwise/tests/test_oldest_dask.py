"""What ``scripts/dask-versions`` runs and says, without running it, and what it leaves out."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.tests.oldest_dask import LEFT_OUT, pytest_collection_modifyitems

#: In place of what is at the end of prepare.sh. The packages of the oldest are there.
_INSTEAD = """
step() {
  echo "step $1: $2"
  shift 2
  (set -e; "$@")
  step_status=$?
}
is_ready() { true; }
limited() { echo "limited $*"; }
"""


@pytest.fixture
def scripts(checkout: Path, tmp_path: Path) -> Path:
    shutil.copytree(checkout / "scripts", tmp_path / "scripts")
    with (tmp_path / "scripts" / "prepare.sh").open("a") as prepare:
        prepare.write(_INSTEAD)
    return tmp_path / "scripts"


def _run(scripts: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", scripts / "dask-versions", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _have_test_env(scripts: Path) -> None:
    programs = scripts.parent / ".test-env" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)


def test_tests_have_as_long_as_in_the_whole_run(scripts: Path) -> None:
    _have_test_env(scripts)
    done = _run(scripts)
    assert done.returncode == 0, done.stderr
    limits = {
        name: re.findall(r"^hang_seconds=(\d+)$", (scripts / name).read_text("utf8"), re.M)
        for name in ("prepare.sh", "test", "dask-versions")
    }
    (limit,) = limits["prepare.sh"]
    assert (limits["test"], limits["dask-versions"]) == ([], [])
    assert re.findall(r"^limited (\d+) .* -m pytest ", done.stdout, re.M) == [limit] * 2


def test_what_mends_the_tests_and_the_smoke_run_is_not_the_long_benchmark(scripts: Path) -> None:
    _have_test_env(scripts)
    named = [line for line in _run(scripts).stdout.splitlines() if line.startswith("step ")]
    assert "--smoke" in _run(scripts).stdout
    assert len(named) == 4
    assert [line for line in named if line.endswith("bash scripts/dask-versions")] == named[1:]
    assert "bash scripts/dask-versions cost" in _run(scripts, "cost").stdout


def test_without_the_environment_of_the_tests_it_says_who_makes_it(scripts: Path) -> None:
    done = _run(scripts)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.strip().endswith("To mend it: bash scripts/test pytest")


def test_an_interpreter_that_does_not_start_ends_the_run(scripts: Path) -> None:
    (programs := scripts.parent / ".test-env" / "bin").mkdir(parents=True)
    (programs / "python").symlink_to("/bin/false")
    done = _run(scripts)
    assert done.returncode == 1
    assert done.stdout.count("step ") == 1


def test_a_test_of_the_same_name_in_another_file_is_not_left_out() -> None:
    deselected: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items))
    config: Any = SimpleNamespace(hook=hook)
    file, _, name = next(iter(LEFT_OUT)).partition("::")
    items: list[Any] = [
        SimpleNamespace(path=Path("/tests") / each, name=name_of_case)
        for each in (file, "test_dask_other.py")
        for name_of_case in (name, f"{name}[case]", "test_other")
    ]
    first, second, *kept = items
    pytest_collection_modifyitems(config, items)
    assert (items, deselected) == (kept, [first, second])


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def fixtures_of(tree: ast.Module) -> set[str]:
    """Names of the fixtures that stand in a file."""
    return {
        each.name
        for each in tree.body
        if isinstance(each, _FUNCTIONS)
        and any("fixture" in ast.unparse(decorator) for decorator in each.decorator_list)
    }


def lacking(test: str, conftest: str) -> set[str]:
    """Fixtures that tests ask for and only `conftest.py` has; that is not there with the oldest."""
    tree = ast.parse(test)
    asked = {
        argument.arg
        for each in ast.walk(tree)
        if isinstance(each, _FUNCTIONS)
        and (each.name.startswith("test_") or each.name in fixtures_of(tree))
        for argument in [*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs]
        # (not what it is called with, case by case)
        if not any(argument.arg in ast.unparse(decorator) for decorator in each.decorator_list)
    }
    # Of a function, of a class, or of the whole file.
    asked |= {
        name.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and ast.unparse(each.func).split(".")[-1] == "usefixtures"
        for name in each.args
        if isinstance(name, ast.Constant) and isinstance(name.value, str)
    }
    known = {
        name.asname or name.name
        for each in tree.body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
    }
    return asked & fixtures_of(ast.parse(conftest)) - fixtures_of(tree) - known


def test_what_tests_of_the_bridge_ask_for_is_there_with_the_oldest(checkout: Path) -> None:
    folder = checkout / "spanwise" / "tests"
    conftest = (folder / "conftest.py").read_text("utf-8")
    files = [each for each in folder.glob("test_dask_*.py") if "_equality" not in each.name]
    assert files
    found = {each.name: lacking(each.read_text("utf-8"), conftest) for each in files}
    assert {name: names for name, names in found.items() if names} == {}


def test_it_finds_what_is_lacking() -> None:
    conftest = "@pytest.fixture\ndef port():\n  pass\n\n@pytest.fixture()\ndef theirs():\n  pass"
    own = "@pytest.fixture\ndef theirs():\n  pass\n"
    assert lacking("def test_it(port, theirs):\n  pass", conftest) == {"port", "theirs"}
    assert lacking(
        own + "class TestIt:\n  def test_it(self, port, theirs):\n    pass", conftest
    ) == {"port"}
    assert lacking("def test_it(*, port):\n  pass", conftest) == {"port"}
    assert lacking("def test_it(port, /):\n  pass", conftest) == {"port"}
    for named in (
        '@pytest.mark.usefixtures("other", "port")\ndef test_it():\n  pass',
        '@usefixtures("port")\nclass TestIt:\n  def test_it(self):\n    pass',
        'pytestmark = [pytest.mark.usefixtures("port")]',
    ):
        assert lacking(named, conftest) == {"port"}
    assert lacking("from x import port\ndef test_it(port):\n  pass", conftest) == set()
