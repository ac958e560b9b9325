"""The oracle of equality sees what it is there to see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from spanwise.tests.computations import COMPUTATIONS, FEW, PLAIN, threaded
from spanwise.tests.same_results import assert_same

FRAME = pd.DataFrame({"a": [1, 2, 2], "b": [0.5, np.nan, 3.0]}, index=pd.Index([4, 7, 9], name="i"))
COUNTS = pd.Series([3, 2, 1], index=pd.Index(["the", "cat", "mat"], name="w"), name="count")
ARRAY = np.arange(6.0).reshape(2, 3)

#: What is, and what must not pass for it.
OTHERS: dict[str, tuple[Any, Any]] = {
    "rows in another order": (FRAME, FRAME[::-1]),
    "equal rows with their labels swapped": (
        pd.DataFrame({"a": [1, 1]}, index=[0, 1]),
        pd.DataFrame({"a": [1, 1]}, index=[1, 0]),
    ),
    "columns in another order": (FRAME, FRAME[["b", "a"]]),
    "dtype of a column": (FRAME, FRAME.astype({"a": "int32"})),
    "name of the index": (FRAME, FRAME.rename_axis("j")),
    "type of the index": (FRAME, FRAME.set_index(FRAME.index.astype("int32"))),
    "a number for nan": (FRAME, FRAME.fillna(0.0)),
    "a last digit": (FRAME, FRAME.assign(b=FRAME.b * (1 + 1e-10))),
    "reversed counts": (COUNTS, COUNTS[::-1]),
    "counts of others": (COUNTS, COUNTS.set_axis(["cat", "the", "mat"])),
    "name of a series": (COUNTS, COUNTS.rename("n")),
    "order of categories": (
        pd.Series(pd.Categorical(["x", "y"], ["x", "y"])),
        pd.Series(pd.Categorical(["x", "y"], ["y", "x"])),
    ),
    "dtype of an array": (ARRAY, ARRAY.astype("f4")),
    "signed for unsigned": (np.arange(3, dtype="u2"), np.arange(3, dtype="i2")),
    "elements in another order": (ARRAY, ARRAY[:, ::-1]),
    "shape of an array": (ARRAY, ARRAY.reshape(3, 2)),
    "an array for a number": (np.float64(1.0), np.array(1.0)),
    "a Python number for one of numpy": (np.int64(1), 1),
    "items in another order": ([("the", 3), ("cat", 2)], [("cat", 2), ("the", 3)]),
    "inside a list": ([ARRAY, ARRAY], [ARRAY, ARRAY[::-1]]),
    "a tuple for a list": ([1, 2], (1, 2)),
    "true for one": ([1], [True]),
    "keys in another order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "inside a dict": ({"a": ARRAY}, {"a": ARRAY.astype("f4")}),
    "fewer": ([1, 2], [1]),
}


@pytest.mark.parametrize("which", OTHERS)
def test_another_result_does_not_pass(which: str) -> None:
    is_, other = OTHERS[which]
    assert_same(is_, is_)
    for result, expected in ((other, is_), (is_, other)):
        with pytest.raises(AssertionError):
            assert_same(result, expected)


@pytest.mark.parametrize("name", [*PLAIN, "frame-value-counts", "frame-value-counts-many"])
def test_what_has_an_order_is_told_from_its_reverse(name: str) -> None:
    result = threaded(COMPUTATIONS[name](FEW))
    with pytest.raises(AssertionError):
        assert_same(result[::-1], result)
