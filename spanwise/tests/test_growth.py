"""What is sent with tasks goes with the last task that needs it, in every process."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from spanwise import Client
from spanwise.client import calls
from spanwise.tests.client_scheduler import LocalClient
from spanwise.tests.leftover import marked_processes
from spanwise.tests.processes import processes_of
from spanwise.tests.test_client import increment, until

MEGABYTE = 1 << 20
#: Megabytes that go through a cluster, and how many of them may stay anywhere. Node frees
#: buffers when it collects, which it does after some tens of megabytes.
SENT, STAY = 180, 100


def size(i: int, table: bytes = b"") -> int:
    return i + len(table)


def by_keyword(client: Client, i: int) -> Any:
    return client.submit(size, i, table=os.urandom(MEGABYTE))


def by_closure(client: Client, i: int) -> Any:
    table = os.urandom(MEGABYTE)
    return client.submit(lambda x: x + len(table), i)


def by_argument(client: Client, i: int) -> Any:
    return client.submit(size, i, os.urandom(MEGABYTE))


def megabytes(process: psutil.Process) -> float:
    """Of its own: what it shares with nobody."""
    return float(process.memory_full_info().uss) / MEGABYTE


@pytest.mark.parametrize("send", [by_keyword, by_closure, by_argument])
def test_what_calls_bring_goes_with_them(send: Callable[[Client, int], Any]) -> None:
    known = set(marked_processes())
    with Client(n_workers=1, threads_per_worker=1) as client:
        kept = client.submit(size, 5)
        assert kept.result() == 5
        send(client, 0).result()
        processes = [*(processes_of(role, known)[0] for role in ("scheduler", "worker"))]
        processes.append(psutil.Process())
        before = [megabytes(process) for process in processes]
        for i in range(SENT):
            assert send(client, i).result() == i + MEGABYTE
        gc.collect()
        grown = [megabytes(process) - b for process, b in zip(processes, before, strict=True)]
        assert max(grown) < STAY, grown
        assert kept.result() == 5


def _unused(client: LocalClient, generation: int, templates: list[int]) -> None:
    assert client.fake.link is not None
    client.fake.link.send("unused", {"generation": generation, "templates": templates})


def test_a_template_that_the_scheduler_has_freed_is_sent_again(client: LocalClient) -> None:
    assert client.submit(increment, 1).result(20) == 2
    assert client.submit(increment, 2).result(20) == 3
    assert list(client.fake.templates) == [0]
    # Said before the second call had come: the client has named it since.
    _unused(client, 0, [0])
    _unused(client, 1, [0, 77])
    until(lambda: client.fake.forgotten == [0])
    client.fake.templates.clear()
    assert client.submit(increment, 3).result(20) == 4
    assert list(client.fake.templates) == [1]


def test_a_graph_that_fails_half_way_gives_its_templates_back(client: LocalClient) -> None:
    class Unpicklable:
        def __reduce__(self) -> Any:
            raise ValueError("not this")

    assert client.submit(increment, 1).result(20) == 2
    with pytest.raises(ValueError, match="not this"):
        client.submit(increment, Unpicklable())
    until(lambda: client.fake.forgotten == [0])
    assert client.submit(increment, 2).result(20) == 3
    assert sorted(client.fake.templates) == [0, 1]


def test_the_client_s_pickles_are_bounded_by_bytes_and_keep_no_function(
    client: LocalClient,
) -> None:
    kept = client._calls._kept
    references = []
    for i in range(40):
        text = f"{i}" * 500_000
        function: Any = lambda x, text=text: x + len(text)  # noqa: E731
        references.append(weakref.ref(function))
        assert client.submit(function, i).result(20) == i + len(text)
    assert kept.nbytes == sum(len(each.blob) for each in kept._kept.values())
    assert len(kept) > 0 and kept.nbytes <= calls._KEPT_BYTES
    del function
    until(lambda: gc.collect() >= 0 and all(reference() is None for reference in references))
