"""What there is of a Dask cluster from before attaching, and what its ring has lost, are told."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import spanwise
from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.dask_bridge.pulled import Pulled
from spanwise.dask_bridge.ship import NAME
from spanwise.records.block import decode_block
from spanwise.records.enumerations import ORIGIN_INFERRED
from spanwise.tests.dask_processes import DaskProcesses
from spanwise.tests.processes import LIMIT_SECONDS
from spanwise.wire.link import dial

#: Of an answer.
_HEAD = {"plugin": "p", "scheduler": "s", "address": "a", "python": "3", "distributed": "2"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[distributed.Client]:
    processes = DaskProcesses(tmp_path, workers=1, threads=2)
    try:
        with distributed.Client(processes.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=LIMIT_SECONDS)
            yield client
    finally:
        processes.close()


def missing(attached: Any, what: str) -> re.Match[str]:
    """What is said above the panels to be missing."""
    return said(attached, "dropped", what)


def said(attached: Any, where: str, what: str) -> re.Match[str]:
    """Wait until a field of what the page knows of the cluster says something."""
    attached._viewer.flush()
    observer = attached._viewer.observer
    link = dial(observer.address_to_ask(), observer.secret, "panel")
    end = time.monotonic() + LIMIT_SECONDS
    try:
        while True:
            message = link.read(end)
            for each in message.fields.get("clusters", ()) if message.type == "clusters" else ():
                found = re.search(what, each.get(where, "").replace("\u00a0", " "))
                if each["cluster"] == attached.cluster_id and found:
                    return found
    finally:
        link.close()


def test_what_was_before_attaching_is_told_as_such(client: distributed.Client) -> None:
    client.get_task_stream()  # (from now on Dask notes them)
    client.gather(client.map(abs, range(7), key="before", pure=False))
    # (Dask takes the time that a heartbeat was on its way for clocks that are apart: on a busy
    # machine its tasks may have ended seconds from now)
    ended = max(each["stop"] for run in client.get_task_stream() for each in run["startstops"])
    end = time.monotonic() + LIMIT_SECONDS
    while client.run_on_scheduler(time.time) <= ended:
        assert time.monotonic() < end, f"it is {ended} at last"
        time.sleep(0.05)
    with spanwise.attach(client) as attached:
        client.gather(client.map(abs, range(5), key="after", pure=False))
        assert len(attached.get_task_stream()) == 12
        missing(attached, r"^The first .* were before Spanwise was attached: of these only what")


def test_what_the_ring_has_lost_is_told(client: distributed.Client) -> None:
    def small(dask_scheduler: Any) -> None:
        dask_scheduler.plugins[NAME].ring._most_rows = 600

    with spanwise.attach(client) as attached:
        client.run_on_scheduler(small)
        viewer = attached._viewer
        turn, loop = viewer._turn, viewer._loop
        assert turn is not None and loop is not None
        asyncio.run_coroutine_threadsafe(turn.acquire(), loop).result(LIMIT_SECONDS)
        try:
            client.gather(client.map(abs, range(1_600), key="lost", pure=False))
        finally:
            loop.call_soon_threadsafe(turn.release)
        lost = missing(attached, r"^([0-9,]+) task runs before .* are missing")
        records = len(attached.get_task_stream())
        assert 0 < records < 1_600
        # (rows of graphs and clients, which leave the ring too, are not counted)
        assert int(lost[1].replace(",", "")) + records == 1_600


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_the_log_says_what_was_there(seconds: float) -> None:
    first = Pulled(**_HEAD, now=1e9 + 40, attached=1e9 + 30, started=1e9, viewers=1, live=4)  # type: ignore[arg-type]
    start = first.attached - seconds
    first.rows["parts"] = {"start": [start], "stop": [start], "action": ["x"], "source": [None]}
    first.states["tasks"] = {"state": ["memory", "memory", "x" * 4_000]}
    first.states_more["tasks"] = 7
    blocks: list[bytes] = []
    log = DaskLog("some", first, lambda block, _: blocks.append(block.data))
    log.seal()
    tables = {block.table.name: block for block in map(decode_block, blocks)}
    (header,) = map(json.loads, tables["header"].column("json"))
    assert header["attached"] == seconds
    assert header["before"] == {"recorded": 4, "tasks": {"memory": 2, "x" * 40: 1}, "more": 7}
    assert tables["events"].column("t") == [seconds]
    assert [*map(json.loads, tables["events"].column("text"))] == [header["before"]]


def test_the_log_says_what_it_does_not_get_to_know() -> None:
    first = Pulled(**_HEAD, now=1e9 + 9, attached=1e9, started=1e9, viewers=1)  # type: ignore[arg-type]
    first.cannot = {"spans": "it has none", "<b>": "?", "fine": "it has none", "loop": "a" * 200}
    blocks: list[bytes] = []
    log = DaskLog("some", first, lambda block, _: blocks.append(block.data))
    first.rows["graphs"] = {"t": [1e9], "tasks": [1]}
    submitted = {"key": "k", "group": "k", "prefix": "k", "span": None, "inferred": 0}
    first.rows["submitted"] = {name: [value] for name, value in submitted.items()}
    log.write(first)
    log.seal()
    tables = {block.table.name: block for block in map(decode_block, blocks)}
    (header,) = map(json.loads, tables["header"].column("json"))
    assert header["notTold"] == (
        "Not known here: spans, fine performance metrics except the seconds of tasks "
        "(it has none). "
        f"Not known here: the scheduler's event loop ({'a' * 200})."
    )
    assert header["capabilities"]["spans"] is False
    # (it may have been written in any span)
    assert [*tables["nodes"].column("origin")] == [ORIGIN_INFERRED]
