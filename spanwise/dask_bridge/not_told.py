"""Says what a scheduler does not tell at all, as a sentence for the panels."""

from __future__ import annotations

from collections.abc import Mapping

#: By section of an answer (docs/contracts.md §12).
_WHAT = {
    "spans": "spans",
    "executing": "tasks that run",
    "waiting": "tasks that wait",
    "progress": "how far tasks are",
    "fine": "fine performance metrics except the seconds of tasks",
    "bandwidth": "bandwidths",
    "clients": "clients",
    "workers": "workers",
    "memory": "memory",
    "loop": "the scheduler's event loop",
}


def not_told(cannot: Mapping[str, str]) -> str:
    """Name what is missing, and why; ``""`` if all is told.

    Parameters
    ----------
    cannot
        Section → why the scheduler cannot tell it.
    """
    by_reason: dict[str, list[str]] = {}
    for section, what in _WHAT.items():
        if section in cannot:
            by_reason.setdefault(cannot[section], []).append(what)
    return " ".join(
        f"Not known here: {', '.join(what)} ({why})." for why, what in by_reason.items()
    )
