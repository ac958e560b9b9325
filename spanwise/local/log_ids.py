"""Translates ids of other processes into ids of the log."""

from __future__ import annotations

from spanwise.measure.names import OWN


class ProcessIds:
    """The log's ids for one process's ids of names, stacks, frames and threads."""

    def __init__(self) -> None:
        self.names: list[int] = []
        self.stacks: dict[int, int] = {}
        self.frames: dict[int, int] = {}
        #: A thread as the process counts them → its place in the worker.
        self.places: dict[int, int] = {}

    def name(self, number: int) -> int:
        """The log's id of a name."""
        return self.names[number & ~OWN] if number & OWN else number
