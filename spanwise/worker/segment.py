"""One piece of memory that processes share, as one worker knows it; `segments.py` says the rest."""

from __future__ import annotations

from collections.abc import Callable


class Segment:
    """One segment, made here or lent by a peer."""

    __slots__ = (
        "descriptor",
        "free_since",
        "has_map",
        "is_counted",
        "is_own",
        "is_safe",
        "length",
        "lent",
        "nbytes",
        "number",
        "return_it",
        "used",
    )

    def __init__(self, number: int, descriptor: int, length: int, is_own: bool) -> None:
        self.number = number
        self.descriptor = descriptor
        #: Bytes for which it has room, that were ever written, and of the present payload.
        self.length = length
        self.used = 0
        self.nbytes = 0
        self.is_own = is_own
        #: Tells the lender that it is no longer seen here.
        self.return_it: Callable[[], None] | None = None
        #: This process counts it as its memory.
        self.is_counted = False
        #: A value here lies in it.
        self.has_map = False
        #: So many times it has been lent and not been given back.
        self.lent = 0
        #: All who had it are still to say when they have done with it.
        self.is_safe = True
        #: Since when it need not be here unless a value lies in it; 0: it is being written.
        self.free_since = 0.0

    def renewed(self) -> Segment:
        """The same memory for another payload, marked as lent.

        Another object, for who still has this one means what has lain there: a frame whose columns
        were replaced is still said to lie in the segment in which its first columns lay.
        """
        segment = Segment(0, self.descriptor, self.length, self.is_own)
        segment.used = self.used
        segment.is_counted = self.is_counted
        segment.lent = 1
        return segment

    @property
    def is_elsewhere(self) -> bool:
        """A value here lies in it, and it is another process's memory."""
        return self.has_map and not self.is_counted
