"""The exception that a task raised arrives: its class, arguments, causes and traceback."""

from __future__ import annotations

import asyncio
import copyreg
import gc
import linecache
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

import dask
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.ultratb import VerboseTB

import spanwise
from spanwise import Client, as_completed
from spanwise.client.reason import open_error
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.wire import exceptions, payload
from spanwise.wire.exceptions import MOST_LINKS
from spanwise.wire.tracebacks import MOST_FRAMES, places_of, traceback_of
from spanwise.worker.errors import BLOB_LIMIT, describe

CELL = "<ipython-input-7-0123456789ab>"

#: A class that a notebook's cell defines: workers cannot import it.
SOURCE = r'''
import json, subprocess

class Plain(Exception):
    pass

class WithAttributes(ValueError):
    def __init__(self, what, *, code=3):
        super().__init__(what)
        self.what, self.code = what, code

class Joined(Exception):
    """Hands other arguments on than it takes: pickle cannot make it again."""
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")
        self.first, self.second = first, second

class Prefixed(Exception):
    """Pickle makes it again, with the prefix twice."""
    def __init__(self, what):
        super().__init__(f"prefix {what}")

class Slotted(Exception):
    __slots__ = ("row",)
    def __init__(self, row, column):
        super().__init__()
        self.row = row

class OwnWay(Exception):
    def __init__(self, path, line):
        super().__init__(f"{path}:{line}")
        self.path, self.line = path, line
    def __reduce__(self):
        return type(self), (self.path, self.line)

class OfTheSystem(FileNotFoundError):
    def __init__(self, path):
        super().__init__(2, "no such thing", path)

class OfTheDecoder(UnicodeDecodeError):
    def __init__(self, data):
        super().__init__("ascii", data, 0, 1, "odd")

class Both(KeyError, AttributeError):
    pass

class Group(ExceptionGroup):
    def derive(self, parts):
        return Group(self.message, parts)

def throw(make):
    raise make()

def plain(): throw(lambda: Plain(1, "two"))
def with_attributes(): throw(lambda: WithAttributes("x", code=7))
def joined(): throw(lambda: Joined("one", 2))
def prefixed(): throw(lambda: Prefixed("x"))
def slotted(): throw(lambda: Slotted(5, 6))
def own_way(): throw(lambda: OwnWay("a", 1))
def of_the_system(): throw(lambda: OfTheSystem("/nowhere"))
def of_the_decoder(): throw(lambda: OfTheDecoder(b"\xff"))
def of_two(): throw(lambda: Both("x"))
def of_python(): throw(lambda: KeyError(("x", 1)))
def of_a_module(): throw(lambda: json.JSONDecodeError("odd", "{", 1))
def imported(): throw(lambda: ImportError("odd", name="n", path="p"))

def deep(n=0):
    return deep(n + 1)

def caused():
    try:
        throw(lambda: Plain("first"))
    except Plain as first:
        raise Joined("one", 2) from first

def in_context():
    try:
        throw(lambda: Plain("first"))
    except Plain:
        throw(lambda: ValueError("second"))

def suppressed():
    try:
        throw(lambda: Plain("first"))
    except Plain:
        raise ValueError("second") from None

def noted():
    error = OwnWay("a", 1)
    error.add_note("while reading a")
    raise error

def grouped():
    try:
        caused()
    except Joined as one:
        raise Group("several", [one, Plain(2)])

def in_library():
    return (1 +
        json.loads("{"))

def called():
    raise subprocess.CalledProcessError(3, ["ls"], b"out")
'''

CELL_NAMES: dict[str, Any] = {"__name__": "__main__"}
exec(compile(SOURCE, CELL, "exec"), CELL_NAMES)  # noqa: S102
RAISE: dict[str, Callable[[], None]] = {
    name: CELL_NAMES[name]
    for name in (
        "plain", "with_attributes", "joined", "prefixed", "slotted", "own_way", "of_the_system",
        "of_the_decoder", "of_two", "of_python", "of_a_module", "imported", "caused",
        "in_context", "suppressed", "noted", "grouped", "in_library", "called", "deep",
    )
}  # fmt: skip


