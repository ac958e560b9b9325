"""The measures of memory on a cluster: what the kernel counts, and allocations of known size."""

from __future__ import annotations

import builtins
import ctypes
import mmap
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import spanwise
from spanwise import Client, MemorySampler
from spanwise.records.enumerations import MEMORY_MEASURES
from spanwise.tests.disturbance import Disturbance
from spanwise.tests.processes import processes_of, wait_until

MIB = 2**20
SIZE = 64 * MIB
#: Of a figure: what a worker's own work needs meanwhile.
NEAR = 5 * MIB

Figures = dict[str, int]


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(n_workers=1, threads_per_worker=1, memory_limit="512MiB") as made:
        yield made


def figures_of(client: Client) -> Figures:
    """All measures, from samplers of blocks that end one after another."""
    sampler = MemorySampler()
    with ExitStack() as blocks:
        for measure in MEMORY_MEASURES:
            sampling = sampler.sample(measure, client=client, measure=measure, interval=0.01)
            blocks.enter_context(sampling)
        # Some measurements of the worker.
        sleep(0.05)
    return {measure: samples[-1][1] for measure, samples in sampler.samples.items()}


def wait_for(client: Client, what: str, condition: Callable[[Figures], bool]) -> Figures:
    """Wait until all measures fit each other and the condition; they are taken one by one."""
    last: list[Figures] = []

    def is_met() -> bool:
        now = figures_of(client)
        last[:] = [now]
        return fit(now) and condition(now)

    try:
        wait_until(what, is_met)
    except AssertionError as error:
        error.add_note(f"the measures were {last}")
        raise
    return last[0]


def fit(now: Figures) -> bool:
    return (
        now["managed"] + now["unmanaged"] == now["process"]
        and now["unmanaged_old"] + now["unmanaged_recent"] == now["unmanaged"]
        and now["optimistic"] + now["unmanaged_recent"] == now["process"]
        and now["managed"] + now["spilled"] == now["managed_total"]
    )


