"""In which seconds samples are counted: in none of a thread more than it has."""

from __future__ import annotations

from collections import Counter
from math import floor
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.measure.looks import LONGEST, LOOK_SECONDS, LookTimes
from spanwise.measure.sample_places import Places, SampleKey
from spanwise.measure.sampler import INTERVAL
from spanwise.records.enumerations import SAMPLE_BLOCKED, SAMPLE_ON_CORE
from spanwise.tests.test_sampler import FUNCTION, Turn, Turns, row

A, B = row(7, 1), row(8, 2)


def key(second: int, thread: int = 0, function: int = 1) -> SampleKey:
    return second, thread, 0, function, 0, SAMPLE_ON_CORE


def by_thread_and_second(counts: dict[SampleKey, int]) -> Counter[tuple[int, int]]:
    found = Counter[tuple[int, int]]()
    for (second, thread, *_), n in counts.items():
        found[thread, second] += n
    return found


@given(
    st.lists(
        st.dictionaries(
            st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 3)),
            st.floats(0.0, 1.5),
            max_size=12,
        ),
        max_size=8,
    ),
    st.sampled_from([0.001, 0.01, 0.015, 0.1, 0.3]),
)
def test_no_second_has_more_than_there_is_and_no_sample_is_lost(batches: Any, interval: float):
    """Also where those of a second come in several batches, as of a look that is late."""
    places = Places(interval)
    whole: Counter[SampleKey] = Counter()
    given_ = Counter[tuple[int, int]]()
    for batch in batches:
        samples = {
            key(second, thread, function): int(seconds / interval)
            for (second, thread, function), seconds in batch.items()
        }
        placed = places.place(samples)
        assert all(n > 0 for n in placed.values())
        whole.update(placed)
        for (_, thread, _, function, _, _), n in samples.items():
            given_[thread, function] += n
    for (_, second), n in by_thread_and_second(whole).items():
        most = floor((second + 1) / interval + 1e-6) - floor(second / interval + 1e-6)
        assert n <= most
    found = Counter[tuple[int, int]]()
    for (_, thread, _, function, _, _), n in whole.items():
        found[thread, function] += n
    assert +found == +given_


def test_samples_that_fit_stay_where_they_are() -> None:
    places = Places(INTERVAL)
    assert places.place({key(7): 100, key(8): 99}) == {key(7): 100, key(8): 99}
    # The time that they stand for was mostly before.
    assert places.place({key(9): 101}) == {key(9): 100, key(8): 1}
    # A thread that was never idle: the second behind has room.
    assert places.place({key(6): 100, key(10): 104}) == {key(6): 100, key(10): 100, key(11): 4}


def test_no_function_has_samples_in_a_second_in_which_it_did_not_run() -> None:
    """Else it is told of where it cannot have been: that thread ran another one there."""
    places = Places(INTERVAL)
    begun = places.place({key(6, function=2): 50, key(7): 101, key(8): 40})
    assert begun == {key(6, function=2): 50, key(7): 100, key(8): 41}
    # It ends there, and another goes on.
    assert places.place({key(9): 60, key(9, function=2): 43}) == {
        **{key(9): 60, key(9, function=2): 40},
        **{key(6, function=2): 3},
    }
    assert places.place({key(10): 101}) == {key(10): 100, key(8): 1}


def test_what_is_known_of_seconds_and_threads_is_bounded() -> None:
    places = Places(INTERVAL)
    for second in range(2_000):
        places.place({key(second, thread=second // 50): 100})
    assert sum(len(filled) for filled in places._filled.values()) < 500


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0.02, 6.0)), min_size=1, max_size=12),
    st.lists(st.floats(0.0, 20.0), min_size=1, max_size=6),
    st.floats(LOOK_SECONDS, 0.1),
    st.integers(0, 2**32),
)
def test_samples_lie_in_the_seconds_of_their_time_however_late_looks_are(
    drawn: list[tuple[bool, float]], lates: list[float], stretch: float, seed: int
) -> None:
    """Of tasks that follow each other without a break; one function computes, one sleeps."""
    turns = Turns(
        [
            (Turn(A), SAMPLE_ON_CORE, seconds) if computes else (Turn(B), SAMPLE_BLOCKED, seconds)
            for computes, seconds in drawn
        ]
    )
    times = LookTimes(0.0, stretch, seed=seed)
    turns.sampler.awaits(times)
    whole = turns.turns[-1][1]
    chance = Random(seed)
    found = Counter[tuple[int, int]]()

    def take() -> None:
        for t, _, _, function, _, _, n in turns.sampler.rows():
            found[floor(t), function] += n

    while times.due < whole:
        # Mostly in time; now and then somebody keeps the lock, or the looking thread is busy.
        late = chance.choice(lates) if chance.random() < 0.02 else 0.0
        turns.go_to(min(whole - 1e-9, times.due + late))
        turns.sampler.look(turns.now, times.take(turns.now), times.earliest(turns.now))
        if chance.random() < 0.1:
            take()
    turns.go_to(whole)
    turns.sampler.settle(whole)
    take()
    seconds = Counter[int]()
    for (second, _), n in found.items():
        seconds[second] += n
    # (a run of two samples may have none: no look was due in it)
    assert max(seconds.values(), default=0) <= 1 / INTERVAL
    # All of its time, but what one look stands for, and parts of samples that are carried over.
    slack = (2 * stretch + 3 * INTERVAL) / INTERVAL
    true: dict[int, float] = {}
    for (function, _), samples in turns.true().items():
        true[function] = true.get(function, 0.0) + samples
    for function, samples in true.items():
        of_function = sum(n for (_, of), n in found.items() if of == function)
        assert of_function == pytest.approx(samples, abs=slack + len(drawn))
    for second in range(1, floor(whole) - 1):
        assert seconds[second] == pytest.approx(100, abs=2 * slack + len(drawn))


def test_a_task_that_keeps_the_lock_for_half_a_minute_has_its_time() -> None:
    """No look comes before it has ended."""
    turns = Turns([(Turn(A), SAMPLE_ON_CORE, 0.5), (Turn(B), SAMPLE_ON_CORE, 30.0)])
    times = LookTimes(0.0, LOOK_SECONDS, seed=1)
    turns.sampler.awaits(times)
    turns.go_to(30.5 - 1e-6)
    turns.sampler.look(turns.now, times.take(turns.now), times.earliest(turns.now))
    found = turns.found()
    assert found[A[FUNCTION], SAMPLE_ON_CORE] == pytest.approx(50, abs=3)
    assert found[B[FUNCTION], SAMPLE_ON_CORE] == pytest.approx(3000, abs=3)


def test_of_a_process_that_was_stopped_for_an_hour_there_is_a_minute() -> None:
    turns = Turns([(Turn(A), SAMPLE_BLOCKED, 3600.0)])
    times = LookTimes(0.0, LOOK_SECONDS, seed=1)
    turns.sampler.awaits(times)
    turns.go_to(3600.0 - 1e-6)
    turns.sampler.look(turns.now, times.take(turns.now), times.earliest(turns.now))
    found = turns.found()
    assert sum(found.values()) * INTERVAL == pytest.approx(LONGEST, abs=0.1)