def said(error: BaseException | None, depth: int = 0) -> Any:
    """All that an exception says, and what led to it."""
    if error is None or depth == 5:
        return None
    return (
        type(error),
        str(error),
        repr(error.args) if isinstance(error, BaseExceptionGroup) else error.args,
        [str(each) for each in getattr(error, "__notes__", ())],
        {key: value for key, value in vars(error).items() if key != "__notes__"},
        error.__suppress_context__,
        said(error.__cause__, depth + 1),
        said(error.__context__, depth + 1),
        [said(each, depth + 1) for each in getattr(error, "exceptions", ())],
        getattr(error, "filename", None),
        getattr(error, "row", None),
    )


def shown(error: BaseException) -> list[tuple[Any, ...]]:
    """The frames of a traceback below the one that asked, as readers see them."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return [(f.filename, f.lineno, f.end_lineno, f.colno, f.end_colno, f.name) for f in frames]


def raised(function: Callable[..., Any], *args: Any) -> BaseException:
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001 (each its own)
        return error
    raise AssertionError("it raises")


@pytest.fixture(autouse=True, scope="module")
def lines_of_the_cell() -> Iterator[None]:
    linecache.cache[CELL] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), CELL)
    yield
    del linecache.cache[CELL]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=2) as client:
        yield client


# ── what arrives ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", RAISE)
def test_it_is_the_exception_that_is_raised_without_a_cluster(client: Client, name: str) -> None:
    here = raised(RAISE[name])
    came = raised(client.submit(RAISE[name], pure=False).result, LIMIT_SECONDS)
    assert said(came) == said(here)
    if name == "deep":  # the stack of a worker is lower than this one
        assert shown(came)[-500:] == shown(here)[-500:]
    else:
        assert shown(came) == shown(here)


def by_gather(client: Client, future: Any) -> None:
    client.gather([future])


def by_compute(client: Client, future: Any) -> None:
    dask.delayed(abs)(dask.delayed(CELL_NAMES["caused"])()).compute()


def by_as_completed(client: Client, future: Any) -> None:
    for _ in as_completed([future], with_results=True, timeout=LIMIT_SECONDS):
        pass


def by_batches(client: Client, future: Any) -> None:
    for _ in as_completed([future], with_results=True, timeout=LIMIT_SECONDS).batches():
        pass


def by_as_completed_async(client: Client, future: Any) -> None:
    async def ask() -> None:
        async for _ in as_completed([future], with_results=True, timeout=LIMIT_SECONDS):
            pass

    asyncio.run(ask())


def by_compute_of_the_client(client: Client, future: Any) -> None:
    client.compute(dask.delayed(CELL_NAMES["caused"])(), sync=True)


def by_executor(client: Client, future: Any) -> None:
    client.get_executor().submit(CELL_NAMES["caused"]).result(LIMIT_SECONDS)


def by_map_of_an_executor(client: Client, future: Any) -> None:
    list(client.get_executor().map(lambda _: CELL_NAMES["caused"](), [0]))


def by_run(client: Client, future: Any) -> None:
    client.run(CELL_NAMES["caused"])


def by_a_dependent(client: Client, future: Any) -> None:
    client.submit(abs, future).result(LIMIT_SECONDS)


@pytest.mark.parametrize(
    "ask",
    [
        by_gather,
        by_compute,
        by_compute_of_the_client,
        by_as_completed,
        by_as_completed_async,
        by_batches,
        by_executor,
        by_map_of_an_executor,
        by_run,
        by_a_dependent,
    ],
)
def test_however_it_is_asked_for(client: Client, ask: Callable[[Client, Any], None]) -> None:
    future = client.submit(CELL_NAMES["caused"], pure=False)
    for _ in range(2):
        came = raised(ask, client, future)
        assert said(came) == said(raised(CELL_NAMES["caused"]))
        frames = shown(came)
        assert frames[0][0] == __file__ and frames[-1] == shown(raised(CELL_NAMES["caused"]))[0]
        ours = [frame[-1] for frame in frames if "/spanwise/" in frame[0] and frame[0] != __file__]
        assert not ours


def test_a_traceback_shows_the_lines_of_the_cell(client: Client) -> None:
    error = raised(client.submit(CELL_NAMES["caused"], pure=False).result, LIMIT_SECONDS)
    plain = "".join(traceback.format_exception(error))
    assert 'raise Joined("one", 2) from first' in plain and "in caused" in plain
    assert "raise make()" in plain, "of the cause too"
    # The output that JupyterLab shows.
    told = VerboseTB(theme_name="nocolor").text(type(error), error, error.__traceback__)
    assert 'raise Joined("one", 2) from first' in told and "raise make()" in told


def test_a_traceback_points_at_the_line_of_a_cell_that_raised(client: Client) -> None:
    error = raised(client.submit(CELL_NAMES["caused"], pure=False).result, LIMIT_SECONDS)
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    assert SOURCE.splitlines()[line - 1].strip() == 'raise Joined("one", 2) from first'
    # IPython reads the line of the frame where it cannot show the frame otherwise.
    assert frame.f_lineno == line > frame.f_code.co_firstlineno
    told = VerboseTB(theme_name="nocolor").text(type(error), error, error.__traceback__)
    pointed = [each.split()[1:] for each in told.splitlines() if each.startswith("--")]
    assert [str(line), *SOURCE.splitlines()[line - 1].split()] in pointed, told


_WHILE_DASK_IS_IMPORTED = """
import sys, types

