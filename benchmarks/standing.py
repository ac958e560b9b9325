"""What a cluster costs before and beside its work, Spanwise and ``distributed`` in turn.

    python -m benchmarks standing [-- --rounds 5 --seconds 60 --tasks 300000]

* *first result*: from ``Client()`` in a program that has imported its system until the result of
  its first call;
* *idle*: CPU time of all processes of a cluster of four workers that does nothing, of a core;
* *client's peak*: resident bytes of a client at most, beyond what it had before, while it submits a
  graph whose tasks exist already (a stencil in three rows of neighbours, no worker). The peer's
  scheduler has a process of its own here, as ours always has.

Each measurement is a program of its own; in a smoke run all those of a system are one program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dask._task_spec import Task, TaskRef

from benchmarks import records
from benchmarks.driver import cpu_seconds, start
from benchmarks.verdicts import Figure

SYSTEMS = ("spanwise", "distributed")
WHAT = ("first result", "idle", "client's peak")
IDLE_WORKERS = 4
#: Before a cluster counts as idle.
SETTLE_SECONDS = 5.0
#: What issue 11 asks for.
FIRST_RATIO, IDLE_PERCENT, PEAK_RATIO = 2.0, 1.0, 2.0
WIDTH = 1_000


def first_result(system: str, smoke: bool) -> dict[str, float]:
    """Seconds until the first result; the peer's default has processes, and a dashboard."""
    import dask.config

    module: Any = __import__(system)
    options: dict[str, Any] = {}
    if system != "spanwise":
        address = None if smoke else ":0"
        options = {"processes": not smoke, "dashboard_address": address}
    dask.config.set({"spanwise.recording": True})
    begun = time.perf_counter()
    client = module.Client(n_workers=2, threads_per_worker=1, **options)
    if client.submit(abs, -7).result() != 7:
        raise AssertionError("The first result is wrong.")
    seconds = time.perf_counter() - begun
    client.close()
    return {"value": seconds}


def idle(system: str, seconds: float, workers: int, smoke: bool) -> dict[str, Any]:
    """The share of a core, in per cent, by role and in all."""
    client = start(system, workers, 1, smoke)
    client.submit(abs, -7).result()
    time.sleep(min(SETTLE_SECONDS, seconds))
    before = cpu_seconds()
    begun = time.perf_counter()
    time.sleep(seconds)
    passed = time.perf_counter() - begun
    by_role: dict[str, float] = {}
    for pid, (role, used) in cpu_seconds().items():
        share = 100 * (used - before.get(pid, (role, used))[1]) / passed
        by_role[role] = by_role.get(role, 0.0) + share
    client.close()
    return {"value": sum(by_role.values()), "byRole": by_role}


def stencil_graph(tasks: int) -> dict[Any, Task]:
    """Rows of `WIDTH` tasks, each of three neighbours of the row before."""
    graph: dict[Any, Task] = {}
    width = min(WIDTH, tasks)
    for number in range(tasks):
        row, column = divmod(number, width)
        key = ("cell", row, column)
        if row == 0:
            graph[key] = Task(key, max, number, 0)
            continue
        near = [TaskRef(("cell", row - 1, (column + by) % width)) for by in (-1, 0, 1)]
        graph[key] = Task(key, max, *near)
    return graph


