"""Frames are sized as Dask sizes them, in less time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from dask.sizeof import sizeof
from dask.utils import Dispatch

from spanwise.measure.frame_sizes import _columns_bytes, quicken_frames

NUMBERS = pd.DataFrame({"a": np.arange(500), "b": np.arange(500)})
#: What is sized without Dask's help.
QUICK = {
    "numbers": NUMBERS,
    "a part of it": NUMBERS.take(np.arange(400)).iloc[10:70],
    "rows chosen": NUMBERS[NUMBERS.a % 3 == 0],
    "types in turn": NUMBERS.assign(c=0.5, d=1, e=pd.Timestamp("2020"), f=True),
    "types apart": pd.concat(
        [NUMBERS, NUMBERS.astype(float).add_prefix("x"), NUMBERS["a"]], axis=1
    ).set_axis(list("abcde"), axis=1),
    "masked and zoned": NUMBERS.assign(
        c=pd.array([1, None] * 250, "Int64"), d=pd.Timestamp("2020", tz="Europe/Paris")
    ),
    "texts as index": NUMBERS.set_axis([f"row {i}" for i in range(500)]),
    "no rows": NUMBERS.iloc[:0],
    "no columns": NUMBERS[[]],
}
#: What Dask has to look at.
LEFT = {
    "a name twice": NUMBERS[["a", "a"]],
    "categories": NUMBERS.assign(c=pd.Categorical(["x", "y"] * 250)),
    "objects": NUMBERS.iloc[:3].assign(c=pd.Series([[1], 2, None], dtype=object)),
}


@pytest.fixture
def quick() -> Any:
    """A dispatch like Dask's, with quicker frames."""
    dispatch = Dispatch("sizeof")
    dispatch.register(object, sizeof)
    dispatch.register(pd.DataFrame, sizeof.dispatch(pd.DataFrame))
    quicken_frames(dispatch)
    return dispatch


@pytest.mark.parametrize("name", [*QUICK, *LEFT])
def test_as_dask_does(quick, name):
    frame = (QUICK | LEFT)[name]
    assert (_columns_bytes(frame) is not None) is (name in QUICK)
    # (of objects it looks at a sample)
    assert quick(frame) == pytest.approx(sizeof(frame), rel=0.2 if name == "objects" else 0)


def test_texts_of_arrow(quick):
    pytest.importorskip("pyarrow")
    frame = NUMBERS.assign(c=pd.array(["some text"] * 500, pd.StringDtype("pyarrow")))
    assert _columns_bytes(frame) is not None
    assert quick(frame) == sizeof(frame)


def test_what_users_registered_stays():
    dispatch = Dispatch("sizeof")
    dispatch.register(pd.DataFrame, lambda frame: 7)
    quicken_frames(dispatch)
    assert dispatch(NUMBERS) == 7


def test_subclasses_and_other_pandas_are_left_to_dask(quick):
    class Own(pd.DataFrame):
        pass

    assert quick(Own(NUMBERS)) == sizeof(Own(NUMBERS))

    class Manager:  # without blocks
        pass

    strange = NUMBERS.copy()
    object.__setattr__(strange, "_mgr", Manager())
    with pytest.raises(AttributeError):
        _columns_bytes(strange)
