"""Checks what the scheduler's messages to a worker mean; see :mod:`spanwise.wire.content`."""

from __future__ import annotations

from spanwise.wire.content import (
    broken,
    check_ascending,
    check_blob,
    check_finite,
    check_moments,
    check_sizes,
    column,
)
from spanwise.wire.frame import Message


def check_from_scheduler(message: Message) -> None:
    """Raise BrokenFrame if a message says what cannot be."""
    if message.type == "assign":
        _check_assign(message)
    elif message.type == "clockIs":
        check_moments(message, "clock", [message.fields["clock"]])
    elif message.type == "plugin" and message.fields["setUp"]:
        check_blob(message, "setUp", 0)
    elif message.type == "run" and not message.blobs:
        raise broken(message, "request", "there is no function to run")


def _check_assign(message: Message) -> None:
    fields = message.fields
    for field in ("templates", "chunks"):
        for each in fields[field]:
            check_blob(message, f"{field}.blob", each["blob"])
    launch = fields.get("launch")
    if launch is not None and any("\0" in text for text in (launch["cwd"], *launch["path"])):
        raise broken(message, "launch.path", "a zero byte is in no path")
    tasks = message.table("tasks")
    if not tasks:
        return
    dependencies = message.table("dependencies")
    firsts, priorities, moments = tasks.values("firstDependency", "priority", "readyAt")
    if dependencies or any(firsts):
        check_ascending(message, "tasks.firstDependency", firsts, len(dependencies))
        check_sizes(message, "dependencies.nbytes", column(message, "dependencies", "nbytes"))
    check_finite(message, "tasks.priority", priorities)
    check_moments(message, "tasks.readyAt", moments)
