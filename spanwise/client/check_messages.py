"""Checks what the scheduler's messages to its client mean; see :mod:`spanwise.wire.content`."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.records.enumerations import NONE_U32, REPORT_CANCELLED, REPORT_MEMORY
from spanwise.wire.content import (
    broken,
    check_ascending,
    check_blob,
    check_finite,
    check_lengths,
    check_moments,
    check_sizes,
    column,
)
from spanwise.wire.frame import Message

_BYTES_OF_WORKERS = (
    "spilled",
    "incomingBytes",
    "incomingTotal",
    "outgoingBytes",
    "outgoingTotal",
    "process",
    "managed",
    "disk",
)


def check_from_scheduler(message: Message) -> None:
    """Raise BrokenFrame if a message says what cannot be."""
    kind = message.type
    if kind == "report":
        for told in message.fields["errors"]:
            check_blob(message, "errors.blob", told["blob"])
        if message.table("signs").rows:
            last = message.table("tasks").rows - 1
            check_ascending(message, "signs.row", column(message, "signs", "row"), last)
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
    elif kind == "happened":
        _check_happened(message)
    elif kind == "answer":
        for name in _BYTES_OF_WORKERS:
            check_sizes(message, f"workers.{name}", column(message, "workers", name))
    elif kind == "clockIs":
        check_moments(message, "clock", [message.fields["clock"]])
    elif kind == "memoryRunEnded":
        check_moments(message, "samples.t", column(message, "samples", "t"))
        check_sizes(message, "samples.bytes", column(message, "samples", "bytes"))


def _check_happened(message: Message) -> None:
    fields, nbytes = message.fields, sum(map(len, message.blobs[:1]))
    check_ascending(message, "keys.end", column(message, "keys", "end"), nbytes)
    rows = {name: message.table(name).rows for name in ("moves", "runs", "parts", "tasks")}
    keys, texts = message.table("keys").rows, len(fields["texts"])
    for table, name, end in (
        ("moves", "key", keys),
        ("moves", "stimulus", texts),
        ("runs", "type", texts),
        ("tasks", "key", keys),
        ("inputs", "key", keys),
    ):
        _check_places(message, f"{table}.{name}", column(message, table, name), end)
    for name, end in (("run", rows["runs"]), ("failure", len(fields["failures"]))):
        found = [each for each in column(message, "moves", name) if each != NONE_U32]
        _check_places(message, f"moves.{name}", found, end)
    for name in ("from", "to"):
        _check_places(message, f"moves.{name}", column(message, "moves", name), 8)
    check_ascending(message, "runs.firstPart", column(message, "runs", "firstPart"), rows["parts"])
    inputs = message.table("inputs").rows
    check_ascending(message, "tasks.firstInput", column(message, "tasks", "firstInput"), inputs)
    for name in ("members", "graphs"):
        before = [each["before"] for each in fields[name]]
        check_ascending(message, f"{name}.before", before, rows["moves"])
    graphs = fields["graphs"]
    check_ascending(message, "graphs.firstTask", [g["firstTask"] for g in graphs], rows["tasks"])
    orders = [each["order"] for each in graphs]
    check_ascending(message, "graphs.order", orders, len(fields["members"]))
    for index, graph in enumerate(graphs):
        last = graphs[index + 1]["firstTask"] if index + 1 < len(graphs) else rows["tasks"]
        said = column(message, "tasks", "restriction")[graph["firstTask"] : last]
        _check_places(message, "tasks.restriction", said, len(graph["restrictions"]) + 1)
    for each in fields["failures"]:
        check_blob(message, "failures.blob", each["blob"])
        _check_places(message, "failures.cause", [each["cause"]], keys)
    for each in fields["members"]:
        if each["what"].endswith("-worker") and each["worker"] is None:
            raise broken(message, "members.worker", "there is none")
        if each["what"] == "log-event":
            check_blob(message, "members.blob", max(0, each["blob"]))
    check_moments(message, "moves.t", column(message, "moves", "t"))
    check_moments(message, "runs.start", column(message, "runs", "start"))
    check_finite(message, "runs.ident", column(message, "runs", "ident"))
    check_finite(message, "tasks.place", column(message, "tasks", "place"))
    check_lengths(message, "runs.duration", column(message, "runs", "duration"))
    check_moments(message, "parts.offset", column(message, "parts", "offset"))
    check_lengths(message, "parts.duration", column(message, "parts", "duration"))
    check_sizes(message, "runs.nbytes", column(message, "runs", "nbytes"))


def _check_places(message: Message, name: str, places: Sequence[float], end: int) -> None:
    if any(each >= end for each in places):
        raise broken(message, name, f"there are {end}")


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
