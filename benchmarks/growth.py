"""How much each process keeps when work went through a cluster and all futures are released.

    python -m benchmarks growth [-- PART … --scale 1]

Parts, each in a cluster of its own (two workers of one thread) but `clusters`; of a smoke run all
in one cluster, of one worker:

* ``tables``: 2,000 calls, each with a keyword of 1 MB of its own;
* ``functions``: 50,000 functions, each called once;
* ``clusters``: 20 clusters made, used and closed in one process;
* ``tasks``: 1 M tasks, in graphs of 50,000;
* ``deaths``: 12 workers killed while tasks run.

Each part first does a twentieth of its work, then measures, does the rest, releases all
futures and measures again: memory that is a process's own (USS), descriptors, and files below
the folders of the cluster and of its processes.

Node frees memory when it needs some, Python likewise what lies in circles: before it
measures, it has every process collect: Node through its inspector, whose port is opened by
NODE_OPTIONS here, workers through ``client.run(gc.collect)``. Nothing else is done to them.
What is kept of history on purpose is allowed besides, and shown in a column of its own:

* by the observer: rows of its tables for each task, until these are full (2 M runs);
* by the scheduler: the newest 64 MiB of what the observer was sent, for a new one.

All that is measured lies in a folder that this process makes for temporary files: so files are
those of the cluster and its processes, and of nobody else.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks import records
from benchmarks.growth_tasks import increment, look_up, slow_increment
from benchmarks.verdicts import Figure
from spanwise import Client
from spanwise.tests.leftover import mark_this_process, marked_processes
from spanwise.tests.processes import processes_of, wait_until

MEGABYTE = 1 << 20
#: A process may grow by so much beyond the history that it keeps; files are descriptors, too.
MOST_BYTES, MOST_FILES = 50 * MEGABYTE, 5
#: Bytes that the observer keeps per task with one dependent: for 950,000 tasks it had
#: 115 each.
OBSERVER_BYTES = 130
#: What the scheduler keeps of its record for each task, and of all (RING_BYTES in
#: src/link/observer-link.ts): its array buffers grew by 101 bytes a task until the ring was full.
RING_TASK_BYTES, RING_BYTES = 100, 64 * MEGABYTE
#: Memory goes back a little later than the last message comes.
SETTLE_SECONDS = 6.0
TABLES, FUNCTIONS, CLUSTERS, TASKS, DEATHS = 2_000, 50_000, 20, 1_000_000, 12
GRAPH_TASKS = 50_000
WORKERS = 2


class Measured(NamedTuple):
    """A process at one moment."""

    uss: int
    descriptors: int


class Growth(NamedTuple):
    """By how much one process (or the files) has grown; `allowed` bytes are kept on
    purpose."""

    part: str
    who: str
    before: Measured
    after: Measured
    allowed: int

    @property
    def most(self) -> int:
        return MOST_BYTES + self.allowed

    @property
    def is_over(self) -> bool:
        return (
            self.after.uss - self.before.uss > self.most
            or self.after.descriptors - self.before.descriptors > MOST_FILES
        )


# -- measuring ---------------------------------------------------------------


def collect_node(process: psutil.Process) -> None:
    """Have a Node process collect, through its inspector."""
    ports = [
        connection.laddr.port
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    for port in ports:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
                (target,) = json.load(answer)
        except (OSError, ValueError):
            continue
        asyncio.run(_collect(target["webSocketDebuggerUrl"]))
        return
    raise RuntimeError(f"{process} has no inspector; was it started with NODE_OPTIONS?")


async def _collect(url: str) -> None:
    from tornado.websocket import websocket_connect

    inspector = await websocket_connect(url)
    for number in range(2):
        await inspector.write_message(
            json.dumps({"id": number, "method": "HeapProfiler.collectGarbage"})
        )
        while json.loads(await inspector.read_message() or "{}").get("id") != number:
            pass
    inspector.close()


def measure(process: psutil.Process) -> Measured:
    return Measured(process.memory_full_info().uss, process.num_fds())


class Watched:
    """The processes of a cluster of so many workers, and the files below their folders."""

    def __init__(self, client: Client | None, known: set[int], workers: int = 0) -> None:
        self._client = client
        self._known = known
        self.count = workers

    def workers(self) -> list[psutil.Process]:
        """Those that live, oldest first."""
        return processes_of("worker", self._known)

    def wait_for_workers(self) -> None:
        """Until all live, and no more."""
        wait_until(f"{self.count} workers", lambda: len(self.workers()) == self.count)

    def now(self) -> dict[str, Measured]:
        """The memory of each role; for workers, of the one that takes most."""
        if self._client is not None:
            self._client.run(gc.collect)
        gc.collect()
        found = {"client": measure(psutil.Process())}
        for role in ("scheduler", "observer"):
            for process in processes_of(role, self._known):
                collect_node(process)
                found[role] = measure(process)
        workers = [measure(process) for process in self.workers()]
        if workers:
            found["worker"] = Measured(
                max(each.uss for each in workers), max(each.descriptors for each in workers)
            )
        found["files"] = Measured(0, sum(1 for _ in Path(tempfile.gettempdir()).rglob("*")))
        return found


@contextmanager
def cluster(workers: int = WORKERS) -> Iterator[tuple[Client, Watched]]:
    known = set(marked_processes())
    with Client(n_workers=workers, threads_per_worker=1) as client:
        client.wait_for_workers(workers)
        assert client.submit(increment, 1).result() == 2
        yield client, Watched(client, known, workers)


#: Opens a part's cluster.
Open = Callable[[], AbstractContextManager[tuple[Client, Watched]]]


def grown(part: str, watched: Watched, before: dict[str, Measured], tasks: int = 0) -> list[Growth]:
    """Measure until nothing is over its limit, a few seconds at most.

    Parameters
    ----------
    tasks
        Those whose history has come since `before`.
    """
    history = {
        "observer": tasks * OBSERVER_BYTES,
        "scheduler": min(tasks * RING_TASK_BYTES, RING_BYTES),
    }
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        after = watched.now()
        rows = [
            Growth(part, who, before.get(who, now), now, history.get(who, 0))
            for who, now in after.items()
        ]
        if time.monotonic() > end or not any(row.is_over for row in rows):
            return rows
        time.sleep(0.5)


def through(
    part: str, count: int, work: Callable[[Client, int, int], None], opened: Open
) -> list[Growth]:
    """Do a twentieth of the work, measure, do the rest, measure."""
    with opened() as (client, watched):
        first = max(1, count // 20)
        work(client, 0, first)
        before = watched.now()
        work(client, first, count)
        return grown(part, watched, before, count - first)


# -- the parts ---------------------------------------------------------------


def send_tables(client: Client, start: int, stop: int) -> None:
    for i in range(start, stop):
        table = i.to_bytes(8, "little") + bytes(MEGABYTE - 8)
        assert client.submit(look_up, i, table=table, pure=False).result() == i + MEGABYTE


def send_functions(client: Client, start: int, stop: int) -> None:
    for begin in range(start, stop, 500):
        futures = []
        for i in range(begin, min(begin + 500, stop)):
            scope: dict[str, Any] = {"__name__": "__main__"}
            exec(f"def function_{i}(x): return x + {i}", scope)  # noqa: S102 (ours)
            futures.append(client.submit(scope[f"function_{i}"], 1, pure=False))
        assert client.gather(futures)[0] == begin + 1


def send_graphs(client: Client, start: int, stop: int) -> None:
    for begin in range(start, stop, GRAPH_TASKS):
        name = f"leaf-{begin}"
        leaves = [(name, i) for i in range(min(GRAPH_TASKS, stop - begin) - 1)]
        graph: dict[Any, Any] = {leaf: (increment, leaf[1]) for leaf in leaves}
        graph[f"sum-{begin}"] = (sum, leaves)
        assert client.get(graph, f"sum-{begin}") == len(leaves) * (len(leaves) + 1) // 2


def tables(scale: float, opened: Open) -> list[Growth]:
    return through("tables", max(40, int(TABLES * scale)), send_tables, opened)


def functions(scale: float, opened: Open) -> list[Growth]:
    return through("functions", max(500, int(FUNCTIONS * scale)), send_functions, opened)


def tasks(scale: float, opened: Open) -> list[Growth]:
    return through("tasks", max(2_000, int(TASKS * scale)), send_graphs, opened)


def clusters(scale: float, opened: Open) -> list[Growth]:
    known = set(marked_processes())
    watched = Watched(None, known)

    def once() -> None:
        with opened() as (client, _):
            client.gather(client.map(increment, range(100)))

    once()
    before = watched.now()
    for _ in range(max(2, int(CLUSTERS * scale))):
        once()
    return grown("clusters", watched, before)


def deaths(scale: float, opened: Open) -> list[Growth]:
    with opened() as (client, watched):

        def kill_one() -> None:
            values = client.map(slow_increment, range(100), pure=False)
            wait_until("some are done", lambda: sum(f.done() for f in values) >= 20)
            watched.workers()[0].kill()
            assert client.gather(values) == list(range(1, 101))
            watched.wait_for_workers()
            client.wait_for_workers(watched.count)

        kill_one()
        before = watched.now()
        for _ in range(max(2, int(DEATHS * scale))):
            kill_one()
        return grown("deaths", watched, before)


PARTS = {each.__name__: each for each in (tables, functions, clusters, tasks, deaths)}
#: In a smoke run they work in the cluster of all parts; this one makes some.
OWN_CLUSTERS = ("clusters",)


def main() -> int:
    """Print a row per process, hand over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work")
    parser.add_argument("--smoke", action="store_true", help="all parts in one cluster")
    records.add_option(parser)
    options = parser.parse_args()
    os.environ["NODE_OPTIONS"] = f"{os.environ.get('NODE_OPTIONS', '')} --inspect=127.0.0.1:0"
    mark_this_process()
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        rows = run(options.part or list(PARTS), options.scale, options.smoke)
    settings = {"parts": options.part or list(PARTS), "scale": options.scale}
    settings |= {"smoke": True} if options.smoke else {}
    records.hand_over(options, settings, [each for row in rows for each in figures_of(row)])
    return 0


