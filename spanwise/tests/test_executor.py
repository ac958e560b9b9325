"""A thread of a worker by itself: what is told of it between two tasks, what it measures."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import itertools
import math
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.measure.bell import Bell
from spanwise.measure.fine import Ledger
from spanwise.measure.looks import RUNNING_SECONDS
from spanwise.measure.names import Names
from spanwise.measure.parts import Part
from spanwise.measure.steps import (
    LONG_SECONDS,
    SENT,
    SHORT_SECONDS,
    UNREAD_SECONDS,
    WRITTEN,
    run_parts,
)
from spanwise.measure.waits import Waits
from spanwise.records.enumerations import (
    KIND_COMPUTE,
    KIND_DESERIALIZE,
    NONE_U32,
    RUN_MISSING,
    RUN_OK,
)
from spanwise.tests.disturbance import Disturbance
from spanwise.wire.rows import PART_CPU
from spanwise.worker import watch as watching
from spanwise.worker.executor import (
    FLUSH_SECONDS,
    QUICK_SECONDS,
    WAITING_SECONDS,
    Executor,
)
from spanwise.worker.report import Report
from spanwise.worker.spill_file import Spent
from spanwise.worker.tasks import Arrival, Entry, Fetch, Row
from spanwise.worker.watch import MEMORY_SECONDS, RESTING_MEMORY_SECONDS, Watch
from spanwise.worker.worker import Worker

LIMIT_SECONDS = 60.0
#: Place of the column in a row of `finished.runs`.
RUN_CPU = 6


def entry_of(run: int) -> Entry:
    row: Row = (run, run, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    return 0.0, 0, row, (), None


class Slow:
    """Takes until it may go on, and says when it has begun."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, *_: Any) -> None:
        self.begun.set()
        assert self.go_on.wait(LIMIT_SECONDS)


class TwoRuns(Executor):
    """Has run 1, then run 2, then ends."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker, 0)
        self.left = [entry_of(1), entry_of(2)]

    def run(self) -> None:
        with contextlib.suppress(StopIteration):
            super().run()

    def _idle(self) -> Entry:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)

    def _run(self, entry: Entry) -> Entry | None:
        row = entry[2]
        self.row = row
        self._stamp()
        self.worker.report.runs.append((row[0], row[1], RUN_OK, *(0,) * 11))
        return self.left.pop(0) if self.left else None


def told_running(executor: Executor) -> list[tuple[Any, ...]]:
    """What the watch tells as running, long after the executor's last stamp."""
    watch = Watch(executor.worker, SimpleNamespace(rows=list), 0.0, lambda why: None)  # type: ignore[arg-type]
    watch._tell_running(executor.clock + 10 * RUNNING_SECONDS)
    return watch._running_rows


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    worker = Worker(0, "w", 1, 0.0, tmp_path)
    worker.connect(lambda *_: None, lambda _: None)
    return worker


def test_a_run_is_told_as_running_until_it_has_ended(worker: Worker) -> None:
    slow = Slow()

    class Long(TwoRuns):
        def _run(self, entry: Entry) -> Entry | None:
            following = super()._run(entry)
            slow()
            return following

    executor = Long(worker)
    worker.executors = [executor]
    executor.start()
    assert slow.begun.wait(LIMIT_SECONDS)
    assert [row[1] for row in told_running(executor)] == [1]
    slow.go_on.set()
    executor.join(LIMIT_SECONDS)
    assert not executor.is_alive()


@pytest.mark.parametrize("gap", ["spilling", "reporting"])
def test_a_run_that_has_ended_is_not_told_as_running(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, gap: str
) -> None:
    slow = Slow()
    executor = TwoRuns(worker)
    if gap == "spilling":

        def make_room(*_: Any) -> Spent:
            slow()
            return Spent(0.0, 0.0, 0)

        class Spills(TwoRuns):
            def _run(self, entry: Entry) -> Entry | None:
                following = super()._run(entry)
                self._make_room(entry[2], 1.0, self.clock, self.clock, self.cpu, [])
                return following

        monkeypatch.setattr(worker.spill, "make_room", make_room)
        executor = Spills(worker)
    else:

        def flush() -> None:
            slow()
            worker.report = Report()

        monkeypatch.setattr(worker, "flush", flush)
    worker.executors = [executor]
    executor.start()
    assert slow.begun.wait(LIMIT_SECONDS)
    assert told_running(executor) == []
    slow.go_on.set()
    executor.join(LIMIT_SECONDS)
    assert not executor.is_alive()


