"""Results on disk: what is kept for later makes room for what is computed now.

The oldest large results go first: at the end of a task, while the results kept exceed
60 % of the memory limit, and in the watch thread, while the process exceeds 70 %. In the
table a marker takes the place of the value; a task that needs it reads it back, a peer
that asks for it is sent the file's bytes, which are a payload already.
"""

from __future__ import annotations

import threading
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from spanwise.wire import payload
from spanwise.worker.fine import Ledger

if TYPE_CHECKING:
    from spanwise.worker.worker import Worker

#: Shares of the memory limit, as in Dask: of results kept, and of the whole process.
TARGET, SPILL = 0.60, 0.70
#: Smaller results stay: a file costs 100 us or more, and frees as good as nothing.
SMALLEST_BYTES = 64 * 1024
#: Name of what is measured here, as in Dask.
CONTEXT = "memory-monitor"


class Spilled:
    """Stands for a value that is on disk; its file goes when it goes."""

    __slots__ = ("_store", "disk_bytes", "nbytes", "path")

    def __init__(self, store: SpillStore, path: Path, nbytes: float, disk_bytes: int):
        self._store = store
        self.path = path
        #: Bytes that the value takes in memory.
        self.nbytes = nbytes
        self.disk_bytes = disk_bytes

    def read(self) -> bytearray:
        """Return the payload; unpickled, its arrays are writable views of these bytes."""
        content = bytearray(self.disk_bytes)
        with self.path.open("rb", buffering=0) as file:
            view = memoryview(content)
            at = 0
            while at < len(view):
                got = file.readinto(view[at:])
                if not got:
                    raise OSError(f"{self.path} is shorter than it was written")
                at += got
        return content

    def __del__(self) -> None:
        self._store.forget(self)


class SpillStore:
    """The files of one worker.

    Parameters
    ----------
    folder
        Where they go, made when first needed; the cluster's owner removes it.
    limit
        The worker's memory limit in bytes; 0: nothing is ever spilled.
    """

    def __init__(self, folder: Path, limit: float, ledger: Ledger) -> None:
        self._folder = folder
        self._ledger = ledger
        self._serial = 0
        self.limit = limit
        #: Results kept may take this much.
        self.target = self._target = TARGET * limit if limit > 0 else float("inf")
        #: Whether anything has ever been spilled: else nobody need look for markers.
        self.used = False
        #: Files and their sizes. Markers end on any thread at any place, where a lock could
        #: be held already; changes of a dict need none.
        self._files: dict[Path, int] = {}
        #: Task ids whose values cannot be written.
        self._refused: set[int] = set()
        self._writing = threading.Lock()

    @property
    def disk_bytes(self) -> int:
        """Bytes on disk now."""
        return sum(list(self._files.values()))

    @property
    def is_writing(self) -> bool:
        """Whether a result is in memory twice, as itself and as its pickle."""
        return self._writing.locked()

    def is_short(self, process: float) -> bool:
        """Whether the process is so large that results should leave it."""
        return self.limit > 0 and process >= SPILL * self.limit

    def make_room(self, worker: Worker) -> None:
        """Spill until the results kept are below the target."""
        while worker.table.managed > self.target:
            if not self.spill_one(worker):
                # Everything left is small or cannot be written. Not to look through all
                # of it after each task, look again when there is 10 % more.
                self.target = 1.1 * worker.table.managed

    def spill_one(self, worker: Worker) -> bool:
        """Write the oldest large result to disk; False if there is none."""
        with self._writing:
            with worker.lock:
                table = worker.table
                sizes = table.sizes
                for task_id in table.values:
                    if sizes[task_id] >= SMALLEST_BYTES and task_id not in self._refused:
                        break
                else:
                    return False
                value = table.values[task_id]
                nbytes = sizes[task_id]
            try:
                marker = self._write(task_id, value, nbytes)
            except OSError as error:
                self.target = self._target = float("inf")
                self.limit = 0.0
                worker.send(
                    "event",
                    {
                        "kind": "spill-failed",
                        "text": f"Worker {worker.number} cannot write results to "
                        f"{self._folder} ({error}) and keeps them in memory from now on.",
                    },
                )
                return False
            with worker.lock:
                if marker is not None and table.values.get(task_id) is value:
                    table.replace(task_id, marker, 0.0)
        return True

    def _write(self, task_id: int, value: Any, nbytes: float) -> Spilled | None:
        begin = perf_counter()
        try:
            buffers = payload.dumps(value)
        except BaseException:  # noqa: BLE001 (it stays in memory, and is an error if asked for)
            self._refused.add(task_id)
            return None
        pickled = perf_counter()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._serial += 1
        path = self._folder / f"{task_id}-{self._serial}"
        disk_bytes = payload.nbytes(buffers)
        # The folder is the user's alone, so its files are.
        try:
            with path.open("xb", buffering=0) as file:
                for buffer in buffers:
                    view = memoryview(buffer).cast("B")
                    while view:
                        view = view[file.write(view) :]
        except OSError:
            path.unlink(missing_ok=True)
            raise
        written = perf_counter()
        marker = Spilled(self, path, nbytes, disk_bytes)
        self._files[path] = disk_bytes
        self.used = True
        add = self._ledger.add
        add(written, CONTEXT, "serialize", "seconds", pickled - begin)
        add(written, CONTEXT, "disk-write", "seconds", written - pickled)
        add(written, CONTEXT, "disk-write", "bytes", float(disk_bytes))
        add(written, CONTEXT, "disk-write", "count", 1.0)
        return marker

    def forget(self, marker: Spilled) -> None:
        """Delete a file whose value is needed no more."""
        self._files.pop(marker.path, None)
        marker.path.unlink(missing_ok=True)
