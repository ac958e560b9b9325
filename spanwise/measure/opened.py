"""A template that has been opened: what a run of it calls, part by part if it is fused."""

from __future__ import annotations

from typing import Any

from spanwise.graph.binding import Run, bound
from spanwise.measure.stacks import TextIds


class Opened:
    """A template that has been opened, and what is known of its runs."""

    __slots__ = ("parts", "quick", "run", "template")

    def __init__(self, template: Any, names: TextIds) -> None:
        self.template = template
        self.run: Run = bound(template)
        #: Its last run took less than QUICK_SECONDS: finished rows may wait behind it.
        self.quick = False
        #: For fused tasks: (run, drops, function id, span, part) each; else None.
        self.parts: list[tuple[Any, tuple[int, ...], int, int, Any]] | None = None
        if template.parts is not None:
            self.parts = [
                (bound(part), part.drops, names.id_of(part.name), part.span, part)
                for part in template.parts
            ]
