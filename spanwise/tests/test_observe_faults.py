"""``observe()`` never breaks a computation, nor leaves a thread or a process behind."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import dask
import dask.local
import dask.threaded
import pytest
from dask._task_spec import Alias, DataNode, List, Task, TaskRef
from dask.callbacks import Callback
from dask.diagnostics import Profiler

import spanwise
from spanwise.errors import ClusterError
from spanwise.local import recorder
from spanwise.local.observe import Observation
from spanwise.observed import questions
from spanwise.tests.leftover import marked_processes
from spanwise.tests.observed_tasks import SCHEDULERS, Broken, fail, rest
from spanwise.tests.processes import LIMIT_SECONDS, processes_of, wait_until
from spanwise.tests.warned import of_the_block
from spanwise.tests.work import lines_of
from spanwise.wire.link import dial


@pytest.fixture
def known() -> set[int]:
    return set(marked_processes())


def own_threads() -> set[threading.Thread]:
    """The threads of Spanwise in this process."""
    return {each for each in threading.enumerate() if each.name.startswith("spanwise")}


@pytest.fixture
def seen(known: set[int]) -> Iterator[Observation]:
    # Clients of other tests that nobody has collected yet have threads, too.
    before = own_threads()
    with spanwise.observe("test") as seen:
        yield seen
        began = time.monotonic()
    seen.close()
    took = time.monotonic() - began
    # Who ends it has waited for them, unless for too long; for all but those that see the end of
    # a process, which they do a moment after it.
    late = {each.name for each in own_threads() - before} - {"spanwise-death"}
    assert not late or took >= recorder._END_SECONDS
    assert Callback.active == set()
    assert not processes_of("observer", known)
    wait_until("its threads have ended", lambda: not own_threads() - before)


def statuses(seen: Observation) -> dict[str, str]:
    return {record["key"]: record["status"] for record in seen.get_task_stream()}


def chain(count: int) -> dict[str, Any]:
    graph: dict[str, Any] = {"x-0": (add, 0, 1)}
    for number in range(1, count):
        graph[f"x-{number}"] = (add, f"x-{number - 1}", 1)
    return graph


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_an_error_comes_out_as_it_went_in(seen: Observation, scheduler: str) -> None:
    good = dask.delayed(rest)(0.01, dask_key_name="good")
    bad = dask.delayed(fail)(good, dask_key_name="bad")
    with pytest.raises(Broken, match=r"0\.01"):
        bad.compute(scheduler=scheduler, num_workers=2)
    assert statuses(seen) == {"good": "OK", "bad": "error"}
    # The next run is observed as well.
    assert good.compute(scheduler=scheduler, num_workers=2) == 0.01
    assert len(seen.get_task_stream()) == 3


def test_the_very_exception_object(seen: Observation) -> None:
    error = Broken("this one")

    def raise_it() -> None:
        raise error

    for scheduler in ("threads", "sync"):
        with pytest.raises(Broken) as raised:
            dask.delayed(raise_it)().compute(scheduler=scheduler)
        assert raised.value is error
        assert raised.traceback[-1].name == "raise_it"


def test_a_failed_task_says_why(seen: Observation) -> None:
    with pytest.raises(Broken):
        dask.delayed(fail)(7, dask_key_name="bad").compute(scheduler="threads")
    (record,) = seen._asked().query("tasks", params={"limit": 10})["rows"]
    assert record["status"] != "ok"
    assert "Broken" in str(record)


def test_ctrl_c_in_a_task_of_the_main_thread(seen: Observation) -> None:
    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        dask.delayed(interrupted)(dask_key_name="long").compute(scheduler="sync")
    assert dask.delayed(rest)(0.0, dask_key_name="next").compute(scheduler="sync") == 0.0
    assert set(statuses(seen)) == {"long", "next"}


def test_ctrl_c_while_threads_compute(seen: Observation) -> None:
    begun, interrupted, go_on = threading.Event(), threading.Event(), threading.Event()

    def wait_until_told() -> None:
        begun.set()
        go_on.wait(60)

    def interrupt() -> None:
        begun.wait(60)
        # One that comes just before the main thread begins to wait does not wake it (Python looks
        # for signals between two steps of its own): again, until one has.
        while not interrupted.wait(0.05):
            # As a terminal does it: a signal to another thread would not wake the one that waits.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def raise_once(number: int, frame: Any) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    task = dask.delayed(wait_until_told)(dask_key_name="first")
    before = signal.signal(signal.SIGINT, raise_once)
    sender = threading.Thread(target=interrupt)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            task.compute(scheduler="threads")
        sender.join(60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not seen.get_task_stream(), "the task ended before the interrupt arrived"
    go_on.set()
    assert dask.delayed(rest)(0.0, dask_key_name="next").compute(scheduler="threads") == 0.0
    wait_until("both are there", lambda: set(statuses(seen)) == {"first", "next"})


def test_runs_inside_tasks_are_the_tasks_own_affair(seen: Observation) -> None:
    def outer() -> int:
        with Profiler() as inner_profiler:
            inner = dask.threaded.get(chain(5), "x-4")
        assert len(inner_profiler.results) == 5
        return int(inner)

    with Profiler() as profiler:
        assert dask.delayed(outer)(dask_key_name="outer").compute(scheduler="threads") == 5
    assert [each.key for each in profiler.results] == ["outer"]
    assert list(statuses(seen)) == ["outer"]


def test_several_runs_and_schedulers_in_one_block(seen: Observation) -> None:
    for number, scheduler in enumerate(("threads", "sync", "processes", "threads")):
        task = dask.delayed(rest)(0.01, dask_key_name=f"run-{number}")
        task.compute(scheduler=scheduler, num_workers=2)
    assert set(statuses(seen)) == {f"run-{number}" for number in range(4)}
    assert {record["worker"] for record in seen.get_task_stream()} == {
        "this process",
        "process 1",
    }


def test_runs_at_the_same_time_in_several_threads(seen: Observation) -> None:
    def compute(number: int) -> float:
        tasks = [dask.delayed(rest)(0.05, dask_key_name=f"t-{number}-{n}") for n in range(4)]
        return float(sum(dask.compute(*tasks, scheduler="threads", num_workers=2)))

    with ThreadPoolExecutor(3) as pool:
        totals = list(pool.map(compute, range(3)))
    assert totals == [pytest.approx(0.2)] * 3
    records = seen.get_task_stream()
    assert len(records) == 12
    # Nobody's lane was taken by somebody else at the same time.
    lanes: dict[Any, list[tuple[float, float]]] = {}
    for record in records:
        lanes.setdefault(record["lane"], []).append(
            (record["startstops"][0]["start"], record["startstops"][0]["stop"])
        )
    for stretches in lanes.values():
        stretches.sort()
        for (_, stop), (start, _) in itertools.pairwise(stretches):
            assert start >= stop - 1e-4


def test_from_another_thread_than_the_main_one(known: set[int]) -> None:
    found: list[dict[str, str]] = []

    def observe_here() -> None:
        with spanwise.observe("aside") as seen:
            dask.delayed(rest)(0.01, dask_key_name="a").compute(scheduler="threads")
        found.append(statuses(seen))
        seen.close()

    thread = threading.Thread(target=observe_here)
    thread.start()
    thread.join(60)
    assert found == [{"a": "OK"}]


def test_after_the_block_the_figures_are_still_there(seen: Observation) -> None:
    dask.delayed(rest)(0.01, dask_key_name="a").compute(scheduler="threads")
    seen.__exit__()
    assert seen.status == "ended"
    dask.delayed(rest)(0.01, dask_key_name="b").compute(scheduler="threads")
    assert statuses(seen) == {"a": "OK"}
    assert {info.name: info.tasks for info in seen.spans()} == {("default",): 1}
    seen.close()
    # At once: nobody waits for an observer in its place.
    with pytest.raises(ClusterError, match=r"ask for them before close\(\)"):
        seen.spans()


def test_a_span_around_it_may_close_when_it_has_ended(seen: Observation) -> None:
    with spanwise.span("around"):
        dask.delayed(rest)(0.01, dask_key_name="a").compute(scheduler="threads")
        seen.__exit__()
    assert statuses(seen) == {"a": "OK"}
    assert [info.tasks for info in seen.spans() if info.name == ("around",)] == [1]


def test_as_a_switch_it_stays_on_and_is_replaced_by_its_next(known: set[int]) -> None:
    spanwise.observe("switch")  # nobody keeps the handle
    gc.collect()
    dask.delayed(rest)(0.0, dask_key_name="a").compute(scheduler="sync")
    (hooks,) = Callback.active
    first = hooks[0].__self__.owner
    assert statuses(first) == {"a": "OK"}
    second = spanwise.observe("switch")
    assert first.status == "ended" and second.status == "observing"
    assert len(Callback.active) == 1
    dask.delayed(rest)(0.0, dask_key_name="b").compute(scheduler="sync")
    assert statuses(second) == {"b": "OK"}
    second.close()
    second.close()


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a name, not function"):
        spanwise.observe(test_what_is_no_name_is_refused)  # type: ignore[arg-type]


def test_without_an_observer_it_says_so_once_and_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPANWISE_CONNECTION", __file__)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with spanwise.observe("nobody") as seen:
            for scheduler in ("threads", "sync"):
                assert dask.delayed(add)(1, 2).compute(scheduler=scheduler) == 3
    (one,) = [each for each in of_the_block(said) if issubclass(each.category, RuntimeWarning)]
    assert "restart the Jupyter server" in str(one.message)
    assert seen.status == "off" and Callback.active == set()
    with pytest.raises(ClusterError, match="restart the Jupyter server"):
        seen.fine_metrics()
    assert "nothing is observed" in seen._repr_html_()


def test_a_pool_that_cannot_be_observed_computes_all_the_same(seen: Observation) -> None:
    class Elsewhere(Executor):
        _max_workers = 1

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    with pytest.warns(RuntimeWarning, match="Elsewhere"):
        assert dask.delayed(add)(1, 2).compute(scheduler=Elsewhere()) == 3
    assert statuses(seen) == {}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_started_in_any_way(seen: Observation, method: str) -> None:
    with warnings.catch_warnings(), dask.config.set({"multiprocessing.context": method}):
        warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
        tasks = [dask.delayed(rest)(0.01, dask_key_name=f"t-{n}") for n in range(6)]
        dask.compute(*tasks, scheduler="processes", num_workers=2, chunksize=1)
    assert set(statuses(seen)) == {f"t-{n}" for n in range(6)}


def test_a_pool_of_the_users_own(seen: Observation) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for number in range(2):
            task = dask.delayed(rest)(0.01, dask_key_name=f"t-{number}")
            task.compute(scheduler="processes", pool=pool)
        assert set(statuses(seen)) == {"t-0", "t-1"}
        # The pool lives on, unobserved, when the observation has ended.
        seen.__exit__()
        assert dask.delayed(add)(1, 2).compute(scheduler="processes", pool=pool) == 3


def test_other_callbacks_see_what_they_would_see(seen: Observation) -> None:
    graph = {
        "one": Task("one", add, 1, 2),
        "list": Task("list", sum, List(TaskRef("one"), 5)),
        "same": Alias("same", "list"),
        "data": DataNode("data", 7),
    }
    views: list[Any] = []

    class View(Callback):
        def _start(self, dsk: Any) -> None:
            views.append(dict(dsk))

        def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
            node, plain = dsk[key], graph[key]
            assert node == plain and plain == node
            assert isinstance(node, type(plain)) and type(node).__name__ == type(plain).__name__
            assert repr(node) == repr(plain)
            assert node.key == plain.key and node.dependencies == plain.dependencies
            if isinstance(plain, Task):
                assert hash(node) == hash(plain)
                assert (node.func, node.args, node.kwargs) == (
                    plain.func,
                    plain.args,
                    plain.kwargs,
                )
            assert node.copy() == plain and type(node.copy()) is type(plain)

        def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
            views.append(dict(dsk))

    with View(), Profiler() as profiler:
        assert dask.threaded.get(graph, ["same", "data"]) == (8, 7)
    assert [{key: type(node) for key, node in view.items()} for view in views] == [
        {key: type(node) for key, node in graph.items()}
    ] * 2
    again = pickle.loads(pickle.dumps(profiler.results))
    assert {each.key: each.task for each in again} == {
        key: graph[key] for key in ("one", "list", "same")
    }
    assert all(type(each.task) is type(graph[each.key]) for each in again)


def test_two_observations_at_once(seen: Observation) -> None:
    with spanwise.observe("inner") as inner:
        for scheduler in SCHEDULERS:
            dask.delayed(rest)(0.0, dask_key_name=scheduler).compute(
                scheduler=scheduler, num_workers=1
            )
    assert set(statuses(inner)) == set(statuses(seen)) == set(SCHEDULERS)
    inner.close()


def test_the_observer_dies_and_another_one_gets_it_all(
    seen: Observation, known: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # (on a slow machine the next one takes long to start)
    monkeypatch.setattr(questions, "SUCCESSOR_SECONDS", LIMIT_SECONDS)
    dask.delayed(rest)(0.0, dask_key_name="before").compute(scheduler="sync")
    assert statuses(seen) == {"before": "OK"}
    (first,) = processes_of("observer", known)
    first.kill()
    dask.delayed(rest)(0.0, dask_key_name="between").compute(scheduler="sync")
    # Not asked again here: the question itself finds the next one.
    assert set(statuses(seen)) == {"before", "between"}
    assert seen.fine_metrics().by_function()
    seen.__exit__()
    assert set(statuses(seen)) == {"before", "between"}
    (second,) = processes_of("observer", known)
    assert second.pid != first.pid
    seen.close()
    assert not processes_of("observer", known)


def test_a_script_that_just_ends(tmp_path: Path, known: set[int]) -> None:
    """No close, no with, and a pool of threads that is still there."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import dask, spanwise
            spanwise.observe()
            print(dask.delayed(sum)([1, 2]).compute(scheduler="threads"))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "3", "")
    wait_until("its observer has ended", lambda: not processes_of("observer", known))


