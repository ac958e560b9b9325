"""Measuring in the processes of a pool, and telling the observing process.

Results travel through the pool untouched; measurements go beside them, by a file per
process in a private folder of the observing process (0700), to which the process only
appends, and which is followed by another one before it grows large. No connection can
break, hang or outlive anybody: what a task wrote is there before its result is, and a
process that dies leaves what it had written.

::

    observing process                       process of the pool
    measured node ── pickled ──────────────► RemoteWork
                      place, ids               └ Meter.run ── result ─► pool
    reads the files, each 30 ms  ◄────────────────┘ msgpack records

Records are msgpack arrays that begin with one of the numbers below. Ids from 2^31 on
are the process's own names; the others are the log's, and came with the task.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter, sleep
from typing import Any

import msgpack

from spanwise.local.lane_watch import LaneWatch
from spanwise.local.meter import Lane, Meter
from spanwise.local.work import Taken, Work
from spanwise.measure.fine import Ledger
from spanwise.measure.names import Names
from spanwise.measure.opened import Opened

#: [NAMES, texts]; [DONE, *Done]; [PROFILE, stacks, frames, samples]; [RUNNING, *Running];
#: [FINE, rows]
NAMES, DONE, PROFILE, RUNNING, FINE = 0, 1, 2, 3, 4

#: The watching thread ends when the process has run nothing for so long.
_IDLE_SECONDS = 1.0
#: At this size the next file is begun; the one before can be removed when it has been
#: read.
FILE_BYTES = 4 * 2**20


def remote_work(work: Work, place: str) -> tuple[Any, ...]:
    """How a measured task is pickled for a process of a pool.

    Parameters
    ----------
    place
        The beginning of the paths of the processes' files.
    """
    number, node, submitted, ready, taken, function, span, *_ = work
    what = node if taken is None else (taken.opened.template, taken.literals, taken.inputs)
    return (
        _arrived,
        (place, number, function, span, submitted, ready, taken is not None, what),
    )


def _arrived(
    place: str,
    number: int,
    function: int,
    span: int,
    submitted: float,
    ready: float,
    is_taken: bool,
    what: Any,
) -> RemoteWork:
    away = _away(place, os.getpid())
    node: Callable[[Any], Any] = what
    taken: Taken | None = None
    if is_taken:
        template, literals, inputs = what
        taken = Taken(Opened(template, away.names), literals, inputs)
        node = _Whole(template, literals, inputs)
    return RemoteWork(away, (number, node, submitted, ready, taken, function, span, None, None))


class RemoteWork:
    """Takes the place of a measured node in a process of a pool."""

    def __init__(self, away: Away, work: Work) -> None:
        self._away = away
        self._work = work

    def __call__(self, values: Any = ()) -> Any:
        return self._away.run(self._work, values)


class _Whole:
    """Runs a fused task without measuring its parts, once nothing is observed."""

    def __init__(self, template: Any, literals: list[Any], inputs: list[Any]) -> None:
        self._template = template
        self._literals = literals
        self._inputs = inputs

    def __call__(self, values: Any) -> Any:
        return self._template.run(self._literals, [values[key] for key in self._inputs])


@lru_cache(maxsize=8)
def _away(place: str, pid: int) -> Away:
    """The process's side of one observation; opened by its first task.

    A pool starts its processes itself, so there is no other place to keep it.
    """
    # (process numbers are used again)
    return Away(f"{place}-{pid}-{secrets.token_hex(8)}")


class Away:
    """Measures in this process and writes to a file.

    Parameters
    ----------
    stem
        The beginning of the paths of its files. If none can be made, the observation is
        over and nothing is measured.
    """

    def __init__(self, stem: str) -> None:
        self.names = Names()
        self._here = threading.local()
        self._lanes = 0
        self._writing = threading.Lock()
        self._watch = LaneWatch(self.names, 0.0)
        self._ledger = Ledger()
        self._meter = Meter(self._lane_of, self._done)
        self._worked = 0.0
        self._watching = False
        self._stem = stem
        self._files = 0
        self._written = 0
        self._file: int | None = None
        self._begin_file()

    def _begin_file(self) -> None:
        """Write to the next file from now on; the one before is complete."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        before = self._file
        try:
            self._file = os.open(f"{self._stem}.{self._files}", flags, 0o600)
        except OSError:
            self._meter.closed = True
            return
        self._files += 1
        self._written = 0
        if before is not None:
            os.close(before)

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)

    def run(self, work: Work, values: Any) -> Any:
        """Run one task, measured if it is observed."""
        if not self._meter.closed:
            self._worked = perf_counter()
            if not self._watching:
                with self._writing:
                    if not self._watching:
                        self._watching = True
                        self._watch.rests_until(self._worked)
                        threading.Thread(
                            target=self._look, name="spanwise-watch", daemon=True
                        ).start()
        return self._meter.run(work, values)

    def _lane_of(self, work: Work) -> Lane:
        lane: Lane | None = getattr(self._here, "lane", None)
        if lane is None:
            with self._writing:
                number = self._lanes
                self._lanes += 1
            lane = self._here.lane = Lane(number, self._ledger)
            self._watch.add(lane)
        return lane

    def _done(self, done: tuple[Any, ...]) -> None:
        self._worked = perf_counter()
        with self._writing:
            # Sent together with the sampler's data: the process may end before the
            # thread's next turn.
            self._write([DONE, *done], *self._profile(), *self._fine())

    def _profile(self) -> list[list[Any]]:
        samples = self._watch.rows()
        if not samples:
            return []
        stacks, frames = self._watch.stacks.rows()
        return [[PROFILE, stacks, frames, samples]]

    def _fine(self) -> list[list[Any]]:
        rows = self._ledger.rows(self.names)
        return [[FINE, rows]] if rows else []

    def _write(self, *records: list[Any]) -> None:
        """Append records; new names before what uses them."""
        if self._file is None or self._meter.closed:
            return
        announced = self.names.announcement()
        data = b"".join(msgpack.packb(record) for record in records)
        if announced:
            # Names of files and functions may hold anything.
            names = msgpack.packb([NAMES, announced["names"]], unicode_errors="replace")
            data = names + data
        try:
            written = os.write(self._file, data)
        except OSError:
            written = 0
        if written < len(data):
            # The disk is full: these records are lost and the computation goes on. Nothing may
            # be written after half a record.
            self._meter.closed = True
            return
        self._written += written
        if self._written > FILE_BYTES:
            self._begin_file()

    def _look(self) -> None:
        """Sample while tasks run; the thread ends soon after the last one."""
        while True:
            now = perf_counter()
            with self._writing:
                busy = self._watch.look_if_due(now)
                running = self._watch.running(now)
                if running:
                    self._write(*([RUNNING, *row] for row in running))
                if not busy and now - self._worked > _IDLE_SECONDS:
                    self._watching = False
                    return
            sleep(self._watch.pause())
