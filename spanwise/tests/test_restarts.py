"""The pauses between the starts of a process that keeps dying."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.processes.restarts import (
    FIRST_PAUSE_SECONDS,
    GOOD_LIFE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    PATIENCE_SECONDS,
    Restarts,
)

#: Seconds that one lived, or None: it could not be started.
LIVES = st.lists(st.none() | st.floats(0, 10 * GOOD_LIFE_SECONDS), max_size=30)


@given(LIVES)
def test_pauses_double_until_one_has_lived_well(lives: list[float | None]) -> None:
    restarts = Restarts()
    now, in_a_row = 0.0, 0
    for lived in lives:
        if lived is None:
            pause = restarts.failed()
        else:
            now += lived
            if lived > GOOD_LIFE_SECONDS:
                in_a_row = 0
            pause = restarts.died(lived, now)
            assert abs(restarts.pause_left(now) - pause) < 1e-6
            assert restarts.pause_left(now + 2 * pause) == 0
        assert pause == min(FIRST_PAUSE_SECONDS * 2**in_a_row, LONGEST_PAUSE_SECONDS)
        in_a_row += 1
        assert restarts.quick_deaths == in_a_row
        now += pause


def test_who_asks_is_told_only_of_a_pause_that_is_long() -> None:
    restarts = Restarts()
    now = 100.0
    while (pause := restarts.died(0.0, now)) <= PATIENCE_SECONDS:
        assert restarts.sentence(now) is None
        now += pause
    told = restarts.sentence(now)
    assert told is not None and f"started again in {pause:.0f} s" in told
    assert restarts.sentence(now + pause) is None
