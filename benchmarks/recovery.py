"""How long a cluster takes to come back when one of its processes is killed (kill -9).

    python -m benchmarks recovery [-- --rounds 5]

Three deaths, each in a cluster of its own, two workers with one thread (in a smoke run one cluster
dies bit by bit):

* a worker, while tasks run: seconds until the client holds the right result (and, beside
  it, what the same graph takes when nobody dies);
* the observer of a Jupyter server, while tasks run: until a viewer is told of every task,
  of those from before the kill and of those from after it;
* the scheduler, while the client waits for results: until the client has the error that
  says so.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import psutil

from benchmarks import records
from benchmarks.verdicts import Figure
from spanwise import Client, span
from spanwise.errors import ClusterError
from spanwise.tests.jupyter_server_process import JupyterServer
from spanwise.tests.leftover import mark_this_process, marked_processes
from spanwise.tests.processes import processes_of, wait_until

CONNECTION = "SPANWISE_CONNECTION"
#: Tasks of one graph, and what each takes: one second of work on two threads.
TASKS, TASK_SECONDS = 100, 0.02


def slow_square(x: int, seconds: float = TASK_SECONDS) -> int:
    time.sleep(seconds)
    return x * x


#: What finds a cluster's oldest process of a role.
Oldest = Callable[[str], psutil.Process]


@contextmanager
def cluster() -> Iterator[tuple[Client, Oldest]]:
    """A cluster that has worked, and what finds its oldest process of a role."""
    known = set(marked_processes())
    with Client(n_workers=2, threads_per_worker=1) as client:
        client.gather(client.map(slow_square, [0] * 4, seconds=0.0, pure=False))
        yield client, lambda role: processes_of(role, known)[0]


def graph_seconds(client: Client, kill: psutil.Process | None) -> float:
    """Compute a sum of squares; seconds from the kill, or from its moment, to the result.

    Raises
    ------
    AssertionError
        The result is wrong.
    """
    squares = client.map(slow_square, range(TASKS), pure=False)
    total = client.submit(sum, squares)
    wait_until("a third is done", lambda: sum(f.done() for f in squares) >= TASKS // 3)
    if kill is not None:
        kill.kill()
    begin = time.perf_counter()
    assert total.result(timeout=60) == sum(x * x for x in range(TASKS))
    return time.perf_counter() - begin


@contextmanager
def observed_cluster() -> Iterator[tuple[Client, Oldest]]:
    """The same, of a kernel of a Jupyter server."""
    with (
        tempfile.TemporaryDirectory() as folder,
        connected_to_a_server(Path(folder)),
        cluster() as found,
    ):
        yield found


def undisturbed(client: Client, oldest: Oldest) -> float:
    return graph_seconds(client, None)


def worker_killed(client: Client, oldest: Oldest) -> float:
    return graph_seconds(client, oldest("worker"))


def scheduler_killed(client: Client, oldest: Oldest) -> float:
    futures = client.map(slow_square, range(10 * TASKS), pure=False)
    wait_until("it runs", lambda: futures[0].done())
    scheduler = oldest("scheduler")
    begin = time.perf_counter()
    scheduler.kill()
    try:
        client.gather(futures)
    except ClusterError:
        return time.perf_counter() - begin
    raise AssertionError("gathered what cannot have been computed")


def observer_killed(client: Client, oldest: Oldest) -> float:
    with span("recorded"):
        client.gather(client.map(slow_square, range(TASKS), seconds=0.0, pure=False))
        seen = tasks_seen(client)
        begin = time.perf_counter()
        oldest("observer").kill()
        client.gather(client.map(slow_square, range(TASKS), seconds=0.0, pure=False))
    assert seen == TASKS
    wait_until("every row", lambda: tasks_seen(client) == 2 * TASKS)
    return time.perf_counter() - begin


def tasks_seen(client: Client) -> int:
    """Tasks of the span that a viewer is told of; 0 while nobody can be asked."""
    try:
        return next((each.tasks for each in client.spans() if each.tag == "recorded"), 0)
    except ClusterError:
        return 0


@contextmanager
def connected_to_a_server(folder: Path) -> Iterator[None]:
    """As a kernel of a Jupyter server: it restarts the observer."""
    server = JupyterServer(folder)
    before = os.environ.get(CONNECTION)
    os.environ[CONNECTION] = str(server.connection_file)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CONNECTION]
        else:
            os.environ[CONNECTION] = before
        server.close()


Open = Callable[[], AbstractContextManager[tuple[Client, Oldest]]]
#: Without its scheduler a cluster is gone: that one comes last.
DEATHS: dict[str, tuple[Callable[[Client, Oldest], float], Open]] = {
    "nobody dies: rest of the graph": (undisturbed, cluster),
    "worker → right result": (worker_killed, cluster),
    "observer → every row shown": (observer_killed, observed_cluster),
    "scheduler → the client's error": (scheduler_killed, cluster),
}


def main() -> int:
    """Print a table of seconds, least, median and most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="one round, in one cluster")
    records.add_option(parser)
    options = parser.parse_args()
    mark_this_process()
    seconds: dict[str, list[float]] = {name: [] for name in DEATHS}
    rounds = 1 if options.smoke else options.rounds
    with ExitStack() as stack:
        shared = stack.enter_context(observed_cluster()) if options.smoke else None
        for _ in range(rounds):
            for name, (measure, opened) in DEATHS.items():
                with opened() if shared is None else nullcontext(shared) as (client, oldest):
                    seconds[name].append(measure(client, oldest))
    print(f"{'seconds':34}{'least':>8}{'median':>8}{'most':>8}")
    for name, values in seconds.items():
        print(f"{name:34}{min(values):8.2f}{statistics.median(values):8.2f}{max(values):8.2f}")
    figures = [
        Figure(name, "time", "s", "lower", tuple(values), tracked=True)
        for name, values in seconds.items()
    ]
    settings = {"rounds": rounds, "tasks": TASKS, "uncountedRounds": 0}
    records.hand_over(options, settings, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
