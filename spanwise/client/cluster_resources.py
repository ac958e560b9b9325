"""What Dask's ``ResourceProfiler`` gets while a cluster computes: the workers' memory and CPU too.

Its own process looks at the caller and his children, and the workers are neither. So its rows of
the time in which a cluster computes give way to those of a thread here, which looks as often, at
this process and at the workers: other children may come and go, and do not compute. Workers
that it cannot look at, such as those of another host, tell of themselves (table ``system``)::

    with ResourceProfiler() as profiler:     its own rows      ─┬──────────┬────
        x.compute()                          rows of a thread   └┬────────┬┘
                                             computes            begin    end
"""

from __future__ import annotations

import os
import socket
import threading
import time
from functools import partial
from typing import Any

import psutil
from dask.diagnostics.profile import ResourceData

from spanwise.client.session import Session
from spanwise.client.system import metrics_of_workers

#: At the end of a computation it is looked at once more, if the last time was so long ago: shares
#: of a processor are counted in hundredths of a second.
_LEAST_SECONDS = 0.1
#: As workers name theirs.
_HOST = socket.gethostname()
#: Where a profiler keeps them until it collects.
_COMPUTATIONS = "_computations_of_clusters"


class ClusterResources:
    """Rows of one computation for one profiler, from now on until :meth:`end`.

    Parameters
    ----------
    session
        The connection to the cluster that computes.
    profiler
        Gets the rows when it gets its own.

    Attributes
    ----------
    rows
        When (`time.perf_counter`), megabytes, percent of a processor.
    began, ended
        Rows of the profiler's own from this time give way to these.
    """

    def __init__(self, session: Session, profiler: Any) -> None:
        self._session = session
        self._profiler = profiler
        self._processes: dict[int, Any] = {}
        self.rows: list[tuple[float, float, float]] = []
        self.began = self.ended = time.perf_counter()
        self._is_over = threading.Event()
        self._look()
        self._thread = threading.Thread(target=self._run, name="spanwise-resources", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more; the rows are given when the profiler collects its own."""
        self._is_over.set()
        self._thread.join()
        if time.perf_counter() - self.rows[-1][0] >= _LEAST_SECONDS:
            self._look()
        self.ended = time.perf_counter()
        profiler = self._profiler
        computations = profiler.__dict__.get(_COMPUTATIONS)
        if computations is None:
            computations = profiler.__dict__[_COMPUTATIONS] = []
            profiler._stop_collect = partial(_collect, profiler, computations)
        computations.append(self)

    def _run(self) -> None:
        while not self._is_over.wait(self._profiler._dt):
            self._look()

    def _look(self) -> None:
        now = time.perf_counter()
        nbytes, percent = self._read(os.getpid()) or (0.0, 0.0)
        unseen = []
        for row in self._session.running_workers():
            told = self._read(row["pid"]) if row["host"] == _HOST else None
            if told is None:
                unseen.append(row["id"])
            else:
                nbytes += told[0]
                percent += told[1]
        if unseen:
            # They are elsewhere, or may not be looked at: what they have told of themselves.
            metrics = metrics_of_workers(self._session)
            for worker in unseen:
                newest = metrics.get(worker, {})
                nbytes += newest.get("memory") or 0.0
                percent += newest.get("cpu") or 0.0
        self.rows.append((now, nbytes / 1e6, percent))

    def _read(self, pid: int) -> tuple[float, float] | None:
        """Bytes and percent of a process of this host; None: it is not to be looked at."""
        try:
            process = self._processes.get(pid)
            if process is None:
                process = self._processes[pid] = psutil.Process(pid)
            return float(process.memory_info().rss), float(process.cpu_percent())
        except psutil.Error:
            return None


def _collect(profiler: Any, computations: list[ClusterResources]) -> None:
    """Let a profiler collect its own rows, and give it those of computations in their place."""
    del profiler.__dict__["_stop_collect"], profiler.__dict__[_COMPUTATIONS]
    profiler._stop_collect()
    results = profiler.results
    others = [
        row
        for row in results
        if not any(each.began <= row.time <= each.ended for each in computations)
    ]
    rows = [ResourceData(*row) for each in computations for row in each.rows]
    results[:] = sorted([*others, *rows])
