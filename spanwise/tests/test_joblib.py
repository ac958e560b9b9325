"""joblib's `Parallel` on a cluster: results, order, names, spans, and what is sent for it."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import operator
import os
import subprocess
import sys
import threading
import time
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed

import spanwise.joblib  # noqa: F401 (it makes the backend known)
from spanwise import Client, span, worker_client
from spanwise.client.joblib_backend import SpanwiseBackend
from spanwise.client.joblib_batch import Batch, name_of, run_batch
from spanwise.client.joblib_call import ParallelCall
from spanwise.client.placed_once import CONTENTS, LARGE_BYTES, SHARED_BYTES, PlacedOnce
from spanwise.tests.file_module import module_of_file
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.wire import payload

#: More than the workers of most tests' clusters have: fewer jobs than threads is a case.
THREADS = 4


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=THREADS // 2) as made:
        yield made


@pytest.fixture(autouse=True)
def on_it(cluster: Client) -> Iterator[None]:
    with cluster.as_current(), joblib.parallel_config("spanwise"):
        yield
    wait_until("nothing is left to run", lambda: not any(cluster.processing().values()))


def double(x: int) -> int:
    return 2 * x


def fail(x: int) -> int:
    if x == 3:
        raise KeyError(x)
    return x


def here(_: Any = None) -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def mark(folder: str, number: int) -> int:
    """Runs until it may end; the first does not."""
    Path(folder, f"ran-{number}").touch()
    if number == 0:
        return 0
    while not Path(folder, "go").exists():
        time.sleep(0.01)
    return number


class Sent:
    """What a client puts on workers, and the bytes of its batches."""

    def __init__(self, cluster: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        self.put: list[Any] = []
        self.batches: list[int] = []
        scatter, submit = cluster.scatter, cluster.submit

        def scattering(data: Any, **how: Any) -> Any:
            self.put += data
            return scatter(data, **how)

        def submitting(function: Any, batch: Batch, *futures: Any, **how: Any) -> Any:
            assert function is run_batch
            self.batches.append(sum(memoryview(each).nbytes for each in payload.dumps(batch)))
            return submit(function, batch, *futures, **how)

        monkeypatch.setattr(cluster, "scatter", scattering)
        monkeypatch.setattr(cluster, "submit", submitting)


@pytest.fixture
def sent(cluster: Client, monkeypatch: pytest.MonkeyPatch) -> Sent:
    return Sent(cluster, monkeypatch)


# ── results ──────────────────────────────────────────────────────────────

CALLS: list[Callable[..., Any]] = [operator.neg, double, lambda x: (x, [x]), str]


@given(
    st.lists(st.tuples(st.sampled_from(range(len(CALLS))), st.integers(-9, 9)), max_size=40),
    st.sampled_from(["auto", 1, 3, 50]),
    st.sampled_from(["list", "generator"]),
    st.sampled_from(["2 * n_jobs", "all", 1]),
)
@settings(max_examples=25, deadline=None)
def test_results_are_those_of_one_job(
    calls: list[tuple[int, int]], batch: Any, return_as: str, ahead: Any
) -> None:
    def jobs() -> Iterator[Any]:
        return (delayed(CALLS[which])(x) for which, x in calls)

    several = Parallel(batch_size=batch, return_as=return_as, pre_dispatch=ahead)
    assert list(several(jobs())) == Parallel(n_jobs=1)(jobs())


def test_results_in_any_order_are_all_there() -> None:
    found = Parallel(return_as="generator_unordered")(delayed(double)(x) for x in range(50))
    assert sorted(found) == [2 * x for x in range(50)]


def test_a_parallel_that_is_used_again(cluster: Client) -> None:
    with Parallel(n_jobs=2) as parallel:
        for _ in range(2):
            assert parallel(delayed(double)(x) for x in range(9)) == list(range(0, 18, 2))
            with span("again") as id:
                assert parallel([delayed(double)(4)]) == [8]
            (info,) = [each for each in cluster.spans() if each.id == id]
            assert info.tasks == 1


def test_short_calls_are_sent_together(cluster: Client) -> None:
    with span("short") as id:
        Parallel()(delayed(operator.index)(x) for x in range(3000))
    (info,) = [each for each in cluster.spans() if each.id == id]
    assert 0 < info.tasks < 1500


def test_a_future_is_given_as_its_value(cluster: Client) -> None:
    held = cluster.submit(double, 4)
    assert Parallel()(delayed(double)(held) for _ in range(3)) == [16] * 3


# ── how many ─────────────────────────────────────────────────────────────


def test_n_jobs(cluster: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert joblib.effective_n_jobs() == THREADS
    backend = SpanwiseBackend(cluster)
    asked = (None, -1, -2, -99, 1, 7)
    assert [backend.effective_n_jobs(n) for n in asked] == [4, 4, 3, 1, 1, 7]
    with pytest.raises(ValueError, match="not 0"):
        backend.effective_n_jobs(0)
    # With 1 joblib would run all calls in this process, and the panels would show none.
    monkeypatch.setattr(cluster, "nthreads", lambda: {"a": 1})
    assert backend.effective_n_jobs(-1) == 2


def test_one_job_runs_here_and_others_on_workers(cluster: Client) -> None:
    assert Parallel(n_jobs=1)([delayed(here)()]) == [here()]
    pids = {pid for pid, _ in Parallel()(delayed(here)() for _ in range(8))}
    assert pids and os.getpid() not in pids


@pytest.mark.parametrize("jobs", [2, 1 - THREADS])
def test_no_more_are_sent_than_there_are_jobs(sent: Sent, tmp_path: Path, jobs: int) -> None:
    parallel = Parallel(n_jobs=jobs, pre_dispatch="all", batch_size=1, return_as="generator")
    results = parallel(delayed(mark)(str(tmp_path), number) for number in range(1, 13))
    assert len(sent.batches) == 2
    (tmp_path / "go").touch()
    assert list(results) == list(range(1, 13))
    assert len(sent.batches) == 12


# ── names and spans ──────────────────────────────────────────────────────


def test_further_batches_are_of_the_span_of_the_call(cluster: Client) -> None:
    """joblib submits them in threads of its own, where no span is open."""
    with span("outer"), span("fit") as id:
        Parallel(batch_size=1, pre_dispatch=1)(delayed(double)(x) for x in range(20))
    (info,) = [each for each in cluster.spans() if each.id == id]
    assert (info.name, info.tasks, info.done) == (("outer", "fit"), 20, True)
    assert cluster.fine_metrics(span=id)["execute", "double", "compute", "count"] == 20.0


def test_other_annotations_of_the_call_hold_too(cluster: Client) -> None:
    (address,) = list(cluster.scheduler_info()["workers"])[:1]
    pid = cluster.run(os.getpid, workers=address)[address]
    with dask.annotate(workers=[address]):
        found = Parallel(batch_size=1, pre_dispatch=1)(delayed(here)() for _ in range(8))
    with joblib.parallel_config("spanwise", workers=[address], retries=1):
        found += Parallel(batch_size=1, pre_dispatch=1)(delayed(here)() for _ in range(8))
    assert {each[0] for each in found} == {pid}
    with pytest.raises(TypeError, match=r"takes client, .*, not speed"):
        joblib.parallel_config("spanwise", speed=1)


def test_the_code_of_the_span_is_the_caller_s(cluster: Client, tmp_path: Path) -> None:
    theirs = tmp_path / "their_program.py"
    theirs.write_text(
        "from joblib import Parallel, delayed\n"
        "def fit(function):\n"
        "    parallel = Parallel(batch_size=1, pre_dispatch=1)\n"
        "    return parallel(delayed(function)(number) for number in range(6))\n"
    )
    module = module_of_file("their_program", theirs)
    kept = {
        "distributed.diagnostics.computations.nframes": 1,
        # (the folder of this test is one of pytest's)
        "distributed.diagnostics.computations.ignore-files": ["runpy"],
    }
    with dask.config.set(kept), span("code") as id:
        module.fit(double)
    (info,) = [each for each in cluster.spans() if each.id == id]
    ((frame,),) = info.code
    assert (frame["filename"], frame["lineno_frame"]) == (str(theirs), 4)


class Called:
    def __call__(self) -> None: ...


def test_a_task_is_called_as_its_function() -> None:
    names = [
        double,
        partial(partial(double), 1),
        operator.neg,
        lambda: 0,
        Called(),
        Called().__call__,
    ]
    assert [name_of([(each, (), {})]) for each in names] == [
        *("double", "double", "neg", "lambda", "Called", "__call__")
    ]
    mixed = [(each, (), {}) for each in (str, double, str, operator.neg)]
    assert name_of(mixed) == "double+neg+str"
    assert name_of([*mixed, (fail, (), {}), (here, (), {})]) == "double+fail+here+others"


# ── large arguments ──────────────────────────────────────────────────────


def fit(x: Any, y: Any, number: int, *, weights: Any = None) -> float:
    return float(x.sum()) + sum(y) + number + (0 if weights is None else float(weights.sum()))


def test_what_goes_to_every_call_is_put_there_once(sent: Sent) -> None:
    x, y = np.ones((1000, 10)), list(range(20_000))
    expected = [10_000 + sum(y) + 10_000 + number for number in range(20)]
    calls = (delayed(fit)(x, y, number, weights=x) for number in range(20))
    assert Parallel(batch_size=1, pre_dispatch=3)(calls) == expected
    assert len(sent.put) == 2 and sent.put[0] is x
    assert len(sent.batches) == 20 and max(sent.batches) < LARGE_BYTES
    # Nothing of the call is kept.
    there = weakref.ref(x)
    sent.put.clear()
    del x, calls
    gc.collect()
    wait_until("the array is let go", lambda: there() is None)


def test_a_value_is_known_as_long_as_it_is_there(cluster: Client) -> None:
    placed = PlacedOnce(cluster)
    made = [np.full(LARGE_BYTES, number) for number in range(3)]
    futures = [placed.place(each) for each in made]
    assert [placed.place(each) for each in made] == futures and len(set(futures)) == 3
    keys = [each.future.key for each in futures if each is not None]
    del made, futures
    gc.collect()
    wait_until("the workers hold none", lambda: not any(key in cluster.who_has() for key in keys))
    # A list, by what is in it, among the last ones.
    first = placed.place([0] * LARGE_BYTES)
    assert placed.place([0] * LARGE_BYTES) == first
    for number in range(1, CONTENTS + 1):
        placed.place([number] * LARGE_BYTES)
    assert placed.place([0] * LARGE_BYTES) != first


class Unsized:
    @property
    def nbytes(self) -> int:
        raise RuntimeError("nobody knows")


def test_small_values_and_what_has_no_size_go_along(sent: Sent) -> None:
    small = np.ones(10)
    assert Parallel()(delayed(fit)(small, [1], number) for number in range(3)) == [11, 12, 13]
    # Nor is a collection of Dask what it will be.
    others = [Unsized(), da.ones(100_000), dask.delayed(1)]
    found = Parallel(n_jobs=2)(delayed(type)(each) for each in others)
    assert [each.__name__ for each in found] == ["Unsized", "Array", "DelayedLeaf"]
    assert sent.put == []


class Tagged(np.ndarray[Any, Any]):
    """Is an array, and may be more."""


def grow_list(value: list[int], number: int) -> None:
    value.append(number)


def grow_set(value: set[int], number: int) -> None:
    value.add(-1 - number)


def grow_counter(value: Counter[int], number: int) -> None:
    value[-1 - number] += 1


def grow_frame(value: pd.DataFrame, number: int) -> None:
    value[f"c{number}"] = number


def grow_object(value: Any, number: int) -> None:
    value[0].append(number)


def lists() -> Any:
    made = np.empty(LARGE_BYTES, object)
    made[0] = []
    return made


def grow_tagged(value: Any, number: int) -> None:
    value[number] = 1


#: How a value is made, what changes it, and how far it has come.
CHANGING: dict[str, tuple[Callable[[], Any], Callable[[Any, int], None], Callable[[Any], int]]] = {
    "list": (lambda: list(range(LARGE_BYTES)), grow_list, len),
    "set": (lambda: set(range(LARGE_BYTES)), grow_set, len),
    "Counter": (lambda: Counter(range(LARGE_BYTES)), grow_counter, len),
    "DataFrame": (
        lambda: pd.DataFrame({"x": np.arange(SHARED_BYTES)}),
        grow_frame,
        operator.attrgetter("shape"),
    ),
    "objects": (
        lists,
        grow_object,
        lambda value: len(value[0]),
    ),
    "subclass": (
        lambda: np.zeros(SHARED_BYTES // 8).view(Tagged),
        grow_tagged,
        lambda value: int(value.sum()),
    ),
    "small array": (
        lambda: np.zeros(LARGE_BYTES // 8),
        grow_tagged,
        lambda value: int(value.sum()),
    ),
}


@pytest.mark.parametrize("kind", CHANGING)
def test_what_changes_between_calls_comes_as_it_was_then(kind: str) -> None:
    make, grow, look = CHANGING[kind]
    value, alone = make(), make()

    def growing() -> Iterator[Any]:
        for number in range(6):
            grow(value, number)
            yield delayed(look)(value)

    # (joblib takes as many calls at a time as there are jobs)
    found = Parallel(n_jobs=2, batch_size=1, pre_dispatch=1)(growing())
    looks = [(grow(alone, number), look(alone))[1] for number in range(6)]
    assert found[0] == looks[0] and found[-1] == looks[-1]
    assert found == sorted(found) and len(set(found)) > 2


def change(grow: Callable[[Any, int], None], look: Callable[[Any], int], value: Any, n: int) -> Any:
    grow(value, n % 2)
    return look(value)


@pytest.mark.parametrize("kind", [each for each in CHANGING if each != "small array"])
def test_no_call_changes_what_others_get(kind: str) -> None:
    make, grow, look = CHANGING[kind]
    value = make()
    alone = [change(grow, look, make(), number) for number in range(8)]
    found = Parallel(batch_size=1)(delayed(change)(grow, look, value, n) for n in range(8))
    assert found == alone


def write_to(value: Any) -> int:
    value[0] = 7
    return len(value)


@pytest.mark.parametrize("bytes_", [LARGE_BYTES, SHARED_BYTES])
def test_no_call_writes_to_an_array(bytes_: int, tmp_path: Path) -> None:
    """As of joblib, which gives large arrays as files that are mapped to be read."""
    mapped = np.memmap(tmp_path / "x", dtype="u1", mode="w+", shape=bytes_)
    for x in (np.zeros(bytes_, "u1"), mapped):
        with pytest.raises(ValueError, match="read-only"):
            Parallel()(delayed(write_to)(x) for _ in range(4))


def test_a_large_value_is_looked_at_once_for_a_batch(sent: Sent) -> None:
    class Looked(list[int]):
        times = 0

        def __reduce__(self) -> Any:
            Looked.times += 1
            return list, (list(self),)

    value, text = Looked(range(LARGE_BYTES)), "é" * LARGE_BYTES
    calls = [delayed(len)(each) for each in 200 * [value, text]]
    assert Parallel(batch_size=50, pre_dispatch="all")(calls) == 400 * [LARGE_BYTES]
    # (once more to put it there)
    assert len(sent.batches) == 8 and Looked.times == 9
    assert len(sent.put) == 2 and any(each is text for each in sent.put)


def test_nothing_of_a_call_is_kept_while_its_parallel_is(cluster: Client) -> None:
    """Of a task that calls it: joblib's threads submit on its behalf."""

    class Row:
        """Stands for that of the task."""

    thread: Any = threading.current_thread()
    thread.row = Row()
    row = weakref.ref(thread.row)
    with Parallel(n_jobs=2) as parallel:
        try:
            assert parallel(delayed(double)(x) for x in range(9)) == list(range(0, 18, 2))
        finally:
            del thread.row
        wait_until("the row is let go", lambda: gc.collect() >= 0 and row() is None)
        assert parallel([delayed(double)(4)]) == [8]


