"""What large graphs cost the scheduler: entering them, running them, keeping them.

    python -m benchmarks intake [-- --rounds 5 --tasks 300000 --most 1000000]

* *graph intake*: CPU time of entering a stencil (rows of 1,000, three neighbours each) into a
  scheduler without workers, until all its tasks are known and in order. The peer is
  ``distributed``'s own ``Scheduler`` with ``dask.order``, whose graph is unpickled already, as our
  columns are;
* *zero-worker throughput*: tasks per second of CPU, from submission to release, with workers that
  finish at once; of graphs up to a million tasks, and how much slower the largest is;
* *memory*: bytes per task while the graph is there, with one edge a task and with three. The
  limit holds for the default sizes: tables grow in steps, and right after one a task takes up to
  about 165 bytes (525,000 tasks of the stencil: 161, by arithmetic).

Each measurement is a program of its own, ours and the peer's in turn. What a client needs for the
same graph: ``python -m benchmarks standing``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time

from benchmarks import records
from benchmarks.bundles import node_command
from benchmarks.standing import stencil_graph
from benchmarks.verdicts import Figure

#: What issue 11 asks for; the bytes for the default sizes.
INTAKE_RATIO, LEAST_TASKS_PER_SECOND, MOST_BYTES = 25.0, 200_000.0, 150.0
#: The throughput of the largest graph, as a share of that of the smallest one.
LEAST_FLATNESS = 0.75


async def peers_intake(tasks: int) -> float:
    """Seconds of CPU until ``distributed`` knows a graph and its order."""
    from benchmarks.peer_graphs import enter_graph, new_scheduler

    scheduler = new_scheduler()
    graph = stencil_graph(tasks)
    wanted = set(list(graph)[-1000:])
    begun = time.thread_time()
    enter_graph(scheduler, graph, wanted, time.time())
    seconds = time.thread_time() - begun
    if len(scheduler.tasks) != tasks:
        raise AssertionError(f"{len(scheduler.tasks)} tasks are there, of {tasks}.")
    return seconds


def asked(command: list[str]) -> float:
    """The answer of a program."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    ended = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=900, env=environment
    )
    return float(json.loads(ended.stdout.splitlines()[-1])["value"])


def main() -> int:
    """Measure in turn, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=300_000, help="of the graph that is entered")
    parser.add_argument("--most", type=int, default=1_000_000, help="tasks of the largest graph")
    parser.add_argument("--peer", type=int, help=argparse.SUPPRESS)
    records.add_option(parser)
    options = parser.parse_args()
    if options.peer is not None:
        print(json.dumps({"value": asyncio.run(peers_intake(options.peer))}))
        return 0
    node = node_command("scheduler-intake.ts")

    def ours(what: str, tasks: int, graph: str = "stencil") -> float:
        words = ["--what", what, "--graph", graph, "--tasks", str(tasks)]
        return asked([*node, *words, "--warm-up", str(min(20_000, tasks))])

    def theirs() -> float:
        return asked([sys.executable, "-m", "benchmarks.intake", "--peer", str(options.tasks)])

    intake: dict[str, list[float]] = {"Spanwise": [], "distributed": []}
    sizes = [max(options.most // by, 2) for by in (30, 3, 1)]
    throughput: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(options.rounds):
        turns = [("Spanwise", lambda: ours("intake", options.tasks)), ("distributed", theirs)]
        for name, measure in turns[:: 1 if number % 2 == 0 else -1]:
            intake[name].append(1e6 * measure() / options.tasks)
        for size in sizes:
            throughput[size].append(ours("throughput", size))
        print(f"round {number + 1}", intake, throughput, f"load {os.getloadavg()[0]:.1f}")
    # It does not vary from run to run, but tables grow in steps: some sizes leave more room empty.
    memory = {
        f"{graph} of {size:,}": ours("memory", size, graph)
        for graph in ("merge", "stencil")
        for size in sorted({options.tasks, options.most})
    }
    print("bytes per task", memory)
    records.hand_over(
        options,
        {"rounds": options.rounds, "tasks": options.tasks, "most": options.most},
        figures_of(options.tasks, intake, throughput, memory),
    )
    return 0


def figures_of(
    tasks: int,
    intake: dict[str, list[float]],
    throughput: dict[int, list[float]],
    memory: dict[str, float],
) -> list[Figure]:
    """What was measured, and what was promised of it."""
    row = f"graph intake, {tasks:,} tasks"
    ours, theirs = tuple(intake["Spanwise"]), tuple(intake["distributed"])
    figures = [
        Figure(row, "Spanwise", "us", "lower", ours),
        Figure(row, "distributed", "us", "lower", theirs),
        Figure(row, "times faster", "x", "higher", theirs, over=ours, limit=INTAKE_RATIO),
    ]
    for size, rates in throughput.items():
        name = f"zero workers, {size:,} tasks"
        least = LEAST_TASKS_PER_SECOND
        figures.append(Figure(name, "tasks", "/s", "higher", tuple(rates), limit=least))
    small, large = tuple(throughput[min(throughput)]), tuple(throughput[max(throughput)])
    figures.append(
        Figure("zero workers", "flat", "x", "higher", large, over=small, limit=LEAST_FLATNESS)
    )
    for graph, used in memory.items():
        row = f"memory, {graph}"
        figures.append(Figure(row, "of a task", "B", "lower", (used,), limit=MOST_BYTES))
    return figures


if __name__ == "__main__":
    sys.exit(main())
