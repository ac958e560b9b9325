"""The wait for a core, read by the thread itself and by who looks at it."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from spanwise.measure import clocks
from spanwise.measure.clocks import CoreWait, seconds_waited
from spanwise.measure.fine import Ledger
from spanwise.measure.names import Names
from spanwise.measure.waits import Waits


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
def test_a_peek_says_what_a_reading_says() -> None:
    wait = CoreWait()
    if wait.fd is None:
        pytest.skip("the kernel keeps no such statistics")
    for _ in range(20):
        before, peeked, after = wait.read(), seconds_waited(wait.peek()), wait.read()
        assert before <= peeked <= after


def test_a_peek_does_without_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = CoreWait()
    monkeypatch.setattr(clocks, "_held_pread", lambda: None)
    assert seconds_waited(wait.peek()) == wait.read() or wait.fd is not None
    # A call that fails says so in the way of Python.
    if wait.fd is not None:
        monkeypatch.setattr(clocks, "_held_pread", lambda: lambda *_: -1)
        assert wait.read() <= seconds_waited(wait.peek())
        fd, wait.fd = wait.fd, os.open(os.devnull, os.O_RDONLY)
        with pytest.raises(IndexError):
            seconds_waited(wait.peek())
        os.close(fd)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is a reading")
def test_a_peek_keeps_the_interpreter_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = CoreWait()
    if wait.fd is None:
        pytest.skip("the kernel keeps no such statistics")
    held: Any = clocks._held_pread()
    # Calls of Python's own functions keep it, all others of ctypes let it go.
    assert held._flags_ & ctypes._FUNCFLAG_PYTHONAPI  # type: ignore[attr-defined]

    def pread(*_: object) -> bytes:
        raise AssertionError("os.pread lets the lock go")

    monkeypatch.setattr(os, "pread", pread)
    assert seconds_waited(wait.peek()) >= 0.0


def paused(run: Callable[[], object], at: int, meanwhile: Callable[[], object]) -> bool:
    """Run `run`, and `meanwhile` in another thread before line `at` of those that it runs.

    Returns whether there was such a line in :meth:`CoreWait.peek`.
    """
    lines = -1

    def traced(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code is not CoreWait.peek.__code__:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                other = threading.Thread(target=meanwhile)
                other.start()
                other.join()
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        run()
    finally:
        sys.settrace(before)
    return lines >= at


def test_two_threads_may_peek_and_interrupt_each_other_anywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread peeks at the end of a step, and who looks at it in a thread of its own."""
    said = 0

    def pread(_: object, buffer: Any, *__: object) -> int:
        nonlocal said
        said += 1
        buffer.value = b"0 %d 0" % said
        return 1

    monkeypatch.setattr(clocks, "_held_pread", lambda: pread)
    line = 0
    is_there = True
    while is_there:
        wait = CoreWait()
        if wait.fd is None:
            pytest.skip("the kernel keeps no such statistics")
        peeked: list[float] = []

        def peek(wait: CoreWait = wait, peeked: list[float] = peeked) -> None:
            peeked.append(seconds_waited(wait.peek()))

        said = 0
        is_there = paused(peek, line, peek)
        # (who was interrupted may have been so with what it had read)
        assert all(0 < each <= said * 1e-9 for each in peeked), line
        for _ in range(2):
            peek()
            assert peeked[-1] == said * 1e-9, line
        line += 1
    # Also in the middle of its first peek.
    assert line > 5


class CountedWaits(Waits):
    """A thread of which the kernel says what the test does."""

    def __init__(self, ledger: Ledger) -> None:
        self.switched = self.computed = self.queued = 0.0
        super().__init__(ledger)

    def read(self) -> float:
        return self.queued

    def _stamp(self) -> None:
        self._switches, self._others = int(self.switched), self.computed


@pytest.mark.parametrize(
    ("seconds", "cpu", "queued", "sleeps", "computed", "least", "most"),
    [
        # Cores for all: who had the lock computed all the time, and was never in the queue.
        (1.0, 0.5, 0.0, 100, 0.5, 0.25, 0.5),
        (1.0, 0.0, 0.0, 200, 0.1, 0.1, 0.1),
        # What sleeps once, beside what computes.
        (1.0, 0.0, 0.0, 1, 1.0, 0.0025, 0.005),
        # Cores are short: who had the lock was in the queue most of the time, too.
        (9.6, 0.4, 6.8, 480, 0.4, 1.2, 2.4),
        (9.6, 0.4, 6.8, 4800, 0.4, 0.4 * 9.6 / 2.8, 2.4),
        # What reads a hundred times, beside what hardly computes.
        (1.5, 0.01, 1.0, 100, 0.005, 0.015, 0.49),
        # Nobody computed, whether cores were there or not.
        (1.0, 0.5, 0.0, 1000, 0.0, 0.0, 0.0),
        (3.0, 0.5, 1.0, 1000, 0.0, 0.0, 0.0),
        (3.0, 0.0, 1.0, 1000, 0.0, 0.0, 0.0),
        # Others took a hundredth of the CPU, and so of the queue.
        (3.0, 0.5, 1.0, 1000, 0.005, 0.005 * 3 / 2, 0.015),
    ],
)
def test_a_wait_for_the_lock_is_at_most_what_others_may_have_held_it(
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    cpu: float,
    queued: float,
    sleeps: int,
    computed: float,
    least: float,
    most: float,
) -> None:
    # (the interval is the one of the process, at the time)
    monkeypatch.setattr(sys, "getswitchinterval", lambda: 0.005)
    ledger, names = Ledger(), Names()
    waits = CountedWaits(ledger)
    waits.mark()
    waits.switched, waits.computed, waits.queued = sleeps, computed, queued
    assert waits.of_part(3, 2, seconds, cpu) == queued
    told = {row[4]: row[6] for row in ledger.rows(names)}
    middle, error = (told.get(names.id_of(name), 0.0) for name in ("gil", "gil-error"))
    assert (middle - error, middle + error) == pytest.approx((least, most), abs=1e-9)
