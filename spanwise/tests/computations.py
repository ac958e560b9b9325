"""Dask computations whose results every scheduler must agree on.

Each entry makes a new collection (or list of collections) of a size when called; the
suites compute it twice, with the threaded scheduler and with Spanwise, and compare
what came out with `assert_same` of `same_results.py`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed


class Size(NamedTuple):
    """How large the inputs are, and in how many pieces.

    Attributes
    ----------
    scale
        Factor of each length.
    chunks
        Of the two-dimensional array; most do not divide its shape.
    partitions
        Of frames and bags; their lengths are no multiples of most.
    """

    scale: int
    chunks: tuple[int, int]
    partitions: int


#: One piece has no order to get wrong and its own paths in Dask; many make trees of several levels.
SIZES = {
    "one": Size(1, (12, 20), 1),
    "few": Size(1, (5, 7), 4),
    "many": Size(3, (7, 11), 11),
}
FEW = SIZES["few"]


#: What is done to each source. The tests of spans set it, to know where sources are counted.
on_source: list[Callable[[Callable[[], Any]], Any]] = []


def source(make: Callable[[], Any]) -> Any:
    return on_source[-1](make) if on_source else make()


def _array(s: Size) -> da.Array:
    rows, columns = 12 * s.scale, 20 * s.scale
    values = np.arange(float(rows * columns)).reshape(rows, columns)
    return source(lambda: da.from_array(values, chunks=s.chunks))


def _random(s: Size) -> da.Array:
    rows = 60 * s.scale
    size, chunks = (rows, 8), (rows // s.partitions + 7, 8)
    return source(lambda: da.random.default_rng(42).normal(size=size, chunks=chunks))


def table(s: Size) -> pd.DataFrame:
    """Rows in no order of any column; `v` has no value twice."""
    n = 121 * s.scale
    return pd.DataFrame(
        {
            "k": np.arange(n) ** 2 % 7,
            "g": np.where(np.arange(n) % 3 == 0, "x", "y"),
            "v": np.sin(np.arange(n)),
            "w": np.arange(n) % 11 * 1.5,
        }
    )


def _frame(s: Size) -> dd.DataFrame:
    return source(lambda: dd.from_pandas(table(s), npartitions=s.partitions))


def _other(s: Size) -> dd.DataFrame:
    other = pd.DataFrame({"k": np.arange(7), "z": np.arange(7) ** 2})
    return source(lambda: dd.from_pandas(other, npartitions=min(2, s.partitions)))


def words(s: Size) -> list[str]:
    return ["the", "cat", "sat", "on", "the", "mat", "with", "the", "other", "cat"] * s.scale


def _words(s: Size) -> db.Bag:
    return source(lambda: db.from_sequence(words(s), npartitions=s.partitions))


def _range(s: Size, count: int) -> db.Bag:
    return source(lambda: db.range(count * s.scale, npartitions=s.partitions))


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


def _nested_delayed(s: Size) -> Any:
    one, two = _increment(1), _increment(2)
    return _from_mapping({"a": one, "b": [two, one, s.scale]}, Pair(one, two), scale=_increment(9))


@delayed
def _given(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def _repeated_inputs(s: Size) -> Any:
    """Every pattern of repeats among three inputs and a literal that equals one of them."""
    a, b, c = (_increment(s.scale * n) for n in (1, 10, 100))
    one = s.scale + 1
    return [
        _given(a, b, a),
        _given(b, a, a, c),
        _given(a, a, b),
        _given(c, a, b, c, a, b),
        _given(a, one, b, one, a),
        _given([b, a, b], a, key={"x": b, "y": [a, c, a]}, other=b),
    ]


def _long_lists(s: Size) -> Any:
    """Lists that travel as one stretch of inputs, and such that only look like one."""
    many = [_increment(i) for i in range(36 * s.scale)]
    swapped = [*many[:-2], many[-1], many[-2]]
    return [
        _given(many),
        _given(many[3], many, last=many[0]),
        _given(swapped, many),
        _given([*many, many[1]]),
        _given(tuple(many), {"x": many[::-1]}),
    ]


def _array_in_delayed(s: Size) -> Any:
    return delayed(np.linalg.norm)(_array(s) + 1)


def _delayed_tree(s: Size) -> Any:
    level = [_increment(i) for i in range(16 * s.scale)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        # Neither commutes nor associates: an input in another's place gives another result.
        odd = level[-1:] if len(level) % 2 else []
        level = [delayed(operator.sub)(left, right) for left, right in pairs] + odd
    return level[0]


def _delayed_attribute(s: Size) -> Any:
    text = delayed(str)(12345 * s.scale)
    return text.replace("3", "x").upper() + delayed("tail")


def _map_blocks_info(s: Size) -> Any:
    def place(block: Any, block_info: Any = None) -> Any:
        return block + block_info[0]["chunk-location"][0]

    return _array(s).map_blocks(place, dtype=float)


def _gufunc(s: Size) -> Any:
    def mean_and_std(x: Any) -> Any:
        return np.mean(x, axis=-1), np.std(x, axis=-1)

    both = da.apply_gufunc(
        mean_and_std, "(i)->(),()", _random(s).rechunk((20, -1)), output_dtypes=2 * (float,)
    )
    return both[0] + both[1]


COMPUTATIONS: dict[str, Callable[[Size], Any]] = {
    # arrays
    "array-add-transpose": lambda s: (_array(s) + _array(s).sum(axis=0)).T,
    "array-sum-all": lambda s: _array(s).sum(),
    "array-mean-axes": lambda s: _random(s).mean(axis=(0, 1)),
    "array-std-keepdims": lambda s: _random(s).std(axis=0, keepdims=True),
    "array-var-axis1": lambda s: _random(s).var(axis=1),
    "array-argmax": lambda s: _random(s).argmax(axis=0),
    "array-cumsum": lambda s: _array(s).cumsum(axis=1),
    "array-rechunk": lambda s: _array(s).rechunk((3, -1)).rechunk((-1, 4)) * 2,
    "array-slicing": lambda s: _array(s)[2:9, ::3][::-1],
    "array-fancy-index": lambda s: _array(s)[[1, 5, 3], :][:, [0, 19]],
    "array-boolean-mask": lambda s: _array(s)[_array(s) > 100].sum(),
    "array-dot": lambda s: _random(s).T.dot(_random(s)),
    "array-tensordot": lambda s: da.tensordot(_random(s), _random(s), axes=((0,), (0,))),
    "array-svd": lambda s: da.linalg.svd(_random(s))[1],
    "array-qr": lambda s: abs(da.linalg.qr(_random(s))[1]),
    "array-solve": lambda s: da.linalg.solve(
        da.from_array(np.eye(8 * s.scale) * 3 + 1, chunks=4),
        da.from_array(np.arange(8.0 * s.scale), chunks=4),
    ),
    "array-overlap": lambda s: _array(s).map_overlap(
        lambda x: x - x.mean(), depth=1, boundary="reflect"
    ),
    "array-stack-concatenate": lambda s: da.stack([_array(s), _array(s) * 2]).sum(axis=0),
    "array-where-isnan": lambda s: da.where(_array(s) % 2 == 0, _array(s), np.nan),
    "array-histogram": lambda s: da.histogram(_random(s), bins=7, range=(-3, 3))[0],
    "array-percentile": lambda s: da.percentile(_random(s)[:, 0], [5, 50, 95]),
    "array-topk": lambda s: _random(s).topk(3, axis=0),
    "array-random-plus-random": lambda s: _random(s) + _random(s),
    "array-reshape": lambda s: _array(s).reshape(12 * s.scale, 4 * s.scale, 5),
    "array-einsum": lambda s: da.einsum("ij,ij->i", _array(s), _array(s)),
    "array-map-blocks-info": _map_blocks_info,
    "array-gufunc": _gufunc,
    "array-unique": lambda s: da.unique(_array(s) % 5),
    "array-dtypes": lambda s: (_array(s) > 50).astype("i1").sum(axis=0, dtype="u2"),
    "array-structured": lambda s: _array(s).astype("f4").view("i4")[:, :3],
    # dataframes
    "frame-groupby-sum": lambda s: _frame(s).groupby("k").v.sum(),
    "frame-groupby-agg": lambda s: _frame(s).groupby("g").agg({"v": ["mean", "std"], "w": "max"}),
    "frame-groupby-apply": lambda s: (
        _frame(s).groupby("k")[["v"]].apply(lambda part: part.sum(), meta={"v": float})
    ),
    "frame-merge": lambda s: _frame(s).merge(_other(s), on="k").sort_values(["k", "v"]),
    "frame-join": lambda s: _frame(s).join(_other(s).set_index("k"), on="k"),
    "frame-set-index": lambda s: _frame(s).set_index("v"),
    "frame-rolling": lambda s: _frame(s).v.rolling(5).mean(),
    "frame-value-counts": lambda s: _frame(s).g.value_counts(),
    "frame-filter-assign": lambda s: _frame(s)[_frame(s).w > 3].assign(u=lambda d: d.v * d.w),
    "frame-describe": lambda s: _frame(s)[["v", "w"]].describe(),
    "frame-nunique": lambda s: _frame(s).k.nunique(),
    "frame-drop-duplicates": lambda s: (
        _frame(s)[["k", "g"]].drop_duplicates().sort_values(["k", "g"])
    ),
    "frame-sort-values": lambda s: _frame(s).sort_values("v"),
    "frame-cumsum-shift": lambda s: _frame(s).v.cumsum() - _frame(s).v.shift(1).fillna(0),
    "frame-value-counts-many": lambda s: _frame(s).k.value_counts(),
    "frame-sort-descending": lambda s: _frame(s).sort_values(["g", "v"], ascending=[False, True]),
    "frame-dtypes": lambda s: _frame(s).astype({"k": "int8", "w": "float32", "g": "category"}),
    "frame-quantile": lambda s: _frame(s).w.quantile([0.25, 0.5]),
    "frame-map-partitions": lambda s: _frame(s).map_partitions(lambda part: part.tail(2)),
    "frame-pivot": lambda s: (
        _frame(s).categorize("g").pivot_table(index="k", columns="g", values="v", aggfunc="sum")
    ),
    "frame-concat": lambda s: dd.concat([_frame(s), _frame(s)]),
    "frame-to-array": lambda s: _frame(s)[["v", "w"]].to_dask_array(lengths=True).sum(axis=0),
    "frame-from-array": lambda s: dd.from_dask_array(_random(s), columns=list("abcdefgh")).a.sum(),
    # bags
    "bag-fold": lambda s: _range(s, 50).fold(operator.add, initial=0),
    "bag-frequencies": lambda s: _words(s).frequencies(sort=True),
    "bag-topk": lambda s: _words(s).topk(4),
    "bag-distinct": lambda s: _words(s).distinct(),
    "bag-map-filter-pluck": lambda s: (
        db.from_sequence(
            [{"a": i, "b": i % 3} for i in range(20 * s.scale)], npartitions=s.partitions
        )
        .filter(lambda r: r["b"] > 0)
        .pluck("a")
        .map(lambda a: a * 2)
    ),
    "bag-groupby": lambda s: (
        _range(s, 30)
        .groupby(lambda x: x % 4, shuffle="tasks")
        .map(lambda pair: (pair[0], sorted(pair[1])))
    ),
    "bag-foldby": lambda s: _range(s, 30).foldby(lambda x: x % 2, operator.add, 0, operator.add, 0),
    "bag-join-accumulate": lambda s: _range(s, 10).accumulate(operator.add),
    "bag-to-dataframe": lambda s: db.from_sequence(
        [{"a": i, "b": str(i)} for i in range(10 * s.scale)], npartitions=s.partitions
    ).to_dataframe(),
    # delayed
    "delayed-nested-containers": _nested_delayed,
    "delayed-list": lambda s: _total([_increment(i) for i in range(10 * s.scale)]),
    "delayed-tree": _delayed_tree,
    "delayed-attribute": _delayed_attribute,
    "delayed-of-array": _array_in_delayed,
    "delayed-nout": lambda s: sum(delayed(divmod, nout=2)(17, 5)),
    "delayed-repeated-inputs": _repeated_inputs,
    "delayed-long-lists": _long_lists,
}

#: What pandas, numpy and Python give without Dask, for what has an order. (The counts of
#: `value_counts` have one in pandas; Dask sorts them within partitions only.)
PLAIN: dict[str, Callable[[Size], Any]] = {
    "frame-set-index": lambda s: table(s).set_index("v").sort_index(),
    "frame-sort-values": lambda s: table(s).sort_values("v"),
    "frame-sort-descending": lambda s: table(s).sort_values(
        ["g", "v"], ascending=[False, True], kind="stable"
    ),
    "bag-frequencies": lambda s: Counter(words(s)).most_common(),
    "array-slicing": lambda s: np.arange(240.0 * s.scale**2).reshape(12 * s.scale, -1)[2:9, ::3][
        ::-1
    ],
}


def threaded(collection: Any) -> Any:
    """What Dask's own threaded scheduler returns."""
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        return dask.compute(collection, scheduler="threads")[0]
