"""A scheduler for tests: a real door, real worker processes, no policy of its own.

Tests say what is assigned to whom and wait for rows; every wait has a time limit::

    with FakeScheduler(tmp_path) as scheduler:
        worker = scheduler.start_worker(threads=2)
        worker.assign([task(0, add, (1, 2)), task(1, inc, (), [0])])
        assert worker.value(1) == 4
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spanwise.graph.template import Part, Template
from spanwise.records.enumerations import ITEM_MISSING, ITEM_NOT_PICKLED, NONE_U32, RUN_OK
from spanwise.wire import door, payload
from spanwise.wire.errors import LinkClosed
from spanwise.wire.handshake import new_secret
from spanwise.wire.link import Link, dial

#: Seconds: the machine may be very busy.
LIMIT = 60.0
#: Tables of `measured` that are kept.
_MEASURED = (
    "memory",
    "fine",
    "stacks",
    "frames",
    "samples",
    "running",
    "transfers",
    "threads",
    "system",
    "load",
)


class RunPart(NamedTuple):
    """A row of the table `parts`."""

    kind: int
    function: int
    span: int
    offset: float
    duration: float
    cpu: float
    coreWait: float
    bytes: float
    from_: int
    held: int


class Run(NamedTuple):
    """A row of `finished` with what belongs to it."""

    taskId: int
    runId: int
    status: int
    thread: int
    start: float
    duration: float
    cpu: float
    waitInputs: float
    waitThread: float
    nbytes: float
    #: Of the result, as `name_of_type` says it; None: there is none.
    type: str | None
    parts: list[RunPart]
    inline: bytes | None
    error: dict[str, Any] | None

    @property
    def stop(self) -> float:
        return self.start + self.duration


class Assigned(NamedTuple):
    """A task to assign."""

    task_id: int
    function: Any
    literals: tuple[Any, ...]
    inputs: tuple[int, ...]
    span: int
    function_id: int
    wanted: bool
    priority: float | None
    parts: tuple[Part, ...] | None


def task(
    task_id: int,
    function: Callable[..., Any] | None,
    literals: tuple[Any, ...] = (),
    inputs: list[int] | tuple[int, ...] = (),
    span: int = 0,
    function_id: int = 1,
    wanted: bool = True,
    priority: float | None = None,
    parts: tuple[Part, ...] | None = None,
) -> Assigned:
    """`function(*inputs, *literals)`."""
    return Assigned(
        task_id, function, literals, tuple(inputs), span, function_id, wanted, priority, parts
    )


class WorkerHandle:
    """One worker process and what it has said."""

    def __init__(self, scheduler: FakeScheduler, number: int) -> None:
        self.number = number
        self.scheduler = scheduler
        self.link: Link | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.changed = threading.Condition()
        self.ended = False
        self.runs: list[Run] = []
        self.missing: list[tuple[int, int]] = []
        self.messages: list[Any] = []
        self.replicas: list[tuple[int, float]] = []
        self.names: dict[int, str] = {}
        self.measured: dict[str, list[tuple[Any, ...]]] = {}
        self._runs_begun = 0
        self._templates: dict[Any, int] = {}
        #: Ids of all that was sent to be kept, as `dropBlobs` names them.
        self.blobs: dict[str, list[int]] = {"templates": [], "chunks": []}
        self._ids = 0
        self._requests = 0

    # ── to the worker ──

    def assign(
        self,
        tasks: list[Assigned],
        holders: dict[int, int] | None = None,
        launch: dict[str, Any] | None = None,
    ) -> dict[int, int]:
        """Send one `assign`; inputs are the worker's own unless `holders` says otherwise."""
        rows, dependencies, blobs = [], [], []
        templates, chunks, run_ids = [], [], {}
        chunk_rows = []
        self._ids += 1
        chunk = self._ids
        for each in tasks:
            shape = (each.function, len(each.inputs), len(each.literals), each.parts)
            template = self._templates.get(shape)
            if template is None:
                self._ids += 1
                template = self._templates[shape] = self._ids
                order = (*range(len(each.inputs)), *(~i for i in range(len(each.literals))))
                templates.append({"id": template, "blob": len(blobs)})
                blobs.append(payload.dumps(Template(each.function, order, parts=each.parts)))
            self._runs_begun += 1
            run_id = self._runs_begun
            run_ids[each.task_id] = run_id
            where = (NONE_U32, 0)
            if each.literals:
                where = (chunk, len(chunk_rows))
                chunk_rows.append(each.literals)
            priority = each.priority if each.priority is not None else run_id
            rows.append(
                (
                    each.task_id,
                    run_id,
                    template,
                    *where,
                    each.function_id,
                    each.span,
                    int(each.wanted),
                    priority,
                    self.scheduler.clock(),
                    len(dependencies),
                )
            )
            for i in each.inputs:
                dependencies.append((i, (holders or {}).get(i, self.number), 100.0))
        if chunk_rows:
            chunks.append({"id": chunk, "blob": len(blobs)})
            blobs.append(payload.dumps(chunk_rows))
        fields: dict[str, Any] = {"templates": templates, "chunks": chunks}
        for sort, sent in fields.items():
            self.blobs[sort] += [each["id"] for each in sent]
        if launch is not None:
            fields["launch"] = launch
        self.send("assign", fields, {"tasks": rows, "dependencies": dependencies}, blobs)
        return run_ids

    def send(self, kind: str, fields: Any = None, tables: Any = None, blobs: Any = ()) -> None:
        assert self.link is not None
        self.link.send(kind, fields, tables, blobs)

    def flush(self) -> None:
        self._requests += 1
        request = self._requests
        self.send("flush", {"request": request})
        self.wait(
            lambda: any(
                m.type == "flushed" and m.fields["request"] == request for m in self.messages
            )
        )

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The `run` message; returns the value or raises the error."""
        self._requests += 1
        request = self._requests
        self.send("run", {"request": request}, None, [payload.dumps((function, args, kwargs))])
        answer: list[Any] = []

        def came() -> bool:
            answer[:] = [
                m for m in self.messages if m.type == "runResult" and m.fields["request"] == request
            ]
            return bool(answer)

        self.wait(came)
        value = payload.loads(answer[0].blobs[0])
        if not answer[0].fields["ok"]:
            raise value["exception"]
        return value

    # ── from the worker ──

    def read(self) -> None:
        assert self.link is not None
        try:
            while True:
                for message in self.link.read_batch():
                    with self.changed:
                        self._take(message)
                        self.changed.notify_all()
        except LinkClosed:
            with self.changed:
                self.ended = True
                self.changed.notify_all()

    def _take(self, message: Any) -> None:
        self.messages.append(message)
        fields = message.fields
        if message.type in ("finished", "measured"):
            first = fields.get("firstName") or 0
            for i, text in enumerate(fields.get("names") or ()):
                self.names[first + i] = text
        if message.type == "finished":
            errors = {error["row"]: error for error in fields["errors"]}
            rows = list(message.table("runs"))
            parts = [RunPart(*part) for part in message.table("parts")]
            inline = message.blobs[0] if message.blobs else b""
            for i, row in enumerate(rows):
                stop = rows[i + 1][12] if i + 1 < len(rows) else len(parts)
                start, length = row[10], row[11]
                error = errors.get(i)
                if error is not None:
                    error = {**error, **payload.loads(message.blobs[error["blob"]])}
                found = None if length == NONE_U32 else bytes(inline[start : start + length])
                kind = None if row[13] == NONE_U32 else self.names[row[13]]
                self.runs.append(Run(*row[:10], kind, parts[row[12] : stop], found, error))
            self.missing += list(message.table("missing"))
        elif message.type == "replicas":
            self.replicas += list(message.table("added"))
        elif message.type == "measured":
            for name in _MEASURED:
                self.measured.setdefault(name, []).extend(message.table(name))

    def wait(self, condition: Callable[[], Any], limit: float = LIMIT) -> None:
        with self.changed:
            if not self.changed.wait_for(condition, limit):
                raise TimeoutError(f"not within {limit} s; runs {self.runs[-3:]}")

    def run_of(self, run_id: int) -> Run:
        """The row of a run, once it has ended."""
        self.wait(lambda: any(run.runId == run_id for run in self.runs))
        return next(run for run in self.runs if run.runId == run_id)

    def task_run(self, task_id: int) -> Run:
        """The latest row of a task, once there is one."""
        self.wait(lambda: any(run.taskId == task_id for run in self.runs))
        return [run for run in self.runs if run.taskId == task_id][-1]

    def value(self, task_id: int) -> Any:
        """The result of a task, inline or fetched; raises its error."""
        run = self.task_run(task_id)
        if run.error is not None:
            raise run.error["exception"]
        assert run.status == RUN_OK, run
        if run.inline is not None:
            return payload.loads(run.inline)
        return self.get([task_id])[task_id]

    def peer(self) -> Link:
        assert self.link is not None
        return dial(self.link.intro["address"], self.scheduler.secret, "peer", {"worker": None})

    def get(self, task_ids: list[int]) -> dict[int, Any]:
        """Fetch results from the peer door; errors are raised."""
        link = self.peer()
        try:
            link.send("get", {"request": 1}, {"ids": [(i,) for i in task_ids]})
            values: dict[int, Any] = {}
            more = True
            while more:
                message = link.read()
                more = message.fields["more"]
                blobs = iter(message.blobs)
                for task_id, status, _ in message.table("items"):
                    if status == ITEM_MISSING:
                        values[task_id] = KeyError(task_id)
                        continue
                    values[task_id] = payload.loads(next(blobs))
                    if status == ITEM_NOT_PICKLED:
                        raise values[task_id]["exception"]
            return values
        finally:
            link.close()

    def samples(self) -> Iterator[tuple[int, int, list[str], int, int]]:
        """(span, function, frame names outermost first, state, n)."""
        frames = {row[0]: self.names[row[1]] for row in self.measured.get("frames", ())}
        stacks = {row[0]: row[1:] for row in self.measured.get("stacks", ())}
        for _, _, span, function, stack, state, n in self.measured.get("samples", ()):
            path = []
            while stack != NONE_U32:
                stack, frame = stacks[stack]
                path.append(frames[frame])
            yield span, function, path[::-1], state, n


class FakeScheduler:
    """A door for workers, and the processes behind it."""

    def __init__(self, folder: Path, transport: str = "unix", skew: float = 0.0) -> None:
        self.folder = folder
        #: By so many seconds its clock is ahead of the workers'.
        self.skew = skew
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        self.transport = transport
        self.secret = new_secret()
        self.workers: list[WorkerHandle] = []
        self._door = door.listen(
            folder,
            "scheduler",
            self.secret,
            ["worker"],
            self._joined,
            self._welcome if skew else None,
            transport,
        )

    def __enter__(self) -> FakeScheduler:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def clock(self) -> float:
        """Seconds of its own clock."""
        return time.perf_counter() + self.skew

    def _welcome(self, role: str, intro: dict[str, Any]) -> dict[str, Any]:
        return {"schedulerStart": self.clock(), "clock": self.clock()}

    def _joined(self, link: Link) -> None:
        worker = self.workers[link.intro["worker"]]
        with worker.changed:
            worker.link = link
            worker.changed.notify_all()
        worker.read()

    def start_worker(
        self,
        threads: int = 1,
        memory_limit: float = 0,
        path: list[str] | None = None,
        cwd: str = "",
        modules: Sequence[str] = (),
    ) -> WorkerHandle:
        """Start one; `modules` are those that it imports at once, as a client's workers do."""
        worker = WorkerHandle(self, len(self.workers))
        self.workers.append(worker)
        config = {
            "scheduler": self._door.address,
            "secretHex": self.secret.hex(),
            "worker": worker.number,
            "name": f"worker-{worker.number}",
            "threads": threads,
            "memoryLimit": memory_limit,
            "folder": str(self.folder),
            "path": path or sys.path,
            "cwd": cwd,
            "modules": [*modules],
            "transport": self.transport,
        }
        worker.process = subprocess.Popen(
            [sys.executable, "-m", "spanwise.worker"], stdin=subprocess.PIPE
        )
        assert worker.process.stdin is not None
        worker.process.stdin.write(json.dumps(config).encode() + b"\n")
        worker.process.stdin.flush()
        worker.wait(lambda: worker.link is not None)
        self.tell_peers()
        return worker

    def tell_peers(self) -> None:
        peers = [
            {"id": w.number, "address": w.link.intro["address"]}
            for w in self.workers
            if w.link is not None and not w.ended
        ]
        for worker in self.workers:
            if worker.link is not None and not worker.ended:
                worker.send("peers", {"workers": peers})

    def close(self) -> None:
        self._door.close()
        for worker in self.workers:
            process = worker.process
            if process is None:
                continue
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            process.wait(LIMIT)
            assert process.stdin is not None
            process.stdin.close()
        for worker in self.workers:
            if worker.link is not None:
                worker.link.close()