def test_results_come_while_a_large_argument_is_pickled(cluster: Client) -> None:
    """It may take long, and nobody is to wait for it but who hands it out."""
    told: list[int] = []
    first, came = threading.Event(), []
    call = ParallelCall(cluster, None, 0, {})

    class Slow:
        nbytes = LARGE_BYTES

        def __reduce__(self) -> Any:
            came.append(first.wait(LIMIT_SECONDS))
            return int, (3,)

    def tell(outcome: Any) -> None:
        told.append(outcome[1][0])
        first.set()

    call.submit([(double, (1,), {})], tell)
    call.submit([(double, (Slow(),), {})], tell)
    wait_until("both came", lambda: told == [2, 6])
    assert all(came)


# ── errors, and what is given up ─────────────────────────────────────────


def test_an_error_comes_as_itself() -> None:
    with pytest.raises(KeyError) as raised:
        Parallel()(delayed(fail)(x) for x in range(200))
    assert raised.value.args == (3,)
    (note,) = raised.value.__notes__
    assert note.startswith("In the task:\n") and "in fail\n" in note and "run_batch" not in note


class Guarded(Exception):
    """Lets nobody set anything, not even a note."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"no {name} here")


def fail_guarded(x: int) -> int:
    if x == 30:
        raise Guarded(x)
    return x


@pytest.mark.parametrize("how", [{}, {"return_as": "generator"}, {"batch_size": 1}])
def test_an_error_that_takes_no_note_comes_as_itself(how: dict[str, Any]) -> None:
    with pytest.raises(Guarded) as raised:
        list(Parallel(**how)(delayed(fail_guarded)(x) for x in range(40)))
    assert raised.value.args == (30,)


def cannot_be_pickled() -> Any:
    return threading.Lock()


def test_what_cannot_be_sent_is_said_from_whichever_thread() -> None:
    """From a thread of joblib's that submits nobody would hear of it, and the call would wait."""
    for at in (0, 30):
        calls = (
            delayed(double)(cannot_be_pickled() if number == at else number) for number in range(40)
        )
        with pytest.raises(TypeError, match="pickle"):
            Parallel(batch_size=1, pre_dispatch=1)(calls)


