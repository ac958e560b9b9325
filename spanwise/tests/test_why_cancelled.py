"""What the error of a cancelled task says: what cancelled it, and what to do; on real clusters."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from spanwise import Client, Future, LocalCluster, as_completed
from spanwise.errors import CancelledError
from spanwise.tests.processes import LIMIT_SECONDS, wait_until

AGAIN = "Submit it again to have its result."


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as client:
        yield client


def by_gather(future: Future) -> None:
    future.client.gather([future])


def by_as_completed(future: Future) -> None:
    next(as_completed([future], with_results=True))


def by_await(future: Future) -> None:
    async def ask() -> None:
        await future

    asyncio.run(ask())


@pytest.mark.parametrize("ask", [Future.result, by_gather, by_as_completed, by_await])
def test_the_error_shows_the_callers_lines_alone(
    client: Client, ask: Callable[[Future], Any]
) -> None:
    future = client.submit(abs, -1, pure=False)
    future.cancel()
    for _ in range(2):
        with pytest.raises(CancelledError) as caught:
            ask(future)
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert frames[-1].filename == __file__
        assert not [each for each in frames if "/spanwise/client/" in each.filename]


def stays(folder: str, *inputs: Any) -> int:
    Path(folder, "began").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.01)
    return 1


def of(*inputs: Any) -> int:
    return len(inputs)


def why(future: Any) -> str:
    with pytest.raises(CancelledError) as caught:
        future.result(LIMIT_SECONDS)
    assert type(future.exception(LIMIT_SECONDS)) is CancelledError
    return str(caught.value)


def test_what_needs_a_cancelled_task_names_it_and_how_it_was_cancelled(
    client: Client, tmp_path: Path
) -> None:
    first, second = (client.submit(stays, str(tmp_path), key=f"load-{i}") for i in "ab")
    users = [client.submit(of, each, key=f"use-{each.key}") for each in (first, second)]
    both = client.submit(of, *users, key="both")
    # At once: what comes back of the first is not taken for the second's.
    first.cancel(reason="the file is wrong")
    client.cancel([second])
    (tmp_path / "go").touch()
    by_first = (
        "with load-a, which it needs, and which was cancelled by cancel() (the file is wrong)"
    )
    assert [why(each) for each in (first, second, *users, both)] == [
        f"load-a was cancelled by cancel() (the file is wrong). {AGAIN}",
        f"load-b was cancelled by cancel(). {AGAIN}",
        f"use-load-a was cancelled {by_first}. {AGAIN}",
        "use-load-b was cancelled with load-b, which it needs, and which was cancelled by "
        f"cancel(). {AGAIN}",
        f"both was cancelled {by_first}. {AGAIN}",
    ]


def test_a_key_of_several_lines_is_told_in_one(client: Client, tmp_path: Path) -> None:
    first = client.submit(stays, str(tmp_path), key="load\nof\u202e")
    user = client.submit(of, first, key="use\tit")
    first.cancel()
    (tmp_path / "go").touch()
    assert [why(each) for each in (first, user)] == [
        f"load\\nof\\u202e was cancelled by cancel(). {AGAIN}",
        "use\\tit was cancelled with load\\nof\\u202e, which it needs, and which was cancelled by "
        f"cancel(). {AGAIN}",
    ]
    assert first.key == "load\nof\u202e"


def test_what_needs_a_cancelled_task_of_another_client_says_so(
    client: Client, cluster: LocalCluster, tmp_path: Path
) -> None:
    future = client.submit(stays, str(tmp_path), key="theirs")
    with Client(cluster, set_as_default=False) as other:
        client.publish_dataset(theirs=future)
        theirs = other.get_dataset("theirs")
        own = other.submit(of, theirs, key="own")
        theirs.cancel()
        assert why(own) == f"own was cancelled with a task that it needs. {AGAIN}"
        client.unpublish_dataset("theirs")
    (tmp_path / "go").touch()
    assert future.result(LIMIT_SECONDS) == 1


def test_who_waits_while_the_client_is_closed_is_told_so(tmp_path: Path) -> None:
    client = Client(n_workers=1, threads_per_worker=1)
    future = client.submit(stays, str(tmp_path), key="stays-1")

    calls = [
        lambda: future.result(),
        lambda: next(iter(as_completed([future]))).result(),
        lambda: client.gather([future]),
    ]
    with ThreadPoolExecutor(len(calls)) as pool:
        waits = [pool.submit(call) for call in calls]
        entry = future._alive()
        wait_until("all wait", lambda: len(entry.waiters or ()) == len(calls))
        client.close()
        said = [each.exception(LIMIT_SECONDS) for each in waits]
    assert [(type(each), str(each)) for each in said] == [
        (
            CancelledError,
            "stays-1 was cancelled when its client was closed. Make a new client with Client(), "
            "and submit it again.",
        )
    ] * len(calls)
    assert future.status == "cancelled"
