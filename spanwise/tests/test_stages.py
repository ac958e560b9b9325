"""The stages of ``scripts/test`` name modules that there are, and their tests have the marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.tests.oldest_dask import LEFT_OUT
from spanwise.tests.stages import (
    ALONE,
    BY_VALUE,
    DASK_AHEAD,
    LONGEST,
    NEWEST,
    ONE_OBSERVER,
    QUICK,
    STAGES,
    VERSIONS,
)


@pytest.mark.parametrize(
    "modules",
    [*STAGES.values(), VERSIONS, NEWEST, frozenset(LONGEST), BY_VALUE, DASK_AHEAD, ONE_OBSERVER],
    ids=[*STAGES, "versions", "newest", "longest", "by value", "dask ahead", "one observer"],
)
def test_each_module_of_a_stage_exists(modules: frozenset[str]) -> None:
    there = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert sorted(modules - there) == []


def test_each_test_that_the_oldest_dask_leaves_out_exists() -> None:
    for file, name in (each.split("::") for each in LEFT_OUT):
        assert f"def {name}(" in (Path(__file__).parent / file).read_text("utf-8")


def test_no_module_that_must_be_alone_is_quick() -> None:
    assert sorted(ALONE & QUICK) == []


def test_tests_have_the_marks_of_their_stages(request: pytest.FixtureRequest) -> None:
    marks = {mark.name for mark in request.node.iter_markers()}
    assert marks & STAGES.keys() == {"quick"}


def test_what_is_marked_in_other_modules_is_run_alone_too(checkout: Path) -> None:
    """Nine cases had not run for days: the stage takes files, and theirs was none of them."""
    mark = "pytest.mark." + "alone"
    marked = {
        path.stem
        for path in Path(__file__).parent.glob("test_*.py")
        if mark in path.read_text("utf-8")
    }
    script = (checkout / "scripts/test").read_text("utf-8")
    (line,) = (each for each in script.splitlines() if "run_stage ALONE" in each)
    assert marked
    for name in marked - ALONE:
        assert f"spanwise/tests/{name}.py" in line.split()
