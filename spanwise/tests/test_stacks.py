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
from spanwise.measure.stacks import DEPTH, IMPORT, StackTree
from spanwise.records.enumerations import NONE_U32

PACKAGE = str(spanwise.__file__).removesuffix("__init__.py")
USER, INSTALLED = "/home/alice/model.py", f"{dask.__file__}"
FUTURE, SESSION = (f"{PACKAGE}client/{name}.py" for name in ("future", "session"))


def code(function: str, file: str) -> CodeType:
    consts = compile(f"def {function}(): pass", file, "exec").co_consts
    return next(each for each in consts if isinstance(each, CodeType))


def shown(*frames: tuple[str, str]) -> list[str]:
    """What is shown of a stack, the outermost first as it is given."""
    return shown_of([code(*frame) for frame in frames], {})


def shown_of(codes: list[CodeType], activities: dict[CodeType, str]) -> list[str]:
    """The same of code, some of which is what threads do around tasks."""
    names = Names()
    tree = StackTree(names, base.__code__, activities=activities)
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
    # Of no other is anything told, unless it is around an activity.
    assert len(codes) > DEPTH or activities or set(found) == set(function.values())
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
    files = [code(name, f"{PACKAGE}worker/{name}.py") for name in ("read", "opens", "imports")]
    reads, opens, imports = files
    activities = {reads: "disk-read", opens: "deserialize", imports: IMPORT}
    run = code("run", f"{PACKAGE}worker/executor.py")
    join, wait = code("join", f"{PACKAGE}wire/payload.py"), code("wait", threading.__file__)

    def called(*codes: CodeType) -> list[str]:
        return shown_of(list(codes), activities)

    assert called(run) == ["(worker)"]
    assert called(run, reads) == ["(disk-read)"]
    assert called(run, opens, join, wait) == ["(deserialize)"]
    assert called(run, opens, reads) == ["(disk-read)"]
    assert called(run, join, wait) == ["join"]
    # What a user's class does there is below it, and what it opens or imports there.
    sets = code("__setstate__", USER)
    assert called(run, opens, join, sets) == ["(deserialize)", "__setstate__"]
    assert called(run, opens, join, sets, reads) == ["(deserialize)", "__setstate__"]
    module = code("module", USER)
    imported = [imports, code("_load", "<frozen importlib._bootstrap>"), module]
    assert called(run, opens, join, *imported) == ["(import)", "module"]
    assert called(run, opens, join, sets, *imported) == ["(import)", "module"]
    assert called(run, opens, join, imports, wait) == ["(import)"]
    # A task that does the same goes on with its own.
    fit = code("fit", USER)
    assert called(run, fit, join, opens, *imported) == ["fit", "join", "module"]
    # However deep it is, its name is there.
    deep = [code(f"f{number}", USER) for number in range(DEPTH + 20)]
    assert called(run, opens, *deep)[0] == "(deserialize)"
    assert len(called(run, opens, *deep)) == DEPTH


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
