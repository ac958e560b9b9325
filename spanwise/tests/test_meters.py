"""What code measures with `context_meter`: who is told, and where it stands in the figures."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import pickle
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from math import isnan
from types import SimpleNamespace
from typing import Any

import cloudpickle
import dask.array as da
import numpy as np
import pytest
from dask import compute, delayed
from dask.callbacks import Callback
from hypothesis import given
from hypothesis import strategies as st

from spanwise import Client, Event, LocalCluster, Reschedule, metrics, observe, span
from spanwise.measure import scopes
from spanwise.measure.meters import metered, take_metered, without_seconds
from spanwise.measure.names import OTHERS, Names
from spanwise.measure.scopes import (
    ELSEWHERE,
    MOST_LABELS,
    NOWHERE,
    Heard,
    Hearing,
    Sum,
    digest_wait,
    listen,
)
from spanwise.metrics import _KeptMeter, _TaskMeter, context_meter
from spanwise.tests.marks import now_of
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.work import lines_of
from spanwise.wire.labels import label_of, text_of

Told = list[tuple[Any, float, str]]


def clock(*readings: float) -> Callable[[], float]:
    left = iter(readings)
    return lambda: next(left)


@pytest.fixture
def told() -> Iterator[Told]:
    """What is told in a test."""
    heard: Told = []
    with context_meter.add_callback(lambda *event: heard.append(event)):
        yield heard


def in_a_task(code: Callable[[], object]) -> Told:
    """What a task tells that runs `code`, as a worker's thread hears it."""
    return in_tasks(code)[0]


def in_tasks(*codes: Callable[[], object]) -> list[Told]:
    """The same of tasks that run one after the other in a thread."""
    heard = Heard()
    told: list[Told] = []
    failed: list[BaseException] = []

    def run() -> None:
        listen(heard)
        try:
            for code in codes:
                code()
                told.append(heard.take())
        except BaseException as error:  # noqa: BLE001 (raised below)
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return told


# ── the meter ──


def test_seconds_within_are_taken_off(told: Told) -> None:
    outer = context_meter.meter("outer", func=clock(123.0, 126.0))
    inner = context_meter.meter("inner", func=clock(12.0, 13.0))
    with outer as entered, inner:
        assert entered is outer and isnan(inner.delta) and outer.start == 123.0
    assert told == [("inner", 1.0, "seconds"), ("outer", 2.0, "seconds")]
    assert (outer.start, outer.stop, outer.delta) == (123.0, 126.0, 2.0)


def test_figures_told_by_hand_are_taken_off_too_and_other_units_are_not(told: Told) -> None:
    with context_meter.meter("outer", func=clock(0.0, 10.0)):
        context_meter.digest_metric("by hand", 3.0, "seconds")
        context_meter.digest_metric("moved", 4, "bytes")
        with context_meter.meter("moved", unit="bytes", func=clock(5.0, 9.0)):
            pass
    assert told == [
        ("by hand", 3.0, "seconds"),
        ("moved", 4, "bytes"),
        ("moved", 4.0, "bytes"),
        ("outer", 7.0, "seconds"),
    ]


@pytest.mark.parametrize("func", [metrics.thread_time, metrics.process_time])
def test_waits_for_other_tasks_are_taken_off_the_clock_on_the_wall_and_off_no_other(
    told: Told, func: Callable[[], float]
) -> None:
    def wait() -> None:
        spun = time.thread_time() + 0.002
        while time.thread_time() < spun:
            pass
        digest_wait("other-tasks", 5.0)

    with context_meter.meter("cpu", func=func):
        wait()
        with context_meter.add_callback(lambda *_: None):
            wait()
        with Hearing(Heard()):
            wait()
    with context_meter.meter("wall", func=clock(0.0, 30.0)):
        wait()
        with context_meter.meter("cpu within", func=func):
            wait()
    figures = {label: value for label, value, _ in told if label != "other-tasks"}
    assert 0.006 <= figures["cpu"] < 5.0
    assert 0.002 <= figures["cpu within"] < 5.0
    assert figures["wall"] == pytest.approx(30.0 - 10.0 - figures["cpu within"])


def test_what_is_told_has_a_floor(told: Told) -> None:
    for floor in (0.0, 0.5, False):
        with context_meter.meter("x", func=clock(2.0, 1.0), floor=floor):
            pass
        with context_meter.meter("y", "rows", func=clock(2.0, 1.0), floor=floor):
            pass
    assert [value for _, value, _ in told] == [0.0, 0.0, 0.5, 0.5, -1.0, -1.0]


def test_a_meter_tells_when_its_body_raises(told: Told) -> None:
    with pytest.raises(ZeroDivisionError), context_meter.meter("x", func=clock(1.0, 3.0)):
        _ = 1 / 0
    assert told == [("x", 2.0, "seconds")]


def test_a_decorated_function_is_metered_each_time(told: Told) -> None:
    readings = clock(0.0, 1.0, 10.0, 12.0, 20.0, 24.0)

    @context_meter.meter("call", func=readings)
    def add(x: int, y: int = 1) -> int:
        """Add."""
        return x + y

    @context_meter.meter("await", func=readings)
    async def later(x: int) -> int:
        await asyncio.sleep(0)
        return x

    assert (add(1), add(1, y=2), asyncio.run(later(7))) == (2, 3, 7)
    assert add.__doc__ == "Add."
    assert told == [("call", 1.0, "seconds"), ("call", 2.0, "seconds"), ("await", 4.0, "seconds")]


def test_callbacks_around_each_other() -> None:
    said: list[str] = []

    def callback(name: str) -> Callable[..., None]:
        return lambda label, value, unit: said.append(name)

    around = context_meter.add_callback(callback("a"))
    with around, context_meter.add_callback(callback("b"), key="k"):
        with context_meter.add_callback(callback("c"), key="k"):
            context_meter.digest_metric("x", 1, "count")
            with context_meter.clear_callbacks():
                context_meter.digest_metric("x", 1, "count")
                with context_meter.add_callback(callback("d")):
                    context_meter.digest_metric("x", 1, "count")
        context_meter.digest_metric("x", 1, "count")
    context_meter.digest_metric("x", 1, "count")
    assert said == ["a", "c", "d", "a", "b"]


def test_seconds_reach_meters_through_callbacks_and_not_through_cleared_ones(told: Told) -> None:
    with context_meter.meter("outer", func=clock(0.0, 10.0)):
        with context_meter.add_callback(lambda *_: None):
            context_meter.digest_metric("heard", 2.0, "seconds")
        with context_meter.clear_callbacks():
            context_meter.digest_metric("unheard", 5.0, "seconds")
    assert told == [("heard", 2.0, "seconds"), ("outer", 8.0, "seconds")]


