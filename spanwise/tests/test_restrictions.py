"""`workers=`: what the user names is matched with the workers that live when a task is placed."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator

import dask
import pytest
from dask import delayed

from spanwise import Client
from spanwise.tests.processes import LIMIT_SECONDS, wait_until


def pid_of(_n: int = 0) -> int:
    return os.getpid()


@pytest.fixture(params=["unix", "tcp"])
def client(request, monkeypatch) -> Iterator[Client]:
    monkeypatch.setenv("SPANWISE_TRANSPORT", request.param)
    with Client(n_workers=2, threads_per_worker=1) as client:
        yield client


def rows(client: Client) -> list[dict]:
    info = client.scheduler_info()["workers"]
    return [{**row, "address": address} for address, row in info.items()]


def test_workers_answer_to_number_name_address_and_host(client: Client) -> None:
    for row in rows(client):
        number = row["id"]
        for named in (number, str(number), f"worker-{number}", row["address"]):
            there = client.submit(pid_of, workers=named, pure=False)
            assert there.result(timeout=LIMIT_SECONDS) == row["pid"], named
            assert client.nthreads(workers=named) == {row["address"]: 1}
            assert list(client.run(pid_of, workers=named)) == [row["address"]]
    for host in ("127.0.0.1", "localhost", socket.gethostname()):
        assert client.submit(pid_of, workers=[host], pure=False).result(timeout=LIMIT_SECONDS)
        assert len(client.nthreads(workers=host)) == 2


def test_a_replacement_answers_to_all_that_the_one_before_it_was_called(client: Client) -> None:
    first = rows(client)[0]
    names = [first["id"], f"worker-{first['id']}", first["address"]]
    gone = first["pid"]
    for _ in range(2):
        os.kill(gone, signal.SIGSTOP)  # so that the tasks wait there when it dies
        waiting = [client.submit(pid_of, workers=named, pure=False) for named in names]
        os.kill(gone, signal.SIGKILL)
        pids = {future.result(timeout=LIMIT_SECONDS) for future in waiting}
        assert len(pids) == 1
        assert gone not in pids
        (gone,) = pids
        successor = next(row for row in rows(client) if row["pid"] == gone)
        assert successor["name"] == first["name"]
        names += [successor["id"], successor["address"]]


def test_a_name_that_nobody_has_is_said_and_waited_for(client: Client) -> None:
    there = r"no worker 'elsewhere'; there are worker-0, worker-1\. The task waits until one comes"
    with pytest.warns(RuntimeWarning, match=there):
        waiting = client.submit(pid_of, workers="elsewhere")
    assert client.submit(pid_of, pure=False).result(timeout=LIMIT_SECONDS)
    assert waiting.status == "pending"
    with pytest.warns(RuntimeWarning, match=r"'elsewhere'.*worker-1\. Others take the task\."):
        other = client.submit(pid_of, 1, workers="elsewhere", allow_other_workers=True, pure=False)
    assert other.result(timeout=LIMIT_SECONDS)
    with pytest.raises(ValueError, match="There is no worker 'elsewhere'"):
        client.nthreads(workers="elsewhere")


def test_annotations_name_workers_too(client: Client) -> None:
    row = rows(client)[1]
    with dask.annotate(workers=f"worker-{row['id']}"):
        lazy = delayed(pid_of)(1)
    assert client.compute(lazy).result(timeout=LIMIT_SECONDS) == row["pid"]
    wait_until("both live", lambda: len(rows(client)) == 2)
