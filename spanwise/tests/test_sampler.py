"""The sampler by itself: whose stack a look sees."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from bisect import bisect_right
from collections import Counter, deque
from copy import copy
from functools import partial
from math import inf, sqrt
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spanwise.current_frames import current_frames
from spanwise.graph import binding
from spanwise.measure import sampler as sampling
from spanwise.measure.clocks import CoreWait, ThreadClock
from spanwise.measure.looks import LOOK_SECONDS, STILL_SECONDS, LookTimes
from spanwise.measure.names import OWN, Names
from spanwise.measure.sampler import INTERVAL
from spanwise.measure.steps import (
    IMPORTED,
    MOST_ENDS,
    OPENED,
    READ_DISK,
    SENT,
    WRITTEN,
    told_from,
)
from spanwise.records.enumerations import NONE_U32, SAMPLE_BLOCKED, SAMPLE_ON_CORE, SAMPLE_WAITING
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.wire.link import Link
from spanwise.worker.executor_sampler import Sampler
from spanwise.worker.library import Library
from spanwise.worker.opening import read_back
from spanwise.worker.spill import SpillStore
from spanwise.worker.spill_file import SpillFile, SpillFiles
from spanwise.worker.worker import Worker

# Columns of a row as tasks.py describes it; what is not named here is never looked at.
TEMPLATE, FUNCTION, SPAN = 2, 5, 6


def row(function: int, span: int) -> tuple[int, ...]:
    columns = [0] * 10
    columns[TEMPLATE], columns[FUNCTION], columns[SPAN] = 1, function, span
    return tuple(columns)


class FakeWait:
    """The wait for a core as a clock of the test tells it; the thread itself never reads it."""

    marked, last = 0.0, 0.0

    def __init__(self, read):
        self.read = self.peek = read


class FakeExecutor:
    """Stands at the given (row, part), and goes on to the next each time a row is read."""

    def __init__(self, *path):
        self.number = 0
        self.names = Names()
        self.ident = threading.get_ident()
        self.core_wait = None
        self.busy_since = self.began = self.began_cpu = self.clock = 0.0
        self.idle_since = -1.0
        self.due = self.next_due = inf
        self.plan = None
        self.ends = deque(maxlen=MOST_ENDS)
        self.reporting = False
        self.path = list(path)
        self.part = None

    def run(self):
        """Outermost frame of the tasks."""

    def tells(self, end, cpu, waited=0.0):
        """What it runs has ended then."""
        row, part = self.path[0]
        if end >= self.due:
            self.due = told_from(self, end)
            began, began_cpu, busy_since = self.began, self.began_cpu, self.busy_since
            self.ends.append((began, began_cpu, busy_since, end, cpu, waited, row, part))

    @property
    def row(self):
        here, self.part = self.path[0]
        if len(self.path) > 1:
            del self.path[0]
        return here


def sampler_of(executor: FakeExecutor, templates: dict[int, object] | None = None) -> Sampler:
    library = SimpleNamespace(templates=templates or {})
    return Sampler(
        SimpleNamespace(executors=[executor], names=executor.names, library=library), 0.0
    )


def look(sampler: Sampler, now: float, seconds: float) -> tuple[int, bool]:
    """Look for as many seconds before."""
    return sampler.look(now, [(now - seconds / 2, seconds)], now + 1e-9)


def booked(sampler: Sampler) -> dict[tuple[int, int], int]:
    """(span, function) to the number of samples."""
    found: dict[tuple[int, int], int] = {}
    for _, _, span, function, _, _, n in sampler.rows():
        found[span, function] = found.get((span, function), 0) + n
    return found


A, B = row(7, 1), row(8, 2)
INNER_A, INNER_B = (
    (None, (), function, span, SimpleNamespace(function=abs))
    for function, span in ((17, 11), (18, 12))
)


@pytest.mark.parametrize(
    ("before", "after", "owner"),
    [
        pytest.param((A, None), (B, None), (1, 7), id="next task"),
        pytest.param((A, INNER_A), (A, INNER_B), (11, 17), id="next part"),
        # Two tasks of one template have the same parts.
        pytest.param((A, INNER_A), (B, INNER_A), (11, 17), id="same part of next task"),
    ],
)
def test_a_stack_that_may_be_of_either_task_is_neither_s(before, after, owner):
    executor = FakeExecutor(before, after)
    sampler = sampler_of(executor)
    now = 100.0
    executor.busy_since = executor.began = now - 3 * INTERVAL
    assert look(sampler, now, 3 * INTERVAL) == (1, True)
    assert booked(sampler) == {}
    # The thread has told meanwhile when the first one ended.
    executor.ends.append((executor.began, 0.0, executor.busy_since, now, 0.0, 0.0, *before))
    executor.began = now
    sampler.look(now + INTERVAL / 2, [], now + INTERVAL)
    assert booked(sampler) == {owner: 3}


def test_a_task_that_stays_is_sampled():
    executor = FakeExecutor((A, None))
    sampler = sampler_of(executor)
    executor.busy_since = executor.began = 100.0 - 3.5 * INTERVAL
    assert look(sampler, 100.0, 3.5 * INTERVAL)[0] == 1
    assert booked(sampler) == {(1, 7): 3}


def test_an_idle_executor_is_not_sampled():
    sampler = sampler_of(FakeExecutor((None, None)))
    assert look(sampler, 100.0, INTERVAL) == (0, False)
    assert sampler.looks == 0


def test_a_look_that_fails_lets_go_of_the_frames(monkeypatch):
    """They hold what tasks hold, and this very frame."""
    frames = {1: object()}
    monkeypatch.setattr(sys, "_current_frames", lambda: frames)
    sampler = sampler_of(FakeExecutor((A, None)))
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        look(sampler, 100.0, INTERVAL)
    assert not frames


def gone() -> float:
    raise OSError("No such process")


def test_a_thread_that_begins_while_another_ends_is_looked_at():
    stays, ends, begins = (FakeExecutor((A, None)) for _ in range(3))
    sampler = sampler_of(stays)
    sampler.add(ends)
    beginning = threading.Thread(target=sampler.add, args=(begins,))

    class Lane:
        """Asked for its executor while it is sought who ends: then another one begins."""

        @property
        def executor(self):
            beginning.start()
            beginning.join(0.2)  # (it may have to wait until the other has ended)
            return stays

    sampler._lanes[0] = Lane()
    sampler.remove(ends)
    beginning.join(LIMIT_SECONDS)
    assert [lane.executor for lane in sampler._lanes[1:]] == [begins]


@pytest.mark.parametrize("ended_row", [A, None])
@pytest.mark.parametrize("place", [0, 1])
def test_a_thread_that_has_ended_takes_nothing_from_the_others(ended_row, place):
    """Its clocks went with it. Another thread ended a task in which the same look was due."""
    ended, other = FakeExecutor((ended_row, None)), FakeExecutor((B, None))
    ended.began = ended.busy_since = 100.0
    sampler = sampler_of(other)
    sampler.add(ended)
    sampler._lanes[1].clock = SimpleNamespace(read=gone)
    sampler._lanes[1].executor.core_wait = FakeWait(gone)
    sampler._lanes[:] = [sampler._lanes[1 - place], sampler._lanes[place]]
    end = 100.0 + 3.5 * INTERVAL
    other.ends.append((100.0, 0.0, 100.0, end, 0.0, 0.0, A, None))
    other.busy_since = other.began = end
    busy, _ = sampler.look(end + 0.001, [(100.02, 3.5 * INTERVAL)], end + 0.01)
    assert busy == (1 if ended_row is None else 2)
    # (what the ended one did of the look is not known, but it ran)
    assert booked(sampler) == {(1, 7): 3 if ended_row is None else 6}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(
            [(100.2, None), (100.25, SENT)], {"abs": 20, "(worker)": 5}, id="sent behind it"
        ),
        pytest.param(
            [(100.2, None), (100.25, WRITTEN)], {"abs": 20, "(disk-write)": 5}, id="made room"
        ),
        # Short tasks spend most of their time so where results are on disk, and a look comes late
        # where the machine is busy.
        pytest.param(
            [(100.2, READ_DISK), (100.22, OPENED), (100.25, None)],
            {"(disk-read)": 20, "abs": 5},
            id="read before it",
        ),
        pytest.param(
            [(100.2, OPENED), (100.25, IMPORTED)],
            {"(deserialize)": 20, "(import)": 5},
            id="opened before it",
        ),
    ],
)
def test_what_was_done_around_a_task_before_a_look_came_is_called_so(steps, expected):
    """The look was due while its thread did that, and found the next task."""
    executor = FakeExecutor((B, None))
    template = SimpleNamespace(template=SimpleNamespace(function=abs), parts=None)
    sampler = sampler_of(executor, {1: template})
    executor.busy_since = 100.0
    begin = 100.0
    for end, step in steps:
        executor.ends.append((begin, 0.0, begin, end, 0.0, 0.0, A, step))
        begin = end
    executor.began = begin
    sampler.look(100.26, [(100.1, 10 * INTERVAL), (100.23, 5 * INTERVAL)], 100.27)
    rows = sampler.rows()
    stacks, frames = sampler.stacks.rows()
    names = executor.names.announcement()["names"]
    function = {number: names[name & ~OWN] for number, name, _, _ in frames}
    found = {function[frame]: 0 for _, _, frame in stacks}
    top = {stack: function[frame] for stack, _, frame in stacks}
    for _, _, span, number, stack, _, n in rows:
        assert (span, number) == (1, 7)
        found[top[stack]] += n
    # (A task of over 0.1 s has its own time.)
    assert found == expected


@pytest.mark.parametrize(
    ("codes", "name"),
    [
        pytest.param([Path.unlink, SpillFiles.dead, SpillFile.dead], "(disk-read)", id="removes"),
        pytest.param([Library.loads, read_back], "(deserialize)", id="opens what it has read"),
        pytest.param([read_back], "(disk-read)", id="has read, and has not told it yet"),
        pytest.param([Link.send, Worker.flush], "(worker)", id="sends"),
        pytest.param(
            [SpillFiles.write, SpillStore.spill, SpillStore.make_room],
            "(disk-write)",
            id="makes room",
        ),
        pytest.param(
            [SpillStore.pickled, SpillStore.spill, SpillStore.make_room],
            "(serialize)",
            id="pickles what makes room",
        ),
    ],
)
def test_what_a_thread_does_around_tasks_is_no_function_of_theirs(codes, name):
    executor = FakeExecutor((A, None))
    sampler = sampler_of(executor)
    sampler.stacks.stack_of([each.__code__ for each in codes], None)
    _, frames = sampler.stacks.rows()
    names = executor.names.announcement()["names"]
    assert [names[number & ~OWN] for _, number, _, _ in frames] == [name]


class Still:
    """A thread in a task: computes in `first`, stands there, and when told to in `second`."""

    def __init__(self):
        self.go_on, self.end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.executor = FakeExecutor((A, None))
        self.executor.ident = self.thread.ident
        self.executor.busy_since = self.executor.began = 100.0

    def run(self):
        self.first()

    def first(self):
        self.go_on.wait()
        self.second()

    def second(self):
        self.end.wait()


def functions(sampler: Sampler) -> set[str]:
    names = sampler._lanes[0].executor.names.announcement()["names"]
    return {names[name & ~OWN].rpartition(".")[2] for _, name, _, _ in sampler.stacks.rows()[1]}


def test_a_thread_that_has_not_run_is_looked_at_by_its_clock_alone(monkeypatch):
    """It stands where it stood; once it has run, its stack is taken anew."""
    taken = []
    take = sys._current_frames
    monkeypatch.setattr(sys, "_current_frames", lambda: taken.append(1) or take())
    still = Still()
    try:
        sampler = sampler_of(still.executor)
        wait_until("it stands", lambda: stands(still.thread))
        taken.clear()
        for number in range(1, 21):
            assert look(sampler, 100.0 + number * INTERVAL, INTERVAL)[0] == 1
        # The first finds that it has run, the second that it has not.
        assert len(taken) == 2
        still.go_on.set()
        wait_until("it stands again", lambda: stands(still.thread, "second"))
        taken.clear()
        for number in range(21, 41):
            look(sampler, 100.0 + number * INTERVAL, INTERVAL)
        assert len(taken) == 2
        assert booked(sampler) == {(1, 7): 40}
        assert {"first", "second"} <= functions(sampler)
    finally:
        still.go_on.set()
        still.end.set()


def test_a_stack_from_before_the_clock_was_read_is_not_kept(monkeypatch):
    """The thread went on between the two: what was seen is not where it stands."""
    still = Still()
    try:
        sampler = sampler_of(still.executor)
        wait_until("it stands", lambda: stands(still.thread))
        take = sys._current_frames

        def take_and_go_on():
            frames = take()
            monkeypatch.setattr(sys, "_current_frames", take)
            still.go_on.set()
            wait_until("it stands again", lambda: stands(still.thread, "second"))
            return frames

        monkeypatch.setattr(sys, "_current_frames", take_and_go_on)
        look(sampler, 100.0 + INTERVAL, INTERVAL)
        for number in range(2, 12):
            look(sampler, 100.0 + number * INTERVAL, INTERVAL)
        assert booked(sampler) == {(1, 7): 11}
        assert "second" in functions(sampler)
    finally:
        still.go_on.set()
        still.end.set()


def stands(thread: threading.Thread, function: str = "first") -> bool:
    """Whether it waits in `function` and has not run for a while."""
    assert thread.ident is not None
    clock = ThreadClock(thread.ident)
    before = clock.read()
    time.sleep(0.02)
    frame = current_frames()[thread.ident]
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    found = next((name for name in names if name in ("first", "second")), None)
    stat = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    is_asleep = stat.rpartition(")")[2].split()[0] == "S"
    return found == function and "wait" in names[:2] and is_asleep and clock.read() == before


def named(sampler: Sampler) -> dict[str, int]:
    """Functions that make up a stack alone, and "(this test)", to the number of samples."""
    rows = sampler.rows()
    stacks, frames = sampler.stacks.rows()
    names = sampler._lanes[0].executor.names.announcement()["names"]
    function = {number: names[name & ~OWN] for number, name, _, _ in frames}
    alone = {stack: function[frame] for stack, parent, frame in stacks if parent == NONE_U32}
    found: dict[str, int] = {}
    for *_, stack, _, n in rows:
        # What a look really finds here: this test, in many frames.
        who = alone[stack] if alone.get(stack) in LONE else "(this test)"
        found[who] = found.get(who, 0) + n
    return found


def look_at(frame, number, sampler, monkeypatch) -> None:
    """Look for the time of that number, with this frame innermost in this thread."""
    ident = threading.get_ident()
    monkeypatch.setattr(sys, "_current_frames", lambda: {ident: frame})
    # (a thread that has run is seen anew)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: number * INTERVAL)
    look(sampler, 100.0 + (number + 1) * INTERVAL, INTERVAL)


CALLING = compile("", str(Path(binding.__file__)), "exec")


@pytest.mark.parametrize("code", [CALLING, CoreWait.read.__code__], ids=["calls", "reads"])
def test_what_has_no_frame_is_seen_at_each_look(monkeypatch, code):
    """The innermost code says that it calls, or reads its clock; of others nothing is asked."""
    executor = FakeExecutor((A, None))
    template = SimpleNamespace(template=SimpleNamespace(function=abs), parts=None)
    sampler = sampler_of(executor, {1: template})
    executor.busy_since = executor.began = 100.0
    computes = SimpleNamespace(f_code=worked.__code__, f_back=None)
    stands = SimpleNamespace(f_code=code, f_back=None)
    for number, frame in enumerate([stands, stands, computes, computes, stands, stands]):
        look_at(frame, number, sampler, monkeypatch)
    rows = sampler.rows()
    stacks, frames = sampler.stacks.rows()
    names = executor.names.announcement()["names"]
    function = {number: names[name & ~OWN] for number, name, _, _ in frames}
    of_stack = {stack: function[frame] for stack, _, frame in stacks}
    found: Counter[str] = Counter()
    for *_, stack, _, n in rows:
        found[of_stack[stack]] += n
    assert found == {"abs": 4, "worked": 2}


def test_a_stack_is_looked_up_only_where_it_is_another_than_before(monkeypatch):
    """Another one may consist of equal code: of a module that was copied."""
    executor = FakeExecutor((A, None))
    sampler = sampler_of(executor)
    executor.busy_since = executor.began = 100.0
    here, copied, inner = (
        compile(text, file, "exec")
        for text, file in (("x = 1", "here.py"), ("x = 1", "copied.py"), ("y = 2", "inner.py"))
    )
    assert here == copied and here is not copied
    looked_up: list[int] = []
    stack_of = sampler.stacks.stack_of
    monkeypatch.setattr(
        sampler.stacks, "stack_of", lambda *args: looked_up.append(1) or stack_of(*args)
    )
    stacks = [[here], [here], [copied], [copied], [here], [inner, here], [here]]
    for number, codes in enumerate(stacks):
        frame = None
        for code in reversed(codes):
            frame = SimpleNamespace(f_code=code, f_back=frame)
        look_at(frame, number, sampler, monkeypatch)
    rows = sampler.rows()
    told, frames = sampler.stacks.rows()
    names = executor.names.announcement()["names"]
    file_of = {number: names[file & ~OWN] for number, _, file, _ in frames}
    of_stack = {stack: (parent, file_of[frame]) for stack, parent, frame in told}
    found: Counter[tuple[bool, str]] = Counter()
    for *_, stack, _, n in rows:
        parent, file = of_stack[stack]
        found[parent == NONE_U32, file] += n
    assert found == {(True, "here.py"): 4, (True, "copied.py"): 2, (False, "inner.py"): 1}
    assert len(looked_up) == 5


def worked() -> None:
    """What a task called."""


class Works:
    def __call__(self) -> None:
        """What a task called."""


class Answers(Works):
    """Whose attributes are code."""

    def __getattr__(self, name: str) -> object:
        raise KeyError(name)


class AnswersAll:
    """Has all attributes, but none that would say what is called."""

    __call__ = abs

    def __getattr__(self, name: str) -> object:
        raise KeyError(name)


CALLED = {
    "worked": worked,
    "partial": partial(partial(worked)),
    "method": Works().__call__,
    "object": Works(),
    "raises": Answers(),
    "raises, built in": AnswersAll(),
    "built in": abs,
    "class": SimpleNamespace,
}
LONE = [
    "worked",
    "worked",
    "Works.__call__",
    "Works.__call__",
    "Works.__call__",
    "AnswersAll",
    "abs",
    "SimpleNamespace",
]


@pytest.mark.parametrize(("which", "name"), list(zip(CALLED, LONE, strict=True)))
@given(
    lengths=st.lists(
        st.tuples(st.floats(0.001, 0.03), st.floats(0, 0.01)), min_size=30, max_size=60
    )
)
@settings(max_examples=20)
def test_looks_while_a_run_is_sent_are_shared_as_the_time_is(which, name, lengths):
    """All looks come where the lock is let go: after the run."""
    executor = FakeExecutor((A, None))
    template = SimpleNamespace(template=SimpleNamespace(function=CALLED[which]), parts=None)
    sampler = sampler_of(executor, {1: template})
    executor.reporting = True
    now = executor.busy_since = 100.0
    for run, sending in lengths:
        executor.began, stop = now, now + run
        executor.clock = stop
        now = stop + sending
        dues = [(stop - run / 2, run), (stop + sending / 2, sending)]
        sampler.look(now, dues, now)
    found = named(sampler)
    assert found.keys() <= {name, "(this test)"}
    sent = sum(sending for _, sending in lengths)
    # Owed are at most what one look stands for, and what is carried over.
    most = max(run + sending for run, sending in lengths)
    assert found.get("(this test)", 0) * INTERVAL == pytest.approx(sent, abs=2 * (most + INTERVAL))
    assert found.get(name, 0) * INTERVAL == pytest.approx(
        now - 100.0 - sent, abs=2 * (most + INTERVAL)
    )


def test_looks_while_a_fused_task_is_sent_are_its_last_part_s():
    executor = FakeExecutor((A, None))
    template = SimpleNamespace(
        template=SimpleNamespace(function=lambda: None),
        parts=[INNER_A, INNER_B],
        parts_in=lambda span: [INNER_A, INNER_B],
    )
    sampler = sampler_of(executor, {1: template})
    executor.reporting = True
    executor.busy_since = 100.0
    executor.clock = 100.0 + 3.5 * INTERVAL
    look(sampler, executor.clock, 3.5 * INTERVAL)
    assert booked(sampler) == {(12, 18): 3}


def test_a_look_that_was_due_in_a_run_whose_end_is_told_counts_once():
    """The thread sends it by now, and still has its row and its begin."""
    executor = FakeExecutor((A, None))
    sampler = sampler_of(executor, {})
    executor.busy_since = executor.began = 100.0
    executor.clock = end = 100.0 + 8.5 * INTERVAL
    executor.reporting = True
    executor.ends.append((100.0, 0.0, 100.0, end, 0.0, 0.0, A, None))
    due = (100.0 + 4 * INTERVAL, 8.5 * INTERVAL)
    assert sampler.look(end + INTERVAL / 2, [due], end + INTERVAL) == (1, True)
    assert booked(sampler) == {(1, 7): 8}


def test_what_a_thread_used_before_it_was_idle_is_no_later_task_s():
    used = iter([0.0, 0.5, 0.5 + 0.1 * INTERVAL])
    executor = FakeExecutor((A, None), (None, None), (B, None))
    sampler = sampler_of(executor, {})
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: next(used))
    executor.busy_since = executor.began = 100.0 - INTERVAL
    executor.path = [(A, None)]
    look(sampler, 100.0, INTERVAL)
    # It computed for half a second, which no look saw, and has nothing to do now.
    executor.path = [(None, None)]
    executor.idle_since = 100.5
    look(sampler, 101.0, INTERVAL)
    executor.path = [(B, None)]
    executor.busy_since = executor.began = 101.0
    executor.began_cpu = 0.5
    executor.clock = 101.0 + 10.2 * INTERVAL
    executor.reporting = True
    look(sampler, 101.0 + 10.2 * INTERVAL, 10.2 * INTERVAL)
    found = {
        state: n for _, _, _, function, _, state, n in sampler.rows() if function == B[FUNCTION]
    }
    assert found == {SAMPLE_BLOCKED: 10}


class Scheduled:
    """A thread as the kernel runs it, and its clocks as the kernel tells them.

    Parameters
    ----------
    stays
        State and seconds, one after the other.
    """

    def __init__(self, stays: list[tuple[int, float]]) -> None:
        self._begins = [0.0]
        #: Seconds in each state at the begin of each stay.
        self._before = [(0.0, 0.0, 0.0)]
        #: Of each stay; none of what comes after the last.
        self._states = [*(state for state, _ in stays), None]
        for state, seconds in stays:
            self._begins.append(self._begins[-1] + seconds)
            before = list(self._before[-1])
            before[state] += seconds
            self._before.append((before[0], before[1], before[2]))

    def spent(self, state: int, now: float, with_last: bool = True) -> float:
        """Seconds in a state until now; without the stay that has not ended by then."""
        at = bisect_right(self._begins, now) - 1
        spent = self._before[at][state]
        if with_last and self._states[at] == state:
            spent += now - self._begins[at]
        return spent


@given(
    st.lists(
        st.tuples(
            st.floats(0.0002, 0.03),
            st.sampled_from([SAMPLE_WAITING, SAMPLE_BLOCKED]),
            st.floats(0.0002, 0.2),
        ),
        min_size=1,
        max_size=40,
    ),
    st.lists(st.floats(0.9 * INTERVAL, 1.4 * INTERVAL), min_size=1),
)
# Looks amid a stay give a sample on core, owed from before it: what the stay is owed goes on.
@example(
    [
        (core / 128, SAMPLE_WAITING, off / 16)
        for core, off in [(2, 1), (2, 1), (3, 2), (3, 2), (2, 3), (1, 3), (1, 2), (2, 2)]
    ],
    [0.009, 0.011337043543874336, 0.009],
)
def test_a_stay_in_the_run_queue_that_the_kernel_tells_of_late_is_no_blocking(drawn, steps):
    stays = [each for core, state, off in drawn for each in ((SAMPLE_ON_CORE, core), (state, off))]
    whole = sum(seconds for _, seconds in stays)
    # What is owed at the end is paid while the task goes on.
    thread = Scheduled([*stays, (SAMPLE_ON_CORE, 1.0)])
    now = 0.0
    executor = FakeExecutor((A, None))
    executor.core_wait = FakeWait(lambda: thread.spent(SAMPLE_WAITING, now, with_last=False))
    sampler = sampler_of(executor)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: thread.spent(SAMPLE_ON_CORE, now))
    for step in itertools.cycle(steps):
        now += step
        if now > whole + 1.0:
            break
        look(sampler, now, step)
        looked = now
    found = Counter[int]()
    for *_, state, n in sampler.rows():
        found[state] += n
    for state in (SAMPLE_ON_CORE, SAMPLE_WAITING, SAMPLE_BLOCKED):
        assert found[state] * INTERVAL == pytest.approx(
            thread.spent(state, looked), abs=4 * INTERVAL
        )


@given(
    st.lists(
        st.tuples(st.floats(0.02, 0.1), st.floats(0.0002, 0.014), st.floats(0.0002, 0.002)),
        min_size=20,
        max_size=60,
    ),
    st.lists(st.floats(0.95 * INTERVAL, 1.2 * INTERVAL), min_size=1),
)
def test_stays_of_one_task_after_the_other_add_up(tasks, steps):
    """Each sleeps, waits for a core, and computes until the next begins."""
    thread = Scheduled(
        [
            each
            for asleep, queued, core in tasks
            for each in ((SAMPLE_BLOCKED, asleep), (SAMPLE_WAITING, queued), (SAMPLE_ON_CORE, core))
        ]
    )
    begins = [0.0, *itertools.accumulate(sum(each) for each in tasks)]
    now = 0.0
    executor = FakeExecutor((A, None))
    executor.core_wait = FakeWait(lambda: thread.spent(SAMPLE_WAITING, now, with_last=False))
    sampler = sampler_of(executor)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: thread.spent(SAMPLE_ON_CORE, now))
    for step in itertools.cycle(steps):
        if now + step > begins[-1]:
            break
        now += step
        began = max(begin for begin in begins if begin <= now)
        if began > executor.began:
            waited = thread.spent(SAMPLE_WAITING, began, with_last=False)
            executor.tells(began, thread.spent(SAMPLE_ON_CORE, began), waited)
        executor.began = began
        executor.began_cpu = thread.spent(SAMPLE_ON_CORE, executor.began)
        look(sampler, now, step)
    found = Counter[int]()
    for *_, state, n in sampler.rows():
        found[state] += n
    waited = thread.spent(SAMPLE_WAITING, now)
    # A look across a border shares the waiting of both tasks, either way.
    assert found[SAMPLE_WAITING] * INTERVAL == pytest.approx(waited, rel=0.2, abs=5 * INTERVAL)


def test_where_the_system_tells_no_waiting_what_stands_still_is_blocked():
    """A kernel without scheduler statistics: the clock is there, and reads NaN."""
    executor = FakeExecutor((A, None))
    executor.core_wait = FakeWait(lambda: float("nan"))
    sampler = sampler_of(executor)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: 0.0)
    executor.busy_since = executor.began = 100.0
    look(sampler, 100.0 + 5.5 * INTERVAL, 5.5 * INTERVAL)
    executor.path = [(None, None)]
    executor.idle_since = 100.0 + 6 * INTERVAL
    look(sampler, 101.0, INTERVAL)
    assert {state: n for *_, state, n in sampler.rows()} == {SAMPLE_BLOCKED: 5}


class Turn(NamedTuple):
    """A task, or a part of one: the same object in stays that follow each other."""

    row: tuple[int, ...]
    part: tuple[Any, ...] | None = None


class Turns:
    """A thread that runs one task after the other, as sampler and kernel see it.

    Parameters
    ----------
    stays
        Turn (None between tasks), state and seconds.
    busy_since_each
        Whether each task counts as begun after a pause, as for the threads of local schedulers.
        A worker's says so of its first task after a pause.
    """

    def __init__(self, stays, busy_since_each: bool = False) -> None:
        self.scheduled = Scheduled([(state, seconds) for _, state, seconds in stays])
        #: Begin, end and turn of each.
        self.turns: list[list[Any]] = []
        end = 0.0
        for turn, _, seconds in stays:
            if not self.turns or turn is None or turn is not self.turns[-1][2]:
                self.turns.append([end, end, turn])
            end += seconds
            self.turns[-1][1] = end
        self.busy_since_each = busy_since_each
        self._begin()

    def again(self) -> Turns:
        """Another thread that runs the same, from the begin."""
        made = copy(self)
        made._begin()
        return made

    def _begin(self) -> None:
        self.now, self.place = 0.0, -1
        #: The least time between a task's begin and a look at it.
        self.nearest = 1.0
        self.executor = FakeExecutor((None, None))
        self.executor.core_wait = FakeWait(lambda: self.waited(self.now))
        self.sampler = sampler_of(self.executor)
        self.sampler._lanes[0].clock = SimpleNamespace(
            read=lambda: self.scheduled.spent(SAMPLE_ON_CORE, self.now)
        )

    def waited(self, at: float) -> float:
        return self.scheduled.spent(SAMPLE_WAITING, at, with_last=False)

    def true(self) -> dict[tuple[int, int], float]:
        """(function, state) to samples, of the time until now."""
        found = Counter[tuple[int, int]]()
        for begin, end, turn in self.turns:
            if turn is None or begin >= self.now:
                continue
            function = turn.row[FUNCTION] if turn.part is None else turn.part[2]
            for state in (SAMPLE_ON_CORE, SAMPLE_WAITING, SAMPLE_BLOCKED):
                until = self.scheduled.spent(state, min(end, self.now))
                found[function, state] += (until - self.scheduled.spent(state, begin)) / INTERVAL
        return found

    def look_through(
        self, seconds: float = LOOK_SECONDS, adapts: bool = False, chance: Random | None = None
    ) -> Counter[tuple[int, int]]:
        """(function, state) to samples, after looks in stretches of so many seconds.

        Parameters
        ----------
        adapts
            Looks at a thread that stands still are less frequent.
        """
        times = LookTimes(0.0, seconds, seed=(chance or CHANCE).getrandbits(64))
        self.sampler.awaits(times)
        stretch = seconds
        while times.due < self.turns[-1][1]:
            self.go_to(times.due)
            dues = times.take(self.now)
            busy, moved = self.sampler.look(self.now, dues, times.earliest(self.now))
            if adapts:
                still = max(seconds, min(2 * stretch, STILL_SECONDS))
                stretch = seconds if moved or not busy else still
                times.stretch(stretch, self.now)
                self.sampler.awaits(times)
        self.go_to(self.turns[-1][1])
        return self.found()

    def go_to(self, now: float) -> None:
        """Run until then."""
        executor, turns = self.executor, self.turns
        self.now = now
        while self.place + 1 < len(turns) and turns[self.place + 1][0] <= now:
            before = turns[self.place] if self.place >= 0 else (0.0, 0.0, None)
            begin, end, turn = before
            if turn is not None and end >= executor.due:
                executor.tells(end, self.cpu(end), self.waited(end))
            self.place += 1
            was_idle = turn is None
            begin, _, turn = turns[self.place]
            if turn is None or self.busy_since_each:
                executor.idle_since = end
            if turn is None:
                executor.path = [(None, None)]
                continue
            executor.path = [turn]
            executor.began, executor.began_cpu = begin, self.cpu(begin)
            executor.core_wait.marked = begin
            executor.core_wait.last = self.waited(begin)
            if self.busy_since_each or was_idle:
                executor.busy_since = begin
        begin, _, turn = turns[self.place]
        if turn is not None:
            self.nearest = min(self.nearest, now - begin)

    def found(self) -> Counter[tuple[int, int]]:
        """(function, state) to samples so far."""
        self.sampler.settle(self.now)
        found = Counter[tuple[int, int]]()
        for _, _, _, function, _, state, n in self.sampler.rows():
            found[function, state] += n
        return found

    def cpu(self, at: float) -> float:
        return self.scheduled.spent(SAMPLE_ON_CORE, at)


#: Two looks come shortly one after the other while the thread waits for a core, the next one soon.
SHORTLY = [
    *[(False, 0.0, 0.0, 0.0002)] * 2,
    (False, 0.0, 0.008725599542196424, 0.0007546764463556289),
    (False, 0.013671875, 0.0078125, 0.023090943944337514),
    (False, 0.013671875, 0.00390625, 0.001953125),
    (False, 0.001953125, 0.001953125, 0.03828992756066316),
    (True, 0.009765625, 0.009765625, 0.03125),
    *[(False, 0.0, 0.0, 0.03125)] * 2,
    (True, 0.0, 0.0, 0.03125),
]


@example(SHORTLY, 0.009000000000000001, 557143, False)
@given(
    st.lists(
        st.tuples(
            st.booleans(), st.floats(0.0, 0.02), st.floats(0.0, 0.01), st.floats(0.0002, 0.04)
        ),
        min_size=10,
        max_size=60,
    ),
    st.floats(0.9 * INTERVAL, 5 * INTERVAL),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_what_a_task_did_is_not_what_came_before_it_did(drawn, seconds, seed, busy_since_each):
    """One function computes, one sleeps; a thread wakes up late between them."""
    turns = Turns(
        [
            stay
            for computes, asleep, queued, seconds in drawn
            for stay in (
                (None, SAMPLE_BLOCKED, asleep),
                (None, SAMPLE_WAITING, queued),
                (Turn(A), SAMPLE_ON_CORE, seconds)
                if computes
                else (Turn(B), SAMPLE_BLOCKED, seconds),
            )
        ],
        busy_since_each,
    )
    found = turns.look_through(seconds, chance=Random(seed))
    # What has just begun is taken to run.
    assume(turns.nearest > 1e-6)
    assert found.keys() <= {(A[FUNCTION], SAMPLE_ON_CORE), (B[FUNCTION], SAMPLE_BLOCKED)}


@pytest.mark.parametrize("busy_since_each", [False, True])
def test_short_tasks_have_the_samples_of_their_time(busy_since_each):
    turns = Turns(
        [
            stay
            for _ in range(600)
            for stay in ((Turn(A), SAMPLE_ON_CORE, 0.003), (Turn(B), SAMPLE_BLOCKED, 0.01731))
        ],
        busy_since_each,
    )
    found = turns.look_through()
    assert found[A[FUNCTION], SAMPLE_ON_CORE] * INTERVAL == pytest.approx(600 * 0.003, rel=0.1)
    assert found[B[FUNCTION], SAMPLE_BLOCKED] * INTERVAL == pytest.approx(600 * 0.01731, rel=0.1)


@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(0.5 * INTERVAL, 5 * INTERVAL), st.floats(0.0, 1.0)),
        min_size=1,
        max_size=6,
    )
)
def test_each_state_has_the_samples_of_its_time_however_looks_and_tasks_fall_together(pattern):
    executor = FakeExecutor((A, None))
    cpu = now = 0.0
    sampler = sampler_of(executor)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: cpu)
    executor.busy_since = 0.0
    true = Counter[tuple[int, int]]()
    for is_a, step, share in pattern * 100:
        row = A if is_a else B
        executor.tells(now, cpu)
        executor.path = [(row, None)]
        executor.began, executor.began_cpu = now, cpu
        now += step
        cpu += share * step
        true[row[FUNCTION], SAMPLE_ON_CORE] += share * step / INTERVAL
        true[row[FUNCTION], SAMPLE_BLOCKED] += (1.0 - share) * step / INTERVAL
        look(sampler, now, step)
    found = Counter[tuple[int, int]]()
    for _, _, _, function, _, state, n in sampler.rows():
        found[function, state] += n
    assert found.keys() <= true.keys()
    for each, samples in true.items():
        assert found[each] == pytest.approx(samples, abs=1.5)


def test_a_look_that_came_late_gives_each_state_its_share():
    """A call kept the lock for 0.95 s; 0.6 of it on a core. The thread had computed long before."""
    executor = FakeExecutor((A, None))
    executor.core_wait = FakeWait(lambda: 3.0 + 0.4 * 0.95)
    executor.began = executor.busy_since = executor.core_wait.marked = 25_000.0
    executor.began_cpu, executor.core_wait.last = 40.0, 3.0
    sampler = sampler_of(executor)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: 40.0 + 0.6 * 0.95)
    look(sampler, 25_000.95, 0.95)
    assert {state: n for *_, state, n in sampler.rows()} == {
        SAMPLE_ON_CORE: 57,
        SAMPLE_WAITING: 38,
    }


def test_debts_of_many_functions_are_bounded(monkeypatch):
    monkeypatch.setattr(sampling, "_MOST_OWED", 10)
    executor = FakeExecutor((A, None))
    sampler = sampler_of(executor)
    for function in range(100):
        executor.path = [(row(function, 1), None)]
        look(sampler, 0.009 * (function + 1), 0.009)
    rows = sampler.rows()
    lane = sampler._lanes[0]
    assert len(lane.owed) == 10
    # Each was seen for 9 ms: nine in ten have a sample.
    assert sum(n for *_, n in rows) == pytest.approx(90, abs=2)


#: Looks and tasks that keep no step with each other.
CHANCE = Random(4711)


@pytest.fixture(autouse=True)
def _same_chance() -> None:
    """Whichever tests ran before."""
    CHANCE.seed(4711)


def closely(turns: Turns, found: Counter[tuple[int, int]]) -> None:
    """Samples are the true ones within what looks at random allow, and some."""
    true = turns.true()
    whole = sum(true.values())
    # (What has just begun is taken to run.)
    assert {key for key, n in found.items() if n > 1} <= {key for key, n in true.items() if n > 0.5}
    for key, samples in true.items():
        bound = max(3.0, 0.15 * samples, 4 * sqrt(samples * (whole - samples) / whole))
        assert found[key] == pytest.approx(samples, abs=bound), (found, true)


def some(seconds: float) -> float:
    return seconds * CHANCE.uniform(0.5, 1.5)


def reads(turn: Turn, seconds: float) -> tuple[Turn, int, float]:
    return turn, SAMPLE_BLOCKED, some(seconds)


def computes(turn: Turn, seconds: float) -> tuple[Turn, int, float]:
    return turn, SAMPLE_ON_CORE, some(seconds)


@pytest.mark.parametrize("seconds", [0.003, 0.0071, 0.013, 0.033, 0.071])
@pytest.mark.parametrize("idle", [0.0, 0.0043])
@pytest.mark.parametrize("both", [(reads, computes), (computes, reads)])
def test_what_tasks_do_late_has_its_samples(both, idle, seconds):
    """Each reads first and computes then, or the other way round."""
    stays = []
    for _ in range(int(6 / seconds)):
        turn = Turn(A)
        stays += [do(turn, seconds * share) for do, share in zip(both, (0.9, 1.1), strict=True)]
        if idle:
            stays.append((None, SAMPLE_BLOCKED, some(idle)))
    turns = Turns(stays)
    closely(turns, turns.look_through(adapts=True))


@pytest.mark.parametrize("seconds", [0.003, 0.0071, 0.013, 0.033, 0.071])
def test_each_part_of_a_fused_task_has_its_own_state(seconds):
    stays = []
    for _ in range(int(6 / seconds)):
        row = A[:]
        stays += [
            reads(Turn(row, INNER_A), seconds * 0.9),
            computes(Turn(row, INNER_B), seconds * 1.1),
        ]
    turns = Turns(stays)
    closely(turns, turns.look_through(adapts=True))


@pytest.mark.parametrize("seconds", [0.043, 0.061, 0.111])
def test_what_sleeps_long_keeps_its_time(seconds):
    """Looks at what stands still are four times as far apart, and see its end no more."""
    stays = []
    for _ in range(int(6 / seconds)):
        stays += [
            reads(Turn(A), seconds),
            (None, SAMPLE_BLOCKED, some(0.0143)),
            computes(Turn(B), 0.0119),
            (None, SAMPLE_BLOCKED, some(0.0071)),
        ]
    turns = Turns(stays)
    found = turns.look_through(adapts=True)
    asleep = A[FUNCTION], SAMPLE_BLOCKED
    assert found[asleep] == pytest.approx(turns.true()[asleep], rel=0.1)
    # Of what is shorter than the time between looks, many or few happen to be seen.
    computed = B[FUNCTION], SAMPLE_ON_CORE
    assert found[computed] == pytest.approx(turns.true()[computed], rel=0.5)
