"""What `client.spans()` returns: a list, shown as a tree with figures, or the top of one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from time import localtime, strftime
from typing import Any

from spanwise.observed.html import table_html
from spanwise.observed.span_info import SpanInfo
from spanwise.shown_text import line_text

#: Spans that are shown, those with most time, as many as pandas shows of a table; what is longer
#: than this is cut.
_SHOWN, _LENGTH = 60, 60
#: Columns of the table, figures of the whole subtree.
_COLUMNS = (
    *("origin", "client", "tasks", "running", "running_cancelled", "failed", "duration", "cpu"),
    *("transfer", "idle", "nbytes_total", "opened", "closed", "start", "stop", "id"),
)
#: Of that, where the tags alone do not tell spans apart.
_FILE_LENGTH, _CELL_LENGTH = 14, 20
#: Beside a pass of another day, and deep in the tree.
_LEAST_LENGTH = 42
#: For each level of the tree, in a terminal; a notebook's letters are of different widths.
_INDENT = "  "
_INDENT_HTML = "\N{NO-BREAK SPACE}" * 4


class SpanList(list[SpanInfo]):
    """Spans, parents before children."""

    def __repr__(self) -> str:
        """How many there are; the tags, runs and thread time of the longest, as a tree."""
        heading, rows, after = self._shown(_INDENT)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [heading]
        for name, runs, seconds in rows:
            lines.append(f"  {name:<{widths[0]}}  {runs:>{widths[1]}}  {seconds:>{widths[2]}}")
        return "\n".join([*lines, *(f"  {line}" for line in after)])

    def _repr_html_(self) -> str:
        """The same, for notebooks: lines of a text break within figures where there is no room."""
        return table_html(*self._shown(_INDENT_HTML))

    def _shown(self, indent: str) -> tuple[str, list[tuple[str, str, str]], list[str]]:
        """What stands above the table, its rows, and what stands below."""
        longest = sorted(self, key=lambda span: -span.duration)[:_SHOWN]
        passes = _passes(self)
        # (passes of one path are told apart by themselves)
        alike = Counter(tags for tags, _ in {(_own_tags(span), _place(span)) for span in self})
        rows = []
        for depth, parent, span in _as_tree(longest):
            which = passes.get(id(span), "")
            room = max(_LEAST_LENGTH, _LENGTH - len(which) - len(_INDENT) * depth)
            if parent is not None:
                name = _cut_left(_tags_below(parent, span), room)
            elif alike[_own_tags(span)] == 1:
                name = _cut_left(_own_tags(span), room)
            else:
                name = _cut_within(_path(span), room)
            rows.append((indent * depth + name + which, _ran(span), f"{span.duration:,.3f} s"))
        heading = f"{len(self):,} span{'' if len(self) == 1 else 's'}"
        if rows:
            # The seconds are of threads, added up, and no duration by the clock.
            heading += " (runs of tasks, thread time):"
        rest = len(self) - len(rows)
        after = [f"… and {rest:,} more with less time: .to_pandas() has all"] if rest else []
        return heading, rows, after

    def to_pandas(self) -> Any:
        """A table of all, a row for each span, indexed by its path.

        The columns are as :class:`SpanInfo` describes them.
        """
        import pandas as pd

        return pd.DataFrame(
            [[getattr(span, name) for name in _COLUMNS] for span in self],
            columns=list(_COLUMNS),
            index=pd.Index([" › ".join(_path(span)) for span in self], name="span", dtype=object),
        )


def _as_tree(spans: list[SpanInfo]) -> Iterator[tuple[int, SpanInfo | None, SpanInfo]]:
    """Depth, parent and span: parents before children, the others in the order given.

    What is below a span that is not given stands at the top.
    """
    given = {span.id for span in spans}
    below: dict[str | None, list[SpanInfo]] = defaultdict(list)
    for span in spans:
        below[span.parent if span.parent in given else None].append(span)
    tops = below.pop(None, [])
    waiting: list[tuple[int, SpanInfo | None, SpanInfo]] = [(0, None, top) for top in tops[::-1]]
    while waiting:
        depth, parent, span = waiting.pop()
        yield depth, parent, span
        waiting += [(depth + 1, span, child) for child in below.pop(span.id, [])[::-1]]


def _tags_below(parent: SpanInfo, span: SpanInfo) -> tuple[str, ...]:
    """The tags that the parent, which stands above, has not said."""
    above, path = parent.path or parent.name, span.path or span.name
    is_below = path[: len(above)] == above and len(path) > len(above)
    return _path(span)[len(above) :] if is_below else _own_tags(span)


def _ran(span: SpanInfo) -> str:
    """How often tasks ran, again ones too; of parts of other spans' tasks, how often those did."""
    if span.tasks == 0 and span.executions > 0:
        return f"{span.executions:,} execution{'' if span.executions == 1 else 's'}"
    return f"{span.tasks:,} run{'' if span.tasks == 1 else 's'}"