def test_a_fork_of_the_observing_process_leaves_it_alone(seen: Observation) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if dask.delayed(add)(1, 2).compute(scheduler="sync") == 3 else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    dask.delayed(rest)(0.0, dask_key_name="parent").compute(scheduler="sync")
    assert statuses(seen) == {"parent": "OK"}


def test_many_pools_leave_no_open_files_and_share_their_workers(seen: Observation) -> None:
    def run(number: int) -> None:
        task = dask.delayed(rest)(0.0, dask_key_name=f"run-{number}")
        task.compute(scheduler="processes", num_workers=1)

    for number in range(3):
        run(number)
    assert set(statuses(seen)) == {"run-0", "run-1", "run-2"}
    assert {record["worker"] for record in seen.get_task_stream()} == {"process 1"}
    assert seen._recorder is not None
    folder = seen._recorder.pools.folder
    wait_until("what the dead have written is taken over", lambda: not list(folder.iterdir()))


def test_a_killed_process_of_a_pool(seen: Observation) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(Exception, match="terminated abruptly"):
        dask.delayed(die)(dask_key_name="die").compute(scheduler="processes", num_workers=1)
    dask.delayed(rest)(0.0, dask_key_name="next").compute(scheduler="processes", num_workers=1)
    assert statuses(seen) == {"next": "OK"}


