"""Computing is as without ``observe()``: iterators, Ctrl-C, forks, callbacks of others."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
import dask.local
import dask.threaded
import pytest
from dask._task_spec import GraphNode, Task
from dask.callbacks import Callback
from dask.diagnostics import Profiler
from dask.sizeof import sizeof

import spanwise
from spanwise import span
from spanwise.graph.template import settled
from spanwise.local import runs
from spanwise.local.measured_node import maker, retired
from spanwise.local.meter import Meter
from spanwise.local.observe import Observation
from spanwise.local.runs import ObservedRuns
from spanwise.local.work import TEMPLATES, TakingApart
from spanwise.tests.observed_tasks import SCHEDULERS, first, rest, rest_until
from spanwise.tests.processes import wait_until
from spanwise.tests.warned import of_the_block, warnings_as_errors

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


@pytest.fixture
def seen() -> Iterator[Observation]:
    with spanwise.observe("unchanged") as seen:
        yield seen
    seen.close()
    assert Callback.active == set()


# -- iterators ------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_iterators_arrive_as_iterators(seen: Observation, scheduler: str) -> None:
    """Of a fused task's parts in different spans, too, though their work is done at once."""
    with span("A"):
        bag = db.from_sequence(range(10), npartitions=2).map(str)
    with span("B"):
        heads = bag.map_partitions(first)
    assert heads.compute(scheduler=scheduler, num_workers=2) == ["0", "5"]


def test_which_iterators_are_settled() -> None:
    made: list[int] = []
    lazy = (made.append(n) or n for n in range(3))  # type: ignore[func-returns-value]
    items = settled(lazy)
    assert made == [0, 1, 2] and next(items) == 0 and list(items) == [1, 2]
    nested = settled(map(iter, [[1, 2], [3]]))
    assert [next(each) for each in nested] == [1, 3]
    endless = itertools.count()
    assert settled(endless) is endless and next(endless) == 0
    with Path(__file__).open() as file:
        assert settled(file) is file and file.readline().startswith('"""')
    assert settled([1]) == [1] and settled(iter(())) is not None


# -- Ctrl-C and errors ----------------------------------------------------------


class Heavy:
    """Its size takes long, so that Ctrl-C comes meanwhile."""


@sizeof.register(Heavy)
def size_of_heavy(heavy: Heavy) -> int:
    signal.raise_signal(signal.SIGINT)
    return 5


def test_ctrl_c_while_a_result_is_sized(seen: Observation) -> None:
    with pytest.raises(KeyboardInterrupt):
        dask.delayed(Heavy)(dask_key_name="heavy").compute(scheduler="sync")
    assert {record["key"] for record in seen.get_task_stream()} == {"heavy"}


