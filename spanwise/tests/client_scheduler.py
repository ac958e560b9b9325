"""A scheduler and worker in this process that speak the client link: for client tests.

Runs every task on one thread, in the order of submission. Values above the inline
limit are served from a real peer door.
"""

from __future__ import annotations

import queue
import secrets
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from spanwise.client.calls import Calls
from spanwise.client.client import Client
from spanwise.client.forked import stay_out_of_forks
from spanwise.client.private_cluster import intro_of_client
from spanwise.client.session import Session, dump
from spanwise.records.enumerations import (
    FLAG_ALIAS,
    FLAG_WANTED,
    ITEM_MISSING,
    NONE_U16,
    NONE_U32,
    REPORT_CANCELLED,
    REPORT_ERRED,
    REPORT_MEMORY,
)
from spanwise.wire import payload
from spanwise.wire.door import Door, listen
from spanwise.wire.errors import LinkError
from spanwise.wire.link import Link, dial
from spanwise.worker.errors import describe

INLINE_LIMIT = 4096
FAILED = object()


class ClientScheduler:
    """Accepts one client and runs its tasks.

    Attributes
    ----------
    ran
        (key text, function name, span id, origin) of every task that ran.
    spans
        Span rows by id, newest.
    released
        Ids that the client released.
    discarded
        (id, worker) of data that workers are to drop.
    forgotten
        Templates that it will not name again.
    waiting
        What it answered to :meth:`waits`.
    """

    def __init__(self, workers: int = 1, skew: float | None = None) -> None:
        #: By so many seconds its clock is ahead of the client's; None: it does not tell.
        self.skew = skew
        self.secret = secrets.token_bytes(32)
        self.folder = tempfile.TemporaryDirectory(prefix="spanwise-test-")
        Path(self.folder.name).chmod(0o700)
        self.rows = [
            {
                "id": number,
                "address": "",
                "pid": 1,
                "host": "here",
                "threads": 1,
                "memoryLimit": 1e9,
                "state": "running",
            }
            for number in range(workers)
        ]
        self.peer_doors: list[Door] = []
        for row in self.rows:
            door = listen(
                self.folder.name, f"w{row['id']}", self.secret, ["peer"], self._serve_peer
            )
            row["address"] = door.address
            self.peer_doors.append(door)
        self.door = listen(
            self.folder.name, "scheduler", self.secret, ["client"], self._serve, self._welcome
        )
        self.texts: list[str] = []
        self.spans: dict[int, dict[str, Any]] = {}
        self.templates: dict[int, Any] = {}
        self.chunks: dict[int, Any] = {}
        self.values: dict[int, Any] = {}
        self.causes: dict[int, int] = {}
        self.put: dict[int, Any] = {}
        self.ran: list[tuple[str, str, int, int]] = []
        self.keys: dict[int, str] = {}
        self.options: dict[int, tuple[int, int, int]] = {}
        self.restrictions: list[dict[str, Any]] = []
        self.released: list[int] = []
        self.discarded: list[tuple[int, int]] = []
        self.forgotten: list[int] = []
        self.waiting: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.cancelled: set[int] = set()
        self.launches: list[dict[str, Any]] = []
        self.inline = INLINE_LIMIT
        self.hold = threading.Event()
        self.hold.set()
        self.link: Link | None = None
        #: The door's thread has taken the client in, a moment after its dialling came back.
        self.linked = threading.Event()
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._rows: dict[int, Any] = {}
        self._runner = threading.Thread(target=self._run_all, daemon=True)
        self._runner.start()

    def close(self) -> None:
        self._work.put(None)
        self.hold.set()
        self._runner.join(60)
        if self.link is not None:
            self.link.close()
        for door in (self.door, *self.peer_doors):
            door.close()
        self.folder.cleanup()

    def _welcome(self, role: str, intro: dict[str, Any]) -> dict[str, Any]:
        assert intro["launch"]["executable"]
        now = time.perf_counter() + (self.skew or 0.0)
        clock = {} if self.skew is None else {"clock": now}
        return {
            **clock,
            "clusterId": f"c{id(self):x}",
            "name": "test",
            "logId": "l1",
            "schedulerStart": now,
            "wallEpoch": time.time(),
            "observer": None,
            "workers": self.rows,
        }

    # -- the client link --------------------------------------------------

    def _serve(self, link: Link) -> None:
        self.link = link
        self.linked.set()
        try:
            while True:
                for message in link.read_batch():
                    getattr(self, f"_on_{message.type}")(message)
        except LinkError:
            return

    def _learn(self, message: Any) -> None:
        fields = message.fields
        first, names = fields["firstName"], fields["names"]
        # Those of a submission that failed half way come again.
        again = self.texts[first:] if names else []
        assert names[: len(again)] == again and (not names or first <= len(self.texts))
        self.texts += names[len(again) :]
        for span in fields["spans"]:
            self.spans[span["id"]] = span

    def tags(self, span: int) -> tuple[str, ...]:
        """The tags of a span id from the root."""
        found: list[str] = []
        while span:
            row = self.spans[span]
            found.insert(0, row["tag"])
            span = row["parent"]
        return tuple(found)

    def _on_askClock(self, message: Any) -> None:
        assert self.link is not None
        clock = time.perf_counter() + (self.skew or 0.0)
        self.link.send("clockIs", {"sent": message.fields["sent"], "clock": clock})

    def _on_submit(self, message: Any) -> None:
        self._learn(message)
        fields = message.fields
        if fields.get("launch"):
            self.launches.append(fields["launch"])
        for row in fields["templates"]:
            self.templates[row["id"]] = payload.loads(bytes(message.blobs[row["blob"]]))
        for row in fields["chunks"]:
            rows = payload.loads(bytes(message.blobs[row["blob"]]))
            assert len(rows) == row["rows"]
            self.chunks[row["id"]] = rows
        self.restrictions = fields["restrictions"]
        table = message.table("tasks")
        if not len(table):
            return
        columns = {name: table.column(name).tolist() for name in _COLUMNS}
        dependencies = message.table("dependencies").column("id").tolist()
        keys = bytes(message.blobs[fields["keysBlob"]])
        count = len(columns["id"])
        for i in range(count):
            row = {name: columns[name][i] for name in _COLUMNS}
            last = i + 1 == count
            stop = len(keys) if last else columns["suffix"][i + 1]
            text = self.texts[row["group"]] + keys[row["suffix"] : stop].decode()
            stop = len(dependencies) if last else columns["firstDependency"][i + 1]
            row["inputs"] = dependencies[row["firstDependency"] : stop]
            row["key"] = self.keys[row["id"]] = text
            self.options[row["id"]] = (row["retries"], row["restriction"], row["userPriority"])
            self._rows[row["id"]] = row
            self._work.put(row)

    def _on_spans(self, message: Any) -> None:
        self._learn(message)

    def _on_forget(self, message: Any) -> None:
        self.forgotten += message.fields["templates"]

    def waits(self) -> bool:
        """What the client answers when it is asked whether something waits."""
        self._send("stalled")
        return self.waiting.get(timeout=60)

    def _on_waiting(self, message: Any) -> None:
        self.waiting.put(message.fields["waiting"])

    def _on_release(self, message: Any) -> None:
        self.released += message.table("ids").column("id").tolist()

    def _on_cancel(self, message: Any) -> None:
        ids = message.table("ids").column("id").tolist()
        self.cancelled.update(ids)
        self._report(
            [(i, i, REPORT_CANCELLED, NONE_U16, 0.0, NONE_U32, NONE_U32, NONE_U32) for i in ids]
        )

    def _on_retry(self, message: Any) -> None:
        for each in message.table("ids").column("id").tolist():
            self._work.put(self._rows[each])

    def _on_locate(self, message: Any) -> None:
        ids = message.table("ids").column("id").tolist()
        where = [(i, i, 0 if i in self.values else NONE_U16, 0.0) for i in ids]
        self._send("located", {"request": message.fields["request"]}, {"where": where})

    def _on_scattered(self, message: Any) -> None:
        self._learn(message)
        rows = []
        holders = dict(iter(message.table("holders")))
        for i, task_id in enumerate(message.table("tasks").column("id").tolist()):
            self.values[task_id] = self.put[task_id]
            rows.append(
                (task_id, task_id, REPORT_MEMORY, holders[i], 8.0, NONE_U32, NONE_U32, NONE_U32)
            )
        self._report(rows)

    def _on_discard(self, message: Any) -> None:
        self.discarded += list(message.table("items"))

    def _on_run(self, message: Any) -> None:
        function, args, kwargs = payload.loads(bytes(message.blobs[0]))
        for worker in message.fields["workers"]:
            try:
                value = function(*args, **kwargs)
                ok, blob = True, dump(value)
            except Exception as error:  # noqa: BLE001 (whatever the function raises)
                ok, blob = False, describe(error).blob
            if message.fields["wait"]:
                fields = {"request": message.fields["request"], "worker": worker, "ok": ok}
                self._send("runResult", fields, None, [blob])

    def _on_flush(self, message: Any) -> None:
        request = message.fields["request"]
        self._send("flushed", {"request": request, "logId": "l1", "seq": 1})

    def _on_memoryRun(self, message: Any) -> None:
        if message.fields["state"] == "stop":
            samples = [(time.monotonic(), 1000.0), (time.monotonic() + 0.5, 2000.0)]
            self._send("memoryRunEnded", {"run": message.fields["run"]}, {"samples": samples})

    def _on_close(self, message: Any) -> None:
        self._send("closed")

    def _send(self, kind: str, fields: Any = None, tables: Any = None, blobs: Any = ()) -> None:
        assert self.link is not None
        try:
            self.link.send(kind, fields, tables, blobs)
        except LinkError:
            return  # the client has gone; its tests have what they need

    def _report(self, rows: list[Any], blob: bytes = b"", errors: Any = ()) -> None:
        blobs = [blob] if blob else []
        self._send("report", {"errors": list(errors)}, {"tasks": rows}, blobs)

    # -- running ----------------------------------------------------------

    def _run_all(self) -> None:
        while True:
            row = self._work.get()
            self.hold.wait()
            if row is None:
                return
            if row["id"] not in self.cancelled:
                self._run(row)

    def _run(self, row: dict[str, Any]) -> None:
        task_id = row["id"]
        wanted = row["flags"] & FLAG_WANTED
        for each in row["inputs"]:
            if self.values[each] is FAILED:
                self.values[task_id] = FAILED
                self.causes[task_id] = self.causes[each]
                if wanted:
                    self._report([_row(task_id, REPORT_ERRED, cause=self.causes[each])])
                return
        inputs = [self.values[each] for each in row["inputs"]]
        errors: list[Any] = []
        blob = b""
        try:
            if row["flags"] & FLAG_ALIAS:
                (self.values[task_id],) = inputs
            else:
                literals = () if row["chunk"] == NONE_U32 else self.chunks[row["chunk"]][row["row"]]
                name = self.texts[row["function"]]
                self.ran.append((row["key"], name, row["span"], row["origin"]))
                self.values[task_id] = self.templates[row["template"]].run(literals, inputs)
        except Exception as error:  # noqa: BLE001 (whatever the task raises)
            told = describe(error)
            self.values[task_id] = FAILED
            self.causes[task_id] = task_id
            errors.append(
                {
                    "cause": task_id,
                    "key": row["key"],
                    "type": told.type,
                    "message": told.message,
                    "text": told.text,
                    "blob": 0,
                }
            )
            self._report([_row(task_id, REPORT_ERRED, cause=task_id)], told.blob, errors)
            return
        if wanted:
            blob = dump(self.values[task_id])
            if len(blob) > self.inline:
                self._report([_row(task_id, REPORT_MEMORY)])
            else:
                self._report([_row(task_id, REPORT_MEMORY, length=len(blob))], blob)

    # -- the peer door ----------------------------------------------------

    def _serve_peer(self, link: Link) -> None:
        try:
            while True:
                message = link.read()
                request = message.fields["request"]
                if message.type == "put":
                    for (data_id,), blob in zip(message.table("items"), message.blobs, strict=True):
                        self.put[data_id] = payload.loads(bytes(blob))
                    link.send("stored", {"request": request})
                    continue
                items, blobs = [], []
                for (task_id,) in message.table("ids"):
                    if task_id in self.values:
                        blobs.append(dump(self.values[task_id]))
                        items.append((task_id, 0, float(len(blobs[-1]))))
                    else:
                        items.append((task_id, ITEM_MISSING, 0.0))
                link.send("data", {"request": request}, {"items": items}, blobs)
        except LinkError:
            return


def _row(task_id: int, status: int, length: int | None = None, cause: int = NONE_U32) -> Any:
    start = NONE_U32 if length is None else 0
    return (task_id, task_id, status, 0, 8.0, start, NONE_U32 if length is None else length, cause)


_COLUMNS = (
    "id",
    "group",
    "suffix",
    "function",
    "span",
    "origin",
    "template",
    "chunk",
    "row",
    "flags",
    "retries",
    "restriction",
    "userPriority",
    "firstDependency",
)


class LocalClient(Client):
    """A client of a :class:`ClientScheduler`."""

    def __init__(self, scheduler: ClientScheduler, **options: Any) -> None:
        self.fake = scheduler
        super().__init__(**options)

    def _start(self) -> None:
        self.fake.linked.clear()
        link = dial(
            self.fake.door.address,
            self.fake.secret,
            "client",
            intro_of_client(),
        )
        assert self.fake.linked.wait(60)
        self._session = Session(link, self.fake.secret)
        stay_out_of_forks(self._session)
        self._calls = Calls(self._session)
        from spanwise.client.observed import Observed

        self._observed = Observed(self._session, lambda: None)
        self._status = "running"
