"""What `client.spans()` returns: a list, shown as a short table."""

from __future__ import annotations

from collections import Counter

from spanwise.observed.span_info import SpanInfo

#: Spans that are shown, those with most time; what is longer than this is cut.
_SHOWN, _LENGTH = 8, 60


class SpanList(list[SpanInfo]):
    """Spans, parents before children."""

    def __repr__(self) -> str:
        """How many there are; the tags, tasks and seconds of the longest."""
        longest = sorted(self, key=lambda span: -span.duration)[:_SHOWN]
        alike = Counter(map(_own_tags, self))
        rows = [
            (
                _text(_own_tags(span) if alike[_own_tags(span)] == 1 else span.path or span.name),
                f"{span.tasks:,}",
                f"{span.duration:,.3f} s",
            )
            for span in longest
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{len(self):,} span{'' if len(self) == 1 else 's'}" + (":" if rows else "")]
        for name, tasks, seconds in rows:
            padded = f"{name:<{widths[0]}}  {tasks:>{widths[1]}} tasks  {seconds:>{widths[2]}}"
            lines.append(f"  {padded}")
        if len(self) > len(rows):
            lines.append(f"  … and {len(self) - len(rows):,} more")
        return "\n".join(lines)


def _own_tags(span: SpanInfo) -> tuple[str, ...]:
    """The tags that its user gave; without the file and the cell, which all begin with.

    Of a cell, or a file, what it is called.
    """
    if span.name or not span.path:
        return span.name
    return (f"{span.path[-1]} (cell)" if span.origin == "cell" else span.path[-1],)


def _text(tags: tuple[str, ...]) -> str:
    text = " › ".join(tags)
    # (a tag may have any characters, and a line has one span)
    text = "".join(each if each.isprintable() else " " for each in text)
    # Spans differ in their last tags.
    return text if len(text) <= _LENGTH else f"…{text[1 - _LENGTH :]}"
