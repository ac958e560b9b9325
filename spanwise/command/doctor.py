"""``spanwise doctor``: one look after another, and a line for each finding."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from spanwise.command.findings import Finding, State, bad
from spanwise.command.first_steps import look_at_cluster, look_at_observer
from spanwise.command.jupyter_here import look_at_jupyterlab, look_at_kernels, look_at_servers
from spanwise.command.this_python import (
    look_at_interpreter,
    look_at_node,
    look_at_packages,
    look_at_sockets,
)

Look = Callable[[], Iterable[Finding]]

LOOKS: tuple[Look, ...] = (
    look_at_interpreter,
    look_at_packages,
    look_at_node,
    look_at_sockets,
    look_at_jupyterlab,
    look_at_servers,
    look_at_kernels,
)
#: These start processes, and end them again.
STARTS: tuple[Look, ...] = (look_at_observer, look_at_cluster)

_MARKS = {State.GOOD: "ok", State.NOTE: "note", State.BAD: "WRONG"}
#: Of a line: mark, subject, and then the text.
_INDENT = 6 + 14
_WIDTH = 96


def run_doctor(out: TextIO, starts: bool = True, as_json: bool = False) -> int:
    """Look at everything and print what was found; returns the exit code.

    Parameters
    ----------
    out
        Where the lines go, each when it is known.
    starts
        Start an observer and a cluster too.
    as_json
        Print a list of objects with `what`, `state`, `found` and `remedy` instead.
    """
    findings = look((*LOOKS, *STARTS) if starts else LOOKS)
    if as_json:
        seen = list(findings)
        json.dump([{**vars(each), "state": each.state.value} for each in seen], out, indent=1)
        out.write("\n")
    else:
        seen = []
        for finding in findings:
            seen.append(finding)
            out.write(line_of(finding))
            out.flush()
        out.write(f"\n{verdict(seen)}\n")
    return int(any(each.state is State.BAD for each in seen))


def look(looks: Iterable[Look]) -> Iterator[Finding]:
    """What the looks find. One that fails itself is a finding, and the next ones go on."""
    for each in looks:
        try:
            yield from each()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
            yield bad(
                each.__name__.removeprefix("look_at_").replace("_", " "),
                f"could not be looked at: {type(error).__name__}: {error}",
                "report this line: it is a defect of `spanwise doctor`",
            )


def line_of(finding: Finding) -> str:
    """One finding as text of one or more lines."""
    mark = _MARKS[finding.state]
    text = _wrapped(f"{mark:<6}{finding.what:<14}", finding.found)
    if finding.remedy:
        text += _wrapped(" " * _INDENT + "→ ", finding.remedy)
    return text


def _wrapped(beginning: str, text: str) -> str:
    return "".join(
        f"{line}\n"
        for line in textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=beginning,
            subsequent_indent=" " * max(_INDENT, len(beginning) if "→" in beginning else 0),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def verdict(findings: Iterable[Finding]) -> str:
    """The last line."""
    wrong = [each.what for each in findings if each.state is State.BAD]
    if not wrong:
        return "Spanwise works here."
    return f"{len(wrong)} wrong: {', '.join(wrong)}. The remedy is printed below each."
