"""Dask's callbacks around a blocking `get` on the cluster are called as by its own schedulers."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import add, getitem, mul
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.threaded
import numpy as np
import pytest
from dask.callbacks import Callback, add_callbacks
from dask.diagnostics import CacheProfiler, Profiler, ProgressBar, ResourceProfiler
from dask.utils import key_split

import spanwise
from spanwise import Client
from spanwise.client import callbacks as module
from spanwise.client.cluster_resources import ClusterResources
from spanwise.tests.marks import now_of
from spanwise.tests.processes import wait_until

HOOKS = ["start", "start_state", "pretask", "posttask", "finish"]
GRAPH = {"a": (add, 1, 2), "b": (add, 3, "a"), "c": (mul, "a", "b"), "d": 5}


class Notes(Callback):
    """Notes all calls; `raising` raises in one of them."""

    def __init__(self, raising: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.threads: set[int] = set()
        self.raising = raising
        super().__init__()

    def _note(self, hook: str, *facts: Any) -> None:
        self.calls.append((hook, *facts))
        self.threads.add(threading.get_ident())
        if hook == self.raising:
            raise LookupError(hook)

    def _start(self, dsk: Any) -> None:
        self.dsk = dsk
        self._note("start", frozenset(dsk))

    def _start_state(self, dsk: Any, state: Any) -> None:
        assert dsk is self.dsk
        self.state = state
        self._note("start_state")

    def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
        assert dsk is self.dsk and state is self.state and key in state["running"]
        assert dsk[key].dependencies <= state["finished"] | state["cache"].keys()
        self._note("pretask", key)

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
        assert dsk is self.dsk and state is self.state and key in state["finished"]
        self._note("posttask", key, result)

    def _finish(self, dsk: Any, state: Any, failed: bool) -> None:
        assert dsk is self.dsk
        self._note("finish", failed)

    def of(self, hook: str) -> list[Any]:
        return [facts for name, *facts in self.calls if name == hook]


@pytest.fixture(params=["threads", "cluster"])
def get(request: pytest.FixtureRequest, cluster: Client) -> Iterator[Callable[..., Any]]:
    """What computes: Dask's threads, and a cluster."""
    assert Callback.active == set()
    yield dask.threaded.get if request.param == "threads" else cluster.get
    assert Callback.active == set()
    if request.param == "cluster":
        wait_until("nothing is held", lambda: not cluster._session.by_key)


def fail(*args: Any) -> None:
    raise ZeroDivisionError("on purpose")


def test_calls_of_a_graph(get: Any) -> None:
    with Notes() as notes:
        c, (a, d) = get(GRAPH, ["c", ["a", "d"]])
    assert (c, a, d) == (18, 3, 5)
    hooks = [call[0] for call in notes.calls]
    assert hooks[:2] == ["start", "start_state"] and hooks[-1] == "finish"
    assert notes.of("start") == [[frozenset(GRAPH)]] and notes.of("finish") == [[False]]
    # Of what the graph computes, in the order of need; "d" is data.
    assert notes.of("posttask") == [["a", 3], ["b", 6], ["c", 18]]
    assert notes.of("pretask") == [["a"], ["b"], ["c"]]
    for key in "abc":
        begun, ended = (
            next(i for i, call in enumerate(notes.calls) if call[:2] == (hook, key))
            for hook in ("pretask", "posttask")
        )
        assert begun < ended
    assert notes.threads == {threading.get_ident()}


def states_of(get: Any, graph: Any, keys: Any) -> list[Any]:
    """What the callbacks see of the state, call by call."""
    seen: list[Any] = []

    def note(hook: str) -> Callable[..., None]:
        def called(*args: Any) -> None:
            (state,) = [each for each in args if isinstance(each, dict) and "ready" in each]
            copied = {
                name: {key: set(each) for key, each in field.items()}
                if isinstance(field, dict) and name != "cache"
                else dict(field.items())
                if name == "cache"
                else sorted(field)
                for name, field in state.items()
            }
            seen.append((hook, copied))

        return called

    with Callback(None, *map(note, HOOKS[1:])):
        get(graph, keys)
    return seen


def test_state_is_that_of_dasks_schedulers(cluster: Client) -> None:
    graph = {"x": 1, "y": (add, "x", 10), "z": (mul, "y", 2), "end": (add, "z", "y")}
    ours = states_of(cluster.get, graph, ["end", "z"])
    theirs = states_of(dask.get, graph, ["end", "z"])
    assert [hook for hook, _ in ours] == [hook for hook, _ in theirs]
    assert ours == theirs


