"""Writes the record log of a Dask cluster: what a scheduler's plugin told becomes rows.

All times that come in are of the scheduler's clock, seconds since the epoch; second 0 of the log
is `epoch`. One thread writes; sealing is safe from any thread.

What Dask does not say stays unknown: CPU seconds, waits, the bytes of a transfer.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from time import perf_counter
from typing import Any

from dask.utils import key_split

from spanwise.bounded_map import BoundedMap
from spanwise.dask_bridge.left_out import LeftOut
from spanwise.dask_bridge.not_told import not_told
from spanwise.dask_bridge.pulled import Columns, Pulled
from spanwise.dask_bridge.running_tasks import SHOWN_SECONDS, RunningTasks
from spanwise.dask_bridge.sample_pull import Sampled
from spanwise.dask_bridge.sample_trees import Frame
from spanwise.dask_bridge.thread_places import ThreadPlaces
from spanwise.dask_bridge.told_progress import Progress, ToldProgress
from spanwise.dask_bridge.waiting_tasks import Wait, WaitingTasks
from spanwise.processes.this_process import notebook
from spanwise.records.bounded_texts import BoundedTexts
from spanwise.records.enumerations import (
    CAPACITY_CLOSING,
    CAPACITY_GONE,
    CAPACITY_PAUSED,
    CAPACITY_RUNNING,
    CLOCK_MEASURED,
    KIND_COMPUTE,
    KIND_DESERIALIZE,
    KIND_DISK_READ,
    KIND_DISK_WRITE,
    KIND_SERIALIZE,
    KIND_TRANSFER,
    LARGEST_U16,
    LARGEST_U32,
    NONE_U16,
    NONE_U32,
    ORIGIN_DEFAULT,
    ORIGIN_INFERRED,
    ORIGIN_USER,
    RUN_FAILED,
    RUN_OK,
    SAMPLE_UNKNOWN,
    SPAN_DEFAULT,
    SPAN_USER,
)
from spanwise.records.log_writer import LogWriter, SealedBlock
from spanwise.records.tables import record_tables

#: Actions of a task by Dask's names.
ACTIONS = {
    "compute": KIND_COMPUTE,
    "transfer": KIND_TRANSFER,
    "disk-read": KIND_DISK_READ,
    "disk-write": KIND_DISK_WRITE,
    "deserialize": KIND_DESERIALIZE,
    "serialize": KIND_SERIALIZE,
}
_STATES = {"paused": CAPACITY_PAUSED, "closing": CAPACITY_CLOSING}
_LEFT = {1: "retired", 0: "lost"}
#: Keys whose tasks are known again: a task that runs once more is the same.
_KEPT_KEYS = 200_000
_KEPT_GROUPS = 50_000
#: Spans that are known, and sums: a scheduler that says more is not believed.
_KNOWN_SPANS = _KNOWN_SUMS = 500_000
#: Of spans beyond these the number of the span around each is known, of the newest.
_REFUSED_SPANS = 50_000
_MOST_WORKERS = LARGEST_U16 - 1
_MOST_LANES = LARGEST_U16
#: Of a worker, that have their places beside each other, before they have run anything.
_LANES_AT_ONCE = 64
#: Of profiles; the frames beyond them count to those that called them.
_MOST_STACKS = 200_000
#: How exactly times and spans of samples are told.
_MOST_SECONDS, _MOST_SPANS_OF_FUNCTION = 600, 100
#: What the seconds before the last samples count, when spans get theirs.
_FADED_SECONDS = 1e-6
#: Functions whose spans are known.
_KEPT_FUNCTIONS = 10_000
#: States of tasks that are told by name; Dask has eight.
_MOST_STATES, _STATE_LENGTH = 20, 40
#: A run lasts so long at least: what has no length has not begun.
_SHORTEST_SECONDS = 1e-9
_NAN = float("nan")
#: Why rows are missing.
_RING = "the ring on the Dask scheduler"
_NO_LANE = "no lane was left"
#: As in src/observer/store/ingest.ts.
_MORE_SUMS = "more sums than are kept"
#: What tasks did.
_OF_TASKS = "execute"
#: By how much the scheduler's clock must have moved, or be known better, to be told anew.
_CLOCK_SECONDS = 0.05
#: What the observer believes of times.
_MOST_APART = 1e9


class DaskLog:
    """One log.

    Parameters
    ----------
    name
        Shown by the panels.
    first
        The first answer of the scheduler's plugin: of what scheduler, and since when.
    emit
        Takes sealed blocks and the seconds since the log's start.
    sampled
        When the samples begin that workers took before; None: there are none.
    host
        Of the scheduler; ``""``: it is not known.
    since
        When the scheduler may have begun, if it took the place of one that was watched.
    """

    def __init__(
        self,
        name: str,
        first: Pulled,
        emit: Callable[[SealedBlock, float], None],
        sampled: float | None = None,
        host: str = "",
        since: float | None = None,
    ) -> None:
        self.name = name
        self.cluster_id = uuid.uuid4().hex[:16]
        self.log_id = uuid.uuid4().hex[:16]
        told = [] if sampled is None else [sampled]
        self.epoch = min([_earliest(first, since), *told])
        self.now = first.now
        #: Seconds that the scheduler's clock is ahead of this machine's, as it was told last.
        self._clock_ahead = 0.0
        self.lock = threading.RLock()
        self._versions = {"python": first.python, "distributed": first.distributed}
        self._writer = LogWriter(lambda block: emit(block, max(0.0, self.now - self.epoch)))
        self.names = BoundedTexts(lambda number, text: self._writer.add("names", number, text))
        self._workers: dict[str, int] = {}
        #: What was written of each worker, by its number.
        self._rows_of_workers: dict[int, tuple[Any, ...]] = {}
        #: Of workers that came and were not described yet: when, and how many threads they have;
        #: -1: that was not told.
        self._came: dict[int, tuple[float, int]] = {}
        self._capacity: dict[int, tuple[int, int]] = {}
        self._places: dict[int, ThreadPlaces] = {}
        self._lanes: dict[tuple[int, int], int] = {}
        self._spans: dict[str, int] = {}
        #: Those for which there was no room, by the span that has what is theirs.
        self._refused_spans: BoundedMap[str, int] = BoundedMap(_REFUSED_SPANS)
        #: Their numbers, and when they came.
        self._clients: dict[str, tuple[int, float]] = {}
        #: Key → number of its task, how often it has run, until when, and when that was told.
        self._nodes: BoundedMap[str, list[Any]] = BoundedMap(_KEPT_KEYS)
        self._next_node = self._next_run = 0
        #: Runs that the plugin had noted up to the last answer, or before it was there; -1: it does
        #: not say.
        self._told_runs = -1
        self._plugin = ""
        #: Group → whether its newest tasks got their span from it, or lost their own.
        self._inferred: BoundedMap[str, bool] = BoundedMap(_KEPT_GROUPS)
        self._running = RunningTasks(self._say_running)
        self._running_spans: dict[str, int] = {}
        self._waiting = WaitingTasks()
        self._progress = ToldProgress()
        #: Of each worker, and of the scheduler itself, when the newest was: its heartbeat, and the
        #: figures of its memory.
        self._heartbeats: dict[int, float] = {}
        self._memory_seen: dict[int, float] = {}
        #: Of the curves that go on, what was written of them.
        self._memory_runs: dict[int, tuple[int, float, float, str]] = {}
        self._next_memory_run = 0
        self._stacks: dict[tuple[int, int], int] = {}
        self._frames: dict[Frame, int] = {}
        #: Function → seconds of threads by span, since samples were taken.
        self._held: BoundedMap[str, dict[int, float]] = BoundedMap(_KEPT_FUNCTIONS)
        #: When it was last told that a thread has worked: the scheduler's time.
        self.worked_at = first.now
        #: Sums that were told last, by their labels.
        self._fine: dict[tuple[Any, ...], float] = {}
        self._has_fine = False
        #: By table, and by why there was no room.
        self._left_out: dict[tuple[str, str], LeftOut] = {}
        #: Whether the scheduler tells what it adds up of its tasks.
        self.has_task_sums = "fine" not in first.cannot
        self._knows_spans = "spans" not in first.cannot
        default = self.names.id_of("default")
        self._writer.add("spans", 0, 0, default, 0, 0.0, _NAN, SPAN_DEFAULT, "", 0, "")
        before = _before(first)
        header = {
            **self.description(),
            "attached": self.since(first.attached),
            "before": before,
            "host": host,
            "notTold": not_told(first.cannot),
        }
        self._writer.add("header", 0.0, json.dumps(header))
        self._event("attached", self.since(first.attached), None, json.dumps(before))

    def since(self, t: float) -> float:
        """Seconds since the log's start."""
        return max(0.0, t - self.epoch)

    def description(self) -> dict[str, Any]:
        """The fields of ``open``."""
        return {
            "logId": self.log_id,
            "clusterId": self.cluster_id,
            "name": self.name,
            "kind": "dask",
            "notebook": notebook(),
            "wallEpoch": self.epoch,
            "clockAhead": self._clock_ahead,
            "pid": os.getpid(),
            "versions": self._versions,
            "capabilities": {
                "waits": False,
                "cpu": False,
                "lanes": True,
                "spans": self._knows_spans,
                "samples": True,
                "memory": True,
                "managed": True,
                "taskSums": self.has_task_sums,
            },
        }

    def tell_clock(self, ahead: float, within: float) -> None:
        """The scheduler's clock is so many seconds ahead of this machine's, more or less."""
        with self.lock:
            if abs(ahead - self._clock_ahead) > max(_CLOCK_SECONDS, within):
                self._clock_ahead = ahead
                if abs(ahead) <= _MOST_APART:
                    row = NONE_U16, ahead, within, _NAN, CLOCK_MEASURED
                    self._writer.add("clocks", self.since(self.now), *row)

    # -- an answer --------------------------------------------------------

    def write(self, pulled: Pulled) -> None:
        """Write all that an answer holds that is new."""
        with self.lock:
            self.now = max(self.now, pulled.now)
            states, rows = pulled.states, pulled.rows
            if pulled.plugin != self._plugin:
                self._plugin, self._told_runs = pulled.plugin, pulled.live_runs
            if pulled.lost:
                self._gap(pulled)
            self._told_runs = pulled.runs
            if "workers" in states:
                self._write_workers(states["workers"])
            if "gone" in states:
                self._write_gone(states["gone"], rows.get("left"))
            if "clients" in states or "client" in rows:
                self._write_clients(states.get("clients", {}), rows.get("client"))
            if "spans" in states:
                self._write_spans(states["spans"])
            if "graphs" in rows and "submitted" in rows:
                self._write_submitted(rows["graphs"], rows["submitted"])
            if "joined" in rows:
                self._note_coming(rows["joined"])
            if "done" in rows:
                self._write_done(rows["done"], rows.get("parts", {}), pulled.live)
            self._write_events(rows)
            if "left" in rows:
                self._write_short_lived(rows["left"])
            if "executing" in states:
                self._note_executing(states["executing"])
            if "memory" in states:
                self._write_memory(states["memory"])
            if "executing" in states and not pulled.waiting:
                # (of a task that is listed the end may be among the rows that wait)
                self._write_running(states["executing"])
            if "loop" in states:
                self._write_loop(states["loop"])
            if "fine" in states:
                self._write_fine(states["fine"])
            self._write_waiting(states.get("waiting"), pulled.address)
            self._write_progress(states.get("progress"))
            self._write_left_out()

    def _gap(self, pulled: Pulled) -> None:
        start, stop = self.since(pulled.lost_from), self.since(pulled.lost_to)
        # (workers and graphs lie in the ring as well)
        known = min(self._told_runs, pulled.first_runs) >= 0
        lost = pulled.first_runs - self._told_runs if known else pulled.lost
        self._add_gap("runs", start, stop, min(max(lost, 0), pulled.lost), _RING)

    def _add_gap(self, table: str, start: float, stop: float, rows: int, why: str) -> None:
        number = record_tables()[table].number
        count = min(max(rows, 0), LARGEST_U32)
        self._writer.add("gaps", number, start, max(start, stop), count, why)

    def _misplace(self, table: str, rows: int, start: float, stop: float) -> None:
        """Leave out rows for whose thread there is no lane."""
        self._leave_out(table, _NO_LANE, rows, start, stop)

    def _leave_out(self, table: str, why: str, rows: int, start: float, stop: float) -> None:
        self._left_out.setdefault((table, why), LeftOut()).add(rows, start, stop)

    def _write_left_out(self, all: bool = False) -> None:
        for (table, why), left_out in self._left_out.items():
            taken = left_out.take(self.now) if all else left_out.take_due(self.now)
            if taken is not None:
                start, stop, rows = taken
                self._add_gap(table, self.since(start), self.since(stop), rows, why)

    # -- what there is ----------------------------------------------------

    def _write_workers(self, said: Columns) -> None:
        columns = ("worker", "name", "host", "pid", "threads", "memory_limit", "joined", "status")
        rows = sorted(_rows(said, columns), key=_by_name)
        for address, name, host, pid, threads, limit, joined, status in rows:
            number = self._worker(address)
            if number == NONE_U16:
                continue
            threads = min(max(threads, 0), LARGEST_U16)
            row = (
                number,
                pid if 0 <= pid <= LARGEST_U32 else 0,
                threads,
                float(max(limit, 0)),
                self.since(joined) if joined else 0.0,
                _NAN,
                name or address,
                address,
                host or "",
                "",
            )
            self._rows_of_workers[number] = row
            self._came.pop(number, None)
            self._writer.add("workers", *row)
            self._places.setdefault(number, ThreadPlaces()).threads = max(threads, 1)
            self._set_capacity(number, threads, _STATES.get(status or "", CAPACITY_RUNNING))
            for place in range(min(threads, _LANES_AT_ONCE)):
                self._lane_at(number, place)

    def _write_gone(self, said: Columns, left: Columns | None) -> None:
        how = {} if left is None else dict(zip(left["worker"], left["expected"], strict=True))
        when = {} if left is None else dict(zip(left["worker"], left["t"], strict=True))
        for address in said["worker"]:
            number = self._workers.get(address)
            row = self._rows_of_workers.get(-1 if number is None else number)
            if number is None or row is None:
                continue
            why = _LEFT.get(how.get(address, -1), "left")
            self._write_left(number, self.since(when.get(address, self.now)), why)

    def _note_coming(self, said: Columns) -> None:
        for address, t, threads in _rows(said, ("worker", "t", "threads")):
            number = self._worker(address)
            if number != NONE_U16 and number not in self._rows_of_workers:
                self._came[number] = t, threads

    def _write_short_lived(self, left: Columns) -> None:
        """Workers that have left before their description was looked at, and had run tasks."""
        for address, t, expected in _rows(left, ("worker", "t", "expected")):
            number = self._workers.get(address, NONE_U16)
            self._came.pop(number, None)
            if number in self._rows_of_workers and number not in self._capacity:
                threads = self._rows_of_workers[number][2]
                self._set_capacity(number, threads, CAPACITY_RUNNING)
                self._write_left(number, self.since(t), _LEFT.get(expected, "left"))

    def _write_left(self, number: int, at: float, why: str) -> None:
        row = self._rows_of_workers[number]
        self._writer.add("workers", *row[:5], at, *row[6:9], why)
        self._set_capacity(number, 0, CAPACITY_GONE)
        self._event("worker-lost" if why == "lost" else "worker-left", at, number, why)

    def _set_capacity(self, worker: int, threads: int, state: int) -> None:
        if self._capacity.get(worker) != (threads, state):
            is_new = worker not in self._capacity
            self._capacity[worker] = threads, state
            joined = self._rows_of_workers[worker][4]
            at = joined if is_new else self.since(self.now)
            self._writer.add("capacity", at, worker, threads, state)

    def _worker(self, address: str | None) -> int:
        """The number of a worker; none for one too many, or if there is no address."""
        if address is None:
            return NONE_U16
        found = self._workers.get(address)
        if found is None:
            if len(self._workers) >= _MOST_WORKERS:
                return NONE_U16
            found = self._workers[address] = len(self._workers)
        return found

    def _lane(self, address: str, thread: int, start: float, stop: float, key: str) -> int | None:
        """The lane of a thread of a worker that has run a task; None: there is no room for it."""
        worker = self._worker(address)
        if worker == NONE_U16:
            return None
        places = self._places.setdefault(worker, ThreadPlaces())
        if worker not in self._rows_of_workers:
            # It had left before its description was looked at.
            came, threads = self._came.get(worker, (start, -1))
            joined = self.since(min(came, start))
            places.threads = min(max(threads, 1), LARGEST_U16)
            row = (worker, 0, places.threads, 0.0, joined, _NAN, address, address, "", "")
            self._rows_of_workers[worker] = row
            self._writer.add("workers", *row)
        found = places.of(thread, start, stop)
        self._running.ran(worker, key, None if found is None else found[0])
        if found is None:
            return None
        place, is_new = found
        if place >= places.threads and self._came.get(worker, (0.0, -1))[1] < 0:
            self._has_more_threads(worker, place + 1)
        lane = self._lanes.get((worker, place))
        if lane is None:
            if len(self._lanes) >= _MOST_LANES:
                return None
            lane = self._lanes[worker, place] = len(self._lanes)
        if is_new:
            ident = float(thread) if thread >= 0 else _NAN
            since = self.since(start) if thread >= 0 else _NAN
            self._writer.add("lanes", lane, worker, place, ident, since)
        return lane

    def _has_more_threads(self, worker: int, threads: int) -> None:
        """A worker whose description was not looked at runs so many tasks at a time."""
        if worker not in self._capacity:
            self._places[worker].threads = threads
            number, pid, _, *rest = self._rows_of_workers[worker]
            row = self._rows_of_workers[worker] = (number, pid, threads, *rest)
            self._writer.add("workers", *row)

    def _write_clients(self, said: Columns, came_and_went: Columns | None) -> None:
        """Those that are there, then who has come or gone: when is told by these rows alone."""
        for client, seen in _rows(said, ("client", "seen")):
            if client not in self._clients:
                self._write_client(client, self.since(seen) if seen else 0.0, _NAN)
        for client, t, joined in _rows(came_and_went, ("client", "t", "joined")):
            at = self.since(t)
            if joined:
                self._write_client(client, at, _NAN)
            elif client in self._clients:
                self._write_client(client, self._clients[client][1], at)

    def _write_client(self, client: str, joined: float, left: float) -> None:
        number, _ = self._clients.get(client, (len(self._clients) + 1, 0.0))
        if number <= _MOST_WORKERS:
            self._clients[client] = number, joined
            self._writer.add("clients", number, joined, left, client, "", "")

    def _write_spans(self, said: Columns) -> None:
        columns = ("id", "parent", "name", "enqueued", "start", "stop", "done")
        rows = {row[0]: row for row in _rows(said, columns)}

        def written(id: str, depth: int = 0) -> int:
            row = rows.pop(id, None)
            if row is None or depth > 100:
                return self._span(id)
            _, parent, name, enqueued, start, stop, done = row
            above = 0 if parent is None else written(parent, depth + 1)
            number = self._spans.get(id)
            if number is None:
                if len(self._spans) >= _KNOWN_SPANS:
                    return self._refused_spans.keep(id, above)
                number = self._spans[id] = len(self._spans) + 1
            opened = self.since(enqueued or start or self.now)
            closed = self.since(stop) if done and stop else _NAN
            is_default = parent is None and name == "default"
            self._writer.add(
                "spans",
                number,
                above,
                self.names.id_of(name),
                0,
                opened,
                closed,
                SPAN_DEFAULT if is_default else SPAN_USER,
                id,
                0,
                "",
            )
            return number

        for id in list(rows):
            written(id)

    # -- what happens -----------------------------------------------------

    def _write_submitted(self, graphs: Columns, submitted: Columns) -> None:
        rows = iter(_rows(submitted, ("key", "group", "prefix", "span", "inferred")))
        for t, count in _rows(graphs, ("t", "tasks")):
            # (in the other order it would take one row more than it wants)
            for _, (key, group, prefix, span, inferred) in zip(range(count), rows, strict=False):
                if group is not None:
                    self._inferred.keep(group, bool(inferred))
                self._add_node(key, group, prefix, span, t)

    def _add_node(
        self, key: str, group: str | None, prefix: str | None, span: str | None, t: float
    ) -> list[Any]:
        number = self._next_node
        self._next_node += 1
        head = group or ""
        if not key.startswith(head):
            head = f"('{head}'"
            head = head if key.startswith(head) else ""
        group_id, suffix = self.names.group(head, key[len(head) :])
        # (of a group that nobody saw coming, no one knows what its tasks were written in)
        is_inferred = group is None or self._inferred.get(group) is not False
        if not self._knows_spans:
            origin = ORIGIN_INFERRED
        elif span is None:
            origin = ORIGIN_DEFAULT
        else:
            origin = ORIGIN_INFERRED if is_inferred else ORIGIN_USER
        self._writer.add(
            "nodes",
            number,
            group_id,
            self.names.id_of(prefix or group or key),
            self._span(span),
            origin,
            self.since(t),
            0,
            suffix,
        )
        return self._nodes.keep(key, [number, 0, 0.0, 0.0])

    def _span(self, id: str | None) -> int:
        """The number of a span, or of the one around it if there was no room for it; 0: none."""
        if id is None:
            return 0
        found = self._spans.get(id)
        return self._refused_spans.get(id) or 0 if found is None else found

    def _write_done(self, done: Columns, parts: Columns, live: int) -> None:
        columns = (
            *("n", "key", "group", "prefix", "span", "worker", "thread"),
            *("erred", "nbytes", "type", "given", "t", "parts", "text"),
        )
        pieces = iter(_rows(parts, ("action", "start", "stop", "source")) if parts else ())
        for row in _rows(done, columns):
            (n, key, group, prefix, span, worker, thread, *rest) = row
            erred, nbytes, kind, given, t, count, text = rest
            own = [next(pieces) for _ in range(count)]
            computes = [(start, stop) for action, start, stop, _ in own if action == "compute"]
            if not computes:
                self._event("task-failed" if erred else "task-ended", self.since(t), None, key)
                continue
            # (the log has nothing of before its second 0)
            start, stop = max(computes[0][0], self.epoch), computes[-1][1]
            node = self._nodes.get(key)
            if n < live and node is not None and stop <= node[2]:
                continue  # (history of a plugin that was shipped again)
            lane = self._lane(worker, thread, start, stop, key)
            if lane is None:
                self._misplace("runs", 1, start, stop)
                continue
            if node is None:
                node = self._add_node(key, group, prefix, span, given or start)
            node[1:] = min(node[1] + 1, 255), stop, t
            run = self._next_run
            self._next_run += 1
            function, number = self.names.id_of(prefix or group or key), self._span(span)
            began = self.since(start)
            duration = max(stop - start, _SHORTEST_SECONDS)
            self._note_held(prefix or group or key, number, duration)
            self._writer.add(
                "runs",
                run,
                node[0],
                function,
                number,
                lane,
                RUN_FAILED if erred else RUN_OK,
                node[1],
                began,
                duration,
                *(_NAN, _NAN, _NAN, _NAN),
                float(max(nbytes, 0)),
                NONE_U32 if erred or kind is None else self.names.id_of(_class_name(kind)),
            )
            for action, since, until, source in own:
                code = ACTIONS.get(action)
                if code is None or (code == KIND_COMPUTE and len(computes) == 1):
                    continue
                self._writer.add(
                    "parts",
                    run,
                    code,
                    int(code == KIND_COMPUTE),
                    function,
                    number,
                    self._worker(source) if code == KIND_TRANSFER else NONE_U16,
                    since - start,
                    max(0.0, until - since),
                    *(_NAN, _NAN, _NAN),
                )
            if erred:
                self._writer.add(
                    "events",
                    began + duration,
                    self.names.id_of("task-failed"),
                    NONE_U16,
                    number,
                    run,
                    _as_traceback(text or ""),
                )

    def _write_events(self, rows: Mapping[str, Columns]) -> None:
        for t, worker in _rows(rows.get("joined"), ("t", "worker")):
            self._event("worker-joined", self.since(t), self._worker(worker), worker)
        for (t,) in _rows(rows.get("restart"), ("t",)):
            self._event("restarted", self.since(t), None, "all tasks were dropped")
        for t, topic, text in _rows(rows.get("event"), ("t", "topic", "text")):
            self._event(topic, self.since(t), None, text or "")

    def _event(self, kind: str, at: float, worker: int | None, text: str) -> None:
        where = NONE_U16 if worker is None else worker
        self._writer.add("events", at, self.names.id_of(kind), where, 0, NONE_U32, text)

    # -- what runs ---------------------------------------------------------

    def _write_running(self, said: Columns) -> None:
        """Write what changed: each worker told it with its last heartbeat."""
        listed: dict[tuple[int, str], float] = {}
        self._running_spans.clear()
        columns = ("worker", "key", "group", "span", "seconds", "t")
        for address, key, group, span, seconds, told in _rows(said, columns):
            worker = self._workers.get(address)
            start = told - max(seconds, 0.0)
            node = self._nodes.get(key)
            # (a heartbeat takes its time, and may come after the end of what it says)
            is_over = node is not None and node[3] >= start - SHOWN_SECONDS
            if worker is None or is_over or self.now - start < SHOWN_SECONDS:
                continue
            if node is None:
                self._add_node(key, group, key_split(key), span, start)
            self._running_spans[key] = self._span(span)
            listed[worker, key] = start
        self._running.list(listed, self._places)

    def _say_running(self, worker: int, place: int, key: str | None, start: float) -> None:
        lane = self._lane_at(worker, place)
        node = None if key is None else self._nodes.get(key)
        if lane is None:
            return
        if key is None or node is None:
            self._writer.add("running", lane, NONE_U32, 0, 0, self.since(start))
            return
        function = self.names.id_of(key_split(key))
        span = self._running_spans[key]
        self._writer.add("running", lane, node[0], function, span, self.since(start))

    # -- memory, system, fine metrics --------------------------------------

    def _write_memory(self, said: Columns) -> None:
        columns = (
            *("worker", "t", "at", "process", "managed", "spilled", "unmanaged_old"),
            *("cpu", "fds", "net_read", "net_write", "disk_read", "disk_write"),
            *("host_disk_read", "host_disk_write", "tick"),
        )
        for address, t, at, *figures in _rows(said, columns):
            worker = self._workers.get(address)
            if worker is None or at <= self._memory_seen.get(worker, 0.0):
                continue  # (it was told before)
            self._memory_seen[worker] = at
            process, managed, spilled, old, *system = map(_known, figures)
            self._writer.add("memory", self.since(at), worker, process, managed, spilled, old)
            before = self._heartbeats.get(worker)
            if before is None or t > before:
                self._heartbeats[worker] = t
                self._write_system(worker, t, before, process, system)

    def silent_since(self, t: float) -> int:
        """How many workers have sent no heartbeat since then; 0 where nobody tells sums at all."""
        with self.lock:
            numbers = [self._workers[address] for address in self.present()]
            heard = [self._heartbeats.get(number, 0.0) for number in numbers]
            return sum(each <= t for each in heard) if self.has_task_sums else 0

    def begin_memory_run(self, label: str, measure: str, interval: float, start: float) -> int:
        """A labelled curve begins, of which the samples come at its end; returns its number."""
        with self.lock:
            number = self._next_memory_run
            self._next_memory_run += 1
            row = self.names.id_of(measure), interval, self.since(start), label
            self._memory_runs[number] = row
            self._write_memory_run(number, row, _NAN)
            return number

    def end_memory_run(
        self, number: int, stopped: float, samples: Iterable[tuple[float, float]]
    ) -> None:
        """The curve ends; times of the scheduler."""
        with self.lock:
            for t, nbytes in samples:
                self._writer.add("memorySamples", number, self.since(t), nbytes)
            self._write_memory_run(number, self._memory_runs.pop(number), self.since(stopped))
            self.commit()

    def _write_memory_run(
        self, number: int, row: tuple[int, float, float, str], stopped: float
    ) -> None:
        measure, interval, start, label = row
        self._writer.add("memoryRuns", number, measure, interval, start, stopped, label)

    def _write_loop(self, said: Columns) -> None:
        columns = (
            *("t", "memory", "cpu", "fds", "net_read", "net_write", "disk_read", "disk_write"),
            "tick",
        )
        for t, memory, *figures in _rows(said, columns):
            before = self._heartbeats.get(NONE_U16)
            if before is None or t > before:
                self._heartbeats[NONE_U16] = t
                # (Dask's monitor counts the disks of the host, not those of the process)
                *process, disk_read, disk_write, tick = map(_known, figures)
                system = [*process, _NAN, _NAN, disk_read, disk_write, tick]
                self._write_system(NONE_U16, t, before, _known(memory), system)

    def _write_system(
        self, worker: int, t: float, before: float | None, memory: float, figures: Sequence[float]
    ) -> None:
        cpu, fds, *rates = figures
        seconds = 1.0 if before is None else t - before
        count = int(fds) if 0 <= fds < NONE_U32 else NONE_U32
        self._writer.add("system", self.since(t), worker, seconds, cpu, memory, count, *rates)

    def _write_fine(self, said: Columns) -> None:
        """Write what Dask has added up since it was told last; the first time, all of it."""
        columns = ("context", "span", "function", "activity", "unit", "value")
        is_first = not self._has_fine
        second = 0 if is_first else min(int(self.since(self.now)), LARGEST_U32 - 1)
        self._has_fine = True
        left_out = 0
        for context, span, function, activity, unit, value in _rows(said, columns):
            if is_first and context == _OF_TASKS and unit == "seconds" and function is not None:
                # (whose the samples are that were taken before)
                self._hold(function, self._span(span), max(value, 0.0))
            label = (context, span, function, activity, unit)
            before = self._fine.get(label)
            if before is None and len(self._fine) >= _KNOWN_SUMS:
                left_out += 1
                continue  # (its next sum would count twice)
            self._fine[label] = value
            # (what users measure may be less than nothing)
            more = value if before is None else value - before
            if more:
                self._writer.add(
                    "fine",
                    second,
                    NONE_U16,
                    self.names.id_of(context),
                    self._span(span),
                    NONE_U32 if function is None else self.names.id_of(function),
                    self.names.id_of(activity),
                    self.names.id_of(unit),
                    more,
                )
        if left_out:
            self._leave_out("fine", _MORE_SUMS, left_out, self.now, self.now)

    def _write_waiting(self, said: Columns | None, address: str) -> None:
        if said is None:
            self._waiting.unseen()
            return
        waits = [Wait(*row) for row in _rows(said, ("reason", "tasks", "key", "need", "needs"))]
        for row in self._waiting.changed(self.now, waits, address):
            self._writer.add("waiting", self.since(self.now), *row)

    def _write_progress(self, said: Columns | None) -> None:
        if said is None:
            rows = self._progress.unseen()
        else:
            states = ("done", "memory", "running", "waiting", "failed", "dropped")
            rows = self._progress.changed(
                [
                    Progress(
                        NONE_U32 if prefix is None else self.names.id_of(prefix),
                        self._span(span),
                        *counts,
                    )
                    for prefix, span, *counts in _rows(said, ("prefix", "span", *states))
                ]
            )
        for row in rows:
            self._writer.add("progress", self.since(self.now), *row)

    # -- samples ----------------------------------------------------------

    def _note_held(self, function: str, span: int, seconds: float) -> None:
        self.worked_at = self.now
        self._hold(function, span, seconds)

    def _hold(self, function: str, span: int, seconds: float) -> None:
        spans = self._held.get(function)
        if spans is None:
            spans = self._held.keep(function, {})
        spans[span] = spans.get(span, 0.0) + seconds

    def _note_executing(self, said: Columns) -> None:
        for key, span, seconds in _rows(said, ("key", "span", "seconds")):
            self._note_held(key_split(key), self._span(span), max(seconds, 0.0))

    def present(self) -> list[str]:
        """The addresses of the workers that are there."""
        with self.lock:
            return [
                address
                for address, number in self._workers.items()
                if self._capacity.get(number, (0, CAPACITY_GONE))[1] != CAPACITY_GONE
            ]

    def workers_there(self) -> list[tuple[str, str, int, float]]:
        """Address, host, threads and memory limit (0: none) of the workers that are there."""
        with self.lock:
            rows = [self._rows_of_workers[self._workers[each]] for each in self.present()]
            return [(row[7], row[8], row[2], row[3]) for row in rows]

    def stack(self, parent: int, frame: Frame) -> int:
        """The number of the stack of a frame that was called in another stack."""
        with self.lock:
            number = self._frames.get(frame)
            if number is None:
                if len(self._frames) >= _MOST_STACKS:
                    return parent
                number = self._frames[frame] = len(self._frames)
                name, file, line = frame
                row = number, self.names.id_of(name or "?"), self.names.id_of(file), line
                self._writer.add("frames", *row)
            found = self._stacks.get((parent, number))
            if found is None:
                if len(self._stacks) >= _MOST_STACKS:
                    return parent
                found = self._stacks[parent, number] = len(self._stacks)
                self._writer.add("stacks", found, parent, number)
            return found

    def write_samples(self, sampled: Iterable[Sampled]) -> None:
        """Write what workers have sampled; a function's samples are its spans' by their seconds."""
        with self.lock:
            for each in sampled:
                worker = self._workers.get(each.worker)
                # (they are of any of its threads)
                lane = None if worker is None else self._lane_at(worker, 0)
                if lane is None:
                    rows = sum(each.stacks.values())
                    times = [t for t, _ in each.seconds] or [self.now]
                    self._misplace("samples", rows, min(times), max(times))
                    continue
                function = self.names.id_of(each.function)
                cells = self._cells(each)
                sums = [*accumulate(weight for *_, weight in cells)]
                for stack, n in each.stacks.items():
                    for at, count in _shares(n, sums, stack):
                        second, span, _ = cells[at]
                        row = second, lane, span, function, stack, SAMPLE_UNKNOWN, count
                        self._writer.add("samples", *row)
            for spans in self._held:
                # (of a function that still runs the spans are those that it had)
                total = sum(spans.values())
                for span in spans:
                    spans[span] *= _FADED_SECONDS / total if total else 0.0

    def _cells(self, sampled: Sampled) -> list[tuple[int, int, float]]:
        """Seconds and spans of samples, and how likely each is."""
        spans = sorted((self._held.get(sampled.function) or {0: 1.0}).items(), key=_by_weight)
        last = min(int(self.since(self.now)), LARGEST_U32 - 1)
        step = 1 + len(sampled.seconds) // _MOST_SECONDS
        return [
            (min(int(self.since(t)), last), span, share * count)
            for t, count in sampled.seconds[::step]
            for span, share in spans[-_MOST_SPANS_OF_FUNCTION:]
        ]

    def _lane_at(self, worker: int, place: int) -> int | None:
        """The lane of a place of a worker, whose thread may not be known; None: no room for it."""
        lane = self._lanes.get((worker, place))
        if lane is None and len(self._lanes) < _MOST_LANES:
            lane = self._lanes[worker, place] = len(self._lanes)
            self._writer.add("lanes", lane, worker, place, _NAN, _NAN)
        return lane

    # -- to the observer --------------------------------------------------

    def unseen(self, start: float, stop: float) -> None:
        """Nobody has seen what happened between: times of the scheduler."""
        with self.lock:
            self._add_gap("runs", self.since(start), self.since(stop), 0, "nobody watched")

    def unreachable(self, because: str, until: float, has_answered: bool) -> None:
        """The scheduler does not answer anything of use, and is asked until then: its own time."""
        with self.lock:
            said: dict[str, Any] = {"because": because, "until": self.since(until)}
            if has_answered:
                said["hasAnswered"] = True
            self._event("unreachable", self.since(self.now), None, json.dumps(said))
            self._writer.seal()

    def reached(self, at: float) -> None:
        """It answers again."""
        with self.lock:
            self._event("reached", self.since(at), None, "")

    def gap(self, table: int, start: float, stop: float, rows: int) -> None:
        """Rows that the observer will never get; times of the log."""
        with self.lock:
            self._writer.add("gaps", table, start, stop, rows, "replay ring")

    def commit(self) -> None:
        """Seal what is due."""
        with self.lock:
            self._writer.commit(perf_counter())

    def seal(self) -> int:
        """Seal everything; returns the number of the newest block."""
        with self.lock:
            return self._writer.seal()

    def seal_all(self) -> int:
        """Tell also what is told once a minute, and seal everything; returns as `seal` does."""
        with self.lock:
            self._write_left_out(all=True)
            return self.seal()


