"""What a look at the installation found."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class State(enum.Enum):
    """How a finding is marked, and whether it makes the exit code 1 (`BAD` alone does)."""

    GOOD = "good"
    #: Works, but not all of it; or could not be looked at.
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True)
class Finding:
    """One line of `spanwise doctor`.

    Attributes
    ----------
    what
        What was looked at, in a word or two.
    state
    found
        What there is, or what is wrong.
    remedy
        What to do about it, or how to use it; empty if nothing needs to be done.
    """

    what: str
    state: State
    found: str
    remedy: str = ""


def good(what: str, found: str, remedy: str = "") -> Finding:
    """It works."""
    return Finding(what, State.GOOD, found, remedy)


def note(what: str, found: str, remedy: str = "") -> Finding:
    """Something is missing that not everybody needs."""
    return Finding(what, State.NOTE, found, remedy)


def bad(what: str, found: str, remedy: str) -> Finding:
    """Something does not work."""
    return Finding(what, State.BAD, found, remedy)