@pytest.mark.parametrize("hook", HOOKS)
def test_a_callback_that_raises_ends_the_computation(get: Any, hook: str) -> None:
    first, second = Notes(), Notes(hook)
    with pytest.raises(LookupError, match=hook):
        # Given as a list: the set of active ones has no order.
        get(GRAPH, "c", callbacks=[first._callback, second._callback])
    kinds = Counter(call[0] for call in second.calls)
    # Who was not told of the start is not told of the end.
    assert kinds["finish"] == (hook != "start")
    assert first.of("finish") == [[hook != "finish"]]
    assert kinds[hook] == 1
    assert kinds["start"] == 1 and kinds["start_state"] == (hook != "start")
    if hook in ("start", "start_state"):
        assert not kinds["pretask"] and not kinds["posttask"]


def test_a_task_that_fails(get: Any) -> None:
    graph = {"a": (add, 1, 2), "bad": (fail, "a"), "end": (add, "bad", 1)}
    with Notes() as notes, pytest.raises(ZeroDivisionError, match="on purpose"):
        get(graph, "end")
    assert notes.of("finish") == [[True]]
    assert notes.of("pretask") == [["a"], ["bad"]]
    assert notes.of("posttask") == [["a", 3]]


def test_ways_to_have_callbacks(get: Any) -> None:
    kept, registered, given, tupled = Notes(), Notes(), Notes(), Notes()
    begun: list[Any] = []
    registered.register()
    try:
        with kept, add_callbacks(tupled._callback), Callback(pretask=lambda *a: begun.append(a[0])):
            get(GRAPH, "c")
            inner = Notes()
            with inner:
                get(GRAPH, "a")
            # These alone.
            get(GRAPH, "b", callbacks=[given._callback])
            get(GRAPH, "b", callbacks=[])
    finally:
        registered.unregister()
    get(GRAPH, "c")
    assert begun == ["a", "b", "c", "a"]
    for notes in (kept, registered, tupled):
        assert [key for key, _ in notes.of("posttask")] == begun
        assert len(notes.of("finish")) == 2
    assert inner.of("pretask") == [["a"]]
    assert given.of("pretask") == [["a"], ["b"]]


