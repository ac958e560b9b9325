"""A real ``Scheduler`` of ``distributed`` that listens, and simulated workers that run its tasks.

Workers are entries of the scheduler: what it would send them lands in a list, and it gets what they
would send, at its real time. Nothing else is simulated: whoever connects finds a scheduler at work.
"""

from __future__ import annotations

import asyncio
import heapq
import pickle
import random
import uuid
from collections import defaultdict
from time import time
from typing import Any

import dask
from dask._task_spec import Task, TaskRef
from distributed import Scheduler
from distributed.core import Status

from benchmarks.peer_graphs import CLIENT, ClientStream, QuietComm, WorkerStream, enter_graph

Json = dict[str, Any]

#: Workers say so often how they are: of a thousand workers ``distributed`` asks for each 6 s.
HEARTBEAT_SECONDS = 6.0
#: Tasks that end between two moments in which the scheduler may do something else.
AT_ONCE = 50
TRANSFER_SECONDS = 0.01
NBYTES = 2_000_000
TYPE = pickle.dumps(int)


async def _done(*_: Any, **__: Any) -> None:
    """In the place of ``Scheduler.handle_worker``: nothing is to be read."""


async def _nobody_answers(*_: Any, **__: Any) -> Json:
    """In the place of ``Scheduler.broadcast``: the workers have no addresses."""
    return {}


def nothing(*_: Any) -> int:
    return 0


