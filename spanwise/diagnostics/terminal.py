"""Progress as a line of text."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress

from spanwise.diagnostics.counts import (
    Counts,
    duration_text,
    error_text,
    line_of,
    printable,
    problems,
    state_text,
)
from spanwise.diagnostics.followed_tasks import FollowedTasks
from spanwise.diagnostics.follower import Follower

#: Goes to the line's beginning and clears it.
_AGAIN = "\r\x1b[2K"


class TextBar:
    """Draws a bar over itself in a terminal; elsewhere, one line when all has ended.

    Parameters
    ----------
    tasks
    interval
        Seconds between two looks.
    width
        Of the bar, in characters.
    """

    def __init__(self, tasks: FollowedTasks, interval: float, width: int) -> None:
        self._width = width
        self._is_terminal = is_terminal()
        self._drawn = False
        self._shown: tuple[Counts, float] = (Counts(), 0.0)
        self._follower = Follower(tasks, interval, self._show)

    def run(self) -> None:
        """Return when all has ended, or raise KeyboardInterrupt; the tasks go on then."""
        try:
            self._follower.run()
        except BaseException:
            if self._drawn:
                _write("\n")
            raise
        self._end(*self._shown)

    def close(self) -> None:
        """End the bar; from any thread."""
        self._follower.close()

    def _show(self, counts: Counts, elapsed: float, left: float | None) -> None:
        self._shown = counts, elapsed
        if self._is_terminal:
            columns = shutil.get_terminal_size().columns
            _write(_AGAIN + line_of(counts, elapsed, left, self._width, columns))
            self._drawn = True

    def _end(self, counts: Counts, elapsed: float) -> None:
        if self._drawn:
            _write("\n")
        else:
            _write(f"{summary(counts, elapsed)}\n")
        if counts.error is not None:
            _write(f"First error: {error_text(counts.error)}, in {printable(counts.error.key)}\n")
        if counts.stopped:
            _write(f"{printable(counts.stopped)}\n")


def summary(counts: Counts, elapsed: float) -> str:
    """All in one line, without a bar."""
    everything = counts.all
    facts = [f"{everything.done:,} of {everything.total:,} tasks", duration_text(elapsed)]
    facts += [text for _, text in problems(everything)]
    return f"{state_text(counts)}: {', '.join(facts)}"


def is_terminal() -> bool:
    """Whether standard output is a terminal that can clear a line."""
    try:
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # replaced, or closed
        return False


def _write(text: str) -> None:
    # Nobody may be there to read, and the tasks go on.
    with suppress(ValueError, OSError, AttributeError):
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = getattr(sys.stdout, "encoding", None) or "ascii"
            sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
