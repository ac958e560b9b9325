"""The clock of a Dask scheduler may be another one than that of the machine that watches it."""

from __future__ import annotations

import asyncio
import time
from math import inf, isnan
from pathlib import Path
from typing import Any

import distributed
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.dask_bridge import viewer, without_code
from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.dask_bridge.heartbeat_clock import HeartbeatClock
from spanwise.dask_bridge.pulled import Pulled
from spanwise.dask_bridge.without_code import WithoutCode
from spanwise.records.block import decode_block
from spanwise.records.enumerations import CLOCK_MEASURED, NONE_U16
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.test_dask_attach import until
from spanwise.tests.test_dask_history import said
from spanwise.tests.test_dask_running import running, stream, submitted
from spanwise.tests.unreached_viewer import unreached_viewer

#: More than any test takes.
APART_SECONDS = 3600.0
#: Loaded by the scheduler: sets its clock.
SET_CLOCK = """
import sys, time as clocks
def time(true=clocks.time):
    return true() + {ahead}
if not hasattr(clocks, "is_set"):  # (it is loaded twice)
    clocks.is_set, true = True, clocks.time
    for module in [*sys.modules.values()]:
        if vars(module).get("time") is true:
            module.time = time
"""


@pytest.mark.parametrize("ahead", [-APART_SECONDS, APART_SECONDS], ids=["behind", "ahead"])
def test_figures_are_right_by_the_schedulers_clock(tmp_path: Path, ahead: float) -> None:
    (tmp_path / "set_clock.py").write_text(SET_CLOCK.format(ahead=ahead))
    options = ("--preload", str(tmp_path / "set_clock.py"))
    processes = DaskProcesses(tmp_path, workers=1, scheduler_options=options)
    began = time.time() + ahead
    try:
        with (
            distributed.Client(processes.address, set_as_default=False) as client,
            spanwise.attach(client) as attached,
        ):
            first, _second = submitted(client, tmp_path, "first", "second")
            until(lambda: running(attached) == ["first", "second"], "both are shown")
            (tmp_path / "first").touch()
            first.result(timeout=LIMIT_SECONDS)
            until(lambda: running(attached) == ["second"], "one has ended")
            figures = stream(attached)
            epoch = attached._viewer.log.epoch
            (record,) = attached.get_task_stream()
            lived = time.time() + ahead - began
            times = [figures["now"] + epoch, figures["running"][0]["started"] + epoch]
            times += [record["startstops"][0]["start"], record["startstops"][0]["stop"]]
            # (workers look at the scheduler's clock with each heartbeat)
            most = lived + 60.0
            assert all(-60.0 < each - began < most for each in times), (began, lived, times)
            assert figures["to"] - figures["from"] < most
            assert sum(each["capacity"] for each in figures["workers"]) < 2 * most
            word = "behind" if ahead < 0 else "ahead of"
            said(attached, "clock", rf"^The scheduler’s clock is [^ ]+ min .* {word} JupyterLab’s:")
    finally:
        for name in ("first", "second"):
            (tmp_path / name).touch()
        processes.close()


def test_the_log_says_how_far_the_clock_is_ahead() -> None:
    head = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}
    first = Pulled(**head, now=1e9 + 9, attached=1e9, started=1e9, viewers=1)  # type: ignore[arg-type]
    blocks: list[Any] = []
    log = DaskLog("some", first, lambda block, _: blocks.append(block.data))

    def told(ahead: float, within: float) -> float:
        log.tell_clock(ahead, within)
        found: float = log.description()["clockAhead"]
        return found

    # (as far as is known it may be the same clock)
    assert told(0.7, 0.8) == 0.0
    assert told(40.0, 0.8) == 40.0
    assert told(40.4, 0.8) == 40.0
    assert told(40.3, 0.001) == 40.3
    assert told(40.31, 0.001) == 40.3
    # (no log lasts so long, and an observer would refuse the row)
    assert told(-1.7e9, 0.001) == -1.7e9
    log.seal()
    rows: list[Any] = []
    for block in map(decode_block, blocks):
        if block.table.name == "clocks":
            names = ("t", "worker", "offset", "within", "drift", "why")
            rows += zip(*map(block.column, names), strict=True)
    assert [row[:4] for row in rows] == [
        (9.0, NONE_U16, 40.0, 0.8),
        (9.0, NONE_U16, 40.3, 0.001),
    ]
    assert all(isnan(row[4]) and row[5] == CLOCK_MEASURED for row in rows)


class Silent:
    """A scheduler that takes no plugins, and hears its one worker forty times a second.

    Parameters
    ----------
    mute
        Answers before the worker is heard: it has not come (then it is not there), or says nothing.
    """

    def __init__(self, ahead: float, mute: float = 0, is_there: bool = True) -> None:
        self._ahead = ahead
        self.mute = mute
        self._is_there = is_there
        self.records: list[Any] = []
        self._last = self.now()

    def now(self) -> float:
        return self.time() + self._ahead

    def time(self) -> float:
        return time.time()

    async def identity(self) -> dict[str, Any]:
        if self.mute <= 0:
            self._last = int(self.now() * 40) / 40
            self._is_there = True
        self.mute -= 1
        workers = {"w": {"last_seen": self._last, "nthreads": 1}} if self._is_there else {}
        return {"id": "s", "address": "a", "workers": workers}

    async def get_task_stream_index(self) -> int:
        return len(self.records)

    async def get_task_stream(self, start_index: int) -> list[Any]:
        return self.records[start_index:]


