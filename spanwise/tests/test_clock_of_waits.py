"""The wait for a core, read by the thread itself and by who looks at it."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import pytest

from spanwise.measure import clocks
from spanwise.measure.clocks import CoreWait, seconds_waited


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