def fail_first(folder: str, number: int) -> int:
    if mark(folder, number) == 0:
        raise KeyError(number)
    return number


def ran(folder: Path) -> int:
    return len(list(folder.glob("ran-*")))


def nothing_more_runs(cluster: Client, folder: Path) -> None:
    """What ran may end, and of what waited nothing begins."""

    def there() -> int:
        return sum(map(len, cluster.processing().values()))

    wait_until("what waited is given up", lambda: there() <= THREADS)
    cluster.run(int)  # (the workers have heard it, too: what they are asked comes behind it)
    (folder / "go").touch()
    wait_until("all has ended", lambda: not any(cluster.processing().values()))
    # Whatever was queued before this has its turn before it.
    assert cluster.gather(cluster.map(double, range(8), pure=False)) == list(range(0, 16, 2))
    assert ran(folder) <= 1 + 2 * THREADS


def test_an_error_ends_the_rest(cluster: Client, tmp_path: Path) -> None:
    calls = (delayed(fail_first)(str(tmp_path), number) for number in range(100))
    with pytest.raises(KeyError):
        Parallel(pre_dispatch="all", batch_size=1)(calls)
    nothing_more_runs(cluster, tmp_path)


def test_a_generator_that_is_dropped_ends_the_rest(cluster: Client, tmp_path: Path) -> None:
    parallel = Parallel(pre_dispatch="all", batch_size=1, return_as="generator")
    results = parallel(delayed(mark)(str(tmp_path), number) for number in range(100))
    assert next(results) == 0
    with pytest.warns(UserWarning, match="cancelled"):
        del results
    nothing_more_runs(cluster, tmp_path)


