"""Tasks for Dask's own schedulers.

In a module that imports next to nothing: each process of a pool imports it, and with the tests
pandas and pytest, in two seconds of a core.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

SCHEDULERS = ("threads", "sync", "processes")
#: A pool's processes import dask first, and what a graph needs, in seconds of a core each.
POOL_SECONDS = 200.0


def rest(seconds: float, *inputs: Any) -> float:
    time.sleep(seconds)
    return seconds


def rest_and_tell(seconds: float) -> tuple[float, float]:
    """Wall seconds and CPU seconds that resting took."""
    wall, cpu = time.perf_counter(), time.thread_time()
    time.sleep(seconds)
    return time.perf_counter() - wall, time.thread_time() - cpu


def spin(seconds: float) -> float:
    """Keep a core for so much of the thread's CPU time; returns what it took."""
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        pass
    return time.thread_time() - begin


def wait_for_file(go: Path) -> None:
    limit = time.monotonic() + POOL_SECONDS
    while not go.exists() and time.monotonic() < limit:
        time.sleep(0.005)


class Broken(Exception):
    """The error that a task of these tests raises."""


def fail(number: int) -> None:
    raise Broken(number)


def meet(folder: Path, me: str, other: str) -> str:
    """Wait for another task, which runs in another process meanwhile."""
    (folder / me).touch()
    limit = time.monotonic() + 60
    while not (folder / other).exists() and time.monotonic() < limit:
        time.sleep(0.005)
    return me


def held(nbytes: int, go: Path) -> int:
    """Keep so much memory until the file is there."""
    block = b"x" * nbytes
    while not go.exists():
        time.sleep(0.005)
    return len(block)


def first(items: Any) -> list[Any]:
    return [next(items)]


def rest_until(go: Path, *inputs: Any) -> int:
    """Rest until the file is there, in whichever process."""
    limit = time.monotonic() + 60
    while not go.exists() and time.monotonic() < limit:
        time.sleep(0.005)
    return len(inputs)


def rest_between(begun: Path, go: Path, ended: Path) -> None:
    """Rest until the file is there, and say by files that it does, and did."""
    begun.touch()
    rest_until(go)
    ended.touch()


def waits_for_children(how: str, seconds: float) -> tuple[float, float, float]:
    """Have two tasks sleep one after the other, then sleep itself.

    Returns
    -------
    tuple
        How long both took here, how long it slept itself, and how long it took to have asked for
        both: the first may sleep already then. Seconds.
    """
    from dask import delayed

    from spanwise import get_client, worker_client

    begin = asks = asked = time.perf_counter()
    if how == "client":
        client = get_client()
        asks = time.perf_counter()
        first = client.submit(rest, seconds, 0, pure=False)
        second = client.submit(rest_after, first, seconds, pure=False)
        asked = time.perf_counter()
        second.result()
    elif how == "compute":
        get_client()
        delayed(rest_after)(delayed(rest)(seconds, 1), seconds).compute()
    else:
        with worker_client(separate_thread=how == "worker_client") as client:
            asks = time.perf_counter()
            first = client.submit(rest, seconds, 2, pure=False)
            second = client.submit(rest_after, first, seconds, pure=False)
            asked = time.perf_counter()
            client.gather(second)
    waited = time.perf_counter()
    rest(seconds, 0)
    return waited - begin, time.perf_counter() - waited, asked - asks


def holds_and_waits(seconds: list[float]) -> list[tuple[float, float]]:
    """Compute, have children compute, compute again: when this and its children held a thread."""
    from spanwise import get_client

    client = get_client()
    begin = time.perf_counter()
    held = []
    for each in seconds:
        rest(each)
        held.append((begin, time.perf_counter()))
        children = [client.submit(rest_stamped, each, number, pure=False) for number in range(2)]
        held += client.gather(children)
        begin = time.perf_counter()
    rest(seconds[0])
    return [*held, (begin, time.perf_counter())]


def rest_stamped(seconds: float, _: int) -> tuple[float, float]:
    begin = time.perf_counter()
    time.sleep(seconds)
    return begin, time.perf_counter()


def rest_after(_: Any, seconds: float) -> None:
    time.sleep(seconds)
