"""Follows which cell of the notebook runs, so that each run of it is a span by itself.

IPython tells when a cell begins and ends. It is looked for among the modules that are imported
already: where there is none, the file of a script takes the notebook's place.

A cell's tag is its first line that says what it does, numbered if several cells have the same
one (a thousand of them): the runs of one cell are in one place of the panels' tree, as those of a
``with span(…)`` block are. Each run is a span of its own, with the code that ran.
"""

from __future__ import annotations

import json
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import dask

from spanwise.bounded_map import BoundedMap
from spanwise.current_frames import current_frames
from spanwise.graph.roots import RootAnnotation, enter, keep_threads
from spanwise.graph.span_record import SpanRecord

#: False: no cell, notebook or script is a span.
SETTING = "spanwise.spans.cells"

_MOST_TAG = 60
#: Of a cell's code.
_MOST_CHARACTERS = 16_384
#: First lines whose cells are remembered, the newest, and how many cells of all together.
_MOST_TITLES = 10_000
_MOST_CELLS = 20_000
#: Cells that begin alike and are told apart; the others share a tag.
_MOST_ALIKE = 1_000
#: Threads of these packages work for whoever asks them.
_SERVING = (
    "asyncio",
    "concurrent",
    "dask",
    "distributed",
    "fsspec",
    "ipykernel",
    "joblib",
    "multiprocessing",
    "spanwise",
    "tornado",
    "zmq",
)

_LOCK = threading.Lock()
_FOLLOWED: list[Cells] = []


def follow_roots(notebook: str | None) -> None:
    """Have what is written from now on be of its cell, or of the script, if that is wanted.

    Parameters
    ----------
    notebook
        Its path, where that is known.
    """
    with _LOCK:
        shell = _shell()
        if shell is None:
            _follow_script()
        elif _FOLLOWED:
            _FOLLOWED[0].look_at_setting()
        elif _is_wanted():
            _FOLLOWED.append(Cells(shell, notebook))


def _is_wanted() -> bool:
    return bool(dask.config.get(SETTING, True))


def _shell() -> Any:
    """IPython, if this program runs in it."""
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = getattr(module, "InteractiveShell", None)
    return shell.instance() if shell is not None and shell.initialized() else None


_SCRIPT: list[RootAnnotation] = []


def _follow_script() -> None:
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    # (what `python -m` starts is a module of a package, such as a test runner)
    if file is None or getattr(main, "__spec__", None) is not None or not _is_wanted():
        enter(None, here=False)
        return
    if not _SCRIPT:
        record = SpanRecord(Path(file).name, None, origin="notebook")
        _SCRIPT.append(RootAnnotation(record))
    enter(_SCRIPT[0], here=False)


class _OpenCell:
    """The cell that runs.

    Attributes
    ----------
    info
        What IPython says of it; None if it ran already when it was looked for.
    count
        IPython's counter while it runs: that of cells which magics run within it too.
    others
        The threads that there were before it.
    """

    __slots__ = ("code", "count", "info", "others", "root")

    def __init__(self, root: RootAnnotation, info: Any, code: str, count: int) -> None:
        self.root = root
        self.info = info
        self.code = code
        self.count = count
        self.others = weakref.WeakSet(threading.enumerate())

    def is_of(self, result: Any) -> bool:
        """Whether a result is that of this cell."""
        info = getattr(result, "info", None)
        if info is None:
            return True  # it was interrupted before there was any
        return info is self.info or (self.info is None and info.raw_cell == self.code)


class CellTags:
    """Numbers cells that begin alike, in the order of their first runs.

    Bounded: first lines that were not run for long, and then their cells are numbered anew; and
    how many cells of one first line are told apart.
    """

    def __init__(self) -> None:
        #: First line → the ids of its cells.
        self._cells_of: BoundedMap[str, list[str | None]] = BoundedMap(_MOST_TITLES, _MOST_CELLS)

    def of(self, title: str, cell: str | None) -> str:
        """The tag of the cell of this id that begins so."""
        cells = self._cells_of.get(title) or []
        if cell not in cells:
            if len(cells) >= _MOST_ALIKE:
                return f"{title} (more than {_MOST_ALIKE:,})"
            cells.append(cell)
        self._cells_of.keep(title, cells, len(cells))
        place = cells.index(cell) + 1
        return title if place == 1 else f"{title} ({place})"

    @property
    def kept(self) -> int:
        """How many cells are remembered."""
        return self._cells_of.cost