def test_a_generator_that_is_dropped_leaves_another_alone(tmp_path: Path) -> None:
    """Both are of the one backend of the block."""
    other = Parallel(batch_size=1, return_as="generator")(delayed(double)(x) for x in range(50))
    parallel = Parallel(batch_size=1, return_as="generator", pre_dispatch="all")
    results = parallel(delayed(mark)(str(tmp_path), number) for number in range(20))
    assert next(results) == 0
    (tmp_path / "go").touch()
    with pytest.warns(UserWarning):
        del results
    assert list(other) == list(range(0, 100, 2))


def test_a_time_limit_ends_the_rest(cluster: Client, tmp_path: Path) -> None:
    calls = (delayed(mark)(str(tmp_path), number) for number in range(100))
    with pytest.raises(multiprocessing.TimeoutError):
        Parallel(pre_dispatch="all", batch_size=1, timeout=0.1)(calls)
    nothing_more_runs(cluster, tmp_path)


def test_ctrl_c_ends_the_rest(cluster: Client, tmp_path: Path) -> None:
    def interrupt() -> None:
        wait_until("it runs", lambda: ran(tmp_path) > 1)
        import _thread

        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        calls = (delayed(mark)(str(tmp_path), number) for number in range(100))
        Parallel(pre_dispatch="all", batch_size=1)(calls)
    thread.join(LIMIT_SECONDS)
    nothing_more_runs(cluster, tmp_path)


