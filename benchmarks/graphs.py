"""The work that both systems are given: the same graphs, built before the clock starts.

Every builder takes a ``salt`` that goes into the keys, so that no system can serve a repetition
from results it still holds.
"""

from __future__ import annotations

from typing import Any

from dask._task_spec import List, Task, TaskRef

from benchmarks import general_path, real_graphs, transfers
from benchmarks.work import Case, Work

Key = str | tuple[str, int] | tuple[str, int, int]


def increment(x: int) -> int:
    """The smallest task that still has an argument and a result."""
    return x + 1


def add(x: int, y: int) -> int:
    """Join two results."""
    return x + y


def merge(salt: str, leaves: int) -> Work:
    """``leaves`` independent tasks and one that adds them all."""
    leaf, total = f"leaf-{salt}", f"total-{salt}"
    graph: dict[Key, Task] = {(leaf, i): Task((leaf, i), increment, i) for i in range(leaves)}
    graph[total] = Task(total, sum, List(*[TaskRef((leaf, i)) for i in range(leaves)]))
    expected = leaves * (leaves + 1) // 2
    return Work(lambda client: client.get(graph, total), expected, leaves + 1)


def tree(salt: str, height: int) -> Work:
    """A binary reduction of ``2 ** height`` numbers: ``2 ** height - 1`` tasks.

    ::

        level 0      0+1   2+3   4+5   6+7      2 ** (height - 1) tasks
        level 1         ╰─+─╯       ╰─+─╯
        level 2             ╰────+────╯          1 task
    """
    name = f"tree-{salt}"
    width = 2 ** (height - 1)
    graph: dict[Key, Task] = {
        (name, 0, i): Task((name, 0, i), add, 2 * i, 2 * i + 1) for i in range(width)
    }
    level = 0
    while width > 1:
        level, width = level + 1, width // 2
        for i in range(width):
            left, right = TaskRef((name, level - 1, 2 * i)), TaskRef((name, level - 1, 2 * i + 1))
            graph[(name, level, i)] = Task((name, level, i), add, left, right)
    numbers = 2**height
    return Work(
        lambda client: client.get(graph, (name, level, 0)),
        numbers * (numbers - 1) // 2,
        numbers - 1,
    )


def chain(salt: str, length: int) -> Work:
    """``length`` tasks, each of the one before: nothing can overlap."""
    name = f"chain-{salt}"
    graph: dict[Key, Task] = {(name, 0): Task((name, 0), increment, 0)}
    for i in range(1, length):
        graph[(name, i)] = Task((name, i), increment, TaskRef((name, i - 1)))
    return Work(lambda client: client.get(graph, (name, length - 1)), length, length)


def map_and_gather(salt: str, count: int) -> Work:
    """``client.map`` over numbers that this repetition alone uses, then ``gather``."""
    first = int(salt.rsplit("-", 1)[-1]) * count
    numbers = range(first, first + count)

    def run(client: Any) -> Any:
        return client.gather(client.map(increment, numbers))

    return Work(run, [n + 1 for n in numbers], count)


def submit_and_wait(salt: str, count: int) -> Work:
    """``count`` times ``submit`` and ``result`` back to back."""
    first = 10**9 + int(salt.rsplit("-", 1)[-1]) * count

    def run(client: Any) -> Any:
        return [client.submit(increment, first + i).result() for i in range(count)]

    return Work(run, [first + i + 1 for i in range(count)], count)


#: Shapes that short ways serve: docs/speed.md says which.
SHORT: dict[str, Case] = {
    "merge-25K": Case(merge, 25_000, 500, 10),
    "tree-15": Case(tree, 15, 8, 10),
    "chain-1000": Case(chain, 1_000, 50, 15),
    "map+gather": Case(map_and_gather, 10_000, 200),
    "submit→result": Case(submit_and_wait, 500, 20, 10),
}

#: Of sizes that take a second or so with the peer.
GENERAL: dict[str, Case] = {
    "stencil": Case(general_path.stencil, 4, 3),
    "array product": Case(general_path.array_product, 6, 3),
    "shuffle by tasks": Case(general_path.shuffle_by_tasks, 16, 4),
    "shuffle, own way": Case(general_path.shuffle_own_way, 16, 4),
    "transfers of 1 MB": Case(general_path.transfers, 60, 6),
    "10 ms tasks": Case(general_path.ten_milliseconds, 100, 6),
}
#: Of everyday computations at the sizes at which the client's part counts.
REAL: dict[str, Case] = {
    "stencil-5K": Case(general_path.stencil, 11, 3, 20),
    "array product-8K": Case(general_path.array_product, 20, 3, 9),
    "shuffle+groupby-50": Case(real_graphs.shuffle_and_groupby, 50, 4, 2.5),
    "bag-200": Case(real_graphs.bag, 200, 5, 4),
    "rechunk-1GB": Case(real_graphs.rechunk, 16, 2, 1.3),
}
#: Of large results on their way, in MiB, or in calls.
TRANSFERS: dict[str, Case] = {
    "128 MiB to a worker": Case(transfers.to_worker, 128, 2, 3),
    "128 MiB to the client": Case(transfers.to_client, 128, 2, 6),
    "1 MiB back to back": Case(transfers.back_to_back, 100, 5, 6),
}
CASES: dict[str, Case] = SHORT | GENERAL | REAL | TRANSFERS
