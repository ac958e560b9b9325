"""The parts of a fused task, run and measured by a clock that the test sets."""

from __future__ import annotations

from collections import deque
from math import inf, isnan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.graph.template import Part, Template
from spanwise.measure import steps
from spanwise.measure.opened import Opened
from spanwise.measure.scopes import Heard
from spanwise.measure.steps import End
from spanwise.processes import forks
from spanwise.records.enumerations import KIND_COMPUTE, NONE_U16
from spanwise.wire.rows import (
    PART_CORE_WAIT,
    PART_CPU,
    PART_DURATION,
    PART_FUNCTION,
    PART_OFFSET,
    PART_SPAN,
)


class Clocks:
    """Both clocks of a thread, and what the kernel says of it; parts move them."""

    def __init__(self, marked: float = 0.0) -> None:
        self.now = 100.0
        self.thread_time = self.cpu = 7.0
        self.cpu_read_at = 100.0
        self.reads = 0
        #: Of parts that are shorter the CPU clock need not be read: none is. (One that fails goes
        #: back in time.)
        self.short_seconds = -inf
        self.marked = marked
        self.part = None
        self.core_wait = self
        self.heard = Heard()
        self.metered = []
        #: The part that the thread says it is at, while each ran.
        self.told: list[tuple[str, int]] = []
        self.marks = 0
        self.asked: list[tuple[int, int, float, float]] = []
        #: The sampler looks during parts of these names.
        self.looked_at: set[str] = set()
        #: When the next look is due.
        self.due = self.next_due = inf
        self.plan = None
        self.busy_since = 99.0
        self.ends = deque[End]()

    def part_of(self, name: str, seconds: float, cpu: float, **options):
        def run(*values):
            self.now += seconds
            self.thread_time += cpu
            self.told.append((self.part[4].name, self.part[3]))
            if name in self.looked_at:
                self.due = -inf
            if seconds < 0:
                raise ValueError(name)
            return (name, *values)

        return Part(run, name=name, **options)

    def mark(self) -> float:
        self.marked = self.now
        self.marks += 1
        return 0.0

    def read(self) -> float:
        return 3.0

    def of_part(self, function: int, span: int, seconds: float, cpu: float) -> float:
        self.asked.append((function, span, seconds, cpu))
        self.marked = self.now
        return 0.5

    def read_thread_time(self) -> float:
        self.reads += 1
        return self.thread_time

    def run(self, patch, *parts: Part, literals=(), values=()):
        rows: list = []
        patch.setattr(steps, "perf_counter", lambda: self.now)
        patch.setattr(steps, "thread_time", self.read_thread_time)
        patch.setattr(steps, "SHORT_SECONDS", self.short_seconds)
        opened = Opened(Template(len, parts=parts), Numbers())
        held = list(values)
        try:
            inner = opened.parts or ()
            result = steps.run_parts(self, inner, literals, held, 99.0, 100.0, 7.0, rows)
        except ValueError as error:
            result = error
        return result, rows, held


class Numbers:
    """Names by their length."""

    def id_of(self, text: str) -> int:
        return len(text)


# In 1/1024 s, which add up exactly: some of less than the 5 ms from which on they are asked.
ticks = st.integers(0, 40).map(lambda n: n / 1024)


@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 3.0 * steps.SHORT_SECONDS), st.sampled_from([0.0, 0.2, 1.0, 1.0, 1.0])
        ),
        min_size=1,
        max_size=120,
    )
)
@example([(0.5 * steps.SHORT_SECONDS, 0.2)] * 120)
def test_short_parts_get_the_cpu_of_their_thread_which_is_not_asked_for_each(drawn):
    clocks = Clocks()
    clocks.short_seconds = steps.SHORT_SECONDS
    parts = [clocks.part_of("x", seconds, seconds * on_core) for seconds, on_core in drawn]
    with pytest.MonkeyPatch.context() as patch:
        _, rows, _ = clocks.run(patch, *parts)
    assert all(row[PART_CPU] >= 0.0 for row in rows)
    given_cpu = sum(row[PART_CPU] for row in rows)
    assert given_cpu == pytest.approx(clocks.cpu - 7.0)
    more = clocks.cpu - clocks.thread_time
    assert -1e-9 <= more <= steps.UNREAD_SECONDS + steps.SHORT_SECONDS
    if all(on_core == 1.0 for _, on_core in drawn):
        assert more == pytest.approx(0.0)
        long = sum(seconds >= 0.99 * steps.SHORT_SECONDS for seconds, _ in drawn)
        assert clocks.reads <= long + (clocks.now - 100.0) / steps.UNREAD_SECONDS


