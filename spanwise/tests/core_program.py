"""Checks what works with Dask's small core, without arrays and dataframes.

A script, so that an environment can run it that has no pytest either; prints what it saw as
JSON, and fails if that is not what it should see.
"""

from __future__ import annotations

import json
import operator
import sys
from typing import Any

import dask
import dask.bag
from dask.delayed import delayed

import spanwise

#: Packages that an environment of the core does not have.
ABSENT = ("numpy", "pandas", "pyarrow", "scipy")


def double(x: int) -> int:
    """The task."""
    return 2 * x


def imported(names: tuple[str, ...] = ABSENT) -> list[str]:
    """Which of these a process has; tasks cannot import this module's names elsewhere."""
    import sys

    return sorted(set(names) & set(sys.modules))


def on_a_cluster() -> dict[str, Any]:
    """Delayed calls, a written graph, a bag, futures and data; and what was recorded of them."""
    with spanwise.Client(n_workers=2, threads_per_worker=1, name="core") as client:
        with spanwise.span("delayed"):
            total = delayed(sum)([delayed(double)(x) for x in range(10)]).compute()
        with spanwise.span("graph"):
            graph = {"x": 20, ("y", 0): (operator.add, "x", 1), "z": (double, ("y", 0))}
            value = client.get(graph, "z")
        with spanwise.span("bag"):
            bag = dask.bag.from_sequence([3, 1, 3, 2, 3], npartitions=2)
            counted = sorted(bag.map(double).frequencies().compute())
        with spanwise.span("futures"):
            futures = client.map(double, client.scatter([b"a", b"bc"]), pure=False)
            gathered = client.gather(futures)
        return {
            "results": [total, value, counted, [each.decode() for each in gathered]],
            # (this file is the root of them)
            "tasks": {info.name[-1]: info.tasks for info in client.spans() if info.name},
            "seconds": sum(client.fine_metrics(function="double", unit="seconds").values()),
            "runs": len(client.get_task_stream()),
            "imported": [imported(), *client.run(imported, ABSENT).values()],
        }


def on_threads() -> dict[str, Any]:
    """Dask's own scheduler, observed."""
    with spanwise.observe() as observed:
        total = delayed(sum)([delayed(double)(x) for x in range(10)]).compute(scheduler="threads")
    return {"results": [total], "runs": len(observed.get_task_stream())}


def check(seen: dict[str, Any]) -> None:
    """Raise an error unless everything ran, and each run was recorded in its span."""
    cluster, threads = seen["cluster"], seen["threads"]
    results = [90, 42, [[2, 1], [4, 1], [6, 3]], ["aa", "bcbc"]]
    assert cluster["results"] == results, cluster["results"]
    # Ten doubles and their sum; three entries; two partitions and what joins them.
    tasks = {"delayed": 11, "graph": 3, "bag": 3, "futures": 2}
    assert cluster["tasks"] == tasks, cluster["tasks"]
    assert cluster["runs"] == sum(tasks.values()), cluster["runs"]
    assert cluster["seconds"] > 0
    assert cluster["imported"] == [[], [], []], cluster["imported"]
    assert threads == {"results": [90], "runs": 11}, threads


if __name__ == "__main__":
    seen = json.loads(json.dumps({"cluster": on_a_cluster(), "threads": on_threads()}))
    json.dump(seen, sys.stdout)
    check(seen)
