"""Records of runs, as ``get_task_stream`` gives them, from the observer's columns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

_RUN = [
    "run",
    "key",
    "function",
    "span",
    "worker",
    "thread",
    "status",
    "attempt",
    "start",
    "duration",
    "nbytes",
    "parts",
]
_PART = ["partKind", "partFunction", "partSpan", "partOffset", "partDuration"]


class TaskRecords:
    """Takes the pages of view ``records`` (``src/wire/panel-link.ts``), one after another.

    Parameters
    ----------
    wall_epoch
        Wall clock at second 0 of the log.
    """

    def __init__(self, wall_epoch: float) -> None:
        self._epoch = wall_epoch
        self._records: list[dict[str, Any]] = []
        #: Beside each record: its computing, for runs that have no part that says so.
        self._wholes: list[dict[str, Any]] = []
        self._last_run = -1

    def __len__(self) -> int:
        return len(self._records)

    def add(self, page: Mapping[str, Any]) -> None:
        """Append a page's runs; its first may be the rest of the last run before."""
        names = page["names"]
        spans = [tuple(path) for path in page["spans"]]
        parts = zip(*(page[column] for column in _PART), strict=True)
        for row in zip(*(page[column] for column in _RUN), strict=True):
            run, key, function, span, worker, thread, status, attempt, *rest = row
            since, duration, nbytes, own_parts = rest
            start = self._epoch + since
            startstops = [
                {
                    "action": names[kind],
                    "start": start + offset,
                    "stop": start + offset + seconds,
                    "function": names[of],
                    "span": spans[within],
                }
                for kind, of, within, offset, seconds in itertools.islice(parts, own_parts)
            ]
            if run == self._last_run:
                self._records[-1]["startstops"] += startstops
                continue
            self._last_run = run
            self._records.append(
                {
                    "key": key,
                    "name": names[function],
                    "worker": names[worker],
                    "thread": thread,
                    "status": "OK" if names[status] == "ok" else names[status],
                    "attempt": attempt,
                    "span": spans[span],
                    "nbytes": nbytes,
                    "startstops": startstops,
                }
            )
            self._wholes.append(
                {
                    "action": "compute",
                    "start": start,
                    "stop": start + duration,
                    "function": names[function],
                    "span": spans[span],
                }
            )

    def in_order_of_start(self) -> list[dict[str, Any]]:
        """All of them; call it once, after the last page."""
        for record, whole in zip(self._records, self._wholes, strict=True):
            startstops = record["startstops"]
            if not any(each["action"] == "compute" for each in startstops):
                startstops.insert(0, whole)
        return sorted(self._records, key=lambda record: record["startstops"][0]["start"])
