"""Dask computations whose results every scheduler must agree on.

Each entry makes a new collection (or list of collections, or ready graph) when
called; the suites compute it twice, with the threaded scheduler and with Spanwise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed


def _array() -> da.Array:
    return da.from_array(np.arange(240.0).reshape(12, 20), chunks=(5, 7))


def _random() -> da.Array:
    return da.random.default_rng(42).normal(size=(60, 8), chunks=(20, 8))


def _table() -> pd.DataFrame:
    n = 120
    return pd.DataFrame(
        {
            "k": np.arange(n) % 7,
            "g": np.where(np.arange(n) % 3 == 0, "x", "y"),
            "v": np.sin(np.arange(n)),
            "w": np.arange(n) % 11 * 1.5,
        }
    )


def _frame() -> dd.DataFrame:
    return dd.from_pandas(_table(), npartitions=5)


def _other() -> dd.DataFrame:
    return dd.from_pandas(pd.DataFrame({"k": np.arange(7), "z": np.arange(7) ** 2}), npartitions=2)


def _words() -> db.Bag:
    return db.from_sequence(
        ["the", "cat", "sat", "on", "the", "mat", "with", "the", "other", "cat"], npartitions=3
    )


class Pair(NamedTuple):
    left: Any
    right: Any


@delayed
def _increment(x: int) -> int:
    return x + 1


@delayed
def _total(values: Any) -> Any:
    return sum(values)


@delayed
def _from_mapping(mapping: dict[str, Any], pair: Pair, scale: int = 1) -> Any:
    return (mapping["a"] + sum(mapping["b"]) + pair.left + pair.right) * scale


def _nested_delayed() -> Any:
    one, two = _increment(1), _increment(2)
    return _from_mapping({"a": one, "b": [two, one, 5]}, Pair(one, two), scale=_increment(9))


def _array_in_delayed() -> Any:
    return delayed(np.linalg.norm)(_array() + 1)


def _delayed_tree() -> Any:
    level = [_increment(i) for i in range(16)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [delayed(operator.add)(left, right) for left, right in pairs]
    return level[0]


def _delayed_attribute() -> Any:
    text = delayed(str)(12345)
    return text.replace("3", "x").upper() + delayed("tail")


def _map_blocks_info() -> Any:
    def place(block: Any, block_info: Any = None) -> Any:
        return block + block_info[0]["chunk-location"][0]

    return _array().map_blocks(place, dtype=float)


def _gufunc() -> Any:
    def mean_and_std(x: Any) -> Any:
        return np.mean(x, axis=-1), np.std(x, axis=-1)

    both = da.apply_gufunc(
        mean_and_std, "(i)->(),()", _random().rechunk((20, -1)), output_dtypes=2 * (float,)
    )
    return both[0] + both[1]


COMPUTATIONS: dict[str, Callable[[], Any]] = {
    # arrays
    "array-add-transpose": lambda: (_array() + _array().sum(axis=0)).T,
    "array-sum-all": lambda: _array().sum(),
    "array-mean-axes": lambda: _random().mean(axis=(0, 1)),
    "array-std-keepdims": lambda: _random().std(axis=0, keepdims=True),
    "array-var-axis1": lambda: _random().var(axis=1),
    "array-argmax": lambda: _random().argmax(axis=0),
    "array-cumsum": lambda: _array().cumsum(axis=1),
    "array-rechunk": lambda: _array().rechunk((3, 20)).rechunk((12, 4)) * 2,
    "array-slicing": lambda: _array()[2:9, ::3][::-1],
    "array-fancy-index": lambda: _array()[[1, 5, 3], :][:, [0, 19]],
    "array-boolean-mask": lambda: _array()[_array() > 100].sum(),
    "array-dot": lambda: _random().T.dot(_random()),
    "array-tensordot": lambda: da.tensordot(_random(), _random(), axes=((0,), (0,))),
    "array-svd": lambda: da.linalg.svd(_random())[1],
    "array-qr": lambda: abs(da.linalg.qr(_random())[1]),
    "array-solve": lambda: da.linalg.solve(
        da.from_array(np.eye(8) * 3 + 1, chunks=4), da.from_array(np.arange(8.0), chunks=4)
    ),
    "array-overlap": lambda: _array().map_overlap(
        lambda x: x - x.mean(), depth=1, boundary="reflect"
    ),
    "array-stack-concatenate": lambda: da.stack([_array(), _array() * 2]).sum(axis=0),
    "array-where-isnan": lambda: da.where(_array() % 2 == 0, _array(), np.nan),
    "array-histogram": lambda: da.histogram(_random(), bins=7, range=(-3, 3))[0],
    "array-percentile": lambda: da.percentile(_random()[:, 0], [5, 50, 95]),
    "array-topk": lambda: _random().topk(3, axis=0),
    "array-random-plus-random": lambda: _random() + _random(),
    "array-reshape": lambda: _array().reshape(12, 4, 5),
    "array-einsum": lambda: da.einsum("ij,ij->i", _array(), _array()),
    "array-map-blocks-info": _map_blocks_info,
    "array-gufunc": _gufunc,
    "array-unique": lambda: da.unique(_array() % 5),
    # dataframes
    "frame-groupby-sum": lambda: _frame().groupby("k").v.sum(),
    "frame-groupby-agg": lambda: _frame().groupby("g").agg({"v": ["mean", "std"], "w": "max"}),
    "frame-groupby-apply": lambda: (
        _frame().groupby("k")[["v"]].apply(lambda part: part.sum(), meta={"v": float})
    ),
    "frame-merge": lambda: _frame().merge(_other(), on="k").sort_values(["k", "v"]),
    "frame-join": lambda: _frame().join(_other().set_index("k"), on="k"),
    "frame-set-index": lambda: _frame().set_index("v"),
    "frame-rolling": lambda: _frame().v.rolling(5).mean(),
    "frame-value-counts": lambda: _frame().g.value_counts(),
    "frame-filter-assign": lambda: _frame()[_frame().w > 3].assign(u=lambda d: d.v * d.w),
    "frame-describe": lambda: _frame()[["v", "w"]].describe(),
    "frame-nunique": lambda: _frame().k.nunique(),
    "frame-drop-duplicates": lambda: _frame()[["k", "g"]].drop_duplicates().sort_values(["k", "g"]),
    "frame-sort-values": lambda: _frame().sort_values("v"),
    "frame-cumsum-shift": lambda: _frame().v.cumsum() - _frame().v.shift(1).fillna(0),
    "frame-quantile": lambda: _frame().w.quantile([0.25, 0.5]),
    "frame-map-partitions": lambda: _frame().map_partitions(lambda part: part.tail(2)),
    "frame-pivot": lambda: (
        _frame().categorize("g").pivot_table(index="k", columns="g", values="v", aggfunc="sum")
    ),
    "frame-concat": lambda: dd.concat([_frame(), _frame()]),
    "frame-to-array": lambda: _frame()[["v", "w"]].to_dask_array(lengths=True).sum(axis=0),
    "frame-from-array": lambda: dd.from_dask_array(_random(), columns=list("abcdefgh")).a.sum(),
    # bags
    "bag-fold": lambda: db.range(50, npartitions=4).fold(operator.add, initial=0),
    "bag-frequencies": lambda: _words().frequencies(sort=True),
    "bag-map-filter-pluck": lambda: (
        db.from_sequence([{"a": i, "b": i % 3} for i in range(20)], npartitions=4)
        .filter(lambda r: r["b"] > 0)
        .pluck("a")
        .map(lambda a: a * 2)
    ),
    "bag-groupby": lambda: (
        db.range(30, npartitions=3)
        .groupby(lambda x: x % 4, shuffle="tasks")
        .map(lambda pair: (pair[0], sorted(pair[1])))
    ),
    "bag-foldby": lambda: db.range(30, npartitions=3).foldby(
        lambda x: x % 2, operator.add, 0, operator.add, 0
    ),
    "bag-join-accumulate": lambda: db.range(10, npartitions=2).accumulate(operator.add),
    "bag-to-dataframe": lambda: db.from_sequence(
        [{"a": i, "b": str(i)} for i in range(10)], npartitions=2
    ).to_dataframe(),
    # delayed
    "delayed-nested-containers": _nested_delayed,
    "delayed-list": lambda: _total([_increment(i) for i in range(10)]),
    "delayed-tree": _delayed_tree,
    "delayed-attribute": _delayed_attribute,
    "delayed-of-array": _array_in_delayed,
    "delayed-nout": lambda: sum(delayed(divmod, nout=2)(17, 5)),
}


def normalise(value: Any) -> Any:
    """Bring what has no order of its own into one, for comparison."""
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return value.sort_index(kind="stable")
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return sorted(value)
    return value


def assert_equal(result: Any, expected: Any) -> None:
    """Compare two results of one computation."""
    result, expected = normalise(result), normalise(expected)
    assert type(result) is type(expected)
    if isinstance(expected, pd.DataFrame):
        ours = result.sort_values(list(result.columns)).sort_index(kind="stable")
        theirs = expected.sort_values(list(expected.columns)).sort_index(kind="stable")
        pd.testing.assert_frame_equal(ours, theirs)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(result, expected)
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        np.testing.assert_allclose(result, expected, equal_nan=True)
    else:
        assert result == expected


def threaded(collection: Any) -> Any:
    """What Dask's own threaded scheduler returns."""
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        return dask.compute(collection, scheduler="threads")[0]
