"""The memory of a Dask cluster's workers is what its scheduler says at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Scheduler, Worker, wait
from distributed.scheduler import MemoryState

from spanwise.dask_bridge import plugin_source
from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.dask_bridge.plugin_source import Bridge
from spanwise.dask_bridge.pulled import Pulled, read_answer
from spanwise.records.block import decode_block

#: Process, managed, spilled, the least of what is unmanaged.
Figures = tuple[float, float, float, float]

#: Of results of 4 MB two stay in memory, the others go to disk; nothing else is done about memory.
SPILLING = {
    f"distributed.worker.memory.{name}": value
    for name, value in {"target": 0.01, "spill": False, "pause": False, "terminate": False}.items()
}


def of_dask(state: MemoryState) -> Figures:
    return (state.process, state.managed, state.spilled, state.unmanaged_old)


class Account:
    """What Dask has of each worker whenever the plugin looks; in one step with it."""

    def __init__(self, scheduler: Scheduler, bridge: Bridge) -> None:
        self.changes: dict[str, list[Figures]] = {}
        section = bridge._sections["memory"]
        take = section._take

        def noted() -> Iterator[Any]:
            for address, worker in scheduler.workers.items():
                if worker.metrics:
                    said = self.changes.setdefault(address, [])
                    figures = of_dask(worker.memory)
                    if said[-1:] != [figures]:
                        said.append(figures)
            yield from take()

        section._take = noted


class Viewer:
    """Pulls at once, and writes a log."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._request = {"viewer": "one", "plugin": "", "cursor": -1, "state": -1, "limit": 100}
        self._request |= {"lease": 120.0, "want": ["workers", "memory"], "fresh": True}
        self._blocks: list[Any] = []
        self._log: DaskLog | None = None

    async def look(self) -> Pulled:
        pulled = read_answer(await self._bridge.answer(self._request))
        self._request |= {"plugin": pulled.plugin, "cursor": pulled.cursor, "state": pulled.state}
        if self._log is None:
            self._log = DaskLog("memory", pulled, lambda block, _: self._blocks.append(block))
        self._log.write(pulled)
        return pulled

    def figures(self) -> dict[str, list[Figures]]:
        """What the log has, by worker, without repetitions."""
        assert self._log is not None
        self._log.seal()
        addresses = {number: address for address, number in self._log._workers.items()}
        found: dict[str, list[Figures]] = {}
        times: list[float] = []
        for block in self._blocks:
            table = decode_block(block.data)
            if table.table.name == "memory":
                columns = ("t", "worker", "process", "managed", "spilled", "unmanagedOld")
                for t, worker, *figures in zip(*map(table.column, columns), strict=True):
                    times.append(t)
                    said = found.setdefault(addresses[worker], [])
                    if said[-1:] != [(*figures,)]:
                        said.append((*figures,))
        assert times == sorted(times)
        return found


def numbers(number: int) -> np.ndarray:
    return np.full(500_000, float(number))


def test_each_change_is_as_dask_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that come, are spilled and go, between heartbeats and with them."""

    async def compute() -> None:
        async with (
            Scheduler(protocol="inproc://", dashboard=False, dashboard_address=":0") as scheduler,
            Worker(scheduler.address, memory_limit="1 GB", local_directory=str(tmp_path)) as one,
            Worker(scheduler.address, memory_limit="1 GB", local_directory=str(tmp_path)) as two,
            Client(scheduler.address, asynchronous=True) as client,
        ):
            workers = (one, two)
            for each in workers:
                each.periodic_callbacks["heartbeat"].stop()
            bridge = Bridge()
            bridge.start(scheduler)
            account, viewer = Account(scheduler, bridge), Viewer(bridge)

            async def heartbeats() -> None:
                for each in workers:
                    await each.heartbeat()

            await heartbeats()
            await viewer.look()
            kept = []
            for wave in range(4):
                kept += [
                    client.submit(numbers, wave, workers=each.address, pure=False)
                    for each in workers
                ]
                await wait(kept)
                await viewer.look()
                await heartbeats()
                await viewer.look()
            states = [scheduler.workers[each.address].memory for each in workers]
            assert all(state.managed > 0 and state.spilled > 0 for state in states)
            between = [state.managed for state in states]
            kept.clear()
            while any(each.state.tasks for each in workers):
                await asyncio.sleep(0.01)
            # Dask counts what is gone at once, though no heartbeat has told of it.
            states = [scheduler.workers[each.address].memory for each in workers]
            assert [state.managed for state in states] < between
            await viewer.look()
            await heartbeats()
            await viewer.look()
            assert len(account.changes) == 2
            assert all(len(said) > 5 for said in account.changes.values())
            assert viewer.figures() == account.changes
            bridge.leave()

    monkeypatch.setattr(plugin_source, "_FIRST_LEASE", 600.0)
    with dask.config.set(SPILLING):
        asyncio.run(compute())
