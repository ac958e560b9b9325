"""No test holds a span of time against a bound that knows nothing of the machine.

A machine that is twice as slow, or shared, breaks such a bound though nothing is wrong. See
CONTRIBUTING.md, "Tests on a slow machine", for what to do instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import spanwise.tests

FOLDER = Path(spanwise.tests.__file__).parent
#: Where functions of tests stand by themselves, for processes that import them.
TASKS = "spanwise.tests.observed_tasks"
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
#: Names in which a bound holds what the machine took (``disturbance.py``).
MEASURED = {"lost", "disturbance", "waited"}
#: Each with its reason.
ALLOWED = {
    # The median of what a call takes: half of the calls do not lose their core.
    "test_observe.py: statistics.median(more) <= 0.001",
}


def _names(node: ast.AST) -> set[str]:
    """All names and attributes in an expression."""
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, (ast.Name, ast.Attribute))
    }


def _is_span(node: ast.AST, spans: set[str]) -> bool:
    """Whether an expression holds a difference of clocks, or what was found to be one."""
    return any(
        (isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub) and CLOCKS & _names(each))
        or (isinstance(each, ast.Name) and each.id in spans)
        for each in ast.walk(node)
    )


def _imported(tree: ast.Module) -> set[str]:
    """Names of what a test imports from the module of its tasks and returns a span of time."""
    found: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and each.module == TASKS:
            tasks = (FOLDER / f"{TASKS.rpartition('.')[2]}.py").read_text("utf-8")
            found |= {name.name for name in each.names} & _spans(ast.parse(tasks))
    return found


def _spans(tree: ast.Module) -> set[str]:
    """Names of variables that are spans of time, and of functions that return one."""
    found = _imported(tree)
    #: Values, and the names that are spans of time if they are.
    values: list[tuple[ast.expr, set[str]]] = []
    for function in [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]:
        for each in ast.walk(function):
            if isinstance(each, ast.Assign):
                names = {name.id for name in each.targets if isinstance(name, ast.Name)}
                values.append((each.value, names))
            elif isinstance(each, ast.Return) and each.value:
                values.append((each.value, {function.name}))
    while True:
        before = len(found)
        for value, names in values:
            if not names <= found and _is_span(value, found):
                found |= names
        if len(found) == before:
            return found


def bounds_of(source: str) -> Iterator[str]:
    """Assertions that a span of time is less than a figure, or than some times another span."""
    if not any(name in source for name in (*CLOCKS, TASKS)):
        return  # most files: nothing in them can be a span
    tree = ast.parse(source)
    spans = _spans(tree)
    for each in [each for each in ast.walk(tree) if isinstance(each, ast.Assert)]:
        for compared in [node for node in ast.walk(each.test) if isinstance(node, ast.Compare)]:
            sides = [compared.left, *compared.comparators]
            for small, operator, large in zip(sides, compared.ops, sides[1:], strict=False):
                if isinstance(operator, (ast.Gt, ast.GtE)):
                    small, large = large, small
                elif not isinstance(operator, (ast.Lt, ast.LtE)):
                    continue
                # Two stamps around another two hold whatever the machine does.
                has_figure = any(
                    isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
                    for node in ast.walk(large)
                )
                names = _names(large)
                is_figure = has_figure or (names and all(name.isupper() for name in names))
                if is_figure and _is_span(small, spans) and not MEASURED & names:
                    yield ast.unparse(compared)


def test_no_test_holds_a_span_of_time_against_a_figure() -> None:
    found = {
        f"{file.name}: {bound}"
        for file in sorted(FOLDER.glob("test_*.py"))
        for bound in bounds_of(file.read_text("utf-8"))
    }
    assert found == ALLOWED


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("begin = time.monotonic()\nassert time.monotonic() - begin < 5", 1),
        ("assert 5 > perf_counter() - begin", 1),
        ("assert monotonic() - begin < LIMIT", 1),
        ("assert monotonic() - begin < LIMIT + lost.seconds", 0),
        ("def cost(n):\n  return thread_time() - begin\nassert cost(10) < 40 * cost(1) + 0.05", 1),
        ("def test():\n  took = monotonic() - begin\n  few = min([took])\n  assert few < 20", 1),
        ("def test():\n  took = monotonic() - begin\n  assert seconds <= took", 0),
        ("assert monotonic() - begin > 0.3", 0),
    ],
)
def test_it_finds_them(source: str, count: int) -> None:
    assert len(list(bounds_of(source))) == count
