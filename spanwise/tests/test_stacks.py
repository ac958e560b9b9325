"""Which frames of a task's stack are shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import CodeType
from typing import Any

import dask
import pytest

import spanwise
from spanwise import Client, get_client
from spanwise.measure.names import OWN, Names
from spanwise.measure.stacks import DEPTH, StackTree
from spanwise.records.enumerations import NONE_U32

PACKAGE = str(spanwise.__file__).removesuffix("__init__.py")
USER, INSTALLED = "/home/alice/model.py", f"{dask.__file__}"
FUTURE, SESSION = (f"{PACKAGE}client/{name}.py" for name in ("future", "session"))


def code(function: str, file: str) -> CodeType:
    consts = compile(f"def {function}(): pass", file, "exec").co_consts
    return next(each for each in consts if isinstance(each, CodeType))


def shown(*frames: tuple[str, str]) -> list[str]:
    """What is shown of a stack, the outermost first as it is given."""
    names = Names()
    tree = StackTree(names, base.__code__)
    codes = [code(*frame) for frame in frames]
    stack = tree.stack_of(codes[::-1], None)
    assert tree.stack_of(codes[::-1], None) == stack
    stacks, told = tree.rows()
    texts: list[str] = names.announcement()["names"]  # type: ignore[assignment]
    function = {number: texts[name & ~OWN] for number, name, _, _ in told}
    rows = {number: (parent, frame) for number, parent, frame in stacks}
    found: list[str] = []
    while stack != NONE_U32:
        stack, frame = rows[stack]
        found.append(function[frame])
    # Of no other is anything told.
    assert len(frames) > DEPTH or set(found) == set(function.values())
    return found[::-1]


def base() -> None:
    """Where a task begins."""


def test_of_spanwise_only_what_was_called_is_shown() -> None:
    waits = [("wait", threading.__file__), ("run_once", f"{PACKAGE}wire/link.py")]
    assert shown(
        ("fit", USER), ("result", FUTURE), ("gather", SESSION), ("answer", SESSION), *waits
    ) == ["fit", "result"]
    # What others do in it is theirs.
    assert shown(
        ("fit", USER),
        ("submit", FUTURE),
        ("dumps", SESSION),
        ("reduce", threading.__file__),
        ("__reduce__", USER),
        ("compress", INSTALLED),
        ("copy", "<frozen os>"),
        ("get", FUTURE),
        ("answer", SESSION),
    ) == ["fit", "submit", "__reduce__", "compress", "copy", "get"]
    # A program that is a text is its user's, what Python makes of texts is not.
    assert shown(
        ("fit", USER), ("submit", FUTURE), ("__init__", "<string>"), ("task", "<string>")
    ) == ["fit", "submit", "task"]
    # As is what they call of Python.
    assert shown(("fit", USER), ("wait", threading.__file__)) == ["fit", "wait"]
    # What stands between a thread's loop and a task is nowhere.
    assert shown(("call", f"{PACKAGE}worker/lanes.py"), ("fit", USER)) == ["fit"]


def test_what_a_thread_does_around_a_task_is_called_as_in_fine_metrics() -> None:
    reads, opens = (code(name, f"{PACKAGE}worker/{name}.py") for name in ("read", "opens"))
    activities = {reads: "disk-read", opens: "deserialize"}
    run = code("run", f"{PACKAGE}worker/executor.py")
    join, wait = code("join", f"{PACKAGE}wire/payload.py"), code("wait", threading.__file__)

    def called(*codes: CodeType) -> list[str]:
        names = Names()
        tree = StackTree(names, base.__code__, activities=activities)
        tree.stack_of(list(codes[::-1]), None)
        _, told = tree.rows()
        texts: list[str] = names.announcement()["names"]  # type: ignore[assignment]
        return [texts[name & ~OWN] for _, name, _, _ in told]

    assert called(run) == ["(worker)"]
    assert called(run, reads) == ["(disk-read)"]
    assert called(run, opens, join, wait) == ["(deserialize)"]
    assert called(run, opens, reads) == ["(disk-read)"]
    # What a user's class does there, and what a task does, is theirs.
    own = called(run, opens, join, code("__setstate__", USER))
    assert sorted(own) == ["__setstate__", "join"]
    assert called(run, join, wait) == ["join"]


def test_as_many_frames_are_shown_as_before_of_a_deep_stack() -> None:
    deep = [(f"f{i}", USER) for i in range(DEPTH + 20)]
    assert shown(*deep) == [name for name, _ in deep[20:]]
    inside = [("answer", SESSION)] * 50
    assert shown(*deep[:70], ("result", FUTURE), *inside) == [
        *(name for name, _ in deep[:70]),
        "result",
    ]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=2) as client:
        yield client


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def waits_for_a_result(seconds: float) -> Any:
    return get_client().submit(nap, seconds, pure=False).result()


def waits_for_a_computation(seconds: float) -> Any:
    return dask.delayed(nap)(seconds).compute()


@pytest.mark.parametrize(
    ("task", "path"),
    [
        (waits_for_a_result, ["result"]),
        (waits_for_a_computation, ["compute", "compute", "get_sync", "nap"]),
    ],
)
def test_who_waits_for_other_tasks_is_seen_below_what_was_called(
    client: Client, task: Any, path: list[str]
) -> None:
    client.submit(task, 0.0, pure=False).result()
    warm = time.time()
    client.submit(task, 1.0, pure=False).result()
    tree = client.profile(key=task.__name__, start=warm)
    # The way on which most of the time went.
    found = []
    while tree["children"]:
        tree = max(tree["children"].values(), key=lambda node: node["count"])
        found.append(tree["description"]["name"])
    assert found == [task.__name__, *path], found
