"""A case of the comparison: work for a client of either system, and its right answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Work:
    """One repetition of a case: what to call and what must come back.

    Attributes
    ----------
    run
        Takes a client of either system and returns the result; all of it is timed.
    expected
        The result; a wrong one ends the benchmark.
    tasks
        How many tasks that is, or what counts them once the clock stands.
    prepare
        Takes the client before the clock starts.
    """

    run: Callable[[Any], Any]
    expected: Any
    tasks: int | Callable[[], int]
    prepare: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class Case:
    """A named builder with the size that ``full`` and ``smoke`` runs use.

    Attributes
    ----------
    goal
        How many times faster than the peer's better setting; None if nothing was promised.
    """

    build: Callable[[str, int], Work]
    full: int
    smoke: int
    goal: float | None = None
