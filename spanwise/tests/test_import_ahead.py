"""Workers import what the client has imported while they wait for tasks."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pytest

from spanwise import Client
from spanwise.client import imported, launch, session
from spanwise.client.imported import imported_modules
from spanwise.measure import imports
from spanwise.measure.memory import MemoryMonitor
from spanwise.measure.names import Names
from spanwise.wire import payload
from spanwise.worker.ahead import ImportAhead
from spanwise.worker.library import Library

NAME = "imported_ahead_4712"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package on the path, half of whose half second is a module within it."""
    # Other tests of this process may have imported more than a program does.
    monkeypatch.setattr(imported, "MOST_MODULES", 100_000)
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "__init__.py").write_text("import time\ntime.sleep(0.25)\n")
    (folder / "inner.py").write_text(
        "import time\ntime.sleep(0.25)\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == NAME]:
        sys.modules.pop(name)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def import_seconds(client: Client) -> float:
    return sum(
        value
        for (_, _, activity, unit), value in client.fine_metrics().items()
        if activity == "import" and unit == "seconds"
    )


def has_it(dask_worker: Any) -> bool:
    # (it is there before it is whole: while it is being imported a task would wait for it)
    with dask_worker._worker.library.importing:
        return "imported_ahead_4712.inner" in sys.modules


def test_an_idle_worker_has_what_the_client_imported_later(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of all others, as many as other tests have imported, workers would import each before it.
    monkeypatch.setattr(launch, "FIRST", ())
    monkeypatch.setattr(
        session,
        "imported_modules",
        lambda: [name for name in imported_modules() if name.startswith(NAME)],
    )
    with Client(n_workers=2, threads_per_worker=1) as client:
        assert client.submit(abs, -1).result(timeout=60) == 1
        # (a function of this file would have it imported)
        until(lambda: all(client.run(lambda: "dask.sizeof" in sys.modules).values()))
        function = __import__(f"{NAME}.inner").inner.double
        # Any submission takes the news along, to the worker that gets no task of it as well.
        assert client.submit(abs, -2).result(timeout=60) == 2
        until(lambda: all(client.run(has_it).values()))
        before = import_seconds(client)
        assert client.gather(client.map(function, range(8))) == list(range(0, 16, 2))
        assert import_seconds(client) == before


def test_a_setting_switches_it_off(package: Path) -> None:
    __import__(f"{NAME}.inner")
    assert NAME in imported_modules() and f"{NAME}.inner" in imported_modules()
    with dask.config.set({"spanwise.worker.import-ahead": False}):
        assert imported_modules() == []
        # (what measures results is always wanted)
        assert launch.launch_spec()["modules"] == ["dask.sizeof"]


def test_only_what_tasks_may_want_travels(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    __import__(f"{NAME}.inner")
    sys.modules["made_here_4712"] = type(sys)("made_here_4712")
    try:
        names = imported_modules()
    finally:
        del sys.modules["made_here_4712"]
    assert names.index(NAME) < names.index(f"{NAME}.inner")
    tops = {name.split(".")[0] for name in names}
    assert not tops & {"__main__", "sys", "os", "spanwise", "pytest", "IPython", "made_here_4712"}
    assert not tops & {"bokeh", "matplotlib"}
    monkeypatch.setattr(imported, "MOST_MODULES", 7)
    assert imported_modules() == names[:7]


def test_a_task_never_gets_a_part_of_a_package_that_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of `dask.dataframe`: Python gives a module of it as soon as that one is done."""
    top, go = "not_done_4712", tmp_path / "go"
    name = f"{top}.package"
    package = tmp_path / top / "package"
    package.mkdir(parents=True)
    (tmp_path / top / "__init__.py").touch()
    (package / "__init__.py").write_text(
        "import pathlib, time\nfrom . import part\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.01)\n"
        "part.KINDS.append('registered')\n"
    )
    (package / "part.py").write_text("KINDS = []\ndef kinds():\n    return list(KINDS)\n")
    monkeypatch.syspath_prepend(tmp_path)
    # The pickle of a function of a module.
    by_name = f"c{name}.part\nkinds\n.".encode()
    content = b"".join(payload.framed(by_name))
    library = Library(Names())
    by_value = eval("lambda x: x", {"__name__": "__main__"})
    for number, blob in enumerate([by_name, *map(cloudpickle.dumps, (abs, by_value))]):
        library.add_chunk(number, b"".join(payload.framed(blob)))
    found: list[list[str]] = []
    ahead = threading.Thread(target=library.import_ahead, args=(name,))

    reads = (lambda: library.loads(content), lambda: library._chunks.claim(0)()[0])
    tasks = [threading.Thread(target=lambda read=read: found.append(read()())) for read in reads]
    try:
        ahead.start()
        until(lambda: hasattr(sys.modules.get(f"{name}.part"), "kinds"))
        assert pickle.loads(by_name)() == []
        # Who needs no module of it does not wait, be it by name or by value.
        for number, needs_none in ((1, abs), (2, by_value)):
            with ThreadPoolExecutor(1) as pool:
                try:
                    read = pool.submit(library._chunks.claim(number)).result(timeout=30)[0]
                finally:
                    if sys.exc_info()[0] is not None:
                        go.touch()  # or its thread would never end
                assert read(-7) == needs_none(-7)
        for task in tasks:
            task.start()
        # Time enough for one that would not wait.
        tasks[1].join(timeout=0.2)
        go.touch()
        for task in tasks:
            task.join(timeout=60)
        assert found == [["registered"], ["registered"]]
    finally:
        go.touch()
        ahead.join(timeout=60)
        for each in [each for each in sys.modules if each.split(".")[0] == top]:
            sys.modules.pop(each)


class Executed:
    """Code that is executed when this is unpickled."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code, {})


@pytest.mark.parametrize("what", ["imports", "unpickles", "has imported"])
def test_a_task_that_waits_for_another_one_s_import_is_importing(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the first tasks of a notebook do; the wait counted as unpickling.

    It does where the other one only unpickles, or has imported before.
    """
    name, go, begun = "waited_for_4712", tmp_path / "go", tmp_path / "begun"
    wait = (
        f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.01)\n"
    )
    module = wait if what == "imports" else "import time\ntime.sleep(0.1)\n"
    (tmp_path / f"{name}.py").write_text(f"{module}def one(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    first_blob = {
        "imports": f"c{name}\none\n.".encode(),
        "unpickles": pickle.dumps(Executed(wait)),
        "has imported": pickle.dumps(Executed(f"import {name}\n{wait}")),
    }[what]
    library = Library(Names())
    # (what is executed may import anything)
    for number, blob in enumerate([first_blob, pickle.dumps(Executed("pass"))]):
        library.add_chunk(number, b"".join(payload.framed(blob)))
    waiting, waits = threading.local(), threading.Event()

    def clock() -> float:
        now = time.perf_counter()
        if getattr(waiting, "is_this", False):
            waits.set()
        return now

    monkeypatch.setattr(imports, "perf_counter", clock)

    def read(number: int) -> tuple[float, float]:
        waiting.is_this = number == 1
        begin = time.perf_counter()
        library._chunks.claim(number)()
        return library.import_times.take()[0], time.perf_counter() - begin

    with ThreadPoolExecutor(2) as pool:
        try:
            one = pool.submit(read, 0)
            until(begun.exists)
            other = pool.submit(read, 1)
            assert waits.wait(60)
            began = time.perf_counter()
            time.sleep(0.1)
            waited = time.perf_counter() - began
        finally:
            go.touch()
        (first, first_took), (second, took) = one.result(60), other.result(60)
    sys.modules.pop(name, None)
    assert waited <= min(first_took, took)
    if what == "imports":
        assert waited <= first <= first_took
        assert waited <= second <= took
    else:
        assert second == 0.0
        assert (first >= 0.1) == (what == "has imported")


@pytest.mark.parametrize("ahead", [True, False], ids=["the worker's", "a task's"])
def test_who_needs_no_module_neither_waits_for_an_import_nor_is_charged(
    ahead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks that bring a function or arguments, and inputs that come from other workers."""
    name, go, begun = "not_needed_4712", tmp_path / "go", tmp_path / "begun"
    (tmp_path / f"{name}.py").write_text(
        f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists():\n    time.sleep(0.01)\ndef one(): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    library = Library(Names())
    content = b"".join(payload.framed(f"c{name}\none\n.".encode()))
    other = b"".join(payload.dumps((abs, [1.5, "text"], b"x" * 1000)))
    library.add_chunk(0, other)

    def read() -> tuple[list[Any], float]:
        found = [library.loads(other), library._chunks.claim(0)()[0]]
        return found, library.import_times.take()[0]

    with ThreadPoolExecutor(2) as pool:
        try:
            if ahead:
                importing = pool.submit(library.import_ahead, name)
            else:
                importing = pool.submit(library.loads, content)
            until(begun.exists)
            found, seconds = pool.submit(read).result(timeout=30)
        finally:
            go.touch()
        importing.result(60)
    sys.modules.pop(name, None)
    assert found == [(abs, [1.5, "text"], b"x" * 1000)] * 2
    assert seconds == 0.0


def test_a_task_begins_while_another_one_of_its_worker_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first task needs a module that takes until the second one, which needs none, has run."""
    name, go, begun = "slow_4712", tmp_path / "go", tmp_path / "begun"
    (tmp_path / f"{name}.py").write_text(
        f"import os, time\nif not os.path.exists({str(tmp_path / 'here')!r}):\n"
        f"    open({str(begun)!r}, 'w').close()\n    end = time.monotonic() + 60\n"
        f"    while not os.path.exists({str(go)!r}) and time.monotonic() < end:\n"
        "        time.sleep(0.01)\n"
        "def one(i): return i\n"
    )
    (tmp_path / "here").touch()
    monkeypatch.syspath_prepend(tmp_path)
    one = __import__(name).one
    (tmp_path / "here").unlink()
    try:
        with (
            dask.config.set({"spanwise.worker.import-ahead": False}),
            Client(n_workers=1, threads_per_worker=2) as client,
        ):
            assert client.submit(abs, -1).result(timeout=60) == 1
            first = client.submit(one, 1)
            until(begun.exists)
            # A function and arguments that are new there.
            second = client.submit(divmod, 7, 4, key="needs-none")
            assert second.result(timeout=30) == (1, 3)
            assert not first.done()
            go.touch()
            assert first.result(timeout=60) == 1
            charged = {
                function
                for (_, function, activity, _), value in client.fine_metrics().items()
                if activity == "import" and value
            }
            assert "one" in charged and "needs-none" not in charged
    finally:
        go.touch()
        sys.modules.pop(name, None)


@contextmanager
def importing(
    is_idle: Callable[[], bool], has_room: Callable[[], bool], complain: Callable[[str], None]
) -> Iterator[ImportAhead]:
    """Import ahead in this process; the thread ends with the block."""
    ahead = ImportAhead(Library(Names()), is_idle, has_room, (), complain)
    ahead.start()
    try:
        yield ahead
    finally:
        ahead.close()
        ahead.join(timeout=60)
        # What it has frozen stays so: with it all that pytest has imported would be walked again by
        # each later collection, a quarter of a second each time.
        assert not ahead.is_alive()


@pytest.mark.parametrize(
    "ends", ["raise SystemExit(3)", "raise KeyboardInterrupt", "1 / 0", "pass"]
)
def test_a_module_that_cannot_be_imported_does_no_harm(
    ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_4712.py").write_text(
        f"from pathlib import Path\nprint('hello')\n"
        f"Path({str(tmp_path)!r}, 'tries').open('a').write('x')\n{ends}\n"
    )
    (tmp_path / "after_4712.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    idle: list[bool] = []
    asked: list[int] = []
    complaints: list[str] = []

    def is_idle() -> bool:
        asked.append(1)
        return bool(idle)

    try:
        with importing(is_idle, lambda: True, complaints.append) as ahead:
            ahead.add(["ends_4712", "after_4712"])
            # A task runs.
            until(lambda: len(asked) > 2)
            assert not (tmp_path / "tries").exists()
            idle.append(True)
            until(lambda: "after_4712" in sys.modules)
            ahead.add(["ends_4712"])
            assert (tmp_path / "tries").read_text() == "x"
            assert len(complaints) == (ends != "pass")
    finally:
        for name in ("ends_4712", "after_4712"):
            sys.modules.pop(name, None)


def test_of_a_module_that_only_the_client_finds_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of workers were full of plugins of the notebook's debugger."""
    (tmp_path / "there_4712").mkdir()
    (tmp_path / "there_4712" / "__init__.py").write_text("")
    (tmp_path / "broken_4712.py").write_text("import absent_4712\n")
    (tmp_path / "after_4712.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    complaints: list[str] = []
    names = ["absent_4712.inner", "absent_4712", "there_4712.absent", "broken_4712", "after_4712"]
    try:
        with importing(lambda: True, lambda: True, complaints.append) as ahead:
            ahead.add(names)
            until(lambda: "after_4712" in sys.modules)
    finally:
        for name in ("there_4712", "after_4712"):
            sys.modules.pop(name, None)
    (broken,) = complaints
    assert broken.startswith("broken_4712 cannot be imported ahead: ")


def test_modules_do_not_take_the_memory_of_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["fits_4712", "fits_no_more_4712"]
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    room = [True, False]
    try:
        with importing(lambda: True, lambda: room.pop(0), print) as ahead:
            ahead.add(names)
            until(lambda: not room and not ahead._names)
            assert [name in sys.modules for name in names] == [True, False]
    finally:
        sys.modules.pop(names[0], None)


def test_room_for_modules_is_a_share_of_the_limit() -> None:
    taken = MemoryMonitor(0).process()
    assert MemoryMonitor(0).has_room_for_modules()
    assert MemoryMonitor(taken * 10).has_room_for_modules()
    assert not MemoryMonitor(taken * 2).has_room_for_modules()
