"""Collects the runs that ended since the last message: the rows of the next `finished`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanwise.measure.meters import Metered, MeteredValues
from spanwise.measure.names import Names
from spanwise.measure.parts import Part
from spanwise.records.enumerations import NONE_U32, RUN_FAILED, RUN_MISSING
from spanwise.wire.rows import RunRow
from spanwise.worker.errors import Described

_NAN = float("nan")


class Report:
    """Rows being collected; the owner's lock is held around every call.

    A run's parts are those from its firstPart to the next run's.
    """

    __slots__ = ("errors", "inline", "meters", "missing", "parts", "runs", "signs", "since")

    def __init__(self) -> None:
        self.runs: list[RunRow] = []
        self.parts: list[Part] = []
        #: What runs have measured themselves, flat: the run's row in `runs`, then the fields of a
        #: `Metered`, and so on. (Tuples that wait would make Python's collector run more often.)
        self.meters: list[Any] = []
        self.missing: list[tuple[int, int]] = []
        self.errors: list[tuple[int, Described]] = []
        self.inline = bytearray()
        #: Rows of `runs` whose inline payload is a sign.
        self.signs: list[int] = []
        #: Stop of the first run in it.
        self.since = 0.0

    def add_inline(self, result: bytes) -> int:
        """Append a payload to blob 0 and return where it starts (8-aligned)."""
        inline = self.inline
        padding = -len(inline) % 8
        if padding:
            inline += bytes(padding)
        start = len(inline)
        inline += result
        return start

    def add_meters(self, rows: Sequence[MeteredValues]) -> None:
        """Add what the run measured whose row comes next."""
        run, meters = len(self.runs), self.meters
        for row in rows:
            meters.append(run)
            meters += row

    def add_missing(
        self, task_id: int, run_id: int, lost: list[tuple[int, int]], now: float
    ) -> None:
        """Report a task that did not run, with (input, worker asked) for each missing input."""
        self._add_unrun(task_id, run_id, RUN_MISSING, now)
        self.missing += lost

    def add_error(self, task_id: int, run_id: int, error: Described, now: float) -> None:
        """Report a task that failed before it could run."""
        self.errors.append((len(self.runs), error))
        self._add_unrun(task_id, run_id, RUN_FAILED, now)

    def _add_unrun(self, task_id: int, run_id: int, status: int, now: float) -> None:
        if not self.runs:
            self.since = now
        self.runs.append(
            (
                task_id,
                run_id,
                status,
                0,
                now,
                0.0,
                0.0,
                _NAN,
                _NAN,
                0.0,
                0,
                NONE_U32,
                len(self.parts),
                NONE_U32,
            )
        )

    def message(self, names: Names) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
        """Return fields, tables and blobs of the message `finished`; `names` is the worker's."""
        blobs: list[Any] = []
        fields: dict[str, Any] = {}
        if self.inline or self.errors:
            blobs.append(self.inline)
        if self.errors:
            fields["errors"] = []
            for row, error in self.errors:
                fields["errors"].append(
                    {
                        "row": row,
                        "type": error.type,
                        "message": error.message,
                        "text": error.text,
                        "blob": len(blobs),
                    }
                )
                blobs.append(error.blob)
        tables: dict[str, Any] = {"runs": self.runs, "parts": self.parts, "missing": self.missing}
        if self.signs:
            tables["signs"] = {"row": self.signs}
        if self.meters:
            columns = ("row", *Metered._fields)
            meters = {
                name: self.meters[place :: len(columns)] for place, name in enumerate(columns)
            }
            for name in ("label", "unit"):
                meters[name] = names.label_ids_of(meters[name])
            tables["meters"] = meters
        return fields, tables, blobs