def rollup(pid: int) -> dict[str, int]:
    """What the kernel says when it goes through all pages of a process, in bytes."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+): +(\d+) kB", text, re.M)}


def written(nbytes: int) -> bytes:
    """Bytes that are in memory, page by page."""
    return b"x" * nbytes


def keep_outside(nbytes: int) -> None:
    """Keep in a worker what no result holds."""
    vars(builtins).setdefault("kept", []).append(written(nbytes))


def let_go_outside() -> None:
    vars(builtins).pop("kept", None)


def let_the_past_be(seconds: float) -> None:
    import spanwise.measure.memory

    spanwise.measure.memory.RECENT_SECONDS = seconds


def about(figure: int, expected: int) -> bool:
    return abs(figure - expected) <= NEAR


def test_known_allocations_are_where_they_belong(client: Client) -> None:
    (pid,) = client.run(os.getpid).values()
    client.run(let_go_outside)  # (all that is needed is imported)
    # What the worker took at its start does not grow old amid this, however long it takes.
    client.run(let_the_past_be, 3600.0)

    def is_the_kernels(now: Figures) -> bool:
        return about(now["process"], rollup(pid)["Anonymous"])

    before = wait_for(client, "it is still", is_the_kernels)
    assert before["spilled"] == 0 and about(before["managed"], 0)

    result = client.submit(written, SIZE)
    spanwise.wait(result)
    with_result = wait_for(
        client,
        "a result is managed",
        lambda now: is_the_kernels(now) and about(now["managed"], before["managed"] + SIZE),
    )
    assert about(with_result["process"], before["process"] + SIZE)
    assert about(with_result["unmanaged"], before["unmanaged"])

    client.run(keep_outside, SIZE)
    with_both = wait_for(
        client,
        "what no result holds is unmanaged, and recent",
        lambda now: is_the_kernels(now) and about(now["unmanaged"], before["unmanaged"] + SIZE),
    )
    assert about(with_both["managed"], with_result["managed"])
    assert about(with_both["unmanaged_recent"], with_result["unmanaged_recent"] + SIZE)
    assert about(with_both["optimistic"], with_result["optimistic"])

    client.run(let_the_past_be, 0.2)
    later = wait_for(
        client,
        "it is old in the end",
        lambda now: about(now["unmanaged_old"], with_both["unmanaged"]),
    )
    assert about(later["optimistic"], later["process"])

    client.run(let_go_outside)
    wait_for(
        client,
        "what is freed is neither",
        lambda now: is_the_kernels(now) and about(now["unmanaged"], before["unmanaged"]),
    )


def test_results_on_disk_are_spilled_at_their_size_there(client: Client) -> None:
    # 60 % of the limit are 307 MiB.
    results = client.map(written, [SIZE + i for i in range(7)])
    spanwise.wait(results)
    now = wait_for(
        client,
        "results are spilled",
        lambda now: now["spilled"] > SIZE and about(now["managed_total"], 7 * SIZE),
    )
    assert now["spilled"] % SIZE < MIB, "whole results"
    assert now["managed"] + now["spilled"] == now["managed_total"]


def test_a_short_interval_is_kept_and_figures_are_of_all_samples(client: Client) -> None:
    (pid,) = client.run(os.getpid).values()
    (scheduler,) = (each.pid for each in processes_of("scheduler"))
    sampler = MemorySampler()
    seconds, interval = 3.0, 0.01
    with (
        Disturbance(os.getpid(), pid, scheduler) as disturbance,
        sampler.sample("x", interval=interval),
    ):
        client.submit(hold_and_let_go, seconds).result()
    samples = sampler.samples["x"]
    assert_dense(samples, interval, disturbance.seconds)
    # The panel's figures of the run.
    (run,) = client._observed.query("memory")["runs"]
    assert_figures_of_all(run, samples)


def test_it_is_kept_where_dasks_own_schedulers_are_observed() -> None:
    with spanwise.observe("test") as seen:
        sampler = MemorySampler()
        interval = 0.01
        with Disturbance() as disturbance, sampler.sample("x", client=seen, interval=interval):
            hold_and_let_go(1.0)
        samples = sampler.samples["x"]
        assert_dense(samples, interval, disturbance.seconds)
        (run,) = seen._asked().query("memory")["runs"]
        assert_figures_of_all(run, samples)
    seen.close()


HELD = 40 * MIB


def hold_and_let_go(seconds: float) -> None:
    for _ in range(10):
        # From the system: the heap may have as much that is free, and in memory all the time.
        with mmap.mmap(-1, HELD, flags=mmap.MAP_PRIVATE) as held:
            # In a call that lets go of the interpreter lock: who samples may want it meanwhile.
            view = ctypes.c_char.from_buffer(held)
            ctypes.memset(ctypes.addressof(view), 1, HELD)
            del view  # (while it is there the map cannot be closed)
            sleep(seconds / 20)
        sleep(seconds / 20)


def assert_dense(samples: list[tuple[float, int]], interval: float, lost: float) -> None:
    times = np.array([t for t, _ in samples])
    assert (np.diff(times) > 0).all()
    assert len(samples) >= 0.9 * (times[-1] - times[0] - lost) / interval


def assert_figures_of_all(run: dict[str, Any], samples: list[tuple[float, int]]) -> None:
    t, sizes = np.array(samples, float).T
    area = np.trapezoid(sizes, t)
    assert run["samples"] == len(samples)
    assert (run["first"], run["last"], run["peak"]) == (sizes[0], sizes[-1], sizes.max())
    assert run["area"] == pytest.approx(area, rel=1e-5)
    assert run["mean"] == pytest.approx(area / (t[-1] - t[0]), rel=1e-5)
    assert sizes.max() > sizes.min() + 0.75 * HELD
