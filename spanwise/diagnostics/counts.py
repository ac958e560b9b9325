"""What a progress bar shows: counts by group, the time that is left, texts.

Without clock, cluster and output: whoever draws gives the times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spanwise.shown_text import line_text

#: Groups that have a bar of their own; the smaller ones share the last.
MOST_BARS = 24
OTHERS = "(others)"
#: The rate of the last so many seconds tells how long the rest takes, or of half the time so far.
RATE_SECONDS = 5.0
#: Stamps that a pace keeps.
_MOST_STAMPS = 128

_NBSP = "\u00a0"


class Error(NamedTuple):
    """Why a task failed."""

    key: str
    type: str
    message: str


class Group(NamedTuple):
    """How far the tasks of one bar are.

    Attributes
    ----------
    running
        Given to a worker.
    lost
        The result is gone, and nothing can make it again.
    cancelled
        Given up before there was a result.
    skipped
        Nobody needs it any more, and it has not run.
    again
        The result was lost with a worker, and is made again.
    """

    name: str
    total: int
    done: int = 0
    running: int = 0
    failed: int = 0
    lost: int = 0
    cancelled: int = 0
    skipped: int = 0
    again: int = 0

    @property
    def ended(self) -> int:
        """Those from which nothing more comes."""
        return self.done + self.failed + self.lost + self.cancelled + self.skipped

    @property
    def left(self) -> int:
        return self.total - self.ended

    @property
    def share(self) -> float:
        """Of those that ended, 0 to 1; 1 of nothing."""
        return self.ended / self.total if self.total else 1.0


class Counts(NamedTuple):
    """How far all tasks are that are followed.

    Attributes
    ----------
    groups
        In the order of the bars.
    error
        The first that was heard of.
    stopped
        Why nothing more will be heard, or "".
    """

    groups: tuple[Group, ...] = ()
    error: Error | None = None
    stopped: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return bool(self.stopped) or self.all.left == 0

    @property
    def all(self) -> Group:
        return summed("all", self.groups)


def summed(name: str, groups: Iterable[Group]) -> Group:
    """All groups as one."""
    columns = zip(*(group[1:] for group in groups), strict=True)
    sums = [sum(column) for column in columns]
    return Group(name, *sums) if sums else Group(name, 0)


def merged(groups: Iterable[Group]) -> list[Group]:
    """Groups of the same name as one, in the order of their first."""
    by_name: dict[str, list[Group]] = {}
    for group in groups:
        by_name.setdefault(group.name, []).append(group)
    return [summed(name, same) for name, same in by_name.items()]


def ordered(groups: Iterable[Group], most: int = MOST_BARS) -> tuple[Group, ...]:
    """Groups as bars, no more than so many; the most numerous first, as `distributed` has them."""
    known = sorted(merged(groups), key=lambda group: (-group.total, group.name))
    if len(known) <= most:
        return tuple(known)
    return (*known[: most - 1], summed(OTHERS, known[most - 1 :]))


class Pace:
    """Says how long the rest takes, as far as the last seconds tell.

    Tasks that had ended before it began to look say nothing of how long tasks take.
    """

    def __init__(self) -> None:
        self._stamps: deque[tuple[float, int]] = deque()

    def saw(self, elapsed: float, ended: int) -> None:
        """So many had ended after so many seconds."""
        stamps = self._stamps
        if stamps and (elapsed <= stamps[-1][0] or ended < stamps[-1][1]):
            if ended < stamps[-1][1]:
                stamps.clear()  # results were lost: it begins anew
            else:
                return
        stamps.append((elapsed, ended))
        window = max(RATE_SECONDS, elapsed / 2)
        while len(stamps) > 2 and stamps[1][0] <= elapsed - window:
            stamps.popleft()
        if len(stamps) > _MOST_STAMPS:
            self._stamps = deque(
                stamp for i, stamp in enumerate(stamps) if i % 2 == 0 or i == len(stamps) - 1
            )

    def seconds_left(self, left: int) -> float | None:
        """None: nothing has ended lately that would tell."""
        if left == 0:
            return 0.0
        if len(self._stamps) < 2:
            return None
        (began, first), (now, last) = self._stamps[0], self._stamps[-1]
        return left * (now - began) / (last - first) if last > first else None


def duration_text(seconds: float) -> str:
    """Three figures, as the panels show durations.

    Examples
    --------
    >>> duration_text(12.44).replace(chr(160), " ")
    '12.4 s'
    >>> duration_text(200).replace(chr(160), " ")
    '3 min 20 s'
    """
    if seconds < 0.0005:
        return f"0{_NBSP}s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}{_NBSP}ms"
    for digits, below in ((2, 9.995), (1, 99.95), (0, 119.5)):
        if seconds < below:
            return f"{seconds:.{digits}f}{_NBSP}s"
    whole = round(seconds)
    if whole < 7200:
        return f"{whole // 60}{_NBSP}min {whole % 60:02}{_NBSP}s"
    minutes = round(seconds / 60)
    if minutes < 48 * 60:
        return f"{minutes // 60}{_NBSP}h {minutes % 60:02}{_NBSP}min"
    hours = round(seconds / 3600)
    return f"{hours // 24}{_NBSP}d {hours % 24:02}{_NBSP}h"


def left_text(seconds: float | None) -> str:
    """How long the rest takes, coarsely: it is an estimate.

    Examples
    --------
    >>> left_text(12.44).replace(chr(160), " ")
    'about 12 s left'
    """
    if seconds is None:
        return ""
    rounded = max(1.0, float(round(seconds)))
    text = duration_text(rounded).replace(".00", "").replace(".0", "")
    return f"about {text} left"


def percent_text(group: Group) -> str:
    """100 only for all.

    Examples
    --------
    >>> percent_text(Group("x", 1000, done=999))
    '99'
    """
    return str(100 if group.left == 0 else int(100 * group.ended / group.total))


def problems(group: Group) -> list[tuple[str, str]]:
    """What did not go well: kind and text of each, in the same order always."""
    counted = (
        ("failed", group.failed, "failed"),
        ("lost", group.lost, "lost"),
        ("cancelled", group.cancelled, "cancelled"),
        ("skipped", group.skipped, "not needed"),
        ("again", group.again, "computed again"),
    )
    return [(kind, f"{count:,} {word}") for kind, count, word in counted if count]


def error_text(error: Error) -> str:
    """One line, whatever the exception says."""
    said = " ".join(error.message.split())
    whole = f"{error.type}: {said}" if said else error.type
    return printable(f"{whole[:499]}…" if len(whole) > 500 else whole)


def state_text(counts: Counts) -> str:
    """A word for how it goes, or went."""
    everything = counts.all
    if counts.stopped:
        return "Stopped"
    if not everything.total:
        return "No tasks"
    if not counts.ended:
        return "Computing"
    if everything.failed or everything.lost:
        return "Failed"
    return "Cancelled" if everything.cancelled else "Finished"


def line_of(counts: Counts, elapsed: float, left: float | None, width: int, columns: int) -> str:
    """The bar of a terminal, as `distributed`'s, no wider than the terminal.

    Examples
    --------
    >>> print(line_of(Counts((Group("x", 4, done=1),)), 2.0, 6.0, 8, 80).replace(chr(160), " "))
    [##      ] | 25% Completed | 2.00 s | about 6 s left
    """
    everything = counts.all
    rest = f" | {facts_text(counts, elapsed, left)}"
    width = max(0, min(width, columns - len(rest) - 3))
    bar = f"[{'#' * int(width * everything.share):{width}}]"
    # One column stays free: some terminals go to the next line once the last is written.
    return (bar + rest)[: max(0, columns - 1)]


def facts_text(counts: Counts, elapsed: float, left: float | None) -> str:
    """What stands behind the bar."""
    everything = counts.all
    facts = [f"{percent_text(everything)}% Completed", duration_text(elapsed)]
    if not counts.ended and left is not None:
        facts.append(left_text(left))
    facts += [text for _, text in problems(everything)]
    return " | ".join(facts)


def printable(text: str) -> str:
    """The text in a line, without what would move the cursor or change colours."""
    return line_text(text, "\N{MIDDLE DOT}")


def named(names: Sequence[str], rows: Iterable[Sequence[int]]) -> list[Group]:
    """Groups of names and their counts."""
    return [Group(name, *row) for name, row in zip(names, rows, strict=True)]
