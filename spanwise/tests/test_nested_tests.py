"""No test stands inside a function: pytest finds none there, and says nothing of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spanwise.tests

FOLDER = Path(spanwise.tests.__file__).parent


def nested_tests(source: str) -> Iterator[str]:
    """Names of tests that stand inside a function, also within a class there."""
    if not re.search(r"^\s+(async )?def test_", source, re.MULTILINE):
        return  # most files
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for outer in [each for each in ast.walk(ast.parse(source)) if isinstance(each, functions)]:
        for each in ast.walk(outer):
            if each is not outer and isinstance(each, functions) and each.name.startswith("test_"):
                yield each.name


def test_no_test_stands_inside_a_function() -> None:
    found = {
        f"{file.name}: {name}"
        for file in sorted(FOLDER.glob("test_*.py"))
        for name in nested_tests(file.read_text("utf-8"))
    }
    assert not found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def _hold():\n  pass\n\n  def test_more(self):\n    pass", ["test_more"]),
        ("async def _hold():\n  async def test_more(self):\n    pass", ["test_more"]),
        ("def _hold():\n  class TestIt:\n    def test_more(self):\n      pass", ["test_more"]),
        ("class TestIt:\n  def test_more(self):\n    def inner():\n      pass", []),
        ("if True:\n  def test_more():\n    pass", []),
        ('TEXT = """\ndef hold():\n  def test_more():\n    pass\n"""', []),
    ],
)
def test_it_finds_them(source: str, found: list[str]) -> None:
    assert list(nested_tests(source)) == found
