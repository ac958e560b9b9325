"""Divides a task's transfers into those that held its thread and those behind other work.

::

    asked        received opened
      ├─ transfer ──┤ open ┤                     fetch thread
    ─ B runs ─┤ idle       │                     executor
              ├── held ────┴── run of A ──┤      A's run begins when idleness did
      ├ not h.┤

A transfer that overlaps the run is held: its seconds are part of the run's duration. A
transfer before the run, or beside a held one (two peers at once), went on behind other
work.
"""

from __future__ import annotations

from spanwise.measure.parts import Part
from spanwise.records.enumerations import KIND_DESERIALIZE, KIND_TRANSFER, NONE_U16
from spanwise.wire.rows import TASK_FUNCTION, TASK_SPAN
from spanwise.worker.tasks import Arrival, Row

_NAN = float("nan")


def placed_arrivals(arrivals: list[tuple[Arrival, float]], row: Row, start: float) -> list[Part]:
    """Return the parts of the transfers of a task's inputs.

    Parameters
    ----------
    arrivals
        The arrivals, and how many bytes of each are booked to this task.
    start
        The run's start; the thread's waits lie after it.

    Returns
    -------
    parts
        Held ones do not overlap and follow one another from offset 0 on, so that
        their durations add up to the wait.
    """
    function, span = row[TASK_FUNCTION], row[TASK_SPAN]
    parts: list[Part] = []
    covered = start
    stretches = []
    for arrival, nbytes in arrivals:
        stretches.append(
            (arrival.asked, arrival.received, KIND_TRANSFER, 0.0, nbytes, arrival.peer)
        )
        stretches.append(
            (arrival.received, arrival.opened, KIND_DESERIALIZE, arrival.cpu, nbytes, NONE_U16)
        )
    stretches.sort(key=lambda stretch: stretch[1])
    for begin, end, kind, cpu, nbytes, peer in stretches:
        if end > covered:
            # A gap between two answers is spent waiting for the later one, so its part
            # includes the gap.
            parts.append(
                (kind, function, span, covered - start, end - covered, 0.0, _NAN, nbytes, peer, 1)
            )
            nbytes = 0.0
            before = min(covered, start)
            covered = end
        else:
            before = end
        if before > begin:
            parts.append(
                (kind, function, span, begin - start, before - begin, cpu, _NAN, nbytes, peer, 0)
            )
    return parts
