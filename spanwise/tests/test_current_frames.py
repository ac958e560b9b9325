"""Threads are looked at while the garbage collector is about to run."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator

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
