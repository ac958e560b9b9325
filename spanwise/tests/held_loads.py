"""Tasks whose results count how many bytes of them are alive in the worker's process."""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any

import dask
import numpy as np

#: Loads of a computation, and the bytes of each.
LOADS = 200
LOAD_BYTES = 5_000_000

_lock = threading.RLock()
_held = _peak = 0


def _count(nbytes: int) -> None:
    global _held, _peak
    with _lock:
        _held += nbytes
        _peak = max(_peak, _held)


def counted(array: np.ndarray) -> np.ndarray:
    """The array, counted until it is freed."""
    _count(array.nbytes)
    weakref.finalize(array, _count, -array.nbytes)
    return array


def take_peak() -> int:
    """The most bytes alive at once since the last call."""
    global _peak
    with _lock:
        peak, _peak = _peak, _held
    return peak


def load(number: int) -> np.ndarray:
    return counted(np.full(LOAD_BYTES // 8, float(number)))


def fit(model: float, data: np.ndarray) -> float:
    return model + float(data[0])


def add(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return counted(one + other)


def first(data: np.ndarray) -> float:
    return float(data[0])


def fold_over_loads() -> Any:
    """``model = fit(model, load(i))``."""
    model: Any = 0.0
    for number in range(LOADS):
        model = dask.delayed(fit)(model, dask.delayed(load)(number))
    return model


def reduced_loads() -> Any:
    """``reduce(delayed(add), loads)``."""
    loads = [dask.delayed(load)(number) for number in range(LOADS)]
    return dask.delayed(first)(functools.reduce(dask.delayed(add), loads))
