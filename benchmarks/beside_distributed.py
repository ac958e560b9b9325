"""The same five workloads measured by ``distributed`` and by us: what each says of them.

    python -m benchmarks.beside_distributed [--rounds 3] [--smoke]

Each system runs them in a process of its own, on two workers of one thread and 400 MB. Printed
are medians: seconds by activity, bytes moved and spilled, counts, samples; then the labels that
each has. ``docs/truth.md`` has the table, and the reason of each difference. A smoke run has one
round of small workloads, waits less for what `distributed` tells, and has both systems
and the peer's workers in one process, where the workloads' libraries are imported once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import records
from benchmarks.verdicts import Figure

WORKERS, MEMORY = 2, "400MB"
#: `distributed` samples a thread each 10 ms, and tells what was measured with heartbeats.
SAMPLE_SECONDS, SETTLED_SECONDS, SMOKE_SETTLED_SECONDS = 0.01, 3.0, 0.1


def product(scale: int) -> Any:
    import dask.array as da

    x = da.random.default_rng(0).random((600 * scale, 600 * scale), chunks=600)
    return (x @ x.T).sum()


def stencil(scale: int) -> Any:
    import dask.array as da

    def smooth(block: Any) -> Any:
        for _ in range(10):
            block = (np.roll(block, 1, 0) + np.roll(block, -1, 0) + block) / 3
        return block

    x = da.random.default_rng(0).random((500 * scale, 1000), chunks=(500, 1000))
    return x.map_overlap(smooth, depth=2, boundary="reflect").mean()


def table(scale: int) -> Any:
    import dask
    import dask.datasets

    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        frame = dask.datasets.timeseries(
            end=f"2000-01-{scale + 1:02d}", freq="2s", partition_freq="12h", seed=0
        )
        return frame.shuffle("id").groupby("name").x.mean()


def bag(scale: int) -> Any:
    import dask.bag as db

    numbers = db.range(20_000 * scale, npartitions=4 * scale)
    return numbers.map(lambda n: (n % 97, n)).filter(lambda pair: pair[0] != 5).count()


def make(number: int) -> Any:
    return np.random.default_rng(number).random(1_000_000)


def combine(one: Any, other: Any) -> Any:
    return np.sort(one + other)


def tree(scale: int) -> Any:
    """Results of 8 MB, halves of which meet; `scale` is a power of two."""
    import dask

    level = [dask.delayed(make)(number) for number in range(8 * scale)]
    while len(level) > 1:
        half = len(level) // 2
        level = [
            dask.delayed(combine)(one, other)
            for one, other in zip(level[:half], level[half:], strict=True)
        ]
    return dask.delayed(np.sum)(level[0])


WORKLOADS: dict[str, Callable[[int], Any]] = {
    "array product": product,
    "stencil": stencil,
    "shuffle, groupby": table,
    "bag": bag,
    "tree": tree,
}


def moved_bytes(dask_worker: Any) -> float:
    return float(sum(each["total"] for each in dask_worker.transfer_incoming_log))


class Distributed:
    """A cluster of `distributed`, and what it says of a span."""

    def __init__(self, settled_seconds: float, processes: bool) -> None:
        import distributed

        self._settled_seconds = settled_seconds
        self.cluster = distributed.LocalCluster(
            n_workers=WORKERS,
            processes=processes,
            threads_per_worker=1,
            memory_limit=MEMORY,
            dashboard_address=None,
        )
        self.client = distributed.Client(self.cluster)
        self.span = distributed.span

    def settle(self) -> None:
        time.sleep(self._settled_seconds)

    def metrics(self, name: str) -> dict[tuple[str, str, str, str], float]:
        def asked(dask_scheduler: Any) -> Any:
            extension = dask_scheduler.extensions["spans"]
            found: dict[Any, float] = {}
            for span in extension.spans_search_by_name[(name,)]:
                for key, value in span.cumulative_worker_metrics.items():
                    found[key] = found.get(key, 0) + value
            return found

        found = self.client.run_on_scheduler(asked)
        return {key: value for key, value in found.items() if len(key) == 4}

    def outside(self) -> dict[tuple[str, ...], float]:
        def asked(dask_scheduler: Any) -> Any:
            return dict(dask_scheduler.cumulative_worker_metrics)

        return {
            key: value
            for key, value in self.client.run_on_scheduler(asked).items()
            if isinstance(key, tuple) and key[0] in ("gather-dep", "get-data", "memory-monitor")
        }

    def samples(self, key: str | None, name: str) -> float:
        return float(self.client.profile(key=key)["count"])

    def samples_before(self, name: str) -> float:
        return self.samples(None, name)


class Spanwise:
    """A cluster of ours, and what it says of a span."""

    def __init__(self) -> None:
        import spanwise

        self.client = spanwise.Client(n_workers=WORKERS, threads_per_worker=1, memory_limit=MEMORY)
        self.span = spanwise.span

    def settle(self) -> None:
        """Questions wait for all that was measured."""

    def metrics(self, name: str) -> dict[tuple[str, str, str, str], float]:
        found = self.client.fine_metrics(span=name)
        return {key: found[key] for key in found if key[0] == "execute"}

    def outside(self) -> dict[tuple[str, ...], float]:
        found = self.client.fine_metrics()
        return {
            (key[0], *key[2:]): found[key]
            for key in found
            if key[0] in ("gather-dep", "get-data", "memory-monitor")
        }

    def samples(self, key: str | None, name: str) -> float:
        return float(self.client.profile(key=key, span=name)["count"])

    def samples_before(self, name: str) -> float:
        return 0.0  # nothing has opened the span yet


def sums_of(metrics: dict[tuple[str, str, str, str], float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for (_, function, activity, unit), value in metrics.items():
        what = "idle" if function == "N/A" else str(activity)
        sums[f"{what} {unit}"] = sums.get(f"{what} {unit}", 0.0) + value
    return sums


def measure(system: Any, name: str, scale: int) -> dict[str, float]:
    """One workload in a span of its own."""
    client = system.client
    system.settle()
    outside, moved = system.outside(), sum(client.run(moved_bytes).values())
    samples = system.samples_before(name)
    computed = time.time()
    begin = time.perf_counter()
    with system.span(name):
        result = client.compute(WORKLOADS[name.split("/")[0]](scale))
    value = result.result(timeout=300)
    wall = time.perf_counter() - begin
    del result
    system.settle()
    records = [each for each in client.get_task_stream(start=computed) if each["startstops"]]
    found = sums_of(system.metrics(name))
    for key, after in system.outside().items():
        label = " ".join(map(str, key))
        found[label] = after - outside.get(key, 0.0)
    found |= {
        "wall seconds": wall,
        "tasks": len(records),
        "moved bytes": sum(client.run(moved_bytes).values()) - moved,
        "sampled seconds": SAMPLE_SECONDS * (system.samples(None, name) - samples),
        "checked": float(np.sum(value)) if not hasattr(value, "sum") else float(value.sum()),
    }
    if name.startswith("tree"):
        made, combined = (system.samples(key, name) for key in ("make", "combine"))
        # (none of so little)
        if made + combined:
            found["sampled share of make"] = made / (made + combined)
    return found


def serve(name: str, rounds: int, scale: int) -> dict[str, list[dict[str, float]]]:
    """What one system says. Before the rounds comes one that imports; 0: it counts."""
    settled = SETTLED_SECONDS if rounds else SMOKE_SETTLED_SECONDS
    system = Distributed(settled, rounds > 0) if name == "distributed" else Spanwise()
    system.client.wait_for_workers(WORKERS)
    told: dict[str, list[dict[str, float]]] = {each: [] for each in WORKLOADS}
    for round_ in range(rounds + 1):
        for each in WORKLOADS:
            found = measure(system, f"{each}/{round_}", scale)
            if round_ > 0 or rounds == 0:
                told[each].append(found)
    system.client.close()
    return told


def ask(name: str, rounds: int, scale: int) -> dict[str, list[dict[str, float]]]:
    command = [sys.executable, "-m", "benchmarks.beside_distributed", "--system", name]
    command += ["--rounds", str(rounds), "--scale", str(scale)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("TOLD ")]
    if not lines:
        raise RuntimeError(f"{name} ended with {ended.returncode}:\n{ended.stderr[-3000:]}")
    told: dict[str, list[dict[str, float]]] = json.loads(lines[0][5:])
    return told


def median(rounds: list[dict[str, float]], figure: str) -> float | None:
    values = [each[figure] for each in rounds if figure in each]
    return statistics.median(values) if values else None


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=int, default=8)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--system")
    records.add_option(parser)
    arguments = parser.parse_args()
    rounds, scale = (0, 1) if arguments.smoke else (arguments.rounds, arguments.scale)
    if arguments.system:
        # What systems print goes elsewhere.
        with contextlib.suppress(KeyboardInterrupt):
            told = serve(arguments.system, rounds, scale)
            print("TOLD " + json.dumps(told), flush=True)
        return 0
    asked = serve if arguments.smoke else ask
    theirs, ours = (asked(name, rounds, scale) for name in ("distributed", "spanwise"))
    found = []
    for workload in WORKLOADS:
        print(f"\n| {workload} | distributed | Spanwise |\n| --- | --- | --- |")
        one, other = theirs[workload], ours[workload]
        figures = sorted({figure for each in [*one, *other] for figure in each})
        for figure in figures:
            a, b = median(one, figure), median(other, figure)
            for name, rounds_of in (("distributed", one), ("Spanwise", other)):
                values = tuple(each[figure] for each in rounds_of if figure in each)
                if values:
                    column = f"{figure}, {name}"
                    found.append(Figure(workload, column, "", "lower", values))
            if (a or 0) != 0 or (b or 0) != 0:
                print(f"| {figure} | {shown(a)} | {shown(b)} |")
    records.hand_over(arguments, {"rounds": rounds, "scale": scale}, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
