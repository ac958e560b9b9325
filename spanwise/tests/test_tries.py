"""The pauses between tries to reach an observer, and what is told of its refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.source.observer_link import refused_sentence
from spanwise.source.tries import (
    FIRST_PAUSE_SECONDS,
    GOOD_SECONDS,
    LASTING_REFUSALS,
    LONGEST_PAUSE_SECONDS,
    PASSING_REFUSALS,
    Tries,
    refusal_in,
)
from spanwise.wire.errors import BrokenFrame, HandshakeRefused, LinkClosed, RefusedThere

SENTENCES = st.sampled_from(["Block 7 is wrong.", "Block 8 is wrong.", ""])
CODES = st.sampled_from(["secret", "protocol", "broken-frame", "memory"])
ERRORS = st.one_of(
    st.none(),
    st.just(LinkClosed("The connection broke.")),
    st.just(ConnectionResetError()),
    SENTENCES.map(BrokenFrame),
    st.builds(RefusedThere, SENTENCES, CODES),
)
#: What ended a try that was never open.
NEVER_OPEN = st.tuples(
    st.one_of(ERRORS, st.builds(HandshakeRefused, SENTENCES, CODES)), st.none(), st.just(False)
)
#: In eighths, which add up exactly: 60 s behind 72.4 s would be a little less than 60.
HELD = st.integers(0, round(8 * 3 * GOOD_SECONDS)).map(lambda eighths: eighths / 8)
#: The same for a link that was, how long that held, and whether it took a block.
OPEN = st.tuples(ERRORS, HELD, st.booleans())


@example([(None, 72.375, False), (BrokenFrame("Block 7 is wrong."), GOOD_SECONDS, True)])
@given(st.lists(NEVER_OPEN | OPEN, max_size=40))
def test_pauses_double_until_a_link_was_good_and_each_refusal_is_told_once(
    ends: list[tuple[Exception | None, float | None, bool]],
) -> None:
    tries = Tries()
    now, tries_in_a_row, refusals = 0.0, 0, 0
    told: tuple[bool, str] | None = None
    for error, held, took in ends:
        if held is not None:
            tries.opened(now)
            now += held
            if took:
                tries.took()
        refusal = refusal_in(error) if error else None
        was_good = held is not None and (refusal is None or held >= GOOD_SECONDS)
        if was_good and took:
            tries_in_a_row = 0
        if was_good and refusal is None:
            refusals, told = 0, None
        answer = tries.ended(error, now)
        if refusal is None:
            assert answer is None
        else:
            refusals += 1
            is_due = refusal.code in LASTING_REFUSALS or refusals >= PASSING_REFUSALS
            # By its kind: what a sentence says of numbers changes from try to try.
            kind = (refusal.by_us, refusal.code)
            is_told = is_due and kind != told
            assert answer == (replace(refusal, was_good=was_good) if is_told else None)
            told = kind if is_due else told
        assert tries.pause() == min(FIRST_PAUSE_SECONDS * 2**tries_in_a_row, LONGEST_PAUSE_SECONDS)
        tries_in_a_row += 1


@pytest.mark.parametrize("held", [0.5 * GOOD_SECONDS, 1.1 * GOOD_SECONDS])
def test_who_refuses_again_and_again_is_told_of_however_late_each_time(held: float) -> None:
    tries = Tries()
    told = []
    for n in range(2 * PASSING_REFUSALS):
        tries.opened(1000.0 * n)
        tries.took()
        told.append(tries.ended(RefusedThere("Enough.", "broken-frame"), 1000.0 * n + held))
    (refusal,) = [each for each in told if each is not None]
    assert told.index(refusal) == PASSING_REFUSALS - 1
    assert ("no panel can show it" in refused_sentence(refusal, False)) is not refusal.was_good
    assert refusal.was_good is (held > GOOD_SECONDS)


def test_what_one_refuses_without_a_sentence_says_so() -> None:
    refusal = refusal_in(RefusedThere("", "memory"))
    assert refusal is not None
    assert refusal.sentence == "The other side refused, and did not say why."