def test_coroutines_that_take_turns_do_not_take_each_others_seconds(told: Told) -> None:
    async def work(name: str, clock_of_it: Callable[[], float]) -> None:
        with context_meter.meter(name, func=clock_of_it):
            await asyncio.sleep(0)
            with context_meter.meter(f"{name} within", func=clock(1.0, 2.0)):
                await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work("a", clock(0.0, 10.0)), work("b", clock(0.0, 20.0)))

    asyncio.run(both())
    assert {label: value for label, value, _ in told} == {
        "a within": 1.0,
        "b within": 1.0,
        "a": 9.0,
        "b": 19.0,
    }


def test_threads_hear_what_their_context_hears() -> None:
    said: Told = []

    async def offloaded() -> int:
        with context_meter.add_callback(
            lambda *event: said.append((*event[:1], threading.get_ident(), "thread")),
            allow_offload=True,
        ):
            await asyncio.to_thread(context_meter.digest_metric, "x", 1, "count")
            context_meter.digest_metric("y", 1, "count")
            await asyncio.sleep(0)
        return threading.get_ident()

    here = asyncio.run(offloaded())
    assert sorted(said) == [("x", here, "thread"), ("y", here, "thread")]


def test_pickles_are_the_one_meter() -> None:
    assert pickle.loads(pickle.dumps(context_meter)) is context_meter
    assert cloudpickle.loads(cloudpickle.dumps(context_meter)) is context_meter
    decorated = context_meter.meter("x")(len)
    assert cloudpickle.loads(cloudpickle.dumps(decorated))("four") == 4


# ── in the thread of a task ──


def test_a_task_is_told_all_of_its_code() -> None:
    stamps: list[float] = []
    said: Told = []

    def code() -> None:
        begin = time.perf_counter()
        with context_meter.meter("outer") as outer:
            time.sleep(0.003)
            for _ in range(3):
                with context_meter.meter("inner"):
                    time.sleep(0.001)
            with context_meter.meter("inner", func=clock(0.0, 0.0005)):
                pass
            callback = context_meter.add_callback(lambda *event: said.append(event))
            with callback, context_meter.meter("called"):
                time.sleep(0.001)
            context_meter.digest_metric("rows", 2, "count")
            context_meter.digest_metric(("a", 1), 5, "count")
            context_meter.digest_metric("rows", 3, "count")
        stamps.append(time.perf_counter() - begin)
        stamps.append(outer.delta)
        with context_meter.clear_callbacks(), context_meter.meter("unheard"):
            pass

    heard = {(label, unit): value for label, value, unit in in_a_task(code)}
    whole, outer = stamps
    seconds = {label: value for (label, unit), value in heard.items() if unit == "seconds"}
    assert set(seconds) == {"outer", "inner", "called"}
    assert seconds["inner"] >= 0.0035 and seconds["called"] >= 0.001
    # No second twice.
    assert 0.002 <= seconds["outer"] == outer
    assert sum(seconds.values()) <= whole + 0.0005
    assert said == [("called", seconds["called"], "seconds")]
    assert heard["rows", "count"] == 5 and heard[("a", 1), "count"] == 5


def test_a_task_is_told_what_its_coroutines_and_threads_measure() -> None:
    async def both() -> None:
        async def one(number: int) -> None:
            with context_meter.meter("wait"):
                await asyncio.sleep(0.002 * number)

        await asyncio.gather(one(1), one(2))

    def code() -> None:
        with context_meter.meter("outer"):
            asyncio.run(both())
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(context_meter.digest_metric, "there", 1, "count")
        )
        thread.start()
        thread.join()
        with context_meter.meter("after"):
            pass

    heard = {label: value for label, value, _ in in_a_task(code)}
    assert heard["there"] == 1 and heard["wait"] >= 0.006
    assert set(heard) == {"there", "wait", "outer", "after"}


def test_many_events_are_added_up_as_they_come() -> None:
    heard = Heard()
    for number in range(100_000):
        heard.add(("x", 1, "count"))
        heard.add((number % 3, 0.5, "rows"))
    assert len(heard.events) <= 4096
    heard.add(([], 1, "count"))
    heard.add(("x", "no number", "count"))
    taken = heard.take()
    assert ("x", 100_000, "count") in taken and (0, 16667.0, "rows") in taken
    assert ([], 1, "count") in taken and ("x", "no number", "count") in taken
    assert heard.take() == []


def test_labels_of_a_task_have_a_bound() -> None:
    heard = Heard()
    count = 3 * MOST_LABELS
    for number in range(count):
        heard.add((number, 1, "count"))
        heard.add(([], number, "count"))
    assert len(heard.events) <= 8 * MOST_LABELS
    taken = [event for event in heard.take() if type(event[0]) is not list]
    assert len(taken) == MOST_LABELS + 1 and taken[0] == (0, 1, "count")
    assert sum(value for _, value, _ in taken) == count
    assert taken[-1] == (OTHERS, count - MOST_LABELS, "count")

    def code() -> None:
        for number in range(MOST_LABELS + 5):
            with context_meter.meter(number):
                pass

    seconds = {label for label, _, _ in in_a_task(code)}
    assert len(seconds) == MOST_LABELS + 1 and OTHERS in seconds


def test_a_task_of_many_labels_is_told_of_each_in_the_same_time() -> None:
    """What there is is gone through again only after as much again."""

    def added(count: int) -> int:
        heard = Heard()
        return lines_of(lambda: [heard.add((number, 1, "count")) for number in range(count)])

    few, many = added(MOST_LABELS), added(4 * MOST_LABELS)
    assert many < 40 * few


def test_threads_that_add_up_at_once_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.measure.scopes.MOST_EVENTS", 8)
    heard = Heard()
    taken: list[Any] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda: [heard.add(("x", 1, "count")) for _ in range(5_000)])
            for _ in range(4)
        ]
        for each in threads:
            each.start()
        while any(each.is_alive() for each in threads):
            taken += heard.take()
        for each in threads:
            each.join(LIMIT_SECONDS)
    finally:
        sys.setswitchinterval(interval)
    taken += heard.take()
    assert sum(value for _, value, _ in taken) == 20_000


