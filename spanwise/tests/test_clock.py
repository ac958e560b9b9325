"""Processes whose clocks count from different moments, as they may off Linux."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise import Client, span
from spanwise.client.clock_follower import ClockFollower
from spanwise.graph.span_record import SpanRecord
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.fake_scheduler import FakeScheduler, task
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_client import increment, until
from spanwise.wire.clock import (
    FIRST_ANSWERS,
    GRAIN_SECONDS,
    MOST_DRIFT,
    MOST_KNOTS,
    SAME_SECONDS,
    ClockOffset,
    in_their_clock,
)
from spanwise.wire.frame import Message

SKEW = 5_000.0

seconds = st.floats(0, 10, allow_nan=False)
#: How exactly clocks of a million seconds are added and subtracted.
ROUNDING = 1e-6


@given(begin=st.floats(0, 1e6), there=seconds, back=seconds, skew=st.floats(-1e6, 1e6))
def test_an_offset_is_wrong_by_half_the_round_trip_at_most(
    begin: float, there: float, back: float, skew: float
) -> None:
    received = begin + there + back
    clock = ClockOffset(begin + there + skew, begin, received)
    found = clock.at(received)
    if found == 0:
        assert abs(skew) <= there + back + SAME_SECONDS + ROUNDING
    else:
        assert abs(found - skew) <= (there + back) / 2 + ROUNDING
        assert abs(clock.within(received) - (there + back) / 2) <= ROUNDING


@given(begin=st.floats(0, 1e6), there=seconds, back=seconds)
def test_one_clock_has_no_offset(begin: float, there: float, back: float) -> None:
    for theirs in (begin + there, None):
        clock = ClockOffset(theirs, begin, begin + there + back, may_part=False)
        assert clock.is_one and clock.at(begin) == clock.at(begin + 1e6) == 0.0
        # It is sure, or asks on until a short round trip tells.
        assert clock.asks is clock.is_settling
        if clock.asks:
            clock.answered(begin + 60, begin + 60, begin + 60.05, lambda: begin + 60.05)
        assert clock.is_one and not clock.asks and not clock.is_due(begin + 1e6)


class _Clocks:
    """Two clocks that part at a steady rate, and questions that take drawn times."""

    def __init__(self, skew: float, drift: float) -> None:
        self.now = 1000.0
        self._skew, self._drift = skew, drift
        #: (earliest moment for which it counts, half the round trip)
        self.trips: list[tuple[float, float]] = []

    def offset(self) -> float:
        return self._skew + self._drift * (self.now - 1000.0)

    def theirs(self) -> float:
        return self.now + self.offset()

    def ask(self, there: float, back: float) -> tuple[float, float, float]:
        sent = self.now
        self.now += there
        theirs = self.theirs()
        self.now += back
        self.trips.append((self.now, (there + back) / 2))
        return theirs, sent, self.now

    def least(self) -> float:
        """The most that the best of all answers can be wrong now."""
        return min(half + MOST_DRIFT * (self.now - at) for at, half in self.trips)


trips = st.lists(
    st.tuples(st.floats(0, 5), st.floats(0.0001, 0.2), st.floats(0.0001, 0.2)),
    min_size=1,
    max_size=60,
)


@given(
    skew=st.floats(1, 1e4) | st.floats(-1e4, -1),
    drift=st.floats(-MOST_DRIFT / 2, MOST_DRIFT / 2),
    trips=trips,
)
def test_the_shortest_round_trip_of_late_decides(
    skew: float, drift: float, trips: list[tuple[float, float, float]]
) -> None:
    clocks = _Clocks(skew, drift)
    clock = ClockOffset(*clocks.ask(0.05, 0.05))
    for pause, there, back in trips:
        clocks.now += pause
        clock.answered(*clocks.ask(there, back), lambda: clocks.now)
        grain = GRAIN_SECONDS * (1 + len(clocks.trips))
        # What it tells of its error is true, and after a while at rest it is small.
        error = abs(clock.at(clocks.now) - clocks.offset())
        assert error <= clock.within(clocks.now) + ROUNDING
        # (10 ms are slewed within 10 s)
        ahead = clocks.now + 10.1
        middle = clock.at(ahead)
        assert abs(middle - clocks.offset()) <= clocks.least() + grain


@given(trips=trips, skew=st.floats(1, 1e4), data=st.data())
def test_without_drift_it_is_wrong_by_half_the_shortest_round_trip(
    trips: list[tuple[float, float, float]], skew: float, data: st.DataObject
) -> None:
    clocks = _Clocks(skew, 0.0)
    clock = ClockOffset(*clocks.ask(0.05, 0.05))
    for _, there, back in trips:
        clock.answered(*clocks.ask(there, back), lambda: clocks.now)
    clocks.now += 10.1
    spent = MOST_DRIFT * (clocks.now - clocks.trips[0][0])
    shortest = min(half for _, half in clocks.trips)
    assert abs(clock.at(clocks.now) - skew) <= shortest + spent + ROUNDING


@given(
    trips=trips,
    skew=st.floats(-1e4, 1e4),
    step=st.floats(-100, 100),
    at=st.integers(0, 60),
    drift=st.floats(-2 * MOST_DRIFT, 2 * MOST_DRIFT),
)
def test_recorded_times_stay_and_ascend(
    trips: list[tuple[float, float, float]], skew: float, step: float, at: int, drift: float
) -> None:
    clocks = _Clocks(skew, drift)
    clock = ClockOffset(*clocks.ask(0.02, 0.02))
    told: list[tuple[float, float]] = []
    for number, (pause, there, back) in enumerate(trips):
        if number == at:
            clocks._skew += step  # one of them is set, or has stood still
        for share in (0.0, 0.3, 1.0):
            moment = clocks.now + share * pause
            told.append((moment, moment + clock.at(moment)))
        clocks.now += pause
        clock.answered(*clocks.ask(there, back), lambda: clocks.now)
        told.append((clocks.now, clocks.now + clock.at(clocks.now)))
    times = [time for _, time in told]
    assert all(later >= earlier - ROUNDING for earlier, later in pairwise(times))
    for moment, recorded in told:
        assert abs(moment + clock.at(moment) - recorded) <= ROUNDING


def test_small_errors_are_made_good_slowly_and_steps_at_once() -> None:
    clocks = _Clocks(3.0, 0.0)
    clock = ClockOffset(*clocks.ask(0.0001, 0.0001))
    for _ in range(20):
        clocks.now += 1
        clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
    settled = clock.at(clocks.now)
    clocks._skew += 0.005
    clocks.now += 1
    clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
    assert abs(clock.at(clocks.now) - settled) < 0.0002
    clocks._skew += 60
    clocks.now += 1
    clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
    assert abs(clock.at(clocks.now) - clocks.offset()) < 0.001


def test_what_the_offset_was_is_kept_within_bounds() -> None:
    clocks = _Clocks(3.0, 100e-6)
    clock = ClockOffset(*clocks.ask(0.0001, 0.0001))
    true = []
    for _ in range(3 * MOST_KNOTS):
        clocks.now += 1
        clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
        true.append((clocks.now, clocks.offset()))
    assert len(clock._times) <= MOST_KNOTS
    assert max(abs(clock.at(moment) - offset) for moment, offset in true) < 0.001


# Moments just after the offset has changed at once.
@example(skew=1.0, drift=7.723985232366131e-05, ago=12.001953125)
@example(skew=1.0, drift=-100e-6, ago=12.0034)
@given(skew=st.floats(1, 1e4), drift=st.floats(-100e-6, 100e-6), ago=st.floats(0, 20))
def test_moments_of_theirs_are_found_in_ours(skew: float, drift: float, ago: float) -> None:
    clocks = _Clocks(skew, drift)
    clock = ClockOffset(*clocks.ask(0.0001, 0.0001))
    for _ in range(20):
        clocks.now += 1
        clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
    moment = clocks.now - ago
    assert abs(clock.ours(moment + clock.at(moment), clocks.now) - moment) <= ROUNDING


def test_clocks_that_may_part_are_one_until_they_do() -> None:
    clocks = _Clocks(0.0, 0.0)
    clock = ClockOffset(*clocks.ask(0.0001, 0.0001), may_part=True)
    assert clock.asks and not clock.is_settling
    clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
    before = clocks.now
    assert clock.is_one and clock.at(before) == 0
    clocks._skew = 30.0  # ours stood still while the machine was suspended
    clocks.now += 1
    clock.answered(*clocks.ask(0.0001, 0.0001), lambda: clocks.now)
    assert not clock.is_one, "any more"
    assert clock.is_settling
    assert clock.at(before) == 0 and abs(clock.at(clocks.now) - 30) < 0.001


def test_every_moment_that_workers_send_is_shifted() -> None:
    rows = {
        "memory": [(1.0, 2.0, 3.0, 4.0, 5.0)],
        "running": [(0, 7, 8, 1, 2, 9.0)],
        "transfers": [(1.5, 2.0, 3, 4.0, 5, 6, 7, 0)],
        "stacks": [(1, 2, 3)],
    }
    assert in_their_clock("measured", rows, lambda _: 100.0) == {
        "memory": [(101.0, 2.0, 3.0, 4.0, 5.0)],
        "running": [(0, 7, 8, 1, 2, 109.0)],
        "transfers": [(101.5, 2.0, 3, 4.0, 5, 6, 7, 0)],
        "stacks": [(1, 2, 3)],
    }


def _wait_for(path: str) -> float:
    began = time.perf_counter()
    while not Path(path).exists():
        time.sleep(0.01)
    return began


def test_a_worker_speaks_in_its_schedulers_clock(tmp_path: Path) -> None:
    with FakeScheduler(tmp_path / "s", skew=SKEW) as scheduler:
        started = scheduler.clock()
        worker = scheduler.start_worker(threads=1)
        before = scheduler.clock()
        go = tmp_path / "go"
        worker.assign([task(0, _wait_for, (str(go),)), task(1, increment, (1,))])
        tables = ("memory", "samples", "running")
        worker.wait(lambda: all(worker.measured.get(table) for table in tables))
        go.touch()
        begun = worker.value(0)
        assert worker.value(1) == 2
        worker.flush()
        # (it goes on telling)
        told = {table: [*worker.measured[table]] for table in tables}
        after = scheduler.clock()
        # Found when it said hello, wrong by half of what that took at most; then always the same.
        offset = worker.call(lambda dask_worker: dask_worker._worker.clock.first)
        wrong = offset - SKEW
        assert abs(wrong) <= (before - started) / 2
        runs = [worker.task_run(number) for number in (0, 1)]
        for run in runs:
            assert before <= run.start - wrong <= run.stop - wrong <= after
            # Runnable, inputs here, thread free: in this process's clock these were hours.
            assert run.waitInputs >= 0 and run.waitThread >= 0
            assert before - abs(wrong) <= run.start - run.waitInputs - run.waitThread
        # The function read its clock within its run.
        assert runs[0].start <= begun + offset <= runs[0].stop
        assert runs[1].waitThread > 0.1, "behind the first one, which was told as running"
        for table, at in (("memory", 0), ("samples", 0), ("running", 5)):
            moments = [row[at] - wrong for row in told[table]]
            # (samples are counted by the second, and told for its middle)
            off = 0.5 if table == "samples" else 0.0
            assert moments and started - off <= min(moments) <= max(moments) <= after + off, table


@pytest.mark.parametrize("skew", [None, 0.0, SKEW, -SKEW])
def test_spans_are_told_in_the_schedulers_clock(skew: float | None) -> None:
    scheduler = ClientScheduler(skew=skew)
    dialled = time.perf_counter()
    with LocalClient(scheduler) as client:
        before = time.perf_counter()
        with span("A"):
            assert client.submit(increment, 1).result(60) == 2
        after = time.perf_counter()
        until(lambda: any(row["closed"] is not None for row in scheduler.spans.values()))
        (row,) = scheduler.spans.values()
        clock = client._session._link.clock
        # Half of the handshake's round trip is the most that it can be wrong.
        assert abs(clock.first - (skew or 0.0)) <= (before - dialled) / 2
        opened, closed = row["opened"], row["closed"]
        assert before + clock.at(before) <= opened <= closed <= after + clock.at(after)
        assert (clock.at(before) == 0) is (not skew)
    scheduler.close()


class _Asked:
    """A scheduler whose clock drifts, and which answers when it is told to."""

    def __init__(self, clock: ClockOffset, skew: float) -> None:
        self.follower = ClockFollower(clock, self._send)
        self.skew = skew
        self.asked: queue.SimpleQueue[float] = queue.SimpleQueue()

    def _send(self, kind: str, fields: dict[str, float]) -> None:
        assert kind == "askClock"
        self.asked.put(fields["sent"])

    def answer(self, sent: float) -> None:
        fields = {"sent": sent, "clock": time.perf_counter() + self.skew}
        self.follower.came(Message("clockIs", fields, {}, []))

    def answer_until(self, condition: Callable[[], bool]) -> int:
        """Answer one question after another; returns how many. (Some may have been given up.)"""
        count, end = 0, time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < end
            self.answer(self.asked.get(timeout=LIMIT_SECONDS))
            count += 1
        return count


def test_a_client_follows_the_clock_of_its_scheduler() -> None:
    now = time.perf_counter()
    clock = ClockOffset(now + 3, now, now)
    asked = _Asked(clock, 3.0)
    asked.follower.begin()
    count = asked.answer_until(lambda: not clock.is_settling)
    assert count >= FIRST_ANSWERS
    asked.skew = 60.0  # one of the two was set
    sent = asked.asked.get(timeout=LIMIT_SECONDS)
    asked.answer(sent - 1)  # to a question that was given up
    assert clock.at(time.perf_counter()) < 30
    asked.answer_until(lambda: abs(clock.at(time.perf_counter()) - 60) < 1)
    asked.follower.end()


def test_a_client_with_its_schedulers_clock_asks_nothing() -> None:
    now = time.perf_counter()
    asked = _Asked(ClockOffset(now, now, now, may_part=False), 0.0)
    before = set(threading.enumerate())
    asked.follower.begin()
    begun = {each.name for each in set(threading.enumerate()) - before}
    assert "spanwise-clock" not in begun
    assert asked.asked.empty()


def test_spans_are_stamped_by_the_clock_that_measures() -> None:
    before = time.perf_counter()
    record = SpanRecord("A", None)
    record.close()
    assert record.closed is not None
    assert before <= record.opened <= record.closed <= time.perf_counter()


def test_a_real_scheduler_tells_its_clock() -> None:
    before = time.perf_counter()
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        link = client._session._link
        assert before <= link.welcome["schedulerStart"] <= link.welcome["clock"]
        assert link.welcome["clock"] <= time.perf_counter()
        assert link.clock_offset == 0
        assert client.run(lambda dask_worker: dask_worker._worker.clock.asks).popitem()[1] is False
