"""Samples of a Dask cluster are those that its workers have taken."""

from __future__ import annotations

import asyncio
import copy
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import distributed.profile as dask_profile
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spanwise
from spanwise.dask_bridge import sample_pull, sample_times, sample_trees, viewer
from spanwise.dask_bridge.dask_log import _shares
from spanwise.dask_bridge.sample_pull import OTHERS, SamplePull, _as_many
from spanwise.dask_bridge.sample_seconds import LATE_SECONDS, TakenSeconds, common_starts
from spanwise.dask_bridge.sample_times import (
    BEGIN_PAUSE_SECONDS,
    BEGIN_PAUSE_TIMES,
    BEGIN_SECONDS,
    LAG_SECONDS,
    PAUSE_SECONDS,
    PAUSE_TIMES,
    SampleTimes,
)
from spanwise.dask_bridge.sample_trees import Frame, SampleTree
from spanwise.records.enumerations import LARGEST_U16, NONE_U32
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.tests.unreached_viewer import unreached_viewer


class Stacks:
    """Numbers stacks, and knows what they are."""

    def __init__(self) -> None:
        self.paths: list[tuple[str, ...]] = []
        self._numbers: dict[tuple[str, ...], int] = {}

    def number(self, parent: int, frame: Frame) -> int:
        path = (*(() if parent == NONE_U32 else self.paths[parent]), frame[0])
        if path not in self._numbers:
            self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return self._numbers[path]

    def of(self, tree: Any, less: Any = None) -> Counter[int]:
        samples = SampleTree()
        samples.add(tree)
        samples.take_away(less)
        return samples.stacks(self.number)

    def named(self, counts: Counter[int]) -> dict[tuple[str, ...], int]:
        return {self.paths[stack]: count for stack, count in counts.items() if count}


def node(name: str, count: int, *below: Any) -> dict[str, Any]:
    return {
        "count": count,
        "identifier": f"{name};/a.py;3",
        "description": {"name": name, "filename": "/a.py", "line_number": 4, "line": "x = 1"},
        "children": {each["identifier"]: each for each in below},
    }


def test_the_innermost_function_has_the_samples_that_dask_does_not_count() -> None:
    stacks = Stacks()
    tree = node("root", 9, node("a", 6, node("b", 0)), node("c", 3, node("d", 0), node("e", 0)))
    found = stacks.named(stacks.of(tree))
    assert found == {("a", "b"): 6, ("c",): 3}


def test_what_nobody_called_is_of_those_that_called_nothing() -> None:
    stacks = Stacks()
    tree = node("root", 9, node("waits", 0), node("leaves", 2, node("ends", 0)))
    assert stacks.named(stacks.of(tree)) == {
        ("waits",): 7,
        ("leaves", "ends"): 2,
    }


def test_what_is_taken_away_may_have_been_the_innermost_one() -> None:
    stacks = Stacks()
    inner = node("work", 50, node("inner", 0))
    range_and_after = node("root", 120, node("task", 120, node("fetch", 30), inner))
    after = node("root", 30, node("task", 30, node("fetch", 30, node("decode", 0))))
    found = stacks.named(stacks.of(range_and_after, after))
    assert found == {("task",): 40, ("task", "work", "inner"): 50}
    leaves = node("root", 110, node("a", 0), node("b", 0))
    assert stacks.named(stacks.of(leaves, node("root", 100, node("a", 0)))) == {("b",): 10}


def test_of_many_frames_those_that_are_known_are_still_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample_trees, "_MOST_FRAMES", 3)
    stacks = Stacks()
    a, b = node("a", 3, node("a1", 0)), node("b", 9)
    less = node("root", 6, node("new", 1), node("b", 5))
    assert stacks.named(stacks.of(node("root", 12, b, a), less))["b",] == 4


