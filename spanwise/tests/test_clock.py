"""Processes whose clocks count from different moments, as they may off Linux."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import Client, span
from spanwise.graph.spans import SpanRecord
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.fake_scheduler import FakeScheduler, task
from spanwise.tests.test_client import increment, until
from spanwise.wire.clock import SAME_SECONDS, clock_offset, in_their_clock

SKEW = 5_000.0

seconds = st.floats(0, 10, allow_nan=False)


@given(begin=st.floats(0, 1e6), there=seconds, back=seconds, skew=st.floats(-1e6, 1e6))
def test_an_offset_is_wrong_by_half_the_round_trip_at_most(
    begin: float, there: float, back: float, skew: float
) -> None:
    received = begin + there + back
    found = clock_offset(begin + there + skew, begin, received)
    if found == 0:
        assert abs(skew) <= there + back + SAME_SECONDS + 1e-6
    else:
        assert abs(found - skew) <= (there + back) / 2 + 1e-6


@given(begin=st.floats(0, 1e6), there=seconds, back=seconds)
def test_one_clock_has_no_offset(begin: float, there: float, back: float) -> None:
    assert clock_offset(begin + there, begin, begin + there + back) == 0.0
    assert clock_offset(None, begin, begin + there) == 0.0


def test_every_moment_that_workers_send_is_shifted() -> None:
    rows = {
        "memory": [(1.0, 2.0, 3.0, 4.0, 5.0)],
        "running": [(0, 7, 8, 1, 2, 9.0)],
        "transfers": [(1.5, 2.0, 3, 4.0, 5, 6, 7, 0)],
        "stacks": [(1, 2, 3)],
    }
    assert in_their_clock("measured", rows, 100.0) == {
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
        after = scheduler.clock()
        # Found when it said hello, wrong by half of what that took at most; then always the same.
        offset = worker.call(lambda dask_worker: dask_worker._worker.clock_offset)
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
            moments = [row[at] - wrong for row in worker.measured[table]]
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
        offset = client._session.spans._offset
        # Half of the handshake's round trip is the most that it can be wrong.
        assert abs(offset - (skew or 0.0)) <= (before - dialled) / 2
        assert before + offset <= row["opened"] <= row["closed"] <= after + offset
        assert (offset == 0) is (not skew)
    scheduler.close()


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
        assert client.run(lambda dask_worker: dask_worker._worker.clock_offset).popitem()[1] == 0