def _earliest(first: Pulled, since: float | None) -> float:
    """Second 0: the earliest of what is told from before the plugin was there.

    Of a scheduler that took another one's place, all of its time: it was to be watched.
    """
    starts = first.rows.get("parts", {}).get("start", ())
    seconds = first.states.get("executing", {}).get("seconds", ())
    told = [*starts, *(first.now - each for each in seconds if each > 0)]
    if since is not None:
        told.append(max(first.started, since))
    return min([first.attached, first.now, *(t for t in told if t > 0)])


def _before(first: Pulled) -> dict[str, Any]:
    """What was there when the plugin came: how many rows Dask had recorded, tasks by state."""
    states = Counter(
        state[:_STATE_LENGTH] for state in first.states.get("tasks", {}).get("state", ())
    )
    tasks = dict(states.most_common(_MOST_STATES))
    # (of very many tasks the scheduler tells the first)
    more = max(0, first.states_more.get("tasks", 0))
    before = {"recorded": max(0, first.live - first.first), "tasks": tasks}
    return {**before, "more": more} if more else before


def _rows(columns: Columns | None, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return [*zip(*(columns[name] for name in names), strict=True)] if columns else []


def _by_name(row: tuple[Any, ...]) -> tuple[int, str]:
    """Workers get their numbers in the order of their names: 2 before 10, and before b."""
    name = str(row[1])
    digits = name.removeprefix("worker-")
    # (isdecimal() knows digits of which int() makes numbers)
    number = int(digits) if digits.isdecimal() and len(digits) < 10 else LARGEST_U32
    return number, name


def _by_weight(weighed: tuple[int, float]) -> float:
    return weighed[1]


def _shares(n: int, sums: Sequence[float], phase: int) -> Iterator[tuple[int, int]]:
    """A whole number in whole parts, about as large as their weights: which, and how much.

    Parameters
    ----------
    sums
        Of the weights up to each part, itself included.
    phase
        Varies which parts get what is left over.
    """
    offset = (phase * 0.618) % 1.0
    whole = sums[-1] if sums else 0.0
    given = at = 0
    while given < n and whole > 0:
        at = min(bisect_right(sums, whole * (given + offset) / n, at), len(sums) - 1)
        until = n if at == len(sums) - 1 else int(n * sums[at] / whole - offset) + 1
        some = min(max(until - given, 1), n - given, LARGEST_U16)
        yield at, some
        given += some


def _known(figure: float) -> float:
    """Dask's side says -1 for what it does not know."""
    return figure if figure >= 0 else _NAN


def _as_traceback(text: str) -> str:
    """As Python prints it, of what Dask tells: the exception's text, then the frames."""
    raised, _, frames = text.partition("\n")
    return f"Traceback (most recent call last):\n{frames.rstrip()}\n{raised}" if frames else raised


def _class_name(kind: str) -> str:
    """``module:name`` of a class that Dask calls ``module.name``, or by its name alone."""
    module, _, name = kind.rpartition(".")
    return f"{module or 'builtins'}:{name}"