_ANY = st.recursive(
    st.none() | st.integers(-5, 2**70) | st.text(max_size=4) | st.booleans(),
    lambda below: st.dictionaries(
        st.sampled_from(["count", "children", "description", "identifier", "name", "line_number"]),
        below | st.dictionaries(st.text(max_size=2), below, max_size=3),
        max_size=5,
    ),
    max_leaves=30,
)


@given(_ANY)
def test_whatever_comes_in_place_of_a_tree_is_counted(tree: Any) -> None:
    stacks = Stacks()
    assert all(count >= 0 for count in stacks.of(tree).values())


def test_a_tree_without_an_end_is_cut() -> None:
    deep = node("f", 1)
    for _ in range(5_000):
        deep = node("f", 1, deep)
    stacks = Stacks()
    found = stacks.named(stacks.of(deep))
    assert sum(found.values()) == 1 and max(map(len, found)) <= 200


@given(
    n=st.integers(0, 200_000),
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(lambda all: sum(all) > 1),
    phase=st.integers(0, 1_000),
)
def test_shares_are_as_large_as_their_weights(n: int, weights: list[float], phase: int) -> None:
    found: Counter[int] = Counter()
    for at, count in _shares(n, [*accumulate(weights)], phase):
        assert 0 < count <= LARGEST_U16
        found[at] += count
    assert sum(found.values()) == n
    for at, weight in enumerate(weights):
        assert abs(found[at] - n * weight / sum(weights)) <= 1.01


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[distributed.Client]:
    folder: Path = tmp_path_factory.mktemp("dask")
    processes = DaskProcesses(folder)
    try:
        with distributed.Client(processes.address) as client:
            client.wait_for_workers(2, timeout=LIMIT_SECONDS)
            yield client
    finally:
        processes.close()


def spin(seconds: float) -> int:
    """Works; what it calls is Python, too, so that Dask counts it."""
    end = time.perf_counter() + seconds
    turns = 0
    while time.perf_counter() < end:
        turns = step(turns)
    return turns


def spin_until(go: Path) -> int:
    """Works until the file is there."""
    turns = 0
    while not go.exists():
        turns = step(turns)
    return turns


def step(turns: int) -> int:
    return turns + sum(part for part in range(1_000))


def wait_a_little(seconds: float) -> None:
    time.sleep(seconds)