def _place(span: SpanInfo) -> tuple[str, str, tuple[str, ...]]:
    """Equal for the passes of one block, or one cell."""
    return span.client, span.origin, span.path or span.name


def _passes(spans: list[SpanInfo]) -> dict[int, str]:
    """By `id`, what tells spans of equal paths apart, as the sidebar has it.

    ``" [7] · 14:03:12"`` of a cell, with the number that Jupyter showed beside it; of others
    ``" 2 of 3 · 14:03:12"``, in the order in which they were opened. Where others are counted
    in one, which it is of all is not known.
    """
    passes: dict[tuple[str, str, tuple[str, ...]], list[SpanInfo]] = {}
    for span in spans:
        passes.setdefault(_place(span), []).append(span)
    found: dict[int, str] = {}
    for of in passes.values():
        if len(of) == 1:
            continue
        are_apart = not any(span.folded for span in of)
        for place, span in enumerate(sorted(of, key=lambda span: span.opened), 1):
            number = _cell_number(span)
            if number is not None and not span.folded:
                which = f"[{number}]"
            else:
                which = f"{place} of {len(of)}" if are_apart else ""
            found[id(span)] = f" {which} · {_clock(span.opened)}".replace("  ", " ")
    return found


def _cell_number(span: SpanInfo) -> str | None:
    frame = span.code[0][0] if span.origin == "cell" and span.code and span.code[0] else {}
    number = re.fullmatch(r"In \[(\d{1,9})\]", str(frame.get("filename", "")))
    return None if number is None else number[1]


def _clock(seconds: float) -> str:
    """With the date, if it is not today's."""
    date, clock = strftime("%Y-%m-%d %H:%M:%S", localtime(seconds)).split(" ")
    return clock if date == strftime("%Y-%m-%d") else f"{date} {clock}"


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
    line = line_text(text, " ")
    return line if length is None or len(line) <= length else f"{line[: length - 1]}…"


def _text(tags: tuple[str, ...]) -> str:
    return one_line(" › ".join(tags))


def _cut_left(tags: tuple[str, ...], length: int = _LENGTH) -> str:
    """Of other tags: spans differ in their last ones. A single tag has its first letters too."""
    text = _text(tags)
    if len(text) <= length:
        return text
    first = length // 2 if len(tags) == 1 else 0
    return f"{text[:first]}…{text[1 + first - length :]}"


def _cut_within(path: tuple[str, ...], length: int) -> str:
    """Of equal tags: a part of file and cell, which tell spans apart; the last tags say which."""
    whole, tags = _text(path), path[2:]
    if len(whole) <= length:
        return whole
    first = [one_line(*each) for each in zip(path, (_FILE_LENGTH, _CELL_LENGTH), strict=False)]
    room = length - len(" › ".join([*first, ""]))
    return " › ".join([*first, _cut_left(tags, room)] if tags else first)