# ── what wakes the watch thread ────────────────────────────────────────────


def test_a_bell_is_heard_once_whoever_rings_and_how_often() -> None:
    bell = Bell()
    assert not bell.wait(0.001)
    assert not bell.wait(-1.0)  # (of a time that has passed)
    bell.set()
    bell.set()
    assert bell.wait(LIMIT_SECONDS)
    assert not bell.wait(0.0)
    bell.set()
    bell.clear()
    bell.clear()
    assert not bell.wait(0.0)
    ringing = threading.Thread(target=bell.set)
    ringing.start()
    assert bell.wait(LIMIT_SECONDS)
    ringing.join()


# ── what the sampler is told ──────────────────────────────────────────────


def due_now(executor: Executor) -> None:
    """A look is due, and late."""
    executor.due = executor.next_due = time.perf_counter()


def test_what_is_spilled_after_a_run_is_told_as_written(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = Executor(worker, 0)
    executor.core_wait = Waits(worker.ledger)
    opened = SimpleNamespace(
        run=lambda _literals, _inputs: 1, parts=None, quick=False, has_waited=False
    )
    worker.library.templates[1] = opened  # type: ignore[assignment]
    began: list[float] = []

    def make_room(*_: Any) -> Spent:
        began.append(time.perf_counter())
        return Spent(0.0, 0.0, 0)

    monkeypatch.setattr(worker.spill, "target", 0.0)
    monkeypatch.setattr(worker.spill, "make_room", make_room)
    entry = entry_of(1)
    row = (*entry[2][:3], NONE_U32, *entry[2][4:])
    worker.table.running[row[0]] = row[1]
    executor._stamp()
    due_now(executor)
    executor._run((*entry[:2], row, *entry[3:]))  # type: ignore[arg-type]
    (spilling,) = began
    told, written = executor.ends
    assert told[6] is written[6] is row
    assert told[-1] is None
    assert written[-1] == WRITTEN
    assert told[3] == written[0] <= spilling <= written[3] <= executor.clock


def test_what_a_thread_sends_after_a_run_is_told_as_sent(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[float] = []
    monkeypatch.setattr(worker, "flush", lambda: sent.append(time.perf_counter()))
    executor = Executor(worker, 0)
    executor.core_wait = Waits(worker.ledger)
    row = executor.row = entry_of(1)[2]
    executor._stamp()
    run_end = executor.clock
    executor._flush()
    assert not executor.ends  # no look was due
    sending = executor.clock
    due_now(executor)
    executor._flush()
    (told,) = executor.ends
    assert (told[0], told[2], told[6:]) == (sending, sending, (row, SENT))
    assert run_end <= sent[0] <= sending <= sent[1] <= told[3] == executor.clock
    assert executor.due == executor.next_due


# ── which runs are expected to be short ───────────────────────────────────


@pytest.mark.parametrize(
    ("seconds", "cpu", "quick"),
    [
        (0.9 * QUICK_SECONDS, 0.9 * QUICK_SECONDS, True),
        # It waited for a core, or for the interpreter lock: None, as before.
        (0.9 * FLUSH_SECONDS, 0.9 * QUICK_SECONDS, None),
        (0.9 * FLUSH_SECONDS, 1.1 * QUICK_SECONDS, False),
        (0.9 * WAITING_SECONDS, 0.9 * QUICK_SECONDS, None),
        # However little it computes: nobody waits for a core for so long.
        (1.1 * WAITING_SECONDS, 0.0, False),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_a_run_that_had_to_wait_is_no_long_one(
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    cpu: float,
    quick: bool | None,
    before: bool,
) -> None:
    """Else the rows before it were sent for nothing, and the answer had the next run wait."""
    wall, thread = [100.0], [10.0]

    def run(_literals: Any, _inputs: Any) -> int:
        wall[0] += seconds
        thread[0] += cpu
        return 1

    opened = SimpleNamespace(run=run, parts=None, quick=before, has_waited=False)
    worker.library.templates[1] = opened  # type: ignore[assignment]
    monkeypatch.setattr("spanwise.worker.executor.perf_counter", lambda: wall[0])
    monkeypatch.setattr("spanwise.measure.steps.thread_time", lambda: thread[0])
    executor = Executor(worker, 0)
    executor.clock, executor.cpu = wall[0], thread[0]
    executor.core_wait = Waits(worker.ledger)
    row: Row = (1, 1, 1, NONE_U32, 0, 5, 6, 0, 0.0, 0.0, 0)
    worker.table.running[1] = 1
    executor._run((0.0, 0, row, (), None))
    assert opened.quick is (before if quick is None else quick)


@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 3.0 * SHORT_SECONDS),
            st.sampled_from([0.0, 0.2, 1.0]),
            st.sampled_from(
                ["number", "list", "error", "fused", "looked at", "behind a message", "by disk"]
            ),
        ),
        max_size=30,
    ),
    st.integers(1, 40),
)
@example([(0.5 * SHORT_SECONDS, 0.2, "number")], 400)
@example([(0.5 * SHORT_SECONDS, 0.0, "number"), (SHORT_SECONDS, 1.0, "fused")], 2)
@example([(0.5 * SHORT_SECONDS, 0.0, "behind a message")], 100)
@example([(0.5 * SHORT_SECONDS, 0.0, "by disk")], 100)
@example([(0.5 * SHORT_SECONDS, 0.0, "number"), (0.5 * SHORT_SECONDS, 0.0, "fused")], 100)
def test_runs_get_the_cpu_of_their_thread(
    drawn: list[tuple[float, float, str]], repeats: int
) -> None:
    """Also short ones, after which its clock is not read; and none of them less than nothing."""
    wall, thread = [100.0], [10.0]

    def run_of(seconds: float, on_core: float, what: str) -> Any:
        def run(*_: Any) -> Any:
            wall[0] += seconds
            thread[0] += seconds * on_core
            if what == "error":
                raise RuntimeError
            return [1] if what == "list" else 1

        return run

    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for module in ("spanwise.worker.executor", "spanwise.measure.steps"):
            patch.setattr(f"{module}.perf_counter", lambda: wall[0])
            patch.setattr(f"{module}.thread_time", lambda: thread[0])
        worker = Worker(0, "w", 1, 0.0, Path(folder))
        executor = Executor(worker, 0)
        executor.core_wait = Waits(worker.ledger)
        executor._read_clocks()
        patch.setattr(worker, "flush", lambda: None)
        for seconds, on_core, what in drawn * repeats:
            run = run_of(seconds, on_core, what)
            parts = [(run, (), 5, 6, None)] if what == "fused" else None
            worker.library.templates[1] = SimpleNamespace(  # type: ignore[assignment]
                run=run,
                parts=parts,
                parts_in=lambda _, parts=parts: parts,
                quick=True,
                has_waited=False,
            )
            executor.due = wall[0] if what == "looked at" else math.inf
            worker.spill.used = what == "by disk"
            if what == "behind a message":
                executor._flush()
            worker.table.running[1] = 1
            executor._run((0.0, 0, (1, 1, 1, NONE_U32, 0, 5, 6, 0, 0.0, 0.0, 0), (), None))
    runs = worker.report.runs
    assert len(runs) == len(drawn) * repeats
    assert all(run[RUN_CPU] >= 0.0 for run in runs)
    assert all(part[PART_CPU] >= 0.0 for part in worker.report.parts)
    more = sum(run[RUN_CPU] for run in runs) - (thread[0] - 10.0)
    assert -1e-9 <= more <= UNREAD_SECONDS + SHORT_SECONDS


