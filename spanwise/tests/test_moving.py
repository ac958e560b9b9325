"""Each section of ``docs/moving-from-distributed.md`` does what the page says.

A line ``expression  # → value`` is compared. Sections under *The same code* run with
`distributed` too, whose names take the place of Spanwise's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from multiprocessing import forkserver
from typing import Any, NamedTuple

import dask
import pytest

from spanwise.tests.checkout import CHECKOUT

PAGE = CHECKOUT / "docs" / "moving-from-distributed.md"
FIRST = "Start a cluster"


class Section(NamedTuple):
    title: str
    code: str
    is_same: bool


def sections() -> list[Section]:
    """Those with code, in the page's order."""
    if not PAGE.exists():
        return []
    found = []
    for part in re.split(r"^# ", PAGE.read_text("utf-8"), flags=re.MULTILINE):
        for text in part.split("\n## ")[1:]:
            code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
            found.append(Section(text.partition("\n")[0], code, part.startswith("The same code")))
    return found


SECTIONS = {each.title: each for each in sections()}


def run(code: str, names: dict[str, Any]) -> int:
    """Run a section; how many values it compared.

    Raises
    ------
    AssertionError
        A value is another than the one behind its arrow.
    """
    lines = code.split("\n")
    compared = 0
    for statement in ast.parse(code).body:
        _, arrow, told = lines[(statement.end_lineno or 0) - 1].partition("  # → ")
        if arrow and isinstance(statement, ast.Expr):
            found = eval(compile(ast.Expression(statement.value), str(PAGE), "eval"), names)
            assert repr(found) == told, ast.unparse(statement)
            compared += 1
        else:
            exec(compile(ast.Module([statement], []), str(PAGE), "exec"), names)  # noqa: S102
    return compared


@pytest.fixture(scope="class")
def names(request: Any) -> Iterator[dict[str, Any]]:
    """What the first section leaves, with the class's package."""
    # Functions made here go to workers by value, as those of a notebook do.
    made: dict[str, Any] = {"__name__": "__main__"}
    assert run(code_of(FIRST, request.cls.package), made) == 1
    yield made
    made["client"].close()


def code_of(title: str, package: str) -> str:
    return SECTIONS[title].code.replace("from spanwise", f"from {package}")


class TestSpanwise:
    package = "spanwise"

    @pytest.mark.parametrize("title", [title for title in SECTIONS if title != FIRST])
    def test_a_section_does_what_it_says(self, names: dict[str, Any], title: str) -> None:
        assert run(code_of(title, self.package), {**names}) > 0


@pytest.fixture(scope="class")
def workers_are_forks() -> Iterator[None]:
    """Each would import pytest, `distributed` and pandas anew, in a second of a core.

    Their cluster gives up a worker that is not back after 15 s: on a busy machine each.
    """
    of_theirs = {
        "distributed.deploy.lost-worker-timeout": "1 hour",
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(of_theirs):
        yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("workers_are_forks")
class TestDistributed:
    package = "distributed"

    @pytest.mark.parametrize("title", [each.title for each in SECTIONS.values() if each.is_same])
    def test_the_same_code_does_the_same(self, names: dict[str, Any], title: str) -> None:
        assert run(code_of(title, self.package), {**names}) > 0