@pytest.mark.parametrize("error", [ValueError("our own"), KeyboardInterrupt()])
def test_a_run_that_cannot_be_followed_leaves_nothing(
    seen: Observation, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, runs = seen._recorder, seen._runs
    assert recorder is not None and runs is not None

    def broken(*_: Any) -> Any:
        raise error

    task = dask.delayed(rest)(0.0, dask_key_name="a")
    with monkeypatch.context() as patch:
        patch.setattr(recorder.log, "part_names", broken)
        if isinstance(error, Exception):
            with pytest.warns(RuntimeWarning, match="our own") as said:
                assert task.compute(scheduler="threads") == 0.0
            assert len(of_the_block(said)) == 1
        else:
            with pytest.raises(KeyboardInterrupt):
                task.compute(scheduler="threads")
    assert runs._runs == {} and recorder._thread_lanes.count == 0
    assert task.compute(scheduler="threads") == 0.0
    assert len(seen.get_task_stream()) == 1


@pytest.mark.parametrize(
    ("of", "name", "sentence"),
    [
        (ObservedRuns, "_begin", "Spanwise cannot follow this computation"),
        (Meter, "_lane_of", "Spanwise cannot measure tasks here"),
    ],
)
def test_where_warnings_are_errors_computations_go_on(
    seen: Observation,
    of: type,
    name: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("our own")

    assert seen._recorder is not None
    monkeypatch.setattr(seen._recorder.meter if of is Meter else of, name, broken)
    with warnings_as_errors():
        assert dask.delayed(rest)(0.0).compute(scheduler="threads") == 0.0
    assert sentence in capsys.readouterr().err


def test_what_ends_the_record_does_not_end_the_program(
    seen: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = seen._recorder
    assert recorder is not None

    def broken(*_: Any) -> Any:
        raise ValueError("no more")

    monkeypatch.setattr(recorder.log, "memory", broken)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        wait_until("it has given up", lambda: recorder.failed)
        rows = sum(map(len, recorder.log._writer._rows.values()))
        for scheduler in ("threads", "sync"):
            assert dask.delayed(rest)(0.0).compute(scheduler=scheduler) == 0.0
        seen.spans()
        seen.close()
    assert len([each for each in said if "no more" in str(each.message)]) == 1
    # Nobody takes rows away any more, so none are written.
    assert sum(map(len, recorder.log._writer._rows.values())) <= rows


# -- callbacks ------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_closed_amid_a_run_by_another_thread(scheduler: str, tmp_path: Path) -> None:
    seen = spanwise.observe("closed")
    recorder = seen._recorder
    assert recorder is not None

    def close() -> None:
        try:
            wait_until("a run is under way", lambda: recorder._runs == 1)
            seen.close()
        finally:
            go.touch()

    go = tmp_path / "go"
    closing = threading.Thread(target=close)
    closing.start()
    with Profiler() as profiler:
        tasks = [dask.delayed(rest_until)(go, *range(n)) for n in range(4)]
        assert dask.compute(*tasks, scheduler=scheduler, num_workers=2) == (0, 1, 2, 3)
        closing.join(60)
        # The run puts back the set that it has taken, less what has left since.
        assert Callback.active == {profiler._callback}
    assert len(profiler.results) == 4
    assert Callback.active == set()


def test_a_callback_registered_meanwhile_is_not_lost(seen: Observation) -> None:
    """Threads come and go while the watch thread makes sure that it is still there."""
    runs = seen._runs
    assert runs is not None
    mine = runs._callback
    # Its own watch thread, which would put it back at any time, ends.
    seen.close()

    class Meanwhile(type(runs)):  # type: ignore[misc]
        """Another thread has its turn wherever Python code is called."""

        @property
        def _callback(self) -> Any:
            profiler.register()
            return mine

    profiler = Profiler()
    watched = object.__new__(Meanwhile)
    watched.closed, watched._runs = False, {}
    Callback.active = set()
    watched.return_to_set()
    assert Callback.active == {mine, profiler._callback}
    Callback.active = {mine}
    watched.leave()
    assert Callback.active == {profiler._callback}
    profiler.unregister()


@pytest.mark.parametrize("get", [dask.threaded.get, dask.local.get_sync])
def test_a_run_that_fails_has_its_own_nodes_again(
    seen: Observation, get: Callable[..., Any]
) -> None:
    """Also where the callback of another ends it between a task and the next."""

    class Refuses(Callback):
        def _start(self, dsk: Any) -> None:
            self.dsk = dsk

        def _posttask(self, key: Any, *_: Any) -> None:
            raise ValueError("refused")

    def fails() -> None:
        raise ValueError("failed")

    for task, refuses in ((fails, Callback()), (str, Refuses())):
        graph = {("a", n): Task(("a", n), task) for n in range(3)}
        before = dict(graph)
        kept = Refuses()
        kept._posttask = lambda *_: None  # type: ignore[method-assign]
        with kept, refuses, pytest.raises(ValueError, match=r"failed|refused"):
            get(graph, list(graph), num_workers=2)
        assert all(kept.dsk[key] is node for key, node in before.items())


@pytest.mark.parametrize("ends", ["closed", "not put back"])
def test_a_run_that_is_followed_no_more_has_its_own_nodes_again(
    ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Keeps(Callback):
        def _start(self, dsk: Any) -> None:
            self.dsk = dsk

    def task() -> None:
        if ends == "closed":
            own.close()

    def refuses(node: Any) -> Any:
        monkeypatch.undo()
        raise ValueError("refused")

    with spanwise.observe("followed no more") as own, Keeps() as kept:
        if ends == "not put back":
            monkeypatch.setattr(runs, "retired", refuses)
            monkeypatch.setattr(runs, "tell", lambda sentence: None)
        graph = {("a", n): Task(("a", n), task) for n in range(4)}
        followed: Any = own._runs
        assert dask.local.get_sync(graph, list(graph)) == (None,) * 4
        assert all(kept.dsk[key] is node for key, node in graph.items())
        # Nothing of it is held.
        assert not followed._runs and followed._newest is None
    own.close()


def test_a_node_whose_task_is_over_is_pickled_as_what_it_stands_for(tmp_path: Path) -> None:
    """Others may have kept it while it was being handed to a process."""
    node = Task("a", str)
    make = maker(Task)
    assert make is not None
    kept = make()
    kept._spanwise_work = (0, node, 0.0, 0.0, None, 0, 0, None, None)
    kept._spanwise_place = str(tmp_path / "pool")
    assert retired(kept) is node
    again = pickle.loads(pickle.dumps(kept))
    assert type(again) is Task and again == node


# -- forks ----------------------------------------------------------------------


def outcome_of(script: str, tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


HOLD_ALL_LOCKS = """
    import os, signal, sys, threading
    import dask, spanwise

    def hold_all(seen):
        begun = threading.Event()
        recorder = seen._recorder
        def hold():
            # In the order in which they are taken elsewhere.
            with seen._ending, recorder._turn, recorder._lock, recorder.pools._lock:
                with recorder.log.lock, seen._written._lock:
                    begun.set()
                    threading.Event().wait(600)
        threading.Thread(target=hold, daemon=True).start()
        assert begun.wait(60)
"""


@pytest.mark.parametrize("ends", ["sys.exit(3)", "seen.close(); sys.exit(3)"])
def test_a_fork_ends_though_the_parents_threads_had_locks(tmp_path: Path, ends: str) -> None:
    script = (
        HOLD_ALL_LOCKS
        + f"""
    with spanwise.observe("forked") as seen:
        hold_all(seen)
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            assert dask.delayed(sum)([1, 2]).compute(scheduler="sync") == 3
            {ends}
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        os._exit(0)
    """
    )
    assert outcome_of(script, tmp_path) == "3\n"


def test_a_fork_goes_on_with_the_run_that_it_was_made_in(tmp_path: Path) -> None:
    script = (
        HOLD_ALL_LOCKS
        + """
    def fork():
        hold_all(seen)
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            return "child"
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        os._exit(0)

    seen = spanwise.observe("forked")
    found = dask.delayed(str.upper)(dask.delayed(fork)()).compute(scheduler="sync")
    print(found, flush=True)
    os._exit(5)
    """
    )
    assert outcome_of(script, tmp_path) == "CHILD\n5\n"


def test_a_fork_may_observe_by_itself(tmp_path: Path) -> None:
    script = """
    import os, signal, sys
    import dask, spanwise

    def run(name):
        return dask.delayed(sum)([1, 2], dask_key_name=name).compute(scheduler="sync")

    def keys(seen):
        return [record["key"] for record in seen.get_task_stream()]

    with spanwise.observe("parent") as seen:
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            with spanwise.observe("child") as own:
                run("in-child")
            print(keys(own), seen.status, flush=True)
            own.close()
            os._exit(3)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        run("in-parent")
        print(code, keys(seen), seen.status, flush=True)
    """
    assert outcome_of(script, tmp_path) == "['in-child'] ended\n3 ['in-parent'] observing\n"


def test_a_meter_measures_nothing_in_a_fork() -> None:
    measuring = Meter(lambda work: pytest.fail("measured"), lambda done: None)
    work = (0, lambda values: 7, 0.0, 0.0, None, 0, 0, None, measuring)
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if measuring.run(work, {}) == 7 and measuring.closed else 1
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not measuring.closed


# -- bounds ---------------------------------------------------------------------


def test_templates_of_functions_that_are_all_different_are_let_go() -> None:
    class Named:
        def part(self, key: Any) -> tuple[str, int]:
            return "f", 0

    class Ids:
        def id_of(self, text: str) -> int:
            return 0

    taking = TakingApart(Named(), Ids())
    for number in range(2 * TEMPLATES + 10):
        inner = Task(f"a-{number}", lambda x: x, 1)
        node = GraphNode.fuse(inner, Task(f"b-{number}", lambda x: x + 1, inner.ref()))
        taken = taking.take(node)
        assert taken is not None and taken.opened.parts is not None
        assert len(taking._opened) <= TEMPLATES


def test_many_runs_at_once_in_threads_that_end(seen: Observation) -> None:
    """No lane, thread or task is remembered for ever."""

    def one() -> None:
        dask.delayed(rest)(0.0).compute(scheduler="threads", num_workers=1)

    for _ in range(5):
        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    one()  # (Dask ends the pools of threads that have ended when the next thread computes)
    assert seen._recorder is not None
    watch = seen._recorder._watch
    last = threading.Thread(target=one)
    last.start()
    last.join(60)
    wait_until(
        "the lanes of ended threads are forgotten",
        lambda: len(watch._lanes) <= 8 and not watch._said,
    )
