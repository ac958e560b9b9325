"""The page of records of tasks: what :class:`Page` shows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import localtime, strftime

from spanwise.observed.page_file import Page
from spanwise.observed.report_page import Record, count, statuses, summary, task_stream

#: Where ``plot="save"`` writes it.
TASK_STREAM_FILE = "task-stream.html"
_TIME = "%Y-%m-%d %H:%M:%S"


def task_stream_page(records: Sequence[Record], source: str, slots: Mapping[str, int]) -> Page:
    """The picture of the records, from the first start to the last stop.

    Parameters
    ----------
    source
        Name of the cluster.
    slots
        Function → its colour, as panels have it.
    """
    # (what was lost without a run is not drawn)
    parts = [part for each in records if each["lane"] is not None for part in each["startstops"]]
    begin = min((part["start"] for part in parts), default=0.0)
    duration = max((part["stop"] for part in parts), default=0.0) - begin
    ends = statuses(records)
    facts = [["Of", source], ["Written", strftime(_TIME, localtime())]]
    if parts:
        facts.insert(1, ["Begins", strftime(_TIME, localtime(begin))])
    return Page(
        {
            "title": "Task Stream",
            "facts": facts,
            "sections": [
                task_stream(records, begin, duration, slots),
                *summary(
                    duration,
                    records,
                    [(f"Tasks {status}", count(ends[status])) for status in ("error", "lost")],
                ),
            ],
        }
    )