class Timed:
    """An executor whose runs take as long as they are told, on a core for a share of that."""

    def __init__(
        self, worker: Worker, monkeypatch: pytest.MonkeyPatch, on_core: float = 0.0
    ) -> None:
        self.wall, self._cpu, self._on_core = 100.0, 10.0, on_core
        #: How often the CPU clock was read.
        self.reads = 0
        self._worker = worker
        self._seconds = 0.0
        monkeypatch.setattr("spanwise.worker.executor.perf_counter", lambda: self.wall)
        for module in ("spanwise.worker.executor", "spanwise.measure.steps"):
            monkeypatch.setattr(f"{module}.thread_time", self._thread_time)
        self.executor = Executor(worker, 0)
        self.executor.clock, self.executor.cpu = self.wall, self._cpu
        self.executor.core_wait = Waits(worker.ledger)  # type: ignore[assignment]

    def _thread_time(self) -> float:
        self.reads += 1
        return self._cpu

    def template(self, number: int, held: Any = None) -> Any:
        def run(_literals: Any, _inputs: Any, _held: Any = held) -> int:
            self.wall += self._seconds
            self._cpu += self._seconds * self._on_core
            return 1

        opened = SimpleNamespace(run=run, parts=None, quick=True, has_waited=False)
        self._worker.library.templates[number] = opened  # type: ignore[assignment]
        return opened

    def run(self, seconds: float, template: int = 1) -> None:
        self._seconds = seconds
        row: Row = (1, 1, template, NONE_U32, 0, 5, 6, 0, 0.0, 0.0, 0)
        self._worker.table.running[1] = 1
        self.executor._run((0.0, 0, row, (), None))


