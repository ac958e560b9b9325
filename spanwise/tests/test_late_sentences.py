"""What is said of tasks that are not done, by what the scheduler answers: without a cluster."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.client import late
from spanwise.client.entries import FINISHED, Entry
from spanwise.client.late import LEAST_SECONDS, Late, not_done
from spanwise.client.peers import results_late
from spanwise.client.waiting import as_completed
from spanwise.errors import ClusterError

TOLD = "No worker has GPU=2, as x needs it."


class Asked:
    """A session whose scheduler answers at once."""

    def __init__(self, *whys: str | Exception | None) -> None:
        self.whys = [*whys]
        self.questions = 0
        self.late = Late(self, lambda question: None)

    def open_request(self, answer: str, answers: Any = None) -> tuple[int, Any]:
        self.questions += 1
        why = self.whys.pop(0)
        if why is not None:
            answers.put(why if isinstance(why, Exception) else _answer(why))
        return self.questions, answers

    def close_request(self, request: int) -> None:
        """Nothing is kept of it."""

    def sleep(self, waiter: Any, timeout: float | None, late: Any) -> bool:
        return bool(waiter.wait(timeout))

    async def sleep_in_loop(self, woken: asyncio.Event, late: Any) -> None:
        await woken.wait()

    def when_done(self, *_: Any) -> None:
        """None of them is ever done."""


def _answer(why: str, standing: str = "") -> Any:
    return SimpleNamespace(fields={"why": why, "standing": standing})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "ANSWER_SECONDS", 0.01)


def test_one_is_told_of_as_one() -> None:
    assert [
        not_done(1, 5.0, 1),
        not_done(1, 0.25, 3),
        not_done(3, 2.5, 3),
        not_done(1200, 60.0, 3000),
        not_done(1, 5.0),
        not_done(6, 5.0),
        # (it was done while the sentence was made, and yet too late)
        not_done(0, 5.0, 1),
    ] == [
        "1 task was not done after 5 s",
        "1 of 3 tasks was not done after 0.25 s",
        "3 of 3 tasks were not done after 2.5 s",
        "1,200 of 3,000 tasks were not done after 60 s",
        "1 task was not done after 5 s",
        "6 tasks were not done after 5 s",
        "1 task was not done after 5 s",
    ]
    assert str(results_late(1)) == "1 result has not come in time."
    assert str(results_late(1200)) == "1,200 results have not come in time."


def test_what_was_told_before_is_the_reason_only_if_no_answer_comes() -> None:
    said = f". The scheduler said 0 s ago: {TOLD}"
    for answer, sentence in {
        None: said,
        ClusterError("it has gone"): said,
        "x runs.": ". x runs.",
        # All is done, and the report of it under way.
        "": "",
    }.items():
        session = Asked(answer, answer)
        session.late.note(8, TOLD)
        entry = Entry("x", 7)
        assert session.late.why([entry], 1.0) == sentence
        assert asyncio.run(session.late.why_in_loop([entry], 1.0)) == sentence


def test_who_asks_for_the_same_over_and_over_gets_the_last_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Asked("x runs.", "y runs.", "x is done.")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for _ in range(5):
        assert session.late.why([Entry("x", 1)], LEAST_SECONDS) == ". x runs."
        assert asyncio.run(session.late.why_in_loop([Entry("x", 1)], 1.0)) == ". x runs."
    assert session.questions == 1
    monkeypatch.setattr(time, "monotonic", lambda: now + 0.3)
    old = ". x runs. (So it was 0.3 s ago.)"
    assert session.late.why([Entry("x", 1)], LEAST_SECONDS) == old
    # Of other tasks nothing is known yet; and an answer does not last.
    assert session.late.why([Entry("y", 2)], LEAST_SECONDS) == ". y runs."
    monkeypatch.setattr(time, "monotonic", lambda: now + 2.0)
    assert session.late.why([Entry("x", 1)], LEAST_SECONDS) == ". x is done."


@pytest.mark.parametrize("in_loop", [False, True])
def test_as_completed_asks_once_after_the_end(
    in_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "_ANSWER_LASTS_SECONDS", 0.0)
    session = Asked(*["x runs."] * 9)
    coming: Any = as_completed(timeout=LEAST_SECONDS)
    coming._session = session
    entry = Entry("x", 1)
    coming._coming[0] = SimpleNamespace(_entry=entry, client=SimpleNamespace(_session=session))
    coming._pending = 1
    session.wait_in_loop = lambda: None  # type: ignore[attr-defined]
    said = []
    for _ in range(5):
        with pytest.raises(TimeoutError) as caught:
            asyncio.run(anext(coming)) if in_loop else next(coming)
        said.append(str(caught.value))
    late_one = "1 task was not done after 0.25 s"
    assert said == [f"{late_one}. x runs.", *[late_one] * 4]
    assert session.questions == 1


#: Two notices, as the scheduler joins them.
HELD = "2 tasks wait for a thread, and for 10 s none has come free."
STANDING = f"{TOLD} {HELD}"


class Standing(Asked):
    """One whose scheduler says that what users were told is still so."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        #: What happens as soon as the answer has come.
        self._then = then

    def open_request(self, answer: str, answers: Any = None) -> tuple[int, Any]:
        self.questions += 1
        answers.put(_answer("x waits.", STANDING))
        return self.questions, answers

    def close_request(self, request: int) -> None:
        then, self._then = self._then, lambda: None
        then()