def test_labels_leave_names_to_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.measure.names.MOST_LABELS", 100)
    names = Names()
    for number in range(105):
        names.label_id_of(f"label {number}")
    assert names.label_id_of("one more") == names.label_id_of(OTHERS)
    assert names.label_id_of("label 7") == names.id_of("label 7") != names.id_of(OTHERS)
    assert names.id_of("function") != names.id_of(OTHERS)


@given(
    st.floats(1e-9, 1e3),
    st.floats(0.0, 1e3),
    st.floats(0.0, 1e3),
    st.sampled_from(["decode", "größe", "\u2063", ("a", 1)]),
)
def test_the_one_label_of_a_task_is_told_as_one_of_several(
    value: float, duration: float, cpu: float, label: Any
) -> None:
    alone = metered([(label, value, scopes.SECONDS)], 3, 1, duration, cpu)
    # (a count takes no time)
    both = [(label, value, scopes.SECONDS), ("n", 1, "count")]
    *beside, count = metered(both, 3, 1, duration, cpu)
    assert (count.label, count.unit) == ("n", "count")
    assert [row._replace(cpu=0.0) for row in alone] == [row._replace(cpu=0.0) for row in beside]
    for one, other in zip(alone, beside, strict=True):
        assert one.cpu == pytest.approx(other.cpu, abs=1e-9, nan_ok=True)
        assert type(one) is type(other)
    heard = Heard()
    summed = Sum(label)
    for is_summed in (False, True):
        if is_summed:
            summed.seconds = value
            heard.sums.append(summed)
        else:
            heard.seconds[label] = value
        # (by text, for NaN is not itself)
        taken = take_metered(heard, 3, 1, duration, cpu)
        assert repr([*map(tuple, taken)]) == repr([*map(tuple, alone)])
        assert take_metered(heard, 3, 1, duration, cpu) == [] and summed.seconds is None


def test_meters_of_a_task_are_entered_again_only_when_nobody_has_them() -> None:
    """Those whose figures are still read, that are open or have been made for later, stay."""

    def code() -> None:
        for number in range(3):
            with context_meter.meter(("o", number)), context_meter.meter(("p", number)):
                pass
        for _ in range(3):
            with context_meter.meter("a") as first, context_meter.meter("b") as second:
                assert first is not second
            with context_meter.meter("c") as third:
                pass
            figures = (third.start, third.stop, third.delta)
            later = context_meter.meter("d")
            kept = [context_meter.meter(f"e {each}") for each in range(10)]
            with ExitStack() as stack:
                for each in kept:
                    assert stack.enter_context(each) is each
                with context_meter.meter("f"), context_meter.meter("g"):
                    pass
            with later, context_meter.meter("h"):
                pass
            assert figures == (third.start, third.stop, third.delta)
            assert first.start <= second.start <= second.stop <= first.stop <= third.start
            assert later.start >= kept[0].stop >= kept[-1].stop
            assert len({id(each) for each in (first, second, third, later, *kept)}) == 14

    said = {label for label, _, _ in in_a_task(code)}
    pairs = {(name, number) for name in "op" for number in range(3)}
    assert said == {*"abcdfgh", *(f"e {each}" for each in range(10)), *pairs}


#: Where threads run side by side, counts of references tell nothing.
has_lock = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no interpreter lock"
)


@has_lock
def test_a_meter_of_a_task_is_no_new_one_each_time() -> None:
    kinds: list[type] = []

    def code() -> None:
        for number in range(20):
            with context_meter.meter(number), context_meter.meter("within") as meter:
                pass
            kinds.append(type(meter))

    in_a_task(code)
    assert set(kinds) == {_KeptMeter}


@has_lock
def test_meters_are_entered_again_only_where_counts_of_references_tell_who_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tells: dict[int, bool] = {}
    known = metrics._FREE
    assert known == metrics._count_of_free() > 0

    def code() -> None:
        root = scopes.root_here()
        root.meters["x"] = metrics._kept_meter(root, "x")
        root.returns = False  # (it keeps no others)
        for count in (known, known - 1, known + 1, known + 2):
            monkeypatch.setattr(metrics, "_FREE", count)
            tells[count] = metrics._is_free_alone("x")

    in_a_task(code)
    assert [count for count, does in tells.items() if does] == [known]


def test_each_task_of_a_thread_is_told_its_own_seconds() -> None:
    """Of labels with a meter of their own, of one of them within itself, and of others."""
    deltas: list[dict[Any, float]] = []
    labels = ("a", "b", ("c", 1))

    def code() -> None:
        mine: dict[Any, float] = {}
        for number in range(12):
            label = labels[number % 3]
            meter = context_meter.meter
            with meter("around") as around, meter(label) as outer, meter("a") as inner:
                pass
            with context_meter.meter("last") as last:
                if number % 2:
                    context_meter.digest_metric("by hand", 1e-7, "seconds")
                    time.sleep(1e-6)
                else:
                    context_meter.digest_metric("none", 0.0, "seconds")
            told = (("around", around), (label, outer), ("a", inner), ("last", last))
            for name, each in told:
                mine[name] = mine.get(name, 0.0) + each.delta
            for each, within in ((around, outer), (outer, inner)):
                left = each.stop - each.start - (within.stop - within.start)
                assert each.delta == pytest.approx(left, abs=1e-9)
            by_hand = 1e-7 * (number % 2)
            assert last.delta == pytest.approx(last.stop - last.start - by_hand, abs=1e-9)
        deltas.append(mine)

    said = in_tasks(code, lambda: None, code)
    told, nothing, told_then = ({label: value for label, value, _ in each} for each in said)
    assert [len(told), len(nothing), len(told_then)] == [len(each) for each in said]
    assert nothing == {}
    for own, heard in zip(deltas, (told, told_then), strict=True):
        assert heard.pop("by hand") == pytest.approx(6e-7) and heard.pop("none") == 0.0
        assert heard == pytest.approx(own, abs=1e-12)


def test_labels_that_equal_others_are_told_as_they_are() -> None:
    """A thread keeps meters by label, of texts alone."""

    def say(label: Any) -> Callable[[], None]:
        def code() -> None:
            for _ in range(3):
                with context_meter.meter(label):
                    pass

        return code

    labels = [1, True, 1.0, ("a", 1), ("a", True), "1"]
    said = in_tasks(*(say(label) for label in labels))
    assert [[repr(label) for label, _, _ in each] for each in said] == [[repr(x)] for x in labels]


