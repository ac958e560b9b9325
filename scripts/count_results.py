"""Add up what the test runners counted and print ``N passed, N failed, N skipped``.

Reads the runners' own reports from one folder:

    jest.json        jest --json
    pytest*.xml      pytest --junit-xml, one per stage
    playwright.json  Playwright's json reporter

    passed-checks    the checks that passed, one a line: types, formats and the like
    steps/*          what each step printed, if nobody looked on

A failed step that wrote no report (a check, a preparation, a runner that died) is
one failed. Exits 1 if anything failed.

Before the counts it says what failed, and how: who sees but the end of a log finds it there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: How many failed tests of a runner are named.
MOST_NAMES = 20
#: How many lines of a test's message are shown: a browser test's says which call waited for what.
MOST_WHY = 15
#: How much of a line of it is shown.
MOST_COLUMNS = 200
#: How many lines are shown of the output of a failed step without failed tests.
LAST_LINES = 15


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


class Failure(NamedTuple):
    """A failed test, and what its runner says of it."""

    name: str
    why: str = ""


def failed_of_jest(path: Path) -> Iterator[Failure]:
    """Name failed tests, and files that could not be loaded."""
    for file in json.loads(path.read_text("utf8"))["testResults"]:
        failed = [test for test in file["assertionResults"] if test["status"] == "failed"]
        for test in failed:
            name = f"{file['name']}: {test['fullName']}"
            yield Failure(name, "\n".join(test.get("failureMessages", [])))
        if file["status"] == "failed" and not failed:
            yield Failure(file["name"], file.get("message", ""))


def failed_of_junit(path: Path) -> Iterator[Failure]:
    """Name failed tests, and those whose fixtures failed."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        why = [each.get("message", "") for tag in ("failure", "error") for each in case.iter(tag)]
        if why:
            yield Failure(f"{case.get('classname')}::{case.get('name')}", "\n".join(why))


def failed_of_playwright(path: Path) -> Iterator[Failure]:
    """Name failed tests; one that passed at a second try has failed. And errors outside any."""
    report = json.loads(path.read_text("utf8"))
    suites = list(report.get("suites", []))
    while suites:
        suite = suites.pop()
        suites += suite.get("suites", [])
        for spec in suite.get("specs", []):
            if any(test["status"] in ("unexpected", "flaky") for test in spec["tests"]):
                results = [result for test in spec["tests"] for result in test.get("results", [])]
                errors = [error for result in results for error in result.get("errors", [])]
                yield Failure(f"{suite['file']}: {spec['title']}", messages_of(errors))
    for error in report.get("errors", []):
        yield Failure(f"{path.name}: outside any test", messages_of([error]))


def messages_of(errors: list[dict[str, Any]]) -> str:
    """What Playwright says: in which line of which file, and the message."""
    said = []
    for error in errors:
        at = error.get("location", {})
        place = f"line {at['line']} of {Path(at['file']).name}: " if "line" in at else ""
        said.append(place + error.get("message", ""))
    return "\n".join(said)


FAILURES: dict[str, Callable[[Path], Iterator[Failure]]] = {
    "jest.json": failed_of_jest,
    "playwright.json": failed_of_playwright,
    "pytest*.xml": failed_of_junit,
}


def uncounted(failed_steps: list[str], counted: dict[str, Counts]) -> list[str]:
    """Name the failed steps that no runner's report accounts for.

    Parameters
    ----------
    failed_steps
        For each failed step the name of its report, or ``-`` if it writes none, and its own.
    counted
        The reports that were found.
    """
    pairs = [step.partition(" ") for step in failed_steps]
    return [name for report, _, name in pairs if counted.get(report, Counts()).failed == 0]


def print_failures(folder: Path, steps: list[str]) -> None:
    """Name failed tests and say why; of other failed steps show the last lines they printed."""
    for pattern, failures in FAILURES.items():
        for file in sorted(folder.glob(pattern)):
            found = list(failures(file))
            for name, why in found[:MOST_NAMES]:
                print(f"failed: {name}")
                for line in plain_lines(why)[:MOST_WHY]:
                    print(f"    {line}")
            if len(found) > MOST_NAMES:
                print(f"failed: and {len(found) - MOST_NAMES} more of {file.name}")
    for name in steps:
        print(f"failed: {name}")
        log = folder / "steps" / re.sub(r"[^A-Za-z0-9]", "-", name)
        if log.is_file():
            lines = log.read_text("utf8", errors="replace").splitlines()
            for line in lines[-LAST_LINES:]:
                print(f"    {line}")


def print_checks(passed: Path) -> None:
    """Say how many checks passed: they are no tests, of which the last line tells."""
    count = len(passed.read_text("utf8").splitlines()) if passed.is_file() else 0
    if count > 0:
        checks = "1 check" if count == 1 else f"{count} checks"
        print(f"{checks} passed (the last line counts tests, and all that failed)")


def plain_lines(text: str) -> list[str]:
    """The lines of a message that say something, without colours."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    return [line[:MOST_COLUMNS].rstrip() for line in lines if line.strip()]


def main() -> int:
    """Print a line per runner and the sum as the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--failed-step", action="append", default=[], metavar="REPORT NAME")
    options = parser.parse_args()

    counted = {
        file.name: read(file)
        for pattern, read in READERS.items()
        for file in sorted(options.folder.glob(pattern))
    }
    steps = uncounted(options.failed_step, counted)
    print_checks(options.folder / "passed-checks")
    print_failures(options.folder, steps)
    total = Counts(failed=len(steps))
    for name, counts in counted.items():
        print(f"{name}: {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
        total = total.plus(counts)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
