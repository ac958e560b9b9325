"""Threads are looked at while the garbage collector is about to run."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

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


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the collector does not run meanwhile")
def test_the_collector_is_off_in_a_look_and_at_no_step_where_other_threads_have_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another one that looks would turn it on amid this one, and a fork would keep it off."""
    # (in the place of the frames, what a look would meet)
    monkeypatch.setattr(sys, "_current_frames", gc.isenabled)
    at_steps: list[bool] = []

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = True
        at_steps.append(gc.isenabled())
        return trace

    was_enabled, traced = gc.isenabled(), sys.gettrace()
    gc.enable()
    sys.settrace(trace)
    try:
        found: Any = current_frames()
    finally:
        sys.settrace(traced)
        is_on = gc.isenabled()
        (gc.enable if was_enabled else gc.disable)()
    assert found is False and is_on
    assert len(at_steps) > 20 and all(at_steps)


def test_the_collector_is_on_after_a_look_that_failed(
    monkeypatch: pytest.MonkeyPatch, collects: bool
) -> None:
    monkeypatch.setattr(sys, "_current_frames", partial(int, "no number"))
    with pytest.raises(ValueError, match="no number"):
        current_frames()
    assert gc.isenabled() is collects