@given(st.lists(st.tuples(ticks, ticks, st.integers(0, 9)), min_size=1, max_size=6))
def test_parts_lie_end_to_end_each_with_its_own_figures(drawn):
    with pytest.MonkeyPatch.context() as patch:
        clocks = Clocks(marked=100.0)
        parts = [
            clocks.part_of("x" * (i + 1), seconds, cpu, span=span, order=())
            for i, (seconds, cpu, span) in enumerate(drawn)
        ]
        result, rows, held = clocks.run(patch, *parts, values=["given"])
    assert result == ("x" * len(drawn),)
    assert held == ["given", *(("x" * (i + 1),) for i in range(len(drawn)))]
    begin = 1.0
    for i, ((seconds, cpu, span), row) in enumerate(zip(drawn, rows, strict=True)):
        is_long = seconds >= steps.LONG_SECONDS
        assert row[0] == KIND_COMPUTE
        assert (row[PART_FUNCTION], row[PART_SPAN]) == (i + 1, span)
        assert (row[PART_OFFSET], row[PART_DURATION], row[PART_CPU]) == (begin, seconds, cpu)
        assert row[PART_CORE_WAIT] == 0.5 if is_long else isnan(row[PART_CORE_WAIT])
        assert row[PART_CORE_WAIT + 1 :] == (0.0, NONE_U16, 1)
        begin += seconds
    assert clocks.asked == [
        (i + 1, span, seconds, cpu)
        for i, (seconds, cpu, span) in enumerate(drawn)
        if seconds >= steps.LONG_SECONDS
    ]
    assert clocks.told == [("x" * (i + 1), span) for i, (_, _, span) in enumerate(drawn)]


def test_values_are_those_of_literals_inputs_and_earlier_parts(monkeypatch):
    clocks = Clocks()
    parts = (
        clocks.part_of("one", 0.0, 0.0, order=(0, -1), drops=(0,)),
        clocks.part_of("two", 0.0, 0.0, order=(2, 1), drops=(1, 2)),
    )
    result, _, held = clocks.run(monkeypatch, *parts, literals=("l",), values=["a", "b"])
    assert result == ("two", ("one", "a", "l"), "b")
    assert held == [None, None, None, result]


def test_a_part_that_fails_has_a_row_and_what_follows_it_has_none(monkeypatch):
    clocks = Clocks(marked=100.0)
    parts = (
        clocks.part_of("a", 0.25, 0.125, order=()),
        clocks.part_of("bb", -1.0, 0.5, order=()),
        clocks.part_of("ccc", 1.0, 0.5, order=()),
    )
    result, rows, _ = clocks.run(monkeypatch, *parts)
    assert isinstance(result, ValueError) and result.args == ("bb",)
    assert [row[PART_FUNCTION] for row in rows] == [1, 2]
    assert [(row[PART_OFFSET], row[PART_CPU]) for row in rows] == [(1.0, 0.125), (1.25, 0.5)]


@pytest.mark.parametrize(("since_mark", "marks"), [(0.0, 0), (0.0001, 0), (0.0003, 1), (50.0, 1)])
def test_waits_count_from_a_mark_shortly_before_the_part(monkeypatch, since_mark, marks):
    clocks = Clocks(marked=100.0 - since_mark)
    clocks.run(monkeypatch, clocks.part_of("a", 1.0, 1.0, order=()))
    assert clocks.marks == marks
    # Short parts before it move the mark on, where they take longer than that together.
    clocks = Clocks(marked=100.0)
    short = [clocks.part_of("s", 0.0001, 0.0, order=()) for _ in range(9)]
    clocks.run(monkeypatch, *short)
    assert 2 <= clocks.marks <= 4


def test_a_thread_without_a_mark_asks_nobody(monkeypatch):
    clocks = Clocks()
    clocks.core_wait = None
    _, rows, _ = clocks.run(monkeypatch, clocks.part_of("a", 1.0, 1.0, order=()))
    assert isnan(rows[0][PART_CORE_WAIT]) and not clocks.asked and not clocks.marks


def test_exactly_five_milliseconds_are_long(monkeypatch):
    clocks = Clocks(marked=100.0)
    monkeypatch.setattr(steps, "LONG_SECONDS", 0.25)
    _, rows, _ = clocks.run(
        monkeypatch, *(clocks.part_of("a", each, 0.0, order=()) for each in (0.25, 0.125))
    )
    assert rows[0][PART_CORE_WAIT] == 0.5 and isnan(rows[1][PART_CORE_WAIT])