@has_lock
def test_a_thread_keeps_a_bounded_number_of_meters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_MOST_REFUSED", 300)
    kinds: list[type] = []
    held: list[int] = []
    # (others get their places twice)
    count = 2 * (metrics._MOST_KEPT + metrics._MOST_REFUSED) + 10

    def code() -> None:
        for number in range(count):
            with context_meter.meter(f"label {number}"):
                pass
            with context_meter.meter("always"):
                pass
            held.append(len(scopes.root_here().meters))
        for number in (0, count - 1):
            kinds.append(type(context_meter.meter(f"label {number}")))

    said = sorted(label for label, _, _ in in_a_task(code))
    assert said == sorted(["always", *(f"label {number}" for number in range(count))])
    assert max(held) == metrics._MOST_KEPT and kinds == [_KeptMeter] * 2


@has_lock
def test_labels_that_came_once_keep_no_place_of_one_that_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "_MOST_REFUSED", 300)
    has_its_own: list[bool] = []
    figures: list[float] = []

    def often() -> None:
        for _ in range(3):
            with context_meter.meter("often") as meter:
                pass
            figures.append(meter.delta)
            del meter
        has_its_own.append("often" in scopes.root_here().meters)

    def task() -> None:
        for number in range(2 * metrics._MOST_KEPT):
            with context_meter.meter(f"label {number}"):
                pass
        often()

    _, *said = in_tasks(task, *[often] * metrics._MOST_REFUSED)
    assert not has_its_own[0] and has_its_own[-2:] == [True] * 2
    sums = [sum(figures[at : at + 3]) for at in range(3, len(figures), 3)]
    assert [[label for label, _, _ in each] for each in said] == [["often"]] * len(sums)
    assert [value for ((_, value, _),) in said] == pytest.approx(sums)


@has_lock
def test_a_label_that_is_told_from_within_itself_has_one_meter_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    make = metrics._kept_meter

    def counted(root: scopes.Scope, label: Any, is_for_any: bool = False) -> _KeptMeter:
        made.append(label)
        return make(root, label, is_for_any)

    monkeypatch.setattr(metrics, "_kept_meter", counted)

    def code() -> None:
        for _ in range(3):
            with ExitStack() as stack:
                for _ in range(10):
                    stack.enter_context(context_meter.meter("x"))

    in_a_task(code)
    assert made.count("x") == 1


@has_lock
@pytest.mark.parametrize("label", ["x", ("x", 1)], ids=["of its label", "of any label"])
def test_a_meter_that_is_left_and_not_open_tells_nothing(label: Any) -> None:
    """What is around it keeps its figures."""
    known: list[dict[Any, float]] = []

    def code() -> None:
        mine = {label: 0.0}
        with context_meter.meter("around") as around:
            for number in range(4):
                unused = context_meter.meter(label)
                if number > 0:
                    assert type(unused) is _KeptMeter
                    assert (label in scopes.root_here().meters) == (label == "x")
                    unused.__exit__(None, None, None)
                del unused
                with context_meter.meter(label) as meter:
                    pass
                mine[label] += meter.delta
                if number > 0:
                    meter.__exit__(None, None, None)
                del meter
        known.append({**mine, "around": around.delta})

    for told in in_tasks(code, code):
        assert {name: value for name, value, _ in told} == pytest.approx(known.pop(0), abs=1e-12)


