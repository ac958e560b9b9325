"""What ``observe()`` records equals ``dask.diagnostics.Profiler``'s records of the same run."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import add
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.diagnostics import Profiler

import spanwise
from spanwise import span
from spanwise.local.observe import Observation
from spanwise.tests.disturbance import Disturbance, stolen
from spanwise.tests.observed_tasks import (
    POOL_SECONDS,
    SCHEDULERS,
    rest,
    rest_and_tell,
    spin,
    wait_for_file,
)
from spanwise.tests.processes import wait_until
from spanwise.tests.stamped_tasks import spin_in_queue

#: Between Dask's handing a task out and the first stamp, and back: queue, sizes, the GIL.
#: Per task, in seconds, beside what the machine takes.
DISPATCH = {"threads": 0.05, "sync": 0.005, "processes": 1.0}


VALUES = pd.DataFrame({"k": [n % 5 for n in range(1000)], "v": range(1000)})


#: Seconds for which the delayed graph's tasks rest.
ASKED = [*(0.02 * (n % 3) for n in range(12)), 0.01]


def an_array() -> Any:
    with span("A"):
        x = da.ones((400, 400), chunks=100)
    with span("B"):
        return (x + x.T).sum(axis=0)


def a_dataframe() -> Any:
    with span("A"):
        frame = dd.from_pandas(VALUES, npartitions=4)
    with span("B"):
        return frame[frame.v > 10].groupby("k").v.mean()


def a_delayed_graph() -> Any:
    with span("A"):
        firsts = [dask.delayed(rest)(seconds) for seconds in ASKED[:-1]]
    with span("B"):
        return dask.delayed(rest)(ASKED[-1], *firsts)


GRAPHS: dict[str, Callable[[], Any]] = {
    "array": an_array,
    "dataframe": a_dataframe,
    "delayed": a_delayed_graph,
}


EXPECTED = {
    "array": [800.0] * 400,
    "dataframe": VALUES[VALUES.v > 10].groupby("k").v.mean(),
    "delayed": 0.01,
}


def assert_equal(observed: Any, expected: Any) -> None:
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(
            observed.sort_index(), expected, check_names=False, check_index_type=False
        )
    else:
        assert (observed == expected).all() if hasattr(observed, "all") else observed == expected


@pytest.fixture
def seen() -> Iterator[Observation]:
    with spanwise.observe("test") as seen:
        yield seen
    seen.close()


def test_observations_of_this_file_have_one_observer(seen: Observation) -> None:
    """`ONE_OBSERVER` of `stages.py`: to start one each takes most of what these tests take."""
    with spanwise.observe("another") as other:
        assert seen._observer is not None and other._observer is not None
        assert other._observer.address == seen._observer.address and not other._observer.is_own
    other.close()
    assert seen.spans() == []


def computed(record: dict[str, Any]) -> tuple[float, float]:
    """Start and stop of a task, wall clock."""
    return record["startstops"][0]["start"], max(each["stop"] for each in record["startstops"])


@pytest.mark.parametrize(
    "scheduler",
    [
        # What Dask's loop adds is held against a bound, except of processes.
        pytest.param(each, marks=() if each == "processes" else pytest.mark.alone)
        for each in SCHEDULERS
    ],
)
@pytest.mark.parametrize("graph", GRAPHS)
def test_same_tasks_as_the_profiler(seen: Observation, graph: str, scheduler: str) -> None:
    collection = GRAPHS[graph]()
    with Disturbance() as disturbance, Profiler() as profiler:
        observed = collection.compute(scheduler=scheduler, num_workers=2)
        lost = disturbance.seconds
    assert_equal(observed, EXPECTED[graph])
    records = {record["key"]: record for record in seen.get_task_stream()}
    profiled = {str(each.key): each for each in profiler.results}
    assert records.keys() == profiled.keys()
    assert len(profiler.results) == len(seen.get_task_stream())

    # Each interval lies within the profiler's, which also holds what Dask's loop adds.
    assert seen._recorder is not None
    to_wall = seen._recorder.log.wall_epoch - seen._recorder.log.start
    if graph == "delayed":
        # None is shorter than its sleep: each of them, were they put in order.
        took = sorted(stop - start for start, stop in map(computed, records.values()))
        assert all(a >= b - 1e-5 for a, b in zip(took, sorted(ASKED), strict=True))
    outside = 0.0
    for key, record in records.items():
        start, stop = computed(record)
        # Wall clocks of today are doubles with 0.24 us between two of them.
        assert start >= profiled[key].start_time + to_wall - 1e-5
        assert stop <= profiled[key].end_time + to_wall + 1e-5
        outside += profiled[key].end_time - profiled[key].start_time - (stop - start)
    if scheduler != "processes":
        # (there Dask hands out six tasks at a time: a task's stretch holds its neighbours)
        assert outside <= DISPATCH[scheduler] * len(records) + lost

    # The same places: one lane per thread or process of the profiler's.
    ids = defaultdict(set)
    for key, record in records.items():
        ids[record["worker"], record["lane"]].add(profiled[key].worker_id)
    assert all(len(each) == 1 for each in ids.values())
    assert len({next(iter(each)) for each in ids.values()}) == len(ids)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_spans_are_those_in_which_the_code_stands(seen: Observation, scheduler: str) -> None:
    for graph in GRAPHS.values():
        # (each process imports all of Dask)
        graph().compute(scheduler=scheduler, num_workers=1 if scheduler == "processes" else 2)
    summary = seen._asked().query("summary")
    own = sum(row["ownNanoseconds"] for row in summary["spans"])
    assert own + summary["unattributedNanoseconds"] == summary["totalNanoseconds"]
    functions = {
        tag: set(seen.fine_metrics(span=tag, unit="seconds").by_function()) for tag in "AB"
    }
    # (the partitions of a frame made of a pandas one are data, which no scheduler runs)
    assert {"ones_like", "rest"} <= functions["A"]
    assert {"transpose", "sum", "gt", "rest"} <= functions["B"]
    assert not {"transpose", "sum", "gt"} & functions["A"]


@pytest.mark.parametrize("chunks", [(60, 300), (70, 130)])
def test_a_cell_that_is_run_again_keeps_its_spans(
    seen: Observation, chunks: tuple[int, int]
) -> None:
    """Layers of the same names, in some of which tasks hand on chunks as they are."""
    for run in range(3):
        with span(f"load-{run}"):
            x = da.from_array(np.ones((300, 300)), chunks=(100, 300))
        with span(f"work-{run}"):
            y = x.rechunk(chunks).sum(axis=1)
        before = len(seen.get_task_stream())
        assert (y.compute(scheduler="sync") == 300).all()
        spans = {
            (tuple(part["span"]), record["key"].startswith("finalize"))
            for record in seen.get_task_stream()[before:]
            for part in record["startstops"]
        }
        assert spans == {((f"work-{run}",), False), (("default",), True)}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_seconds_are_those_that_the_tasks_took(seen: Observation, scheduler: str) -> None:
    tasks = [
        dask.delayed(rest_and_tell)(seconds, dask_key_name=f"rest_and_tell-{number}")
        for number, seconds in enumerate(ASKED)
    ]
    told = dask.compute(*tasks, scheduler=scheduler, num_workers=2)
    cpu = sum(cpu for _, cpu in told)
    metrics = seen.fine_metrics(function="rest_and_tell", unit="seconds").by_activity()
    # What lies between the task's stamps and ours: a call. On a busy machine a thread may lose its
    # core there, which is wall time; CPU is counted only while it has one.
    assert cpu <= metrics["thread-cpu"] <= cpu + 0.001 * len(ASKED)
    records = [record for record in seen.get_task_stream() if record["name"] == "rest_and_tell"]
    shown = {
        record["key"]: stop - start for record in records for start, stop in [computed(record)]
    }
    more = [shown[f"rest_and_tell-{number}"] - wall for number, (wall, _) in enumerate(told)]
    assert len(shown) == len(ASKED) and min(more) >= -1e-5
    # A call takes microseconds; half of them do not lose their core in it.
    assert statistics.median(more) <= 0.001
    took = sum(shown.values())
    assert metrics["thread-noncpu"] + metrics["thread-cpu"] == pytest.approx(took, abs=1e-4)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_cpu_is_that_of_the_threads(seen: Observation, scheduler: str) -> None:
    with span("busy"):
        tasks = [dask.delayed(spin)(0.1, dask_key_name=f"spin-{n}") for n in range(6)]
    inside = sum(dask.compute(*tasks, scheduler=scheduler, num_workers=2))
    shown = seen.fine_metrics(span="busy").by_activity()["thread-cpu"]
    assert shown == pytest.approx(inside, rel=0.02, abs=0.01)


@pytest.mark.alone  # it holds what is estimated against the kernel's account
def test_waiting_for_the_lock_is_told_from_the_rest(seen: Observation) -> None:
    before = stolen()
    with span("in queue"):
        tasks = [dask.delayed(spin_in_queue)(0.25, number) for number in range(6)]
    inside = dask.compute(*tasks, scheduler="threads", num_workers=2)
    parts = seen.fine_metrics(span="in queue", unit="seconds").by_activity(context="noncpu")
    # What waits for the lock sleeps as long as the machine stood still, and counts as one sleep.
    lost = stolen() - before
    duration = sum(took for took, _ in inside)
    in_queue = sum(queue for _, queue in inside)
    assert parts["core"] == pytest.approx(in_queue, abs=0.03 * duration)
    # They do nothing but compute: what was neither on a core nor in the queue was the lock's.
    locked = duration - in_queue - 6 * 0.25
    assert parts["gil"] == pytest.approx(locked, abs=max(0.35 * locked, 0.03 * duration) + lost)
    assert parts.get("blocked", 0.0) <= 0.35 * locked + 0.03 * duration + lost


class HeldLocks:
    """Locks that a thread holds, and lets go of some time after they were asked for."""

    def __init__(self, seconds: float, count: int) -> None:
        self._seconds = seconds
        self._locks = [threading.Lock() for _ in range(count)]
        #: In the order in which Dask runs the tasks.
        self._asked: SimpleQueue[int] = SimpleQueue()
        self._released = [0.0] * count
        for lock in self._locks:
            lock.acquire()
        threading.Thread(target=self._release, daemon=True).start()

    def _release(self) -> None:
        for _ in self._locks:
            number = self._asked.get()
            time.sleep(self._seconds)
            self._released[number] = time.perf_counter()
            self._locks[number].release()

    def wait(self, seconds: float, number: int) -> float:
        """Return for how long it was kept waiting for sure."""
        self._asked.put(number)
        start = time.perf_counter()
        self._locks[number].acquire()
        return max(0.0, self._released[number] - start)


@pytest.mark.alone  # it holds what is estimated against what the tasks were told to wait
@pytest.mark.parametrize("how", ["asleep", "at a lock"])
def test_what_waits_for_something_else_beside_what_computes_is_blocked(
    seen: Observation, how: str
) -> None:
    wait = rest if how == "asleep" else HeldLocks(0.25, 6).wait
    with Disturbance() as disturbance:
        busy = dask.delayed(spin)(1.5)
        with span("waits"):
            tasks = [dask.delayed(wait)(0.25, n, dask_key_name=f"wait-{n}") for n in range(6)]
        _, *waited = dask.compute(busy, *tasks, scheduler="threads", num_workers=2)
        lost = disturbance.seconds
    whole = sum(waited)
    parts = seen.fine_metrics(span="waits", unit="seconds").by_activity(context="noncpu")
    # Then they wait for the interpreter's lock: some intervals of 5 ms each, unless who has it has
    # no core.
    assert 0.9 * whole - lost <= parts["blocked"] <= 1.02 * whole + lost
    assert parts.get("gil", 0.0) <= 0.1 * whole + lost


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_stacks_show_what_the_tasks_were_doing(seen: Observation, scheduler: str) -> None:
    with span("busy"):
        tasks = [dask.delayed(spin)(0.4, dask_key_name=f"spin-{n}") for n in range(2)]
    dask.compute(*tasks, scheduler=scheduler, num_workers=2)
    profile = seen._asked().query("profile", {"spans": {"any": [{"tag": "busy"}]}})
    # 0.8 s of a thread's CPU time, a look each 10 ms.
    assert profile["samples"] >= 40
    names = {str(name) for name in _texts(profile)}
    assert "spin" in names
    assert not {"run", "_execute_subgraph", "execute_task"} & names


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_executing_and_idle_are_wall_times_threads(seen: Observation, scheduler: str) -> None:
    with span("uneven"):
        tasks = [dask.delayed(rest)(1.0), *(dask.delayed(rest)(0.1) for _ in range(3))]
    dask.compute(*tasks, scheduler=scheduler, num_workers=2, chunksize=1)
    summary = seen._asked().query("summary")
    assert summary["capacitySeconds"] == pytest.approx(2 * summary["wallSeconds"], rel=0.02)
    assert summary["executeSeconds"] + summary["idleSeconds"] == pytest.approx(
        summary["capacitySeconds"], rel=0.02
    )
    assert summary["executeSeconds"] >= 1.3


def test_sizes_are_those_of_the_results(seen: Observation) -> None:
    for scheduler in SCHEDULERS:
        dask.delayed(bytes)(100_000, dask_key_name=f"bytes-{scheduler}").compute(
            scheduler=scheduler, num_workers=1
        )
    sizes = {record["key"]: record["nbytes"] for record in seen.get_task_stream()}
    assert sizes == {f"bytes-{each}": pytest.approx(100_000, abs=100) for each in SCHEDULERS}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_inner_parts_of_fused_tasks_have_their_own_span_and_function(
    seen: Observation, scheduler: str
) -> None:
    with span("load"):
        bag = db.from_sequence(range(100), npartitions=2).map(add, 1)
    with span("sum"):
        total = bag.map(add, 2).sum()
    assert total.compute(scheduler=scheduler, num_workers=2) == sum(range(100)) + 300
    parts = Counter(
        (tuple(each["span"]), each["function"])
        for record in seen.get_task_stream()
        for each in record["startstops"]
    )
    assert any(tags == ("load",) for tags, _ in parts)
    assert any(tags == ("sum",) for tags, _ in parts)


def test_memory_of_this_process_and_of_its_pool(seen: Observation, tmp_path: Path) -> None:
    with span("wait"):
        tasks = [dask.delayed(wait_for_file)(tmp_path / "go") for _ in range(2)]

    def peaks() -> dict[str, float]:
        answer = seen._asked().query("memory", params={"show": "workers"})
        return {
            each["name"]: max((value for value in each["bytes"] if value is not None), default=0.0)
            for each in answer["series"]
        }

    def all_are_measured() -> bool:
        found = peaks()
        names = {"this process", "process 1", "process 2"}
        return names <= found.keys() and all(peak > 5 * 2**20 for peak in found.values())

    # (a process is known by what it has computed, or computes)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            dask.compute, *tasks, scheduler="processes", num_workers=2, chunksize=1
        )
        try:
            wait_until("all are measured", all_are_measured, POOL_SECONDS)
        finally:
            (tmp_path / "go").touch()
        running.result(60)


def test_a_task_that_takes_long_is_seen_while_it_runs(seen: Observation) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return go_on.wait(60)

    with span("long"):
        task = dask.delayed(wait)()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(task.compute, scheduler="threads")
        assert begun.wait(60)

        def is_running() -> bool:
            return any(info.tag == "long" and info.running == 1 for info in seen.spans())

        try:
            wait_until("it is seen", is_running)
        finally:
            go_on.set()
        assert running.result(60)
    (info,) = [info for info in seen.spans() if info.tag == "long"]
    assert (info.running, info.tasks) == (0, 1)


def test_who_looks_waits_without_an_event(
    seen: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event makes a lock for each wait, in Python: an eighth of a look."""
    waiting: list[str] = []
    wait = threading.Event.wait

    def noted(event: threading.Event, timeout: float | None = None) -> bool:
        waiting.append(threading.current_thread().name)
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", noted)
    assert dask.delayed(rest)(0.3).compute(scheduler="threads") == 0.3
    threading.Event().wait(0.0)
    assert threading.current_thread().name in waiting
    assert "spanwise-watch" not in waiting


