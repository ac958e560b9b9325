"""The steps of a run before its computing, and the rows of `parts` that they make.

Every step is given where the one before it ended (wall and CPU) and returns where it
ended itself, so that the parts of a run lie end to end::

    start    begin            begin                   begin              stop
      │ held   │ open template  │ read inputs from disk │ inner parts …    │
      └transfer┴─deserialize────┴─disk-read, deserialize┴─compute, compute─┘

Before *deserialize* stands *disk-read* if the template or its arguments had left memory, and
*import* if unpickling had to import modules.

The sampler is told how a step ends if a look was due in it. Else a look that comes after a short
task would take what it read for what it computed.
"""

from __future__ import annotations

from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from spanwise.measure.opened import Opened
from spanwise.measure.parts import Part
from spanwise.measure.steps import IMPORTED, OPENED, READ_DISK, OwnStep, PartRunner, tell_end
from spanwise.records.enumerations import KIND_DESERIALIZE, KIND_DISK_READ, KIND_IMPORT, NONE_U16
from spanwise.wire.rows import (
    PART_DURATION,
    PART_KIND,
    TASK_CHUNK,
    TASK_FUNCTION,
    TASK_ROW,
    TASK_SPAN,
    TASK_TEMPLATE,
)
from spanwise.worker.library import Library
from spanwise.worker.spill_file import (
    Spilled,
    Unreadable,
    is_out_of_descriptors,
    tell_out_of_descriptors,
)
from spanwise.worker.tasks import Row

if TYPE_CHECKING:
    from spanwise.worker.needs import Reading

_NAN = float("nan")
_STEPS = {KIND_DISK_READ: READ_DISK, KIND_IMPORT: IMPORTED, KIND_DESERIALIZE: OPENED}


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
        row[TASK_FUNCTION],
        row[TASK_SPAN],
        begin - start,
        stop - begin,
        cpu,
        core_wait,
        nbytes,
        NONE_U16,
        1,
    )


def open_blobs(
    library: Library, lane: PartRunner, row: Row, start: float, begin: float, begin_cpu: float
) -> tuple[Opened, Any, float, float, list[Part]]:
    """Unpickle the template or the chunk of a task on its first use.

    Returns
    -------
    opened, literals, end, end_cpu, parts

    Raises
    ------
    CannotOpen
    """
    imports, reads = library.import_times, library.disk_reads
    # Resets the sums: a blob that could not be opened may have left some.
    imports.seconds = imports.cpu = reads.seconds = reads.cpu = 0.0
    reads.nbytes = 0
    opened, literals, nbytes = library.open(row[TASK_TEMPLATE], row[TASK_CHUNK], row[TASK_ROW])
    end_cpu, end = thread_time(), perf_counter()
    cpu = end_cpu - begin_cpu
    if imports.seconds or reads.seconds:
        parts = _opening_parts(library, row, start, begin, end, cpu, float(nbytes))
    else:
        parts = [own_part(KIND_DESERIALIZE, row, start, begin, end, cpu, float(nbytes))]
    # (They lie in each other, so looks cannot be told apart: the longest has them.)
    longest = max(parts, key=lambda part: part[PART_DURATION])
    _step_ends(lane, row, end, end_cpu, _STEPS[longest[PART_KIND]])
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
    """The parts of unpickling: reading from disk, importing, and the rest.

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


def _step_ends(lane: PartRunner, row: Row, end: float, end_cpu: float, step: OwnStep) -> None:
    if end >= lane.due:
        tell_end(lane, end, end_cpu, row, step)
    lane.began, lane.began_cpu = end, end_cpu


def read_back(
    worker: Reading,
    lane: PartRunner,
    row: Row,
    ids: tuple[int, ...],
    inputs: list[Any],
    start: float,
    begin: float,
    begin_cpu: float,
) -> tuple[float, float, list[Part]]:
    """Replace inputs that are on disk by their values, in the table too.

    What is on disk goes with its last marker, mostly here. That takes up to half as long as reading
    it did, and is called so: it comes last, and its part is that of reading::

        happens    │ read │ unpickle │ remove │
        parts      ├─disk-read──────┼─deserialize─┤

    Raises
    ------
    Unreadable
    OSError
        No more files may be open.
    """
    parts: list[Part] = []
    imports = worker.library.import_times
    # (an iterator would hold the last marker)
    for index in range(len(inputs)):
        marker = inputs[index]
        if not isinstance(marker, Spilled):
            continue
        size = marker.nbytes
        try:
            content = marker.to_load()
        except OSError as error:
            if is_out_of_descriptors(error):
                tell_out_of_descriptors(error)
                raise
            raise Unreadable(ids[index], marker, error) from error
        nbytes = float(len(content))
        read, read_cpu = perf_counter(), thread_time()
        _step_ends(lane, row, read, read_cpu, READ_DISK)
        imports.take()
        value = worker.library.loads(content)
        opened, opened_cpu = perf_counter(), thread_time()
        importing, importing_cpu = imports.take()
        step = IMPORTED if 2 * importing > opened - read else OPENED
        _step_ends(lane, row, opened, opened_cpu, step)
        inputs[index] = value
        with worker.lock:
            if worker.table.values.get(ids[index]) is marker:
                worker.table.replace(ids[index], value, size)
        # (a file that is mapped takes its place until it is so no more)
        del content, marker
        end, end_cpu = perf_counter(), thread_time()
        _step_ends(lane, row, end, end_cpu, READ_DISK)
        took = read - begin + end - opened
        cpu = read_cpu - begin_cpu + end_cpu - opened_cpu
        middle = begin + took
        parts.append(own_part(KIND_DISK_READ, row, start, begin, middle, cpu, nbytes))
        cpu = opened_cpu - read_cpu
        if importing > 0.0:
            imported, importing_cpu = min(end, middle + importing), min(cpu, importing_cpu)
            parts.append(own_part(KIND_IMPORT, row, start, middle, imported, importing_cpu))
            middle, cpu = imported, cpu - importing_cpu
        parts.append(own_part(KIND_DESERIALIZE, row, start, middle, end, cpu, size))
        begin, begin_cpu = end, end_cpu
    return begin, begin_cpu, parts
