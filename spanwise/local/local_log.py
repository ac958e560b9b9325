"""Writes the record log of Dask's local schedulers: ids, names, spans, rows.

Times that come in are perf_counter seconds, as everywhere in Python; in the log they
count from its start. Every method is safe from any thread.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter, sub
from time import perf_counter
from typing import Any

from spanwise.graph.attribution import Attribution
from spanwise.graph.dictionaries import Spans
from spanwise.graph.key_text import KeyTexts
from spanwise.graph.packs import PartNaming, outer_key
from spanwise.graph.provenance import Source
from spanwise.local.log_ids import ProcessIds
from spanwise.local.work import Counted, Done, TaskFacts, is_fused
from spanwise.measure.fine import FineRow
from spanwise.measure.meters import MeteredValues
from spanwise.measure.parts import Part
from spanwise.processes.this_process import kernel_id, notebook_path, versions
from spanwise.records.bounded_texts import BoundedTexts
from spanwise.records.enumerations import (
    CAPACITY_RUNNING,
    NONE_U16,
    NONE_U32,
    ORIGIN_DEFAULT,
    ORIGIN_INFERRED,
    ORIGIN_USER,
    RUN_FAILED,
)
from spanwise.records.log_writer import LogWriter, SealedBlock

#: The worker that is the observing process.
HOME = 0
_NAN = float("nan")


class LocalLog:
    """One log.

    Parameters
    ----------
    name
        Shown by the panels.
    emit
        Takes sealed blocks and the seconds since the log's start.
    """

    def __init__(self, name: str, emit: Callable[[SealedBlock, float], None]) -> None:
        self.start = perf_counter()
        self.wall_epoch = time.time()
        self.name = name
        self.cluster_id = uuid.uuid4().hex[:16]
        self.log_id = uuid.uuid4().hex[:16]
        #: (To look them up takes 6 ms.)
        self._versions = versions()
        self.lock = threading.RLock()
        self._writer = LogWriter(lambda block: emit(block, self.since(perf_counter())))
        self.names = BoundedTexts(lambda number, text: self._writer.add("names", number, text))
        self.spans = Spans(self._span_closed)
        self._texts = KeyTexts()
        self._lanes: dict[tuple[int, int], int] = {}
        self._workers: dict[int, tuple[int, int, float]] = {}
        self._capacity: dict[int, int] = {}
        self._next_node = self._next_edge = self._next_run = 0
        self._next_stack = self._next_frame = 0
        self._has_ended = False
        self._span(0, 0, "default", 0.0, _NAN, 3)
        self._writer.add("header", 0.0, json.dumps(self.description()))
        # It has as many threads as have worked at a time, none while it hands out tasks alone:
        # Dask's own number of threads does not hold for a run that is given another number, or
        # is in sync.
        self.worker(HOME, os.getpid(), 0, "this process", self.start)
        self.capacity(HOME, 0, self.start)

    def since(self, seconds: float) -> float:
        """Seconds since the log's start."""
        return seconds - self.start

    def description(self) -> dict[str, Any]:
        """The fields of ``open``."""
        kernel = kernel_id()
        notebook: dict[str, str] | None = None
        if kernel is not None:
            notebook = {"kernelId": kernel}
            path = notebook_path()
            if path:
                notebook["path"] = path
        return {
            "logId": self.log_id,
            "clusterId": self.cluster_id,
            "name": self.name,
            "kind": "local",
            "notebook": notebook,
            "wallEpoch": self.wall_epoch,
            "pid": os.getpid(),
            "versions": self._versions,
            "capabilities": {
                "waits": True,
                "cpu": True,
                "lanes": True,
                "spans": True,
                "samples": True,
                "memory": True,
                # Dask's local schedulers do not say what they keep.
                "managed": False,
            },
        }

    # -- what there is ----------------------------------------------------

    def worker(
        self, worker: int, pid: int, threads: int, name: str, joined: float, why: str = ""
    ) -> None:
        """A process has joined, or changed; with a reason it has left now."""
        left = self.since(perf_counter()) if why else _NAN
        with self.lock:
            self._workers[worker] = (pid, threads, joined)
            self._writer.add(
                "workers",
                worker,
                pid,
                threads,
                0.0,
                self.since(joined),
                left,
                name,
                "",
                socket.gethostname(),
                why,
            )

    def capacity(self, worker: int, threads: int, now: float) -> None:
        """Set how many tasks of the worker can run at a time from now on."""
        with self.lock:
            if self._capacity.get(worker) != threads:
                self._capacity[worker] = threads
                self._writer.add("capacity", self.since(now), worker, threads, CAPACITY_RUNNING)
                pid, known, joined = self._workers[worker]
                if worker == HOME and threads > known:
                    self.worker(HOME, pid, threads, "this process", joined)

    def lane(self, worker: int, place: int) -> int:
        """The id of a lane: a worker's place for one task at a time."""
        with self.lock:
            lane = self._lanes.get((worker, place))
            if lane is None:
                lane = self._lanes[worker, place] = len(self._lanes)
                # A place has another thread whenever a pool is new: which one is not written.
                self._writer.add("lanes", lane, worker, place, _NAN, _NAN)
            return lane

    def name_id(self, text: str) -> int:
        """The id of a text."""
        with self.lock:
            return self.names.id_of(text)

    def part_names(self, attribution: Attribution) -> PartNaming:
        """Names and spans of the inner keys of one run's fused tasks."""
        return PartNaming(attribution, self.spans, self._texts)

    def _span(
        self,
        number: int,
        parent: int,
        tag: str,
        opened: float,
        closed: float,
        origin: int,
        uuid: str = "",
        reused: int = 0,
        code: str = "",
    ) -> None:
        tag_id = self.names.id_of(tag)
        self._writer.add(
            "spans", number, parent, tag_id, 0, opened, closed, origin, uuid, reused, code
        )

    def _write_span(self, row: Mapping[str, Any]) -> None:
        closed = _NAN if row["closed"] is None else self.since(row["closed"])
        opened = self.since(row["opened"])
        number, parent, origin = row["id"], row["parent"], row["origin"]
        uuid, reused, code = row.get("uuid", ""), row.get("reused", 0), row.get("code", "")
        self._span(number, parent, row["tag"], opened, closed, origin, uuid, reused, code)

    def _span_closed(self, row: dict[str, Any]) -> None:
        with self.lock:
            if not self._has_ended:
                self.write_new_spans()
                self._write_span(row)

    def write_new_spans(self) -> None:
        """Write the spans that were met since the last time."""
        with self.lock:
            for row in self.spans.take_new():
                self._write_span(row)

    # -- what happens -----------------------------------------------------

    def tasks(
        self, keys: Iterable[Any], dsk: Mapping[Any, Any], attribution: Attribution, now: float
    ) -> Counted:
        """Tasks that will run; returns how each is counted."""
        id_of, group_of, cut = self.names.id_of, self.names.group, self._texts.cut
        source_of = attribution.of
        facts: list[TaskFacts] = []
        suffixes: list[str] = []
        edges: list[int] = []
        first_edges: list[int] = []
        has_fused = False
        # Neighbours in a graph mostly have one function, one group and one source.
        group: str | None = None
        function: str | None = None
        source: Source | None = None
        shared: TaskFacts = (0, 0, 0, 0)
        function_id = span = origin = group_id = 0
        with self.lock:
            first = self._next_node
            numbers = dict(zip(keys, itertools.count(first), strict=False))
            edge = self._next_edge
            for key in numbers:
                node = dsk[key]
                own_group, rest, own_function = cut(key)
                outer = key
                if is_fused(node):
                    has_fused = True
                    outer = outer_key(key, node)
                own_source = source_of(outer)
                if own_function != function or own_source is not source or own_group != group:
                    if own_function != function:
                        function, function_id = own_function, id_of(own_function)
                    if own_source is not source:
                        source = own_source
                        span, origin = self.spans.id(source.span), _origin_of(source)
                    if own_group != group:
                        group_id, kept = group_of(own_group, rest)
                        # (there may be no room for it: then the rest is the whole text)
                        group = own_group if kept is rest else None
                        rest = kept
                    shared = (group_id, function_id, span, origin)
                facts.append(shared)
                suffixes.append(rest)
                first_edges.append(edge)
                for each in node.dependencies:
                    number = numbers.get(each)
                    if number is not None:
                        edges.append(number)
                        edge += 1
            self.write_new_spans()
            count = len(numbers)
            self._next_node += count
            self._next_edge = edge
            nodes = {
                "node": range(first, first + count),
                "group": map(itemgetter(0), facts),
                "function": map(itemgetter(1), facts),
                "span": map(itemgetter(2), facts),
                "origin": map(itemgetter(3), facts),
                "submitted": itertools.repeat(self.since(now), count),
                "firstEdge": first_edges,
                "suffix": suffixes,
            }
            self._writer.extend_columns("nodes", nodes)
            self._writer.extend_columns("edges", {"node": edges})
        return Counted(numbers, first, facts, has_fused)

    def done(
        self,
        ended: list[Any],
        lanes: Callable[[int], int] | None = None,
        ids: ProcessIds | None = None,
    ) -> None:
        """Executions that have ended, the values of a `Done` each, one behind the other.

        `lanes` and `ids` if another process ran them.
        """
        (
            places,
            nodes,
            functions,
            spans,
            statuses,
            submitted,
            readies,
            starts,
            durations,
            cpus,
            sizes,
            parts,
            texts,
            meters,
        ) = (ended[place :: len(Done._fields)] for place in range(len(Done._fields)))
        count = len(nodes)
        if ids is not None:
            # (no input comes after the start, whatever the clocks of two processes say)
            readies = [*map(max, submitted, map(min, readies, starts))]
        with self.lock:
            first = self._next_run
            runs = range(first, first + count)
            self._next_run += count
            began = self.start
            columns = {
                "run": runs,
                "node": nodes,
                "function": functions,
                "span": spans,
                "lane": places if lanes is None else map(lanes, places),
                "status": statuses,
                # (nothing is run twice)
                "attempt": itertools.repeat(1, count),
                "start": map(sub, starts, itertools.repeat(began)),
                "duration": durations,
                "waitReady": map(sub, readies, submitted),
                "waitInputs": itertools.repeat(0.0, count),
                "waitThread": map(sub, starts, readies),
                "cpu": cpus,
                "nbytes": sizes,
                # (it is not looked at)
                "type": itertools.repeat(NONE_U32, count),
            }
            if any(parts):
                for run, some in zip(runs, parts, strict=True):
                    if some:
                        self._writer.extend("parts", _part_rows(run, some, ids))
            if any(meters):
                for run, told in zip(runs, meters, strict=True):
                    if told:
                        self._writer.extend("meters", self._meter_rows(run, told, ids))
            if RUN_FAILED in statuses:
                for run, status in zip(runs, statuses, strict=True):
                    if status == RUN_FAILED:
                        place = run - first
                        stop = starts[place] - began + durations[place]
                        kind = self.names.id_of("task-failed")
                        text = texts[place] or ""
                        self._writer.add("events", stop, kind, NONE_U16, spans[place], run, text)
            self._writer.extend_columns("runs", columns)

    def _meter_rows(
        self, run: int, meters: Iterable[MeteredValues], ids: ProcessIds | None
    ) -> list[tuple[int | float, ...]]:
        """What a run has measured itself; of another process as tuples."""
        return [
            (
                run,
                function if ids is None else ids.name(function),
                span,
                self.names.id_of(label),
                self.names.id_of(unit),
                value,
                cpu,
            )
            for function, span, label, unit, value, cpu in meters
        ]

    def running(self, lane: int, node: int, function: int, span: int, started: float) -> None:
        """A task runs for long on a lane; `node` NOTHING: it does so no more."""
        with self.lock:
            self._writer.add("running", lane, node, function, span, self.since(started))

    def samples(
        self,
        stacks: Iterable[tuple[int, int, int]],
        frames: Iterable[tuple[int, int, int, int]],
        samples: Iterable[tuple[float, int, int, int, int, int, int]],
        lanes: Callable[[int], int],
        ids: ProcessIds,
    ) -> None:
        """The samples of a process."""
        with self.lock:
            for frame, function, file, line in frames:
                ids.frames[frame] = self._next_frame
                self._writer.add(
                    "frames", self._next_frame, ids.name(function), ids.name(file), line
                )
                self._next_frame += 1
            for stack, parent, frame in stacks:
                ids.stacks[stack] = self._next_stack
                above = NONE_U32 if parent == NONE_U32 else ids.stacks[parent]
                self._writer.add("stacks", self._next_stack, above, ids.frames[frame])
                self._next_stack += 1
            for t, lane, span, function, stack, state, n in samples:
                second = max(0, math.floor(self.since(t)))
                self._writer.add(
                    "samples",
                    second,
                    lanes(lane),
                    span,
                    ids.name(function),
                    ids.stacks[stack],
                    state,
                    n,
                )

    def fine(self, worker: int, rows: Iterable[FineRow], ids: ProcessIds) -> None:
        """Sums per second of a process."""
        with self.lock:
            for t, context, span, function, activity, unit, value in rows:
                # (its seconds may begin within those of the log: most of one is in this)
                second = max(0, math.floor(self.since(t) + 0.5))
                named = map(ids.name, (function, activity, unit))
                self._writer.add("fine", second, worker, ids.name(context), span, *named, value)

    def memory(self, worker: int, process: float, now: float) -> None:
        """Bytes of a process."""
        with self.lock:
            self._writer.add("memory", self.since(now), worker, process, _NAN, _NAN, _NAN)

    def memory_run(
        self, run: int, label: str, interval: float, start: float, stopped: float | None
    ) -> None:
        """A labelled curve of process memory has begun, or has stopped."""
        with self.lock:
            measure = self.names.id_of("process")
            until = _NAN if stopped is None else self.since(stopped)
            self._writer.add("memoryRuns", run, measure, interval, self.since(start), until, label)

    def memory_sample(self, run: int, now: float, nbytes: float) -> None:
        """A point of such a curve."""
        with self.lock:
            self._writer.add("memorySamples", run, self.since(now), nbytes)

    def gap(self, table: int, start: float, stop: float, rows: int) -> None:
        """Rows that the observer will never get; times of the log."""
        with self.lock:
            self._writer.add("gaps", table, start, stop, rows, "replay ring")

    # -- to the observer --------------------------------------------------

    def end(self) -> int:
        """Seal the rest; returns the number of the last block.

        Nobody reads later that a span has closed which was around the whole observation, as the
        cell is that made it.
        """
        with self.lock:
            self._has_ended = True
            return self.seal()

    def commit(self) -> None:
        """Seal what is due."""
        with self.lock:
            self._writer.commit(perf_counter())

    def seal(self) -> int:
        """Seal everything; returns the number of the newest block."""
        with self.lock:
            return self._writer.seal()

    @property
    def newest(self) -> int:
        """The number of the newest block."""
        return self._writer.seq


def _origin_of(source: Source) -> int:
    """How the span of a task is known, as in the table `nodes`."""
    if source.span is None:
        return ORIGIN_DEFAULT
    return ORIGIN_USER if source.exact else ORIGIN_INFERRED


def _part_rows(
    run: int, parts: Iterable[Part], ids: ProcessIds | None
) -> list[tuple[int | float, ...]]:
    return [
        (
            run,
            kind,
            held,
            function if ids is None else ids.name(function),
            span,
            peer,
            offset,
            duration,
            cpu,
            wait,
            nbytes,
        )
        for kind, function, span, offset, duration, cpu, wait, nbytes, peer, held in parts
    ]