def test_where_the_time_between_tasks_went(seen: Observation) -> None:
    """A chain on two threads: one lane waits for what is not runnable yet."""
    last = dask.delayed(rest)(0.1)
    for _ in range(4):
        last = dask.delayed(rest)(0.1, last)
    last.compute(scheduler="threads", num_workers=2)
    causes = {
        row["cause"]: row["seconds"] for row in seen.fine_metrics(unit="seconds").summary["idle"]
    }
    assert causes.get("unknown", 0.0) == 0.0
    assert causes["nothing-runnable"] >= 0.4


def test_processes_of_a_pool_leave_with_it(seen: Observation) -> None:
    """Also one that got no task; the slots are used again."""

    def left() -> dict[str, bool]:
        workers = seen._asked().query("task-stream")["workers"]
        return {worker["name"]: worker["left"] is not None for worker in workers}

    for _ in range(2):
        dask.delayed(rest)(0.01).compute(scheduler="processes", num_workers=2)
        wait_until(
            "both have left",
            lambda: left() == {"this process": False, "process 1": True, "process 2": True},
        )


def test_this_process_has_as_many_threads_as_worked_at_a_time(seen: Observation) -> None:
    def threads() -> int:
        workers = seen._asked().query("task-stream")["workers"]
        return {worker["name"]: worker["threads"] for worker in workers}["this process"]

    def meet(count: int) -> None:
        """So many tasks at a time."""
        barrier = threading.Barrier(count)
        tasks = [dask.delayed(barrier.wait)(60, dask_key_name=f"meet-{n}") for n in range(count)]
        dask.compute(*tasks, scheduler="threads", num_workers=count)

    a_delayed_graph().compute(scheduler="sync")
    assert threads() == 1
    meet(3)
    assert threads() == 3
    meet(2)
    assert threads() == 3
