"""Which versions of what Spanwise says it runs with, and that each place says the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

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