def test_a_meter_that_cannot_be_entered_again_tells_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on interpreters whose counts do not tell."""
    monkeypatch.setattr(metrics, "_FREE", 0)
    kinds: set[type] = set()

    def code() -> None:
        for _ in range(3):
            with context_meter.meter("x") as outer, context_meter.meter("y") as inner:
                kinds.update((type(outer), type(inner)))

    assert {label for label, _, _ in in_a_task(code)} == {"x", "y"}
    assert kinds == {_TaskMeter}


def test_figures_of_a_meter_of_a_task_are_unknown_until_it_ends() -> None:
    known: list[list[bool]] = []

    def code() -> None:
        for _ in range(20):
            with context_meter.meter("x") as meter:
                known.append([isnan(meter.start), isnan(meter.stop), isnan(meter.delta)])
            known.append([isnan(meter.start), isnan(meter.stop), isnan(meter.delta)])
            del meter

    in_a_task(code)
    assert known == [[False, True, True], [False] * 3] * 20


def test_a_meter_of_a_task_takes_off_what_is_within_it_where_it_raises() -> None:
    whole: list[float] = []

    def code() -> None:
        begin = time.perf_counter()
        for _ in range(2):
            with suppress(ZeroDivisionError), context_meter.meter("outer"):
                with context_meter.meter("inner"):
                    time.sleep(0.003)
                _ = 1 / 0

        @context_meter.meter("decorated")
        def call(left: int) -> None:
            if left:
                call(left - 1)
            else:
                time.sleep(0.003)

        call(2)
        whole.append(time.perf_counter() - begin)

    said = {label: value for label, value, _ in in_a_task(code)}
    assert said.keys() == {"outer", "inner", "decorated"}
    assert said["inner"] >= 0.006 and said["decorated"] >= 0.003
    # No second twice, however long the sleeps were.
    assert sum(said.values()) <= whole[0] + 1e-6


@pytest.mark.parametrize("floor", [0.0, False])
def test_seconds_within_any_meter_of_a_task_are_taken_off_it(floor: Any) -> None:
    figures: list[float] = []

    def code() -> None:
        root = scopes.root_here()
        with context_meter.meter("around") as around:
            time.sleep(0.002)
            readings = clock(0.0, 10.0)
            with context_meter.meter("outer", func=readings, floor=floor) as outer:
                with context_meter.meter("inner") as inner:
                    time.sleep(0.002)
                with suppress(ZeroDivisionError), context_meter.meter("raises") as raises:
                    _ = 1 / 0
            figures.extend((inner.delta, raises.delta, outer.delta))
        assert around.delta == 0.0
        with context_meter.meter("after"), context_meter.meter("deeper"):
            pass
        assert scopes.root_here() is root is not scopes.ELSEWHERE

    said = {label: value for label, value, _ in in_a_task(code)}
    inner, raises, outer = figures
    assert said["inner"] == inner >= 0.002
    assert said["outer"] == outer == pytest.approx(10.0 - inner - raises, abs=1e-6)
    assert said.keys() == {"around", "outer", "inner", "raises", "after", "deeper"}


def test_a_metered_block_of_a_task_takes_a_few_lines() -> None:
    counts: list[int] = []

    def block() -> None:
        with context_meter.meter("x"):
            pass

    def code() -> None:
        block()
        counts.append(lines_of(block))

    in_a_task(code)
    # (18 of its own; a scope for each block, as coroutines need it, takes 60)
    assert counts[0] <= 30


# ── rows ──

SECONDS = st.floats(0, 100)


UNITS = st.sampled_from(["seconds", "B"])


@given(
    st.lists(st.tuples(st.text(max_size=3), SECONDS, UNITS), max_size=5),
    SECONDS,
    st.floats(0, 1),
)
def test_seconds_are_those_that_there_were(said: Told, duration: float, share: float) -> None:
    cpu = duration * share
    rows = metered(said, 3, 1, duration, cpu)
    taken = [row for row in rows if not isnan(row.cpu)]
    asked = sum(value for _, value, unit in said if unit == "seconds")
    held = min(asked, duration)
    assert sum(row.value for row in taken) == pytest.approx(held)
    assert all(0 <= row.cpu <= row.value and row.unit == "seconds" for row in taken)
    # First what was not on a core.
    on_core = max(0.0, held - (duration - cpu))
    assert sum(row.cpu for row in taken) == pytest.approx(on_core, abs=1e-9)
    for unit in ("seconds", "B"):
        told = sum(value for _, value, each in said if each == unit)
        assert sum(row.value for row in rows if row.unit == unit) == pytest.approx(told)
    assert without_seconds(rows) == [row for row in rows if row.unit == "B"]


def test_what_is_no_figure_is_left_out() -> None:
    values = (float("nan"), float("inf"), 1e300, None, "x", True, np.float32(0.5))
    rows = metered([("a", value, "count") for value in values], 7, 3, 0.0, 0.0)
    assert [row[:5] for row in rows] == [(7, 3, "a", "count", 1.0), (7, 3, "a", "count", 0.5)]
    assert all(isnan(row.cpu) for row in rows)


LABELS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(max_size=4),
    lambda inner: st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=4,
)


@given(LABELS)
def test_labels_come_back(label: Any) -> None:
    text = text_of(label)
    text.encode()
    back = label_of(text)
    assert back == label and type(back) is type(label)
    assert label_of(text_of(text)) == text


class Label:
    def __repr__(self) -> str:
        raise OSError


def test_labels_that_are_no_literals_are_texts() -> None:
    assert label_of(text_of(range(3))) == "range(0, 3)"
    assert label_of(text_of(Label())) == "<Label>"
    assert label_of(text_of("\ud800")) == "?"
    assert label_of("\u2063[1]") == "[1]"
    with pytest.raises(TypeError):
        label_of([1])  # type: ignore[arg-type]


# ── in a cluster ──


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1) as made:
        yield made


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as made:
        yield made


def sum_is_exact(metrics: Any) -> None:
    """No second of a thread is in two rows, and none is missing."""
    executed = sum(
        value
        for (where, function, _, unit), value in metrics.items()
        if where == "execute" and unit == "seconds" and function != "N/A"
    )
    assert executed == pytest.approx(metrics.summary["attributedNanoseconds"] / 1e9, abs=1e-9)


def test_figures_of_tasks_stand_under_their_labels(client: Client) -> None:
    def decode(x: int) -> int:
        with context_meter.meter("decode"):
            time.sleep(0.02)
            with context_meter.meter("checksum"):
                time.sleep(0.01)
        context_meter.digest_metric("rows", x, "rows")
        context_meter.digest_metric(("shard", x), 10 * x, "bytes")
        context_meter.digest_metric(None, 1, "count")
        return x

    with span("metered") as _:
        futures = client.map(decode, [2, 3], pure=False)
        client.gather(futures)
    metrics = client.fine_metrics(span="metered")
    assert metrics["execute", "decode", "decode", "seconds"] >= 0.04
    assert metrics["execute", "decode", "checksum", "seconds"] >= 0.02
    assert metrics["execute", "decode", "rows", "rows"] == 5
    assert metrics["execute", "decode", ("shard", 2), "bytes"] == 20
    assert metrics["execute", "decode", ("shard", 3), "bytes"] == 30
    assert metrics["execute", "decode", None, "count"] == 2
    sum_is_exact(metrics)
    # What was slept is not waited or blocked as well.
    activities = metrics.by_activity()
    off_core = activities.get("thread-noncpu", 0.0)
    assert off_core + activities["decode"] + activities["checksum"] <= (
        metrics.summary["attributedNanoseconds"] / 1e9 + 1e-9
    )
    assert set(client.fine_metrics(span="metered", unit="rows")) == {
        ("execute", "decode", "rows", "rows")
    }
    assert "rows" in metrics.summary["units"]
    rows = client.fine_metrics(span="metered", unit="rows").summary
    assert [each["activities"] for each in rows["byFunction"]] == [{"rows": 5}]
    assert "decode" not in str(client.fine_metrics(span="elsewhere").by_activity())


def test_figures_are_chosen_by_function_worker_and_time(client: Client) -> None:
    def told(x: int) -> int:
        context_meter.digest_metric("figure", x, "count")
        with context_meter.meter("nap"):
            time.sleep(0.05)
        return x

    first, second = sorted(client.scheduler_info()["workers"])
    client.submit(told, 1, workers=[first], pure=False).result(LIMIT_SECONDS)
    between = now_of(client)
    client.submit(told, 10, workers=[second], pure=False).result(LIMIT_SECONDS)

    def figure(**chosen: Any) -> float:
        metrics = client.fine_metrics(**chosen)
        sum_is_exact(metrics)
        return metrics.get(("execute", "told", "figure", "count"), 0.0)

    assert figure() == 11
    assert figure(function="told") == 11 and figure(function="other") == 0
    assert figure(stop=between) == 1 and figure(start=between) == 10
    assert sorted(figure(worker=each) for each in (0, 1)) == [1, 10]
    nap = ("execute", "told", "nap", "seconds")
    whole = client.fine_metrics()[nap]
    parts = [client.fine_metrics(worker=each)[nap] for each in (0, 1)]
    assert sum(parts) == pytest.approx(whole, abs=1e-9) and min(parts) >= 0.05
    # A run that the range cuts counts in proportion.
    record = client.get_task_stream()[-1]["startstops"][-1]
    middle = (record["start"] + record["stop"]) / 2
    halves = [client.fine_metrics(start=between, stop=middle), client.fine_metrics(start=middle)]
    for half in halves:
        sum_is_exact(half)
    assert sum(half.get(nap, 0.0) for half in halves) == pytest.approx(parts[1], rel=0.01) or (
        sum(half.get(nap, 0.0) for half in halves) == pytest.approx(parts[0], rel=0.01)
    )


def test_parts_of_fused_tasks_have_their_own(client: Client) -> None:
    def read(block: Any) -> Any:
        with context_meter.meter("open"):
            time.sleep(0.01)
        return block

    def scale(block: Any) -> Any:
        context_meter.digest_metric("cells", block.size, "count")
        return block * 2

    with span("reading"):
        x = da.ones((6,), chunks=1).map_blocks(read, dtype=float, meta=np.empty((0,)))
    with span("scaling"):
        x = x.map_blocks(scale, dtype=float, meta=np.empty((0,)))
    assert x.compute().sum() == 12
    metrics = client.fine_metrics()
    assert metrics["execute", "read", "open", "seconds"] >= 0.06
    assert metrics["execute", "scale", "cells", "count"] == 6
    sum_is_exact(metrics)
    reading = client.fine_metrics(span="reading")
    sum_is_exact(reading)
    assert ("execute", "read", "open", "seconds") in reading
    assert ("execute", "scale", "cells", "count") not in reading


def test_inputs_in_memory_are_told_while_the_next_run_goes_on() -> None:
    """What ended runs read is there at once, although their thread is in a long run now."""

    def look(block: Any, gate: str | None) -> float:
        if gate is not None:
            Event(gate).wait()
        return float(block.sum())

    with Client(n_workers=1, threads_per_worker=1) as alone:
        there = alone.submit(np.ones, 1000, pure=False)
        # (its runs are expected to be short from now on, so that ended ones wait for the next)
        alone.gather([alone.submit(look, there, None, pure=False) for _ in range(20)])
        with alone.as_current():
            short = [alone.submit(look, there, None, pure=False) for _ in range(5)]
            long = alone.submit(look, there, "reads-gate", pure=False)
            assert alone.gather(short) == [1000.0] * 5
            key = ("execute", "look", "memory-read")
            metrics = alone.fine_metrics()
            ended = 25
            assert metrics[(*key, "count")] in (ended, ended + 1)
            Event("reads-gate", client=alone).set()
            assert long.result() == 1000.0
        metrics = alone.fine_metrics()
        assert metrics[(*key, "count")] == ended + 1
        assert metrics[(*key, "bytes")] == (ended + 1) * 8000
        sum_is_exact(metrics)


def test_inputs_in_memory_are_counted(client: Client) -> None:
    def add_up(one: Any, other: Any) -> float:
        return float(one.sum() + other.sum())

    there = client.submit(np.ones, 1000, pure=False)
    sums = [client.submit(add_up, there, there, pure=False) for _ in range(3)]
    more = client.submit(add_up, there, client.submit(np.ones, 500, pure=False), pure=False)
    assert client.gather([*sums, more]) == [2000.0, 2000.0, 2000.0, 1500.0]
    key = ("execute", "add_up", "memory-read")
    metrics = client.fine_metrics(function="add_up")
    assert metrics[(*key, "count")] == 5
    assert metrics[(*key, "bytes")] == 4 * 8000 + 4000
    assert all("memory-read" not in row["activity"] for row in metrics.summary["background"])
    sum_is_exact(metrics)


def test_requests_for_inputs_are_measured(client: Client) -> None:
    first, second = sorted(client.scheduler_info()["workers"])
    block = client.submit(np.ones, 100_000, workers=[first], pure=False)
    assert client.submit(np.sum, block, workers=[second], pure=False).result(LIMIT_SECONDS) == 1e5

    def requests() -> dict[str, float]:
        metrics = client.fine_metrics(unit="seconds")
        return {key[2]: value for key, value in metrics.items() if key[0] == "gather-dep"}

    # (they are told one by one)
    wait_until("all is told", lambda: {"network", "deserialize"} <= requests().keys())
    assert requests()["network"] > 0 and requests()["deserialize"] > 0
    # Those of tasks are in the sums already.
    metrics = client.fine_metrics()
    assert metrics.by_activity().get("network", 0.0) == metrics.get(
        ("get-data", "", "network", "seconds"), 0.0
    )
    assert all("gather" not in row["activity"] for row in metrics.summary["background"])


def test_a_coroutine_tells_its_task(client: Client) -> None:
    async def fetch(x: int) -> int:
        with context_meter.meter("await"):
            await asyncio.sleep(0.02)
        context_meter.digest_metric("answers", 1, "count")
        return x

    assert client.submit(fetch, 1, pure=False).result(LIMIT_SECONDS) == 1
    metrics = client.fine_metrics(function="fetch")
    assert metrics["execute", "fetch", "await", "seconds"] >= 0.02
    assert metrics["execute", "fetch", "answers", "count"] == 1
    sum_is_exact(metrics)


def test_all_seconds_of_a_run_that_failed_are_one_figure(client: Client) -> None:
    def fails() -> None:
        with context_meter.meter("vain"):
            time.sleep(0.02)
        context_meter.digest_metric("tried", 1, "count")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        client.submit(fails, pure=False).result(LIMIT_SECONDS)
    metrics = client.fine_metrics(function="fails")
    seconds = {
        key[2]: value
        for key, value in metrics.items()
        if key[1] == "fails" and key[0] == "execute" and key[3] == "seconds"
    }
    assert set(seconds) == {"failed"} and seconds["failed"] >= 0.02
    assert metrics["execute", "fails", "tried", "count"] == 1
    sum_is_exact(metrics)
    shown = {row["activity"]: row["value"] for row in metrics.summary["byActivity"]}
    assert shown["failed"] == pytest.approx(seconds["failed"], abs=1e-9)


def test_a_run_whose_result_nobody_wants_and_one_that_asks_for_another_are_cancelled(
    client: Client,
) -> None:
    begun, go = Event("begun"), Event("go")

    def unwanted() -> None:
        begun.set()
        go.wait()
        with context_meter.meter("vain"):
            time.sleep(0.02)
        context_meter.digest_metric("tried", 1, "count")

    future = client.submit(unwanted, pure=False)
    begun.wait(LIMIT_SECONDS)
    future.cancel()
    go.set()
    key = ("execute", "unwanted", "cancelled", "seconds")
    wait_until("the run has ended", lambda: key in client.fine_metrics())
    metrics = client.fine_metrics(function="unwanted")
    assert metrics[key] >= 0.02
    assert metrics["execute", "unwanted", "tried", "count"] == 1
    assert ("execute", "unwanted", "vain", "seconds") not in metrics
    sum_is_exact(metrics)

    tries = Event("tries")

    def again() -> int:
        if not tries.is_set():
            tries.set()
            time.sleep(0.02)
            raise Reschedule
        return 7

    assert client.submit(again, pure=False).result(LIMIT_SECONDS) == 7
    metrics = client.fine_metrics(function="again")
    assert metrics["execute", "again", "cancelled", "seconds"] >= 0.02
    sum_is_exact(metrics)


def test_seconds_beyond_those_of_the_run_stand_beside_it(client: Client) -> None:
    def claims() -> None:
        context_meter.digest_metric("claimed", 1000.0, "seconds")

    client.submit(claims, pure=False).result(LIMIT_SECONDS)
    metrics = client.fine_metrics(function="claims")
    inside = metrics.get(("execute", "claims", "claimed", "seconds"), 0.0)
    assert inside <= metrics.summary["attributedNanoseconds"] / 1e9 + 1e-9
    assert metrics["user", "claims", "claimed", "seconds"] == pytest.approx(1000 - inside)
    sum_is_exact(metrics)


def test_what_is_told_outside_of_tasks_is_in_no_figure(client: Client) -> None:
    def outside() -> None:
        context_meter.digest_metric("outside", 1, "count")

    client.run(outside)
    client.submit(time.sleep, 0.001, pure=False).result(LIMIT_SECONDS)
    assert not [key for key in client.fine_metrics() if key[2] == "outside"]


def test_labels_and_units_are_bounded_and_harmless(client: Client) -> None:
    def odd() -> int:
        context_meter.digest_metric("a\x00b", 1, "u\x00v")
        context_meter.digest_metric("\ud800", 1, "count")
        context_meter.digest_metric("x" * 10_000, 1, "count")
        context_meter.digest_metric("nan", float("nan"), "count")
        context_meter.digest_metric("transfer", 3, "count")
        for number in range(2000):
            context_meter.digest_metric(number, 1, "count")
        return 1

    assert client.submit(odd, pure=False).result(LIMIT_SECONDS) == 1
    metrics = client.fine_metrics(function="odd")
    assert metrics["execute", "odd", 1999, "count"] == 1
    assert metrics["execute", "odd", "transfer", "count"] == 3
    assert ("execute", "odd", "nan", "count") not in metrics


def test_what_a_lost_worker_had_not_told_is_said() -> None:
    with Client(n_workers=2, threads_per_worker=1) as client:
        client.submit(time.sleep, 0.001, pure=False).result(LIMIT_SECONDS)
        assert client.fine_metrics().notes == ()
        (victim, *_) = client.scheduler_info()["workers"]
        pid = client.run(os.getpid, workers=[victim])[victim]
        client.submit(time.sleep, 0.001, pure=False).result(LIMIT_SECONDS)
        os.kill(pid, 9)
        wait_until("it is missed", lambda: client.fine_metrics().notes)
        (note,) = client.fine_metrics().notes
        assert "was lost" in note and "may be missing" in note


def test_dasks_own_schedulers_tell_what_their_tasks_measure() -> None:
    def read(x: int) -> int:
        with context_meter.meter("open"):
            time.sleep(0.01)
        context_meter.digest_metric(("shard", x), 1, "count")
        return x

    def fails(x: int) -> int:
        with context_meter.meter("vain"):
            context_meter.digest_metric("tried", 1, "count")
        raise ValueError(x)

    outside: Told = []
    with observe() as seen:
        for scheduler in ("sync", "threads", "processes"):
            made = [delayed(read, pure=False)(x) for x in range(2)]
            assert compute(*made, scheduler=scheduler, num_workers=1) == (0, 1)
        callback = context_meter.add_callback(lambda *event: outside.append(event))
        with callback, context_meter.meter("whole"):
            compute(delayed(read)(7), scheduler="sync")
        with pytest.raises(ValueError, match="1"):
            compute(delayed(fails)(1), scheduler="sync")
        metrics = seen.fine_metrics()
    seen.close()
    assert metrics["execute", "read", "open", "seconds"] >= 0.07
    assert metrics["execute", "read", ("shard", 0), "count"] == 3
    assert metrics["execute", "read", ("shard", 7), "count"] == 1
    assert metrics["execute", "fails", "tried", "count"] == 1
    assert metrics["execute", "fails", "failed", "seconds"] > 0
    assert ("execute", "fails", "vain", "seconds") not in metrics
    sum_is_exact(metrics)
    # Those who wait around the call are told too.
    assert [label for label, _, _ in outside] == ["open", ("shard", 7), "whole"]


def in_a_new_thread(code: Callable[[], Any]) -> Any:
    """What `code` returns in a thread of its own, which has no scope yet."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(code()))
    thread.start()
    thread.join(LIMIT_SECONDS)
    (value,) = found
    return value


