"""When users are told of a wait that has no limit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

#: The first notice; then each pause is twice as long as the one before, up to the longest.
FIRST_SECONDS = 30.0
_LONGEST_SECONDS = 600.0
#: So many workers are named, and are in a call that can be pasted.
_MOST_NAMED = 16


class Patience:
    """Says of one wait when its next notice is due."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._pause = FIRST_SECONDS
        self._due = self._began + self._pause

    @property
    def left(self) -> float:
        """Seconds until the next notice."""
        return max(0.0, self._due - time.monotonic())

    def told(self) -> float:
        """Put the next notice off; return the seconds waited so far."""
        now = time.monotonic()
        self._pause = min(2 * self._pause, _LONGEST_SECONDS)
        self._due = now + self._pause
        return now - self._began


def name_of(function: Any) -> str:
    """What a function is called in a notice."""
    return str(getattr(function, "__name__", type(function).__name__))


def run_sentence(
    workers: Mapping[int, Mapping[str, Any]], what: str, waiting: Iterable[int], seconds: float
) -> str:
    """Which workers have not answered a function that they were to run, and what they are."""
    states = {f"worker-{n}": workers.get(n, {}).get("state", "gone") for n in sorted(waiting)}
    names = list(states)
    each = [f"{name} ({state})" for name, state in states.items()]
    more = len(names) - _MOST_NAMED
    said = ", ".join(each[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    there = f"on these {_MOST_NAMED}" if more > 0 else "there"
    return (
        f"run() has waited {seconds:.0f} s for {said}, where {what} runs or waits for a thread. "
        "If it waits for something that does not come, interrupt this call; "
        f"client.restart_workers({names[:_MOST_NAMED]}) ends the function {there}. "
        "With wait=False, run() returns at once."
    )