def test_what_a_callback_computes_has_none(get: Any) -> None:
    within: list[Any] = []

    def posttask(key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
        assert Callback.active == set()
        within.append((key, get({"n": (add, result, 1)}, "n")))

    with Callback(posttask=posttask):
        assert get(GRAPH, "c") == 18
    assert within == [("a", 4), ("b", 7), ("c", 19)]


def test_collections_large_results_and_their_release(cluster: Client) -> None:
    """Of large results too a callback gets the values; nothing is held in the end."""
    array = da.ones((600, 600), chunks=(300, 300)) * 2
    held: list[int] = []

    class Sizes(Notes):
        def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
            super()._posttask(key, getattr(result, "nbytes", None), dsk, state, worker)
            assert worker.startswith("worker-")
            held.append(len(state["cache"]))

    with Sizes() as notes:
        assert (array + array.T).sum().compute() == 600 * 600 * 4
    with Notes() as theirs:
        (array + array.T).sum().compute(scheduler="threads")
    for hook in ("pretask", "posttask"):
        # The names of some end in numbers by chance.
        ours, others = (
            Counter(key_split(key) for key, *_ in each.of(hook)) for each in (notes, theirs)
        )
        assert ours == others
    assert 300 * 300 * 8 in [nbytes for _, nbytes in notes.of("posttask")]
    # What nobody needs any more is let go of on the way.
    assert max(held) < len(notes.of("posttask")) and held[-1] == 1
    wait_until("nothing is held", lambda: not cluster._session.by_key)


def held_by_workers(cluster: Client) -> set[Any]:
    """The keys of all results that the scheduler knows of, whoever asked for them."""
    return {key for keys in cluster.has_what().values() for key in keys}


@pytest.mark.parametrize("ends", ["returns", "raises", "fails"])
def test_results_that_callbacks_touched_are_let_go_of_by_the_workers(
    cluster: Client, ends: str
) -> None:
    """However a callback came by a result, and also if it keeps the value that it was given."""
    wait_until("the results of others are gone", lambda: not held_by_workers(cluster))
    kept: list[Any] = []
    held: list[set[Any]] = []

    class Touches(Callback):  # type: ignore[misc]
        def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
            kept.append(result)
            kept.extend(state["cache"].values())
            kept.append(state["cache"].get(key))
            held.append(held_by_workers(cluster))
            if ends == "raises" and key == "total":
                raise KeyError(key)

    graph: dict[Any, Any] = {("part", n): (np.ones, 300_000 + n) for n in range(4)}
    graph["sums"] = (list, [(np.sum, key) for key in graph])
    graph["total"] = (getitem, "sums", 99) if ends == "fails" else (sum, "sums")
    expected = {"returns": None, "raises": KeyError, "fails": IndexError}[ends]
    with Touches(), nullcontext() if expected is None else pytest.raises(expected):
        cluster.get(graph, "total")
    # They were there when they were touched, and are values that stay.
    assert any(("part", n) in each for each in held for n in range(4))
    assert any(isinstance(each, np.ndarray) and each.sum() >= 300_000 for each in kept)
    wait_until("no worker holds anything", lambda: not held_by_workers(cluster))
    assert not cluster._session.by_key


def test_results_that_are_there_are_data(cluster: Client) -> None:
    array = da.arange(8, chunks=4).persist()
    (part, other) = spanwise.futures_of(array)
    with Notes() as notes:
        assert array.sum().compute() == 28
    assert part.key not in {key for (key,) in notes.of("pretask")}
    assert {part.key, other.key} <= notes.state["released"]
    with Notes() as notes:
        assert cluster.get(array.__dask_graph__(), part.key).tolist() == [0, 1, 2, 3]
    assert not notes.of("pretask") and notes.of("finish") == [[False]]


def test_results_that_cannot_leave_their_worker(cluster: Client) -> None:
    graph = {"lock": (threading.Lock,), "end": (lambda lock: lock.locked(), "lock")}
    with Notes() as notes:
        assert cluster.get(graph, "end") is False
    (_, lock), (_, end) = notes.of("posttask")
    assert repr(lock) == "<result on the cluster>" and end is False


def test_profilers_bring_no_results(cluster: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    brought: list[Any] = []
    values = cluster._session.values

    def bring(entries: Any, errors: str) -> Any:
        brought.extend(entry.key for entry in entries)
        return values(entries, errors)

    monkeypatch.setattr(cluster._session, "values", bring)
    graph = {"x": (np.ones, 100_000), "y": (np.sum, "x")}
    with Profiler() as profiler, CacheProfiler() as counted:
        cluster.get(graph, "y")
    assert brought == []
    with CacheProfiler(metric=lambda value: value.nbytes) as weighed:
        cluster.get(graph, "y")
    assert brought == ["x", "y"]
    assert [each.key for each in profiler.results] == ["x", "y"]
    assert [(each.key, each.metric) for each in counted.results] == [("x", 1), ("y", 1)]
    assert [(each.key, each.metric) for each in weighed.results] == [("x", 800_000), ("y", 8)]


def test_what_has_no_callbacks(cluster: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not wait is not called back, and without callbacks nothing is followed."""
    array = da.arange(8, chunks=4)
    with Notes() as notes:
        cluster.compute(array.sum()).result()
        spanwise.wait(spanwise.futures_of(array.persist()))
        cluster.get(GRAPH, "c", sync=False).result()
        cluster.submit(add, 1, 2).result()
    assert notes.calls == []
    monkeypatch.setattr(module.Computation, "__init__", fail)
    assert cluster.get(GRAPH, "c") == 18


def test_an_observation_follows_no_cluster(cluster: Client) -> None:
    with spanwise.observe("beside") as seen:
        active = set(Callback.active)
        assert len(active) == 1
        assert not module.is_called_back(None)
        with Notes() as notes:
            # It goes on with Dask's own schedulers meanwhile.
            within: list[Any] = []
            noted = Callback(finish=lambda *args: within.append(set(Callback.active)))
            with noted:
                assert cluster.get(GRAPH, "c") == 18
            assert within == [active]
        assert len(notes.of("posttask")) == 3
        assert Callback.active == active
        dask.threaded.get(GRAPH, "c")
    assert len(seen.get_task_stream()) == 3
    seen.close()


def test_progress_bar(get: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        get(GRAPH, "c")
    assert f"[{'#' * 40}] | 100% Completed" in capsys.readouterr().out
    assert bar.last_duration > 0
    with ProgressBar(), pytest.raises(ZeroDivisionError):
        get({"bad": (fail,)}, "bad")
    assert "100%" not in capsys.readouterr().out


def test_progress_bar_on_the_way(cluster: Client, tmp_path: Path) -> None:
    """It shows how many of the tasks have ended, while others run."""
    import io

    out = io.StringIO()
    gate = tmp_path / "gate"

    def wait_for_gate(*args: Any) -> None:
        wait_until("the gate is open", gate.exists)

    graph = {"a": (add, 1, 2), "b": (add, 1, "a"), "c": (wait_for_gate, "b"), "d": (fail, "c")}
    seen: list[bool] = []

    def open_gate() -> None:
        wait_until("half is shown", lambda: "50% Completed" in out.getvalue())
        seen.append(True)
        gate.touch()

    waiting = threading.Thread(target=open_gate)
    waiting.start()
    try:
        with ProgressBar(dt=0.01, out=out), pytest.raises(ZeroDivisionError):
            cluster.get(graph, "d")
    finally:
        waiting.join()
    assert seen == [True]


def die_once(path: str) -> int:
    mark = Path(path)
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return 7


def test_a_worker_that_dies(cluster: Client, tmp_path: Path) -> None:
    """Tasks are told of once each, also if they ran twice."""
    graph = {
        **{f"n-{n}": (add, n, 1) for n in range(20)},
        "mid": (sum, [f"n-{n}" for n in range(20)]),
        "die": (lambda mid, path: die_once(path) + mid, "mid", str(tmp_path / "died")),
        "end": (add, "die", "mid"),
    }
    with Notes() as notes:
        assert cluster.get(graph, "end") == 7 + 2 * 210
    told = Counter(key for key, _ in notes.of("posttask"))
    assert told == dict.fromkeys(graph, 1)
    # The tests after this one have two workers.
    wait_until("another worker", lambda: len(cluster.nthreads()) == 2)


def test_a_large_graph_is_told_before_it_is_sent(cluster: Client) -> None:
    graph: dict[str, Any] = {f"n-{n}": (add, n, 1) for n in range(5_000)}
    graph["sum"] = (sum, list(graph))
    begun: list[Any] = []
    ready = Callback(start_state=lambda dsk, state: begun.append(len(state["ready"])))
    with ready, Notes() as notes:
        assert cluster.get(graph, "sum") == sum(range(1, 5_001))
    assert begun == [5_000]
    assert len(notes.of("posttask")) == 5_001


def test_callbacks_of_a_task_that_computes(cluster: Client) -> None:
    """A task's own `get` calls those that the task has, and leaves its thread meanwhile."""

    def compute_within() -> list[Any]:
        told = []
        noted = Callback(posttask=lambda key, *args: told.append(key))
        with noted:
            spanwise.get_client().get({"x": (add, 1, 2), "y": (add, "x", 1)}, "y")
        return told

    places = list(cluster.nthreads())
    outer = [cluster.submit(compute_within, pure=False, workers=[each]) for each in places]
    assert cluster.gather(outer) == [["x", "y"]] * 2


# -- when tasks ran ------------------------------------------------------------


def when(*args: Any) -> tuple[float, float]:
    """The clock at the beginning and the end of a task that takes a while."""
    began = time.perf_counter()
    while time.perf_counter() < began + 0.001:
        pass
    return began, time.perf_counter()


def test_times_are_those_of_the_workers(cluster: Client) -> None:
    graph: dict[str, Any] = {f"n-{n}": (when, n) for n in range(20)}
    graph["mid"] = (when, *graph)
    graph["end"] = (when, "mid")
    before = now_of(cluster)
    with Profiler() as profiler, CacheProfiler() as cache:
        values = dict(zip(graph, cluster.get(graph, list(graph)), strict=True))
    assert len(cache.results) == len(graph)
    ran = {each.key: each for each in profiler.results}
    assert set(ran) == set(graph)
    session = cluster._session
    offset = session._link.clock_offset
    records = {each["key"]: each for each in cluster.get_task_stream(start=before)}
    for key, (began, ended) in values.items():
        noted = ran[key]
        assert profiler.start_time <= noted.start_time <= began <= ended <= noted.end_time
        assert noted.end_time <= profiler.end_time
        parts = [each for each in records[key]["startstops"] if each["action"] == "compute"]
        start, end = (session.wall_time(t + offset) for t in (noted.start_time, noted.end_time))
        assert start - 1e-5 <= parts[0]["start"] and parts[-1]["stop"] <= end + 1e-5
        place = f"{records[key]['worker_name']}/{records[key]['lane']}"
        assert noted.worker_id == place
    assert ran["mid"].end_time <= ran["end"].start_time


def test_times_in_the_cache_are_those_of_the_workers(cluster: Client) -> None:
    graph = {"x": (when,), "y": (when, "x"), "z": (when, "y"), "name": "z", "end": (when, "name")}
    with Profiler() as profiler, CacheProfiler() as cache:
        cluster.get(graph, "end")
    ended = {each.key: each.end_time for each in profiler.results}
    cached = {each.key: each for each in cache.results}
    assert set(cached) == set(ended) == {"x", "y", "z", "name", "end"}
    for key, each in cached.items():
        assert each.cache_time == ended[key] and each.cache_time <= each.free_time
    assert cached["x"].free_time == ended["y"]
    # An alias is there with its input.
    assert ended["name"] == ended["z"]


def test_a_task_that_goes_on_has_begun(cluster: Client, tmp_path: Path) -> None:
    """`pretask` comes while the task runs."""
    gate = tmp_path / "gate"

    def wait_for_gate(x: int) -> int:
        wait_until("the gate is open", gate.exists)
        return x

    def pretask(key: Any, dsk: Any, state: Any) -> None:
        if key == "long":
            assert key in state["running"] and "first" in state["finished"]
            gate.touch()

    graph = {"first": (add, 1, 2), "long": (wait_for_gate, "first"), "end": (add, "long", 1)}
    with Callback(pretask=pretask):
        assert cluster.get(graph, "end") == 4


def test_nobody_is_told_of_runs_without_callbacks(
    cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = cluster._session
    sent: list[Any] = []
    send = session.send

    def note(kind: str, fields: Any = None, *rest: Any) -> None:
        sent.append((kind, fields))
        send(kind, fields, *rest)

    monkeypatch.setattr(session, "send", note)
    cluster.get(GRAPH, "c")
    assert not any(kind == "watchRuns" for kind, _ in sent)
    with Notes():
        cluster.get(GRAPH, "c")
    told = [fields["on"] for kind, fields in sent if kind == "watchRuns"]
    assert told == [True, False] and session._run_watchers == []


# -- memory and processors -------------------------------------------------------


def compute_until(gate: Path, nbytes: int) -> int:
    """Hold memory and a processor until there is a file."""
    held = bytearray(b"x") * nbytes
    end = time.monotonic() + 240
    while not gate.exists():
        assert time.monotonic() < end
    return len(held)


@pytest.mark.parametrize("is_registered", [False, True])
def test_resources_are_those_of_the_workers_too(
    cluster: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_registered: bool
) -> None:
    gate = tmp_path / "gate"
    look = ClusterResources._look

    def note(self: ClusterResources) -> None:
        look(self)
        _, mem, cpu = self.rows[-1]
        if mem > self.rows[0][1] + 250 and cpu > 30:
            gate.touch()

    monkeypatch.setattr(ClusterResources, "_look", note)
    profiler = ResourceProfiler(dt=0.02)
    graph = {"a": (compute_until, gate, 300 * 2**20), "b": (add, "a", 1)}
    if is_registered:
        profiler.register()
    else:
        profiler.__enter__()
    try:
        before = time.perf_counter()
        assert cluster.get(graph, "b") == 300 * 2**20 + 1
        cluster.get(GRAPH, "c")
        after = time.perf_counter()
    finally:
        if is_registered:
            profiler.unregister()
            profiler.close()
        else:
            profiler.__exit__(None, None, None)
    assert "_stop_collect" not in vars(profiler)
    within = [row for row in profiler.results if before <= row.time <= after]
    assert within == sorted(within) and len({row.time for row in within}) == len(within)
    # "Memory usage in MB", "% CPU usage"
    mem = [row.mem for row in within]
    assert max(mem) - min(mem) > 250
    assert max(row.cpu for row in within) > 30


def test_workers_that_cannot_be_looked_at_tell_of_themselves(
    cluster: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    look, read = ClusterResources._look, ClusterResources._read

    def note(self: ClusterResources) -> None:
        look(self)
        _, mem, cpu = self.rows[-1]
        if mem > self.rows[0][1] + 250 and cpu > 30:
            gate.touch()

    def read_own(self: ClusterResources, pid: int) -> tuple[float, float] | None:
        return read(self, pid) if pid == os.getpid() else None

    monkeypatch.setattr(ClusterResources, "_look", note)
    monkeypatch.setattr(ClusterResources, "_read", read_own)
    # Twice as much as the test before has held: a worker may still tell of that at first.
    nbytes = 600 * 2**20
    with ResourceProfiler(dt=0.05) as profiler:
        graph = {"a": (compute_until, gate, nbytes), "b": (add, "a", 1)}
        assert cluster.get(graph, "b") == nbytes + 1
    mem = [row.mem for row in profiler.results]
    assert max(mem) - min(mem) > 250
