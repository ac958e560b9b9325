"""The steps of a run that make rows of the table `parts`, and what each of them takes.

Every step is given where the one before it ended (wall and CPU) and returns where it
ended itself, so that the parts of a run lie end to end::

    start    begin            begin                   begin              stop
      │ held   │ open template  │ read inputs from disk │ inner parts …    │
      └transfer┴─deserialize────┴─disk-read, deserialize┴─compute, compute─┘

Before *deserialize* stands *disk-read* if the template or its arguments had left memory, and
*import* if unpickling had to import modules.
"""

from __future__ import annotations

from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Protocol

from spanwise.measure.clocks import CoreWait
from spanwise.processes import forks
from spanwise.records.enumerations import (
    KIND_COMPUTE,
    KIND_DESERIALIZE,
    KIND_DISK_READ,
    KIND_IMPORT,
    NONE_U16,
)
from spanwise.worker.library import Library, Opened
from spanwise.worker.report import Part
from spanwise.worker.spill_file import Spilled, Unreadable
from spanwise.worker.tasks import Row

if TYPE_CHECKING:
    from spanwise.worker.worker import Worker

#: Computing that takes less is not asked what it waited for; plain runs from here on
#: get a compute part, which says it: some system calls in 5 ms.
LONG_SECONDS = 0.005
#: So much may lie between the last mark and a part that is asked what it waited for: what
#: short parts before it waited for would else be taken for its own. A mark is 2 us, 1 %.
UNMARKED_SECONDS = 0.0002

_NAN = float("nan")


def own_part(
    kind: int,
    row: Row,
    start: float,
    begin: float,
    stop: float,
    cpu: float,
    nbytes: float = 0.0,
    core_wait: float = _NAN,
) -> Part:
    """Return a part that held the thread, with the function and span of the task."""
    return (
        kind,
        row[5],
        row[6],
        begin - start,
        stop - begin,
        cpu,
        core_wait,
        nbytes,
        NONE_U16,
        1,
    )


def open_blobs(
    worker: Worker, row: Row, start: float, begin: float, begin_cpu: float
) -> tuple[Opened, Any, float, float, list[Part]]:
    """Unpickle the template or the chunk of a task on its first use.

    Returns
    -------
    opened, literals, end, end_cpu, parts

    Raises
    ------
    CannotOpen
    """
    library = worker.library
    imports, reads = library.import_times, library.disk_reads
    # Left by one that could not be opened.
    imports.seconds = imports.cpu = reads.seconds = reads.cpu = 0.0
    reads.nbytes = 0
    opened, literals, nbytes = library.open(row[2], row[3], row[4])
    end_cpu, end = thread_time(), perf_counter()
    cpu = end_cpu - begin_cpu
    if imports.seconds or reads.seconds:
        parts = _opening_parts(library, row, start, begin, end, cpu, float(nbytes))
    else:
        parts = [own_part(KIND_DESERIALIZE, row, start, begin, end, cpu, float(nbytes))]
    return opened, literals, end, end_cpu, parts


def _opening_parts(
    library: Library,
    row: Row,
    start: float,
    begin: float,
    end: float,
    cpu: float,
    nbytes: float,
) -> list[Part]:
    """What unpickling took; what it spent on reading from disk and on importing apart from it.

    Both happen in the middle of unpickling; here one part follows the other.
    """
    parts = []
    read_seconds, read_cpu, read_bytes = library.disk_reads.take()
    import_seconds, import_cpu = library.import_times.take()
    for kind, seconds, spent, size in (
        (KIND_DISK_READ, read_seconds, read_cpu, float(read_bytes)),
        (KIND_IMPORT, import_seconds, import_cpu, 0.0),
    ):
        if seconds > 0.0:
            stop = min(end, begin + seconds)
            held_cpu = min(cpu, spent)
            parts.append(own_part(kind, row, start, begin, stop, held_cpu, size))
            begin, cpu = stop, cpu - held_cpu
    parts.append(own_part(KIND_DESERIALIZE, row, start, begin, end, cpu, nbytes))
    return parts


def read_back(
    worker: Worker,
    row: Row,
    ids: tuple[int, ...],
    inputs: list[Any],
    start: float,
    begin: float,
    begin_cpu: float,
) -> tuple[float, float, list[Part]]:
    """Replace inputs that are on disk by their values, in the table too.

    Raises
    ------
    Unreadable
    """
    parts: list[Part] = []
    for index, marker in enumerate(inputs):
        if not isinstance(marker, Spilled):
            continue
        size = marker.nbytes
        try:
            content = marker.read()
        except OSError as error:
            raise Unreadable(ids[index], marker, error) from error
        read, read_cpu = perf_counter(), thread_time()
        value = worker.library.loads(content)
        inputs[index] = value
        end, end_cpu = perf_counter(), thread_time()
        cpu, nbytes = read_cpu - begin_cpu, float(len(content))
        parts.append(own_part(KIND_DISK_READ, row, start, begin, read, cpu, nbytes))
        parts.append(own_part(KIND_DESERIALIZE, row, start, read, end, end_cpu - read_cpu, size))
        begin, begin_cpu = end, end_cpu
        with worker.lock:
            if worker.table.values.get(ids[index]) is marker:
                worker.table.replace(ids[index], value, size)
    return begin, begin_cpu, parts


class PartRunner(Protocol):
    """A thread that says which part of a fused task it is at."""

    part: tuple[Any, tuple[int, ...], int, int, Any] | None
    core_wait: CoreWait | None


def run_parts(
    executor: PartRunner,
    opened: Opened,
    literals: Any,
    values: list[Any],
    start: float,
    begin: float,
    begin_cpu: float,
    parts: list[Part],
) -> Any:
    """Run a fused task part by part; what no later part needs is dropped at once.

    Rows are appended to `parts` as the inner parts end, also that of one that fails.
    """
    wait = executor.core_wait
    for part in opened.parts or ():
        if wait is not None and begin - wait.marked > UNMARKED_SECONDS:
            wait.mark()
        executor.part = part
        run, drops, function, span, _ = part
        try:
            values.append(run(literals, values))
            if forks.is_child:
                forks.leave(None)
            for index in drops:
                values[index] = None
        finally:
            end = perf_counter()
            end_cpu = thread_time()
            cpu = end_cpu - begin_cpu
            waited = _NAN
            if end - begin >= LONG_SECONDS and wait is not None:
                waited = wait.of_part(function, span, end - begin, cpu)
            parts.append(
                (
                    KIND_COMPUTE,
                    function,
                    span,
                    begin - start,
                    end - begin,
                    cpu,
                    waited,
                    0.0,
                    NONE_U16,
                    1,
                )
            )
            begin = end
            begin_cpu = end_cpu
    return values[-1]
