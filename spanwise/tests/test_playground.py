"""The first look is run in copies: what `git status` lists is what its user has changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from spanwise.tests.file_module import module_of_file

NOTEBOOK = "first-look.ipynb"
MODULE = "first_look.py"


@pytest.fixture(scope="module")
def script(checkout: Path) -> ModuleType:
    """Return ``scripts/playground.py`` as a module."""
    return module_of_file("playground_script", checkout / "scripts" / "playground.py")


@pytest.fixture
def folder(checkout: Path, tmp_path: Path) -> Path:
    """Return a checkout with the examples alone."""
    shutil.copytree(checkout / "examples", tmp_path / "examples")
    return tmp_path


@pytest.fixture
def fill(script: ModuleType, folder: Path) -> Callable[[], str]:
    return lambda: script.fill(
        folder / "examples", folder / "playground", folder / ".build" / "playground"
    )


def edit(notebook: Path, source: str | None = None, output: str | None = None) -> None:
    """Write a cell's code, or what it printed, as JupyterLab does when it saves."""
    read = json.loads(notebook.read_text("utf8"))
    cell = next(cell for cell in read["cells"] if cell["cell_type"] == "code")
    if source is not None:
        cell["source"] = source
    if output is not None:
        cell["execution_count"] = 7
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": output}]
    # JupyterLab writes the lines of a cell in a list.
    for cell in read["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    notebook.write_text(json.dumps(read, indent=1))


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text("utf8")


def test_the_notebook_that_the_script_opens_is_there_and_git_ignores_it(
    checkout: Path, folder: Path, fill: Callable[[], str]
) -> None:
    fill()
    place = "playground/" + NOTEBOOK
    assert f"--notebook {place}\n" in (checkout / "scripts" / "run").read_text("utf8")
    git = ["git", "-C", str(folder)]
    shutil.copy(checkout / ".gitignore", folder)
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=all"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert f"?? examples/{NOTEBOOK}" in listed
    assert "playground" not in listed
    # It imports of the module beside it.
    assert "from first_look import" in read(folder, place)
    assert read(folder, "playground/" + MODULE) == read(checkout, "examples/" + MODULE)


def test_who_comes_again_finds_what_ran(folder: Path, fill: Callable[[], str]) -> None:
    fill()
    copy = folder / "playground" / NOTEBOOK
    edit(copy, output="ran")
    before = copy.read_bytes()
    assert "stays" not in fill()
    assert copy.read_bytes() == before


def test_a_newer_example_takes_the_place_of_one_that_only_ran(
    folder: Path, fill: Callable[[], str]
) -> None:
    fill()
    edit(folder / "playground" / NOTEBOOK, output="ran")
    edit(folder / "examples" / NOTEBOOK, source="newer = 1")
    assert "stays" not in fill()
    for name in (NOTEBOOK, MODULE):
        assert read(folder, "playground/" + name) == read(folder, "examples/" + name)


@pytest.mark.parametrize("is_lost", [False, True], ids=["", "after .build was removed"])
def test_what_its_user_has_changed_stays_with_the_module_that_it_knows(
    folder: Path, fill: Callable[[], str], is_lost: bool
) -> None:
    fill()
    copy = folder / "playground" / NOTEBOOK
    edit(copy, source="mine = 1")
    assert "stays" not in fill()
    module = folder / "examples" / MODULE
    module.write_text("newer = 1")
    if is_lost:
        shutil.rmtree(folder / ".build")
    for _ in range(2):
        assert "the first look in examples is another by now" in fill()
        assert "mine = 1" in copy.read_text("utf8")
        assert read(folder, "playground/" + MODULE) != "newer = 1"
    copy.unlink()
    fill()
    assert "mine = 1" not in copy.read_text("utf8")


def test_a_notebook_that_is_none_stays(folder: Path, fill: Callable[[], str]) -> None:
    fill()
    copy = folder / "playground" / NOTEBOOK
    copy.write_text("[]")
    edit(folder / "examples" / NOTEBOOK, source="newer = 1")
    assert "stays" in fill()
    assert copy.read_text("utf8") == "[]"