def test_without_observing_nothing_is_there() -> None:
    before = own_threads()
    with dask.config.set({"spanwise.recording": False}), spanwise.observe() as seen:
        assert seen.status == "off"
        assert Callback.active == set()
        assert not own_threads() - before


#: Python 3.11 runs 186 more with Dask 2026, and 446 without observing.
MOST_LINES = 280


def test_a_task_costs_little(seen: Observation) -> None:
    """Some 15 us (``python -m benchmarks local-observe``), which are so many lines of Python."""
    count = 1_000
    graph = chain(count)

    def lines() -> int:
        return lines_of(lambda: dask.local.get_sync(graph, f"x-{count - 1}"))

    lines()
    observed = lines()
    seen.__exit__()
    plain = lines()
    assert 0 < (observed - plain) / count < MOST_LINES


def test_results_are_released_as_without_observing(seen: Observation) -> None:
    """A measured node must not keep inputs alive."""

    class Big:
        alive = 0

        def __init__(self) -> None:
            Big.alive += 1

        def __del__(self) -> None:
            Big.alive -= 1

    def follow(big: Any) -> int:
        return 1

    most: list[int] = []

    def count(one: int) -> int:
        most.append(Big.alive)
        return one

    graph: dict[str, Any] = {}
    for number in range(5):
        graph[f"big-{number}"] = (lambda *_: Big(), f"count-{number - 1}" if number else 0)
        graph[f"follow-{number}"] = (follow, f"big-{number}")
        graph[f"count-{number}"] = (count, f"follow-{number}")
    assert dask.local.get_sync(graph, "count-4") == 1
    assert max(most) == 0


