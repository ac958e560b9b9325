"""Importing modules while a task's function is unpickled is an activity of its own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import dask
import pytest

from spanwise import Client
from spanwise.measure.imports import ImportTimes

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
            for (context, _, activity, unit), value in client.fine_metrics().items()
            if context == "execute" and unit == "seconds"
        }
        runs = client.get_task_stream()
    assert 0.6 <= seconds["import"] < 3
    assert seconds.get("deserialize", 0.0) < 0.3
    # The same seconds in the log, and no run longer than its parts.
    steps = [step for run in runs for step in run["startstops"]]
    told = sum(step["stop"] - step["start"] for step in steps if step["action"] == "import")
    assert told == pytest.approx(seconds["import"], rel=0.01)
    whole = sum(step["stop"] - step["start"] for step in steps)
    assert whole == pytest.approx(sum(seconds.values()), rel=0.01)


def test_modules_are_counted_once_and_only_where_they_were_imported(slow_module: str) -> None:
    times = ImportTimes()
    with times, times:
        __import__("json")  # there already
        __import__(slow_module)
    seconds, cpu = times.take()
    assert 0.6 <= seconds < 3 and 0 <= cpu < 0.6
    assert times.take() == (0.0, 0.0)
    sys.modules.pop("slow_inside_4711")
    begin = time.perf_counter()
    __import__("slow_inside_4711")
    assert time.perf_counter() - begin >= 0.3 and times.take() == (0.0, 0.0)
    with pytest.raises(ModuleNotFoundError), times:
        __import__("there_is_no_such_module_4711")
    assert 0 < times.take()[0] < 1