# ── a Parallel in a task ─────────────────────────────────────────────────


def sum_of_doubles(count: int, **how: Any) -> tuple[int, set[int]]:
    def nested(x: int) -> tuple[int, int]:
        return 2 * x, threading.get_ident()

    parallel = joblib.Parallel(batch_size=1, **how)
    found = list(parallel(joblib.delayed(nested)(x) for x in range(count)))
    own = threading.get_ident()
    return sum(each for each, _ in found), {thread for _, thread in found} - {own}


def test_a_parallel_in_a_task_runs_in_its_thread(cluster: Client) -> None:
    with span("around") as id:
        found = Parallel(batch_size=1)(delayed(sum_of_doubles)(5) for _ in range(8))
    assert found == [(20, set())] * 8
    (info,) = [each for each in cluster.spans() if each.id == id]
    assert info.tasks == 8


@pytest.mark.parametrize("return_as", ["list", "generator"])
def test_one_that_says_how_many_jobs_is_tasks_of_the_same_span(
    cluster: Client, return_as: str
) -> None:
    """As many wait as there are threads: they leave them to what they wait for."""
    with span("around") as id:
        how = {"n_jobs": -1, "return_as": return_as, "pre_dispatch": 1}
        calls = (delayed(sum_of_doubles)(10, **how) for _ in range(2 * THREADS))
        found = Parallel(batch_size=1, pre_dispatch="all")(calls)
    assert [total for total, _ in found] == [90] * (2 * THREADS)
    counts = cluster.fine_metrics(span=id)
    assert counts["execute", "nested", "compute", "count"] == 20 * THREADS
    (info,) = [each for each in cluster.spans() if each.id == id]
    assert info.tasks == 22 * THREADS


