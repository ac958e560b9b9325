"""Checks what the scheduler's messages to its client mean; see :mod:`spanwise.wire.content`."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.records.enumerations import REPORT_CANCELLED, REPORT_MEMORY
from spanwise.wire.content import (
    broken,
    check_ascending,
    check_blob,
    check_lengths,
    check_moments,
    check_sizes,
    column,
)
from spanwise.wire.frame import Message


def check_from_scheduler(message: Message) -> None:
    """Raise BrokenFrame if a message says what cannot be."""
    kind = message.type
    if kind == "report":
        for told in message.fields["errors"]:
            check_blob(message, "errors.blob", told["blob"])
    elif kind == "cluster":
        ids = [worker["id"] for worker in message.fields["workers"]]
        if len(set(ids)) != len(ids):
            raise broken(message, "workers.id", "a worker comes twice")
    elif kind == "runResult":
        if message.fields["ok"]:
            check_blob(message, "ok", 0)
    elif kind == "pluginDone":
        failed, nbytes = len(message.fields["failed"]), len(message.blobs)
        if failed != nbytes:
            raise broken(message, "failed", f"{failed} workers, and errors of {nbytes}")
    elif kind == "followed":
        for table in ("groups", "keys"):
            rows = zip(column(message, table, "start"), column(message, table, "end"), strict=True)
            nbytes = sum(map(len, message.blobs[:1]))
            check_ascending(message, f"{table}.end", [each for row in rows for each in row], nbytes)
    elif kind == "events":
        check_sizes(message, "events.length", column(message, "events", "length"))
        _check_events(message)
    elif kind == "event":
        check_moments(message, "t", [message.fields["t"]])
        check_blob(message, "t", 0)
    elif kind == "located":
        check_sizes(message, "where.nbytes", column(message, "where", "nbytes"))
    elif kind == "ran":
        check_moments(message, "runs.start", column(message, "runs", "start"))
        check_lengths(message, "runs.duration", column(message, "runs", "duration"))
    elif kind == "memoryRunEnded":
        check_moments(message, "samples.t", column(message, "samples", "t"))
        check_sizes(message, "samples.bytes", column(message, "samples", "bytes"))


def _check_events(message: Message) -> None:
    lengths, nbytes = column(message, "events", "length"), sum(map(len, message.blobs[:1]))
    if sum(lengths) != nbytes:
        raise broken(message, "events.length", f"{sum(lengths)} bytes, in {nbytes}")
    topics = len(message.fields["topics"])
    if any(topic >= topics for topic in column(message, "events", "topic")):
        raise broken(message, "events.topic", f"there are {topics}")
    check_moments(message, "events.t", column(message, "events", "t"))


def check_rows(message: Message, status: Sequence[float], nbytes: Sequence[float]) -> None:
    """Check columns of a `report` that has rows; the caller has them as lists."""
    if min(status) < REPORT_MEMORY or max(status) > REPORT_CANCELLED:
        wrong = next(each for each in status if not REPORT_MEMORY <= each <= REPORT_CANCELLED)
        raise broken(
            message, "tasks.status", f"{wrong}, expected {REPORT_MEMORY} to {REPORT_CANCELLED}"
        )
    check_sizes(message, "tasks.nbytes", nbytes)
