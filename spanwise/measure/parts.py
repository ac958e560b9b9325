"""The parts of a run, as rows of the table `parts`."""

from __future__ import annotations

#: kind, function, span, offset, duration, cpu, coreWait, bytes, from, held
Part = tuple[int, int, int, float, float, float, float, float, int, int]