def flat(tree: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """Count of each path of functions."""
    found: dict[tuple[str, ...], int] = {}

    def visit(node: dict[str, Any], path: tuple[str, ...]) -> None:
        found[path] = node["count"]
        for identifier, child in node["children"].items():
            visit(child, (*path, identifier))

    visit(tree, ())
    return found


def until(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_samples_are_those_of_dask(client: distributed.Client) -> None:
    with spanwise.attach(client) as attached:
        with distributed.span("turning"):
            turning = client.map(spin, [1.5, 1.5, 1.4, 1.4], pure=False)
        with distributed.span("waiting"):
            waiting = client.map(wait_a_little, [1.2] * 2, pure=False)
        distributed.wait([*turning, *waiting], timeout=LIMIT_SECONDS)
        # (a worker that the machine keeps from its cycle tells its samples later)
        until(lambda: attached.profile()["count"] == client.profile()["count"], "all are told")
        asked = attached._asked()  # (which does not wait for more)
        found = flat(asked.profile().tree())
        assert client.profile()["count"] > 50
        for key in ("spin", "wait_a_little"):
            # (not of all functions together: Dask reads the frames of a sample once more for them,
            # and the thread may have gone on meanwhile)
            theirs = flat(client.profile(key=key))
            assert {path for path, count in theirs.items() if count} <= found.keys()
        of_functions = {
            key: (asked.profile(key=key).tree()["count"], client.profile(key=key)["count"])
            for key in ("spin", "wait_a_little")
        }
        assert all(own == of_dask > 0 for own, of_dask in of_functions.values())
        waited = asked.profile(span=("waiting",)).tree()
        assert waited["count"] == of_functions["wait_a_little"][0]
        assert any("wait_a_little" in path[-1] for path in flat(waited) if path)


def test_samples_of_workers_whose_clocks_are_early_are_told(client: distributed.Client) -> None:
    """Heartbeats that take long put a worker's date of a second early."""

    def put(early: float, dask_worker: Any) -> None:
        heartbeat = dask_worker.periodic_callbacks["heartbeat"]
        heartbeat.stop() if early else heartbeat.start()
        dask_worker.scheduler_delay -= early

    with spanwise.attach(client) as attached:
        asked = attached._asked()  # (which does not wait for samples)
        client.run(put, 4.0)
        try:
            futures = client.map(spin, [3.0] * 4, key="early", pure=False)
            distributed.wait(futures, timeout=LIMIT_SECONDS)
            until(
                lambda: (
                    asked.profile(key="early").tree()["count"]
                    == client.profile(key="early")["count"]
                    > 50
                ),
                "all are told",
            )
        finally:
            client.run(put, 0.0)


def test_a_short_computation_has_its_profile_when_it_has_ended(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # (no other pull: the first of a computation, or the next one after a while)
    monkeypatch.setattr(sample_times, "BEGIN_SECONDS", -1.0)
    monkeypatch.setattr(sample_times, "PAUSE_SECONDS", 10 * LIMIT_SECONDS)
    with spanwise.attach(client) as attached:
        asked = attached._asked()  # (which does not wait for samples)
        client.submit(spin, 0.5, key="earlier", pure=False).result(timeout=LIMIT_SECONDS)
        until(lambda: asked.profile(key="earlier").tree()["count"] > 0, "the first ones come")
        client.submit(spin, 1.0, key="short", pure=False).result(timeout=LIMIT_SECONDS)
        theirs = client.profile(key="short")["count"]
        assert theirs > 0
        until(
            lambda: (
                asked.profile(key="short").tree()["count"] == client.profile(key="short")["count"]
            ),
            "and all of the others",
        )


def test_samples_from_before_attaching_are_told_at_once(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(viewer, "_HISTORY_LIMIT", LIMIT_SECONDS)
    go = tmp_path / "go"
    with distributed.span("before"):
        future = client.submit(spin_until, go, key="known", pure=False)
    try:
        until(lambda: len(_seconds_of(client, "known")) > 1, "the workers have closed two seconds")
    finally:
        go.touch()
    future.result(timeout=LIMIT_SECONDS)
    # (its last second has ended, and what its span has is told by heartbeats)
    ended = _newest_seconds(client)
    until(
        lambda: all(t > ended[worker] for worker, t in _newest_seconds(client).items()),
        "the workers have closed its last one",
    )

    def measured(dask_scheduler: Any) -> bool:
        metrics = dask_scheduler.cumulative_worker_metrics
        return any("known" in label for label in metrics if isinstance(label, tuple))

    until(lambda: client.run_on_scheduler(measured), "the scheduler knows its seconds")
    time.sleep(LAG_SECONDS)
    with spanwise.attach(client) as attached:
        asked = attached._asked()
        theirs = client.profile(key="known")["count"]
        until(lambda: asked.profile(key="known").tree()["count"] == theirs > 0, "all are told")
        assert asked.profile(span=("before",)).tree()["count"] == theirs
        log = attached._viewer.log
        assert log is not None and log.epoch < log.now - LAG_SECONDS
        # (how long a sample stands for is not known from them)
        assert asked.query("profile")["rateHz"] is None


def _newest_seconds(client: distributed.Client) -> dict[str, float]:
    """When each worker has closed its last second."""

    def told(dask_worker: Any) -> float:
        return max((t for t, _ in dask_worker.profile_keys_history), default=0.0)

    found: dict[str, float] = client.run(told)
    return found


def _seconds_of(client: distributed.Client, key: str) -> set[float]:
    def told(dask_worker: Any) -> list[float]:
        return [t for t, functions in dask_worker.profile_keys_history if key in functions]

    return {t for times in client.run(told).values() for t in times}


@given(
    work=st.lists(st.tuples(st.floats(0, 20), st.floats(0, 20)), min_size=1, max_size=4),
    took=st.floats(0, 0.5),
)
def test_all_of_a_computation_is_sampled_and_idle_workers_are_let_alone(
    work: list[tuple[float, float]], took: float
) -> None:
    """Stretches of idleness and work; a look each 0.25 s; a second's samples are there when it has
    ended.
    """
    times = SampleTimes(0.0)
    now = worked_at = 0.0
    looks: list[float] = []
    for idle, busy in work:
        begins, ends = now + idle, now + idle + busy
        calm = ends + LAG_SECONDS + PAUSE_SECONDS
        while now < calm:
            worked_at = min(now, ends) if begins <= now else worked_at
            until = times.due(now, worked_at)
            if until is not None:
                assert times.since < until <= now - 1.0
                times.since = until
                times.looked(now, took)
                looks.append(now)
            now += 0.25
        assert times.since >= worked_at + 1.0, "all that was worked has been asked for"
        assert not looks or looks[-1] <= ends + LAG_SECONDS + 1.5, "and then nothing"
    pauses = [after - before for before, after in pairwise(looks)]
    assert all(pause >= 0.25 for pause in pauses)
    # What looking takes is a small share, and not much when work begins; the first and the last
    # look of each stretch do not wait, nor do those of the moment of attaching.
    stretches = 1 + len(work)
    assert sum(pause < BEGIN_PAUSE_TIMES * took for pause in pauses) <= 2 * stretches
    at_once = BEGIN_SECONDS / max(BEGIN_PAUSE_SECONDS, BEGIN_PAUSE_TIMES * took) + 1
    assert sum(pause < PAUSE_TIMES * took for pause in pauses) <= (2 + at_once) * stretches
    assert len(looks) <= len(work) * (1 + 4 / 0.5 + 4) + now / PAUSE_SECONDS


@example(given={0: 1, 1: 2}, seconds=[(0.0, 13)])
@given(
    st.dictionaries(st.integers(0, 9), st.integers(1, 500), min_size=1),
    st.lists(st.tuples(st.floats(0, 9), st.integers(1, 300)), min_size=1, max_size=4),
)
def test_as_many_samples_are_told_as_were_counted(
    given: dict[int, int], seconds: list[tuple[float, int]]
) -> None:
    (found,) = _as_many("f", "a", Counter(given), seconds)
    total = sum(count for _, count in seconds)
    assert found.stacks.total() == total
    assert total < len(given) or found.stacks.keys() == given.keys()
    for stack, count in found.stacks.items():
        assert abs(count - given[stack] * total / sum(given.values())) < 1.01 + len(given)
    if total == sum(given.values()):
        assert found.stacks == given
    ordered = [found.stacks[stack] for stack in sorted(given, key=given.__getitem__)]
    assert all(more >= less - 1 for less, more in pairwise(ordered))


class Frames:
    """Of a thread: what Dask reads of them."""

    def __init__(self, stack: Sequence[str]) -> None:
        self.f_back = Frames(stack[:-1]) if len(stack) > 1 else None
        self.f_lineno, self.f_lasti, self.f_globals = 4, 0, {}
        self.f_code = SimpleNamespace(
            co_name=stack[-1], co_filename="/a.py", co_firstlineno=3, co_code=b"", co_positions=list
        )


class SampledWorker:
    """Takes samples and answers as Dask's worker, by its own methods.

    Parameters
    ----------
    late
        The samples that it takes before each of its answers, and whether a cycle ends before them.
    above
        What calls all functions, as in newer releases of Dask.
    """

    scheduler_delay = 0.0

    def __init__(self, late: Sequence[tuple[bool, Sample]], above: tuple[str, ...]) -> None:
        self.profile_keys: Any = defaultdict(dask_profile.create)
        self.profile_keys_history: list[Any] = []
        self.profile_recent = dask_profile.create()
        self.profile_history: list[Any] = []
        self._late = [*late]
        self.above = above
        self.asked = 0

    def sample(self, key: str, stack: Sequence[str]) -> None:
        frame: Any = Frames((*self.above, key, *stack))
        dask_profile.process(frame, True, self.profile_recent)
        dask_profile.process(frame, True, self.profile_keys[key])

    def cycle(self, date: float | None = None) -> None:
        distributed.Worker.cycle_profile(self)  # type: ignore[arg-type]
        dated = float(len(self.profile_history)) if date is None else date
        for history in (self.profile_history, self.profile_keys_history):
            history[-1] = (dated, history[-1][1])

    async def broadcast(self, msg: dict[str, Any], **_: Any) -> dict[str, Any]:
        self.asked += 1
        if self._late:
            is_cycle, sample = self._late.pop(0)
            if is_cycle:
                self.cycle()
            self.sample(*sample)
        asked = dict(msg)
        of_worker = distributed.Worker
        ask = {"profile_metadata": of_worker.get_profile_metadata, "profile": of_worker.get_profile}
        answer: Any = ask[asked.pop("op")]
        return {"a": copy.deepcopy(await answer(self, **asked))}


Sample = tuple[str, tuple[str, ...]]
_SAMPLE = st.tuples(st.sampled_from("fgh"), st.lists(st.sampled_from("xyz"), max_size=4).map(tuple))


@given(
    cycles=st.lists(st.lists(_SAMPLE, max_size=30), min_size=5, max_size=8),
    recent=st.lists(_SAMPLE, max_size=5),
    late=st.lists(st.tuples(st.booleans(), _SAMPLE), max_size=12),
    after=st.integers(0, 3),
    above=st.sampled_from([(), ("call",)]),
    most=st.integers(1, 3),
)
@example(  # (one function runs just now, and the others in the seconds after the range)
    cycles=[[], [("f", ("x",))] * 10 + [("g", ("y",))] * 2, *[[("g", ("y",))] * 3] * 3],
    recent=[("f", ("x",))] * 9,
    late=[],
    after=3,
    above=("call",),
    most=1,
)
def test_samples_of_a_range_are_those_that_its_seconds_have(
    cycles: list[list[Sample]],
    recent: list[Sample],
    late: list[tuple[bool, Sample]],
    after: int,
    above: tuple[str, ...],
    most: int,
) -> None:
    """The last second of the range has ended, and so have some after it; one still runs."""
    worker = SampledWorker(late, above)
    for cycle in cycles:
        for sample in cycle:
            worker.sample(*sample)
        worker.cycle()
    for sample in recent:
        worker.sample(*sample)
    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    pull._rpc = worker
    stacks = Stacks()
    start, stop = 1.5, len(cycles) - after + 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_pull, "_MOST_FUNCTIONS", most)
        found = asyncio.run(pull.take(["a"], start, stop, stacks.number, TakenSeconds(start)))
    drawn = [sample for cycle in cycles[1 : len(cycles) - after] for sample in cycle]
    expected = Counter(key for key, _ in drawn)
    counts: Counter[str] = Counter()
    told: Counter[tuple[str, ...]] = Counter()
    for each in found:
        counts[each.function] += each.stacks.total()
        for path, n in stacks.named(each.stacks).items():
            told.update({path[:length]: n for length in range(1, len(path) + 1)})
    assert counts.total() == expected.total()
    assert all(counts[name] == expected[name] for name in {*counts} - {OTHERS})
    assert len(counts) == min(len(expected), most + 1)
    theirs = dask_profile.merge(
        *(tree for t, tree in worker.profile_history if start < t < stop), dask_profile.create()
    )
    # (else some samples of the second that still runs are given, too)
    ran_after = Counter(key for each in cycles[len(cycles) - after :] for key in dict(each))
    if not (recent or late) or all(ran_after[key] >= 2 for key in expected):
        for path, n in flat(theirs).items():
            assert not path or told[tuple(each.partition(";")[0] for each in path)] >= n
        exact = Counter(
            (*above, key, *stack)[:length]
            for key, stack in drawn
            for length in range(1, len(above) + len(stack) + 2)
        )
        assert all(n <= exact[path] for path, n in told.items() if len(path) > 1)
    assert worker.asked <= 1 + 2 * (most + 1)


class SampledWorkers:
    """A scheduler of workers that take samples; `answers` says who answers what."""

    def __init__(self, names: Sequence[str]) -> None:
        self.of = {name: SampledWorker([], ()) for name in names}
        self.answers: Callable[[str, dict[str, Any]], bool] = lambda name, msg: True

    async def broadcast(
        self, msg: dict[str, Any], workers: Sequence[str], **_: Any
    ) -> dict[str, Any]:
        return {
            name: (await self.of[name].broadcast(msg))["a"]
            for name in workers
            if self.answers(name, msg)
        }


@given(
    early=st.lists(
        st.tuples(st.floats(-3, LATE_SECONDS - 1), st.floats(-3, LATE_SECONDS - 1)),
        min_size=3,
        max_size=20,
    ),
    samples=st.lists(st.sampled_from("fgh"), min_size=1, max_size=40),
    looks=st.sets(st.integers(1, 20)),
)
@example(early=[(3.0, 0.0)] * 8, samples=["f"], looks={4, 6})
def test_each_second_is_taken_once_however_early_it_is_dated(
    early: list[tuple[float, float]], samples: list[str], looks: set[int]
) -> None:
    """Workers end a second each second, and date it as if they had ended it earlier."""
    workers = SampledWorkers("ab")
    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    pull._rpc = workers
    stacks, times = Stacks(), SampleTimes(0.0)
    expected: Counter[tuple[str, str, float]] = Counter()
    told: Counter[tuple[str, str, float]] = Counter()

    def look(until: float) -> None:
        if until > times.since:
            took = pull.take("ab", times.since, until, stacks.number, times.taken)
            for each in asyncio.run(took):
                assert each.stacks.total() == sum(count for _, count in each.seconds)
                assert {path[:1] for path in stacks.named(each.stacks)} == {(each.function,)}
                for date, count in each.seconds:
                    told[each.worker, each.function, date] += count
            times.since = until

    newest = dict.fromkeys("ab", 0.0)
    for second, seconds_early in enumerate(early, 1):
        for name, seconds in zip("ab", seconds_early, strict=True):
            # (a worker's dates ascend)
            newest[name] = date = max(newest[name] + 0.01, second - seconds)
            for function in samples[: second + len(name)]:
                workers.of[name].sample(function, ("x",))
                expected[name, function, date] += 1
            workers.of[name].cycle(date)
        if second in looks:
            look(second + 0.5 - LAG_SECONDS)
    look(max(*newest.values(), len(early)) + 1.0)
    assert told == expected


def test_what_a_worker_did_not_answer_is_taken_with_the_next_range() -> None:
    workers = SampledWorkers("ab")
    for second in range(1, 9):
        for worker in workers.of.values():
            worker.sample("f", ("x",))
            worker.cycle(float(second))
    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    stacks, taken = Stacks(), TakenSeconds(0.0)
    pull._rpc = workers
    workers.answers = lambda name, msg: name == "a"
    (found,) = asyncio.run(pull.take("ab", 0.0, 4.5, stacks.number, taken))
    assert (found.worker, found.stacks.total()) == ("a", 4)
    workers.answers = lambda name, msg: True
    found, late = asyncio.run(pull.take("ab", 4.5, 6.5, stacks.number, taken))
    assert [(each.worker, each.stacks.total()) for each in (found, late)] == [("a", 2), ("b", 6)]


def test_samples_that_a_worker_did_not_give_are_asked_for_again() -> None:
    workers = SampledWorkers("ab")
    for second in range(1, 8):
        for worker in workers.of.values():
            worker.sample("f", ("x",))
            worker.sample("g", ("y",))
            worker.cycle(float(second))
    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    stacks, taken = Stacks(), TakenSeconds(0.0)

    told: Counter[tuple[str, str]] = Counter()
    pull._rpc = workers
    for stop in (4.5, 6.5, 7.5):
        misses = "g" if stop == 4.5 else ""
        workers.answers = lambda name, msg, misses=misses: name == "a" or msg.get("key") != misses
        for each in asyncio.run(pull.take("ab", stop - 2.0, stop, stacks.number, taken)):
            told[each.worker, each.function] += each.stacks.total()
        assert told["a", "g"] == told["b", "f"] == int(stop)
        assert told["b", "g"] == (0 if stop == 4.5 else int(stop))


def test_a_long_range_that_a_worker_did_not_answer_is_asked_for_again() -> None:
    workers = SampledWorkers("ab")
    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    stacks, taken = Stacks(), TakenSeconds(0.0)
    for second in range(1, 80):
        for worker in workers.of.values():
            worker.sample("f", ("x",))
            worker.cycle(float(second))
    pull._rpc = workers
    workers.answers = lambda name, msg: name == "a"
    asyncio.run(pull.take("ab", 0.0, 40.5, stacks.number, taken))
    workers.answers = lambda name, msg: True
    found = asyncio.run(pull.take("ab", 40.5, 78.5, stacks.number, taken))
    assert {each.worker: each.stacks.total() for each in found} == {"a": 38, "b": 78}


def test_dates_that_no_range_has_are_not_kept() -> None:
    class Hostile:
        async def broadcast(self, msg: dict[str, Any], **_: Any) -> dict[str, Any]:
            dates = [*range(10**14, 10**14 + 500), float("nan"), -5.0, msg["stop"]]
            if msg["op"] == "profile_metadata":
                return {"a": {"keys": [[date, {"f": 1}] for date in dates]}}
            return {"a": node("root", 1, node("f", 1))}

    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    pull._rpc = Hostile()
    taken = TakenSeconds(0.0)
    found = asyncio.run(pull.take(["a"], 0.0, 5.0, Stacks().number, taken))
    assert (found, taken._dates, taken._owed) == ([], {}, {})


@given(
    st.dictionaries(
        st.integers(0, 500),
        st.tuples(st.floats(0, 10), st.floats(0.9, 5)),
        min_size=1,
        max_size=60,
    ),
    st.floats(0, 12),
)
def test_workers_are_asked_from_few_times(
    spells: dict[int, tuple[float, float]], start: float
) -> None:
    left = {str(worker): (after, after + lasts) for worker, (after, lasts) in spells.items()}
    looks = 0
    while left:
        looks += 1
        found = common_starts(left, start)
        asked = {worker: at for at, workers in found.items() for worker in workers}
        assert sum(map(len, found.values())) == len(asked), "each worker is asked once"
        assert len(found) <= 4
        assert all(left[worker][0] < at <= left[worker][1] for worker, at in asked.items())
        on_time = {name for name, (after, first) in left.items() if after < start <= first}
        assert {name for name, at in asked.items() if at == start} >= on_time
        left = {name: spell for name, spell in left.items() if name not in asked}
        late = [left_first for _, left_first in left.values()]
        assert all(at <= min(late, default=at) for at in found if at != start), "oldest first"
    # (each but the first look asks from four times, which lie as far apart as a spell lasts)
    assert looks <= 2 + 15 / 0.9 / 4


async def _many_functions() -> None:
    class Told:
        """A scheduler whose workers have sampled twenty functions."""

        async def broadcast(self, msg: dict[str, Any], **asked: Any) -> dict[str, Any]:
            assert asked["workers"] == ["a"]
            if msg["op"] == "profile_metadata":
                return {"a": {"keys": [[1.5, {f"f{n}": n + 1 for n in range(20)}]]}}
            # (one second more than was asked for, whose samples are in another function)
            after = msg["start"] == msg["stop"]
            own = range(20) if msg["key"] is None else [int(msg["key"][1:])]
            trees = [node(f"f{n}", n + 1, node("leaf", 0)) for n in own if not after]
            trees.append(node("late", 2, node("leaf", 0)))
            return {"a": node("root", sum(each["count"] for each in trees), *trees)}

    pull = SamplePull("tcp://127.0.0.1:1", None, 1.0)
    pull._rpc = Told()
    stacks = Stacks()
    found = await pull.take(["a"], 1.0, 2.0, stacks.number, TakenSeconds(1.0))
    counts = {each.function: sum(each.stacks.values()) for each in found}
    assert not any("late" in path for each in found for path in stacks.named(each.stacks))
    assert counts == {**{f"f{n}": n + 1 for n in range(8, 20)}, OTHERS: 36}


def test_many_functions_are_some_and_the_rest() -> None:
    asyncio.run(_many_functions())


class SampledLog:
    """A viewer's log, and its workers' samples: how often they were asked for; what fails."""

    def __init__(self, fails: str = "") -> None:
        self.epoch, self.worked_at = time.time() - 200.0, time.time() - 100.0
        self.asked = 0
        self.stack = None
        self._fails = fails

    def present(self) -> list[str]:
        return ["a"]

    async def take(self, *given: Any) -> list[Any]:
        self.asked += 1
        if self._fails == "take":
            raise ValueError("they fail")
        return []

    async def close(self) -> None:
        pass

    def write_samples(self, found: list[Any]) -> None:
        if self._fails == "write":
            raise ValueError("they fail")

    def commit(self) -> None:
        pass

    def viewer(self) -> Any:
        seen = unreached_viewer()
        seen._wake, seen._samples_turn = asyncio.Event(), asyncio.Lock()
        seen.status, seen.log, seen._samples = "watching", self, self
        return seen


async def _some_turns() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def _is_let_wait() -> None:
    sampled = SampledLog()
    seen = sampled.viewer()
    looks: list[float] = []

    def due(now: float, worked_at: float) -> None:
        looks.append(now)
        # (what does not wait may let nobody else run)
        assert len(looks) == 1

    seen._sample_times = lambda log: SimpleNamespace(due=due)
    seen._wake.set()
    waiting = [asyncio.ensure_future(seen._sample())]
    waiting.append(asyncio.ensure_future(seen._take_samples_until_now()))
    await _some_turns()
    assert not any(each.done() for each in waiting)
    assert len(looks) == 1 and not sampled.asked
    for each in waiting:
        each.cancel()


def test_what_wakes_the_pulls_does_not_wake_who_waits_for_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(viewer, "_TICK_SECONDS", 10 * LIMIT_SECONDS)
    monkeypatch.setattr(viewer, "LAG_SECONDS", 10 * LIMIT_SECONDS)
    asyncio.run(_is_let_wait())


async def _are_asked_once(sampled: SampledLog) -> None:
    sampling = asyncio.ensure_future(sampled.viewer()._sample())
    await _some_turns()
    assert not sampling.done() and sampled.asked == 1
    sampling.cancel()


@pytest.mark.parametrize("fails", ["take", "write"])
def test_samples_that_cannot_be_read_are_asked_for_again_after_a_pause(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "_TICK_SECONDS", 0.0)
    monkeypatch.setattr(viewer, "PAUSE_SECONDS", 10 * LIMIT_SECONDS)
    with pytest.warns(RuntimeWarning, match="could not be read: they fail"):
        asyncio.run(_are_asked_once(SampledLog(fails)))


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionError("it is gone")])
def test_a_scheduler_that_does_not_answer_is_said_by_the_pulls_alone(error: OSError) -> None:
    async def ask() -> None:
        seen = SampledLog().viewer()
        await seen._no_samples(error)
        # It has answered the pulls since: only samples cannot be had.
        with pytest.warns(RuntimeWarning, match="could not be read"):
            await seen._no_samples(error)
        # Those that are taken after it are no trouble.
        await seen._take_samples(time.time())
        seen._said_of_samples = ""
        await seen._no_samples(error)

    asyncio.run(ask())
