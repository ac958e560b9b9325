"""Unpickles beside an import that is under way, and waits for it only if it matters."""

from __future__ import annotations

import builtins
import pickle
import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any

#: Modules with functions that import, while something is unpickled, what they are told to.
_MAY_IMPORT = frozenset(
    {
        "builtins",
        "importlib",
        "cloudpickle",
        "cloudpickle.cloudpickle",
        "_pickle",
        "pickle",
        "pkgutil",
        "pydoc",
    }
)
#: A larger pickle is not copied for this: it waits, as if it named something to be imported.
_MOST_COPIED_BYTES = 2**20
#: What of these imports nothing: functions and classes by value are made of it.
_IMPORT_NOTHING = frozenset(
    {("builtins", name) for name in dir(builtins) if name not in ("__import__", "eval", "exec")}
    | {
        ("cloudpickle.cloudpickle", name)
        for name in (
            "_builtin_type",
            "_class_setstate",
            "_function_setstate",
            "_make_cell",
            "_make_empty_cell",
            "_make_function",
            "_make_skeleton_class",
        )
    }
)


def is_finished(module: str) -> bool:
    """Whether a module and the packages that it is in have been imported to their last line."""
    while module:
        found = sys.modules.get(module)
        if found is None or getattr(getattr(found, "__spec__", None), "_initializing", False):
            return False
        module = module.rpartition(".")[0]
    return True


class _Unpickler(pickle.Unpickler):
    def __init__(self, wait: Callable[[], None], body: Any, **arguments: Any) -> None:
        super().__init__(BytesIO(body), **arguments)
        self._wait: Callable[[], None] | None = wait

    def find_class(self, module: str, name: str) -> Any:
        imports_nothing = (
            (module, name) in _IMPORT_NOTHING if module in _MAY_IMPORT else is_finished(module)
        )
        if self._wait is not None and not imports_nothing:
            wait, self._wait = self._wait, None
            wait()
        return super().find_class(module, name)


def unpickle_waiting(wait: Callable[[], None], body: Any, **arguments: Any) -> Any:
    """The object in a pickle.

    Parameters
    ----------
    wait
        Called once, before the first name is looked up for which a module may be imported.
    **arguments
        As of :func:`pickle.loads`.

    Raises
    ------
    Exception
        Whatever unpickling raises.
    """
    if len(body) > _MOST_COPIED_BYTES:
        wait()
        return pickle.loads(body, **arguments)
    return _Unpickler(wait, body, **arguments).load()
