"""Errors that users of the client meet."""

from __future__ import annotations

from concurrent.futures import CancelledError as _FuturesCancelledError
from typing import Any

__all__ = [
    "AbsentAttribute",
    "AbsentImport",
    "CancelledError",
    "ClusterError",
    "KilledWorker",
    "RemoteTraceback",
    "Reschedule",
    "RemoteTaskError",
    "SchedulerLost",
    "StallError",
    "TaskError",
    "TooManyTasks",
    "with_remote_traceback",
]


class ClusterError(RuntimeError):
    """Something about the cluster itself failed; the message says what to do."""


class SchedulerLost(ClusterError):
    """The scheduler process ended; its results are gone."""


class CancelledError(_FuturesCancelledError):
    """The task was cancelled; the message says by what, and what to do.

    Parameters
    ----------
    key
        Of the task.
    reason
        What follows on "was cancelled"; empty: it is not known.
    """

    def __init__(self, key: Any = "", reason: str = "") -> None:
        super().__init__(*([key, reason] if reason else [key]))
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        key = str(self.key)
        if not self.reason:
            return key
        from spanwise.shown_text import line_text  # (workers start sooner without)

        return f"{line_text(key)} was cancelled {self.reason}"


class KilledWorker(RuntimeError):
    """The task was running on several workers when they died, and is blamed for it.

    The message says how the last one ended, what memory it last used of how much, and which tasks
    ran there.
    """


class StallError(RuntimeError):
    """All workers were short of memory and nothing freed it; the message says what is full."""


class TooManyTasks(ClusterError):
    """The scheduler had no room for a graph; its tasks were not taken."""


class Reschedule(Exception):
    """Raise it in a task to have the scheduler place the task anew.

    The run counts neither as done nor as failed, and uses up none of the `retries`. A task that
    raises it a thousand times has failed.
    """


class AbsentAttribute(NotImplementedError, AttributeError):
    """`distributed` has it, or its client, ours not; the message says what to use instead."""


class AbsentImport(NotImplementedError, ImportError):
    """`distributed` has it, `spanwise` not; the message says what to use instead.

    No AttributeError: ``from spanwise import name`` would put another message in its place.
    """


class TaskError(RuntimeError):
    """Stands for an exception that cannot travel or must not be raised as it is.

    Attributes
    ----------
    kind
        Name of the original type.
    message
        Its message, and why this stands for it.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if kind and message else kind or message)
        self.kind = kind
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.message)


class RemoteTaskError(TaskError):
    """Stands for an exception, or a result, that could not be unpickled here."""


class RemoteTraceback(Exception):
    """Carries the worker's traceback as text; shown as the cause of the error."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n\n{self.text}"


def with_remote_traceback(error: BaseException, text: str) -> BaseException:
    """Show the worker's traceback, of which there is only a text, where the error is raised.

    An error may have causes. It keeps them, and the text, which tells of all of them, stands
    before the first.
    """
    first, seen = error, {id(error)}
    while first.__cause__ is not None and id(first.__cause__) not in seen:
        first = first.__cause__
        seen.add(id(first))
    if text and first.__cause__ is None and not isinstance(first, RemoteTraceback):
        first.__cause__ = RemoteTraceback(text)
    return error
