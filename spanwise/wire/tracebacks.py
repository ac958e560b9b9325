"""Tracebacks as they travel: where each frame stood, and a traceback made of that.

::

    in the task                in the message                          at the client
    tb ─▶ frame of f     ─▶    (file, f, line, end line, columns) ─▶   tb ─▶ frame without locals

Why not tblib, which `distributed` uses: its frames are stubs that ran, so each holds, by
`f_back`, the caller's frames and with them futures that nobody would let go; it keeps no
columns, so that the marks below a source line are lost; and it has no types.

A frame is had here without running anything: from a generator that is never begun, all of whose
instructions are said to stand at the line, for IPython reads in the frame which line of a cell to
point at. So nothing counts the line as run, and no breakpoint is met. (In Python 3.11 a tracer is
told that the generator is closed, though of no line: a debugger that steps stops there once.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from opcode import opmap
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

#: The middle of a longer traceback is left out; `sys.getrecursionlimit()` is 1000.
MOST_FRAMES = 2_000
#: CPython adds them up as numbers of C.
_MOST_NUMBER = 2**30
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
        frame = FunctionType(code, names)().gi_frame
        trace = TracebackType(trace, frame, instruction, each.line)
    return trace


def _stands() -> Iterator[None]:
    yield


_STANDS = _stands.__code__
_UNITS = len(_STANDS.co_code) // 2
#: The offset of an instruction of it.
_INSTRUCTION = 2 * _STANDS.co_code[::2].index(opmap["YIELD_VALUE"])


@lru_cache(maxsize=1024)
def _code(place: Place) -> tuple[CodeType, int]:
    """Code of a generator that stands at a place, and the offset of its instruction there."""
    first_line, line = max(1, place.first_line), max(1, place.line)
    columns = (place.end_line, place.column, place.end_column)
    # No instruction where they are not known: nothing is marked below the source line.
    instruction = -1 if None in columns else _INSTRUCTION
    code = _STANDS.replace(
        co_filename=place.file,
        co_name=place.name,
        co_qualname=place.qualified,
        co_firstlineno=first_line,
        co_linetable=_line_table(first_line, line, *columns),
        # Without the handler that newer Pythons add: no code of it ever runs.
        co_exceptiontable=b"",
    )
    return code, instruction


def _line_table(
    first_line: int, line: int, end_line: int | None, column: int | None, end_column: int | None
) -> bytes:
    """What says that all instructions stand there: `Objects/locations.md` of CPython.

    ::

        1 form     units - 1     form 13: line; 14: line, end line, column + 1, end column + 1
        │ └─┬──┘   └──┬──┘
        1 1 1 1 0   0 0 1        of at most 8 units each; lines count from the one before
    """
    if end_line is None or column is None or end_column is None:
        form, rest = 13, b""
    else:
        form = 14
        rest = _varint(end_line - line) + _varint(column + 1) + _varint(end_column + 1)
    table = b""
    ahead = line - first_line
    for begin in range(0, _UNITS, 8):
        units = min(8, _UNITS - begin)
        signed = 2 * abs(ahead) + (ahead < 0)
        table += bytes([0x80 | form << 3 | units - 1]) + _varint(signed) + rest
        ahead = 0
    return table


def _varint(number: int) -> bytes:
    """Six bits a byte, the lowest first; all but the last have bit 6."""
    if not 0 <= number <= _MOST_NUMBER:
        raise ValueError(f"{number} is no line and no column")
    found = bytearray()
    while number >= 0x40:
        found.append(0x40 | number & 0x3F)
        number >>= 6
    found.append(number)
    return bytes(found)


def leave_tasks_frames(error: BaseException) -> None:
    """Leave out of a traceback what was passed on the way from the task's frames to here.

    A bare ``raise`` after it adds no frame either: the caller's line stands before the task's.
    An error without frames of a task keeps all of its own, unless its message says all: that a
    wait was too long, or what Spanwise itself has to say, as that a task was cancelled. How
    Spanwise came to say so is nothing to the caller.
    """
    for each in _links(TRACEBACK.__get__(error)):
        if _MARK in each.tb_frame.f_globals:
            TRACEBACK.__set__(error, each)
            return
    says_all = isinstance(error, TimeoutError) or type(error).__module__ == f"{_OWN}.errors"
    if says_all and all(map(_is_own, _links(TRACEBACK.__get__(error)))):
        TRACEBACK.__set__(error, None)


_OWN = __package__.partition(".")[0]
#: Between a coroutine of ours and the thread that it has something done by.
_BETWEEN = ("asyncio", "concurrent")


def _is_own(trace: TracebackType) -> bool:
    name = trace.tb_frame.f_globals.get("__name__")
    return type(name) is str and name.partition(".")[0] in (_OWN, *_BETWEEN)
