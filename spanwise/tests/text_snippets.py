"""The texts' code as programs: taken word for word, changed only where it is stated, and run."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TEXTS = Path(__file__).with_name("texts")
PERFORMANCE = "diagnosing-performance-distributed"
PERFORMANCE_NEWER = "diagnosing-performance-distributed-newer"
LOCAL = "diagnostics-local"
LOCAL_NEWER = "diagnostics-local-newer"
FINE = "fine-performance-metrics-and-spans"


def snippet(text: str, first: int, last: int) -> str:
    """The lines of a text, as they stand there."""
    found = (_TEXTS / f"{text}.txt").read_text("utf-8").split(f"@ lines {first}-{last}\n")
    assert len(found) == 2, f"{text}.txt has no lines {first}-{last}"
    return found[1].split("@ lines ")[0]


def program(lines: str, changed: Mapping[str, str] | None = None) -> str:
    """Lines of a text as a program.

    Imports from `distributed` become imports from `spanwise`; of a session with prompts the
    output goes. All else that is changed is stated.

    Parameters
    ----------
    changed
        What stands in the text (once), and what stands in the program.
    """
    if lines.startswith(">>> "):
        typed = [line for line in lines.splitlines() if line.startswith((">>> ", "... "))]
        lines = "".join(f"{line[4:]}\n" for line in typed)
    for old, new in (changed or {}).items():
        assert lines.count(old) == 1, f"stands {lines.count(old)} times in the text: {old!r}"
        lines = lines.replace(old, new)
    return re.sub(r"^from (?:dask\.)?distributed\b", "from spanwise", lines, flags=re.MULTILINE)


def output(lines: str) -> list[str]:
    """What a session shows: the lines without a prompt."""
    return [line for line in lines.splitlines() if not line.startswith((">>> ", "... "))]


def run(source: str, names: dict[str, Any]) -> list[Any]:
    """Run a program; return the values of its expressions, as a session would show them."""
    shown = []
    for code, is_expression in _statements(source):
        value = eval(code, names)
        assert not inspect.iscoroutine(value), "it awaits: run_async()"
        if is_expression:
            shown.append(value)
    return shown


async def run_async(source: str, names: dict[str, Any]) -> list[Any]:
    """The same, of a program that awaits."""
    shown = []
    for code, is_expression in _statements(source):
        value = eval(code, names)
        if inspect.iscoroutine(value):
            value = await value
        if is_expression:
            shown.append(value)
    return shown


def _statements(source: str) -> list[tuple[Any, bool]]:
    found = []
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for node in ast.parse(source).body:
        is_expression = isinstance(node, ast.Expr)
        tree = (
            ast.Expression(node.value)
            if isinstance(node, ast.Expr)
            else ast.Module([node], type_ignores=[])
        )
        kind = "eval" if is_expression else "exec"
        found.append((compile(tree, "<snippet>", kind, flags=flags), is_expression))
    return found


def signature_of(line: str) -> inspect.Signature:
    """What a line of a reference says: ``name(a, *, b: int = 1) Any[source]``."""
    names: dict[str, Any] = {}
    call = line.partition(") ")[0] + ")"
    name = call.partition("(")[0]
    run(f"from __future__ import annotations\ndef {call}: ...", names)
    return inspect.signature(names[name])


def shape_of(signature: inspect.Signature) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults, in order; without `self`."""
    rows = [(each.name, each.kind, each.default) for each in signature.parameters.values()]
    return [row for row in rows if row[0] != "self"]
