"""What a progress bar shows, without a cluster."""

from __future__ import annotations

import doctest
import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.diagnostics import counts as shown
from spanwise.diagnostics.counts import Counts, Error, Group, Pace
from spanwise.diagnostics.notebook import markup
from spanwise.shown_text import shown_text

_names = st.text(max_size=12)
_few = st.integers(0, 1000)


@st.composite
def groups(draw: st.DrawFn) -> Group:
    parts = [draw(_few) for _ in range(7)]
    return Group(draw(_names), sum(parts) + draw(_few), *parts)


many = st.lists(groups(), max_size=60)


def test_examples() -> None:
    assert doctest.testmod(shown).failed == 0


@given(many, st.integers(2, 30))
def test_bars_are_few_and_show_every_task(drawn: list[Group], most: int) -> None:
    bars = shown.ordered(drawn, most)
    assert len(bars) <= most
    assert shown.summed("all", bars) == shown.summed("all", drawn)
    own = [bar for bar in bars if bar.name != shown.OTHERS]
    assert [bar.total for bar in own] == sorted((bar.total for bar in own), reverse=True)
    if shown.OTHERS not in {group.name for group in drawn}:
        assert {bar.name for bar in own} <= {group.name for group in drawn}


@given(groups())
def test_only_all_are_a_hundred_per_cent(group: Group) -> None:
    said = int(shown.percent_text(group))
    assert 0 <= said <= 100
    assert (said == 100) == (group.left == 0)


@given(st.floats(0.001, 100), st.integers(2, 300), st.integers(1, 10_000))
def test_a_steady_pace_tells_exactly(step: float, steps: int, left: int) -> None:
    pace = Pace()
    for i in range(steps):
        pace.saw(step * (i + 1), 7 + 3 * i)
    assert pace.seconds_left(left) == pytest.approx(left * step / 3)


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**6)), max_size=400), st.integers(0, 10)
)
def test_the_time_left_is_never_negative(stamps: list[tuple[float, int]], left: int) -> None:
    pace = Pace()
    for elapsed, ended in stamps:
        pace.saw(elapsed, ended)
        said = pace.seconds_left(left)
        assert said is None or said >= 0
    assert pace.seconds_left(0) == 0
    assert len(pace._stamps) <= shown._MOST_STAMPS


def test_what_had_ended_before_says_nothing_of_the_pace() -> None:
    pace = Pace()
    pace.saw(0.1, 1000)
    assert pace.seconds_left(10) is None
    pace.saw(1.1, 1000)
    assert pace.seconds_left(10) is None  # nothing ended: no rate
    pace.saw(2.1, 1001)
    assert pace.seconds_left(10) == pytest.approx(20)


def test_a_pace_that_changed_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    for second in range(1, 11):
        pace.saw(second, 100 * second)
    for second in range(11, 41):
        pace.saw(second, 1000 + (second - 10))
    assert pace.seconds_left(10) == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0004, "0 s"),
        (0.012, "12 ms"),
        (0.9996, "1.00 s"),
        (9.994, "9.99 s"),
        (9.996, "10.0 s"),
        (99.96, "100 s"),
        (119.4, "119 s"),
        (119.6, "2 min 00 s"),
        (7199.6, "2 h 00 min"),
        (48 * 3600, "2 d 00 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert shown.duration_text(seconds).replace("\u00a0", " ") == text


@given(many, st.floats(0, 1e7), st.none() | st.floats(0, 1e7), st.integers(0, 60), st.integers())
def test_a_line_fits_its_terminal(
    drawn: list[Group], elapsed: float, left: float | None, width: int, columns: int
) -> None:
    columns = abs(columns) % 200
    line = shown.line_of(Counts(tuple(drawn)), elapsed, left, width, columns)
    assert len(line) <= max(0, columns - 1)
    assert line.isprintable() or "\u00a0" in line


@given(_names, _names, st.text(max_size=700))
def test_errors_are_one_line_that_moves_no_cursor(key: str, kind: str, message: str) -> None:
    said = shown.error_text(Error(key, kind, message))
    assert len(said) <= 500
    # (joiners of emoji are for formatting, and not hidden)
    assert all(char.isprintable() or char == "\u00a0" or category(char) == "Cf" for char in said)
    assert shown_text(said) == said


@given(many, st.text(max_size=50), st.text(max_size=50))
def test_texts_are_texts_in_the_markup(drawn: list[Group], message: str, why: str) -> None:
    error = Error("<script>", f"<b>{message}", f"<img src=x onerror=alert(1)>{message}")
    said = markup(Counts(tuple(drawn), error, why), 1.0, None)
    tags = set(re.findall(r"<\s*/?\s*([a-zA-Z!]+)", said))
    assert tags <= {"div", "span", "b"}
    assert "&lt;img src=x onerror=alert(1)&gt;" in said
    assert said.count("<b>") == 1


def test_kinds_of_ends_are_told_apart() -> None:
    group = Group("x", 10, done=1, failed=2, lost=1, cancelled=3, skipped=1, again=1)
    assert [kind for kind, _ in shown.problems(group)] == [
        "failed",
        "lost",
        "cancelled",
        "skipped",
        "again",
    ]
    assert (group.ended, group.left) == (8, 2)
    said = markup(Counts((group,)), 1.0, 2.0)
    red = re.findall(r"error-color1[^>]*>· ([^<]*)<", said)
    assert red == ["2 failed", "1 lost"]
    assert "3 cancelled" in said and "1 computed again" in said


def test_the_state_in_a_word() -> None:
    def word(**how: int) -> str:
        return shown.state_text(Counts((Group("x", 4, **how),)))  # type: ignore[arg-type]

    assert [word(done=3), word(done=4), word(done=3, failed=1), word(done=3, cancelled=1)] == [
        "Computing",
        "Finished",
        "Failed",
        "Cancelled",
    ]
    assert shown.state_text(Counts()) == "No tasks"
    assert shown.state_text(Counts(stopped="gone")) == "Stopped"
