"""The profile of what workers do besides tasks."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanwise import Client
from spanwise.current_frames import current_frames
from spanwise.observed.profiles import NOTHING_DONE, empty_tree, profile_of_stacks
from spanwise.tests.processes import wait_until
from spanwise.tests.test_profile import content_of, named, walk
from spanwise.worker.machinery import Machinery

INTERVAL = 0.01
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="clocks of threads by number")


def burn(seconds: float) -> float:
    """Use so much of the thread's CPU; returns all that the thread has used."""
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        pass
    return time.thread_time()


def names_in(tree: dict[str, Any]) -> set[str]:
    return {node["description"]["name"] for node in walk(tree)}


@pytest.fixture(scope="module")
def called_seconds(cluster: Client) -> float:
    """Of two workers, one is kept busy by a remote call, whose thread's CPU this is."""
    one, _ = cluster.nthreads()
    # A worker without tasks looks each 2 s, and oftener while a call runs.
    spent: float = cluster.run(burn, 1.5, workers=[one])[one]
    return spent


@pytest.fixture(scope="module")
def ran(cluster: Client, called_seconds: float) -> Client:
    """The other worker was kept busy by a task."""
    _, two = cluster.nthreads()
    cluster.submit(burn, 0.3, workers=[two], key="burn-1").result()
    return cluster


@linux_only
def test_q05_q07_server_is_what_workers_do_besides_tasks(
    ran: Client, called_seconds: float
) -> None:
    one, two = ran.nthreads()

    def seen() -> dict[str, Any]:
        found: dict[str, Any] = ran.profile(server=True, merge_workers=False)
        # Its thread's last look may still be to come.
        return found if "burn" in names_in(found[one]) else {}

    by_worker = wait_until("the call to be seen", seen)
    assert set(by_worker) == {one, two}
    # By the clock of its thread, however busy the machine is. What it did after the last look at
    # it is left; what it did before the call, unseen, may be the call's.
    counted = named(by_worker[one], "burn")["count"] * INTERVAL
    assert 0.5 < counted <= called_seconds
    # neither has what the other one has.
    assert "burn" not in names_in(by_worker[two])
    assert "burn" in names_in(ran.profile(workers=[two]))
    assert "burn" not in names_in(ran.profile(workers=[one]))


@linux_only
def test_server_of_some_workers_and_times(ran: Client, tmp_path: Path) -> None:
    one, two = ran.nthreads()
    wait_until("the call to be seen", lambda: "burn" in names_in(ran.profile(server=True)))
    assert "burn" in names_in(ran.profile(server=True, workers=one))
    assert "burn" not in names_in(ran.profile(server=True, workers=[two]))
    assert ran.profile(server=True, workers=[]) == empty_tree()
    assert "burn" in names_in(ran.profile(server=True, start="1 h"))
    assert ran.profile(server=True, start=time.time() + 3600) == empty_tree()
    assert ran.profile(server=True, stop="1 h") == empty_tree()
    tree, _ = ran.profile(server=True, workers=[one], filename=tmp_path / "x.html")
    (section,) = content_of((tmp_path / "x.html").read_text("utf-8"))["sections"]
    assert section["result"]["samples"] == tree["count"] > 0
    _, page = ran.profile(server=True, workers=[], plot=True)
    assert page.content["sections"][0]["missing"] == NOTHING_DONE


def test_server_has_no_keys(ran: Client) -> None:
    for given in ({"key": "burn"}, {"span": "x"}):
        with pytest.raises(ValueError, match="are of tasks"):
            ran.profile(server=True, **given)


