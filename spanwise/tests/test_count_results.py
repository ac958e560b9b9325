"""scripts/count_results.py adds up what the runners counted, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

JUNIT = """<testsuites><testsuite tests="10" failures="{failures}" errors="{errors}" skipped="2">
<testcase classname="test_a" name="test_good"/>
<testcase classname="test_a.TestB" name="test_bad">
<failure message="assert 1 == 2&#10;  +  where 1 = f()">long</failure></testcase>
</testsuite></testsuites>"""


def write_reports(folder: Path, *, jest_failed: int = 0, failures: int = 0) -> None:
    """Write reports of 5 jest, 10 pytest (2 skipped) and 4 browser tests (1 skipped)."""
    jest = {
        "numPassedTests": 5 - jest_failed,
        "numFailedTests": jest_failed,
        "numRuntimeErrorTestSuites": 0,
        "numPendingTests": 0,
        "numTodoTests": 0,
        "testResults": [
            {
                "name": "a.spec.ts",
                "status": "failed" if jest_failed else "passed",
                "assertionResults": [
                    {"status": "passed", "fullName": "adds"},
                    *[
                        {
                            "status": "failed",
                            "fullName": f"takes {n}",
                            "failureMessages": [f"\x1b[31mError: {n}\x1b[39m\n\n    at a.ts:{n}\n"],
                        }
                        for n in range(jest_failed)
                    ],
                ],
            }
        ],
    }
    clicks = {"title": "clicks", "tests": [{"status": "expected"}]}
    drags = {"title": "drags", "tests": [{"status": "skipped"}]}
    browser = {
        "stats": {"expected": 3, "unexpected": 0, "flaky": 0, "skipped": 1},
        "errors": [],
        "suites": [
            {
                "file": "b.spec.ts",
                "specs": [clicks],
                "suites": [{"file": "b.spec.ts", "specs": [drags]}],
            }
        ],
    }
    (folder / "jest.json").write_text(json.dumps(jest), "utf8")
    (folder / "pytest.xml").write_text(JUNIT.format(failures=failures, errors=0), "utf8")
    (folder / "playwright.json").write_text(json.dumps(browser), "utf8")


@pytest.fixture
def printed(checkout: Path, tmp_path: Path):
    """Return a function: failed steps → (lines, exit code)."""

    def run(*failed_steps: str) -> tuple[list[str], int]:
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
        return done.stdout.splitlines(), done.returncode

    return run


@pytest.fixture
def count(printed):
    """Return a function: failed steps → (last line, exit code)."""

    def run(*failed_steps: str) -> tuple[str, int]:
        lines, code = printed(*failed_steps)
        return lines[-1], code

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


def test_checks_that_passed_are_counted_by_themselves(printed, tmp_path: Path) -> None:
    passed = tmp_path / "passed-checks"
    passed.write_text("eslint\n", "utf8")
    said = "passed (the last line counts tests, and all that failed)"
    assert printed() == ([f"1 check {said}", "0 passed, 0 failed, 0 skipped"], 0)
    passed.write_text("eslint\nruff\nmypy\n", "utf8")
    assert printed("- oxlint") == (
        [f"3 checks {said}", "failed: oxlint", "0 passed, 1 failed, 0 skipped"],
        1,
    )


def test_what_failed_is_named_before_the_counts(printed, tmp_path: Path) -> None:
    write_reports(tmp_path, jest_failed=21, failures=1)
    browser = json.loads((tmp_path / "playwright.json").read_text("utf8"))
    drags = browser["suites"][0]["suites"][0]["specs"][0]["tests"][0]
    message = "\x1b[2mexpect(\x1b[22mcard)" + "".join(f"\n  waited {n}" for n in range(40))
    at = {"file": "/checkout/b.spec.ts", "line": 7, "column": 1}
    drags["status"] = "flaky"
    drags["results"] = [{"errors": [{"message": message, "location": at}]}, {"errors": []}]
    browser["stats"].update(flaky=1, skipped=0)
    browser["errors"] = [{"message": "no server " * 100}]
    (tmp_path / "playwright.json").write_text(json.dumps(browser), "utf8")
    steps = tmp_path / "steps"
    steps.mkdir()
    (steps / "Benchmarks--smoke-run").write_text("".join(f"line {n}\n" for n in range(40)), "utf8")
    lines, _ = printed("jest.json jest", "- Benchmarks, smoke run", "- eslint", "pytest.xml pytest")
    assert lines[:-4] == [
        *[
            line
            for n in range(20)
            for line in (f"failed: a.spec.ts: takes {n}", f"    Error: {n}", f"        at a.ts:{n}")
        ],
        "failed: and 1 more of jest.json",
        "failed: b.spec.ts: drags",
        "    line 7 of b.spec.ts: expect(card)",
        *[f"      waited {n}" for n in range(14)],
        "failed: playwright.json: outside any test",
        f"    {'no server ' * 20}".rstrip(),
        "failed: test_a.TestB::test_bad",
        "    assert 1 == 2",
        "      +  where 1 = f()",
        "failed: Benchmarks, smoke run",
        *[f"    line {n}" for n in range(25, 40)],
        "failed: eslint",
    ]
    assert lines[-1].endswith("26 failed, 2 skipped")
