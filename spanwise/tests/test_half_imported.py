"""Modules that another thread is importing: they are there, and what is sought in them is not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from dask.diagnostics import CacheProfiler, Profiler

from spanwise.client import callbacks, current, either_engine
from spanwise.diagnostics import progressbar
from spanwise.measure.sizes import Sizes
from spanwise.processes import this_process
from spanwise.worker.signs import Signs

ARRAY = np.ones(2**17)
HOOKS = [CacheProfiler()._posttask, Profiler()._posttask]


@pytest.mark.parametrize(
    ("module", "ask", "answer"),
    [
        ("numpy", lambda: Signs().show(ARRAY), None),
        ("pandas", lambda: Sizes(quickens=True).of(ARRAY), float(ARRAY.nbytes)),
        ("ipykernel.kernelapp", this_process.kernel_id, None),
        ("IPython", progressbar.is_kernel, False),
        ("dask.diagnostics.profile", lambda: callbacks._owners(HOOKS, "Profiler"), []),
        ("dask.diagnostics.profile", lambda: [*map(callbacks._ignores_result, HOOKS)], [False] * 2),
        ("distributed", lambda: either_engine.holds_dasks_futures([1]), False),
        ("distributed", lambda: current.is_dasks_client(1), False),
    ],
)
def test_a_module_amid_its_import_is_none(
    module: str, ask: Callable[[], Any], answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    assert ask() == answer
