"""Makes ``docs/distributed-names.md``: ``python -m spanwise.tests.names_table FILE``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
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
parameter that is ignored may be given.

**Futures within other things.** Futures are inputs when they are arguments, by themselves, in
lists, tuples, sets and dicts, or in a `functools.partial` given to `submit` or `map`. Within a
closure, a default argument or an attribute of an object they are refused with a sentence:
`distributed` sends them along and asks the cluster for their values from within the task, which
holds its thread meanwhile.
"""

_MODULE_SKIPPED = {"config", "dask", "widgets"}  # modules
#: Parameters that only `distributed`'s own machinery gives.
_OWN = {"self", "cls"}
#: What these take as keywords goes to the function, and is not ignored.
_HANDS_ON = {"Client.submit", "Client.map", "Client.run"}


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
    if not callable(theirs) or (isinstance(theirs, type) and issubclass(theirs, Exception)):
        return
    before, now = _parameters(theirs), _parameters(ours)
    ignores = full not in _HANDS_ON and any(each.kind is each.VAR_KEYWORD for each in now.values())
    lacking = [f"`{each}`" for each in before if each not in now and each != "kwargs"]
    if lacking:
        yield ("ignores " if ignores else "without ") + ", ".join(lacking)
    for name, parameter in before.items():
        if name not in now or now[name].default == parameter.default:
            continue
        if "no_default" in repr(parameter.default) or " at 0x" in repr(parameter.default):
            yield f"`{name}={_shown(now[name].default)}`, not what the settings say"
        else:
            yield f"`{name}={_shown(now[name].default)}`, not `{_shown(parameter.default)}`"
    places = [[name for name in _places(each) if name in before] for each in (now, before)]
    if any(mine != other for mine, other in zip(*places, strict=False)):
        yield "parameters in another order"


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
    client_only = {
        name: names.CLIENT[name] for name in names.CLIENT if name not in dir(distributed.Client)
    }
    return {
        "Module": list(rows(distributed, spanwise, names.MODULE, "", {})),
        "Client": list(
            rows(distributed.Client, spanwise.Client, names.CLIENT, "Client.", client_only)
        ),
        "Future": list(rows(distributed.Future, spanwise.Future, names.FUTURE, "Future.", {})),
        "as_completed": list(
            rows(
                distributed.as_completed,
                spanwise.as_completed,
                names.AS_COMPLETED,
                "as_completed.",
                {},
            )
        ),
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
