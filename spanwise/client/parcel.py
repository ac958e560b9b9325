"""A value on its way to workers: as buffers, or once in memory that all of them then see."""

from __future__ import annotations

import os

from spanwise.wire import payload, segments


class Parcel:
    """A payload, and the segment into which it has been written for the first worker.

    The client keeps none of it: a segment belongs to the workers that have taken it, and is gone
    with the last of them. It is closed here when all are to have it.

    Parameters
    ----------
    content
        The payload.
    is_for_all
        Several workers get it.
    """

    __slots__ = ("_descriptor", "content", "is_for_all", "nbytes")

    def __init__(self, content: list[payload.Buffer], is_for_all: bool = False) -> None:
        self.content = content
        self.is_for_all = is_for_all
        self.nbytes = payload.nbytes(content)
        self._descriptor = -1

    @property
    def is_shared(self) -> bool:
        """Whether a descriptor of it is open here."""
        return self._descriptor >= 0

    def lend(self) -> int:
        """Return a descriptor to give away, which can only be read.

        Raises
        ------
        OSError
            There is no memory, or no descriptor.
        """
        if self._descriptor < 0:
            self._descriptor = segments.create(self.nbytes)
            try:
                segments.fill(self._descriptor, self.content)
            except BaseException:
                self.close()
                raise
        return segments.lend(self._descriptor)

    def close(self) -> None:
        """Let go of the segment; who has it keeps it. Twice is safe."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close