def decode() -> None:
    with context_meter.meter("decode"):
        pass
    context_meter.digest_metric("rows", 1, "count")


def labels_of(heard: Heard) -> set[Any]:
    return {label for label, _, _ in heard.take()}


def test_what_is_told_between_the_tasks_of_a_thread_is_no_task_s() -> None:
    def tasks() -> list[set[Any]]:
        heard = Heard()
        hearing = Hearing(heard)
        told = []
        for code in (decode, lambda: None, decode):
            hearing.begin()
            code()
            hearing.end()
            told.append(labels_of(heard))
            with context_meter.meter("between"):
                context_meter.digest_metric("pages", 1, "count")
            assert not heard.take()
        hearing.leave()
        assert scopes.SCOPE.get() is NOWHERE and scopes.HERE.root is ELSEWHERE
        decode()
        assert not heard.take()
        return told

    assert in_a_new_thread(tasks) == [{"decode", "rows"}, set(), {"decode", "rows"}]


def test_who_waits_for_what_a_pool_tells_hears_it_where_tasks_have_run() -> None:
    """In a context of its own, beside which the thread's scope stays between its tasks."""

    def asked(pool: ThreadPoolExecutor) -> list[Any]:
        heard: list[Any] = []
        with context_meter.add_callback(lambda label, *_: heard.append(label)):
            pool.submit(contextvars.copy_context().run, decode).result(LIMIT_SECONDS)
        return heard

    with ThreadPoolExecutor(1) as pool:
        assert asked(pool) == ["decode", "rows"]
        with observe("a pool") as seen:
            for _ in range(3):
                delayed(decode)().compute(scheduler=pool)
                assert asked(pool) == ["decode", "rows"]
        seen.close()
        assert asked(pool) == ["decode", "rows"]


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_what_parts_of_a_fused_task_tell_is_counted_in_local_runs(scheduler: str) -> None:
    def load(block: Any) -> Any:
        decode()
        return block

    with observe("parts") as seen:
        ones = da.ones((4,), chunks=1)
        loaded = ones.map_blocks(load, meta=np.ones(0), name="load", token="load")
        done = loaded.map_blocks(np.negative, meta=np.ones(0))
        assert done.compute(scheduler=scheduler, num_workers=2).sum() == -4
        metrics = {key[2:]: value for key, value in seen.fine_metrics().items()}
    seen.close()
    assert metrics["rows", "count"] == 4
    assert metrics["decode", "seconds"] > 0


