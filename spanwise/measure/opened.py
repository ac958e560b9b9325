"""A template that has been opened: what a run of it calls, part by part if it is fused."""

from __future__ import annotations

from typing import Any

from spanwise.graph.binding import Run, bound
from spanwise.measure.stacks import TextIds


class Opened:
    """A template that has been opened, and what is known of its runs."""

    __slots__ = ("_in", "_own", "has_waited", "parts", "quick", "run", "template")

    def __init__(self, template: Any, names: TextIds) -> None:
        self.template = template
        self.run: Run = bound(template)
        #: Its last run took less than QUICK_SECONDS, but for those that had to wait for a core or
        #: for the interpreter lock: finished rows may wait behind it.
        self.quick = False
        #: A run has waited for FLUSH_SECONDS, and none has been that short since.
        self.has_waited = False
        #: For fused tasks: (run, drops, function id, span, part) each; else None.
        self.parts: list[tuple[Any, tuple[int, ...], int, int, Any]] | None = None
        if template.parts is not None:
            self.parts = [
                (bound(part), part.drops, names.id_of(part.name), part.span, part)
                for part in template.parts
            ]
        #: What its client calls the span that its tasks are of: that of the last part.
        self._own: int = self.parts[-1][3] if self.parts else 0
        #: A span that a task was of, and the parts in it.
        self._in: tuple[int, Any] = self._own, self.parts

    def parts_in(self, span: int) -> list[tuple[Any, tuple[int, ...], int, int, Any]]:
        """Return its parts in a task of this span.

        If the task was written outside of all spans, so are those of its parts that were: they have
        the log's number of the client's default span, which is 0 only for the first.
        """
        kept, parts = self._in
        if kept == span or self._own != 0:
            return parts
        parts = [
            (run, drops, function, own or span, part)
            for run, drops, function, own, part in self.parts or ()
        ]
        self._in = span, parts
        return parts