class FailsAtTheEnd(Callback):
    """Of a run that has it none that come behind hear the end."""

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        raise Broken


class Callbacks(set[Any]):
    """Dask's callbacks, of which one hears last, or first; in a set its place is as it happens."""

    def __init__(self, one: Any) -> None:
        super().__init__([one])
        self.one, self.is_last = one, True

    def __iter__(self) -> Iterator[Any]:
        others = [each for each in super().__iter__() if each != self.one]
        return iter([*others, self.one] if self.is_last else [self.one, *others])


@pytest.fixture
def callbacks(seen: Observation, monkeypatch: pytest.MonkeyPatch) -> Callbacks:
    """With that of the observation, which hears last."""
    (ours,) = Callback.active
    made = Callbacks(ours)
    monkeypatch.setattr(Callback, "active", made)
    return made


class Held:
    """A value that a graph holds."""


def test_a_run_whose_end_is_not_heard_holds_no_graph(
    seen: Observation, callbacks: Callbacks
) -> None:
    values: weakref.WeakSet[Held] = weakref.WeakSet()

    def run(number: int) -> None:
        value = Held()
        values.add(value)
        graph = {"value": DataNode("value", value), "task": Task(f"unheard-{number}", Held)}
        graph[f"unheard-{number}"] = graph.pop("task")
        with contextlib.suppress(Broken):
            dask.local.get_sync(graph, list(graph))

    for number in range(30):
        callbacks.is_last = number % 3 > 0
        with FailsAtTheEnd():
            run(number)
    gc.collect()
    assert seen._runs is not None and seen._runs._runs and not values
    # All have been followed, though ids of graphs came again.
    assert len(statuses(seen)) == 30


