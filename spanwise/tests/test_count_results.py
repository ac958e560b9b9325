"""scripts/count_results.py adds up what the runners counted, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

JUNIT = """<testsuites><testsuite tests="10" failures="{failures}" errors="{errors}" skipped="2">
</testsuite></testsuites>"""


def write_reports(folder: Path, *, jest_failed: int = 0, failures: int = 0) -> None:
    """Write reports of 5 jest, 10 pytest (2 skipped) and 4 browser tests (1 skipped)."""
    jest = {
        "numPassedTests": 5 - jest_failed,
        "numFailedTests": jest_failed,
        "numRuntimeErrorTestSuites": 0,
        "numPendingTests": 0,
        "numTodoTests": 0,
    }
    browser = {"stats": {"expected": 3, "unexpected": 0, "flaky": 0, "skipped": 1}, "errors": []}
    (folder / "jest.json").write_text(json.dumps(jest), "utf8")
    (folder / "pytest.xml").write_text(JUNIT.format(failures=failures, errors=0), "utf8")
    (folder / "playwright.json").write_text(json.dumps(browser), "utf8")


@pytest.fixture
def count(checkout: Path, tmp_path: Path):
    """Return a function: failed steps → (last line, exit code)."""

    def run(*failed_steps: str) -> tuple[str, int]:
        script = checkout / "scripts" / "count_results.py"
        arguments = [f"--failed-step={step}" for step in failed_steps]
        done = subprocess.run(
            [sys.executable, script, tmp_path, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()[-1], done.returncode

    return run


def test_sums_over_the_runners(count, tmp_path: Path) -> None:
    write_reports(tmp_path)
    assert count() == ("16 passed, 0 failed, 3 skipped", 0)


def test_a_failed_runner_is_counted_by_its_own_report_once(count, tmp_path: Path) -> None:
    write_reports(tmp_path, jest_failed=2, failures=1)
    assert count("jest.json", "pytest.xml") == ("13 passed, 3 failed, 3 skipped", 1)


def test_a_failed_check_counts_beside_failed_tests(count, tmp_path: Path) -> None:
    write_reports(tmp_path, jest_failed=1)
    assert count("-", "-", "jest.json") == ("15 passed, 3 failed, 3 skipped", 1)


def test_a_runner_that_fails_without_a_failed_test_counts(count, tmp_path: Path) -> None:
    write_reports(tmp_path)
    assert count("playwright.json") == ("16 passed, 1 failed, 3 skipped", 1)


def test_a_runner_that_died_before_its_report_counts(count, tmp_path: Path) -> None:
    write_reports(tmp_path)
    (tmp_path / "pytest.xml").unlink()
    assert count("pytest.xml") == ("8 passed, 1 failed, 1 skipped", 1)


def test_both_stages_of_pytest_count(count, tmp_path: Path) -> None:
    write_reports(tmp_path)
    (tmp_path / "pytest-alone.xml").write_text(JUNIT.format(failures=2, errors=0), "utf8")
    assert count("pytest-alone.xml") == ("22 passed, 2 failed, 5 skipped", 1)
    (tmp_path / "pytest-newest.xml").write_text(JUNIT.format(failures=0, errors=0), "utf8")
    assert count("pytest-alone.xml") == ("30 passed, 2 failed, 7 skipped", 1)
