"""Stacks as a tree of frames, so that a sample is one number.

::

    work (a.py:3)            stack 0: parent none, frame work
      └ inner (a.py:9)       stack 1: parent 0, frame inner
          └ sorted           …

One frame per function, as in Dask's profiles, not per line. Of Spanwise itself, and of Dask's local
schedulers, a stack has what was called, and none of what does it::

    work (a.py:3)                             work (a.py:3)
      └ Future.result                           └ Future.result
          └ Session.gather …             ──►
              └ Condition.wait

What a thread does around a task's own code has the name of its activity, and below it what others'
code did in it::

    Library.loads                             (import)
      └ payload.loads                           └ <module> (pandas/__init__.py)
          └ imports._import                         └ …
              └ _find_and_load          ──►
                  └ <module> (pandas/__init__.py)
                      └ …
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from functools import partial
from inspect import getattr_static
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MappingProxyType, MethodType
from typing import Protocol

from spanwise.records.enumerations import NONE_U32
from spanwise.wire.foreign import type_name

#: Frames kept of a stack, counted from the innermost.
DEPTH = 100
#: Codes kept of a stack, with Spanwise's own.
_MOST_CODES = 2 * DEPTH
#: More different stacks than this go to the leaf "truncated".
STACKS = 100_000
#: More different frames than this are the frame "truncated".
FRAMES = 50_000
#: Code objects whose frame is known. They are kept alive; beyond this many all are forgotten.
CODES = 10_000
#: Whole stacks whose id is known, each of 0.3 KB, or 1.7 with 200 codes; beyond this many all are
#: forgotten.
PATHS = 2_000

_PACKAGE = Path(__file__).parent.parent
#: Files whose frames stand between the thread's loop and what the task calls.
_OWN_FOLDERS = tuple(str(_PACKAGE / name) + os.sep for name in ("measure", "worker"))
#: Files that, if innermost, mean that what the task calls is running and has no Python
#: frame.
_CALLING_FILES = frozenset(str(_PACKAGE / "graph" / name) for name in ("binding.py", "template.py"))
#: All other files of Spanwise; its tests are its users.
_OWN_FOLDER, _TESTS_FOLDER = (str(path) + os.sep for path in (_PACKAGE, _PACKAGE / "tests"))
#: What runs a graph where it is, as `compute` does in a task; told by their ends, as Dask is not
#: imported here.
_DASK_FILES = tuple(
    f"{os.sep}dask{os.sep}{name}.py"
    for name in ("local", "threaded", "multiprocessing", "_task_spec")
)
#: Files of Python itself: what was installed lies below the same folder.
_PYTHON_FOLDER = str(Path(os.__file__).parent) + os.sep
_INSTALLED_FOLDERS = tuple(
    _PYTHON_FOLDER + name + os.sep for name in ("site-packages", "dist-packages")
)
#: Modules that came with the interpreter.
_WITHOUT_FILES = "<frozen "
#: Code that was made from a text: of a data class, by names such as `__init__`; else of a user's
#: program, as that of `python -c`.
_TEXT = "<string>"
_SKIPPED, _OWN, _PYTHON = -1, -2, -3

#: function, file, line
Frame = tuple[str, str, int]

#: "(worker)", or an activity as `fine_metrics` calls it: "(disk-read)".
_OWN_FILE = "<spanwise>"


def own_frame(name: str) -> Frame:
    """The frame of what a thread does around tasks."""
    return f"({name})", _OWN_FILE, 0


_WORKER = own_frame("worker")
#: An activity that others' code may be around: a class imports a module as it is opened.
IMPORT = "import"


class TextIds(Protocol):
    """Where texts get their ids."""

    def id_of(self, text: str) -> int:
        """The id of a text, new or not."""


class StackTree:
    """Ids of stacks and frames, and the rows that describe them.

    Parameters
    ----------
    names
        Where the texts of frames get their ids.
    base
        The outermost code of a task's stack; it and what is outside it are not shown.
    callers
        More files whose frames stand between `base` and the task and are not shown.
    activities
        Which activity code is that is no task's own: code that lives as long → its name.
    """

    def __init__(
        self,
        names: TextIds,
        base: CodeType,
        callers: frozenset[str] = frozenset(),
        activities: Mapping[CodeType, str] = MappingProxyType({}),
    ) -> None:
        self._names = names
        self._base = base
        self._activities = {id(code): name for code, name in activities.items()}
        #: Where the innermost code of a stack is in one of these files, what the task calls runs
        #: without a Python frame of its own.
        self.callers = callers | _CALLING_FILES
        #: `id` of a code object → the object, which a look-up by itself would hash anew each time,
        #: and its frame's id; or why it is not shown everywhere: _SKIPPED, _OWN, _PYTHON.
        self._frame_of_code: dict[int, tuple[CodeType, int]] = {}
        #: `id` of each code, from the innermost one on, 8 bytes each → the id of their stack, which
        #: most looks see again. They are in `_frame_of_code`, so they live.
        self._stack_of_codes: dict[bytes, int] = {}
        #: (function, file, line) → frame id: notebook functions get new code objects.
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, int], int] = {}
        self._new_frames: list[tuple[int, int, int, int]] = []
        self._new_stacks: list[tuple[int, int, int]] = []

    def codes_of(self, frame: FrameType | None) -> list[CodeType]:
        """Return what runs in `frame`, from the innermost code on, to be numbered later.

        (Frames themselves would keep what the task holds.)
        """
        codes: list[CodeType] = []
        base = self._base
        while frame is not None and len(codes) < _MOST_CODES:
            code = frame.f_code
            if code is base:
                break
            codes.append(code)
            frame = frame.f_back
        return codes

    def is_calling(self, codes: list[CodeType]) -> bool:
        """Whether what the task calls runs in this stack without a Python frame of its own."""
        return bool(codes) and codes[0].co_filename in self.callers

    def stack_of(self, codes: list[CodeType], call: Frame | None) -> int:
        """Return the id of a stack.

        Parameters
        ----------
        codes
            As :meth:`codes_of` has returned them.
        call
            What the task calls, which stands for itself if it has no Python frames.
        """
        key = array("Q", map(id, codes)).tobytes()
        stack = self._stack_of_codes.get(key)
        if stack is not None:
            return stack
        numbered: list[tuple[CodeType, int]] = []
        known = self._frame_of_code
        forgot = False
        for code in codes:
            found = known.get(id(code))
            if found is None:
                if len(known) >= CODES:
                    known.clear()
                    self._stack_of_codes.clear()
                    forgot = True
                found = known[id(code)] = code, self._number(code)
            numbered.append(found)
        activity = self._own_activity(numbered)
        if activity is None:
            path = self._path(numbered)[-DEPTH:]
        else:
            name, within = activity
            path = self._path(numbered[:within], is_within=True)[1 - DEPTH :]
            path.insert(0, self._frame(*own_frame(name)))
        is_known = bool(path) and not forgot
        if not path:
            path.append(self._frame(*(call if call and self.is_calling(codes) else _WORKER)))
        stack = NONE_U32
        for number in path:
            stack = self._child(stack, number)
        if is_known:
            if len(self._stack_of_codes) >= PATHS:
                self._stack_of_codes.clear()
            self._stack_of_codes[key] = stack
        return stack

    def _own_activity(self, numbered: list[tuple[CodeType, int]]) -> tuple[str, int] | None:
        """The innermost activity around a task's own code, and how many codes are within it.

        None: a task runs, and what it calls is its own. In others' code that runs in an activity,
        as of a class that opens itself, only an import is another one.
        """
        found: tuple[str, int] | None = None
        is_of_others = False
        for within in reversed(range(len(numbered))):
            code, number = numbered[within]
            activity = self._activities.get(id(code))
            if activity is not None and (not is_of_others or activity == IMPORT):
                found = activity, within
            elif number >= 0:
                if found is None:
                    return None
                is_of_others = True
        return found

    def _path(self, numbered: list[tuple[CodeType, int]], is_within: bool = False) -> list[int]:
        """The ids of the frames that are shown, the outermost first.

        What is called of Spanwise, or of Dask to run a graph, hides what it calls of itself and
        of Python, up to what is another's again: a class that says how it is pickled, a task.

        Parameters
        ----------
        is_within
            Such a call is around all of them.
        """
        path: list[int] = []
        for code, number in reversed(numbered):
            if number == _SKIPPED or (number in (_OWN, _PYTHON) and is_within):
                continue
            is_within = number == _OWN
            path.append(number if number >= 0 else self._frame_of(code))
        return path

    def stack_of_call(self, call: Frame) -> int:
        """Return the id of the stack that is what a task calls."""
        return self._child(NONE_U32, self._frame(*call))

    def rows(
        self,
    ) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int, int]]]:
        """Return the rows of `stacks` and `frames` that are new, and forget them."""
        stacks, self._new_stacks = self._new_stacks, []
        frames, self._new_frames = self._new_frames, []
        return stacks, frames

    def _number(self, code: CodeType) -> int:
        file = code.co_filename
        if file in self.callers or file.startswith(_OWN_FOLDERS):
            return _SKIPPED
        if file.startswith(_OWN_FOLDER) and not file.startswith(_TESTS_FOLDER):
            return _OWN
        if file.endswith(_DASK_FILES):
            return _OWN
        is_python = file.startswith(_PYTHON_FOLDER) and not file.startswith(_INSTALLED_FOLDERS)
        is_made = file == _TEXT and code.co_name.startswith("__")
        if is_python or is_made or file.startswith(_WITHOUT_FILES):
            return _PYTHON
        return self._frame_of(code)

    def _frame_of(self, code: CodeType) -> int:
        return self._frame(*_described(code))

    def _frame(self, function: str, file: str, line: int) -> int:
        key = (function, file, line)
        number = self._frames.get(key)
        if number is None and len(self._frames) >= FRAMES:
            key = ("truncated", "", 0)
            function, file, line = key
            number = self._frames.get(key)
        if number is None:
            number = self._frames[key] = len(self._frames)
            id_of = self._names.id_of
            self._new_frames.append((number, id_of(function), id_of(file), line))
        return number

    def _child(self, parent: int, frame: int) -> int:
        key = (parent, frame)
        stack = self._stacks.get(key)
        if stack is None:
            if len(self._stacks) >= STACKS:
                key = (NONE_U32, self._frame("truncated", "", 0))
                if key in self._stacks:
                    return self._stacks[key]
            stack = self._stacks[key] = len(self._stacks)
            self._new_stacks.append((stack, *key))
        return stack


def call_of(called: object) -> Frame:
    """What a task calls, as the frame that it has or would have."""
    code = _code_of(called)
    return built_in_of(called) if code is None else _described(code)


def built_in_of(called: object) -> Frame:
    """What a task calls, where it has no frame."""
    try:
        name = getattr(called, "__qualname__", None) or type(called).__qualname__
        text = str(name)
    except BaseException:  # noqa: BLE001 (a user's class may do anything; its own name is known)
        text = type_name(called)
    return text, "<built-in>", 0


def _described(code: CodeType) -> Frame:
    return code.co_qualname, code.co_filename, code.co_firstlineno


def _code_of(called: object) -> CodeType | None:
    """The code that runs when an object is called; None if it is no Python code.

    It asks for types only: attributes of users' objects may be users' code.
    """
    while type(called) is partial:
        called = called.func
    if type(called) is MethodType:
        called = called.__func__
    if type(called) is not FunctionType:
        # An object that can be called: its class says how.
        called = getattr_static(type(called), "__call__", None)
    return called.__code__ if type(called) is FunctionType else None
