"""More workers, fewer, others, while results lie at them: on real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import pytest

from spanwise import Client, LocalCluster, WorkerPlugin
from spanwise.client import cluster_control
from spanwise.client.cluster_control import adapt, command
from spanwise.errors import CancelledError
from spanwise.processes.process_state import lives
from spanwise.tests.processes import wait_until


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1) as made:
        yield made


def _pids(one: Client) -> dict[str, int]:
    return {address: row["pid"] for address, row in one.scheduler_info()["workers"].items()}


def _count(one: Client, count: int) -> bool:
    running = [each["status"] for each in one.scheduler_info()["workers"].values()]
    return running == ["running"] * count


def _wait_for(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.01)
    return "done"


def test_fewer_and_more_and_nothing_is_made_again(cluster: LocalCluster) -> None:
    with Client(cluster) as client:
        made = client.map(lambda size: os.urandom(size), [1000] * 40, pure=False)
        before = client.gather(made)
        placed = client.scatter([b"here", b"there"])
        pids = _pids(client)
        client.scale(3)
        wait_until("a third comes", lambda: _count(client, 3))
        client.scale(1)
        wait_until("two go", lambda: _count(client, 1))
        assert client.gather(made) == before, "made again: random bytes are others then"
        assert client.gather(placed) == [b"here", b"there"]
        assert all(client.who_has([*made, *placed]).values())
        wait_until("processes end", lambda: sum(map(lives, pids.values())) <= 1)
        (left,) = client.nthreads()
        assert {*client.has_what()[left]} >= {each.key for each in made}
        with pytest.raises(ValueError, match="n is a number of workers"):
            client.scale(-1)
        for call in (client.scale, cluster.scale, lambda n: client.adapt(0, n)):
            with pytest.raises(ValueError, match="from 0 to 1,024, not 1025: each is a process"):
                call(1025)
        with pytest.raises(ValueError, match="n_workers is a number of workers from 0 to 1,024"):
            LocalCluster(n_workers=1025)


def test_to_none_and_back(cluster: LocalCluster) -> None:
    with Client(cluster) as client:
        kept = client.submit(abs, -1)
        assert kept.result(60) == 1
        with pytest.warns(RuntimeWarning, match="no other worker could take"):
            cluster.scale(0)
            wait_until("all go", lambda: not client.scheduler_info()["workers"])
        waits = client.submit(abs, -2)
        assert not client.nthreads() and waits.status == "pending"
        client.scale(1)
        assert waits.result(60) == 2
        assert client.submit(lambda x: x + 1, kept).result(60) == 2
        assert len(client.nthreads()) == 1


def test_tasks_that_no_worker_takes_are_told_and_never_stall() -> None:
    with dask.config.set({"spanwise.scheduler.stall-timeout": "1s"}):
        made = LocalCluster(n_workers=1, threads_per_worker=1)
    with made, Client(made) as client, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")

        def said(what: str) -> int:
            return sum(what in str(each.message) for each in told)

        client.scale(0)
        wait_until("it goes", lambda: not client.scheduler_info()["workers"])
        waits = client.map(abs, range(-5, 0), pure=False)
        wait_until("it is told", lambda: said("no worker that takes tasks"))
        assert said("5 tasks, abs-") and said("client.scale(1), or more, starts some")
        later = client.submit(abs, -6, pure=False)
        client.scale(1)
        assert client.gather([*waits, later]) == [5, 4, 3, 2, 1, 6]

        # One that stays without taking tasks is none, and a task for it alone has none either.
        del waits, later
        wait_until("results are let go", lambda: not any(client.has_what().values()))
        (address,) = client.nthreads()
        client.retire_workers([address], close_workers=False)
        assert client.scheduler_info()["workers"][address]["status"] == "closing_gracefully"
        waits = client.map(abs, range(-7, 0), pure=False)
        wait_until("it is told again", lambda: said("7 tasks, abs-"))
        client.scale(1)
        assert client.gather(waits) == [7, 6, 5, 4, 3, 2, 1]
        assert said("no worker that takes tasks") == 2
        assert not said("short of memory")


def test_who_retires_a_worker_that_retires_waits_for_its_end(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    with Client(cluster) as client:
        first, _ = client.nthreads()
        go = tmp_path / "go"
        running = client.submit(_wait_for, str(go), workers=[first], allow_other_workers=True)
        wait_until("it runs", client.call_stack)
        gone: list[list[str]] = []
        retiring = threading.Thread(target=lambda: gone.append([*client.retire_workers([first])]))
        retiring.start()

        def seen() -> Any:
            return client.scheduler_info()["workers"].get(first, {}).get("status")

        wait_until("it retires", lambda: seen() == "closing_gracefully")
        session = client._session
        request, answers = session.open_request("done")
        (number,) = session.workers_called(first)
        session.send("command", {"request": request, "what": "retire", "workers": [number]})
        client.who_has(running)  # answered after what is answered at once
        assert answers.empty() or seen() is None
        go.touch()
        assert session.next_answer(answers, "command", 60).fields["workers"] == [number]
        assert seen() is None
        session.close_request(request)
        retiring.join(60)
        assert gone == [[first]]
        assert running.result(60) == "done"


def test_a_worker_that_retires(cluster: LocalCluster, tmp_path: Path) -> None:
    with Client(cluster) as client:
        first, second = client.nthreads()
        made = client.map(lambda size: os.urandom(size), [1000] * 20, pure=False, workers=[first])
        before = client.gather(made)
        go = tmp_path / "go"
        running = client.submit(_wait_for, str(go), workers=[first], allow_other_workers=True)
        wait_until("it runs", client.call_stack)
        told: list[tuple[float, dict[str, Any]]] = []

        def retire() -> None:
            gone = client.retire_workers([first])
            told.append((time.monotonic() - asked, gone))

        retiring = threading.Thread(target=retire)
        asked = time.monotonic()
        retiring.start()
        wait_until(
            "it retires",
            lambda: client.scheduler_info()["workers"][first]["status"] == "closing_gracefully",
        )
        after = client.map(abs, range(-20, -10))
        assert client.gather(after) == [*range(20, 10, -1)]
        assert {*client.who_has(after)[after[0].key]} == {second}
        # (for ten seconds, which a machine may take for this)
        assert not told or told[0][0] > 10, "what runs there may end"
        go.touch()
        retiring.join(60)
        ((_, gone),) = told
        assert [*gone] == [first] and gone[first]["nthreads"] == 1
        assert running.result(60) == "done" and client.gather(made) == before
        assert [*client.nthreads()] == [second]
        with pytest.warns(RuntimeWarning, match="No other worker is there to take its results"):
            assert client.retire_workers([second]) == {}
        assert client.submit(abs, -5).result(60) == 5
        assert client.retire_workers() == {}, "the last one stays"
        with pytest.raises(ValueError, match="nobody"):
            client.retire_workers(["nobody"])


def test_one_that_stays_without_work_and_one_that_dies_as_it_retires(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    with Client(cluster) as client:
        first, second = client.nthreads()
        pid = _pids(client)[first]
        assert [*client.retire_workers([first], close_workers=False)] == [first]
        assert client.gather(client.map(abs, range(10))) == [*range(10)]
        assert lives(pid) and client.has_what(first) == {first: []}
        client.scale(2)
        wait_until(
            "another comes", lambda: len([*client.processing()]) == 3 and len(_pids(client)) == 3
        )
        made = client.submit(os.urandom, 1000, workers=[second], pure=False)
        before = made.result(60)
        running = client.submit(_wait_for, str(tmp_path / "go"), workers=[second])
        wait_until("it runs", client.call_stack)
        told: list[dict[str, Any]] = []
        retiring = threading.Thread(target=lambda: told.append(client.retire_workers([second])))
        retiring.start()
        wait_until("its result moves", lambda: len(client.who_has([made])[made.key]) == 2)
        dies = _pids(client)[second]
        os.kill(dies, signal.SIGKILL)
        retiring.join(60)
        assert [*told[0]] == [second] and made.result(60) == before
        running.cancel()
        assert client.submit(abs, -8).result(60) == 8
        wait_until("it ends", lambda: not lives(dies))
        assert len(_pids(client)) == 2, "none comes in its place"


def test_restart(cluster: LocalCluster, tmp_path: Path) -> None:
    with Client(cluster) as client:
        before = _pids(client)
        made, running = client.submit(abs, -1), client.submit(_wait_for, str(tmp_path / "no"))
        assert made.result(60) == 1
        wait_until("it runs", client.call_stack)
        client.restart()
        after = _pids(client)
        assert len(after) == 2 and not {*after.values()} & {*before.values()}
        assert (made.status, running.status) == ("cancelled", "cancelled")
        assert client._patience(float("inf")) is None and client._patience(None) == 120
        with pytest.raises(
            CancelledError, match=r"abs-.* was cancelled when the cluster was restarted"
        ):
            made.result(60)
        again = client.submit(abs, -1)  # (a future that nobody holds is let go at some moment)
        assert again.result(60) == 1 and client.who_has().keys() == {made.key}
        wait_until("the old ones end", lambda: not any(map(lives, before.values())))
        first, second = client.nthreads()
        value = client.submit(os.getpid, workers=[first], pure=False)
        assert value.result(60) == after[first]
        assert client.restart_workers([first]) == {first: "OK"}
        assert _pids(client)[second] == after[second]
        assert value.result(60) != after[first], "made again, by the one in its place"
        with pytest.raises(ValueError, match="nobody"):
            client.restart_workers(["nobody"])


def test_as_many_as_the_work_is_worth(tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    with LocalCluster(n_workers=0, threads_per_worker=1) as cluster, Client(cluster) as client:
        threads, limit = cluster._unit()
        with pytest.MonkeyPatch.context() as patch:
            joined = [{"threads": threads + 7, "memoryLimit": 2 * limit}]
            patch.setattr(cluster._session, "running_workers", lambda: joined)
            assert cluster._unit() == (threads, limit), "not those of a guest"
        one = cluster.adapt(maximum_cores=9, minimum_cores=1, maximum_memory=1.5 * limit)
        assert "1 to 1 " in repr(one)
        assert "0 to 1024 " in repr(cluster.adapt(maximum=float("inf")))
        for call in (cluster.scale, lambda **given: cluster.adapt(maximum_memory=given["memory"])):
            with pytest.raises(ValueError, match=r"memory is a number of bytes.*not 'much'$"):
                call(memory="much")
        with pytest.raises(ValueError, match=r"^cores is a number of threads.*not '2'"):
            cluster.scale(cores="2")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"adapt\(\) has no 'interval': it looks each second"):
            cluster.adapt(interval="1s")
        cluster.scale(cores=2, memory=1)
        wait_until("two have two cores", lambda: _count(client, 2))
        adaptive = cluster.adapt(minimum=0, maximum=2)
        assert "0 to 2" in repr(adaptive)
        tasks = client.map(_wait_for, [go] * 40, pure=False)
        wait_until("two come", lambda: _count(client, 2))
        Path(go).touch()
        assert client.gather(tasks) == ["done"] * 40
        del tasks
        wait_until("all go", lambda: not client.scheduler_info()["workers"])
        adaptive.stop()
        with pytest.raises(ValueError, match="minimum=3 is more than maximum=2"):
            client.adapt(3, 2)
        with pytest.raises(TypeError, match="'interval'"):
            client.adapt(interval="1s")


def test_the_most_that_nobody_gives_is_no_less_than_the_fewest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_control, "command", lambda *_, **given: None)
    for there, fewest, said in ((0, 8, "8 to 8"), (3, 2, "2 to 6"), (600, 0, "0 to 1024")):
        session: Any = SimpleNamespace(running_workers=lambda there=there: [{}] * there)
        assert repr(adapt(session, fewest, None, False)) == f"<Adaptive: {said} workers>"


def test_asynchronous() -> None:
    async def use() -> tuple[int, int]:
        async with Client(
            n_workers=1, threads_per_worker=1, asynchronous=True, set_as_default=False
        ) as client:
            before = _pids(client)
            await client.restart()
            fresh = len({*_pids(client).values()} - {*before.values()})
            # Begun without being awaited, as with distributed, which has an awaitable too.
            client.scale(2)
            await client.wait_for_workers(2)
            cluster = client.cluster
            assert cluster is not None
            adaptive = cluster.adapt(minimum=2, maximum=3)
            cluster.scale(2)
            with pytest.raises(TypeError, match="n is a number of workers"):
                cluster.scale("2")  # type: ignore[arg-type]
            assert await cluster.scale(2) is None and await adaptive is adaptive is await adaptive
            assert "2 to 3" in repr(adaptive) and await adaptive.stop() is None
            del adaptive
            wait_until("no answer is kept", lambda: not client._session._answers)
            (_,) = [*await client.retire_workers([1])]
            return fresh, len(client.nthreads())

    assert asyncio.run(use()) == (1, 1)


class _SlowToJoin(WorkerPlugin):
    def __init__(self, begun: str, go: str) -> None:
        self.begun, self.go = begun, go

    def setup(self, worker: Any) -> None:
        if worker.id:
            new = Path(f"{self.begun}.new")
            new.write_text(f"{worker.id} {os.getpid()}")
            new.rename(self.begun)
            _wait_for(self.go)


def test_while_a_worker_sets_up_plugins(tmp_path: Path) -> None:
    """The scheduler's core does not know such a worker yet, and has not to be asked for it."""
    go, begun = tmp_path / "go", tmp_path / "begun"

    def late() -> tuple[int, int]:
        """Number and process of the one that sets up its plugin; clients hear of neither."""
        wait_until("one sets up its plugin", begun.exists)
        number, pid = map(int, begun.read_text().split())
        begun.unlink()
        assert lives(pid) and [*client._session.workers] == [0]
        return number, pid

    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster, Client(cluster) as client:
        client.register_plugin(_SlowToJoin(str(begun), str(go)), name="slow")
        client.scale(2)
        first, pid = late()
        client.adapt(0, 2).stop()
        client.scale(1)
        wait_until("it goes", lambda: not lives(pid))
        client.scale(2)
        second, other = late()
        assert second > first
        assert command(client._session, "retire", workers=[second], closes=True)[0] == [second]
        wait_until("it goes too", lambda: not lives(other))
        assert client.submit(abs, -1).result(60) == 1, "by the one that has stayed"
        go.touch()
        client.scale(2)
        wait_until("one comes", lambda: _count(client, 2))
        assert max(client._session.workers) > second
        assert client.submit(abs, -2).result(60) == 2
