"""The page of records of tasks: what :class:`Page` shows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import localtime, strftime
from typing import Any

from spanwise.observed.page_file import Page, WithPage
from spanwise.observed.questions import Questions
from spanwise.observed.report_page import (
    Record,
    Slot,
    count,
    slots_of,
    statuses,
    summary,
    task_stream,
)

#: Where ``plot="save"`` writes it.
TASK_STREAM_FILE = "task-stream.html"
_TIME = "%Y-%m-%d %H:%M:%S"


def task_stream_page(records: Sequence[Record], source: str, slots: Mapping[str, Slot]) -> Page:
    """The picture of the records, from the first start to the last stop.

    Parameters
    ----------
    source
        Name of the cluster.
    slots
        Function → its colour and the colour's dozen, as panels have them.
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
                    [
                        ("Failed task runs", count(ends["error"])),
                        ("Cancelled task runs", count(ends["cancelled"])),
                        ("Lost task runs", count(ends["lost"])),
                    ],
                ),
            ],
        }
    )


def with_picture(
    records: list[dict[str, Any]],
    asked: Questions,
    source: str,
    plot: bool | str,
    filename: str | Path,
) -> Any:
    """What `get_task_stream` gives: the records, and the page that draws them if one is wanted.

    Parameters
    ----------
    asked
        Who gave the records: it knows the colours of their functions.
    source
        Name of the cluster or of the observation.
    """
    if not plot:
        return records
    # Without records there is no function that needs its colour.
    slots = slots_of(asked.fine_metrics()) if records else {}
    page = task_stream_page(records, source, slots)
    if plot == "save":
        page.save(filename)
    return WithPage((records, page))
