"""Makes ``docs/distributed-names.md``: ``python -m spanwise.tests.names_table FILE``."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import distributed

import spanwise
from spanwise.client import distributed_names as names

_HEAD = """# The names of `distributed`

What becomes of each public name of `distributed` {version} when the import is changed to
`spanwise`. Made by `python -m spanwise.tests.names_table docs/distributed-names.md` from the code
of both; a test compares. Absent names of the module and of `Client` raise an error that says
what is in the last column.

Same means: the same parameters with the same defaults, and no difference that we know of. A
parameter that is ignored may be given, and changes nothing; one that is refused raises
`NotImplementedError` with a sentence, unless it has its default. Tests call each of both.

**Futures within other things.** Futures are inputs when they are arguments, by themselves, in
lists, tuples, sets and dicts, or in a `functools.partial` given to `submit` or `map`. Within a
closure, a default argument or an attribute of an object they are refused with a sentence:
`distributed` sends them along and asks the cluster for their values from within the task, which
holds its thread meanwhile.
"""

_MODULE_SKIPPED = {"config", "dask", "widgets"}  # modules
#: Parameters that only `distributed`'s own machinery gives.
_OWN = {"self", "cls"}
#: Keywords of these go to the function, and are not ignored.
_HANDS_ON = {"Client.submit", "Client.map", "Client.run"}


_CLIENT = distributed.Client
#: By heading: theirs, ours, the names that are absent, what stands before a name.
_OWNERS: dict[str, tuple[Any, Any, Mapping[str, str], str]] = {
    "Module": (distributed, spanwise, names.MODULE, ""),
    "Client": (_CLIENT, spanwise.Client, names.CLIENT, "Client."),
    "LocalCluster": (
        distributed.LocalCluster,
        spanwise.LocalCluster,
        names.LOCAL_CLUSTER,
        "LocalCluster.",
    ),
    "Future": (distributed.Future, spanwise.Future, names.FUTURE, "Future."),
    "as_completed": (
        distributed.as_completed,
        spanwise.as_completed,
        names.AS_COMPLETED,
        "as_completed.",
    ),
}


class Row(NamedTuple):
    """One line of the table."""

    name: str
    verdict: str
    note: str


def public(owner: Any) -> list[str]:
    """Names that do not begin with an underscore, as the class or module has them."""
    found = owner.__all__ if inspect.ismodule(owner) else dir(owner)
    return sorted(name for name in found if not name.startswith("_"))


def rows(
    theirs: Any, ours: Any, absent: Mapping[str, str], prefix: str, extra: Mapping[str, str]
) -> Iterator[Row]:
    """Compare the public names of two classes or modules."""
    for name in sorted({*public(theirs), *extra} - _MODULE_SKIPPED, key=str.casefold):
        full = prefix + name
        if name in absent:
            yield Row(full, "absent", absent[name])
            continue
        notes = list(_differences(getattr(theirs, name), getattr(ours, name), full))
        if full in names.NOTES:
            notes.append(names.NOTES[full])
        yield Row(full, "different" if notes else "same", "; ".join(notes))


def _differences(theirs: Any, ours: Any, full: str) -> Iterator[str]:
    if not _has_keywords(theirs):
        return
    before, now = _parameters(theirs), _parameters(ours)
    refused = [name for name in before if name in names.REFUSED.get(full, ())]
    if refused:
        yield "refuses " + _listed(refused)
    ignored = _ignored_by(theirs, ours, full)
    if ignored:
        yield "ignores " + _listed(ignored)
    lacking = [name for name in _lacking(before, now) if name not in ignored]
    if lacking:
        yield "without " + _listed(lacking)
    for name, parameter in before.items():
        if name not in now or now[name].default == parameter.default:
            continue
        if "no_default" in repr(parameter.default) or " at 0x" in repr(parameter.default):
            if " at 0x" not in repr(now[name].default):  # (functions that do the same)
                yield f"`{name}={_shown(now[name].default)}`, not what the settings say"
        else:
            yield f"`{name}={_shown(now[name].default)}`, not `{_shown(parameter.default)}`"
    places = [[name for name in _places(each) if name in before] for each in (now, before)]
    if any(mine != other for mine, other in zip(*places, strict=False)):
        yield "parameters in another order"


def ignored() -> Iterator[tuple[str, str]]:
    """Each name that ignores keywords, with each of them."""
    for theirs, ours, absent, prefix in _OWNERS.values():
        for name in public(theirs):
            before = getattr(theirs, name, None)
            if name not in absent and name not in _MODULE_SKIPPED and _has_keywords(before):
                for keyword in _ignored_by(before, getattr(ours, name), prefix + name):
                    yield prefix + name, keyword


def _has_keywords(theirs: Any) -> bool:
    is_error = isinstance(theirs, type) and issubclass(theirs, Exception)
    return callable(theirs) and not is_error


def _ignored_by(theirs: Any, ours: Any, full: str) -> list[str]:
    """Keywords that theirs reads and ours does not, or without effect."""
    before, now = _parameters(theirs), _parameters(ours)
    idle = {*(_unread(ours) - _unread(theirs)), *names.WITHOUT_EFFECT.get(full, ())}
    if full not in _HANDS_ON and any(each.kind is each.VAR_KEYWORD for each in now.values()):
        idle |= {*_lacking(before, now)}
    return [name for name in before if name in idle]


def _lacking(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, each in before.items()
        if name not in now and each.kind is not each.VAR_KEYWORD
    ]


def _unread(function: Any) -> set[str]:
    """Keywords that the code of a function, or of a class's `__init__`, never mentions."""
    made = vars(function).get("__init__") if isinstance(function, type) else function
    if not callable(made):
        return set()
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(made))).body
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    read = {node.id for line in tree.body for node in ast.walk(line) if isinstance(node, ast.Name)}
    return set(_parameters(made)) - read - {"kwargs"}


def _listed(found: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in found)


def _places(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """Parameters that can be given by their place."""
    return [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]


def _shown(default: Any) -> str:
    return "…" if default is inspect.Parameter.empty else repr(default)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    found = inspect.signature(function).parameters
    return {name: each for name, each in found.items() if name not in _OWN}


def sections() -> dict[str, list[Row]]:
    """All rows by their heading."""
    extra = {name: names.CLIENT[name] for name in names.CLIENT if name not in dir(_CLIENT)}
    return {
        heading: list(rows(*each, extra if heading == "Client" else {}))
        for heading, each in _OWNERS.items()
    }


def document() -> str:
    """The whole page."""
    parts = [_HEAD.format(version=distributed.__version__)]
    for heading, found in sections().items():
        counts = {
            verdict: sum(row.verdict == verdict for row in found)
            for verdict in ("same", "different", "absent")
        }
        parts.append(f"## {heading}\n")
        parts.append(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + ".\n")
        lines = ["| name | | what differs, or what to use instead |", "| --- | --- | --- |"]
        lines += [
            f"| `{row.name}` | {row.verdict} | {row.note} |".replace("|  |", "| |") for row in found
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), "utf-8")
