"""Threads are looked at while the garbage collector is about to run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from spanwise import current_frames as module
from spanwise.current_frames import current_frames
from spanwise.tests.processes import LIMIT_SECONDS

#: Has it run at each of the objects that such a look makes: by one of them, all would stand still.
_COLLECTS_MEANWHILE = """
import gc, threading
from spanwise.current_frames import current_frames

class Circle:
    def __init__(self):
        self.local, self.itself = threading.local(), self

gc.disable()
for later in range(50):
    gc.collect()
    Circle()
    gc.set_threshold(gc.get_count()[0] + later)
    gc.enable()
    current_frames()
    gc.disable()
"""


def test_a_look_at_threads_ends_though_garbage_is_collected() -> None:
    program = [sys.executable, "-c", _COLLECTS_MEANWHILE]
    subprocess.run(program, check=True, timeout=LIMIT_SECONDS)


@pytest.fixture(params=[True, False])
def collects(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_garbage_is_collected_afterwards_as_before(collects: bool) -> None:
    assert threading.get_ident() in current_frames()
    assert gc.isenabled() is collects


def test_looks_of_two_threads_and_a_fork_amid_them_leave_the_collector_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A look that finds it off by another one must not go on while that one turns it on."""
    looks, plain = module._Looks(), sys._current_frames
    begun, go_on = threading.Event(), threading.Event()
    states: list[bool] = []

    def slow() -> dict[int, Any]:
        begun.set()
        assert go_on.wait(LIMIT_SECONDS)
        states.append(gc.isenabled())
        return plain()

    assert gc.isenabled()
    monkeypatch.setattr(sys, "_current_frames", slow)
    threads = [threading.Thread(target=looks.look) for _ in range(2)]
    try:
        threads[0].start()
        assert begun.wait(LIMIT_SECONDS)
        threads[1].start()
        child = os.fork()
        if child == 0:
            looks.begin_anew()
            os._exit(0 if gc.isenabled() and looks._lock.acquire(blocking=False) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        go_on.set()
        for each in threads:
            each.join(LIMIT_SECONDS)
    assert states == [False, False] and gc.isenabled()