class Server:
    """An own thread that computes for some seconds when it is told to, and then waits again."""

    def __init__(self) -> None:
        self.told: queue.SimpleQueue[float] = queue.SimpleQueue()
        self.done = threading.Semaphore(0)
        self.thread = threading.Thread(target=self.serve, name="spanwise-test", daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while (seconds := self.told.get()) > 0:
            burn(seconds)
            self.done.release()

    def end(self) -> None:
        self.told.put(0)
        self.thread.join(60)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.end()


class Looks:
    """A sampler in this process, whose looks are a second apart, as it believes."""

    def __init__(self, server: Server) -> None:
        self.sampler = Machinery(100.0, INTERVAL)
        self.now = 100.0
        self._server = server

    def look(self) -> None:
        self.now += 1.0
        self.sampler.look(self.now)

    def rest(self) -> None:
        """Look until the server has done nothing between two looks."""

        def rests() -> bool:
            self.look()
            # (on a busy machine it may not have come to where it waits)
            return not self._seen.worked and self.is_waiting()

        wait_until("rest", rests)

    def is_waiting(self) -> bool:
        """Whether the server is where it was found resting."""
        frame = current_frames()[self._server.thread.ident or 0]
        is_serving = frame.f_code is Server.serve.__code__
        return is_serving and (frame.f_code, frame.f_lineno) in self._seen.rests

    def counted(self, name: str) -> int:
        """Samples of a function of the server's."""
        return sum(
            count
            for path, count in self.sampler.samples(0, 1e9)
            if any(frame[0] == "Server.serve" for frame in path)
            and any(frame[0] == name for frame in path)
        )

    @property
    def _seen(self) -> Any:
        return self.sampler._threads[self._server.thread.ident or 0]


@linux_only
def test_bursts_count_where_a_thread_is_seen_at_work(server: Server) -> None:
    looks = Looks(server)
    looks.look()
    looks.rest()
    for _ in range(5):
        server.told.put(0.02)
        assert server.done.acquire(timeout=60)
        wait_until("it waits again", looks.is_waiting)
        looks.rest()
    # Nobody looked while it worked, and what it is owed is not given to its waiting.
    assert looks.counted("Server.serve") == 0
    # Seen at work, it gets what the bursts before took, too.
    server.told.put(1.0)

    def at_work() -> bool:
        looks.look()
        return looks.counted("burn") > 0

    wait_until("work to be seen", at_work)
    assert looks.counted("burn") >= 5 * 0.02 / INTERVAL
    assert server.done.acquire(timeout=60)


@linux_only
def test_a_thread_that_is_never_seen_at_work_loses_nothing(server: Server) -> None:
    looks = Looks(server)
    looks.look()
    looks.rest()
    server.told.put(0.7)
    assert server.done.acquire(timeout=60)
    wait_until("it waits again", looks.is_waiting)
    looks.look()
    assert looks.counted("Server.serve") >= 0.7 / INTERVAL


@linux_only
def test_threads_that_end_are_forgotten(server: Server) -> None:
    looks = Looks(server)
    looks.look()
    ident = server.thread.ident
    assert ident in looks.sampler._threads
    server.end()
    looks.look()
    assert ident not in looks.sampler._threads


def test_a_stack_is_kept_once() -> None:
    sampler = Machinery(100.0, INTERVAL)
    for second in range(5):
        sampler._add(second, (("f", "a.py", 1), ("g", "a.py", int("2"))), 3)
    kept = [stack for _, bucket in sampler._buckets for stack in bucket]
    assert len(kept) == 5 and len(set(map(id, kept))) == 1
    assert sampler.samples(0, 10) == [(kept[0], 15)]


def test_switched_off_it_looks_at_nothing() -> None:
    sampler = Machinery(100.0, 0.0)
    sampler.look(101.0)
    assert not sampler._threads and sampler.samples(0, 1e9) == []


def test_stacks_become_a_tree_whose_rows_are_depth_first() -> None:
    f, g, h = ("f", "a.py", 1), ("g", "a.py", 2), ("h", "b.py", 3)
    stacks = {"tcp://1": [((f, g), 2), ((h,), 1), ((f, h), 3)], "tcp://2": [((f,), 4)]}
    merged = profile_of_stacks(stacks, INTERVAL, False)
    nodes = merged.answer["nodes"]
    assert nodes["name"] == ["all", "f", "g", "h", "h"]
    assert nodes["parent"] == [-1, 0, 1, 1, 0]
    assert nodes["n"] == nodes["onCore"] == [10, 9, 2, 3, 1]
    assert [node["count"] for node in walk(merged.tree())] == [10, 9, 2, 3, 1]
    apart = profile_of_stacks(stacks, INTERVAL, True).trees(["tcp://3"])
    assert apart["tcp://3"] == empty_tree()
    assert [node["count"] for node in walk(apart["tcp://1"])] == [6, 5, 2, 3, 1]
    assert [node["count"] for node in walk(apart["tcp://2"])] == [4, 4]
