"""Tracebacks as they travel: where each frame stood, and a traceback made of that.

::

    in the task                in the message                          at the client
    tb ─▶ frame of f     ─▶    (file, f, line, end line, columns) ─▶   tb ─▶ frame without locals

Why not tblib, which `distributed` uses: its frames are stubs that ran, so each holds, by
`f_back`, the caller's frames and with them futures that nobody would let go; it keeps no
columns, so that the marks below a source line are lost; and it has no types.

A frame is had here without running anything but a `yield`: from a generator that stands at it, for
IPython reads in the frame which line of a cell to point at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

#: The middle of a longer traceback is left out; `sys.getrecursionlimit()` is 1000.
MOST_FRAMES = 2_000
#: In the globals of a frame made here.
_MARK = "__spanwise_remote__"

#: Reads and writes an exception's, whatever its class makes of the name.
TRACEBACK: Any = BaseException.__dict__["__traceback__"]


class Place(NamedTuple):
    """Where a frame stood; lines from 1, columns in bytes from 0, or None where unknown."""

    file: str
    module: str
    name: str
    qualified: str
    first_line: int
    line: int
    end_line: int | None
    column: int | None
    end_column: int | None


def places_of(trace: TracebackType | None) -> list[tuple[Any, ...]]:
    """Where the frames of a traceback stand, the outermost first, as plain tuples."""
    count = sum(1 for _ in _links(trace))
    if count <= MOST_FRAMES:
        return [tuple(_place(each)) for each in _links(trace)]
    half = MOST_FRAMES // 2
    left_out = Place(
        f"<{count - 2 * half:,} frames left out>", "", "…", "…", 1, 1, None, None, None
    )
    return [
        *(tuple(_place(each)) for each in islice(_links(trace), half)),
        tuple(left_out),
        *(tuple(_place(each)) for each in islice(_links(trace), count - half, None)),
    ]


def _links(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _place(trace: TracebackType) -> Place:
    code = trace.tb_frame.f_code
    line, end_line, column, end_column = None, None, None, None
    if trace.tb_lasti >= 0:
        found = islice(code.co_positions(), trace.tb_lasti // 2, None)
        line, end_line, column, end_column = next(found, (None,) * 4)
    if line != trace.tb_lineno:
        end_line = column = end_column = None
    module = trace.tb_frame.f_globals.get("__name__")
    return Place(
        code.co_filename,
        module if type(module) is str else "",
        code.co_name,
        code.co_qualname,
        code.co_firstlineno,
        trace.tb_lineno or 0,
        end_line,
        column,
        end_column,
    )


def traceback_of(places: Iterable[Iterable[Any]]) -> TracebackType | None:
    """A traceback whose frames stand at these places, and hold no locals.

    Raises
    ------
    TypeError, ValueError
        That is no list of places.
    """
    trace = None
    for each in reversed([Place(*place) for place in places]):
        code, instruction = _code(each)
        names = {"__name__": each.module, "__file__": each.file, _MARK: True}
        generator = FunctionType(code, names)()
        frame = generator.gi_frame
        next(generator)
        trace = TracebackType(trace, frame, instruction, each.line)
    return trace


@lru_cache(maxsize=1024)
def _code(place: Place) -> tuple[CodeType, int]:
    """Code of a generator that has an instruction at a place, and the instruction's offset."""
    line = max(1, place.line)
    column, end_column = place.column, place.end_column
    if place.end_line is None or column is None or end_column is None:
        # No instruction then: nothing is marked below the source line.
        at = {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}
    else:
        at = {
            "lineno": line,
            "col_offset": column,
            "end_lineno": place.end_line,
            "end_col_offset": end_column,
        }
    (function,) = ast.parse("def f(): yield").body
    for node in ast.walk(function):
        for name, value in at.items():
            if hasattr(node, name):
                setattr(node, name, value)
    # All lines of the code are counted from there.
    function.lineno = max(1, place.first_line)
    module = compile(ast.Module([function], []), place.file, "exec")
    code = next(each for each in module.co_consts if isinstance(each, CodeType))
    wanted = (line, place.end_line, column, end_column)
    offsets = [2 * n for n, found in enumerate(code.co_positions()) if found == wanted]
    # Without the handler that newer Pythons add, which has no line and would run at the end.
    named = code.replace(co_name=place.name, co_qualname=place.qualified, co_exceptiontable=b"")
    return named, offsets[-1] if offsets else -1


def leave_tasks_frames(error: BaseException) -> None:
    """Leave out of a traceback what was passed on the way from the task's frames to here.

    A bare ``raise`` after it adds no frame either: the caller's line stands before the task's.
    An error without frames of a task keeps all of its own.
    """
    for each in _links(TRACEBACK.__get__(error)):
        if _MARK in each.tb_frame.f_globals:
            TRACEBACK.__set__(error, each)
            return