def test_the_cpu_clock_is_not_read_for_each_short_run(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes up to 2 us, a third of a tiny task's."""
    timed = Timed(worker, monkeypatch, on_core=1.0)
    timed.template(1)
    short, many = 0.5 * SHORT_SECONDS, 1000
    for _ in range(many):
        timed.run(short)
    assert 0 < timed.reads <= 1 + many * short / UNREAD_SECONDS
    before = timed.reads
    for _ in range(many):
        timed.run(1.1 * SHORT_SECONDS)
    assert timed.reads == before + many


@pytest.mark.parametrize("is_quick", [True, False])
def test_waits_are_asked_for_behind_a_rest_if_they_may_matter(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, is_quick: bool
) -> None:
    """To ask takes a lone call's thread several system calls, and it is called again and again."""
    timed = Timed(worker, monkeypatch)
    timed.template(1).quick = is_quick
    executor = timed.executor
    marks: list[float] = []

    class Marks:
        marked = timed.wall

        def mark(self) -> None:
            marks.append(timed.wall)
            self.marked = timed.wall

    executor.core_wait = Marks()  # type: ignore[assignment]
    for run in range(100):
        timed.wall += LONG_SECONDS / 10
        row: Row = (run, run, 1, NONE_U32, 0, 5, 6, 0, 0.0, 0.0, 0)
        worker.assign([row], [], [], [])
        entry = executor._idle()
        assert entry is not None
        assert executor.clock == timed.wall
    assert 9 <= len(marks) <= 11 if is_quick else len(marks) == 100


@pytest.mark.parametrize("apart", [0.0, 0.001, 10.0])
def test_of_two_runs_that_wait_the_next_is_expected_to(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, apart: float
) -> None:
    """They sleep or read; if a quick one was in between, it was the core that they waited for."""
    timed = Timed(worker, monkeypatch)
    opened = timed.template(1)
    long = 1.1 * FLUSH_SECONDS
    for seconds, quick in [
        (long, True),
        (0.6 * QUICK_SECONDS, True),
        (long, True),
        (0.1 * QUICK_SECONDS, True),
        (long, True),
        (2.0 * QUICK_SECONDS, True),  # (neither quick nor a wait: it says nothing)
        (long, False),
        (long, False),
        (0.1 * QUICK_SECONDS, True),
        (long, True),
        (long, False),
    ]:
        timed.run(seconds)
        assert opened.quick is quick
        timed.executor.clock = timed.wall = timed.wall + apart


def test_each_of_functions_in_turns_is_known_to_wait(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = Timed(worker, monkeypatch)
    both = [timed.template(1), timed.template(2)]
    for quick in (True, False, False):
        for number in (1, 2):
            timed.run(1.1 * FLUSH_SECONDS, number)
        assert [each.quick for each in both] == [quick] * 2


def test_a_function_that_waited_goes_with_its_template(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Held:
        pass

    timed, held = Timed(worker, monkeypatch), Held()
    timed.template(1, held)
    gone = weakref.ref(held)
    del held
    timed.run(1.1 * FLUSH_SECONDS)
    assert gone() is not None
    del worker.library.templates[1]
    gc.collect()
    assert gone() is None


# ── what a part waited for ────────────────────────────────────────────────

SHORT, LONG = 11, 12  # functions
NAP_SECONDS = 0.05


@pytest.fixture
def computing() -> Iterator[None]:
    """Another thread computes outside the lock, so that somebody might have held it."""
    switching = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)  # as workers have it
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            hashlib.pbkdf2_hmac("sha256", b"", b"", 20_000)

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join(LIMIT_SECONDS)
    sys.setswitchinterval(switching)


def switch_often(*_: Any) -> None:
    """Leave the core 60 times: as often as somebody who waits 30 ms for the lock."""
    for _each in range(60):
        time.sleep(0.00001)


def for_the_lock(ledger: Ledger) -> float:
    """Seconds in the middle, and their error."""
    names = Names()
    wanted = {names.id_of("gil"), names.id_of("gil-error")}
    return sum(row[6] for row in ledger.rows(names) if row[4] in wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a thread's switches")
@pytest.mark.usefixtures("computing")
def test_a_nap_does_not_inherit_what_short_parts_waited_for(worker: Worker) -> None:
    executor = Executor(worker, 0)
    executor.core_wait = Waits(worker.ledger)

    def short(_literals: Any, _values: Any) -> None:
        time.sleep(0.00001)

    def nap(_literals: Any, _values: Any) -> None:
        time.sleep(NAP_SECONDS)

    inner = [(short, (), SHORT, 0, None)] * 60 + [(nap, (), LONG, 0, None)]
    parts: list[Part] = []
    with Disturbance() as disturbance:
        executor._stamp()
        start = executor.clock
        run_parts(executor, inner, (), [], start, start, executor.cpu, parts)
        lost = disturbance.seconds
    assert [part[1] for part in parts[-2:]] == [SHORT, LONG]
    assert parts[-1][6] == parts[-1][6], "NaN: the nap was not asked what it waited for"
    # The holder of the lock when the nap ended may have had no core.
    assert for_the_lock(worker.ledger) < 0.005 + lost


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a thread's switches")
@pytest.mark.usefixtures("computing")
def test_a_nap_does_not_inherit_what_opening_its_template_waited_for(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = Executor(worker, 0)
    executor.core_wait = Waits(worker.ledger)
    opened = SimpleNamespace(
        run=lambda _literals, _inputs: time.sleep(NAP_SECONDS), parts=None, quick=False
    )

    def slowly(_template: int, _chunk: int, _place: int) -> tuple[Any, Any, int]:
        switch_often()
        return opened, (), 1

    monkeypatch.setattr(worker.library, "open", slowly)
    entry = entry_of(1)
    row = (*entry[2][:3], NONE_U32, *entry[2][4:])
    worker.table.running[row[0]] = row[1]
    with Disturbance() as disturbance:
        executor._stamp()
        executor._run((*entry[:2], row, *entry[3:]))  # type: ignore[arg-type]
        lost = disturbance.seconds
    deserialize, compute = worker.report.parts
    assert (deserialize[0], compute[0]) == (KIND_DESERIALIZE, KIND_COMPUTE)
    assert compute[6] == compute[6], "NaN: the nap was not asked what it waited for"
    # The holder of the lock when the nap ended may have had no core.
    assert for_the_lock(worker.ledger) < 0.005 + lost


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a thread's switches")
@pytest.mark.usefixtures("computing")
def test_a_nap_after_short_runs_is_not_told_what_those_waited_for(worker: Worker) -> None:
    executor = Executor(worker, 0)
    executor.core_wait = Waits(worker.ledger)
    executor._stamp()
    switch_often()
    start, cpu = time.perf_counter(), time.thread_time()
    time.sleep(NAP_SECONDS)
    row = entry_of(1)[2]
    part = executor._compute(row, start, start, time.perf_counter(), time.thread_time() - cpu)
    assert part[6] != part[6], "not NaN"
    assert for_the_lock(worker.ledger) == 0.0


def test_where_nobody_records_memory_and_transfers_are_told_all_the_same(worker: Worker) -> None:
    """The scheduler needs both; what only records have stays here."""
    sent: list[tuple[Any, ...]] = []
    worker.connect(lambda *message: sent.append(message), lambda _: None)
    worker.ledger.add(1.0, "report", "serialize", "seconds", 0.5)
    transfer = (1.0, 0.5, 1, 1e6, 1, 7, 0, 0)
    fetching: Any = SimpleNamespace(rows=lambda: [transfer])
    slow = Slow()

    class Rests(TwoRuns):
        def _idle(self) -> Entry:
            slow()
            raise StopIteration

    executor = Rests(worker)
    worker.executors = [executor]
    executor.start()
    assert slow.begun.wait(LIMIT_SECONDS)
    watch = Watch(worker, fetching, 0.0, lambda why: None, recording=False)
    watch._memory_rows = [(1.0, 2.0, 3.0, 4.0, 5.0)]
    watch._running_rows = [(0, 1, 1, 1, 0, 1.0)]
    watch.send_measured()
    slow.go_on.set()
    executor.join(LIMIT_SECONDS)
    assert [kind for kind, *_ in sent] == ["measured"] * 2
    # (which thread has the lane is told by itself, first)
    placed, measured = (tables for _, _, tables, *_rest in sent)
    assert {*placed} == {"threads"}
    assert measured["transfers"] == [transfer]
    assert {*measured} == {"memory", "transfers"}


def test_the_thread_of_a_run_is_told_before_the_run(worker: Worker) -> None:
    """Without it a scheduler plugin would learn of runs without their thread, or with another."""
    sent: list[tuple[Any, ...]] = []
    worker.connect(lambda *message: sent.append(message), lambda _: None)
    for lane in (0, 1):
        executor = TwoRuns(worker)
        executor.start()  # (for its number in the system)
        executor.join(LIMIT_SECONDS)
        worker.flush()
        sent.clear()
        before = time.perf_counter()
        worker.lanes._note(executor, lane)
        after = time.perf_counter()
        worker.report.runs.append((1, 1, RUN_OK, *(0,) * 11))
        worker.flush()
        (told, placed), (ended, runs) = [(kind, tables) for kind, _, tables, _ in sent]
        assert (told, ended) == ("measured", "finished")
        ((since, *thread),) = placed["threads"]
        assert before <= since <= after
        assert thread == [lane, float(executor.ident or 0)]
        assert {*placed} == {"threads"}
        assert runs["runs"]
        sent.clear()
        worker.flush()
        assert not sent


def test_copies_are_told_of_with_the_runs_that_wait_to_be_sent(worker: Worker) -> None:
    """Each message wakes the scheduler; without such a run they are told of at once."""
    sent: list[tuple[Any, ...]] = []
    worker.connect(lambda *message: sent.append(message), lambda _: None)

    def comes(task_id: int) -> None:
        fetch = worker.table.fetches[task_id] = Fetch(task_id, 1, 8.0)
        worker.arrived([(fetch, "input", 8.0)], Arrival(1, 0.0, 0.0, 0.0, 0.0))

    comes(10)
    assert [(kind, tables) for kind, _, tables, _ in sent] == [("replicas", {"added": [(10, 8.0)]})]
    sent.clear()
    worker.report.runs.append((1, 1, RUN_OK, *(0,) * 11))
    comes(11)
    comes(12)
    assert not sent
    worker.flush()
    (copies, ended) = sent
    # In this order: whoever knows that the run has ended may drop all copies of its inputs.
    assert copies[0] == "replicas"
    assert copies[2] == {"added": [(11, 8.0), (12, 8.0)]}
    assert ended[0] == "finished"
    worker.flush()
    assert len(sent) == 2


def test_a_copy_that_crosses_a_release_is_told_to_be_gone(worker: Worker) -> None:
    """The scheduler may read of it when the task is in memory again, elsewhere."""
    sent: list[tuple[Any, ...]] = []
    worker.connect(lambda *message: sent.append(message), lambda _: None)

    def comes(task_id: int) -> None:
        fetch = worker.table.fetches[task_id] = Fetch(task_id, 1, 8.0)
        worker.arrived([(fetch, "input", 8.0)], Arrival(1, 0.0, 0.0, 0.0, 0.0))

    def said() -> list[tuple[str, Any]]:
        found = [(kind, tables) for kind, _, tables, _ in sent]
        sent.clear()
        return found

    comes(10)
    comes(11)
    assert len(said()) == 2
    # On the first one nothing was counted; the third one never came.
    worker.release([10, 11, 12], [10, 12])
    assert said() == [("replicas", {"removed": [(10,)]})]
    # One that waits to be told of is told of before: links keep their order.
    worker.report.runs.append((1, 1, RUN_OK, *(0,) * 11))
    comes(13)
    assert said() == []
    worker.release([13], [13])
    (copies, (ended, _), gone) = said()
    assert copies == ("replicas", {"added": [(13, 8.0)]})
    assert ended == "finished"
    assert gone == ("replicas", {"removed": [(13,)]})
    assert not worker.table.values


def test_a_run_that_ends_while_others_are_told_of_is_told_once(worker: Worker) -> None:
    """Told twice, it counted as two attempts, and each of its parts twice."""
    told: list[int] = []
    ended = itertools.count(1)

    def send(kind: str, _: Any, tables: dict[str, Any], *__: Any) -> None:
        if kind == "finished":
            told.extend(row[1] for row in tables["runs"])
        # In another thread a run ends while this is on its way.
        with worker.lock:
            worker.report.runs.append((0, next(ended), RUN_OK, *(0,) * 11))

    worker.connect(send, lambda _: None)
    fetch = worker.table.fetches[10] = Fetch(10, 1, 8.0)
    worker.arrived([(fetch, "input", 8.0)], Arrival(1, 0.0, 0.0, 0.0, 0.0))
    assert told == []
    worker.flush()
    assert told == [1]
    worker.flush()
    assert told == [1, 2]


def test_workers_without_work_measure_memory_at_the_same_moments(worker: Worker) -> None:
    """So that what they say wakes the scheduler once."""
    one, other = (Watch.__new__(Watch) for _ in range(2))
    for each in (one, other):
        each._worker, each.memory_seconds = worker, MEMORY_SECONDS
    at = one._next_memory(99.95, 100.1, True)
    assert 100.1 < at <= 100.1 + RESTING_MEMORY_SECONDS
    assert other._next_memory(100.2, at - 0.001, True) == at
    assert one._next_memory(at, at + 0.001, True) == pytest.approx(at + RESTING_MEMORY_SECONDS)
    # While somebody samples it is measured as often as that needs.
    other.memory_seconds = 0.1
    assert other._next_memory(100.2, 100.21, True) == pytest.approx(100.3)


def test_data_that_comes_wakes_the_watch_thread_that_rests(worker: Worker) -> None:
    """No task has begun, and what comes may be more than the worker may hold."""
    woken: list[int] = []
    watch: Any = SimpleNamespace(parked=False, wake=lambda: woken.append(1))
    worker.watch = watch
    worker.connect(lambda *_: None, lambda _: None)
    fetch = worker.table.fetches[10] = Fetch(10, 1, 8.0)

    def bring() -> None:
        worker.keep_put(1, 7, b"", 0.0)
        worker.arrived([(fetch, "input", 8.0)], Arrival(1, 0.0, 0.0, 0.0, 0.0))

    bring()
    assert not woken
    watch.parked = True
    bring()
    assert len(woken) == 2


def test_a_worker_without_work_whose_memory_changes_does_not_rest() -> None:
    """A thread of the user's own may fill it while no task runs."""
    first, held = (math.nan, math.nan), (500e6, 7.0)
    assert not watching._is_alike(first, held), "it has just been measured for the first time"
    assert watching._is_alike(held, (500e6 - 2**20, 7.0))
    assert not watching._is_alike(held, (500e6 + watching.RESTING_CHANGE_BYTES, 7.0))
    assert not watching._is_alike(held, (500e6 - watching.RESTING_CHANGE_BYTES, 7.0))
    assert not watching._is_alike(held, (500e6, 8.0))


@pytest.mark.parametrize("stays", [False, True])
def test_a_worker_ends_for_memory_that_is_still_taken_at_a_second_look(
    stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that has made too large a result refuses it as soon as it gets the lock again."""
    worker = Worker(0, "w", 1, float(2**30), tmp_path)
    worker.connect(lambda *_: None, lambda _: None)
    executor = Executor(worker, 0)
    executor._ident = threading.get_ident()  # type: ignore[attr-defined]
    worker.executors = [executor]
    ended: list[str] = []
    fetching: Any = SimpleNamespace(rows=list)
    watch = Watch(worker, fetching, 0.0, ended.append)  # type: ignore[arg-type]
    taken = [1.2 * 2**30]
    watch._memory.process = lambda: taken[0]  # type: ignore[method-assign]

    def meanwhile(seconds: float) -> None:
        assert not ended
        taken[0] = taken[0] if stays else 2.0**27

    monkeypatch.setattr(watching, "sleep", meanwhile)
    watch._measure_memory(0.0)
    assert bool(ended) == stays


def test_a_task_that_is_released_before_it_begins_is_not_run(worker: Worker) -> None:
    """Between taking it and running it, results may have been written to disk for seconds."""
    executor = Executor(worker, 0)
    released, following = entry_of(1), entry_of(2)
    worker.assign([released[2], following[2]], [], [], [])
    taken = worker.take()
    assert taken is not None
    worker.release([1])
    after = executor._run(taken)
    assert after is not None
    assert after[2][0] == 2
    # The scheduler waits for its end: it was told that it would not be given back.
    assert [run[:3] for run in worker.report.runs] == [(1, 1, RUN_MISSING)]
    assert not worker.report.missing