@pytest.mark.usefixtures("callbacks")
def test_a_graph_that_gets_the_id_of_one_that_is_gone_is_not_taken_for_it(
    seen: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: Any = seen._runs
    with contextlib.suppress(Broken), FailsAtTheEnd():
        dask.local.get_sync({"x": Task("x", str)}, ["x"])
    ((_, gone),) = followed._runs.items()
    graph = {"x": Task("x", str)}
    for is_followed in (True, False):
        followed._runs[id(graph)] = gone
        followed._newest = id(graph), gone
        # (else of the frame of Dask's loop)
        monkeypatch.setattr("spanwise.local.runs.pool_facts", lambda: gone.facts)
        busy = partial(bool, not is_followed)
        monkeypatch.setattr(followed._recorder.meter, "is_busy_here", busy)
        followed._start(graph)
        assert followed._newest is None
        assert (id(graph) in followed._runs) == is_followed
        assert followed._runs.get(id(graph)) is not gone


def test_a_handle_that_is_dropped_takes_its_observer_along(known: set[int]) -> None:
    with spanwise.observe("dropped \ud800 <b>") as seen:
        dask.delayed(rest)(0.0).compute(scheduler="sync")
    assert len(seen.get_task_stream()) == 1
    assert "&lt;b&gt;" in seen._repr_html_()
    assert processes_of("observer", known)
    del seen
    wait_until("its observer has ended", lambda: not processes_of("observer", known))


def test_panels_keep_it_as_ended(seen: Observation) -> None:
    dask.delayed(rest)(0.0).compute(scheduler="sync")
    assert _state_of(seen) == ("running", "local", None)
    seen.__exit__()
    state, kind, why = _state_of(seen)
    assert (state, kind) == ("ended", "local")
    assert why is not None and "observing has ended. The history is kept." in why


def _state_of(seen: Observation) -> tuple[str, str, str | None]:
    """The facts that pages are told about it."""
    assert seen._observer is not None
    seen.spans()  # so that it is there
    link = dial(seen._observer.current_address(), seen._observer.secret, "panel")
    try:
        message = link.read()
        assert message.type == "clusters"
        (info,) = message.fields["clusters"]
        return info["state"], info["kind"], info.get("why")
    finally:
        link.close()


def test_an_observation_that_was_asked_lets_python_end_quietly(
    tmp_path: Path, known: set[int]
) -> None:
    """Which of the modules are cleared before it depends on what else was imported."""
    script = """
        import atexit
        import dask
        import spanwise
        import spanwise.wire.link

        with spanwise.observe("daily") as observation:
            dask.delayed(sum)([1, 2]).compute(scheduler="threads")
        assert len(observation.spans()) > 0
        atexit.register(setattr, spanwise.wire.link, "os", None)
        atexit._spanwise_test = observation  # outlives what clears modules' own names
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    wait_until("its observer has ended", lambda: not processes_of("observer", known))