class Wakes:
    """Wakes who waits without a limit; something happens as the wait begins."""

    def __init__(self, happens: Callable[[], object] = lambda: None) -> None:
        self._happens = happens
        self._waits = 0

    def wait(self, timeout: float | None) -> bool:
        self._waits += 1
        if self._waits == 1:
            self._happens()
        return timeout is None


def reminded(
    session: Asked,
    in_loop: bool,
    entries: Callable[[], list[Entry]],
    happens: Callable[[], object] = lambda: None,
) -> list[str]:
    """What users are told in a long wait."""

    async def in_a_loop() -> None:
        woken = asyncio.Event()
        coming = asyncio.create_task(session.late.wait_in_loop(woken, entries))
        await asyncio.sleep(0)  # (it has begun)
        happens()
        while not session.questions:
            await asyncio.sleep(0.01)
        # What the answer leads to is done in the turns that follow on it.
        for _ in range(20):
            await asyncio.sleep(0)
        woken.set()
        await coming

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if in_loop:
            asyncio.run(in_a_loop())
        else:
            assert session.late.wait(Wakes(happens), None, entries)
    return [str(each.message) for each in told]


@pytest.fixture
def _lasts_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "REMIND_SECONDS", LEAST_SECONDS)
    monkeypatch.setattr(late, "ANSWER_SECONDS", 60.0)


@pytest.mark.usefixtures("_lasts_soon")
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_wait_repeats_what_was_not_told_in_it_whatever_else_was(in_loop: bool) -> None:
    for came, repeated in {
        (): [STANDING],
        ("Worker worker-0 has written 1 GB to disk.",): [STANDING],
        (TOLD,): [HELD],
        (HELD, "Worker worker-0 has written 1 GB to disk."): [TOLD],
        (TOLD, HELD): [],
    }.items():
        session = Standing()
        session.late.note(8, STANDING)  # (before it)
        notes = [*came]

        def happens(session: Asked = session, notes: list[str] = notes) -> None:
            for each in notes:
                session.late.note(8, each)

        assert reminded(session, in_loop, lambda: [Entry("x", 1)], happens) == repeated


@pytest.mark.usefixtures("_lasts_soon")
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_wait_goes_by_the_answer_to_its_own_question(in_loop: bool) -> None:
    # Another thread is answered about other tasks meanwhile.
    session = Standing(lambda: session.late.why([Entry("y", 2)], 1.0))
    assert reminded(session, in_loop, lambda: [Entry("x", 1)]) == [STANDING]
    assert session.questions == 2

    def one_is_done() -> list[Entry]:
        """It ends after they were looked at, and before the question."""
        x, y = Entry("x", 1), Entry("y", 2)
        y.status = FINISHED
        return [x, y]

    assert reminded(Standing(), in_loop, one_is_done) == [STANDING]
