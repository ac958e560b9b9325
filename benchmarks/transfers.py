"""Large results on their way: to another worker, to the client, and back to back.

What is made is made before the clock starts. Whoever gets an array reads one number of each page of
memory: memory that is only mapped has to be brought in as well.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

import numpy as np

from benchmarks.work import Work

MIB = 2**20
#: Numbers of 8 bytes in a page of memory.
PAGE = 512


def ones(mib: int, salt: str) -> Any:
    """An array of so many MiB."""
    return np.ones(mib * MIB // 8)


def read(array: Any) -> float:
    """Read a number of each page."""
    return float(array[::PAGE].sum())


def _made(client: Any, mib: int, salt: str) -> tuple[Any, list[str]]:
    """A future of an array on the first worker, when it is there, and the workers' addresses."""
    workers = sorted(client.scheduler_info()["workers"])
    future = client.submit(ones, mib, salt, workers=workers[:1], allow_other_workers=False)
    while future.status == "pending":
        time.sleep(0.002)
    return future, workers


def to_worker(salt: str, mib: int) -> Work:
    """An array that one worker has made is read on another."""
    held: list[Any] = []

    def prepare(client: Any) -> None:
        held.append(_made(client, mib, salt))

    def run(client: Any) -> float:
        future, workers = held.pop()
        taker = client.submit(read, future, workers=workers[1:], pure=False)
        return float(taker.result())

    return Work(run, mib * MIB / 8 / PAGE, 1, prepare)


def to_client(salt: str, mib: int) -> Work:
    """An array that a worker has made is read in the client."""
    held: list[Any] = []

    def prepare(client: Any) -> None:
        held.append(_made(client, mib, salt)[0])

    def run(client: Any) -> float:
        return read(client.gather(held.pop()))

    return Work(run, mib * MIB / 8 / PAGE, 1, prepare)


def back_to_back(salt: str, calls: int) -> Work:
    """Calls that each bring an array of 1 MiB, one after another."""

    def run(client: Any) -> float:
        name = uuid.uuid4().hex
        return sum(read(client.submit(ones, 1, f"{name}{i}").result()) for i in range(calls))

    return Work(run, calls * MIB / 8 / PAGE, calls)
