"""Checks every import under spanwise against scripts/python-import-table.json.

Prints one line per import that is not allowed, per circle of modules that import each
other (imports of types and imports within functions count), per private name of a package
that is taken elsewhere than in the one file that the table names for it, and per row of the
table that nothing on disk belongs to, and exits 1; says how many files it read otherwise.
Tests may import anything; nothing outside `spanwise/tests` may import them.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "spanwise"
TABLE = "scripts/python-import-table.json"
#: Folders without shipped Python.
SKIPPED = frozenset({"tests", "labextension", "node"})


class Import(NamedTuple):
    """One imported name; the module is the part of it that is one."""

    line: int
    name: str


def shipped_modules(root: Path) -> dict[str, Path]:
    """Module → file, packages by their own name."""
    found = {}
    for file in sorted((root / PACKAGE).rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        if parts[1] in SKIPPED:
            continue
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def nodes_of(file: Path) -> list[ast.AST]:
    """All of a file's syntax: to read and to walk it is nearly all that the check takes."""
    return list(ast.walk(ast.parse(file.read_text("utf-8"), str(file))))


def imports_of(module: str, file: Path, nodes: list[ast.AST]) -> Iterator[Import]:
    """All that a file imports, wherever in it: "from a import b" is a.b."""
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *filter(None, [node.module])])
            yield from (Import(node.lineno, f"{start}.{alias.name}") for alias in node.names)


def attributes_of(nodes: list[ast.AST]) -> Iterator[Import]:
    """All that a file reaches by dots from a plain name: `dask.base.tokenize`."""
    inner = {id(each.value) for each in nodes if isinstance(each, ast.Attribute)}
    for node in nodes:
        if id(node) in inner:
            continue
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name):
            yield Import(node.lineno, ".".join([node.id, *reversed(parts)]))


def room_of(module: str, file: Path) -> str:
    """The folder in the package; of a file beside the folders its own name."""
    parts = module.split(".")
    is_folder = len(parts) > 2 or (len(parts) == 2 and file.name == "__init__.py")
    return parts[1] if is_folder else file.name


def owner(name: str, modules: dict[str, Path]) -> str | None:
    """The module that a dotted name lies in."""
    while name not in modules:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    return name


def is_private(name: str) -> bool:
    """Whether a part of a dotted name begins with one underscore."""
    return any(re.match(r"_(?!_)", part) for part in name.split("."))


def circles(imports: dict[str, list[str]]) -> list[list[str]]:
    """For each knot of modules that reach each other the shortest circle in it."""
    told: set[str] = set()
    found = []
    for start in imports:
        if start in told:
            continue
        came_from: dict[str, str] = {}
        queue = [start]
        for module in queue:
            for following in imports[module]:
                if following not in came_from:
                    came_from[following] = module
                    queue.append(following)
        if start not in came_from:
            continue
        way = [start, came_from[start]]
        while way[-1] != start:
            way.append(came_from[way[-1]])
        if told.isdisjoint(way):
            found.append(way[::-1])
        told.update(way)
    return found


def check(root: Path, table: dict[str, Any]) -> tuple[int, list[str]]:
    """How many files were read, and one sentence per problem."""
    modules = shipped_modules(root)
    rows = {row["folder"]: row for row in table["rows"]}
    rooms = {module: room_of(module, file) for module, file in modules.items()}
    debt = {(each["from"], each["to"]) for each in table["debt"]}
    problems = []
    for folder, row in rows.items():
        if folder not in rooms.values():
            problems.append(f"{TABLE}: no file belongs to the row {folder}")
        problems += [
            f"{TABLE}: {folder} names {name}, which has no row"
            for name in row[PACKAGE]
            if name not in rows
        ]
    graph: dict[str, list[str]] = {module: [] for module in modules}
    for module, file in modules.items():
        room, place = rooms[module], file.relative_to(root).as_posix()
        if room not in rows:
            problems.append(f"{place}: its folder is not in {TABLE}")
            continue
        row = rows[room]
        nodes = nodes_of(file)
        imports = list(imports_of(module, file, nodes))
        for line, name in imports:
            top = name.partition(".")[0]
            if top != PACKAGE:
                if top not in sys.stdlib_module_names and top not in row["outside"]:
                    problems.append(f"{place}:{line}: {room} may not import {top}")
                continue
            target = owner(name, modules)
            if target is None or name.startswith(f"{PACKAGE}.tests"):
                problems.append(f"{place}:{line}: {name} is not shipped")
                continue
            if target != module and target not in graph[module]:
                graph[module].append(target)
            wanted = rooms[target]
            if wanted not in (room, *row[PACKAGE]) and (module, target) not in debt:
                problems.append(f"{place}:{line}: {room} may not import {wanted}")
        for line, name in (*imports, *attributes_of(nodes)):
            keeper = table["private"].get(name.partition(".")[0], place)
            if is_private(name) and place != keeper:
                problems.append(f"{place}:{line}: {name} is private: {keeper} is to name it")
    problems += [
        f"{TABLE}: {keeper}, which keeps the private names of {package}, is not there"
        for package, keeper in table["private"].items()
        if not (root / keeper).exists()
    ]
    problems += [f"circle: {' → '.join(way)}" for way in circles(graph)]
    # A statement may import several names of one folder.
    return len(modules), list(dict.fromkeys(problems))


def main() -> int:
    """Check this checkout."""
    table = json.loads((ROOT / TABLE).read_text("utf-8"))
    files, problems = check(ROOT, table)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(
            f"{len(problems)} problems with Python's imports; the table is in ARCHITECTURE.md "
            '("Who may import whom in Python").',
            file=sys.stderr,
        )
        return 1
    print(f"Python imports: {files} files follow the table, without circles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
