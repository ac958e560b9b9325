"""Tasks whose results count how many bytes of them are alive in the worker's process."""

from __future__ import annotations

import functools
import threading
import weakref
from time import perf_counter
from typing import Any

import dask
import numpy as np

#: Loads of a computation, and the bytes of each.
LOADS = 200
LOAD_BYTES = 5_000_000

_lock = threading.RLock()
_held = _peak = 0
_shortest = float("inf")


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


def take_peak() -> tuple[int, float]:
    """The most bytes alive at once since the last call, and the seconds of the fastest load."""
    global _peak
    with _lock:
        peak, _peak = _peak, _held
    return peak, _shortest


def load(number: int) -> np.ndarray:
    global _shortest
    begin = perf_counter()
    made = np.full(LOAD_BYTES // 8, float(number))
    with _lock:
        _shortest = min(_shortest, perf_counter() - begin)
    return counted(made)


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
