"""Packed graphs, run from their messages alone, give what Dask gives."""

from __future__ import annotations

import dask
import pytest

from spanwise.tests.computations import COMPUTATIONS, SIZES, threaded
from spanwise.tests.packed_run import PackedRun
from spanwise.tests.same_results import assert_same


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_equals_threaded(name: str) -> None:
    for size in SIZES.values():
        run = PackedRun()
        with dask.config.set({"scheduler": run.get, "dataframe.shuffle.method": "tasks"}):
            (result,) = dask.compute(COMPUTATIONS[name](size))
        assert_same(result, threaded(COMPUTATIONS[name](size)))
