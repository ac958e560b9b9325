"""Computations of every day at the size where they begin to take seconds, each in a span.

What counts here is all of it: what Dask does with the collection before anything runs, what the
client makes of its graph, the scheduler, the workers, the tasks themselves. All values are whole
numbers below 2 ** 53, so that sums are exact in any order.
"""

from __future__ import annotations

from typing import Any

from benchmarks.general_path import computed, number_of
from benchmarks.work import Work

#: Columns of 16 blocks with 512 rows each: 64 MB a block.
BLOCK_COLUMNS = 16_384


def shuffle_and_groupby(salt: str, partitions: int) -> Work:
    """Rows of equal keys come together by a graph of tasks, then each key's values are added up."""
    import dask.dataframe as dd
    import pandas as pd

    rows = partitions * 500
    at = pd.Series(range(rows))
    frame = pd.DataFrame({"key": at * 7919 % 1013, "value": at % 89 + number_of(salt)})
    shuffled = dd.from_pandas(frame, npartitions=partitions).shuffle("key", shuffle_method="tasks")

    def as_pairs(found: Any) -> list[tuple[int, int]]:
        return [(int(key), int(value)) for key, value in found.sort_index().items()]

    sums = shuffled.groupby("key").value.sum()
    return computed(sums, as_pairs, as_pairs(frame.groupby("key").value.sum()))


def squared(number: int) -> int:
    """What is done with each item of a bag."""
    return number * number % 1009


def is_odd(number: int) -> bool:
    """Which items of a bag stay."""
    return number % 2 == 1


def bag(salt: str, partitions: int) -> Work:
    """Items of many partitions, mapped, chosen and counted."""
    from collections import Counter

    import dask.bag as db

    start = number_of(salt) * 7
    numbers = range(start, start + partitions * 50)
    counted = db.from_sequence(numbers, npartitions=partitions).map(squared).filter(is_odd)
    expected = Counter(value for value in map(squared, numbers) if is_odd(value))
    return computed(counted.frequencies(), sorted, sorted(expected.items()))


def rechunk(salt: str, blocks: int) -> Work:
    """``blocks`` bands of rows become as many bands of columns: nearly all bytes move.

    16 blocks of 64 MB are a gigabyte; a smaller run has smaller blocks.
    """
    import dask.array as da

    rows = blocks * 512
    columns = blocks * BLOCK_COLUMNS // 16
    first = da.arange(rows, chunks=512) + number_of(salt)
    x = first[:, None] + da.ones((rows, columns), chunks=(512, columns))
    sums = x.rechunk((rows, columns // blocks)).max(axis=0).sum()
    return computed(sums, float, float(columns * (rows + number_of(salt))))
