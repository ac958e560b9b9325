"""What the parts of a worker need of it, so that each is read and tested without the others.

``Worker`` has all of this; a part that takes one of these protocols says how little it uses.
For type checkers only: nothing imports it when a worker runs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from spanwise.measure.fine import Ledger
from spanwise.measure.names import Names
from spanwise.measure.sampler import Sampled
from spanwise.measure.sizes import Sizes
from spanwise.measure.type_names import TypeNames
from spanwise.wire import payload
from spanwise.wire.clock import ClockOffset
from spanwise.wire.segments import Lent
from spanwise.wire.turns import Turns
from spanwise.worker.errors import Described
from spanwise.worker.library import Library
from spanwise.worker.memory_reads import MemoryReads
from spanwise.worker.report import Report
from spanwise.worker.segment import Segment
from spanwise.worker.signs import Signs
from spanwise.worker.spill_file import Spent, Spilled
from spanwise.worker.tasks import Arrival, Entry, Fetch, Lacking, TaskTable
from spanwise.worker.transfer_log import TransferLog, Transfers
from spanwise.worker.wakeup import LinkReader, Wakeup


class Lane(Sampled, Protocol):
    """A thread that runs tasks, as the rest of the worker sees it."""

    #: Since when it was idle before it was busy last (`busy_since`), or is.
    idle_since: float
    #: Held while the thread is parked; releasing it wakes the thread.
    wakeup: Wakeup
    #: Its run waits for other tasks; it goes on beside the worker's threads.
    waits: bool
    seceded: bool
    #: The lane that it gets when its run has ended, or -1.
    lane: int
    #: Another thread has its place.
    placeless: bool

    @property
    def reads(self) -> MemoryReads: ...

    @property
    def ident(self) -> int | None: ...

    def start(self) -> None: ...

    def run(self) -> None: ...

    def waited(self, since: float) -> None: ...


class Places(Protocol):
    """Which threads are at work, as these see it; the lock is held."""

    def placed(self, executor: Lane) -> None: ...

    def take_placed(self) -> list[tuple[float, int, float]]: ...

    def gives_way(self, executor: Lane) -> bool: ...

    def ended(self, executor: Lane) -> None: ...

    def retire(self, executor: Lane) -> bool: ...


class Watching(Protocol):
    """The watch thread, as executors see it."""

    parked: bool
    #: Something has come since it measured memory.
    is_stirred: bool
    #: It looks often whether rows wait, until none has for a while.
    ticks: bool
    #: Rows have waited since it looked.
    rows_wait: bool

    def wake(self, at: float | None = None) -> None: ...

    def tick(self) -> None: ...

    def pause_if_short(self) -> None: ...

    def sees(self, executor: Lane) -> None: ...

    def forgets(self, executor: Lane) -> None: ...


class Telling(Protocol):
    """Tells the scheduler something."""

    def send(
        self,
        kind: str,
        fields: dict[str, Any] | None = None,
        tables: dict[str, Any] | None = None,
        blobs: list[Any] | None = None,
    ) -> None: ...


class Reading(Protocol):
    """Reads results back from disk."""

    library: Library
    #: Around the table.
    lock: threading.Lock
    table: TaskTable


class Spilling(Telling, Protocol):
    """Puts results on disk."""

    lock: threading.Lock
    table: TaskTable

    @property
    def elsewhere(self) -> float: ...

    def lose(self, task_id: int, spilled: Spilled) -> None: ...


class Room(Protocol):
    """The spill store, as the parts see it that need room."""

    limit: float
    target: float
    too_large: float
    used: bool
    failing: str

    @property
    def may_write(self) -> bool: ...

    @property
    def own_target(self) -> float: ...

    def fits(self, process: float) -> bool: ...

    def why_too_large(self, nbytes: float, process: float) -> str: ...

    def make_room(self, worker: Spilling, coming: float = 0.0) -> Spent: ...

    def put_away(self, worker: Spilling, buffers: Sequence[payload.Buffer]) -> Spilled | None: ...


class Sharing(Telling, Reading, Protocol):
    """Lends results to other processes, and sees theirs."""

    @property
    def spill(self) -> Room: ...

    def process_bytes(self) -> float: ...


class Lending(Protocol):
    """The segments of a worker."""

    def room(self) -> int: ...

    def borrow(
        self, worker: Sharing, lent: Lent, return_it: Callable[[], None] | None
    ) -> tuple[Segment, memoryview]: ...

    def keep(self, worker: Sharing, task_id: int, value: Any, segment: Segment) -> None: ...

    def look(self) -> None: ...

    def counted_bytes(self) -> float: ...


class Receiving(Sharing, Protocol):
    """Gets inputs from peers."""

    number: int
    names: Names
    transfers: Transfers

    @property
    def segments(self) -> Lending: ...

    ledger: Ledger

    def arrived(self, items: list[tuple[Fetch, Any, float]], arrival: Arrival) -> bool: ...

    def not_there(self, fetches: list[Fetch]) -> None: ...

    def unusable(self, fetch: Fetch, error: Described) -> None: ...


class Shown(Telling, Protocol):
    """A worker, as the object sees it that users' code gets of it."""

    number: int
    called: int | str
    address: str
    threads: int
    memory_limit: float
    resources: dict[str, float]
    transfers: Transfers
    library: Library
    clock: ClockOffset

    @property
    def own_folder(self) -> Path: ...

    def entries_of(self, log: TransferLog) -> deque[dict[str, Any]]: ...

    def make_folder(self) -> Path: ...

    def ask_what_is_held(self) -> dict[str, float]: ...


class Executing(Reading, Spilling, Protocol):
    """Runs tasks."""

    number: int
    memory_limit: float
    names: Names
    ledger: Ledger
    sizes: Sizes
    types: TypeNames
    report: Report
    signs: Signs
    #: Executors that have nothing to do.
    idle: list[Lane]
    executors: list[Lane]
    turns: Turns
    link_reader: LinkReader | None

    @property
    def spill(self) -> Room: ...

    @property
    def lanes(self) -> Places: ...

    @property
    def watch(self) -> Watching | None: ...

    def take(self) -> Entry | None: ...

    def wake(self, tasks: int) -> None: ...

    def process_bytes(self) -> float: ...

    def flush(self) -> None: ...

    def report_lacking(self, lacking: list[Lacking]) -> None: ...


class Watched(Executing, Protocol):
    """The worker as the watch thread sees it: sampled, measured, paused for memory."""

    memory_limit: float
    paused: bool
    clock: ClockOffset

    def ask_clock(self) -> None: ...

    @property
    def segments(self) -> Lending: ...

    @property
    def managed(self) -> float: ...

    def pause(self, paused: bool, why: str = "", stalled: bool = False) -> None: ...
