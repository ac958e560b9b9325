"""Checks how the names of modules are written: SCREAMING_CASE for what a module keeps.

A name that is called (a function made by another one), stands for something that has a name
already, or is set again by a ``global`` statement is written as functions and variables are.
Prints one line per name written otherwise and exits 1; says how many files it read otherwise.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Also CapWords, for types.
CONSTANT = re.compile(r"_?[A-Z]\w*|__\w+__")


def kept_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The names that the module sets to a value that has no other name."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if not isinstance(value, ast.Name | ast.Attribute | ast.Lambda):
            yield statement.lineno, name


def faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines and names of what is written as a variable and is none."""
    variable = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            variable.update(node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            variable.add(node.func.id)
    for line, name in kept_names(tree):
        if name not in variable and not CONSTANT.fullmatch(name):
            yield line, name


def main() -> None:
    """Look through the shipped modules."""
    folder = ROOT / "spanwise"
    files = [file for file in sorted(folder.rglob("*.py")) if folder / "tests" not in file.parents]
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name} stays as it is set: name it in SCREAMING_CASE"
        for file in files
        for line, name in faults(ast.parse(file.read_text("utf-8"), str(file)))
    ]
    print("\n".join(found) or f"names: {len(files)} files of Python name constants alike")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
