"""The general path: graphs of Dask's collections, optimised by Dask, with inputs that are shared.

None of the short ways serves them alone: tasks have several inputs and several users, results
are arrays or frames that one worker sends to the other, calls take time. All values are whole
numbers below 2 ** 53, so that sums are exact in any order and results can be compared as equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.work import Work

#: Megabytes of one result that goes to the other worker.
BLOCK_BYTES = 1 << 20


def number_of(salt: str) -> int:
    """The round's number: values that depend on it give keys that no other round has."""
    return int(salt.rsplit("-", 1)[-1])


def computed(collection: Any, finish: Callable[[Any], Any], expected: Any) -> Work:
    """Work that computes a collection through the client; optimising it is in the time measured."""
    import dask

    def count() -> int:
        # Frames optimise themselves: dask.optimize() does not lower a shuffle.
        optimise = getattr(collection, "optimize", lambda: dask.optimize(collection)[0])
        return len(dict(optimise().__dask_graph__()))

    return Work(lambda client: finish(client.compute(collection).result()), expected, count)


def five_point(block: Any) -> Any:
    """Each cell and its four neighbours, added up; the borders are cut off afterwards."""
    import numpy as np

    total = block.copy()
    for axis in (0, 1):
        total += np.roll(block, 1, axis) + np.roll(block, -1, axis)
    return total % 1009


def stencil(salt: str, side: int) -> Work:
    """Three steps over ``side`` x ``side`` blocks, each of which its neighbours need, too."""
    import dask.array as da
    import numpy as np

    cells = side * 40
    first = np.arange(cells * cells).reshape(cells, cells) % 97 + number_of(salt)
    x = da.from_array(first, chunks=40)
    expected = first
    for _ in range(3):
        x = x.map_overlap(five_point, depth=1, boundary="periodic")
        expected = five_point(expected)
    return computed((x * x).sum(), int, int((expected * expected).sum()))


def array_product(salt: str, side: int) -> Work:
    """``side`` ** 3 products of blocks: each block is an input of ``side`` of them."""
    import dask.array as da
    import numpy as np

    cells = side * 80
    first = (np.arange(cells * cells).reshape(cells, cells) % 7 + number_of(salt)).astype(float)
    x = da.from_array(first, chunks=80)
    return computed((x @ x.T).sum(), float, float((first @ first.T).sum()))


def sums_by_key(frame: Any) -> Any:
    """The sum of each key's values; all rows of a key are in one partition."""
    return frame.groupby("key").value.sum()


def _shuffle(salt: str, partitions: int, method: str | None) -> Work:
    import dask.dataframe as dd
    import pandas as pd

    rows = partitions * 500
    at = pd.Series(range(rows))
    frame = pd.DataFrame({"key": at * 7919 % 1013, "value": at % 89 + number_of(salt)})
    shuffled = dd.from_pandas(frame, npartitions=partitions).shuffle("key", shuffle_method=method)
    sums = shuffled.map_partitions(sums_by_key, meta=pd.Series([1], name="value"))

    def as_pairs(found: Any) -> list[tuple[int, int]]:
        return [(int(key), int(value)) for key, value in found.sort_index().items()]

    return computed(sums, as_pairs, as_pairs(sums_by_key(frame)))


def shuffle_by_tasks(salt: str, partitions: int) -> Work:
    """Rows of equal keys come together, by the same graph of tasks on either side."""
    return _shuffle(salt, partitions, "tasks")


def shuffle_own_way(salt: str, partitions: int) -> Work:
    """The same as each system does it by itself: ``distributed`` from worker to worker (p2p)."""
    return _shuffle(salt, partitions, None)


def block_of(number: int, start: int) -> bytes:
    """A result of a megabyte."""
    return ((number + start) % 251).to_bytes(1, "little") * BLOCK_BYTES


def first_and_length(block: bytes) -> int:
    """What shows that a block came whole."""
    return block[0] + block[-1] + len(block)


def transfers(salt: str, blocks: int) -> Work:
    """Blocks made on one worker and read on the other: as many transfers."""
    start = number_of(salt) * blocks

    def run(client: Any) -> Any:
        places = sorted(client.scheduler_info()["workers"])
        made = [
            client.submit(block_of, i, start, workers=[places[i % 2]], pure=False)
            for i in range(blocks)
        ]
        read = [
            client.submit(first_and_length, block, workers=[places[(i + 1) % 2]], pure=False)
            for i, block in enumerate(made)
        ]
        return client.gather(read)

    expected = [2 * ((i + start) % 251) + BLOCK_BYTES for i in range(blocks)]
    return Work(run, expected, 2 * blocks)


def busy(number: int) -> int:
    """Keep a core for 10 ms."""
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    return number + 1


def ten_milliseconds(salt: str, count: int) -> Work:
    """Tasks that compute for 10 ms: two workers need 5 ms a task at best."""
    start = number_of(salt) * count

    def run(client: Any) -> Any:
        return client.gather(client.map(busy, range(start, start + count)))

    return Work(run, [start + i + 1 for i in range(count)], count)
