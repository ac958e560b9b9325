"""``Client.replicate`` and ``Client.rebalance``, on real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import Client
from spanwise.client.copies import copy
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    with Client(n_workers=3, threads_per_worker=1) as made:
        yield made


def holders(client: Client, futures: list[object]) -> list[int]:
    return [len(each) for each in client.who_has(futures).values()]


def use_and_wait(value: bytes, folder: str) -> int:
    (Path(folder) / "runs").touch()
    while not (Path(folder) / "gate").exists():
        time.sleep(0.01)
    return len(value)


def test_results_are_on_so_many_workers(cluster: Client, tmp_path: Path) -> None:
    made = cluster.map(bytes, range(1000, 1040), workers=[0], pure=False)
    cluster.replicate(made)
    assert holders(cluster, made) == [3] * 40
    assert len(cluster.gather(made)) == 40
    cluster.replicate(made, n=2, branching_factor=1)
    assert holders(cluster, made) == [2] * 40
    cluster.replicate(made, n=1, workers=[1])
    second = next(a for a, w in cluster.scheduler_info()["workers"].items() if w["name"] == 1)
    assert all(second in found for found in cluster.who_has(made).values())
    (used,) = cluster.map(bytes, [2000], workers=[2], pure=False)
    user = cluster.submit(use_and_wait, used, str(tmp_path), workers=[2])
    wait_until("it runs", lambda: (tmp_path / "runs").exists())
    cluster.replicate([used], n=3)
    cluster.replicate([used], n=1)
    where = cluster.who_has([used])[used.key]
    third = next(a for a, w in cluster.scheduler_info()["workers"].items() if w["name"] == 2)
    assert third in where, "a task needs it there"
    (tmp_path / "gate").touch()
    assert user.result(LIMIT_SECONDS) == 2000
    (data,) = cluster.scatter([[1, 2]], workers=[0])
    cluster.replicate([data], n=2)
    assert holders(cluster, [data]) == [2] and data.result(LIMIT_SECONDS) == [1, 2]


def test_what_cannot_be_replicated(cluster: Client) -> None:
    made = cluster.submit(bytes, 100, pure=False)
    for n in (0, 4, True, 1.5):
        with pytest.raises(ValueError, match="1 to 3 workers"):
            cluster.replicate([made], n=n)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="There is no worker 'none'"):
        cluster.replicate([made], workers=["none"])
    with pytest.raises(ZeroDivisionError):
        cluster.replicate([cluster.submit(lambda: 1 / 0)])
    assert made.result(LIMIT_SECONDS) == bytes(100)
    session, entry = cluster._session, made._alive()
    assert copy(session, [(entry.id, 77)]) == ([(entry.id, 77)], "worker-77 has gone.")
    missing, why = copy(session, [(entry.id + 10_000, 0)])
    assert missing == [(entry.id + 10_000, 0)] and "not in memory any more" in why


def test_results_lie_evenly(cluster: Client) -> None:
    made = cluster.map(bytes, range(100_000, 100_060), workers=[1], pure=False)
    cluster.gather(made)
    assert holders(cluster, made) == [1] * 60
    cluster.rebalance(made)
    found = cluster.has_what()
    keys = {each.key for each in made}
    counts = [len(keys & {*each}) for each in found.values()]
    assert holders(cluster, made) == [1] * 60 and max(counts) - min(counts) <= 2
    assert [len(each) for each in cluster.gather(made)] == [*range(100_000, 100_060)]
    cluster.rebalance()
    assert holders(cluster, made) == [1] * 60, "nothing is made better by moving more"


def test_a_stopped_or_lost_taker_does_not_hold_up(cluster: Client) -> None:
    (made,) = cluster.map(bytes, [5000], workers=[0], pure=False)
    assert len(made.result(LIMIT_SECONDS)) == 5000
    pid = next(
        each["pid"] for each in cluster.scheduler_info()["workers"].values() if each["name"] == 2
    )
    os.kill(pid, signal.SIGSTOP)
    try:
        session, entry = cluster._session, made._alive()
        number = session.workers_called(2)[0]
        request, answers = session.open_request("copied")
        session.send("copy", {"request": request}, {"pairs": [(entry.id, number)]})
    finally:
        os.kill(pid, signal.SIGKILL)
    answer = session.next_answer(answers, "copy", LIMIT_SECONDS)
    assert answer.fields["why"] == f"worker-{number} has gone."
    cluster.wait_for_workers(3, LIMIT_SECONDS)
    cluster.replicate([made])
    assert holders(cluster, [made]) == [3]