def figures_of(row: Growth) -> list[Figure]:
    """The growth beyond the history that is kept on purpose, and that history."""
    name = f"{row.part}: {row.who}"
    descriptors = Figure(
        name,
        "files" if row.who == "files" else "descriptors",
        "",
        "lower",
        (row.after.descriptors - row.before.descriptors,),
        limit=MOST_FILES,
    )
    if row.who == "files":
        return [descriptors]
    grown = (row.after.uss - row.before.uss - row.allowed) / MEGABYTE
    return [
        Figure(name, "memory", "MB", "lower", (grown,), limit=MOST_BYTES / MEGABYTE),
        Figure(name, "history", "MB", "lower", (row.allowed / MEGABYTE,)),
        descriptors,
    ]


def run(parts: list[str], scale: float, smoke: bool) -> list[Growth]:
    with ExitStack() as stack:
        if not smoke:
            return rows_of(parts, scale, dict.fromkeys(parts, cluster))
        alone: Open = lambda: cluster(1)  # noqa: E731
        shared = stack.enter_context(alone())
        opens = {
            each: alone if each in OWN_CLUSTERS else lambda: nullcontext(shared) for each in parts
        }
        return rows_of(parts, scale, opens)


def rows_of(parts: list[str], scale: float, opens: dict[str, Open]) -> list[Growth]:
    """Run parts, each in the cluster that it opens; prints a row per process."""
    rows: list[Growth] = []
    print(
        f"{'part':11}{'who':11}{'MB before':>10}{'after':>8}{'grown':>8}{'history':>9}{'most':>7}",
        end="",
    )
    print(f"{'files before':>14}{'after':>7}")
    for name in parts:
        begin = time.perf_counter()
        for row in PARTS[name](scale, opens[name]):
            rows.append(row)
            before, after = row.before, row.after
            print(
                f"{row.part:11}{row.who:11}{before.uss / MEGABYTE:10.1f}{after.uss / MEGABYTE:8.1f}"
                f"{(after.uss - before.uss) / MEGABYTE:8.1f}"
                f"{row.allowed / MEGABYTE:9.0f}{row.most / MEGABYTE:7.0f}"
                f"{before.descriptors:14}{after.descriptors:7}{'  OVER' if row.is_over else ''}"
            )
        print(
            f"{'':11}{time.perf_counter() - begin:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
