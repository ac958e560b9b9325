"""Packed graphs, run from their messages alone, give what Dask gives."""

from __future__ import annotations

import dask
import pytest

from spanwise.tests.computations import COMPUTATIONS, assert_equal, threaded
from spanwise.tests.packed_run import PackedRun


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_equals_threaded(name: str) -> None:
    run = PackedRun()
    with dask.config.set({"scheduler": run.get, "dataframe.shuffle.method": "tasks"}):
        (result,) = dask.compute(COMPUTATIONS[name]())
    assert_equal(result, threaded(COMPUTATIONS[name]()))