from spanwise.worker.errors import describe

#: As it is while another thread imports it.
sys.modules["dask"] = dask = types.ModuleType("dask")
dask.__path__ = []

def fail():
    raise ValueError("no")

try:
    fail()
except ValueError as error:
    sys.stdout.write(describe(error).text)
assert not [name for name in sys.modules if name.startswith("dask.")]
"""


def test_the_lines_of_a_task_that_fails_while_dask_is_imported() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _WHILE_DASK_IS_IMPORTED],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "in fail\n" in ran.stdout and ran.stdout.endswith("ValueError: no\n"), ran
    assert ran.returncode == 0, ran.stderr


def test_traceback_is_an_object_with_the_task_s_frames(client: Client) -> None:
    future = client.submit(CELL_NAMES["caused"], pure=False)
    trace = future.traceback(LIMIT_SECONDS)
    (line,) = traceback.format_tb(trace)
    assert f'File "{CELL}"' in line and "in caused" in line
    assert client.submit(abs, -1).traceback(LIMIT_SECONDS) is None
    # It stays as it is, whoever raises the error.
    with pytest.raises(CELL_NAMES["Joined"]) as caught:
        raise future.exception()
    assert len(traceback.format_tb(caught.value.__traceback__)) == 2
    assert len(traceback.format_tb(future.exception().__traceback__)) == 1
    assert traceback.format_tb(future.traceback()) == [line]


# ── what cannot be carried ───────────────────────────────────────────────


class Locked(Exception):
    def __init__(self) -> None:
        super().__init__("held")
        self.lock = threading.Lock()


class Closed(Exception):
    def __reduce__(self) -> Any:
        return int, ("no number",)


class Other(Exception):
    def __reduce__(self) -> Any:
        return ValueError, self.args


class Large(Exception):
    def __init__(self) -> None:
        super().__init__("large")
        self.load = bytes(BLOB_LIMIT + 1)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Locked, "cannot be pickled, TypeError: cannot pickle '_thread.lock' object"),
        (Closed, "its pickle cannot be opened again, ValueError: invalid literal for int"),
        (Other, "its pickle becomes another type, ValueError"),
        (Large, "holds more than 32 MiB"),
        (SystemExit, "would end the program"),
        (KeyboardInterrupt, "would end the program"),
    ],
)
def test_a_task_error_says_what_it_stands_for_and_why(
    client: Client, kind: type[BaseException], why: str
) -> None:
    def fail() -> None:
        raise kind()

    future = client.submit(fail, pure=False)
    error = raised(future.result, LIMIT_SECONDS)
    assert type(error) is spanwise.TaskError
    assert error.kind == kind.__name__ and str(error).startswith(kind.__name__)
    assert why in str(error)
    assert shown(error)[0][-1] == "fail", "its frames travel all the same"
    assert client.submit(abs, -1, pure=False).result(LIMIT_SECONDS) == 1


def test_what_led_to_it_stands_for_itself(client: Client) -> None:
    def fail() -> None:
        try:
            raise Locked
        except Locked as first:
            raise ValueError("second") from first

    error = raised(client.submit(fail, pure=False).result, LIMIT_SECONDS)
    assert (type(error), error.args) == (ValueError, ("second",))
    assert isinstance(error.__cause__, spanwise.TaskError) and error.__cause__.kind == "Locked"
    assert "cannot pickle" in str(error.__cause__)


def test_a_group_with_a_part_that_cannot_travel(client: Client) -> None:
    def fail() -> None:
        raise ExceptionGroup("several", [Locked(), ValueError("other")])

    error = raised(client.submit(fail, pure=False).result, LIMIT_SECONDS)
    assert isinstance(error, ExceptionGroup)
    assert [type(each) for each in error.exceptions] == [spanwise.TaskError, ValueError]


def test_a_large_cause_is_left_behind(client: Client) -> None:
    def fail() -> None:
        raise ValueError("second") from Large()

    error = raised(client.submit(fail, pure=False).result, LIMIT_SECONDS)
    assert (type(error), error.args, error.__cause__) == (ValueError, ("second",), None)


def test_a_class_that_only_workers_can_import(client: Client) -> None:
    def fail() -> None:
        import sys
        from types import ModuleType

        class Own(Exception):
            pass

        module: Any = ModuleType("only_on_workers")
        sys.modules["only_on_workers"] = module
        module.Own, Own.__module__, Own.__qualname__ = Own, "only_on_workers", "Own"
        raise Own("words")

    error = raised(client.submit(fail, pure=False).result, LIMIT_SECONDS)
    assert isinstance(error, spanwise.TaskError)
    shown_whole = "".join(traceback.format_exception(error))
    assert "Own: words" in shown_whole and "in fail" in shown_whole
    assert "could not be unpickled: ModuleNotFoundError: No module named 'only_on_workers'" in (
        shown_whole
    )


def test_a_long_chain_arrives_as_far_as_its_bound() -> None:
    error = last = ValueError(0)
    for number in range(1, 3 * MOST_LINKS):
        last.__cause__ = ValueError(number)
        last = last.__cause__
    caught = raised(CELL_NAMES["throw"], lambda: error)
    arrived = open_error(describe(caught).blob, KeyError("not opened"))
    numbers = []
    while arrived is not None:
        numbers.append(arrived.args[0])
        arrived = arrived.__cause__  # type: ignore[assignment]
    assert numbers == [*range(MOST_LINKS)]


def test_a_way_of_its_own_that_was_registered_is_taken() -> None:
    class Registered(Exception):
        pass

    copyreg.pickle(Registered, lambda error: (ValueError, ("registered", *error.args)))  # type: ignore[arg-type,return-value]
    try:
        told = exceptions.reduced(Registered(1))
    finally:
        del copyreg.dispatch_table[Registered]
    assert told == (ValueError, ("registered", 1))


# ── frames ───────────────────────────────────────────────────────────────

names = st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text)
lines = st.integers(1, 10**6)
columns = st.integers(0, 10**4)


@given(
    st.lists(
        st.tuples(names, names, names, names, lines, lines, columns, st.integers(1, 100)),
        max_size=5,
    ),
    st.booleans(),
)
def test_places_come_back_as_they_were(rows: list[Any], with_columns: bool) -> None:
    places = [
        (
            *(file, module, name, qualified, min(first, line), max(first, line)),
            *((max(first, line), column, column + width) if with_columns else (None, None, None)),
        )
        for file, module, name, qualified, first, line, column, width in rows
    ]
    assert places_of(traceback_of(places)) == places


def test_frames_made_here_hold_nothing_of_who_made_them() -> None:
    class Held:
        pass

    def make() -> tuple[weakref.ref[Held], TracebackType | None]:
        held = Held()
        return weakref.ref(held), traceback_of(places_of(raised(RAISE["caused"]).__traceback__))

    seen, trace = make()
    gc.collect()
    assert seen() is None
    while trace is not None:
        assert trace.tb_frame.f_back is None and trace.tb_frame.f_locals == {}
        trace = trace.tb_next


PLACE = (__file__, __name__, "f", "f", 3, 10, 11, 4, 8)


def test_frames_made_here_are_not_run() -> None:
    """Else a debugger would stop at them, and coverage would count lines that ran elsewhere."""
    seen: list[tuple[str, str]] = []

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        seen.append((event, frame.f_code.co_name))
        return trace

    def make() -> None:
        made = traceback_of([PLACE])
        assert made is not None and made.tb_frame.f_lineno == 10
        del made
        gc.collect()

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        make()
    finally:
        sys.settrace(before)
    assert ("line", "make") in seen
    of_made = [event for event, name in seen if name == "f"]
    # (Python 3.11 tells that it is closed)
    assert "line" not in of_made and (of_made == [] or sys.version_info < (3, 12))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12")
def test_frames_made_here_are_not_monitored() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool = next(number for number in range(6) if monitoring.get_tool(number) is None)
    seen: list[str] = []
    events = [
        getattr(monitoring.events, name)
        for name in ("PY_START", "PY_THROW", "PY_UNWIND", "PY_YIELD", "LINE", "RAISE")
    ]
    monitoring.use_tool_id(tool, "test")
    try:
        for event in events:
            monitoring.register_callback(tool, event, lambda code, *_: seen.append(code.co_name))
        monitoring.set_events(tool, sum(events))
        traceback_of([PLACE])
        gc.collect()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    assert "traceback_of" in seen and "f" not in seen


@pytest.mark.parametrize("number", [-5, 2**31, 10**30, "1"])
@pytest.mark.parametrize("position", range(4, 9))
def test_places_that_are_none(position: int, number: Any) -> None:
    place: list[Any] = [*PLACE]
    place[position] = number
    try:
        trace = traceback_of([place])
    except (TypeError, ValueError, OverflowError):
        return
    assert trace is not None and traceback.format_tb(trace)


def test_of_a_long_traceback_the_middle_is_left_out() -> None:
    def down(depth: int) -> None:
        if not depth:
            raise ValueError
        down(depth - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 2 * MOST_FRAMES)
    try:
        places = places_of(raised(down, MOST_FRAMES + 50).__traceback__)
    finally:
        sys.setrecursionlimit(limit)
    assert len(places) == MOST_FRAMES + 1
    # One more is that of `raised`, one that of the call without depth.
    assert places[MOST_FRAMES // 2][0] == "<52 frames left out>"
    traceback.format_tb(traceback_of(places))


@pytest.mark.parametrize("links", [3, [1], [(ValueError(), 5, -1, False, [], [])], [(1, 2)]])
def test_links_that_are_none_end_in_a_stand_in(links: Any) -> None:
    blob = b"".join(payload.dumps({"exception": ValueError("x"), "links": links, "text": ""}))
    error = open_error(blob, KeyError("stand-in"))
    assert isinstance(error, KeyError) and "could not be unpickled" in error.__notes__[0]