def test_waits_are_asked_from_five_milliseconds_on(monkeypatch):
    clocks = Clocks(marked=100.0)
    ticks = (0.0049, 0.0051)
    _, rows, _ = clocks.run(
        monkeypatch, *(clocks.part_of("a", each, 0.0, order=()) for each in ticks)
    )
    assert isnan(rows[0][PART_CORE_WAIT]) and rows[1][PART_CORE_WAIT] == 0.5


def test_a_child_that_comes_back_out_of_a_part_runs_no_other(monkeypatch):
    def ends(error):
        raise ValueError("it has ended", error)

    monkeypatch.setattr(forks, "is_child", True)
    monkeypatch.setattr(forks, "leave", ends)
    clocks = Clocks()
    result, _, _ = clocks.run(
        monkeypatch, *(clocks.part_of(each, 0.0, 0.0, order=()) for each in ("one", "two"))
    )
    assert isinstance(result, ValueError) and result.args == ("it has ended", None)
    assert clocks.told == [("one", 0)]


def test_parts_tell_when_they_end_if_somebody_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks()
    clocks.looked_at = {"two", "three"}
    seconds = {"one": 0.5, "two": 0.25, "three": -0.125, "four": 1.0}
    parts = [clocks.part_of(name, each, abs(each) / 2, order=()) for name, each in seconds.items()]
    clocks.run(monkeypatch, *parts)
    # Also of one that fails.
    assert [(*each[:-1], each[-1][4].name) for each in clocks.ends] == [
        (100.5, 7.25, 99.0, 100.75, 7.375, 3.0, None, "two"),
        (100.75, 7.375, 99.0, 100.625, 7.4375, 3.0, None, "three"),
    ]
    assert clocks.due == inf


def test_a_part_tells_when_it_ends_if_a_look_was_due_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look is late, and finds what follows: until it comes all that end tell."""
    clocks = Clocks()
    clocks.due = clocks.next_due = 100.6
    parts = [clocks.part_of(name, 0.25, 0.125, order=()) for name in ("one", "two", "three")]
    clocks.run(monkeypatch, *parts)
    assert [each[-1][4].name for each in clocks.ends] == ["three"]
    clocks = Clocks()
    clocks.due = clocks.next_due = 100.4
    parts = [clocks.part_of(name, 0.25, 0.125, order=()) for name in ("one", "two", "three")]
    clocks.run(monkeypatch, *parts)
    assert [each[-1][4].name for each in clocks.ends] == ["two", "three"]


@pytest.mark.parametrize("tells", ["seconds", "events"])
def test_what_a_part_tells_is_its_own(tells: str) -> None:
    clocks = Clocks(marked=100.0)

    def telling(name: str, span: int) -> Part:
        part = clocks.part_of(name, 0.5, 0.25, span=span, order=())

        def run(*values):
            if tells == "seconds":
                clocks.heard.seconds[name] = 0.5
            else:
                clocks.heard.add((name, 3, "rows"))
            return part.function(*values)

        return Part(run, name=name, span=span, order=())

    with pytest.MonkeyPatch.context() as patch:
        clocks.run(patch, telling("x", 4), telling("xx", 5))
    told = [(row.function, row.span, row.label, row.value) for row in clocks.metered]
    value = 0.5 if tells == "seconds" else 3.0
    assert told == [(1, 4, "x", value), (2, 5, "xx", value)]
    assert not clocks.heard.seconds and not clocks.heard.events


@pytest.mark.parametrize(
    ("written", "task", "counted"),
    [
        ([0, 0], 65_534, [65_534, 65_534]),
        ([7, 0], 65_534, [7, 65_534]),
        # Of a task in a span nobody knows which default span its other parts are of.
        ([0, 7], 7, [0, 7]),
        # Its last part may be of a span within its own.
        ([7, 8], 7, [7, 8]),
    ],
)
def test_parts_outside_of_all_spans_are_of_the_default_span_of_their_task(
    written: list[int], task: int, counted: list[int]
) -> None:
    parts = tuple(Part(len, (0,), name="a", span=span) for span in written)
    opened = Opened(Template(len, parts=parts), Numbers())
    for span in (0, task, 0, task):
        expected = counted if span else written
        assert [part[3] for part in opened.parts_in(span)] == expected