def status_bytes(name: str) -> int:
    """A figure of this process's memory, from ``/proc``."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}.")


def client_peak(system: str, tasks: int) -> dict[str, float]:
    """Bytes beyond what the client had when it began to submit."""
    with tempfile.TemporaryDirectory(prefix="standing-") as folder:
        scheduler = None
        if system == "spanwise":
            import spanwise

            client: Any = spanwise.Client(n_workers=0)
        else:
            import distributed

            file = str(Path(folder) / "scheduler.json")
            command = ["-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
            scheduler = subprocess.Popen(
                [sys.executable, *command, "--scheduler-file", file], stderr=subprocess.DEVNULL
            )
            client = distributed.Client(scheduler_file=file, timeout=60)
        graph = stencil_graph(tasks)
        keys = list(graph)[-WIDTH:]
        before = status_bytes("VmRSS")
        # From now on the peak is counted anew.
        Path("/proc/self/clear_refs").write_text("5", "utf-8")
        futures = client.get(graph, keys, sync=False)
        while system != "spanwise" and client.run_on_scheduler(_known) < tasks:
            time.sleep(0.2)
        peak = status_bytes("VmHWM") - before
        del futures
        if scheduler is not None:
            scheduler.kill()
            scheduler.wait()
        sys.stdout.write(json.dumps({"value": peak}) + "\n")
        sys.stdout.flush()
        os._exit(0)  # the peer's client would look for its scheduler


def _known(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def measure(
    system: str, sizes: dict[str, float], workers: int, smoke: bool
) -> dict[str, dict[str, Any]]:
    """Some measurements in a program of their own."""
    words = ["--workers", str(workers), *["--smoke"] * smoke]
    for what, size in sizes.items():
        words += ["--once", what, system, str(size)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.standing", *words],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=900,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    answers = map(json.loads, ended.stdout.splitlines()[-len(sizes) :])
    return dict(zip(sizes, answers, strict=True))


def answer_once(what: str, system: str, size: float, workers: int, smoke: bool) -> None:
    """Measure in this program, and print the answer."""
    if what == "first result":
        print(json.dumps(first_result(system, smoke)), flush=True)
    elif what == "idle":
        print(json.dumps(idle(system, size, workers, smoke)), flush=True)
    else:  # (it ends the program)
        client_peak(system, int(size))


def figures_of(measured: dict[str, dict[str, list[dict[str, Any]]]]) -> list[Figure]:
    """Both systems' figures, and what was promised of them."""
    scale = {"first result": (1e3, "ms"), "idle": (1.0, "%"), "client's peak": (2**-20, "MB")}
    goals = {"first result": FIRST_RATIO, "client's peak": PEAK_RATIO}
    figures = []
    for what, by_system in measured.items():
        factor, unit = scale[what]
        values = {
            name: tuple(factor * each["value"] for each in answers)
            for name, answers in by_system.items()
        }
        limit = IDLE_PERCENT if what == "idle" else None
        ours, theirs = values["spanwise"], values["distributed"]
        figures.append(Figure(what, "Spanwise", unit, "lower", ours, limit=limit))
        figures.append(Figure(what, "distributed", unit, "lower", theirs))
        goal = goals.get(what)
        figures.append(Figure(what, "times less", "x", "higher", theirs, over=ours, limit=goal))
    return figures


def main() -> int:
    """Measure in turn, print, hand over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that it runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to do nothing")
    parser.add_argument("--tasks", type=int, default=300_000)
    parser.add_argument("--what", action="append", choices=WHAT)
    parser.add_argument("--once", nargs=3, metavar=("WHAT", "SYSTEM", "SIZE"), action="append")
    parser.add_argument("--workers", type=int, default=IDLE_WORKERS, help="of the idle cluster")
    records.add_option(parser)
    options = parser.parse_args()
    if options.once:
        for what, system, size in options.once:
            answer_once(what, system, float(size), options.workers, options.smoke)
        return 0
    rounds = 1 if options.smoke else options.rounds
    # Each worker of the peer takes more than a second to start.
    workers = 1 if options.smoke else options.workers
    seconds, tasks = (1.0, 2_000) if options.smoke else (options.seconds, options.tasks)
    sizes = {"first result": 0.0, "idle": seconds, "client's peak": float(tasks)}
    sizes = {what: sizes[what] for what in WHAT if what in (options.what or WHAT)}
    measured: dict[str, dict[str, list[dict[str, Any]]]] = {
        what: {name: [] for name in SYSTEMS} for what in sizes
    }
    for some in [sizes] if options.smoke else [{what: size} for what, size in sizes.items()]:
        # Idling and peaks hardly vary from run to run.
        for number in range(rounds if "first result" in some else 1):
            for system in SYSTEMS[:: 1 if number % 2 == 0 else -1]:
                for what, answer in measure(system, some, workers, options.smoke).items():
                    measured[what][system].append(answer)
        for what in some:
            print(what, measured[what], f"load {os.getloadavg()[0]:.1f}", flush=True)
    settings = {"rounds": rounds, "smoke": options.smoke, "seconds": seconds, "tasks": tasks}
    settings["idleWorkers"] = workers
    records.hand_over(options, settings, figures_of(measured), {"answers": measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