@pytest.mark.parametrize("ahead", [-APART_SECONDS, 0.0, APART_SECONDS])
def test_a_scheduler_without_the_plugin_has_its_own_clock(ahead: float) -> None:
    request = {"plugin": "", "cursor": -1, "state": -1, "limit": 9, "lease": 60.0, "want": []}
    began = time.time() + ahead
    answer = asyncio.run(WithoutCode(Silent(ahead), LIMIT_SECONDS).spanwise_pull_7(**request))
    most = time.time() + ahead - began + 60.0
    assert -60.0 < answer["now"] - began < most
    assert -60.0 < answer["attached"] - began < most


class Stepped(Silent):
    """Its clock, and that of who watches, move on with each look, and when the test says so."""

    at = 1e9

    def time(self) -> float:
        self.at += 0.001
        return self.at


class Kept:
    """In place of the link of a log: keeps what would be sent."""

    has_viewers = True

    def __init__(self, observer: Any, describe: Any, gaps: Any) -> None:
        self.describe = describe
        self.blocks: list[bytes] = []
        self.ended: tuple[Any, ...] = ()

    def push(self, block: Any, at: float) -> None:
        self.blocks.append(block.data)

    def end(self, *said: Any) -> None:
        self.ended = said


@pytest.mark.parametrize("is_there", [False, True], ids=["no-worker", "unheard"])
@pytest.mark.parametrize("ahead", [-APART_SECONDS, 0.0, APART_SECONDS])
def test_what_was_told_by_another_clock_is_told_again(
    monkeypatch: pytest.MonkeyPatch, ahead: float, is_there: bool
) -> None:
    links: list[Kept] = []

    def linked(*given: Any) -> Kept:
        links.append(Kept(*given))
        return links[-1]

    monkeypatch.setattr(viewer, "ObserverLink", linked)
    monkeypatch.setattr(without_code, "_CLOCK_SECONDS", 0.0)
    scheduler = Stepped(ahead, mute=inf, is_there=is_there)
    for module in (viewer, without_code):
        monkeypatch.setattr(module, "time", scheduler.time)
    attached = scheduler.now()
    seen = unreached_viewer()
    seen._seconds, seen._observer = LIMIT_SECONDS, object()
    seen._rpc = seen._without_code = WithoutCode(scheduler, LIMIT_SECONDS)

    async def watched() -> None:
        seen._begin_log(await seen._pull())
        seen._write(await seen._pull(fresh=True))
        scheduler.at += 5.0
        seen._write(await seen._pull(fresh=True))
        # A worker comes, or is heard at last, and has begun to run a task.
        scheduler.mute = 0
        start = scheduler.now()
        seen._write(await seen._pull(fresh=True))
        scheduler.at += 3.0
        for number in range(3):
            times = {"start": start + number, "stop": start + number + 0.5}
            part = {"action": "compute", **times}
            record = {"key": f"k-{number}", "worker": "w", "thread": 1, "startstops": [part]}
            scheduler.records.append({**record, "nbytes": 1, "typename": "int"})
        seen._write(await seen._pull(fresh=True))

    asyncio.run(watched())
    seen.log.seal()
    # (that a clock is ahead is seen by what was heard before)
    is_wrong = ahead < 0 or (ahead > 0 and not is_there)
    assert [bool(each.ended) for each in links] == ([True, False] if is_wrong else [False])
    for _, _, _, told, is_unwatched in [each.ended for each in links[:-1]]:
        assert "by the clock of its scheduler" in told
        assert is_unwatched  # (the cluster goes on)
    last = links[-1]
    began: list[float] = []
    lasted: list[float] = []
    for block in map(decode_block, last.blocks):
        if block.table.name == "runs":
            began += block.column("start")
            lasted += block.column("duration")
    assert lasted == pytest.approx([0.5] * 3, abs=1e-3)
    assert began == pytest.approx([5.0, 6.0, 7.0], abs=0.1)
    assert seen.log.epoch == pytest.approx(attached, abs=0.1)
    assert last.describe()["clockAhead"] == pytest.approx(ahead, abs=0.1)


@given(
    ahead=st.floats(-1e4, 1e4),
    looks=st.lists(st.tuples(*3 * [st.floats(0.001, 9.0)]), min_size=2, max_size=12),
    workers=st.integers(1, 3),
)
def test_heartbeats_tell_the_clock(
    ahead: float, looks: list[tuple[float, float, float]], workers: int
) -> None:
    clock, same = HeartbeatClock(), HeartbeatClock()
    now, heard, widest = 1e6, dict.fromkeys("abc"[:workers], 1e6), 0.0
    for pause, there, back in looks:
        before = now
        # (one after another is heard in a pause)
        for number, worker in enumerate(heard):
            heard[worker] = now + pause * number / workers
        now += pause + there + back
        for each, offset in ((clock, ahead), (same, 0.0)):
            told = {worker: t + offset for worker, t in heard.items()}
            each.answered(now - there - back, now, told)
        widest = max(widest, now - before)
    assert clock.is_known and same.ahead == 0.0
    # (of two looks, and what passed between them)
    assert abs(clock.ahead - ahead) <= 2 * widest


def test_a_clock_that_is_set_is_found_again() -> None:
    clock = HeartbeatClock()
    for second in range(4):
        clock.answered(second, second + 0.1, {"w": second - 0.5 + 40})
    assert abs(clock.ahead - 40) < 1
    for second in range(4, 7):
        clock.answered(second, second + 0.1, {"w": second - 0.5 - 40})
    assert abs(clock.ahead + 40) < 1
    # (nobody is heard: nothing is learnt)
    clock.answered(99.0, 99.1, {"w": 5.5 - 40})
    assert abs(clock.ahead + 40) < 1
