"""How often a function ran: the same in the API and in every panel, by the test's own count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

from spanwise import Client, span
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

BLOCKS = 12
META = np.empty((0,))


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


def test_functions_that_only_fused_tasks_have(client: Client, tmp_path: Path) -> None:
    """Each block is one task, `read`, `scale` and `add_up` are parts of it."""
    folder = str(tmp_path)

    def leave_mark(name: str) -> None:
        fd = os.open(Path(folder) / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, b".")
        os.close(fd)

    def read(block: Any) -> Any:
        leave_mark("read")
        return block

    def scale(block: Any) -> Any:
        leave_mark("scale")
        return block * 2

    def add_up(block: Any) -> Any:
        leave_mark("add_up")
        return block + 1

    with span("reading"):
        x = da.ones((BLOCKS,), chunks=1).map_blocks(read, dtype=float, meta=META)
    with span("scaling"):
        x = x.map_blocks(scale, dtype=float, meta=META)
    with span("adding"):
        x = x.map_blocks(add_up, dtype=float, meta=META)
    assert x.compute().sum() == 3 * BLOCKS
    ran = {each.name: each.stat().st_size for each in tmp_path.iterdir()}
    assert ran == {"read": BLOCKS, "scale": BLOCKS, "add_up": BLOCKS}

    metrics = client.fine_metrics()
    shown = {row["function"]: row["executions"] for row in metrics.summary["byFunction"]}
    stream = client._observed.query("task-stream")
    legend = {row["name"]: row["executions"] for row in stream["functions"]}
    assert stream["tasks"] < sum(ran.values()), "fusion must be left on"
    for name, count in ran.items():
        assert metrics["execute", name, "compute", "count"] == count
        assert shown[name] == legend[name] == count
        chosen = {"functions": [name]}
        of_one = client._observed.query("task-stream", filter=chosen)
        assert of_one["executions"] == count
        assert of_one["tasks"] == count
        assert client._observed.query("tasks", filter=chosen)["total"] == count
        alone = client.fine_metrics(function=name)
        assert alone.by_function() == {name: pytest.approx(metrics.by_function()[name])}
    by_tag = {each.tag: each for each in client.spans()}
    assert by_tag["scaling"].executions == by_tag["adding"].executions == BLOCKS
    assert by_tag["reading"].executions >= BLOCKS


def test_what_workers_do_outside_tasks_belongs_to_no_span(client: Client) -> None:
    """Neither to `default`, though no span is open meanwhile, nor to a function."""
    first, second = sorted(client.scheduler_info()["workers"])
    with span("sending"):
        block = client.submit(np.ones, 100_000, workers=[first], pure=False)
        asked = client.submit(np.sum, block, workers=[second], pure=False)
    assert asked.result(LIMIT_SECONDS) == 100_000

    def outside() -> dict[Any, float]:
        return {key: each for key, each in client.fine_metrics().items() if key[0] == "get-data"}

    # (it is counted when it has been sent, and may have been used by then)
    wait_until("it is counted", outside)
    # (the client may have fetched nothing: the sum came with the report)
    assert outside()["get-data", "", "network", "seconds"] > 0
    assert outside()["get-data", "", "memory-read", "count"] == 1
    assert dict(client.fine_metrics(span="default")) == {}
    assert client.fine_metrics(span="default").summary["background"] == []
    named = [client.fine_metrics(span="sending"), client.fine_metrics(function="ones")]
    assert {key[0] for each in named for key in each} <= {
        "execute",
        "background",
        "noncpu",
        "idle",
    }
