"""Progress as bars in a notebook, drawn by a thread of their own."""

from __future__ import annotations

import contextvars
import threading
import uuid
from typing import Any

from spanwise.diagnostics.counts import (
    Counts,
    Group,
    duration_text,
    error_text,
    left_text,
    percent_text,
    printable,
    problems,
    state_text,
)
from spanwise.diagnostics.followed_tasks import FollowedTasks
from spanwise.diagnostics.follower import Follower
from spanwise.diagnostics.terminal import summary
from spanwise.shown_text import markup_text

# Theme's colours where there is a theme: JupyterLab's own, else those of a page without one.
_TEXT = "var(--jp-ui-font-color1, currentColor)"
_SOFT = "var(--jp-ui-font-color2, currentColor)"
_BACK = "var(--jp-layout-color2, rgba(128, 128, 128, 0.2))"
_DONE = "var(--jp-brand-color1, #2196f3)"
_BAD = "var(--jp-error-color1, #d32f2f)"
_GIVEN_UP = "var(--jp-ui-font-color3, #8a8a8a)"
#: Kinds of problems that are an error; the others are grey.
_RED = ("failed", "lost")
#: Seconds that closing waits for the thread that draws.
_CLOSE_SECONDS = 5.0


class NotebookBar:
    """Bars that follow tasks; shown when made, without waiting for anything.

    Parameters
    ----------
    tasks
    interval
        Seconds between two looks.

    Attributes
    ----------
    widget
        The widget of `ipywidgets` that holds the bars; None without that package.
    """

    def __init__(self, tasks: FollowedTasks, interval: float) -> None:
        self._lock = threading.Lock()
        self._counts = Counts()
        self._elapsed = 0.0
        self._markup = markup(None, 0.0, None)
        self.widget = _widget(self._markup)
        #: Where it is shown without a widget; the newest last.
        self._displays: list[Any] = []
        self._shown_by_itself = False
        self._follower = Follower(tasks, interval, self._show)
        # The thread writes where this cell does.
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._follower.run,), name="spanwise-progress", daemon=True
        )

    def start(self) -> None:
        """Show the bars and begin to follow."""
        self._display()
        self._shown_by_itself = True
        self._thread.start()

    def close(self) -> None:
        """End the bars, which stay as they are; the tasks go on."""
        self._follower.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(_CLOSE_SECONDS)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether the bars have ended, at most so many seconds from now."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def __repr__(self) -> str:
        return f"<progress: {summary(self._counts, self._elapsed)}>"

    def _ipython_display_(self, **kwargs: Any) -> None:
        if self._shown_by_itself:
            self._shown_by_itself = False  # as the last value of its cell: it is there already
        else:
            self._display()

    def _display(self) -> None:
        from IPython.display import display

        if self.widget is not None:
            display(self.widget)
            return
        with self._lock:
            number = uuid.uuid4().hex
            display(self._data(), raw=True, display_id=number)
            self._displays.append(number)

    def _data(self) -> dict[str, str]:
        return {"text/html": self._markup, "text/plain": repr(self)}

    def _show(self, counts: Counts, elapsed: float, left: float | None) -> None:
        new = markup(counts, elapsed, left)
        with self._lock:
            self._counts, self._elapsed = counts, elapsed
            if new == self._markup:
                return
            self._markup = new
            if self.widget is None:
                self._update()
            elif self.widget.comm is None:
                self._follower.close()  # somebody closed the widget
            else:
                self.widget.value = new

    def _update(self) -> None:
        from IPython.display import update_display

        for number in self._displays:
            update_display(self._data(), raw=True, display_id=number)


def _widget(value: str) -> Any:
    try:
        from ipywidgets import HTML
    except ImportError:
        return None
    return HTML(value)


def markup(counts: Counts | None, elapsed: float, left: float | None) -> str:
    """The bars as HTML; names and errors are text in it. None: not counted yet."""
    if counts is None:
        return _framed("Counting tasks…", "")
    head = [f"<b>{state_text(counts)}</b>"]
    everything = counts.all
    if everything.total:
        head.append(f"{everything.ended:,} of {everything.total:,}")
        head.append(duration_text(elapsed))
    if not counts.ended and left is not None:
        head.append(left_text(left))
    rows = "".join(_row(group) for group in counts.groups)
    grid = (
        f'<div style="display: grid; gap: 4px 12px; align-items: center; '
        # In a narrow notebook the bar gives way, not the name.
        f'grid-template-columns: auto minmax(60px, 320px) minmax(9em, 1fr)">{rows}</div>'
        if rows
        else ""
    )
    said = ""
    if counts.error is not None:
        said += _line(_BAD, f"{error_text(counts.error)}, in {printable(counts.error.key)}")
    if counts.stopped:
        said += _line(_TEXT, printable(counts.stopped))
    return _framed(" · ".join(head), grid + said)


def _framed(head: str, body: str) -> str:
    return (
        f'<div class="sw-Progress" style="padding: 4px 0; line-height: 1.5; color: {_TEXT}; '
        f'font-variant-numeric: tabular-nums"><div role="status">{head}</div>{body}</div>'
    )


def _line(colour: str, text: str) -> str:
    style = f"color: {colour}; overflow-wrap: anywhere; margin-top: 4px"
    return f'<div style="{style}">{markup_text(text)}</div>'


def _row(group: Group) -> str:
    name = markup_text(printable(group.name))
    return (
        f'<div style="text-align: right">{group.done:,} / {group.total:,}</div>'
        f'<div role="progressbar" aria-label="{name}" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{percent_text(group)}" style="display: flex; height: 12px; '
        f'overflow: hidden; border-radius: 2px; background: {_BACK}">{_stretches(group)}</div>'
        f'<div style="overflow-wrap: anywhere">{name}{_notes(group)}</div>'
    )


def _stretches(group: Group) -> str:
    """Done, then what failed, then what was given up."""
    kinds = (
        (_DONE, group.done),
        (_BAD, group.failed + group.lost),
        (_GIVEN_UP, group.cancelled + group.skipped),
    )
    return "".join(
        f'<div style="flex: none; width: {100 * count / group.total:.2f}%; '
        f'background: {colour}"></div>'
        for colour, count in kinds
        if count
    )


def _notes(group: Group) -> str:
    return "".join(
        f' <span style="color: {_BAD if kind in _RED else _SOFT}">· {text}</span>'
        for kind, text in problems(group)
    )
