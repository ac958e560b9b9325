"""The sampler by itself: whose stack a look sees."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from spanwise.measure import sampler as sampling
from spanwise.measure.clocks import ThreadClock
from spanwise.measure.names import OWN, Names
from spanwise.measure.sampler import INTERVAL
from spanwise.records.enumerations import NONE_U32, SAMPLE_BLOCKED, SAMPLE_ON_CORE, SAMPLE_WAITING
from spanwise.worker.executor_sampler import Sampler

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
        self.read = read


class FakeExecutor:
    """Stands at the given (row, part), and goes on to the next each time a row is read."""

    def __init__(self, *path):
        self.number = 0
        self.names = Names()
        self.ident = threading.get_ident()
        self.core_wait = None
        self.busy_since = self.clock = self.cpu = 0.0
        self.reporting = False
        self.path = list(path)
        self.part = None

    def run(self):
        """Outermost frame of the tasks."""

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
        pytest.param((A, None), (B, None), (2, 8), id="next task"),
        pytest.param((A, INNER_A), (A, INNER_B), (12, 18), id="next part"),
        # Two tasks of one template have the same parts.
        pytest.param((A, INNER_A), (B, INNER_A), (11, 17), id="same part of next task"),
    ],
)
def test_a_stack_that_may_be_of_either_task_is_booked_to_neither(before, after, owner):
    executor = FakeExecutor(before, after)
    sampler = sampler_of(executor)
    now = 100.0
    executor.busy_since = executor.clock = now - 3 * INTERVAL
    assert sampler.look(now) == (1, True)
    assert booked(sampler) == {}
    # The next look stands for the time of both.
    sampler.look(now + INTERVAL / 2)
    assert booked(sampler) == {owner: 3}


def test_a_task_that_stays_is_sampled():
    executor = FakeExecutor((A, None))
    sampler = sampler_of(executor)
    executor.busy_since = executor.clock = 100.0 - 3.5 * INTERVAL
    assert sampler.look(100.0)[0] == 1
    assert booked(sampler) == {(1, 7): 3}


def test_an_idle_executor_is_not_sampled():
    sampler = sampler_of(FakeExecutor((None, None)))
    assert sampler.look(100.0) == (0, False)
    assert sampler.looks == 0


def named(sampler: Sampler) -> dict[str, int]:
    """Functions that make up a stack alone, and "(this test)", to the number of samples."""
    stacks, frames = sampler.stacks.rows()
    names = sampler._lanes[0].executor.names.announcement()["names"]
    function = {number: names[name & ~OWN] for number, name, _, _ in frames}
    alone = {stack: function[frame] for stack, parent, frame in stacks if parent == NONE_U32}
    found: dict[str, int] = {}
    for *_, stack, _, n in sampler.rows():
        # What a look really finds here: this test, in many frames.
        who = alone[stack] if alone.get(stack) in LONE else "(this test)"
        found[who] = found.get(who, 0) + n
    return found


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
@given(lengths=st.lists(st.tuples(st.floats(0.001, 0.03), st.floats(0, 0.01)), min_size=50))
def test_looks_while_a_run_is_sent_are_shared_as_the_time_is(which, name, lengths):
    """All looks come where the lock is let go: after the run."""
    executor = FakeExecutor((A, None))
    template = SimpleNamespace(template=SimpleNamespace(function=CALLED[which]), parts=None)
    sampler = sampler_of(executor, {1: template})
    executor.reporting = True
    now = executor.busy_since = 100.0
    for run, sending in lengths:
        executor.clock = now + run
        now = executor.clock + sending
        sampler.look(now)
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
        template=SimpleNamespace(function=lambda: None), parts=[INNER_A, INNER_B]
    )
    sampler = sampler_of(executor, {1: template})
    executor.reporting = True
    executor.busy_since = 100.0
    executor.clock = 100.0 + 3.5 * INTERVAL
    sampler.look(executor.clock)
    assert booked(sampler) == {(12, 18): 3}


def test_what_a_thread_used_before_it_was_idle_is_no_later_task_s(monkeypatch):
    used = iter([0.0, 0.5, 0.5 + 0.1 * INTERVAL])
    monkeypatch.setattr(ThreadClock, "read", lambda _: next(used))
    executor = FakeExecutor((A, None), (None, None), (B, None))
    sampler = sampler_of(executor, {})
    executor.busy_since = executor.clock = 100.0
    executor.path = [(A, None)]
    sampler.look(100.0)
    # It computed for half a second, which no look saw, and has nothing to do now.
    executor.path = [(None, None)]
    sampler.look(101.0)
    executor.path = [(B, None)]
    executor.busy_since = 101.0
    executor.clock = 101.0 + 10.2 * INTERVAL
    executor.reporting = True
    sampler.look(101.0 + 10.2 * INTERVAL)
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
        self.stays = stays

    def spent(self, state: int, now: float, with_last: bool = True) -> float:
        """Seconds in a state until now; without the stay that has not ended by then."""
        spent, begin = 0.0, 0.0
        for each, seconds in self.stays:
            if begin >= now:
                break
            if each == state and (with_last or begin + seconds <= now):
                spent += min(seconds, max(0.0, now - begin))
            begin += seconds
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
        sampler.look(now)
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
        executor.clock = max(begin for begin in begins if begin <= now)
        executor.cpu = thread.spent(SAMPLE_ON_CORE, executor.clock)
        sampler.look(now)
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
    executor.busy_since = executor.clock = 100.0
    sampler.look(100.0 + 5.5 * INTERVAL)
    executor.path = [(None, None)]
    sampler.look(101.0)
    assert {state: n for *_, state, n in sampler.rows()} == {SAMPLE_BLOCKED: 5}


class Turns:
    """A thread that runs one task after the other, as sampler and kernel see it.

    Parameters
    ----------
    stays
        Row (None between tasks), state and seconds; each stay with a row is one task.
    busy_since_each
        Whether each task counts as begun after a pause, as for the threads of local schedulers.
        A worker's says so of its first task after a pause.
    """

    def __init__(self, stays, busy_since_each: bool) -> None:
        self.scheduled = Scheduled([(state, seconds) for _, state, seconds in stays])
        ends = list(itertools.accumulate(seconds for _, _, seconds in stays))
        self.stays = list(zip([0.0, *ends], ends, [each for each, _, _ in stays], strict=False))
        self.busy_since_each = busy_since_each
        self.now = 0.0
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

    def look_through(self, steps) -> Counter[tuple[int, int]]:
        """(function, state) to samples, after looks so many seconds apart."""
        executor, place = self.executor, -1
        begin, row = 0.0, None
        for step in itertools.cycle(steps):
            self.now += step
            if self.now >= self.stays[-1][1]:
                break
            while place + 1 < len(self.stays) and self.stays[place + 1][0] <= self.now:
                place += 1
                begin, _, row = self.stays[place]
                executor.path = [(row, None)]
                if row is None:
                    continue
                executor.clock = begin
                executor.cpu = self.scheduled.spent(SAMPLE_ON_CORE, begin)
                executor.core_wait.marked = begin
                executor.core_wait.last = self.waited(begin)
                if self.busy_since_each or self.stays[place - 1][2] is None:
                    executor.busy_since = begin
            if row is not None:
                self.nearest = min(self.nearest, self.now - begin)
            self.sampler.look(self.now)
        found = Counter[tuple[int, int]]()
        for _, _, _, function, _, state, n in self.sampler.rows():
            found[function, state] += n
        return found


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.floats(0.0, 0.02), st.floats(0.0, 0.01), st.floats(0.0002, 0.04)
        ),
        min_size=10,
        max_size=60,
    ),
    st.lists(st.floats(0.9 * INTERVAL, 1.4 * INTERVAL), min_size=1),
    st.booleans(),
)
def test_what_a_task_did_is_not_what_came_before_it_did(drawn, steps, busy_since_each):
    """One function computes, one sleeps; a thread wakes up late between them."""
    turns = Turns(
        [
            stay
            for computes, asleep, queued, seconds in drawn
            for stay in (
                (None, SAMPLE_BLOCKED, asleep),
                (None, SAMPLE_WAITING, queued),
                (A, SAMPLE_ON_CORE, seconds) if computes else (B, SAMPLE_BLOCKED, seconds),
            )
        ],
        busy_since_each,
    )
    found = turns.look_through(steps)
    # What has just begun is taken to run.
    assume(turns.nearest > 1e-6)
    assert found.keys() <= {(A[FUNCTION], SAMPLE_ON_CORE), (B[FUNCTION], SAMPLE_BLOCKED)}


@pytest.mark.parametrize("busy_since_each", [False, True])
def test_short_tasks_have_the_samples_of_their_time(busy_since_each):
    turns = Turns(
        [
            stay
            for _ in range(600)
            for stay in ((A, SAMPLE_ON_CORE, 0.003), (B, SAMPLE_BLOCKED, 0.01731))
        ],
        busy_since_each,
    )
    found = turns.look_through([0.00913, 0.01031, 0.009677])
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
    true = Counter[tuple[int, int]]()
    for is_a, step, share in pattern * 100:
        row = A if is_a else B
        executor.path = [(row, None)]
        now += step
        cpu += share * step
        true[row[FUNCTION], SAMPLE_ON_CORE] += share * step / INTERVAL
        true[row[FUNCTION], SAMPLE_BLOCKED] += (1.0 - share) * step / INTERVAL
        sampler.look(now)
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
    executor.clock = executor.busy_since = executor.core_wait.marked = 25_000.0
    executor.cpu, executor.core_wait.last = 40.0, 3.0
    sampler = sampler_of(executor)
    sampler._lanes[0].clock = SimpleNamespace(read=lambda: 40.0 + 0.6 * 0.95)
    sampler.look(25_000.95)
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
        sampler.look(0.009 * (function + 1))
    lane = sampler._lanes[0]
    assert len(lane.owed) == 10
    # Each was seen for 9 ms: nine in ten have a sample.
    assert sum(n for *_, n in sampler.rows()) == pytest.approx(90, abs=2)