class Page:
    """A label of a user's own."""


def test_what_a_pool_tells_after_its_tasks_is_held_by_nobody() -> None:
    pages: weakref.WeakSet[Page] = weakref.WeakSet()

    def tell() -> None:
        for _ in range(10):
            page = Page()
            pages.add(page)
            with context_meter.meter(page):
                context_meter.digest_metric(page, 1, "count")

    with ThreadPoolExecutor(1) as pool, observe("a pool") as seen:
        # (a meter for any label holds the newest one)
        delayed(decode)().compute(scheduler=pool)
        for _ in range(20):
            pool.submit(tell).result(LIMIT_SECONDS)
        seen.close()
        gc.collect()
        assert len(pages) <= 1


@pytest.mark.parametrize("label", ["often", ("new", 1)])
def test_what_a_task_has_left_open_may_end_between_the_tasks(label: Any) -> None:
    """Whether its label has a meter of its own in the thread or none."""

    def tasks() -> set[Any]:
        heard = Heard()
        hearing = Hearing(heard)
        for _ in range(3):
            hearing.begin()
            with context_meter.meter("often"):
                pass
            hearing.end()
        hearing.begin()
        left = ExitStack()
        for _ in range(8):
            left.enter_context(context_meter.meter(label))
        left.enter_context(context_meter.add_callback(lambda *_: None))
        left.enter_context(context_meter.meter("within"))
        hearing.end()
        left.close()
        assert scopes.HERE.root is ELSEWHERE
        hearing.begin()
        decode()
        hearing.end()
        hearing.leave()
        return labels_of(heard)

    assert in_a_new_thread(tasks) == {"decode", "rows"}


