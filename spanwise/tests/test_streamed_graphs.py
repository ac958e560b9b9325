"""A large graph runs while it is being sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dask._task_spec import Task, TaskRef

from spanwise import Client
from spanwise.graph.packs import FIRST_TASKS
from spanwise.tests.processes import wait_until

#: More than the first message holds.
TASKS = FIRST_TASKS + 500


def note(path: str, number: int) -> int:
    """Leave a trace if it is the first one."""
    if number == 0:
        Path(path).touch()
    return number


def total(first: int, *others: Any) -> int:
    """Add up, but for the last one."""
    return first + sum(others[:-1])


class Literal:
    """Pickled with the last part of its graph."""

    def __init__(self, path: Path, fails: bool = False) -> None:
        self.path = path
        self.fails = fails

    def __reduce__(self) -> Any:
        wait_until("a task of the first part has run", self.path.exists)
        if self.fails:
            raise ValueError("it cannot be sent")
        return int, (0,)


def graph(path: Path, fails: bool = False) -> dict[Any, Any]:
    """Tasks that the last one adds up."""
    tasks: dict[Any, Any] = {
        ("n", number): Task(("n", number), note, str(path), number) for number in range(TASKS)
    }
    inputs = [TaskRef(key) for key in tasks]
    tasks["end"] = Task("end", total, *inputs, Literal(path, fails))
    return tasks


def test_the_first_part_runs_before_the_last_is_packed(cluster: Client, tmp_path: Path) -> None:
    assert cluster.get(graph(tmp_path / "trace"), "end") == sum(range(TASKS))


def test_nothing_stays_of_a_graph_that_cannot_be_sent_whole(
    cluster: Client, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        cluster.get(graph(tmp_path / "trace", fails=True), "end")
    wait_until("workers hold nothing", lambda: not any(cluster.has_what().values()))
    wait_until("nothing runs", lambda: not any(cluster.processing().values()))
    assert cluster.submit(note, "", 7).result() == 7