class Cells:
    """The cells of the notebook that this process runs.

    Parameters
    ----------
    shell
        IPython's.
    notebook
        Its path, where that is known.
    """

    def __init__(self, shell: Any, notebook: str | None) -> None:
        self._shell = shell
        is_kernel = "ipykernel.kernelapp" in sys.modules
        tag = Path(notebook or "").name or ("notebook" if is_kernel else "IPython")
        self._notebook = SpanRecord(tag, None, origin="notebook")
        self._between = RootAnnotation(self._notebook)
        self._tags = CellTags()
        self._open: _OpenCell | None = None
        shell.events.register("pre_run_cell", self.begin)
        shell.events.register("post_run_cell", self.end)
        enter(self._between, here=False)
        running = self._running_now()
        if running is not None:
            code, cell = running
            self._begin(None, code, cell, shell.execution_count - 1)

    def look_at_setting(self) -> None:
        """Another client or observation has begun, perhaps with the setting changed."""
        if not _is_wanted():
            self._finish(None)

    def begin(self, info: Any) -> None:
        """IPython begins to run a cell."""
        if self._open is not None and self._open.count == self._shell.execution_count:
            return  # a magic runs this one within the other
        if not _is_wanted():
            self._finish(None)
            return
        self._finish(self._between)
        count = self._shell.execution_count - (1 if info.store_history else 0)
        self._begin(info, info.raw_cell, getattr(info, "cell_id", None), count)

    def end(self, result: Any) -> None:
        """IPython has run a cell."""
        if self._open is not None and self._open.is_of(result):
            self._finish(self._between)

    def _begin(self, info: Any, code: str, cell: str | None, number: int) -> None:
        frame = {
            "code": code[:_MOST_CHARACTERS],
            "lineno_frame": 1,
            "lineno_relative": 0,
            "filename": f"In [{number}]",
            "cell": cell,
        }
        record = SpanRecord(
            self._tags.of(title_of(code), cell),
            None,
            origin="cell",
            root=self._notebook,
            code=json.dumps([frame]),
        )
        root = RootAnnotation(record)
        self._open = _OpenCell(root, info, code, self._shell.execution_count)
        enter(root, here=True)

    def _finish(self, after: RootAnnotation | None) -> None:
        """The cell that runs has ended, if there is one."""
        cell, self._open = self._open, None
        enter(after, here=False)
        if cell is None:
            return
        started = [
            thread
            for thread in threading.enumerate()
            if thread not in cell.others and not _serves_others(thread)
        ]
        keep_threads(started, cell.root)
        cell.root.record.close()

    def _running_now(self) -> tuple[str, str | None] | None:
        """Code and id of the cell in the midst of which this was called, or None."""
        if not any(map(_is_of_shell, _main_frames())):
            return None
        parent = getattr(self._shell, "parent_header", None) or {}
        code = parent.get("content", {}).get("code")
        cell = parent.get("metadata", {}).get("cellId")
        if code is None:
            history = getattr(self._shell, "history_manager", None)
            code = history.input_hist_raw[-1] if history is not None else ""
        return code, cell


def title_of(code: str) -> str:
    """The first line of a cell that says what it does; else the first; `cell` of an empty one.

    Blank lines, magics, imports and decorators say it of no cell.
    """
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    python = [line for line in lines if not line.startswith(("%", "!"))]
    found = next(_telling(python), None) or next(iter(python or lines), "cell")
    return found if len(found) <= _MOST_TAG else f"{found[: _MOST_TAG - 1]}…"


def _telling(lines: list[str]) -> Iterator[str]:
    """Those that belong to no import and no decorator, however many lines these have."""
    goes_on, depth = False, 0
    for line in lines:
        if not goes_on:
            depth = 0
        if goes_on or line.startswith(("@", "import ", "from ")):
            depth += line.count("(") - line.count(")")
            goes_on = depth > 0 or line.endswith("\\")
        else:
            yield line


def _serves_others(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    module = getattr(target, "__module__", None) or type(thread).__module__
    return module.split(".")[0] in _SERVING


def _main_frames() -> Iterator[FrameType]:
    """The frames of the main thread, where cells run, innermost first."""
    main = threading.main_thread()
    is_here = threading.current_thread() is main
    frame = sys._getframe() if is_here else current_frames().get(main.ident or 0)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_of_shell(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == "IPython.core.interactiveshell"
