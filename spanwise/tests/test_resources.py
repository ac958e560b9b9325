"""`resources=`: what workers have is held by the tasks that run there, on a real cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import pytest
from dask import delayed

from spanwise import Client, LocalCluster, wait
from spanwise.client.launch import worker_resources
from spanwise.command.options import resources as resources_of_option
from spanwise.tests.processes import LIMIT_SECONDS, wait_until
from spanwise.tests.their_client import workers_told


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two workers of three threads, each with one GPU and some memory of its own."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=3, resources={"GPU": 1, "MEM": 4e9}
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def beside(folder: str, name: Any) -> tuple[int, int]:
    """The process, and how many such tasks run in it at once; it stays until others could begin."""
    mark = Path(folder) / f"{os.getpid()}-{name}"
    mark.touch()
    time.sleep(0.03)
    found = len(list(Path(folder).glob(f"{os.getpid()}-*")))
    mark.unlink()
    return os.getpid(), found


def available(dask_worker: Any) -> dict[str, float]:
    return dask_worker.state.available_resources


def test_tasks_run_only_where_their_resources_are_free(client: Client, tmp_path: Path) -> None:
    futures = client.map(beside, [str(tmp_path)] * 10, range(10), resources={"GPU": 1}, pure=False)
    results = client.gather(futures)
    assert {count for _, count in results} == {1}
    assert len({pid for pid, _ in results}) == 2
    # Three threads: those that need half of it run two at a time.
    most: list[int] = []

    def two_have_met() -> bool:
        # (on a busy machine the second may begin when the first has ended)
        halves = client.map(
            beside, [str(tmp_path)] * 10, range(10), resources={"GPU": 0.5}, pure=False
        )
        most.append(max(count for _, count in client.gather(halves)))
        return most[-1] >= 2

    wait_until("two have run at a time", two_have_met)
    assert max(most) == 2


def test_workers_tell_what_they_have_and_what_is_free(client: Client, tmp_path: Path) -> None:
    has = {"GPU": 1, "MEM": 4e9}
    assert [row["resources"] for row in client.scheduler_info()["workers"].values()] == [has, has]
    assert list(client.run(available).values()) == [has, has]
    totals = client.run(lambda dask_worker: dask_worker.state.total_resources)
    assert list(totals.values()) == [has, has]
    end = tmp_path / "end"

    def hold(end: str) -> None:
        while not Path(end).exists():
            time.sleep(0.005)

    held = client.submit(hold, str(end), resources={"GPU": 1, "MEM": 1e9}, pure=False)
    wait_until("one GPU is held", lambda: {"GPU": 0, "MEM": 3e9} in client.run(available).values())
    end.touch()
    held.result(timeout=LIMIT_SECONDS)
    assert list(client.run(available).values()) == [has, has]


def test_annotated_layers_and_keys_hold_them_too(client: Client, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def of_block(block: Any) -> Any:
        return block + beside(folder, id(block))[1]

    with dask.annotate(resources={"GPU": 1}):
        ones = da.zeros(8, chunks=1).map_blocks(of_block)
    assert (client.compute(ones, optimize_graph=False).result(LIMIT_SECONDS) == 1).all()
    kept = client.persist(ones, optimize_graph=False)
    wait(kept, LIMIT_SECONDS)
    assert (kept.compute() == 1).all()
    # By keys, of which a tuple holds several, and by collection.
    tasks = [delayed(beside)(folder, i, dask_key_name=f"beside-{i}") for i in range(6)]
    named: dict[Any, Any] = {"beside-0": {"GPU": 1}, ("beside-1", "beside-2"): {"GPU": 1}}
    named |= {tasks[3]: {"GPU": 1}, "beside-4": {"GPU": 1}, "beside-5": {"GPU": 1}}
    answers = client.gather(client.compute(tasks, resources=named))
    assert {count for _, count in answers} == {1}


def test_what_no_worker_has_is_waited_for_and_said(client: Client) -> None:
    future = client.submit(abs, -1, resources={"GPU": 2}, pure=False)
    user = client.submit(abs, future, pure=False)
    with pytest.warns(RuntimeWarning, match="none that has GPU=2 .*--resources GPU=2`") as told:
        wait_until("a warning", lambda: any("GPU=2" in str(each.message) for each in told))
    assert future.status == "pending"
    later = client.submit(abs, future, pure=False)
    # Who waits for it in vain is told why, and so is who waits for what was there when it was said.
    why = rf"The scheduler said \d+ s ago: The task {future.key} waits .*none that has GPU=2"
    for call in (future.result, user.result, lambda seconds: wait([user, later], seconds)):
        with pytest.raises(
            TimeoutError, match=rf"(1 task was|2 of 2 tasks were) not done after [\d.]+ s\. {why}"
        ):
            call(0.01)
    with pytest.raises(TimeoutError, match=r"^1 task was not done after 0\.01 s$"):
        later.result(0.01)
    future.cancel()


def test_a_worker_that_dies_frees_what_its_tasks_held(client: Client, tmp_path: Path) -> None:
    def once(mark: str) -> int:
        if Path(mark).exists():
            return os.getpid()
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    pairs = [str(tmp_path / str(i)) for i in range(2)]
    futures = client.map(once, pairs, resources={"GPU": 1}, pure=False)
    assert all(client.gather(futures))
    client.wait_for_workers(2, LIMIT_SECONDS)
    wait_until(
        "both are free",
        lambda: [each["GPU"] for each in client.run(available).values()] == [1, 1],
    )


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"GPU": -1}, ValueError),
        ({"GPU": float("nan")}, ValueError),
        ({"GPU": float("inf")}, ValueError),
        ({"GPU": "1"}, TypeError),
        ({1: 1}, TypeError),
        ("GPU=1", TypeError),
        ({"GPU": 1, "key": {"GPU": 1}}, TypeError),
    ],
)
def test_what_are_no_amounts_is_refused(client: Client, given: Any, error: type) -> None:
    with pytest.raises(error, match="resources are"):
        client.submit(abs, -1, resources=given)
    if not (isinstance(given, dict) and "key" in given):
        with pytest.raises(error, match="resources are"):
            LocalCluster(n_workers=1, resources=given)


def test_a_client_takes_the_resources_of_a_running_cluster_as_they_are(client: Client) -> None:
    with pytest.raises(TypeError, match="resources"):
        Client(client.cluster, resources={"GPU": 1})


def test_settings_and_options_say_what_workers_have() -> None:
    with dask.config.set({"distributed.worker.resources": {"GPU": 3}}):
        assert worker_resources() == {"GPU": 3}
        assert worker_resources({}) == {}
    assert resources_of_option("GPU=2 MEM=4e9") == {"GPU": 2.0, "MEM": 4e9}
    assert resources_of_option("GPU=2,MEM=4e9") == {"GPU": 2.0, "MEM": 4e9}
    for wrong in ("GPU", "GPU=", "=2", "GPU=x", "GPU=-1"):
        with pytest.raises(Exception, match="amounts by name"):
            resources_of_option(wrong)


def outlived(one: Any) -> tuple[list[int], str, dict[Any, Any]]:
    """What waits for a resource that no worker has, when all that came after it is done."""
    waits = one.submit(abs, -5, resources={"none": 1}, pure=False)
    after = one.gather(one.map(abs, range(-30, 0), pure=False))
    return after, waits.status, {key: [*held] for key, held in one.who_has([waits]).items() if held}


def test_as_distributed_answers(client: Client) -> None:
    """The same calls on both, with as many workers and resources."""
    calls: list[Any] = [
        lambda c: c.gather(c.map(abs, [-1, 2], resources={"GPU": 1})),
        lambda c: c.submit(sum, [1, 2], resources={"GPU": 1, "MEM": 1e9}).result(LIMIT_SECONDS),
        lambda c: c.compute(delayed(abs)(-2), resources={"MEM": 4e9}).result(LIMIT_SECONDS),
        lambda c: c.get({"a": (abs, -3)}, "a", resources={"GPU": 1}),
        lambda c: c.submit(abs, -4, resources={}).result(LIMIT_SECONDS),
        lambda c: list(c.run(available).values()),
        outlived,
    ]
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=3,
            processes=False,
            dashboard_address=None,
            resources={"GPU": 1, "MEM": 4e9},
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as theirs,
    ):
        for call in calls:
            assert call(client) == call(theirs)
        ours = client.scheduler_info()["workers"].values()
        told = workers_told(theirs).values()
        assert [row["resources"] for row in ours] == [row["resources"] for row in told]
        assert outlived(client) == ([*range(30, 0, -1)], "pending", {})
