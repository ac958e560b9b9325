"""Add up what the test runners counted and print ``N passed, N failed, N skipped``.

Reads the runners' own reports from one folder:

    jest.json        jest --json
    pytest*.xml      pytest --junit-xml, one per stage
    playwright.json  Playwright's json reporter

A failed step that wrote no report (a check, a preparation, a runner that died) is
one failed. Exits 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Counts(NamedTuple):
    """How many tests ended in which way."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, other: Counts) -> Counts:
        """Add up two runners."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


def count_jest(path: Path) -> Counts:
    """Read jest's report; a file that could not be loaded is one failed."""
    report = json.loads(path.read_text("utf8"))
    return Counts(
        report["numPassedTests"],
        report["numFailedTests"] + report["numRuntimeErrorTestSuites"],
        report["numPendingTests"] + report["numTodoTests"],
    )


def count_junit(path: Path) -> Counts:
    """Read pytest's report; an error in a fixture is one failed."""
    passed = failed = skipped = 0
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        tests, failures, errors, left_out = (
            int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
        )
        failed += failures + errors
        skipped += left_out
        # A test that passes and whose fixture then fails stands in both sums.
        passed += max(0, tests - failures - errors - left_out)
    return Counts(passed, failed, skipped)


def count_playwright(path: Path) -> Counts:
    """Read Playwright's report; an error outside any test is one failed."""
    report = json.loads(path.read_text("utf8"))
    stats = report["stats"]
    return Counts(
        stats["expected"],
        stats["unexpected"] + stats["flaky"] + len(report.get("errors", [])),
        stats["skipped"],
    )


READERS: dict[str, Callable[[Path], Counts]] = {
    "jest.json": count_jest,
    "playwright.json": count_playwright,
    "pytest*.xml": count_junit,
}


def count_uncounted(failed_steps: list[str], counted: dict[str, Counts]) -> int:
    """Count the failed steps that no runner's report accounts for.

    Parameters
    ----------
    failed_steps
        For each failed step the name of its report, or ``-`` if it writes none.
    counted
        The reports that were found.
    """
    return sum(counted.get(report, Counts()).failed == 0 for report in failed_steps)


def main() -> int:
    """Print a line per runner and the sum as the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--failed-step", action="append", default=[], metavar="REPORT")
    options = parser.parse_args()

    counted = {
        file.name: read(file)
        for pattern, read in READERS.items()
        for file in sorted(options.folder.glob(pattern))
    }
    total = Counts(failed=count_uncounted(options.failed_step, counted))
    for name, counts in counted.items():
        print(f"{name}: {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
        total = total.plus(counts)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