class SimulatedDask:
    """Workers that run tasks of some tenths of a second, each thread one after another.

    Parameters
    ----------
    workers, threads
        How many, and of each how many.
    seconds
        A task's, on average; longer where the scheduler is not as quick, so that its threads are
        busy all the same.
    """

    def __init__(self, workers: int, threads: int, seconds: float, seed: int = 1) -> None:
        self._workers = workers
        self._threads = threads
        self._seconds = self._least_seconds = seconds
        self._slept = 0.0
        self._random = random.Random(seed)
        self._sent: list[tuple[str, Json]] = []
        #: By worker, when each thread is free.
        self._free: dict[str, list[float]] = {}
        self._due: dict[str, float] = {}
        self._next_beat = 0.0
        #: By worker, from whom it has got results since its last heartbeat.
        self._got: dict[str, dict[str, tuple[float, int]]] = defaultdict(dict)
        self._running: dict[str, dict[Any, float]] = defaultdict(dict)
        #: Tasks that run: stop, key, address, number of the run, thread, start/stops.
        self._heap: list[tuple[Any, ...]] = []
        self._wave = 0
        self.tasks = 0

    async def start(self) -> Scheduler:
        """Begin to listen, with all workers there."""
        # (whose answers to thieves nobody simulates)
        dask.config.set({"distributed.scheduler.work-stealing": False})
        self.scheduler = scheduler = await Scheduler(
            host="127.0.0.1", dashboard=False, dashboard_address=":0", validate=False
        )
        scheduler.client_comms[CLIENT] = ClientStream()  # type: ignore[assignment]
        scheduler.handle_worker = _done  # type: ignore[method-assign]
        scheduler.handlers["broadcast"] = _nobody_answers
        for number in range(self._workers):
            await self._join(number)
        return scheduler

    async def _join(self, number: int) -> None:
        address = f"tcp://10.0.{number // 250}.{number % 250 + 1}:40000"
        await self.scheduler.add_worker(
            QuietComm(),  # type: ignore[arg-type]
            address=address,
            status=Status.running.name,
            server_id=f"worker-{number}",
            nthreads=self._threads,
            name=f"worker-{number}",
            resolve_address=False,
            now=time(),
            resources={},
            memory_limit=8 * 2**30,
            metrics=self._metrics(address),
            services={},
            local_directory="",
            versions={},
            nanny="",
            extra={},
            stimulus_id="join",
        )
        self.scheduler.stream_comms[address] = WorkerStream(address, self._sent)  # type: ignore[assignment]
        self._free[address] = [0.0] * self._threads
        self._due[address] = time() + HEARTBEAT_SECONDS * self._random.random()

    def _metrics(self, address: str) -> Json:
        running = len(self._running[address])
        got = self._got.pop(address, {})
        return {
            "bandwidth": {"total": 100e6, "workers": got, "types": {}},
            "digests_total_since_heartbeat": {},
            "memory": int(2e9 + 5e8 * self._random.random()),
            "spilled_bytes": {"memory": 0, "disk": 0},
            "task_counts": {"executing": running, "ready": 0},
            "cpu": 100.0 * running,
            "num_fds": 60,
            "host_net_io": {"read_bps": 1e6, "write_bps": 1e6},
            "host_disk_io": {"read_bps": 0.0, "write_bps": 0.0},
        }

    async def run(self, tasks: int) -> None:
        """Run a graph: two fifths of its tasks load, as many clean, the others join two each."""
        count = tasks // 5
        wave = self._wave
        self._wave += 1
        load, clean, join = (f"{name}-{wave:032x}" for name in ("load", "clean", "join"))
        graph: dict[Any, Task] = {}
        for i in range(2 * count):
            graph[load, i] = Task((load, i), nothing)
            graph[clean, i] = Task((clean, i), nothing, TaskRef((load, i)))
        for i in range(count):
            # (two that lie far from each other, so that one is fetched)
            pair = (clean, i), (clean, i + count)
            graph[join, i] = Task((join, i), nothing, *map(TaskRef, pair))
        wanted = {(join, i) for i in range(count)}
        ids = f"{uuid.UUID(int=1)}", f"{uuid.UUID(int=2 + wave)}"
        named = {"name": ("pipeline", f"part {wave}"), "ids": ids}
        enter_graph(self.scheduler, graph, wanted, time(), {"span": named})
        begin, self._slept = time(), 0.0
        await self._until_done(len(graph))
        worked = time() - begin - self._slept
        threads = self._workers * self._threads
        self._seconds = max(self._least_seconds, worked * threads / len(graph))
        self.scheduler.client_releases_keys(keys=[*wanted], client=CLIENT)
        self._sent.clear()
        self.tasks += len(graph)

    async def _until_done(self, left: int) -> None:
        now = time()
        while left:
            self._take_orders(now)
            now, key, address, run, thread, stops = heapq.heappop(self._heap)
            ahead = now - time()
            if ahead > 0:
                self._beat()
                begin = time()
                await asyncio.sleep(ahead)
                self._slept += time() - begin
            self._running[address].pop(key, None)
            self.scheduler.handle_task_finished(
                key=key,
                worker=address,
                stimulus_id=f"finished-{run}",
                run_id=run,
                metadata={},
                nbytes=NBYTES,
                type=TYPE,
                typename="pandas.DataFrame",
                thread=thread,
                startstops=stops,
            )
            left -= 1
            if left % AT_ONCE == 0:
                self._beat()
                await asyncio.sleep(0)

    def _take_orders(self, now: float) -> None:
        for address, message in self._sent:
            if message["op"] == "compute-task":
                self._begin(address, message, now)
        self._sent.clear()

    def _begin(self, address: str, message: Json, now: float) -> None:
        """A worker has got a task: the thread that is free first runs it."""
        free = self._free[address]
        thread = min(range(len(free)), key=free.__getitem__)
        start = max(now, free[thread])
        stops = []
        for holders in message["who_has"].values():
            if address not in holders:
                source = next(iter(holders))
                stops.append(_part("transfer", start, start + TRANSFER_SECONDS, source))
                start += TRANSFER_SECONDS
                self._got[address][source] = NBYTES / TRANSFER_SECONDS, 1
        stop = start + self._seconds * self._random.uniform(0.1, 1.9)
        stops.append(_part("compute", start, stop))
        free[thread] = stop
        key = message["key"]
        self._running[address][key] = start
        ident = 140_000_000_000_000 + 4_096 * thread
        heapq.heappush(self._heap, (stop, key, address, message["run_id"], ident, stops))

    def _beat(self) -> None:
        """The heartbeats that are due."""
        now = time()
        if now < self._next_beat:
            return
        self._next_beat = now + 0.1
        for address, due in self._due.items():
            if due <= now:
                self._due[address] = now + HEARTBEAT_SECONDS
                running = self._running[address].items()
                self.scheduler.heartbeat_worker(
                    address=address,
                    resolve_address=False,
                    now=now,
                    metrics=self._metrics(address),
                    executing={key: now - start for key, start in running if start <= now},
                )


def _part(action: str, start: float, stop: float, source: str | None = None) -> Json:
    part: Json = {"action": action, "start": start, "stop": stop}
    return part if source is None else part | {"source": source}
