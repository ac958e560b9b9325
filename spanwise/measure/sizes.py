"""How many bytes a result takes, cheaply for the types that most results have."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from threading import current_thread, main_thread
from typing import Any

from spanwise.bounded_map import BoundedMap
from spanwise.measure.frame_sizes import quicken_frames

#: No result is this large: a size above it is wrong.
_MOST_BYTES = 2.0**50
#: How many classes are remembered, which keeps them alive: notebooks make new ones.
_CLASSES = 1_000


def is_to_be_awaited(kind: type) -> bool:
    """Whether what a function returns of this type stands for a value that is still to come.

    A collection can be awaited, too: by asynchronous clients. As a result it is itself.
    """
    return issubclass(kind, Awaitable) and not hasattr(kind, "__dask_graph__")


class Sizes:
    """Sizes by type.

    `fixed` answers for types whose instances are (nearly) all of one size, at the
    price of one dict lookup; everything else goes through ``dask.sizeof``, whose
    lookup by class is remembered here.

    Parameters
    ----------
    quickens
        Have ``dask.sizeof`` itself size frames in a quicker way: for processes of our own.
    """

    def __init__(self, quickens: bool = False) -> None:
        self._quickens = quickens
        #: Types whose instances have one size; never awaitable.
        self.fixed: dict[type, float] = {
            kind: float(sys.getsizeof(example))
            for kind, example in (
                (int, 1),
                (float, 1.0),
                (complex, 1j),
                (bool, True),
                (type(None), None),
            )
        }
        self._measures: dict[type, Any] = dict.fromkeys((str, bytes, bytearray), sys.getsizeof)
        self._awaitable: BoundedMap[type, bool] = BoundedMap(_CLASSES)

    def is_awaitable(self, kind: type) -> bool:
        """Return whether instances of `kind` are to be awaited for their value."""
        known = self._awaitable.get(kind)
        if known is None:
            known = self._awaitable.keep(kind, is_to_be_awaited(kind))
        return known

    def of(self, value: Any) -> float:
        """Return the size of `value` in bytes; never raises, as a size is no reason to fail.

        KeyboardInterrupt is raised, though: where tasks run in the main thread it ends the
        computation.
        """
        kind = type(value)
        try:
            size = self.fixed.get(kind)
            if size is not None:
                return size
            measure = self._measures.get(kind)
            if measure is None:
                from dask.sizeof import sizeof

                # (classes that are remembered from before pandas was imported: the next new one
                # brings it)
                if self._quickens and hasattr(sys.modules.get("pandas"), "DataFrame"):
                    self._quickens = False
                    quicken_frames(sizeof)
                if len(self._measures) >= _CLASSES:
                    self._measures.clear()
                measure = self._measures[kind] = sizeof.dispatch(kind)
            size = float(measure(value))
            # (false for NaN too: one would make all sums NaN)
            return size if 0.0 <= size < _MOST_BYTES else float(object.__sizeof__(value))
        except BaseException as error:
            # User types register sizes of their own, which may be wrong in any way.
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise
            return float(object.__sizeof__(value))
