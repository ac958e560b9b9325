"""The code that submits tasks, as far as it is the user's own.

Settings, as in `distributed`: ``distributed.diagnostics.computations.nframes`` (0, the
default, keeps no code), ``ignore-modules`` and ``ignore-files``, lists of patterns.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from types import FrameType
from typing import Any

import dask

_SETTINGS = "distributed.diagnostics.computations."
#: Matched where the name of a module begins.
IGNORED_MODULES = (
    r"asyncio",
    r"dask",
    r"debugpy",
    r"distributed",
    r"execnet",
    r"functools",
    r"ipykernel",
    r"matplotlib",
    r"pluggy",
    r"prefect",
    r"threading",
    r"xarray",
    r"xdist",
    r"xgboost",
    r"__channelexec__",
)
#: Whatever is set. (joblib's stand between a program and the backend that submits for it)
_OWN_MODULES = (r"spanwise(?:\.|$)", r"contextlib$", r"concurrent\.futures", r"joblib(?:\.|$)")
#: Found anywhere in the path of a file.
IGNORED_FILES = (r"runpy\.py", r"pytest", r"py\.test", r"_pytest", r"pycharm", r"vscode_pydevd")
_COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>"})
#: Of the code of one frame. Module frames have their whole file.
_MOST_CHARACTERS = 16_384


def code_of_caller() -> str | None:
    """The user's innermost frames as JSON, outermost first; None: none is to be kept.

    Each frame has ``code``, ``lineno_frame``, ``lineno_relative`` and ``filename``, a cell's
    in place of a path ``In [n]``.

    Raises
    ------
    ValueError
        A setting cannot be.
    """
    most = dask.config.get(f"{_SETTINGS}nframes", 0)
    if not most:
        return None
    if not isinstance(most, int | float):
        raise ValueError(f"{_SETTINGS}nframes is a number of frames, such as 2, not {most!r}")
    if most < 1:
        return None
    modules = _patterns("ignore-modules", IGNORED_MODULES, _OWN_MODULES)
    files = _patterns("ignore-files", IGNORED_FILES)
    found: list[dict[str, Any]] = []
    for frame in _callers(sys._getframe()):
        code = frame.f_code
        name = frame.f_globals.get("__name__")
        if (
            code.co_name in _COMPREHENSIONS
            or (isinstance(name, str) and modules.match(name))
            or files.search(code.co_filename)
        ):
            continue
        found.append(_described(frame))
        above = frame.f_back
        is_cell = above is not None and str(above.f_globals.get("__name__")).endswith(
            "interactiveshell"
        )
        if len(found) >= most or is_cell:
            break
    return json.dumps(found[::-1]) if found else None


def _patterns(name: str, default: tuple[str, ...], more: tuple[str, ...] = ()) -> re.Pattern[str]:
    value = dask.config.get(f"{_SETTINGS}{name}", default)
    try:
        if isinstance(value, str):
            raise TypeError("it is one text")
        return _any_of((*value, *more))
    except (TypeError, re.error) as error:
        raise ValueError(
            f"{_SETTINGS}{name} is a list of patterns, not {value!r}: {error}"
        ) from error


@cache
def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _described(frame: FrameType) -> dict[str, Any]:
    try:
        source = inspect.getsource(frame)
    except (OSError, TypeError):
        source = "<Code not available>"
    filename = frame.f_code.co_filename
    cell = _cell_of(frame)
    return {
        "code": source[:_MOST_CHARACTERS],
        "lineno_frame": frame.f_lineno,
        "lineno_relative": frame.f_lineno - frame.f_code.co_firstlineno,
        "filename": filename if cell is None else cell,
    }


def _cell_of(frame: FrameType) -> str | None:
    """``In [n]``, if the frame is of the cell that runs now."""
    shell = frame.f_globals.get("get_ipython")
    if shell is None or "ipykernel" not in frame.f_code.co_filename:
        return None
    return f"In [{getattr(shell(), 'execution_count', '?')}]"
