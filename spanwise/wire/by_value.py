"""Pickles by value: functions and classes that whoever opens them cannot import.

From 3.1.3 on, cloudpickle writes ``<dynamic-code>`` in place of the file that code is of, so that
a pickle does not depend on it. Tracebacks and profiles would then name no file and show no source
line, above all those of a notebook's cells; so the file travels here, as it did before.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from io import BytesIO
from types import CodeType
from typing import Any, ClassVar

import cloudpickle

#: The place of `co_filename` among the arguments of `CodeType`, of which a pickle makes code.
_FILE_ARGUMENT = 10

_their_reduction: Callable[[CodeType], tuple[Any, ...]] = cloudpickle.Pickler.dispatch_table[
    CodeType
]


def _reduced(code: CodeType) -> tuple[Any, ...]:
    maker, arguments, *rest = _their_reduction(code)
    before, after = arguments[:_FILE_ARGUMENT], arguments[_FILE_ARGUMENT + 1 :]
    return maker, (*before, code.co_filename, *after), *rest


class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle's, and code keeps the name of its file."""

    dispatch_table: ClassVar = ChainMap({CodeType: _reduced}, cloudpickle.Pickler.dispatch_table)


def is_needed(plain: bytes) -> bool:
    """Whether a pickle, made without cloudpickle, may name what only this process has."""
    return b"__main__" in plain or bool(cloudpickle.list_registry_pickle_by_value())


def dumps(obj: Any, buffer_callback: Callable[[Any], Any] | None = None) -> bytes:
    """As :func:`cloudpickle.dumps`, with protocol 5.

    Raises
    ------
    Exception
        Whatever the object's own pickling raises.
    """
    with BytesIO() as file:
        ByValue(file, protocol=5, buffer_callback=buffer_callback).dump(obj)
        return file.getvalue()
