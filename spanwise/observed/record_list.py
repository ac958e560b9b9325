"""What `client.get_task_stream()` returns: a list, shown as its first and last rows."""

from __future__ import annotations

from collections.abc import Mapping
from time import localtime, strftime
from typing import Any

import yaml

from spanwise.observed.html import table_html
from spanwise.observed.span_list import one_line

#: Records that are shown of either end: a notebook would be flooded by 100,000 whole ones.
_SHOWN = 5
_KEY_LENGTH = 60


class RecordList(list[dict[str, Any]]):
    """Records of runs, for programs a list like others."""

    def __repr__(self) -> str:
        """How many there are; of the first and the last the key, status, worker, start, time."""
        heading, rows, gap = self._shown()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
            for row in rows
        ]
        if gap:
            lines.insert(_SHOWN, f"  {gap}")
        return "\n".join([heading, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        """The same as a table."""
        heading, rows, gap = self._shown()
        if gap:
            rows.insert(_SHOWN, (gap, "", "", "", ""))
        return table_html(heading, rows)

    def _shown(self) -> tuple[str, list[tuple[str, ...]], str]:
        """What stands above the rows, the rows, and what stands in the place of the others."""
        left_out = max(0, len(self) - 2 * _SHOWN)
        ends = [*self[:_SHOWN], *self[-_SHOWN:]] if left_out else self
        heading = f"{len(self):,} record{'' if len(self) == 1 else 's'}"
        if self:
            heading += " (key, status, worker, start, time):"
        return heading, [_row(each) for each in ends], f"… {left_out:,} more" if left_out else ""


# YAML asks for the very class; and each dumper has a table of its own once anything was added
# to it. (Dask reads its settings with it.)
for _dumper in (
    yaml.representer.SafeRepresenter,
    yaml.representer.Representer,
    yaml.SafeDumper,
    yaml.Dumper,
    getattr(yaml, "CSafeDumper", yaml.SafeDumper),
    getattr(yaml, "CDumper", yaml.Dumper),
):
    _dumper.add_representer(RecordList, _dumper.represent_list)


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    # (programs may take out of it, or put into it, what they like)
    parts = record.get("startstops") or ()
    start = min((part["start"] for part in parts), default=None)
    if start is None:
        return _first(record, "", "")
    seconds = max(part["stop"] for part in parts) - start
    return _first(record, strftime("%H:%M:%S", localtime(start)), f"{seconds:,.3f} s")


def _first(record: Mapping[str, Any], *times: str) -> tuple[str, ...]:
    key = one_line(str(record.get("key", "")), _KEY_LENGTH)
    return key, str(record.get("status", "")), str(record.get("worker_name") or ""), *times