def three_deep(depth: int) -> int:
    if depth == 0:
        return 1
    return sum(joblib.Parallel(n_jobs=-1)(joblib.delayed(three_deep)(depth - 1) for _ in range(3)))


def test_tasks_of_tasks_of_tasks() -> None:
    assert Parallel()(delayed(three_deep)(2) for _ in range(3)) == [9] * 3


def in_thread(call: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except ValueError as error:
            found.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LIMIT_SECONDS)
    return found[0]


def from_threads(x: int) -> tuple[Any, Any]:
    def doubles(**which: Any) -> Any:
        with joblib.parallel_config("spanwise", **which):
            return joblib.Parallel(n_jobs=2)(joblib.delayed(double)(each) for each in range(x))

    with worker_client() as client:
        return in_thread(doubles), in_thread(partial(doubles, client=client))


def test_a_parallel_in_a_thread_of_a_task_says_which_client_it_may_have(cluster: Client) -> None:
    said, found = cluster.submit(from_threads, 3).result(LIMIT_SECONDS)
    assert found == [0, 2, 4]
    assert "Client()" not in said
    assert "in this thread" in said and "with worker_client() as client" in said


# ── which client, and what is said without one ───────────────────────────


def test_the_current_client_or_the_given_one(cluster: Client) -> None:
    config = joblib.parallel_config("spanwise")
    assert config.parallel_config["backend"].client is cluster
    config.unregister()
    with dask.config.set(scheduler=None):
        with pytest.raises(ValueError, match=r"make one with spanwise.Client\(\)"):
            joblib.parallel_config("spanwise")
        with joblib.parallel_config("spanwise", client=cluster):
            assert Parallel()(delayed(double)(x) for x in range(3)) == [0, 2, 4]
    assert Parallel(backend="spanwise")(delayed(double)(x) for x in range(3)) == [0, 2, 4]


def test_clients_that_do_not_do(cluster: Client) -> None:
    theirs = type("Client", (), {"__module__": "distributed.client"})()
    with pytest.raises(TypeError, match=r'one of distributed: .*\.parallel_config\("dask"\)'):
        joblib.parallel_config("spanwise", client=theirs)
    with pytest.raises(TypeError, match="the client is asynchronous"):
        SpanwiseBackend(Client(asynchronous=True))


def test_joblib_s_backend_for_dask_says_what_to_write(cluster: Client) -> None:
    with pytest.raises(RuntimeError) as raised:
        joblib.parallel_config("dask")
    assert "current client is one of Spanwise" in str(raised.value)
    *_, first, _, second = str(raised.value).splitlines()
    assert first.strip() == "import spanwise.joblib"
    with joblib.parallel_config("threading"):
        made: dict[str, Any] = {"joblib": joblib, "Parallel": Parallel, "delayed": delayed}
        exec(f"{second.strip()} found = Parallel()([delayed(abs)(-1)])", made)  # noqa: S102
    assert made["found"] == [1]


def test_without_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["spanwise.joblib"]
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match=r'not installed here: run pip install "joblib>=1.3"'):
        importlib.reload(module)
    old = types.ModuleType("joblib")
    old.__version__ = "1.2.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "joblib", old)
    with pytest.raises(ImportError, match=r"needs joblib 1.3 or newer, and 1.2.0 is installed"):
        importlib.reload(module)


def test_only_who_asks_for_it_imports_joblib() -> None:
    program = (
        "import sys, spanwise\n"
        "for name in spanwise.__all__: getattr(spanwise, name)\n"
        "assert not hasattr(spanwise, 'joblib') and 'joblib' not in sys.modules\n"
        "import spanwise.joblib\n"
        "assert 'spanwise' in sys.modules['joblib.parallel'].BACKENDS\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