@pytest.mark.parametrize("comes", ["set", "reset", "_root"])
def test_ctrl_c_at_the_edge_of_a_task_leaves_the_next_one_as_it_would_be(
    comes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python raises it when a call has ended; what hears of more than the task is around it."""

    class Interrupted:
        """In the place of `SCOPE` and of the module."""

        is_due = False

        def __init__(self, of: Any) -> None:
            self._of = of

        def __getattr__(self, name: str) -> Any:
            real = getattr(self._of, name)

            def call(*args: Any) -> Any:
                value = real(*args)
                if name == comes and Interrupted.is_due:
                    Interrupted.is_due = False
                    raise KeyboardInterrupt
                return value

            return call

    scope, root = scopes.SCOPE, scopes._root
    monkeypatch.setattr(scopes, "SCOPE", Interrupted(scope))
    monkeypatch.setattr(
        scopes, "_root", lambda *args: Interrupted(SimpleNamespace(_root=root))._root(*args)
    )

    def tasks() -> list[set[Any]]:
        heard = Heard()
        hearing = Hearing(heard)
        outside: list[Any] = []
        found = []

        def task() -> None:
            hearing.begin()
            decode()
            hearing.end()
            found.append(labels_of(heard))

        with context_meter.add_callback(lambda label, *_: outside.append(label)):
            Interrupted.is_due = True
            with pytest.raises(KeyboardInterrupt):
                task()
            # Dask says that the run has ended.
            hearing.leave()
            heard.take()
            outside.clear()
            task()
        found.append(set(outside))
        for _ in range(2):
            task()
        with context_meter.add_callback(lambda *_: None):
            task()
        hearing.leave()
        assert scope.get() is NOWHERE and scopes.HERE.root is ELSEWHERE
        return found

    assert in_a_new_thread(tasks) == 5 * [{"decode", "rows"}]


def test_what_a_task_leaves_open_hears_of_no_later_task() -> None:
    def tasks() -> tuple[Told, set[Any]]:
        heard = Heard()
        hearing = Hearing(heard)
        outside: Told = []
        hearing.begin()
        left = context_meter.add_callback(lambda *event: outside.append(event))
        left.__enter__()
        context_meter.digest_metric("first", 1, "count")
        hearing.end()
        heard.take()
        hearing.begin()
        decode()
        hearing.end()
        hearing.leave()
        return outside, labels_of(heard)

    assert in_a_new_thread(tasks) == ([("first", 1, "count")], {"decode", "rows"})


def test_who_watched_a_thread_before_hears_nothing_of_others_tasks() -> None:
    """Of two whose tasks lie within each other both do."""

    def tasks() -> list[tuple[set[Any], set[Any]]]:
        one, other = Heard(), Heard()
        first, second = Hearing(one), Hearing(other)
        found = []
        for inner, outer in ((second, None), (first, None), (second, first), (first, second)):
            if outer is not None:
                outer.begin()
            inner.begin()
            # (meters of a scope that is used again are kept)
            assert scopes.SCOPE.get().returns is (outer is None)
            decode()
            inner.end()
            if outer is not None:
                decode()
                outer.end()
            found.append((labels_of(one), labels_of(other)))
        return found

    told: set[Any] = {"decode", "rows"}
    assert in_a_new_thread(tasks) == [(set(), told), (told, set()), (told, told), (told, told)]


def test_a_run_in_the_callers_thread_leaves_nothing_there() -> None:
    class Telling(Callback):
        """A callback that measures itself, between the tasks."""

        def _posttask(self, *_: Any) -> None:
            context_meter.digest_metric("called", 1, "count")

    def task(x: Any) -> Any:
        decode()
        return x

    assert scopes.SCOPE.get() is NOWHERE
    with observe() as seen, Telling():
        compute([delayed(task)(n) for n in range(3)], scheduler="sync")
        assert scopes.SCOPE.get() is NOWHERE and scopes.root_here() is ELSEWHERE
        with pytest.raises(ZeroDivisionError):
            compute(delayed(lambda: 1 / 0)(), scheduler="sync")
        assert scopes.SCOPE.get() is NOWHERE and scopes.root_here() is ELSEWHERE
        metrics = seen.fine_metrics()
    seen.close()
    assert metrics["execute", "task", "rows", "count"] == 3
    assert not [key for key in metrics if "called" in key]
