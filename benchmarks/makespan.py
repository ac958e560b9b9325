"""Makespans in simulation: our scheduler against ``distributed``'s own decisions.

``makespan.ts`` holds the simulated clock and workers. This process answers for ``distributed``:
a real ``Scheduler`` with its ``WorkStealing``, whose sockets are replaced by lists, whose
clock is the simulated one, and which gets what workers would send it. Nothing of its policy is
written again here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import random
import subprocess
import sys
from collections import defaultdict
from typing import Any

import dask
from dask._task_spec import Task, TaskRef
from distributed.core import Status

from benchmarks.bundles import node_command
from benchmarks.peer_graphs import QuietComm, WorkerStream, enter_graph, new_scheduler

Json = dict[str, Any]

#: Seconds between two heartbeats of a worker, which bring its measured bandwidth.
HEARTBEAT_SECONDS = 1.0
#: Smaller transfers do not count in a worker's bandwidth, as in ``distributed``.
LEAST_MEASURED_BYTES = 1_000_000


class Clock:
    """The simulated time, in the place of ``time.time``."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now + 1e9


def nothing(*_: Any, **__: Any) -> int:
    return 0


class Simulated:
    """One graph in one ``Scheduler``."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sent: list[tuple[int, Json]] = []
        self.random = random.Random(0)
        self.stolen: dict[int, str] = {}
        self.heard_from: dict[int, float] = {}
        self.bandwidths: dict[int, float] = defaultdict(lambda: 100e6)

    async def begin(self, question: Json) -> list[Json]:
        """Make the scheduler, its workers and the graph's tasks."""
        clock = self.clock
        clock.now = 0.0
        self.question = question
        functions = question["functions"]
        self.keys = [
            (f"{functions[each]}-{each:032x}", i) for i, each in enumerate(question["functionIds"])
        ]
        self.numbers = {key: i for i, key in enumerate(self.keys)}
        saturation = float(question["saturation"])
        with dask.config.set({"distributed.scheduler.worker-saturation": saturation}):
            self.scheduler = scheduler = new_scheduler()
        assert saturation == scheduler.WORKER_SATURATION
        scheduler.handle_worker = done  # type: ignore[method-assign]
        for number in range(question["workers"]):
            await self._join(number, question["threads"])
        self._submit()
        return self._orders()

    async def _join(self, number: int, threads: int) -> None:
        scheduler = self.scheduler
        address = f"tcp://10.0.0.1:{10_000 + number}"
        await scheduler.add_worker(
            QuietComm(),  # type: ignore[arg-type]
            address=address,
            status=Status.running.name,
            server_id=str(number),
            nthreads=threads,
            name=str(number),
            resolve_address=False,
            now=self.clock(),
            resources={},
            memory_limit=0,
            metrics=self._metrics(number),
            services={},
            local_directory="",
            versions={},
            nanny="",
            extra={},
            stimulus_id="join",
        )
        scheduler.stream_comms[address] = WorkerStream(number, self.sent)  # type: ignore[assignment]

    def _metrics(self, number: int) -> Json:
        return {
            "bandwidth": {"total": self.bandwidths[number], "workers": {}, "types": {}},
            "digests_total_since_heartbeat": {},
            "memory": 0,
            "spilled_bytes": {"memory": 0, "disk": 0},
        }

    def _submit(self) -> None:
        question, keys = self.question, self.keys
        first, inputs = question["firstInput"], question["inputs"]
        dsk = {
            key: Task(key, nothing, *(TaskRef(keys[k]) for k in inputs[first[i] : first[i + 1]]))
            for i, key in enumerate(keys)
        }
        wanted = {key for key, each in zip(keys, question["wanted"], strict=True) if each}
        enter_graph(self.scheduler, dsk, wanted, self.clock())

    def hear(self, question: Json) -> list[Json]:
        """Hand over what workers say at a time; nothing: it is the time of the stealing."""
        self.clock.now = question["at"]
        if not question["reports"]:
            self._beat()
            self.scheduler.extensions["stealing"].balance()
        for report in question["reports"]:
            self._hear(report)
        return self._orders()

    def _beat(self) -> None:
        now = self.clock.now
        for number, address in enumerate(self.scheduler.workers):
            if now - self.heard_from.get(number, 0.0) >= HEARTBEAT_SECONDS:
                self.heard_from[number] = now
                self.scheduler.heartbeat_worker(
                    address=address,
                    resolve_address=False,
                    now=self.clock(),
                    metrics=self._metrics(number),
                )

    def _address(self, number: int) -> str:
        return f"tcp://10.0.0.1:{10_000 + number}"

    def _hear(self, report: Json) -> None:
        scheduler = self.scheduler
        worker = self._address(report["worker"])
        if report["type"] == "copied":
            if report["bytes"] >= LEAST_MEASURED_BYTES:
                measured = report["bytes"] / report["seconds"]
                old = self.bandwidths[report["worker"]]
                self.bandwidths[report["worker"]] = old * 0.95 + measured * 0.05
            scheduler.add_keys(
                worker=worker, keys=[self.keys[each] for each in report["tasks"]], stimulus_id="add"
            )
            return
        task = report["task"]
        key = self.keys[task]
        if report["type"] == "answered":
            scheduler.stream_handlers["steal-response"](
                key=key,
                state="ready" if report["taken"] else "executing",
                stimulus_id=self.stolen.pop(task),
                worker=worker,
            )
            return
        stop = self.clock()
        seconds = self.question["seconds"][task]
        scheduler.handle_task_finished(
            key=key,
            worker=worker,
            stimulus_id=f"finished-{task}",
            run_id=report["run"],
            metadata={},
            nbytes=int(self.question["nbytes"][task]),
            type=TYPE,
            typename="int",
            startstops=({"action": "compute", "start": stop - seconds, "stop": stop},),
        )

    def _orders(self) -> list[Json]:
        orders = []
        for number, message in self.sent:
            match message["op"]:
                case "compute-task":
                    orders.append(self._run(number, message))
                case "free-keys" | "remove-replicas":
                    tasks = [self.numbers[key] for key in message["keys"]]
                    orders.append({"type": "drop", "worker": number, "tasks": tasks})
                case "steal-request":
                    task = self.numbers[message["key"]]
                    self.stolen[task] = message["stimulus_id"]
                    run = self.scheduler.tasks[message["key"]].run_id
                    runs = [{"task": task, "run": run}]
                    orders.append({"type": "giveBack", "worker": number, "runs": runs})
                case other:
                    raise ValueError(f"makespan.py does not know the message {other}.")
        self.sent.clear()
        return orders

    def _run(self, number: int, message: Json) -> Json:
        here = self._address(number)
        inputs = []
        for key, holders in message["who_has"].items():
            holder = here if here in holders else self.random.choice(sorted(holders))
            inputs.append(
                {"task": self.numbers[key], "holder": int(holder.split(":")[-1]) - 10_000}
            )
        run = {
            "task": self.numbers[message["key"]],
            "run": message["run_id"],
            # One generation and no user priority: what is left is the static order.
            "priority": message["priority"][-1],
            "inputs": inputs,
        }
        return {"type": "run", "worker": number, "runs": [run]}


