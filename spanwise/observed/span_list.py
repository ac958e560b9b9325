"""What `client.spans()` returns: a list, shown as a short table."""

from __future__ import annotations

from collections import Counter

from spanwise.observed.span_info import SpanInfo

#: Spans that are shown, those with most time; what is longer than this is cut.
_SHOWN, _LENGTH = 8, 60
#: Of that, where the tags alone do not tell spans apart.
_FILE_LENGTH, _CELL_LENGTH = 14, 20


class SpanList(list[SpanInfo]):
    """Spans, parents before children."""

    def __repr__(self) -> str:
        """How many there are; the tags, tasks and thread time of the longest."""
        longest = sorted(self, key=lambda span: -span.duration)[:_SHOWN]
        alike = Counter(map(_own_tags, self))
        rows = [
            (
                _cut_left(_own_tags(span))
                if alike[_own_tags(span)] == 1
                else _cut_within(_path(span)),
                f"{span.tasks:,}",
                f"{span.duration:,.3f} s",
            )
            for span in longest
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{len(self):,} span{'' if len(self) == 1 else 's'}"]
        if rows:
            # The seconds are of threads, added up, and no duration by the clock.
            lines[0] += " (tasks, thread time):"
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
    return span.name or _path(span)[-1:]


def _path(span: SpanInfo) -> tuple[str, ...]:
    """All tags, those of the file and the cell first."""
    if span.origin != "cell" or not span.path:
        return span.path or span.name
    return (*span.path[:-1], f"{span.path[-1]} (cell)")


def one_line(text: str, length: int | None = None) -> str:
    """A text of anybody's, which may have any characters, in a line."""
    line = "".join(each if each.isprintable() else " " for each in text)
    return line if length is None or len(line) <= length else f"{line[: length - 1]}…"


def _text(tags: tuple[str, ...]) -> str:
    return one_line(" › ".join(tags))


def _cut_left(tags: tuple[str, ...], length: int = _LENGTH) -> str:
    """Of other tags: spans differ in their last ones."""
    text = _text(tags)
    return text if len(text) <= length else f"…{text[1 - length :]}"


def _cut_within(path: tuple[str, ...]) -> str:
    """Of equal tags: a part of file and cell, which tell spans apart; the last tags say which."""
    whole, tags = _text(path), path[2:]
    if len(whole) <= _LENGTH:
        return whole
    first = [one_line(*each) for each in zip(path, (_FILE_LENGTH, _CELL_LENGTH), strict=False)]
    room = _LENGTH - len(" › ".join([*first, ""]))
    return " › ".join([*first, _cut_left(tags, room)] if tags else first)
