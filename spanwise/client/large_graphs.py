"""Warns of graphs with large values in them, which go through the scheduler and stay there.

``distributed.admin.large-graph-warning-threshold`` (or ``spanwise.…``) is the limit, as for a
client of `distributed`. Functions and arguments are counted as they are sent, in pieces: nothing is
done for each task. Many tasks with small arguments are no large graph: nothing of them could be
scattered.
"""

from __future__ import annotations

from collections.abc import Mapping

from dask.utils import format_bytes, parse_bytes

from spanwise.client.settings import first_setting
from spanwise.graph.dictionaries import Names
from spanwise.graph.packs import SubmitMessage
from spanwise.notices import warn_asker

_NAMES = (
    "spanwise.admin.large-graph-warning-threshold",
    "distributed.admin.large-graph-warning-threshold",
)
#: As `distributed`'s.
_THRESHOLD = "10MB"
#: The setting is not looked at for less.
_ALWAYS_SMALL = 64 * 1024
#: Arguments of so many bytes a task, on average, are small.
_SMALL_ARGUMENTS = 1024


class GraphSize:
    """How many bytes one submission sends, and what most of them are."""

    __slots__ = ("_largest", "_names", "_nbytes", "_what")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._nbytes = self._largest = 0
        self._what = ""

    def add(self, message: SubmitMessage) -> None:
        """Count a message that was sent."""
        blobs, fields = message.blobs, message.fields
        for row in fields["templates"]:
            self._count(len(blobs[row["blob"]]), message, "template", row)
        for row in fields["chunks"]:
            nbytes = len(blobs[row["blob"]])
            if nbytes > _SMALL_ARGUMENTS * row["rows"]:
                self._count(nbytes, message, "chunk", row)

    def _count(
        self, nbytes: int, message: SubmitMessage, column: str, row: Mapping[str, int]
    ) -> None:
        self._nbytes += nbytes
        if nbytes > self._largest and nbytes >= _ALWAYS_SMALL:
            self._what = _what_is(message, column, row, self._names)
            self._largest = nbytes

    def warn(self) -> None:
        """Warn, at the line that has submitted, if it was more than the limit."""
        if self._nbytes < _ALWAYS_SMALL:
            return
        name, value = first_setting(_NAMES, _THRESHOLD, or_none=False)
        try:
            limit = parse_bytes(value)
        except (TypeError, ValueError):
            raise ValueError(
                f'{name} is a number of bytes, such as "10MB": not {value!r}'
            ) from None
        if self._nbytes <= limit:
            return
        piece = f"; {format_bytes(self._largest)} of it are {self._what}" if self._what else ""
        warn_asker(
            f"A graph holds values of {format_bytes(self._nbytes)}{piece}. The scheduler keeps "
            "them as long as the tasks, and workers get copies. Bring large values to the workers "
            "once, future = client.scatter(value), and give the future to the tasks in place of "
            f"the value; or let tasks load their own data. (The limit is {name}, {value}.)",
            UserWarning,
        )


def _what_is(message: SubmitMessage, column: str, row: Mapping[str, int], names: Names) -> str:
    """What a template or a chunk of a message holds, for the user."""
    tasks = message.tasks
    place = tasks["function"]
    if not message.is_one:
        place = place[tasks[column].index(row["id"])]
    function = names.text(place)
    if column == "template":
        return f"the function {function}, with values that it refers to and its keyword arguments"
    count = row["rows"]
    return f"arguments of {'one task' if count == 1 else f'{count} tasks'} {function}"