#: The type of a result, as workers send it.
TYPE = pickle.dumps(int)


async def done(*_: Any, **__: Any) -> None:
    """In the place of ``Scheduler.handle_worker``: nothing is to be read."""


async def serve(questions: Any, answers: Any, clock: Clock) -> None:
    """Answer line by line until the other side ends."""
    simulated = Simulated(clock)
    for line in questions:
        question = json.loads(line)
        if question["type"] == "begin":
            simulated = Simulated(clock)
            orders = await simulated.begin(question)
        else:
            orders = simulated.hear(question)
        answers.write(json.dumps(orders).encode() + b"\n")
        answers.flush()


def main() -> int:
    """Run ``makespan.ts`` and answer it; the exit code is its own."""
    if "PYTHONHASHSEED" not in os.environ:
        # Their scheduler goes through sets of texts: with another seed it decides otherwise.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(
            sys.executable,
            [sys.executable, "-m", "benchmarks.makespan", *sys.argv[1:]],
            environment,
        )
    import distributed.scheduler
    import distributed.stealing

    logging.getLogger("distributed").setLevel(logging.ERROR)
    clock = Clock()
    distributed.scheduler.time = clock  # type: ignore[attr-defined]
    distributed.stealing.time = clock  # type: ignore[attr-defined]
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = [*node_command("makespan.ts"), *sys.argv[1:]]
    command += ["--from-peer", str(theirs_in), "--to-peer", str(theirs_out)]
    with subprocess.Popen(command, pass_fds=(theirs_in, theirs_out)) as node:
        os.close(theirs_in)
        os.close(theirs_out)
        with os.fdopen(ours_in, "rb") as questions, os.fdopen(ours_out, "wb") as answers:
            asyncio.run(serve(questions, answers, clock))
    return node.returncode


if __name__ == "__main__":
    sys.exit(main())
