"""Which versions of what Spanwise says it runs with, and that each place says the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from spanwise.client import on_dask
from spanwise.dask_bridge.reach import INSTALL_DISTRIBUTED, security_of
from spanwise.errors import ClusterError
from spanwise.graph.private_dask import CHECKED_WITH


@pytest.fixture
def project(checkout: Path) -> dict:
    return tomllib.loads((checkout / "pyproject.toml").read_text("utf8"))["project"]


def bounds_of_dask(project: dict) -> list[Requirement]:
    told = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        told += extra
    return [each for each in map(Requirement, told) if each.name == "dask"]


def test_dask_is_bounded_by_the_releases_whose_private_names_were_looked_at(project: dict) -> None:
    oldest, newest = map(Version, CHECKED_WITH)
    before = Version(f"{oldest.major - 1}.12.9")
    after = Version(f"{newest.major}.{newest.minor + 1}.0")
    found = bounds_of_dask(project)
    assert len(found) >= 3
    for requirement in found:
        assert requirement.specifier.contains(oldest), requirement
        assert requirement.specifier.contains(newest), requirement
        # Bugs of a release are mended in releases of the same month.
        assert requirement.specifier.contains(Version(f"{newest.major}.{newest.minor}.9"))
        assert not requirement.specifier.contains(before), requirement
        assert not requirement.specifier.contains(after), requirement


def test_the_page_of_dask_clusters_says_what_the_wheel_asks_for(
    checkout: Path, project: dict
) -> None:
    (line,) = [each for each in project["dependencies"] if Requirement(each).name == "dask"]
    page = (checkout / "docs" / "dask.md").read_text("utf8")
    assert f"`{line}`" in page
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in page
    (bound,) = [each for each in Requirement(line).specifier if each.operator == "<"]
    for text in (page, (checkout / "README.md").read_text("utf8")):
        assert f'`pip install "distributed{bound}"`' in text
    assert f'pip install "distributed{bound}"' in INSTALL_DISTRIBUTED


def test_who_lacks_distributed_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "distributed.security", None)
    for reach in (on_dask._class.__wrapped__, lambda: security_of(None)):
        with pytest.raises(ClusterError, match=r"cannot be imported here") as caught:
            reach()
        assert str(caught.value).endswith(f": run {INSTALL_DISTRIBUTED}.")


def declared_pythons(project: dict) -> list[str]:
    found = [re.fullmatch(r".*:: (3\.\d+)", each) for each in project["classifiers"]]
    return sorted((each[1] for each in found if each), key=Version)


def test_declared_pythons_begin_with_the_oldest_that_is_allowed(project: dict) -> None:
    assert f">={declared_pythons(project)[0]}" == project["requires-python"]


def test_every_declared_python_has_a_row(checkout: Path, project: dict) -> None:
    done = subprocess.run(
        ["bash", checkout / "scripts" / "test-versions", "--rows"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rows = done.stdout.split()
    declared = declared_pythons(project)
    assert {f"newest-{each}" for each in declared} <= set(rows)
    assert {f"oldest-{declared[0]}", f"core-{declared[0]}"} <= set(rows)


def listed(checkout: Path, *arguments: str) -> list[Requirement]:
    done = subprocess.run(
        [sys.executable, checkout / "scripts" / "list_requirements.py", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [Requirement(line) for line in done.stdout.splitlines()]


def test_the_oldest_row_has_the_lowest_version_of_each_requirement(checkout: Path) -> None:
    newest = listed(checkout, "dask", "pandas", "test")
    oldest = listed(checkout, "--oldest", "dask", "pandas", "test")
    assert [each.name for each in oldest] == [each.name for each in newest]
    pinned = set()
    for low, wide in zip(oldest, newest, strict=True):
        (bound,) = [each.version for each in wide.specifier if each.operator == ">="]
        if str(low.specifier) == f"=={bound}":
            pinned.add(low.name)
        else:
            assert low == wide
    ours = {each.name for each in listed(checkout)} | {"dask", "pandas", "jupyterlab"}
    assert pinned == ours


def test_a_python_that_is_not_there_is_not_found(checkout: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f'source "{checkout}/scripts/prepare.sh"; find_exactly 3.99 || echo none'],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYENV_ROOT": str(tmp_path)},
    )
    assert done.stdout == "none\n"
