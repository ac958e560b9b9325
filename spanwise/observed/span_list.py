"""What `client.spans()` returns: a list, shown as a short table."""

from __future__ import annotations

from spanwise.observed.span_info import SpanInfo

#: Spans that are shown, those with most time; a path longer than this is cut.
_SHOWN, _PATH_LENGTH = 8, 60


class SpanList(list[SpanInfo]):
    """Spans, parents before children."""

    def __repr__(self) -> str:
        """How many there are; the paths, tasks and seconds of the longest."""
        longest = sorted(self, key=lambda span: -span.duration)[:_SHOWN]
        rows = [(_path(span), f"{span.tasks:,}", f"{span.duration:,.3f} s") for span in longest]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{len(self):,} span{'' if len(self) == 1 else 's'}" + (":" if rows else "")]
        for path, tasks, seconds in rows:
            padded = f"{path:<{widths[0]}}  {tasks:>{widths[1]}} tasks  {seconds:>{widths[2]}}"
            lines.append(f"  {padded}")
        if len(self) > len(rows):
            lines.append(f"  … and {len(self) - len(rows):,} more")
        return "\n".join(lines)


def _path(span: SpanInfo) -> str:
    text = " › ".join(span.path or span.name)
    # (a tag may have any characters, and a line has one span)
    text = "".join(each if each.isprintable() else " " for each in text)
    return text if len(text) <= _PATH_LENGTH else f"{text[: _PATH_LENGTH - 1]}…"
