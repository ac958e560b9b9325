"""Importing modules while a task's function is unpickled is an activity of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client
from spanwise.measure import imports

SLOW = """
import time
time.sleep({seconds})
import {inner}

def double(x):
    return 2 * x
"""


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that takes 0.6 s to import, half of it for one that it imports."""
    (tmp_path / "slow_outside_4711.py").write_text(
        SLOW.format(seconds=0.3, inner="slow_inside_4711")
    )
    (tmp_path / "slow_inside_4711.py").write_text(SLOW.format(seconds=0.3, inner="time"))
    monkeypatch.syspath_prepend(tmp_path)
    names = ("slow_outside_4711", "slow_inside_4711")
    yield names[0]
    for name in names:
        sys.modules.pop(name, None)


def test_the_first_task_of_a_module_shows_its_import(slow_module: str) -> None:
    function = __import__(slow_module).double
    # The task shall import it, and wait for nothing that other tests have imported here.
    alone = dask.config.set({"spanwise.worker.import-ahead": False})
    with alone, Client(n_workers=1, threads_per_worker=1) as client:
        assert client.submit(function, 1).result(timeout=60) == 2
        assert client.submit(function, 2).result(timeout=60) == 4
        seconds = {
            activity: value
            for (context, name, activity, unit), value in client.fine_metrics().items()
            if context == "execute" and unit == "seconds" and name != "N/A"
        }
        runs = client.get_task_stream()
    assert seconds["import"] >= 0.6
    # Each second once: steps follow each other, and so no import is in what was read besides.
    for run in runs:
        steps = sorted(run["startstops"], key=lambda step: step["start"])
        assert all(one["stop"] <= other["start"] + 1e-5 for one, other in pairwise(steps))
    # The same seconds in the log, and no run longer than its parts.
    steps = [step for run in runs for step in run["startstops"]]
    told = sum(step["stop"] - step["start"] for step in steps if step["action"] == "import")
    assert told == pytest.approx(seconds["import"], rel=0.01)
    whole = sum(step["stop"] - step["start"] for step in steps)
    assert whole == pytest.approx(sum(seconds.values()), rel=0.01)


def test_modules_are_counted_once_and_only_where_they_were_imported(slow_module: str) -> None:
    times = imports.new()
    begin, begin_cpu = time.perf_counter(), time.thread_time()
    with times, times:
        __import__("json")  # there already
        __import__(slow_module)
    took, took_cpu = time.perf_counter() - begin, time.thread_time() - begin_cpu
    seconds, cpu = times.take()
    assert 0.6 <= seconds <= took and 0 < cpu <= took_cpu
    assert times.take() == (0.0, 0.0)
    sys.modules.pop("slow_inside_4711")
    begin = time.perf_counter()
    __import__("slow_inside_4711")
    assert time.perf_counter() - begin >= 0.3 and times.take() == (0.0, 0.0)
    begin = time.perf_counter()
    with pytest.raises(ModuleNotFoundError), times:
        __import__("there_is_no_such_module_4711")
    assert 0 < times.take()[0] <= time.perf_counter() - begin


def test_a_worker_starts_without_what_few_tasks_need() -> None:
    """Each takes tens of milliseconds, of every worker's start."""
    program = "import sys, spanwise.worker.__main__, spanwise.worker.worker; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)
    loaded = set(said.stdout.decode().split())
    assert "spanwise.worker.worker" in loaded
    assert not loaded & {"asyncio", "dask", "numpy", "pandas", "spanwise.client.client"}
    assert not loaded & {"importlib.abc", "importlib.resources", "shutil", "statistics", "tempfile"}
